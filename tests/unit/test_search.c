/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The search against brute force over whole grids, with an evaluator that is easy to see through.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "base/units.h"
#include "glpsol.h"
#include "planner/band.h"
#include "planner/partition.h"
#include "planner/rates.h"
#include "planner/search.h"

struct world {
	struct arena *arena;
	struct diags *diags;
	struct model model;
	struct cluster *cluster;
	struct job job;
};

static void
pin(struct job *job, enum axis axis, int n, const int64_t *values)
{
	job->limits[axis].n_allowed = n;
	memcpy(job->limits[axis].allowed, values, (size_t)n * sizeof(*values));
}

#define PIN(job, axis, ...)                                                                        \
	pin(job, axis, (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)),                  \
	    (int64_t[]){__VA_ARGS__})

/* A small model of equal MoE layers (or some dense ones first) on two nodes, every axis named. */
static struct world
world_new(int64_t layers, int64_t dense)
{
	struct world w = {.arena = arena_new(NULL, NULL)};
	struct job *job = &w.job;

	w.diags = diags_new(w.arena);
	w.cluster = cluster_from_text(w.arena, w.diags, "dgx-h100x2");
	cr_assert_not_null(w.cluster);
	w.model = (struct model){.name = "small",
	    .hidden = 4096,
	    .vocab = 32000,
	    .layers = layers,
	    .n_kinds = dense > 0 ? 2 : 1,
	    .max_positions = 32768};
	for (int k = 0; k < w.model.n_kinds; k++) {
		struct layer_kind *kind = &w.model.kinds[k];

		kind->mixer =
		    (struct mixer){.kind = MIXER_GQA, .heads = 32, .kv_heads = 8, .head_dim = 128};
		if (k == 0 && dense > 0)
			kind->ffn.dense_width = 16384;
		else
			kind->ffn = (struct ffn){.experts = 8, .top_k = 2, .expert_width = 8192};
	}
	for (int64_t l = 0; l < layers; l++)
		w.model.kind_of[l] = dense > 0 && l >= dense;
	job_init(job);
	job->base.seq_len = 4096;
	job->base.global_batch = 64;
	job->top = 4;
	PIN(job, AXIS_TP, 1, 2, 4);
	PIN(job, AXIS_CP, 1, 2);
	PIN(job, AXIS_PP, 1, 2, 4, 8);
	PIN(job, AXIS_VPP, 1, 2, 3);
	PIN(job, AXIS_EP, 1, 2, 4, 8);
	PIN(job, AXIS_ETP, 1, 2);
	PIN(job, AXIS_MICRO_BATCH, 1, 2, 3);
	PIN(job, AXIS_RECOMPUTE, RECOMPUTE_NONE,
	    recompute_value((struct recompute){RECOMPUTE_SELECTIVE, MODULE_MOE_ACT, 0}),
	    recompute_value((struct recompute){RECOMPUTE_FULL, 0, 0}));
	PIN(job, AXIS_ZERO, 1);
	PIN(job, AXIS_DISPATCHER, DISPATCH_ALLTOALL, DISPATCH_DEEPEP);
	return w;
}

static void
world_free(struct world *w)
{
	arena_free(w->arena);
}

static void
set_axis(struct strategy *s, int axis, int64_t value)
{
	int64_t *const degrees[] = {
	    &s->tp, &s->cp, &s->pp, &s->vpp, &s->ep, &s->etp, &s->micro_batch};

	if (axis <= AXIS_MICRO_BATCH)
		*degrees[axis] = value;
	else if (axis == AXIS_RECOMPUTE)
		s->recompute = recompute_of_value(value);
	else if (axis == AXIS_ZERO)
		s->zero = (int)value;
	else
		s->dispatcher = (enum dispatcher)value;
}

/* One point of the grid, tried by hand. */
struct tried {
	struct strategy strategy;
	int64_t value[AXES];
	const char *rule;
	double step_s, bytes;
	bool fits;
};

struct points {
	struct tried *all;
	int n;
};

/* Points that mean the same as another are none: VPP without stages, a dispatcher without experts.
 */
static bool
means_something(const struct world *w, const int64_t value[AXES])
{
	const struct axis_limit *limits = w->job.limits;

	if (value[AXIS_PP] == 1 && value[AXIS_VPP] != limits[AXIS_VPP].allowed[0])
		return false;
	return value[AXIS_EP] * value[AXIS_ETP] > 1 ||
	       value[AXIS_DISPATCHER] == limits[AXIS_DISPATCHER].allowed[0];
}

static void
try_point(
    const struct world *w, const struct evaluator *evaluator, struct tried *p, double cap_bytes)
{
	struct strategy *s = &p->strategy;
	const struct grid_rule *rule;
	struct estimate estimate;
	struct stage_costs costs;
	struct layout layout;

	*s = w->job.base;
	for (int a = 0; a < AXES; a++)
		set_axis(s, a, p->value[a]);
	strategy_derive(s, &w->model, w->cluster->world);
	rule = strategy_first_violation(s, &w->model);
	p->rule = rule ? rule->id : NULL;
	if (rule)
		return;
	evaluate_costs(evaluator, s, &costs);
	costs.capacity_bytes = w->job.objective == OBJECTIVE_MEMORY ? 0 : cap_bytes;
	partition_fast(&costs, &w->model, &layout);
	evaluate_exact(evaluator, s, &layout, w->arena, NULL, &estimate);
	p->step_s = estimate.step_s;
	p->bytes = estimate.worst_bytes;
	p->fits = estimate.worst_bytes <= cap_bytes;
}

static struct points
points_under(struct world *w, double cap)
{
	struct evaluator *evaluator = evaluator_new(w->arena, &w->model, w->cluster, &w->job);
	struct points points = {0};
	int count = 1;

	for (int a = 0; a < AXES; a++)
		count *= w->job.limits[a].n_allowed;
	points.all = arena_array(w->arena, (size_t)count, sizeof(*points.all));
	for (int i = 0; i < count; i++) {
		struct tried *p = &points.all[points.n];
		int rest = i;

		for (int a = 0; a < AXES; a++) {
			p->value[a] = w->job.limits[a].allowed[rest % w->job.limits[a].n_allowed];
			rest /= w->job.limits[a].n_allowed;
		}
		if (!means_something(w, p->value))
			continue;
		try_point(w, evaluator, p, cap);
		points.n++;
	}
	return points;
}

static double
capacity_of(const struct world *w)
{
	return w->cluster->gpu.usable_bytes.value - (double)w->cluster->reserve_bytes;
}

/* All points that the pins allow; at risk only when there is nothing else, or it is asked for. */
static struct points
brute_force(struct world *w)
{
	double capacity = capacity_of(w);
	struct points points;

	if (w->job.max_memory_bytes > 0)
		return points_under(w, fmin(capacity, (double)w->job.max_memory_bytes));
	points = points_under(w, capacity / memory_bands[MEMORY_BY_HAND].high);
	for (int i = 0; i < points.n; i++)
		if (!points.all[i].rule && points.all[i].fits &&
		    (w->job.max_step_s <= 0 || points.all[i].step_s <= w->job.max_step_s))
			return points;
	return points_under(w, capacity);
}

static bool
is_good(const struct world *w, const struct tried *p)
{
	return !p->rule && p->fits && (w->job.max_step_s <= 0 || p->step_s <= w->job.max_step_s);
}

static bool
alike(const struct tried *p, const struct tried *q)
{
	for (int a = 0; a < AXES; a++)
		if (a != AXIS_VPP && a != AXIS_DISPATCHER && p->value[a] != q->value[a])
			return false;
	return true;
}

/* The n-th best value of points no two of which are alike; INFINITY when there are fewer. */
static double
nth_best(const struct world *w, const struct points *points, int n)
{
	const struct tried *taken[64];

	for (int i = 0; i <= n; i++) {
		const struct tried *best = NULL;

		for (int j = 0; j < points->n; j++) {
			const struct tried *p = &points->all[j];
			bool seen = false;

			for (int k = 0; k < i && !seen; k++)
				seen = alike(p, taken[k]);
			if (seen || !is_good(w, p))
				continue;
			if (!best ||
			    (w->job.objective == OBJECTIVE_MEMORY ? p->bytes < best->bytes
								  : p->step_s < best->step_s))
				best = p;
		}
		if (!best)
			return INFINITY;
		taken[i] = best;
	}
	return w->job.objective == OBJECTIVE_MEMORY ? taken[n]->bytes : taken[n]->step_s;
}

static struct plan *
plan_of(struct world *w)
{
	struct plan *plan = search(w->arena, w->diags, &w->model, w->cluster, &w->job, NULL, NULL);

	cr_assert_not_null(plan, "%s", w->diags->last ? w->diags->last->message : "no plan");
	return plan;
}

static double
value_of(const struct world *w, const struct estimate *e)
{
	return w->job.objective == OBJECTIVE_MEMORY ? e->worst_bytes : e->step_s;
}

static void
check_sums(const struct plan *plan)
{
	const struct search_account *a = &plan->account;
	int64_t rejected = 0;

	for (int i = 0; i < a->n_rules; i++)
		rejected += a->rules[i].count;
	cr_assert_eq(rejected, a->rejected);
	cr_assert_eq(a->candidates,
	    a->rejected + a->does_not_fit + a->over_limit + a->pruned + a->open + a->evaluated +
		a->exact,
	    "%lld: %lld %lld %lld %lld %lld %lld", (long long)a->candidates, (long long)a->rejected,
	    (long long)a->does_not_fit, (long long)a->over_limit, (long long)a->pruned,
	    (long long)a->evaluated, (long long)a->exact);
}

/* The answers are the best of all points, and the account adds up to all of them. */
static void
check_against_all(struct world *w)
{
	struct points points = brute_force(w);
	struct plan *plan = plan_of(w);
	int64_t rejected = 0;

	for (int i = 0; i < points.n; i++)
		rejected += points.all[i].rule != NULL;
	cr_assert_eq(plan->account.candidates, points.n);
	cr_assert_eq(plan->account.rejected, rejected);
	check_sums(plan);
	for (int i = 0; i < w->job.top; i++) {
		double best = nth_best(w, &points, i);

		cr_assert_eq(i < plan->n_best, isfinite(best), "answer %d", i);
		if (i < plan->n_best)
			cr_assert_float_eq(value_of(w, &plan->best[i]), best, 1e-9 * best,
			    "answer %d: %.9g, by hand %.9g", i, value_of(w, &plan->best[i]), best);
	}
	if (plan->n_best > 0) {
		cr_assert_str_eq(plan->account.status, "optimal");
		cr_assert_float_eq(plan->account.gap, 0, 1e-12);
	}
}

Test(search, agrees_with_brute_force)
{
	static const int64_t layers[] = {8, 11, 24, 40};

	for (size_t i = 0; i < sizeof(layers) / sizeof(layers[0]); i++) {
		struct world w = world_new(layers[i], 0);

		check_against_all(&w);
		world_free(&w);
	}
}

Test(search, agrees_under_limits)
{
	for (int i = 0; i < 4; i++) {
		struct world w = world_new(16, 0);

		if (i & 1)
			w.job.max_memory_bytes = (uint64_t)(45 * GIB);
		if (i & 2)
			w.job.max_step_s = 1.2;
		check_against_all(&w);
		world_free(&w);
	}
}

Test(search, agrees_for_the_least_memory)
{
	struct world w = world_new(12, 0);

	w.job.objective = OBJECTIVE_MEMORY;
	check_against_all(&w);
	world_free(&w);
}

/* With two kinds of layers and several chunks GLPK may find a better layout than by hand. */
Test(search, is_no_worse_with_layers_of_two_kinds)
{
	struct world w = world_new(21, 3);
	struct points points = brute_force(&w);
	struct plan *plan = plan_of(&w);

	check_sums(plan);
	cr_assert_eq(plan->n_best, 4);
	for (int i = 0; i < 4; i++)
		cr_assert_leq(plan->best[i].step_s, nth_best(&w, &points, i) * (1 + 1e-9));
	world_free(&w);
}

Test(search, the_least_gpus_that_keep_the_step)
{
	struct world w = world_new(16, 0);
	struct plan *plan;
	double step_16, step_8;

	w.job.top = 1;
	step_16 = plan_of(&w)->best[0].step_s;
	w.job.max_gpus = 8;
	step_8 = plan_of(&w)->best[0].step_s;
	cr_assert_gt(step_8, step_16);
	w.job.max_gpus = 0;
	w.job.objective = OBJECTIVE_GPUS;
	w.job.max_step_s = (step_8 + step_16) / 2;
	plan = plan_of(&w);
	cr_assert_eq(plan->best[0].strategy.world, 16);
	cr_assert_float_eq(plan->best[0].step_s, step_16, 1e-9);
	w.job.max_step_s = step_8 * 1.001;
	plan = plan_of(&w);
	cr_assert_leq(plan->best[0].strategy.world, 8);
	cr_assert_float_eq(plan->account.incumbent, (double)plan->best[0].strategy.world, 0);
	check_sums(plan);
	world_free(&w);
}

Test(search, two_runs_are_the_same)
{
	struct world w = world_new(24, 0);
	struct plan *a = plan_of(&w), *b = plan_of(&w);

	cr_assert_eq(a->n_best, b->n_best);
	for (int i = 0; i < a->n_best; i++) {
		cr_assert_eq(a->best[i].step_s, b->best[i].step_s);
		cr_assert_str_eq(strategy_options_text(w.arena, &a->best[i].strategy),
		    strategy_options_text(w.arena, &b->best[i].strategy));
		cr_assert_str_eq(layout_text(w.arena, &a->best[i].layout, &w.model),
		    layout_text(w.arena, &b->best[i].layout, &w.model));
	}
	cr_assert_eq(a->n_why_not, b->n_why_not);
	for (int i = 0; i < a->n_why_not; i++)
		cr_assert_str_eq(a->why_not[i].text, b->why_not[i].text);
	world_free(&w);
}

/* Every reason names the best that there is with its value. */
Test(search, why_not_is_the_best_with_the_value)
{
	struct world w = world_new(40, 0);
	struct points points = brute_force(&w);
	struct plan *plan = plan_of(&w);
	int checked = 0;

	cr_assert_gt(plan->n_why_not, 2);
	for (int i = 0; i < plan->n_why_not; i++) {
		const struct why_not *why = &plan->why_not[i];
		double best = INFINITY;

		for (int j = 0; j < points.n; j++)
			if (is_good(&w, &points.all[j]) &&
			    points.all[j].value[why->axis] == why->value)
				best = fmin(best, points.all[j].step_s);
		cr_assert_eq(why->feasible, isfinite(best), "%s", why->text);
		if (why->feasible)
			cr_assert_float_eq(why->step_s, best, 1e-9 * best, "%s", why->text);
		else
			cr_assert(strstr(why->text, "more than there is"), "%s", why->text);
		checked += why->feasible;
	}
	cr_assert_gt(checked, 0);
	world_free(&w);
}

Test(search, the_master_is_solved_again_by_glpsol)
{
	struct world w = world_new(24, 0);
	struct plan *plan;

	w.job.lp_path = "master.lp";
	w.job.max_memory_bytes = (uint64_t)(60 * GIB);
	plan = plan_of(&w);
	cr_assert_not_null(plan->master_lp);
	cr_assert(strstr(plan->master_lp, "cap_bytes"));
	cr_assert_float_eq(glpsol_objective(plan->master_lp), plan->best[0].step_s, 1e-6);
	cr_assert_gt(plan->account.master_rounds, 4);
	world_free(&w);
}

Test(search, the_nearest_miss_is_the_least)
{
	struct world w = world_new(40, 0);
	double least = INFINITY, cap = capacity_of(&w);
	struct points points;
	struct plan *plan;

	w.job.base.seq_len = 131072;
	w.job.objective = OBJECTIVE_MEMORY; /* layouts by hand are for the least memory */
	points = brute_force(&w);
	for (int i = 0; i < points.n; i++)
		if (!points.all[i].rule)
			least = fmin(least, points.all[i].bytes);
	cr_assert(isfinite(least) && least > cap);
	w.job.objective = OBJECTIVE_TIME;
	plan = plan_of(&w);
	cr_assert_eq(plan->n_best, 0);
	cr_assert_str_eq(plan->account.status, "infeasible");
	check_sums(plan);
	cr_assert_not_null(plan->miss);
	cr_assert_float_eq(plan->miss->over_bytes, least - cap, 1e-6 * cap);
	cr_assert_gt(plan->miss->n_changes, 0);
	cr_assert(strstr(plan->miss->changes[0], "GiB with"), "%s", plan->miss->changes[0]);
	world_free(&w);
}

Test(search, a_step_that_nothing_keeps_is_explained)
{
	struct world w = world_new(16, 0);
	struct plan *plan;

	w.job.max_step_s = 1e-3;
	plan = plan_of(&w);
	cr_assert_eq(plan->n_best, 0);
	cr_assert_null(plan->miss);
	cr_assert_eq(plan->n_why_not, 1);
	cr_assert(strstr(plan->why_not[0].text, "the fastest that fits takes"), "%s",
	    plan->why_not[0].text);
	check_sums(plan);
	world_free(&w);
}

Test(search, a_pin_that_breaks_a_rule_is_explained)
{
	struct world w = world_new(16, 0);
	struct plan *plan;

	PIN(&w.job, AXIS_EP, 3);
	plan = plan_of(&w);
	cr_assert_eq(plan->n_best, 0);
	cr_assert_eq(plan->account.candidates, plan->account.rejected);
	cr_assert_eq(plan->n_why_not, 1);
	cr_assert_str_eq(plan->why_not[0].rule, "MEG-003");
	check_sums(plan);
	world_free(&w);
}

Test(search, open_axes_contain_the_pinned_ones)
{
	struct world w = world_new(16, 0);
	struct plan *pinned = plan_of(&w), *open;

	memset(w.job.limits, 0, sizeof(w.job.limits));
	open = plan_of(&w);
	cr_assert_leq(open->best[0].step_s, pinned->best[0].step_s * (1 + 1e-12));
	cr_assert_gt(open->account.candidates, pinned->account.candidates);
	check_sums(open);
	w.job.limits[AXIS_TP].max = 2;
	w.job.limits[AXIS_PP].min = 4;
	open = plan_of(&w);
	cr_assert_gt(open->n_best, 0);
	for (int i = 0; i < open->n_best; i++) {
		cr_assert_leq(open->best[i].strategy.tp, 2);
		cr_assert_geq(open->best[i].strategy.pp, 4);
	}
	world_free(&w);
}

Test(search, a_time_limit_is_honest)
{
	struct world w = world_new(40, 0);
	struct plan *plan, *full;

	memset(w.job.limits, 0, sizeof(w.job.limits));
	full = plan_of(&w);
	w.job.time_limit_s = 1e-9;
	plan = plan_of(&w);
	cr_assert(plan->account.stopped_early);
	cr_assert_gt(plan->account.open, 0);
	check_sums(plan);
	if (plan->n_best > 0) {
		cr_assert_str_eq(plan->account.status, "feasible");
		cr_assert_leq(plan->account.bound, full->best[0].step_s * (1 + 1e-12));
		cr_assert_geq(plan->account.gap, 0);
	}
	world_free(&w);
}

/* Ten axes of up to 32 values each could be more than any machine tries. */
Test(search, a_grid_beyond_limits_is_refused)
{
	struct world w = world_new(8, 0);

	for (int a = 0; a < AXES; a++) {
		w.job.limits[a].n_allowed = AXIS_MAX_VALUES;
		for (int i = 0; i < AXIS_MAX_VALUES; i++)
			w.job.limits[a].allowed[i] = i + 1;
	}
	cr_assert_null(search(w.arena, w.diags, &w.model, w.cluster, &w.job, NULL, NULL));
	cr_assert_eq(w.diags->errors, 1);
	cr_assert(strstr(w.diags->first->message, "strategies"));
	world_free(&w);
}

Test(search, a_model_without_costs_is_refused)
{
	struct world w = world_new(8, 0);

	w.model.unmodelled = "Mamba-2 layers";
	cr_assert_null(search(w.arena, w.diags, &w.model, w.cluster, &w.job, NULL, NULL));
	cr_assert_eq(w.diags->errors, 1);
	cr_assert(strstr(w.diags->first->message, "Mamba-2"));
	world_free(&w);
}
