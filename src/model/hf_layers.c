/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which layer is what: full, window, chunk, linear or state-space; dense or mixture of experts?
 *
 * The rules of the public configurations, one function each; the first that has its keys
 * decides. Layers count from 0. Nemotron-H lists blocks, each a mixer or an FFN: a block is a
 * layer here.
 */
#include <string.h>

#include "base/arena.h"
#include "base/diag.h"
#include "model/hf_private.h"

static const struct {
	const char *name;
	enum hf_span span;
} span_names[] = {
    {"full_attention", SPAN_FULL},
    {"attention", SPAN_FULL},
    {"sliding_attention", SPAN_SLIDING},
    {"chunked_attention", SPAN_CHUNKED},
    {"linear_attention", SPAN_LINEAR},
    {"mamba", SPAN_STATE},
};

static enum hf_span
named_span(const struct hf *hf, int64_t layer)
{
	const char *name = hf_text_at(hf, HF_LAYER_TYPES, layer);

	for (size_t i = 0; name && i < sizeof(span_names) / sizeof(*span_names); i++)
		if (strcmp(span_names[i].name, name) == 0)
			return span_names[i].span;
	return SPAN_UNKNOWN;
}

static enum hf_span
span_by_type_list(const struct hf *hf, int64_t layer)
{
	return hf_int_at(hf, HF_ATTN_TYPES, layer, 0) ? SPAN_FULL : SPAN_LINEAR;
}

static enum hf_span
span_by_pattern_list(const struct hf *hf, int64_t layer)
{
	return hf_int_at(hf, HF_HYBRID_PATTERN, layer, 0) ? SPAN_SLIDING : SPAN_FULL;
}

static enum hf_span
span_by_interval(const struct hf *hf, int64_t layer)
{
	return (layer + 1) % hf_int(hf, HF_FULL_INTERVAL, 1) == 0 ? SPAN_FULL : SPAN_LINEAR;
}

static enum hf_span
span_by_period(const struct hf *hf, int64_t layer)
{
	bool full = layer % hf_int(hf, HF_ATTN_PERIOD, 1) == hf_int(hf, HF_ATTN_OFFSET, 0);

	return full ? SPAN_FULL : SPAN_STATE;
}

/* One row a key that decides the span of every layer. */
static const struct {
	enum hf_key key;
	enum hf_span (*span)(const struct hf *hf, int64_t layer);
} span_rules[] = {
    {HF_LAYER_TYPES, named_span},
    {HF_ATTN_TYPES, span_by_type_list},
    {HF_HYBRID_PATTERN, span_by_pattern_list},
    {HF_FULL_INTERVAL, span_by_interval},
    {HF_ATTN_PERIOD, span_by_period},
};

/* Llama-4: layers with rotary embedding attend in chunks; every fourth has none. */
static enum hf_span
chunked_span(const struct hf *hf, int64_t layer)
{
	int64_t interval = hf_int(hf, HF_NO_ROPE_INTERVAL, 4);
	bool rotary = (layer + 1) % interval != 0;

	if (!hf_has(hf, HF_CHUNK))
		return SPAN_FULL;
	return hf_int_at(hf, HF_NO_ROPE, layer, rotary) ? SPAN_CHUNKED : SPAN_FULL;
}

/* A sliding window without a list: Qwen asks for it apart, Gemma and gpt-oss alternate. */
static enum hf_span
window_span(const struct hf *hf, int64_t layer)
{
	int64_t period = hf_int(hf, HF_WINDOW_PATTERN, hf->family->window_period);

	if (!hf_has(hf, HF_WINDOW) || !hf_flag(hf, HF_USE_WINDOW, !hf->family->window_on_request))
		return SPAN_FULL;
	if (hf->family->window_on_request && layer < hf_int(hf, HF_MAX_WINDOW_LAYERS, 0))
		return SPAN_FULL;
	return period && (layer + 1) % period == 0 ? SPAN_FULL : SPAN_SLIDING;
}

enum hf_span
hf_span(const struct hf *hf, int64_t layer)
{
	for (size_t i = 0; i < sizeof(span_rules) / sizeof(*span_rules); i++)
		if (hf_has(hf, span_rules[i].key))
			return span_rules[i].span(hf, layer);
	return hf->family->chunked ? chunked_span(hf, layer) : window_span(hf, layer);
}

/* Is the layer named in a list of indices? */
static bool
is_listed(const struct hf *hf, enum hf_key key, int64_t layer)
{
	const struct doc *list = hf->nodes[key];

	for (const struct doc *item = list ? list->first : NULL; item; item = item->next)
		if (item->is_integer && item->integer == layer)
			return true;
	return false;
}

/* A last layer of -1, or past the end, is the last there is. */
static bool
in_moe_range(const struct hf *hf, int64_t layer)
{
	int64_t last = hf_int(hf, HF_MOE_END, -1);

	return layer >= hf_int(hf, HF_MOE_START, 0) && (last < 0 || layer <= last);
}

bool
hf_is_moe(const struct hf *hf, int64_t layer)
{
	const char *type = hf_text_at(hf, HF_MLP_TYPES, layer);
	int64_t at = hf->family->modality_lists ? 0 : layer;
	int64_t freq = hf_int(hf, HF_MOE_FREQ, 1);

	/* Jamba and Hunyuan: a single expert is a dense MLP without router. */
	if (hf_int_at(hf, HF_EXPERTS, at, 0) <= 1 || !hf_flag(hf, HF_ENABLE_MOE, true))
		return false;
	if (type)
		return strcmp(type, "dense") != 0;
	if (hf_is_list(hf, HF_MOE_FREQ))
		return hf_int_at(hf, HF_MOE_FREQ, layer, 0) != 0;
	if (freq < 1)
		return false;
	return layer >= hf_int(hf, HF_FIRST_DENSE, 0) && layer % freq == 0 &&
	       !is_listed(hf, HF_MLP_ONLY, layer) &&
	       (layer + 1) % hf_int(hf, HF_SPARSE_STEP, 1) == 0 &&
	       (layer + 1) % hf_int(hf, HF_INTERLEAVE, 1) == 0 &&
	       layer % hf_int(hf, HF_EXPERT_PERIOD, 1) == hf_int(hf, HF_EXPERT_OFFSET, 0) &&
	       (layer + 1) % hf_int(hf, HF_MOE_INTERVAL, 1) == 0 && in_moe_range(hf, layer);
}

/* DeepSeek-V4: two mixers of c residual streams a layer, each with 2 + c outputs a stream. */
static void
hyper_connections(const struct hf *hf, struct layer_kind *kind)
{
	int64_t c = hf_int(hf, HF_HYPER, 0), outputs = (2 + c) * c;

	if (!c)
		return;
	kind->extra_elements = 2 * (outputs * c * hf_int(hf, HF_HIDDEN, 0) + outputs + 3);
	kind->extra_name = "hyper_connections";
}

/* The mixer in front of the output head, and of each MTP layer's. */
static int64_t
hyper_head(const struct hf *hf)
{
	int64_t c = hf_int(hf, HF_HYPER, 0);

	return c ? c * c * hf_int(hf, HF_HIDDEN, 0) + c + 1 : 0;
}

static int64_t
layer_norms(const struct hf *hf)
{
	return (hf->family->norms ? hf->family->norms : 2) * hf_int(hf, HF_HIDDEN, 0);
}

static void
plain_layer(struct hf *hf, struct hf_place place, bool moe, struct layer_kind *kind)
{
	hf_mixer(hf, place, &kind->mixer);
	hf_ffn(hf, place.layer, moe, &kind->ffn);
	kind->norm_elements = layer_norms(hf);
	hyper_connections(hf, kind);
}

/* Blocks of Nemotron-H, by letter in a string or by name in a list. */
static const struct {
	char letter;
	const char *name;
} block_names[] = {
    {'M', "mamba"},
    {'*', "attention"},
    {'E', "moe"},
    {'-', "mlp"},
};

static char
block_letter(const char *name)
{
	for (size_t i = 0; i < sizeof(block_names) / sizeof(*block_names); i++)
		if (strcmp(block_names[i].name, name) == 0)
			return block_names[i].letter;
	return '?';
}

/* The blocks as letters, whichever way they are written; NULL when the keys are absent. */
static const char *
block_string(struct hf *hf, enum hf_key text, enum hf_key list)
{
	char *letters;
	size_t n = 0;

	if (hf_has(hf, text) || !hf_is_list(hf, list))
		return hf_text_at(hf, text, 0);
	letters = arena_alloc(hf->arena, hf->nodes[list]->count + 1);
	for (const struct doc *item = hf->nodes[list]->first; item; item = item->next)
		letters[n++] = item->kind == DOC_STRING ? block_letter(item->text) : '?';
	return letters;
}

static int
add_block(struct hf *hf, char letter, struct hf_place place, struct layer_kind *kind)
{
	if (letter == 'M' || letter == '*') {
		place.span = letter == 'M' ? SPAN_STATE : SPAN_FULL;
		hf_mixer(hf, place, &kind->mixer);
	} else if (letter == 'E' || letter == '-') {
		hf_ffn(hf, place.layer, letter == 'E', &kind->ffn);
	} else {
		return diag_error(hf->diags,
		    hf_loc(hf, hf_has(hf, HF_BLOCKS) ? HF_BLOCKS : HF_BLOCK_TYPES),
		    "block %lld is none of 'M' (mamba), '*' (attention), 'E' (moe), '-' (mlp)",
		    (long long)place.layer);
	}
	kind->norm_elements += layer_norms(hf);
	return 0;
}

/* The MTP layer of a block model: attention and experts, two blocks in one. */
static void
mtp_blocks(struct hf *hf, struct layer_kind *kind)
{
	const char *blocks = block_string(hf, HF_MTP_BLOCKS, HF_MTP_BLOCK_TYPES);
	struct hf_place place = {hf->layers, SPAN_FULL, true};

	if (!blocks)
		blocks = "*E";
	if (strcmp(blocks, "*E") != 0 && strcmp(blocks, "*-") != 0) {
		diag_error(hf->diags, hf_loc(hf, HF_MTP),
		    "the MTP blocks are '%s', not '*E' or '*-'", blocks);
		return;
	}
	for (; *blocks; blocks++)
		add_block(hf, *blocks, place, kind);
}

static void
mtp_layer(struct hf *hf, bool blocks)
{
	bool dense = hf->family->mtp_dense;
	struct hf_place place = {hf->layers, dense ? SPAN_SLIDING : SPAN_FULL, true};
	struct layer_kind *kind = &hf->model->mtp;

	if (blocks)
		mtp_blocks(hf, kind);
	else
		plain_layer(hf, place, !dense && hf->experts > 1, kind);
	kind->extra_elements += hyper_head(hf);
	hf->model->mtp_projection = 2 * hf->model->hidden * hf->model->hidden;
	hf->model->mtp_norms = 3 * hf->model->hidden;
}

/* The words of mlp_layer_types. */
static void
check_mlp_types(struct hf *hf)
{
	const struct doc *list = hf_is_list(hf, HF_MLP_TYPES) ? hf->nodes[HF_MLP_TYPES] : NULL;

	for (const struct doc *item = list ? list->first : NULL; item; item = item->next)
		if (item->kind == DOC_STRING && strcmp(item->text, "dense") != 0 &&
		    strcmp(item->text, "sparse") != 0 && strcmp(item->text, "moe") != 0) {
			diag_error(hf->diags, item->loc,
			    "'%s' holds '%s', which is none of 'dense', 'sparse', 'moe'", list->key,
			    item->text);
			return;
		}
}

/* An unknown word in layer_types: nothing is known about such a layer. */
static bool
refuse_unknown_span(struct hf *hf)
{
	for (int64_t l = 0; l < hf->layers && hf_has(hf, HF_LAYER_TYPES); l++)
		if (named_span(hf, l) == SPAN_UNKNOWN && hf_text_at(hf, HF_LAYER_TYPES, l)) {
			hf->model->uncounted = arena_printf(
			    hf->arena, "layers of type '%s'", hf_text_at(hf, HF_LAYER_TYPES, l));
			return true;
		}
	return false;
}

/* The number of layers: the key, or the length of the block list; both must agree. */
static int64_t
count_layers(struct hf *hf, const char *blocks)
{
	int64_t n = blocks ? (int64_t)strlen(blocks) : 0;

	if (!blocks)
		return hf_need(hf, HF_LAYERS);
	if (hf_has(hf, HF_LAYERS) && hf_int(hf, HF_LAYERS, n) != n)
		diag_error(hf->diags, hf_loc(hf, HF_LAYERS),
		    "'%s' is %lld but there are %lld blocks", hf_key_name(hf, HF_LAYERS),
		    (long long)hf_int(hf, HF_LAYERS, n), (long long)n);
	if (n < 1 || n > MODEL_MAX_LAYERS) {
		diag_error(hf->diags, hf_loc(hf, HF_BLOCKS), "%lld blocks, not 1 to %d",
		    (long long)n, MODEL_MAX_LAYERS);
		return 0;
	}
	return n;
}

/*
 * Nemotron-H's blocks; NULL for whole layers. Elsewhere the same list key names
 * the mixers of whole layers (Jamba), which is what layer_types does.
 */
static const char *
find_blocks(struct hf *hf)
{
	if (hf_has(hf, HF_BLOCKS) || hf->family->blocks)
		return block_string(hf, HF_BLOCKS, HF_BLOCK_TYPES);
	if (!hf_has(hf, HF_LAYER_TYPES))
		hf->nodes[HF_LAYER_TYPES] = hf->nodes[HF_BLOCK_TYPES];
	return NULL;
}

static int
read_layer(struct hf *hf, int64_t layer, const char *blocks)
{
	/* Zeroed, padding too: kinds are compared whole. */
	struct layer_kind *kind = arena_alloc(hf->arena, sizeof(*kind));
	struct hf_place place = {layer, SPAN_FULL, false};

	if (blocks) {
		if (add_block(hf, blocks[layer], place, kind) != 0)
			return -1;
	} else {
		place.span = hf_span(hf, layer);
		plain_layer(hf, place, hf_is_moe(hf, layer), kind);
	}
	if (model_add_layer(hf->model, kind) == 0)
		return 0;
	return diag_error(
	    hf->diags, hf->model->loc, "more than %d different kinds of layers", MODEL_MAX_KINDS);
}

/* The number of layers is wrong, which was said: what else would a layer need? */
static void
report_missing(struct hf *hf)
{
	struct layer_kind *scratch = arena_alloc(hf->arena, sizeof(*scratch));
	struct hf_place place = {0, hf_span(hf, 0), false};

	if (!hf->family->blocks)
		plain_layer(hf, place, hf_is_moe(hf, 0), scratch);
}

void
hf_layers(struct hf *hf)
{
	const char *blocks = find_blocks(hf);
	struct model *model = hf->model;

	hf->layers = count_layers(hf, blocks);
	hf_keys_check_lists(hf);
	check_mlp_types(hf);
	if (refuse_unknown_span(hf))
		return;
	if (hf->layers == 0)
		report_missing(hf);
	for (int64_t l = 0; l < hf->layers; l++)
		if (read_layer(hf, l, blocks) != 0)
			return;
	if (model->mtp_layers || model->stored & STORED_UNLISTED_MTP)
		mtp_layer(hf, blocks != NULL);
	model->final_extra = hyper_head(hf);
}
