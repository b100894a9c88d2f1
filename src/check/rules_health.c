/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Will it train well? Settings that every framework accepts and that experience
 * speaks against: balance, dropping, links, small products, bubbles. All are
 * warnings; the numbers say how far off.
 */
#include "check/rules_tables.h"

/* clang-format off */
const struct rule rules_health[] = {
	{
		.id = "HEA-001", .severity = SEVERITY_WARNING, .silent = true,
		.when = "set(aux_coef) and max(aux_coef) > 0 and trains and not "
		    "given(moe_router_enable_expert_bias, 0)",
		.require = "max(aux_coef) <= 0.01 and max(aux_coef) >= 0.001",
		.message = "the coefficient of the load-balancing loss is {aux_coef}, usual is "
		    "0.001 to 0.01: {if(max(aux_coef) > 0.01, 'more distorts the language loss', "
		    "'less does not keep experts even')}",
		.hint = "use 0.01 to start with, and watch the loads",
		.source = "Fedus et al., Switch Transformers (arXiv 2101.03961): 0.01; "
		    "DeepSeek-MoE 0.001",
	},
	{
		.id = "HEA-002", .severity = SEVERITY_WARNING, .silent = true,
		.when = "set(capacity) and capacity > 0 and trains and given(experts, 2) > 1",
		.require = "capacity >= skewed_load",
		.message = "tokens are dropped from the first step on (capacity factor "
		    "{capacity}): routing is most uneven then, and at the measured skew of {skew: "
		    "skewed_load} x the mean the fullest experts lose {dropped_percent: 100 * (1 - "
		    "capacity / skewed_load)} % of their tokens",
		.hint = "start dropless, or with a factor of {skew: skewed_load} or more, and "
		    "lower it later",
		.source = "planner/rates.c skewed_load (yanring/Megatron-MoE-ModelZoo: 1.70 to "
		    "1.85)",
	},
	{
		.id = "HEA-003", .severity = SEVERITY_WARNING, .silent = true,
		.when = "experts > 0 and topk > 0", .require = "topk < experts",
		.message = "top-{topk} of {experts} experts: every token goes to every expert, the "
		    "layer is dense and pays for routing",
		.hint = "use a smaller top-k",
		.source = "Shazeer et al., Outrageously Large Neural Networks (arXiv 1701.06538)",
	},
	{
		.id = "HEA-004", .severity = SEVERITY_WARNING, .silent = true,
		.when = "ep > 1 and experts > 0",
		.require = "experts >= ep",
		.message = "{experts} experts on EP {ep} ranks: {replicas: ceil(ep / experts)} "
		    "replicas of each would be needed",
		.hint = "use EP {nearest_divisor(experts, ep)}",
		.source = "(experts + replicas) must be a multiple of EP",
	},
	{
		.id = "HEA-005", .severity = SEVERITY_WARNING, .silent = true,
		.when = "ep > 1 and domain_gpus > 0",
		.require = "ep * etp <= domain_gpus",
		.message = "EP {ep} x ETP {etp} = {expert_ranks: ep * etp} ranks leave the "
		    "scale-up domain of {domain_gpus} GPUs: {leaving: 1 - domain_gpus / (ep * "
		    "etp)} of the all-to-all goes over the network",
		.hint = "EP x ETP up to {domain_gpus} stays inside; pipelines take less traffic "
		    "between nodes",
		.source = "planner/comm.c; DeepSeek-V3 report (arXiv 2412.19437) limits a token to "
		    "4 nodes",
	},
	{
		.id = "HEA-006", .severity = SEVERITY_WARNING, .silent = true,
		.when = "experts > 0 and topk > 0 and seq_len > 0 and has_model",
		.require = "micro_batch * seq_len * topk * ep / (cp * tp * experts) * etp >= 256",
		.message = "an expert multiplies {rows: micro_batch * seq_len * topk * ep / (cp * "
		    "tp * experts) * etp} rows at a time: matrix products reach their rate from "
		    "about 2,000 rows on, and below 256 launches cost more than the work",
		.hint = "use a larger micro-batch, a wider EP or less TP",
		.source = "NVIDIA/Megatron-LM functional test moe_perf; planner/rates.c "
		    "grouped_gemm_rows",
	},
	{
		.id = "HEA-007", .severity = SEVERITY_WARNING, .silent = true,
		.when = "pp > 1 and micro_batches > 0 and trains",
		.require = "(pp - 1) / (vpp * micro_batches + pp - 1) <= 0.2",
		.message = "the pipeline idles {bubble_fraction: (pp - 1) / (vpp * micro_batches + "
		    "pp - 1)} of the time: PP {pp}, VPP {vpp}, {num_microbatches: micro_batches} "
		    "micro-batches (DP {dp}), {bubble_over_ideal: (pp - 1) / (vpp * "
		    "micro_batches)} over the ideal step",
		.hint = "{micro_batches_for_10: ceil((pp - 1) * 9 / vpp)} micro-batches make it 10 "
		    "%: a larger global batch, less DP, or more virtual stages",
		.source = "Narayanan et al. 2021 (arXiv 2104.04473): (p - 1) / (v m + p - 1)",
	},
	{
		.id = "HEA-008", .severity = SEVERITY_ERROR,
		.when = "set(cluster_world) and (said(sbatch.nodes) or said(nodes) or said(nnodes) "
		    "or said(num_nodes) or set(world))",
		.require = "world <= cluster_world",
		.message = "the configuration takes {world} GPUs, the cluster has {cluster_world}",
		.hint = "use {nodes_needed: ceil(world / gpus_per_node)} nodes",
		.source = "the cluster as given",
	},
	{
		.id = "HEA-009", .severity = SEVERITY_WARNING, .silent = true,
		.when = "tp > 1 and domain_gpus > 0", .require = "tp <= domain_gpus",
		.message = "TP {tp} leaves the scale-up domain of {domain_gpus} GPUs: every layer "
		    "all-reduces over the network",
		.hint = "use TP {fix_tp: nearest_divisor(domain_gpus, tp)} or less",
		.source = "Narayanan et al. 2021 (arXiv 2104.04473), takeaway 1",
	},
	{
		.id = "HEA-010", .frameworks = ON_MEGATRON, .severity = SEVERITY_NOTE,
		.when = "has_model and not complete and not said(layout)",
		.require = "layers % pp == 0",
		.message = "{layers} layers do not divide over {pp} stages: Megatron-LM needs "
		    "counts for the ends or a --pipeline-model-parallel-layout (MEG-024)",
		.hint = "moeplan plan and moeplan emit write the layout",
		.source = "NVIDIA/Megatron-LM core_v0.19.0 megatron/training/arguments.py",
	},
	{
		.id = "HEA-011", .severity = SEVERITY_WARNING, .silent = true,
		.when = "set(cluster_world) and (said(sbatch.gpus_per_node) or said(sbatch.gres) "
		    "or said(gpus_per_node) or said(gres) or header_gpus() > 0)",
		.require = "header_gpus() == gpus_per_node",
		.message = "the job asks for {header_gpus()} GPUs a node, the cluster "
		    "{cluster_beside()} has {gpus_per_node}",
		.hint = "name a cluster with nodes of {header_gpus()}, or ask for {gpus_per_node}",
		.source = "Slurm sbatch(1); the cluster as given",
	},
	{
		.id = "HEA-012", .severity = SEVERITY_ERROR, .silent = true,
		.when = "set(cluster_world) and (said(sbatch.gpus_per_node) or said(sbatch.gres) "
		    "or said(gpus_per_node) or said(gres) or header_gpus() > 0)",
		.require = "header_gpu() == cluster_gpu()",
		.message = "the job asks for {header_gpu()} GPUs, the cluster {cluster_beside()} "
		    "has {cluster_gpu()}",
		.hint = "name the cluster that the job runs on",
		.source = "Slurm sbatch(1); the cluster as given",
	},
	{
		.id = "HEA-013", .severity = SEVERITY_WARNING, .silent = true,
		.when = "set(cluster_world) and said(cluster.gpu)",
		.require = "cluster.gpu == cluster_gpu_name()",
		.message = "the plan was made for {cluster.gpu}, the cluster {cluster_beside()} "
		    "has {cluster_gpu_name()}",
		.hint = "plan again for this cluster, or name the plan's own",
		.source = "the cluster as given",
	},
	{.id = NULL},
};
/* clang-format on */
