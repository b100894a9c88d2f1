/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What beside its shape does a model's config.json say, in Megatron-LM's words?
 *
 * Three settings of the router follow from no config and are chosen here, since their
 * defaults train something else (a balancing coefficient of 0):
 *   correction bias  sigmoid scores, seq_aux_loss 1e-4, update rate 1e-3
 *                    (DeepSeek-V3 report, sections 2.1.2 and 4.2)
 *   else             softmax scores, aux_loss (seq_aux_loss where the config has seq_aux) with
 *                    the config's router_aux_loss_coef or aux_loss_alpha, or 1e-2 (Switch
 *                    Transformers, section 2.2; Megatron-Core's MoE guide)
 * A config without a key leaves the framework's default, which a recipe can override:
 * none of these changes a shape. Of rescaled rotary embeddings Megatron-LM has Llama 3's; YaRN,
 * with which a model is stretched after its training, is left to the recipe.
 */
#include <string.h>

#include "base/arena.h"
#include "emit/megatron_values.h"
#include "emit/private.h"
#include "emit/values.h"

const struct doc *
plan_config(const struct plan_view *plan, const char *key)
{
	const struct doc *value = doc_get(plan->definition, key);

	if (doc_is_null(value))
		value = doc_get(doc_get(plan->definition, "text_config"), key);
	return doc_is_null(value) ? NULL : value;
}

static const struct doc *
config_number(struct arena *arena, const struct plan_view *plan, const char *key)
{
	const struct doc *value = plan_config(plan, key);

	if (!value || value->kind != DOC_NUMBER || !(value->number > 0 && value->number < 1e12))
		return NULL;
	return doc_number(arena, value->number);
}

static bool
config_is_false(const struct plan_view *plan, const char *key)
{
	const struct doc *value = plan_config(plan, key);

	return value && value->kind == DOC_BOOL && !value->boolean;
}

/* --- rotary embeddings and norms ------------------------------------------------------------ */

/* Newer files keep it inside rope_parameters. */
static const struct doc *
rotary_number(struct arena *arena, const struct plan_view *plan, const char *key)
{
	const struct doc *number = config_number(arena, plan, key);
	const struct doc *nested = doc_get(plan_config(plan, "rope_parameters"), key);

	if (plan->model->learned_positions || model_has_mamba(plan->model))
		return NULL;
	if (number || !nested || nested->kind != DOC_NUMBER)
		return number;
	return nested->number > 0 && nested->number < 1e12 ? doc_number(arena, nested->number)
							   : NULL;
}

const struct doc *
megatron_rotary_base(struct arena *arena, const struct plan_view *plan)
{
	const struct doc *base = rotary_number(arena, plan, "rope_theta");

	return base ? doc_int(arena, (int64_t)base->number) : NULL;
}

/* Of latent attention the rotated part is a width of its own. */
const struct doc *
megatron_rotary_percent(struct arena *arena, const struct plan_view *plan)
{
	const struct doc *part = rotary_number(arena, plan, "partial_rotary_factor");

	if (plan->model->kinds[0].mixer.kind == MIXER_MLA)
		return NULL;
	return part && part->number < 1 ? part : NULL;
}

/* Llama 3's, by whatever name the file has for the map and its type; NULL none. */
static const struct doc *
llama3_scaling(const struct plan_view *plan)
{
	static const char *const names[] = {"rope_scaling", "rope_parameters"};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		const struct doc *map = plan_config(plan, names[i]);
		const struct doc *type = doc_get(map, "rope_type");

		if (doc_is_null(type))
			type = doc_get(map, "type");
		if (!doc_is_null(type) && type->text && strcmp(type->text, "llama3") == 0)
			return map;
	}
	return NULL;
}

const struct doc *
megatron_rope_scaling(struct arena *arena, const struct plan_view *plan)
{
	return llama3_scaling(plan) ? doc_bool(arena, true) : NULL;
}

const struct doc *
megatron_rope_factor(struct arena *arena, const struct plan_view *plan)
{
	const struct doc *factor = doc_get(llama3_scaling(plan), "factor");

	if (!factor || factor->kind != DOC_NUMBER || !(factor->number >= 1 && factor->number < 1e6))
		return NULL;
	return doc_number(arena, factor->number);
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
	const struct doc *scores = plan_config(plan, "scoring_func");

	return has_correction(plan->model) || megatron_scales_input(plan->model) ||
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
	const struct doc *said = plan_config(plan, "router_aux_loss_coef");

	if (!said)
		said = plan_config(plan, "aux_loss_alpha");
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
	const struct doc *seq_aux = plan_config(plan, "seq_aux");
	bool by_sequence = seq_aux && seq_aux->kind == DOC_BOOL && seq_aux->boolean;

	if (!model_moe(plan->model))
		return NULL;
	return doc_text(
	    arena, has_correction(plan->model) || by_sequence ? "seq_aux_loss" : "aux_loss");
}

const struct doc *
megatron_aux(struct arena *arena, const struct plan_view *plan)
{
	if (!model_moe(plan->model))
		return NULL;
	return doc_number(
	    arena, has_correction(plan->model) ? 1e-4 : router_aux_coefficient(plan));
}
