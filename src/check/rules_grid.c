/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What has no meaning, or what the framework cannot be told, whatever its files look like? */
#include "check/rules_tables.h"

#define ALL (ON_MEGATRON | ON_DEEPSPEED | ON_TORCHTITAN)

#define OFFLOADS "given(fine_grained_activation_offloading, 0)"
#define OFFLOADS_INSIDE_MOE                                                                        \
	"(has(get(offload_modules, 'none'), 'moe_act') or has(get(offload_modules, 'none'), "      \
	"'expert_fc1'))"

/* clang-format off */
const struct rule rules_grid[] = {
	{
		.id = "GRID-002", .frameworks = ALL, .severity = SEVERITY_ERROR, .grid = "1",
		.message = "an option belongs to another framework than {framework}",
		.hint = "leave it out, or give the framework that has it",
		.source = "the frameworks' argument lists",
	},
	{
		.id = "GRID-003", .frameworks = ALL, .severity = SEVERITY_ERROR, .grid = "1",
		.message = "PP {pp} x VPP {vpp} is more than this program handles",
		.hint = "at most 256 stages",
		.source = "limits of this program",
	},
	{
		.id = "GRID-004", .frameworks = ON_DEEPSPEED, .severity = SEVERITY_ERROR,
		.grid = "1",
		.message = "CP {cp}: DeepSpeed has no context-parallel axis",
		.hint = "use its sequence parallelism (Ulysses) instead",
		.source = "deepspeedai/DeepSpeed v0.19.5 deepspeed/runtime/pipe/topology.py",
	},
	{
		.id = "GRID-006", .frameworks = ON_DEEPSPEED | ON_TORCHTITAN,
		.severity = SEVERITY_ERROR, .grid = "set(world)",
		.message = "ETP {etp} x EP {ep} x PP {pp} and expert DP {edp} must make WORLD_SIZE "
		    "{world}, not {product: expert_product * edp}",
		.hint = "leave --edp out: it follows",
		.source = "both identities of the grid",
	},
	{
		.id = "GRID-007", .frameworks = ON_MEGATRON, .severity = SEVERITY_ERROR,
		.grid = "1",
		.message = "the rank order must name every axis over 1 (tp {tp}, cp {cp}, ep {ep}, "
		    "pp {pp})",
		.hint = "the usual order is tp-cp-ep-dp-pp",
		.source = "NVIDIA/Megatron-LM core_v0.19.0 megatron/core/parallel_state.py "
		    "RankGenerator",
	},
	{
		.id = "GRID-008", .frameworks = ALL, .severity = SEVERITY_ERROR,
		.grid = "set(layers)",
		.message = "PP {pp} x VPP {vpp} chunks leave some of {layers} layers' stages empty",
		.hint = "only the first and the last chunk may be without a layer",
		.source = "layouts that frameworks build",
	},
	{
		.id = "GRID-009", .frameworks = ALL, .severity = SEVERITY_ERROR, .grid = "1",
		.message = "the pipeline schedule and VPP {vpp} do not go together",
		.hint = "interleaved needs VPP over 1, 1f1b VPP 1, schedules in a V VPP 2",
		.source = "schedules of the frameworks",
	},
	{
		.id = "GRID-011", .frameworks = ALL, .severity = SEVERITY_ERROR,
		.grid = "has_model and not arguments",
		.message = "ETP {etp} of a model without experts",
		.hint = "leave it out",
		.source = "there is nothing to split; Megatron-LM makes the groups and runs",
	},
	{
		.id = "GRID-012", .frameworks = ON_DEEPSPEED | ON_TORCHTITAN,
		.severity = SEVERITY_ERROR, .grid = "1",
		.message = "modules to recompute can be named in Megatron-LM only, not in "
		    "{framework}",
		.hint = "use none, selective or full",
		.source = "the frameworks' options",
	},
	{
		.id = "GRID-013", .frameworks = ON_DEEPSPEED | ON_TORCHTITAN,
		.severity = SEVERITY_ERROR, .grid = "1",
		.message = "{framework} does not have this dispatcher",
		.hint = "use alltoall",
		.source = "the frameworks' options",
	},
	{
		.id = "GRID-014", .frameworks = ALL, .severity = SEVERITY_ERROR,
		.grid = "has_model or framework == 'torchtitan'",
		.message = "a capacity factor needs experts, and a framework that drops tokens",
		.hint = "leave it out",
		.source = "torchtitan's dispatchers drop nothing",
	},
	{
		.id = "GRID-015", .frameworks = ON_TORCHTITAN, .severity = SEVERITY_ERROR,
		.grid = "set(dp_shard)",
		.message = "sharding stage with dp_shard {dp_shard} x CP {cp}: torchtitan shards "
		    "parameters",
		.hint = "use stage 3, or 2 to keep gathered parameters until the backward pass",
		.source = "pytorch/torchtitan release/0.3 torchtitan/distributed/",
	},
	{
		.id = "GRID-016", .frameworks = ON_MEGATRON | ON_TORCHTITAN,
		.severity = SEVERITY_ERROR, .grid = "set(global_batch)",
		.message = "{micro_batches} micro-batches do not fill the pipeline schedule of PP "
		    "{pp}, "
		    "DualPipe needs {needed: 2 * pp}",
		.hint = "DualPipe and DualPipeV need 2 x PP, DualPipe an even number; interleaved "
		    "schedules of PyTorch rounds of equal size",
		.source = "pytorch/pytorch torch/distributed/pipelining/schedules.py, "
		    "deepseek-ai/DualPipe",
	},
	{
		.id = "GRID-017", .frameworks = ON_MEGATRON, .severity = SEVERITY_ERROR,
		.grid = "not arguments",
		.require = "not " OFFLOADS " or not has(get(recompute_modules, 'none'), 'moe') or "
		    "not " OFFLOADS_INSIDE_MOE " : 'the MoE layer is recomputed as a whole, what "
		    "lies inside it stays'; not " OFFLOADS " or not has(get(offload_modules, "
		    "'none'), 'attn_proj') or has(offload_modules, 'core_attn') : 'attn_proj takes "
		    "the output of core_attn, which must be offloaded as well'",
		.message = "activations that are recomputed cannot be offloaded{if(arguments, "
		    "': ', '')}{problem}",
		.hint = "do not offload, or recompute none of moe, core_attn, mla_up_proj",
		.source = "NVIDIA/Megatron-LM main megatron/core/transformer/"
		    "transformer_config.py",
	},
	{
		.id = "GRID-018", .frameworks = ON_MEGATRON | ON_TORCHTITAN,
		.severity = SEVERITY_WARNING, .require = "not foreign_schedule",
		.message = "{framework} does not run this pipeline schedule: only a program of "
		    "your own does, and nothing is written for it",
		.hint = "use 1f1b or interleaved; torchtitan runs zb, zbv and dualpipev too",
		.source = "NVIDIA/Megatron-LM core/pipeline_parallel/schedules.py, "
		    "pytorch/pytorch torch/distributed/pipelining/schedules.py",
	},
	{.id = NULL},
};
/* clang-format on */
