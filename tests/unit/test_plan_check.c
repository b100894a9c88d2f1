/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Does the check of a finished plan pass good plans and find each kind of wrong one? */
#include <criterion/criterion.h>

#include "fixture.h"
#include "planner/search.h"

struct world {
	struct fixture f;
	struct plan plan;
	struct estimate estimate;
	struct stage_memory stages[8];
};

static void
begin(struct world *w)
{
	struct strategy s;

	w->f = fixture_new("deepseek-v2", NULL, "dgx-h200x16");
	s = fixture_strategy(&w->f, 1, 1, 8, 1, 16, 1, 1024, 4096);
	evaluate_exact(
	    fixture_evaluator(&w->f, 4096), &s, NULL, w->f.arena, w->stages, &w->estimate);
	w->plan = (struct plan){.n_best = 1, .best = &w->estimate};
	cr_assert_neq(w->estimate.verdict, VERDICT_OOM);
}

static int
findings(struct world *w)
{
	return plan_check(&w->plan, w->f.model, w->f.cluster, &w->f.job, w->f.diags);
}

Test(plan_check, a_good_plan_passes)
{
	struct world w;

	begin(&w);
	cr_assert_eq(findings(&w), 0, "%s", w.f.diags->last ? w.f.diags->last->message : "");
	fixture_free(&w.f);
}

#define FINDS(name, ...)                                          \
	Test(plan_check, name)                                    \
	{                                                         \
		struct world w;                                   \
                                                                  \
		begin(&w);                                        \
		__VA_ARGS__;                                      \
		cr_assert_gt(findings(&w), 0);                    \
		cr_assert_gt(w.f.diags->errors, 0);               \
		fixture_free(&w.f);                               \
	}

FINDS(wrong_data_parallel, w.estimate.strategy.dp++)
FINDS(wrong_expert_grid, w.estimate.strategy.edp++)
FINDS(wrong_batch, w.estimate.strategy.micro_batches++)
FINDS(a_layer_lost, w.estimate.layout.first[8]--)
FINDS(an_empty_stage, w.estimate.layout.first[4] = w.estimate.layout.first[3])
FINDS(a_part_forgotten, w.stages[2].parts[MEMORY_GRADIENTS] = 0)
FINDS(weights_elsewhere, w.stages[1].parts[MEMORY_WEIGHTS] += 1e9, w.stages[1].total_bytes += 1e9)
FINDS(over_capacity, w.estimate.capacity_bytes = w.estimate.worst_bytes - 1)
FINDS(seconds_forgotten, w.estimate.exposed_s[TIME_EXPERTS] = 0)
FINDS(a_pin_ignored, w.f.job.limits[AXIS_EP] = (struct axis_limit){.n_allowed = 1, .allowed = {8}})
FINDS(a_step_cap_ignored, w.f.job.max_step_s = 0.001)
FINDS(a_memory_cap_ignored, w.f.job.max_memory_bytes = 1 << 30)
