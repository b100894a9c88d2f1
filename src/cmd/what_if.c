/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What would one change cost or gain? The planner's evaluator is asked, never a rule of thumb. */
#include "cmd/what_if.h"

#include <string.h>

#include "base/str.h"
#include "cmd/text_common.h"

/* The layout that the strategy has, or an even one; false when its text does not go with it. */
static bool
strategy_layout(struct arena *arena, const struct strategy *strategy, const struct model *model,
    struct layout *layout)
{
	if (strategy->layout)
		return layout_parse(layout, strategy->layout, model, (int)strategy->pp,
			   diags_new(arena), (struct loc){NULL, 0, 0}) == 0;
	layout_even(layout, model->layers, (int)strategy->pp, (int)strategy->vpp);
	return true;
}

bool
what_if(struct request *request, const struct model *model, const struct cluster *cluster,
    const struct strategy *strategy, struct estimate *estimate)
{
	struct arena *arena = request->arena;
	struct job *job = arena_alloc(arena, sizeof(*job));
	struct layout *layout = arena_alloc(arena, sizeof(*layout));
	struct evaluator *evaluator;
	struct stage_memory *stages;

	if (strategy_first_violation(strategy, model) || strategy->world > cluster->world)
		return false;
	if (!strategy_layout(arena, strategy, model, layout))
		return false;
	*job = request->job;
	job->base = *strategy;
	stages = arena_array(arena, (size_t)strategy->pp, sizeof(*stages));
	evaluator = evaluator_new(arena, model, cluster, job);
	evaluate_exact(evaluator, strategy, layout, arena, stages, estimate);
	estimate->stages = stages;
	return true;
}

/* --- the changes ---------------------------------------------------------------------------- */

static bool
double_ep(struct strategy *s)
{
	s->ep *= 2;
	return true;
}

static bool
halve_ep(struct strategy *s)
{
	if (s->ep % 2 != 0)
		return false;
	s->ep /= 2;
	return true;
}

static bool
double_tp(struct strategy *s)
{
	if (s->etp == s->tp && s->etp > 1)
		s->etp *= 2;
	s->tp *= 2;
	return true;
}

static bool
halve_tp(struct strategy *s)
{
	if (s->tp % 2 != 0)
		return false;
	if (s->etp == s->tp)
		s->etp /= 2;
	s->tp /= 2;
	return true;
}

static bool
double_pp(struct strategy *s)
{
	s->pp *= 2;
	return true;
}

/* Where there are too few layers for as many virtual stages, or none are wanted. */
static bool
double_plain_pp(struct strategy *s)
{
	bool applies = s->vpp > 1;

	s->pp *= 2;
	s->vpp = 1;
	return applies;
}

static bool
double_cp(struct strategy *s)
{
	s->cp *= 2;
	return s->framework != FRAMEWORK_DEEPSPEED;
}

static bool
halve_micro_batch(struct strategy *s)
{
	if (s->micro_batch % 2 != 0)
		return false;
	s->micro_batch /= 2;
	return true;
}

static bool
double_micro_batch(struct strategy *s)
{
	s->micro_batch *= 2;
	return true;
}

static bool
recompute_full(struct strategy *s)
{
	if (s->recompute.kind == RECOMPUTE_FULL && s->recompute.layers == 0)
		return false;
	s->recompute = (struct recompute){.kind = RECOMPUTE_FULL};
	s->overlap &= ~(unsigned)OVERLAP_EP;
	return true;
}

static bool
recompute_selective(struct strategy *s)
{
	if (s->recompute.kind != RECOMPUTE_NONE || s->framework != FRAMEWORK_MEGATRON)
		return false;
	s->recompute = (struct recompute){
	    .kind = RECOMPUTE_SELECTIVE, .modules = MODULE_MOE_ACT | MODULE_LAYERNORM};
	return true;
}

static bool
recompute_none(struct strategy *s)
{
	if (s->recompute.kind == RECOMPUTE_NONE)
		return false;
	s->recompute = (struct recompute){.kind = RECOMPUTE_NONE};
	return true;
}

static bool
shard_optimizer(struct strategy *s)
{
	if (s->zero != 0)
		return false;
	s->zero = 1;
	return true;
}

static bool
offload_optimizer(struct strategy *s)
{
	if (s->offload != OFFLOAD_NONE || s->framework == FRAMEWORK_TORCHTITAN)
		return false;
	s->offload = OFFLOAD_OPTIMIZER;
	s->offload_fraction = 1;
	return true;
}

static bool
no_virtual_stages(struct strategy *s)
{
	if (s->vpp == 1)
		return false;
	s->vpp = 1;
	return true;
}

static bool
double_virtual_stages(struct strategy *s)
{
	if (s->pp == 1)
		return false;
	s->vpp *= 2;
	return true;
}

static bool
use_deepep(struct strategy *s)
{
	if (s->dispatcher == DISPATCH_DEEPEP || s->dispatcher == DISPATCH_HYBRIDEP || s->ep == 1)
		return false;
	s->dispatcher = DISPATCH_DEEPEP;
	return true;
}

static bool
overlap_experts(struct strategy *s)
{
	if (s->overlap & OVERLAP_EP || s->ep == 1)
		return false;
	s->overlap |= OVERLAP_EP;
	return true;
}

static bool
overlap_tensors(struct strategy *s)
{
	if (s->overlap & OVERLAP_TP || s->tp == 1)
		return false;
	s->overlap |= OVERLAP_TP;
	return true;
}

static bool
use_cuda_graphs(struct strategy *s)
{
	if (s->cuda_graphs)
		return false;
	s->cuda_graphs = GRAPHS_ON;
	return true;
}

const struct change changes[] = {
    {"twice the EP", AIM_MEMORY, double_ep},
    {"selective recomputation", AIM_MEMORY, recompute_selective},
    {"full recomputation", AIM_MEMORY, recompute_full},
    {"half the micro-batch", AIM_MEMORY, halve_micro_batch},
    {"twice the PP", AIM_MEMORY, double_pp},
    {"twice the PP, no virtual stages", AIM_MEMORY, double_plain_pp},
    {"no virtual stages", AIM_MEMORY, no_virtual_stages},
    {"twice the CP", AIM_MEMORY, double_cp},
    {"a sharded optimizer", AIM_MEMORY, shard_optimizer},
    {"the optimizer in host memory", AIM_MEMORY, offload_optimizer},
    {"twice the TP", AIM_MEMORY, double_tp},
    {"half the EP", AIM_TIME, halve_ep},
    {"half the TP", AIM_TIME, halve_tp},
    {"overlap of the all-to-all", AIM_TIME, overlap_experts},
    {"the dispatcher deepep", AIM_TIME, use_deepep},
    {"overlap of TP traffic", AIM_TIME, overlap_tensors},
    {"no recomputation", AIM_TIME, recompute_none},
    {"twice the micro-batch", AIM_TIME, double_micro_batch},
    {"twice the virtual stages", AIM_TIME, double_virtual_stages},
    {"CUDA graphs", AIM_TIME, use_cuda_graphs},
    {.name = NULL},
};

/* What follows from the changed sizes is derived again; a layout was made for the old ones. */
bool
change_apply(const struct change *change, const struct model *model, const struct strategy *from,
    struct strategy *to)
{
	*to = *from;
	to->dp = to->edp = 0;
	to->dp_shard = 0;
	to->micro_batches = 0;
	if (from->schedule <= SCHEDULE_INTERLEAVED)
		to->schedule = -1; /* one that was asked for stays */
	if (!change->apply(to))
		return false;
	if (to->pp != from->pp || to->vpp != from->vpp)
		to->layout = NULL;
	strategy_derive(to, model, 0);
	return true;
}

static void
add_option(struct str *text, const char *option, const char *value)
{
	str_addf(text, "%s--%s %s", text->length > 0 ? " " : "", option, value);
}

static void
add_sizes(struct str *text, const struct strategy *s, const struct strategy *from)
{
	const struct {
		const char *option;
		int64_t now, before;
	} sizes[] = {{"tp", s->tp, from->tp}, {"cp", s->cp, from->cp}, {"pp", s->pp, from->pp},
	    {"vpp", s->vpp, from->vpp}, {"ep", s->ep, from->ep}, {"etp", s->etp, from->etp},
	    {"micro-batch", s->micro_batch, from->micro_batch}, {"zero", s->zero, from->zero}};

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		if (sizes[i].now != sizes[i].before)
			add_option(text, sizes[i].option,
			    arena_printf(text->arena, "%lld", (long long)sizes[i].now));
}

/* All that differs: a change of one size may take others with it. */
const char *
change_text(struct arena *arena, const struct strategy *s, const struct strategy *from)
{
	struct str text = str_new(arena);

	add_sizes(&text, s, from);
	if (s->offload != from->offload)
		add_option(&text, "offload", "optimizer");
	if (s->dispatcher != from->dispatcher)
		add_option(&text, "dispatcher", dispatcher_names[s->dispatcher]);
	if (s->cuda_graphs != from->cuda_graphs)
		add_option(&text, "cuda-graphs", graphs_names[s->cuda_graphs]);
	if (s->recompute.kind != from->recompute.kind ||
	    s->recompute.modules != from->recompute.modules ||
	    s->recompute.layers != from->recompute.layers)
		add_option(&text, "recompute", recompute_text(arena, s->recompute));
	if (s->overlap != from->overlap)
		add_option(&text, "overlap", overlap_text(arena, s->overlap));
	return text.text;
}
