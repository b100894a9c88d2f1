/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which weights does a model have, of what shape, and how is each split over ranks?
 *
 * h hidden, n query heads, m KV heads, d head width, E experts, k top-k, f expert width.
 * A fused matrix is one row, as in Megatron-Core: gate and up projection (2f x h).
 * Shapes: the papers of the families and their public modelling code, checked against
 * exact element counts of published checkpoints (tests/unit/test_params.c).
 * Not here: rotary tables and other buffers that are never stored.
 */
#include "planner/tensors.h"

const char *const component_names[COMPONENTS + 1] = {
    "embedding",
    "attention",
    "dense_mlp",
    "router",
    "experts",
    "shared_expert",
    "norms",
    "other",
    "head",
    NULL,
};

struct rows {
	struct tensor *rows;
	size_t count;
};

/* Rows of no elements are left out, so that callers need not ask which parts a model has. */
static struct tensor *
add(struct rows *t, const char *name, enum component component, int64_t rows, int64_t cols)
{
	struct tensor *row = &t->rows[t->count];

	*row = (struct tensor){
	    .name = name, .component = component, .count = 1, .rows = rows, .cols = cols};
	if (rows > 0 && cols > 0)
		t->count++;
	return row;
}

static struct tensor *
add_vector(struct rows *t, const char *name, enum component component, int64_t size)
{
	return add(t, name, component, size, 1);
}

/* A projection that every rank holds whole. */
static struct tensor *
add_whole(struct rows *t, const char *name, enum component component, int64_t rows, int64_t cols)
{
	struct tensor *row = add(t, name, component, rows, cols);

	row->matmul = true;
	return row;
}

/* Column-parallel: the output width is divided. */
static struct tensor *
add_column(struct rows *t, const char *name, enum component component, int64_t rows, int64_t cols)
{
	struct tensor *row = add_whole(t, name, component, rows, cols);

	row->shard = SHARD_TP;
	return row;
}

/* Row-parallel: the input width is divided. */
static struct tensor *
add_row(struct rows *t, const char *name, enum component component, int64_t rows, int64_t cols)
{
	struct tensor *row = add_column(t, name, component, rows, cols);

	row->split_cols = true;
	return row;
}

static void
add_vector_of(struct rows *t, const char *name, int64_t size, enum shard shard)
{
	add_vector(t, name, COMPONENT_ATTENTION, size)->shard = shard;
}

/*
 * h*n*d + 2*h*m*d + n*d*h; an output gate makes the query projection twice as wide.
 * qk norm: one weight of d for all heads, or over all heads n*d + m*d.
 */
static void
add_gqa(struct rows *t, const struct mixer *mixer, int64_t hidden)
{
	int64_t query = mixer->heads * mixer->head_dim * (mixer->out_gate ? 2 : 1);
	int64_t key = mixer->kv_heads * mixer->head_dim;
	int64_t value = mixer->shared_kv ? 0 : mixer->kv_heads * mixer->value_dim;
	bool full = mixer->qk_norm == QK_NORM_FULL;

	add_column(t, "q", COMPONENT_ATTENTION, query, hidden);
	add_column(t, "k", COMPONENT_ATTENTION, key, hidden)->shard = SHARD_KV;
	add_column(t, "v", COMPONENT_ATTENTION, value, hidden)->shard = SHARD_KV;
	add_row(t, "o", COMPONENT_ATTENTION, hidden, mixer->heads * mixer->value_dim);
	if (mixer->qkv_bias) {
		add_vector_of(t, "q_bias", query, SHARD_TP);
		add_vector_of(t, "k_bias", key, SHARD_KV);
		add_vector_of(t, "v_bias", value, SHARD_KV);
	}
	add_vector_of(t, "o_bias", mixer->out_bias ? hidden : 0, SHARD_NONE);
	if (mixer->qk_norm != QK_NORM_NONE) {
		add_vector_of(t, "q_norm", full ? mixer->heads * mixer->head_dim : mixer->head_dim,
		    full ? SHARD_TP : SHARD_NONE);
		add_vector_of(
		    t, "k_norm", full ? key : mixer->head_dim, full ? SHARD_KV : SHARD_NONE);
	}
	add_vector_of(t, "sinks", mixer->sinks ? mixer->heads : 0, SHARD_TP);
}

/* The lightning indexer of DeepSeek sparse attention; every rank needs all of its scores. */
static void
add_indexer(struct rows *t, const struct mixer *mixer, int64_t hidden)
{
	int64_t dim = mixer->index_dim;

	add_whole(t, "index_q", COMPONENT_ATTENTION, mixer->index_heads * dim, mixer->q_rank);
	if (mixer->kind == MIXER_MLA) {
		add_whole(t, "index_k", COMPONENT_ATTENTION, dim, hidden);
		add_vector_of(t, "index_norm", 2 * dim, SHARD_NONE);
	} else {
		/* DeepSeek-V4: the keys come from a compressor of their own, two streams wide. */
		add_whole(t, "index_k", COMPONENT_ATTENTION, 4 * dim, hidden);
		add(t, "index_position", COMPONENT_ATTENTION, mixer->compress, 2 * dim);
		add_vector_of(t, "index_norm", dim, SHARD_NONE);
	}
	add_whole(t, "index_weights", COMPONENT_ATTENTION, mixer->index_heads, hidden);
}

/* DeepSeek-V2 paper (arXiv 2405.04434) section 2.1: latents down, heads up. */
static void
add_mla(struct rows *t, const struct mixer *mixer, int64_t hidden)
{
	int64_t query = mixer->heads * mixer->head_dim;
	int64_t latent = mixer->kv_rank + mixer->rope_dim;

	add_whole(t, "q_down", COMPONENT_ATTENTION, mixer->q_rank, hidden);
	add_vector_of(t, "q_norm", mixer->q_rank, SHARD_NONE);
	add_column(t, mixer->q_rank ? "q_up" : "q", COMPONENT_ATTENTION, query,
	    mixer->q_rank ? mixer->q_rank : hidden);
	add_whole(t, "kv_down", COMPONENT_ATTENTION, latent, hidden);
	add_vector_of(t, "kv_norm", mixer->kv_rank, SHARD_NONE);
	add_column(t, "kv_up", COMPONENT_ATTENTION,
	    mixer->heads * (mixer->nope_dim + mixer->value_dim), mixer->kv_rank);
	add_row(t, "o", COMPONENT_ATTENTION, hidden, mixer->heads * mixer->value_dim);
	if (mixer->qkv_bias) {
		add_vector_of(t, "q_down_bias", mixer->q_rank, SHARD_NONE);
		add_vector_of(t, "kv_down_bias", latent, SHARD_NONE);
	}
	add_vector_of(t, "o_bias", mixer->out_bias ? hidden : 0, SHARD_NONE);
	if (mixer->index_heads)
		add_indexer(t, mixer, hidden);
}

/*
 * DeepSeek-V4 (NVIDIA-NeMo/Automodel deepseek_v4/layers.py): one latent KV head, an output
 * projection in groups, and on compressed layers a pooling of `compress` tokens with learned
 * positions; ratio 4 keeps two streams and picks tokens with an indexer.
 */
static void
add_latent_mqa(struct rows *t, const struct mixer *mixer, int64_t hidden)
{
	int64_t query = mixer->heads * mixer->head_dim;
	int64_t out = mixer->out_groups * mixer->out_rank;
	int64_t stream = mixer->compress ? mixer->head_dim * (mixer->index_heads ? 2 : 1) : 0;

	add_whole(t, "q_down", COMPONENT_ATTENTION, mixer->q_rank, hidden);
	add_vector_of(t, "q_norm", mixer->q_rank, SHARD_NONE);
	add_column(t, "q_up", COMPONENT_ATTENTION, query, mixer->q_rank);
	add_whole(t, "kv", COMPONENT_ATTENTION, mixer->head_dim, hidden);
	add_vector_of(t, "kv_norm", mixer->head_dim, SHARD_NONE);
	add_column(t, "o_down", COMPONENT_ATTENTION, out, query / mixer->out_groups);
	add_row(t, "o_up", COMPONENT_ATTENTION, hidden, out);
	add_vector_of(t, "sinks", mixer->heads, SHARD_TP);
	add_whole(t, "compress", COMPONENT_ATTENTION, 2 * stream, hidden);
	add(t, "compress_position", COMPONENT_ATTENTION, mixer->compress, stream);
	add_vector_of(t, "compress_norm", mixer->compress ? mixer->head_dim : 0, SHARD_NONE);
	if (mixer->index_heads)
		add_indexer(t, mixer, hidden);
}

/* Gated delta rule (arXiv 2412.06464) as in Qwen3-Next: query, key, value, gate and two scalars a
 * head. */
static void
add_gated_deltanet(struct rows *t, const struct mixer *mixer, int64_t hidden)
{
	int64_t key = mixer->key_heads * mixer->key_dim;
	int64_t value = mixer->value_heads * mixer->value_dim;

	add_column(t, "in", COMPONENT_ATTENTION, 2 * key + 2 * value, hidden);
	add_column(t, "in_scalars", COMPONENT_ATTENTION, 2 * mixer->value_heads, hidden);
	add(t, "conv", COMPONENT_ATTENTION, 2 * key + value, mixer->conv)->shard = SHARD_TP;
	add_vector_of(t, "decay", 2 * mixer->value_heads, SHARD_TP);
	add_vector_of(t, "out_norm", mixer->value_dim, SHARD_NONE);
	add_row(t, "out", COMPONENT_ATTENTION, hidden, value);
}

/* MiniMax-01 (arXiv 2501.08313): query, key, value, output gate; a norm over all heads. */
static void
add_lightning(struct rows *t, const struct mixer *mixer, int64_t hidden)
{
	int64_t width = mixer->heads * mixer->head_dim;

	add_column(t, "qkv", COMPONENT_ATTENTION, 3 * width, hidden);
	add_column(t, "gate", COMPONENT_ATTENTION, width, hidden);
	add_vector_of(t, "out_norm", width, SHARD_TP);
	add_row(t, "out", COMPONENT_ATTENTION, hidden, width);
}

/* Mamba (arXiv 2312.00752) with Jamba's norms on step size, B and C. */
static void
add_mamba1(struct rows *t, const struct mixer *mixer, int64_t hidden)
{
	int64_t inner = mixer->inner, select = mixer->dt_rank + 2 * mixer->state;

	add_column(t, "in", COMPONENT_ATTENTION, 2 * inner, hidden);
	add(t, "conv", COMPONENT_ATTENTION, inner, mixer->conv)->shard = SHARD_TP;
	add_vector_of(t, "conv_bias", inner, SHARD_TP);
	add_row(t, "select", COMPONENT_ATTENTION, select, inner);
	add_vector_of(t, "select_norm", select, SHARD_NONE);
	add_column(t, "dt", COMPONENT_ATTENTION, inner, mixer->dt_rank);
	add_vector_of(t, "dt_bias", inner, SHARD_TP);
	add(t, "decay", COMPONENT_ATTENTION, inner, mixer->state)->shard = SHARD_TP;
	add_vector_of(t, "skip", inner, SHARD_TP);
	add_row(t, "out", COMPONENT_ATTENTION, hidden, inner);
}

/* Mamba-2 (arXiv 2405.21060): decay, skip and step bias are a scalar a head. */
static void
add_mamba2(struct rows *t, const struct mixer *mixer, int64_t hidden)
{
	int64_t conv = mixer->inner + 2 * mixer->groups * mixer->state;

	add_column(t, "in", COMPONENT_ATTENTION, mixer->inner + conv + mixer->heads, hidden);
	add(t, "conv", COMPONENT_ATTENTION, conv, mixer->conv)->shard = SHARD_TP;
	add_vector_of(t, "conv_bias", conv, SHARD_TP);
	add_vector_of(t, "scalars", 3 * mixer->heads, SHARD_TP);
	add_vector_of(t, "out_norm", mixer->inner, SHARD_TP);
	add_row(t, "out", COMPONENT_ATTENTION, hidden, mixer->inner);
}

typedef void add_mixer_fn(struct rows *t, const struct mixer *mixer, int64_t hidden);

static add_mixer_fn *const add_mixer[MIXER_KINDS] = {
    [MIXER_GQA] = add_gqa,
    [MIXER_MLA] = add_mla,
    [MIXER_LATENT_MQA] = add_latent_mqa,
    [MIXER_GATED_DELTANET] = add_gated_deltanet,
    [MIXER_LIGHTNING] = add_lightning,
    [MIXER_MAMBA1] = add_mamba1,
    [MIXER_MAMBA2] = add_mamba2,
};

/* 3*h*w gated, 2*h*w ungated; biases of both layers. */
static void
add_mlp(struct rows *t, const struct ffn *ffn, int64_t hidden)
{
	int64_t first = ffn->dense_width * (ffn->ungated ? 1 : 2);

	add_column(t, "mlp_fc1", COMPONENT_DENSE_MLP, first, hidden);
	add_row(t, "mlp_fc2", COMPONENT_DENSE_MLP, hidden, ffn->dense_width);
	if (ffn->dense_bias && ffn->dense_width) {
		add_vector(t, "mlp_fc1_bias", COMPONENT_DENSE_MLP, first)->shard = SHARD_TP;
		add_vector(t, "mlp_fc2_bias", COMPONENT_DENSE_MLP, hidden);
	}
}

static void
add_expert_row(struct rows *t, const char *name, const struct ffn *ffn, int64_t rows, int64_t cols,
    bool split_cols)
{
	struct tensor *row = add(t, name, COMPONENT_EXPERTS, rows, cols);

	row->count = ffn->experts;
	row->shard = SHARD_EXPERT;
	row->split_cols = split_cols;
	row->matmul = cols > 1;
}

/* E*3*f*z, z = h or the latent width; a latent adds one projection down and one up a layer. */
static void
add_experts(struct rows *t, const struct ffn *ffn, int64_t hidden)
{
	int64_t width = ffn->latent ? ffn->latent : hidden;
	int64_t first = ffn->expert_width * (ffn->ungated ? 1 : 2);

	add_whole(t, "latent_down", COMPONENT_EXPERTS, ffn->latent, hidden);
	add_whole(t, "latent_up", COMPONENT_EXPERTS, hidden, ffn->latent);
	add_expert_row(t, "expert_fc1", ffn, first, width, false);
	add_expert_row(t, "expert_fc2", ffn, width, ffn->expert_width, true);
	if (ffn->expert_bias) {
		add_expert_row(t, "expert_fc1_bias", ffn, first, 1, false);
		add_expert_row(t, "expert_fc2_bias", ffn, width, 1, false);
	}
}

/* The correction bias of loss-free balancing is a buffer; with expert biases it is a trained one.
 */
static void
add_moe(struct rows *t, const struct ffn *ffn, int64_t hidden)
{
	struct tensor *bias;
	int64_t first = ffn->shared_width * (ffn->ungated ? 1 : 2);

	add_whole(t, "router", COMPONENT_ROUTER, ffn->experts, hidden);
	bias = add_vector(t, "router_bias", COMPONENT_ROUTER, ffn->router_bias ? ffn->experts : 0);
	bias->buffer = ffn->router_bias && !ffn->expert_bias;
	if (ffn->experts)
		add_experts(t, ffn, hidden);
	add_column(t, "shared_fc1", COMPONENT_SHARED_EXPERT, first, hidden);
	add_row(t, "shared_fc2", COMPONENT_SHARED_EXPERT, hidden, ffn->shared_width);
	add_whole(t, "shared_gate", COMPONENT_SHARED_EXPERT, ffn->shared_gate ? 1 : 0, hidden);
}

static void
add_layer(struct rows *t, const struct model *model, const struct layer_kind *kind)
{
	if (add_mixer[kind->mixer.kind])
		add_mixer[kind->mixer.kind](t, &kind->mixer, model->hidden);
	add_mlp(t, &kind->ffn, model->hidden);
	add_moe(t, &kind->ffn, model->hidden);
	add_vector(t, "norms", COMPONENT_NORMS, kind->norm_elements);
	add_vector(t, kind->extra_name, COMPONENT_OTHER, kind->extra_elements);
}

size_t
tensors_of_layer(
    const struct model *model, const struct layer_kind *kind, struct tensor rows[TENSORS_MAX])
{
	struct rows t = {rows, 0};

	add_layer(&t, model, kind);
	return t.count;
}

size_t
tensors_of_embedding(const struct model *model, struct tensor rows[TENSORS_MAX])
{
	struct rows t = {rows, 0};

	add(&t, "embedding", COMPONENT_EMBEDDING, model->vocab, model->hidden)->shard = SHARD_TP;
	add(&t, "positions", COMPONENT_EMBEDDING, model->learned_positions, model->hidden);
	return t.count;
}

size_t
tensors_of_head(const struct model *model, struct tensor rows[TENSORS_MAX])
{
	struct rows t = {rows, 0};

	add_vector(&t, "final_norm", COMPONENT_NORMS, model->final_norm);
	add_vector(&t, "final_extra", COMPONENT_OTHER, model->final_extra);
	add_column(&t, "head", COMPONENT_HEAD, model->tied ? 0 : model->vocab, model->hidden);
	add_vector(&t, "head_bias", COMPONENT_HEAD, model->head_bias)->shard = SHARD_TP;
	return t.count;
}

size_t
tensors_of_mtp(const struct model *model, struct tensor rows[TENSORS_MAX])
{
	struct rows t = {rows, 0};

	add_column(&t, "mtp_projection", COMPONENT_OTHER, model->hidden,
	    model->hidden ? model->mtp_projection / model->hidden : 0);
	add_vector(&t, "mtp_norms", COMPONENT_NORMS, model->mtp_norms);
	add_layer(&t, model, &model->mtp);
	return t.count;
}
