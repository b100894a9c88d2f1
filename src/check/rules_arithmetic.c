/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What must come out whatever the framework: products of degrees, what was asked
 * for against what was seen, experts over serving ranks, placements, buffers.
 */
#include "check/rules_tables.h"

/* clang-format off */
const struct rule rules_arithmetic[] = {
	{
		.id = "ARI-001", .frameworks = RULE_OTHER, .severity = SEVERITY_ERROR,
		.when = "dp_given and not said(dp_shard_size)",
		.require = "dense_product * dp == world",
		.message = "DP {dp} x TP {tp} x CP {cp} x PP {pp} = {product: dense_product * dp} "
		    "ranks, the world is {world}",
		.hint = "DP {fix_dp: whole(world / dense_product)} fits; all {product: "
		    "dense_product * dp} processes must have joined || start {product: "
		    "dense_product * dp} processes, or use smaller degrees",
		.source = "frameworks with an explicit DP: nanotron, picotron, ColossalAI",
	},
	{
		.id = "ARI-002", .frameworks = RULE_OTHER, .severity = SEVERITY_ERROR,
		.when = "not dp_given", .require = "world % dense_product == 0",
		.message = "TP {tp} x CP {cp} x PP {pp} = {product: dense_product} ranks do not "
		    "divide the world of {world}: {remainder: world % dense_product} left over",
		.hint = "use {valid_pp: divisors(whole(world / (tp * cp)))} stages || use degrees "
		    "that divide {world}",
		.source = "every framework with TP, CP and PP",
	},
	{
		.id = "ARI-003", .severity = SEVERITY_ERROR, .silent = true,
		.when = "starts(setting, 'reported_')", .require = "value == term_of(setting)",
		.message = "the run reports {part(setting, 'reported_')} {reported: value}, what "
		    "was asked for makes {expected: term_of(setting)}: an override did not reach "
		    "the model",
		.hint = "EP {implied_ep: whole(reported_expert_product / (etp * pp))} would "
		    "explain it: print the configuration that the model was built with || print "
		    "the configuration that the model was built with",
		.source = "the resolved configuration must equal the requested one "
		    "(NVIDIA-NeMo/Speech#14838)",
	},
	{
		.id = "ARI-004", .severity = SEVERITY_ERROR,
		.when = "product_convention and set(world)",
		.require = "world == product_dp * ep * tp * pp",
		.message = "DP {product_dp} x EP {ep} x TP {tp} x PP {pp} = {product: product_dp * "
		    "ep * tp * pp} ranks, WORLD_SIZE is {world}",
		.hint = "DP {fix_dp: whole(world / (ep * tp * pp))} makes it {world} || use "
		    "{product: product_dp * ep * tp * pp} GPUs",
		.source = "the convention WORLD = DP x EP x TP x PP of guides and launch scripts",
	},
	{
		.id = "ARI-005", .frameworks = RULE_OTHER, .severity = SEVERITY_ERROR,
		.when = "set(global_batch) and set(world) and dense_product > 0",
		.require = "global_batch % (micro_batch * dp) == 0",
		.message = "global batch {global_batch} is not a multiple of micro-batch "
		    "{micro_batch} x DP {dp}: {remainder: global_batch % (micro_batch * dp)} left "
		    "over",
		.hint = "use {below: multiple_below(global_batch, micro_batch * dp)} or {nearest: "
		    "multiple_above(global_batch, micro_batch * dp)}",
		.source = "every framework: global = micro x accumulation x dense DP",
	},
	{
		.id = "ARI-010", .frameworks = RULE_OTHER, .severity = SEVERITY_ERROR,
		.when = "ep > 1", .require = "(experts + given(redundant, 0)) % ep == 0",
		.message = "{experts} experts + {given(redundant, 0)} redundant do not divide over "
		    "EP {ep}: {remainder: (experts + given(redundant, 0)) % ep} left over",
		.hint = "{min_redundant: (ep - experts % ep) % ep} redundant experts make "
		    "{physical: experts + (ep - experts % ep) % ep}, {per_rank: (experts + (ep - "
		    "experts % ep) % ep) / ep} a rank",
		.source = "vllm-project/vllm#52435; (E + R) mod EP = 0",
	},
	{
		.id = "ARI-011", .frameworks = RULE_OTHER, .severity = SEVERITY_ERROR,
		.when = "tp > 1", .require = "heads % tp == 0",
		.message = "{heads} attention heads are not a multiple of TP {tp} (remainder "
		    "{head_remainder: heads % tp})",
		.hint = "use TP of {valid_tp: divisors(heads)}",
		.source = "every framework that splits attention by heads",
	},
	{
		.id = "ARI-022", .frameworks = RULE_OTHER, .severity = SEVERITY_ERROR,
		.when = "tp > 1 and in(given(framework_name, ''), 'hf', 'transformers', "
		    "'huggingface', 'accelerate', 'trl', 'axolotl', 'fsdp', 'fsdp2')",
		.require = "kv_heads % tp == 0",
		.message = "{kv_heads} KV heads are not a multiple of TP {tp} (remainder "
		    "{kv_remainder: kv_heads % tp}): the tensor parallelism of Transformers cuts "
		    "the projection by columns and makes no copies of a head",
		.hint = "use TP of {valid_tp: divisors(kv_heads)}",
		.source = "huggingface/transformers#48307, pytorch/torchtitan#932",
	},
	{
		.id = "ARI-023", .severity = SEVERITY_ERROR, .when = "said(ppo_mini_batch_size)",
		.require = "train_batch_size >= ppo_mini_batch_size : 'train_batch_size "
		    "{train_batch_size} is below ppo_mini_batch_size {ppo_mini_batch_size}'; "
		    "train_batch_size % ppo_mini_batch_size == 0 : '{train_batch_size} prompts are "
		    "not a multiple of ppo_mini_batch_size {ppo_mini_batch_size}, {remainder: "
		    "train_batch_size % ppo_mini_batch_size} left over'; ppo_mini_batch_size % dp "
		    "== 0 or (ppo_mini_batch_size * rollout_n) % dp == 0 : 'a mini-batch of "
		    "{mini_batch: ppo_mini_batch_size * rollout_n} answers does not divide over DP "
		    "{dp}, {remainder: (ppo_mini_batch_size * rollout_n) % dp} left over'; "
		    "on(use_dynamic_bsz) or train_batch_size % (dp * micro_batch) == 0 or "
		    "(train_batch_size * rollout_n) % (dp * micro_batch) == 0 : '{real_batch: "
		    "train_batch_size * rollout_n} answers are not a multiple of micro-batch "
		    "{micro_batch} x DP {dp} = {minimal_batch: dp * micro_batch}'",
		.message = "batches of verl: {problem}",
		.hint = "make prompts a multiple of mini-batches, and their answers of DP x "
		    "micro-batch",
		.source = "verl-project/verl v0.9.0 verl/utils/config.py, "
		    "verl/workers/engine_workers.py, verl/utils/tensordict_utils.py",
	},
	{
		.id = "ARI-024", .severity = SEVERITY_ERROR,
		.when = "said(num_steps_per_rollout) and said(rollout_batch_size) and "
		    "set(global_batch)",
		.require = "global_batch == floor(rollout_batch_size * "
		    "given(n_samples_per_prompt, rollout_n) / "
		    "num_steps_per_rollout)",
		.message = "a global batch of {global_batch} is not {rollout_batch_size} prompts x "
		    "{answers: given(n_samples_per_prompt, rollout_n)} answers / "
		    "{num_steps_per_rollout} steps = {fix_gbs: "
		    "floor(rollout_batch_size * given(n_samples_per_prompt, rollout_n) / "
		    "num_steps_per_rollout)}",
		.hint = "leave one of the two out",
		.source = "THUDM/slime slime/utils/arguments.py",
	},
	{
		.id = "ARI-012", .severity = SEVERITY_ERROR,
		.when = "redundant > 0 and not said(placement) and given(slots_per_gpu, 0) > 0",
		.require = "slots_per_gpu * world == experts + redundant : '{experts} experts + "
		    "{redundant} redundant are not {slots_per_gpu} slots on each of {world} GPUs'; "
		    "1 + redundant / given(nodes, 1) <= world / given(nodes, 1) : 'all {redundant "
		    "/ given(nodes, 1)} extra copies of a node may go to one expert, {copies: 1 + "
		    "redundant / given(nodes, 1)} in all, and the node has {world / given(nodes, "
		    "1)} GPUs: two copies on one GPU waste a slot'",
		.message = "{slots: experts + redundant} slots, {per_gpu: (experts + redundant) / "
		    "world} a GPU: {problem}",
		.hint = "limit an expert to one copy a GPU, or use fewer redundant experts",
		.source = "deepseek-ai/EPLB#22: its packing does not keep copies of an expert "
		    "apart",
	},
	{
		.id = "ARI-013", .severity = SEVERITY_ERROR, .when = "said(placement)",
		.require = "count(placement) % world == 0 : '{count(placement)} slots do not "
		    "divide over {world} GPUs'; min(placement_copies(placement)) > 0 and (not "
		    "said(expert_load) or count(placement_copies(placement)) == "
		    "count(expert_load)) : 'an expert has no slot'; placement_twins(placement, "
		    "world) == 0 : '{twins: placement_twins(placement, world)} GPU(s) hold an "
		    "expert twice'",
		.message = "placement of {experts_placed: count(placement_copies(placement))} "
		    "experts: {problem}",
		.hint = "every expert needs a slot, copies belong on different GPUs",
		.source = "deepseek-ai/EPLB README",
	},
	{
		.id = "ARI-014", .severity = SEVERITY_ERROR, .when = "said(max_tokens_per_rank)",
		.require = "4 * (experts + given(redundant, 0)) * max_tokens_per_rank * (2 * "
		    "hidden + hidden / 32) <= limit_gib * 1073741824",
		.message = "low-latency buffers for {physical: experts + given(redundant, 0)} "
		    "experts ({local: (experts + given(redundant, 0)) / ep} a rank) and "
		    "{max_tokens_per_rank} tokens take {gib: 4 * (experts + given(redundant, 0)) * "
		    "max_tokens_per_rank * (2 * hidden + hidden / 32) / 1073741824} GiB, the limit "
		    "is {limit_gib}",
		.hint = "without redundancy {gib_without_redundancy: 4 * experts * "
		    "max_tokens_per_rank * (2 * hidden + hidden / 32) / 1073741824} GiB; with "
		    "{max_tokens: floor(limit_gib * 1073741824 / (4 * (experts + given(redundant, "
		    "0)) * (2 * hidden + hidden / 32)) / 16) * 16} tokens a rank it fits",
		.source = "deepseek-ai/DeepEP csrc/config.hpp LowLatencyLayout: two send and two "
		    "receive buffers of experts x tokens messages of 2h bytes and h/128 scales of "
		    "4",
	},
	{
		.id = "ARI-015", .severity = SEVERITY_WARNING,
		.when = "said(baseline) and said(alternatives)",
		.require = "min(ratios(alternatives, baseline)) >= 1",
		.message = "not every alternative to the baseline of {baseline} gains: "
		    "{ratio: ratios(alternatives, baseline)} of it",
		.hint = "keep the baseline where it is better",
		.source = "measured throughput, one against the other",
	},
	{
		.id = "ARI-016", .severity = SEVERITY_ERROR,
		.when = "form == 'numbers' and has_model and said(num_experts)",
		.require = "model_experts == num_experts",
		.message = "{num_experts} experts are configured, the model has {model_experts}: "
		    "expert counts go by several keys, and one was missed",
		.hint = "set the key that this framework reads to {model_experts}",
		.source = "num_experts, num_local_experts, n_routed_experts, num_moe_experts",
	},
	{
		.id = "ARI-017", .severity = SEVERITY_ERROR, .silent = true,
		.when = "heads > 0 and kv_heads > 0", .require = "heads % kv_heads == 0",
		.message = "{heads} attention heads are not a multiple of {kv_heads} KV heads: "
		    "{remainder: heads % kv_heads} left over",
		.hint = "use KV heads of {valid: divisors(heads)}",
		.source = "grouped-query attention (Ainslie et al. 2023, arXiv 2305.13245)",
	},
	{
		.id = "ARI-018", .severity = SEVERITY_ERROR,
		.require = "sizes_agree(setting)",
		.message = "'{setting}' is {value} here, but {expected: model_size(setting)} in "
		    "the model "
		    "{model_beside()}",
		.hint = "make them equal, or leave one out",
		.source = "several files at once are one configuration",
	},
	{
		.id = "ARI-019", .severity = SEVERITY_ERROR,
		.when = "said(model) or said(model.flavor)",
		.require = "model_differences() == ''",
		.message = "the model here is not {model_beside()}: {model_differences()}",
		.hint = "leave one out",
		.source = "several files at once are one configuration",
	},
	{
		.id = "ARI-020", .severity = SEVERITY_WARNING, .silent = true,
		.when = "arguments and complete and not said(model) and said(num_layers)",
		.require = "model_differences() == ''",
		.message = "what the arguments leave out makes another model than "
		    "{model_beside()}: {model_differences()}",
		.hint = "say these sizes too: the arguments of 'moeplan emit --for megatron' do",
		.source = "NVIDIA/Megatron-LM core_v0.19.0 megatron/training/arguments.py, "
		    "defaults",
	},
	{
		.id = "ARI-021", .severity = SEVERITY_ERROR, .when = ULYSSES " > 1",
		.require = "framework == 'deepspeed' or heads % " ULYSSES " == 0 : '{heads} "
		    "attention heads: {head_remainder: heads % " ULYSSES "} left over'; framework "
		    "== 'deepspeed' or kv_heads % " ULYSSES " == 0 or " ULYSSES " % kv_heads == 0 "
		    ": '{kv_heads} KV heads are neither a multiple nor a divisor'; seq_len % "
		    ULYSSES " == 0 : 'a sequence of {seq_len}: {remainder: seq_len % " ULYSSES
		    "} left over, {next_valid_seq: multiple_above(seq_len, " ULYSSES ")} fits'; "
		    "world % " ULYSSES " == 0 : '{world} ranks: {remainder: world % " ULYSSES "} "
		    "left over'",
		.message = "sequence parallelism over {sequence_parallel: " ULYSSES "} ranks: "
		    "{problem}",
		.hint = "use one of {valid_sp: divisors(heads)} and pad sequences to a multiple || "
		    "pad sequences, or use a size that divides them and the ranks",
		.source = "Ulysses (arXiv 2309.14509): heads are exchanged for the sequence; "
		    "verl-project/verl#1226, deepspeedai/DeepSpeed#5177; DeepSpeed's own layer "
		    "gives ranks uneven heads (PR #6392)",
	},
	{
		.id = "ARI-025", .severity = SEVERITY_ERROR, .silent = true,
		.when = "arguments and complete and said(num_layers)",
		.require = "plan_differences() == ''",
		.message = "what is started is not what {plan_beside()} says: "
		    "{plan_differences()}",
		.hint = "say what is missing: the arguments of 'moeplan emit' are the plan",
		.source = "NVIDIA/Megatron-LM core_v0.19.0 megatron/training/arguments.py, "
		    "defaults",
	},
	{.id = NULL},
};
/* clang-format on */
