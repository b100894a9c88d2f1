/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What does Megatron-LM demand of MoE options, and which of its defaults surprise? Core 0.19. */
#include "check/rules_tables.h"

#define ARGUMENTS "NVIDIA/Megatron-LM core_v0.19.0 megatron/training/arguments.py"
#define CONFIG "NVIDIA/Megatron-LM core_v0.19.0 megatron/core/transformer/transformer_config.py"
#define PARALLEL "NVIDIA/Megatron-LM core_v0.19.0 megatron/core/model_parallel_config.py"
#define MOE "NVIDIA/Megatron-LM core_v0.19.0 megatron/core/transformer/moe/"

#define EP_OVERLAP "given(overlap_moe_expert_parallel_comm, 0)"

/* clang-format off */
const struct rule rules_megatron_moe[] = {
	{
		.id = "MEG-070", .frameworks = ON_MEGATRON | ON_DEEPSPEED | ON_TORCHTITAN,
		.severity = SEVERITY_ERROR,
		.grid = "has_model or (complete and not foreign and not set(experts) and ep > 1 "
		    "and framework == 'megatron')",
		.message = "EP {ep} and no experts: --num-experts is not set",
		.hint = "give the number of experts, or EP 1",
		.source = CONFIG,
	},
	{
		.id = "MEG-071", .frameworks = ON_MEGATRON, .severity = SEVERITY_ERROR, .grid = "1",
		.message = "{experts} experts are not a multiple of EP {ep}: {remainder: experts "
		    "% ep} "
		    "left over",
		.hint = "use EP of {valid_ep: divisors(experts)}",
		.source = ARGUMENTS "; moe_layer.py",
	},
	{
		.id = "MEG-072", .frameworks = ON_MEGATRON | ON_DEEPSPEED | ON_TORCHTITAN,
		.severity = SEVERITY_ERROR, .grid = "1",
		.message = "widths of the MLPs must be multiples of their degree: dense and shared "
		    "of TP {tp}, experts of ETP {etp}",
		.hint = "use degrees that divide the widths",
		.source = "NVIDIA/Megatron-LM core_v0.19.0 megatron/core/utils.py divide(); when "
		    "the model is built",
	},
	{
		.id = "MEG-073", .frameworks = ON_MEGATRON, .severity = SEVERITY_ERROR,
		.when = "tp > 1 and experts > 0 and trains and given(training, 1) and "
		    "given(mode, 'training') == 'training'",
		.require = "sp",
		.message = "MoE training with TP {tp} and no sequence parallelism: the config "
		    "class only warns, the first forward pass raises",
		.hint = "add --sequence-parallel",
		.source = PARALLEL "; " MOE "moe_layer.py",
	},
	{
		.id = "MEG-074", .frameworks = ON_MEGATRON, .since = "0.15",
		.severity = SEVERITY_ERROR, .when = "experts > 0", .grid = "has_model",
		.require = "etp == 1 or not complete or on(disable_bias_linear) : 'ETP {etp} needs "
		    "experts without bias'; shared_width == 0 or not set(shared_width) or not "
		    "complete or on(disable_bias_linear) : 'shared experts have no bias'",
		.message = "linear layers have a bias by default: {problem}",
		.hint = "add --disable-bias-linear",
		.source = CONFIG "; " MOE "shared_experts.py",
	},
	{
		.id = "MEG-075", .frameworks = ON_MEGATRON,
		.severity = SEVERITY_WARNING, .silent = true,
		.when = "complete and experts > 0 and ep > 1",
		.require = "set(moe_token_dispatcher_type)",
		.message = "--moe-token-dispatcher-type is not set: the default is allgather, "
		    "which sends every token to all EP {ep} ranks",
		.hint = "add --moe-token-dispatcher-type alltoall, or flex with a backend",
		.source = CONFIG,
	},
	{
		.id = "MEG-076", .frameworks = ON_MEGATRON,
		.severity = SEVERITY_ERROR, .since = "0.12",
		.when = "said(moe_token_dispatcher_type)",
		.require = "in(moe_token_dispatcher_type, 'allgather', 'alltoall', 'flex') or (not "
		    "since('0.14') and moe_token_dispatcher_type == 'alltoall_seq')",
		.message = "there is no token dispatcher '{moe_token_dispatcher_type}'",
		.hint = "use alltoall, flex or allgather",
		.source = CONFIG,
	},
	{
		.id = "MEG-077", .frameworks = ON_MEGATRON | ON_TORCHTITAN,
		.severity = SEVERITY_ERROR,
		.grid = "set(world) or complete",
		.message = "a fused dispatcher needs more than one expert rank: ETP {etp} x EP "
		    "{ep}",
		.hint = "use alltoall, or more expert ranks",
		.source = MOE "token_dispatcher.py",
	},
	{
		.id = "MEG-078", .frameworks = ON_MEGATRON, .since = "0.16",
		.severity = SEVERITY_WARNING, .when = "given(moe_enable_deepep, 0)",
		.require = "not given(moe_enable_deepep, 0)",
		.message = "--moe-enable-deepep is deprecated, and one of two keys for one choice",
		.hint = "use --moe-token-dispatcher-type flex --moe-flex-dispatcher-backend deepep",
		.source = CONFIG,
	},
	{
		.id = "MEG-079", .frameworks = ON_MEGATRON, .since = "0.12",
		.severity = SEVERITY_ERROR,
		.when = "moe_token_dispatcher_type == 'flex' and "
		    "(given(moe_flex_dispatcher_backend, 'deepep') == 'deepep' or "
		    "given(moe_enable_deepep, 0))",
		.require = "not on(moe_pad_expert_input_to_capacity)",
		.message = "the deepep backend does not pad experts to their capacity",
		.hint = "leave --moe-pad-expert-input-to-capacity out, or use alltoall",
		.source = CONFIG,
	},
	{
		.id = "MEG-080", .frameworks = ON_MEGATRON, .since = "0.19",
		.severity = SEVERITY_ERROR, .when = "moe_flex_dispatcher_backend == 'ncclep'",
		.require = "get(moe_token_dispatcher_type, 'allgather') == 'flex' : "
		    "'--moe-token-dispatcher-type flex'; set(moe_expert_rank_capacity_factor) : "
		    "'--moe-expert-rank-capacity-factor, which sizes its receive buffer'",
		.message = "the ncclep backend needs {problem}",
		.hint = "add it",
		.source = CONFIG "; token_dispatcher.py",
	},
	{
		.id = "MEG-081", .frameworks = ON_MEGATRON, .since = "0.18",
		.severity = SEVERITY_ERROR, .when = "said(moe_expert_rank_capacity_factor)",
		.require = "in(get(moe_flex_dispatcher_backend, 'deepep'), 'hybridep', 'ncclep') : "
		    "'backend hybridep or ncclep'; get(moe_flex_dispatcher_backend, 'deepep') != "
		    "'hybridep' or on(use_transformer_engine_op_fuser) : "
		    "'--use-transformer-engine-op-fuser'",
		.message = "--moe-expert-rank-capacity-factor needs {problem}",
		.hint = "leave it out, or add what it needs",
		.source = CONFIG,
	},
	{
		.id = "MEG-082", .frameworks = ON_MEGATRON, .severity = SEVERITY_ERROR,
		.when = "said(moe_expert_capacity_factor) and said(moe_router_load_balancing_type)",
		.require = "in(moe_router_load_balancing_type, 'aux_loss', 'seq_aux_loss', "
		    "'global_aux_loss', 'none')",
		.message = "a capacity factor works with aux_loss, seq_aux_loss, global_aux_loss "
		    "and none, not {moe_router_load_balancing_type}",
		.hint = "leave --moe-expert-capacity-factor out",
		.source = CONFIG,
	},
	{
		.id = "MEG-083", .frameworks = ON_MEGATRON, .severity = SEVERITY_ERROR,
		.when = "on(moe_pad_expert_input_to_capacity)",
		.require = "set(moe_expert_capacity_factor) and moe_expert_capacity_factor >= 0",
		.message = "--moe-pad-expert-input-to-capacity needs a capacity factor (a negative "
		    "one means no dropping)",
		.hint = "add --moe-expert-capacity-factor",
		.source = CONFIG,
	},
	{
		.id = "MEG-085", .frameworks = ON_MEGATRON, .since = "0.14",
		.severity = SEVERITY_ERROR,
		.when = "count(moe_router_load_balancing_type) > 1",
		.require = "set(moe_aux_loss_coeff) and count(moe_router_load_balancing_type) == "
		    "count(moe_aux_loss_coeff)",
		.message = "{types: count(moe_router_load_balancing_type)} load-balancing types "
		    "need as many coefficients in --moe-aux-loss-coeff",
		.hint = "give one coefficient a type",
		.source = CONFIG,
	},
	{
		.id = "MEG-086", .frameworks = ON_MEGATRON,
		.severity = SEVERITY_WARNING, .silent = true,
		.when = "complete and trains and experts > 0 and not "
		    "given(moe_router_enable_expert_bias, 0) and "
		    "in(get(moe_router_load_balancing_type, 'aux_loss'), 'aux_loss', "
		    "'seq_aux_loss', 'global_aux_loss')",
		.require = "max(get(moe_aux_loss_coeff, 0)) > 0",
		.message = "load balancing is {get(moe_router_load_balancing_type, 'aux_loss')} "
		    "with the coefficient {get(moe_aux_loss_coeff, 0)} (default 0): nothing "
		    "balances the experts",
		.hint = "add --moe-aux-loss-coeff 0.001 to 0.01",
		.source = ARGUMENTS,
	},
	{
		.id = "MEG-087", .frameworks = ON_MEGATRON, .severity = SEVERITY_ERROR,
		.when = "has(moe_router_load_balancing_type, 'sinkhorn')",
		.require = "max(get(moe_aux_loss_coeff, 0)) == 0",
		.message = "sinkhorn does not support an auxiliary loss (coefficient "
		    "{moe_aux_loss_coeff})",
		.hint = "leave --moe-aux-loss-coeff out",
		.source = MOE "router.py; at the first step",
	},
	{
		.id = "MEG-088", .frameworks = ON_MEGATRON, .since = "0.19",
		.severity = SEVERITY_ERROR,
		.when = "has(moe_router_load_balancing_type, 'quantile_balancing')",
		.require = "max(get(moe_aux_loss_coeff, 0)) == 0 : 'an auxiliary loss'; not "
		    "on(moe_router_fusion) : 'router fusion'; not set(moe_router_num_groups) : "
		    "'expert groups'",
		.message = "quantile_balancing excludes {problem}",
		.hint = "leave that out",
		.source = MOE "router.py",
	},
	{
		.id = "MEG-089", .frameworks = ON_MEGATRON, .since = "0.11",
		.severity = SEVERITY_ERROR,
		.when = "topk == 1 and given(moe_router_score_function, 'softmax') == 'softmax' "
		    "and not has(given(moe_router_load_balancing_type, 'aux_loss'), 'sinkhorn')",
		.require = "on(moe_router_pre_softmax)",
		.message = "top-1 routing with softmax after the choice gives every token the "
		    "weight 1",
		.hint = "add --moe-router-pre-softmax",
		.source = CONFIG,
	},
	{
		.id = "MEG-090", .frameworks = ON_MEGATRON, .since = "0.11",
		.severity = SEVERITY_ERROR, .when = "given(moe_router_enable_expert_bias, 0)",
		.require = "in(get(moe_router_score_function, 'softmax'), 'sigmoid', "
		    "'sqrtsoftplus')",
		.message = "--moe-router-enable-expert-bias works with sigmoid scores, not "
		    "{get(moe_router_score_function, 'softmax')}",
		.hint = "add --moe-router-score-function sigmoid",
		.source = CONFIG,
	},
	{
		.id = "MEG-142", .frameworks = ON_MEGATRON, .since = "0.11",
		.severity = SEVERITY_WARNING, .silent = true,
		.when = "set(moe_router_group_topk) and set(moe_router_num_groups)",
		.require = "topk >= moe_router_group_topk : 'groups are chosen by their best "
		    "{best: floor(topk / moe_router_group_topk)} scores (top-{topk} / "
		    "{moe_router_group_topk}): all of them are equal then'; topk <= "
		    "moe_router_group_topk * floor(experts / moe_router_num_groups) : "
		    "'{moe_router_group_topk} groups have {candidates: moe_router_group_topk * "
		    "floor(experts / moe_router_num_groups)} experts, a token wants {topk}: the "
		    "others come from groups that were ruled out'",
		.message = "group-limited routing: {problem}",
		.hint = "choose fewer and larger groups, or more of them a token",
		.source = "NVIDIA/Megatron-LM core_v0.19.0 "
		    "megatron/core/transformer/moe/moe_utils.py group_limited_topk; "
		    "NVIDIA/Megatron-LM#1441",
	},
	{
		.id = "MEG-091", .frameworks = ON_MEGATRON, .since = "0.11",
		.severity = SEVERITY_ERROR,
		.when = "said(moe_router_num_groups) or said(moe_router_group_topk)",
		.require = "set(moe_router_num_groups) : '--moe-router-num-groups is missing'; "
		    "experts % moe_router_num_groups == 0 : '{experts} experts do not divide over "
		    "{moe_router_num_groups} groups, {remainder: experts % moe_router_num_groups} "
		    "left over'; not said(moe_router_group_topk) or "
		    "moe_router_group_topk <= moe_router_num_groups : 'a token cannot use "
		    "{moe_router_group_topk} of {moe_router_num_groups} groups'",
		.message = "group-limited routing: {problem}",
		.hint = "choose groups that divide the experts",
		.source = CONFIG,
	},
	{
		.id = "MEG-092", .frameworks = ON_MEGATRON, .since = "0.10",
		.severity = SEVERITY_ERROR, .when = "said(moe_layer_freq)",
		.require = "pattern_length(moe_layer_freq) == layers",
		.message = "--moe-layer-freq names {named: pattern_length(moe_layer_freq)} layers, "
		    "the model has {layers}",
		.hint = "write for instance ([0]*1+[1]*{layers - 1})",
		.source = "NVIDIA/Megatron-LM core_v0.19.0 "
		    "megatron/core/models/gpt/gpt_layer_specs.py",
	},
	{
		.id = "MEG-093", .frameworks = ON_MEGATRON, .severity = SEVERITY_WARNING,
		.when = "complete and experts > 0", .require = "set(moe_ffn_hidden_size)",
		.message = "--moe-ffn-hidden-size is not set: experts get the width of the dense "
		    "MLP, wrong for most fine-grained models",
		.hint = "add --moe-ffn-hidden-size",
		.source = ARGUMENTS,
	},
	{
		.id = "MEG-094", .frameworks = ON_MEGATRON, .since = "0.12",
		.severity = SEVERITY_WARNING, .when = "complete and experts >= 32",
		.require = "set(moe_router_dtype)",
		.message = "{experts} experts and no --moe-router-dtype: routing in bf16 is "
		    "unstable from 32 experts on",
		.hint = "add --moe-router-dtype fp32",
		.source = CONFIG,
	},
	{
		.id = "MEG-095", .frameworks = ON_MEGATRON, .severity = SEVERITY_ERROR,
		.when = "given(moe_grouped_gemm, 0)", .require = "gpu_arch >= 8",
		.message = "--moe-grouped-gemm needs compute capability 8.0, this GPU has "
		    "{gpu_arch}",
		.hint = "leave it out",
		.source = ARGUMENTS,
	},
	{
		.id = "MEG-096", .frameworks = ON_MEGATRON, .since = "0.10",
		.severity = SEVERITY_ERROR, .when = "given(moe_shared_expert_overlap, 0)",
		.require = "in(get(moe_token_dispatcher_type, 'allgather'), 'alltoall', 'flex') : "
		    "'dispatcher alltoall or flex'; not given(overlap_moe_expert_parallel_comm, 0) "
		    ": 'no --overlap-moe-expert-parallel-comm'; not set(moe_latent_size) : 'no "
		    "latent MoE'",
		.message = "--moe-shared-expert-overlap needs {problem}",
		.hint = "leave it out, or change that",
		.source = CONFIG "; " MOE "moe_layer.py",
	},
	{
		.id = "MEG-097", .frameworks = ON_MEGATRON, .since = "0.14",
		.severity = SEVERITY_ERROR, .grid = "not " EP_OVERLAP,
		.require = "not " EP_OVERLAP " or ep > 1 : 'EP over 1'; not " EP_OVERLAP " or "
		    "in(get(moe_token_dispatcher_type, 'allgather'), 'alltoall', 'flex') : "
		    "'dispatcher alltoall or flex'; not " EP_OVERLAP " or pp == 1 or vpp > 1 : "
		    "'virtual stages when there is a pipeline (PP {pp})'; not " EP_OVERLAP " or "
		    "get(recompute_granularity, '') != 'full' : 'no full recompute'; not "
		    EP_OVERLAP " or not has(get(recompute_modules, 'none'), 'moe') : 'no "
		    "recompute of moe'; not " EP_OVERLAP " or on(bf16) or on(fp16) : 'bf16 or "
		    "fp16'; not " EP_OVERLAP " or get(mtp_layers, 0) <= 1 : 'at most one MTP "
		    "layer'",
		.message = "overlap of expert communication needs {problem}",
		.hint = "leave it out, or change that",
		.source = CONFIG,
	},
	{
		.id = "MEG-098", .frameworks = ON_MEGATRON, .since = "0.13",
		.severity = SEVERITY_ERROR, .when = "given(delay_wgrad_compute, 0)",
		.require = "on(overlap_moe_expert_parallel_comm) or not since('0.14') : "
		    "'--overlap-moe-expert-parallel-comm'; get(transformer_impl, "
		    "'transformer_engine') == 'transformer_engine' : '--transformer-impl "
		    "transformer_engine'",
		.message = "--delay-wgrad-compute needs {problem}",
		.hint = "leave it out, or add that",
		.source = CONFIG "; arguments.py",
	},
	{
		.id = "MEG-099", .frameworks = ON_MEGATRON, .since = "0.18",
		.severity = SEVERITY_ERROR,
		.when = "given(overlap_dispatch_backward_with_experts_wgrad, 0)",
		.require = "not given(overlap_moe_expert_parallel_comm, 0) and not "
		    "given(delay_wgrad_compute, 0)",
		.message = "--overlap-dispatch-backward-with-experts-wgrad excludes "
		    "--overlap-moe-expert-parallel-comm and --delay-wgrad-compute",
		.hint = "keep one",
		.source = CONFIG,
	},
	{
		.id = "MEG-100", .frameworks = ON_MEGATRON, .since = "0.16",
		.severity = SEVERITY_ERROR,
		.when = "given(moe_router_padding_for_fp8, 0) or "
		    "given(moe_router_padding_for_quantization, 0)",
		.require = "set(fp8_format) or set(fp4_format) : 'fp8 or fp4'; "
		    "get(moe_token_dispatcher_type, 'allgather') != 'allgather' : 'a dispatcher "
		    "other than allgather'",
		.message = "padding of the routing map for quantization needs {problem}",
		.hint = "leave --moe-router-padding-for-quantization out (…-for-fp8 is its old "
		    "name)",
		.source = CONFIG,
	},
	{
		.id = "MEG-102", .frameworks = ON_MEGATRON, .since = "0.12",
		.severity = SEVERITY_ERROR, .when = "given(moe_layer_recompute, 0)",
		.require = "get(recompute_granularity, '') != 'full'",
		.message = "--moe-layer-recompute (deprecated) excludes full recompute",
		.hint = "use --recompute-granularity selective --recompute-modules moe",
		.source = CONFIG,
	},
	{
		.id = "MEG-103", .frameworks = ON_MEGATRON, .since = "0.16",
		.severity = SEVERITY_ERROR,
		.when = "said(cuda_graph_modules) and has(cuda_graph_modules, 'moe')",
		.require = "set(moe_expert_capacity_factor) and "
		    "on(moe_pad_expert_input_to_capacity)",
		.message = "a CUDA graph of the whole MoE layer needs a capacity factor and "
		    "padding to it",
		.hint = "capture moe_router and moe_preprocess instead",
		.source = CONFIG,
	},
	{
		.id = "MEG-104", .frameworks = ON_MEGATRON, .since = "0.16",
		.severity = SEVERITY_ERROR, .when = "given(fake_process_group, 0)",
		.require = "get(moe_token_dispatcher_type, 'allgather') != 'flex'",
		.message = "--fake-process-group does not work with the flex dispatcher",
		.hint = "dry-run with alltoall",
		.source = ARGUMENTS,
	},
	{
		.id = "MEG-105", .frameworks = ON_MEGATRON,
		.severity = SEVERITY_WARNING, .silent = true,
		.require = "not said(yaml_cfg)",
		.message = "--yaml-cfg follows an older set of rules: TP is cut to the world in "
		    "silence, ETP and folding are not looked at",
		.hint = "pass arguments instead",
		.source = "NVIDIA/Megatron-LM core_v0.19.0 megatron/training/yaml_arguments.py",
	},
	{
		.id = "MEG-118", .frameworks = ON_MEGATRON, .severity = SEVERITY_ERROR,
		.when = "said(yaml_cfg)",
		.require = "not set(num_layers_per_virtual_pipeline_stage) or pp > 2 : 'virtual "
		    "stages need PP 3 or more, PP is {pp}'; ep <= 1 or not on(fp16) : 'EP {ep} "
		    "excludes fp16'; not on(moe_grouped_gemm) or on(bf16) : 'grouped GEMMs need "
		    "bf16'",
		.message = "a file for --yaml-cfg: {problem}",
		.hint = "pass arguments instead, which have no such limit || change it",
		.source = "NVIDIA/Megatron-LM core_v0.19.0 megatron/training/yaml_arguments.py "
		    "validate_yaml",
	},
	/* --- more traps and conditions */
	{
		.id = "MEG-106", .frameworks = ON_MEGATRON, .since = "0.11",
		.severity = SEVERITY_ERROR, .when = "num_distributed_optimizer_instances > 1",
		.require = "edp % num_distributed_optimizer_instances == 0",
		.message = "expert DP {edp} (world {world} / (ETP {etp_effective: etp} x EP {ep} x "
		    "PP {pp})) is not a multiple of {num_distributed_optimizer_instances} "
		    "distributed-optimizer instances, {remainder: edp % "
		    "num_distributed_optimizer_instances} left over; dense DP is {dp}",
		.hint = "with {more_world: world * num_distributed_optimizer_instances} GPUs EDP "
		    "is {edp_on_more: edp * num_distributed_optimizer_instances}; or use one "
		    "instance",
		.source = "NVIDIA/Megatron-LM core_v0.19.0 megatron/core/parallel_state.py",
	},
	{
		.id = "MEG-108", .frameworks = ON_MEGATRON,
		.severity = SEVERITY_WARNING, .silent = true,
		.when = "complete and tp > 1 and ep > 1 and experts > 0",
		.require = "set(expert_tensor_parallel_size) or on(moe_extended_tp)",
		.message = "--expert-tensor-parallel-size is not set: Megatron-Core takes TP = "
		    "{tp}, so a copy of the experts takes {expert_product} GPUs",
		.hint = "write it: 1 keeps experts whole ({with_1: ep * pp} GPUs a copy)",
		.source = "NVIDIA/Megatron-LM core_v0.19.0 megatron/training/arguments.py",
	},
	{
		.id = "MEG-109", .frameworks = ON_MEGATRON,
		.severity = SEVERITY_WARNING, .silent = true,
		.since = "0.10", .when = "complete and on(multi_latent_attention)",
		.require = "set(kv_lora_rank)",
		.message = "--kv-lora-rank is not set: the command line's default is 32, the "
		    "config class says 512",
		.hint = "add --kv-lora-rank",
		.source = ARGUMENTS,
	},
	{
		.id = "MEG-110", .frameworks = ON_MEGATRON,
		.severity = SEVERITY_WARNING, .silent = true,
		.since = "0.10", .when = "complete and experts > 0",
		.require = "not set(moe_layer_freq) or not (moe_layer_freq > 1)",
		.message = "--moe-layer-freq {moe_layer_freq}: layer i has experts when i % "
		    "{moe_layer_freq} is 0, so the first layer is an MoE layer",
		.hint = "models whose first layers are dense need a list, such as "
		    "([0]*1+[1]*{layers - 1})",
		.source = "NVIDIA/Megatron-LM core_v0.19.0 "
		    "megatron/core/models/gpt/gpt_layer_specs.py",
	},
	{
		.id = "MEG-116", .frameworks = ON_MEGATRON, .since = "0.14",
		.severity = SEVERITY_ERROR, .when = "complete and set(moe_ffn_hidden_size)",
		.require = "set(experts)",
		.message = "--moe-ffn-hidden-size is set and --num-experts is not",
		.hint = "add --num-experts, or leave the width out",
		.source = CONFIG,
	},
	{
		.id = "MEG-117", .frameworks = ON_MEGATRON, .since = "0.12",
		.severity = SEVERITY_ERROR, .when = "given(moe_enable_deepep, 0)",
		.require = "get(moe_token_dispatcher_type, 'allgather') == 'flex' : 'needs "
		    "--moe-token-dispatcher-type flex'; given(moe_flex_dispatcher_backend, "
		    "'deepep') != 'hybridep' : 'contradicts --moe-flex-dispatcher-backend "
		    "hybridep'",
		.message = "--moe-enable-deepep {problem}",
		.hint = "use --moe-token-dispatcher-type flex --moe-flex-dispatcher-backend deepep "
		    "alone",
		.source = CONFIG,
	},
	{.id = NULL},
};
/* clang-format on */
