/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_MEGATRON_VALUES_H
#define MOEPLAN_MEGATRON_VALUES_H

#include "emit/emit.h"
#include "emit/keys.h"

/* Writers and readers behind the rows of keys_megatron.c. */
typedef const struct doc *key_write_fn(struct arena *arena, const struct plan_view *plan);
typedef int key_read_fn(const struct key *key, const struct doc *value, struct strategy *strategy,
    struct field_context *context);

/* megatron_strategy.c */
key_write_fn megatron_vpp, megatron_layout, megatron_etp, megatron_gtp, megatron_egtp,
    megatron_sequence_parallel, megatron_pp_before_dp, megatron_granularity, megatron_method,
    megatron_recompute_layers, megatron_modules, megatron_bf16, megatron_fp16, megatron_fp8,
    megatron_fp8_recipe, megatron_fp4, megatron_fp4_recipe, megatron_fp32_sum, megatron_bf16_sum,
    megatron_distributed, megatron_overlap_grads, megatron_overlap_params, megatron_fsdp,
    megatron_custom_fsdp, megatron_sharding, megatron_checkpoint, megatron_adam,
    megatron_precision_aware, megatron_main_grads, megatron_main_params, megatron_moments,
    megatron_offload, megatron_offload_fraction, megatron_dispatcher, megatron_flex_backend,
    megatron_enable_deepep, megatron_capacity, megatron_drop_policy, megatron_grouped_gemm,
    megatron_overlap_experts, megatron_overlap_tp, megatron_overlap_flush, megatron_loss_fusion,
    megatron_loss_impl, megatron_graphs, megatron_graph_modules, megatron_no_nan_check;
key_read_fn megatron_read_gtp, megatron_read_egtp, megatron_read_order, megatron_read_granularity,
    megatron_read_method, megatron_read_recompute_layers, megatron_read_modules, megatron_read_bf16,
    megatron_read_fp16, megatron_read_fp8, megatron_read_fp8_recipe, megatron_read_fp4,
    megatron_read_fp32_sum, megatron_read_bf16_sum, megatron_read_distributed,
    megatron_read_overlap_dp, megatron_read_fsdp, megatron_read_sharding, megatron_read_moments,
    megatron_read_main_grads, megatron_read_optimizer,
    megatron_read_offload, megatron_read_offload_fraction, megatron_read_dispatcher,
    megatron_read_flex_backend, megatron_read_enable_deepep, megatron_read_capacity,
    megatron_read_overlap_experts, megatron_read_overlap_tp, megatron_read_overlap_flush,
    megatron_read_loss_fusion, megatron_read_graphs;

/* megatron_hybrid.c */
key_write_fn megatron_layer_pattern, megatron_mamba_state, megatron_mamba_head_dim,
    megatron_mamba_groups, megatron_mamba_heads, megatron_spec;
/* The program that builds and trains the model. */
const char *megatron_program(const struct plan_view *plan);
const char *megatron_mamba_obstacle(const struct plan_view *plan);
key_read_fn megatron_read_layer_pattern;
/* The plan's stages must be parts of a layer pattern, and such a pattern can be written. */
bool megatron_has_pattern(const struct plan_view *plan);
bool megatron_can_say_pattern(const struct model *model);

/* megatron_offload.c */
key_write_fn megatron_offload_activations, megatron_offload_modules, megatron_offload_share;
key_read_fn megatron_read_offload_activations, megatron_read_offload_share;

/* megatron_model.c */
key_write_fn megatron_layers, megatron_hidden, megatron_ffn, megatron_heads, megatron_gqa,
    megatron_groups, megatron_head_dim, megatron_positions, megatron_position_type, megatron_swiglu,
    megatron_squared_relu, megatron_norm, megatron_no_bias, megatron_qkv_bias, megatron_untied,
    megatron_qk_norm, megatron_out_gate, megatron_sinks, megatron_window, megatron_window_layers,
    megatron_vocab, megatron_mla, megatron_q_rank, megatron_kv_rank, megatron_nope_dim,
    megatron_rope_dim, megatron_value_dim, megatron_mtp, megatron_mtp_scale, megatron_experts,
    megatron_expert_ffn, megatron_shared, megatron_shared_gate, megatron_moe_layers, megatron_topk,
    megatron_route_groups, megatron_top_groups, megatron_latent;

/* megatron_family.c */
key_write_fn megatron_quick_geglu, megatron_glu_clamp, megatron_glu_offset, megatron_qk_l2_norm,
    megatron_no_rope, megatron_probs_on_input, megatron_zero_centered, megatron_attention_variant,
    megatron_linear_layers, megatron_linear_conv, megatron_linear_key_dim,
    megatron_linear_value_dim, megatron_linear_key_heads, megatron_linear_value_heads;
bool megatron_has_quick_geglu(const struct model *model);
/* Scores are sigmoids and scale what goes into an expert. */
bool megatron_scales_input(const struct model *model);
const char *megatron_deltanet_obstacle(const struct plan_view *plan);

/* "([0]*3+[1]*58)" of a bit a layer: megatron_model.c */
const char *megatron_pattern(struct arena *arena, const bool *bits, int64_t n);

/* megatron_recipe.c */
key_write_fn megatron_rotary_base, megatron_rotary_percent, megatron_rope_scaling,
    megatron_rope_factor, megatron_norm_epsilon, megatron_topk_scale, megatron_scores,
    megatron_pre_softmax, megatron_expert_bias, megatron_bias_rate, megatron_router_dtype,
    megatron_balancing, megatron_aux;

/* What Megatron-LM's arguments cannot say of a model or a plan; NULL: all of it. */
const char *megatron_model_obstacle(const struct plan_view *plan);
const char *megatron_plan_obstacle(const struct plan_view *plan);
/* The plan in Megatron's words, NULL after errors: target_megatron.c */
const struct plan_view *megatron_view(
    struct arena *arena, struct diags *diags, const struct plan_view *plan, const char *version);

#endif
