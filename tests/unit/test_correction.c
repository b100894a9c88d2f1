/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Does a measured step correct what it should, by as much as it says, and nothing else? */
#include <criterion/criterion.h>
#include <math.h>

#include "fixture.h"
#include "planner/correction.h"
#include "planner/params.h"

enum { SEQ_LEN = 4096 };

/* A run of the fixture's model that took `factor` times what is predicted. */
static struct measured_run
run_of(struct fixture *f, struct strategy s, double factor)
{
	struct measured_run run = {
	    .model = f->model->name, .gpu = f->cluster->gpu.name, .strategy = s};
	struct estimate estimate;
	struct params params;

	params_count(f->model, &params);
	run.parameters = params.total;
	strategy_derive(&s, f->model, f->cluster->world);
	/* the split that a run has when it names none */
	layout_even(&estimate.layout, f->model->layers, (int)s.pp, (int)s.vpp);
	struct layout layout = estimate.layout;
	evaluate_exact(fixture_evaluator(f, SEQ_LEN), &s, &layout, f->arena, NULL, &estimate);
	run.step_s = factor * estimate.step_s;
	return run;
}

static struct estimate
cost(struct fixture *f, struct strategy s)
{
	struct estimate estimate;
	struct layout layout;

	strategy_derive(&s, f->model, f->cluster->world);
	layout_even(&layout, f->model->layers, (int)s.pp, (int)s.vpp);
	evaluate_exact(fixture_evaluator(f, SEQ_LEN), &s, &layout, f->arena, NULL, &estimate);
	return estimate;
}

static void
give_runs(struct fixture *f, struct measured_run *runs, int n)
{
	f->cluster->runs = (struct measured_runs){n, runs};
}

static double
width(const struct estimate *e)
{
	return log(e->step_high_s / e->step_low_s);
}

Test(correction, a_run_moves_its_own_step_most_of_the_way)
{
	struct fixture f = fixture_new("mixtral-8x7b", NULL, "dgx-h100x4");
	struct strategy s = fixture_strategy(&f, 2, 1, 1, 1, 8, 1, 256, SEQ_LEN);
	struct estimate before = cost(&f, s), after;
	struct measured_run run = run_of(&f, s, 1.4);

	give_runs(&f, &run, 1);
	after = cost(&f, s);
	cr_assert_gt(after.step_s, 1.25 * before.step_s);
	cr_assert_lt(after.step_s, 1.4 * before.step_s);
	cr_assert_lt(width(&after), 0.9 * width(&before));
	fixture_free(&f);
}

Test(correction, several_runs_come_nearer_and_know_more)
{
	struct fixture f = fixture_new("mixtral-8x7b", NULL, "dgx-h100x4");
	struct strategy s = fixture_strategy(&f, 2, 1, 1, 1, 8, 1, 256, SEQ_LEN);
	struct strategy other = fixture_strategy(&f, 1, 1, 2, 1, 8, 1, 256, SEQ_LEN);
	struct measured_run runs[2] = {run_of(&f, s, 1.3), run_of(&f, other, 1.3)};
	struct strategy third = fixture_strategy(&f, 1, 1, 4, 1, 4, 1, 256, SEQ_LEN);
	double plain = cost(&f, third).step_s;
	struct estimate one, two;

	give_runs(&f, runs, 1);
	one = cost(&f, third);
	give_runs(&f, runs, 2);
	two = cost(&f, third);
	cr_assert_gt(two.step_s, one.step_s);
	cr_assert_lt(fabs(two.step_s / plain / 1.3 - 1), 0.05);
	cr_assert_leq(width(&two), width(&one));
	fixture_free(&f);
}

Test(correction, parts_still_sum_to_the_step)
{
	struct fixture f = fixture_new("deepseek-v2-lite", NULL, "dgx-h100x2");
	struct strategy s = fixture_strategy(&f, 1, 1, 2, 1, 8, 1, 128, SEQ_LEN);
	struct measured_run run = run_of(&f, s, 0.7);
	struct estimate e;
	double sum = 0;

	give_runs(&f, &run, 1);
	e = cost(&f, s);
	for (int part = 0; part < TIME_PARTS; part++)
		sum += e.exposed_s[part];
	cr_assert_float_eq(sum, e.step_s, 1e-6 * e.step_s);
	fixture_free(&f);
}

Test(correction, the_bound_stays_below)
{
	struct fixture f = fixture_new("mixtral-8x7b", NULL, "dgx-h100x4");
	struct strategy s = fixture_strategy(&f, 1, 1, 4, 1, 8, 1, 256, SEQ_LEN);
	struct measured_run run = run_of(&f, s, 0.5);
	struct strategy derived = s;

	give_runs(&f, &run, 1);
	strategy_derive(&derived, f.model, f.cluster->world);
	cr_assert_leq(
	    evaluate_bound(fixture_evaluator(&f, SEQ_LEN), &derived).step_s, cost(&f, s).step_s);
	fixture_free(&f);
}

static enum run_use
use_of(struct fixture *f, const struct measured_run *run, const struct strategy *s)
{
	return run_use(run, f->model, f->cluster, s, f->arena);
}

Test(correction, nothing_else_is_corrected)
{
	struct fixture f = fixture_new("mixtral-8x7b", NULL, "dgx-h100x4");
	struct strategy s = fixture_strategy(&f, 2, 1, 1, 1, 8, 1, 256, SEQ_LEN), other = s;
	double before = cost(&f, s).step_s;
	struct measured_run good = run_of(&f, s, 1.4), run = good;

	cr_assert_eq(use_of(&f, &run, &s), RUN_USED);
	run.parameters++;
	cr_assert_eq(use_of(&f, &run, &s), RUN_OTHER_MODEL);
	give_runs(&f, &run, 1);
	cr_assert_float_eq(cost(&f, s).step_s, before, 1e-12);
	run = good;
	run.gpu = "A100-SXM4-80GB";
	cr_assert_eq(use_of(&f, &run, &s), RUN_OTHER_GPU);
	other.precision = PRECISION_FP8;
	cr_assert_eq(use_of(&f, &good, &other), RUN_OTHER_PRECISION);
	other = s;
	other.framework = FRAMEWORK_DEEPSPEED;
	cr_assert_eq(use_of(&f, &good, &other), RUN_OTHER_FRAMEWORK);
	other = s;
	other.framework_version = "0.14";
	cr_assert_eq(use_of(&f, &good, &other), RUN_USED);
	run = good;
	run.strategy.framework_version = "0.15";
	cr_assert_eq(use_of(&f, &run, &other), RUN_OTHER_FRAMEWORK);
	run = good;
	run.strategy.tp = 3;
	cr_assert_eq(use_of(&f, &run, &s), RUN_INVALID);
	run = good;
	run.strategy.layout = "Et*99L"; /* of a model with 99 layers */
	cr_assert_eq(use_of(&f, &run, &s), RUN_OTHER_LAYOUT);
	fixture_free(&f);
}

/* A group whose share is small can hardly be told by a step, and keeps its physical value. */
Test(correction, what_a_run_cannot_tell_stays_near_one)
{
	struct observation o = {
	    .predicted_s = {[CORRECTED_COMPUTE] = 9.9, [CORRECTED_TRAFFIC] = 0.1},
	    .measured_s = 12,
	    .spread = 0.06};
	struct correction c;

	correction_fit(&o, 1, &c);
	cr_assert_gt(c.factor[CORRECTED_COMPUTE], 1.15);
	cr_assert_lt(c.factor[CORRECTED_TRAFFIC], 1.05);
	cr_assert_float_eq(c.factor[CORRECTED_DATA], 1, 1e-9);
	cr_assert_gt(c.covariance[CORRECTED_TRAFFIC][CORRECTED_TRAFFIC], 0.25);
	cr_assert_lt(c.covariance[CORRECTED_COMPUTE][CORRECTED_COMPUTE], 0.01);
}

Test(correction, a_wrong_unit_does_not_run_away)
{
	struct observation o = {
	    .predicted_s = {[CORRECTED_COMPUTE] = 10}, .measured_s = 1e9, .spread = 0.06};
	struct correction c;

	correction_fit(&o, 1, &c);
	cr_assert(
	    isfinite(c.factor[CORRECTED_COMPUTE]) && c.factor[CORRECTED_COMPUTE] <= exp(3.01));
}

static double
allocated(const struct stage_memory *stages, int n, double *state)
{
	double most = 0;

	for (int i = 0; i < n; i++)
		if (stages[i].allocated_bytes > most) {
			most = stages[i].allocated_bytes;
			*state = most - stages[i].parts[MEMORY_ACTIVATIONS] -
				 stages[i].parts[MEMORY_LOGITS] -
				 stages[i].parts[MEMORY_MOE_BUFFERS];
		}
	return most;
}

/* What comes and goes is scaled by the measured peak; model state is not, and the bound follows. */
Test(correction, a_measured_peak_scales_activations)
{
	struct fixture f = fixture_new("mixtral-8x7b", NULL, "dgx-h100x4");
	struct strategy s = fixture_strategy(&f, 2, 1, 2, 1, 8, 1, 256, SEQ_LEN), derived = s;
	struct measured_run run = run_of(&f, s, 1);
	struct strategy other;
	struct stage_memory stages[2];
	struct estimate estimate;
	double before, after, state = 0, kept = 0, bound;

	strategy_derive(&derived, f.model, f.cluster->world);
	evaluate(fixture_evaluator(&f, SEQ_LEN), &derived, NULL, stages, &estimate);
	before = allocated(stages, 2, &state);
	run.allocated_bytes = (uint64_t)(state + 0.8 * (before - state));
	give_runs(&f, &run, 1);
	bound = evaluate_bound(fixture_evaluator(&f, SEQ_LEN), &derived).memory_bytes;
	evaluate(fixture_evaluator(&f, SEQ_LEN), &derived, NULL, stages, &estimate);
	after = allocated(stages, 2, &kept);
	cr_assert_float_eq(kept, state, 1e-6 * state);
	cr_assert_float_eq(after, state + 0.8 * (before - state), 0.01 * before);
	cr_assert_leq(bound, estimate.worst_bytes);
	other = derived; /* in another precision nothing was measured */
	other.precision = PRECISION_FP8;
	bound = evaluate_bound(fixture_evaluator(&f, SEQ_LEN), &other).memory_bytes;
	evaluate(fixture_evaluator(&f, SEQ_LEN), &other, NULL, stages, &estimate);
	cr_assert_leq(bound, estimate.worst_bytes);
	after = allocated(stages, 2, &kept);
	give_runs(&f, NULL, 0);
	evaluate(fixture_evaluator(&f, SEQ_LEN), &other, NULL, stages, &estimate);
	cr_assert_float_eq(after, allocated(stages, 2, &kept), 1);
	run.allocated_bytes =
	    1; /* less than the model state: nothing that activations could explain */
	cr_assert_float_eq(activation_ratio(&run, &estimate), 1, 1e-12);
	fixture_free(&f);
}

/* Whatever a run says, no strategy costs less than its bound. */
Test(correction, bounds_hold_under_any_correction)
{
	static const double factors[] = {0.4, 0.8, 1.3, 3};
	struct fixture f = fixture_new("deepseek-v2-lite", NULL, "dgx-h100x4");

	for (size_t i = 0; i < sizeof(factors) / sizeof(factors[0]); i++)
		for (int64_t pp = 1; pp <= 4; pp *= 2) {
			struct strategy s = fixture_strategy(&f, 1, 1, pp, 1, 8, 1, 128, SEQ_LEN);
			struct strategy other =
			    fixture_strategy(&f, 2, 1, 1, 1, 4, 1, 128, SEQ_LEN);
			struct measured_run run;
			struct estimate e;

			give_runs(&f, NULL, 0);
			run = run_of(&f, other, factors[i]);
			give_runs(&f, &run, 1);
			strategy_derive(&s, f.model, f.cluster->world);
			e = cost(&f, s);
			cr_assert_leq(
			    evaluate_bound(fixture_evaluator(&f, SEQ_LEN), &s).step_s, e.step_s);
		}
	fixture_free(&f);
}

/* Copies of activations in every pass are corrected like an optimizer's on the host. */
Test(correction, offloaded_activations_are_corrected)
{
	struct fixture f = fixture_new("mixtral-8x7b", NULL, "dgx-h100x8");
	struct strategy s = fixture_strategy(&f, 1, 1, 8, 1, 8, 1, 256, SEQ_LEN);
	struct estimate before, after;
	struct measured_run run;

	s.offload = OFFLOAD_ACTIVATIONS;
	s.offload_fraction = 1;
	f.cluster->host.link_Bps.value = 1e9;
	before = cost(&f, s);
	cr_assert_gt(before.exposed_s[TIME_OFFLOAD], 0.5 * before.step_s);
	run = run_of(&f, s, 1.6);
	give_runs(&f, &run, 1);
	after = cost(&f, s);
	cr_assert_gt(after.step_s, 1.5 * before.step_s);
	cr_assert_lt(after.step_s, 1.6 * before.step_s);
	fixture_free(&f);
}
