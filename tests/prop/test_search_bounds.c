/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the search takes for granted of the evaluator, and its answers, with real models. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "../unit/fixture.h"
#include "planner/band.h"
#include "planner/partition.h"
#include "planner/search.h"

static uint32_t seed = 4711;

static uint32_t
next(uint32_t below)
{
	seed = seed * 1664525 + 1013904223;
	return (seed >> 8) % below;
}

static int64_t
power(uint32_t most)
{
	return (int64_t)1 << next(most + 1);
}

static const struct {
	const char *model, *cluster;
} cases[] = {{"deepseek-v3", "dgx-h100x32"}, {"mixtral-8x7b", "dgx-a100x16"},
    {"qwen3-235b-a22b", "dgx-h200x16"}, {"gpt-oss-120b", "gb200-nvl72"},
    {"llama3.1-70b", "dgx-h100x16"}};
enum { CASES = sizeof(cases) / sizeof(cases[0]) };

static bool
any_strategy(const struct fixture *f, int64_t vpp, struct strategy *s)
{
	*s = fixture_strategy(f, power(3), power(1), power(4), vpp, power(5), power(1), 4608, 4096);
	s->dispatcher = next(2) ? DISPATCH_ALLTOALL : DISPATCH_DEEPEP;
	return strategy_first_violation(s, f->model) == NULL;
}

static const struct recompute recomputes[] = {{RECOMPUTE_NONE, 0, 0},
    {RECOMPUTE_SELECTIVE, MODULE_LAYERNORM, 0},
    {RECOMPUTE_SELECTIVE, MODULE_LAYERNORM | MODULE_MOE_ACT, 0},
    {RECOMPUTE_SELECTIVE, MODULE_MLA_UP_PROJ | MODULE_MOE_ACT, 0},
    {RECOMPUTE_SELECTIVE, MODULE_MOE, 0}, {RECOMPUTE_SELECTIVE, MODULE_MLP, 0},
    {RECOMPUTE_FULL, 0, 1}, {RECOMPUTE_FULL, 0, 0}};

/* Families: no recompute has the least time bound, full recompute the least memory bound. */
Test(search_bounds, recompute_is_bounded_by_its_extremes)
{
	for (int i = 0; i < CASES; i++) {
		struct fixture f = fixture_new(cases[i].model, NULL, cases[i].cluster);
		struct evaluator *e = fixture_evaluator(&f, 4096);
		int checked = 0;

		for (int round = 0; round < 2000; round++) {
			struct bound none, full, other;
			struct strategy s;

			if (!any_strategy(&f, 1 + next(4), &s))
				continue;
			s.recompute = (struct recompute){RECOMPUTE_NONE, 0, 0};
			none = evaluate_bound(e, &s);
			s.recompute = (struct recompute){RECOMPUTE_FULL, 0, 0};
			full = evaluate_bound(e, &s);
			s.recompute = recomputes[next(sizeof(recomputes) / sizeof(recomputes[0]))];
			other = evaluate_bound(e, &s);
			cr_assert_leq(
			    none.step_s, other.step_s * (1 + 1e-12), "%s", cases[i].model);
			cr_assert_leq(full.memory_bytes, other.memory_bytes * (1 + 1e-12), "%s",
			    cases[i].model);
			checked++;
		}
		cr_assert_gt(checked, 50);
		fixture_free(&f);
	}
}

/* Families: the bounds of two chunks a stage hold for more. */
Test(search_bounds, more_chunks_are_bounded_by_two)
{
	for (int i = 0; i < CASES; i++) {
		struct fixture f = fixture_new(cases[i].model, NULL, cases[i].cluster);
		struct evaluator *e = fixture_evaluator(&f, 4096);
		int checked = 0;

		for (int round = 0; round < 4000; round++) {
			int64_t vpp = 3 + next(6);
			struct bound two, more;
			struct strategy s, t;

			if (!any_strategy(&f, vpp, &s))
				continue;
			s.recompute = recomputes[next(sizeof(recomputes) / sizeof(recomputes[0]))];
			t = s;
			t.vpp = 2;
			two = evaluate_bound(e, &t);
			more = evaluate_bound(e, &s);
			cr_assert_leq(two.step_s, more.step_s * (1 + 1e-12), "%s", cases[i].model);
			cr_assert_leq(two.memory_bytes, more.memory_bytes * (1 + 1e-12), "%s",
			    cases[i].model);
			checked++;
		}
		cr_assert_gt(checked, 20, "%s: %d", cases[i].model, checked);
		fixture_free(&f);
	}
}

/* The bound of a layout: so many micro-batches on its slowest stage. */
Test(search_bounds, the_slowest_stage_bounds_the_simulation)
{
	for (int i = 0; i < CASES; i++) {
		struct fixture f = fixture_new(cases[i].model, NULL, cases[i].cluster);
		struct evaluator *e = fixture_evaluator(&f, 4096);
		int checked = 0;

		for (int round = 0; round < 1500; round++) {
			struct arena_mark mark = arena_mark(f.arena);
			struct estimate estimate;
			struct stage_costs costs;
			struct layout layout;
			struct strategy s;
			double bound_s;

			if (!any_strategy(&f, 1, &s))
				continue;
			s.recompute = recomputes[next(sizeof(recomputes) / sizeof(recomputes[0]))];
			evaluate_costs(e, &s, &costs);
			if (next(2))
				partition_fast(&costs, f.model, &layout);
			else
				layout_even(&layout, f.model->layers, (int)s.pp, 1);
			evaluate_exact(e, &s, &layout, f.arena, NULL, &estimate);
			bound_s = (double)s.micro_batches *
				  partition_peak(&costs, f.model, &layout).time_s;
			cr_assert_leq(bound_s, estimate.step_s * (1 + 1e-9),
			    "%s tp %d pp %d ep %d recompute %d: bound %g, step %g", cases[i].model,
			    (int)s.tp, (int)s.pp, (int)s.ep, (int)s.recompute.kind, bound_s,
			    estimate.step_s);
			checked++;
			arena_reset(f.arena, mark);
		}
		cr_assert_gt(checked, 50);
		fixture_free(&f);
	}
}

static void
pin(struct job *job, enum axis axis, int n, const int64_t *values)
{
	job->limits[axis].n_allowed = n;
	memcpy(job->limits[axis].allowed, values, (size_t)n * sizeof(*values));
}

/* Micro-batch, recompute, PP and EP open, the rest pinned: the best of all by hand. */
static double
best_by_hand(struct fixture *f, struct evaluator *e, const int64_t *pps, const int64_t *eps,
    const int64_t *batches, const int64_t *recomputed, double share)
{
	double best = INFINITY;

	for (int i = 0; i < 3 * 3 * 2 * 3; i++) {
		struct strategy s = f->job.base;
		struct stage_costs costs;
		struct estimate estimate;
		struct layout layout;

		s.tp = s.cp = s.vpp = s.etp = 1;
		s.zero = 1;
		s.pp = pps[i % 3];
		s.ep = eps[i / 3 % 3];
		s.micro_batch = batches[i / 9 % 2];
		s.recompute = recompute_of_value(recomputed[i / 18]);
		strategy_derive(&s, f->model, f->cluster->world);
		if (strategy_first_violation(&s, f->model))
			continue;
		evaluate_costs(e, &s, &costs);
		costs.capacity_bytes *= share;
		if (!partition_fast(&costs, f->model, &layout))
			continue;
		evaluate_exact(e, &s, &layout, f->arena, NULL, &estimate);
		if (estimate.worst_bytes <= share * estimate.capacity_bytes)
			best = fmin(best, estimate.step_s);
	}
	return best;
}

Test(search_bounds, the_plan_is_the_best_by_hand)
{
	static const char *const models[] = {
	    "qwen3-30b-a3b", "olmoe-1b-7b", "deepseek-v2-lite", "mixtral-8x7b"};
	const int64_t one[] = {1}, pps[] = {1, 2, 4}, eps[] = {2, 4, 8}, batches[] = {1, 2};
	const int64_t recomputed[] = {recompute_value((struct recompute){RECOMPUTE_NONE, 0, 0}),
	    recompute_value((struct recompute){RECOMPUTE_SELECTIVE, MODULE_MOE_ACT, 0}),
	    recompute_value((struct recompute){RECOMPUTE_FULL, 0, 0})};
	const int64_t alltoall[] = {DISPATCH_ALLTOALL};

	for (int i = 0; i < 4; i++) {
		struct fixture f = fixture_new(models[i], NULL, "dgx-h100x2");
		struct evaluator *e;
		struct plan *plan;
		double best;

		f.job.base.global_batch = 64;
		f.job.base.seq_len = 4096;
		f.job.top = 1;
		pin(&f.job, AXIS_TP, 1, one);
		pin(&f.job, AXIS_CP, 1, one);
		pin(&f.job, AXIS_VPP, 1, one);
		pin(&f.job, AXIS_ETP, 1, one);
		pin(&f.job, AXIS_ZERO, 1, one);
		pin(&f.job, AXIS_PP, 3, pps);
		pin(&f.job, AXIS_EP, 3, eps);
		pin(&f.job, AXIS_MICRO_BATCH, 2, batches);
		pin(&f.job, AXIS_RECOMPUTE, 3, recomputed);
		pin(&f.job, AXIS_DISPATCHER, 1, alltoall);
		e = fixture_evaluator(&f, 4096);
		best = best_by_hand(
		    &f, e, pps, eps, batches, recomputed, 1 / memory_bands[MEMORY_BY_HAND].high);
		if (!isfinite(best))
			best = best_by_hand(&f, e, pps, eps, batches, recomputed, 1);
		plan = search(f.arena, f.diags, f.model, f.cluster, &f.job, NULL, NULL);
		cr_assert_not_null(plan);
		cr_assert_eq(plan->n_best, isfinite(best), "%s", models[i]);
		if (plan->n_best > 0) {
			cr_assert_float_eq(plan->best[0].step_s, best, 1e-9 * best, "%s: %g, %g",
			    models[i], plan->best[0].step_s, best);
			cr_assert_eq(plan_check(plan, f.model, f.cluster, &f.job, f.diags), 0);
		}
		fixture_free(&f);
	}
}

/* Whole searches: the answer passes its check, and no neighbour of it by one degree is better. */
Test(search_bounds, no_neighbour_of_the_plan_is_better)
{
	for (int i = 0; i < CASES; i++) {
		struct fixture f = fixture_new(cases[i].model, NULL, cases[i].cluster);
		struct evaluator *e;
		struct plan *plan;

		f.job.base.global_batch = 1024;
		f.job.base.seq_len = 4096;
		e = fixture_evaluator(&f, 4096);
		plan = search(f.arena, f.diags, f.model, f.cluster, &f.job, NULL, NULL);
		cr_assert_not_null(plan, "%s", cases[i].model);
		cr_assert_gt(plan->n_best, 0, "%s", cases[i].model);
		cr_assert_eq(plan_check(plan, f.model, f.cluster, &f.job, f.diags), 0, "%s",
		    f.diags->last ? f.diags->last->message : "");
		for (int axis = 0; axis < 14; axis++) {
			struct strategy s = plan->best[0].strategy;
			int64_t *degrees[] = {
			    &s.tp, &s.cp, &s.pp, &s.vpp, &s.ep, &s.etp, &s.micro_batch};
			int64_t *degree = degrees[axis / 2];
			struct estimate estimate;

			*degree = axis % 2 ? 2 * *degree : *degree / 2;
			s.dp = s.edp = 0;
			s.schedule = -1;
			strategy_derive(&s, f.model, f.cluster->world);
			if (*degree < 1 || *degree > 64 || s.vpp > 8 || s.etp > 8 ||
			    s.micro_batch > 8 || s.cp > 4 || strategy_first_violation(&s, f.model))
				continue;
			evaluate_exact(e, &s, NULL, f.arena, NULL, &estimate);
			/*
			 * layouts that the programme holds equal differ by hand-offs when simulated
			 */
			cr_assert(estimate.worst_high_bytes > estimate.capacity_bytes ||
				      estimate.step_s >= plan->best[0].step_s * (1 - 1e-6),
			    "%s: %s, %g s against %g s", cases[i].model,
			    strategy_options_text(f.arena, &s), estimate.step_s,
			    plan->best[0].step_s);
		}
		fixture_free(&f);
	}
}
