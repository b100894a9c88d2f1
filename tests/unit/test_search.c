/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The search against brute force over whole grids, with an evaluator that is easy to see through.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "base/units.h"
#include "search_fixture.h"

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
