/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_BENCH_SCORE_H
#define MOEPLAN_BENCH_SCORE_H

#include <stddef.h>

struct arena;

/* A growing list of relative errors (predicted / measured - 1). */
struct errors {
	double *values;
	size_t count, room;
};
void errors_add(struct arena *arena, struct errors *errors, double value);

struct summary {
	size_t count;
	double mean_abs, median_abs, p90_abs, max_abs;
	double bias; /* median of the signed error */
};
struct summary errors_summary(struct arena *arena, const struct errors *errors);

/* Quantile with linear interpolation between order statistics; sorts `values`. */
double quantile(double *values, size_t count, double q);

/* Configurations of one group: throughput measured and predicted, larger is better. */
struct ranking {
	size_t count;
	const double *measured, *predicted;
};
struct rank_score {
	double tau;    /* Kendall: (concordant - discordant) / pairs that differ when measured */
	double regret; /* throughput lost by taking the first choice: 1 - chosen / best */
	int top1;      /* the first choice is the best */
};
struct rank_score ranking_score(const struct ranking *ranking);

#endif
