/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What did older releases of Megatron-LM demand, or get wrong, that newer ones do not? */
#include "check/rules_tables.h"

/* clang-format off */
const struct rule rules_megatron_old[] = {
	{
		.id = "MEG-111", .frameworks = ON_MEGATRON, .until = "0.10",
		.severity = SEVERITY_ERROR, .silent = true,
		.when = "(complete or said(num_layers)) and not "
		    "said(decoder_first_pipeline_num_layers) and not "
		    "said(decoder_last_pipeline_num_layers)",
		.require = "layers % pp == 0",
		.message = "{layers} layers over {pp} stages are divided by rounding down: {built: "
		    "floor(layers / pp) * pp} are built, {missing: layers % pp} are missing in "
		    "silence",
		.hint = "use PP of {valid_pp: divisors(layers)}",
		.source = "NVIDIA/Megatron-LM core_v0.9.0 "
		    "megatron/core/transformer/transformer_block.py",
	},
	{
		.id = "MEG-112", .frameworks = ON_MEGATRON, .until = "0.16",
		.severity = SEVERITY_ERROR, .when = "tp > 1",
		.require = "kv_heads % tp == 0",
		.message = "{kv_heads} query groups are not a multiple of TP {tp}; from 0.16 on a "
		    "divisor is allowed as well, and then {kv_replication: tp / kv_heads} ranks "
		    "hold a KV head",
		.hint = "use TP of {valid_tp: divisors(kv_heads)}, or a newer release",
		.source = "NVIDIA/Megatron-LM core_v0.15.0 "
		    "megatron/core/transformer/transformer_config.py",
	},
	{
		.id = "MEG-140", .frameworks = ON_MEGATRON, .until = "0.8",
		.severity = SEVERITY_ERROR, .when = "vpp > 1", .require = "pp > 2",
		.message = "virtual stages (VPP {vpp}) need PP 3 or more before 0.8, PP is {pp}",
		.hint = "use more stages, or 0.8 or newer, where {pp} stages do",
		.source = "NVIDIA/Megatron-LM core_v0.7.0 megatron/training/arguments.py; "
		    "NVIDIA/Megatron-LM#750",
	},
	{
		.id = "MEG-141", .frameworks = ON_MEGATRON, .since = "0.12", .until = "0.13",
		.severity = SEVERITY_ERROR, .when = "num_distributed_optimizer_instances > 1",
		.require = "ep == 1",
		.message = "{num_distributed_optimizer_instances} distributed-optimizer instances "
		    "do not go with experts over EP {ep} in 0.12",
		.hint = "use one instance, or 0.13 or newer",
		.source = "NVIDIA/Megatron-LM core_v0.12.0 "
		    "megatron/core/distributed/distributed_data_parallel.py; "
		    "NVIDIA/Megatron-LM#1526",
	},
	{
		.id = "MEG-113", .frameworks = ON_MEGATRON, .until = "0.12",
		.severity = SEVERITY_ERROR, .when = "said(moe_expert_capacity_factor)",
		.require = "in(get(moe_token_dispatcher_type, 'allgather'), 'alltoall', "
		    "'alltoall_seq')",
		.message = "a capacity factor needs the dispatcher alltoall before 0.12",
		.hint = "add --moe-token-dispatcher-type alltoall",
		.source = "NVIDIA/Megatron-LM core_v0.11.0 "
		    "megatron/core/transformer/transformer_config.py",
	},
	{
		.id = "MEG-114", .frameworks = ON_MEGATRON, .since = "0.12",
		.severity = SEVERITY_WARNING, .silent = true,
		.when = "said(moe_expert_capacity_factor)",
		.require = "given(moe_token_dispatcher_type, 'alltoall') != 'allgather'",
		.message = "a capacity factor of {moe_expert_capacity_factor} with the dispatcher "
		    "allgather: all tokens are sent to all ranks and dropped there, which saves no "
		    "traffic; releases before 0.12 refuse it",
		.hint = "use --moe-token-dispatcher-type alltoall",
		.source = "NVIDIA/Megatron-LM core_v0.12.0 "
		    "megatron/core/transformer/transformer_config.py",
	},
	{
		.id = "MEG-115", .frameworks = ON_MEGATRON, .until = "0.10",
		.severity = SEVERITY_ERROR, .when = "ep > 1", .require = "dp % ep == 0",
		.message = "EP {ep} lies inside DP {dp} before 0.10, which is no multiple of it: "
		    "{remainder: dp % ep} left over",
		.hint = "use EP of {valid_ep: divisors(dp)}",
		.source = "NVIDIA/Megatron-LM core_v0.9.0 megatron/core/parallel_state.py",
	},
	{.id = NULL},
};
/* clang-format on */
