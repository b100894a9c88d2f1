/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_HF_PRIVATE_H
#define MOEPLAN_HF_PRIVATE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/doc.h"
#include "model/model.h"

struct arena;

/*
 * How a model description becomes a struct model: keys under their many
 * spellings (hf_keys.c), what an architecture implies and no key says
 * (hf_families.c), then layer by layer a mixer (hf_mixers.c), an FFN
 * (hf_ffn.c) and the order of both (hf_layers.c).
 */
enum hf_key {
	HF_HIDDEN,
	HF_LAYERS,
	HF_HEADS,
	HF_KV_HEADS,
	HF_HEAD_DIM,
	HF_VALUE_DIM,
	HF_VOCAB,
	HF_POSITIONS,
	HF_TIE,
	HF_HEAD_BIAS,

	HF_FFN,
	HF_DENSE_FFN,
	HF_EXPERTS,
	HF_TOP_K,
	HF_EXPERT_FFN,
	HF_SHARED_COUNT,
	HF_SHARED_FFN,
	HF_LATENT,
	HF_GROUPS,
	HF_TOP_GROUPS,
	HF_TOPK_METHOD,
	HF_ROUTER_BIAS,
	HF_MLP_BIAS,
	HF_HASH_LAYERS,
	HF_ENABLE_MOE,

	HF_FIRST_DENSE,
	HF_MOE_FREQ,
	HF_MLP_ONLY,
	HF_SPARSE_STEP,
	HF_INTERLEAVE,
	HF_EXPERT_PERIOD,
	HF_EXPERT_OFFSET,
	HF_MOE_START,
	HF_MOE_END,
	HF_MOE_INTERVAL,
	HF_MLP_TYPES,

	HF_BLOCKS,
	HF_BLOCK_TYPES,
	HF_MTP_BLOCKS,
	HF_MTP_BLOCK_TYPES,
	HF_LAYER_TYPES,
	HF_FULL_INTERVAL,
	HF_ATTN_TYPES,
	HF_HYBRID_PATTERN,
	HF_ATTN_PERIOD,
	HF_ATTN_OFFSET,
	HF_NO_ROPE,
	HF_NO_ROPE_INTERVAL,
	HF_WINDOW,
	HF_USE_WINDOW,
	HF_MAX_WINDOW_LAYERS,
	HF_WINDOW_PATTERN,
	HF_CHUNK,

	HF_QKV_BIAS,
	HF_OUT_BIAS,
	HF_QK_NORM,
	HF_QK_NORM_TYPE,
	HF_OUT_GATE,
	HF_K_EQ_V,
	HF_SWA_HEADS,
	HF_SWA_KV_HEADS,
	HF_SWA_HEAD_DIM,
	HF_SWA_VALUE_DIM,
	HF_SWA_SINKS,
	HF_FULL_SINKS,
	HF_GLOBAL_KV_HEADS,
	HF_GLOBAL_HEAD_DIM,

	HF_USE_MLA,
	HF_Q_RANK,
	HF_KV_RANK,
	HF_NOPE_DIM,
	HF_ROPE_DIM,
	HF_INDEX_HEADS,
	HF_INDEX_DIM,
	HF_INDEX_TOPK,
	HF_INDEXER_TYPES,
	HF_SPARSE_FREQ,
	HF_SPARSE_BLOCKS,
	HF_SPARSE_BLOCK_SIZE,
	HF_OUT_RANK,
	HF_OUT_GROUPS,
	HF_COMPRESS,
	HF_HYPER,

	HF_LINEAR_KEY_HEADS,
	HF_LINEAR_VALUE_HEADS,
	HF_LINEAR_KEY_DIM,
	HF_LINEAR_VALUE_DIM,
	HF_LINEAR_CONV,
	HF_MAMBA_STATE,
	HF_MAMBA_CONV,
	HF_MAMBA_EXPAND,
	HF_MAMBA_DT_RANK,
	HF_MAMBA_HEADS,
	HF_MAMBA_HEAD_DIM,
	HF_MAMBA_GROUPS,

	HF_MTP,
	HF_MTP_MODULES,
	HF_QUANT_METHOD,

	/* Keys whose mere value means that the parameters are not known. */
	HF_CLA,
	HF_KDA,
	HF_PER_LAYER_INPUT,
	HF_KV_SHARED,
	HF_ZERO_EXPERTS,
	HF_EXPERT_HIDDEN,
	HF_OTHER_ATTENTION,
	HF_HEAD_GATE,
	HF_CONV_BIAS,
	HF_MAMBA_BIAS,
	HF_USE_BIAS,
	HF_KEYS
};

/* What an architecture implies beyond its keys. */
struct hf_family {
	const char *architectures; /* words */
	const char *model_types;   /* words */
	const char *uncounted;     /* why its parameters are not known */
	enum qk_norm qk_norm;  /* QK_NORM_FULL where a norm spans all heads, else it is a head's */
	bool qk_always;        /* there is one although no key says so */
	bool qk_weightless;    /* use_qk_norm means a norm without weights */
	int norms, final_norm; /* elements in multiples of the hidden size; 0: 2 and 1 */

	bool qkv_bias; /* unless the file says otherwise */
	bool qkv_only; /* attention_bias leaves the output projection out */
	bool all_bias; /* every projection has one, no key says so */
	bool out_gate;
	bool sinks;
	bool mla;               /* kv_lora_rank must be there */
	bool mha;               /* no num_key_value_heads means as many as query heads */
	bool head_dim;          /* hidden / heads would be wrong: head_dim must be there */
	bool lightning;         /* its linear layers are lightning attention */
	bool chunked;           /* rotary layers attend inside chunks */
	bool window_on_request; /* sliding_window counts only with use_sliding_window */
	int window_period;      /* without a list: layer l is full when (l + 1) % period == 0 */

	bool tied; /* class default of tie_word_embeddings */
	bool learned_positions;
	bool ungated;          /* two matrices an MLP */
	bool own_expert_width; /* an expert is never as wide as the dense MLP for want of a key */
	bool expert_bias;
	bool router_bias; /* correction bias (or a true one) although no key says so */
	bool shared_gate;
	bool shared_always;   /* one shared expert although no key says so */
	bool shared_is_ffn;   /* shared expert as wide as intermediate_size */
	bool shared_by_count; /* n x expert width, whatever width key is there */
	bool blocks;          /* a list names blocks, each a mixer or an FFN */
	bool parallel_dense;  /* dense MLP beside the experts in every layer */
	bool modality_lists;  /* lists of two: text, vision */

	bool mtp_dense;        /* MTP layer: sliding window and dense FFN */
	bool mtp_unknown;      /* MTP layers of unpublished shape: not counted */
	unsigned stored;       /* enum stored bits */
	bool stored_needs_mtp; /* … when the config lists MTP layers */
	int64_t tower;         /* elements of the vision tower that the checkpoint holds */
};

struct hf {
	struct arena *arena;
	struct diags *diags;
	const struct doc *outer; /* the whole file */
	const struct doc *inner; /* text_config, or the same */
	const struct hf_family *family;
	const struct doc *nodes[HF_KEYS]; /* NULL for absent and for null */
	bool missing[HF_KEYS];            /* reported as missing */
	/*
	 * Our own format: the names of its keys; lists may be longer than the layers (a model cut
	 * short) and defaults are documented, so not announced.
	 */
	bool own;
	const char *own_names[HF_KEYS];
	struct model *model;
	int64_t experts, layers;
};

/* Finds every key in the document, under whichever spelling; checks kinds and ranges. */
void hf_keys_read(struct hf *hf);
/* Checks the lengths of per-layer lists once the layers are known. */
void hf_keys_check_lists(struct hf *hf);
/* The spelling in the file, or the usual one. */
const char *hf_key_name(const struct hf *hf, enum hf_key key);
/* Replaces a key's value; the new node is checked as the old one was. */
void hf_key_set(struct hf *hf, enum hf_key key, const struct doc *value);
struct loc hf_loc(const struct hf *hf, enum hf_key key);

bool hf_has(const struct hf *hf, enum hf_key key);
/* Item `layer` (or the last) of a list, or the scalar. */
int64_t hf_int_at(const struct hf *hf, enum hf_key key, int64_t layer, int64_t absent);
int64_t hf_int(const struct hf *hf, enum hf_key key, int64_t absent);
bool hf_flag(const struct hf *hf, enum hf_key key, bool absent);
const char *hf_text_at(const struct hf *hf, enum hf_key key, int64_t layer);
bool hf_is_list(const struct hf *hf, enum hf_key key);
/* A shape key without which the model is not determined: an error, once, when absent. */
int64_t hf_need(struct hf *hf, enum hf_key key);
int64_t hf_need_at(struct hf *hf, enum hf_key key, int64_t layer);

/* The family of the file, or NULL; `type` gets the model_type if that decided, else NULL. */
const struct hf_family *hf_family_find(const struct hf *hf, const char **type);
extern const struct hf_family hf_family_generic;
/* outer architectures[0] or, without it, that of text_config, or the model_type; NULL. */
const char *hf_architecture(const struct hf *hf);

/* What a layer sees along the sequence. */
enum hf_span { SPAN_FULL, SPAN_SLIDING, SPAN_CHUNKED, SPAN_LINEAR, SPAN_STATE, SPAN_UNKNOWN };
struct hf_place {
	int64_t layer;
	enum hf_span span;
	bool mtp;
};

enum hf_span hf_span(const struct hf *hf, int64_t layer);
bool hf_is_moe(const struct hf *hf, int64_t layer);
void hf_mixer(struct hf *hf, struct hf_place place, struct mixer *mixer);
void hf_ffn(struct hf *hf, int64_t layer, bool moe, struct ffn *ffn);
/* All layers and the MTP layer. */
void hf_layers(struct hf *hf);

/* Rules between keys, on the finished kinds; adds errors. */
void hf_check(struct hf *hf);

/* Builds the model from the keys; NULL after adding errors. `hf` has its documents and family set.
 */
struct model *hf_build(struct hf *hf, const char *name);
/* A whole config.json. `override` may replace keys after they were found. */
typedef void hf_override_fn(struct hf *hf, void *context);
struct model *hf_read(struct hf *hf, const char *name, hf_override_fn *override, void *context);

/* model.c: one more layer, equal kinds shared; -1 when there are too many kinds. */
int model_add_layer(struct model *model, const struct layer_kind *kind);
/* Elements of one layer stay far inside int64_t, whatever the ranges of single keys allow. */
#define MODEL_MAX_ELEMENTS 1e14
/* They do in every kind; -1 after adding an error. */
int model_check(const struct model *model, struct diags *diags);
void model_name_unmodelled(struct model *model, struct arena *arena);
/* Our own keys; `map` is the section. */
struct model *model_yaml_read(
    struct arena *arena, struct diags *diags, const struct doc *map, const char *name);

#endif
