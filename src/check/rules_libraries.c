/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What can be decided about Accelerate, Megatron-Bridge, Tutel, FairScale and
 * serving stacks from their few numbers? Their settings come as fields of a case
 * or as keys of a fragment.
 */
#include "check/rules_tables.h"

#define MOE_LAYER "microsoft/tutel 82af7aad9fc3 tutel/impls/moe_layer.py"
/* Ranks that share one expert: experts -k means k of them. */
#define TUTEL_EXPERTS "given(num_experts_per_device, given(count_per_node, 1))"
#define SHARED "if(" TUTEL_EXPERTS " < -1, 0 - " TUTEL_EXPERTS ", 1)"
#define ACCELERATE "huggingface/accelerate 16cb6eb80dd9 src/accelerate/parallelism_config.py"
#define ACC_TOTAL                                                                                  \
	"(given(dp_replicate_size, 1) * given(dp_shard_size, 1) * given(tp_size, tp) * "           \
	"given(cp_size, 1) * given(sp_size, 1))"

#define MAXTEXT "AI-Hypercomputer/maxtext src/maxtext/"
/* Layers that a pipeline holds: all, without the dense ones in front where DeepSeek has them. */
#define PIPED                                                                                      \
	"if(given(pipeline_parallel_layers, -1) > 0, given(pipeline_parallel_layers, -1), "        \
	"given(base_num_decoder_layers, layers) - if(given(decoder_block, '') == 'deepseek', "     \
	"given(first_num_dense_layers, 0), 0))"
#define PIECE "(pp * given(num_layers_per_pipeline_stage, 1))"

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
		.id = "TUT-004", .severity = SEVERITY_ERROR, .when = "said(parallel_type)",
		.require = "starts(parallel_type, 'adaptive:') or " SHARED " == 1 or "
		    "in(parallel_type, 'data', 'model', 'auto') : 'there is no such type, only "
		    "adaptive:R, data, model and auto'; not starts(parallel_type, 'adaptive:') or "
		    "min(number_behind(parallel_type, ':'), " SHARED ") == 0 or (" SHARED ") % "
		    "max(min(number_behind(parallel_type, ':'), " SHARED "), 1) == 0 : 'R is 0 or "
		    "divides the {shared: " SHARED "} ranks that share an expert'",
		.message = "Tutel, parallel_type {parallel_type}: {problem}",
		.hint = "use adaptive:1, or R of {valid: divisors(" SHARED ")}",
		.source = MOE_LAYER,
	},
	{
		.id = "TUT-005", .severity = SEVERITY_ERROR,
		.when = "form == 'Tutel' and starts(setting, 'gate_')",
		.require = "in(setting, 'gate_type', 'gate_k', 'gate_capacity_factor', "
		    "'gate_gate_noise', 'gate_fp32_gate', 'gate_proj_dim', 'gate_init_t', "
		    "'gate_module') or given(get(gate_type, 'top'), 'top') == 'custom'",
		.message = "Tutel: '{part(setting, 'gate_')}' is no option of a gate",
		.hint = "gates take k, capacity_factor, gate_noise and fp32_gate; cosine_top also "
		    "proj_dim and init_t",
		.source = "microsoft/tutel 82af7aad9fc3 tutel/gates/top.py, cosine_top.py",
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
		.id = "TUT-012", .severity = SEVERITY_ERROR,
		.when = "said(hidden_size_per_expert) and " SHARED " > 1",
		.require = "hidden_size_per_expert % (" SHARED ") == 0",
		.message = "Tutel: hidden_size_per_expert {hidden_size_per_expert} does not divide "
		    "over the {shared: " SHARED "} ranks that share an expert: {remainder: "
		    "hidden_size_per_expert % (" SHARED ")} left over",
		.hint = "use {multiple_above(hidden_size_per_expert, " SHARED ")}",
		.source = "microsoft/tutel 82af7aad9fc3 tutel/experts/ffn.py",
	},
	{
		.id = "TUT-013", .severity = SEVERITY_ERROR,
		.when = "form == 'Tutel' and given(type, 'ffn') == 'ffn' and not starts(setting, "
		    "'gate_') and not in(setting, 'moe_layer', 'count_per_gpu')",
		.require = "in(setting, 'model_dim', 'experts', 'scan_expert_func', 'result_func', "
		    "'group', 'seeds', 'a2a_ffn_overlap_degree', 'is_postscore', "
		    "'batch_prioritized_routing', 'normalize_gate', 'is_gshard_loss', "
		    "'parallel_type', 'use_2dh', 'pad_samples', 'type', 'count_per_node', "
		    "'num_experts_per_device', 'hidden_size_per_expert', 'activation_fn', "
		    "'activation_fn_with_self', 'output_dim', 'has_fc1_bias', 'has_fc2_bias')",
		.message = "Tutel: '{setting}' is no argument of moe_layer or of its ffn experts",
		.hint = "leave it out",
		.source = MOE_LAYER "; tutel/experts/ffn.py",
	},
	{
		.id = "FS-003", .severity = SEVERITY_ERROR, .when = "said(gate_tokens)",
		.require = "gate_tokens % experts == 0",
		.message = "FairScale's Top2Gate: {gate_tokens} tokens are not a multiple of "
		    "{experts} experts, {remainder: gate_tokens % experts} left over (a bare "
		    "assert)",
		.hint = "pad to {nearest: multiple_above(gate_tokens, experts)}",
		.source = "facebookresearch/fairscale 146f16024165 fairscale/nn/moe/top2gate.py",
	},
	{
		.id = "ACC-001", .severity = SEVERITY_ERROR,
		.when = "said(dp_shard_size) or said(dp_replicate_size) or said(cp_size)",
		.require = ACC_TOTAL " == world or " ACC_TOTAL " == 1",
		.message = "Accelerate: the sizes make {total: " ACC_TOTAL "} processes, there are "
		    "{world}",
		.hint = "change dp_shard_size; there is no expert-parallel dimension",
		.source = ACCELERATE,
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
		.when = "given(tp_size, tp) > 1 or given(cp_size, 1) > 1",
		.require = "given(dp_replicate_size, 1) == 1 or given(dp_shard_size, 1) > 1",
		.message = "Accelerate: TP or CP does not go with plain replicas "
		    "(dp_replicate_size {dp_replicate_size})",
		.hint = "use dp_shard_size over 1",
		.source = "huggingface/accelerate 16cb6eb80dd9 "
		    "src/accelerate/parallelism_config.py",
	},
	{
		.id = "ACC-004", .severity = SEVERITY_WARNING, .silent = true,
		.when = "(said(dp_shard_size) or said(dp_replicate_size)) and " ACC_TOTAL " == 1",
		.require = "world == 1",
		.message = "Accelerate: all sizes are 1, so dp_replicate_size becomes {world}: "
		    "plain replicas, nothing is sharded",
		.hint = "write dp_shard_size {world} to shard over them",
		.source = ACCELERATE,
	},
	{
		.id = "ACC-007", .severity = SEVERITY_ERROR,
		.when = "form == 'Accelerate' and set(FullyShardedDataParallelPlugin)",
		.require = "given(dp_shard_size, 1) * given(cp_size, 1) > 1",
		.message = "Accelerate: FSDP has nothing to shard over: dp_shard_size "
		    "{shard: given(dp_shard_size, 1)}, cp_size {context: given(cp_size, 1)}",
		.hint = "use dp_shard_size over 1, or leave fsdp_plugin out",
		.source = "huggingface/accelerate 1.15.0 src/accelerate/parallelism_config.py",
	},
	{
		.id = "ACC-008", .severity = SEVERITY_ERROR,
		.when = "given(use_parallelism_config, 0)",
		.require = "given(fsdp_version, 1) == 2",
		.message = "Accelerate: a parallelism_config needs FSDP2, fsdp_version is "
		    "{given(fsdp_version, 1)}",
		.hint = "set fsdp_version: 2 in fsdp_config",
		.source = "huggingface/accelerate 1.15.0 src/accelerate/commands/launch.py",
	},
	{
		.id = "ACC-009", .severity = SEVERITY_ERROR,
		.require = "not said(unknown_accelerate_key)",
		.message = "'{unknown_accelerate_key}' is no key of a file of accelerate config: "
		    "the start stops there",
		.hint = "leave it out",
		.source = "huggingface/accelerate 1.15.0 "
		    "src/accelerate/commands/config/config_args.py",
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
		.source = "NVIDIA/Megatron-LM core_v0.19.0 "
		    "megatron/core/transformer/transformer_config.py",
	},
	{
		.id = "MT-001", .severity = SEVERITY_ERROR, .when = "form == 'MaxText'",
		.require = "axes_open('ici') <= 1 : '{inner: axes_open(\"ici\")} axes ici_* are "
		    "-1 (ici_fsdp_parallelism is when nothing is said), one may be'; "
		    "axes_open('dcn') <= 1 : '{outer: axes_open(\"dcn\")} axes dcn_* are -1 "
		    "(dcn_data_parallelism is when nothing is said), one may be'; "
		    "given(num_slices, -1) < 1 or if(axes_open('dcn') == 0, axes_product('dcn') "
		    "== num_slices, num_slices % axes_product('dcn') == 0) : 'dcn_* make "
		    "{slices: axes_product(\"dcn\")} of {num_slices} slices'; "
		    "if(axes_open('ici') + axes_open('dcn') == 0, axes_product('ici') * "
		    "axes_product('dcn') == world, world % (axes_product('ici') * "
		    "axes_product('dcn')) == 0) : 'ici_* {devices: axes_product(\"ici\")} x "
		    "dcn_* {slices: axes_product(\"dcn\")} do not make {world} devices'",
		.message = "MaxText's mesh: {problem}",
		.hint = "products of ici_* are the devices of a slice, those of dcn_* the "
		    "slices; one axis of each may be -1, the rest",
		.source = MAXTEXT "utils/max_utils.py fill_unspecified_mesh_axes()",
	},
	{
		.id = "MT-002", .severity = SEVERITY_ERROR,
		.when = "form == 'MaxText' and pp > 1 and given(global_parameter_scale, 1) == 1",
		.require = "given(num_pipeline_repeats, -1) > 0 or " PIPED " % " PIECE " == 0 : "
		    "'{piped: " PIPED "} layers are not a multiple of {pp} stages x "
		    "{given(num_layers_per_pipeline_stage, 1)} layers of one'; "
		    "given(num_pipeline_repeats, -1) < 1 or " PIECE " * "
		    "given(num_pipeline_repeats, -1) == " PIPED " : '{pp} stages x "
		    "{given(num_layers_per_pipeline_stage, 1)} layers of one x "
		    "{num_pipeline_repeats} repeats are not {piped: " PIPED "} layers'; "
		    "given(num_pipeline_microbatches, -1) < 1 or "
		    "given(num_pipeline_microbatches, -1) % pp == 0 : "
		    "'{given(num_pipeline_microbatches, -1)} micro-batches are not a multiple of "
		    "{pp} stages'",
		.message = "MaxText's pipeline: {problem}",
		.hint = "stages of {valid: divisors(" PIPED ")} divide the layers || use "
		    "num_pipeline_microbatches {fix_micro: "
		    "multiple_above(num_pipeline_microbatches, pp)}",
		.source = MAXTEXT "configs/types.py",
	},
	{
		.id = "HF-002", .severity = SEVERITY_ERROR,
		.when = "given(enable_expert_parallel, 0)",
		.require = "experts % given(tp_size, world) == 0",
		.message = "Transformers: {experts} experts do not divide over the tensor mesh "
		    "of {mesh: given(tp_size, world)} ranks, which expert parallelism takes",
		.hint = "use {valid: divisors(experts)} ranks",
		.source = "huggingface/transformers integrations/tensor_parallel.py "
		    "GroupedGemmParallel",
	},
	{
		.id = "HF-003", .severity = SEVERITY_ERROR, .when = "said(fsdp_size)",
		.require = "given(tp_size, 1) * fsdp_size == world",
		.message = "Transformers: tp_size {given(tp_size, 1)} x fsdp_size {fsdp_size} = "
		    "{product: given(tp_size, 1) * fsdp_size} ranks, there are {world}",
		.hint = "use fsdp_size {fix_fsdp: whole(world / given(tp_size, 1))} || start "
		    "{given(tp_size, 1) * fsdp_size} processes",
		.source = "huggingface/transformers distributed/utils.py",
	},
	{.id = NULL},
};
/* clang-format on */
