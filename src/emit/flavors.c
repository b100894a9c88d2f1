/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which of torchtitan's model flavors is a model, exactly?
 *
 * Experts, widths and layers are not settings there: they are in the flavor. Source:
 * pytorch/torchtitan models/{deepseek_v3,gpt_oss,llama3,llama4,qwen3}/__init__.py, v0.2.2 and 0.3.
 */
#include <string.h>

#include "emit/private.h"

/* clang-format off */
static const struct flavor flavors[] = {
	{"deepseek_v3", "16B", "deepseek_v3_16b", true, "DeepseekV2ForCausalLM",
	    2048, 27, 64, 102400},
	{"deepseek_v3", "236B", "deepseek_v3_671b", false, "DeepseekV2ForCausalLM",
	    5120, 60, 160, 102400},
	{"deepseek_v3", "671B", "deepseek_v3_671b", true, "DeepseekV3ForCausalLM",
	    7168, 61, 256, 129280},
	{"gpt_oss", "20b", "gpt_oss_20b", true, "GptOssForCausalLM", 2880, 24, 32, 201088},
	{"gpt_oss", "120b", "gpt_oss_120b", true, "GptOssForCausalLM", 2880, 36, 128, 201088},
	{"llama3", "8B", "llama3_8b", true, "LlamaForCausalLM", 4096, 32, 0, 128256},
	{"llama3", "70B", "llama3_70b", true, "LlamaForCausalLM", 8192, 80, 0, 128256},
	{"llama3", "405B", "llama3_405b", true, "LlamaForCausalLM", 16384, 126, 0, 128256},
	{"qwen3", "8B", "qwen3_14b", false, "Qwen3ForCausalLM", 4096, 36, 0, 151936},
	{"qwen3", "14B", "qwen3_14b", true, "Qwen3ForCausalLM", 5120, 40, 0, 151936},
	{"qwen3", "32B", "qwen3_32b", true, "Qwen3ForCausalLM", 5120, 64, 0, 151936},
	{"qwen3", "30B-A3B", "qwen3_30b_a3b", true, "Qwen3MoeForCausalLM",
	    2048, 48, 128, 151936},
	{"qwen3", "235B-A22B", "qwen3_30b_a3b", false, "Qwen3MoeForCausalLM",
	    4096, 94, 128, 151936},
	{.module = NULL},
};
/* clang-format on */

const struct flavor *
flavor_of(const struct plan_view *plan)
{
	const struct model *model = plan->model;
	const struct layer_kind *moe = model_moe(model);
	int64_t experts = moe ? moe->ffn.experts : 0;

	for (const struct flavor *f = flavors; f->module; f++)
		if (model->architecture && strcmp(model->architecture, f->architecture) == 0 &&
		    model->hidden == f->hidden && model->layers == f->layers &&
		    model->vocab == f->vocab && experts == f->experts)
			return f;
	return NULL;
}
