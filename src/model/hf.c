/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which model does a Hugging Face config.json describe?
 *
 * Finds the text model in the file, its family, and builds shapes from keys. An
 * architecture that no family names is read from its fields, with a warning; one
 * with a layer whose parameters are not known is refused by name, not guessed.
 */
#include <stddef.h>
#include <string.h>

#include "base/arena.h"
#include "base/diag.h"
#include "model/hf_private.h"

/* One row a key whose value means a structure that no formula covers. */
static const struct {
	enum hf_key key;
	enum { WHEN_TRUE, WHEN_FALSE, WHEN_POSITIVE, WHEN_THERE } when;
	const char *reason;
} uncounted_keys[] = {
    {HF_KDA, WHEN_THERE, "Kimi delta attention"},
    {HF_CLA, WHEN_TRUE, "keys and values shared between neighbouring layers"},
    {HF_KV_SHARED, WHEN_POSITIVE, "layers that reuse the keys and values of others"},
    {HF_PER_LAYER_INPUT, WHEN_POSITIVE, "per-layer embeddings"},
    {HF_ZERO_EXPERTS, WHEN_POSITIVE, "zero-compute experts"},
    {HF_EXPERT_HIDDEN, WHEN_POSITIVE, "experts of a hidden size of their own"},
    {HF_OTHER_ATTENTION, WHEN_THERE, "attention layers of a second shape"},
    {HF_HEAD_GATE, WHEN_TRUE, "a gate on every attention head"},
    {HF_CONV_BIAS, WHEN_FALSE, "state-space convolutions without a bias"},
    {HF_MAMBA_BIAS, WHEN_TRUE, "state-space projections with a bias"},
    {HF_USE_BIAS, WHEN_TRUE, "a bias on every projection"},
};

static bool
is_uncounted(const struct hf *hf, size_t row)
{
	enum hf_key key = uncounted_keys[row].key;

	switch (uncounted_keys[row].when) {
	case WHEN_TRUE:
		return hf_flag(hf, key, false);
	case WHEN_FALSE:
		return !hf_flag(hf, key, true);
	case WHEN_POSITIVE:
		return hf_int(hf, key, 0) > 0;
	case WHEN_THERE:
		break;
	}
	return hf_has(hf, key);
}

static const char *
uncounted_reason(const struct hf *hf)
{
	if (hf->family->uncounted)
		return hf->family->uncounted;
	for (size_t i = 0; i < sizeof(uncounted_keys) / sizeof(*uncounted_keys); i++)
		if (is_uncounted(hf, i))
			return uncounted_keys[i].reason;
	return NULL;
}

/* The text model of a multimodal file, or the file itself. */
static const struct doc *
text_model(const struct doc *outer)
{
	static const char *const sections[] = {"text_config", "language_config", "llm_config"};

	for (size_t i = 0; i < sizeof(sections) / sizeof(*sections); i++) {
		const struct doc *inner = doc_get(outer, sections[i]);

		if (inner && inner->kind == DOC_MAP)
			return inner;
	}
	return outer;
}

static void
choose_family(struct hf *hf)
{
	const char *architecture = hf_architecture(hf), *type = NULL;
	struct loc loc = hf->outer->loc;

	hf->family = hf_family_find(hf, &type);
	if (!hf->family) {
		hf->family = &hf_family_generic;
		diag_add(hf->diags, loc, NULL, SEVERITY_WARNING,
		    architecture
			? "architecture '%s' is not known; read as a Llama-like decoder from its "
			  "fields"
			: "no '%s' is given; read as a Llama-like decoder from its fields",
		    architecture ? architecture : "architectures");
	} else if (type && architecture && strcmp(type, architecture) != 0) {
		diag_add(hf->diags, loc, NULL, SEVERITY_WARNING,
		    "architecture '%s' is not known; read as its model_type '%s'", architecture,
		    type);
	}
}

/* tie_word_embeddings changes the count: say so when the file leaves it to the class. */
static bool
is_tied(struct hf *hf)
{
	bool known = hf->family != &hf_family_generic;

	if (!hf_has(hf, HF_TIE) && !hf->own)
		diag_add(hf->diags, hf->outer->loc, NULL, known ? SEVERITY_NOTE : SEVERITY_WARNING,
		    "the model has no 'tie_word_embeddings': read as %s, the %s",
		    hf->family->tied ? "true" : "false",
		    known ? "default of its architecture" : "usual default");
	return hf_flag(hf, HF_TIE, hf->family->tied);
}

/* Early Llama files leave it out; GPT-2 has no such key. */
static void
note_head_default(struct hf *hf)
{
	if (hf->family->mha && !hf->family->all_bias && !hf_has(hf, HF_KV_HEADS))
		diag_add(hf->diags, hf->outer->loc, NULL, SEVERITY_NOTE,
		    "the model has no 'num_key_value_heads': as many as query heads, "
		    "the default of its architecture");
}

static void
read_ends(struct hf *hf)
{
	struct model *model = hf->model;
	const struct hf_family *family = hf->family;

	model->hidden = hf_need(hf, HF_HIDDEN);
	model->vocab = hf_need(hf, HF_VOCAB);
	model->tied = is_tied(hf);
	model->head_bias = hf_flag(hf, HF_HEAD_BIAS, false) ? model->vocab : 0;
	model->max_positions = hf_int(hf, HF_POSITIONS, 0);
	model->learned_positions = family->learned_positions ? hf_need(hf, HF_POSITIONS) : 0;
	model->final_norm = (family->final_norm ? family->final_norm : 1) * model->hidden;
}

/* MTP layers of the config, and what is stored of them without being mentioned. */
static void
read_mtp(struct hf *hf)
{
	struct model *model = hf->model;
	enum hf_key key = hf_has(hf, HF_MTP) ? HF_MTP : HF_MTP_MODULES;
	int64_t listed = hf_int(hf, key, 0);
	bool stored_mtp;

	if (listed && (hf->family->mtp_unknown || key == HF_MTP_MODULES))
		diag_add(hf->diags, hf_loc(hf, key), NULL, SEVERITY_NOTE,
		    "'%s' is %lld, but the weights of such layers are not published: not counted",
		    hf_key_name(hf, key), (long long)listed);
	else
		model->mtp_layers = listed;
	stored_mtp = model->mtp_layers > 0 || !hf->family->stored_needs_mtp;
	model->stored = stored_mtp ? hf->family->stored : 0;
	if (hf_has(hf, HF_MTP))
		model->stored &= ~(unsigned)STORED_UNLISTED_MTP;
	if (hf_has(hf, HF_QUANT_METHOD) && strcmp(hf_text_at(hf, HF_QUANT_METHOD, 0), "fp8") != 0)
		model->stored &= ~(unsigned)STORED_FP8_SCALES;
}

static void
add_part(struct model *model, const char *name, int64_t elements)
{
	if (elements > 0 && model->n_parts < MODEL_MAX_EXTRAS)
		model->parts[model->n_parts++] = (struct model_extra){name, elements};
}

/* ERNIE-VL routes image tokens over experts of their own, with a router and a bias of their own. */
static int64_t
vision_experts(const struct hf *hf)
{
	int64_t experts = hf_int_at(hf, HF_EXPERTS, 1, 0),
		width = hf_int_at(hf, HF_EXPERT_FFN, 1, 0);
	int64_t hidden = hf->model->hidden, layers = 0;

	if (!hf->family->modality_lists || !hf_is_list(hf, HF_EXPERT_FFN))
		return 0;
	if ((double)experts * (double)width * (double)hidden > MODEL_MAX_ELEMENTS)
		return diag_error(hf->diags, hf_loc(hf, HF_EXPERT_FFN),
		    "the vision experts of a layer have more than %.0e parameters",
		    MODEL_MAX_ELEMENTS);
	for (int64_t l = 0; l < hf->layers; l++)
		layers += hf_is_moe(hf, l);
	return layers * experts * (3 * hidden * width + hidden + 1);
}

/*
 * Gemma-4 has more than two norms a layer: with a MoE branch five more, a scale in front of
 * the router, one an expert and one a layer (huggingface/transformers, modular_gemma4.py).
 * Published counts are rounded and leave them out.
 */
static int64_t
branch_norms(const struct hf *hf)
{
	int64_t hidden = hf->model->hidden;

	if (!hf->family->parallel_dense)
		return 0;
	if (hf->experts <= 1 || !hf_flag(hf, HF_ENABLE_MOE, true))
		return hf->layers * (2 * hidden + 1);
	return hf->layers * (5 * hidden + hidden + hf->experts + 1);
}

static void
read_parts(struct hf *hf)
{
	const struct doc *vision = doc_get(hf->outer, "vision_config");

	add_part(hf->model, "vision_tower", hf->family->tower);
	add_part(hf->model, "vision_experts", vision_experts(hf));
	add_part(hf->model, "branch_norms", branch_norms(hf));
	if (!doc_is_null(vision) && !hf->family->tower)
		diag_add(
		    hf->diags, vision->loc, NULL, SEVERITY_NOTE, "the vision tower is not counted");
	if (hf_has(hf, HF_SPARSE_FREQ))
		diag_add(hf->diags, hf_loc(hf, HF_SPARSE_FREQ), NULL, SEVERITY_NOTE,
		    "the indexer of the block-sparse attention is not counted: its shape is not "
		    "published");
}

struct model *
hf_build(struct hf *hf, const char *name)
{
	struct model *model = arena_alloc(hf->arena, sizeof(*model));
	int errors = hf->diags->errors;

	hf->model = model;
	model->architecture = hf_architecture(hf);
	if (!model->architecture)
		model->architecture = "custom";
	model->name = name ? name : model->architecture;
	model->loc = hf->outer->loc;
	model->uncounted = uncounted_reason(hf);
	if (model->uncounted)
		return model;
	hf->experts = hf_int(hf, HF_EXPERTS, 0);
	read_ends(hf);
	read_mtp(hf);
	note_head_default(hf);
	hf_layers(hf);
	if (model->uncounted)
		return model;
	read_parts(hf);
	hf_check(hf);
	if (model_check(model, hf->diags) != 0 || hf->diags->errors != errors)
		return NULL;
	model_name_unmodelled(model, hf->arena);
	return model;
}

struct model *
hf_read(struct hf *hf, const char *name, hf_override_fn *override, void *context)
{
	int errors = hf->diags->errors;
	struct model *model;

	hf->inner = text_model(hf->outer);
	hf_keys_read(hf);
	if (override)
		override(hf, context);
	choose_family(hf);
	model = hf_build(hf, name);
	return hf->diags->errors == errors ? model : NULL;
}
