/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How far off are predictions? Quantiles of errors, and rank statistics.
 *
 * e = predicted / measured - 1. Medians and 90th percentiles are of |e| by
 * linear interpolation; bias is the median of e. Kendall's tau leaves out pairs
 * that are equal when measured; a pair that is equal only in the prediction
 * counts as neither concordant nor discordant, but in the number of pairs.
 */
#include "score.h"

#include <math.h>
#include <stdlib.h>

#include "base/arena.h"

void
errors_add(struct arena *arena, struct errors *errors, double value)
{
	if (errors->count == errors->room) {
		size_t room = errors->room ? 2 * errors->room : 16;

		errors->values = arena_grow(
		    arena, errors->values, errors->room * sizeof(double), room * sizeof(double));
		errors->room = room;
	}
	errors->values[errors->count++] = value;
}

static int
compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

double
quantile(double *values, size_t count, double q)
{
	double position;
	size_t below;

	if (count == 0)
		return 0;
	qsort(values, count, sizeof(*values), compare);
	position = q * (double)(count - 1);
	below = (size_t)position;
	if (below + 1 >= count)
		return values[count - 1];
	return values[below] + (position - (double)below) * (values[below + 1] - values[below]);
}

struct summary
errors_summary(struct arena *arena, const struct errors *errors)
{
	struct summary summary = {.count = errors->count};
	double *sorted = arena_array(arena, errors->count, sizeof(*sorted));

	for (size_t i = 0; i < errors->count; i++)
		sorted[i] = errors->values[i];
	summary.bias = quantile(sorted, errors->count, 0.5);
	for (size_t i = 0; i < errors->count; i++) {
		sorted[i] = fabs(errors->values[i]);
		summary.mean_abs += sorted[i] / (double)errors->count;
		summary.max_abs = fmax(summary.max_abs, sorted[i]);
	}
	summary.median_abs = quantile(sorted, errors->count, 0.5);
	summary.p90_abs = quantile(sorted, errors->count, 0.9);
	return summary;
}

static double
kendall(const struct ranking *r)
{
	double sum = 0, pairs = 0;

	for (size_t i = 0; i < r->count; i++) {
		for (size_t j = i + 1; j < r->count; j++) {
			double m = r->measured[i] - r->measured[j];
			double p = r->predicted[i] - r->predicted[j];

			if (m == 0)
				continue;
			pairs++;
			sum += m * p > 0 ? 1 : m * p < 0 ? -1 : 0;
		}
	}
	return pairs > 0 ? sum / pairs : 1;
}

struct rank_score
ranking_score(const struct ranking *r)
{
	struct rank_score score = {.tau = kendall(r)};
	size_t best = 0, chosen = 0;

	for (size_t i = 1; i < r->count; i++) {
		if (r->measured[i] > r->measured[best])
			best = i;
		if (r->predicted[i] > r->predicted[chosen])
			chosen = i;
	}
	score.regret = 1 - r->measured[chosen] / r->measured[best];
	score.top1 = r->measured[chosen] == r->measured[best];
	return score;
}
