/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which layout does a solution of the pipeline MILP stand for?
 *
 * One chunk a stage: the counts are the layout. Several: the solution says how many
 * layers of each segment a stage holds and which chunks may hold which segment; the
 * segment's chunks of a stage follow each other, so each is first given the layer
 * that it must hold, from the earliest segment it may hold, and what is left goes
 * to the chunk that has least.
 */
#include <math.h>

#include "base/arena.h"
#include "planner/pipeline_private.h"

/* Layers of segment g in the chunks up to c, one chunk a stage. */
static int
layers_until(const struct pipeline_model *pm, const double *x, int g, int c)
{
	int period = pm->segments[g].period;
	double sum = 0;

	if (period == 1) {
		for (int i = 0; i <= c; i++)
			sum += x[pm->count[g][i]];
		return (int)lround(sum);
	}
	sum = period * x[pm->count[g][c]];
	for (int i = 0; i < period - 1; i++)
		sum += x[pm->part[g][i][c]];
	return (int)lround(sum);
}

static bool
may_hold(const struct pipeline_model *pm, const double *x, int g, int c)
{
	if (g > 0 && x[pm->begun[g][c]] < 0.5)
		return false;
	return g == pm->n_segments - 1 || c == 0 || x[pm->begun[g + 1][c - 1]] < 0.5;
}

/* The chunk of stage s that holds least of those that may hold segment g, or -1. */
static int
emptiest_chunk(
    const struct pipeline_model *pm, const double *x, int g, int s, const struct layout *layout)
{
	int found = -1;

	for (int v = 0; v < pm->costs->vpp; v++) {
		int c = costs_chunk(pm->costs, s, v);

		if (may_hold(pm, x, g, c) &&
		    (found < 0 || layout->first[c + 1] <= layout->first[found + 1]))
			found = c;
	}
	return found;
}

/* Until the end first[c + 1] holds the layers of chunk c. */
static void
spread_stage(const struct pipeline_model *pm, const double *x, int s, struct layout *layout)
{
	for (int g = 0; g < pm->n_segments; g++) {
		int left = (int)lround(x[pm->total[g][s]]);

		for (int v = 0; v < pm->costs->vpp && left > 0; v++) {
			int c = costs_chunk(pm->costs, s, v);
			bool must = c > 0 && c < pm->chunks - 1 && layout->first[c + 1] == 0;

			if (must && may_hold(pm, x, g, c)) {
				layout->first[c + 1]++;
				left--;
			}
		}
		for (; left > 0; left--) {
			int c = emptiest_chunk(pm, x, g, s, layout);

			if (c >= 0)
				layout->first[c + 1]++;
		}
	}
}

void
pipeline_model_read(
    const struct pipeline_model *pm, const double *x, struct layout *layout, int *recomputed)
{
	*layout = (struct layout){
	    .pp = pm->costs->pp, .vpp = pm->costs->vpp, .vee = pm->costs->vee};
	*recomputed = pm->some_again ? (int)lround(x[pm->rho]) : pm->costs->recomputed;
	if (pm->costs->vpp == 1) {
		for (int c = 0; c < pm->chunks; c++)
			for (int g = 0; g < pm->n_segments; g++)
				layout->first[c + 1] =
				    (int16_t)(layout->first[c + 1] + layers_until(pm, x, g, c));
		return;
	}
	for (int s = 0; s < pm->costs->pp; s++)
		spread_stage(pm, x, s, layout);
	for (int c = 0; c < pm->chunks; c++)
		layout->first[c + 1] = (int16_t)(layout->first[c + 1] + layout->first[c]);
}
