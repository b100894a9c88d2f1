/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_TEST_HF_CASES_H
#define MOEPLAN_TEST_HF_CASES_H

#include <stdint.h>

/*
 * Shape keys of public configurations, by Hugging Face repository, and what they count to.
 * An apostrophe stands for a quote. `published` is the repository's safetensors total, exact,
 * and `made_of` what it holds beside the main model ("-x": it leaves x out); 0 where the only
 * public figures are rounded: there the count pins the formula and agrees with the figure.
 */

struct hf_case {
	const char *name, *source, *text;
	int64_t total, mtp, active, active_without_ends;
	const char *extras, *unmodelled;
	int64_t published;
	const char *made_of;
};

/* clang-format off */
static const struct hf_case hf_cases[] = {
	{"kimi-k2.5", "moonshotai/Kimi-K2.5",
	    "{'architectures': ['KimiK25ForConditionalGeneration'], 'model_type': 'kimi_k25', "
	    "'text_config': {'architectures': ['DeepseekV3ForCausalLM'], "
	    "'attention_bias': false, 'first_k_dense_replace': 1, 'hidden_size': 7168, "
	    "'intermediate_size': 18432, 'kv_lora_rank': 512, 'max_position_embeddings': 262144, "
	    "'model_type': 'kimi_k2', 'moe_intermediate_size': 2048, 'moe_layer_freq': 1, "
	    "'n_group': 1, 'n_routed_experts': 384, 'n_shared_experts': 1, "
	    "'num_attention_heads': 64, 'num_experts_per_tok': 8, 'num_hidden_layers': 61, "
	    "'num_key_value_heads': 64, 'num_nextn_predict_layers': 0, 'q_lora_rank': 1536, "
	    "'qk_nope_head_dim': 128, 'qk_rope_head_dim': 64, 'tie_word_embeddings': false, "
	    "'topk_group': 1, 'topk_method': 'noaux_tc', 'v_head_dim': 128, "
	    "'vocab_size': 163840}, 'tie_word_embeddings': false}",
	    1026408232448, 0, 32861500928, 30512690688,
	    "",
	    NULL,
	    0, ""},
	{"kimi-k3", "moonshotai/Kimi-K3",
	    "{'architectures': ['KimiK3ForConditionalGeneration'], 'model_type': 'kimi_k3', "
	    "'text_config': {'architectures': ['KimiLinearForCausalLM'], "
	    "'first_k_dense_replace': 1, 'hidden_size': 7168, 'intermediate_size': 33792, "
	    "'kv_lora_rank': 512, 'linear_attn_config': {'num_heads': 96}, "
	    "'max_position_embeddings': 1048576, 'model_type': 'kimi_linear', "
	    "'moe_intermediate_size': 3072, 'moe_layer_freq': 1, 'num_attention_heads': 96, "
	    "'num_expert_group': 1, 'num_experts': 896, 'num_experts_per_token': 16, "
	    "'num_hidden_layers': 93, 'num_key_value_heads': 96, 'num_nextn_predict_layers': 0, "
	    "'num_shared_experts': 2, 'q_lora_rank': 1536, 'qk_nope_head_dim': 128, "
	    "'qk_rope_head_dim': 64, 'routed_expert_hidden_size': 3584, "
	    "'tie_word_embeddings': false, 'topk_group': 1, 'topk_method': 'noaux_tc', "
	    "'v_head_dim': 128, 'vocab_size': 163840}, 'tie_word_embeddings': false}",
	    0, 0, 0, 0, "", NULL, 0, ""},
	{"qwen3-0.6b", "Qwen/Qwen3-0.6B",
	    "{'architectures': ['Qwen3ForCausalLM'], 'attention_bias': false, 'head_dim': 128, "
	    "'hidden_size': 1024, 'intermediate_size': 3072, 'max_position_embeddings': 40960, "
	    "'max_window_layers': 28, 'model_type': 'qwen3', 'num_attention_heads': 16, "
	    "'num_hidden_layers': 28, 'num_key_value_heads': 8, 'sliding_window': null, "
	    "'tie_word_embeddings': true, 'use_sliding_window': false, 'vocab_size': 151936}",
	    596049920, 0, 596049920, 440467456,
	    "",
	    NULL,
	    0, ""},
	{"qwen3-1.7b", "Qwen/Qwen3-1.7B",
	    "{'architectures': ['Qwen3ForCausalLM'], 'attention_bias': false, 'head_dim': 128, "
	    "'hidden_size': 2048, 'intermediate_size': 6144, 'max_position_embeddings': 40960, "
	    "'max_window_layers': 28, 'model_type': 'qwen3', 'num_attention_heads': 16, "
	    "'num_hidden_layers': 28, 'num_key_value_heads': 8, 'sliding_window': null, "
	    "'tie_word_embeddings': true, 'use_sliding_window': false, 'vocab_size': 151936}",
	    1720574976, 0, 1720574976, 1409410048,
	    "",
	    NULL,
	    0, ""},
	{"qwen3-4b", "Qwen/Qwen3-4B",
	    "{'vocab_size': 151936, 'hidden_size': 2560, 'intermediate_size': 9728, "
	    "'num_hidden_layers': 36, 'num_attention_heads': 32, 'num_key_value_heads': 8, "
	    "'head_dim': 128, 'max_position_embeddings': 40960, 'tie_word_embeddings': true, "
	    "'architectures': ['Qwen3ForCausalLM'], 'model_type': 'qwen3'}",
	    4022468096, 0, 4022468096, 3633511936,
	    "",
	    NULL,
	    0, ""},
	{"qwen3-14b", "Qwen/Qwen3-14B",
	    "{'vocab_size': 151936, 'hidden_size': 5120, 'intermediate_size': 17408, "
	    "'num_hidden_layers': 40, 'num_attention_heads': 40, 'num_key_value_heads': 8, "
	    "'head_dim': 128, 'max_position_embeddings': 40960, 'tie_word_embeddings': false, "
	    "'architectures': ['Qwen3ForCausalLM'], 'model_type': 'qwen3'}",
	    14768307200, 0, 14768307200, 13212482560,
	    "",
	    NULL,
	    0, ""},
	{"qwen3-next-80b-a3b", "Qwen/Qwen3-Next-80B-A3B-Instruct",
	    "{'architectures': ['Qwen3NextForCausalLM'], 'decoder_sparse_step': 1, "
	    "'full_attention_interval': 4, 'head_dim': 256, 'hidden_size': 2048, "
	    "'intermediate_size': 5120, 'linear_conv_kernel_dim': 4, 'linear_key_head_dim': 128, "
	    "'linear_num_key_heads': 16, 'linear_num_value_heads': 32, "
	    "'linear_value_head_dim': 128, 'max_position_embeddings': 262144, "
	    "'mlp_only_layers': [], 'model_type': 'qwen3_next', 'moe_intermediate_size': 512, "
	    "'num_attention_heads': 16, 'num_experts': 512, 'num_experts_per_tok': 10, "
	    "'num_hidden_layers': 48, 'num_key_value_heads': 2, "
	    "'shared_expert_intermediate_size': 512, 'tie_word_embeddings': false, "
	    "'vocab_size': 151936}",
	    79674391296, 0, 3874929408, 3252599552,
	    "mtp_unlisted=1650471424",
	    NULL,
	    81324862720, "mtp_unlisted"},
	{"qwen3.5-35b-a3b", "Qwen/Qwen3.5-35B-A3B",
	    "{'architectures': ['Qwen3_5MoeForConditionalGeneration'], "
	    "'model_type': 'qwen3_5_moe', 'text_config': {'attention_bias': false, "
	    "'attn_output_gate': true, 'full_attention_interval': 4, 'head_dim': 256, "
	    "'hidden_size': 2048, 'layer_types': ['linear_attention', 'linear_attention', "
	    "'linear_attention', 'full_attention', 'linear_attention', 'linear_attention', "
	    "'linear_attention', 'full_attention', 'linear_attention', 'linear_attention', "
	    "'linear_attention', 'full_attention', 'linear_attention', 'linear_attention', "
	    "'linear_attention', 'full_attention', 'linear_attention', 'linear_attention', "
	    "'linear_attention', 'full_attention', 'linear_attention', 'linear_attention', "
	    "'linear_attention', 'full_attention', 'linear_attention', 'linear_attention', "
	    "'linear_attention', 'full_attention', 'linear_attention', 'linear_attention', "
	    "'linear_attention', 'full_attention', 'linear_attention', 'linear_attention', "
	    "'linear_attention', 'full_attention', 'linear_attention', 'linear_attention', "
	    "'linear_attention', 'full_attention'], 'linear_conv_kernel_dim': 4, "
	    "'linear_key_head_dim': 128, 'linear_num_key_heads': 16, "
	    "'linear_num_value_heads': 32, 'linear_value_head_dim': 128, "
	    "'max_position_embeddings': 262144, 'mlp_only_layers': [], "
	    "'model_type': 'qwen3_5_moe_text', 'moe_intermediate_size': 512, "
	    "'mtp_num_hidden_layers': 1, 'num_attention_heads': 16, 'num_experts': 256, "
	    "'num_experts_per_tok': 8, 'num_hidden_layers': 40, 'num_key_value_heads': 2, "
	    "'shared_expert_intermediate_size': 512, 'vocab_size': 248320}, "
	    "'tie_word_embeddings': false}",
	    34660610688, 844640768, 3454988928, 2437870208,
	    "",
	    NULL,
	    0, ""},
	{"qwen3.5-122b-a10b", "Qwen/Qwen3.5-122B-A10B",
	    "{'architectures': ['Qwen3_5MoeForConditionalGeneration'], "
	    "'model_type': 'qwen3_5_moe', 'text_config': {'attention_bias': false, "
	    "'attn_output_gate': true, 'full_attention_interval': 4, 'head_dim': 256, "
	    "'hidden_size': 3072, 'layer_types': ['linear_attention', 'linear_attention', "
	    "'linear_attention', 'full_attention', 'linear_attention', 'linear_attention', "
	    "'linear_attention', 'full_attention', 'linear_attention', 'linear_attention', "
	    "'linear_attention', 'full_attention', 'linear_attention', 'linear_attention', "
	    "'linear_attention', 'full_attention', 'linear_attention', 'linear_attention', "
	    "'linear_attention', 'full_attention', 'linear_attention', 'linear_attention', "
	    "'linear_attention', 'full_attention', 'linear_attention', 'linear_attention', "
	    "'linear_attention', 'full_attention', 'linear_attention', 'linear_attention', "
	    "'linear_attention', 'full_attention', 'linear_attention', 'linear_attention', "
	    "'linear_attention', 'full_attention', 'linear_attention', 'linear_attention', "
	    "'linear_attention', 'full_attention', 'linear_attention', 'linear_attention', "
	    "'linear_attention', 'full_attention', 'linear_attention', 'linear_attention', "
	    "'linear_attention', 'full_attention'], 'linear_conv_kernel_dim': 4, "
	    "'linear_key_head_dim': 128, 'linear_num_key_heads': 16, "
	    "'linear_num_value_heads': 64, 'linear_value_head_dim': 128, "
	    "'max_position_embeddings': 262144, 'mlp_only_layers': [], "
	    "'model_type': 'qwen3_5_moe_text', 'moe_intermediate_size': 1024, "
	    "'mtp_num_hidden_layers': 1, 'num_attention_heads': 32, 'num_experts': 256, "
	    "'num_experts_per_tok': 8, 'num_hidden_layers': 48, 'num_key_value_heads': 2, "
	    "'shared_expert_intermediate_size': 1024, 'vocab_size': 248320}, "
	    "'tie_word_embeddings': false}",
	    122111526912, 2523679232, 9771288576, 8245610496,
	    "",
	    NULL,
	    0, ""},
	{"qwen3.5-397b-a17b", "Qwen/Qwen3.5-397B-A17B",
	    "{'architectures': ['Qwen3_5MoeForConditionalGeneration'], "
	    "'model_type': 'qwen3_5_moe', 'text_config': {'attention_bias': false, "
	    "'attn_output_gate': true, 'full_attention_interval': 4, 'head_dim': 256, "
	    "'hidden_size': 4096, 'layer_types': ['linear_attention', 'linear_attention', "
	    "'linear_attention', 'full_attention', 'linear_attention', 'linear_attention', "
	    "'linear_attention', 'full_attention', 'linear_attention', 'linear_attention', "
	    "'linear_attention', 'full_attention', 'linear_attention', 'linear_attention', "
	    "'linear_attention', 'full_attention', 'linear_attention', 'linear_attention', "
	    "'linear_attention', 'full_attention', 'linear_attention', 'linear_attention', "
	    "'linear_attention', 'full_attention', 'linear_attention', 'linear_attention', "
	    "'linear_attention', 'full_attention', 'linear_attention', 'linear_attention', "
	    "'linear_attention', 'full_attention', 'linear_attention', 'linear_attention', "
	    "'linear_attention', 'full_attention', 'linear_attention', 'linear_attention', "
	    "'linear_attention', 'full_attention', 'linear_attention', 'linear_attention', "
	    "'linear_attention', 'full_attention', 'linear_attention', 'linear_attention', "
	    "'linear_attention', 'full_attention', 'linear_attention', 'linear_attention', "
	    "'linear_attention', 'full_attention', 'linear_attention', 'linear_attention', "
	    "'linear_attention', 'full_attention', 'linear_attention', 'linear_attention', "
	    "'linear_attention', 'full_attention'], 'linear_conv_kernel_dim': 4, "
	    "'linear_key_head_dim': 128, 'linear_num_key_heads': 16, "
	    "'linear_num_value_heads': 64, 'linear_value_head_dim': 128, "
	    "'max_position_embeddings': 262144, 'mlp_only_layers': [], "
	    "'model_type': 'qwen3_5_moe_text', 'moe_intermediate_size': 1024, "
	    "'mtp_num_hidden_layers': 1, 'num_attention_heads': 32, 'num_experts': 512, "
	    "'num_experts_per_tok': 10, 'num_hidden_layers': 60, 'num_key_value_heads': 2, "
	    "'shared_expert_intermediate_size': 1024, 'vocab_size': 248320}, "
	    "'tie_word_embeddings': false}",
	    396346350336, 6595568128, 17349040896, 15314803456,
	    "",
	    NULL,
	    0, ""},
	{"glm-4.5", "zai-org/GLM-4.5",
	    "{'architectures': ['Glm4MoeForCausalLM'], 'attention_bias': true, "
	    "'first_k_dense_replace': 3, 'head_dim': 128, 'hidden_size': 5120, "
	    "'intermediate_size': 12288, 'max_position_embeddings': 131072, 'model_type': 'glm', "
	    "'moe_intermediate_size': 1536, 'n_routed_experts': 160, 'n_shared_experts': 1, "
	    "'num_attention_heads': 96, 'num_experts_per_tok': 8, 'num_hidden_layers': 92, "
	    "'num_key_value_heads': 8, 'tie_word_embeddings': false, 'use_qk_norm': true, "
	    "'vocab_size': 151552}",
	    352797829024, 0, 33632266144, 32080373664,
	    "mtp_unlisted=3988069792 mtp_duplicates=1551892480",
	    NULL,
	    358337791296, "mtp_unlisted mtp_duplicates"},
	{"glm-5", "zai-org/GLM-5",
	    "{'architectures': ['GlmMoeDsaForCausalLM'], 'attention_bias': false, "
	    "'first_k_dense_replace': 3, 'head_dim': 64, 'hidden_size': 6144, "
	    "'index_head_dim': 128, 'index_n_heads': 32, 'index_topk': 2048, "
	    "'intermediate_size': 12288, 'kv_lora_rank': 512, 'max_position_embeddings': 202752, "
	    "'moe_intermediate_size': 2048, 'moe_layer_freq': 1, 'model_type': 'glm_moe_dsa', "
	    "'n_group': 1, 'n_routed_experts': 256, 'n_shared_experts': 1, "
	    "'num_attention_heads': 64, 'num_experts_per_tok': 8, 'num_hidden_layers': 78, "
	    "'num_key_value_heads': 64, 'num_nextn_predict_layers': 1, 'q_lora_rank': 2048, "
	    "'qk_nope_head_dim': 192, 'qk_rope_head_dim': 64, 'tie_word_embeddings': false, "
	    "'topk_group': 1, 'topk_method': 'noaux_tc', 'v_head_dim': 256, 'vocab_size': 154880}",
	    743911218432, 9952920576, 41784728832, 39881563392,
	    "",
	    "sparse attention with an indexer (78 of 78)",
	    753864139008, "mtp"},
	{"glm-5.2", "zai-org/GLM-5.2",
	    "{'architectures': ['GlmMoeDsaForCausalLM'], 'attention_bias': false, "
	    "'first_k_dense_replace': 3, 'head_dim': 192, 'hidden_size': 6144, "
	    "'index_head_dim': 128, 'index_n_heads': 32, 'index_topk': 2048, "
	    "'indexer_types': ['full', 'full', 'full', 'shared', 'shared', 'shared', 'full', "
	    "'shared', 'shared', 'shared', 'full', 'shared', 'shared', 'shared', 'full', "
	    "'shared', 'shared', 'shared', 'full', 'shared', 'shared', 'shared', 'full', "
	    "'shared', 'shared', 'shared', 'full', 'shared', 'shared', 'shared', 'full', "
	    "'shared', 'shared', 'shared', 'full', 'shared', 'shared', 'shared', 'full', "
	    "'shared', 'shared', 'shared', 'full', 'shared', 'shared', 'shared', 'full', "
	    "'shared', 'shared', 'shared', 'full', 'shared', 'shared', 'shared', 'full', "
	    "'shared', 'shared', 'shared', 'full', 'shared', 'shared', 'shared', 'full', "
	    "'shared', 'shared', 'shared', 'full', 'shared', 'shared', 'shared', 'full', "
	    "'shared', 'shared', 'shared', 'full', 'shared', 'shared', 'shared'], "
	    "'intermediate_size': 12288, 'kv_lora_rank': 512, "
	    "'max_position_embeddings': 1048576, 'mlp_layer_types': ['dense', 'dense', 'dense', "
	    "'sparse', 'sparse', 'sparse', 'sparse', 'sparse', 'sparse', 'sparse', 'sparse', "
	    "'sparse', 'sparse', 'sparse', 'sparse', 'sparse', 'sparse', 'sparse', 'sparse', "
	    "'sparse', 'sparse', 'sparse', 'sparse', 'sparse', 'sparse', 'sparse', 'sparse', "
	    "'sparse', 'sparse', 'sparse', 'sparse', 'sparse', 'sparse', 'sparse', 'sparse', "
	    "'sparse', 'sparse', 'sparse', 'sparse', 'sparse', 'sparse', 'sparse', 'sparse', "
	    "'sparse', 'sparse', 'sparse', 'sparse', 'sparse', 'sparse', 'sparse', 'sparse', "
	    "'sparse', 'sparse', 'sparse', 'sparse', 'sparse', 'sparse', 'sparse', 'sparse', "
	    "'sparse', 'sparse', 'sparse', 'sparse', 'sparse', 'sparse', 'sparse', 'sparse', "
	    "'sparse', 'sparse', 'sparse', 'sparse', 'sparse', 'sparse', 'sparse', 'sparse', "
	    "'sparse', 'sparse', 'sparse'], 'model_type': 'glm_moe_dsa', "
	    "'moe_intermediate_size': 2048, 'moe_layer_freq': 1, 'n_group': 1, "
	    "'n_routed_experts': 256, 'n_shared_experts': 1, 'num_attention_heads': 64, "
	    "'num_experts_per_tok': 8, 'num_hidden_layers': 78, 'num_key_value_heads': 64, "
	    "'num_nextn_predict_layers': 1, 'q_lora_rank': 2048, 'qk_nope_head_dim': 192, "
	    "'qk_rope_head_dim': 64, 'tie_word_embeddings': false, 'topk_group': 1, "
	    "'topk_method': 'noaux_tc', 'v_head_dim': 256, 'vocab_size': 154880}",
	    743377019904, 9952920576, 41250530304, 39347364864,
	    "",
	    "sparse attention with an indexer (78 of 78)",
	    753329940480, "mtp"},
	{"deepseek-v4-flash", "deepseek-ai/DeepSeek-V4-Flash",
	    "{'architectures': ['DeepseekV4ForCausalLM'], 'attention_bias': false, 'hc_mult': 4, "
	    "'head_dim': 512, 'hidden_size': 4096, 'index_head_dim': 128, 'index_n_heads': 64, "
	    "'index_topk': 512, 'max_position_embeddings': 1048576, 'model_type': 'deepseek_v4', "
	    "'moe_intermediate_size': 2048, 'n_routed_experts': 256, 'n_shared_experts': 1, "
	    "'num_attention_heads': 64, 'num_experts_per_tok': 6, 'num_hidden_layers': 43, "
	    "'num_hash_layers': 3, 'num_key_value_heads': 1, 'num_nextn_predict_layers': 1, "
	    "'o_groups': 8, 'o_lora_rank': 1024, 'q_lora_rank': 1024, 'qk_rope_head_dim': 64, "
	    "'sliding_window': 128, 'tie_word_embeddings': false, 'topk_method': 'noaux_tc', "
	    "'vocab_size': 129280, 'compress_ratios': [0, 0, 4, 128, 4, 128, 4, 128, 4, 128, 4, "
	    "128, 4, 128, 4, 128, 4, 128, 4, 128, 4, 128, 4, 128, 4, 128, 4, 128, 4, 128, 4, "
	    "128, 4, 128, 4, 128, 4, 128, 4, 128, 4, 128, 4, 0]}",
	    284332240471, 6610048891, 13799632471, 12740570711,
	    "hash_tables=2327040",
	    "compressed latent attention with hyper-connections (43 of 43)",
	    290944616402, "mtp hash_tables"},
	{"deepseek-v4-pro", "deepseek-ai/DeepSeek-V4-Pro",
	    "{'architectures': ['DeepseekV4ForCausalLM'], 'attention_bias': false, 'hc_mult': 4, "
	    "'head_dim': 512, 'hidden_size': 7168, 'index_head_dim': 128, 'index_n_heads': 64, "
	    "'index_topk': 1024, 'max_position_embeddings': 1048576, "
	    "'model_type': 'deepseek_v4', 'moe_intermediate_size': 3072, "
	    "'n_routed_experts': 384, 'n_shared_experts': 1, 'num_attention_heads': 128, "
	    "'num_experts_per_tok': 6, 'num_hidden_layers': 61, 'num_hash_layers': 3, "
	    "'num_key_value_heads': 1, 'num_nextn_predict_layers': 1, 'o_groups': 16, "
	    "'o_lora_rank': 1024, 'q_lora_rank': 1536, 'qk_rope_head_dim': 64, "
	    "'sliding_window': 128, 'tie_word_embeddings': false, 'topk_method': 'noaux_tc', "
	    "'vocab_size': 129280, 'compress_ratios': [128, 128, 4, 128, 4, 128, 4, 128, 4, 128, "
	    "4, 128, 4, 128, 4, 128, 4, 128, 4, 128, 4, 128, 4, 128, 4, 128, 4, 128, 4, 128, 4, "
	    "128, 4, 128, 4, 128, 4, 128, 4, 128, 4, 128, 4, 128, 4, 128, 4, 128, 4, 128, 4, "
	    "128, 4, 128, 4, 128, 4, 128, 4, 128, 4, 0]}",
	    1572997201763, 25840145979, 49779081059, 47925722979,
	    "hash_tables=2327040",
	    "compressed latent attention with hyper-connections (61 of 61)",
	    1598839674782, "mtp hash_tables"},
	{"mimo-v2-flash", "XiaomiMiMo/MiMo-V2-Flash",
	    "{'architectures': ['MiMoV2FlashForCausalLM'], 'model_type': 'mimo_v2_flash', "
	    "'num_hidden_layers': 48, 'hidden_size': 4096, 'num_attention_heads': 64, "
	    "'num_key_value_heads': 4, 'head_dim': 192, 'v_head_dim': 128, "
	    "'intermediate_size': 16384, 'vocab_size': 152576, "
	    "'max_position_embeddings': 262144, 'sliding_window': 128, "
	    "'attention_chunk_size': 128, 'swa_num_attention_heads': 64, "
	    "'swa_num_key_value_heads': 8, 'swa_head_dim': 192, 'swa_v_head_dim': 128, "
	    "'hybrid_layer_pattern': [0, 1, 1, 1, 1, 0, 1, 1, 1, 1, 1, 0, 1, 1, 1, 1, 1, 0, 1, "
	    "1, 1, 1, 1, 0, 1, 1, 1, 1, 1, 0, 1, 1, 1, 1, 1, 0, 1, 1, 1, 1, 1, 0, 1, 1, 1, 1, 1, "
	    "0], 'moe_layer_freq': [0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, "
	    "1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, "
	    "1], 'moe_intermediate_size': 2048, 'n_routed_experts': 256, "
	    "'n_shared_experts': null, 'num_experts_per_tok': 8, 'n_group': 1, 'topk_group': 1, "
	    "'topk_method': 'noaux_tc', 'attention_bias': false, "
	    "'add_swa_attention_sink_bias': true, 'add_full_attention_sink_bias': false, "
	    "'tie_word_embeddings': false}",
	    308778780864, 0, 15445936320, 14196033728,
	    "mtp_unlisted=329273408",
	    NULL,
	    0, ""},
	{"minimax-m1", "MiniMaxAI/MiniMax-M1-80k",
	    "{'architectures': ['MiniMaxM1ForCausalLM'], 'attn_type_list': [0, 0, 0, 0, 0, 0, 0, "
	    "1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, "
	    "0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, "
	    "1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1], 'head_dim': 128, "
	    "'hidden_size': 6144, 'intermediate_size': 9216, "
	    "'max_position_embeddings': 10240000, 'model_type': 'minimax_m1', "
	    "'num_attention_heads': 64, 'num_experts_per_tok': 2, 'num_hidden_layers': 80, "
	    "'num_key_value_heads': 8, 'num_local_experts': 32, 'shared_intermediate_size': 0, "
	    "'sliding_window': null, 'tie_word_embeddings': false, 'vocab_size': 200064}",
	    456089655296, 0, 48403306496, 45944920064,
	    "",
	    NULL,
	    456089655296, ""},
	{"minimax-m3", "MiniMaxAI/MiniMax-M3",
	    "{'architectures': ['MiniMaxM3ForCausalLM'], 'attention_output_gate': false, "
	    "'dense_intermediate_size': 12288, 'first_k_dense_replace': 3, 'head_dim': 128, "
	    "'hidden_size': 6144, 'intermediate_size': 3072, 'max_position_embeddings': 1048576, "
	    "'model_type': 'minimax_m3', 'moe_intermediate_size': 3072, 'moe_layer_freq': [0, 0, "
	    "0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, "
	    "1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, "
	    "1, 1], 'n_shared_experts': 1, 'num_attention_heads': 64, 'num_experts_per_tok': 4, "
	    "'num_hidden_layers': 60, 'num_key_value_heads': 4, 'num_local_experts': 128, "
	    "'num_mtp_modules': 7, 'num_nextn_predict_layers': 1, 'qk_norm_type': 'per_head', "
	    "'shared_intermediate_size': 3072, "
	    "'sparse_attention_config': {'sparse_attention_freq': [0, 0, 0, 1, 1, 1, 1, 1, 1, 1, "
	    "1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, "
	    "1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1], "
	    "'sparse_block_size': 128, 'sparse_topk_blocks': 16}, 'tie_word_embeddings': false, "
	    "'use_qk_norm': true, 'use_routing_bias': true, 'vocab_size': 200064}",
	    425950425216, 0, 25738326144, 23279939712,
	    "",
	    "block-sparse attention (57 of 60)",
	    0, ""},
	{"granite-3.1-3b-a800m", "ibm-granite/granite-3.1-3b-a800m-instruct",
	    "{'architectures': ['GraniteMoeForCausalLM'], 'hidden_size': 1536, "
	    "'intermediate_size': 512, 'max_position_embeddings': 131072, "
	    "'model_type': 'granitemoe', 'num_attention_heads': 24, 'num_experts_per_tok': 8, "
	    "'num_hidden_layers': 32, 'num_key_value_heads': 8, 'num_local_experts': 40, "
	    "'tie_word_embeddings': true, 'vocab_size': 49155}",
	    3298793472, 0, 882874368, 807372288,
	    "",
	    NULL,
	    0, ""},
	{"ling-lite", "inclusionAI/Ling-lite",
	    "{'architectures': ['BailingMoeForCausalLM'], 'first_k_dense_replace': 0, "
	    "'hidden_size': 2048, 'intermediate_size': 5632, 'max_position_embeddings': 16384, "
	    "'model_type': 'bailing_moe', 'moe_intermediate_size': 1408, 'num_experts': 64, "
	    "'num_shared_experts': 2, 'num_attention_heads': 16, 'num_experts_per_tok': 6, "
	    "'num_hidden_layers': 28, 'num_key_value_heads': 4, 'tie_word_embeddings': false, "
	    "'use_bias': false, 'use_qkv_bias': false, 'vocab_size': 126464}",
	    16801974272, 0, 2753153024, 2235156480,
	    "",
	    NULL,
	    0, ""},
	{"ling-plus", "inclusionAI/Ling-plus",
	    "{'architectures': ['BailingMoeForCausalLM'], 'first_k_dense_replace': 0, "
	    "'hidden_size': 5376, 'intermediate_size': 12288, 'max_position_embeddings': 16384, "
	    "'model_type': 'bailing_moe', 'moe_intermediate_size': 3072, 'n_routed_experts': 64, "
	    "'n_shared_experts': 1, 'num_attention_heads': 56, 'num_experts_per_tok': 4, "
	    "'num_hidden_layers': 88, 'num_key_value_heads': 8, 'tie_word_embeddings': false, "
	    "'use_bias': false, 'use_qkv_bias': false, 'vocab_size': 126464}",
	    290602910976, 0, 29004170496, 27644429568,
	    "",
	    NULL,
	    0, ""},
	{"ernie-4.5-300b-a47b", "baidu/ERNIE-4.5-300B-A47B-PT",
	    "{'model_type': 'ernie_moe', 'hidden_size': 8192, 'intermediate_size': 28672, "
	    "'max_position_embeddings': 131072, 'num_attention_heads': 64, "
	    "'num_key_value_heads': 8, 'num_hidden_layers': 54, 'vocab_size': 103424, "
	    "'moe_num_experts': 64, 'moe_num_shared_experts': 0, 'moe_layer_start_index': 3, "
	    "'moe_layer_end_index': 53, 'moe_intermediate_size': 3584, 'moe_k': 8, "
	    "'moe_layer_interval': 1, 'tie_word_embeddings': true}",
	    298636913856, 0, 47079337152, 46232087744,
	    "",
	    NULL,
	    0, ""},
	{"nemotron-3-nano-30b-a3b", "nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16",
	    "{'architectures': ['NemotronHForCausalLM'], 'attention_bias': false, "
	    "'conv_kernel': 4, 'expand': 2, 'head_dim': 128, 'hidden_size': 2688, "
	    "'hybrid_override_pattern': 'MEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEMEM*EMEMEMEME', "
	    "'intermediate_size': 1856, 'mamba_head_dim': 64, 'mamba_num_heads': 64, "
	    "'mamba_proj_bias': false, 'max_position_embeddings': 262144, 'mlp_bias': false, "
	    "'model_type': 'nemotron_h', 'moe_intermediate_size': 1856, "
	    "'moe_shared_expert_intermediate_size': 3712, 'n_group': 1, 'n_groups': 8, "
	    "'n_routed_experts': 128, 'n_shared_experts': 1, 'num_attention_heads': 32, "
	    "'num_experts_per_tok': 6, 'num_hidden_layers': 52, 'num_key_value_heads': 2, "
	    "'sliding_window': null, 'ssm_state_size': 128, 'tie_word_embeddings': false, "
	    "'topk_group': 1, 'use_bias': false, 'use_conv_bias': true, 'vocab_size': 131072}",
	    31577940288, 0, 3580076352, 2875433280,
	    "router_bias=2944",
	    NULL,
	    31577937344, "-router_bias"},
	{"nemotron-3-ultra-550b-a55b", "nvidia/NVIDIA-Nemotron-3-Ultra-550B-A55B-BF16",
	    "{'architectures': ['NemotronHForCausalLM'], 'attention_bias': false, "
	    "'conv_kernel': 4, 'expand': 2, 'head_dim': 128, 'hidden_size': 8192, "
	    "'intermediate_size': 5120, 'layers_block_type': ['mamba', 'moe', 'mamba', 'moe', "
	    "'mamba', 'moe', 'mamba', 'attention', 'moe', 'mamba', 'moe', 'mamba', 'moe', "
	    "'mamba', 'attention', 'moe', 'mamba', 'moe', 'mamba', 'moe', 'mamba', 'moe', "
	    "'mamba', 'attention', 'moe', 'mamba', 'moe', 'mamba', 'moe', 'mamba', 'moe', "
	    "'mamba', 'attention', 'moe', 'mamba', 'moe', 'mamba', 'moe', 'mamba', 'attention', "
	    "'moe', 'mamba', 'moe', 'mamba', 'moe', 'mamba', 'moe', 'mamba', 'attention', 'moe', "
	    "'mamba', 'moe', 'mamba', 'moe', 'mamba', 'moe', 'mamba', 'attention', 'moe', "
	    "'mamba', 'moe', 'mamba', 'moe', 'mamba', 'attention', 'moe', 'mamba', 'moe', "
	    "'mamba', 'moe', 'mamba', 'moe', 'mamba', 'attention', 'moe', 'mamba', 'moe', "
	    "'mamba', 'moe', 'mamba', 'moe', 'mamba', 'attention', 'moe', 'mamba', 'moe', "
	    "'mamba', 'moe', 'mamba', 'attention', 'moe', 'mamba', 'moe', 'mamba', 'moe', "
	    "'mamba', 'moe', 'mamba', 'attention', 'moe', 'mamba', 'moe', 'mamba', 'moe', "
	    "'mamba', 'moe', 'mamba', 'moe'], 'mamba_head_dim': 64, 'mamba_num_heads': 256, "
	    "'mamba_proj_bias': false, 'max_position_embeddings': 262144, 'mlp_bias': false, "
	    "'model_type': 'nemotron_h', 'moe_intermediate_size': 5120, 'moe_latent_size': 2048, "
	    "'moe_shared_expert_intermediate_size': 10240, "
	    "'mtp_layers_block_type': ['attention', 'moe'], 'n_group': 1, 'n_groups': 8, "
	    "'n_routed_experts': 512, 'n_shared_experts': 1, 'num_attention_heads': 64, "
	    "'num_experts_per_tok': 22, 'num_key_value_heads': 2, 'num_nextn_predict_layers': 1, "
	    "'sliding_window': null, 'ssm_state_size': 128, 'tie_word_embeddings': false, "
	    "'topk_group': 1, 'use_bias': false, 'use_conv_bias': true, 'vocab_size': 131072}",
	    549308993536, 11215610368, 56058843136, 53911359488,
	    "router_bias=24576",
	    NULL,
	    0, ""},
	{"gemma-4-26b-a4b", "google/gemma-4-26B-A4B",
	    "{'architectures': ['Gemma4ForConditionalGeneration'], 'model_type': 'gemma4', "
	    "'text_config': {'attention_bias': false, 'attention_k_eq_v': true, "
	    "'enable_moe_block': true, 'global_head_dim': 512, 'head_dim': 256, "
	    "'hidden_size': 2816, 'hidden_size_per_layer_input': 0, 'intermediate_size': 2112, "
	    "'layer_types': ['sliding_attention', 'sliding_attention', 'sliding_attention', "
	    "'sliding_attention', 'sliding_attention', 'full_attention', 'sliding_attention', "
	    "'sliding_attention', 'sliding_attention', 'sliding_attention', 'sliding_attention', "
	    "'full_attention', 'sliding_attention', 'sliding_attention', 'sliding_attention', "
	    "'sliding_attention', 'sliding_attention', 'full_attention', 'sliding_attention', "
	    "'sliding_attention', 'sliding_attention', 'sliding_attention', 'sliding_attention', "
	    "'full_attention', 'sliding_attention', 'sliding_attention', 'sliding_attention', "
	    "'sliding_attention', 'sliding_attention', 'full_attention'], "
	    "'max_position_embeddings': 262144, 'model_type': 'gemma4_text', "
	    "'moe_intermediate_size': 704, 'num_attention_heads': 16, 'num_experts': 128, "
	    "'num_global_key_value_heads': 2, 'num_hidden_layers': 30, 'num_key_value_heads': 8, "
	    "'num_kv_shared_layers': 0, 'sliding_window': 1024, 'tie_word_embeddings': true, "
	    "'top_k_experts': 8, 'vocab_size': 262144}, 'tie_word_embeddings': true}",
	    25232631040, 0, 3822019840, 3083822336,
	    "branch_norms=510750",
	    NULL,
	    0, ""},
	{"step-3.7-flash", "stepfun-ai/Step-3.7-Flash",
	    "{'architectures': ['Step3p7FlashForCausalLM'], 'model_type': 'step3p7', "
	    "'num_hidden_layers': 45, 'hidden_size': 4096, 'num_attention_heads': 64, "
	    "'num_key_value_heads': 8, 'head_dim': 128, 'vocab_size': 128896, "
	    "'max_position_embeddings': 65536, 'intermediate_size': 11264, "
	    "'sliding_window': 512, 'layer_types': ['full_attention', 'sliding_attention', "
	    "'sliding_attention', 'sliding_attention', 'full_attention', 'sliding_attention', "
	    "'sliding_attention', 'sliding_attention', 'full_attention', 'sliding_attention', "
	    "'sliding_attention', 'sliding_attention', 'full_attention', 'sliding_attention', "
	    "'sliding_attention', 'sliding_attention', 'full_attention', 'sliding_attention', "
	    "'sliding_attention', 'sliding_attention', 'full_attention', 'sliding_attention', "
	    "'sliding_attention', 'sliding_attention', 'full_attention', 'sliding_attention', "
	    "'sliding_attention', 'sliding_attention', 'full_attention', 'sliding_attention', "
	    "'sliding_attention', 'sliding_attention', 'full_attention', 'sliding_attention', "
	    "'sliding_attention', 'sliding_attention', 'full_attention', 'sliding_attention', "
	    "'sliding_attention', 'sliding_attention', 'full_attention', 'sliding_attention', "
	    "'sliding_attention', 'sliding_attention', 'full_attention'], "
	    "'first_k_dense_replace': 3, 'num_experts': 288, 'num_experts_per_tok': 8, "
	    "'moe_intermediate_size': 1280, 'share_expert_dim': 1280, 'n_shared_experts': 1, "
	    "'num_nextn_predict_layers': 3, 'use_moe_router_bias': true}",
	    195832700736, 0, 10863894336, 9807978304,
	    "",
	    NULL,
	    0, ""},
	{"gpt3-175b", "Table 2.1 of arXiv 2005.14165 in GPT-2 keys",
	    "{'architectures': ['GPT2LMHeadModel'], 'model_type': 'gpt2', 'n_embd': 12288, "
	    "'n_layer': 96, 'n_head': 96, 'n_inner': 49152, 'n_positions': 2048, "
	    "'vocab_size': 50257, 'tie_word_embeddings': true}",
	    174604259328, 0, 174604259328, 173961535488,
	    "",
	    NULL,
	    0, ""},
	{"qwen1.5-moe", "Qwen/Qwen1.5-MoE-A2.7B",
	    "{'architectures': ['Qwen2MoeForCausalLM'], 'model_type': 'qwen2_moe', "
	    "'hidden_size': 2048, 'intermediate_size': 5632, 'num_hidden_layers': 24, "
	    "'num_attention_heads': 16, 'num_key_value_heads': 16, 'vocab_size': 151936, "
	    "'tie_word_embeddings': false, 'max_position_embeddings': 4096, "
	    "'moe_intermediate_size': 1408, 'num_experts': 60, 'num_experts_per_tok': 4, "
	    "'shared_expert_intermediate_size': 5632, 'decoder_sparse_step': 1}",
	    14315784192, 0, 2689173504, 2066843648,
	    "",
	    NULL,
	    14315784192, ""},
	{"jamba", "ai21labs/Jamba-v0.1",
	    "{'architectures': ['JambaForCausalLM'], 'model_type': 'jamba', 'hidden_size': 4096, "
	    "'intermediate_size': 14336, 'num_hidden_layers': 32, 'num_attention_heads': 32, "
	    "'num_key_value_heads': 8, 'vocab_size': 65536, 'tie_word_embeddings': false, "
	    "'max_position_embeddings': 4096, 'mamba_expand': 2, 'mamba_d_state': 16, "
	    "'mamba_d_conv': 4, 'mamba_dt_rank': 256, 'attn_layer_period': 8, "
	    "'attn_layer_offset': 4, 'expert_layer_period': 2, 'expert_layer_offset': 1, "
	    "'num_experts': 16, 'num_experts_per_tok': 2, 'mamba_conv_bias': true, "
	    "'mamba_proj_bias': false}",
	    51570323328, 0, 12110311296, 11573440384,
	    "",
	    NULL,
	    51570323328, ""},
	{"hunyuan-a13b", "tencent/Hunyuan-A13B-Instruct",
	    "{'architectures': ['HunYuanMoEV1ForCausalLM'], 'model_type': 'hunyuan_v1_moe', "
	    "'hidden_size': 4096, 'intermediate_size': 3072, 'num_hidden_layers': 32, "
	    "'num_attention_heads': 32, 'num_key_value_heads': 8, 'vocab_size': 128167, "
	    "'tie_word_embeddings': true, 'max_position_embeddings': 4096, "
	    "'moe_intermediate_size': [3072, 3072, 3072, 3072, 3072, 3072, 3072, 3072, 3072, "
	    "3072, 3072, 3072, 3072, 3072, 3072, 3072, 3072, 3072, 3072, 3072, 3072, 3072, 3072, "
	    "3072, 3072, 3072, 3072, 3072, 3072, 3072, 3072, 3072], 'num_experts': 64, "
	    "'moe_topk': [8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, "
	    "8, 8, 8, 8, 8, 8, 8, 8, 8], 'num_shared_expert': [1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, "
	    "1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1], "
	    "'use_qk_norm': true, 'kv_lora_rank': null, 'use_mla': false, "
	    "'attention_head_dim': 128, 'moe_layer_num_skipped': 0, 'use_cla': false}",
	    80393183232, 0, 12747448320, 12222476288,
	    "",
	    NULL,
	    80393183232, ""},
	{"minimax-m2", "MiniMaxAI/MiniMax-M2",
	    "{'architectures': ['MiniMaxM2ForCausalLM'], 'model_type': 'minimax_m2', "
	    "'hidden_size': 3072, 'intermediate_size': 1536, 'num_hidden_layers': 62, "
	    "'num_attention_heads': 48, 'num_key_value_heads': 8, 'vocab_size': 200064, "
	    "'tie_word_embeddings': false, 'max_position_embeddings': 4096, 'head_dim': 128, "
	    "'num_local_experts': 256, 'num_experts_per_tok': 8, 'use_qk_norm': true, "
	    "'qk_norm_type': 'per_layer', 'use_routing_bias': true, "
	    "'shared_intermediate_size': 0, 'attn_type_list': [1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, "
	    "1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, "
	    "1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1], "
	    "'num_mtp_modules': 3}",
	    228689764864, 0, 11030553088, 9801359872,
	    "",
	    NULL,
	    228689764864, ""},
	{"moonlight", "moonshotai/Moonlight-16B-A3B",
	    "{'architectures': ['DeepseekV3ForCausalLM'], 'model_type': 'deepseek_v3', "
	    "'hidden_size': 2048, 'intermediate_size': 11264, 'num_hidden_layers': 27, "
	    "'num_attention_heads': 16, 'num_key_value_heads': 16, 'vocab_size': 163840, "
	    "'tie_word_embeddings': false, 'max_position_embeddings': 4096, 'q_lora_rank': null, "
	    "'kv_lora_rank': 512, 'qk_nope_head_dim': 128, 'qk_rope_head_dim': 64, "
	    "'v_head_dim': 128, 'n_routed_experts': 64, 'num_experts_per_tok': 6, "
	    "'n_shared_experts': 2, 'moe_intermediate_size': 1408, 'first_k_dense_replace': 1, "
	    "'moe_layer_freq': 1, 'topk_method': 'noaux_tc', 'num_nextn_predict_layers': 0}",
	    15960110208, 0, 2914776192, 2243687552,
	    "",
	    NULL,
	    0, ""},
	{"maverick", "meta-llama/Llama-4-Maverick-17B-128E-Instruct",
	    "{'architectures': ['Llama4ForConditionalGeneration'], 'model_type': 'llama4', "
	    "'text_config': {'model_type': 'llama4_text', 'hidden_size': 5120, "
	    "'intermediate_size': 8192, 'num_hidden_layers': 48, 'num_attention_heads': 40, "
	    "'num_key_value_heads': 8, 'vocab_size': 202048, 'max_position_embeddings': 4096, "
	    "'head_dim': 128, 'intermediate_size_mlp': 16384, 'interleave_moe_layer_step': 2, "
	    "'num_local_experts': 128, 'num_experts_per_tok': 1, 'use_qk_norm': false, "
	    "'attention_chunk_size': 8192}}",
	    400711848960, 0, 17184691200, 15115719680,
	    "vision_tower=871932416",
	    NULL,
	    401583781376, "vision_tower"},
	{"glm-4.5-air", "zai-org/GLM-4.5-Air",
	    "{'architectures': ['Glm4MoeForCausalLM'], 'model_type': 'glm4_moe', "
	    "'hidden_size': 4096, 'intermediate_size': 10944, 'num_hidden_layers': 46, "
	    "'num_attention_heads': 96, 'num_key_value_heads': 8, 'vocab_size': 151552, "
	    "'tie_word_embeddings': false, 'max_position_embeddings': 4096, 'head_dim': 128, "
	    "'attention_bias': true, 'use_qk_norm': false, 'n_routed_experts': 128, "
	    "'num_experts_per_tok': 8, 'n_shared_experts': 1, 'moe_intermediate_size': 1408, "
	    "'first_k_dense_replace': 1, 'num_nextn_predict_layers': 1}",
	    106852251264, 2375059584, 13424129664, 12182615680,
	    "mtp_duplicates=1241513984",
	    NULL,
	    110468824832, "mtp mtp_duplicates"},
	{"qwen3-coder-480b", "Qwen/Qwen3-Coder-480B-A35B-Instruct",
	    "{'architectures': ['Qwen3MoeForCausalLM'], 'model_type': 'qwen3_moe', "
	    "'hidden_size': 6144, 'intermediate_size': 8192, 'num_hidden_layers': 62, "
	    "'num_attention_heads': 96, 'num_key_value_heads': 8, 'vocab_size': 151936, "
	    "'tie_word_embeddings': false, 'max_position_embeddings': 4096, 'head_dim': 128, "
	    "'moe_intermediate_size': 2560, 'num_experts': 160, 'num_experts_per_tok': 8, "
	    "'shared_expert_intermediate_size': 0, 'decoder_sparse_step': 1, "
	    "'mlp_only_layers': []}",
	    480154875392, 0, 35474765312, 33607775744,
	    "",
	    NULL,
	    480154875392, ""},
	{"gpt-oss-20b", "openai/gpt-oss-20b",
	    "{'architectures': ['GptOssForCausalLM'], 'model_type': 'gpt_oss', "
	    "'hidden_size': 2880, 'intermediate_size': 2880, 'num_hidden_layers': 24, "
	    "'num_attention_heads': 64, 'num_key_value_heads': 8, 'vocab_size': 201088, "
	    "'tie_word_embeddings': false, 'max_position_embeddings': 4096, 'head_dim': 64, "
	    "'attention_bias': true, 'num_local_experts': 32, 'num_experts_per_tok': 4, "
	    "'experts_per_token': 4, 'sliding_window': 128}",
	    20914757184, 0, 4187440704, 3029173824,
	    "",
	    NULL,
	    20914757184, ""},
	{"ling-mini-2.0", "inclusionAI/Ling-mini-2.0",
	    "{'architectures': ['BailingMoeV2ForCausalLM'], 'model_type': 'bailing_moe', "
	    "'hidden_size': 2048, 'intermediate_size': 5120, 'num_hidden_layers': 20, "
	    "'num_attention_heads': 16, 'num_key_value_heads': 4, 'vocab_size': 157184, "
	    "'tie_word_embeddings': false, 'max_position_embeddings': 4096, 'head_dim': 128, "
	    "'num_experts': 256, 'num_experts_per_tok': 8, 'num_shared_experts': 1, "
	    "'moe_intermediate_size': 512, 'moe_shared_expert_intermediate_size': 512, "
	    "'first_k_dense_replace': 1, 'use_qk_norm': true, "
	    "'moe_router_enable_expert_bias': true, 'use_bias': false, 'use_qkv_bias': false, "
	    "'num_nextn_predict_layers': 0, 'n_group': 8, 'topk_group': 4}",
	    16255643392, 0, 1432973056, 789147392,
	    "",
	    NULL,
	    16255643392, ""},
	{"mistral-7b", "mistralai/Mistral-7B-v0.1",
	    "{'architectures': ['MistralForCausalLM'], 'model_type': 'mistral', "
	    "'hidden_size': 4096, 'intermediate_size': 14336, 'num_hidden_layers': 32, "
	    "'num_attention_heads': 32, 'num_key_value_heads': 8, 'vocab_size': 32000, "
	    "'tie_word_embeddings': false, 'max_position_embeddings': 4096, "
	    "'sliding_window': 4096}",
	    7241732096, 0, 7241732096, 6979588096,
	    "",
	    NULL,
	    7241732096, ""},
	{"gemma-7b", "google/gemma-7b",
	    "{'architectures': ['GemmaForCausalLM'], 'model_type': 'gemma', 'hidden_size': 3072, "
	    "'intermediate_size': 24576, 'num_hidden_layers': 28, 'num_attention_heads': 16, "
	    "'num_key_value_heads': 16, 'vocab_size': 256000, 'max_position_embeddings': 4096, "
	    "'head_dim': 256}",
	    8537680896, 0, 8537680896, 7751248896,
	    "",
	    NULL,
	    8537680896, ""},
	{"gemma2-9b", "google/gemma-2-9b",
	    "{'architectures': ['Gemma2ForCausalLM'], 'model_type': 'gemma2', "
	    "'hidden_size': 3584, 'intermediate_size': 14336, 'num_hidden_layers': 42, "
	    "'num_attention_heads': 16, 'num_key_value_heads': 8, 'vocab_size': 256000, "
	    "'max_position_embeddings': 4096, 'head_dim': 256, 'sliding_window': 4096}",
	    9241705984, 0, 9241705984, 8324201984,
	    "",
	    NULL,
	    9241705984, ""},
	{"gemma3-1b", "google/gemma-3-1b-pt",
	    "{'architectures': ['Gemma3ForCausalLM'], 'model_type': 'gemma3_text', "
	    "'hidden_size': 1152, 'intermediate_size': 6912, 'num_hidden_layers': 26, "
	    "'num_attention_heads': 4, 'num_key_value_heads': 1, 'vocab_size': 262144, "
	    "'max_position_embeddings': 4096, 'head_dim': 256, 'sliding_window': 512, "
	    "'sliding_window_pattern': 6}",
	    999885952, 0, 999885952, 697896064,
	    "",
	    NULL,
	    999885952, ""},
	{"gpt2", "openai-community/gpt2",
	    "{'architectures': ['GPT2LMHeadModel'], 'model_type': 'gpt2', 'n_embd': 768, "
	    "'n_layer': 12, 'n_head': 12, 'n_positions': 1024, 'vocab_size': 50257, "
	    "'n_inner': null}",
	    124439808, 0, 124439808, 85056000,
	    "",
	    NULL,
	    124439808, ""},
	{"qwen2-7b", "Qwen/Qwen2-7B",
	    "{'architectures': ['Qwen2ForCausalLM'], 'model_type': 'qwen2', 'hidden_size': 3584, "
	    "'intermediate_size': 18944, 'num_hidden_layers': 28, 'num_attention_heads': 28, "
	    "'num_key_value_heads': 4, 'vocab_size': 152064, 'tie_word_embeddings': false, "
	    "'max_position_embeddings': 4096, 'use_sliding_window': false, "
	    "'sliding_window': 131072, 'max_window_layers': 28}",
	    7615616512, 0, 7615616512, 6525621760,
	    "",
	    NULL,
	    7615616512, ""},
	{"qwen2.5-0.5b", "Qwen/Qwen2.5-0.5B",
	    "{'architectures': ['Qwen2ForCausalLM'], 'model_type': 'qwen2', 'hidden_size': 896, "
	    "'intermediate_size': 4864, 'num_hidden_layers': 24, 'num_attention_heads': 14, "
	    "'num_key_value_heads': 2, 'vocab_size': 151936, 'tie_word_embeddings': true, "
	    "'max_position_embeddings': 4096}",
	    494032768, 0, 494032768, 357898112,
	    "",
	    NULL,
	    494032768, ""},
	{"llama3.2-1b", "meta-llama/Llama-3.2-1B",
	    "{'architectures': ['LlamaForCausalLM'], 'model_type': 'llama', 'hidden_size': 2048, "
	    "'intermediate_size': 8192, 'num_hidden_layers': 16, 'num_attention_heads': 32, "
	    "'num_key_value_heads': 8, 'vocab_size': 128256, 'tie_word_embeddings': true, "
	    "'max_position_embeddings': 4096, 'head_dim': 64}",
	    1235814400, 0, 1235814400, 973146112,
	    "",
	    NULL,
	    1235814400, ""},
	{"llama2-7b", "meta-llama/Llama-2-7b-hf",
	    "{'architectures': ['LlamaForCausalLM'], 'model_type': 'llama', 'hidden_size': 4096, "
	    "'intermediate_size': 11008, 'num_hidden_layers': 32, 'num_attention_heads': 32, "
	    "'vocab_size': 32000, 'tie_word_embeddings': false, 'max_position_embeddings': 4096}",
	    6738415616, 0, 6738415616, 6476271616,
	    "",
	    NULL,
	    6738415616, ""},
	{"dots1", "rednote-hilab/dots.llm1.base",
	    "{'architectures': ['Dots1ForCausalLM'], 'model_type': 'dots1', 'hidden_size': 4096, "
	    "'intermediate_size': 10944, 'num_hidden_layers': 62, 'num_attention_heads': 32, "
	    "'num_key_value_heads': 32, 'vocab_size': 152064, 'tie_word_embeddings': false, "
	    "'max_position_embeddings': 4096, 'n_routed_experts': 128, 'num_experts_per_tok': 6, "
	    "'n_shared_experts': 2, 'moe_intermediate_size': 1408, 'first_k_dense_replace': 1, "
	    "'topk_method': 'noaux_tc'}",
	    142774381696, 0, 14016588928, 12770880640,
	    "",
	    NULL,
	    142774381696, ""},
	{"seed-oss", "ByteDance-Seed/Seed-OSS-36B-Base",
	    "{'architectures': ['SeedOssForCausalLM'], 'model_type': 'seed_oss', "
	    "'hidden_size': 5120, 'intermediate_size': 27648, 'num_hidden_layers': 64, "
	    "'num_attention_heads': 80, 'num_key_value_heads': 8, 'vocab_size': 155136, "
	    "'tie_word_embeddings': false, 'max_position_embeddings': 4096, 'head_dim': 128, "
	    "'attention_bias': true, 'attention_out_bias': false}",
	    36151104512, 0, 36151104512, 34562511872,
	    "",
	    NULL,
	    36151104512, ""},
	{"olmo2-7b", "allenai/OLMo-2-1124-7B",
	    "{'architectures': ['Olmo2ForCausalLM'], 'model_type': 'olmo2', 'hidden_size': 4096, "
	    "'intermediate_size': 11008, 'num_hidden_layers': 32, 'num_attention_heads': 32, "
	    "'num_key_value_heads': 32, 'vocab_size': 100352, 'tie_word_embeddings': false, "
	    "'max_position_embeddings': 4096}",
	    7298617344, 0, 7298617344, 6476533760,
	    "",
	    NULL,
	    7298617344, ""},
	{"dbrx", "databricks/dbrx-base",
	    "{'architectures': ['DbrxForCausalLM'], 'model_type': 'dbrx', 'd_model': 6144, "
	    "'n_heads': 48, 'n_layers': 40, 'max_seq_len': 32768, 'vocab_size': 100352, "
	    "'tie_word_embeddings': false, 'attn_config': {'kv_n_heads': 8}, "
	    "'ffn_config': {'ffn_hidden_size': 10752, 'moe_num_experts': 16, 'moe_top_k': 4}}",
	    131596523520, 0, 36469708800, 35236583424,
	    "",
	    NULL,
	    131596523520, ""},
	{"ernie-21b", "baidu/ERNIE-4.5-21B-A3B-PT",
	    "{'architectures': ['Ernie4_5_MoeForCausalLM'], 'model_type': 'ernie4_5_moe', "
	    "'hidden_size': 2560, 'intermediate_size': 12288, 'num_hidden_layers': 28, "
	    "'num_attention_heads': 20, 'num_key_value_heads': 4, 'vocab_size': 103424, "
	    "'tie_word_embeddings': true, 'max_position_embeddings': 4096, "
	    "'moe_num_experts': 64, 'moe_k': 6, 'moe_num_shared_experts': 2, "
	    "'moe_intermediate_size': 1536, 'moe_layer_start_index': 1, "
	    "'moe_layer_end_index': 27, 'moe_layer_interval': 1, 'use_bias': false}",
	    21825437888, 0, 3352150208, 3087384768,
	    "",
	    NULL,
	    0, ""},
	{"ernie-vl-28b", "baidu/ERNIE-4.5-VL-28B-A3B-PT",
	    "{'architectures': ['Ernie4_5_VLMoeForConditionalGeneration'], "
	    "'model_type': 'ernie4_5_moe_vl', 'hidden_size': 2560, 'intermediate_size': 12288, "
	    "'num_hidden_layers': 28, 'num_attention_heads': 20, 'num_key_value_heads': 4, "
	    "'vocab_size': 103424, 'tie_word_embeddings': true, 'max_position_embeddings': 4096, "
	    "'moe_num_experts': [64, 64], 'moe_k': 6, 'moe_num_shared_experts': 2, "
	    "'moe_intermediate_size': [1536, 512], 'moe_layer_start_index': [1, 1], "
	    "'moe_layer_end_index': [29, 28], 'moe_layer_interval': 1, 'use_bias': false}",
	    21825437888, 0, 3352150208, 3087384768,
	    "vision_experts=6799197888",
	    NULL,
	    0, ""},
	{"deepseek-v3.2", "deepseek-ai/DeepSeek-V3.2-Exp",
	    "{'architectures': ['DeepseekV32ForCausalLM'], 'model_type': 'deepseek_v32', "
	    "'hidden_size': 7168, 'intermediate_size': 18432, 'num_hidden_layers': 61, "
	    "'num_attention_heads': 128, 'num_key_value_heads': 128, 'vocab_size': 129280, "
	    "'tie_word_embeddings': false, 'max_position_embeddings': 4096, 'q_lora_rank': 1536, "
	    "'kv_lora_rank': 512, 'qk_nope_head_dim': 128, 'qk_rope_head_dim': 64, "
	    "'v_head_dim': 128, 'n_routed_experts': 256, 'num_experts_per_tok': 8, "
	    "'n_shared_experts': 1, 'moe_intermediate_size': 2048, 'first_k_dense_replace': 3, "
	    "'moe_layer_freq': 1, 'topk_method': 'noaux_tc', 'num_nextn_predict_layers': 1, "
	    "'n_group': 8, 'topk_group': 4, 'index_n_heads': 64, 'index_head_dim': 128, "
	    "'index_topk': 2048, 'quantization_config': {'quant_method': 'fp8'}}",
	    671877944064, 11624027648, 38403822336, 36550464256,
	    "mtp_duplicates=1853358080 fp8_scales=41591584",
	    "sparse attention with an indexer (61 of 61)",
	    685396921376, "mtp mtp_duplicates fp8_scales"},
	{"kimi-linear", "moonshotai/Kimi-Linear-48B-A3B-Instruct",
	    "{'architectures': ['KimiLinearForCausalLM'], 'model_type': 'kimi_linear', "
	    "'hidden_size': 2304, 'intermediate_size': 9216, 'num_hidden_layers': 27, "
	    "'num_attention_heads': 32, 'num_key_value_heads': 32, 'vocab_size': 163840, "
	    "'tie_word_embeddings': false, 'max_position_embeddings': 4096, 'num_experts': 256}",
	    0, 0, 0, 0, "", NULL, 0, ""},
	{"phi-mini-moe", "microsoft/Phi-mini-MoE-instruct",
	    "{'architectures': ['PhiMoEForCausalLM'], 'model_type': 'phimoe', "
	    "'hidden_size': 4096, 'intermediate_size': 960, 'num_hidden_layers': 32, "
	    "'num_attention_heads': 32, 'num_key_value_heads': 8, 'vocab_size': 32064, "
	    "'tie_word_embeddings': false, 'max_position_embeddings': 4096, 'head_dim': 128, "
	    "'num_local_experts': 16, 'num_experts_per_tok': 2, 'attention_bias': true, "
	    "'lm_head_bias': true}",
	    7647632704, 0, 2362809664, 2100109312,
	    "",
	    NULL,
	    7647632704, ""},
};
/* clang-format on */

#endif
