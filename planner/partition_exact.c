/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What is the least possible time of the slowest stage, one chunk a stage?
 *
 * f(s, j) = min over i of max(f(s-1, i), time of layers [i, j) on stage s), over
 * windows within the capacity. Nothing is assumed about the costs, so this checks
 * the greedy fill and the MILP, and it serves layer lists that form no runs.
 * O(stages x layers x window); windows slower than the fast answer are not looked at.
 */
#include <assert.h>
#include <math.h>

#include "base/arena.h"
#include "planner/partition.h"
#include "planner/partition_window.h"

struct programme {
	struct windows w;
	double most;	      /* a time that is known to be reached, or INFINITY */
	double *before, *now; /* f(s-1, .), f(s, .) */
	int16_t *from;	      /* [pp][layers + 1] */
};

static bool
over(double value, double limit)
{
	return value > limit + PARTITION_EPS * fabs(limit);
}

/* The best start of stage s that ends at j. */
static void
best_start(struct programme *p, int s, int j)
{
	const struct stage_costs *costs = p->w.costs;
	bool may_be_empty = s == 0 || s == costs->pp - 1;
	int least = s > 0 ? s - 1 : 0, begin = s > 0 ? j - !may_be_empty : 0;

	p->now[j] = INFINITY;
	for (int i = begin; i >= least; i--) {
		struct load load = window_load(&p->w, s, i, j);
		double time_s = load.time_s + costs->fixed_s[s];
		double without_again = costs->fixed_s[s] + p->w.time_s[j] - p->w.time_s[i];

		if (over(load.bytes + costs->fixed_bytes[s], costs->capacity_bytes) ||
		    over(without_again, p->most))
			break;
		time_s = fmax(time_s, s == 0 ? time_s : p->before[i]);
		if (time_s < p->now[j]) {
			p->now[j] = time_s;
			p->from[s * (p->w.layers + 1) + j] = (int16_t)i;
		}
	}
}

static void
run_stages(struct programme *p)
{
	int pp = p->w.costs->pp, layers = p->w.layers;

	for (int s = 0; s < pp; s++) {
		double *swap = p->before;

		for (int j = 0; j <= layers; j++)
			best_start(p, s, j);
		p->before = p->now;
		p->now = swap;
	}
}

double
partition_exact(struct arena *scratch, const struct stage_costs *costs, const struct model *model,
    struct layout *layout)
{
	struct programme *p = arena_alloc(scratch, sizeof(*p));
	size_t layers = (size_t)model->layers;
	double best;

	assert(costs->vpp == 1 && costs->pp <= model->layers + 2);
	windows_init(&p->w, costs, model);
	p->most = partition_fast(costs, model, layout) ? partition_peak(costs, model, layout).time_s
						       : INFINITY;
	p->before = arena_array(scratch, layers + 1, sizeof(double));
	p->now = arena_array(scratch, layers + 1, sizeof(double));
	p->from = arena_array(scratch, (size_t)costs->pp * (layers + 1), sizeof(*p->from));
	run_stages(p);
	best = p->before[layers];
	if (!isfinite(best))
		return INFINITY;
	for (int s = costs->pp - 1, j = (int)layers; s >= 0; s--) {
		layout->first[s + 1] = (int16_t)j;
		j = p->from[(size_t)s * (layers + 1) + (size_t)j];
	}
	layout->first[0] = 0;
	return best;
}
