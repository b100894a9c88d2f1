/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which keys do DeepSpeed and torchtitan know, since and until which release?
 * DeepSpeed: the top-level keys that runtime/config.py fetches by name, and the
 * fields of its pydantic blocks at tags from v0.12.0 to v0.19.5; precision
 * blocks are pydantic since 0.17.1. torchtitan: JobConfig of 0.2.2 and the
 * dataclasses of config/configs.py of 0.3; other sections of 0.3 are chosen in
 * Python and not listed.
 */
#include "check/rules_names.h"

/* clang-format off */
const struct name_span deepspeed_names[] = {
	{"0.10.0", NULL, "zero_optimization.",
	    "zero_hpz_partition_size zero_quantized_gradients zero_quantized_weights"},
	{"0.13.0", NULL, "zero_optimization.",
	    "use_multi_rank_bucket_allreduce"},
	{"0.15.0", NULL, "zero_optimization.",
	    "stage3_use_all_reduce_for_fetch_params use_all_reduce_for_fetch_params"},
	{"0.16.0", NULL, "zero_optimization.",
	    "module_granularity_threshold stage3_module_granularity_threshold"},
	{"0.16.4", NULL, "zero_optimization.",
	    "log_trace_cache_warnings zeropp_loco_param"},
	{"0.17.6", NULL, "zero_optimization.",
	    "enable_sanity_checks zenflow"},
	{"0.18.0", NULL, "zero_optimization.",
	    "leaf_module"},
	{"0.18.6", NULL, "zero_optimization.",
	    "allgather_sequential stage3_allgather_sequential"},
	{"0.18.9", NULL, "zero_optimization.",
	    "save_muon_momentum_buffer_in_memory"},
	{NULL, NULL, "zero_optimization.",
	    "allgather_bucket_size allgather_partitions contiguous_gradients cpu_offload "
	    "cpu_offload_param cpu_offload_use_pin_memory elastic_checkpoint "
	    "gather_16bit_weights_on_model_save ignore_unused_parameters legacy_stage1 "
	    "load_from_fp32_weights max_live_parameters max_reuse_distance "
	    "memory_efficient_linear mics_hierarchical_params_gather mics_shard_size "
	    "model_persistence_threshold offload_optimizer offload_param overlap_comm "
	    "override_module_apply param_persistence_threshold pipeline_loading_checkpoint "
	    "prefetch_bucket_size reduce_bucket_size reduce_scatter round_robin_gradients stage "
	    "stage3_gather_16bit_weights_on_model_save stage3_gather_fp16_weights_on_model_save "
	    "stage3_max_live_parameters stage3_max_reuse_distance "
	    "stage3_model_persistence_threshold stage3_param_persistence_threshold "
	    "stage3_prefetch_bucket_size sub_group_size zero_quantized_nontrainable_weights"},
	{NULL, NULL, "zero_optimization.offload_param.",
	    "buffer_count buffer_size device max_in_cpu nvme_path pin_memory"},
	{"0.13.0", NULL, "zero_optimization.offload_optimizer.",
	    "ratio"},
	{"0.18.0", NULL, "zero_optimization.offload_optimizer.",
	    "cpuadam_cores_perc super_offload"},
	{NULL, NULL, "zero_optimization.offload_optimizer.",
	    "buffer_count device fast_init nvme_path pin_memory pipeline_read pipeline_write"},
	{"0.18.4", NULL, "bf16.",
	    "bf16_master_weights_and_grads bf16_optimizer_states"},
	{NULL, NULL, "bf16.",
	    "check_grad_overflow enabled immediate_grad_update"},
	{NULL, NULL, "fp16.",
	    "auto_cast consecutive_hysteresis enabled fp16_master_weights_and_grads hysteresis "
	    "initial_scale_power loss_scale loss_scale_window min_loss_scale"},
	{"0.17.0", NULL, "tensor_parallel.",
	    "tp_overlap_comm"},
	{"0.18.6", NULL, "tensor_parallel.",
	    "partition_config preset_model"},
	{NULL, NULL, "tensor_parallel.",
	    "autotp_size dtype injection_policy_tuple keep_module_on_host kernel_inject "
	    "replace_with_kernel_inject tensor_parallel tp"},
	{NULL, NULL, "tensor_parallel.tp.",
	    "mpu tp_grain_size tp_group tp_size"},
	{"0.17.0", NULL, "compile.",
	    "debug_log deepcompile double_buffer free_activation offload_activation "
	    "offload_opt_states offload_parameters symmetric_memory sync_after_allgather "
	    "sync_after_reduce sync_before_allgather sync_before_reduce"},
	{"0.17.4", NULL, "compile.",
	    "keep_all_input_tensors keep_int_input_tensors"},
	{"0.18.0", NULL, "compile.",
	    "free_activation_threshold"},
	{"0.18.9", NULL, "compile.",
	    "passes"},
	{NULL, "0.17.0", "compile.",
	    "backend enabled kwargs"},
	{NULL, NULL, "comms_logger.",
	    "debug enabled prof_all prof_ops verbose"},
	{NULL, NULL, "tensorboard.",
	    "enabled job_name output_path"},
	{NULL, NULL, "wandb.",
	    "enabled group project team"},
	{NULL, NULL, "csv_monitor.",
	    "enabled job_name output_path"},
	{NULL, NULL, "comet.",
	    "api_key enabled experiment_key experiment_name mode online project "
	    "samples_log_interval workspace"},
	{NULL, NULL, "hybrid_engine.",
	    "enabled inference_tp_size max_out_tokens pin_parameters release_inference_cache "
	    "tp_gather_partition_size"},
	{NULL, NULL, "",
	    "train_batch_size train_micro_batch_size_per_gpu gradient_accumulation_steps "
	    "managed_gradient_accumulation steps_per_print dump_state disable_allgather "
	    "communication_data_type seq_parallel_communication_data_type prescale_gradients "
	    "gradient_predivide_factor sparse_gradients zero_optimization "
	    "zero_allow_untested_optimizer zero_force_ds_cpu_optimizer activation_checkpointing "
	    "comms_logger tensorboard wandb csv_monitor comet gradient_clipping fp16 bf16 "
	    "bfloat16 amp torch_autocast compression_training graph_harvesting optimizer "
	    "scheduler flops_profiler wall_clock_breakdown memory_breakdown autotuning eigenvalue "
	    "use_data_before_expert_parallelism hybrid_engine sparse_attention pipeline "
	    "progressive_layer_drop curriculum_learning data_efficiency checkpoint data_types aio "
	    "dataloader_drop_last log_level nebula datastates_ckpt weight_quantization "
	    "quantize_training compile timers elasticity vocabulary_size sequence_parallel_size "
	    "data_parallel_size"},
	{"0.16.4", NULL, "",
	    "tensor_parallel"},
	{"0.19.2", NULL, "",
	    "expert_parallel"},
	{"0.19.6", NULL, "",
	    "gradient_allreduce_op"},
	{"0.19.2", NULL, "expert_parallel.",
	    "autoep_size combine_impl disable_triton_grouped_mm enabled expert_pattern "
	    "expert_tensor_parallel_size expert_w1 expert_w2 expert_w3 has_shared_experts "
	    "load_balance_coeff moe_layer_pattern num_expert_groups num_experts_attr "
	    "num_limited_groups preset_model route_norm route_scale routed_scaling_factor "
	    "router_pattern score_apply score_func shared_experts_gate_pattern "
	    "shared_experts_pattern top_k top_k_attr use_grouped_mm validate_folding_routing"},
	{NULL, NULL, "pipeline.",
	    "stages partition seed_layers activation_checkpoint_interval pipe_partitioned "
	    "grad_partitioned use_reentrant"},
	{NULL, NULL, "activation_checkpointing.",
	    "partition_activations contiguous_memory_optimization cpu_checkpointing "
	    "number_checkpoints synchronize_checkpoint_boundary profile"},
	{.names = NULL},
};

const struct name_span torchtitan_names[] = {
	{NULL, NULL, "training.",
	    "local_batch_size global_batch_size seq_len max_norm steps enable_cpu_offload dtype "
	    "mixed_precision_param mixed_precision_reduce gc_freq gc_debug"},
	{NULL, NULL, "parallelism.",
	    "data_parallel_replicate_degree data_parallel_shard_degree fsdp_reshard_after_forward "
	    "tensor_parallel_degree pipeline_parallel_degree module_fqns_per_model_part "
	    "pipeline_parallel_first_stage_less_layers pipeline_parallel_last_stage_less_layers "
	    "pipeline_parallel_layers_per_stage pipeline_parallel_schedule "
	    "pipeline_parallel_schedule_csv pipeline_parallel_microbatch_size "
	    "context_parallel_degree context_parallel_load_balancer expert_parallel_degree"},
	{NULL, NULL, "compile.",
	    "enable components backend"},
	{NULL, NULL, "comm.",
	    "init_timeout_seconds train_timeout_seconds trace_buf_size save_traces_folder "
	    "save_traces_file_prefix mode"},
	{NULL, NULL, "debug.",
	    "seed deterministic deterministic_warn_only moe_force_load_balance"},
	{NULL, "0.3", "job.",
	    "config_file dump_folder description print_config save_config_file "
	    "custom_config_module"},
	{NULL, "0.3", "profiling.",
	    "enable_profiling save_traces_folder profile_freq profiler_active profiler_warmup "
	    "enable_memory_snapshot save_memory_snapshot_folder"},
	{NULL, "0.3", "metrics.",
	    "log_freq enable_tensorboard disable_color_printing save_tb_folder save_for_all_ranks "
	    "enable_wandb"},
	{NULL, "0.3", "model.",
	    "name flavor hf_assets_path tokenizer_path converters print_after_conversion"},
	{NULL, "0.3", "optimizer.",
	    "name lr beta1 beta2 eps weight_decay implementation early_step_in_backward"},
	{NULL, "0.3", "lr_scheduler.",
	    "warmup_steps total_steps decay_ratio decay_type min_lr_factor"},
	{NULL, "0.3", "training.",
	    "dataset dataset_path"},
	{NULL, "0.3", "training.dataloader.",
	    "num_workers persistent_workers pin_memory prefetch_factor"},
	{NULL, "0.3", "parallelism.",
	    "disable_loss_parallel enable_async_tensor_parallel "
	    "pipeline_parallel_expert_parallel_overlap context_parallel_rotate_method "
	    "expert_tensor_parallel_degree expert_parallel_comm_backend"},
	{NULL, "0.3", "checkpoint.",
	    "enable enable_ft_dataloader_checkpoints folder interval initial_load_path "
	    "initial_load_model_only initial_load_in_hf initial_load_in_hf_quantized "
	    "last_save_model_only last_save_in_hf export_dtype async_mode keep_latest_k load_step "
	    "exclude_from_loading enable_first_step_checkpoint create_seed_checkpoint load_only"},
	{NULL, "0.3", "activation_checkpoint.",
	    "mode selective_ac_option per_op_sac_force_recompute_mm_shapes_by_fqns early_stop "
	    "memory_budget visualize_memory_budget_pareto preserve_rng_state determinism_check "
	    "debug"},
	{NULL, "0.3", "quantize.linear.float8.",
	    "enable_fsdp_float8_all_gather precompute_float8_dynamic_scale_for_fsdp recipe_name "
	    "filter_fqns emulate"},
	{NULL, "0.3", "quantize.linear.mx.",
	    "mxfp8_dim1_cast_kernel_choice recipe_name filter_fqns"},
	{NULL, "0.3", "quantize.grouped_mm.float8.",
	    "fqns"},
	{NULL, "0.3", "quantize.grouped_mm.mx.",
	    "recipe_name fqns"},
	{NULL, "0.3", "memory_estimation.",
	    "enable disable_fake_mode"},
	{NULL, "0.3", "fault_tolerance.",
	    "enable process_group process_group_timeout_ms replica_id group_size min_replica_size "
	    "semi_sync_method"},
	{NULL, "0.3", "experimental.",
	    "custom_import custom_args_module"},
	{NULL, "0.3", "validation.",
	    "enable dataset dataset_path local_batch_size seq_len freq steps"},
	{NULL, "0.3", "validation.dataloader.",
	    "num_workers persistent_workers pin_memory prefetch_factor"},
	{"0.3", NULL, "training.",
	    "disable_cuda_graphs"},
	{"0.3", NULL, "parallelism.",
	    "enable_fsdp_symm_mem enable_sequence_parallel spmd_backend "
	    "context_parallel_ptrr_mask_key"},
	{"0.3", NULL, "compile.",
	    "enable_async_tensor_parallel"},
	{"0.3", NULL, "debug.",
	    "spmd_typechecking detect_anomaly batch_invariant print_config save_config_file "
	    "enable_structured_logging"},
	{.names = NULL},
};
/* clang-format on */
