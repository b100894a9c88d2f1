/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How fast is a part in practice, as a fraction of its datasheet?
 *
 * The values come from published measurements; where one was chosen so that
 * published training steps come out right, the last column says what else it
 * may be absorbing. They are efficiencies, not physics.
 */
#include <math.h>

#include "planner/rates.h"

#define REPLAY "replay of published Megatron, torchtitan and SimuMax runs"

RATE_CONST struct rate_row rate_table[RATES] = {
    [RATE_GEMM_BF16] = {"gemm_bf16", 0.74, "of the measured matmul ceiling", REPLAY,
        "launch gaps, small matrices"},
    [RATE_GEMM_FP8] = {"gemm_fp8", 0.88, "of the measured matmul ceiling", REPLAY,
        "the ceiling was measured in bf16"},
    [RATE_GEMM_FP4] = {"gemm_fp4", 0.67, "of the measured matmul ceiling", REPLAY,
        "the ceiling was measured in bf16"},
    [RATE_GEMM_SUSTAINED] = {"gemm_sustained", 1.0, "of the sustained matmul rate",
        "physical: such products are what a layer runs; " REPLAY, "products between large ones"},
    [RATE_GEMM_SUSTAINED_FP4] = {"gemm_sustained_fp4", 0.70, "of the sustained fp4 rate", REPLAY,
        "layers that the recipe keeps in higher precision, rotations"},
    [RATE_CEILING_DEFAULT] = {"matmul_ceiling_default", 0.78, "of the datasheet peak",
        "mean of A100, H100, B200, GB200 in stas00/ml-engineering, MAMF table", NULL},
    [RATE_GEMM_HALF_DIM] = {"gemm_half_dim", 48, "elements",
        "physical default: tile and pipeline fill of a matrix dimension", NULL},
    [RATE_GROUPED_BF16] = {"grouped_gemm_bf16", 0.90, "of the measured matmul ceiling",
        "cross-validated " REPLAY
	"; NVIDIA/Megatron-LM moe_perf reaches it at 8,192 rows an expert",
        NULL},
    [RATE_GROUPED_HALF_ROWS] = {"grouped_half_rows", 170, "rows an expert",
        "MooreThreads/SimuMax B200 group_matmul: 128 to 9,832 rows an expert", NULL},
    [RATE_FLASH_FORWARD] = {"flash_forward", 1.1, "of the sustained matmul rate",
        "FlashAttention-3 and cuDNN publish 0.55 to 0.75 at head width 128; the rest is " REPLAY,
        "rotary embedding, layout copies"},
    [RATE_FLASH_BACKWARD] = {"flash_backward", 0.70, "of the sustained matmul rate",
        "the same", "rotary embedding, layout copies"},
    [RATE_FLASH_BACKWARD_FLOPS] = {"flash_backward_flops", 2.5, "of forward",
        "Dao, FlashAttention-2 (arXiv 2307.08691): five products against two", NULL},
    [RATE_FLASH_UNTUNED] = {"flash_untuned", 0.48, "of flash_forward",
        "SDPA and FlexAttention stacks; " REPLAY, NULL},
    [RATE_FLASH_HALF_WIDTH] = {"flash_half_width", 64, "elements a head",
        "FlashAttention-3 (arXiv 2407.08608): heads of 64 reach about three quarters", NULL},
    [RATE_FLASH_FULL_WIDTH] = {"flash_full_width", 128, "elements a head",
        "the width of heads that flash_forward and flash_backward are for", NULL},
    [RATE_FLASH_HALF_ROWS] = {"flash_half_rows", 443, "query rows a multiprocessor, forward",
        "MooreThreads/SimuMax B200 sdp_fwd: 16 heads of 4096 tokens reach half", NULL},
    [RATE_FLASH_HALF_ROWS_BACKWARD] = {"flash_half_rows_backward", 55,
        "query rows a multiprocessor, backward", "MooreThreads/SimuMax B200 sdp_bwd", NULL},
    [RATE_FLASH_HALF_KEYS] = {"flash_half_keys", 512, "keys a kernel call",
        "shape of the published FlashAttention-3 curves over sequence length (recalled)", NULL},
    [RATE_FLASH_FULL_KEYS] = {"flash_full_keys", 4096, "keys a kernel call",
        "the sequence length at which most replayed runs trained", NULL},
    [RATE_SM_DEFAULT] = {"sm_default", 132, "multiprocessors",
        "H100 SXM, where the part says nothing", NULL},
    [RATE_SCAN] = {"scan", 3.0, "x the bytes of linear_mixer.c",
        "cross-validated replay of published Nemotron-3 and Qwen3-Next runs: 2.4 to 3.3",
        "kernels too short to fill the part, products inside chunks"},
    [RATE_MEMORY] = {"memory", 0.60, "of the datasheet bandwidth",
        "between 0.57 (" REPLAY ") and 0.80 (copy kernels)", "kernels too short to fill the part"},
    [RATE_COPY] = {"copy", 0.80, "of the datasheet bandwidth",
        "copies of gigabytes on H100: 2.6 to 2.8 of 3.35 TB/s (recalled)", NULL},
    [RATE_PERMUTE] = {"permute", 1.33, "x the bytes moved",
        "MooreThreads/SimuMax B200: 0.50 of the bandwidth against 0.67", "index kernels, padding"},
    [RATE_FUSED_EXPERTS] = {"fused_experts", 1, "of the bytes between products of experts spared",
        "assumed with block scales and a graph of the whole iteration: NVIDIA-NeMo/"
        "Megatron-Bridge perf_recipes set NVTE_CUTEDSL_FUSED_GROUPED_MLP there",
        "recipes that leave it out"},
    [RATE_LINK] = {"link", 0.80, "of the nominal rate",
        "nccl-tests bus bandwidth in a node: A100 240, H100 371, B200 722 GB/s", NULL},
    [RATE_NIC_ALL_TO_ALL] = {"nic_all_to_all", 0.73, "of the nominal NIC rate",
        "measured 80-90 % up to 8 nodes, 72 % at 32 nodes", "contention between groups"},
    [RATE_MESSAGE_PEER_S] = {"message_peer", 0.7e-6, "s a peer", "AMD-AGI/Primus, nccl-tests fits",
        NULL},
    [RATE_MESSAGE_PEERS] = {"message_peers", 64, "peers that cost such a time, at most",
        "physical default: further steps of a ring run behind each other's data; the published "
        "fits have no larger groups that would tell",
        NULL},
    [RATE_HIDDEN_EP] = {"hidden_all_to_all", 0.75,
	"of all-to-all under independent compute", REPLAY,
        NULL},
    [RATE_HIDDEN_DUALPIPE] = {"hidden_dualpipe", 0.85, "of all-to-all in a pair of passes",
        "DeepSeek-V3 report 3.2: all of it hides, run by 20 of 132 SMs", NULL},
    [RATE_HIDDEN_TP] = {"hidden_tensor_parallel", 0.35, "of tensor-parallel traffic",
        "cross-validated " REPLAY ": 0.33 to 0.36", NULL},
    [RATE_HIDDEN_CP] = {"hidden_context_parallel", 0.80, "of ring attention traffic",
        "physical default: transfers run beside the attention of the previous block", NULL},
    [RATE_HIDDEN_DP] = {"hidden_data_parallel", 0.80, "of gradient and parameter traffic",
        "physical default; not identifiable from published runs", NULL},
    [RATE_HOST_DENSE_S] = {"host_dense_layer", 0.5e-3, "s forward", REPLAY, NULL},
    [RATE_HOST_MOE_S] = {"host_moe_layer", 3.05e-3, "s forward", REPLAY, NULL},
    [RATE_HOST_BACKWARD] = {"host_backward", 1.5, "x forward", REPLAY, NULL},
    [RATE_HOST_FP8] = {"host_fp8", 1.41, "x bf16", REPLAY, NULL},
    [RATE_HOST_GRAPHS] = {"host_cuda_graphs", 0.30, "of the eager launch time", REPLAY, NULL},
    [RATE_SYNC_GAP_S] = {"sync_gap", 0.5e-3, "s a dropless MoE layer and direction", REPLAY,
        "token counts read back by the host"},
    [RATE_HOST_LINK] = {"host_link", 0.85, "of the nominal rate",
        "pinned copies of CUDA's bandwidth test: 26 of 32, 55 of 64 GB/s (recalled)", NULL},
    [RATE_HOST_LINK_DEFAULT_BPS] = {"host_link_default", 32e9, "bytes/s",
        "PCIe 4.0 x16, where the cluster says nothing", NULL},
    [RATE_HOST_MEMORY_DEFAULT_BPS] = {"host_memory_default", 409.6e9, "bytes/s of a node",
        "16 channels of DDR4-3200, where the cluster says nothing", NULL},
    [RATE_CPU_ADAM_TORCH] = {"cpu_adam_torch", 0.24, "of the host's memory bandwidth",
        "NVIDIA-NeMo/Megatron-Bridge CPU-offloading card, Qwen3-30B-A3B on 16 H100: 3.2 s more "
        "for 15.2 G elements a node, less the copies",
        "Python between parameters"},
    [RATE_CPU_ADAM_DEEPSPEED] = {"cpu_adam_deepspeed", 0.43, "of the host's memory bandwidth",
        "ZeRO-Offload (arXiv 2101.06840): 10 G parameters in 2.57 s on two Xeon 8168 (recalled)",
        NULL},
    [RATE_STEP_S] = {"step_overhead", 0.1, "s a step", REPLAY, "data loading, logging"},
    [RATE_SPREAD_COMPUTE] = {"spread_compute", 0.17, "of the logarithm",
        "round number; the replay's runs of one model and stack, each predicted from another",
	NULL},
    [RATE_SPREAD_STACK] = {"spread_stack", 0.55, "of the logarithm",
        "round number; the same, for recompute, host time and traffic", NULL},
    [RATE_SPREAD_STEP] = {"spread_step", 0.063, "of the logarithm",
        "what a fit of the same leaves: four of five runs are within 1.28 times the whole spread",
        NULL},
    [RATE_SPREAD_EXPOSED] = {"spread_exposed", 0.25, "of the logarithm",
        "physical default: a profile of one rank and few steps, waiting for others included", NULL},
    [RATE_CORRECTION_MOST] = {"correction_most", 3, "of the logarithm",
        "a guard: a wrong batch or unit must not run away", NULL},
    [RATE_ACTIVATIONS_MOST] = {"activations_most", 2, "x the predicted activations",
        "a guard: a wrong reading must not run away", NULL},
    [RATE_STEP_DOUBTED] = {"step_doubted", 5, "x the predicted step",
        "beyond what any replayed run is off by: more likely another unit or strategy", NULL},
    [RATE_STEP_BELIEVED] = {"step_believed", 10, "x the band's ends",
        "no run of any class was ever this far outside its band", NULL},
    [RATE_RUNTIME_BYTES] = {"runtime", 3.5 * 1024 * 1024 * 1024, "bytes",
        "CUDA context, libraries, communicators; " REPLAY, NULL},
    [RATE_ALLOCATOR] = {"allocator", 0.94, "allocated / reserved activations",
        "MooreThreads/SimuMax, reserved against allocated", NULL},
    [RATE_SKEWED_LOAD] = {"skewed_load", 1.7, "fullest rank / mean",
        "yanring/Megatron-MoE-ModelZoo long dropless runs: 1.70 to 1.85", NULL},
    [RATE_LOGIT_FUSED_BYTES] = {"logit_fused", 4, "bytes a logit",
        "bf16 logits and their gradient; SimuMax B200 peaks", NULL},
    [RATE_LOGIT_COMPILED_BYTES] = {"logit_compiled", 13, "bytes a logit",
        "pytorch/torchtitan published peaks with torch.compile", NULL},
    [RATE_LOGIT_EAGER_BYTES] = {"logit_eager", 16, "bytes a logit",
        "bf16, fp32 copy, log-softmax, two gradients; KempnerForge peaks", NULL},
    [RATE_LOGIT_UNFUSED_BYTES] = {"logit_unfused", 8, "bytes a logit",
        "NVIDIA/Megatron-LM core/tensor_parallel/cross_entropy.py: bf16 logits, one fp32 copy that "
        "becomes softmax and gradient in place, bf16 gradient", NULL},
    [RATE_FP8_CAST_BYTES] = {"fp8_cast", 6,
	"bytes an element of linear inputs and output gradients",
        "read for the maximum, read again, written in both layouts (TransformerEngine)", NULL},
    [RATE_FP8_SENT_BYTES] = {"fp8_sent", 1 + 4.0 / 128, "bytes an element of a token",
        "an fp32 scale for each 128 elements: DeepSeek-V3 report 3.3.2, deepseek-ai/DeepEP", NULL},
};

static enum flop_type
flop_type(enum precision precision)
{
	switch (precision) {
	case PRECISION_FP16:
		return FLOP_FP16;
	case PRECISION_FP8:
	case PRECISION_FP8_BLOCKWISE:
	case PRECISION_MXFP8:
		return FLOP_FP8;
	case PRECISION_NVFP4:
		return FLOP_FP4;
	default:
		return FLOP_BF16;
	}
}

bool
precision_is_fp8(enum precision precision)
{
	return flop_type(precision) == FLOP_FP8 || flop_type(precision) == FLOP_FP4;
}

double
half_flops(const struct gpu *gpu)
{
	double bf16 = gpu->flops[FLOP_BF16].value;

	return bf16 > 0 ? bf16 : gpu->flops[FLOP_FP16].value;
}

double
peak_flops(const struct gpu *gpu, enum precision precision)
{
	double peak = gpu->flops[flop_type(precision)].value;

	return peak > 0 ? peak : half_flops(gpu);
}

/* Is a sustained rate known, and no ceiling of the user's own? */
static bool
is_sustained(const struct gpu *gpu, enum flop_type type)
{
	return gpu->sustained[type].value > 0 && gpu->matmul_ceiling.origin <= ORIGIN_CATALOGUE;
}

double
gemm_flops(const struct gpu *gpu, enum precision precision)
{
	static const enum rate efficiency[FLOP_TYPES] = {
	    [FLOP_BF16] = RATE_GEMM_BF16,
	    [FLOP_FP16] = RATE_GEMM_BF16,
	    [FLOP_FP8] = RATE_GEMM_FP8,
	    [FLOP_FP4] = RATE_GEMM_FP4,
	};
	double ceiling = gpu->matmul_ceiling.value, peak;
	enum flop_type type = flop_type(precision);

	if (gpu->flops[type].value <= 0)
		type = FLOP_BF16; /* cast to 16 bits */
	peak = type == FLOP_BF16 ? half_flops(gpu) : gpu->flops[type].value;
	if (is_sustained(gpu, type))
		return peak * gpu->sustained[type].value *
		    rate_table[type == FLOP_FP4 ? RATE_GEMM_SUSTAINED_FP4 : RATE_GEMM_SUSTAINED]
			.value;
	if (ceiling <= 0)
		ceiling = rate_table[RATE_CEILING_DEFAULT].value;
	return peak * ceiling * rate_table[efficiency[type]].value;
}

double
grouped_flops(const struct gpu *gpu, enum precision precision)
{
	double dense = gemm_flops(gpu, precision);

	if (precision_is_fp8(precision) && gpu->flops[FLOP_FP8].value > 0)
		return dense;
	if (is_sustained(gpu, flop_type(precision)))
		return dense;
	return dense / rate_table[RATE_GEMM_BF16].value * rate_table[RATE_GROUPED_BF16].value;
}

double
link_Bps(const struct level *level)
{
	double share = level->Bps.value / level->oversubscription;

	return level->Bps.origin == ORIGIN_MEASURED ? share : share * rate_table[RATE_LINK].value;
}

double
runtime_bytes(const struct gpu *gpu)
{
	/* a probe has fewer communicators than a framework: what it shows is the least */
	return fmax(rate_table[RATE_RUNTIME_BYTES].value, gpu->runtime_bytes);
}

double
memory_Bps(const struct gpu *gpu)
{
	bool measured = gpu->hbm_Bps.origin == ORIGIN_MEASURED;

	/* What is measured is a long copy; a layer's kernels stay as far below it as elsewhere. */
	return gpu->hbm_Bps.value * rate_table[RATE_MEMORY].value /
	    (measured ? rate_table[RATE_COPY].value : 1);
}
