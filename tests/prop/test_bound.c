/* SPDX-License-Identifier: GPL-3.0-or-later */
/* No bound may exceed what it bounds, whatever the strategy and the layout. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdint.h>

#include "../unit/fixture.h"

static uint32_t seed = 12345;

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

static struct recompute
any_recompute(void)
{
	static const struct recompute choices[] = {{RECOMPUTE_NONE, 0, 0},
	    {RECOMPUTE_SELECTIVE, MODULE_LAYERNORM | MODULE_MOE_ACT, 0}, {RECOMPUTE_FULL, 0, 0},
	    {RECOMPUTE_FULL, 0, 1}};

	return choices[next(4)];
}

/* Another schedule than the degrees have by themselves, and expert overlap. */
static void
any_schedule(struct strategy *s)
{
	s->schedule = (int)next(SCHEDULES);
	if (schedule_is_vee(s->schedule))
		s->vpp = 2;
	if (s->schedule == SCHEDULE_1F1B || s->schedule == SCHEDULE_DUALPIPE)
		s->vpp = 1;
	if (next(2))
		s->overlap |= OVERLAP_EP;
}

/* A random valid strategy, or false. */
static bool
any_strategy(const struct fixture *f, struct strategy *s)
{
	*s = fixture_strategy(f, power(3), power(1), power(4), 1 + next(3), power(5), power(1),
	    512, 4096);
	s->recompute = any_recompute();
	s->zero = (int)next(2);
	s->dispatcher = next(2) ? DISPATCH_ALLTOALL : DISPATCH_DEEPEP;
	if (next(2))
		any_schedule(s);
	return strategy_first_violation(s, f->model) == NULL;
}

/* A random layout with non-empty inner chunks. */
static void
any_layout(const struct fixture *f, const struct strategy *s, struct layout *layout)
{
	int chunks = (int)(s->pp * s->vpp);

	layout_even(layout, f->model->layers, (int)s->pp, (int)s->vpp);
	for (int round = 0; round < 3 * chunks; round++) {
		int c = chunks > 1 ? 1 + (int)next((uint32_t)chunks - 1) : 0;

		if (c > 0 && layout->first[c] + 1 < layout->first[c + 1])
			layout->first[c]++;
	}
}

static int
check_model(const char *model, const char *cluster)
{
	struct fixture f = fixture_new(model, NULL, cluster);
	struct evaluator *e = fixture_evaluator(&f, 4096);
	struct stage_memory stages[STRATEGY_MAX_PP];
	int checked = 0;

	for (int round = 0; round < 3000; round++) {
		struct estimate estimate, least;
		struct layout layout;
		struct strategy s;
		struct bound bound;

		if (!any_strategy(&f, &s))
			continue;
		bound = evaluate_bound(e, &s);
		any_layout(&f, &s, &layout);
		for (int chosen = 0; chosen < 2; chosen++) {
			evaluate_exact(e, &s, chosen ? NULL : &layout, f.arena, stages, &estimate);
			cr_assert(isfinite(estimate.step_s) && estimate.step_s > 0);
			cr_assert_leq(bound.step_s, estimate.step_s * (1 + 1e-9),
			    "%s tp %d cp %d pp %d vpp %d ep %d: bound %g, step %g", model,
			    (int)s.tp, (int)s.cp, (int)s.pp, (int)s.vpp, (int)s.ep, bound.step_s,
			    estimate.step_s);
			cr_assert_not(
			    evaluate_below(e, &s, &estimate.layout, 0, f.arena, NULL, &least));
			cr_assert_leq(least.step_s, estimate.step_s * (1 + 1e-9),
			    "%s schedule %d pp %d vpp %d: least %g, step %g", model, s.schedule,
			    (int)s.pp, (int)s.vpp, least.step_s, estimate.step_s);
			cr_assert_leq(bound.memory_bytes, estimate.worst_bytes * (1 + 1e-9),
			    "%s tp %d cp %d pp %d vpp %d ep %d: memory bound %g, worst %g", model,
			    (int)s.tp, (int)s.cp, (int)s.pp, (int)s.vpp, (int)s.ep,
			    bound.memory_bytes, estimate.worst_bytes);
		}
		checked++;
	}
	fixture_free(&f);
	return checked;
}

Test(bound, never_above_the_exact_value)
{
	cr_assert_gt(check_model("deepseek-v3", "dgx-h100x32"), 50);
	cr_assert_gt(check_model("mixtral-8x7b", "dgx-a100x16"), 50);
	cr_assert_gt(check_model("llama3.1-70b", "dgx-h200x16"), 50);
	cr_assert_gt(check_model("gpt-oss-120b", "gb200-nvl72x32"), 50);
}

/* The exposed parts of a step are the whole step. */
Test(bound, exposed_parts_sum_to_the_step)
{
	struct fixture f = fixture_new("deepseek-v2", NULL, "dgx-h100x32");
	struct evaluator *e = fixture_evaluator(&f, 4096);
	int checked = 0;

	for (int round = 0; round < 2000; round++) {
		struct estimate estimate;
		struct strategy s;
		double sum = 0, mean = 0;

		if (!any_strategy(&f, &s))
			continue;
		evaluate_exact(e, &s, NULL, f.arena, NULL, &estimate);
		for (int i = 0; i < TIME_PARTS; i++) {
			cr_assert_geq(estimate.exposed_s[i], -1e-9, "%s", time_part_names[i]);
			cr_assert_geq(estimate.hidden_s[i], 0);
			sum += estimate.exposed_s[i];
			cr_assert_geq(estimate.mean_s[i], 0);
			mean += estimate.mean_s[i];
		}
		cr_assert_float_eq(mean, estimate.step_s, 1e-9 * sum);
		cr_assert_float_eq(sum, estimate.step_s, 1e-9 * sum);
		checked++;
	}
	cr_assert_gt(checked, 50);
	fixture_free(&f);
}
