/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What does Megatron-LM demand of stages, layouts and schedules of a pipeline? Core 0.19. */
#include "check/rules_tables.h"

#define ARGUMENTS "NVIDIA/Megatron-LM core_v0.19.0 megatron/training/arguments.py"
#define CONFIG "NVIDIA/Megatron-LM core_v0.19.0 megatron/core/transformer/transformer_config.py"
#define SCHEDULES "NVIDIA/Megatron-LM core_v0.19.0 megatron/core/pipeline_parallel/schedules.py"
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
	"((said(gpu_mem_gib) or said(gpu_mem_gb) or said(host_mem_gib) or said(host_mem_gb)) "     \
	"and not said(global_batch))"
#define ENDS                                                                                       \
	"(given(account_for_embedding_in_pipeline_split, 0) + "                                    \
	"given(account_for_loss_in_pipeline_split, 0))"

#define FIRST_SAID "said(decoder_first_pipeline_num_layers)"
#define LAST_SAID "said(decoder_last_pipeline_num_layers)"
#define MIDDLE_STAGES "pp - " FIRST_SAID " - " LAST_SAID
#define MIDDLE                                                                                     \
	"(layers - given(decoder_first_pipeline_num_layers, 0) - "                                 \
	"given(decoder_last_pipeline_num_layers, 0))"
/* What is built where no stage lies between the ends: on one stage the last count is taken. */
#define ENDS_ALONE                                                                                 \
	"if(pp == 1, given(decoder_last_pipeline_num_layers, "                                     \
	"given(decoder_first_pipeline_num_layers, 0)), "                                           \
	"given(decoder_first_pipeline_num_layers, 0) + "                                           \
	"given(decoder_last_pipeline_num_layers, 0))"

/* clang-format off */
const struct rule rules_megatron_pipeline[] = {
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
		.hint = "use PP of {valid_pp: divisors(layers + " ENDS ", floor(world * pp / "
		    "lcm(dense_product, expert_product)))}, counts for the first and last "
		    "stage, or --pipeline-model-parallel-layout || use PP of {valid_pp: "
		    "divisors(layers + " ENDS ")}, counts for the first and last stage, or "
		    "--pipeline-model-parallel-layout",
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
		.id = "MEG-121", .frameworks = ON_MEGATRON, .severity = SEVERITY_ERROR,
		.since = "0.10",
		.when = "(complete or said(num_layers)) and vpp > 1 and pp > 1 and not "
		    "said(num_layers_per_virtual_pipeline_stage) and " PLAIN_STAGES,
		.require = "(layers + " ENDS ") % pp != 0 or floor((layers + " ENDS ") / pp) % vpp "
		    "== 0",
		.message = "{layers_per_stage: floor((layers + " ENDS ") / pp)} layers a stage "
		    "({layers} over PP {pp}) do not divide over VPP {vpp}: {remainder: "
		    "floor((layers + " ENDS ") / pp) % vpp} left over",
		.hint = "use VPP of {valid_vpp: divisors(floor((layers + " ENDS ") / pp))}, or "
		    "--pipeline-model-parallel-layout",
		.source = "NVIDIA/Megatron-LM core_v0.19.0 "
		    "megatron/core/transformer/transformer_block.py get_num_layers_to_build",
	},
	{
		.id = "MEG-026", .frameworks = ON_MEGATRON, .since = "0.9",
		.severity = SEVERITY_ERROR, .when = FIRST_SAID " or " LAST_SAID,
		.require = MIDDLE_STAGES " <= 0 or " MIDDLE " % (" MIDDLE_STAGES ") == 0 : "
		    "'{middle: " MIDDLE "} layers do not divide over the {middle_stages: "
		    MIDDLE_STAGES "} middle stages'; " MIDDLE_STAGES " > 0 or " ENDS_ALONE
		    " == layers : 'the ends are all there is, so {built: " ENDS_ALONE "} layers "
		    "are built and {missing: layers - (" ENDS_ALONE ")} are missing in silence'; "
		    "given(decoder_first_pipeline_num_layers, 0) % vpp == 0 : 'the first stage is "
		    "not a multiple of VPP {vpp}'; "
		    "given(decoder_last_pipeline_num_layers, 0) % vpp == 0 : 'the last stage is "
		    "not a multiple of VPP {vpp}'; " MIDDLE_STAGES " <= 0 or " MIDDLE " % ("
		    MIDDLE_STAGES ") != 0 or " MIDDLE " / (" MIDDLE_STAGES ") % vpp == 0 : '"
		    "{layers_per_stage: " MIDDLE " / (" MIDDLE_STAGES ")} layers of a middle stage "
		    "are not a multiple of VPP {vpp}'",
		.message = "uneven stages (PP {pp}, {layers} layers): {problem}",
		.hint = "change the counts of the ends, or use --pipeline-model-parallel-layout",
		.source = CONFIG "; transformer_block.py; NVIDIA/Megatron-LM#1778",
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
		.id = "MEG-130", .frameworks = ON_MEGATRON, .severity = SEVERITY_ERROR,
		.when = "mamba", .grid = "has_model and set(vpp)",
		.require = "vpp == 1 or form != 'Megatron-Bridge' : 'Megatron-Bridge asserts that "
		    "there are none'; vpp == 1 or since('0.17') or has_model : 'the Mamba stack "
		    "asserts that there are none, 0.17 takes them from --hybrid-layer-pattern'",
		.message = "VPP {vpp} and Mamba layers: {problem}",
		.hint = "leave virtual stages out",
		.source = "NVIDIA/Megatron-LM core_v0.16.0 megatron/core/ssm/mamba_block.py, "
		    "core_v0.17.0 megatron/training/arguments.py; NVIDIA-NeMo/Megatron-Bridge "
		    "v0.5.0 models/mamba/mamba_provider.py, v0.6.0 "
		    "models/hybrid/hybrid_provider.py",
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
	{.id = NULL},
};
/* clang-format on */
