/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What does a layer do to each token: a dense MLP, routed experts, shared experts, of what width?
 *
 * `intermediate_size` is the width of a dense layer, of an expert where no
 * moe_intermediate_size is there (Mixtral), of the shared expert (Llama-4, Hunyuan), or unused
 * (Qwen3-MoE). Widths, counts and top-k may be lists, one item a layer (Hunyuan).
 */
#include <string.h>

#include "base/diag.h"
#include "model/hf_private.h"

/* Lists of two modalities: the first is the text model's. */
static int64_t
item(const struct hf *hf, int64_t layer)
{
	return hf->family->modality_lists ? 0 : layer;
}

static int64_t
dense_width(struct hf *hf, int64_t layer)
{
	if (hf_has(hf, HF_DENSE_FFN))
		return hf_need(hf, HF_DENSE_FFN);
	/* GPT-2 writes n_inner null for 4 x hidden. */
	if (!hf_has(hf, HF_FFN) && hf->family->learned_positions)
		return 4 * hf_int(hf, HF_HIDDEN, 0);
	return hf_need_at(hf, HF_FFN, layer);
}

static int64_t
expert_width(struct hf *hf, int64_t layer)
{
	if (hf_has(hf, HF_EXPERT_FFN) || hf->family->own_expert_width)
		return hf_need_at(hf, HF_EXPERT_FFN, item(hf, layer));
	return hf_need_at(hf, HF_FFN, layer);
}

/* All shared experts as one MLP: a width of its own, n times intermediate_size, or n experts. */
static int64_t
shared_width(struct hf *hf, int64_t layer, int64_t expert)
{
	const struct hf_family *family = hf->family;
	int64_t count = hf_int_at(hf, HF_SHARED_COUNT, layer, family->shared_always ? 1 : 0);

	if (hf_has(hf, HF_SHARED_FFN) && !family->shared_by_count)
		return hf_int(hf, HF_SHARED_FFN, 0);
	if (family->shared_is_ffn)
		return count ? count * hf_need_at(hf, HF_FFN, layer) : 0;
	return count * expert;
}

static bool
router_bias(const struct hf *hf)
{
	const char *method = hf_text_at(hf, HF_TOPK_METHOD, 0);

	return hf_flag(hf, HF_ROUTER_BIAS, false) || hf->family->router_bias ||
	       (method && strcmp(method, "noaux_tc") == 0);
}

/* Node-limited routing: one group, or plain greedy top-k, limits nothing. */
static void
route_groups(const struct hf *hf, struct ffn *ffn)
{
	const char *method = hf_text_at(hf, HF_TOPK_METHOD, 0);
	int64_t groups = hf_int(hf, HF_GROUPS, 0), top = hf_int(hf, HF_TOP_GROUPS, 0);

	if (groups <= 1 || !top || (method && strcmp(method, "greedy") == 0))
		return;
	ffn->route_groups = groups;
	ffn->top_groups = top;
}

static void
moe(struct hf *hf, int64_t layer, struct ffn *ffn)
{
	bool hashed;

	ffn->experts = hf_need_at(hf, HF_EXPERTS, item(hf, layer));
	ffn->top_k = hf_need_at(hf, HF_TOP_K, item(hf, layer));
	ffn->expert_width = expert_width(hf, layer);
	ffn->expert_bias = hf->family->expert_bias;
	hashed = layer < hf_int(hf, HF_HASH_LAYERS, 0);
	ffn->router_bias = !hashed && router_bias(hf);
	ffn->shared_width = shared_width(hf, item(hf, layer), ffn->expert_width);
	if (ffn->shared_width > 0 && hf_has(hf, HF_SHARED_FFN) && !hf->family->shared_by_count)
		ffn->shared_count = hf_int_at(hf, HF_SHARED_COUNT, item(hf, layer), 1);
	ffn->shared_gate = hf->family->shared_gate && ffn->shared_width;
	ffn->latent = hf_int(hf, HF_LATENT, 0);
	route_groups(hf, ffn);
	if (hashed)
		ffn->hash_entries = hf_int(hf, HF_VOCAB, 0) * ffn->top_k;
}

void
hf_ffn(struct hf *hf, int64_t layer, bool is_moe, struct ffn *ffn)
{
	ffn->ungated = hf->family->ungated;
	if (is_moe)
		moe(hf, layer, ffn);
	if (!is_moe || hf->family->parallel_dense) {
		ffn->dense_width = dense_width(hf, layer);
		ffn->dense_bias = hf_flag(hf, HF_MLP_BIAS, hf->family->all_bias);
	}
}
