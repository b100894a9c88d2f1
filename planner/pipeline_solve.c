/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which layout does a finalist get, and is it proved?
 *
 * First what needs no MILP: the greedy fill (or the descent, for several chunks a
 * stage) for every recompute count that may be chosen, and for one chunk a stage
 * the dynamic programme, which is exact. Then GLPK on run-length counts, with the
 * time just found as its upper limit. For one chunk a stage both must agree; for
 * several GLPK may only be faster. The greedy layout is kept when it is as fast,
 * since it is also the emptiest and most even; else GLPK is asked for the emptiest.
 */
#include <math.h>

#include "base/arena.h"
#include "planner/partition.h"
#include "planner/pipeline_milp.h"

/* Relative difference that is an error and not rounding. */
#define MAX_DIFFERENCE 1e-6

struct choice {
	bool fits;
	double slowest_s;
	int recomputed;
	struct layout layout;
};

static struct choice
choice_of(
    struct arena *scratch, const struct stage_costs *costs, const struct model *model, bool exact)
{
	struct choice choice = {.recomputed = costs->recomputed};

	if (exact) {
		struct arena_mark mark = arena_mark(scratch);

		choice.slowest_s = partition_exact(scratch, costs, model, &choice.layout);
		choice.fits = isfinite(choice.slowest_s);
		arena_reset(scratch, mark);
	} else {
		choice.fits = partition_fast(costs, model, &choice.layout);
		choice.slowest_s =
		    choice.fits ? partition_peak(costs, model, &choice.layout).time_s : INFINITY;
	}
	return choice;
}

/* More recompute never needs more memory: the least count with a layout that fits. */
static struct choice
least_choice(
    struct arena *scratch, struct stage_costs *trial, const struct model *model, bool exact)
{
	int low = 1, high = (int)model->layers;
	struct choice found;

	trial->recomputed = MODEL_MAX_LAYERS;
	found = choice_of(scratch, trial, model, exact);
	while (found.fits && low < high) {
		struct choice now;

		trial->recomputed = (low + high) / 2;
		now = choice_of(scratch, trial, model, exact);
		if (now.fits) {
			found = now;
			high = trial->recomputed;
		} else {
			low = trial->recomputed + 1;
		}
	}
	return found;
}

/* Layers that a chunk can hold in the time, so that more recompute is all of it. */
static int
most_layers(const struct stage_costs *costs, const struct model *model, double slowest_s)
{
	double least_s = INFINITY;

	for (int k = 0; k < costs->n_kinds; k++)
		least_s = fmin(least_s, costs->layer_s[k]);
	if (slowest_s < least_s * (double)model->layers)
		return (int)(slowest_s / least_s);
	return (int)model->layers;
}

/* The best over the recompute counts that are allowed: from the least that fits to all layers. */
static struct choice
best_choice(struct arena *scratch, const struct stage_costs *costs, const struct model *model,
    bool free_recompute, bool exact)
{
	struct stage_costs trial = *costs;
	struct choice best;

	if (!free_recompute)
		return choice_of(scratch, costs, model, exact);
	best = least_choice(scratch, &trial, model, exact);
	trial.recomputed = best.recomputed;
	while (best.fits && trial.recomputed < most_layers(costs, model, best.slowest_s)) {
		struct choice now;

		trial.recomputed++;
		now = choice_of(scratch, &trial, model, exact);
		if (now.slowest_s < best.slowest_s)
			best = now;
	}
	return best;
}

bool
pipeline_quick(struct arena *scratch, const struct stage_costs *costs, const struct model *model,
    bool free_recompute, struct layout *layout, int *recomputed)
{
	struct choice choice = best_choice(scratch, costs, model, free_recompute, false);

	/* Only layers of several kinds can mislead the fill. */
	if (!choice.fits && costs->vpp == 1 && costs->n_kinds > 1) {
		struct choice exact = best_choice(scratch, costs, model, free_recompute, true);

		if (exact.fits)
			choice = exact;
	}
	*layout = choice.layout;
	*recomputed = choice.recomputed;
	return choice.fits;
}

static bool
same_time(double a, double b)
{
	return (!isfinite(a) && !isfinite(b)) || fabs(a - b) <= MAX_DIFFERENCE * fabs(b);
}

static int
internal_error(struct diags *diags, const char *what, double by_milp, double by_other)
{
	struct loc nowhere = {NULL, 0, 0};

	diag_add(diags, nowhere, "internal", SEVERITY_ERROR,
	    "the pipeline MILP and %s differ: %.9g s and %.9g s", what, by_milp, by_other);
	diag_last_hint(diags, "this is a bug in moeplan: please report it with the inputs");
	return -1;
}

static int
glpk_failed(struct diags *diags, const char *words)
{
	struct loc nowhere = {NULL, 0, 0};

	diag_add(diags, nowhere, "internal", SEVERITY_ERROR, "GLPK failed on the pipeline MILP: %s",
	    words);
	return -1;
}

/* The emptiest layout as fast as `best`, which GLPK found to be the fastest. */
static void
emptiest(struct arena *arena, struct pipeline_model *pm, const struct milp_options *options,
    struct choice *best)
{
	struct milp_result result;

	pipeline_model_empty(pm, best->slowest_s);
	result = milp_solve(arena, pipeline_model_milp(pm), options);
	if (result.status == MILP_OPTIMAL || result.status == MILP_FEASIBLE)
		pipeline_model_read(pm, result.x, &best->layout, &best->recomputed);
}

/* What GLPK found, priced without it, and how far it is proved. */
static enum milp_status
ask_glpk(struct arena *arena, struct pipeline_model *pm, const struct stage_costs *costs,
    const struct model *model, const struct milp_options *limits, double most_s,
    struct choice *found, const char **words)
{
	struct milp_result result = milp_solve(arena, pipeline_model_milp(pm), limits);
	struct stage_costs priced = *costs;

	*words = result.message;
	if (result.status != MILP_OPTIMAL && result.status != MILP_FEASIBLE)
		return result.status;
	pipeline_model_read(pm, result.x, &found->layout, &found->recomputed);
	found->fits = true;
	found->slowest_s = pipeline_model_seconds(pm, result.objective);
	if (found->slowest_s < most_s * (1 - MAX_DIFFERENCE))
		emptiest(arena, pm, limits, found);
	priced.recomputed = found->recomputed;
	found->slowest_s = partition_peak(&priced, model, &found->layout).time_s;
	return result.status;
}

static void
put(struct pipeline_solution *solution, const struct choice *choice, enum milp_status status,
    bool by_glpk)
{
	solution->status = status;
	solution->by_glpk = by_glpk;
	solution->layout = choice->layout;
	solution->recomputed = choice->recomputed;
	solution->slowest_s = choice->slowest_s;
}

/* One chunk a stage: GLPK and the dynamic programme prove each other. */
static int
settle_exact(struct diags *diags, const struct choice *greedy, const struct choice *programme,
    const struct choice *glpk, enum milp_status status, struct pipeline_solution *solution)
{
	bool answered = status == MILP_OPTIMAL || status == MILP_INFEASIBLE;
	const struct choice *best =
	    same_time(greedy->slowest_s, programme->slowest_s) ? greedy : programme;

	if (answered && !same_time(glpk->slowest_s, programme->slowest_s))
		return internal_error(
		    diags, "the dynamic programme", glpk->slowest_s, programme->slowest_s);
	put(solution, best, programme->fits ? MILP_OPTIMAL : MILP_INFEASIBLE, answered);
	return 0;
}

/* Several chunks: GLPK alone proves; a stop before the end leaves the better of the two. */
static int
settle_chunks(struct diags *diags, const struct choice *descent, const struct choice *glpk,
    enum milp_status status, struct pipeline_solution *solution)
{
	bool answered = status == MILP_OPTIMAL || status == MILP_INFEASIBLE;
	bool glpk_is_faster = glpk->slowest_s < descent->slowest_s * (1 - MAX_DIFFERENCE);

	if (answered && descent->fits &&
	    !(glpk->slowest_s <= descent->slowest_s * (1 + MAX_DIFFERENCE)))
		return internal_error(diags, "a layout", glpk->slowest_s, descent->slowest_s);
	if (!answered)
		status = descent->fits || glpk->fits ? MILP_FEASIBLE : MILP_UNKNOWN;
	put(solution, glpk_is_faster ? glpk : descent, status, answered);
	return 0;
}

/* Several chunks of layers that form no runs: the descent, proved when it meets the bound. */
static int
settle_bounded(struct arena *arena, struct diags *diags, const struct stage_costs *costs,
    const struct model *model, const struct milp_options *limits, const struct choice *descent,
    struct pipeline_solution *solution)
{
	double bound_s;
	struct milp_result bound = pipeline_bound(arena, costs, model, limits, &bound_s);
	bool met = descent->fits ? descent->slowest_s <= bound_s * (1 + MAX_DIFFERENCE)
				 : bound.status == MILP_INFEASIBLE;

	if (bound.status == MILP_FAILED)
		return glpk_failed(diags, bound.message);
	if (descent->fits && descent->slowest_s < bound_s * (1 - MAX_DIFFERENCE))
		return internal_error(diags, "a layout", bound_s, descent->slowest_s);
	put(solution, descent,
	    descent->fits ? (met ? MILP_OPTIMAL : MILP_FEASIBLE)
			  : (met ? MILP_INFEASIBLE : MILP_UNKNOWN),
	    met);
	return 0;
}

int
pipeline_solve(struct arena *arena, struct diags *diags, const struct stage_costs *costs,
    const struct model *model, const struct pipeline_options *options,
    struct pipeline_solution *solution)
{
	struct milp_options limits = {.iteration_limit = options->iteration_limit};
	struct choice greedy, programme, glpk = {.slowest_s = INFINITY};
	enum milp_status status = MILP_UNKNOWN;
	struct stage_costs least = *costs; /* to recompute, of what may be chosen */
	bool one_chunk = costs->vpp == 1;
	struct pipeline_model *pm;
	const char *words = NULL;

	if (options->free_recompute)
		least.recomputed = 1;
	greedy = best_choice(arena, costs, model, options->free_recompute, false);
	programme =
	    one_chunk ? best_choice(arena, costs, model, options->free_recompute, true) : greedy;
	pm = pipeline_model_new(arena, costs, model, options, programme.slowest_s);
	if (!pm && !one_chunk)
		return settle_bounded(arena, diags, &least, model, &limits, &greedy, solution);
	if (pm) {
		status =
		    ask_glpk(arena, pm, &least, model, &limits, programme.slowest_s, &glpk, &words);
		milp_release(pipeline_model_milp(pm));
	}
	if (status == MILP_FAILED)
		return glpk_failed(diags, words);
	return one_chunk ? settle_exact(diags, &greedy, &programme, &glpk, status, solution)
			 : settle_chunks(diags, &greedy, &glpk, status, solution);
}
