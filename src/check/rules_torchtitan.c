/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What does torchtitan demand? Read in pytorch/torchtitan release/0.3
 * (4f9e9a47d49d) and v0.2.2. TOML files are valid up to 0.2.2 only.
 */
#include "check/rules_tables.h"

#define DIMS "pytorch/torchtitan release/0.3 torchtitan/distributed/parallel_dims.py"
#define TRAINER "pytorch/torchtitan release/0.3 torchtitan/trainer.py"
#define PIPELINE "pytorch/torchtitan release/0.3 torchtitan/distributed/pipeline_parallel.py"
#define DECODER "pytorch/torchtitan release/0.3 torchtitan/models/common/decoder.py"
#define DISPATCHER "pytorch/torchtitan release/0.3 torchtitan/models/common/token_dispatcher.py"
#define MANAGER "pytorch/torchtitan release/0.3 torchtitan/config/manager.py"

#define GRAPHS_ON "titan and since('0.3') and not given(training.disable_cuda_graphs, 0)"
/* Sequences of a rank, which the pipeline cuts into micro-batches; 8 is the default. */
#define LOCAL_BATCH "given(training.local_batch_size, given(local_batch_size, 8))"
#define LOCAL_MICRO_BATCHES                                                                        \
	"floor(" LOCAL_BATCH " / given(parallelism.pipeline_parallel_microbatch_size, 1))"
#define LISTED "'training', 'parallelism', 'compile', 'comm', 'debug'"

/* clang-format off */
const struct rule rules_torchtitan[] = {
	{
		.id = "TT-001", .frameworks = ON_TORCHTITAN, .since = "0.3",
		.severity = SEVERITY_ERROR, .when = "titan and (said(module) or said(config))",
		.require = "said(module) and said(config)",
		.message = "--module and --config belong together",
		.hint = "give both",
		.source = MANAGER,
	},
	{
		.id = "TT-002", .frameworks = ON_TORCHTITAN, .severity = SEVERITY_ERROR,
		.require = "given(parallelism.data_parallel_replicate_degree, 1) >= 1 and "
		    "given(parallelism.tensor_parallel_degree, 1) >= 1 and "
		    "given(parallelism.context_parallel_degree, 1) >= 1 and "
		    "given(parallelism.pipeline_parallel_degree, 1) >= 1 and "
		    "given(parallelism.expert_parallel_degree, 1) >= 1 : 'degrees are 1 or more'; "
		    "given(parallelism.data_parallel_shard_degree, -1) == -1 or "
		    "given(parallelism.data_parallel_shard_degree, -1) >= 1 : "
		    "'data_parallel_shard_degree is -1 or 1 or more, not "
		    "{parallelism.data_parallel_shard_degree}'",
		.message = "parallelism: {problem}",
		.hint = "use 1 for an axis that is not wanted",
		.source = DIMS,
	},
	{
		.id = "TT-004", .frameworks = ON_TORCHTITAN, .severity = SEVERITY_ERROR,
		.grid = "set(world)",
		.message = "dp_replicate {dp_replicate} x CP {cp} x TP {tp} x PP {pp} and the "
		    "sharded ranks must make WORLD_SIZE {world}: with dp_shard {dp_shard} they are "
		    "{product: dense_product * dp_replicate * dp_shard}",
		.hint = "leave dp_shard at -1",
		.source = DIMS,
	},
	{
		.id = "TT-005", .frameworks = ON_TORCHTITAN, .severity = SEVERITY_ERROR,
		.grid = "set(dp_shard)",
		.message = "dp_shard {dp_shard} x CP {cp} x TP {tp} = {sparse_region} ranks hold "
		    "the experts, EP {ep} leaves {remainder: sparse_region % ep}",
		.hint = "use EP of {valid_ep: divisors(sparse_region, given(experts, 0))}",
		.source = DIMS " (no check of its own: the mesh fails inside PyTorch)",
	},
	{
		.id = "TT-007", .frameworks = ON_TORCHTITAN, .severity = SEVERITY_ERROR,
		.grid = "1",
		.message = "ETP {etp}: 0.2 knows 1 and TP {tp}, 0.3 has none",
		.hint = "use 1",
		.source = "pytorch/torchtitan v0.2.2 torchtitan/distributed/parallel_dims.py",
	},
	{
		.id = "TT-008", .frameworks = ON_TORCHTITAN,
		.severity = SEVERITY_ERROR, .silent = true,
		.grid = "1",
		.message = "{experts} experts are not a multiple of EP {ep}, {remainder: experts "
		    "% ep} "
		    "left over: all but one dispatcher round down in silence",
		.hint = "use EP of {valid_ep: divisors(experts)}",
		.source = DISPATCHER,
	},
	{
		.id = "TT-009", .frameworks = ON_TORCHTITAN,
		.severity = SEVERITY_ERROR,
		.grid = "given(parallelism.enable_sequence_parallel, 1)",
		.require = "given(parallelism.enable_sequence_parallel, 1) or cp == 1 or seq_len % "
		    "(2 * cp) == 0",
		.message = "sequence {seq_len} is not a multiple of {divisor: "
		    "if(given(parallelism.enable_sequence_parallel, 1), tp, 1) * if(cp > 1, 2 * "
		    "cp, 1)}: {remainder: seq_len % "
		    "(if(given(parallelism.enable_sequence_parallel, 1), tp, 1) * if(cp > 1, 2 * "
		    "cp, 1))} left over",
		.hint = "use {next_valid_seq: multiple_above(seq_len, "
		    "if(given(parallelism.enable_sequence_parallel, 1), tp, 1) * if(cp > 1, 2 * "
		    "cp, 1))}",
		.source = TRAINER,
	},
	{
		.id = "TT-010", .frameworks = ON_TORCHTITAN, .severity = SEVERITY_ERROR,
		.grid = "not said(training.local_batch_size)",
		.require = "global_batch % (given(training.local_batch_size, micro_batch) * dp) == "
		    "0",
		.message = "global batch {global_batch} is not a multiple of {local_batch: "
		    "given(training.local_batch_size, micro_batch)} x DP {dp}: {remainder: "
		    "global_batch % (given(training.local_batch_size, micro_batch) * dp)} left "
		    "over",
		.hint = "use {nearest: multiple_above(global_batch, "
		    "given(training.local_batch_size, micro_batch) * dp)}, a multiple of {divisor: "
		    "given(training.local_batch_size, micro_batch) * dp}",
		.source = TRAINER,
	},
	{
		.id = "TT-011", .frameworks = ON_TORCHTITAN, .severity = SEVERITY_ERROR,
		.when = "titan and pp > 1",
		.require = "given(parallelism.pipeline_parallel_microbatch_size, 1) > 0 and "
		    LOCAL_BATCH " % given(parallelism.pipeline_parallel_microbatch_size, 1) == 0",
		.message = "local batch {local_batch: " LOCAL_BATCH "} is not a multiple of the "
		    "pipeline's micro-batch {microbatch: "
		    "given(parallelism.pipeline_parallel_microbatch_size, 1)}: {remainder: "
		    LOCAL_BATCH " % given(parallelism.pipeline_parallel_microbatch_size, 1)} left "
		    "over",
		.hint = "use a pipeline_parallel_microbatch_size of {valid: divisors("
		    LOCAL_BATCH ")}",
		.source = TRAINER,
	},
	{
		.id = "TT-029", .frameworks = ON_TORCHTITAN, .severity = SEVERITY_WARNING,
		.when = "pp > 1 and (said(training.local_batch_size) or said(local_batch_size))",
		.require = LOCAL_MICRO_BATCHES " >= pp * vpp",
		.message = "{num_microbatches: " LOCAL_MICRO_BATCHES "} micro-batches for "
		    "{stages: pp * vpp} stages: the pipeline never fills, and schedules of old "
		    "releases of PyTorch wait for ever",
		.hint = "use a local batch of {needed: pp * vpp * "
		    "given(parallelism.pipeline_parallel_microbatch_size, 1)} or more",
		.source = PIPELINE "; pytorch/torchtitan#775",
	},
	{
		.id = "TT-012", .frameworks = ON_TORCHTITAN, .since = "0.3",
		.severity = SEVERITY_WARNING, .when = "form == 'torchtitan' and pp > 1",
		.require = "not (" GRAPHS_ON ")",
		.message = "CUDA graphs are on by default and exclude a pipeline (PP {pp}): "
		    "torchtitan refuses it unless the config function turns them off",
		.hint = "add --training.disable_cuda_graphs",
		.source = TRAINER,
	},
	{
		.id = "TT-013", .frameworks = ON_TORCHTITAN, .since = "0.3",
		.severity = SEVERITY_WARNING, .when = "form == 'torchtitan' and ep > 1",
		.require = "not (" GRAPHS_ON ") or given(dispatcher, 'alltoall') == 'hybridep'",
		.message = "CUDA graphs are on by default, and EP {ep} with a dispatcher that "
		    "waits for the host excludes them: torchtitan refuses it unless the config "
		    "function turns them off",
		.hint = "add --training.disable_cuda_graphs",
		.source = TRAINER,
	},
	{
		.id = "TT-014", .frameworks = ON_TORCHTITAN, .severity = SEVERITY_ERROR,
		.grid = "1",
		.message = "TP {tp} must divide {heads} attention heads (remainder "
		    "{head_remainder: heads % tp}) and {given(kv_heads, heads)} KV heads "
		    "(remainder {kv_remainder: given(kv_heads, heads) % tp})",
		.hint = "use TP of {valid_tp: divisors(given(kv_heads, heads))}",
		.source = DECODER,
	},
	{
		.id = "TT-015", .frameworks = ON_TORCHTITAN, .since = "0.3",
		.severity = SEVERITY_ERROR, .when = "pp > 1 and has_model", .require = "not tied",
		.message = "tied embeddings do not go with a pipeline (PP {pp})",
		.hint = "use PP 1",
		.source = DECODER,
	},
	{
		.id = "TT-016", .frameworks = ON_TORCHTITAN, .since = "0.3",
		.severity = SEVERITY_WARNING, .when = "has_model",
		.require = "seq_len <= max_positions",
		.message = "sequence {seq_len} is longer than the {max_positions} positions of the "
		    "model's config: with rotary tables of that length the model refuses it",
		.hint = "use {max_positions} or less, or a flavor with longer tables",
		.source = DECODER,
	},
	{
		.id = "TT-017", .frameworks = ON_TORCHTITAN, .since = "0.3",
		.severity = SEVERITY_ERROR,
		.when = "in(given(dispatcher, 'alltoall'), 'deepep', 'hybridep') and ep > 1",
		.require = "seq_len % (cp * tp) == 0",
		.message = "the dispatcher {dispatcher} cuts the sequence {seq_len} over CP {cp} x "
		    "TP {tp}: {remainder: seq_len % (cp * tp)} left over",
		.hint = "use a multiple of {divisor: cp * tp}",
		.source = DISPATCHER,
	},
	{
		.id = "TT-019", .frameworks = ON_TORCHTITAN, .since = "0.2",
		.severity = SEVERITY_ERROR, .when = "titan and pp > 1",
		.require = "not said(parallelism.pipeline_parallel_layers_per_stage) or "
		    "ceil((layers + 2) / parallelism.pipeline_parallel_layers_per_stage) % pp == 0 "
		    ": '{stages: ceil((layers + 2) / "
		    "parallelism.pipeline_parallel_layers_per_stage)} virtual stages do not divide "
		    "over PP {pp}'; pp <= layers + "
		    "given(parallelism.pipeline_parallel_first_stage_less_layers, 1) + "
		    "given(parallelism.pipeline_parallel_last_stage_less_layers, 1) : 'there are "
		    "more stages than layers ({layers})'",
		.message = "pipeline: {problem}",
		.hint = "change pipeline_parallel_layers_per_stage",
		.source = PIPELINE,
	},
	{
		.id = "TT-020", .frameworks = ON_TORCHTITAN, .severity = SEVERITY_ERROR,
		.when = "titan and (given(compile.enable_async_tensor_parallel, 0) or "
		    "given(parallelism.enable_async_tensor_parallel, 0))",
		.require = "given(compile.enable, 0) and has(given(compile.components, 'model'), "
		    "'model')",
		.message = "async tensor parallelism needs the model compiled",
		.hint = "add --compile.enable with 'model' among its components",
		.source = "pytorch/torchtitan release/0.3 torchtitan/config/configs.py",
	},
	{
		.id = "TT-021", .frameworks = ON_TORCHTITAN, .severity = SEVERITY_ERROR,
		.when = "titan and given(activation_checkpoint.mode, '') == 'memory_budget'",
		.require = "given(compile.enable, 0) and has(given(compile.components, 'model'), "
		    "'model')",
		.message = "memory-budget activation checkpointing needs the model compiled",
		.hint = "add --compile.enable with 'model' among its components",
		.source = TRAINER,
	},
	{
		.id = "TT-024", .frameworks = ON_TORCHTITAN, .since = "0.3",
		.severity = SEVERITY_ERROR,
		.require = "not said(parallelism.expert_parallel_comm_backend)",
		.message = "parallelism.expert_parallel_comm_backend is no key of 0.3: the backend "
		    "is an argument of model_registry(moe_comm_backend=…)",
		.hint = "choose it in the config function",
		.source = "pytorch/torchtitan release/0.3 torchtitan/models/common/config_utils.py",
	},
	{
		.id = "TT-025", .frameworks = ON_TORCHTITAN, .severity = SEVERITY_ERROR,
		.when = "titan and not foreign and not own(setting) and (in(root(setting), "
		    LISTED ") or (not "
		    "since('0.3') and parent(setting) != '')) and setting != "
		    "'parallelism.expert_parallel_comm_backend' and not is_block(setting)",
		.require = "name_state(setting) == 'known'",
		.message = "'{setting}' is no setting of torchtitan {version}{name_limit(setting)}",
		.hint = "did you mean '{nearest_name(setting)}'? || leave it out",
		.source = MANAGER,
	},
	{
		.id = "TT-027", .frameworks = ON_TORCHTITAN, .severity = SEVERITY_WARNING,
		.when = "titan and foreign", .require = "count(strange()) == 0",
		.message = "not among the settings of torchtitan {version} ({unknown: "
		    "count(strange())} in all): {some(strange(), 8)}; its own parser would stop, "
		    "that of a fork or another program may take them, and have other rules",
		.hint = "with torchtitan itself, leave them out",
		.source = MANAGER,
	},
	{
		.id = "TT-028", .frameworks = ON_TORCHTITAN, .since = "0.3",
		.severity = SEVERITY_WARNING, .silent = true,
		.when = "tp > 1 and experts > 0 and set(world)", .require = "ep >= tp",
		.message = "EP {ep} is below TP {tp}: tensor parallelism of routed experts is "
		    "going, releases after 0.3 refuse it",
		.hint = "use EP {tp} or more",
		.source = "pytorch/torchtitan PR #4794 torchtitan/models/common/decoder.py",
	},
	{
		.id = "TT-026", .frameworks = ON_TORCHTITAN, .since = "0.3",
		.severity = SEVERITY_ERROR, .when = "titan or said(format)",
		.require = "not said(job.config_file) and not toml and given(format, '') != 'toml' "
		    "and given(format, '') != 'TOML'",
		.message = "TOML files are not read since 0.3: a config is a Python function, "
		    "chosen with --module and --config",
		.hint = "check it with --framework torchtitan@0.2.2, or write the recipe (moeplan "
		    "emit)",
		.source = "pytorch/torchtitan 9810191bb (2026-02-23); torchtitan/config/README.md",
	},
	{
		.id = "TT-030", .frameworks = ON_TORCHTITAN, .severity = SEVERITY_ERROR,
		.when = "said(num_expert_groups) or said(num_limited_groups)",
		.require = "said(num_expert_groups) and said(num_limited_groups) : "
		    "'num_expert_groups and num_limited_groups belong together'; experts % "
		    "num_expert_groups == 0 : '{experts} experts do not divide over "
		    "{num_expert_groups} groups, {remainder: experts % num_expert_groups} left "
		    "over'; experts / num_expert_groups >= 2 : 'a group has {experts_per_group: "
		    "experts / num_expert_groups} experts, two are looked at'; num_limited_groups "
		    "<= num_expert_groups : 'a token cannot use {num_limited_groups} of "
		    "{num_expert_groups} groups'",
		.message = "node-limited routing: {problem}",
		.hint = "choose groups that divide the experts",
		.source = "pytorch/torchtitan torchtitan/models/common/moe.py; "
		    "pytorch/torchtitan#2111",
	},
	{.id = NULL},
};
/* clang-format on */
