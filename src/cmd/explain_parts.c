/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which parts do memory and time have, by which formula, and where is it from? One row a part. */
#include <string.h>

#include "cmd/explain_report.h"

#define MEGATRON_PAPER "Narayanan et al. 2021 (arXiv 2104.04473)"
#define SIMUMAX "MooreThreads/SimuMax; measured allocator peaks"

/* clang-format off */
const struct part_text part_texts[] = {
	{"weights", "memory", "the rank's share of the weights, 16-bit",
	    "2 bytes a parameter; dense: (attention + MLP)/(TP*PP) + norms and router/PP + "
	    "embedding/TP; experts/(EP*ETP*PP); ZeRO-3: / DP",
	    "layers are counted stage by stage, not as a mean",
	    "planner/tensors.c, planner/params.c"},
	{"gradients", "memory", "main gradients",
	    "4 bytes a parameter (2 with --grad-type bf16); ZeRO-2: / DP, experts / EDP", NULL,
	    "NVIDIA/Megatron-LM distributed optimizer"},
	{"optimizer", "memory", "fp32 master weights and two moments",
	    "12 bytes a parameter / D, D = DP*CP for dense, EDP for experts (so experts gain "
	    "nothing when EDP is 1); 8 with bf16 moments", NULL,
	    "Rajbhandari et al. 2020, ZeRO (arXiv 1910.02054)"},
	{"wgrad_buffers", "memory",
	    "one buffer a distinct weight shape for fused gradient accumulation",
	    "2 bytes x elements of each shape on the rank, the head's included", NULL,
	    "TransformerEngine; " SIMUMAX},
	{"activations", "memory", "what layers keep from the forward to the backward pass",
	    "alive micro-batches x layers x bytes a layer; MoE layer: 2T*h + 2T*h + R(2h + 6f_e) + "
	    "8E*T + 2M*3f_s with T tokens of a rank, R = T*k*skew rows on the fullest expert rank",
	    "dropout masks, rotary tables", "planner/activations.c; " SIMUMAX},
	{"logits", "memory", "output of the head on the last stage",
	    "4 bytes a logit fused, 13 compiled, 16 eager; M*V/TP logits", NULL,
	    "SimuMax, pytorch/torchtitan and KempnerForge peaks"},
	{"moe_buffers", "memory",
	    "copies of permuted tokens that the dispatcher makes in a backward pass",
	    "two more copies of R rows with alltoall, none with deepep and hybridep", NULL,
	    SIMUMAX},
	{"runtime", "memory", "CUDA context, libraries and communicators",
	    "3.5 GiB, up to 9.5 with many communicators; allocated when first used, so the first "
	    "step dies and not the start", NULL, "planner/rates.c runtime"},
	{"fragmentation", "memory", "reserved and not used", "activations x (1/0.94 - 1)", NULL,
	    SIMUMAX},
	{"attention", "time",
	    "projections and core of attention, or of the Mamba and DeltaNet layers in its place",
	    "FLOP / (measured matmul ceiling x efficiency by shape); the causal core counts half",
	    NULL, "planner/layer_time.c"},
	{"mlp", "time", "dense MLPs and shared experts",
	    "2*M*3*h*f/TP FLOP forward, twice that backward", NULL, "planner/layer_time.c"},
	{"experts", "time", "grouped matrix products of the routed experts",
	    "2*R*3*h*f_e/ETP FLOP at rows / (rows + 170) of the full rate, rows an expert", NULL,
	    "MooreThreads/SimuMax B200 group_matmul"},
	{"memory_bound", "time", "norms, permutation, activations, router, casts",
	    "bytes / (0.6 of the memory bandwidth)", NULL, "planner/rates.c memory, permute"},
	{"head", "time", "embedding, output head, loss, MTP", "2*M*h*V/TP FLOP on the last stage",
	    NULL, "planner/layer_time.c"},
	{"recompute", "time", "forward passes that are run again in the backward pass",
	    "the forward time of what was dropped, its communication included", NULL,
	    "planner/layer_time.c"},
	{"host", "time", "launches that the GPU waits for",
	    "about 3 ms a MoE layer forward, 0.5 ms dense, x 1.5 backward, x 0.3 with CUDA graphs; "
	    "0.5 ms a dropless layer and direction to read token counts; none of it in a graph of "
	    "the whole iteration", NULL,
	    "replay of published runs"},
	{"all_to_all", "time", "dispatch and combine of tokens", "four a MoE layer and "
	    "micro-batch, S = T*k*h*bytes; leaving the node S(1 - 1/N) over the rank's own NIC "
	    "share; deepep sends a token once a node: E[N] = N(1 - C(E-E/N,k)/C(E,k))",
	    "contention between stages", "planner/comm.c; DeepSeek-V3 report (arXiv 2412.19437)"},
	{"tensor_parallel", "time", "gathers and scatters of hidden tensors",
	    "two all-gathers and two reduce-scatters of M*h a layer forward, the same backward",
	    NULL, "Korthikanti et al. 2022 (arXiv 2205.05198)"},
	{"context_parallel", "time", "keys and values passed around the ring",
	    "(CP-1)/CP of the KV cache a layer, hidden behind the core by 80 %", NULL,
	    "planner/comm.c"},
	{"pipeline", "time", "hand-off of activations between stages",
	    "2*T*h bytes a micro-batch and border, both directions", NULL, "planner/schedule.c"},
	{"bubble", "time", "idle time of the slowest stage",
	    "(PP-1)/(VPP*m + PP-1) of the schedule when stages are even; simulated event by event",
	    NULL, MEGATRON_PAPER},
	{"data_parallel", "time", "gradients and parameters between copies",
	    "4 (or 2) bytes a gradient reduced over DP*CP, experts over EDP; 2 bytes a parameter "
	    "gathered; ZeRO-3 gathers and reduces every micro-batch", NULL, "planner/steptime.c"},
	{"optimizer", "time", "reading and writing optimizer state", "bytes of state / bandwidth",
	    NULL, "planner/steptime.c"},
	{"offload", "time", "copies to and from host memory, and the optimizer that runs there",
	    "an element of the shard: 4 bytes there, 4 back over the GPU's host link, 28 bytes of "
	    "host memory read and written by Adam; activations: what their layer's time does not "
	    "hide", "contention for the link", "planner/offload.c; DeepSpeed ZeRO-Offload (arXiv "
	    "2101.06840)"},
	{"step_overhead", "time", "once a step: data, logging", "0.1 s", NULL,
	    "planner/rates.c step_overhead"},
	{.name = NULL},
};
/* clang-format on */

const struct part_text *
part_find(const char *name)
{
	for (const struct part_text *part = part_texts; part->name; part++)
		if (strcmp(part->name, name) == 0)
			return part;
	return NULL;
}
