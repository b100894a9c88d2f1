/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which other names do people give a field of a case? Those of Megatron-LM, torchtitan,
 * Hugging Face configurations and of reports, whatever the framework: they are asked when
 * neither a field nor the case's own framework has the name.
 */
#include "check/case_fields.h"

#include <string.h>

/* clang-format off */
const struct case_names case_names[] = {
	{"gpus", "n_gpus total_gpus gpu_count"},
	{"tp", "tensor_model_parallel_size tensor_parallel_degree tp_degree mp_size mp"},
	{"cp", "context_parallel_degree cp_degree"},
	{"pp", "pipeline_model_parallel_size pipeline_parallel_degree pp_degree"},
	{"vpp", "num_virtual_stages_per_pipeline_rank"},
	{"ep", "expert_model_parallel_size expert_parallel_degree ep_degree moe_ep_size"},
	{"etp", "expert_tensor_parallel_degree etp_degree"},
	{"dp", "data_parallel_degree dp_degree"},
	{"dp_replicate", "data_parallel_replicate_degree"},
	{"dp_shard", "data_parallel_shard_degree"},
	{"nodes", "n_nodes"},
	{"nproc_per_node", "nproc procs_per_node processes_per_node"},
	{"gpus_per_node", "devices_per_node"},
	{"seq", "seq_length seqlen sequence_length max_seq_len max_length cutoff_len"},
	{"mbs", "micro_bs micro_batch_size_per_gpu per_device_train_batch_size "
	    "per_device_batch_size ppo_micro_batch_size_per_gpu"},
	{"rollout_n", "n_samples_per_prompt samples_per_prompt num_generations"},
	{"ppo_mini_batch_size", "mini_batch_size ppo_mini_bsz"},
	{"gbs", "global_bs train_global_batch_size total_batch_size"},
	{"grad_accum", "gradient_accumulation grad_acc accumulate_grad_batches"},
	{"zero", "zero_optimization_stage stage"},
	{"dist_opt", "use_distributed_optimizer distributed_optimizer"},
	{"fully_sharded", "fsdp full_shard fully_shard"},
	{"ulysses_sequence_parallel_size", "ulysses ulysses_size ulysses_degree "
	    "ulysses_sequence_parallel"},
	{"optimizer_cpu_offload", "cpu_offload"},
	{"version", "framework_version megatron_version megatron_core_version mcore core "
	    "deepspeed_version torchtitan_version"},
	{"layers", "num_hidden_layers n_layers num_transformer_layers"},
	{"hidden", "hidden_size d_model"},
	{"ffn", "ffn_hidden_size intermediate_size ffn_dim"},
	{"moe_ffn", "moe_ffn_hidden_size moe_intermediate_size expert_ffn"},
	{"heads", "num_heads n_head attention_heads q_heads"},
	{"kv", "num_kv_heads query_groups"},
	{"head_dim", "kv_channels"},
	{"num_experts", "n_experts num_routed_experts expert_count"},
	{"topk", "moe_router_topk num_experts_per_tok num_experts_per_token"},
	{"vocab", "vocab_size padded_vocab_size"},
	{"params", "n_params num_params model_params parameters"},
	{"largest_layer", "largest_layer_params"},
	{"gpu_mem_gib", "gpu_memory_gib gpu_gib hbm_gib mem_per_gpu_gib"},
	{"gpu_mem_gb", "gpu_memory_gb"},
	{"host_mem_gib", "host_memory_gib host_ram_gib cpu_mem_gib ram_gib"},
	{"host_mem_gb", "host_memory_gb host_ram_gb cpu_memory_gb cpu_mem_gb ram_gb"},
	{"redundant", "redundant_experts ep_num_redundant_experts"},
	{"decoder_first_pipeline_num_layers", "num_layers_in_first_pipeline_stage "
	    "first_stage_layers"},
	{"decoder_last_pipeline_num_layers", "num_layers_in_last_pipeline_stage "
	    "last_stage_layers"},
	{"microbatch_group_size_per_virtual_pipeline_stage",
	    "microbatch_group_size_per_vp_stage microbatch_group_size"},
	{"mtp_num_layers", "mtp_layers"},
	{"moe_aux_loss_coeff", "aux_loss_coeff aux_loss_coef"},
	{"moe_router_dtype", "router_dtype"},
	{"moe_router_score_function", "score_function"},
	{"moe_router_pre_softmax", "pre_softmax"},
	{"moe_router_enable_expert_bias", "expert_bias"},
	{"moe_router_num_groups", "n_group num_groups"},
	{"moe_router_group_topk", "topk_group"},
	{"moe_router_load_balancing_type", "load_balancing"},
	{"moe_pad_expert_input_to_capacity", "pad_to_capacity"},
	{"dispatcher", "moe_token_dispatcher_type"},
	{.name = NULL},
};
/* clang-format on */

const char *
case_name_of(const char *other)
{
	size_t length = strlen(other);

	for (const struct case_names *row = case_names; row->name; row++)
		for (const char *at = row->others; *at; at += strspn(at, " ")) {
			size_t n = strcspn(at, " ");

			if (n == length && strncmp(at, other, n) == 0)
				return row->name;
			at += n;
		}
	return NULL;
}
