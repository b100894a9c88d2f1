/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What does it cost to keep optimizer state or activations in host memory?
 *
 * Optimizer: a share F of the shard is updated by the host. An element's gradient
 * goes there and its parameter comes back, 4 bytes each (2 in DeepSpeed, whose
 * gradients go during the backward pass), and Adam reads 16 bytes of host memory
 * and writes 12:
 *     seconds = n F (bytes / link + 28 / (memory share of the GPU x efficiency))
 * Activations: a layer's inputs go out during its forward pass and come back during
 * its backward pass; what takes longer than the pass is exposed.
 * Sources: NVIDIA/Megatron-LM core/optimizer/cpu_offloading/hybrid_optimizer.py,
 * core/pipeline_parallel/fine_grained_activation_offload.py; ZeRO-Offload
 * (arXiv 2101.06840).
 * Ignored: gradients that DeepSpeed frees on the GPU, contention with other traffic
 * of the link, Megatron's last groups that stay on the GPU.
 */
#include <math.h>

#include "planner/correction.h"
#include "planner/evaluator.h"

/* Bytes of host memory: master, two moments and a gradient, all fp32 there. */
enum { HOST_OPTIMIZER_BYTES = 16, ADAM_BYTES = 28 };

static double
known_or(const struct quantity *quantity, enum rate rate)
{
	return quantity->value > 0 ? quantity->value : rate_table[rate].value;
}

/* Bytes a second between a GPU and its share of the host's memory. */
static double
host_link_Bps(const struct cluster *cluster)
{
	const struct host *host = &cluster->host;
	double link = known_or(&host->link_Bps, RATE_HOST_LINK_DEFAULT_BPS);
	double share = known_or(&host->memory_Bps, RATE_HOST_MEMORY_DEFAULT_BPS) /
	    (double)cluster->gpus_per_node;

	if (host->link_Bps.origin != ORIGIN_MEASURED)
		link *= rate_table[RATE_HOST_LINK].value;
	return fmin(link, share);
}

double
offload_optimizer_s(const struct evaluator *e, const struct strategy *s, double elements)
{
	const struct cluster *cluster = e->cluster;
	bool deepspeed = s->framework == FRAMEWORK_DEEPSPEED;
	double copied = deepspeed ? 2 : 4 + 4;
	double efficiency =
	    rate_table[deepspeed ? RATE_CPU_ADAM_DEEPSPEED : RATE_CPU_ADAM_TORCH].value;
	double memory_Bps = known_or(&cluster->host.memory_Bps, RATE_HOST_MEMORY_DEFAULT_BPS) *
	    efficiency / (double)cluster->gpus_per_node;

	if (s->offload != OFFLOAD_OPTIMIZER)
		return 0;
	return elements * s->offload_fraction *
	    (copied / host_link_Bps(cluster) + ADAM_BYTES / memory_Bps);
}

double
offload_optimizer_bytes(const struct strategy *s, double elements)
{
	return s->offload == OFFLOAD_OPTIMIZER
	    ? HOST_OPTIMIZER_BYTES * s->offload_fraction * elements
	    : 0;
}

void
offload_layer_time(const struct evaluator *e, const struct strategy *s,
    const struct activations *act, struct layer_time *t)
{
	double factor = corrected_factor(e, s, CORRECTED_DATA);
	double copy_s = act->offloaded / host_link_Bps(e->cluster);
	double forward_s = factor * fmax(0, copy_s - t->forward_s);
	double backward_s = factor * fmax(0, copy_s - t->backward_s);

	t->forward[TIME_OFFLOAD] += forward_s;
	t->backward[TIME_OFFLOAD] += backward_s;
	t->hidden[TIME_OFFLOAD] += 2 * factor * copy_s - forward_s - backward_s;
	t->forward_s += forward_s;
	t->backward_s += backward_s;
}
