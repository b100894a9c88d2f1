/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One part of a plan changed, so that what is written of it can be held against it. */
#include "plan_changes.h"

#include <string.h>

/* Each makes another strategy of the same model, or leaves it as it is where it cannot. */
static void
change_world(struct plan_view *plan)
{
	plan->strategy.world *= 2;
}

static void
change_tp(struct plan_view *plan)
{
	plan->strategy.tp = plan->strategy.tp == 2 ? 1 : 2;
}

static void
change_cp(struct plan_view *plan)
{
	plan->strategy.cp = plan->strategy.cp == 2 ? 1 : 2;
}

static void
change_pp(struct plan_view *plan)
{
	struct strategy *s = &plan->strategy;

	s->pp = s->pp == 2 ? 1 : 2;
	if (s->pp == 1)
		s->vpp = 1;
}

static void
change_vpp(struct plan_view *plan)
{
	struct strategy *s = &plan->strategy;

	if (s->pp > 1)
		s->vpp = s->vpp == 2 ? 1 : 2;
}

static void
change_ep(struct plan_view *plan)
{
	plan->strategy.ep = plan->strategy.ep == 4 ? 8 : 4;
}

static void
change_etp(struct plan_view *plan)
{
	plan->strategy.etp = plan->strategy.etp == 2 ? 1 : 2;
}

static void
change_gtp(struct plan_view *plan)
{
	plan->strategy.gtp = plan->strategy.gtp == 2 ? 1 : 2;
}

static void
change_egtp(struct plan_view *plan)
{
	plan->strategy.egtp = plan->strategy.egtp == 2 ? 1 : 2;
}

static void
change_replicas(struct plan_view *plan)
{
	plan->strategy.dp_replicate = plan->strategy.dp_replicate == 2 ? 1 : 2;
}

static void
change_micro_batch(struct plan_view *plan)
{
	plan->strategy.micro_batch *= 2;
}

static void
change_batch(struct plan_view *plan)
{
	plan->strategy.global_batch *= 2;
}

static void
change_length(struct plan_view *plan)
{
	plan->strategy.seq_len *= 2;
}

static void
change_recompute(struct plan_view *plan)
{
	struct recompute *r = &plan->strategy.recompute;

	*r = r->kind == RECOMPUTE_FULL ? (struct recompute){0}
				       : (struct recompute){.kind = RECOMPUTE_FULL};
}

static void
change_modules(struct plan_view *plan)
{
	struct recompute *r = &plan->strategy.recompute;

	*r = (struct recompute){.kind = RECOMPUTE_SELECTIVE,
	    .modules = r->modules == MODULE_CORE_ATTN ? MODULE_LAYERNORM : MODULE_CORE_ATTN};
}

static void
change_recomputed_layers(struct plan_view *plan)
{
	struct recompute *r = &plan->strategy.recompute;

	*r = (struct recompute){.kind = RECOMPUTE_FULL, .layers = r->layers == 1 ? 2 : 1};
}

static void
change_zero(struct plan_view *plan)
{
	struct strategy *s = &plan->strategy;

	s->zero = s->zero == 3 ? s->framework == FRAMEWORK_TORCHTITAN ? 2 : 1 : s->zero + 1;
}

static void
change_dispatcher(struct plan_view *plan)
{
	enum dispatcher *d = &plan->strategy.dispatcher;

	*d = *d == DISPATCH_ALLTOALL ? DISPATCH_DEEPEP : DISPATCH_ALLTOALL;
}

static void
change_capacity(struct plan_view *plan)
{
	plan->strategy.capacity = plan->strategy.capacity > 0 ? 0 : 1.25;
}

static void
change_schedule(struct plan_view *plan)
{
	plan->strategy.schedule = SCHEDULE_ZB;
}

static void
change_layout(struct plan_view *plan)
{
	struct layout *layout = &plan->layout;

	if (layout->pp * layout->vpp > 1 && layout->first[1] + 1 < layout->first[2])
		layout->first[1]++;
}

static void
change_order(struct plan_view *plan)
{
	struct strategy *s = &plan->strategy;

	s->order = s->order && strcmp(s->order, "tp-cp-ep-pp-dp") == 0 ? NULL : "tp-cp-ep-pp-dp";
}

static void
change_precision(struct plan_view *plan)
{
	enum precision *p = &plan->strategy.precision;

	*p = *p == PRECISION_BF16 ? PRECISION_FP16 : PRECISION_BF16;
}

static void
change_format(struct plan_view *plan)
{
	enum precision *p = &plan->strategy.precision;

	*p = *p == PRECISION_MXFP8 ? PRECISION_FP8_BLOCKWISE : PRECISION_MXFP8;
}

static void
change_sums(struct plan_view *plan)
{
	enum float_type *type = &plan->strategy.grad_type;

	*type = *type == FLOAT_FP32 ? FLOAT_BF16 : FLOAT_FP32;
}

static void
change_moments(struct plan_view *plan)
{
	enum float_type *type = &plan->strategy.moment_type;

	*type = *type == FLOAT_FP32 ? FLOAT_BF16 : FLOAT_FP32;
}

static void
change_offload(struct plan_view *plan)
{
	struct strategy *s = &plan->strategy;

	s->offload = s->offload ? OFFLOAD_NONE : OFFLOAD_OPTIMIZER;
	s->offload_fraction = s->offload ? 1 : 0;
}

static void
change_fraction(struct plan_view *plan)
{
	struct strategy *s = &plan->strategy;

	s->offload = OFFLOAD_OPTIMIZER;
	s->offload_fraction = s->offload_fraction < 1 ? 1 : 0.5;
}

static void
change_activations(struct plan_view *plan)
{
	plan->strategy.offload = OFFLOAD_ACTIVATIONS;
	plan->strategy.offload_fraction = 0;
}

static void
change_loss(struct plan_view *plan)
{
	enum loss_kernel *loss = &plan->strategy.loss;

	*loss = *loss == LOSS_EAGER ? LOSS_FUSED : LOSS_EAGER;
}

static void
change_compiled_loss(struct plan_view *plan)
{
	enum loss_kernel *loss = &plan->strategy.loss;

	*loss = *loss == LOSS_COMPILED ? LOSS_EAGER : LOSS_COMPILED;
}

static void
change_graphs(struct plan_view *plan)
{
	plan->strategy.cuda_graphs = !plan->strategy.cuda_graphs;
}

static void
change_hidden_dp(struct plan_view *plan)
{
	plan->strategy.overlap ^= OVERLAP_DP;
}

static void
change_hidden_tp(struct plan_view *plan)
{
	if (plan->strategy.tp > 1)
		plan->strategy.overlap ^= OVERLAP_TP;
}

static void
change_hidden_ep(struct plan_view *plan)
{
	if (plan->strategy.ep > 1)
		plan->strategy.overlap ^= OVERLAP_EP;
}

static void
change_hidden_pp(struct plan_view *plan)
{
	if (plan->strategy.vpp > 1)
		plan->strategy.overlap ^= OVERLAP_PP;
}

static void
change_auto_ep(struct plan_view *plan)
{
	plan->strategy.auto_ep = !plan->strategy.auto_ep;
}

static void
change_expert_tp(struct plan_view *plan)
{
	struct strategy *s = &plan->strategy;

	if (s->tp == 1 || s->auto_ep)
		return;
	s->expert_tp = s->expert_tp == 1 ? 0 : 1;
	s->etp = 0; /* it follows */
}

static void
change_expert_order(struct plan_view *plan)
{
	plan->strategy.data_before_expert = !plan->strategy.data_before_expert;
}

enum {
	MEGATRON = 1 << FRAMEWORK_MEGATRON,
	DEEPSPEED = 1 << FRAMEWORK_DEEPSPEED,
	TORCHTITAN = 1 << FRAMEWORK_TORCHTITAN,
	ALL = MEGATRON | DEEPSPEED | TORCHTITAN,
};

const struct change plan_changes[] = {
    {"world", change_world, ALL, false},
    {"tp", change_tp, ALL, false},
    {"cp", change_cp, MEGATRON | TORCHTITAN, false},
    {"pp", change_pp, ALL, false},
    {"vpp", change_vpp, MEGATRON | TORCHTITAN, false},
    {"ep", change_ep, ALL, true},
    {"etp", change_etp, MEGATRON, true},
    {"gtp", change_gtp, MEGATRON, false},
    {"egtp", change_egtp, MEGATRON, true},
    {"dp_replicate", change_replicas, TORCHTITAN, false},
    {"micro_batch", change_micro_batch, ALL, false},
    {"global_batch", change_batch, ALL, false},
    {"seq_len", change_length, ALL, false},
    {"recompute", change_recompute, ALL, false},
    {"recomputed modules", change_modules, ALL, false},
    {"recomputed layers", change_recomputed_layers, ALL, false},
    {"zero", change_zero, ALL, false},
    {"dispatcher", change_dispatcher, MEGATRON | TORCHTITAN, true},
    {"capacity", change_capacity, MEGATRON | DEEPSPEED, true},
    {"schedule", change_schedule, ALL, false},
    {"layout", change_layout, ALL, false},
    {"order", change_order, MEGATRON, false},
    {"precision", change_precision, ALL, false},
    {"number format", change_format, ALL, false},
    {"grad_type", change_sums, ALL, false},
    {"optimizer", change_moments, ALL, false},
    {"offload", change_offload, ALL, false},
    {"share of offload", change_fraction, MEGATRON | DEEPSPEED, false},
    {"offload of activations", change_activations, ALL, false},
    {"loss", change_loss, ALL, false},
    {"compiled loss", change_compiled_loss, ALL, false},
    {"cuda_graphs", change_graphs, ALL, false},
    {"overlap dp", change_hidden_dp, ALL, false},
    {"overlap tp", change_hidden_tp, ALL, false},
    {"overlap ep", change_hidden_ep, MEGATRON, true},
    {"overlap pp", change_hidden_pp, MEGATRON, false},
    {"auto_ep", change_auto_ep, DEEPSPEED, true},
    {"expert_tp", change_expert_tp, DEEPSPEED, true},
    {"data_before_expert", change_expert_order, DEEPSPEED, true},
};
/* --- what is another plan ------------------------------------------------------------------- */

/* Communication that there is none of, and orders of one rank, are nothing to say. */
static bool
means_another(const struct strategy *a, const struct strategy *b, const char *name)
{
	if (strcmp(name, "order") == 0)
		return a->pp > 1 && a->dp > 1;
	if (strcmp(name, "overlap dp") == 0)
		return a->dp * a->cp > 1;
	if (strcmp(name, "zero") == 0)
		return (a->framework == FRAMEWORK_TORCHTITAN ? a->dp_shard : a->dp) * a->cp > 1;
	if (strcmp(name, "data_before_expert") == 0)
		return a->ep > 1 && a->edp > 1;
	if (strcmp(name, "dispatcher") == 0)
		return b->ep > 1;
	if (strcmp(name, "dp_replicate") == 0)
		return b->dp > 1;
	return true;
}

static bool
differs(struct arena *arena, const struct plan_view *a, const struct plan_view *b)
{
	return strcmp(strategy_options_text(arena, &a->strategy),
		   strategy_options_text(arena, &b->strategy)) != 0 ||
	       strcmp(layout_text(arena, &a->layout, a->model),
		   layout_text(arena, &b->layout, b->model)) != 0;
}

bool
plan_change(const struct change *change, struct arena *arena, const struct plan_view *plan,
    struct plan_view *changed)
{
	struct strategy *s = &changed->strategy;
	bool schedule = change->make == change_schedule;

	*changed = *plan;
	change->make(changed);
	s->dp = s->edp = s->dp_shard = 0;
	s->schedule = schedule ? s->schedule : -1;
	strategy_derive(s, plan->model, 0);
	if (strategy_first_violation(s, plan->model) || s->micro_batches < 1 ||
	    (schedule && s->pp == 1) || !means_another(&plan->strategy, s, change->name))
		return false;
	if (s->pp * s->vpp != plan->layout.pp * plan->layout.vpp)
		layout_even(&changed->layout, plan->model->layers, (int)s->pp, (int)s->vpp);
	changed->nodes = s->world / changed->gpus_per_node;
	return differs(arena, plan, changed);
}
