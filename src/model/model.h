/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_MODEL_H
#define MOEPLAN_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/diag.h"

struct arena;
struct doc;

/*
 * What a model is: shapes only. Counts are int64_t, 0 or false means "not there".
 * The parameters that follow from the shapes are rows of planner/tensors.c.
 */
enum {
	MODEL_MAX_LAYERS = 1024,
	MODEL_MAX_KINDS = 16,
};

enum mixer_kind {
	MIXER_NONE,
	MIXER_GQA,            /* multi-head, grouped-query, multi-query; full, window or chunk */
	MIXER_MLA,            /* DeepSeek latent attention */
	/* DeepSeek-V4: one 512-wide latent KV head, compressed, grouped output */
	MIXER_LATENT_MQA,
	MIXER_GATED_DELTANET, /* Qwen3-Next, Qwen3.5 */
	MIXER_LIGHTNING,      /* MiniMax linear attention */
	MIXER_MAMBA1,
	MIXER_MAMBA2,
	MIXER_KINDS
};
extern const char *const mixer_kind_names[MIXER_KINDS + 1];

enum qk_norm { QK_NORM_NONE, QK_NORM_HEAD, QK_NORM_FULL };

/* What a layer does along the sequence. Members that a kind does not use are 0. */
struct mixer {
	enum mixer_kind kind;
	int64_t heads;         /* query heads */
	int64_t kv_heads;
	int64_t head_dim;      /* query and key width of a head */
	int64_t value_dim;     /* value width of a head (== head_dim but for MiMo and MLA) */
	int64_t window;        /* tokens a query sees at most: sliding window; 0 all */
	int64_t chunk;         /* attention inside chunks of this many tokens; 0 none */
	bool qkv_bias, out_bias;
	bool out_gate;         /* q projection twice as wide (Qwen3-Next, Qwen3.5) */
	bool shared_kv;        /* values are the keys: no v projection (Gemma-4 full layers) */
	bool sinks;            /* one learned logit a head */
	enum qk_norm qk_norm;

	int64_t q_rank, kv_rank;       /* MLA: q_lora_rank (0: none), kv_lora_rank */
	int64_t nope_dim, rope_dim;    /* MLA: qk_nope_head_dim, qk_rope_head_dim */
	int64_t index_heads, index_dim; /* DSA indexer on this layer, 0 none */
	/* tokens an indexer picks for a query (DSA, MiniMax-M3); 0 all */
	int64_t sparse;

	int64_t out_rank, out_groups;  /* LATENT_MQA: o_lora_rank, o_groups */
	int64_t compress;              /* LATENT_MQA: compress_ratio of the layer, 0 none */

	int64_t key_heads, value_heads, key_dim, conv; /* GATED_DELTANET (value_dim above) */
	/* MAMBA1/2: expand*h, d_state, n_groups, dt_rank */
	int64_t inner, state, groups, dt_rank;
};

/* What a layer does to each token. Dense and routed parts may both be there (Gemma-4). */
struct ffn {
	int64_t dense_width;   /* 0: no dense MLP */
	bool ungated;          /* two matrices (squared ReLU, GELU) instead of three */
	bool dense_bias;
	int64_t experts;       /* routed; 0: no MoE */
	int64_t top_k;
	int64_t expert_width;
	bool expert_bias;      /* gpt-oss: 2f + h an expert */
	bool router_bias;      /* correction bias (buffer, fp32) or true bias: E entries */
	int64_t shared_width;  /* all shared experts together, 0 none */
	int64_t shared_count;  /* how many they are; 0: not said, as many as their width holds */
	bool shared_gate;      /* an h-wide sigmoid gate on the shared expert (Qwen) */
	int64_t latent;        /* latent MoE: experts work on this width instead of h; 0 = h */
	int64_t route_groups;  /* node-limited routing: experts form this many groups … */
	int64_t top_groups;    /* … and a token uses at most this many; 0: free */
	int64_t hash_entries;  /* DeepSeek-V4 routing table entries (stored, not trained) */
};

struct layer_kind {
	struct mixer mixer;
	struct ffn ffn;
	int64_t norm_elements;  /* of all layer norms, biases included */
	/* named by extra_name: hyper-connections, layer scalars… replicated */
	int64_t extra_elements;
	const char *extra_name;
};

/*
 * What published checkpoints hold beside the main model and the MTP layers of the
 * config. params_count() turns these bits and `parts` into named extras.
 */
enum stored {
	/* each MTP layer with an embedding and a head of its own */
	STORED_MTP_COPIES = 1 << 0,
	/* one MTP layer (`mtp`) that the config does not mention */
	STORED_UNLISTED_MTP = 1 << 1,
	STORED_FP8_SCALES = 1 << 2,      /* a scale for each 128 x 128 block of a projection */
	STORED_NO_ROUTER_BIAS = 1 << 3,  /* the published total leaves router biases out */
};
enum { MODEL_MAX_EXTRAS = 8 };
struct model_extra {
	const char *name;
	int64_t elements;
};

struct model {
	const char *name;         /* from the file, its folder, or the architecture */
	const char *architecture; /* "DeepseekV3ForCausalLM" */
	struct loc loc;
	int64_t hidden;
	int64_t vocab;
	bool vocab_assumed;	  /* nobody told it: a usual size */
	bool tied;                /* input embedding and output head are one matrix */
	int64_t head_bias;        /* elements (Phi-MoE: vocab) */
	int64_t max_positions;    /* max_position_embeddings */
	int64_t learned_positions; /* GPT-2: rows of a position embedding; 0 rotary or none */
	int64_t final_norm;       /* elements after the last layer */
	int64_t final_extra;      /* replicated elements after the last layer (V4 head mixer) */

	int64_t layers;
	int n_kinds;
	struct layer_kind kinds[MODEL_MAX_KINDS];
	uint8_t kind_of[MODEL_MAX_LAYERS];

	int64_t mtp_layers;       /* multi-token-prediction layers trained beside the model */
	struct layer_kind mtp;    /* one such layer */
	int64_t mtp_projection;   /* elements of the projection in front of it: 2*h*h */
	int64_t mtp_norms;        /* elements of its own norms: 3*h */

	unsigned stored;          /* enum stored bits */
	int n_parts;              /* stored parts that no tensor row gives: a vision tower … */
	struct model_extra parts[MODEL_MAX_EXTRAS];

	/* Why time and memory cannot be estimated ("Mamba-2 layers"); NULL when they can. */
	const char *unmodelled;
	/* Why even the parameters are not known ("Kimi delta attention"); NULL when they are. */
	const char *uncounted;
	/* Made of a few stated numbers: a size of 0 was not told. */
	bool partial;
};

/*
 * Reads a Hugging Face config.json (it has model_type or architectures) or our
 * own YAML (`schema: moeplan/model/v1` or the `model:` section of a combined
 * file; keys in schemas/model.schema.json). NULL after adding errors.
 * Missing shape fields are errors, never guesses; unknown Hugging Face keys are ignored.
 */
struct model *model_read(struct arena *arena, struct diags *diags, const struct doc *doc,
    const char *name);

bool mixer_is_modelled(const struct mixer *mixer);
bool kind_is_moe(const struct layer_kind *kind);
/* Layers of one kind. */
int64_t model_layers_of(const struct model *model, int kind);
/* Some layers are Mamba's, of either generation. */
bool model_has_mamba(const struct model *model);
/* The MoE kind with most layers, or NULL for a dense model. */
const struct layer_kind *model_moe(const struct model *model);

#endif
