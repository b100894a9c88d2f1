/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Do a layer's seconds move the way they must when a part, a type or a setting changes? */
#include <criterion/criterion.h>

#include "fixture.h"
#include "planner/evaluator.h"

static struct layer_time
time_of(struct fixture *f, const struct strategy *s, int kind)
{
	struct evaluator *e = fixture_evaluator(f, s->seq_len);
	struct layer_time time;
	struct sizes z;

	sizes_init(e, s, &z);
	layer_time(e, kind, s, &z, &time);
	return time;
}

/* Modules from graphs leave a part of the launches, the whole iteration as one graph none. */
Test(layer_time, graphs_take_the_host_away)
{
	struct fixture f = fixture_new("qwen3-30b-a3b", NULL, "dgx-h100");
	struct strategy s = fixture_strategy(&f, 1, 1, 1, 1, 8, 1, 64, 1024);
	struct layer_time off = time_of(&f, &s, 0), on, full;

	s.cuda_graphs = GRAPHS_ON;
	on = time_of(&f, &s, 0);
	s.cuda_graphs = GRAPHS_FULL;
	full = time_of(&f, &s, 0);
	cr_expect_gt(off.forward[TIME_HOST], on.forward[TIME_HOST]);
	cr_expect_gt(on.forward[TIME_HOST], 0);
	cr_expect_eq(full.forward[TIME_HOST] + full.backward[TIME_HOST], 0);
	cr_expect_eq(full.forward[TIME_MEMORY_BOUND], on.forward[TIME_MEMORY_BOUND]);
	fixture_free(&f);
}

/*
 * With block scales that graph goes with expert MLPs in one kernel: SwiGLU and its cast
 * are gone.
 */
Test(layer_time, fused_experts_move_less)
{
	struct fixture f = fixture_new("qwen3-30b-a3b", NULL, "gb200-nvl72");
	struct strategy s = fixture_strategy(&f, 1, 1, 1, 1, 8, 8, 576, 4096);
	struct layer_time on, full;
	double rows = 8.0 * 4096 * 8;

	s.precision = PRECISION_MXFP8;
	s.cuda_graphs = GRAPHS_ON;
	on = time_of(&f, &s, 0);
	s.cuda_graphs = GRAPHS_FULL;
	full = time_of(&f, &s, 0);
	/* three widths of 768 in two bytes, and one cast of them */
	cr_expect_float_eq(on.forward[TIME_MEMORY_BOUND] - full.forward[TIME_MEMORY_BOUND],
	    rows * 768 * (2 * 3 + rate_table[RATE_FP8_CAST_BYTES].value) /
	        memory_Bps(&f.cluster->gpu),
	    1e-9);
	fixture_free(&f);
}

/* A copy as fast as the catalogue expects of the part changes nothing. */
Test(layer_time, a_measured_copy_is_no_layer)
{
	struct fixture f = fixture_new("llama3.1-8b", NULL, "dgx-h100");
	struct gpu *gpu = &f.cluster->gpu;
	double before = memory_Bps(gpu);

	gpu->hbm_Bps.value *= rate_table[RATE_COPY].value;
	gpu->hbm_Bps.origin = ORIGIN_MEASURED;
	cr_expect_float_eq(memory_Bps(gpu), before, 1);
	fixture_free(&f);
}

/* What a part sustains is taken as it is, unless somebody measured a ceiling of their own. */
Test(layer_time, sustained_rates_and_a_ceiling_of_ones_own)
{
	struct fixture f = fixture_new("llama3.1-8b", NULL, "dgx-b200");
	struct gpu *gpu = &f.cluster->gpu;

	cr_expect_float_eq(gemm_flops(gpu, PRECISION_BF16),
	    2250e12 * 0.49 * rate_table[RATE_GEMM_SUSTAINED].value, 1e6);
	gpu->matmul_ceiling.value = 0.8;
	gpu->matmul_ceiling.origin = ORIGIN_FILE;
	cr_expect_float_eq(gemm_flops(gpu, PRECISION_BF16),
	    2250e12 * 0.8 * rate_table[RATE_GEMM_BF16].value, 1e6);
	fixture_free(&f);
}

/* An eighth of the heads takes more than an eighth of the time: multiprocessors idle. */
Test(layer_time, few_heads_are_slow)
{
	struct fixture f = fixture_new("llama3.1-70b", NULL, "dgx-h100");
	struct strategy one = fixture_strategy(&f, 1, 1, 1, 1, 1, 1, 64, 4096);
	struct strategy eight = fixture_strategy(&f, 8, 1, 1, 1, 1, 1, 64, 4096);

	cr_expect_gt(8 * time_of(&f, &eight, 0).forward[TIME_ATTENTION],
	    1.05 * time_of(&f, &one, 0).forward[TIME_ATTENTION]);
	fixture_free(&f);
}

/* Nothing hides where that was measured; where nothing was measured, some does. */
Test(layer_time, a_measured_share_of_zero_hides_nothing)
{
	struct fixture f = fixture_new("qwen3-30b-a3b", NULL, "dgx-h100");
	struct strategy s = fixture_strategy(&f, 1, 1, 1, 1, 8, 1, 64, 4096);
	struct layer_time alone = time_of(&f, &s, 0), usual, zero;

	s.overlap |= OVERLAP_EP;
	usual = time_of(&f, &s, 0);
	f.cluster->hidden[HIDDEN_ALL_TO_ALL] = 0;
	zero = time_of(&f, &s, 0);
	cr_expect_eq(zero.hidden[TIME_ALL_TO_ALL], 0);
	cr_expect_gt(usual.hidden[TIME_ALL_TO_ALL] + usual.alone_forward_s, 0);
	cr_expect_float_eq(
	    zero.forward[TIME_ALL_TO_ALL], alone.forward[TIME_ALL_TO_ALL], 1e-12);
	fixture_free(&f);
}
