/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What does a candidate cost exactly, and must that be known?
 *
 * Its layout comes from the split of planner/partition.h; with one chunk a stage
 * no layout has a faster slowest stage, so m times that stage is a lower bound of
 * the step, sharper than the one that knows no layout. Only when that and what the
 * schedule needs at least on the layout are below the limit is it simulated. Costs
 * are linear in the layers for the split but not quite in the full estimate: a
 * layout that comes out above the capacity is split again for so much less.
 */
#include <math.h>

#include "base/arena.h"
#include "planner/partition.h"
#include "planner/pipeline_milp.h"
#include "planner/search_private.h"

enum {
	MAX_RETRIES = 4,
	GLPK_ITERATIONS = 5000, /* of one layout; beyond it the layout is not called proved */
};
/* Beyond rounding, the lower bound of a layout may not be above the simulation. */
#define BOUND_SAFETY (1 - 1e-9)

static double
value_of(const struct search *search, double step_s, double bytes)
{
	return search->job->objective == OBJECTIVE_MEMORY ? bytes : step_s;
}

double
candidate_value(const struct search *search, const struct candidate *c)
{
	return value_of(search, c->step_s, c->bytes);
}

double
candidate_bound(const struct search *search, const struct candidate *c)
{
	return value_of(search, c->bound_s, c->bound_bytes);
}

/* For the least memory every layer is recomputed; else the solver says how many. */
static bool
has_free_recompute(const struct search *search, const struct strategy *s)
{
	return search->grid.free_recompute && s->recompute.kind == RECOMPUTE_FULL &&
	       search->job->objective != OBJECTIVE_MEMORY;
}

static int
largest_chunk(const struct layout *layout)
{
	int most = 0;

	for (int c = 0; c < layout->pp * layout->vpp; c++)
		if (layout->first[c + 1] - layout->first[c] > most)
			most = layout->first[c + 1] - layout->first[c];
	return most;
}

/* As a strategy says it: 0 when every layer is recomputed. */
static void
set_recomputed(struct strategy *s, const struct layout *layout, int recomputed)
{
	s->recompute.layers = recomputed >= largest_chunk(layout) ? 0 : recomputed;
}

/* For the least memory the emptiest layout is asked for by a capacity that nothing keeps. */
static double
capacity_for(const struct search *search, double margin)
{
	return search->job->objective == OBJECTIVE_MEMORY ? 0 : search->cap_bytes - margin;
}

static bool
lay_out(struct search *search, struct strategy *s, struct stage_costs *costs, double margin,
    struct layout *layout)
{
	bool free = has_free_recompute(search, s);
	int recomputed;

	costs->capacity_bytes = capacity_for(search, margin);
	pipeline_quick(search->scratch, costs, search->model, free, layout, &recomputed);
	if (free) {
		costs->recomputed = recomputed;
		set_recomputed(s, layout, recomputed);
	}
	return partition_peak(costs, search->model, layout).bytes <=
	       (search->cap_bytes - margin) * (1 + 1e-9);
}

static void
does_not_fit(const struct search *search, struct candidate *c, double bytes)
{
	c->bytes = bytes;
	c->state = bytes > search->capacity_bytes ? CANDIDATE_UNFIT : CANDIDATE_OVER_LIMIT;
}

static void
set_exact(const struct search *search, struct candidate *c, const struct estimate *estimate)
{
	c->step_s = estimate->step_s;
	c->bytes = estimate->worst_bytes;
	c->state = c->step_s > search->cap_step_s ? CANDIDATE_OVER_LIMIT : CANDIDATE_EXACT;
}

/* What is offloaded beyond the memory of a node, by its GPUs. */
static double
host_excess(const struct search *search, const struct estimate *estimate)
{
	const struct cluster *cluster = search->cluster;

	if (!host_overflows(cluster, estimate))
		return 0;
	return (estimate->host_bytes - cluster->host.memory_bytes.value) /
	    fmin((double)cluster->gpus_per_node, (double)estimate->strategy.world);
}

/* A lower bound of the step on the candidate's layout is all that is known. */
static void
set_laid_out(struct candidate *c, double least_s)
{
	c->step_s = fmax(c->bound_s, BOUND_SAFETY * least_s);
	c->state = CANDIDATE_LAID_OUT;
}

/*
 * Is there no layout with a faster slowest stage than this one? The greedy fill
 * may be wrong where an inner stage cannot hold one layer of every kind, or where
 * replaying a layer costs more than another whole layer.
 */
static bool
is_fastest(const struct stage_costs *costs, double slowest_s)
{
	double least_s = INFINITY, most_again_s = 0;
	bool some = costs->recomputed > 0 && costs->recomputed < MODEL_MAX_LAYERS;

	for (int k = 0; k < costs->n_kinds; k++) {
		double layer_s =
		    costs->layer_s[k] + (costs->recomputed > 0 ? costs->recompute_s[k] : 0);

		least_s = fmin(least_s, layer_s);
		most_again_s = fmax(most_again_s, costs->recompute_s[k]);
		for (int i = 1; i < costs->pp - 1; i++)
			if (costs->fixed_s[i] + layer_s > slowest_s ||
			    costs->fixed_bytes[i] + costs->state_bytes[k] +
				    costs->alive[i] * costs->activation_bytes[k] >
				costs->capacity_bytes)
				return false;
	}
	return costs->vpp == 1 && (!some || most_again_s <= least_s);
}

/* The sharper bound of a layout; false when it need not be simulated. */
static bool
sharpen(const struct search *search, struct candidate *c, const struct strategy *s,
    const struct stage_costs *costs, const struct layout *layout, double limit)
{
	double slowest_s = partition_peak(costs, search->model, layout).time_s;

	if (search->job->objective == OBJECTIVE_MEMORY || !is_fastest(costs, slowest_s))
		return true;
	set_laid_out(c, (double)s->micro_batches * slowest_s);
	return c->step_s < limit;
}

/* A step that need not be known when it is not below this. */
static double
step_limit(const struct search *search, double limit)
{
	return search->job->objective == OBJECTIVE_MEMORY ? INFINITY : limit / BOUND_SAFETY;
}

/* What was found for a candidate; `margin`: by how much the split had to stay below the capacity.
 */
struct found {
	struct strategy strategy;
	struct stage_costs costs;
	struct estimate estimate; /* without stages */
	double margin;
};

/* Lays out and simulates until it fits; c->state says how it ended. */
static void
find(struct search *search, struct candidate *c, double limit, struct found *found)
{
	struct strategy *s = &found->strategy;

	*s = candidate_strategy(search, c);
	found->margin = 0;
	evaluate_costs(search->evaluator, s, &found->costs);
	for (int retry = 0; retry < MAX_RETRIES; retry++) {
		struct layout layout;
		bool is_below;

		if (!lay_out(search, s, &found->costs, found->margin, &layout)) {
			double bytes = partition_peak(&found->costs, search->model, &layout).bytes;

			does_not_fit(search, c, bytes + found->margin);
			return;
		}
		if (retry == 0 && !sharpen(search, c, s, &found->costs, &layout, limit))
			return;
		is_below = evaluate_below(search->evaluator, s, &layout, step_limit(search, limit),
		    search->scratch, NULL, &found->estimate);
		if (host_excess(search, &found->estimate) > 0) {
			does_not_fit(search, c,
			    search->capacity_bytes + host_excess(search, &found->estimate));
			return;
		}
		if (found->estimate.worst_bytes <= search->cap_bytes) {
			if (is_below)
				set_exact(search, c, &found->estimate);
			else
				set_laid_out(c, found->estimate.step_s);
			return;
		}
		found->margin += 1.01 * (found->estimate.worst_bytes - search->cap_bytes);
		does_not_fit(search, c, found->estimate.worst_bytes);
	}
}

void
candidate_price(struct search *search, struct candidate *c, double limit)
{
	struct arena_mark mark = arena_mark(search->scratch);
	struct found found;

	find(search, c, limit, &found);
	arena_reset(search->scratch, mark);
}

/* GLPK's layout, when it makes the candidate better and fits. */
static void
improve(struct search *search, struct found *found)
{
	struct pipeline_options options = {
	    .free_recompute = has_free_recompute(search, &found->strategy),
	    .iteration_limit = GLPK_ITERATIONS};
	struct pipeline_solution solution;
	struct estimate estimate;
	struct strategy s = found->strategy;

	found->costs.capacity_bytes = capacity_for(search, found->margin);
	if (pipeline_solve(search->scratch, search->diags, &found->costs, search->model, &options,
		&solution) != 0) {
		search->failed = true;
		return;
	}
	if (solution.status != MILP_OPTIMAL && solution.status != MILP_FEASIBLE)
		return;
	if (options.free_recompute)
		set_recomputed(&s, &solution.layout, solution.recomputed);
	evaluate_exact(search->evaluator, &s, &solution.layout, search->scratch, NULL, &estimate);
	if (estimate.worst_bytes <= search->cap_bytes && estimate.step_s < found->estimate.step_s)
		found->estimate = estimate;
}

bool
candidate_settle(
    struct search *search, const struct candidate *candidate, struct estimate *estimate)
{
	struct arena_mark mark = arena_mark(search->scratch);
	struct candidate c = *candidate;
	struct stage_memory *stages;
	struct found found;

	find(search, &c, INFINITY, &found);
	if (c.state == CANDIDATE_EXACT && search->job->objective != OBJECTIVE_MEMORY)
		improve(search, &found);
	if (c.state == CANDIDATE_EXACT) {
		stages = arena_array(search->arena, (size_t)found.strategy.pp, sizeof(*stages));
		evaluate_exact(search->evaluator, &found.estimate.strategy, &found.estimate.layout,
		    search->scratch, stages, estimate);
	}
	arena_reset(search->scratch, mark);
	return c.state == CANDIDATE_EXACT;
}

void
candidate_estimate(struct search *search, const struct candidate *c, bool exact,
    struct stage_memory *stages, struct estimate *estimate)
{
	struct arena_mark mark = arena_mark(search->scratch);
	struct strategy s = candidate_strategy(search, c);
	struct stage_costs costs;
	struct layout layout;

	evaluate_costs(search->evaluator, &s, &costs);
	lay_out(search, &s, &costs, 0, &layout);
	if (exact)
		evaluate_exact(search->evaluator, &s, &layout, search->scratch, stages, estimate);
	else
		evaluate(search->evaluator, &s, &layout, stages, estimate);
	arena_reset(search->scratch, mark);
}
