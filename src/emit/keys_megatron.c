/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What does Megatron-LM call each setting, and since which release?
 *
 * Names are those of its flags with underscores. Source: NVIDIA/Megatron-LM, the argument
 * code and the dataclasses behind it at one tag a minor release, core_v0.12.0 to core_v0.19.0.
 * Order matters where a row refines an earlier one.
 */
#include "emit/megatron_values.h"

#define INT(native, ours, since)                                                                   \
	{                                                                                          \
		native, ours, KEY_INT, since, NULL, NULL, NULL, false                              \
	}
#define ROW(native, ours, kind, since, until, writer, reader)                                      \
	{                                                                                          \
		native, ours, kind, since, until, writer, reader, false                            \
	}
#define MODEL(native, ours, kind, since, writer)                                                   \
	{                                                                                          \
		native, "model." ours, kind, since, NULL, writer, NULL, false                      \
	}
#define PLAIN(native, kind, since, writer)                                                         \
	{                                                                                          \
		native, NULL, kind, since, NULL, writer, NULL, false                               \
	}
#define NEEDLESS(native, kind, since, writer)                                                      \
	{                                                                                          \
		native, NULL, kind, since, NULL, writer, NULL, true                                \
	}

/* clang-format off */
const struct key megatron_keys[] = {
	/* ranks */
	INT("tensor_model_parallel_size", "tp", NULL),
	INT("context_parallel_size", "cp", NULL),
	INT("pipeline_model_parallel_size", "pp", NULL),
	ROW("num_virtual_stages_per_pipeline_rank", "vpp", KEY_INT, "0.11", NULL, megatron_vpp,
	    NULL),
	ROW("pipeline_model_parallel_layout", "layout", KEY_TEXT, "0.13", NULL, megatron_layout,
	    NULL),
	ROW("hybrid_layer_pattern", "layout", KEY_TEXT, "0.17", NULL, megatron_layer_pattern,
	    megatron_read_layer_pattern),
	INT("expert_model_parallel_size", "ep", NULL),
	ROW("expert_tensor_parallel_size", "etp", KEY_INT, "0.10", NULL, megatron_etp, NULL),
	ROW("tensor_parallel_num_weight_shards", "gtp", KEY_INT, "0.19", NULL, megatron_gtp,
	    megatron_read_gtp),
	ROW("expert_tensor_parallel_num_weight_shards", "egtp", KEY_INT, "0.19", NULL,
	    megatron_egtp, megatron_read_egtp),
	PLAIN("sequence_parallel", KEY_FLAG, NULL, megatron_sequence_parallel),
	ROW("use_tp_pp_dp_mapping", "order", KEY_FLAG, NULL, NULL, megatron_pp_before_dp,
	    megatron_read_order),

	/* batch and length */
	INT("micro_batch_size", "micro_batch", NULL),
	INT("global_batch_size", "global_batch", NULL),
	INT("seq_length", "seq_len", NULL),
	MODEL("max_position_embeddings", "max_position_embeddings", KEY_INT, NULL,
	    megatron_positions),

	/* recompute */
	ROW("recompute_granularity", "recompute", KEY_TEXT, NULL, NULL, megatron_granularity,
	    megatron_read_granularity),
	ROW("recompute_method", "recompute", KEY_TEXT, NULL, NULL, megatron_method,
	    megatron_read_method),
	ROW("recompute_num_layers", "recompute", KEY_INT, NULL, NULL, megatron_recompute_layers,
	    megatron_read_recompute_layers),
	ROW("recompute_modules", "recompute", KEY_LIST, "0.12", NULL, megatron_modules,
	    megatron_read_modules),

	/* number formats */
	ROW("bf16", "precision", KEY_FLAG, NULL, NULL, megatron_bf16, megatron_read_bf16),
	ROW("fp16", "precision", KEY_FLAG, NULL, NULL, megatron_fp16, megatron_read_fp16),
	ROW("fp8_format", "precision", KEY_TEXT, NULL, NULL, megatron_fp8, megatron_read_fp8),
	ROW("fp8_recipe", "precision", KEY_TEXT, "0.12", NULL, megatron_fp8_recipe,
	    megatron_read_fp8_recipe),
	ROW("fp4_format", "precision", KEY_TEXT, "0.15", NULL, megatron_fp4, megatron_read_fp4),
	PLAIN("fp4_recipe", KEY_TEXT, "0.15", megatron_fp4_recipe),
	ROW("accumulate_allreduce_grads_in_fp32", "grad_type", KEY_FLAG, NULL, NULL,
	    megatron_fp32_sum, megatron_read_fp32_sum),
	ROW("grad_reduce_in_bf16", "grad_type", KEY_FLAG, "0.12", NULL, megatron_bf16_sum,
	    megatron_read_bf16_sum),
	ROW("cross_entropy_loss_fusion", "loss", KEY_FLAG, NULL, NULL, megatron_loss_fusion,
	    megatron_read_loss_fusion),
	NEEDLESS("cross_entropy_fusion_impl", KEY_TEXT, "0.12", megatron_loss_impl),
	ROW("cuda_graph_impl", "cuda_graphs", KEY_TEXT, "0.15", NULL, megatron_graphs,
	    megatron_read_graphs),
	ROW("cuda_graph_modules", NULL, KEY_LIST, "0.18", NULL, megatron_graph_modules, NULL),
	PLAIN("no_check_for_nan_in_loss_and_grad", KEY_FLAG, "0.18", megatron_no_nan_check),

	/* sharding and optimizer */
	ROW("use_distributed_optimizer", "zero", KEY_FLAG, NULL, NULL, megatron_distributed,
	    megatron_read_distributed),
	ROW("use_megatron_fsdp", "zero", KEY_FLAG, "0.14", NULL, megatron_fsdp, megatron_read_fsdp),
	ROW("use_custom_fsdp", "zero", KEY_FLAG, "0.12", "0.14", megatron_custom_fsdp,
	    megatron_read_fsdp),
	ROW("data_parallel_sharding_strategy", "zero", KEY_TEXT, "0.12", NULL, megatron_sharding,
	    megatron_read_sharding),
	PLAIN("ckpt_format", KEY_TEXT, NULL, megatron_checkpoint),
	ROW("overlap_grad_reduce", "overlap", KEY_FLAG, NULL, NULL, megatron_overlap_grads,
	    megatron_read_overlap_dp),
	PLAIN("overlap_param_gather", KEY_FLAG, NULL, megatron_overlap_params),
	ROW("optimizer", "optimizer", KEY_TEXT, NULL, NULL, megatron_adam, megatron_read_optimizer),
	PLAIN("use_precision_aware_optimizer", KEY_FLAG, "0.11", megatron_precision_aware),
	ROW("main_grads_dtype", "grad_type", KEY_TEXT, "0.11", NULL, megatron_main_grads,
	    megatron_read_main_grads),
	PLAIN("main_params_dtype", KEY_TEXT, "0.11", megatron_main_params),
	ROW("exp_avg_dtype", "optimizer", KEY_TEXT, "0.11", NULL, megatron_moments,
	    megatron_read_moments),
	ROW("exp_avg_sq_dtype", "optimizer", KEY_TEXT, "0.11", NULL, megatron_moments,
	    megatron_read_moments),
	ROW("optimizer_cpu_offload", "offload", KEY_FLAG, "0.12", NULL, megatron_offload,
	    megatron_read_offload),
	ROW("optimizer_offload_fraction", "offload", KEY_NUMBER, "0.12", NULL,
	    megatron_offload_fraction, megatron_read_offload_fraction),
	ROW("fine_grained_activation_offloading", "offload", KEY_FLAG, "0.16", NULL,
	    megatron_offload_activations, megatron_read_offload_activations),
	PLAIN("offload_modules", KEY_LIST, "0.16", megatron_offload_modules),
	ROW("activation_offload_fraction", "offload", KEY_NUMBER, "0.19", NULL,
	    megatron_offload_share, megatron_read_offload_share),

	/* overlap */
	ROW("tp_comm_overlap", "overlap", KEY_FLAG, NULL, NULL, megatron_overlap_tp,
	    megatron_read_overlap_tp),
	ROW("overlap_p2p_communication_warmup_flush", "overlap", KEY_FLAG, NULL, NULL,
	    megatron_overlap_flush, megatron_read_overlap_flush),
	ROW("overlap_moe_expert_parallel_comm", "overlap", KEY_FLAG, "0.14", NULL,
	    megatron_overlap_experts, megatron_read_overlap_experts),

	/* model */
	MODEL("num_layers", "num_layers", KEY_INT, NULL, megatron_layers),
	MODEL("hidden_size", "hidden_size", KEY_INT, NULL, megatron_hidden),
	MODEL("ffn_hidden_size", "ffn_hidden_size", KEY_INT, NULL, megatron_ffn),
	MODEL("num_attention_heads", "num_attention_heads", KEY_INT, NULL, megatron_heads),
	PLAIN("group_query_attention", KEY_FLAG, NULL, megatron_gqa),
	MODEL("num_query_groups", "num_key_value_heads", KEY_INT, NULL, megatron_groups),
	MODEL("kv_channels", "head_dim", KEY_INT, NULL, megatron_head_dim),
	MODEL("vocab_size", "vocab_size", KEY_INT, NULL, megatron_vocab),
	PLAIN("position_embedding_type", KEY_TEXT, NULL, megatron_position_type),
	PLAIN("rotary_base", KEY_INT, NULL, megatron_rotary_base),
	PLAIN("rotary_percent", KEY_NUMBER, NULL, megatron_rotary_percent),
	PLAIN("use_rope_scaling", KEY_FLAG, NULL, megatron_rope_scaling),
	PLAIN("rope_scaling_factor", KEY_NUMBER, "0.11", megatron_rope_factor),
	PLAIN("swiglu", KEY_FLAG, NULL, megatron_swiglu),
	PLAIN("quick_geglu", KEY_FLAG, "0.15", megatron_quick_geglu),
	PLAIN("activation_func_clamp_value", KEY_NUMBER, "0.15", megatron_glu_clamp),
	PLAIN("glu_linear_offset", KEY_NUMBER, "0.15", megatron_glu_offset),
	PLAIN("squared_relu", KEY_FLAG, NULL, megatron_squared_relu),
	PLAIN("normalization", KEY_TEXT, NULL, megatron_norm),
	PLAIN("norm_epsilon", KEY_NUMBER, NULL, megatron_norm_epsilon),
	PLAIN("apply_layernorm_1p", KEY_FLAG, NULL, megatron_zero_centered),
	PLAIN("disable_bias_linear", KEY_FLAG, NULL, megatron_no_bias),
	PLAIN("add_qkv_bias", KEY_FLAG, NULL, megatron_qkv_bias),
	PLAIN("untie_embeddings_and_output_weights", KEY_FLAG, NULL, megatron_untied),
	PLAIN("qk_layernorm", KEY_FLAG, NULL, megatron_qk_norm),
	PLAIN("qk_l2_norm", KEY_FLAG, "0.13", megatron_qk_l2_norm),
	PLAIN("no_rope_freq", KEY_TEXT, "0.13", megatron_no_rope),
	PLAIN("experimental_attention_variant", KEY_TEXT, "0.16", megatron_attention_variant),
	PLAIN("linear_attention_freq", KEY_TEXT, "0.16", megatron_linear_layers),
	PLAIN("linear_conv_kernel_dim", KEY_INT, "0.16", megatron_linear_conv),
	PLAIN("linear_key_head_dim", KEY_INT, "0.16", megatron_linear_key_dim),
	PLAIN("linear_value_head_dim", KEY_INT, "0.16", megatron_linear_value_dim),
	PLAIN("linear_num_key_heads", KEY_INT, "0.16", megatron_linear_key_heads),
	PLAIN("linear_num_value_heads", KEY_INT, "0.16", megatron_linear_value_heads),
	PLAIN("spec", KEY_LIST, NULL, megatron_spec),
	PLAIN("mamba_state_dim", KEY_INT, NULL, megatron_mamba_state),
	PLAIN("mamba_head_dim", KEY_INT, NULL, megatron_mamba_head_dim),
	PLAIN("mamba_num_groups", KEY_INT, NULL, megatron_mamba_groups),
	PLAIN("mamba_num_heads", KEY_INT, NULL, megatron_mamba_heads),
	PLAIN("attention_output_gate", KEY_FLAG, "0.16", megatron_out_gate),
	PLAIN("softmax_type", KEY_TEXT, "0.15", megatron_sinks),
	PLAIN("window_size", KEY_TEXT, "0.15", megatron_window),
	PLAIN("window_attn_skip_freq", KEY_TEXT, "0.15", megatron_window_layers),
	PLAIN("multi_latent_attention", KEY_FLAG, "0.10", megatron_mla),
	MODEL("q_lora_rank", "mla.q_lora_rank", KEY_INT, "0.10", megatron_q_rank),
	MODEL("kv_lora_rank", "mla.kv_lora_rank", KEY_INT, "0.10", megatron_kv_rank),
	MODEL("qk_head_dim", "mla.qk_nope_head_dim", KEY_INT, "0.10", megatron_nope_dim),
	MODEL("qk_pos_emb_head_dim", "mla.qk_rope_head_dim", KEY_INT, "0.10", megatron_rope_dim),
	MODEL("v_head_dim", "mla.v_head_dim", KEY_INT, "0.10", megatron_value_dim),
	MODEL("mtp_num_layers", "mtp_layers", KEY_INT, "0.12", megatron_mtp),
	PLAIN("mtp_loss_scaling_factor", KEY_NUMBER, "0.12", megatron_mtp_scale),

	/* experts */
	MODEL("num_experts", "num_experts", KEY_INT, NULL, megatron_experts),
	MODEL("moe_ffn_hidden_size", "moe_ffn_hidden_size", KEY_INT, NULL, megatron_expert_ffn),
	MODEL("moe_shared_expert_intermediate_size", "shared_expert_width", KEY_INT, "0.10",
	    megatron_shared),
	PLAIN("moe_shared_expert_gate", KEY_FLAG, "0.16", megatron_shared_gate),
	PLAIN("moe_latent_size", KEY_INT, "0.16", megatron_latent),
	MODEL("moe_layer_freq", "moe_layer_freq", KEY_TEXT, "0.10", megatron_moe_layers),
	MODEL("moe_router_topk", "top_k", KEY_INT, NULL, megatron_topk),
	PLAIN("moe_router_score_function", KEY_TEXT, "0.11", megatron_scores),
	PLAIN("moe_router_pre_softmax", KEY_FLAG, NULL, megatron_pre_softmax),
	PLAIN("moe_apply_probs_on_input", KEY_FLAG, "0.12", megatron_probs_on_input),
	PLAIN("moe_router_topk_scaling_factor", KEY_NUMBER, "0.11", megatron_topk_scale),
	PLAIN("moe_router_num_groups", KEY_INT, "0.11", megatron_route_groups),
	PLAIN("moe_router_group_topk", KEY_INT, "0.11", megatron_top_groups),
	PLAIN("moe_router_enable_expert_bias", KEY_FLAG, "0.11", megatron_expert_bias),
	PLAIN("moe_router_bias_update_rate", KEY_NUMBER, "0.11", megatron_bias_rate),
	PLAIN("moe_router_dtype", KEY_TEXT, "0.12", megatron_router_dtype),
	PLAIN("moe_router_load_balancing_type", KEY_TEXT, NULL, megatron_balancing),
	PLAIN("moe_aux_loss_coeff", KEY_NUMBER, NULL, megatron_aux),
	ROW("moe_token_dispatcher_type", "dispatcher", KEY_TEXT, NULL, NULL, megatron_dispatcher,
	    megatron_read_dispatcher),
	ROW("moe_enable_deepep", "dispatcher", KEY_FLAG, "0.12", NULL, megatron_enable_deepep,
	    megatron_read_enable_deepep),
	ROW("moe_flex_dispatcher_backend", "dispatcher", KEY_TEXT, "0.16", NULL,
	    megatron_flex_backend, megatron_read_flex_backend),
	ROW("moe_expert_capacity_factor", "capacity", KEY_NUMBER, NULL, NULL, megatron_capacity,
	    megatron_read_capacity),
	PLAIN("moe_token_drop_policy", KEY_TEXT, NULL, megatron_drop_policy),
	PLAIN("moe_grouped_gemm", KEY_FLAG, NULL, megatron_grouped_gemm),
	{.name = NULL},
};
/* clang-format on */
