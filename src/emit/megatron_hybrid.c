/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How does Megatron-LM say the layers and the stages of a model with Mamba layers?
 *
 * One letter a layer and '|' between chunks: "MEM*|EMEM", with '/' and the layers of MTP behind
 * it. A pipeline layout, virtual stages and moe_layer_freq are no settings of such a model, its
 * builder is named by --spec and its program is another. It convolves over 4 tokens. Source:
 * NVIDIA/Megatron-LM core_v0.17.0 to core_v0.19.0 megatron/training/arguments.py,
 * megatron/core/ssm/mamba_mixer.py and mamba_hybrid_layer_allocation.py, later
 * core/models/hybrid/hybrid_layer_allocation.py.
 */
#include <string.h>

#include "base/arena.h"
#include "emit/megatron_values.h"
#include "emit/private.h"
#include "emit/values.h"

/* A layer is one mixer or one MLP there; '\0': this one is not. */
static char
letter_of(const struct layer_kind *kind)
{
	bool has_mlp = kind->ffn.dense_width > 0 || kind->ffn.experts > 0;

	if (kind->mixer.kind == MIXER_NONE)
		return kind->ffn.experts > 0 ? 'E' : '-';
	if (has_mlp)
		return '\0';
	return kind->mixer.kind == MIXER_MAMBA2 ? 'M' : kind->mixer.kind == MIXER_GQA ? '*' : '\0';
}

bool
megatron_has_pattern(const struct plan_view *plan)
{
	return model_has_mamba(plan->model) && plan->strategy.pp > 1 && !layout_is_plain(plan);
}

bool
megatron_can_say_pattern(const struct model *model)
{
	for (int i = 0; i < model->n_kinds; i++)
		if (!letter_of(&model->kinds[i]))
			return false;
	return model->mtp_layers == 0;
}

const struct doc *
megatron_layer_pattern(struct arena *arena, const struct plan_view *plan)
{
	const struct layout *layout = &plan->layout;
	int chunks = layout->pp * layout->vpp;
	struct str text = str_new(arena);

	if (!model_has_mamba(plan->model) || !megatron_can_say_pattern(plan->model))
		return NULL;
	for (int c = 0; c < chunks; c++) {
		if (c > 0)
			str_addc(&text, '|');
		for (int layer = layout->first[c]; layer < layout->first[c + 1]; layer++)
			str_addc(
			    &text, letter_of(&plan->model->kinds[plan->model->kind_of[layer]]));
	}
	return doc_text(arena, text.text);
}

/* As our layout says it: "Et*4|t*4L". */
int
megatron_read_layer_pattern(const struct key *key, const struct doc *value,
    struct strategy *strategy, struct field_context *context)
{
	struct str text = str_new(context->arena);
	const char *at = value->text;
	size_t main_length, mtp = 0;

	if (!at)
		return key_refuse(key, value, context, "a letter a layer, '|' between stages");
	main_length = strcspn(at, "/");
	for (const char *c = at; *c; c++)
		mtp += *c == '/';
	if (!memchr(at, '|', main_length))
		return 0;
	str_addc(&text, 'E');
	for (const char *end = at + main_length; at <= end; at += strcspn(at, "|/") + 1) {
		size_t layers = strcspn(at, "|/");

		if (at != value->text)
			str_addc(&text, '|');
		if (layers > 0)
			str_addf(&text, "t*%zu", layers);
	}
	if (mtp > 0)
		str_addf(&text, "m*%zu", mtp);
	str_addc(&text, 'L');
	strategy->layout = text.text;
	return 0;
}

/* --- Mamba layers --------------------------------------------------------------------------- */

static const struct mixer *
mamba(const struct model *model)
{
	for (int i = 0; i < model->n_kinds; i++)
		if (model->kinds[i].mixer.kind == MIXER_MAMBA2)
			return &model->kinds[i].mixer;
	return NULL;
}

#define MAMBA_SIZE(name, member)                                                                   \
	const struct doc *name(struct arena *arena, const struct plan_view *plan)                  \
	{                                                                                          \
		const struct mixer *mixer = mamba(plan->model);                                    \
                                                                                                   \
		return mixer ? doc_int(arena, mixer->member) : NULL;                               \
	}
/* clang-format off */
MAMBA_SIZE(megatron_mamba_state, state)
MAMBA_SIZE(megatron_mamba_head_dim, head_dim)
MAMBA_SIZE(megatron_mamba_groups, groups)
MAMBA_SIZE(megatron_mamba_heads, heads)
/* clang-format on */

static bool
has_hybrid_program(const struct plan_view *plan)
{
	return version_compare(plan->strategy.framework_version, "0.18") >= 0;
}

const struct doc *
megatron_spec(struct arena *arena, const struct plan_view *plan)
{
	bool hybrid = has_hybrid_program(plan);
	struct doc *list;

	if (!mamba(plan->model))
		return NULL;
	list = doc_list(arena);
	doc_add_item(arena, list,
	    doc_text(arena, hybrid ? "megatron.core.models.hybrid.hybrid_layer_specs"
				   : "megatron.core.models.mamba.mamba_layer_specs"));
	doc_add_item(
	    arena, list, doc_text(arena, hybrid ? "hybrid_stack_spec" : "mamba_stack_spec"));
	return list;
}

const char *
megatron_program(const struct plan_view *plan)
{
	if (!mamba(plan->model))
		return "pretrain_gpt.py";
	return has_hybrid_program(plan) ? "pretrain_hybrid.py" : "pretrain_mamba.py";
}

static bool
same_mamba(const struct mixer *a, const struct mixer *b)
{
	return a->heads == b->heads && a->head_dim == b->head_dim && a->state == b->state &&
	       a->groups == b->groups && a->conv == b->conv;
}

const char *
megatron_mamba_obstacle(const struct plan_view *plan)
{
	enum { CONVOLUTION = 4 };
	const struct mixer *mixer = mamba(plan->model);
	int64_t tp = plan->strategy.tp;

	if (!mixer)
		return NULL;
	if (!megatron_can_say_pattern(plan->model))
		return "Mamba layers in a model with MTP, or with an MLP in the same layer";
	if (mixer->conv != CONVOLUTION)
		return "Mamba layers that do not convolve over 4 tokens";
	for (int i = 0; i < plan->model->n_kinds; i++) {
		const struct mixer *other = &plan->model->kinds[i].mixer;

		if (other->kind == MIXER_MAMBA2 && !same_mamba(mixer, other))
			return "Mamba layers of two shapes";
	}
	return mixer->heads % tp != 0 || mixer->groups % tp != 0
		   ? "Mamba heads or groups that TP does not divide"
		   : NULL;
}
