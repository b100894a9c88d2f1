/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How does Megatron-LM spell a model's shape, and which shapes has it no words for?
 * Source: megatron/training/arguments.py, core/transformer/transformer_config.py, 0.12 to 0.19.
 */
#include <string.h>

#include "base/arena.h"
#include "emit/megatron_values.h"
#include "emit/values.h"

static bool
attends(const struct mixer *mixer)
{
	return mixer->kind == MIXER_GQA || mixer->kind == MIXER_MLA;
}

/* That of the layers which attend; all of them have one shape. */
static const struct mixer *
attention(const struct model *model)
{
	for (int i = 0; i < model->n_kinds; i++)
		if (attends(&model->kinds[i].mixer))
			return &model->kinds[i].mixer;
	return &model->kinds[0].mixer;
}

/* The MoE part, or a row of zeroes. */
static const struct ffn *
experts_of(const struct model *model)
{
	static const struct ffn none;
	const struct layer_kind *moe = model_moe(model);

	return moe ? &moe->ffn : &none;
}

static int64_t
dense_width(const struct model *model)
{
	for (int i = 0; i < model->n_kinds; i++)
		if (!kind_is_moe(&model->kinds[i]) && model->kinds[i].ffn.dense_width > 0)
			return model->kinds[i].ffn.dense_width;
	return 0;
}

/*
 * Text for the patterns that Megatron evaluates: "([0]*3+[1]*58)", or a period:
 * "([1,0]*18)". `bits` has one 0 or 1 a layer.
 */
const char *
megatron_pattern(struct arena *arena, const bool *bits, int64_t n)
{
	struct str text = str_new(arena);
	int64_t period, i, run;

	for (period = 1; period <= 8; period++) {
		for (i = period; i < n && bits[i] == bits[i - period]; i++)
			;
		if (n % period == 0 && i == n)
			break;
	}
	str_addc(&text, '(');
	for (i = 0; period <= 8 && i < period; i++)
		str_addf(&text, "%s%d", i ? "," : "[", bits[i]);
	if (period <= 8)
		str_addf(&text, "]*%lld", (long long)(n / period));
	for (i = 0; period > 8 && i < n; i += run) {
		for (run = 1; i + run < n && bits[i + run] == bits[i]; run++)
			;
		str_addf(&text, "%s[%d]*%lld", i ? "+" : "", bits[i], (long long)run);
	}
	str_addc(&text, ')');
	return text.text;
}

/* --- dense ---------------------------------------------------------------------------------- */

const struct doc *
megatron_layers(struct arena *arena, const struct plan_view *plan)
{
	return doc_int(arena, plan->model->layers);
}

const struct doc *
megatron_hidden(struct arena *arena, const struct plan_view *plan)
{
	return doc_int(arena, plan->model->hidden);
}

/* Where every layer is MoE the dense width is never used; Megatron asks for one all the same. */
const struct doc *
megatron_ffn(struct arena *arena, const struct plan_view *plan)
{
	int64_t width = dense_width(plan->model);

	return doc_int(arena, width > 0 ? width : experts_of(plan->model)->expert_width);
}

const struct doc *
megatron_heads(struct arena *arena, const struct plan_view *plan)
{
	return doc_int(arena, attention(plan->model)->heads);
}

static bool
has_groups(const struct model *model)
{
	const struct mixer *mixer = attention(model);

	return mixer->kind == MIXER_GQA && mixer->kv_heads < mixer->heads;
}

const struct doc *
megatron_gqa(struct arena *arena, const struct plan_view *plan)
{
	return flag_if(arena, has_groups(plan->model));
}

const struct doc *
megatron_groups(struct arena *arena, const struct plan_view *plan)
{
	return size_if(arena, has_groups(plan->model), attention(plan->model)->kv_heads);
}

static bool
is_mla(const struct model *model)
{
	return attention(model)->kind == MIXER_MLA;
}

const struct doc *
megatron_head_dim(struct arena *arena, const struct plan_view *plan)
{
	return size_if(arena, !is_mla(plan->model), attention(plan->model)->head_dim);
}

const struct doc *
megatron_positions(struct arena *arena, const struct plan_view *plan)
{
	int64_t longest = plan->model->max_positions, length = plan->strategy.seq_len;

	return doc_int(arena, longest > length ? longest : length);
}

const struct doc *
megatron_position_type(struct arena *arena, const struct plan_view *plan)
{
	if (model_has_mamba(plan->model)) /* Mamba layers tell the others where they are */
		return doc_text(arena, "none");
	return doc_text(arena, plan->model->learned_positions ? "learned_absolute" : "rope");
}

static bool
has_mlp(const struct layer_kind *kind)
{
	return kind->ffn.dense_width > 0 || kind->ffn.experts > 0;
}

static bool
is_gated(const struct model *model)
{
	for (int i = 0; i < model->n_kinds; i++)
		if (has_mlp(&model->kinds[i]))
			return !model->kinds[i].ffn.ungated;
	return true;
}

const struct doc *
megatron_swiglu(struct arena *arena, const struct plan_view *plan)
{
	return flag_if(
	    arena, is_gated(plan->model) && !megatron_has_quick_geglu(plan->model));
}

/* Without a gate it is GELU, but for NVIDIA's own models. */
const struct doc *
megatron_squared_relu(struct arena *arena, const struct plan_view *plan)
{
	const char *architecture = plan->model->architecture;

	return flag_if(
	    arena, !is_gated(plan->model) && architecture && strstr(architecture, "Nemotron"));
}

/* Norms without weights of their own beside the scale have hidden elements, LayerNorm twice. */
static bool
is_rms_norm(const struct model *model)
{
	return model->final_norm <= model->hidden;
}

const struct doc *
megatron_norm(struct arena *arena, const struct plan_view *plan)
{
	return doc_text(arena, is_rms_norm(plan->model) ? "RMSNorm" : "LayerNorm");
}

/* One switch for all linear layers but the query, key and value ones, which have their own. */
static bool
has_bias(const struct model *model)
{
	return attention(model)->out_bias;
}

const struct doc *
megatron_no_bias(struct arena *arena, const struct plan_view *plan)
{
	return flag_if(arena, !has_bias(plan->model));
}

const struct doc *
megatron_qkv_bias(struct arena *arena, const struct plan_view *plan)
{
	return flag_if(arena, attention(plan->model)->qkv_bias && !has_bias(plan->model));
}

const struct doc *
megatron_untied(struct arena *arena, const struct plan_view *plan)
{
	return flag_if(arena, !plan->model->tied);
}

/* MLA's own norms of its latents are always there and the flag switches them on. */
const struct doc *
megatron_qk_norm(struct arena *arena, const struct plan_view *plan)
{
	return flag_if(
	    arena, attention(plan->model)->qk_norm == QK_NORM_HEAD || is_mla(plan->model));
}

const struct doc *
megatron_out_gate(struct arena *arena, const struct plan_view *plan)
{
	return flag_if(arena, attention(plan->model)->out_gate);
}

const struct doc *
megatron_sinks(struct arena *arena, const struct plan_view *plan)
{
	return text_if(arena, attention(plan->model)->sinks, "learnable");
}

static int64_t
window_of(const struct model *model)
{
	for (int i = 0; i < model->n_kinds; i++)
		if (model->kinds[i].mixer.window > 0)
			return model->kinds[i].mixer.window;
	return 0;
}

/* Megatron counts the tokens to the left of a query, a window the query too. */
const struct doc *
megatron_window(struct arena *arena, const struct plan_view *plan)
{
	int64_t window = window_of(plan->model);

	return text_if(arena, window > 0, arena_printf(arena, "(%lld,0)", (long long)window - 1));
}

const struct doc *
megatron_window_layers(struct arena *arena, const struct plan_view *plan)
{
	const struct model *model = plan->model;
	bool bits[MODEL_MAX_LAYERS];

	if (window_of(model) == 0)
		return NULL;
	for (int64_t i = 0; i < model->layers; i++)
		bits[i] = model->kinds[model->kind_of[i]].mixer.window > 0;
	return doc_text(arena, megatron_pattern(arena, bits, model->layers));
}

const struct doc *
megatron_vocab(struct arena *arena, const struct plan_view *plan)
{
	return doc_int(arena, plan->model->vocab);
}

/* --- latent attention and MTP --------------------------------------------------------------- */

const struct doc *
megatron_mla(struct arena *arena, const struct plan_view *plan)
{
	return flag_if(arena, is_mla(plan->model));
}

const struct doc *
megatron_q_rank(struct arena *arena, const struct plan_view *plan)
{
	int64_t rank = attention(plan->model)->q_rank;

	return size_if(arena, is_mla(plan->model) && rank > 0, rank);
}

#define MLA_SIZE(name, member)                                                                     \
	const struct doc *name(struct arena *arena, const struct plan_view *plan)                  \
	{                                                                                          \
		return size_if(arena, is_mla(plan->model), attention(plan->model)->member);        \
	}
/* clang-format off */
MLA_SIZE(megatron_kv_rank, kv_rank)
MLA_SIZE(megatron_nope_dim, nope_dim)
MLA_SIZE(megatron_rope_dim, rope_dim)
MLA_SIZE(megatron_value_dim, value_dim)
/* clang-format on */

const struct doc *
megatron_mtp(struct arena *arena, const struct plan_view *plan)
{
	return size_if(arena, plan->model->mtp_layers > 0, plan->model->mtp_layers);
}

const struct doc *
megatron_mtp_scale(struct arena *arena, const struct plan_view *plan)
{
	return plan->model->mtp_layers > 0 ? doc_number(arena, 0.1) : NULL;
}

/* --- experts -------------------------------------------------------------------------------- */

#define MOE_SIZE(name, member)                                                                     \
	const struct doc *name(struct arena *arena, const struct plan_view *plan)                  \
	{                                                                                          \
		int64_t size = experts_of(plan->model)->member;                                    \
                                                                                                   \
		return size_if(arena, size > 0, size);                                             \
	}
/* clang-format off */
MOE_SIZE(megatron_experts, experts)
MOE_SIZE(megatron_topk, top_k)
MOE_SIZE(megatron_expert_ffn, expert_width)
MOE_SIZE(megatron_shared, shared_width)
MOE_SIZE(megatron_latent, latent)
/* clang-format on */

const struct doc *
megatron_shared_gate(struct arena *arena, const struct plan_view *plan)
{
	return flag_if(arena, experts_of(plan->model)->shared_gate);
}

const struct doc *
megatron_moe_layers(struct arena *arena, const struct plan_view *plan)
{
	const struct model *model = plan->model;
	bool bits[MODEL_MAX_LAYERS];

	if (!model_moe(model) || model_has_mamba(model))
		return NULL;
	for (int64_t i = 0; i < model->layers; i++)
		bits[i] = kind_is_moe(&model->kinds[model->kind_of[i]]);
	return doc_text(arena, megatron_pattern(arena, bits, model->layers));
}

/* Node-limited routing that touches all groups is none. */
static bool
has_route_groups(const struct model *model)
{
	const struct ffn *ffn = experts_of(model);

	return ffn->route_groups > 1 && ffn->top_groups > 0;
}

const struct doc *
megatron_route_groups(struct arena *arena, const struct plan_view *plan)
{
	return size_if(arena, has_route_groups(plan->model), experts_of(plan->model)->route_groups);
}

const struct doc *
megatron_top_groups(struct arena *arena, const struct plan_view *plan)
{
	return size_if(arena, has_route_groups(plan->model), experts_of(plan->model)->top_groups);
}

/* --- what has no words ---------------------------------------------------------------------- */

/* But for windows, which may differ, and chunks. */
static bool
same_shape(const struct mixer *a, const struct mixer *b)
{
	return a->kind == b->kind && a->heads == b->heads && a->kv_heads == b->kv_heads &&
	       a->head_dim == b->head_dim && a->value_dim == b->value_dim &&
	       a->qkv_bias == b->qkv_bias && a->out_bias == b->out_bias && a->sinks == b->sinks &&
	       a->qk_norm == b->qk_norm && a->q_rank == b->q_rank && a->kv_rank == b->kv_rank;
}

static const char *
mixer_obstacle(const struct mixer *mixer, int64_t seq_len)
{
	if (mixer->kind == MIXER_GATED_DELTANET || mixer->kind == MIXER_MAMBA2 ||
	    mixer->kind == MIXER_NONE)
		return NULL;
	if (mixer->kind != MIXER_GQA && mixer->kind != MIXER_MLA)
		return "layers other than grouped-query and latent attention, Gated DeltaNet and "
		       "Mamba-2";
	if (mixer->index_heads > 0 || mixer->sparse > 0)
		return "an indexer that picks the tokens of a query";
	if (mixer->chunk > 0 && seq_len > mixer->chunk)
		return "attention inside chunks that are shorter than a sequence";
	if (mixer->kind == MIXER_GQA && mixer->value_dim > 0 && mixer->value_dim != mixer->head_dim)
		return "value heads of another width than key heads";
	if (mixer->shared_kv)
		return "values that are the keys";
	if (mixer->qk_norm == QK_NORM_FULL)
		return "a norm over all query heads together";
	return mixer->out_bias && !mixer->qkv_bias ? "a bias on the output projection alone" : NULL;
}

static const char *
ffn_obstacle(const struct ffn *ffn, const struct mixer *mixer)
{
	if (ffn->experts > 0 && ffn->dense_width > 0)
		return "a dense MLP beside the experts of a layer";
	if (ffn->hash_entries > 0)
		return "a routing table";
	if (ffn->experts > 0 && ffn->expert_bias != mixer->out_bias)
		return "a bias in the experts or in the attention, not in both";
	if (ffn->dense_width > 0 && ffn->dense_bias != mixer->out_bias)
		return "a bias in the MLP or in the attention, not in both";
	return NULL;
}

static bool
same_ffn(const struct ffn *a, const struct ffn *b)
{
	if ((a->experts > 0) != (b->experts > 0))
		return a->ungated == b->ungated;
	if (a->experts == 0)
		return a->dense_width == b->dense_width && a->ungated == b->ungated;
	return a->experts == b->experts && a->top_k == b->top_k &&
	       a->expert_width == b->expert_width && a->shared_width == b->shared_width &&
	       a->latent == b->latent && a->ungated == b->ungated;
}

static const char *
kind_obstacle(const struct plan_view *plan, const struct layer_kind *kind)
{
	const struct model *model = plan->model;
	const char *obstacle = mixer_obstacle(&kind->mixer, plan->strategy.seq_len);

	if (!obstacle)
		obstacle = ffn_obstacle(&kind->ffn, attention(model));
	if (!obstacle && kind->extra_elements > 0)
		obstacle = kind->extra_name ? kind->extra_name : "parameters beside its layers";
	if (!obstacle && attends(&kind->mixer) && !same_shape(&kind->mixer, attention(model)))
		obstacle = "attention layers of two shapes";
	for (int i = 0; !obstacle && has_mlp(kind) && i < model->n_kinds; i++)
		if (has_mlp(&model->kinds[i]) && !same_ffn(&kind->ffn, &model->kinds[i].ffn))
			obstacle = "MLPs or experts of two shapes";
	return obstacle;
}

const char *
megatron_model_obstacle(const struct plan_view *plan)
{
	const struct model *model = plan->model;
	const char *obstacle = megatron_deltanet_obstacle(plan);

	if (!obstacle)
		obstacle = megatron_mamba_obstacle(plan);
	for (int i = 0; !obstacle && i < model->n_kinds; i++)
		obstacle = kind_obstacle(plan, &model->kinds[i]);
	if (!obstacle && model->head_bias > 0)
		obstacle = "a bias of the output head";
	if (!obstacle && model->final_extra > 0)
		obstacle = "parameters after the last layer";
	return obstacle;
}
