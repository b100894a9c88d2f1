/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "plans.h"

static uint32_t seed = 20261129;

uint32_t
plan_next(uint32_t below)
{
	seed = seed * 1664525 + 1013904223;
	return (seed >> 8) % below;
}

static int64_t
power(uint32_t most)
{
	return (int64_t)1 << plan_next(most + 1);
}

const char *const plan_models[PLAN_MODELS] = {"qwen3-30b-a3b", "mixtral-8x7b", "deepseek-v3",
    "llama3.1-8b", "gpt-oss-120b", "deepseek-v2-lite"};

static struct recompute
any_recompute(void)
{
	static const struct recompute choices[] = {{RECOMPUTE_NONE, 0, 0}, {RECOMPUTE_FULL, 0, 0},
	    {RECOMPUTE_FULL, 0, 2}, {RECOMPUTE_SELECTIVE, MODULE_CORE_ATTN, 0},
	    {RECOMPUTE_SELECTIVE, MODULE_LAYERNORM | MODULE_MOE_ACT | MODULE_MLA_UP_PROJ, 0},
	    {RECOMPUTE_SELECTIVE, MODULE_MLP | MODULE_SHARED_EXPERTS, 0},
	    {RECOMPUTE_SELECTIVE, MODULE_MOE, 0}};

	return choices[plan_next(sizeof(choices) / sizeof(*choices))];
}

static void
any_megatron(struct strategy *s)
{
	s->cp = plan_next(3) ? 1 : power(2);
	s->etp = plan_next(3) ? 0 : power(1);
	s->vpp = plan_next(2) ? 1 : 2 + plan_next(2);
	s->zero = plan_next(2) ? 1 : (int)plan_next(4);
	s->dispatcher = (enum dispatcher)plan_next(DISPATCHERS);
	s->capacity = plan_next(4) ? 0 : plan_next(2) ? 1.25 : 1;
	s->precision = (enum precision)plan_next(PRECISIONS);
	s->grad_type = plan_next(3) ? FLOAT_FP32 : FLOAT_BF16;
	s->moment_type = plan_next(3) ? FLOAT_FP32 : (enum float_type)plan_next(3);
	s->offload = plan_next(5) ? OFFLOAD_NONE : 1 + plan_next(2);
	s->offload_fraction = s->offload ? (plan_next(2) ? 1 : 0.3) : 0;
	s->loss = plan_next(2) ? LOSS_FUSED : LOSS_EAGER;
	s->overlap = plan_next(16);
	s->cuda_graphs = plan_next(6) == 0;
	s->order = plan_next(5) ? NULL : "tp-cp-ep-pp-dp";
	s->gtp = plan_next(8) ? 1 : 2;
}

static void
any_deepspeed(struct strategy *s)
{
	s->zero = (int)plan_next(4);
	s->auto_ep = plan_next(3) == 0;
	s->expert_tp = (int)plan_next(2);
	s->data_before_expert = plan_next(4) == 0;
	s->capacity = plan_next(3) ? 0 : 1.5;
	s->precision = plan_next(2) ? PRECISION_BF16 : PRECISION_FP16;
	s->grad_type = plan_next(2) ? FLOAT_FP32 : FLOAT_BF16;
	s->offload = plan_next(4) ? OFFLOAD_NONE : OFFLOAD_OPTIMIZER;
	s->offload_fraction = s->offload ? (plan_next(2) ? 1 : 0.3) : 0;
	s->overlap = plan_next(4);
}

static void
any_torchtitan(struct strategy *s)
{
	s->cp = plan_next(3) ? 1 : power(2);
	s->vpp = plan_next(2) ? 1 : 2 + plan_next(2);
	if (s->vpp == 2 && plan_next(2))
		s->schedule = plan_next(2) ? SCHEDULE_ZB : plan_next(2) ? SCHEDULE_ZBV
									: SCHEDULE_DUALPIPEV;
	s->zero = 2 + (int)plan_next(2);
	s->loss = (enum loss_kernel)plan_next(3);
	s->dp_replicate = plan_next(2) ? 1 : power(2);
	s->dispatcher = plan_next(4) ? DISPATCH_ALLTOALL : DISPATCH_DEEPEP;
	s->overlap = OVERLAP_DP | (plan_next(3) ? 0U : OVERLAP_TP);
	s->cuda_graphs = plan_next(5) == 0;
}

static void
any_layout(const struct fixture *f, struct plan_view *plan)
{
	struct layout *layout = &plan->layout;
	int chunks = (int)(plan->strategy.pp * plan->strategy.vpp);

	layout_even(layout, f->model->layers, (int)plan->strategy.pp, (int)plan->strategy.vpp);
	if (plan_next(2))
		return;
	for (int round = 0; round < 3 * chunks; round++) {
		int c = chunks > 1 ? 1 + (int)plan_next((uint32_t)chunks - 1) : 0;

		if (c > 0 && layout->first[c] + 1 < layout->first[c + 1])
			layout->first[c]++;
	}
}

/* A random valid plan, or false. */
bool
plan_random(
    const struct fixture *f, enum framework framework, const char *version, struct plan_view *plan)
{
	static void (*const choose[])(struct strategy *) = {
	    any_megatron, any_deepspeed, any_torchtitan};
	struct strategy *s = &plan->strategy;

	*plan = (struct plan_view){.model = f->model, .gpu = "H100-SXM5-80GB"};
	strategy_init(s);
	s->framework = framework;
	s->framework_version = version;
	s->world = 8 << plan_next(5);
	s->tp = power(3);
	s->pp = power(3);
	s->ep = power(5);
	s->micro_batch = power(2);
	s->global_batch = 512;
	s->seq_len = 4096;
	s->recompute = any_recompute();
	choose[framework](s);
	if (s->pp == 1)
		s->vpp = 1;
	strategy_derive(s, f->model, 0);
	if (strategy_first_violation(s, f->model))
		return false;
	any_layout(f, plan);
	plan->gpus_per_node = 8;
	plan->nodes = s->world / 8;
	return true;
}

/* --- towards what a target takes ------------------------------------------------------------ */

static void
bend_settings(struct strategy *s)
{
	s->gtp = s->egtp = 1;
	s->order = NULL;
	s->precision = PRECISION_BF16;
	s->grad_type = s->moment_type = FLOAT_FP32;
	s->offload = OFFLOAD_NONE;
	s->offload_fraction = 0;
	s->cuda_graphs = false;
	s->overlap = OVERLAP_DP;
	s->dispatcher = DISPATCH_ALLTOALL;
	if (s->recompute.kind == RECOMPUTE_SELECTIVE)
		s->recompute = (struct recompute){0};
	s->recompute.layers = 0;
}

void
bend_accelerate(struct strategy *s)
{
	bend_settings(s);
	s->pp = s->vpp = s->ep = s->etp = 1;
	s->capacity = 0;
	s->zero = plan_next(4) ? 3 : 2;
}

void
bend_jax(struct strategy *s)
{
	bend_settings(s);
	s->etp = s->tp;
	s->zero = 3;
}

/* Experts over all ranks of a stage. */
void
bend_tutel(struct strategy *s)
{
	s->etp = s->gtp = s->egtp = 1;
	s->dispatcher = DISPATCH_ALLTOALL;
	s->world = s->ep * s->pp;
}

void
bend_fairscale(struct strategy *s)
{
	bend_settings(s);
	s->etp = 1;
	s->capacity = 1;
}

bool
plan_bend(void (*bend)(struct strategy *strategy), struct plan_view *plan)
{
	struct strategy *s = &plan->strategy;

	if (!bend)
		return true;
	bend(s);
	s->dp = s->edp = 0;
	s->schedule = -1;
	strategy_derive(s, plan->model, 0);
	layout_even(&plan->layout, plan->model->layers, (int)s->pp, (int)s->vpp);
	plan->gpus_per_node = s->world < 8 ? s->world : 8;
	plan->nodes = s->world / plan->gpus_per_node;
	return !strategy_first_violation(s, plan->model) && s->micro_batches > 0;
}
