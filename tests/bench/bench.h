/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_BENCH_H
#define MOEPLAN_BENCH_H

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"
#include "rerun.h"
#include "score.h"

/* One replay of runs.csv and the report that grows from it. */
struct bench {
	struct arena *arena;
	struct diags *diags;
	struct rerun *reruns;
	size_t count;
	struct errors cross_drift; /* |shipped now / shipped when cross.csv was written - 1| */
	struct str out;
};

/* A time was measured and predicted. */
static inline bool
has_time(const struct rerun *r)
{
	return r->outcome == OUTCOME_PREDICTED && r->measured_step_s > 0;
}

/* Rows that count: not set aside for a reason that lies outside the model. */
static inline bool
counts(const struct rerun *r)
{
	return has_time(r) && !r->run->aside[0];
}

/*
 * Reads FOLDER/runs.csv, replays every row, then looks it up in FOLDER/cross.csv; -1 after
 * printing why it cannot be read.
 */
int bench_load(struct bench *bench, const char *folder);

/* The same model, cluster and options. */
bool same_layout(const struct rerun *a, const struct rerun *b);

/* Steps predicted from another layout of the same model and stack; see transfer.c. */
struct after_run {
	size_t runs;
	double median, p90; /* of |e| */
	double coverage;    /* of the 80 % band */
	double spread;      /* high / low of the band, median */
};
void transfer_figures(struct bench *bench, struct after_run *one, struct after_run *all);

/* Appends what a measured run is worth for other layouts of its model (transfer.c). */
void transfer_report(struct bench *bench);
/* Sums over groups of comparable runs. */
struct ranks {
	int groups, top1;
	double tau, regret;
};
/* Of all groups, or of those alone in which the choice is close. */
struct ranks ranking_of(struct bench *bench, bool close_calls);
/* |ln(measured / predicted)| of one run against another of its group, predicted within `gap`. */
void ranking_differences(struct bench *bench, double gap, struct errors *differences);

/* Appends the ranking of comparable runs; each group on a line of its own when `rows`. */
void ranking_report(struct bench *bench, bool rows);

#endif
