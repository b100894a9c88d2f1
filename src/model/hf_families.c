/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What does an architecture imply that its config.json does not say?
 *
 * One row a family, found by `architectures` first, then by `model_type` (copies of Grok-1 say
 * "mixtral", Kimi-K2 says DeepseekV3ForCausalLM): the nearest thing to a fact in such files.
 * Sources: the modelling code of each architecture in huggingface/transformers or beside its
 * public weights; element counts of published checkpoints decide where the two disagree.
 */
#include <stddef.h>
#include <string.h>

#include "model/hf_private.h"

/* Nothing is implied: what the keys of the file say. */
const struct hf_family hf_family_generic = {.architectures = NULL};

static const struct hf_family families[] = {
    {
	.architectures = "LlamaForCausalLM",
	.model_types = "llama",
	.mha = true,
    },
    {
	.architectures = "MistralForCausalLM MixtralForCausalLM",
	.model_types = "mistral mixtral",
    },
    {
	.architectures = "GraniteForCausalLM GraniteMoeForCausalLM GraniteMoeSharedForCausalLM",
	.model_types = "granite granitemoe granitemoeshared",
	.tied = true,
    },
    {
	.architectures = "Phi3ForCausalLM",
	.model_types = "phi3",
    },
    {
	.architectures = "SeedOssForCausalLM",
	.model_types = "seed_oss",
	.qkv_bias = true,
	.qkv_only = true,
	.head_dim = true,
    },
    {
	.architectures = "GPT2LMHeadModel",
	.model_types = "gpt2",
	.norms = 4,
	.final_norm = 2,
	.mha = true,
	.all_bias = true,
	.ungated = true,
	.learned_positions = true,
	.tied = true,
    },
    {
	/* Nemotron-4 (arXiv 2402.16819): squared ReLU, LayerNorm with bias */
	.architectures = "NemotronForCausalLM",
	.model_types = "nemotron",
	.norms = 4,
	.final_norm = 2,
	.ungated = true,
    },
    {
	.architectures = "GemmaForCausalLM",
	.model_types = "gemma",
	.head_dim = true,
	.tied = true,
    },
    {
	.architectures = "Gemma2ForCausalLM",
	.model_types = "gemma2",
	.norms = 4,
	.head_dim = true,
	.window_period = 2,
	.tied = true,
    },
    {
	.architectures = "Gemma3ForCausalLM Gemma3ForConditionalGeneration",
	.model_types = "gemma3 gemma3_text",
	.norms = 4,
	.qk_norm = QK_NORM_HEAD,
	.qk_always = true,
	.head_dim = true,
	.window_period = 6,
	.tied = true,
    },
    {
	.architectures = "Gemma4ForCausalLM Gemma4ForConditionalGeneration",
	.model_types = "gemma4 gemma4_text",
	.qk_norm = QK_NORM_HEAD,
	.qk_always = true,
	.head_dim = true,
	.window_period = 6,
	.parallel_dense = true,
	.tied = true,
    },
    {
	.architectures = "Qwen2ForCausalLM",
	.model_types = "qwen2",
	.qkv_bias = true,
	.qkv_only = true,
	.window_on_request = true,
    },
    {
	.architectures = "Qwen2MoeForCausalLM",
	.model_types = "qwen2_moe",
	.qkv_bias = true,
	.qkv_only = true,
	.shared_gate = true,
	.window_on_request = true,
    },
    {
	.architectures = "Qwen3ForCausalLM Qwen3MoeForCausalLM Qwen3VLForConditionalGeneration "
			 "Qwen3VLMoeForConditionalGeneration",
	.model_types = "qwen3 qwen3_moe qwen3_vl_text qwen3_vl_moe_text",
	.qk_norm = QK_NORM_HEAD,
	.qk_always = true,
	.head_dim = true,
	.window_on_request = true,
    },
    {
	.architectures = "Qwen3NextForCausalLM",
	.model_types = "qwen3_next",
	.qk_norm = QK_NORM_HEAD,
	.qk_always = true,
	.head_dim = true,
	.out_gate = true,
	.shared_gate = true,
	.window_on_request = true,
	.stored = STORED_UNLISTED_MTP,
    },
    {
	.architectures = "Qwen3_5ForConditionalGeneration Qwen3_5MoeForConditionalGeneration "
			 "Qwen3_5ForCausalLM Qwen3_5MoeForCausalLM",
	.model_types = "qwen3_5 qwen3_5_text qwen3_5_moe qwen3_5_moe_text",
	.qk_norm = QK_NORM_HEAD,
	.qk_always = true,
	.head_dim = true,
	.out_gate = true,
	.shared_gate = true,
	.window_on_request = true,
    },
    {
	.architectures = "OlmoeForCausalLM FlexOlmoForCausalLM Olmo2ForCausalLM Olmo3ForCausalLM",
	.model_types = "olmoe flex_olmo olmo2 olmo3",
	.qk_norm = QK_NORM_FULL,
	.qk_always = true,
	.mha = true,
    },
    {
	.architectures = "DeepseekForCausalLM",
	.model_types = "deepseek",
    },
    {
	.architectures = "DeepseekV2ForCausalLM",
	.model_types = "deepseek_v2",
	.mla = true,
    },
    /* DeepSeek's own releases, known by their MTP layer, are block-scaled fp8. */
    {
	.architectures = "DeepseekV3ForCausalLM DeepseekV32ForCausalLM",
	.model_types = "deepseek_v3 deepseek_v32 kimi_k2",
	.mla = true,
	.router_bias = true,
	.stored = STORED_MTP_COPIES | STORED_FP8_SCALES,
	.stored_needs_mtp = true,
    },
    {
	.architectures = "DeepseekV4ForCausalLM",
	.model_types = "deepseek_v4",
	.router_bias = true,
    },
    {
	.architectures = "Glm4MoeForCausalLM",
	.model_types = "glm4_moe",
	.qk_norm = QK_NORM_HEAD,
	.qkv_only = true,
	.head_dim = true,
	.router_bias = true,
	.stored = STORED_UNLISTED_MTP | STORED_MTP_COPIES,
    },
    {
	.architectures = "GlmMoeDsaForCausalLM Glm4MoeLiteForCausalLM",
	.model_types = "glm_moe_dsa glm4_moe_lite",
	.mla = true,
	.router_bias = true,
    },
    {
	.architectures = "Dots1ForCausalLM",
	.model_types = "dots1",
	.qk_norm = QK_NORM_HEAD,
	.qk_always = true,
	.router_bias = true,
    },
    {
	.architectures = "Llama4ForConditionalGeneration",
	.model_types = "llama4",
	.qk_weightless = true,
	.chunked = true,
	.shared_always = true,
	.shared_is_ffn = true,
	/* vision encoder and projector, the same in Scout and Maverick: the published
	 * safetensors total of Llama-4-Scout-17B-16E-Instruct less its language model */
	.tower = 871932416,
    },
    {
	.architectures = "Llama4ForCausalLM",
	.model_types = "llama4_text",
	.qk_weightless = true,
	.chunked = true,
	.shared_always = true,
	.shared_is_ffn = true,
    },
    {
	.architectures = "GptOssForCausalLM",
	.model_types = "gpt_oss",
	.head_dim = true,
	.sinks = true,
	.window_period = 2,
	.expert_bias = true,
	.router_bias = true,
    },
    {
	.architectures = "DbrxForCausalLM",
	.model_types = "dbrx",
    },
    {
	.architectures = "JambaForCausalLM",
	.model_types = "jamba",
    },
    {
	.architectures = "HunYuanMoEV1ForCausalLM HunYuanForCausalLM HunYuanDenseV1ForCausalLM",
	.model_types = "hunyuan_v1_moe hunyuan hunyuan_v1_dense",
	.qk_norm = QK_NORM_HEAD,
	.shared_is_ffn = true,
	.tied = true,
    },
    {
	.architectures = "MiniMaxM1ForCausalLM MiniMaxText01ForCausalLM MiniMaxForCausalLM",
	.model_types = "minimax_m1 minimax_text_01 minimax",
	.head_dim = true,
	.lightning = true,
	.mtp_unknown = true,
    },
    {
	.architectures = "MiniMaxM2ForCausalLM",
	.model_types = "minimax_m2",
	.qk_norm = QK_NORM_FULL,
	.head_dim = true,
	.router_bias = true,
	.mtp_unknown = true,
    },
    {
	.architectures = "MiniMaxM3ForCausalLM",
	.model_types = "minimax_m3",
	.qk_norm = QK_NORM_HEAD,
	.head_dim = true,
	.mtp_unknown = true,
    },
    {
	.architectures = "MiMoV2FlashForCausalLM",
	.model_types = "mimo_v2_flash",
	.head_dim = true,
	.mtp_dense = true,
	.stored = STORED_UNLISTED_MTP,
    },
    {
	.architectures = "Grok1ModelForCausalLM Grok1ForCausalLM",
	.model_types = "grok-1 grok",
	.norms = 4,
    },
    {
	.architectures = "PhiMoEForCausalLM PhimoeForCausalLM",
	.model_types = "phimoe",
	.norms = 4,
	.final_norm = 2,
    },
    {
	.architectures = "BailingMoeForCausalLM",
	.model_types = "bailing_moe",
	.qkv_only = true,
	.shared_by_count = true,
    },
    {
	.architectures = "BailingMoeV2ForCausalLM",
	.model_types = "bailing_moe_v2",
	.qk_norm = QK_NORM_HEAD,
	.qkv_only = true,
	.router_bias = true,
	.shared_by_count = true,
    },
    {
	.architectures = "Ernie4_5ForCausalLM Ernie4_5_MoeForCausalLM",
	.model_types = "ernie4_5 ernie4_5_moe ernie_moe",
	.router_bias = true,
	.shared_by_count = true,
	.mtp_unknown = true,
	.tied = true,
    },
    {
	.architectures = "Ernie4_5_VLMoeForConditionalGeneration "
			 "Ernie4_5_VL_MoeForConditionalGeneration",
	.model_types = "ernie4_5_vl_moe ernie4_5_moe_vl ernie4_5_vl_moe_text",
	.router_bias = true,
	.shared_by_count = true,
	.modality_lists = true,
	.mtp_unknown = true,
	.tied = true,
    },
    {
	.architectures = "NemotronHForCausalLM",
	.model_types = "nemotron_h",
	.norms = 1,
	.blocks = true,
	.head_dim = true,
	.ungated = true,
	.router_bias = true,
	.stored = STORED_NO_ROUTER_BIAS,
    },
    {
	.architectures = "Step3p7FlashForCausalLM Step3p5ForCausalLM",
	.model_types = "step3p7 step3p5",
	.head_dim = true,
	.mtp_unknown = true,
    },
    {
	.architectures = "KimiK3ForConditionalGeneration",
	.model_types = "kimi_k3",
	.uncounted = "Kimi delta attention, latent experts with a norm and attention residuals",
    },
    {
	.architectures = "KimiLinearForCausalLM",
	.model_types = "kimi_linear",
	.uncounted = "Kimi delta attention",
    },
    {
	.architectures = "LongcatFlashForCausalLM",
	.model_types = "longcat_flash",
	.uncounted = "two attention blocks a layer and zero-compute experts",
    },
    {
	.architectures = "Gemma3nForConditionalGeneration Gemma3nForCausalLM",
	.model_types = "gemma3n gemma3n_text",
	.uncounted = "per-layer embeddings and alternating updates",
    },
};

/* Is `name` one of the words? */
static bool
has_word(const char *words, const char *name)
{
	size_t length = strlen(name);

	for (const char *at = words; at && (at = strstr(at, name)) != NULL; at += length) {
		bool starts = at == words || at[-1] == ' ';

		if (length && starts && (at[length] == ' ' || at[length] == '\0'))
			return true;
		if (!length)
			return false;
	}
	return false;
}

static const char *
first_architecture(const struct doc *map)
{
	const struct doc *name = doc_get(map, "architectures");

	if (name && name->kind == DOC_LIST)
		name = name->first;
	return name && name->kind == DOC_STRING ? name->text : NULL;
}

static const char *
model_type(const struct doc *map)
{
	const struct doc *name = doc_get(map, "model_type");

	return name && name->kind == DOC_STRING ? name->text : NULL;
}

static const struct hf_family *
find(const char *name, bool by_type)
{
	for (size_t i = 0; name && i < sizeof(families) / sizeof(*families); i++)
		if (has_word(by_type ? families[i].model_types : families[i].architectures, name))
			return &families[i];
	return NULL;
}

const char *
hf_architecture(const struct hf *hf)
{
	const char *name = first_architecture(hf->outer);

	if (!name)
		name = first_architecture(hf->inner);
	return name ? name : model_type(hf->outer);
}

const struct hf_family *
hf_family_find(const struct hf *hf, const char **type)
{
	const struct hf_family *family = find(first_architecture(hf->outer), false);

	*type = NULL;
	if (!family)
		family = find(first_architecture(hf->inner), false);
	if (family)
		return family;
	*type = model_type(hf->outer);
	family = find(*type, true);
	if (family)
		return family;
	*type = model_type(hf->inner);
	return find(*type, true);
}
