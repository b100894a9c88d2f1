/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What does Megatron-LM demand of world, batch, pipeline, sequence and memory
 * options? Read in NVIDIA/Megatron-LM core 0.19 (tag core_v0.19.0); versions are
 * the first and the first no more of one tag a minor release.
 */
#include "check/rules_tables.h"

#define ARGUMENTS "NVIDIA/Megatron-LM core_v0.19.0 megatron/training/arguments.py"
#define CONFIG "NVIDIA/Megatron-LM core_v0.19.0 megatron/core/transformer/transformer_config.py"
#define PARALLEL "NVIDIA/Megatron-LM core_v0.19.0 megatron/core/model_parallel_config.py"
#define STATE "NVIDIA/Megatron-LM core_v0.19.0 megatron/core/parallel_state.py"
#define SCHEDULES "NVIDIA/Megatron-LM core_v0.19.0 megatron/core/pipeline_parallel/schedules.py"
#define MICROBATCHES "NVIDIA/Megatron-LM core_v0.19.0 megatron/core/num_microbatches_calculator.py"
#define LAYOUT                                                                                     \
	"NVIDIA/Megatron-LM core_v0.19.0 "                                                         \
	"megatron/core/transformer/pipeline_parallel_layer_layout.py"

/* Plain stages: no layout, no counts for the ends, no hybrid pattern. */
#define PLAIN_STAGES                                                                               \
	"not said(pipeline_model_parallel_layout) and not said(layouts) and "                      \
	"not said(decoder_first_pipeline_num_layers) and "                                         \
	"not said(decoder_last_pipeline_num_layers) and not said(hybrid_layer_pattern)"
/* A question about model state alone, where stages are a mean. */
#define MEMORY_ONLY                                                                                \
	"((said(gpu_mem_gib) or said(host_mem_gib) or said(host_mem_gb)) and "                     \
	"not said(global_batch))"
#define ENDS                                                                                       \
	"(given(account_for_embedding_in_pipeline_split, 0) + "                                    \
	"given(account_for_loss_in_pipeline_split, 0))"

/* DeepSpeed's AutoTP gives ranks uneven parts. */
#define EVEN_HEADS                                                                                 \
	"framework != 'deepspeed' or given(tensor_parallel.autotp_size, 1) <= 1 or not "           \
	"since('0.19.6')"

/* clang-format off */
const struct rule rules_megatron[] = {
	/* --- world, ranks, batch */
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
		    "experts, WORLD_SIZE is {world}; the dense grid is {dense_product} GPUs a copy "
		    "and DP {dp: world / dense_product}",
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
		    "{num_distributed_optimizer_instances} distributed-optimizer instances",
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
		.when = "arguments and launcher == 'srun'", .require = "set(env_world)",
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
		    "micro_batch)} x DP {dp}",
		.hint = "use {multiple_above(given(eval_global_batch_size, global_batch), "
		    "given(eval_micro_batch_size, micro_batch) * dp)}",
		.source = ARGUMENTS,
	},
	{
		.id = "MEG-011", .frameworks = ON_MEGATRON, .severity = SEVERITY_ERROR,
		.grid = "not given(decrease_batch_size_if_needed, 0)",
		.message = "global batch {global_batch} is not a multiple of micro-batch "
		    "{micro_batch} x DP {dp}",
		.hint = "use a multiple of {divisor: micro_batch * dp}",
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
		    "'batch_size', "
		    "'warmup', 'model_parallel_size', 'checkpoint_activations', "
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
	/* --- pipeline */
	{
		.id = "MEG-020", .frameworks = ON_MEGATRON, .since = "0.13",
		.severity = SEVERITY_ERROR,
		.require = "said(num_layers_per_virtual_pipeline_stage) + "
		    "said(num_virtual_stages_per_pipeline_rank) + "
		    "said(pipeline_model_parallel_layout) <= 1",
		.message = "more than one of --num-layers-per-virtual-pipeline-stage, "
		    "--num-virtual-stages-per-pipeline-rank, --pipeline-model-parallel-layout",
		.hint = "keep one",
		.source = ARGUMENTS,
	},
	{
		.id = "MEG-021", .frameworks = ON_MEGATRON, .since = "0.13",
		.severity = SEVERITY_ERROR, .grid = "said(layout)",
		.message = "the layout has {stages: layout_chunks(layout)} stages, PP {pp} x VPP "
		    "{vpp} are {needed: pp * vpp}",
		.hint = "stages must be a multiple of PP",
		.source = LAYOUT,
	},
	{
		.id = "MEG-022", .frameworks = ON_MEGATRON, .since = "0.13",
		.severity = SEVERITY_ERROR, .when = "said(layout)",
		.require = "min(layout_chunks(layout)) > 0 : 'it cannot be read'; "
		    "min(layout_chunks(layout)) == 0 or all_equal(layout_layers(layout), layers) : "
		    "'it has {built: layout_layers(layout)} layers, the model {layers}'; "
		    "min(layout_chunks(layout)) == 0 or all_equal(layout_mtp(layout), "
		    "get(mtp_layers, 0)) : 'it has {layout_mtp(layout)} MTP layers, the model "
		    "{get(mtp_layers, 0)}'",
		.message = "pipeline layout {layout}: {problem} ({stages: layout_chunks(layout)} "
		    "stages)",
		.hint = "E embedding, t layer, m MTP layer, L loss, | between stages, (x)*n "
		    "repeats: {layers} 't' in {pp * vpp} stages",
		.source = LAYOUT " validate_layer_layout",
	},
	{
		.id = "MEG-023", .frameworks = ON_MEGATRON, .since = "0.13",
		.severity = SEVERITY_ERROR, .when = "said(pipeline_model_parallel_layout)",
		.require = "not said(decoder_first_pipeline_num_layers) and not "
		    "said(decoder_last_pipeline_num_layers) and not "
		    "given(account_for_embedding_in_pipeline_split, 0) and not "
		    "given(account_for_loss_in_pipeline_split, 0)",
		.message = "--pipeline-model-parallel-layout says it all: counts for the first and "
		    "last stage and --account-for-* exclude it",
		.hint = "keep the layout alone",
		.source = CONFIG,
	},
	{
		.id = "MEG-024", .frameworks = ON_MEGATRON, .severity = SEVERITY_ERROR,
		.since = "0.10",
		.when = "(complete or (said(num_layers) and not " MEMORY_ONLY ")) and "
		    PLAIN_STAGES,
		.require = "(layers + " ENDS ") % pp == 0",
		.message = "{counted: layers + " ENDS "} layers (embedding and loss counted where "
		    "asked for) do not divide over {pp} stages: {layers_mod_pp: (layers + " ENDS
		    ") % pp} left over; older releases build {built: floor(layers / pp) * pp} "
		    "and lose {missing: layers % pp} in silence",
		.hint = "use PP of {valid_pp: divisors(layers)}, counts for the first and last "
		    "stage, or --pipeline-model-parallel-layout",
		.source = ARGUMENTS,
	},
	{
		.id = "MEG-025", .frameworks = ON_MEGATRON, .severity = SEVERITY_ERROR,
		.when = "(complete or said(num_layers)) and "
		    "said(num_layers_per_virtual_pipeline_stage) and " PLAIN_STAGES,
		.require = "floor((layers + " ENDS ") / pp) % "
		    "num_layers_per_virtual_pipeline_stage == 0",
		.message = "{floor(layers / pp)} layers a stage are not a multiple of "
		    "{num_layers_per_virtual_pipeline_stage} a virtual stage; releases that do not "
		    "look build {built: pp * floor(floor(layers / pp) / "
		    "num_layers_per_virtual_pipeline_stage) * "
		    "num_layers_per_virtual_pipeline_stage} of {layers} layers, {missing: layers - "
		    "pp * floor(floor(layers / pp) / num_layers_per_virtual_pipeline_stage) * "
		    "num_layers_per_virtual_pipeline_stage} are missing",
		.hint = "use one of {valid: divisors(floor(layers / pp))}",
		.source = ARGUMENTS,
	},
	{
		.id = "MEG-026", .frameworks = ON_MEGATRON, .since = "0.9",
		.severity = SEVERITY_ERROR,
		.when = "(said(decoder_first_pipeline_num_layers) or "
		    "said(decoder_last_pipeline_num_layers)) and pp > 1",
		.require = "pp - said(decoder_first_pipeline_num_layers) - "
		    "said(decoder_last_pipeline_num_layers) == 0 or (layers - "
		    "given(decoder_first_pipeline_num_layers, 0) - "
		    "given(decoder_last_pipeline_num_layers, 0)) % (pp - "
		    "said(decoder_first_pipeline_num_layers) - "
		    "said(decoder_last_pipeline_num_layers)) == 0 : '{middle: layers - "
		    "given(decoder_first_pipeline_num_layers, 0) - "
		    "given(decoder_last_pipeline_num_layers, 0)} layers do not divide over the "
		    "middle stages'; given(decoder_first_pipeline_num_layers, 0) % vpp == 0 : 'the "
		    "first stage is not a multiple of VPP {vpp}'; "
		    "given(decoder_last_pipeline_num_layers, 0) % vpp == 0 : 'the last stage is "
		    "not a multiple of VPP {vpp}'",
		.message = "uneven stages (PP {pp}, {layers} layers): {problem}",
		.hint = "change the counts of the ends, or use --pipeline-model-parallel-layout",
		.source = CONFIG,
	},
	{
		.id = "MEG-027", .frameworks = ON_MEGATRON, .since = "0.11",
		.severity = SEVERITY_ERROR, .when = "said(num_layers_per_virtual_pipeline_stage)",
		.require = "not said(decoder_first_pipeline_num_layers) and not "
		    "said(decoder_last_pipeline_num_layers)",
		.message = "--num-layers-per-virtual-pipeline-stage does not go with counts for "
		    "the first or last stage",
		.hint = "use --num-virtual-stages-per-pipeline-rank",
		.source = ARGUMENTS,
	},
	{
		.id = "MEG-028", .frameworks = ON_MEGATRON | ON_DEEPSPEED | ON_TORCHTITAN,
		.severity = SEVERITY_ERROR, .grid = "1",
		.require = "not given(no_overlap_p2p_communication, 0) or vpp == 1 or pp > 2",
		.message = "VPP {vpp} needs a pipeline of more than "
		    "{if(given(no_overlap_p2p_communication, 0), 2, 1)} stages, PP is {pp}",
		.hint = "leave virtual stages out, or use more stages",
		.source = ARGUMENTS,
	},
	{
		.id = "MEG-029", .frameworks = ON_MEGATRON, .severity = SEVERITY_ERROR,
		.when = "vpp > 1",
		.grid = "set(micro_batches) and not "
		    "said(microbatch_group_size_per_virtual_pipeline_stage)",
		.require = "not said(microbatch_group_size_per_virtual_pipeline_stage) or "
		    "(microbatch_group_size_per_virtual_pipeline_stage >= pp and "
		    "microbatch_group_size_per_virtual_pipeline_stage <= micro_batches)",
		.message = "micro-batches come in groups of "
		    "{given(microbatch_group_size_per_virtual_pipeline_stage, pp)}, which must lie "
		    "between PP {pp} and their number {micro_batches}",
		.hint = "use a group size from {pp} to {micro_batches}, or a larger global batch",
		.source = SCHEDULES "; at the first step",
	},
	{
		.id = "MEG-030", .frameworks = ON_MEGATRON, .severity = SEVERITY_ERROR,
		.when = "vpp > 1",
		.grid = "set(micro_batches) and not "
		    "said(microbatch_group_size_per_virtual_pipeline_stage)",
		.require = "not said(microbatch_group_size_per_virtual_pipeline_stage) or "
		    "micro_batches % microbatch_group_size_per_virtual_pipeline_stage == 0 or "
		    "micro_batches % microbatch_group_size_per_virtual_pipeline_stage >= pp",
		.message = "{micro_batches} micro-batches in groups of "
		    "{given(microbatch_group_size_per_virtual_pipeline_stage, pp)} leave a last "
		    "group of {m_mod_group: micro_batches % "
		    "given(microbatch_group_size_per_virtual_pipeline_stage, pp)}, less than PP "
		    "{pp}",
		.hint = "use a multiple of the group; VPP {vpp} is no divisor here",
		.source = SCHEDULES "; at the first step",
	},
	{
		.id = "MEG-031", .frameworks = ON_MEGATRON, .severity = SEVERITY_WARNING,
		.when = "pp > 1 and vpp == 1",
		.require = "not given(overlap_p2p_communication_warmup_flush, 0) and not "
		    "given(align_param_gather, 0)",
		.message = "without virtual stages a pipeline (PP {pp}) switches the overlap of "
		    "its sends and the alignment of parameter gathers off",
		.hint = "give virtual stages, or leave these options out",
		.source = ARGUMENTS,
	},
	{
		.id = "MEG-032", .frameworks = ON_MEGATRON, .since = "0.17",
		.severity = SEVERITY_ERROR, .when = "said(hybrid_layer_pattern)",
		.require = "not said(pipeline_model_parallel_layout) : 'it excludes a pipeline "
		    "layout'; not said(num_layers_per_virtual_pipeline_stage) and not "
		    "said(num_virtual_stages_per_pipeline_rank) : 'it excludes virtual stage "
		    "options'; not given(account_for_embedding_in_pipeline_split, 0) and not "
		    "given(account_for_loss_in_pipeline_split, 0) : 'it excludes --account-for-*'; "
		    "pieces(hybrid_layer_pattern, '|') == 1 or pieces(hybrid_layer_pattern, '|') % "
		    "pp == 0 : 'its {segments: pieces(hybrid_layer_pattern, \"|\")} segments do "
		    "not divide over PP {pp}'",
		.message = "--hybrid-layer-pattern: {problem}",
		.hint = "the pattern alone says where stages begin, with '|'",
		.source = ARGUMENTS,
	},
	{
		.id = "MEG-033", .frameworks = ON_MEGATRON, .since = "0.11",
		.severity = SEVERITY_ERROR, .require = "not given(standalone_embedding_stage, 0)",
		.message = "--standalone-embedding-stage was removed",
		.hint = "use --account-for-embedding-in-pipeline-split, or a layout",
		.source = ARGUMENTS,
	},
	/* --- dense parallelism, sequence, memory */
	{
		.id = "MEG-040", .frameworks = ON_MEGATRON | ON_DEEPSPEED,
		.severity = SEVERITY_ERROR,
		.grid = EVEN_HEADS,
		.message = "{heads} attention heads are not a multiple of TP {tp}: "
		    "{head_remainder: heads % tp} left over",
		.hint = "use TP of {valid_tp: divisors(heads)}",
		.source = CONFIG,
	},
	{
		.id = "MEG-041", .frameworks = ON_MEGATRON | ON_DEEPSPEED,
		.severity = SEVERITY_ERROR,
		.grid = EVEN_HEADS,
		.message = "{kv_heads} KV heads (query groups) are neither a multiple nor a "
		    "divisor of TP {tp}",
		.hint = "use TP of {valid_tp: divisors(kv_heads)}",
		.source = CONFIG "; 0.15 and older demand a multiple, see MEG-112",
	},
	{
		.id = "MEG-042", .frameworks = ON_MEGATRON, .severity = SEVERITY_WARNING,
		.require = "not (given(sequence_parallel, 0) and tp == 1)",
		.message = "--sequence-parallel with TP 1: the argument parser turns it off, the "
		    "config class refuses it",
		.hint = "leave it out",
		.source = PARALLEL "; arguments.py",
	},
	{
		.id = "MEG-043", .frameworks = ON_MEGATRON, .severity = SEVERITY_ERROR,
		.grid = "sp",
		.message = "sequence {seq_len} / CP {cp} is not a multiple of TP {tp}, which "
		    "sequence parallelism cuts it into",
		.hint = "pad to {next_valid_seq: multiple_above(seq_len, if(cp > 1, 2 * cp, 1) * "
		    "tp)}, a multiple of {divisor: cp * tp}",
		.source = "NVIDIA/Megatron-LM core_v0.19.0 "
		    "megatron/core/tensor_parallel/mappings.py; at the first step",
	},
	{
		.id = "MEG-044", .frameworks = ON_MEGATRON, .severity = SEVERITY_ERROR, .grid = "1",
		.message = "sequence {seq_len} is not a multiple of 2 x CP {cp} = {align_cp: 2 * "
		    "cp}, with sequence parallelism of {align_sp_cp: 2 * cp * tp}",
		.hint = "pad to {next_valid_seq: multiple_above(seq_len, 2 * cp * tp)}",
		.source = ARGUMENTS,
	},
	{
		.id = "MEG-045", .frameworks = ON_MEGATRON, .severity = SEVERITY_ERROR,
		.when = "said(hierarchical_context_parallel_sizes) or (said(cp_comm_type) and "
		    "has(cp_comm_type, 'a2a+p2p'))",
		.require = "said(hierarchical_context_parallel_sizes) : 'they are not set, a2a+p2p "
		    "needs them'; product(hierarchical_context_parallel_sizes) == cp : 'their "
		    "product is {product(hierarchical_context_parallel_sizes)}'",
		.message = "--hierarchical-context-parallel-sizes for CP {cp}: {problem}",
		.hint = "give sizes whose product is CP",
		.source = ARGUMENTS,
	},
	{
		.id = "MEG-046", .frameworks = ON_MEGATRON, .severity = SEVERITY_ERROR,
		.when = "said(cp_comm_type)",
		.require = "count(cp_comm_type) == 1 or count(cp_comm_type) == layers",
		.message = "--cp-comm-type has {given: count(cp_comm_type)} items, the model "
		    "{layers} layers",
		.hint = "give one item, or one a layer",
		.source = CONFIG,
	},
	{
		.id = "MEG-047", .frameworks = ON_MEGATRON, .severity = SEVERITY_ERROR,
		.require = "max_position_embeddings >= seq_len",
		.message = "--max-position-embeddings {max_position_embeddings} is less than the "
		    "sequence {seq_len}",
		.hint = "use {seq_len} or more",
		.source = ARGUMENTS,
	},
	{
		.id = "MEG-048", .frameworks = ON_MEGATRON, .severity = SEVERITY_ERROR,
		.when = "(tp > 1 or cp > 1) and get(gpu_arch, 9) < 10 and not "
		    "given(use_megatron_fsdp, 0) and not given(use_torch_fsdp2, 0) and not "
		    "given(overlap_moe_expert_parallel_comm, 0)",
		.require = "CUDA_DEVICE_MAX_CONNECTIONS == 1",
		.message = "CUDA_DEVICE_MAX_CONNECTIONS is {CUDA_DEVICE_MAX_CONNECTIONS}: TP {tp} "
		    "and CP {cp} need 1 before Blackwell",
		.hint = "export CUDA_DEVICE_MAX_CONNECTIONS=1",
		.source = ARGUMENTS,
	},
	{
		.id = "MEG-049", .frameworks = ON_MEGATRON, .severity = SEVERITY_ERROR,
		.when = "given(use_megatron_fsdp, 0) or given(use_torch_fsdp2, 0)",
		.require = "CUDA_DEVICE_MAX_CONNECTIONS != 1",
		.message = "CUDA_DEVICE_MAX_CONNECTIONS is 1, which FSDP refuses",
		.hint = "unset it",
		.source = ARGUMENTS,
	},
	{
		.id = "MEG-050", .frameworks = ON_MEGATRON, .severity = SEVERITY_ERROR,
		.when = "given(tp_comm_overlap, 0)", .require = "on(sequence_parallel)",
		.message = "--tp-comm-overlap needs --sequence-parallel",
		.hint = "add --sequence-parallel",
		.source = ARGUMENTS,
	},
	{
		.id = "MEG-051", .frameworks = ON_MEGATRON, .severity = SEVERITY_ERROR,
		.when = "said(recompute_granularity)",
		.require = "recompute_granularity != 'full' or in(get(recompute_method, ''), "
		    "'uniform', 'block') : 'full needs --recompute-method uniform or block'; "
		    "recompute_granularity != 'full' or set(recompute_num_layers) : 'full needs "
		    "--recompute-num-layers'; recompute_granularity != 'selective' or (not "
		    "set(recompute_method) and not set(recompute_num_layers)) : 'selective "
		    "excludes --recompute-method and --recompute-num-layers'",
		.message = "--recompute-granularity {recompute_granularity}: {problem}",
		.hint = "full: --recompute-method uniform --recompute-num-layers 1; selective: "
		    "--recompute-modules",
		.source = CONFIG "; arguments.py",
	},
	{
		.id = "MEG-052", .frameworks = ON_MEGATRON, .since = "0.12",
		.severity = SEVERITY_ERROR, .when = "said(recompute_modules)",
		.require = "in(recompute_modules, 'core_attn', 'moe_act', 'layernorm', "
		    "'mla_up_proj', 'mlp', 'moe', 'shared_experts', 'gdn_norm_out')",
		.message = "--recompute-modules {join(recompute_modules, ' ')}: not all of these "
		    "are modules",
		.hint = "modules are core_attn moe_act layernorm mla_up_proj mlp moe "
		    "shared_experts gdn_norm_out ('moe_layer' in a deprecation text is not one)",
		.source = CONFIG,
	},
	{
		.id = "MEG-053", .frameworks = ON_MEGATRON | ON_DEEPSPEED | ON_TORCHTITAN,
		.severity = SEVERITY_ERROR, .grid = "has_model",
		.require = "not said(recompute_modules) or not has(recompute_modules, 'moe_act') "
		    "or on(moe_grouped_gemm) : 'moe_act needs --moe-grouped-gemm'; not "
		    "said(recompute_modules) or not has(recompute_modules, 'mla_up_proj') or "
		    "on(multi_latent_attention) : 'mla_up_proj needs --multi-latent-attention'; "
		    "not said(recompute_modules) or not has(recompute_modules, 'shared_experts') "
		    "or not given(moe_shared_expert_overlap, 0) : 'shared_experts excludes "
		    "--moe-shared-expert-overlap'; not said(recompute_modules) or not "
		    "has(recompute_modules, 'gdn_norm_out') or "
		    "given(experimental_attention_variant, '') == 'gated_delta_net' : "
		    "'gdn_norm_out needs --experimental-attention-variant gated_delta_net'",
		.message = "recomputed modules: {problem}",
		.hint = "leave the module out, or add what it needs",
		.source = CONFIG,
	},
	{
		.id = "MEG-054", .frameworks = ON_MEGATRON, .severity = SEVERITY_ERROR,
		.when = "given(distribute_saved_activations, 0)",
		.require = "tp > 1 : 'TP over 1'; get(recompute_granularity, '') == 'full' : 'full "
		    "recompute'; set(recompute_method) : '--recompute-method'; not "
		    "on(sequence_parallel) : 'sequence parallelism off'",
		.message = "--distribute-saved-activations needs {problem}",
		.hint = "leave it out: sequence parallelism does the same and more",
		.source = ARGUMENTS "; transformer_config.py",
	},
	{
		.id = "MEG-055", .frameworks = ON_MEGATRON, .severity = SEVERITY_ERROR,
		.when = "given(overlap_param_gather, 0)",
		.require = "on(overlap_grad_reduce) : '--overlap-grad-reduce'; "
		    "on(use_distributed_optimizer) or given(use_megatron_fsdp, 0) or "
		    "given(use_layer_wise_distributed_optimizer, 0) or contains(given(optimizer, "
		    "'adam'), 'muon') : '--use-distributed-optimizer'",
		.message = "--overlap-param-gather needs {problem}",
		.hint = "add it",
		.source = ARGUMENTS,
	},
	{
		.id = "MEG-056", .frameworks = ON_MEGATRON, .severity = SEVERITY_ERROR,
		.when = "given(overlap_param_gather_with_optimizer_step, 0)",
		.require = "vpp > 1 : 'an interleaved pipeline'; on(use_distributed_optimizer) : "
		    "'--use-distributed-optimizer'; on(overlap_param_gather) : "
		    "'--overlap-param-gather'",
		.message = "--overlap-param-gather-with-optimizer-step needs {problem}",
		.hint = "leave it out",
		.source = ARGUMENTS,
	},
	{
		.id = "MEG-057", .frameworks = ON_MEGATRON, .severity = SEVERITY_ERROR,
		.when = "given(use_torch_fsdp2, 0)",
		.require = "pp == 1 : 'a pipeline (PP {pp})'; ep == 1 : 'expert parallelism (EP "
		    "{ep})'; not on(use_distributed_optimizer) : '--use-distributed-optimizer'; "
		    "on(untie_embeddings_and_output_weights) : 'tied embeddings'; not on(fp16) : "
		    "'fp16'; in(get(ckpt_format, 'torch_dist'), 'torch_dist', 'torch_dcp') : "
		    "'checkpoints other than torch_dist and torch_dcp'",
		.message = "--use-torch-fsdp2 does not go with {problem}",
		.hint = "use --use-megatron-fsdp, or leave that out",
		.source = ARGUMENTS,
	},
	{
		.id = "MEG-058", .frameworks = ON_MEGATRON, .since = "0.14",
		.severity = SEVERITY_ERROR, .when = "given(use_megatron_fsdp, 0)",
		.require = "in(get(optimizer, 'adam'), 'adam', 'sgd') : 'optimizer {optimizer}'; "
		    "get(ckpt_format, 'torch_dist') == 'fsdp_dtensor' or not set(save) : "
		    "'checkpoints in {get(ckpt_format, \"torch_dist\")}'",
		.message = "--use-megatron-fsdp does not go with {problem}",
		.hint = "use adam or sgd and --ckpt-format fsdp_dtensor; it forces the distributed "
		    "optimizer on",
		.source = ARGUMENTS,
	},
	{
		.id = "MEG-059", .frameworks = ON_MEGATRON, .since = "0.11",
		.severity = SEVERITY_ERROR, .when = "complete and given(optimizer_cpu_offload, 0)",
		.require = "on(use_precision_aware_optimizer)",
		.message = "--optimizer-cpu-offload needs --use-precision-aware-optimizer",
		.hint = "add it",
		.source = ARGUMENTS,
	},
	{
		.id = "MEG-060", .frameworks = ON_MEGATRON, .severity = SEVERITY_ERROR,
		.require = "not (given(fp16, 0) and given(bf16, 0)) : 'fp16 and bf16 exclude each "
		    "other'; not (said(fp8_format) and said(fp4_format)) : 'fp8 and fp4 exclude "
		    "each other'; not given(fp8_param_gather, 0) or on(use_distributed_optimizer) "
		    "or on(use_torch_fsdp2) or on(use_megatron_fsdp) : '--fp8-param-gather needs "
		    "the distributed optimizer or FSDP'",
		.message = "precision: {problem}",
		.hint = "choose one of them",
		.source = ARGUMENTS,
	},
	{
		.id = "MEG-061", .frameworks = ON_MEGATRON, .severity = SEVERITY_ERROR,
		.when = "given(disable_gloo_process_groups, 0) and on(use_distributed_optimizer)",
		.require = "get(ckpt_format, 'torch_dist') != 'torch'",
		.message = "--disable-gloo-process-groups with the distributed optimizer needs a "
		    "distributed checkpoint format, not torch",
		.hint = "use --ckpt-format torch_dist",
		.source = ARGUMENTS " (a bare assert)",
	},
	{
		.id = "MEG-062", .frameworks = ON_MEGATRON, .since = "0.19",
		.severity = SEVERITY_ERROR, .when = "given(cross_entropy_loss_fusion, 0)",
		.require = "get(cross_entropy_fusion_impl, 'native') != 'te'",
		.message = "--cross-entropy-fusion-impl te was disabled for being unstable",
		.hint = "use --cross-entropy-fusion-impl native",
		.source = ARGUMENTS,
	},
	{.id = NULL},
};
/* clang-format on */
