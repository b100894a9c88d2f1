/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Does it fit? With a model and a cluster the planner's estimate decides
 * (MEM-001 to 003); a few stated numbers decide what follows from them alone.
 */
#include "check/rules_tables.h"

#define GIB_BYTES "1073741824"
#define HOST_BYTES                                                                                 \
	"if(said(host_mem_gib), given(host_mem_gib, 0) * " GIB_BYTES ", host_mem_gb * 1000000000)"
/* Host memory of an offloaded optimizer over its 12 bytes a parameter, see MEM-008. */
#define PINNED "2.24"
#define NODES "given(nodes, ceil(world / 8))"
#define NEED                                                                                       \
	"if(given(offloaded, 'none') == 'none' and not given(optimizer_cpu_offload, 0), "          \
	"state_bytes, offloaded_bytes)"
#define RANK_WEIGHTS                                                                               \
	"(expert_params_per_rank + dense_params_per_rank) * (" TYPE_BYTES ")"
#define STAGE3                                                                                     \
	"deepspeedai/DeepSpeed deepspeed/runtime/zero/stage3.py "                                  \
	"estimate_zero3_model_states_mem_needs"
#define LOCAL_RANKS "given(launch_procs, given(gpus_per_node, min(world, 8)))"
#define LOGITS "(seq_len * micro_batch / cp * vocab / tp)"

/* clang-format off */
const struct rule rules_memory[] = {
	{
		.id = "MEM-001", .severity = SEVERITY_ERROR, .when = "set(verdict)",
		.require = "verdict != 'oom'",
		.message = "stage {worst_stage} needs {need_gib: worst_bytes / " GIB_BYTES "} "
		    "GiB, a GPU has "
		    "{have_gib: capacity_bytes / " GIB_BYTES "} GiB",
		.hint = "{gib(worst_bytes - capacity_bytes)} too much",
		.source = "planner/memory.c: state, activations at their peak, runtime, "
		    "fragmentation",
	},
	{
		.id = "MEM-002", .severity = SEVERITY_WARNING, .when = "set(verdict)",
		.require = "verdict != 'at-risk'",
		.message = "stage {worst_stage} needs {need_gib: worst_bytes / " GIB_BYTES "} of "
		    "{have_gib: "
		    "capacity_bytes / " GIB_BYTES "} GiB: at risk, such runs took {low_gib: "
		    "worst_low_bytes / " GIB_BYTES "} to {high_gib: worst_high_bytes / " GIB_BYTES
		    "} GiB",
		.hint = "{gib(worst_high_bytes - capacity_bytes)} less would be safe",
		.source = "planner/band.c: four of five published runs lie inside the band",
	},
	{
		.id = "MEM-003", .severity = SEVERITY_WARNING,
		.when = "verdict == 'fits' and experts > 0",
		.require = "skewed_verdict != 'oom'",
		.message = "when the fullest expert rank gets {skewed_load} x the mean, a GPU "
		    "needs {need_gib: skewed_bytes / " GIB_BYTES "} of {have_gib: capacity_bytes / "
		    GIB_BYTES "} GiB",
		.hint = "a capacity factor, a wider EP or more recomputation keeps room for uneven "
		    "routing",
		.source = "planner/rates.c skewed_load: 1.70 to 1.85 measured on long dropless "
		    "runs",
	},
	{
		.id = "MEM-004", .severity = SEVERITY_ERROR,
		.when = "set(params) and gpu_bytes > 0 and not set(verdict)",
		.require = "params * (" TYPE_BYTES ") / world + runtime_bytes <= gpu_bytes",
		.message = "weights alone take {weights_gb_per_gpu: params * (" TYPE_BYTES ") / "
		    "world / 1000000000} GB on each of {world} GPUs, which have {gpu_gb: gpu_bytes "
		    "/ 1000000000} GB and need {gib(runtime_bytes)} for context and libraries",
		.hint = "use at least {min_gpus: ceil(params * (" TYPE_BYTES ") / (gpu_bytes - "
		    "runtime_bytes))} GPUs",
		.source = "parameters x bytes of their type / GPUs",
	},
	{
		.id = "MEM-020", .frameworks = ON_MEGATRON, .severity = SEVERITY_ERROR,
		.when = "gpu_bytes > 0 and not set(verdict) and not said(zero)",
		.require = RANK_WEIGHTS " + runtime_bytes <= gpu_bytes",
		.message = "weights alone take {weights_gb_per_gpu: " RANK_WEIGHTS " / 1000000000} "
		    "GB on a rank, {expert_weights_gb: expert_params_per_rank * (" TYPE_BYTES
		    ") / 1000000000} of them experts; a GPU has {gpu_gb: gpu_bytes / 1000000000} "
		    "GB "
		    "and needs {gib(runtime_bytes)} for context and libraries",
		.hint = "experts are divided by EP {ep} x ETP {etp} x PP {pp}, everything else by "
		    "TP {tp} x PP: raise one of them",
		.source = "NVIDIA-NeMo/Megatron-Bridge#4754: data-parallel ranks hold copies",
	},
	{
		.id = "MEM-005", .severity = SEVERITY_ERROR,
		.when = "said(zero) and gpu_bytes > 0 and not set(verdict)",
		.require = NEED " + runtime_bytes <= gpu_bytes",
		.message = "weights, gradients and optimizer take {state_gib: (" NEED ") / "
		    GIB_BYTES "} GiB on a rank ({expert_params_per_rank} expert and "
		    "{dense_params_per_rank} dense parameters), a GPU has {gpu_gib: gpu_bytes / "
		    GIB_BYTES "} GiB: before any activation",
		.hint = "with the optimizer in host memory it is {gib_with_offload: "
		    "offloaded_bytes / " GIB_BYTES "} GiB || use more experts ranks, stages or TP",
		.source = "NVIDIA/Megatron-LM theoretical_memory_usage.py: 6 + 12/D bytes a "
		    "parameter, D the ranks that share the optimizer: DP x CP for dense, EDP for "
		    "experts",
	},
	{
		.id = "MEM-006", .severity = SEVERITY_WARNING,
		.when = "said(zero) and gpu_bytes > 0 and not set(verdict) and " NEED " + "
		    "runtime_bytes <= gpu_bytes",
		.require = NEED " + runtime_bytes <= 0.93 * gpu_bytes",
		.message = "weights, gradients and optimizer take {state_gib: (" NEED ") / "
		    GIB_BYTES "} of {gpu_gib: gpu_bytes / " GIB_BYTES "} GiB: nothing is left for "
		    "activations",
		.hint = "use more expert ranks, stages or TP",
		.source = "as MEM-005; 7 % is less than any activations take",
	},
	{
		.id = "MEM-007", .severity = SEVERITY_ERROR,
		.when = "(given(optimizer_cpu_offload, 0) or said(offload_fraction)) and "
		    "set(params) and (said(host_mem_gib) or said(host_mem_gb))",
		.require = "params * 12 * given(offload_fraction, 1) / (" NODES ") <= " HOST_BYTES,
		.message = "the optimizer takes {optimizer_gib: params * 12 * "
		    "given(offload_fraction, 1) / (" NODES ") / " GIB_BYTES "} GiB of host memory "
		    "a node, there are {have_gib: " HOST_BYTES " / " GIB_BYTES "} GiB",
		.hint = "use more nodes, or a smaller --optimizer-offload-fraction",
		.source = "12 bytes a parameter: fp32 master weights and two moments",
	},
	{
		.id = "MEM-008", .severity = SEVERITY_WARNING,
		.when = "(given(optimizer_cpu_offload, 0) or said(offload_fraction)) and "
		    "set(params) and (said(host_mem_gib) or said(host_mem_gb))",
		.require = PINNED " * params * 12 * given(offload_fraction, 1) / (" NODES ") <= "
		    "0.8 * (" HOST_BYTES ")",
		.message = "an offloaded optimizer of {optimizer_gib: params * 12 * "
		    "given(offload_fraction, 1) / (" NODES ") / " GIB_BYTES "} GiB a node was "
		    "measured to take " PINNED " x as much with pinned copies and buffers: "
		    "{measured_gb: " PINNED " * params * 12 * given(offload_fraction, 1) / (" NODES
		    ") / 1000000000} GB of {have_gb: " HOST_BYTES " / 1000000000} GB",
		.hint = "leave a fifth of the host free: more nodes, or offload a fraction",
		.source = "THUDM/slime#1851, vllm-project/vime#56 (measured)",
	},
	{
		.id = "MEM-009", .frameworks = ON_DEEPSPEED, .severity = SEVERITY_ERROR,
		.when = "zero == 3 and said(offload) and (said(host_mem_gib) or said(host_mem_gb))",
		.require = "params * if(contains(offload, 'param'), 18, 16) * 1.5 / " NODES " <= "
		    HOST_BYTES,
		.message = "ZeRO-3 with {offload} in host memory needs {need_gib: params * "
		    "if(contains(offload, 'param'), 18, 16) * 1.5 / " NODES " / " GIB_BYTES "} GiB "
		    "a node, there are {have_gib: " HOST_BYTES " / " GIB_BYTES "} GiB",
		.hint = "offload of the optimizer alone needs {need_opt_only_gib: params * 16 * "
		    "1.5 / " NODES " / " GIB_BYTES "} GiB; use more nodes or NVMe",
		.source = STAGE3,
	},
	{
		.id = "MEM-010", .frameworks = ON_DEEPSPEED, .severity = SEVERITY_WARNING,
		.when = "zero == 3 and said(largest_layer)",
		.require = "said(gpu_bytes) and 4 * largest_layer + if(said(offload), 0, 18 * "
		    "params / world) <= 0.5 * gpu_bytes",
		.message = "the estimate of ZeRO-3 counts model states only: {est_gib: 4 * "
		    "largest_layer / " GIB_BYTES "} GiB with everything offloaded, {sharded_gib: "
		    "(4 * largest_layer + 18 * params / world) / " GIB_BYTES "} GiB sharded over "
		    "{world} GPUs; a use near {full_16bit_gib: 2 * params / " GIB_BYTES "} GiB "
		    "that does not fall with more GPUs means weights that were never partitioned",
		.hint = "load under deepspeed.zero.Init (or HfDeepSpeedConfig before the model)",
		.source = STAGE3,
	},
	{
		.id = "MEM-011", .frameworks = ON_DEEPSPEED,
		.severity = SEVERITY_WARNING, .silent = true,
		.when = "(zero == 1 or zero == 2) and ep > 1 and stated('expert_params')",
		.require = "edp > 1",
		.message = "expert DP is {edp}: ZeRO shards experts over it and not over DP {dp}, "
		    "so they gain nothing and take {expert_bytes_per_gpu_gb: expert_params / ep / "
		    "etp / pp * 18 / 1000000000} GB a GPU; dense layers take {dense_state_gb: "
		    "(params - expert_params) / (tp * pp) * if(zero == 2, 2 + 16 / dp, 6 + 12 / "
		    "dp) / 1000000000} GB, {dense_bytes_per_gpu_gb: (params - expert_params) / (tp "
		    "* pp) * if(zero == 2, 2 + 18 / dp, 6 + 12 / dp) / 1000000000} GB while a step "
		    "has 16-bit and fp32 gradients",
		.hint = "a smaller EP shards optimizer states of experts, a larger one the experts "
		    "themselves",
		.source = "deepspeedai/DeepSpeed#7156; v0.19.5 "
		    "deepspeed/runtime/zero/stage_1_and_2.py step(): averaged_gradients and "
		    "single_grad_partition",
	},
	{
		.id = "MEM-012", .frameworks = ON_DEEPSPEED, .severity = SEVERITY_WARNING,
		.when = "experts > 0 and topk > 0 and capacity > 0",
		.require = "ep * topk * capacity / experts < 2",
		.message = "an expert gets EP {ep} x top-{topk} x capacity {capacity} / {experts} "
		    "experts = {token_multiple: ep * topk * capacity / experts} x a rank's tokens: "
		    "activations of its MLP grow by that, though the weights are those of a dense "
		    "MLP",
		.hint = "use more experts, a smaller top-k or capacity",
		.source = "deepspeedai/DeepSpeed#3535: tokens of an expert = EP x T x k x capacity "
		    "/ E",
	},
	{
		.id = "MEM-013", .frameworks = ON_MEGATRON, .severity = SEVERITY_WARNING,
		.when = "stated('expert_params') and ep > 1 and not said(world) and not "
		    "said(gpu_bytes)",
		.require = "tp == ep * etp",
		.message = "estimators that divide experts by TP say {old_e9: expert_params / (tp "
		    "* pp) / 1000000000} e9 parameters a rank, EP x ETP x PP gives {right_e9: "
		    "expert_params / (ep * etp * pp) / 1000000000} e9",
		.hint = "divide experts by EP x ETP x PP",
		.source = "NVIDIA-NeMo/Megatron-Bridge#3744, NVIDIA/Megatron-LM#4050",
	},
	{
		.id = "MEM-014", .severity = SEVERITY_WARNING,
		.when = "said(estimator) and given(has_experts, 0)",
		.require = "not in(estimator, 'compute_activation_memory', "
		    "'compute_activation_memory_without_sp')",
		.message = "{estimator} counts every layer as a dense MLP of width "
		    "{given(dense_ffn, 'ffn_hidden_size')}: an MoE layer keeps top-k x the expert "
		    "width and the shared expert, divided by ETP, times the load skew",
		.hint = "moeplan estimate counts the routed rows",
		.source = "NVIDIA/Megatron-LM megatron/training/theoretical_memory_usage.py; #1784",
	},
	{
		.id = "MEM-015", .severity = SEVERITY_WARNING,
		.when = "said(mem_gib) and said(gpu_counts) and set(params)",
		.require = "fit_state(gpu_counts, mem_gib) <= 1.1 * 16 * params / " GIB_BYTES " "
		    "and fit_state(gpu_counts, mem_gib) >= 0.9 * 16 * params / " GIB_BYTES,
		.message = "the measured memory falls with more GPUs as if {fit_gib: "
		    "fit_state(gpu_counts, mem_gib)} GiB were sharded; full sharding of fp32 "
		    "weights, gradients and moments is {predicted_state_gib: 16 * params / "
		    GIB_BYTES "} GiB",
		.hint = "look for states that are replicated, or held twice",
		.source = "M(n) = A + S/n fitted to measurements; 16 bytes a parameter (FSDP2)",
	},
	{
		.id = "MEM-016", .severity = SEVERITY_ERROR,
		.when = "not has_model and said(vocab_size) and not said(num_layers)",
		.require = LOGITS " * 16 + runtime_bytes <= given(gpu_bytes, 80 * " GIB_BYTES ")",
		.message = "logits of {seq_len} x {micro_batch} tokens and a vocabulary shard of "
		    "{vocab_shard: vocab / tp} take {gib_6B: " LOGITS " * 6 / " GIB_BYTES "} GiB "
		    "with an fp32 copy, {gib_10B: " LOGITS " * 10 / " GIB_BYTES "} GiB in unfused "
		    "losses and {gib_16B: " LOGITS " * 16 / " GIB_BYTES "} GiB with their "
		    "gradients; a GPU has {gpu_gib: given(gpu_bytes, 80 * " GIB_BYTES ") / "
		    GIB_BYTES "} GiB",
		.hint = "use a fused or chunked cross-entropy, more TP or CP, shorter sequences",
		.source = "bytes a logit: 2 + an fp32 copy 4, its softmax 4, gradients 4 + 2; "
		    "NovaSky-AI/SkyRL#1841 measured 6.07 and 10.07; planner/rates.c logit_eager",
	},
	{
		.id = "MEM-017", .severity = SEVERITY_ERROR, .when = "said(fp32_logits_gib)",
		.require = "fp32_logits_gib * 4 * " GIB_BYTES " + runtime_bytes <= "
		    "given(gpu_bytes, 80 * " GIB_BYTES ")",
		.message = "{fp32_logits_gib} GiB of fp32 logits are {tokens: "
		    "floor(fp32_logits_gib * " GIB_BYTES " / (vocab / tp * 4))} tokens of "
		    "{bytes_per_token: vocab / tp * 4} bytes; with the 16-bit copy and gradients "
		    "it is about four times as much, and a GPU has {gpu_gib: given(gpu_bytes, 80 "
		    "* " GIB_BYTES ") / " GIB_BYTES "} GiB",
		.hint = "bound the tokens of a micro-batch, or use a fused cross-entropy",
		.source = "NVIDIA-NeMo/Automodel#2609",
	},
	{
		.id = "MEM-018", .severity = SEVERITY_WARNING,
		.when = "said(max_mb.middle) or said(alloc_mb.middle)",
		.require = "max_mb.first / max_mb.middle <= 1.2 and max_mb.last / max_mb.middle <= "
		    "1.2 : 'the first stage takes {ratio_max_first: max_mb.first / "
		    "max_mb.middle} and the last {ratio_max_last: max_mb.last / max_mb.middle} of "
		    "a middle stage at their peak'; alloc_mb.first / alloc_mb.middle <= 1.2 and "
		    "alloc_mb.last / alloc_mb.middle <= 1.2 : 'the first stage has "
		    "{ratio_alloc_first: alloc_mb.first / alloc_mb.middle} and the last "
		    "{ratio_alloc_last: alloc_mb.last / alloc_mb.middle} of a middle stage "
		    "allocated'",
		.message = "{problem}: an average over stages is too small",
		.hint = "give the ends fewer layers: the embedding and the loss head are there",
		.source = "deepspeedai/DeepSpeed#1378",
	},
	{
		.id = "MEM-019", .frameworks = ON_DEEPSPEED, .severity = SEVERITY_ERROR,
		.when = "given(resume, 0) and set(params) and (said(host_mem_gib) or "
		    "said(host_mem_gb))",
		.require = "params * 12 * " LOCAL_RANKS " <= " HOST_BYTES,
		.message = "on resume each of {local_ranks: " LOCAL_RANKS "} ranks of a node reads "
		    "the whole optimizer state: {resume_gib: params * 12 * " LOCAL_RANKS " / "
		    GIB_BYTES "} GiB of host memory, there are {have_gib: " HOST_BYTES " / "
		    GIB_BYTES "} GiB",
		.hint = "load rank after rank, or a universal checkpoint; fewer ranks a node while "
		    "loading",
		.source = "deepspeedai/DeepSpeed: older releases read all partitions in every "
		    "rank; 12 bytes a parameter",
	},
	{.id = NULL},
};
/* clang-format on */
