/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What does the search say beside its answers: why not, how near, under which limits? */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "base/units.h"
#include "glpsol.h"
#include "planner/band.h"
#include "search_fixture.h"

Test(search_answers, why_not_is_the_best_with_the_value)
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

Test(search_answers, the_master_is_solved_again_by_glpsol)
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

Test(search_answers, the_nearest_miss_is_the_least)
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

Test(search_answers, a_step_that_nothing_keeps_is_explained)
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

Test(search_answers, a_pin_that_breaks_a_rule_is_explained)
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

Test(search_answers, open_axes_contain_the_pinned_ones)
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

Test(search_answers, a_time_limit_is_honest)
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
Test(search_answers, a_grid_beyond_limits_is_refused)
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

Test(search_answers, a_model_without_costs_is_refused)
{
	struct world w = world_new(8, 0);

	w.model.unmodelled = "Mamba-2 layers";
	cr_assert_null(search(w.arena, w.diags, &w.model, w.cluster, &w.job, NULL, NULL));
	cr_assert_eq(w.diags->errors, 1);
	cr_assert(strstr(w.diags->first->message, "Mamba-2"));
	world_free(&w);
}
