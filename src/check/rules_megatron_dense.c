/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What does Megatron-LM demand of tensor and context parallelism, sequence,
 * recomputation, optimizer and precision? Core 0.19.
 */
#include "check/rules_tables.h"

#define ARGUMENTS "NVIDIA/Megatron-LM core_v0.19.0 megatron/training/arguments.py"
#define CONFIG "NVIDIA/Megatron-LM core_v0.19.0 megatron/core/transformer/transformer_config.py"
#define PARALLEL "NVIDIA/Megatron-LM core_v0.19.0 megatron/core/model_parallel_config.py"

/* DeepSpeed's AutoTP gives ranks uneven parts. */
#define EVEN_HEADS                                                                                 \
	"framework != 'deepspeed' or given(tensor_parallel.autotp_size, 1) <= 1 or not "           \
	"since('0.19.6')"

#define TE_ALIGNMENT                                                                               \
	"NVIDIA/TransformerEngine transformer_engine/pytorch/utils.py assert_dim_for_fp8_exec, "   \
	"csrc/quantizer.cpp; NVIDIA/Megatron-LM core_v0.19.0 megatron/core/fp8_utils.py "          \
	"get_fp8_align_size; at the first step"
/* Without a cluster: block scaling in hardware and racks are Blackwell's. */
#define BLACKWELL_HINTS                                                                            \
	"if(given(fp8_recipe, '') == 'mxfp8' or said(fp4_format) or "                              \
	"given(NVLINK_DOMAIN_SIZE, 8) > 8, 10, 9)"
#define FP8_ALIGNMENT "if(given(fp8_recipe, 'delayed') == 'mxfp8', 32, 16)"
#define FP8_TOKENS "whole(seq_len * micro_batch / (cp * if(sp, tp, 1)))"

/* clang-format off */
const struct rule rules_megatron_dense[] = {
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
		    "divisor of TP {tp}: {kv_remainder: kv_heads % tp} left over",
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
		/* with a decoder of its own --seq-length is that of the encoder: image tokens */
		.grid = "sp and not said(decoder_seq_length)",
		.message = "sequence {seq_len} / CP {cp} is not a multiple of TP {tp}, which "
		    "sequence parallelism cuts it into: {remainder: seq_len % (cp * tp)} left over",
		.hint = "pad to {next_valid_seq: multiple_above(seq_len, if(cp > 1, 2 * cp, 1) * "
		    "tp)}, a multiple of {divisor: cp * tp}",
		.source = "NVIDIA/Megatron-LM core_v0.19.0 "
		    "megatron/core/tensor_parallel/mappings.py; at the first step",
	},
	{
		.id = "MEG-044", .frameworks = ON_MEGATRON, .severity = SEVERITY_ERROR, .grid = "1",
		.message = "sequence {seq_len} is not a multiple of 2 x CP {cp} = {align_cp: 2 * "
		    "cp}, with sequence parallelism of {align_sp_cp: 2 * cp * tp}: {remainder: "
		    "seq_len % (2 * cp)} left over",
		.hint = "pad to {next_valid_seq: multiple_above(seq_len, 2 * cp * tp)}",
		.source = ARGUMENTS,
	},
	{
		.id = "MEG-045", .frameworks = ON_MEGATRON, .severity = SEVERITY_ERROR,
		.when = "said(hierarchical_context_parallel_sizes) or (said(cp_comm_type) and "
		    "has(cp_comm_type, 'a2a+p2p'))",
		.require = "said(hierarchical_context_parallel_sizes) : 'they are not set, a2a+p2p "
		    "needs them'; product(hierarchical_context_parallel_sizes) == cp : 'their "
		    "product is {product: product(hierarchical_context_parallel_sizes)}'",
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
		.when = "(tp > 1 or cp > 1) and get(gpu_arch, " BLACKWELL_HINTS ") < 10 and not "
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
		.severity = SEVERITY_ERROR,
		.when = "given(optimizer_cpu_offload, 0) and (complete or "
		    "set(use_precision_aware_optimizer))",
		.require = "on(use_precision_aware_optimizer)",
		.message = "--optimizer-cpu-offload needs --use-precision-aware-optimizer",
		.hint = "add it",
		.source = ARGUMENTS,
	},
	{
		.id = "MEG-060", .frameworks = ON_MEGATRON, .severity = SEVERITY_ERROR,
		.require = "not (given(fp16, 0) and given(bf16, 0)) : 'fp16 and bf16 exclude each "
		    "other'; not (said(fp8_format) and said(fp4_format)) : 'fp8 and fp4 exclude "
		    "each other'; not given(fp8_param_gather, 0) or not trains or "
		    "on(use_distributed_optimizer) or on(use_torch_fsdp2) or "
		    "on(use_megatron_fsdp) : '--fp8-param-gather needs the distributed optimizer "
		    "or FSDP'",
		.message = "precision: {problem}",
		.hint = "choose one of them",
		.source = ARGUMENTS,
	},
	{
		.id = "MEG-122", .frameworks = ON_MEGATRON, .severity = SEVERITY_ERROR,
		.when = "said(fp8_format) or said(precision)",
		.grid = "has_model and not said(fp8_format)",
		.require = FP8_TOKENS " % " FP8_ALIGNMENT " == 0",
		.message = "{tokens: " FP8_TOKENS "} tokens of a rank (sequence {seq_len} x "
		    "micro-batch {micro_batch} / {split: cp * if(sp, tp, 1)}, the ranks that "
		    "share a sequence) are "
		    "not a multiple of {alignment: " FP8_ALIGNMENT "}, which FP8 products need: "
		    "{remainder: " FP8_TOKENS " % " FP8_ALIGNMENT "} left over",
		.hint = "pad the sequence to {next_valid_seq: multiple_above(seq_len, "
		    FP8_ALIGNMENT " * cp * if(sp, tp, 1))}",
		.source = TE_ALIGNMENT,
	},
	{
		.id = "MEG-123", .frameworks = ON_MEGATRON, .severity = SEVERITY_ERROR,
		.when = "said(fp8_format) or said(precision)",
		.grid = "has_model and not said(fp8_format)",
		.require = "hidden % " FP8_ALIGNMENT " == 0 : 'the hidden size {hidden}: "
		    "{remainder: hidden % " FP8_ALIGNMENT "} left over'; whole(ffn_width / tp) % "
		    FP8_ALIGNMENT " == 0 : 'the MLP width {ffn_width} / TP {tp} = {width: "
		    "ffn_width / tp}: {remainder: whole(ffn_width / tp) % " FP8_ALIGNMENT "} left "
		    "over'; whole(expert_width / etp) % " FP8_ALIGNMENT " == 0 : 'the expert width "
		    "{expert_width} / ETP {etp} = {width: expert_width / etp}: {remainder: "
		    "whole(expert_width / etp) % " FP8_ALIGNMENT "} left over'",
		.message = "FP8 products need multiples of {alignment: " FP8_ALIGNMENT "}: "
		    "{problem}",
		.hint = "use another TP or ETP, or leave FP8 out",
		.source = TE_ALIGNMENT,
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
