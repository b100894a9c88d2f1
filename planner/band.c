/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How wide is the band around a predicted step, and around a predicted peak?
 *
 * Quantiles of measured / predicted over the replayed runs of tests/bench, by
 * class, drawn towards those of all runs of the kind where a class has few
 * (tests/bench/bands.c). Steps are those of rates that never saw the run's model
 * on its GPU. The coverage is that of bands learned without any run of the model.
 * Memory: of what the allocator says. Its low end leaves fragmentation out, which a
 * setting removes; its high end is of everything, runtime and fragmentation too.
 * Two strategies of one job err alike, so that their order is known better than
 * either step: step_tell_apart is the difference of their errors that three of five
 * pairs keep below, which leaves one in five on the wrong side.
 */
#include <stdbool.h>
#include <string.h>

#include "planner/band.h"

/* `make bands` writes what stands between the marks. */
/* bands: begin */
const struct band step_bands[STEP_CLASSES] = {
    [STEP_DENSE_HOPPER] = {"dense models on NVIDIA Hopper and before", 149, 0.879, 1.226, 0.81},
    [STEP_DENSE_BLACKWELL] = {"dense models on NVIDIA Blackwell", 106, 0.903, 1.090, 0.81},
    [STEP_MOE_HOPPER] = {"MoE models on NVIDIA Hopper and before", 54, 0.736, 1.340, 0.78},
    [STEP_MOE_HOPPER_WIDE] = {"the same, experts beyond the NVLink domain", 49, 0.866, 1.282, 0.82},
    [STEP_MOE_BLACKWELL] = {"MoE models on NVIDIA Blackwell", 153, 0.868, 1.278, 0.80},
    [STEP_OTHER_MAKERS] = {"GPUs of other makers", 15, 0.915, 1.907, 0.00},
};
const struct band memory_bands[MEMORY_CLASSES] = {
    [MEMORY_BY_HAND] = {"Megatron", 29, 0.978, 1.057, 0.79},
    [MEMORY_AUTOGRAD] = {"torchtitan, DeepSpeed", 24, 0.904, 1.302, 0.79},
};
const double step_tell_apart = 0.06;
/* bands: end */

static bool
is_of_another_maker(const struct gpu *gpu)
{
	return strncmp(gpu->name, "MI", 2) == 0 || strncmp(gpu->name, "Ascend", 6) == 0;
}

static bool
leaves_domain(const struct cluster *cluster, const struct strategy *s)
{
	int levels = cluster->n_levels;

	return levels > 1 && s->ep * s->etp > cluster->levels[levels - 2].gpus;
}

enum step_class
step_class_of(const struct model *model, const struct cluster *cluster, const struct strategy *s)
{
	const struct gpu *gpu = &cluster->gpu;
	bool moe = model_moe(model) != NULL;

	if (is_of_another_maker(gpu))
		return STEP_OTHER_MAKERS;
	if (gpu->flops[FLOP_FP4].value > 0)
		return moe ? STEP_MOE_BLACKWELL : STEP_DENSE_BLACKWELL;
	if (!moe)
		return STEP_DENSE_HOPPER;
	return leaves_domain(cluster, s) ? STEP_MOE_HOPPER_WIDE : STEP_MOE_HOPPER;
}

enum memory_class
memory_class_of(const struct strategy *s)
{
	return s->framework == FRAMEWORK_MEGATRON ? MEMORY_BY_HAND : MEMORY_AUTOGRAD;
}
