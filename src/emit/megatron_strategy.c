/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How does Megatron-LM spell a strategy, and what do its settings mean for ours?
 *
 * Source: NVIDIA/Megatron-LM core 0.12 to 0.19, megatron/training/arguments.py and
 * the dataclasses that its flags are made from (transformer_config.py,
 * model_parallel_config.py, optimizer_config.py).
 */
#include <string.h>

#include "base/arena.h"
#include "emit/megatron_values.h"
#include "emit/private.h"
#include "emit/values.h"

/* A flag on a command line has no value, in a file it is true or false. */
/* --- grid ----------------------------------------------------------------------------------- */

bool
layout_is_plain(const struct plan_view *plan)
{
	const struct layout *layout = &plan->layout;
	int chunks = layout->pp * layout->vpp;

	if (layout->mtp_back > 0 || plan->model->layers % chunks != 0)
		return false;
	for (int c = 0; c < chunks; c++)
		if (layout->first[c + 1] - layout->first[c] != plan->model->layers / chunks)
			return false;
	return true;
}

const struct doc *
megatron_vpp(struct arena *arena, const struct plan_view *plan)
{
	if (plan->strategy.vpp == 1 || !layout_is_plain(plan) || model_has_mamba(plan->model))
		return NULL;
	return doc_int(arena, plan->strategy.vpp);
}

const struct doc *
megatron_layout(struct arena *arena, const struct plan_view *plan)
{
	if (plan->strategy.pp == 1 || layout_is_plain(plan) || model_has_mamba(plan->model))
		return NULL;
	return doc_text(arena, layout_text(arena, &plan->layout, plan->model));
}

/* Without experts the expert grid has no meaning, and its default is TP. */
const struct doc *
megatron_etp(struct arena *arena, const struct plan_view *plan)
{
	return model_moe(plan->model) ? doc_int(arena, plan->strategy.etp) : NULL;
}

/* Megatron counts shards of a weight: TP times the further ones. */
const struct doc *
megatron_gtp(struct arena *arena, const struct plan_view *plan)
{
	const struct strategy *s = &plan->strategy;

	return s->gtp > 1 ? doc_int(arena, s->tp * s->gtp) : NULL;
}

const struct doc *
megatron_egtp(struct arena *arena, const struct plan_view *plan)
{
	const struct strategy *s = &plan->strategy;

	return s->egtp > 1 ? doc_int(arena, s->etp * s->egtp) : NULL;
}

static int
read_shards(const struct key *key, const struct doc *value, int64_t parallel, int64_t *further,
    struct field_context *context)
{
	int64_t shards = value->is_integer ? value->integer : 0;

	parallel = parallel > 0 ? parallel : 1;
	if (shards < parallel || shards % parallel != 0)
		return key_refuse(key, value, context, "a multiple of the tensor-parallel size");
	*further = shards / parallel;
	return 0;
}

int
megatron_read_gtp(const struct key *key, const struct doc *value, struct strategy *strategy,
    struct field_context *context)
{
	return read_shards(key, value, strategy->tp, &strategy->gtp, context);
}

/* ETP that is not given is TP. */
int
megatron_read_egtp(const struct key *key, const struct doc *value, struct strategy *strategy,
    struct field_context *context)
{
	int64_t etp = strategy->etp > 0 ? strategy->etp : strategy->tp;

	return read_shards(key, value, etp, &strategy->egtp, context);
}

const struct doc *
megatron_sequence_parallel(struct arena *arena, const struct plan_view *plan)
{
	return flag_if(arena, plan->strategy.tp > 1);
}

static const char PP_BEFORE_DP[] = "tp-cp-ep-pp-dp";

const struct doc *
megatron_pp_before_dp(struct arena *arena, const struct plan_view *plan)
{
	return flag_if(arena, strcmp(plan->strategy.order, PP_BEFORE_DP) == 0);
}

int
megatron_read_order(const struct key *key, const struct doc *value, struct strategy *strategy,
    struct field_context *context)
{
	(void)key, (void)context;
	if (key_is_on(value))
		strategy->order = PP_BEFORE_DP;
	return 0;
}

/* --- recompute ------------------------------------------------------------------------------ */

const struct doc *
megatron_granularity(struct arena *arena, const struct plan_view *plan)
{
	enum recompute_kind kind = plan->strategy.recompute.kind;

	return text_if(
	    arena, kind != RECOMPUTE_NONE, kind == RECOMPUTE_FULL ? "full" : "selective");
}

int
megatron_read_granularity(const struct key *key, const struct doc *value, struct strategy *strategy,
    struct field_context *context)
{
	struct recompute *recompute = &strategy->recompute;

	*recompute = (struct recompute){0};
	if (value->text && strcmp(value->text, "full") == 0)
		recompute->kind = RECOMPUTE_FULL;
	else if (value->text && strcmp(value->text, "selective") == 0)
		*recompute = (struct recompute){RECOMPUTE_SELECTIVE, MODULE_CORE_ATTN, 0};
	else
		return key_refuse(key, value, context, "full or selective");
	return 0;
}

/* All layers: uniform, one layer a piece. The first N of a virtual stage: block. */
const struct doc *
megatron_method(struct arena *arena, const struct plan_view *plan)
{
	const struct recompute *recompute = &plan->strategy.recompute;

	return text_if(
	    arena, recompute->kind == RECOMPUTE_FULL, recompute->layers > 0 ? "block" : "uniform");
}

int
megatron_read_method(const struct key *key, const struct doc *value, struct strategy *strategy,
    struct field_context *context)
{
	if (value->text && strcmp(value->text, "block") == 0)
		strategy->recompute.layers = 1; /* until the row with the number */
	else if (!value->text || strcmp(value->text, "uniform") != 0)
		return key_refuse(key, value, context, "uniform or block");
	return 0;
}

const struct doc *
megatron_recompute_layers(struct arena *arena, const struct plan_view *plan)
{
	const struct recompute *recompute = &plan->strategy.recompute;

	if (recompute->kind != RECOMPUTE_FULL)
		return NULL;
	return doc_int(arena, recompute->layers > 0 ? recompute->layers : 1);
}

int
megatron_read_recompute_layers(const struct key *key, const struct doc *value,
    struct strategy *strategy, struct field_context *context)
{
	if (!value->is_integer || value->integer < 1 || value->integer > MODEL_MAX_LAYERS)
		return key_refuse(key, value, context, "1 to 1024");
	if (strategy->recompute.layers > 0)
		strategy->recompute.layers = value->integer;
	return 0;
}

const struct doc *
megatron_modules(struct arena *arena, const struct plan_view *plan)
{
	const struct recompute *recompute = &plan->strategy.recompute;
	struct doc *list;

	if (recompute->kind != RECOMPUTE_SELECTIVE)
		return NULL;
	list = doc_list(arena);
	for (int bit = 0; bit < MODULES; bit++)
		if (recompute->modules & 1U << bit)
			doc_add_item(arena, list, doc_text(arena, recompute_module_names[bit]));
	return list;
}

static int
module_bit(const struct doc *item)
{
	for (int bit = 0; bit < MODULES; bit++)
		if (item->text && strcmp(item->text, recompute_module_names[bit]) == 0)
			return bit;
	return -1;
}

int
megatron_read_modules(const struct key *key, const struct doc *value, struct strategy *strategy,
    struct field_context *context)
{
	const struct doc *item = value->kind == DOC_LIST ? value->first : value;
	unsigned modules = 0;

	for (; item; item = value->kind == DOC_LIST ? item->next : NULL) {
		int bit = module_bit(item);

		if (item->text && strcmp(item->text, "gdn_norm_out") == 0)
			key_counted_as(
			    key, item, context, "kept: the norm behind linear attention is small");
		else if (bit < 0)
			return key_refuse(key, item, context,
			    "core_attn, layernorm, mla_up_proj, mlp, moe_act, moe, shared_experts, "
			    "gdn_norm_out");
		else
			modules |= 1U << bit;
	}
	strategy->recompute.modules = modules;
	if (modules == 0)
		strategy->recompute.kind = RECOMPUTE_NONE;
	return 0;
}

/* --- numbers -------------------------------------------------------------------------------- */

const struct doc *
megatron_bf16(struct arena *arena, const struct plan_view *plan)
{
	return flag_if(arena, plan->strategy.precision != PRECISION_FP16);
}

const struct doc *
megatron_fp16(struct arena *arena, const struct plan_view *plan)
{
	return flag_if(arena, plan->strategy.precision == PRECISION_FP16);
}

static int
set_precision(const struct doc *value, struct strategy *strategy, enum precision precision)
{
	if (key_is_on(value))
		strategy->precision = precision;
	return 0;
}

int
megatron_read_bf16(const struct key *key, const struct doc *value, struct strategy *strategy,
    struct field_context *context)
{
	(void)key, (void)context;
	return set_precision(value, strategy, PRECISION_BF16);
}

int
megatron_read_fp16(const struct key *key, const struct doc *value, struct strategy *strategy,
    struct field_context *context)
{
	(void)key, (void)context;
	return set_precision(value, strategy, PRECISION_FP16);
}

/* Format and recipe of each precision; fp8 is per tensor with delayed scales. */
static const struct {
	const char *format, *recipe;
} fp8_forms[PRECISIONS] = {
    [PRECISION_FP8] = {"hybrid", "delayed"},
    [PRECISION_FP8_BLOCKWISE] = {"e4m3", "blockwise"},
    [PRECISION_MXFP8] = {"e4m3", "mxfp8"},
};

const struct doc *
megatron_fp8(struct arena *arena, const struct plan_view *plan)
{
	const char *format = fp8_forms[plan->strategy.precision].format;

	return text_if(arena, format != NULL, format);
}

const struct doc *
megatron_fp8_recipe(struct arena *arena, const struct plan_view *plan)
{
	const char *recipe = fp8_forms[plan->strategy.precision].recipe;

	return text_if(arena, recipe != NULL, recipe);
}

int
megatron_read_fp8(const struct key *key, const struct doc *value, struct strategy *strategy,
    struct field_context *context)
{
	(void)key, (void)value, (void)context;
	strategy->precision = PRECISION_FP8;
	return 0;
}

int
megatron_read_fp8_recipe(const struct key *key, const struct doc *value, struct strategy *strategy,
    struct field_context *context)
{
	(void)key, (void)context;
	if (strategy->precision != PRECISION_FP8 || !value->text)
		return 0;
	for (int p = 0; p < PRECISIONS; p++)
		if (fp8_forms[p].recipe && strcmp(value->text, fp8_forms[p].recipe) == 0)
			strategy->precision = (enum precision)p;
	return 0;
}

const struct doc *
megatron_fp4(struct arena *arena, const struct plan_view *plan)
{
	return text_if(arena, plan->strategy.precision == PRECISION_NVFP4, "e2m1");
}

const struct doc *
megatron_fp4_recipe(struct arena *arena, const struct plan_view *plan)
{
	return text_if(arena, plan->strategy.precision == PRECISION_NVFP4, "nvfp4");
}

int
megatron_read_fp4(const struct key *key, const struct doc *value, struct strategy *strategy,
    struct field_context *context)
{
	(void)key, (void)value, (void)context;
	strategy->precision = PRECISION_NVFP4;
	return 0;
}

const struct doc *
megatron_fp32_sum(struct arena *arena, const struct plan_view *plan)
{
	return flag_if(arena, plan->strategy.grad_type == FLOAT_FP32);
}

const struct doc *
megatron_bf16_sum(struct arena *arena, const struct plan_view *plan)
{
	return flag_if(arena, plan->strategy.grad_type == FLOAT_BF16);
}

static int
set_grad_type(const struct doc *value, struct strategy *strategy, enum float_type type)
{
	if (key_is_on(value))
		strategy->grad_type = type;
	return 0;
}

int
megatron_read_fp32_sum(const struct key *key, const struct doc *value, struct strategy *strategy,
    struct field_context *context)
{
	(void)key, (void)context;
	return set_grad_type(value, strategy, FLOAT_FP32);
}

int
megatron_read_bf16_sum(const struct key *key, const struct doc *value, struct strategy *strategy,
    struct field_context *context)
{
	(void)key, (void)context;
	return set_grad_type(value, strategy, FLOAT_BF16);
}

const struct doc *
megatron_loss_fusion(struct arena *arena, const struct plan_view *plan)
{
	return flag_if(arena, plan->strategy.loss == LOSS_FUSED);
}

const struct doc *
megatron_loss_impl(struct arena *arena, const struct plan_view *plan)
{
	return text_if(arena, plan->strategy.loss == LOSS_FUSED, "native");
}

int
megatron_read_loss_fusion(const struct key *key, const struct doc *value, struct strategy *strategy,
    struct field_context *context)
{
	(void)key, (void)context;
	strategy->loss = key_is_on(value) ? LOSS_FUSED : LOSS_EAGER;
	return 0;
}

/* Before 0.18 the modules of a graph are named by --cuda-graph-scope. */
const struct doc *
megatron_graphs(struct arena *arena, const struct plan_view *plan)
{
	static const char *const names[] = {
	    [GRAPHS_ON] = "transformer_engine", [GRAPHS_FULL] = "full_iteration"};

	return text_if(arena, plan->strategy.cuda_graphs, names[plan->strategy.cuda_graphs]);
}

const struct doc *
megatron_graph_modules(struct arena *arena, const struct plan_view *plan)
{
	return text_if(arena, plan->strategy.cuda_graphs == GRAPHS_ON, "attn");
}

/* A graph of the whole iteration cannot stop for a loss that is no number. */
const struct doc *
megatron_no_nan_check(struct arena *arena, const struct plan_view *plan)
{
	return flag_if(arena, plan->strategy.cuda_graphs == GRAPHS_FULL);
}

int
megatron_read_graphs(const struct key *key, const struct doc *value, struct strategy *strategy,
    struct field_context *context)
{
	(void)key, (void)context;
	if (value->text && strcmp(value->text, "full_iteration") == 0)
		strategy->cuda_graphs = GRAPHS_FULL;
	else
		strategy->cuda_graphs =
		    value->text && strcmp(value->text, "none") != 0 ? GRAPHS_ON : GRAPHS_OFF;
	return 0;
}

/* --- what a plan cannot be told ------------------------------------------------------------- */

const char *
megatron_plan_obstacle(const struct plan_view *plan)
{
	const struct strategy *s = &plan->strategy;

	if (strcmp(s->order, "tp-cp-ep-dp-pp") != 0 && strcmp(s->order, PP_BEFORE_DP) != 0)
		return "Megatron-LM has the rank orders tp-cp-ep-dp-pp and tp-cp-ep-pp-dp only";
	if (s->schedule > SCHEDULE_INTERLEAVED)
		return "Megatron-LM has the schedules 1f1b and interleaved only";
	if (s->cuda_graphs == GRAPHS_FULL && version_compare(s->framework_version, "0.18") < 0)
		return "a graph of the whole iteration is written for Megatron-LM 0.18 and newer: "
		       "--cuda-graphs on";
	if (s->offload == OFFLOAD_ACTIVATIONS &&
	    version_compare(s->framework_version, s->offload_fraction < 1 ? "0.19" : "0.16") < 0)
		return s->offload_fraction < 1
			   ? "a share of the activations can be offloaded since 0.19"
			   : "activations can be offloaded under pipelines since 0.16";
	if (s->offload == OFFLOAD_ACTIVATIONS && s->cuda_graphs)
		return "activations offloaded under CUDA graphs need scopes that no plan has";
	if (s->loss == LOSS_COMPILED)
		return "a compiled loss is torchtitan's; Megatron-LM has fused and eager";
	if (s->overlap & OVERLAP_PP && s->pp > 1 && s->vpp == 1)
		return "sends of 1f1b overlap nothing in Megatron-LM: leave 'pp' out of --overlap";
	if (s->precision == PRECISION_FP8 && s->recompute.kind == RECOMPUTE_SELECTIVE &&
	    s->recompute.modules & (MODULE_LAYERNORM | MODULE_MOE_ACT))
		return "with delayed scaling neither layernorm nor moe_act can be recomputed: "
		       "--precision fp8-blockwise or mxfp8";
	if (s->zero != 1 && s->moment_type != FLOAT_FP32)
		return "moments below fp32 need the distributed optimizer, --zero 1";
	if (s->zero != 1 && s->offload == OFFLOAD_OPTIMIZER)
		return "optimizer state is offloaded with the distributed optimizer, --zero 1";
	return NULL;
}
