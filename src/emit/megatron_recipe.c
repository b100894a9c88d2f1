/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What beside its shape does a model's config.json say, in Megatron-LM's words?
 *
 * Three settings of the router follow from no config and are chosen here, since their
 * defaults train something else (a balancing coefficient of 0):
 *   correction bias  sigmoid scores, seq_aux_loss 1e-4, update rate 1e-3
 *                    (DeepSeek-V3 report, sections 2.1.2 and 4.2)
 *   else             softmax scores, aux_loss with the config's router_aux_loss_coef, or
 *                    1e-2 (Switch Transformers, section 2.2; Megatron-Core's MoE guide)
 * A config without a key leaves the framework's default, which a recipe can override:
 * none of these changes a shape. Rescaled rotary embeddings are left to the recipe.
 */
#include <string.h>

#include "base/arena.h"
#include "emit/megatron_values.h"
#include "emit/private.h"
#include "emit/values.h"

/* A member of the config, or of its text model. */
static const struct doc *
config_member(const struct plan_view *plan, const char *key)
{
	const struct doc *value = doc_get(plan->definition, key);

	if (doc_is_null(value))
		value = doc_get(doc_get(plan->definition, "text_config"), key);
	return doc_is_null(value) ? NULL : value;
}

static const struct doc *
config_number(struct arena *arena, const struct plan_view *plan, const char *key)
{
	const struct doc *value = config_member(plan, key);

	if (!value || value->kind != DOC_NUMBER || !(value->number > 0 && value->number < 1e12))
		return NULL;
	return doc_number(arena, value->number);
}

static bool
config_is_false(const struct plan_view *plan, const char *key)
{
	const struct doc *value = config_member(plan, key);

	return value && value->kind == DOC_BOOL && !value->boolean;
}

/* Newer files keep it inside rope_parameters. */
const struct doc *
megatron_rotary_base(struct arena *arena, const struct plan_view *plan)
{
	const struct doc *base = config_number(arena, plan, "rope_theta");
	const struct doc *nested = doc_get(config_member(plan, "rope_parameters"), "rope_theta");

	if (!base && nested && nested->kind == DOC_NUMBER && nested->number > 0)
		base = doc_number(arena, nested->number);
	if (!base || base->number > 1e12 || plan->model->learned_positions)
		return NULL;
	return doc_int(arena, (int64_t)base->number);
}

const struct doc *
megatron_norm_epsilon(struct arena *arena, const struct plan_view *plan)
{
	const struct doc *epsilon = config_number(arena, plan, "rms_norm_eps");

	return epsilon ? epsilon : config_number(arena, plan, "layer_norm_epsilon");
}

const struct doc *
megatron_topk_scale(struct arena *arena, const struct plan_view *plan)
{
	if (!model_moe(plan->model))
		return NULL;
	return config_number(arena, plan, "routed_scaling_factor");
}

/* --- router --------------------------------------------------------------------------------- */

/* A bias that only steers the choice; one of a linear layer comes with the other biases. */
static bool
has_correction(const struct model *model)
{
	const struct layer_kind *moe = model_moe(model);

	return moe && moe->ffn.router_bias && !moe->mixer.out_bias;
}

bool
router_is_sigmoid(const struct plan_view *plan)
{
	const struct doc *scores = config_member(plan, "scoring_func");

	return has_correction(plan->model) ||
	       (scores && scores->text && strcmp(scores->text, "sigmoid") == 0);
}

const struct doc *
megatron_expert_bias(struct arena *arena, const struct plan_view *plan)
{
	return has_correction(plan->model) ? doc_bool(arena, true) : NULL;
}

const struct doc *
megatron_bias_rate(struct arena *arena, const struct plan_view *plan)
{
	return has_correction(plan->model) ? doc_number(arena, 1e-3) : NULL;
}

const struct doc *
megatron_scores(struct arena *arena, const struct plan_view *plan)
{
	if (!model_moe(plan->model))
		return NULL;
	return doc_text(arena, router_is_sigmoid(plan) ? "sigmoid" : "softmax");
}

bool
router_keeps_scores(const struct plan_view *plan)
{
	return config_is_false(plan, "norm_topk_prob");
}

double
router_aux_coefficient(const struct plan_view *plan)
{
	const struct doc *said = config_member(plan, "router_aux_loss_coef");

	return said && said->kind == DOC_NUMBER && said->number > 0 ? said->number : 1e-2;
}

/*
 * Softmax of the chosen scores is the same as softmax of all, made to sum to 1 again. Without
 * that the softmax must come first; with top-1 Megatron demands it.
 */
const struct doc *
megatron_pre_softmax(struct arena *arena, const struct plan_view *plan)
{
	const struct layer_kind *moe = model_moe(plan->model);

	if (!moe || router_is_sigmoid(plan))
		return NULL;
	if (moe->ffn.top_k > 1 && !router_keeps_scores(plan))
		return NULL;
	return doc_bool(arena, true);
}

const struct doc *
megatron_router_dtype(struct arena *arena, const struct plan_view *plan)
{
	return model_moe(plan->model) ? doc_text(arena, "fp32") : NULL;
}

const struct doc *
megatron_balancing(struct arena *arena, const struct plan_view *plan)
{
	if (!model_moe(plan->model))
		return NULL;
	return doc_text(arena, has_correction(plan->model) ? "seq_aux_loss" : "aux_loss");
}

const struct doc *
megatron_aux(struct arena *arena, const struct plan_view *plan)
{
	if (!model_moe(plan->model))
		return NULL;
	return doc_number(
	    arena, has_correction(plan->model) ? 1e-4 : router_aux_coefficient(plan));
}
