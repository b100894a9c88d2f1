/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which keys of a config.json mean what, and is each value sane?
 *
 * One row a meaning: its spellings in the public configurations, the form and
 * the range of its value. "a.b" is a key inside a section. null is absent.
 * Two spellings of one meaning must agree. Keys that no row names are not read.
 */
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/diag.h"
#include "model/hf_private.h"

enum form {
	FORM_COUNT,         /* an integer in the range */
	FORM_COUNT_OR_TEXT, /* the same, or a word: "auto" */
	FORM_COUNTS,        /* an integer, or a list of them, one a layer */
	FORM_COUNTS_IF_ANY, /* the same; an empty list says nothing */
	FORM_INDICES,       /* a list of integers, not one a layer */
	FORM_FLAG,
	FORM_TEXT,
	FORM_TEXTS, /* a list of strings, one a layer */
	FORM_ANY,   /* asked for by presence only */
};

enum { MAX_SPELLINGS = 9, MAX_ITEMS = 4096 };
#define WIDTH_MAX ((double)(1 << 24))

struct alias {
	enum form form;
	double min, max;
	const char *names[MAX_SPELLINGS];
};

/* clang-format off */
static const struct alias aliases[HF_KEYS] = {
	[HF_HIDDEN] = {FORM_COUNT, 1, 1 << 20, {"hidden_size", "n_embd", "d_model"}},
	[HF_LAYERS] = {FORM_COUNT, 1, MODEL_MAX_LAYERS,
	    {"num_hidden_layers", "n_layer", "n_layers", "num_layers"}},
	[HF_HEADS] = {FORM_COUNT, 1, 1 << 16, {"num_attention_heads", "n_head", "n_heads"}},
	[HF_KV_HEADS] = {FORM_COUNT, 1, 1 << 16,
	    {"num_key_value_heads", "attn_config.kv_n_heads", "num_attention_groups",
	        "num_kv_heads"}},
	[HF_HEAD_DIM] = {FORM_COUNT, 1, 1 << 16, {"head_dim", "attention_head_dim"}},
	[HF_VALUE_DIM] = {FORM_COUNT, 1, 1 << 16, {"v_head_dim"}},
	[HF_VOCAB] = {FORM_COUNT, 1, 1 << 28, {"vocab_size"}},
	[HF_POSITIONS] = {FORM_COUNT, 1, 1e12,
	    {"max_position_embeddings", "n_positions", "max_seq_len"}},
	[HF_TIE] = {FORM_FLAG, 0, 0, {"tie_word_embeddings"}},
	[HF_HEAD_BIAS] = {FORM_FLAG, 0, 0, {"lm_head_bias"}},

	[HF_FFN] = {FORM_COUNTS, 1, WIDTH_MAX, {"intermediate_size", "n_inner"}},
	[HF_DENSE_FFN] = {FORM_COUNT, 1, WIDTH_MAX,
	    {"intermediate_size_mlp", "dense_intermediate_size"}},
	[HF_EXPERTS] = {FORM_COUNTS, 0, 1e6,
	    {"n_routed_experts", "num_local_experts", "num_experts", "moe_num_experts",
	        "ffn_config.moe_num_experts"}},
	[HF_TOP_K] = {FORM_COUNTS, 0, 1e6,
	    {"num_experts_per_tok", "experts_per_token", "num_experts_per_token", "moe_topk",
	        "moe_k", "moe_top_k", "top_k_experts", "ffn_config.moe_top_k"}},
	[HF_EXPERT_FFN] = {FORM_COUNTS, 1, WIDTH_MAX,
	    {"moe_intermediate_size", "ffn_config.ffn_hidden_size"}},
	[HF_SHARED_COUNT] = {FORM_COUNTS, 0, 1 << 16,
	    {"n_shared_experts", "num_shared_experts", "moe_num_shared_experts",
	        "num_shared_expert"}},
	[HF_SHARED_FFN] = {FORM_COUNT, 0, WIDTH_MAX,
	    {"shared_expert_intermediate_size", "moe_shared_expert_intermediate_size",
	        "shared_intermediate_size", "share_expert_dim"}},
	[HF_LATENT] = {FORM_COUNT, 1, 1 << 20, {"moe_latent_size"}},
	[HF_GROUPS] = {FORM_COUNT, 0, 1e6, {"n_group", "num_expert_group"}},
	[HF_TOP_GROUPS] = {FORM_COUNT, 0, 1e6, {"topk_group"}},
	[HF_TOPK_METHOD] = {FORM_TEXT, 0, 0, {"topk_method"}},
	[HF_ROUTER_BIAS] = {FORM_FLAG, 0, 0,
	    {"use_routing_bias", "moe_router_enable_expert_bias", "use_moe_router_bias"}},
	[HF_MLP_BIAS] = {FORM_FLAG, 0, 0, {"mlp_bias"}},
	[HF_HASH_LAYERS] = {FORM_COUNT, 0, MODEL_MAX_LAYERS, {"num_hash_layers"}},
	[HF_ENABLE_MOE] = {FORM_FLAG, 0, 0, {"enable_moe_block"}},

	[HF_FIRST_DENSE] = {FORM_COUNT, 0, MODEL_MAX_LAYERS,
	    {"first_k_dense_replace", "moe_layer_num_skipped"}},
	[HF_MOE_FREQ] = {FORM_COUNTS, 0, MODEL_MAX_LAYERS, {"moe_layer_freq"}},
	[HF_MLP_ONLY] = {FORM_INDICES, 0, MODEL_MAX_LAYERS, {"mlp_only_layers"}},
	[HF_SPARSE_STEP] = {FORM_COUNT, 1, MODEL_MAX_LAYERS, {"decoder_sparse_step"}},
	[HF_INTERLEAVE] = {FORM_COUNT, 1, MODEL_MAX_LAYERS, {"interleave_moe_layer_step"}},
	[HF_EXPERT_PERIOD] = {FORM_COUNT, 1, MODEL_MAX_LAYERS, {"expert_layer_period"}},
	[HF_EXPERT_OFFSET] = {FORM_COUNT, 0, MODEL_MAX_LAYERS, {"expert_layer_offset"}},
	[HF_MOE_START] = {FORM_COUNTS, 0, MODEL_MAX_LAYERS, {"moe_layer_start_index"}},
	[HF_MOE_END] = {FORM_COUNTS, -1, MODEL_MAX_LAYERS, {"moe_layer_end_index"}},
	[HF_MOE_INTERVAL] = {FORM_COUNT, 1, MODEL_MAX_LAYERS, {"moe_layer_interval"}},
	[HF_MLP_TYPES] = {FORM_TEXTS, 0, 0, {"mlp_layer_types"}},

	[HF_BLOCKS] = {FORM_TEXT, 0, 0, {"hybrid_override_pattern"}},
	[HF_BLOCK_TYPES] = {FORM_TEXTS, 0, 0, {"layers_block_type"}},
	[HF_MTP_BLOCKS] = {FORM_TEXT, 0, 0, {"mtp_hybrid_override_pattern"}},
	[HF_MTP_BLOCK_TYPES] = {FORM_TEXTS, 0, 0, {"mtp_layers_block_type"}},
	[HF_LAYER_TYPES] = {FORM_TEXTS, 0, 0, {"layer_types"}},
	[HF_FULL_INTERVAL] = {FORM_COUNT, 1, MODEL_MAX_LAYERS, {"full_attention_interval"}},
	[HF_ATTN_TYPES] = {FORM_COUNTS, 0, 1, {"attn_type_list"}},
	[HF_HYBRID_PATTERN] = {FORM_COUNTS, 0, 1, {"hybrid_layer_pattern"}},
	[HF_ATTN_PERIOD] = {FORM_COUNT, 1, MODEL_MAX_LAYERS, {"attn_layer_period"}},
	[HF_ATTN_OFFSET] = {FORM_COUNT, 0, MODEL_MAX_LAYERS, {"attn_layer_offset"}},
	[HF_NO_ROPE] = {FORM_COUNTS_IF_ANY, 0, 1, {"no_rope_layers"}},
	[HF_NO_ROPE_INTERVAL] = {FORM_COUNT, 1, MODEL_MAX_LAYERS, {"no_rope_layer_interval"}},
	[HF_WINDOW] = {FORM_COUNT, 1, 1e12, {"sliding_window"}},
	[HF_USE_WINDOW] = {FORM_FLAG, 0, 0, {"use_sliding_window"}},
	[HF_MAX_WINDOW_LAYERS] = {FORM_COUNT, 0, 1e6, {"max_window_layers"}},
	[HF_WINDOW_PATTERN] = {FORM_COUNT_OR_TEXT, 1, MODEL_MAX_LAYERS, {"sliding_window_pattern"}},
	[HF_CHUNK] = {FORM_COUNT, 1, 1e12, {"attention_chunk_size"}},

	[HF_QKV_BIAS] = {FORM_FLAG, 0, 0,
	    {"attention_bias", "qkv_bias", "use_qkv_bias", "add_qkv_bias"}},
	[HF_OUT_BIAS] = {FORM_FLAG, 0, 0, {"attention_out_bias"}},
	[HF_QK_NORM] = {FORM_FLAG, 0, 0, {"use_qk_norm"}},
	[HF_QK_NORM_TYPE] = {FORM_TEXT, 0, 0, {"qk_norm_type"}},
	[HF_OUT_GATE] = {FORM_FLAG, 0, 0, {"attn_output_gate", "attention_output_gate"}},
	[HF_K_EQ_V] = {FORM_FLAG, 0, 0, {"attention_k_eq_v"}},
	[HF_SWA_HEADS] = {FORM_COUNT, 1, 1 << 16, {"swa_num_attention_heads"}},
	[HF_SWA_KV_HEADS] = {FORM_COUNT, 1, 1 << 16, {"swa_num_key_value_heads"}},
	[HF_SWA_HEAD_DIM] = {FORM_COUNT, 1, 1 << 16, {"swa_head_dim"}},
	[HF_SWA_VALUE_DIM] = {FORM_COUNT, 1, 1 << 16, {"swa_v_head_dim"}},
	[HF_SWA_SINKS] = {FORM_FLAG, 0, 0, {"add_swa_attention_sink_bias"}},
	[HF_FULL_SINKS] = {FORM_FLAG, 0, 0, {"add_full_attention_sink_bias"}},
	[HF_GLOBAL_KV_HEADS] = {FORM_COUNT, 1, 1 << 16, {"num_global_key_value_heads"}},
	[HF_GLOBAL_HEAD_DIM] = {FORM_COUNT, 1, 1 << 16, {"global_head_dim"}},

	[HF_USE_MLA] = {FORM_FLAG, 0, 0, {"use_mla"}},
	[HF_Q_RANK] = {FORM_COUNT, 0, 1 << 20, {"q_lora_rank"}},
	[HF_KV_RANK] = {FORM_COUNT, 1, 1 << 20, {"kv_lora_rank"}},
	[HF_NOPE_DIM] = {FORM_COUNT, 0, 1 << 16, {"qk_nope_head_dim"}},
	[HF_ROPE_DIM] = {FORM_COUNT, 0, 1 << 16, {"qk_rope_head_dim"}},
	[HF_INDEX_HEADS] = {FORM_COUNT, 1, 1 << 16, {"index_n_heads"}},
	[HF_INDEX_DIM] = {FORM_COUNT, 1, 1 << 16, {"index_head_dim"}},
	[HF_INDEX_TOPK] = {FORM_COUNT, 1, 1e9, {"index_topk"}},
	[HF_INDEXER_TYPES] = {FORM_TEXTS, 0, 0, {"indexer_types"}},
	[HF_SPARSE_FREQ] = {FORM_COUNTS, 0, 1, {"sparse_attention_config.sparse_attention_freq"}},
	[HF_SPARSE_BLOCKS] = {FORM_COUNT, 1, 1e6, {"sparse_attention_config.sparse_topk_blocks"}},
	[HF_SPARSE_BLOCK_SIZE] = {FORM_COUNT, 1, 1e6,
	    {"sparse_attention_config.sparse_block_size"}},
	[HF_OUT_RANK] = {FORM_COUNT, 1, 1 << 16, {"o_lora_rank"}},
	[HF_OUT_GROUPS] = {FORM_COUNT, 1, 1 << 10, {"o_groups"}},
	[HF_COMPRESS] = {FORM_COUNTS, 0, 1 << 20, {"compress_ratios"}},
	[HF_HYPER] = {FORM_COUNT, 1, 64, {"hc_mult"}},

	[HF_LINEAR_KEY_HEADS] = {FORM_COUNT, 1, 1 << 16, {"linear_num_key_heads"}},
	[HF_LINEAR_VALUE_HEADS] = {FORM_COUNT, 1, 1 << 16, {"linear_num_value_heads"}},
	[HF_LINEAR_KEY_DIM] = {FORM_COUNT, 1, 1 << 16, {"linear_key_head_dim"}},
	[HF_LINEAR_VALUE_DIM] = {FORM_COUNT, 1, 1 << 16, {"linear_value_head_dim"}},
	[HF_LINEAR_CONV] = {FORM_COUNT, 1, 1024, {"linear_conv_kernel_dim"}},
	[HF_MAMBA_STATE] = {FORM_COUNT, 1, 1 << 16, {"mamba_d_state", "ssm_state_size"}},
	[HF_MAMBA_CONV] = {FORM_COUNT, 1, 1024, {"mamba_d_conv", "conv_kernel"}},
	[HF_MAMBA_EXPAND] = {FORM_COUNT, 1, 64, {"mamba_expand", "expand"}},
	[HF_MAMBA_DT_RANK] = {FORM_COUNT_OR_TEXT, 1, 1 << 16, {"mamba_dt_rank"}},
	[HF_MAMBA_HEADS] = {FORM_COUNT, 1, 1 << 16, {"mamba_num_heads", "mamba_n_heads"}},
	[HF_MAMBA_HEAD_DIM] = {FORM_COUNT_OR_TEXT, 1, 1 << 16, {"mamba_head_dim", "mamba_d_head"}},
	[HF_MAMBA_GROUPS] = {FORM_COUNT, 1, 1 << 16, {"n_groups", "mamba_n_groups"}},

	[HF_MTP] = {FORM_COUNT, 0, 64, {"num_nextn_predict_layers", "mtp_num_hidden_layers"}},
	[HF_MTP_MODULES] = {FORM_COUNT, 0, 64, {"num_mtp_modules"}},
	[HF_QUANT_METHOD] = {FORM_TEXT, 0, 0, {"quantization_config.quant_method"}},

	[HF_CLA] = {FORM_FLAG, 0, 0, {"use_cla"}},
	[HF_KDA] = {FORM_ANY, 0, 0, {"linear_attn_config"}},
	[HF_PER_LAYER_INPUT] = {FORM_COUNT, 0, 1 << 20, {"hidden_size_per_layer_input"}},
	[HF_KV_SHARED] = {FORM_COUNT, 0, MODEL_MAX_LAYERS, {"num_kv_shared_layers"}},
	[HF_ZERO_EXPERTS] = {FORM_COUNT, 0, 1e6, {"zero_expert_num"}},
	[HF_EXPERT_HIDDEN] = {FORM_COUNT, 0, 1 << 20, {"routed_expert_hidden_size"}},
	[HF_OTHER_ATTENTION] = {FORM_ANY, 0, 0, {"attention_other_setting"}},
	[HF_HEAD_GATE] = {FORM_FLAG, 0, 0, {"use_head_wise_attn_gate"}},
	[HF_CONV_BIAS] = {FORM_FLAG, 0, 0, {"use_conv_bias", "mamba_conv_bias"}},
	[HF_MAMBA_BIAS] = {FORM_FLAG, 0, 0, {"mamba_proj_bias"}},
	[HF_USE_BIAS] = {FORM_FLAG, 0, 0, {"use_bias"}},
};
/* clang-format on */

/* The member of a map by "key" or "section.key". */
static const struct doc *
lookup(const struct doc *map, const char *path)
{
	const char *dot = strchr(path, '.');
	char section[64];

	if (!dot)
		return doc_get(map, path);
	snprintf(section, sizeof(section), "%.*s", (int)(dot - path), path);
	return doc_get(doc_get(map, section), dot + 1);
}

struct loc
hf_loc(const struct hf *hf, enum hf_key key)
{
	if (hf->nodes[key])
		return hf->nodes[key]->loc;
	return hf->inner->loc;
}

const char *
hf_key_name(const struct hf *hf, enum hf_key key)
{
	const struct doc *node = hf->nodes[key];

	if (node && node->key)
		return node->key;
	return hf->own_names[key] ? hf->own_names[key] : aliases[key].names[0];
}

static bool
in_range(const struct alias *alias, const struct doc *item)
{
	return item->kind == DOC_NUMBER && item->is_integer &&
	       (double)item->integer >= alias->min && (double)item->integer <= alias->max;
}

static int
bad_count(struct hf *hf, enum hf_key key, const struct doc *item)
{
	const struct alias *alias = &aliases[key];

	if (item->kind == DOC_NUMBER || item->kind == DOC_STRING)
		return diag_error(hf->diags, item->loc,
		    "'%s' is '%s', not an integer from %.0f to %.0f", hf_key_name(hf, key),
		    item->text, alias->min, alias->max);
	return diag_error(hf->diags, item->loc, "'%s' is %s, not an integer from %.0f to %.0f",
	    hf_key_name(hf, key), doc_kind_name(item->kind), alias->min, alias->max);
}

static int
bad_kind(struct hf *hf, enum hf_key key, const struct doc *item, const char *wanted)
{
	return diag_error(hf->diags, item->loc, "'%s' is %s, not %s", hf_key_name(hf, key),
	    doc_kind_name(item->kind), wanted);
}

/* Items of a list: integers in range, or strings. Stops at the first that is not. */
static int
check_items(struct hf *hf, enum hf_key key, const struct doc *list)
{
	bool texts = aliases[key].form == FORM_TEXTS;

	if (list->count > MAX_ITEMS)
		return diag_error(hf->diags, list->loc, "'%s' has %zu items, more than %d",
		    hf_key_name(hf, key), list->count, MAX_ITEMS);
	if (!list->count && aliases[key].form != FORM_INDICES)
		return diag_error(
		    hf->diags, list->loc, "'%s' is an empty list", hf_key_name(hf, key));
	for (const struct doc *item = list->first; item; item = item->next) {
		if (texts && item->kind != DOC_STRING)
			return bad_kind(hf, key, item, "a string");
		if (!texts && !in_range(&aliases[key], item))
			return bad_count(hf, key, item);
	}
	return 0;
}

static int
check_value(struct hf *hf, enum hf_key key, const struct doc *node)
{
	const struct alias *alias = &aliases[key];

	switch (alias->form) {
	case FORM_FLAG:
		return node->kind == DOC_BOOL ? 0 : bad_kind(hf, key, node, "true or false");
	case FORM_TEXT:
		return node->kind == DOC_STRING ? 0 : bad_kind(hf, key, node, "a string");
	case FORM_TEXTS:
	case FORM_INDICES:
		return node->kind == DOC_LIST ? check_items(hf, key, node)
					      : bad_kind(hf, key, node, "a list");
	case FORM_COUNTS:
	case FORM_COUNTS_IF_ANY:
		if (node->kind == DOC_LIST)
			return check_items(hf, key, node);
		break;
	case FORM_COUNT_OR_TEXT:
		if (node->kind == DOC_STRING)
			return 0;
		break;
	case FORM_COUNT:
		break;
	case FORM_ANY:
		return 0;
	}
	return in_range(alias, node) ? 0 : bad_count(hf, key, node);
}

/* Two spellings of one number in a file must agree. */
static void
check_spellings(struct hf *hf, enum hf_key key, const struct doc *node)
{
	const struct doc *first = hf->nodes[key];

	if (first->kind == DOC_NUMBER && node->kind == DOC_NUMBER && first->number != node->number)
		diag_error(hf->diags, node->loc, "'%s' is %s but '%s' is %s", node->key, node->text,
		    first->key, first->text);
}

void
hf_key_set(struct hf *hf, enum hf_key key, const struct doc *value)
{
	hf->nodes[key] = value;
	if (check_value(hf, key, value) != 0)
		hf->missing[key] = true; /* already reported */
}

static bool
says_nothing(enum hf_key key, const struct doc *node)
{
	return aliases[key].form == FORM_COUNTS_IF_ANY && node->kind == DOC_LIST && !node->count;
}

static void
read_key(struct hf *hf, enum hf_key key, const struct doc *map)
{
	for (int i = 0; i < MAX_SPELLINGS && aliases[key].names[i]; i++) {
		const struct doc *node = lookup(map, aliases[key].names[i]);

		if (doc_is_null(node) || says_nothing(key, node))
			continue;
		if (hf->nodes[key])
			check_spellings(hf, key, node);
		else
			hf_key_set(hf, key, node);
	}
}

void
hf_keys_read(struct hf *hf)
{
	for (int key = 0; key < HF_KEYS; key++)
		read_key(hf, (enum hf_key)key, hf->inner);
	/* Multimodal files keep it outside the text model. */
	if (!hf->nodes[HF_TIE])
		read_key(hf, HF_TIE, hf->outer);
	if (!hf->nodes[HF_QUANT_METHOD])
		read_key(hf, HF_QUANT_METHOD, hf->outer);
}

/* DeepSeek-V4 lists the ratios of its MTP layers behind those of the layers. */
static int64_t
list_slack(const struct hf *hf, enum hf_key key)
{
	return key == HF_COMPRESS ? hf_int(hf, HF_MTP, 0) : 0;
}

static void
check_list_length(struct hf *hf, enum hf_key key)
{
	const struct doc *list = hf->nodes[key];
	int64_t count = (int64_t)list->count;

	if (count < hf->layers)
		diag_error(hf->diags, list->loc, "'%s' has %lld items for %lld layers",
		    hf_key_name(hf, key), (long long)count, (long long)hf->layers);
	else if (count > hf->layers + list_slack(hf, key) && !hf->own)
		diag_add(hf->diags, list->loc, NULL, SEVERITY_WARNING,
		    "'%s' has %lld items for %lld layers: the first %lld are used",
		    hf_key_name(hf, key), (long long)count, (long long)hf->layers,
		    (long long)hf->layers);
}

void
hf_keys_check_lists(struct hf *hf)
{
	for (int key = 0; key < HF_KEYS; key++) {
		const struct doc *node = hf->nodes[key];
		enum form form = aliases[key].form;
		bool per_layer =
		    (form == FORM_COUNTS && !hf->family->modality_lists) ||
		    (form == FORM_TEXTS && key != HF_MTP_BLOCK_TYPES && key != HF_BLOCK_TYPES);

		if (node && node->kind == DOC_LIST && per_layer)
			check_list_length(hf, (enum hf_key)key);
	}
}

bool
hf_has(const struct hf *hf, enum hf_key key)
{
	return hf->nodes[key] != NULL;
}

bool
hf_is_list(const struct hf *hf, enum hf_key key)
{
	return hf->nodes[key] && hf->nodes[key]->kind == DOC_LIST;
}

static const struct doc *
item_at(const struct hf *hf, enum hf_key key, int64_t layer)
{
	const struct doc *node = hf->nodes[key];

	if (!node || node->kind != DOC_LIST)
		return node;
	if (!node->count)
		return NULL;
	return doc_item(node, layer < (int64_t)node->count ? (size_t)layer : node->count - 1);
}

int64_t
hf_int_at(const struct hf *hf, enum hf_key key, int64_t layer, int64_t absent)
{
	const struct doc *item = item_at(hf, key, layer);

	return item && in_range(&aliases[key], item) ? item->integer : absent;
}

int64_t
hf_int(const struct hf *hf, enum hf_key key, int64_t absent)
{
	return hf_int_at(hf, key, 0, absent);
}

bool
hf_flag(const struct hf *hf, enum hf_key key, bool absent)
{
	const struct doc *node = hf->nodes[key];

	return node && node->kind == DOC_BOOL ? node->boolean : absent;
}

const char *
hf_text_at(const struct hf *hf, enum hf_key key, int64_t layer)
{
	const struct doc *item = item_at(hf, key, layer);

	return item && item->kind == DOC_STRING ? item->text : NULL;
}

int64_t
hf_need_at(struct hf *hf, enum hf_key key, int64_t layer)
{
	if (!hf->nodes[key] && !hf->missing[key]) {
		diag_error(
		    hf->diags, hf->inner->loc, "the model has no '%s'", hf_key_name(hf, key));
		if (aliases[key].names[1] && !hf->own)
			diag_last_hint(
			    hf->diags, "'%s' would be read as well", aliases[key].names[1]);
		hf->missing[key] = true;
	}
	return hf_int_at(hf, key, layer, 0);
}

int64_t
hf_need(struct hf *hf, enum hf_key key)
{
	return hf_need_at(hf, key, 0);
}
