/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What mixes the tokens in a layer: which attention or state-space block, of what shape?
 *
 * The span of a layer (full, window, chunk, linear, state) chooses between a family's two
 * kinds; which of the kinds it is follows from the keys that are there: kv_lora_rank means
 * latent attention, o_lora_rank DeepSeek-V4's, linear_num_key_heads a gated DeltaNet.
 * null is absent: Hunyuan writes kv_lora_rank null.
 */
#include <string.h>

#include "base/diag.h"
#include "model/hf_private.h"

/* head_dim, else hidden / heads where that is what the architecture does and it comes out even. */
static int64_t
head_dim(struct hf *hf)
{
	int64_t hidden = hf_int(hf, HF_HIDDEN, 0), heads = hf_int(hf, HF_HEADS, 0);

	if (hf_has(hf, HF_HEAD_DIM))
		return hf_int(hf, HF_HEAD_DIM, 0);
	if (hf->family->head_dim)
		return hf_need(hf, HF_HEAD_DIM);
	if (!hidden || !heads)
		return 0;
	if (hidden % heads != 0 && !hf->missing[HF_HEAD_DIM]) {
		hf->missing[HF_HEAD_DIM] = true;
		diag_error(hf->diags, hf_loc(hf, HF_HEADS),
		    "the model has no 'head_dim' and '%s' %lld is no multiple of '%s' %lld",
		    hf_key_name(hf, HF_HIDDEN), (long long)hidden, hf_key_name(hf, HF_HEADS),
		    (long long)heads);
	}
	return hidden / heads;
}

static int64_t
kv_heads(struct hf *hf)
{
	if (hf_has(hf, HF_KV_HEADS) || !hf->family->mha)
		return hf_need(hf, HF_KV_HEADS);
	return hf_int(hf, HF_HEADS, 0);
}

static enum qk_norm
qk_norm(const struct hf *hf)
{
	const struct hf_family *family = hf->family;
	const char *type = hf_text_at(hf, HF_QK_NORM_TYPE, 0);

	if (family->qk_weightless || !(family->qk_always || hf_flag(hf, HF_QK_NORM, false)))
		return QK_NORM_NONE;
	if (type && strcmp(type, "per_layer") == 0)
		return QK_NORM_FULL;
	if (type && strcmp(type, "per_head") == 0)
		return QK_NORM_HEAD;
	return family->qk_norm == QK_NORM_FULL ? QK_NORM_FULL : QK_NORM_HEAD;
}

static void
biases(const struct hf *hf, struct mixer *mixer)
{
	const struct hf_family *family = hf->family;
	bool bias = hf_flag(hf, HF_QKV_BIAS, family->qkv_bias || family->all_bias);

	mixer->qkv_bias = bias;
	mixer->out_bias = hf_flag(hf, HF_OUT_BIAS, bias && !family->qkv_only);
}

/* MiMo gives its window layers other head counts, Gemma-4 its full ones. */
static void
heads_of_span(struct hf *hf, enum hf_span span, struct mixer *mixer)
{
	mixer->heads = hf_need(hf, HF_HEADS);
	mixer->kv_heads = kv_heads(hf);
	mixer->head_dim = head_dim(hf);
	mixer->value_dim = hf_int(hf, HF_VALUE_DIM, mixer->head_dim);
	if (span == SPAN_SLIDING) {
		mixer->heads = hf_int(hf, HF_SWA_HEADS, mixer->heads);
		mixer->kv_heads = hf_int(hf, HF_SWA_KV_HEADS, mixer->kv_heads);
		mixer->head_dim = hf_int(hf, HF_SWA_HEAD_DIM, mixer->head_dim);
		mixer->value_dim = hf_int(hf, HF_SWA_VALUE_DIM, mixer->value_dim);
	} else if (hf_has(hf, HF_GLOBAL_HEAD_DIM)) {
		mixer->kv_heads = hf_int(hf, HF_GLOBAL_KV_HEADS, mixer->kv_heads);
		mixer->head_dim = hf_int(hf, HF_GLOBAL_HEAD_DIM, 0);
		mixer->value_dim = mixer->head_dim;
	}
}

static void
gqa(struct hf *hf, struct hf_place place, struct mixer *mixer)
{
	bool sliding = place.span == SPAN_SLIDING;

	mixer->kind = MIXER_GQA;
	heads_of_span(hf, place.span, mixer);
	biases(hf, mixer);
	if (sliding)
		mixer->window = hf_need(hf, HF_WINDOW);
	if (place.span == SPAN_CHUNKED)
		mixer->chunk = hf_need(hf, HF_CHUNK);
	mixer->out_gate = hf_flag(hf, HF_OUT_GATE, hf->family->out_gate);
	mixer->shared_kv = !sliding && hf_flag(hf, HF_K_EQ_V, false);
	mixer->sinks = hf_flag(hf, sliding ? HF_SWA_SINKS : HF_FULL_SINKS, hf->family->sinks);
	mixer->qk_norm = qk_norm(hf);
	if (hf_int_at(hf, HF_SPARSE_FREQ, place.layer, 0))
		mixer->sparse = hf_need(hf, HF_SPARSE_BLOCKS) * hf_need(hf, HF_SPARSE_BLOCK_SIZE);
}

/* GLM-5.2 has an indexer on the layers that indexer_types calls "full" and on the MTP layer. */
static bool
has_indexer(const struct hf *hf, struct hf_place place)
{
	const char *type = hf_text_at(hf, HF_INDEXER_TYPES, place.layer);

	return hf_has(hf, HF_INDEX_HEADS) && (place.mtp || !type || strcmp(type, "full") == 0);
}

static void
indexer(struct hf *hf, struct mixer *mixer)
{
	mixer->index_heads = hf_need(hf, HF_INDEX_HEADS);
	mixer->index_dim = hf_need(hf, HF_INDEX_DIM);
	if (!mixer->q_rank)
		hf_need(hf, HF_Q_RANK);
}

/* head_dim and num_key_value_heads of such files are decoys. */
static void
mla(struct hf *hf, struct hf_place place, struct mixer *mixer)
{
	mixer->kind = MIXER_MLA;
	mixer->heads = mixer->kv_heads = hf_need(hf, HF_HEADS);
	mixer->q_rank = hf_int(hf, HF_Q_RANK, 0);
	mixer->kv_rank = hf_need(hf, HF_KV_RANK);
	mixer->nope_dim = hf_need(hf, HF_NOPE_DIM);
	mixer->rope_dim = hf_need(hf, HF_ROPE_DIM);
	mixer->head_dim = mixer->nope_dim + mixer->rope_dim;
	mixer->value_dim = hf_need(hf, HF_VALUE_DIM);
	biases(hf, mixer);
	if (hf_has(hf, HF_INDEX_HEADS))
		mixer->sparse = hf_need(hf, HF_INDEX_TOPK);
	if (has_indexer(hf, place))
		indexer(hf, mixer);
}

/* A compression ratio of 4 keeps two streams and an indexer, a higher one pools only. */
static void
latent_mqa(struct hf *hf, struct hf_place place, struct mixer *mixer)
{
	enum { INDEXED_RATIO = 4 };

	mixer->kind = MIXER_LATENT_MQA;
	mixer->heads = hf_need(hf, HF_HEADS);
	mixer->kv_heads = 1;
	mixer->head_dim = mixer->value_dim = hf_need(hf, HF_HEAD_DIM);
	mixer->q_rank = hf_need(hf, HF_Q_RANK);
	mixer->out_rank = hf_need(hf, HF_OUT_RANK);
	mixer->out_groups = hf_need(hf, HF_OUT_GROUPS);
	mixer->window = hf_need(hf, HF_WINDOW);
	mixer->compress = hf_need_at(hf, HF_COMPRESS, place.layer);
	if (mixer->compress == INDEXED_RATIO) {
		indexer(hf, mixer);
		mixer->sparse = hf_need(hf, HF_INDEX_TOPK);
	}
}

static void
gated_deltanet(struct hf *hf, struct mixer *mixer)
{
	mixer->kind = MIXER_GATED_DELTANET;
	mixer->key_heads = hf_need(hf, HF_LINEAR_KEY_HEADS);
	mixer->value_heads = hf_need(hf, HF_LINEAR_VALUE_HEADS);
	mixer->key_dim = hf_need(hf, HF_LINEAR_KEY_DIM);
	mixer->value_dim = hf_need(hf, HF_LINEAR_VALUE_DIM);
	mixer->conv = hf_need(hf, HF_LINEAR_CONV);
}

static void
lightning(struct hf *hf, struct mixer *mixer)
{
	mixer->kind = MIXER_LIGHTNING;
	mixer->heads = hf_need(hf, HF_HEADS);
	mixer->head_dim = mixer->value_dim = head_dim(hf);
}

/* "auto" is ceil(hidden / 16), as in the original code. */
static void
mamba1(struct hf *hf, struct mixer *mixer)
{
	int64_t hidden = hf_need(hf, HF_HIDDEN);

	mixer->kind = MIXER_MAMBA1;
	mixer->inner = hf_need(hf, HF_MAMBA_EXPAND) * hidden;
	mixer->state = hf_need(hf, HF_MAMBA_STATE);
	mixer->conv = hf_need(hf, HF_MAMBA_CONV);
	hf_need(hf, HF_MAMBA_DT_RANK);
	mixer->dt_rank = hf_int(hf, HF_MAMBA_DT_RANK, (hidden + 15) / 16);
}

static void
mamba2(struct hf *hf, struct mixer *mixer)
{
	int64_t expanded = hf_int(hf, HF_MAMBA_EXPAND, 0) * hf_int(hf, HF_HIDDEN, 0);

	mixer->kind = MIXER_MAMBA2;
	mixer->heads = hf_need(hf, HF_MAMBA_HEADS);
	mixer->head_dim = hf_int(hf, HF_MAMBA_HEAD_DIM, 0);
	if (!mixer->head_dim && expanded && mixer->heads && expanded % mixer->heads == 0)
		mixer->head_dim = expanded / mixer->heads;
	if (!mixer->head_dim)
		hf_need(hf, HF_MAMBA_HEAD_DIM);
	mixer->inner = mixer->heads * mixer->head_dim;
	mixer->state = hf_need(hf, HF_MAMBA_STATE);
	mixer->groups = hf_need(hf, HF_MAMBA_GROUPS);
	mixer->conv = hf_need(hf, HF_MAMBA_CONV);
}

static bool
is_mla(const struct hf *hf)
{
	return hf->family->mla || (hf_has(hf, HF_KV_RANK) && hf_flag(hf, HF_USE_MLA, true));
}

void
hf_mixer(struct hf *hf, struct hf_place place, struct mixer *mixer)
{
	if (place.span == SPAN_LINEAR && hf->family->lightning)
		lightning(hf, mixer);
	else if (place.span == SPAN_LINEAR)
		gated_deltanet(hf, mixer);
	else if (place.span == SPAN_STATE && hf_has(hf, HF_MAMBA_HEADS))
		mamba2(hf, mixer);
	else if (place.span == SPAN_STATE)
		mamba1(hf, mixer);
	else if (hf_has(hf, HF_OUT_RANK))
		latent_mqa(hf, place, mixer);
	else if (is_mla(hf))
		mla(hf, place, mixer);
	else
		gqa(hf, place, mixer);
}
