/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What does DeepSpeed demand of its configuration file, what does it ignore, and
 * what do its MoE layers and AutoEP need? Read in DeepSpeed v0.19.5.
 */
#include "check/rules_tables.h"

#define CONFIG "deepspeedai/DeepSpeed v0.19.5 deepspeed/runtime/config.py"
#define MODELS "deepspeedai/DeepSpeed v0.19.5 deepspeed/runtime/config_utils.py"
#define GROUPS "deepspeedai/DeepSpeed v0.19.5 deepspeed/utils/groups.py"
#define MOE "deepspeedai/DeepSpeed v0.19.5 deepspeed/moe/layer.py"
#define AUTOEP "deepspeedai/DeepSpeed v0.19.5 deepspeed/module_inject/auto_ep_config.py"
#define FOLDING "deepspeedai/DeepSpeed v0.19.5 deepspeed/module_inject/auto_ep_folding.py"
#define ENGINE "deepspeedai/DeepSpeed v0.19.5 deepspeed/runtime/engine.py"

/* Blocks that are read key by key; others are pydantic models and refuse what they do not know. */
#define LOOSE "'expert_parallel', 'pipeline', 'activation_checkpointing'"
/* The ranks that the batch is divided by: with AutoTP and no mpu all of them. */
#define BATCH_WORLD                                                                                \
	"if(given(sequence_parallel_size, 1) > 1, world / given(sequence_parallel_size, 1), "      \
	"if(given(tensor_parallel.autotp_size, 1) > 1, world, dp))"

/* clang-format off */
const struct rule rules_deepspeed[] = {
	/* --- keys */
	{
		.id = "DS-001", .frameworks = ON_DEEPSPEED, .severity = SEVERITY_WARNING,
		.silent = true,
		.when = "json and not argument() and not own(setting) and (complete or "
		    "excerpt or root(setting) != setting) and not in_file('.py') and not "
		    "in(root(setting), "
		    "'MoE', 'PipelineModule', 'PipeModelDataParallelTopology', 'topology')",
		.require = "name_state(root(setting)) == 'known' or is_block(root(setting))",
		.message = "'{root(setting)}' is no key of DeepSpeed{name_limit(root(setting))}: "
		    "it is ignored",
		.hint = "{moe_hint(root(setting))} || did you mean "
		    "'{nearest_name(root(setting))}'? || leave it out, or say it where it is read",
		.source = CONFIG " (keys are fetched by name, nothing looks at what is left)",
	},
	{
		.id = "DS-002", .frameworks = ON_DEEPSPEED, .severity = SEVERITY_ERROR,
		.when = "not argument() and not own(setting) and is_block(parent(setting)) and "
		    "name_state(root(setting)) == 'known' and not in(root(setting), " LOOSE ") and "
		    "(since('0.17.1') or not in(root(setting), 'bf16', 'fp16'))",
		.require = "name_state(setting) == 'known' or is_block(setting)",
		.message = "'{setting}' is no key of the block "
		    "'{parent(setting)}'{name_limit(setting)}: DeepSpeed refuses it "
		    "({unknown_keys: count(strange_in(parent(setting)))} such in this block)",
		.hint = "did you mean '{nearest_name(setting)}'? || leave it out",
		.source = MODELS " (extra keys are forbidden)",
	},
	{
		.id = "DS-003", .frameworks = ON_DEEPSPEED, .severity = SEVERITY_WARNING,
		.silent = true,
		.when = "not argument() and not own(setting) and in(parent(setting), " LOOSE ")",
		.require = "name_state(setting) == 'known'",
		.message = "'{setting}' is no key of this block{name_limit(setting)}: it is "
		    "ignored",
		.hint = "did you mean '{nearest_name(setting)}'? || leave it out",
		.source = AUTOEP "; runtime/config.py",
	},
	{
		.id = "DS-005", .frameworks = ON_DEEPSPEED,
		.severity = SEVERITY_NOTE, .silent = true,
		.when = "not argument() and is_block(parent(setting))",
		.require = "value != 'auto'",
		.message = "'{setting}' is auto: unless the Hugging Face Trainer fills it in "
		    "before, DeepSpeed takes its default",
		.hint = "write the value",
		.source = MODELS,
	},
	{
		.id = "DS-007", .frameworks = ON_DEEPSPEED,
		.severity = SEVERITY_NOTE, .silent = true,
		.when = "said(deepspeed_config) or said(deepspeed_config_file) or "
		    "given(pieces(deepspeed, '.'), 1) > 1",
		.require = "complete",
		.message = "{given(deepspeed_config, given(deepspeed_config_file, deepspeed))} "
		    "says batch, ZeRO and precision, and was not given: what depends on it is "
		    "open",
		.hint = "check both at once: moeplan check SCRIPT {given(deepspeed_config, "
		    "given(deepspeed_config_file, deepspeed))}",
		.source = "deepspeedai/DeepSpeed v0.19.5 deepspeed/__init__.py "
		    "add_config_arguments",
	},
	/* --- batch */
	{
		.id = "DS-010", .frameworks = ON_DEEPSPEED, .severity = SEVERITY_ERROR,
		.grid = "given(tensor_parallel.autotp_size, 1) <= 1 and "
		    "given(sequence_parallel_size, 1) <= 1 and not "
		    "said(gradient_accumulation_steps)",
		.require = "not said(gradient_accumulation_steps) or "
		    "(given(tensor_parallel.autotp_size, 1) > 1 and not set(train_batch_size)) or "
		    "global_batch == micro_batch * gradient_accumulation_steps * (" BATCH_WORLD ")",
		.message = "train_batch_size {global_batch} is not micro-batch {micro_batch} x "
		    "accumulation {given(gradient_accumulation_steps, 1)} x {batch_world: "
		    BATCH_WORLD "} ranks = {product: micro_batch * "
		    "given(gradient_accumulation_steps, 1) * (" BATCH_WORLD ")}",
		.hint = "use gradient_accumulation_steps {fix_accumulation: whole(global_batch / "
		    "(micro_batch * (" BATCH_WORLD ")))} || use train_batch_size {fix_batch: "
		    "micro_batch * given(gradient_accumulation_steps, 1) * (" BATCH_WORLD ")}; for "
		    "this batch and accumulation it would be {implied_world: whole(global_batch / "
		    "(micro_batch * gradient_accumulation_steps))} ranks || use train_batch_size "
		    "{fix_batch: micro_batch * given(gradient_accumulation_steps, 1) * ("
		    BATCH_WORLD ")}",
		.source = CONFIG " _batch_assertion",
	},
	{
		.id = "DS-013", .frameworks = ON_DEEPSPEED, .severity = SEVERITY_ERROR,
		.when = "complete and json",
		.require = "set(train_batch_size) or set(train_micro_batch_size_per_gpu)",
		.message = "neither train_batch_size nor train_micro_batch_size_per_gpu is there",
		.hint = "give train_micro_batch_size_per_gpu and gradient_accumulation_steps",
		.source = CONFIG,
	},
	{
		.id = "DS-015", .frameworks = ON_DEEPSPEED, .since = "0.16.4",
		.severity = SEVERITY_WARNING, .silent = true,
		.when = "tensor_parallel.autotp_size > 1 and said(train_batch_size)",
		.require = "train_batch_size == micro_batch * given(gradient_accumulation_steps, "
		    "1) * dp",
		.message = "with AutoTP the batch rule counts all {world} ranks, though dense DP "
		    "is {dp}: a step sees {real: micro_batch * given(gradient_accumulation_steps, "
		    "1) * dp} samples, not {train_batch_size}",
		.hint = "leave train_batch_size out and give micro-batch and accumulation",
		.source = CONFIG "; engine.py",
	},
	{
		.id = "DS-016", .frameworks = ON_DEEPSPEED, .severity = SEVERITY_ERROR,
		.silent = true, .when = "said(world_seen)",
		.require = "global_batch == micro_batch * given(gradient_accumulation_steps, 1) * "
		    "world_seen",
		.message = "the configuration was read with {world_seen} rank(s): {micro_batch} x "
		    "{given(gradient_accumulation_steps, 1)} x {world_seen} = {product_seen: "
		    "micro_batch * given(gradient_accumulation_steps, 1) * world_seen}, "
		    "train_batch_size is {global_batch}; with {world} it is {product_intended: "
		    "micro_batch * given(gradient_accumulation_steps, 1) * world}",
		.hint = "initialise the process group first (deepspeed or torchrun launcher); the "
		    "file implies {implied_world: whole(global_batch / (micro_batch * "
		    "given(gradient_accumulation_steps, 1)))} ranks",
		.source = CONFIG " (without a process group the world is 1)",
	},
	{
		.id = "DS-017", .frameworks = ON_DEEPSPEED, .severity = SEVERITY_ERROR,
		.when = "given(elasticity.enabled, 0) and not "
		    "given(elasticity.ignore_non_elastic_batch_info, 0)",
		.require = "not said(train_batch_size) and not "
		    "said(train_micro_batch_size_per_gpu) and not "
		    "said(gradient_accumulation_steps)",
		.message = "elasticity chooses the batch itself and refuses batch keys beside it",
		.hint = "leave them out, or set elasticity.ignore_non_elastic_batch_info",
		.source = CONFIG,
	},
	{
		.id = "DS-018", .frameworks = ON_DEEPSPEED, .since = "0.19.3",
		.severity = SEVERITY_NOTE, .silent = true, .when = "complete and json",
		.require = "set(gradient_clipping)",
		.message = "gradient_clipping is not there: since 0.19.3 the default is 1.0, "
		    "before it was off",
		.hint = "write it",
		.source = "deepspeedai/DeepSpeed v0.19.5 deepspeed/runtime/constants.py",
	},
	{
		.id = "DS-019", .frameworks = ON_DEEPSPEED, .severity = SEVERITY_ERROR,
		.when = "said(micro_batch_sizes) and said(max_train_batch_size)",
		.require = "count(dividing(micro_batch_sizes, max_train_batch_size / dp)) > 0",
		.message = "no elastic micro-batch of {micro_batch_sizes} divides "
		    "{batch_per_dp_rank: max_train_batch_size / dp} samples of a data-parallel "
		    "rank ({max_train_batch_size} / DP {dp}, world {world} / TP {tp})",
		.hint = "add a micro-batch that divides it",
		.source = "deepspeedai/DeepSpeed v0.19.5 deepspeed/elasticity/elasticity.py",
	},
	/* --- native MoE layers */
	{
		.id = "DS-030", .frameworks = ON_DEEPSPEED, .severity = SEVERITY_ERROR, .grid = "1",
		.message = "{experts} experts are not a multiple of ep_size {ep}: {remainder: "
		    "experts % "
		    "ep} left over",
		.hint = "use ep_size of {valid_ep: divisors(experts)}",
		.source = MOE,
	},
	{
		.id = "DS-031", .frameworks = ON_DEEPSPEED, .severity = SEVERITY_ERROR,
		.grid = "set(world)",
		.message = "a pipeline stage has {world_per_stage: stage} ranks, which ep_size "
		    "{ep_size: ep} does not divide: {remainder: stage % ep} left over",
		.hint = "use ep_size of {valid_ep: divisors(stage, given(experts, 0))}",
		.source = GROUPS " _create_expert_and_data_parallel",
	},
	{
		.id = "DS-032", .frameworks = ON_DEEPSPEED, .severity = SEVERITY_ERROR,
		.grid = "set(world)",
		.message = "with expert tensor parallelism ep_size {ep_size: ep} must divide DP "
		    "{dp}: {remainder: dp % ep} left over",
		.hint = "use ep_size of {valid_ep: divisors(dp)}",
		.source = GROUPS " _get_expert_parallel_ranks",
	},
	{
		.id = "DS-034", .frameworks = ON_DEEPSPEED, .severity = SEVERITY_ERROR,
		.when = "said(MoE.noisy_gate_policy)",
		.require = "in(MoE.noisy_gate_policy, 'None', 'Jitter', 'RSample')",
		.message = "there is no noisy_gate_policy '{MoE.noisy_gate_policy}'",
		.hint = "use Jitter or RSample, or leave it out",
		.source = MOE,
	},
	{
		.id = "DS-036", .frameworks = ON_DEEPSPEED, .severity = SEVERITY_ERROR,
		.when = "ep > 1 or set(MoE)", .grid = "1",
		.require = "zero < 3 or auto_ep or ep > 1",
		.message = "ZeRO stage {zero} with native MoE layers (ep_size {ep})",
		.hint = "use stage 2, or AutoEP (0.19.3)",
		.source = ENGINE,
	},
	{
		.id = "DS-037", .frameworks = ON_DEEPSPEED, .severity = SEVERITY_ERROR, .grid = "1",
		.message = "ZeRO stage {zero} with a pipeline of {pp} stages: at most stage "
		    "{max_stage_with_pp: if(pp > 1, 1, 3)}",
		.hint = "use stage 1, or no pipeline",
		.source = "deepspeedai/DeepSpeed v0.19.5 deepspeed/runtime/pipe/engine.py",
	},
	{
		.id = "DS-038", .frameworks = ON_DEEPSPEED, .severity = SEVERITY_ERROR,
		.grid = "set(world)",
		.message = "TP {tp} x PP {pp} = {dense_product} GPUs a copy, WORLD_SIZE is "
		    "{world}: "
		    "{remainder: world % dense_product} left over",
		.hint = "use degrees whose product divides the world",
		.source = "deepspeedai/DeepSpeed v0.19.5 deepspeed/runtime/pipe/topology.py",
	},
	{
		.id = "DS-040", .frameworks = ON_DEEPSPEED, .severity = SEVERITY_WARNING,
		.silent = true, .when = "said(moe.loss_coef)", .require = "not said(moe.loss_coef)",
		.message = "the coefficient of the auxiliary loss ({moe.loss_coef}) is no "
		    "DeepSpeed setting: MoE.forward() returns l_aux, the training loop must add it "
		    "to the loss",
		.hint = "loss = loss + {moe.loss_coef} * l_aux in the model's code",
		.source = MOE,
	},
	{
		.id = "DS-044", .frameworks = ON_DEEPSPEED, .severity = SEVERITY_WARNING,
		.silent = true, .when = "json",
		.require = "not said(pipeline.stages)",
		.message = "'pipeline.stages' does not make a pipeline: the number of stages is "
		    "that of PipelineModule(num_stages=…) in the code",
		.hint = "leave the block out, build the PipelineModule",
		.source = CONFIG "; runtime/pipe/module.py",
	},
	{
		.id = "DS-070", .frameworks = ON_DEEPSPEED, .severity = SEVERITY_NOTE,
		.silent = true, .require = "count(meant()) == 0",
		.message = "the arithmetic takes {meant()} as the file means it: DeepSpeed looks "
		    "for it in the code alone, and with nothing there it runs {as_read()}",
		.hint = "say it in the code: MoE(ep_size=…), PipelineModule(num_stages=…)",
		.source = MOE "; runtime/pipe/module.py",
	},
	{
		.id = "DS-045", .frameworks = ON_DEEPSPEED, .severity = SEVERITY_WARNING,
		.silent = true, .when = "json and said(data_parallel_size)",
		.require = "said(sequence_parallel_size)",
		.message = "'data_parallel_size' is read only beside 'sequence_parallel_size': "
		    "here DP is {dp}, whatever it says ({data_parallel_size})",
		.hint = "leave it out: DP follows from the world and TP x PP",
		.source = "deepspeedai/DeepSpeed v0.19.5 deepspeed/__init__.py",
	},
	{
		.id = "DS-046", .frameworks = ON_DEEPSPEED, .severity = SEVERITY_WARNING,
		.silent = true,
		.when = "zero == 3 and (experts > 0 or given(has_experts, 0)) and ep == 1 and not "
		    "auto_ep",
		.require = "said(zero_optimization.leaf_module)",
		.message = "ZeRO stage 3 with MoE modules: a rank whose "
		    "tokens reach no expert of a layer skips its gather, and all ranks wait",
		.hint = "mark the MoE block as a leaf module (zero_optimization.leaf_module, or "
		    "set_z3_leaf_modules() before 0.18)",
		.source = "deepspeedai/DeepSpeed PR #4966 and #5008, issue #5066",
	},
	/* --- AutoEP and AutoTP */
	{
		.id = "DS-050", .frameworks = ON_DEEPSPEED, .severity = SEVERITY_ERROR,
		.grid = "set(world)",
		.message = "autoep_size {ep} must divide a pipeline stage of {stage} ranks: "
		    "{remainder: "
		    "stage % ep} left over",
		.hint = "use autoep_size of {valid_ep: divisors(stage, given(experts, 0))}",
		.source = FOLDING " build_folding_spec",
	},
	{
		.id = "DS-051", .frameworks = ON_DEEPSPEED, .severity = SEVERITY_ERROR, .grid = "1",
		.message = "ETP {etp}: expert tensor parallelism is TP in native layers when it is "
		    "on, else 1",
		.hint = "leave it out",
		.source = FOLDING,
	},
	{
		.id = "DS-052", .frameworks = ON_DEEPSPEED, .since = "0.19.2",
		.severity = SEVERITY_ERROR, .when = "said(expert_parallel.autoep_size)",
		.require = "expert_parallel.autoep_size <= experts and experts % "
		    "expert_parallel.autoep_size == 0",
		.message = "autoep_size {expert_parallel.autoep_size} must divide {experts} "
		    "experts: {remainder: experts % expert_parallel.autoep_size} left over",
		.hint = "use {valid_ep: divisors(experts)}",
		.source = AUTOEP,
	},
	{
		.id = "DS-053", .frameworks = ON_DEEPSPEED, .since = "0.19.2",
		.severity = SEVERITY_ERROR, .when = "said(expert_parallel.preset_model)",
		.require = "in(expert_parallel.preset_model, 'mixtral', 'qwen3_moe', "
		    "'qwen3_5_moe', 'deepseek_v2', 'deepseek_v3')",
		.message = "AutoEP has no preset_model '{expert_parallel.preset_model}'",
		.hint = "presets are mixtral qwen3_moe qwen3_5_moe deepseek_v2 deepseek_v3",
		.source = AUTOEP,
	},
	{
		.id = "DS-054", .frameworks = ON_DEEPSPEED, .since = "0.19.2",
		.severity = SEVERITY_ERROR,
		.require = "not said(expert_parallel.load_balance_coeff)",
		.message = "AutoEP does not support load_balance_coeff "
		    "({expert_parallel.load_balance_coeff})",
		.hint = "leave it out: the model's own balancing loss stays",
		.source = "deepspeedai/DeepSpeed v0.19.5 "
		    "deepspeed/module_inject/auto_ep_presets/base.py",
	},
	{
		.id = "DS-055", .frameworks = ON_DEEPSPEED, .severity = SEVERITY_ERROR, .grid = "1",
		.message = "AutoEP with AutoTP (TP {tp}) excludes pipelines, ZeRO 3, offload, "
		    "data-before-expert and autoep_size 1",
		.hint = "use one of the two",
		.source = FOLDING " validate_folding_global; 0.19.2 has no combination at all",
	},
	{
		.id = "DS-058", .frameworks = ON_DEEPSPEED, .since = "0.19.3",
		.severity = SEVERITY_ERROR,
		.when = "zero == 3 and given(expert_parallel.enabled, 0)",
		.require = "not given(zero_optimization.zero_quantized_gradients, 0) : 'quantized "
		    "gradients'; given(zero_optimization.mics_shard_size, -1) <= 0 : 'MiCS'; "
		    "given(zero_optimization.zero_hpz_partition_size, 1) <= 1 : 'hpZ'; "
		    "given(sequence_parallel_size, 1) <= 1 : 'sequence parallelism'",
		.message = "AutoEP with ZeRO stage 3 does not support {problem}",
		.hint = "leave that out",
		.source = ENGINE,
	},
	{
		.id = "DS-047", .frameworks = ON_DEEPSPEED, .until = "0.19.3",
		.severity = SEVERITY_ERROR, .when = "auto_ep", .require = "zero < 3",
		.message = "AutoEP with ZeRO stage {zero}: supported from 0.19.3 on, this is "
		    "{version}",
		.hint = "use stage 2, or 0.19.3 or newer",
		.source = ENGINE,
	},
	{
		.id = "DS-059", .frameworks = ON_DEEPSPEED, .since = "0.19.2",
		.severity = SEVERITY_WARNING, .when = "given(expert_parallel.enabled, 0)",
		.require = "given(expert_parallel.autoep_size, 1) > 1",
		.message = "autoep_size is 1: every rank owns all experts",
		.hint = "use autoep_size of {valid_ep: divisors(stage, given(experts, 0))} || "
		    "raise autoep_size",
		.source = AUTOEP,
	},
	{
		.id = "DS-060", .frameworks = ON_DEEPSPEED, .since = "0.19.2",
		.severity = SEVERITY_ERROR,
		.when = "said(expert_parallel.num_expert_groups) or "
		    "said(expert_parallel.num_limited_groups)",
		.require = "said(expert_parallel.num_expert_groups) and "
		    "said(expert_parallel.num_limited_groups) : 'both or none must be set'; "
		    "experts % expert_parallel.num_expert_groups == 0 : '{experts} experts do not "
		    "divide over {expert_parallel.num_expert_groups} groups'; "
		    "expert_parallel.num_limited_groups <= expert_parallel.num_expert_groups : "
		    "'{expert_parallel.num_limited_groups} groups of "
		    "{expert_parallel.num_expert_groups} cannot be used'",
		.message = "expert groups: {problem}",
		.hint = "choose groups that divide the experts",
		.source = AUTOEP,
	},
	{
		.id = "DS-061", .frameworks = ON_DEEPSPEED, .since = "0.19.2",
		.severity = SEVERITY_ERROR, .when = "block('expert_parallel')",
		.require = "in(given(expert_parallel.score_apply, 'auto'), 'auto', 'pre', 'post') "
		    ": 'score_apply is auto, pre or post'; in(given(expert_parallel.score_func, "
		    "'auto'), 'auto', 'softmax', 'sigmoid') : 'score_func is auto, softmax or "
		    "sigmoid'; in(given(expert_parallel.combine_impl, 'auto'), 'auto', "
		    "'weighted_sum', 'legacy_bmm') : 'combine_impl is auto, weighted_sum or "
		    "legacy_bmm'",
		.message = "expert_parallel: {problem}",
		.hint = "leave it out: auto follows the model",
		.source = AUTOEP,
	},
	{
		.id = "DS-063", .frameworks = ON_DEEPSPEED, .since = "0.16.4",
		.severity = SEVERITY_ERROR, .when = "tensor_parallel.autotp_size > 1",
		.require = "world % tensor_parallel.autotp_size == 0",
		.message = "autotp_size {tensor_parallel.autotp_size} does not divide {world} "
		    "ranks: {remainder: world % tensor_parallel.autotp_size} left over",
		.hint = "use {nearest_divisor(world, tensor_parallel.autotp_size)}",
		.source = GROUPS,
	},
	{
		.id = "DS-065", .frameworks = ON_DEEPSPEED, .since = "0.19.6",
		.severity = SEVERITY_WARNING,
		.when = "tensor_parallel.autotp_size > 1 and heads > 0",
		.require = "heads % tp == 0 and given(kv_heads, heads) % tp == 0",
		.message = "{heads} attention heads and {given(kv_heads, heads)} KV heads do not "
		    "divide over autotp_size {tp}: ranks get uneven parts, and those beyond the KV "
		    "heads none",
		.hint = "use autotp_size of {valid_tp: divisors(given(kv_heads, heads))}",
		.source = "deepspeedai/DeepSpeed edaa72212672 docs/_tutorials/autotp-training.md",
	},
	{
		.id = "DS-066", .frameworks = ON_DEEPSPEED, .severity = SEVERITY_ERROR, .grid = "1",
		.require = "not said(zero_optimization.offload_optimizer.ratio) or "
		    "zero_optimization.offload_optimizer.ratio >= 1 or "
		    "get(zero_optimization.stage, 0) == 3 : 'a part of the optimizer can be "
		    "offloaded with stage 3 only'; not said(zero_optimization.stage) or "
		    "zero_optimization.stage <= 3 : 'there is no stage {zero_optimization.stage}'",
		.message = "ZeRO: {problem}",
		.hint = "use stage 3, or ratio 1",
		.source = "deepspeedai/DeepSpeed v0.19.5 deepspeed/runtime/zero/config.py",
	},
	{
		.id = "DS-067", .frameworks = ON_DEEPSPEED, .severity = SEVERITY_ERROR,
		.require = "not (given(fp16.enabled, 0) == 1 and given(bf16.enabled, 0) == 1)",
		.message = "fp16 and bf16 cannot both be enabled",
		.hint = "keep bf16",
		.source = CONFIG,
	},
	{
		.id = "DS-068", .frameworks = ON_DEEPSPEED, .severity = SEVERITY_NOTE,
		.when = "mode == 'inference' and experts > 0",
		.require = "world % experts == 0",
		.message = "{world} ranks serve {experts} experts with ep_size {ep}: "
		    "{groups_right: world / ep} group(s), {experts_per_rank: experts / ep} experts "
		    "a rank; releases before PR #7551 compute {groups_wrong: floor(world / "
		    "experts)} groups from the expert count",
		.source = "deepspeedai/DeepSpeed #4562, #7535, PR #7551",
	},
	{
		.id = "DS-069", .frameworks = ON_DEEPSPEED, .severity = SEVERITY_WARNING,
		.when = "said(moe_layers_on_stage)", .require = "min(moe_layers_on_stage) > 0",
		.message = "a pipeline stage without an MoE layer ({moe_layers_on_stage} by "
		    "stage): affected releases look for expert groups on every stage and wait",
		.hint = "spread MoE layers so that every stage has one",
		.source = "deepspeedai/DeepSpeed#6714",
	},
	{.id = NULL},
};
/* clang-format on */
