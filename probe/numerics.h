/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_NUMERICS_H
#define MOEPLAN_NUMERICS_H

#include "probe/reference.h"
#include "probe/step.h"

enum numerics_row {
	NUMERICS_OUTPUTS,
	NUMERICS_LOSSES,
	NUMERICS_INPUT_GRADIENTS,
	NUMERICS_EMBEDDING,
	NUMERICS_HEAD,
	NUMERICS_MTP,
	NUMERICS_ROUTER,
	NUMERICS_EXPERTS,
	NUMERICS_OTHERS,
	NUMERICS_UPDATED,
	NUMERICS_ROWS
};
extern const char *const numerics_names[NUMERICS_ROWS + 1];

/* What rank 0 knows after the comparison; the others only whether it failed. */
struct numerics {
	bool done; /* false: the reference would have been too large */
	bool ok, conserved;
	double error[NUMERICS_ROWS], tolerance[NUMERICS_ROWS]; /* worst rank, |a - b| / |b| */
	int worst_rank[NUMERICS_ROWS];
	int64_t compared[NUMERICS_ROWS];	   /* numbers, all ranks */
	int64_t sent, received, dropped, expected; /* rows of routed tokens, a step */
	int empty_ranks;      /* ranks with a layer in which no token reached their experts */
	double max_over_mean; /* rows of the fullest rank, mean over layers and patterns */
};

/* Runs one step and the reference, compares on every rank. Collective; -1 once failed. */
int numerics_run(struct session *s, const struct shape *shape, const struct skew *skew,
    struct numerics *numerics);

#endif
