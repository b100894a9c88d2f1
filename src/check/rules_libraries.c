/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What can be decided about Accelerate, Megatron-Bridge, Tutel, FairScale and
 * serving stacks from their few numbers? Their settings come as fields of a case
 * or as keys of a fragment.
 */
#include "check/rules_tables.h"

/* clang-format off */
const struct rule rules_libraries[] = {
	{
		.id = "TUT-001", .severity = SEVERITY_ERROR,
		.when = "said(num_experts_per_device)",
		.require = "num_experts_per_device != 0 : '0 is no number of local experts'; "
		    "num_experts_per_device >= -1 or world % (0 - num_experts_per_device) == 0 : "
		    "'{share: 0 - num_experts_per_device} devices share an expert and do not "
		    "divide {world} ranks'",
		.message = "Tutel, num_experts_per_device {num_experts_per_device}: {problem}",
		.hint = "n > 0: n experts a rank; -k: k ranks share one expert, k divides the "
		    "world",
		.source = "microsoft/tutel 82af7aad9fc3 tutel/impls/moe_layer.py "
		    "global_expert_count",
	},
	{
		.id = "TUT-002", .severity = SEVERITY_ERROR, .when = "said(model_dim)",
		.require = "model_dim % 2 == 0",
		.message = "Tutel: model_dim {model_dim} must be even",
		.hint = "use {model_dim + 1}",
		.source = "microsoft/tutel 82af7aad9fc3 tutel/impls/moe_layer.py",
	},
	{
		.id = "TUT-003", .severity = SEVERITY_ERROR, .require = "not said(count_per_gpu)",
		.message = "Tutel has no experts key 'count_per_gpu'",
		.hint = "write 'num_experts_per_device': {count_per_gpu} (old name: "
		    "count_per_node)",
		.source = "microsoft/tutel 82af7aad9fc3 tutel/impls/moe_layer.py",
	},
	{
		.id = "TUT-007", .severity = SEVERITY_WARNING, .silent = true,
		.when = "said(gate_k)", .require = "gate_k <= experts",
		.message = "Tutel: k {gate_k} is cut to {experts} experts in silence",
		.hint = "use {experts} or less",
		.source = "microsoft/tutel 82af7aad9fc3 tutel/gates/top.py",
	},
	{
		.id = "TUT-009", .severity = SEVERITY_ERROR, .when = "given(use_2dh, 0)",
		.require = "LOCAL_SIZE > 1 and world % LOCAL_SIZE == 0",
		.message = "Tutel's two-level all-to-all needs LOCAL_SIZE, the GPUs of a node, to "
		    "divide {world} ranks; it is {LOCAL_SIZE}",
		.hint = "start one launcher a node with all its GPUs",
		.source = "microsoft/tutel 82af7aad9fc3 tutel/impls/communicate.py",
	},
	{
		.id = "FS-003", .severity = SEVERITY_ERROR, .when = "said(gate_tokens)",
		.require = "gate_tokens % experts == 0",
		.message = "FairScale's Top2Gate: {gate_tokens} tokens are not a multiple of "
		    "{experts} experts (a bare assert)",
		.hint = "pad to {multiple_above(gate_tokens, experts)}",
		.source = "facebookresearch/fairscale 146f16024165 fairscale/nn/moe/top2gate.py",
	},
	{
		.id = "ACC-001", .severity = SEVERITY_ERROR,
		.when = "said(dp_shard_size) or said(dp_replicate_size) or said(cp_size)",
		.require = "given(dp_replicate_size, 1) * given(dp_shard_size, 1) * tp * "
		    "given(cp_size, 1) * given(sp_size, 1) == world",
		.message = "Accelerate: the sizes make {total: given(dp_replicate_size, 1) * "
		    "given(dp_shard_size, 1) * tp * given(cp_size, 1) * given(sp_size, 1)} "
		    "processes, there are {world}",
		.hint = "change dp_shard_size; there is no expert-parallel dimension",
		.source = "huggingface/accelerate 16cb6eb80dd9 "
		    "src/accelerate/parallelism_config.py",
	},
	{
		.id = "ACC-002", .severity = SEVERITY_ERROR,
		.when = "said(cp_size) and said(sp_size)",
		.require = "not (cp_size > 1 and sp_size > 1)",
		.message = "Accelerate: cp_size {cp_size} and sp_size {sp_size} exclude each other",
		.hint = "keep one",
		.source = "huggingface/accelerate 16cb6eb80dd9 "
		    "src/accelerate/parallelism_config.py",
	},
	{
		.id = "ACC-003", .severity = SEVERITY_ERROR,
		.when = "tp > 1 or given(cp_size, 1) > 1",
		.require = "given(dp_replicate_size, 1) == 1 or given(dp_shard_size, 1) > 1",
		.message = "Accelerate: TP or CP does not go with plain replicas "
		    "(dp_replicate_size {dp_replicate_size})",
		.hint = "use dp_shard_size over 1",
		.source = "huggingface/accelerate 16cb6eb80dd9 "
		    "src/accelerate/parallelism_config.py",
	},
	{
		.id = "MB-003", .severity = SEVERITY_WARNING,
		.when = "said(enable_deepep) and said(moe_token_dispatcher_type)",
		.require = "not enable_deepep or in(moe_token_dispatcher_type, 'deepep', 'flex')",
		.message = "enable_deepep and dispatcher '{moe_token_dispatcher_type}' are two "
		    "keys for one choice: the last one read wins",
		.hint = "keep the dispatcher key",
		.source = "NVIDIA-NeMo/Automodel#2630",
	},
	{
		.id = "MB-005", .frameworks = ON_MEGATRON, .severity = SEVERITY_WARNING,
		.silent = true, .when = "form == 'Megatron-Bridge'",
		.require = "not in(setting, 'moe_expert_parallel_size', 'moe_token_dropping', "
		    "'moe_token_drop_coef', 'data_parallel_size')",
		.message = "'{setting}' is no setting of Megatron-Core, though guides write it",
		.hint = "write {replacement(setting)} || leave it out: DP follows from the world",
		.source = "NVIDIA/Megatron-LM core_v0.19.0 megatron/core/transformer/transformer_config.py",
	},
	{.id = NULL},
};
/* clang-format on */
