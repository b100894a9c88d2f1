/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How fast can the slowest stage be at best, when the layers form no few runs and a
 * stage holds several chunks?
 *
 * Integers N[k][s], layers of kind k on stage s, whatever their order: min T with
 * sums by kind fixed, time and memory rows a stage, a layer at least for each inner
 * chunk. A pattern of P layers with c of kind k, repeated all through, adds
 *   |N[k][s] - c/P sum_k N[k][s]| <= vpp c (P - c)/P
 * since a window of it is off by no more. It is a relaxation: a layout as fast as
 * this is proved best; a slower one is not, and nobody says so.
 */
#include <math.h>

#include "base/arena.h"
#include "planner/pipeline_milp.h"

struct counts {
	struct arena *arena;
	struct milp *milp;
	const struct stage_costs *costs;
	int time;
	int (*layers)[STRATEGY_MAX_PP]; /* columns by kind and stage */
};

static int
row(struct counts *m, const char *name, int i, int j, double low, double high)
{
	return milp_row(m->milp, arena_printf(m->arena, "%s%d_%d", name, i, j), low, high);
}

static void
kind_rows(struct counts *m, const struct model *model, int k)
{
	double layers = 0;
	int all;

	for (int l = 0; l < model->layers; l++)
		layers += model->kind_of[l] == k;
	all = row(m, "all", k, 0, layers, layers);
	for (int s = 0; s < m->costs->pp; s++) {
		m->layers[k][s] = milp_column(
		    m->milp, arena_printf(m->arena, "N%d_%d", k, s), MILP_INTEGER, 0, layers, 0);
		milp_entry(m->milp, all, m->layers[k][s], 1);
	}
}

/* In units of the capacity and of one second of the mean stage, so that numbers are near 1. */
static void
stage_rows(struct counts *m, int s, double unit_s, double unit_bytes)
{
	const struct stage_costs *c = m->costs;
	bool all_again = c->recomputed >= MODEL_MAX_LAYERS;
	int inner = c->vpp - (s == 0) - (s == (c->vee ? 0 : c->pp - 1));
	int time = row(m, "time", s, 0, -INFINITY, -c->fixed_s[s] / unit_s);
	int bytes =
	    row(m, "bytes", s, 0, -INFINITY, (c->capacity_bytes - c->fixed_bytes[s]) / unit_bytes);
	int holds = row(m, "holds", s, 0, inner, INFINITY);

	milp_entry(m->milp, time, m->time, -1);
	for (int k = 0; k < c->n_kinds; k++) {
		/* Some layers recomputed: none in the time and all in the bytes bound both. */
		double kept = c->activation_bytes[k] - (c->recomputed > 0 ? c->saved_bytes[k] : 0);
		double seconds = c->layer_s[k] + (all_again ? c->recompute_s[k] : 0);

		milp_entry(m->milp, time, m->layers[k][s], seconds / unit_s);
		milp_entry(m->milp, bytes, m->layers[k][s],
		    (c->state_bytes[k] + c->alive[s] * kept) / unit_bytes);
		milp_entry(m->milp, holds, m->layers[k][s], 1);
	}
}

static void
pattern_rows(struct counts *m, const struct model *model, const struct pipeline_segment *segment)
{
	double period = segment->period;

	for (int k = 0; k < m->costs->n_kinds; k++) {
		double in_pattern = 0, off;

		for (int i = 0; i < segment->period; i++)
			in_pattern += model->kind_of[segment->first + i] == k;
		off = m->costs->vpp * in_pattern * (period - in_pattern) / period;
		for (int s = 0; s < m->costs->pp; s++) {
			int r = row(m, "pattern", k, s, -off, off);

			for (int j = 0; j < m->costs->n_kinds; j++)
				milp_entry(
				    m->milp, r, m->layers[j][s], (j == k) - in_pattern / period);
		}
	}
}

double
mean_stage_s(const struct stage_costs *costs, const struct model *model)
{
	double sum = 0;

	for (int s = 0; s < costs->pp; s++)
		sum += costs->fixed_s[s];
	for (int l = 0; l < model->layers; l++)
		sum += costs->layer_s[model->kind_of[l]];
	return sum / costs->pp;
}

struct milp_result
pipeline_bound(struct arena *arena, const struct stage_costs *costs, const struct model *model,
    const struct milp_options *options, double *slowest_s)
{
	struct counts m = {.arena = arena, .milp = milp_new(arena, "stages"), .costs = costs};
	struct pipeline_segment segments[PIPELINE_MAX_SEGMENTS];
	double unit_s = fmax(mean_stage_s(costs, model), 1e-30);
	double unit_bytes = fmax(fabs(costs->capacity_bytes), 1) / 64;
	struct milp_result result;
	int n_segments;

	m.layers = arena_array(arena, (size_t)costs->n_kinds, sizeof(*m.layers));
	m.time = milp_column(m.milp, "T", MILP_CONTINUOUS, 1, INFINITY, 1);
	for (int k = 0; k < costs->n_kinds; k++)
		kind_rows(&m, model, k);
	for (int s = 0; s < costs->pp; s++)
		stage_rows(&m, s, unit_s, unit_bytes);
	if (pipeline_segments(model, segments, &n_segments) && n_segments == 1)
		pattern_rows(&m, model, &segments[0]);
	result = milp_solve(arena, m.milp, options);
	milp_release(m.milp);
	*slowest_s = result.status == MILP_INFEASIBLE ? INFINITY : result.bound * unit_s;
	return result;
}
