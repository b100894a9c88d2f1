/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What do families of models have of their own, in Megatron-LM's words?
 *
 *   gpt-oss      x sigmoid(1.702 x) (y + 1) of values clamped to 7: quick GEGLU with an offset
 *   Llama-4      sigmoid scores that scale the experts' input, a norm of queries and keys
 *                without weights, every fourth layer without rotary embedding
 *   Qwen3-Next,  Gated DeltaNet layers between those of attention, norms that hold their
 *   Qwen3.5      scale less 1
 *
 * Attention inside chunks is full attention for sequences that are no longer than a chunk.
 * Source: NVIDIA/Megatron-LM core_v0.13.0 to core_v0.19.0, transformer_config.py and
 * arguments.py; the constants of gpt-oss: huggingface/transformers modeling_gpt_oss.py.
 */
#include <string.h>

#include "base/arena.h"
#include "emit/megatron_values.h"
#include "emit/private.h"
#include "emit/values.h"

static bool
is_family(const struct model *model, const char *name)
{
	return model->architecture && strstr(model->architecture, name);
}

/* --- gpt-oss -------------------------------------------------------------------------------- */

bool
megatron_has_quick_geglu(const struct model *model)
{
	return is_family(model, "GptOss");
}

const struct doc *
megatron_quick_geglu(struct arena *arena, const struct plan_view *plan)
{
	return flag_if(arena, megatron_has_quick_geglu(plan->model));
}

const struct doc *
megatron_glu_clamp(struct arena *arena, const struct plan_view *plan)
{
	const struct doc *limit = plan_config(plan, "swiglu_limit");

	if (!megatron_has_quick_geglu(plan->model))
		return NULL;
	return doc_number(
	    arena, limit && limit->kind == DOC_NUMBER && limit->number > 0 ? limit->number : 7);
}

const struct doc *
megatron_glu_offset(struct arena *arena, const struct plan_view *plan)
{
	return megatron_has_quick_geglu(plan->model) ? doc_number(arena, 1) : NULL;
}

/* --- Llama-4 -------------------------------------------------------------------------------- */

bool
megatron_scales_input(const struct model *model)
{
	return is_family(model, "Llama4") && model_moe(model);
}

const struct doc *
megatron_probs_on_input(struct arena *arena, const struct plan_view *plan)
{
	return flag_if(arena, megatron_scales_input(plan->model));
}

const struct doc *
megatron_qk_l2_norm(struct arena *arena, const struct plan_view *plan)
{
	const struct doc *norm = plan_config(plan, "use_qk_norm");

	return flag_if(arena, is_family(plan->model, "Llama4") && norm &&
				  norm->kind == DOC_BOOL && norm->boolean);
}

/* Layers that see everything have no rotary embedding. */
const struct doc *
megatron_no_rope(struct arena *arena, const struct plan_view *plan)
{
	const struct model *model = plan->model;
	bool bits[MODEL_MAX_LAYERS];

	if (!is_family(model, "Llama4"))
		return NULL;
	for (int64_t i = 0; i < model->layers; i++)
		bits[i] = model->kinds[model->kind_of[i]].mixer.chunk == 0;
	return doc_text(arena, megatron_pattern(arena, bits, model->layers));
}

/* --- Gated DeltaNet ------------------------------------------------------------------------- */

static const struct mixer *
deltanet(const struct model *model)
{
	for (int i = 0; i < model->n_kinds; i++)
		if (model->kinds[i].mixer.kind == MIXER_GATED_DELTANET)
			return &model->kinds[i].mixer;
	return NULL;
}

const struct doc *
megatron_zero_centered(struct arena *arena, const struct plan_view *plan)
{
	return flag_if(arena, deltanet(plan->model));
}

const struct doc *
megatron_attention_variant(struct arena *arena, const struct plan_view *plan)
{
	return deltanet(plan->model) ? doc_text(arena, "gated_delta_net") : NULL;
}

const struct doc *
megatron_linear_layers(struct arena *arena, const struct plan_view *plan)
{
	const struct model *model = plan->model;
	bool bits[MODEL_MAX_LAYERS];

	if (!deltanet(model))
		return NULL;
	for (int64_t i = 0; i < model->layers; i++)
		bits[i] = model->kinds[model->kind_of[i]].mixer.kind == MIXER_GATED_DELTANET;
	return doc_text(arena, megatron_pattern(arena, bits, model->layers));
}

#define DELTANET_SIZE(name, member)                                                                \
	const struct doc *name(struct arena *arena, const struct plan_view *plan)                  \
	{                                                                                          \
		const struct mixer *mixer = deltanet(plan->model);                                 \
                                                                                                   \
		return mixer ? doc_int(arena, mixer->member) : NULL;                               \
	}
/* clang-format off */
DELTANET_SIZE(megatron_linear_conv, conv)
DELTANET_SIZE(megatron_linear_key_dim, key_dim)
DELTANET_SIZE(megatron_linear_value_dim, value_dim)
DELTANET_SIZE(megatron_linear_key_heads, key_heads)
DELTANET_SIZE(megatron_linear_value_heads, value_heads)
/* clang-format on */

static bool
same_deltanet(const struct mixer *a, const struct mixer *b)
{
	return a->conv == b->conv && a->key_dim == b->key_dim && a->value_dim == b->value_dim &&
	       a->key_heads == b->key_heads && a->value_heads == b->value_heads;
}

const char *
megatron_deltanet_obstacle(const struct plan_view *plan)
{
	const struct strategy *s = &plan->strategy;
	const struct mixer *mixer = deltanet(plan->model);

	if (!mixer)
		return NULL;
	for (int i = 0; i < plan->model->n_kinds; i++) {
		const struct mixer *other = &plan->model->kinds[i].mixer;

		if (other->kind == MIXER_GATED_DELTANET && !same_deltanet(mixer, other))
			return "Gated DeltaNet layers of two shapes";
	}
	if (s->cp > 1 && version_compare(s->framework_version, "0.18") < 0)
		return "Gated DeltaNet under context parallelism before 0.18";
	if (mixer->key_heads % (s->tp * s->cp) != 0 || mixer->value_heads % (s->tp * s->cp) != 0)
		return "Gated DeltaNet heads that TP x CP does not divide";
	return NULL;
}
