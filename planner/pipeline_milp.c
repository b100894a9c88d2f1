/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How many layers of each run does each chunk of the pipeline hold, so that the
 * slowest stage is fastest, every stage fits, and one recompute count serves all?
 *
 * Integers n[g][c]: layers of segment g in chunk c (a segment of period P > 1 is
 * counted by whole patterns m[g][c] up to the end of chunk c, and unary binaries
 * z_i[g][c] for a pattern begun); binaries b[g][c]: segment g has begun by chunk c.
 *   min T   sum_c n[g][c] = layers of g,  sum_g n[g][c] >= 1 on inner chunks
 *   n[g][c] <= |g| b[g][c],  n[g-1][c+1] <= |g-1| (1 - b[g][c]),  b non-decreasing in c
 *   fixed_s + sum over the stage's chunks (layer_s n + recompute_s q) <= T
 *   fixed_bytes + sum ((state + alive activation) n - alive saved q) <= M <= capacity
 * and then min M at that T. With the recompute count rho left free, q[g][c] layers of segment g are
 * replayed: sum_{h <= g} q[h][c] = min(sum_{h <= g} n[h][c], rho) by the two upper limits and, with
 * a binary w[g][c], one of the two lower ones. With several chunks a stage only the totals N[g][s]
 * are integers and the n[g][c] continuous: for given N and b the rest is a flow, which
 * pipeline_read.c finds. Counts instead of one binary a layer: those fail from 32 layers on 8
 * stages.
 *
 * Ignores what is not linear in the counts: the search tightens the capacity when
 * the full estimate of a layout comes out above it.
 */
#include "planner/pipeline_milp.h"

#include <math.h>

#include "base/arena.h"
#include "planner/partition_window.h"
#include "planner/pipeline_private.h"

static int
period_length(const struct model *model, int first, int period)
{
	int end = first + period;

	if (end > model->layers)
		return 0;
	while (end < model->layers && model->kind_of[end] == model->kind_of[end - period])
		end++;
	return (end - first) / period * period;
}

bool
pipeline_segments(const struct model *model,
    struct pipeline_segment segments[PIPELINE_MAX_SEGMENTS], int *n_segments)
{
	int at = 0;

	for (*n_segments = 0; at < model->layers; (*n_segments)++) {
		struct pipeline_segment best = {at, 0, 1};

		if (*n_segments == PIPELINE_MAX_SEGMENTS)
			return false;
		for (int period = 1; period <= PIPELINE_MAX_PERIOD; period++) {
			int length = period_length(model, at, period);

			/* A pattern seen once is none. */
			if (length > best.layers && (period == 1 || length >= 2 * period))
				best = (struct pipeline_segment){at, length, period};
		}
		segments[*n_segments] = best;
		at += best.layers;
	}
	return true;
}

/* Columns. */

static int *
columns(struct pipeline_model *pm, const char *letter, int segment, int count, enum milp_kind kind,
    double high)
{
	int *numbers = arena_array(pm->arena, (size_t)count, sizeof(int));

	for (int i = 0; i < count; i++)
		numbers[i] = milp_column(pm->milp,
		    arena_printf(pm->arena, "%s%d_%d", letter, segment, i), kind, 0, high, 0);
	return numbers;
}

static void
pattern_columns(struct pipeline_model *pm, int g)
{
	const struct pipeline_segment *segment = &pm->segments[g];
	int last = pm->chunks - 1, patterns = segment->layers / segment->period;

	pm->count[g] = columns(pm, "m", g, pm->chunks, MILP_INTEGER, patterns);
	milp_set_bounds(pm->milp, pm->count[g][last], patterns, patterns);
	for (int i = 0; i < segment->period - 1; i++) {
		pm->part[g][i] =
		    columns(pm, arena_printf(pm->arena, "z%d.", i), g, pm->chunks, MILP_BINARY, 1);
		milp_set_bounds(pm->milp, pm->part[g][i][last], 0, 0);
	}
}

static void
segment_columns(struct pipeline_model *pm, int g)
{
	int layers = pm->segments[g].layers;

	if (pm->segments[g].period > 1)
		pattern_columns(pm, g);
	else if (pm->costs->vpp == 1)
		pm->count[g] = columns(pm, "n", g, pm->chunks, MILP_INTEGER, layers);
	else
		pm->count[g] = columns(pm, "n", g, pm->chunks, MILP_CONTINUOUS, layers);
	if (pm->costs->vpp > 1)
		pm->total[g] = columns(pm, "N", g, pm->costs->pp, MILP_INTEGER, layers);
	if (g > 0)
		pm->begun[g] = columns(pm, "b", g, pm->chunks, MILP_BINARY, 1);
	if (pm->some_again) {
		pm->again[g] = columns(pm, "q", g, pm->chunks, MILP_INTEGER, pm->most_layers);
		pm->whole[g] = columns(pm, "w", g, pm->chunks, MILP_BINARY, 1);
	}
}

/* Rows are summed up in `sums`, so that a column may be added to more than once. */

static void
add(struct pipeline_model *pm, int column, double value)
{
	pm->sums[column] += value;
}

static void
end_row(struct pipeline_model *pm, const char *name, int i, int j, double low, double high)
{
	int row = milp_row(pm->milp, arena_printf(pm->arena, "%s%d_%d", name, i, j), low, high);

	for (int c = 0; c < (int)milp_columns(pm->milp); c++) {
		if (pm->sums[c] != 0)
			milp_entry(pm->milp, row, c, pm->sums[c]);
		pm->sums[c] = 0;
	}
}

/* scale * (sum over the layers of segment g in the first chunks, to c inclusive); period above 1.
 */
static void
add_until(struct pipeline_model *pm, int g, int c, const double per_kind[], double scale)
{
	const struct pipeline_segment *segment = &pm->segments[g];
	double pattern = 0;

	if (c < 0)
		return;
	for (int i = 0; i < segment->period; i++) {
		double one = per_kind ? per_kind[pm->model->kind_of[segment->first + i]] : 1;

		pattern += one;
		if (i < segment->period - 1)
			add(pm, pm->part[g][i][c], scale * one);
	}
	add(pm, pm->count[g][c], scale * pattern);
}

/* scale * (sum over the layers of segment g in chunk c); a layer counts 1 without `per_kind`. */
static void
add_layers(struct pipeline_model *pm, int g, int c, const double per_kind[], double scale)
{
	const struct pipeline_segment *segment = &pm->segments[g];

	if (segment->period == 1) {
		double one = per_kind ? per_kind[pm->model->kind_of[segment->first]] : 1;

		add(pm, pm->count[g][c], scale * one);
		return;
	}
	add_until(pm, g, c, per_kind, scale);
	add_until(pm, g, c - 1, per_kind, -scale);
}

static void
count_rows(struct pipeline_model *pm, int g)
{
	const struct pipeline_segment *segment = &pm->segments[g];

	if (segment->period == 1) {
		for (int c = 0; c < pm->chunks; c++)
			add_layers(pm, g, c, NULL, 1);
		end_row(pm, "all", g, 0, segment->layers, segment->layers);
		return;
	}
	for (int c = 0; c < pm->chunks; c++) {
		add_layers(pm, g, c, NULL, 1);
		end_row(pm, "rise", g, c, 0, INFINITY);
		add_until(pm, g, c, NULL, 1);
		end_row(pm, "until", g, c, 0, segment->layers);
		for (int i = 1; i < segment->period - 1; i++) {
			add(pm, pm->part[g][i - 1][c], 1);
			add(pm, pm->part[g][i][c], -1);
			end_row(pm, arena_printf(pm->arena, "unary%d.", i), g, c, 0, INFINITY);
		}
	}
}

/* Only stage totals decide time and bytes: they are the integers to branch on. */
static void
total_rows(struct pipeline_model *pm, int g)
{
	for (int s = 0; s < pm->costs->pp; s++) {
		for (int v = 0; v < pm->costs->vpp; v++)
			add_layers(pm, g, costs_chunk(pm->costs, s, v), NULL, 1);
		add(pm, pm->total[g][s], -1);
		end_row(pm, "total", g, s, 0, 0);
	}
}

static void
order_rows(struct pipeline_model *pm, int g)
{
	int before = pm->segments[g - 1].layers;

	for (int c = 0; c < pm->chunks; c++) {
		add_layers(pm, g, c, NULL, 1);
		add(pm, pm->begun[g][c], -pm->segments[g].layers);
		end_row(pm, "begun", g, c, -INFINITY, 0);
		if (c + 1 == pm->chunks)
			break;
		add_layers(pm, g - 1, c + 1, NULL, 1);
		add(pm, pm->begun[g][c], before);
		end_row(pm, "done", g, c, -INFINITY, before);
		add(pm, pm->begun[g][c + 1], 1);
		add(pm, pm->begun[g][c], -1);
		end_row(pm, "stays", g, c, 0, INFINITY);
	}
}

/* Sums over the segments up to g: layers of chunk c, and those of them recomputed. */
static void
add_sums(struct pipeline_model *pm, int g, int c, double layers, double again)
{
	for (int h = 0; h <= g; h++) {
		add_layers(pm, h, c, NULL, layers);
		add(pm, pm->again[h][c], again);
	}
}

static void
recompute_rows(struct pipeline_model *pm, int g)
{
	double most = pm->most_layers;

	for (int c = 0; c < pm->chunks; c++) {
		add_sums(pm, g, c, -1, 1);
		end_row(pm, "held", g, c, -INFINITY, 0);
		add_sums(pm, g, c, 0, 1);
		add(pm, pm->rho, -1);
		end_row(pm, "most", g, c, -INFINITY, 0);
		add_sums(pm, g, c, 1, -1);
		add(pm, pm->whole[g][c], most);
		end_row(pm, "whole", g, c, -INFINITY, most);
		add_sums(pm, g, c, 0, -1);
		add(pm, pm->rho, 1);
		add(pm, pm->whole[g][c], -most);
		end_row(pm, "rho", g, c, -INFINITY, 0);
	}
}

static void
stage_rows(struct pipeline_model *pm, int s)
{
	const struct stage_costs *costs = pm->costs;
	double seconds[MODEL_MAX_KINDS], bytes[MODEL_MAX_KINDS];

	for (int k = 0; k < costs->n_kinds; k++) {
		double kept =
		    costs->activation_bytes[k] - (pm->all_again ? costs->saved_bytes[k] : 0);

		seconds[k] = costs->layer_s[k] + (pm->all_again ? costs->recompute_s[k] : 0);
		bytes[k] = costs->state_bytes[k] + costs->alive[s] * kept;
	}
	for (int memory = 0; memory < 2; memory++) {
		double scale = 1 / (memory ? pm->unit_bytes : pm->unit_s);
		double fixed = memory ? costs->fixed_bytes[s] : costs->fixed_s[s];

		for (int v = 0; v < costs->vpp; v++) {
			int c = costs_chunk(costs, s, v);

			for (int g = 0; g < pm->n_segments; g++) {
				int k = pm->model->kind_of[pm->segments[g].first];
				double again = memory ? -costs->alive[s] * costs->saved_bytes[k]
						      : costs->recompute_s[k];

				add_layers(pm, g, c, memory ? bytes : seconds, scale);
				if (pm->some_again)
					add(pm, pm->again[g][c], scale * again);
			}
		}
		add(pm, memory ? pm->bytes : pm->time, -1);
		end_row(pm, memory ? "bytes" : "time", s, 0, -INFINITY, -scale * fixed);
	}
}

static void
all_rows(struct pipeline_model *pm)
{
	for (int g = 0; g < pm->n_segments; g++) {
		count_rows(pm, g);
		if (pm->costs->vpp > 1)
			total_rows(pm, g);
		if (g > 0)
			order_rows(pm, g);
		if (pm->some_again)
			recompute_rows(pm, g);
	}
	for (int c = 1; c < pm->chunks - 1; c++) {
		for (int g = 0; g < pm->n_segments; g++)
			add_layers(pm, g, c, NULL, 1);
		end_row(pm, "holds", c, 0, 1, INFINITY);
	}
	for (int s = 0; s < pm->costs->pp; s++)
		stage_rows(pm, s);
}

/* Layers that a chunk can hold in the time. */
static int
most_layers(const struct stage_costs *costs, const struct model *model, double most_s)
{
	double least_s = INFINITY, layers = (double)model->layers;

	for (int k = 0; k < costs->n_kinds; k++)
		least_s = fmin(least_s, costs->layer_s[k]);
	if (isfinite(most_s) && least_s > 0)
		layers = fmin(layers, floor(most_s / least_s * (1 + PARTITION_EPS)));
	return layers < 1 ? 1 : (int)layers;
}

struct pipeline_model *
pipeline_model_new(struct arena *arena, const struct stage_costs *costs, const struct model *model,
    const struct pipeline_options *options, double most_s)
{
	struct pipeline_model *pm = arena_alloc(arena, sizeof(*pm));
	int recomputed = costs->recomputed;

	*pm = (struct pipeline_model){.arena = arena,
	    .milp = milp_new(arena, "pipeline"),
	    .costs = costs,
	    .model = model,
	    .chunks = costs->pp * costs->vpp,
	    .unit_s = fmax(mean_stage_s(costs, model), 1e-30),
	    .unit_bytes = fmax(fabs(costs->capacity_bytes), 1) / 64,
	    .most_layers = most_layers(costs, model, most_s)};
	if (!pipeline_segments(model, pm->segments, &pm->n_segments))
		return NULL;
	pm->all_again = !options->free_recompute && recomputed >= pm->most_layers;
	pm->some_again = options->free_recompute || (recomputed > 0 && !pm->all_again);
	for (int g = 0; g < pm->n_segments; g++)
		if (pm->segments[g].period > 1 && (pm->some_again || costs->vpp > 1))
			return NULL;
	if (pm->some_again && costs->vpp > 1)
		return NULL;
	pm->time = milp_column(pm->milp, "T", MILP_CONTINUOUS, 1,
	    isfinite(most_s) ? fmax(1, most_s / pm->unit_s) * (1 + PARTITION_EPS) : INFINITY, 1);
	pm->bytes = milp_column(
	    pm->milp, "M", MILP_CONTINUOUS, -INFINITY, costs->capacity_bytes / pm->unit_bytes, 0);
	if (pm->some_again)
		pm->rho = milp_column(pm->milp, "rho", MILP_INTEGER,
		    options->free_recompute ? 1 : recomputed,
		    options->free_recompute ? pm->most_layers : recomputed, 0);
	for (int g = 0; g < pm->n_segments; g++)
		segment_columns(pm, g);
	pm->sums = arena_array(arena, milp_columns(pm->milp), sizeof(double));
	all_rows(pm);
	return pm;
}

struct milp *
pipeline_model_milp(const struct pipeline_model *model)
{
	return model->milp;
}

double
pipeline_model_seconds(const struct pipeline_model *model, double objective)
{
	return objective * model->unit_s;
}

void
pipeline_model_empty(struct pipeline_model *model, double seconds)
{
	milp_set_bounds(
	    model->milp, model->time, -INFINITY, seconds / model->unit_s * (1 + PARTITION_EPS));
	milp_set_cost(model->milp, model->time, 0);
	milp_set_cost(model->milp, model->bytes, 1);
}
