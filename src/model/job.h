/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_JOB_H
#define MOEPLAN_JOB_H

#include <stdbool.h>
#include <stdint.h>

#include "model/strategy.h"

struct loads;

/* The axes of the search, in the order in which they are printed. */
enum axis {
	AXIS_TP,
	AXIS_CP,
	AXIS_PP,
	AXIS_VPP,
	AXIS_EP,
	AXIS_ETP,
	AXIS_MICRO_BATCH,
	AXIS_RECOMPUTE,
	AXIS_ZERO,
	AXIS_DISPATCHER,
	AXES
};
extern const char *const axis_names[AXES + 1];

/* What the user allows on one axis: a set of values, a least and a greatest. Empty: anything. */
enum { AXIS_MAX_VALUES = 32 };
struct axis_limit {
	int n_allowed;
	int64_t allowed[AXIS_MAX_VALUES];
	int64_t min, max; /* 0: none */
};

bool axis_allows(const struct axis_limit *limit, int64_t value);

/*
 * AXIS_RECOMPUTE has these values, AXIS_ZERO 0..3, AXIS_DISPATCHER enum dispatcher, others
 * sizes.
 */
int64_t recompute_value(struct recompute recompute);
struct recompute recompute_of_value(int64_t value);
/* Of a strategy, as the axis counts it. */
int64_t strategy_axis_value(const struct strategy *strategy, enum axis axis);
/* "2", "selective:moe_act", "deepep": as --pin takes it. */
const char *axis_value_text(struct arena *arena, enum axis axis, int64_t value);

enum objective { OBJECTIVE_TIME, OBJECTIVE_MEMORY, OBJECTIVE_GPUS };
extern const char *const objective_names[];

enum skew_kind { SKEW_BALANCED, SKEW_MAX, SKEW_CV, SKEW_ZIPF, SKEW_TRACE };
/* Experts placed on `ep` ranks of `nodes` nodes under a trace: fullest rank and traffic. */
struct skew_point {
	int64_t ep, nodes;
	double hot, off_node;
};
struct load_skew {
	enum skew_kind kind;
	/* SKEW_MAX: fullest rank / mean; SKEW_CV: of expert loads; SKEW_ZIPF: exponent */
	double value;
	/* tokens that leave the node, over what even spreading sends; 0: as that */
	double off_node;
	const char *path;          /* SKEW_TRACE: a file of loads … */
	const struct loads *loads; /* … and what is in it, once it was read (see loads.h) */
	int n_points;              /* of the evaluator, made from the loads */
	const struct skew_point *points;
};

struct job {
	/* sequence, batch, precision, optimizer …: what the search keeps */
	struct strategy base;
	struct axis_limit limits[AXES];
	double max_step_s;         /* 0: none */
	uint64_t max_memory_bytes; /* 0: none */
	int64_t max_gpus;          /* 0: all of the cluster */
	int64_t top;               /* answers wanted */
	enum objective objective;
	struct load_skew skew;
	uint64_t reserve_bytes;
	double time_limit_s;       /* 0: none */
	double measured_step_s;    /* 0: none */
	/* the strategy that it was measured on: a file or "tp=2 ep=8"; NULL */
	const char *measured_on;
	const char *lp_path;       /* where the master model goes, NULL nowhere */
};

void job_init(struct job *job);
/* The fewest digits that are read back as the same number. */
const char *shortest_number(struct arena *arena, double value);
/* "max=1.7", "balanced", a file: as --load-skew takes it. */
const char *load_skew_text(struct arena *arena, const struct load_skew *skew);
/* `--pin tp=2,ep=8`, `--forbid pp`, `--max tp=8,step=20s,memory=70GiB,gpus=512`, `--top` … */
extern const struct field job_fields[];
/* The rows that a command takes which searches nothing: the load, a measured step. */
extern const struct field job_estimate_fields[];
/* The measured step alone. */
extern const struct field job_measured_fields[];
/* A job file or `job:` section (schema moeplan/job/v1); -1 after adding errors. */
int job_read(struct job *job, const struct doc *doc, struct field_context *context);

#endif
