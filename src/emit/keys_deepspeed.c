/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What does DeepSpeed call each setting in its configuration file?
 *
 * What is not here is not in that file: pipeline stages, native MoE layers and the
 * recomputed modules are Python arguments of the client. Source: deepspeedai/DeepSpeed
 * runtime/config.py, runtime/zero/config.py, runtime/tensor_parallel/config.py,
 * module_inject/auto_ep_config.py, 0.16 to 0.19.
 *
 * Batch: DeepSpeed checks train_batch = micro x accumulation x ranks. Without an mpu its
 * ranks are the whole world, TP included, while a step has micro x accumulation x
 * world / TP sequences: with tensor parallelism of AutoTP or of the client the total is left
 * out, since the file alone would say what is not meant.
 */
#include <string.h>

#include "base/arena.h"
#include "emit/emit.h"
#include "emit/keys.h"
#include "emit/private.h"
#include "emit/values.h"

static const struct doc *
yes_if(struct arena *arena, bool condition)
{
	return condition ? doc_bool(arena, true) : NULL;
}

bool
deepspeed_has_autotp(const struct plan_view *plan)
{
	const struct strategy *s = &plan->strategy;

	return s->tp > 1 && s->pp == 1 && (s->auto_ep || !model_moe(plan->model));
}

static const struct doc *
train_batch(struct arena *arena, const struct plan_view *plan)
{
	const struct strategy *s = &plan->strategy;

	return s->tp > 1 && s->pp == 1 ? NULL : doc_int(arena, s->global_batch);
}

static const struct doc *
accumulation(struct arena *arena, const struct plan_view *plan)
{
	return doc_int(arena, plan->strategy.micro_batches);
}

/* micro_batches is derived: with it and dp an importer finds a global batch that is not given. */
static int
read_accumulation(const struct key *key, const struct doc *value, struct strategy *strategy,
    struct field_context *context)
{
	if (!value->is_integer || value->integer < 1)
		return key_refuse(key, value, context, "an integer, 1 or more");
	strategy->micro_batches = value->integer;
	return 0;
}

static const struct doc *
zero_stage(struct arena *arena, const struct plan_view *plan)
{
	return doc_int(arena, plan->strategy.zero);
}

static int
read_stage(const struct key *key, const struct doc *value, struct strategy *strategy,
    struct field_context *context)
{
	if (!value->is_integer || value->integer < 0 || value->integer > 3)
		return key_refuse(key, value, context, "0 to 3");
	strategy->zero = (int)value->integer;
	return 0;
}

static const struct doc *
overlap_comm(struct arena *arena, const struct plan_view *plan)
{
	return doc_bool(arena, plan->strategy.overlap & OVERLAP_DP);
}

static int
read_overlap_comm(const struct key *key, const struct doc *value, struct strategy *strategy,
    struct field_context *context)
{
	(void)key, (void)context;
	strategy->overlap &= ~(unsigned)OVERLAP_DP;
	strategy->overlap |= key_is_on(value) ? OVERLAP_DP : 0U;
	return 0;
}

static const struct doc *
always_on(struct arena *arena, const struct plan_view *plan)
{
	return yes_if(arena, plan->strategy.zero >= 1);
}

static const struct doc *
offload_device(struct arena *arena, const struct plan_view *plan)
{
	return plan->strategy.offload == OFFLOAD_OPTIMIZER ? doc_text(arena, "cpu") : NULL;
}

static int
read_offload_device(const struct key *key, const struct doc *value, struct strategy *strategy,
    struct field_context *context)
{
	if (!value->text)
		return key_refuse(key, value, context, "none, cpu or nvme");
	if (strcmp(value->text, "none") == 0)
		return 0;
	if (strcmp(value->text, "cpu") != 0 && strcmp(value->text, "nvme") != 0)
		return key_refuse(key, value, context, "none, cpu or nvme");
	strategy->offload = OFFLOAD_OPTIMIZER;
	strategy->offload_fraction = 1;
	if (strcmp(value->text, "nvme") == 0)
		return key_counted_as(
		    key, value, context, "cpu: the speed of the drive is not counted");
	return 0;
}

/* A part needs stage 3 (DS-066); 1 is its default. */
static const struct doc *
offload_ratio(struct arena *arena, const struct plan_view *plan)
{
	const struct strategy *s = &plan->strategy;

	if (s->offload != OFFLOAD_OPTIMIZER || s->zero != 3)
		return NULL;
	return doc_number(arena, s->offload_fraction);
}

static int
read_offload_ratio(const struct key *key, const struct doc *value, struct strategy *strategy,
    struct field_context *context)
{
	if (value->kind != DOC_NUMBER || !(value->number >= 0 && value->number <= 1))
		return key_refuse(key, value, context, "0 to 1");
	if (strategy->offload != OFFLOAD_OPTIMIZER)
		return 0;
	strategy->offload_fraction = value->number;
	if (!(value->number > 0))
		strategy->offload = OFFLOAD_NONE;
	return 0;
}

static const struct doc *
bf16_enabled(struct arena *arena, const struct plan_view *plan)
{
	return yes_if(arena, plan->strategy.precision == PRECISION_BF16);
}

static const struct doc *
fp16_enabled(struct arena *arena, const struct plan_view *plan)
{
	return yes_if(arena, plan->strategy.precision == PRECISION_FP16);
}

static int
read_bf16(const struct key *key, const struct doc *value, struct strategy *strategy,
    struct field_context *context)
{
	(void)key, (void)context;
	if (key_is_on(value))
		strategy->precision = PRECISION_BF16;
	return 0;
}

static int
read_fp16(const struct key *key, const struct doc *value, struct strategy *strategy,
    struct field_context *context)
{
	(void)key, (void)context;
	if (key_is_on(value))
		strategy->precision = PRECISION_FP16;
	return 0;
}

static const struct doc *
grad_accum_dtype(struct arena *arena, const struct plan_view *plan)
{
	return doc_text(arena, float_type_names[plan->strategy.grad_type]);
}

static int
read_grad_accum(const struct key *key, const struct doc *value, struct strategy *strategy,
    struct field_context *context)
{
	if (value->text && strcmp(value->text, "fp32") == 0)
		strategy->grad_type = FLOAT_FP32;
	else if (value->text && strcmp(value->text, "bf16") == 0)
		strategy->grad_type = FLOAT_BF16;
	else if (value->text && strcmp(value->text, "fp16") == 0)
		strategy->grad_type = FLOAT_BF16; /* as large */
	else
		return key_refuse(key, value, context, "fp32, fp16 or bf16");
	return 0;
}

/* 1.0 by default since 0.19.3, off before. */
static const struct doc *
clipping(struct arena *arena, const struct plan_view *plan)
{
	(void)plan;
	return doc_number(arena, 1.0);
}

static const struct doc *
autotp_size(struct arena *arena, const struct plan_view *plan)
{
	return deepspeed_has_autotp(plan) ? doc_int(arena, plan->strategy.tp) : NULL;
}

/* 0 is off. */
static int
read_autotp(const struct key *key, const struct doc *value, struct strategy *strategy,
    struct field_context *context)
{
	if (!value->is_integer || value->integer < 0 || value->integer > 1 << 20)
		return key_refuse(key, value, context, "an integer, 0 (off) or more");
	strategy->tp = value->integer > 0 ? value->integer : 1;
	return 0;
}

static const struct doc *
tp_overlap(struct arena *arena, const struct plan_view *plan)
{
	return yes_if(arena, deepspeed_has_autotp(plan) && plan->strategy.overlap & OVERLAP_TP);
}

static int
read_tp_overlap(const struct key *key, const struct doc *value, struct strategy *strategy,
    struct field_context *context)
{
	(void)key, (void)context;
	if (key_is_on(value))
		strategy->overlap |= OVERLAP_TP;
	return 0;
}

static const struct doc *
auto_ep(struct arena *arena, const struct plan_view *plan)
{
	return yes_if(arena, plan->strategy.auto_ep);
}

static int
read_auto_ep(const struct key *key, const struct doc *value, struct strategy *strategy,
    struct field_context *context)
{
	(void)key, (void)context;
	strategy->auto_ep = key_is_on(value);
	return 0;
}

static const struct doc *
autoep_size(struct arena *arena, const struct plan_view *plan)
{
	return plan->strategy.auto_ep ? doc_int(arena, plan->strategy.ep) : NULL;
}

static const struct doc *
autoep_etp(struct arena *arena, const struct plan_view *plan)
{
	return plan->strategy.auto_ep ? doc_int(arena, plan->strategy.etp) : NULL;
}

const char *
deepspeed_preset(const struct model *model)
{
	static const struct {
		const char *architecture, *preset;
	} presets[] = {
	    {"MixtralForCausalLM", "mixtral"},
	    {"Qwen3MoeForCausalLM", "qwen3_moe"},
	    {"DeepseekV2ForCausalLM", "deepseek_v2"},
	    {"DeepseekV3ForCausalLM", "deepseek_v3"},
	};

	for (size_t i = 0; i < sizeof(presets) / sizeof(*presets); i++)
		if (model->architecture &&
		    strcmp(model->architecture, presets[i].architecture) == 0)
			return presets[i].preset;
	return NULL;
}

static const struct doc *
autoep_preset(struct arena *arena, const struct plan_view *plan)
{
	const char *preset = deepspeed_preset(plan->model);

	return plan->strategy.auto_ep && preset ? doc_text(arena, preset) : NULL;
}

static const struct doc *
data_first(struct arena *arena, const struct plan_view *plan)
{
	return yes_if(arena, plan->strategy.data_before_expert);
}

static int
read_data_first(const struct key *key, const struct doc *value, struct strategy *strategy,
    struct field_context *context)
{
	(void)key, (void)context;
	strategy->data_before_expert = key_is_on(value);
	return 0;
}

#define ROW(native, ours, kind, since, writer, reader)                                             \
	{                                                                                          \
		native, ours, kind, since, NULL, writer, reader, false                             \
	}

/* clang-format off */
const struct key deepspeed_keys[] = {
	ROW("train_batch_size", "global_batch", KEY_INT, NULL, train_batch, NULL),
	ROW("train_micro_batch_size_per_gpu", "micro_batch", KEY_INT, NULL, NULL, NULL),
	ROW("gradient_accumulation_steps", "micro_batches", KEY_INT, NULL, accumulation,
	    read_accumulation),
	ROW("gradient_clipping", NULL, KEY_NUMBER, NULL, clipping, NULL),
	ROW("bf16.enabled", "precision", KEY_BOOL, NULL, bf16_enabled, read_bf16),
	ROW("fp16.enabled", "precision", KEY_BOOL, NULL, fp16_enabled, read_fp16),
	ROW("data_types.grad_accum_dtype", "grad_type", KEY_TEXT, NULL, grad_accum_dtype,
	    read_grad_accum),
	ROW("zero_optimization.stage", "zero", KEY_INT, NULL, zero_stage, read_stage),
	ROW("zero_optimization.overlap_comm", "overlap", KEY_BOOL, NULL, overlap_comm,
	    read_overlap_comm),
	ROW("zero_optimization.contiguous_gradients", NULL, KEY_BOOL, NULL, always_on, NULL),
	ROW("zero_optimization.reduce_scatter", NULL, KEY_BOOL, NULL, always_on, NULL),
	ROW("zero_optimization.offload_optimizer.device", "offload", KEY_TEXT, NULL, offload_device,
	    read_offload_device),
	ROW("zero_optimization.offload_optimizer.ratio", "offload", KEY_NUMBER, NULL, offload_ratio,
	    read_offload_ratio),
	ROW("tensor_parallel.autotp_size", "tp", KEY_INT, "0.16.4", autotp_size, read_autotp),
	ROW("tensor_parallel.tp_overlap_comm", "overlap", KEY_BOOL, "0.16.4", tp_overlap,
	    read_tp_overlap),
	ROW("expert_parallel.enabled", "auto_ep", KEY_BOOL, "0.19.2", auto_ep, read_auto_ep),
	ROW("expert_parallel.autoep_size", "ep", KEY_INT, "0.19.2", autoep_size, NULL),
	ROW("expert_parallel.preset_model", NULL, KEY_TEXT, "0.19.2", autoep_preset, NULL),
	{"expert_parallel.expert_tensor_parallel_size", "etp", KEY_INT, "0.19.3", NULL, autoep_etp,
	    NULL, true},
	ROW("use_data_before_expert_parallelism", "data_before_expert", KEY_BOOL, NULL, data_first,
	    read_data_first),
	{.name = NULL},
};
/* clang-format on */
