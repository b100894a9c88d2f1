/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Does the step time move the way it must when one thing changes? */
#include <criterion/criterion.h>
#include <math.h>

#include "fixture.h"
#include "planner/evaluator.h"

static struct estimate
cost(struct fixture *f, struct strategy s)
{
	struct estimate estimate;

	strategy_derive(&s, f->model, f->cluster->world);
	cr_assert_null(strategy_first_violation(&s, f->model));
	evaluate_exact(fixture_evaluator(f, s.seq_len), &s, NULL, f->arena, NULL, &estimate);
	return estimate;
}

Test(steptime, full_recompute_costs_a_forward)
{
	struct fixture f = fixture_new("llama3.1-70b", NULL, "dgx-h100x8");
	struct strategy s = fixture_strategy(&f, 8, 1, 4, 1, 1, 1, 64, 8192);
	struct estimate none = cost(&f, s), full;

	s.recompute.kind = RECOMPUTE_FULL;
	full = cost(&f, s);
	cr_assert_gt(full.step_s, 1.2 * none.step_s);
	cr_assert_lt(full.step_s, 1.4 * none.step_s);
	cr_assert_gt(full.exposed_s[TIME_RECOMPUTE], 0);
	/* model FLOPs do not count the replay */
	cr_assert_lt(full.mfu, none.mfu);
	fixture_free(&f);
}

Test(steptime, deduplication_spares_the_network)
{
	struct fixture f = fixture_new("deepseek-v3", NULL, "dgx-h100x32");
	struct strategy s = fixture_strategy(&f, 1, 1, 8, 1, 32, 1, 1024, 4096);
	struct estimate plain = cost(&f, s), once;
	int network = f.cluster->n_levels - 1;

	s.dispatcher = DISPATCH_DEEPEP;
	once = cost(&f, s);
	cr_assert_lt(once.traffic_bytes[network], 0.8 * plain.traffic_bytes[network]);
	cr_assert_lt(once.exposed_s[TIME_ALL_TO_ALL], plain.exposed_s[TIME_ALL_TO_ALL]);
	fixture_free(&f);
}

Test(steptime, leaving_the_node_costs_all_to_all_time)
{
	struct fixture f = fixture_new("qwen3-235b-a22b", NULL, "dgx-h100x16");
	struct estimate inside = cost(&f, fixture_strategy(&f, 1, 1, 2, 1, 8, 1, 512, 4096));
	struct estimate outside = cost(&f, fixture_strategy(&f, 1, 1, 2, 1, 32, 1, 512, 4096));

	cr_assert_gt(outside.exposed_s[TIME_ALL_TO_ALL], 2 * inside.exposed_s[TIME_ALL_TO_ALL]);
	fixture_free(&f);
}

Test(steptime, a_hot_rank_slows_the_step)
{
	struct fixture f = fixture_new("mixtral-8x7b", NULL, "dgx-h100x8");
	struct strategy s = fixture_strategy(&f, 1, 1, 1, 1, 8, 1, 256, 4096);
	struct estimate even = cost(&f, s), hot;

	f.job.skew = (struct load_skew){.kind = SKEW_MAX, .value = 1.7};
	hot = cost(&f, s);
	cr_assert_gt(hot.exposed_s[TIME_EXPERTS], 1.6 * even.exposed_s[TIME_EXPERTS]);
	cr_assert_gt(hot.worst_bytes, even.worst_bytes);
	cr_assert_float_eq(hot.exposed_s[TIME_ATTENTION], even.exposed_s[TIME_ATTENTION], 1e-9);
	fixture_free(&f);
}

Test(steptime, micro_batches_amortise_the_bubble)
{
	struct fixture f = fixture_new("llama3.1-405b", NULL, "dgx-h100x64");
	struct strategy s = fixture_strategy(&f, 8, 1, 8, 1, 1, 1, 64, 8192);
	double before = INFINITY;

	for (int batch = 64; batch <= 1024; batch *= 2) {
		struct estimate e;

		s.global_batch = batch;
		e = cost(&f, s);
		cr_assert_lt(e.exposed_s[TIME_BUBBLE] / e.step_s, before);
		before = e.exposed_s[TIME_BUBBLE] / e.step_s;
	}
	fixture_free(&f);
}

Test(steptime, fsdp_pays_every_micro_batch)
{
	struct fixture f = fixture_new("llama3.1-8b", NULL, "dgx-h100x8");
	struct strategy s = fixture_strategy(&f, 1, 1, 1, 1, 1, 1, 256, 8192);
	struct estimate once, often;

	s.zero = 1;
	once = cost(&f, s);
	s.zero = 3;
	often = cost(&f, s);
	cr_assert_gt(often.traffic_bytes[1], 3 * once.traffic_bytes[1]);
	cr_assert_lt(often.worst_bytes, once.worst_bytes);
	fixture_free(&f);
}

/* Closed form against simulation: it orders candidates, so it must stay near. */
Test(steptime, closed_form_is_near_the_simulation)
{
	struct fixture f = fixture_new("deepseek-v3", NULL, "dgx-h100x32");
	struct evaluator *e = fixture_evaluator(&f, 4096);

	for (int pp = 2; pp <= 16; pp *= 2) {
		struct strategy s = fixture_strategy(&f, 1, 1, pp, 1, 16, 1, 2048, 4096);
		struct estimate closed, exact;

		evaluate(e, &s, NULL, NULL, &closed);
		evaluate_exact(e, &s, &closed.layout, f.arena, NULL, &exact);
		cr_assert_float_eq(closed.step_s, exact.step_s, 0.06 * exact.step_s, "pp %d", pp);
		cr_assert_float_eq(closed.worst_bytes, exact.worst_bytes, 1);
	}
	fixture_free(&f);
}

/* Fullest rank over mean: nothing to average with one expert a rank, less with more. */
Test(steptime, load_of_the_fullest_rank)
{
	struct load_skew zipf = {.kind = SKEW_ZIPF, .value = 1.0};
	struct load_skew cv = {.kind = SKEW_CV, .value = 0.4}, even = {.kind = SKEW_BALANCED};

	cr_assert_float_eq(load_hot(&even, 64, 8), 1, 1e-12);
	cr_assert_float_eq(load_hot(&zipf, 64, 1), 1, 1e-12);
	cr_assert_gt(load_hot(&zipf, 64, 64), load_hot(&zipf, 64, 8));
	cr_assert_gt(load_hot(&cv, 256, 64), load_hot(&cv, 256, 8));
	/* one expert a rank: the hottest of 64 has 64 / H(64) times the mean */
	cr_assert_float_eq(load_hot(&zipf, 64, 64), 64 / 4.7439, 0.01);
}

static double
exposed(struct fixture *f, struct strategy s, int64_t batch, unsigned overlap)
{
	struct estimate e;

	s.global_batch = batch;
	s.overlap = overlap;
	s.micro_batches = 0;
	e = cost(f, s);
	return e.exposed_s[TIME_ALL_TO_ALL] / (double)batch;
}

/*
 * Experts' traffic hides in pairs of passes: not in warm-up, which more micro-batches make
 * rarer.
 */
Test(steptime, expert_overlap_needs_pairs)
{
	struct fixture f = fixture_new("deepseek-v3", NULL, "dgx-h100x32");
	struct strategy s = fixture_strategy(&f, 1, 1, 8, 2, 32, 1, 512, 4096);
	double few, many, none;

	s.dispatcher = DISPATCH_DEEPEP;
	none = exposed(&f, s, 2048, OVERLAP_DP);
	few = exposed(&f, s, 256, OVERLAP_DP | OVERLAP_EP);
	many = exposed(&f, s, 2048, OVERLAP_DP | OVERLAP_EP);
	cr_assert_lt(many, few);
	cr_assert_lt(few, none);
	cr_assert_gt(many, (1 - rate_table[RATE_HIDDEN_EP].value) * none);
	fixture_free(&f);
}

/* DeepSeek-V3 report: both directions at once, a smaller bubble, weights twice, optimizer once. */
Test(steptime, dualpipe_against_1f1b)
{
	struct fixture f = fixture_new("deepseek-v3", NULL, "hgx-h800x64");
	struct strategy s = fixture_strategy(&f, 1, 1, 8, 1, 64, 1, 2048, 4096);
	struct stage_memory one[STRATEGY_MAX_PP], two[STRATEGY_MAX_PP];
	struct evaluator *e = fixture_evaluator(&f, 4096);
	struct estimate plain, dual;

	s.dispatcher = DISPATCH_DEEPEP;
	evaluate_exact(e, &s, NULL, f.arena, one, &plain);
	s.schedule = SCHEDULE_DUALPIPE;
	s.overlap |= OVERLAP_EP;
	cr_assert_null(strategy_first_violation(&s, f.model));
	evaluate_exact(e, &s, &plain.layout, f.arena, two, &dual);
	cr_assert_lt(dual.exposed_s[TIME_BUBBLE], plain.exposed_s[TIME_BUBBLE]);
	cr_assert_lt(dual.exposed_s[TIME_ALL_TO_ALL], 0.5 * plain.exposed_s[TIME_ALL_TO_ALL]);
	cr_assert_lt(dual.step_s, 0.85 * plain.step_s);
	for (int i = 1; i < 4; i++) { /* the ends share the embedding */
		enum memory_part w = MEMORY_WEIGHTS, o = MEMORY_OPTIMIZER;

		cr_assert_float_eq(two[i].parts[w], one[i].parts[w] + one[7 - i].parts[w], 1e9);
		cr_assert_float_eq(
		    two[i].parts[o], (one[i].parts[o] + one[7 - i].parts[o]) / 2, 1e9);
		cr_assert_float_eq(two[i].parts[w], two[7 - i].parts[w], 1);
	}
	fixture_free(&f);
}
