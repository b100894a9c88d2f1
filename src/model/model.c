/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What is a model, once it is read: its kinds of layers, what of it can be planned, and
 * whether its shapes are sane?
 */
#include "model/model.h"

#include <string.h>

#include "base/arena.h"
#include "base/diag.h"
#include "base/doc.h"
#include "base/str.h"
#include "model/hf_private.h"

const char *const mixer_kind_names[MIXER_KINDS + 1] = {
    "none",
    "gqa",
    "mla",
    "latent_mqa",
    "gated_deltanet",
    "lightning",
    "mamba1",
    "mamba2",
    NULL,
};

bool
mixer_is_modelled(const struct mixer *mixer)
{
	return mixer->kind != MIXER_LATENT_MQA && !mixer->index_heads && !mixer->sparse;
}

bool
kind_is_moe(const struct layer_kind *kind)
{
	return kind->ffn.experts > 0;
}

int64_t
model_layers_of(const struct model *model, int kind)
{
	int64_t count = 0;

	for (int64_t l = 0; l < model->layers; l++)
		count += model->kind_of[l] == kind;
	return count;
}

bool
model_has_mamba(const struct model *model)
{
	for (int k = 0; k < model->n_kinds; k++)
		if (model->kinds[k].mixer.kind == MIXER_MAMBA1 ||
		    model->kinds[k].mixer.kind == MIXER_MAMBA2)
			return true;
	return false;
}

const struct layer_kind *
model_moe(const struct model *model)
{
	const struct layer_kind *most = NULL;
	int64_t layers = 0;

	for (int k = 0; k < model->n_kinds; k++)
		if (kind_is_moe(&model->kinds[k]) && model_layers_of(model, k) > layers) {
			most = &model->kinds[k];
			layers = model_layers_of(model, k);
		}
	return most;
}

/* Kinds come zeroed from the arena and are filled member by member: padding is 0 in both. */
static bool
same_kind(const struct layer_kind *a, const struct layer_kind *b)
{
	/* NOLINTNEXTLINE(bugprone-suspicious-memory-comparison) */
	return memcmp(a, b, sizeof(*a)) == 0;
}

int
model_add_layer(struct model *model, const struct layer_kind *kind)
{
	int k = 0;

	while (k < model->n_kinds && !same_kind(&model->kinds[k], kind))
		k++;
	if (k == MODEL_MAX_KINDS || model->layers == MODEL_MAX_LAYERS)
		return -1;
	if (k == model->n_kinds)
		memcpy(&model->kinds[model->n_kinds++], kind, sizeof(*kind));
	model->kind_of[model->layers++] = (uint8_t)k;
	return 0;
}

/* Why a kind of layer has neither time nor memory: one row a reason. */
static const char *
mixer_reason(const struct layer_kind *kind)
{
	const struct mixer *mixer = &kind->mixer;

	if (mixer_is_modelled(mixer))
		return NULL;
	if (mixer->kind == MIXER_LATENT_MQA)
		return "compressed latent attention with hyper-connections";
	return mixer->kind == MIXER_MLA ? "sparse attention with an indexer"
					: "block-sparse attention";
}

static int64_t
layers_with(const struct model *model, const char *reason)
{
	int64_t layers = 0;

	for (int k = 0; k < model->n_kinds; k++)
		if (mixer_reason(&model->kinds[k]) == reason)
			layers += model_layers_of(model, k);
	return layers;
}

/* Has an earlier kind the same reason? Then it is in the text already. */
static bool
is_named(const struct model *model, int kind)
{
	for (int k = 0; k < kind; k++)
		if (mixer_reason(&model->kinds[k]) == mixer_reason(&model->kinds[kind]))
			return true;
	return false;
}

/* "sparse attention with an indexer (78 of 78)"; NULL when all is modelled. */
void
model_name_unmodelled(struct model *model, struct arena *arena)
{
	struct str text = str_new(arena);

	for (int k = 0; k < model->n_kinds; k++) {
		const char *reason = mixer_reason(&model->kinds[k]);

		if (!reason || is_named(model, k))
			continue;
		str_addf(&text, "%s%s (%lld of %lld)", text.length ? ", " : "", reason,
		    (long long)layers_with(model, reason), (long long)model->layers);
	}
	model->unmodelled = text.length ? text.text : NULL;
}

static bool
is_too_large(const struct model *model, const struct layer_kind *kind)
{
	const struct mixer *m = &kind->mixer;
	const struct ffn *f = &kind->ffn;
	double hidden = (double)model->hidden;
	double experts = (double)f->experts * (double)f->expert_width *
			 (double)(f->latent ? f->latent : model->hidden);
	double heads =
	    (double)(m->heads + m->kv_heads) * (double)(m->head_dim + m->nope_dim + m->value_dim);
	double linear = (double)m->key_heads * (double)m->key_dim +
			(double)m->value_heads * (double)m->value_dim;
	double state = (double)m->inner + 2.0 * (double)m->groups * (double)m->state;
	double indexer = (double)m->index_heads * (double)m->index_dim;
	double inputs = hidden + (double)m->q_rank + (double)m->kv_rank + (double)m->dt_rank +
			(double)m->out_rank + (double)m->state + (double)m->conv;

	return experts > MODEL_MAX_ELEMENTS ||
	       (heads + linear + state + indexer) * inputs > MODEL_MAX_ELEMENTS ||
	       (double)f->shared_width * hidden > MODEL_MAX_ELEMENTS;
}

int
model_check(const struct model *model, struct diags *diags)
{
	bool large = is_too_large(model, &model->mtp) ||
		     (double)model->learned_positions * (double)model->hidden > MODEL_MAX_ELEMENTS;

	for (int k = 0; k < model->n_kinds; k++)
		large = large || is_too_large(model, &model->kinds[k]);
	if (!large)
		return 0;
	return diag_error(diags, model->loc,
	    "a layer has more than %.0e parameters: experts, widths or heads are out of proportion",
	    MODEL_MAX_ELEMENTS);
}

/* Is it a config.json? Such files name their class, or at least spell layers in its way. */
static bool
is_hugging_face(const struct doc *doc)
{
	static const char *const keys[] = {
	    "architectures", "model_type", "num_hidden_layers", "n_layer", "text_config"};

	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
		if (doc_get(doc, keys[i]))
			return true;
	return false;
}

struct model *
model_read(struct arena *arena, struct diags *diags, const struct doc *doc, const char *name)
{
	struct hf hf = {.arena = arena, .diags = diags, .outer = doc};
	const struct doc *section = doc_get(doc, "model");

	if (!doc || doc->kind != DOC_MAP) {
		diag_error(diags, doc ? doc->loc : (struct loc){name, 0, 0},
		    "a model is a map of keys, this is %s",
		    doc ? doc_kind_name(doc->kind) : "empty");
		return NULL;
	}
	if (section && section->kind == DOC_MAP)
		return model_read(arena, diags, section, name);
	if (!is_hugging_face(doc))
		return model_yaml_read(arena, diags, doc, name);
	return hf_read(&hf, name, NULL, NULL);
}
