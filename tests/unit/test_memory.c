/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Is the memory of a stage what allocators measured, and does every part move
 * the way it must when one degree changes?
 */
#include <criterion/criterion.h>
#include <math.h>

#include "fixture.h"
#include "planner/evaluator.h"

static const double gib = 1024.0 * 1024 * 1024;

static double
kept_per_token(struct fixture *f, struct strategy s, int kind)
{
	struct evaluator *e = fixture_evaluator(f, s.seq_len);
	struct sizes z;

	sizes_init(e, &s, &z);
	return layer_activations(e, kind, &s, &z, 1).kept / z.T;
}

/* Worked by hand from the table in planner/activations.c, T = 4096, TP 1. */
Test(memory, layers_by_hand)
{
	struct fixture deepseek = fixture_new("deepseek-v3", NULL, "dgx-h100x8");
	struct fixture mixtral = fixture_new("mixtral-8x7b", NULL, "dgx-h100x8");
	int moe = deepseek.model->kind_of[deepseek.model->layers - 1];

	cr_assert_float_eq(kept_per_token(&deepseek,
	                       fixture_strategy(&deepseek, 1, 1, 1, 1, 8, 1, 64, 4096), moe),
	    457216, 0.5);
	cr_assert_float_eq(kept_per_token(&mixtral,
	                       fixture_strategy(&mixtral, 1, 1, 1, 1, 8, 1, 64, 4096), 0),
	    241856, 0.5);
	fixture_free(&deepseek);
	fixture_free(&mixtral);
}

/*
 * Peak allocated GiB of exact configurations on 8 x B200, measured:
 * MooreThreads/SimuMax docs/b200/b200_release_v1.2_summary.json @4dcaae5.
 */
struct measured {
	const char *model, *overrides;
	int64_t seq_len, global_batch, tp, pp, cp, ep;
	double gib;
};
#define L70 "llama3.1-70b", "num_layers: 12\n"
#define L405 "llama3.1-405b", "num_layers: 4\nnum_key_value_heads: 16\n"
#define DSV3 "deepseek-v3", "num_layers: 4\ndense_first_layers: 1\nmtp_layers: 0\n"
static const struct measured measured[] = {
    {L70, 4096, 16, 1, 2, 1, 1, 66.55},
    {L70, 4096, 16, 2, 1, 1, 1, 60.68},
    {L70, 4096, 8, 4, 1, 1, 1, 39.07},
    {L70, 4096, 4, 8, 1, 1, 1, 28.29},
    {DSV3, 4096, 32, 1, 1, 1, 8, 104.30},
    {DSV3, 4096, 16, 1, 2, 1, 4, 114.00},
    {L405, 4096, 16, 1, 2, 1, 1, 87.08},
    {L405, 4096, 16, 2, 1, 1, 1, 81.59},
    {L405, 4096, 8, 4, 1, 1, 1, 52.89},
    {L70, 32768, 4, 2, 1, 4, 1, 68.43},
    {L70, 32768, 4, 1, 1, 8, 1, 104.51},
    {L70, 131072, 4, 2, 1, 4, 1, 112.67},
    {L70, 131072, 4, 1, 1, 8, 1, 147.99},
    {L405, 131072, 4, 2, 1, 4, 1, 118.13},
};

static double
predicted_gib(const struct measured *row)
{
	struct fixture f = fixture_new(row->model, row->overrides, "dgx-b200");
	struct strategy s = fixture_strategy(&f, row->tp, row->cp, row->pp, 1, row->ep, 1,
	    row->global_batch, row->seq_len);
	struct stage_memory stages[2];
	struct estimate estimate;
	struct layout layout;
	double worst = 0;

	s.capacity = row->ep > 1 ? 1 : 0; /* the MoE runs padded every expert to its capacity */
	layout_even(&layout, f.model->layers, (int)row->pp, 1);
	evaluate(fixture_evaluator(&f, row->seq_len), &s, &layout, stages, &estimate);
	for (int i = 0; i < row->pp; i++)
		worst = fmax(worst, stages[i].allocated_bytes);
	fixture_free(&f);
	return worst / gib;
}

Test(memory, measured_peaks)
{
	const int n = sizeof(measured) / sizeof(measured[0]);
	double sum = 0;

	for (int i = 0; i < n; i++) {
		double error = predicted_gib(&measured[i]) / measured[i].gib - 1;

		cr_assert_lt(fabs(error), 0.025, "row %d: %.2f %%", i, 100 * error);
		sum += fabs(error);
	}
	cr_assert_lt(sum / n, 0.01);
}

static double
part(struct fixture *f, struct strategy s, enum memory_part which)
{
	struct stage_memory *stages = arena_array(f->arena, (size_t)s.pp, sizeof(*stages));
	struct estimate estimate;
	struct layout layout;

	strategy_derive(&s, f->model, f->cluster->world);
	layout_even(&layout, f->model->layers, (int)s.pp, (int)s.vpp);
	evaluate(fixture_evaluator(f, s.seq_len), &s, &layout, stages, &estimate);
	return stages[0].parts[which];
}

Test(memory, parts_sum_to_the_total)
{
	struct fixture f = fixture_new("deepseek-v3", NULL, "dgx-h100x32");
	struct strategy s = fixture_strategy(&f, 2, 1, 8, 1, 8, 1, 1024, 4096);
	struct stage_memory stages[8];
	struct estimate estimate;
	double worst = 0;

	evaluate(fixture_evaluator(&f, 4096), &s, NULL, stages, &estimate);
	for (int i = 0; i < 8; i++) {
		double sum = 0;

		for (int p = 0; p < MEMORY_PARTS; p++) {
			cr_assert_geq(stages[i].parts[p], 0);
			sum += stages[i].parts[p];
		}
		cr_assert_float_eq(sum, stages[i].total_bytes, 1e-6 * sum);
		cr_assert_leq(stages[i].low_bytes, stages[i].total_bytes);
		cr_assert_leq(stages[i].total_bytes, stages[i].high_bytes);
		cr_assert_geq(stages[i].skewed_bytes, stages[i].total_bytes - 1);
		worst = fmax(worst, sum);
	}
	cr_assert_float_eq(worst, estimate.worst_bytes, 1e-6 * worst);
	fixture_free(&f);
}

Test(memory, expert_parallel_divides_the_experts)
{
	struct fixture f = fixture_new("mixtral-8x7b", NULL, "dgx-h100x8");
	struct params params;
	double weights[4];

	params_count(f.model, &params);
	for (int i = 0; i < 4; i++)
		weights[i] = part(&f, fixture_strategy(&f, 1, 1, 1, 1, 1 << i, 1, 64, 4096),
		    MEMORY_WEIGHTS);
	for (int i = 1; i < 4; i++) { /* 2 bytes of half the experts less each time */
		double less = 2.0 * (double)params.components[COMPONENT_EXPERTS] / (1 << i);

		cr_assert_float_eq(weights[i - 1] - weights[i], less, 1e-9 * weights[0]);
	}
	fixture_free(&f);
}

Test(memory, zero_stages)
{
	struct fixture f = fixture_new("qwen3-30b-a3b", NULL, "dgx-h100x8");
	struct strategy s = fixture_strategy(&f, 1, 1, 1, 1, 8, 1, 64, 4096);
	double before[3] = {INFINITY, INFINITY, INFINITY};
	static const enum memory_part parts[3] = {MEMORY_OPTIMIZER, MEMORY_GRADIENTS,
	    MEMORY_WEIGHTS};

	for (int zero = 0; zero <= 3; zero++)
		for (int i = 0; i < 3; i++) {
			double now;

			/* ZeRO-3 holds a whole layer's gradient besides its shard */
			if (zero > i + 1)
				continue;
			s.zero = zero;
			now = part(&f, s, parts[i]);
			cr_assert_leq(now, before[i]);
			if (zero == i + 1)
				cr_assert_lt(now, 0.6 * before[i], "ZeRO-%d", zero);
			before[i] = now;
		}
	fixture_free(&f);
}

/* 2 + 4 + 4 + 8 = 18 bytes a parameter unsharded. */
Test(memory, eighteen_bytes)
{
	struct fixture f = fixture_new("llama3.1-8b", NULL, "dgx-h100x1");
	struct strategy s = fixture_strategy(&f, 1, 1, 1, 1, 1, 1, 8, 4096);
	struct params params;
	double state = 0;

	s.zero = 0;
	params_count(f.model, &params);
	for (int i = MEMORY_WEIGHTS; i <= MEMORY_OPTIMIZER; i++)
		state += part(&f, s, (enum memory_part)i);
	cr_assert_float_eq(state, 18.0 * (double)params.total, 1);
	fixture_free(&f);
}

Test(memory, recompute_and_micro_batch)
{
	struct fixture f = fixture_new("deepseek-v2-lite", NULL, "dgx-h100x4");
	struct strategy none = fixture_strategy(&f, 1, 1, 4, 1, 8, 1, 64, 4096), some = none;
	double all, less, least, twice;

	some.recompute = (struct recompute){.kind = RECOMPUTE_SELECTIVE, .modules = MODULE_MOE_ACT};
	all = part(&f, none, MEMORY_ACTIVATIONS);
	less = part(&f, some, MEMORY_ACTIVATIONS);
	some.recompute = (struct recompute){.kind = RECOMPUTE_FULL};
	least = part(&f, some, MEMORY_ACTIVATIONS);
	none.micro_batch = 2;
	twice = part(&f, none, MEMORY_ACTIVATIONS);
	cr_assert_lt(less, all);
	cr_assert_lt(least, less);
	cr_assert_float_eq(twice, 2 * all, 1e-6 * twice);
	fixture_free(&f);
}

static struct estimate
offloaded(struct fixture *f, struct strategy s, enum offload offload, double share)
{
	struct estimate estimate;

	s.offload = offload;
	s.offload_fraction = share;
	evaluate_exact(fixture_evaluator(f, s.seq_len), &s, NULL, f->arena, NULL, &estimate);
	return estimate;
}

/*
 * NVIDIA-NeMo/Megatron-Bridge skills/nemo-mbridge-perf-cpu-offloading: Qwen3-30B-A3B,
 * TP 2, PP 2, EP 4 on 16 H100, moments in bf16: 3.8 GB less a quarter of the
 * optimizer, 15.2 GB for all of it; 0.88, 1.49, 2.19 and 3.19 s longer steps.
 */
Test(memory, optimizer_in_host_memory)
{
	static const double less_GB[] = {0, 3.8, 7.6, 11.6, 15.2};
	static const double more_s[] = {0, 0.875, 1.488, 2.191, 3.193};
	struct fixture f = fixture_new("qwen3-30b-a3b", NULL, "dgx-h100x2");
	struct strategy s = fixture_strategy(&f, 2, 1, 2, 1, 4, 1, 256, 4096);
	struct estimate here;

	s.moment_type = s.grad_type = FLOAT_BF16;
	here = offloaded(&f, s, OFFLOAD_NONE, 0);
	cr_assert_eq(here.host_bytes, 0);
	for (int quarter = 1; quarter <= 4; quarter++) {
		struct estimate there = offloaded(&f, s, OFFLOAD_OPTIMIZER, quarter / 4.0);

		cr_assert_float_eq((here.worst_bytes - there.worst_bytes) / 1e9, less_GB[quarter],
		    0.04 * less_GB[4]);
		cr_assert_float_eq(there.step_s - here.step_s, more_s[quarter], 0.1 * more_s[4]);
		cr_assert_gt(there.exposed_s[TIME_OFFLOAD], 0);
	}
	fixture_free(&f);
}

/* Inputs of the modules leave the GPU but for a layer or two; slow links make it wait. */
Test(memory, activations_in_host_memory)
{
	struct fixture f = fixture_new("qwen3-30b-a3b", NULL, "dgx-h100x2");
	struct strategy s = fixture_strategy(&f, 1, 1, 1, 1, 8, 1, 256, 4096);
	struct estimate here = offloaded(&f, s, OFFLOAD_NONE, 0), half, all, slow;

	half = offloaded(&f, s, OFFLOAD_ACTIVATIONS, 0.5);
	all = offloaded(&f, s, OFFLOAD_ACTIVATIONS, 1);
	cr_assert_lt(half.worst_bytes, here.worst_bytes);
	cr_assert_lt(all.worst_bytes, half.worst_bytes);
	cr_assert_float_eq(half.host_bytes, all.host_bytes / 2, 1);
	/* what a GPU no longer holds is on the host, but for transients and fragmentation */
	cr_assert_float_eq((here.worst_bytes - all.worst_bytes) * 8, all.host_bytes,
	    0.35 * all.host_bytes);
	f.cluster->host.link_Bps.value = 4e9;
	slow = offloaded(&f, s, OFFLOAD_ACTIVATIONS, 1);
	cr_assert_gt(slow.step_s, 1.1 * all.step_s);
	cr_assert_gt(slow.exposed_s[TIME_OFFLOAD], all.exposed_s[TIME_OFFLOAD]);
	f.cluster->host.memory_bytes.value = 1e9;
	cr_assert_eq(offloaded(&f, s, OFFLOAD_ACTIVATIONS, 1).verdict, VERDICT_OOM);
	fixture_free(&f);
}

/* The first of eight stages, a node each, holds the passes of eight micro-batches, the last one. */
Test(memory, the_fullest_node_decides)
{
	struct fixture f = fixture_new("mixtral-8x7b", NULL, "dgx-h100x8");
	struct strategy s = fixture_strategy(&f, 1, 1, 8, 1, 8, 1, 256, 4096);
	struct evaluator *e = fixture_evaluator(&f, 4096);
	struct stage_memory stages[8];
	struct estimate estimate;
	struct layout layout;

	s.offload = OFFLOAD_ACTIVATIONS;
	s.offload_fraction = 1;
	layout_even(&layout, f.model->layers, 8, 1);
	evaluate(e, &s, &layout, stages, &estimate);
	cr_assert_float_eq(stages[0].host_bytes, 8 * stages[7].host_bytes, 1);
	cr_assert_float_eq(estimate.host_bytes, 8 * stages[0].host_bytes, 1);
	fixture_free(&f);
}

/* Eight GPUs of one node, one a stage: it holds what all stages hold. */
Test(memory, stages_that_share_a_node_add_up)
{
	struct fixture f = fixture_new("mixtral-8x7b", NULL, "dgx-h100");
	struct strategy s = fixture_strategy(&f, 1, 1, 8, 1, 1, 1, 256, 4096);
	struct stage_memory stages[8];
	struct estimate estimate;
	double sum = 0;

	s.offload = OFFLOAD_ACTIVATIONS;
	s.offload_fraction = 1;
	evaluate(fixture_evaluator(&f, 4096), &s, NULL, stages, &estimate);
	for (int i = 0; i < 8; i++)
		sum += stages[i].host_bytes;
	cr_assert_gt(sum, 0);
	cr_assert_float_eq(estimate.host_bytes, sum, 1e-9 * sum);
	fixture_free(&f);
}

/* Half a node's GPUs take what they take, not what eight would. */
Test(memory, a_node_that_is_not_full_holds_less)
{
	struct fixture f = fixture_new("qwen3-30b-a3b", NULL, "dgx-h100");
	struct strategy s = fixture_strategy(&f, 1, 1, 1, 1, 4, 1, 256, 4096);
	struct evaluator *e = fixture_evaluator(&f, 4096);
	struct stage_memory stage;
	struct estimate estimate;

	s.world = 4;
	s.offload = OFFLOAD_ACTIVATIONS;
	s.offload_fraction = 1;
	strategy_derive(&s, f.model, f.cluster->world);
	evaluate(e, &s, NULL, &stage, &estimate);
	cr_assert_float_eq(estimate.host_bytes, 4 * stage.host_bytes, 1);
	fixture_free(&f);
}
