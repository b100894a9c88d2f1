/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Does what nobody stated widen the answer, and nothing else? And is the verdict
 * the band's: oom above its low end, at risk above its high one?
 */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "fixture.h"
#include "planner/band.h"
#include "planner/unstated.h"

static struct unstated
unstated_of(struct fixture *f, const struct strategy *s)
{
	struct evaluator *e = fixture_evaluator(f, s->seq_len);
	struct layout layout;
	struct unstated found;

	layout_even(&layout, f->model->layers, (int)s->pp, (int)s->vpp);
	evaluate_unstated(e, s, &layout, &found);
	return found;
}

Test(unstated, everything_stated_leaves_one_answer)
{
	struct fixture f = fixture_new("qwen3-30b-a3b", NULL, "dgx-h100x2");
	struct strategy s = fixture_strategy(&f, 1, 1, 1, 1, 16, 1, 256, 4096);
	struct unstated found;

	s.said = SAID_RECOMPUTE | SAID_DISPATCHER | SAID_GRADIENTS | SAID_OPTIMIZER;
	found = unstated_of(&f, &s);
	cr_assert_eq(found.settings, 0U);
	cr_assert_eq(found.combinations, 1);
	cr_assert_eq(found.step_low_s, found.step_high_s);
	cr_assert_eq(found.low_bytes, found.high_bytes);
	fixture_free(&f);
}

Test(unstated, each_setting_widens_what_it_touches)
{
	static const unsigned all =
	    SAID_RECOMPUTE | SAID_DISPATCHER | SAID_GRADIENTS | SAID_OPTIMIZER;
	static const struct {
		unsigned open;
		bool step, bytes;
	} rows[] = {{SAID_RECOMPUTE, true, true}, {SAID_DISPATCHER, true, false},
	    {SAID_GRADIENTS, false, true}, {SAID_OPTIMIZER, false, true}};
	struct fixture f = fixture_new("qwen3-30b-a3b", NULL, "dgx-h100x2");
	struct strategy s = fixture_strategy(&f, 1, 1, 1, 1, 16, 1, 256, 4096);

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct unstated found;

		s.said = all & ~rows[i].open;
		found = unstated_of(&f, &s);
		cr_assert_eq(found.settings, rows[i].open);
		cr_assert_gt(found.combinations, 1);
		if (rows[i].step)
			cr_assert_gt(found.step_high_s, 1.01 * found.step_low_s, "row %zu", i);
		if (rows[i].bytes)
			cr_assert_gt(found.high_bytes, 1.01 * found.low_bytes, "row %zu", i);
	}
	fixture_free(&f);
}

Test(unstated, a_dense_model_has_no_dispatcher)
{
	struct fixture f = fixture_new("llama3.1-8b", NULL, "dgx-h100");
	struct strategy s = fixture_strategy(&f, 1, 1, 1, 1, 1, 1, 64, 4096);

	cr_assert_eq(unstated_of(&f, &s).settings,
	    (unsigned)(SAID_RECOMPUTE | SAID_GRADIENTS | SAID_OPTIMIZER));
	fixture_free(&f);
}

/* What cannot fit was not what was run: with so long a sequence only recomputation is left. */
Test(unstated, what_does_not_fit_is_no_answer)
{
	struct fixture f = fixture_new("qwen3-30b-a3b", NULL, "dgx-h100x2");
	struct strategy s = fixture_strategy(&f, 1, 1, 1, 1, 16, 1, 256, 8192);
	struct unstated found;

	s.recompute = (struct recompute){RECOMPUTE_FULL, 0, 0};
	s.said = SAID_DISPATCHER | SAID_GRADIENTS | SAID_OPTIMIZER;
	found = unstated_of(&f, &s);
	cr_assert_eq(found.settings, (unsigned)SAID_RECOMPUTE);
	cr_assert_lt(found.high_bytes, 1.1 * f.cluster->gpu.usable_bytes.value);
	fixture_free(&f);
}

/* What was assumed is no exception, and a value that is it already is not counted twice. */
Test(unstated, what_was_assumed_must_fit_too)
{
	struct fixture f = fixture_new("qwen3-30b-a3b", NULL, "dgx-h100x2");
	struct strategy s = fixture_strategy(&f, 1, 1, 1, 1, 16, 1, 256, 4096);
	struct estimate estimate;
	struct unstated found;
	double usable;

	s.said = SAID_RECOMPUTE | SAID_DISPATCHER | SAID_OPTIMIZER;
	cr_assert_eq(unstated_of(&f, &s).combinations, 2);
	s.said = SAID_DISPATCHER | SAID_GRADIENTS | SAID_OPTIMIZER;
	evaluate(fixture_evaluator(&f, 4096), &s, NULL, NULL, &estimate);
	usable = 0.999 * estimate.worst_low_bytes + (double)f.cluster->reserve_bytes;
	f.cluster->gpu.usable_bytes.value = usable;
	found = unstated_of(&f, &s);
	cr_assert(!found.assumed_fits && found.combinations > 0);
	cr_assert_lt(found.high_bytes, estimate.worst_bytes);
	f.cluster->gpu.usable_bytes.value = 1e9;
	found = unstated_of(&f, &s);
	cr_assert(!found.assumed_fits && found.combinations == 0 && found.step_low_s > 0);
	fixture_free(&f);
}

Test(band, classes_are_those_of_model_machine_and_group)
{
	static const struct {
		const char *model, *cluster;
		int64_t ep;
		enum step_class class;
	} rows[] = {
	    {"llama3.1-8b", "dgx-h100x2", 1, STEP_DENSE_HOPPER},
	    {"llama3.1-8b", "dgx-b200", 1, STEP_DENSE_BLACKWELL},
	    {"qwen3-30b-a3b", "dgx-h100x2", 8, STEP_MOE_HOPPER},
	    {"qwen3-30b-a3b", "dgx-h100x2", 16, STEP_MOE_HOPPER_WIDE},
	    {"qwen3-30b-a3b", "dgx-b200", 8, STEP_MOE_BLACKWELL},
	    {"qwen3-30b-a3b", "node:2 gpu:8 MI355X-288GB xgmi:400GB/s nic:8x400Gb/s", 8,
	        STEP_OTHER_MAKERS},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct fixture f = fixture_new(rows[i].model, NULL, rows[i].cluster);
		struct strategy s = fixture_strategy(&f, 1, 1, 1, 1, rows[i].ep, 1, 64, 4096);

		cr_assert_eq(step_class_of(f.model, f.cluster, &s), rows[i].class, "row %zu", i);
		fixture_free(&f);
	}
}

Test(band, bands_hold_the_prediction_and_know_their_runs)
{
	for (int i = 0; i < STEP_CLASSES; i++) {
		cr_assert(step_bands[i].low < 1 && step_bands[i].high > 1);
		cr_assert_gt(step_bands[i].count, 0);
	}
	for (int i = 0; i < MEMORY_CLASSES; i++)
		cr_assert(memory_bands[i].low < 1 && memory_bands[i].high > 1);
}

/* The same peak on GPUs with less and less memory. */
Test(band, the_verdict_is_the_bands)
{
	struct fixture f = fixture_new("qwen3-30b-a3b", NULL, "dgx-h100x2");
	struct strategy s = fixture_strategy(&f, 1, 1, 1, 1, 16, 1, 256, 4096);
	struct evaluator *e = fixture_evaluator(&f, 4096);
	struct estimate estimate;
	double low, high;

	evaluate(e, &s, NULL, NULL, &estimate);
	low = estimate.worst_low_bytes;
	high = estimate.worst_high_bytes;
	cr_assert(low < estimate.worst_bytes && estimate.worst_bytes < high);
	for (int i = 0; i < 3; i++) {
		const double usable[] = {high * 1.001, high * 0.999, low * 0.999};
		const enum verdict verdicts[] = {VERDICT_FITS, VERDICT_AT_RISK, VERDICT_OOM};

		f.cluster->gpu.usable_bytes.value = usable[i] + (double)f.cluster->reserve_bytes;
		evaluate(fixture_evaluator(&f, 4096), &s, NULL, NULL, &estimate);
		cr_assert_eq(estimate.verdict, verdicts[i], "usable %g", usable[i]);
	}
	fixture_free(&f);
}

/*
 * Fragments of activations count at the high end only: another stage may have the higher
 * low end.
 */
Test(band, ends_are_the_highest_of_all_stages)
{
	struct fixture f = fixture_new("mixtral-8x7b", NULL, "dgx-h100x2");
	int apart = 0;

	for (int64_t length = 1024; length <= 4096; length += 64) {
		struct strategy s = fixture_strategy(&f, 1, 1, 2, 1, 1, 1, 64, length);
		struct stage_memory stages[2];
		struct estimate e;

		s.recompute = (struct recompute){RECOMPUTE_FULL, 0, 0};
		evaluate(fixture_evaluator(&f, length), &s, NULL, stages, &e);
		cr_assert_eq(e.worst_low_bytes, fmax(stages[0].low_bytes, stages[1].low_bytes));
		cr_assert_eq(e.worst_high_bytes, fmax(stages[0].high_bytes, stages[1].high_bytes));
		apart += stages[e.worst_stage].low_bytes < e.worst_low_bytes;
	}
	cr_assert_gt(apart, 0);
	fixture_free(&f);
}
