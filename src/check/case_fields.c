/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which keys may the input of a case have? One row a key; the man page lists them from here. */
#include "check/case_fields.h"

#include <string.h>

#include "check/config.h"

#define STRATEGY(name, member, text)                                                               \
	{                                                                                          \
		name, CASE_STRATEGY, offsetof(struct strategy, member), NULL, false, false, text   \
	}
#define LAUNCH(name, member, text)                                                                 \
	{                                                                                          \
		name, CASE_LAUNCH, offsetof(struct launch, member), NULL, false, false, text       \
	}
#define SETTING(name, setting, text)                                                               \
	{                                                                                          \
		name, CASE_SETTING, 0, setting, false, false, text                                 \
	}
#define OWN(name, text)                                                                            \
	{                                                                                          \
		name, CASE_SETTING, 0, NULL, true, false, text                                     \
	}
#define OWN_MAP(name, text)                                                                        \
	{                                                                                          \
		name, CASE_SETTING, 0, NULL, true, true, text                                      \
	}
#define SPECIAL(name, text)                                                                        \
	{                                                                                          \
		name, CASE_SPECIAL, 0, NULL, false, false, text                                    \
	}

/* clang-format off */
const struct case_field case_fields[] = {
	/* degrees */
	SPECIAL("gpus", "ranks; a list with mem_gib: measured series"),
	STRATEGY("world", world, NULL),
	STRATEGY("world_size", world, NULL),
	STRATEGY("gpus_intended", world, NULL),
	STRATEGY("num_processes", world, NULL),
	STRATEGY("tp", tp, "tensor-parallel ranks"),
	STRATEGY("tp_size", tp, NULL),
	STRATEGY("tensor_parallel", tp, NULL),
	STRATEGY("model_parallel", tp, NULL),
	STRATEGY("tensor_parallel_size", tp, NULL),
	STRATEGY("cp", cp, "context-parallel ranks"),
	STRATEGY("context_parallel_size", cp, NULL),
	STRATEGY("pp", pp, "pipeline stages"),
	STRATEGY("pp_size", pp, NULL),
	STRATEGY("pipeline_parallel_size", pp, NULL),
	STRATEGY("pipeline_stages", pp, NULL),
	STRATEGY("num_stages", pp, NULL),
	STRATEGY("vpp", vpp, "virtual stages a pipeline rank holds"),
	STRATEGY("vp", vpp, NULL),
	STRATEGY("virtual_pipeline_model_parallel_size", vpp, NULL),
	STRATEGY("ep", ep, "expert-parallel ranks"),
	STRATEGY("ep_size", ep, NULL),
	STRATEGY("autoep_size", ep, NULL),
	STRATEGY("expert_parallel_size", ep, NULL),
	STRATEGY("etp", etp, "tensor-parallel ranks inside an expert"),
	STRATEGY("etp_size", etp, NULL),
	STRATEGY("expert_tensor_parallel_size", etp, NULL),
	STRATEGY("dp", dp, "dense data-parallel ranks"),
	STRATEGY("dp_size", dp, NULL),
	STRATEGY("data_parallel_size", dp, NULL),
	STRATEGY("edp", edp, "expert data-parallel ranks"),
	STRATEGY("dp_replicate", dp_replicate, "replicas of the sharded model"),
	STRATEGY("dp_shard", dp_shard, "ranks that shard the model, -1 the rest"),
	STRATEGY("seq", seq_len, "tokens of a sequence"),
	STRATEGY("seq_len", seq_len, NULL),
	STRATEGY("mbs", micro_batch, "sequences of a forward pass"),
	STRATEGY("micro_batch", micro_batch, NULL),
	STRATEGY("micro_batch_size", micro_batch, NULL),
	STRATEGY("local_batch_size", micro_batch, NULL),
	STRATEGY("micro_train_batch_size", micro_batch, NULL),
	STRATEGY("train_micro_batch_size_per_gpu", micro_batch, NULL),
	STRATEGY("gbs", global_batch, "sequences of an optimizer step"),
	STRATEGY("global_batch", global_batch, NULL),
	STRATEGY("global_batch_size", global_batch, NULL),
	STRATEGY("train_batch_size", global_batch, NULL),
	SPECIAL("zero", "ZeRO stage"),
	SPECIAL("zero_stage", NULL),
	SPECIAL("dist_opt", "Megatron's distributed optimizer"),
	SPECIAL("fully_sharded", "FSDP or ZeRO-3"),
	SPECIAL("capacity_factor", "expert capacity factor"),
	SPECIAL("moe_expert_capacity_factor", NULL),
	SPECIAL("auto_ep", "DeepSpeed AutoEP"),
	SPECIAL("expert_tp", "DeepSpeed expert tensor parallelism"),
	SPECIAL("enable_expert_tensor_parallelism", NULL),
	SETTING("noisy_gate_policy", "MoE.noisy_gate_policy", "DeepSpeed: noise of the gate"),
	SPECIAL("megatron", "release of the framework"),
	SPECIAL("megatron_core", NULL),
	SPECIAL("version", NULL),
	/* launch and environment */
	LAUNCH("nodes", nodes, "nodes"),
	LAUNCH("nnodes", nodes, NULL),
	LAUNCH("num_machines", nodes, NULL),
	LAUNCH("nproc_per_node", processes_per_node, "processes a node"),
	LAUNCH("env_world_size", world_size, "WORLD_SIZE of the environment"),
	LAUNCH("WORLD_SIZE", world_size, NULL),
	LAUNCH("rank", rank, "RANK of the environment"),
	LAUNCH("RANK", rank, NULL),
	LAUNCH("local_rank", local_rank, "LOCAL_RANK of the environment"),
	LAUNCH("LOCAL_RANK", local_rank, NULL),
	LAUNCH("master_port", master_port, "MASTER_PORT"),
	SPECIAL("master_addr", "MASTER_ADDR"),
	SPECIAL("launcher", "torchrun, deepspeed, srun or mpirun"),
	SPECIAL("hostfile", "a map: host to slots; or its lines"),
	OWN("CUDA_DEVICE_MAX_CONNECTIONS", "CUDA queues, of the environment"),
	OWN("NVLINK_DOMAIN_SIZE", "GPUs of an NVLink domain, of the environment"),
	OWN("include", "deepspeed --include"),
	OWN("exclude", "deepspeed --exclude"),
	OWN("physical_gpus_per_node", "GPUs that a node has"),
	SETTING("gpus_per_node", "physical_gpus_per_node", NULL),
	OWN("replicas", "copies of a served model"),
	/* batch */
	SETTING("grad_accum", "gradient_accumulation_steps", "accumulation steps"),
	SETTING("gradient_accumulation_steps", NULL, NULL),
	SETTING("accumulation", "gradient_accumulation_steps", NULL),
	SETTING("gas", "gradient_accumulation_steps", NULL),
	SETTING("num_microbatches", NULL, "micro-batches of a step"),
	SETTING("num_micro_batches", "num_microbatches", NULL),
	SETTING("microbatches", "num_microbatches", NULL),
	OWN("world_seen", "ranks that the configuration was read with"),
	OWN("micro_batch_sizes", "elastic micro-batches"),
	OWN("max_train_batch_size", "elastic batch"),
	/* model */
	SPECIAL("model", "its name; a built-in one is looked up"),
	SETTING("layers", "num_layers", "layers"),
	SETTING("num_layers", NULL, NULL),
	SETTING("hidden", "hidden_size", "hidden size"),
	SETTING("heads", "num_attention_heads", "attention heads"),
	SETTING("num_attention_heads", NULL, NULL),
	SETTING("n_heads", "num_attention_heads", NULL),
	SETTING("kv", "num_query_groups", "key and value heads"),
	SETTING("num_query_groups", NULL, NULL),
	SETTING("kv_heads", "num_query_groups", NULL),
	SETTING("n_kv_heads", "num_query_groups", NULL),
	SETTING("num_key_value_heads", "num_query_groups", NULL),
	SETTING("head_dim", "kv_channels", "width of a head"),
	SETTING("ffn", "ffn_hidden_size", "width of the dense MLP"),
	SETTING("num_experts", NULL, "routed experts"),
	SETTING("experts", "num_experts", NULL),
	SETTING("num_local_experts", "num_experts", NULL),
	SETTING("n_routed_experts", "num_experts", NULL),
	SETTING("num_moe_experts", "num_experts", NULL),
	SETTING("topk", "moe_router_topk", "experts a token goes to"),
	SETTING("top_k", "moe_router_topk", NULL),
	SETTING("moe_ffn", "moe_ffn_hidden_size", "width of an expert"),
	SETTING("vocab", "vocab_size", "vocabulary"),
	OWN("params", "parameters"),
	SETTING("total_params", "params", NULL),
	OWN("expert_params", "parameters of all routed experts"),
	OWN("params_most_loaded", "parameters of the fullest rank"),
	OWN("largest_layer", "parameters of the largest layer"),
	OWN("dtype", "type of the weights: bf16, fp8 ..."),
	/* pipeline */
	SETTING("layers_per_virtual_stage", "num_layers_per_virtual_pipeline_stage",
	    "layers of a virtual stage"),
	SPECIAL("layout", "pipeline layout"),
	OWN("layouts", "pipeline layouts that are compared"),
	/* options */
	SETTING("sequence_parallel", NULL, "sequence parallelism"),
	SPECIAL("dispatcher", "token dispatcher"),
	SETTING("num_distributed_optimizer_instances", NULL, "distributed-optimizer instances"),
	SETTING("optimizer_cpu_offload", NULL, "optimizer in host memory"),
	OWN("offload_fraction", "the part of it"),
	OWN("offload", "what ZeRO-3 offloads: optimizer+param"),
	OWN("enable_deepep", "an older key for the dispatcher"),
	OWN("mode", "training or inference"),
	OWN("training", "true or false"),
	SPECIAL("flags", "arguments of Megatron-LM, a list"),
	OWN("format", "form of torchtitan's configuration: toml"),
	SPECIAL("keys", "keys of a DeepSpeed or torchtitan file, a list"),
	/* memory */
	OWN("gpu_mem_gib", "memory of a GPU"),
	OWN("gpu_mem_gb", NULL),
	OWN("host_mem_gib", "memory of a host"),
	OWN("host_mem_gb", NULL),
	OWN("resume", "a checkpoint is read"),
	OWN("mem_gib", "measured memory, a list beside gpus"),
	OWN("gpu_counts", NULL),
	OWN_MAP("alloc_mb", "measured memory of first, middle and last stage"),
	OWN_MAP("max_mb", "the same at the peak"),
	OWN("fp32_logits_gib", "size of one fp32 logits tensor"),
	OWN("estimator", "name of a memory estimator"),
	SPECIAL("moe", "the model has experts; a map: a block of a DeepSpeed file"),
	OWN("has_experts", NULL),
	OWN("moe_layers_on_stage", "MoE layers of each pipeline stage"),
	OWN("dense_ffn", "width that the estimator uses"),
	/* placement and serving */
	OWN("redundant", "redundant experts"),
	SETTING("num_redundant_experts", "redundant", NULL),
	SETTING("groups", "expert_groups", "expert groups of a placement"),
	OWN("expert_groups", NULL),
	SETTING("slots", "slots_total", "expert slots"),
	OWN("slots_total", NULL),
	OWN("slots_per_gpu", "expert slots of a GPU"),
	SETTING("load", "expert_load", "tokens of each expert"),
	OWN("expert_load", NULL),
	OWN("placement", "expert of each slot"),
	OWN("max_tokens_per_rank", "tokens of a low-latency dispatch"),
	OWN("limit_gib", "limit of its buffers"),
	OWN("baseline", "a measured figure; other numbers are alternatives to it"),
	OWN("alternatives", NULL),
	/* libraries */
	OWN("num_experts_per_device", "Tutel"),
	OWN("count_per_gpu", "Tutel, a key that it does not have"),
	OWN("model_dim", "Tutel"),
	OWN("gate_k", "Tutel"),
	OWN("parallel_type", "Tutel"),
	OWN("hidden_size_per_expert", "Tutel"),
	OWN("use_2dh", "Tutel"),
	OWN("LOCAL_SIZE", "GPUs of a node, as Tutel reads it"),
	OWN("gate_tokens", "FairScale: tokens of the gate"),
	OWN("dp_replicate_size", "Accelerate"),
	OWN("dp_shard_size", "Accelerate"),
	OWN("cp_size", "Accelerate"),
	OWN("sp_size", "Accelerate"),
	OWN("ulysses_sequence_parallel_size", "ranks that exchange heads for the sequence"),
	OWN("num_expert_groups", "torchtitan: groups of experts"),
	OWN("num_limited_groups", "torchtitan: groups that a token may use"),
	OWN("ppo_mini_batch_size", "verl: prompts of an optimizer step"),
	OWN("rollout_batch_size", "prompts of a rollout"),
	OWN("rollout_n", "answers to a prompt"),
	OWN("num_steps_per_rollout", "optimizer steps of a rollout"),
	OWN("use_dynamic_bsz", "verl: micro-batches by tokens"),
	SETTING("ulysses_sp_size", "ulysses_sequence_parallel_size", NULL),
	OWN("ntasks_per_node", "Slurm: tasks of a node"),
	OWN("num_nodes", "deepspeed --num_nodes"),
	OWN("num_gpus", "deepspeed --num_gpus"),
	OWN("model_name", NULL),
	OWN("framework_name", NULL),
	SPECIAL("env", "a map: variables of the environment"),
	SPECIAL("environment", NULL),
	SPECIAL("parallel", "a map of fields"),
	SPECIAL("cluster", NULL),
	SPECIAL("batch", NULL),
	SPECIAL("launch", NULL),
	SPECIAL("ds_config", "a map: keys of a DeepSpeed file"),
	SPECIAL("deepspeed_config", NULL),
	SPECIAL("cases", "a list of inputs that override this one"),
	{.name = NULL},
};
/* clang-format on */

const struct case_field *
case_field_find(const char *name)
{
	for (const struct case_field *field = case_fields; field->name; field++)
		if (strcmp(field->name, name) == 0)
			return field;
	return NULL;
}

bool
case_field_says(const char *setting)
{
	for (const struct case_field *field = case_fields; field->name; field++)
		if (strcmp(field->setting ? field->setting : field->name, setting) == 0)
			return true;
	return strcmp(setting, "pipeline_model_parallel_layout") == 0 ||
	       strcmp(setting, "moe_flex_dispatcher_backend") == 0;
}

bool
case_field_is_own(const char *name)
{
	size_t length = strcspn(name, ".");

	for (const struct case_field *field = case_fields; field->name; field++)
		if (strlen(field->name) == length && strncmp(field->name, name, length) == 0)
			return field->own && (name[length] == '\0' || field->members);
	return false;
}
