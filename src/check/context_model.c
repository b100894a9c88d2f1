/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What do conditions call the sizes of the model? */
#include "check/context_machine.h"

static const struct layer_kind *
moe_kind(const struct facts *facts)
{
	return facts->check->model ? model_moe(facts->check->model) : NULL;
}

/* A size of the MoE layers: none in a dense model, not told without a model. */
#define MOE_TERM(name, member)                                                                     \
	struct value name##_term(const struct facts *facts)                                        \
	{                                                                                          \
		const struct layer_kind *kind = moe_kind(facts);                                   \
                                                                                                   \
		if (kind && kind->ffn.member > 0)                                                  \
			return value_int(kind->ffn.member);                                        \
		return facts->check->model ? value_unset : value_undecided;                        \
	}
/* clang-format off */
MOE_TERM(experts, experts)
MOE_TERM(topk, top_k)
MOE_TERM(expert_width, expert_width)
MOE_TERM(shared_width, shared_width)
/* clang-format on */

/* Of the model alone, 0 in a dense one: what settings say may differ. */
struct value
model_experts_term(const struct facts *facts)
{
	const struct layer_kind *kind = moe_kind(facts);

	if (!facts->check->model)
		return value_undecided;
	return value_int(kind ? kind->ffn.experts : 0);
}

struct value
layers_term(const struct facts *facts)
{
	return facts->check->model ? size_value(facts->check->model->layers) : value_undecided;
}

struct value
hidden_term(const struct facts *facts)
{
	return facts->check->model ? size_value(facts->check->model->hidden) : value_undecided;
}

struct value
vocab_term(const struct facts *facts)
{
	const struct model *model = facts->check->model;

	return model && !model->vocab_assumed ? size_value(model->vocab) : value_undecided;
}

struct value
max_positions_term(const struct facts *facts)
{
	return facts->check->model ? size_value(facts->check->model->max_positions)
				   : value_undecided;
}

struct value
mtp_layers_term(const struct facts *facts)
{
	if (!facts->check->model)
		return value_undecided;
	return facts->check->model->mtp_layers > 0 ? size_value(facts->check->model->mtp_layers)
						   : value_unset;
}

struct value
ffn_width_term(const struct facts *facts)
{
	const struct model *model = facts->check->model;

	for (int i = 0; model && i < model->n_kinds; i++)
		if (model->kinds[i].ffn.dense_width > 0)
			return value_int(model->kinds[i].ffn.dense_width);
	/* --ffn-hidden-size of a model whose layers all have experts is used by none of them */
	return model ? value_hidden : value_undecided;
}

/* Attention heads of the first kind that has such; a model without attention has none. */
static struct value
heads_of(const struct facts *facts, bool kv)
{
	const struct model *model = facts->check->model;

	for (int i = 0; model && i < model->n_kinds; i++) {
		const struct mixer *mixer = &model->kinds[i].mixer;

		if (mixer->heads > 0 && (!kv || mixer->kind == MIXER_GQA))
			return size_value(kv ? mixer->kv_heads : mixer->heads);
	}
	return model ? value_unset : value_undecided;
}

struct value
heads_term(const struct facts *facts)
{
	return heads_of(facts, false);
}

struct value
kv_heads_term(const struct facts *facts)
{
	return heads_of(facts, true);
}

struct value
tied_term(const struct facts *facts)
{
	return facts->check->model ? value_int(facts->check->model->tied) : value_undecided;
}
