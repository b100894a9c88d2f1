/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What does Megatron-LM demand of world, ranks, batch and its arguments? Read in
 * NVIDIA/Megatron-LM core 0.19 (tag core_v0.19.0); versions are the first and the
 * first no more of one tag a minor release.
 */
#include "check/rules_tables.h"

#define ARGUMENTS "NVIDIA/Megatron-LM core_v0.19.0 megatron/training/arguments.py"
#define PARALLEL "NVIDIA/Megatron-LM core_v0.19.0 megatron/core/model_parallel_config.py"
#define STATE "NVIDIA/Megatron-LM core_v0.19.0 megatron/core/parallel_state.py"
#define MICROBATCHES "NVIDIA/Megatron-LM core_v0.19.0 megatron/core/num_microbatches_calculator.py"

/* clang-format off */
const struct rule rules_megatron[] = {
	{
		.id = "MEG-001", .frameworks = ON_MEGATRON, .severity = SEVERITY_ERROR,
		.grid = "set(world)",
		.message = "TP {tp} x CP {cp} x PP {pp} = {dense_product} GPUs a copy, WORLD_SIZE "
		    "is {world}: {remainder: world % dense_product} left over",
		.hint = "use degrees whose product divides the world, or a multiple of their "
		    "product",
		.source = ARGUMENTS " validate_args; 0.19 counts GTP too",
	},
	{
		.id = "MEG-003", .frameworks = ON_MEGATRON, .since = "0.10",
		.severity = SEVERITY_ERROR, .grid = "set(world)",
		.message = "ETP {etp} x EP {ep} x PP {pp} = {expert_product} GPUs a copy of the "
		    "experts, WORLD_SIZE is {world}: {remainder: world % expert_product} left "
		    "over; the dense grid is {dense_product} GPUs a copy and DP {dp: world / "
		    "dense_product}",
		.hint = "EP {fix_ep: nearest_divisor(world / (etp * pp), ep)} leaves EDP "
		    "{edp_after_fix: world / (etp * pp * nearest_divisor(world / (etp * pp), "
		    "ep))}; valid are {valid_ep: divisors(world / (etp * pp))}",
		.source = STATE " initialize_model_parallel; only after the process group is up, "
		    "the argument parser never looks at it",
	},
	{
		.id = "MEG-004", .frameworks = ON_MEGATRON, .since = "0.10",
		.severity = SEVERITY_ERROR, .grid = "set(world)",
		.message = "with pipeline ranks not outermost, dense DP {dp} and expert DP {edp} "
		    "must be the same (pp {pp})",
		.hint = "leave out --use-tp-pp-dp-mapping",
		.source = STATE,
	},
	{
		.id = "MEG-005", .frameworks = ON_MEGATRON, .since = "0.10",
		.severity = SEVERITY_ERROR, .grid = "set(world)",
		.message = "dense and expert layers must have the same pipeline groups (pp {pp})",
		.hint = "leave out --use-tp-pp-dp-mapping",
		.source = STATE,
	},
	{
		.id = "MEG-006", .frameworks = ON_MEGATRON, .severity = SEVERITY_ERROR,
		.when = "num_distributed_optimizer_instances > 1",
		.require = "(dp * cp) % num_distributed_optimizer_instances == 0",
		.message = "DP {dp} x CP {cp} is not a multiple of "
		    "{num_distributed_optimizer_instances} distributed-optimizer instances: "
		    "{remainder: (dp * cp) % num_distributed_optimizer_instances} left over",
		.hint = "use {nearest_divisor(dp * cp, num_distributed_optimizer_instances)} "
		    "instances",
		.source = STATE,
	},
	{
		.id = "MEG-007", .frameworks = ON_MEGATRON, .since = "0.19",
		.severity = SEVERITY_ERROR, .when = "gtp > 1 or egtp > 1",
		.require = "get(num_distributed_optimizer_instances, 1) == 1",
		.message = "weight shards (gtp {gtp}, egtp {egtp}) do not go with "
		    "{num_distributed_optimizer_instances} distributed-optimizer instances",
		.hint = "use one instance",
		.source = STATE,
	},
	{
		.id = "MEG-008", .frameworks = ON_MEGATRON, .since = "0.19",
		.severity = SEVERITY_ERROR,
		.when = "said(tensor_parallel_num_weight_shards) or "
		    "said(expert_tensor_parallel_num_weight_shards)",
		.require = "tensor_parallel_num_weight_shards >= tp and "
		    "tensor_parallel_num_weight_shards % tp == 0 : "
		    "'{tensor_parallel_num_weight_shards} weight shards over TP {tp}'; "
		    "expert_tensor_parallel_num_weight_shards >= etp and "
		    "expert_tensor_parallel_num_weight_shards % etp == 0 : "
		    "'{expert_tensor_parallel_num_weight_shards} expert weight shards over ETP "
		    "{etp}'",
		.message = "{problem}: shards must be a multiple of the tensor-parallel size",
		.hint = "leave the shards out, or use a multiple",
		.source = PARALLEL,
	},
	{
		.id = "MEG-009", .frameworks = ON_MEGATRON,
		.severity = SEVERITY_WARNING, .silent = true,
		.when = "arguments and launcher == 'srun' and not scripted and not "
		    "said(container_image)",
		.require = "set(env_world) or stated('WORLD_SIZE')",
		.message = "srun sets no WORLD_SIZE and RANK: Megatron-LM then starts every task "
		    "as a job of one rank",
		.hint = "export RANK=$SLURM_PROCID LOCAL_RANK=$SLURM_LOCALID "
		    "WORLD_SIZE=$SLURM_NTASKS and MASTER_ADDR inside the task, or run torchrun "
		    "under srun",
		.source = ARGUMENTS " parse_args",
	},
	{
		.id = "MEG-010", .frameworks = ON_MEGATRON, .since = "0.18",
		.severity = SEVERITY_ERROR,
		.when = "said(eval_global_batch_size) or said(eval_micro_batch_size)",
		.require = "given(eval_global_batch_size, global_batch) % "
		    "(given(eval_micro_batch_size, micro_batch) * dp) == 0",
		.message = "evaluation batch {batch: given(eval_global_batch_size, global_batch)} "
		    "is not a multiple of micro-batch {micro: given(eval_micro_batch_size, "
		    "micro_batch)} x DP {dp}: {remainder: given(eval_global_batch_size, "
		    "global_batch) % (given(eval_micro_batch_size, micro_batch) * dp)} left over",
		.hint = "use {multiple_above(given(eval_global_batch_size, global_batch), "
		    "given(eval_micro_batch_size, micro_batch) * dp)}",
		.source = ARGUMENTS,
	},
	{
		.id = "MEG-011", .frameworks = ON_MEGATRON, .severity = SEVERITY_ERROR,
		.grid = "not given(decrease_batch_size_if_needed, 0)",
		.message = "global batch {global_batch} is not a multiple of micro-batch "
		    "{micro_batch} x DP {dp}: {remainder: global_batch % (micro_batch * dp)} left "
		    "over",
		.hint = "use a multiple of {divisor: micro_batch * dp}, such as {nearest: "
		    "multiple_above(global_batch, micro_batch * dp)}",
		.source = MICROBATCHES,
	},
	{
		.id = "MEG-012", .frameworks = ON_MEGATRON, .severity = SEVERITY_ERROR, .grid = "1",
		.message = "global batch {global_batch} gives no micro-batch of {micro_batch} to "
		    "each of DP {dp} ranks",
		.hint = "use {needed: micro_batch * dp} or more",
		.source = MICROBATCHES,
	},
	{
		.id = "MEG-013", .frameworks = ON_MEGATRON, .severity = SEVERITY_WARNING,
		.when = "complete and said(micro_batch_size) and not foreign",
		.require = "set(global_batch_size) or set(rampup_batch_size) or "
		    "set(step_batch_size_schedule)",
		.message = "no global batch: Megatron-LM takes one micro-batch of {micro_batch} a "
		    "rank{if(pp > 1, ', and the pipeline is mostly bubble', '')}",
		.hint = "give --global-batch-size",
		.source = ARGUMENTS,
	},
	{
		.id = "MEG-014", .frameworks = ON_MEGATRON, .since = "0.18",
		.severity = SEVERITY_ERROR,
		.require = "not (said(step_batch_size_schedule) and said(global_batch_size))",
		.message = "--step-batch-size-schedule and --global-batch-size exclude each other",
		.hint = "leave one out",
		.source = ARGUMENTS,
	},
	{
		.id = "MEG-015", .frameworks = ON_MEGATRON, .severity = SEVERITY_ERROR,
		.when = "arguments and not foreign and not own(setting) and not in(setting, "
		    "'batch_size', 'warmup', 'model_parallel_size', 'checkpoint_activations', "
		    "'standalone_embedding_stage')",
		.require = "name_state(setting) == 'known'",
		.message = "{spelled(setting)} is no argument of Megatron-LM "
		    "{version}{name_limit(setting)}: the parser stops there ({unknown: "
		    "count(strange())} such in all)",
		.hint = "use {spelled(replacement(setting))} || did you mean "
		    "{spelled(nearest_name(setting))}? || leave it out",
		.source = ARGUMENTS " (no abbreviations, unknown arguments are refused)",
	},
	{
		.id = "MEG-017", .frameworks = ON_MEGATRON, .severity = SEVERITY_WARNING,
		.when = "arguments and foreign", .require = "count(strange()) == 0",
		.message = "not among the arguments of Megatron-LM {version} ({unknown: "
		    "count(strange())} in all): {some(strange(), 8)}; its own parser would stop, "
		    "that of a fork or another program may take them, and have other rules",
		.hint = "with Megatron-LM itself, leave them out",
		.source = ARGUMENTS " (unknown arguments are refused unless a program adds its "
		    "own: extra_args_provider)",
	},
	{
		.id = "MEG-016", .frameworks = ON_MEGATRON, .severity = SEVERITY_ERROR,
		.when = "arguments and not foreign",
		.require = "not in(setting, 'batch_size', 'warmup', 'model_parallel_size', "
		    "'checkpoint_activations')",
		.message = "{spelled(setting)} is no longer valid",
		.hint = "use {spelled(replacement(setting))}",
		.source = ARGUMENTS,
	},
	{.id = NULL},
};
/* clang-format on */
