/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which arguments does Megatron-LM know, since and until which release? Names with
 * underscores, as its destinations. Read from the argument code and the dataclasses
 * behind it at one tag a minor release, core_v0.8.0 to core_v0.19.0: "since" is the
 * first of these that has a name (none: 0.8 or older), "until" the first without it.
 */
#include "check/rules_names.h"

/* clang-format off */
const struct name_span megatron_names[] = {
	{NULL, "0.9", "",
	    "delay_param_gather local_rank log_batch_size_to_tensorboard no_delay_grad_reduce "
	    "no_log_learnig_rate_to_tensorboard"},
	{NULL, "0.11", "",
	    "standalone_embedding_stage"},
	{NULL, "0.13", "",
	    "s3_cache_path"},
	{NULL, "0.14", "",
	    "pipeline_model_parallel_split_rank"},
	{NULL, "0.16", "",
	    "retriever_seq_length retro_add_retriever retro_attention_gate "
	    "retro_cyclic_train_iters retro_encoder_attention_dropout "
	    "retro_encoder_hidden_dropout retro_encoder_layers retro_no_verify_neighbor_count "
	    "retro_num_neighbors retro_num_retrieved_chunks retro_project_dir"},
	{NULL, "0.17", "",
	    "hybrid_attention_ratio hybrid_mlp_ratio moe_extended_tp "
	    "no_async_tensor_model_parallel_allreduce"},
	{NULL, "0.18", "",
	    "no_scatter_gather_tensors_in_pipeline tiktoken_special_tokens use_legacy_models"},
	{NULL, NULL, "",
	    "accumulate_allreduce_grads_in_fp32 adam_beta1 adam_beta2 adam_eps add_qkv_bias "
	    "adlr_autoresume adlr_autoresume_interval app_tag_run_name app_tag_run_version "
	    "apply_layernorm_1p apply_query_key_layer_scaling "
	    "apply_residual_connection_post_layernorm async_save attention_dropout "
	    "attention_softmax_in_fp32 auto_detect_ckpt_format batch_size bert_embedder_type "
	    "bert_load bert_no_binary_head bf16 biencoder_projection_dim "
	    "biencoder_shared_query_context_model block_data_path calculate_per_token_loss "
	    "check_weight_hash_across_dp_replicas_interval checkpoint_activations "
	    "ckpt_assume_constant_structure ckpt_fully_parallel_load ckpt_fully_parallel_save "
	    "ckpt_step classes_fraction clip_grad context_parallel_size cross_entropy_loss_fusion "
	    "data_cache_path data_parallel_random_init data_path data_per_class_fraction "
	    "dataloader_type ddp_average_in_collective ddp_bucket_size decoder_num_layers "
	    "decoder_seq_length decoupled_lr decoupled_min_lr defer_embedding_wgrad_compute "
	    "deterministic_mode dino_bottleneck_size dino_freeze_last_layer dino_head_hidden_size "
	    "dino_local_crops_number dino_local_img_size dino_norm_last_layer dino_teacher_temp "
	    "dino_warmup_teacher_temp dino_warmup_teacher_temp_epochs disable_bias_linear "
	    "disable_straggler_on_startup disable_tp_comm_bulk_dgrad disable_tp_comm_bulk_wgrad "
	    "disable_tp_comm_overlap_ag disable_tp_comm_overlap_rs disable_tp_comm_split_ag "
	    "disable_tp_comm_split_rs dist_ckpt_format dist_ckpt_strictness "
	    "distribute_saved_activations distributed_backend distributed_timeout_minutes "
	    "embedding_path empty_unused_memory_level encoder_num_layers encoder_seq_length "
	    "end_weight_decay eod_mask_loss eval_interval eval_iters evidence_data_path "
	    "exit_duration_in_mins exit_interval exit_on_missing_checkpoint exit_signal_handler "
	    "expert_model_parallel_size ffn_hidden_size finetune fp16 fp16_lm_cross_entropy "
	    "fp32_residual_connection fp8_amax_compute_algo fp8_amax_history_len fp8_format "
	    "fp8_interval fp8_margin global_batch_size group_query_attention head_lr_mult "
	    "hidden_dropout hidden_size hybrid_override_pattern hysteresis ict_head_size ict_load "
	    "img_h img_w indexer_batch_size indexer_log_interval "
	    "inference_batch_times_seqlen_threshold init_method_std init_method_xavier_uniform "
	    "initial_loss_scale iter_per_epoch kv_channels lazy_mpu_init load log_interval "
	    "log_memory_to_tensorboard log_num_zeros_in_grad log_params_norm log_progress "
	    "log_straggler log_throughput log_timers_to_tensorboard "
	    "log_validation_ppl_to_tensorboard log_world_size_to_tensorboard logging_level "
	    "loss_scale loss_scale_window lr lr_decay_iters lr_decay_samples lr_decay_style "
	    "lr_warmup_fraction lr_warmup_init lr_warmup_iters lr_warmup_samples "
	    "lr_wsd_decay_iters lr_wsd_decay_samples lr_wsd_decay_style "
	    "make_vocab_size_divisible_by manual_gc manual_gc_interval mask_factor mask_prob "
	    "mask_type max_position_embeddings max_tokens_to_oom merge_file micro_batch_size "
	    "min_loss_scale min_lr mock_data model_parallel_size moe_aux_loss_coeff "
	    "moe_expert_capacity_factor moe_grouped_gemm moe_input_jitter_eps moe_layer_recompute "
	    "moe_pad_expert_input_to_capacity moe_per_layer_logging "
	    "moe_router_load_balancing_type moe_router_pre_softmax moe_router_topk "
	    "moe_token_dispatcher_type moe_token_drop_policy moe_z_loss_coeff "
	    "nccl_communicator_config_path no_barrier_with_level_1_timing no_bias_dropout_fusion "
	    "no_bias_gelu_fusion no_bias_swiglu_fusion no_check_for_nan_in_loss_and_grad "
	    "no_ckpt_fully_parallel_save no_clone_scatter_output_in_embedding "
	    "no_create_attention_mask_in_dataloader no_data_sharding no_fp8_wgrad "
	    "no_gradient_accumulation_fusion no_initialization no_load_optim no_load_rng "
	    "no_log_loss_scale_to_tensorboard no_manual_gc_eval no_masked_softmax_fusion "
	    "no_mmap_bin_files no_one_logger no_overlap_p2p_communication no_persist_layer_norm "
	    "no_position_embedding no_rope_fusion no_save_optim no_save_rng norm_epsilon "
	    "normalization num_attention_heads num_channels num_classes "
	    "num_dataset_builder_threads num_experts num_layers "
	    "num_layers_per_virtual_pipeline_stage num_query_groups num_workers one_logger_async "
	    "one_logger_project one_logger_run_name onnx_safe openai_gelu optimizer "
	    "output_bert_embeddings overlap_grad_reduce overlap_param_gather "
	    "override_opt_param_scheduler patch_dim pipeline_model_parallel_size "
	    "position_embedding_type pretrained_checkpoint profile profile_ranks profile_step_end "
	    "profile_step_start qk_layernorm query_in_block_prob rampup_batch_size "
	    "recompute_activations recompute_granularity recompute_method recompute_num_layers "
	    "reset_attention_mask reset_position_ids retriever_report_topk_accuracies "
	    "retriever_score_scaling rotary_base rotary_interleaved rotary_percent "
	    "rotary_seq_len_interpolation_factor sample_rate save save_interval seed seq_length "
	    "sequence_parallel sgd_momentum short_seq_prob skip_train spec split squared_relu "
	    "start_weight_decay straggler_ctrlr_port straggler_minmax_count swiglu "
	    "swin_backbone_type tensor_model_parallel_size tensorboard_dir "
	    "tensorboard_log_interval tensorboard_queue_size test_data_path test_mode "
	    "tiktoken_num_special_tokens tiktoken_pattern timing_log_level timing_log_option "
	    "titles_data_path tokenizer_model tokenizer_type tp_comm_overlap tp_comm_overlap_cfg "
	    "tp_comm_overlap_rs_dgrad train_data_path train_iters train_samples transformer_impl "
	    "untie_embeddings_and_output_weights use_checkpoint_args "
	    "use_checkpoint_opt_param_scheduler use_cpu_initialization use_dist_ckpt "
	    "use_distributed_optimizer use_flash_attn use_mcore_models use_one_sent_docs "
	    "use_ring_exchange_p2p use_rotary_position_embeddings use_tp_pp_dp_mapping "
	    "valid_data_path vision_backbone_type vision_pretraining vision_pretraining_type "
	    "vocab_extra_ids vocab_file vocab_size wandb_exp_name wandb_project wandb_save_dir "
	    "warmup weight_decay weight_decay_incr_style wgrad_deferral_limit yaml_cfg"},
	{"0.9", "0.11", "",
	    "renormalize_blend_weights"},
	{"0.9", "0.14", "",
	    "encoder_pipeline_model_parallel_size encoder_tensor_model_parallel_size"},
	{"0.9", NULL, "",
	    "ckpt_convert_format ckpt_convert_save ckpt_convert_update_legacy_dist_opt_format "
	    "ckpt_format config_logger_dir decoder_first_pipeline_num_layers "
	    "decoder_last_pipeline_num_layers decrease_batch_size_if_needed enable_ft_package "
	    "fp8_param_gather local_rank moe_use_upcycling no_align_grad_reduce "
	    "no_align_param_gather non_persistent_ckpt_type non_persistent_global_ckpt_dir "
	    "non_persistent_local_ckpt_algo non_persistent_local_ckpt_dir "
	    "non_persistent_save_interval overlap_param_gather_with_optimizer_step "
	    "persistent_save_interval train_sync_interval use_pytorch_profiler"},
	{"0.10", NULL, "",
	    "check_for_spiky_loss cp_comm_type data_args_path error_injection_rate "
	    "error_injection_type expert_tensor_parallel_size flash_decode "
	    "hierarchical_context_parallel_sizes inference_max_seq_length kv_lora_rank "
	    "memory_snapshot_path microbatch_group_size_per_virtual_pipeline_stage "
	    "moe_ffn_hidden_size moe_layer_freq moe_shared_expert_intermediate_size "
	    "moe_shared_expert_overlap multi_latent_attention "
	    "no_use_tokenizer_model_from_checkpoint_args num_distributed_optimizer_instances "
	    "overlap_p2p_communication_warmup_flush per_split_data_args_path q_lora_rank "
	    "qk_head_dim qk_pos_emb_head_dim record_memory_history rerun_mode "
	    "rotary_scaling_factor tp_comm_bootstrap_backend use_mp_args_from_checkpoint_args "
	    "use_rope_scaling use_torch_fsdp2 v_head_dim"},
	{"0.11", "0.17", "",
	    "moe_use_legacy_grouped_gemm"},
	{"0.11", NULL, "",
	    "account_for_embedding_in_pipeline_split account_for_loss_in_pipeline_split "
	    "attention_backend calc_ft_timeouts cuda_graph_warmup_steps enable_cuda_graph "
	    "exp_avg_dtype exp_avg_sq_dtype inference_rng_tracker main_grads_dtype "
	    "main_params_dtype moe_permute_fusion moe_router_bias_update_rate "
	    "moe_router_enable_expert_bias moe_router_group_topk moe_router_num_groups "
	    "moe_router_score_function moe_router_topk_scaling_factor mscale mscale_all_dim "
	    "num_virtual_stages_per_pipeline_rank relative_attention_max_distance "
	    "relative_attention_num_buckets replication replication_factor replication_jump "
	    "rope_scaling_factor te_rng_tracker use_precision_aware_optimizer"},
	{"0.12", "0.14", "",
	    "keep_fp8_transpose_cache_when_using_custom_fsdp use_custom_fsdp"},
	{"0.12", "0.16", "",
	    "inference_dynamic_batching_buffer_guaranteed_fraction "
	    "inference_dynamic_batching_buffer_overflow_factor "
	    "inference_dynamic_batching_max_requests_override "
	    "inference_dynamic_batching_max_tokens_override"},
	{"0.12", NULL, "",
	    "check_for_large_grads cross_entropy_fusion_impl cuda_graph_scope "
	    "data_parallel_sharding_strategy ddp_num_buckets ddp_pad_buckets_for_high_nccl_busbw "
	    "disable_bf16_reduced_precision_matmul disable_gloo_process_groups "
	    "external_cuda_graph first_last_layers_bf16 fp8_recipe grad_reduce_in_bf16 "
	    "heterogeneous_layers_config_encoded_json heterogeneous_layers_config_path "
	    "inference_dynamic_batching inference_dynamic_batching_buffer_size_gb "
	    "inference_max_requests init_model_with_meta_device is_hybrid_model "
	    "iterations_to_skip mamba_head_dim mamba_num_groups mamba_state_dim moe_enable_deepep "
	    "moe_router_dtype mrope_section mtp_loss_scaling_factor mtp_num_layers "
	    "no_gradient_reduce_div_fusion no_pin_cpu_grads no_pin_cpu_params "
	    "num_layers_at_end_in_bf16 num_layers_at_start_in_bf16 optimizer_cpu_offload "
	    "optimizer_offload_fraction overlap_cpu_optimizer_d2h_h2d "
	    "pipeline_model_parallel_comm_backend recompute_modules "
	    "result_rejected_tracker_filename run_workload_inspector_server "
	    "suggested_communication_unit_size use_persistent_ckpt_worker "
	    "use_torch_optimizer_for_cpu_offload"},
	{"0.13", "0.15", "",
	    "inference_dynamic_batching_chunk_size load_model_opt_format"},
	{"0.13", NULL, "",
	    "delay_wgrad_compute disable_mamba_mem_eff_path disable_msc enable_experimental "
	    "fsdp_double_buffer high_priority_stream_groups inprocess_active_world_size "
	    "inprocess_barrier_timeout inprocess_completion_timeout inprocess_empty_cuda_cache "
	    "inprocess_granularity inprocess_hard_timeout inprocess_heartbeat_interval "
	    "inprocess_heartbeat_timeout inprocess_last_call_wait inprocess_max_iterations "
	    "inprocess_monitor_process_interval inprocess_monitor_thread_interval "
	    "inprocess_progress_watchdog_interval inprocess_restart inprocess_soft_timeout "
	    "inprocess_termination_grace_time kitchen_config_file kitchen_recipe_number "
	    "log_energy mamba_num_heads mid_level_dataset_surplus mlp_chunks_for_prefill "
	    "moe_apply_probs_on_input moe_deepep_num_sms moe_router_force_load_balancing "
	    "moe_router_padding_for_fp8 moe_upcycling_granularity nccl_all_reduce_for_prefill "
	    "no_rope_freq object_storage_cache_path pipeline_model_parallel_layout qk_l2_norm "
	    "reuse_grad_buf_for_mxfp8_param_ag sft sft_tokenizer_prompt_format symmetric_ar_type "
	    "torch_fsdp2_no_reshard_after_forward use_nccl_ub use_sharp"},
	{"0.14", NULL, "",
	    "cache_mla_latents embedding_init_method_std enable_full_sharding_in_hsdp "
	    "full_validation inference_dynamic_batching_num_cuda_graphs keep_fp8_transpose_cache "
	    "load_main_params_from_ckpt moe_router_fusion multiple_validation_sets "
	    "no_strict_fsdp_dtensor_load overlap_moe_expert_parallel_comm padded_vocab_size "
	    "rope_type save_retain_interval sharp_enabled_group use_fused_weighted_squared_relu "
	    "use_megatron_fsdp"},
	{"0.15", "0.16", "",
	    "grpo_default_temperature grpo_default_top_p rl_calculate_intra_group_similarity "
	    "rl_sequence_packing_bin_size"},
	{"0.15", "0.17", "",
	    "disable_chunked_prefill inference_max_batch_size langrl_external_server "
	    "langrl_inference_server_conversation_template langrl_inference_server_type "
	    "legacy_tokenizer rl_offload_kv_cache_during_training "
	    "rl_remove_kv_cache_during_training rl_reset_cuda_graphs"},
	{"0.15", NULL, "",
	    "activation_func_clamp_value cuda_graph_impl decode_only_cuda_graphs "
	    "disable_symmetric_registration dist_ckpt_optim_fully_reshardable "
	    "dist_ckpt_save_pre_mcore_014 distrib_optim_fully_reshardable_mem_efficient "
	    "distributed_timeout_seconds_after_init fp4_format fp4_param_gather fp4_recipe "
	    "glu_linear_offset grpo_clamp_eps_lower grpo_clamp_eps_upper grpo_entropy_term_weight "
	    "grpo_filter_groups_with_same_reward grpo_group_size grpo_iterations grpo_kl_beta "
	    "grpo_prompts_per_step inference_dynamic_batching_block_size "
	    "inference_dynamic_batching_track_paused_request_events "
	    "inference_dynamic_batching_unified_memory_level langrl_env_config "
	    "moe_pad_experts_for_cuda_graph_inference override_opt_param_scheduler "
	    "perform_rl_step quick_geglu rl_importance_sampling_truncation_coef "
	    "rl_inference_logprobs_is_correction rl_offload_optimizer_during_inference "
	    "rl_partial_rollouts rl_prompts_per_eval rl_sequence_packing_algo "
	    "rl_use_sequence_packing softmax_type tokenizer_metadata trust_remote_code "
	    "use_checkpoint_opt_param_scheduler use_te_activation_func wandb_entity "
	    "window_attn_skip_freq window_size"},
	{"0.16", "0.17", "",
	    "disable_async_tensor_model_parallel_allreduce disable_ckpt_fully_parallel_save"},
	{"0.16", "0.18", "",
	    "inference_dynamic_batching_cuda_graph_max_tokens muon_use_nesterov "
	    "tokenizer_hf_include_special_tokens tokenizer_hf_use_fast"},
	{"0.16", "0.19", "",
	    "rl_parallel_generation_tasks"},
	{"0.16", NULL, "",
	    "allow_ambiguous_pad_tokens apply_wd_to_qk_layernorm attention_output_gate "
	    "batch_invariant_mode cpu_offloading_num_layers create_all_gather_group "
	    "dataloader_defer_npy_index_mmap dataloader_fast_cache_load "
	    "ddp_reduce_scatter_with_fp32_accumulation disable_clone_scatter_output_in_embedding "
	    "disable_fp8_wgrad disable_jit_fuser disable_log_loss_scale_to_tensorboard "
	    "disable_manual_gc_eval disable_strict_fsdp_dtensor_load "
	    "disable_use_tokenizer_model_from_checkpoint_args dsa_indexer_head_dim "
	    "dsa_indexer_loss_coeff dsa_indexer_n_heads dsa_indexer_topk "
	    "dsa_indexer_use_sparse_loss dump_param_to_param_group_map enable_chunked_prefill "
	    "ep_overlap_early_attn_memory_release exit_signal exit_signal_handler_for_dataloader "
	    "experimental_attention_variant fake_process_group fim_data fim_eod_token "
	    "fim_fragment_rate fim_middle_token fim_no_prefix fim_pad_token fim_prefix_token "
	    "fim_rate fim_split_sample fim_spm_rate fim_suffix_token "
	    "fine_grained_activation_offloading fp4_quantizer_factory fp8_quantizer_factory "
	    "fsdp_manual_registration ft_num_warmup_iters hybrid_context_parallel "
	    "inference_coordinator_port inference_dynamic_batching_cuda_graph_mixed_prefill_count "
	    "inference_dynamic_batching_max_requests inference_dynamic_batching_max_tokens "
	    "inference_dynamic_batching_paused_buffer_size_gb inference_fuse_tp_communication "
	    "inference_logging_step_interval inference_wandb_logging kitchen_attention_backend "
	    "linear_attention_freq linear_conv_kernel_dim linear_key_head_dim "
	    "linear_num_key_heads linear_num_value_heads linear_value_head_dim "
	    "log_device_memory_used log_max_attention_logit log_memory_interval "
	    "max_seqlen_per_dp_cp_rank min_offloaded_tensor_size moe_enable_routing_replay "
	    "moe_flex_dispatcher_backend moe_hybridep_num_sms moe_latent_size "
	    "moe_router_padding_for_quantization moe_shared_expert_gate mtp_standalone "
	    "muon_extra_scale_factor muon_fp32_matmul_prec muon_momentum muon_no_split_qkv "
	    "muon_num_ns_steps muon_scale_mode muon_tp_mode no_tp_comm_bulk_dgrad "
	    "no_tp_comm_bulk_wgrad no_tp_comm_overlap_ag no_tp_comm_overlap_rs "
	    "no_tp_comm_split_ag no_tp_comm_split_rs no_weight_decay_cond_type offload_modules "
	    "outer_dp_sharding_strategy per_dataset_sequences_path phase_transition_iterations "
	    "qk_clip qk_clip_alpha qk_clip_threshold refit_method rl_default_temperature "
	    "rl_default_top_k rl_default_top_p rl_inference_expert_model_parallel_size "
	    "rl_inference_expert_tensor_model_parallel_size "
	    "rl_inference_model_unified_memory_level rl_inference_pipeline_model_parallel_size "
	    "rl_inference_tensor_model_parallel_size rl_offload_inference_model_weights_when_idle "
	    "rl_sequence_packing_max_sequences_per_bin rl_skip_bos_token rl_training_cuda_graphs "
	    "rl_verify_model_weights_swap save_dgrads_interval save_wgrads_interval "
	    "te_precision_config_file tokenizer_sentencepiece_legacy tokenizer_special_tokens "
	    "use_kitchen_attention use_legacy_static_engine"},
	{"0.17", "0.19", "",
	    "rl_generation_batch_size rl_num_parallel_generation_batches "
	    "rl_num_parallel_generations"},
	{"0.17", NULL, "",
	    "async_ckpt_cpu_priority async_ckpt_io_priority async_strategy "
	    "ckpt_fully_parallel_load_exchange_algo ckpt_fully_parallel_load_process_group "
	    "ckpt_fully_parallel_save_process_group cpu_offloading_retain_pinned_cpu_buffers "
	    "ddp_param_name_patterns_for_fp32_local_accumulation disable_align_grad_reduce "
	    "disable_flight_recorder_dump_on_timeout disable_flight_recorder_extra_dump_on_exec "
	    "disable_flight_recorder_include_only_active dist_ckpt_workers "
	    "exit_signal_handler_for_training flight_recorder_dump_path "
	    "flight_recorder_include_stack_trace flight_recorder_trace_buffer_size "
	    "fused_residual_rmsnorm hybrid_layer_pattern inference_disable_triton_nvls_kernels "
	    "inference_dynamic_batching_mamba_memory_ratio "
	    "inference_dynamic_batching_prefix_caching "
	    "inference_dynamic_batching_prefix_caching_coordinator_policy "
	    "inference_dynamic_batching_prefix_caching_eviction_policy "
	    "inference_dynamic_batching_prefix_caching_mamba_gb "
	    "inference_dynamic_batching_prefix_caching_routing_alpha "
	    "inference_dynamic_batching_track_generated_token_events "
	    "inference_grouped_gemm_backend inference_moe_disable_fused_quant_kernels "
	    "inference_text_gen_server_logging inference_use_synchronous_zmq_collectives "
	    "lion_beta1 lion_beta2 mamba_inference_conv_states_dtype "
	    "mamba_inference_ssm_states_dtype megatron_fsdp_grad_comm_dtype "
	    "megatron_fsdp_main_grads_dtype megatron_fsdp_main_params_dtype mla_down_proj_fusion "
	    "moe_router_force_biased mtp_hybrid_override_pattern mtp_use_repeated_layer "
	    "muon_coefficient_type muon_scalar_optimizer mup_attn_scale_power mup_base_head_dim "
	    "mup_base_hidden_size mup_embedding_mult mup_output_mult mup_width_mult "
	    "no_flight_recorder_dump_on_timeout no_flight_recorder_extra_dump_on_exec "
	    "no_flight_recorder_include_only_active num_speculative_tokens optimizer_cuda_graph "
	    "pytorch_profiler_collect_callstack pytorch_profiler_collect_chakra "
	    "pytorch_profiler_collect_shapes rl_inference_parsers rl_kv_cache_management_mode "
	    "rl_persist_cuda_graphs tokenizer_hf_no_include_special_tokens "
	    "tokenizer_hf_no_use_fast use_mup"},
	{"0.18", NULL, "",
	    "async_ckpt_use_cpu_shm chat_template cuda_graph_modules "
	    "disable_ckpt_load_validate_sharding_integrity disable_pad_vocab_size "
	    "disable_tokenizer_sentencepiece_ignore_extra_whitespaces enable_msc "
	    "eval_global_batch_size eval_micro_batch_size fault_injector_delay_start_iteration "
	    "fault_injector_fault_delay fault_injector_fault_probabilities "
	    "fault_injector_fault_types fault_injector_mtti_seconds fault_injector_num_ranks "
	    "fault_injector_offset_seconds fault_injector_ranks fault_injector_seed "
	    "fine_grained_offloading_max_inflight_offloads fp8_output_proj "
	    "gpu_sniff_test_interval high_priority_a2a_comm_stream "
	    "inference_cuda_graph_all_prefills inference_cuda_graph_scope "
	    "inference_disable_ep_consensus inference_dynamic_batching_sampling_backend "
	    "inference_moe_token_dispatcher_type megatron_fsdp_enable_fine_grained_param_gather "
	    "mlp_chunks_for_training moe_expert_rank_capacity_factor "
	    "moe_hybridep_num_blocks_permute moe_hybridep_num_blocks_unpermute "
	    "moe_hybridep_num_sms_preprocessing moe_mlp_glu_interleave_size moe_paged_stash "
	    "moe_paged_stash_buffer_size_factor_cpu moe_paged_stash_buffer_size_factor_cuda "
	    "moe_paged_stash_page_size moe_permute_fusion_into_hybridep moe_single_grouped_bias "
	    "moe_single_grouped_weight muon_nesterov no_ckpt_load_validate_sharding_integrity "
	    "no_pad_vocab_size no_tokenizer_sentencepiece_ignore_extra_whitespaces "
	    "no_use_layer_wise_param_layout null_tokenizer_eod_id null_tokenizer_pad_id "
	    "nvtx_ranges overlap_dispatch_backward_with_experts_wgrad record_shapes "
	    "save_activations_interval save_params_interval save_tokens_per_expert_interval "
	    "start_eval_at_iter step_batch_size_schedule use_grouped_gemm_for_dense_mlp "
	    "use_transformer_engine_op_fuser validation_set_names verify_integrity"},
	{"0.19", NULL, "",
	    "activation_offload_fraction dataloader_inter_document_masking "
	    "delay_offload_until_cuda_graph delta_offload_bytes_across_pp_ranks "
	    "disable_dsa_indexer_rotate_activation disable_dsa_indexer_scoring_relu "
	    "disable_stream_ckpt_dequant dsa_indexer_k_norm_epsilon dsa_indexer_k_norm_fp32 "
	    "dsa_indexer_rope_interleaved dsa_indexer_skip_topk_offset dsa_indexer_topk_freq "
	    "dsa_kernel_backend expert_tensor_parallel_num_weight_shards flash_attention_version "
	    "freeze_all_layers fsdp_db_use_persist_buf_on_alloc_fail "
	    "inference_cuda_graph_max_tokens inference_dynamic_batching_async_sched_mode "
	    "inference_dynamic_batching_cuda_graph_sizing_distribution "
	    "inference_dynamic_batching_logprobs_mode inference_shards logits_load_decode_threads "
	    "logits_load_dir logits_load_ignore_errors logits_load_kd_loss_alpha "
	    "logits_load_msc_prefetch_depth logits_load_prefetch_factor logits_save_dir "
	    "logits_save_dtype logits_save_top_k logits_save_top_p logits_save_top_p_min_k "
	    "mamba_training_ssm_states_dtype megatron_fsdp_max_pool_double_buffer "
	    "moe_flex_dispatcher_num_sms moe_hybridep_pad_uneven_dispatch_inputs "
	    "moe_ncclep_static_shape moe_ncclep_zero_copy moe_router_quantile_balancing_ema "
	    "moe_routing_trace_capture_hidden_states moe_routing_trace_capture_logits "
	    "moe_routing_trace_dump_weights moe_routing_trace_max_training_iters "
	    "moe_routing_trace_path moe_shared_expert_glu_interleave_size mtp_detach_heads "
	    "no_dsa_indexer_rotate_activation no_dsa_indexer_scoring_relu no_stream_ckpt_dequant "
	    "no_yarn_correction_range_round_to_int override_ckpt_iteration "
	    "rl_consumption_granularity rl_generation_lag rl_profile rl_profile_dir "
	    "rl_submission_granularity tensor_parallel_num_weight_shards "
	    "use_grouped_gemm_for_shared_expert use_same_sampling_seed_across_dp_ranks "
	    "yarn_beta_fast yarn_beta_slow yarn_correction_range_round_to_int "
	    "yarn_original_max_position_embeddings"},
	{"0.20", NULL, "",
	    "ckpt_drop_redundant_extra_state ckpt_fully_parallel_load_per_rank_objects "
	    "gtp_expert_remat_nccl_ub gtp_remat_nccl_ub "
	    "gtp_remat_reduce_scatter_with_fp32_accumulation megatron_fsdp_version muon_use_syrk "
	    "otel_enabled otel_service_name otel_span_groups output_logit_dtype "
	    "rl_durable_rollout_bank rl_max_inflight_requests rl_rollout_bank_dir "
	    "rl_rollout_bank_max_bytes"},
	/* what its programs add: post_training/arguments.py, pretrain_vlm.py */
	{"0.10", NULL, "",
	    "dataloader_seq_length decoder_tp_comm_overlap disable_vision_class_token "
	    "enable_gpt_oss export_default_te_spec export_force_local_attention export_kd_cfg "
	    "export_kd_teacher_ckpt_format export_kd_teacher_load export_kd_teacher_model_config "
	    "export_kv_cache_quant export_legacy_megatron export_model_type "
	    "export_moe_apply_probs_on_input export_offline_model export_qk_l2_norm "
	    "export_quant_cfg export_real_quant_cfg export_te_mcore_model finetune_data_files "
	    "finetune_data_split finetune_hf_dataset freeze_LM freeze_ViT freeze_base_for_mtp "
	    "language_model_type modelopt_enabled qad_train_target use_packed_sequence "
	    "vision_model_type"},
	{.names = NULL},
};
/* clang-format on */
