/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How wide is the band around a predicted step time?
 *
 * Percentiles of measured / predicted over the replayed runs of tests/bench, by
 * class; `make bench` prints them again. The coverage is that of bands learned
 * without any run of the model in question. Classes without enough runs of
 * several models share the widest band that was seen.
 * Ignored: that two strategies of one job err alike, so that their order is known
 * better than either step (RATE_TELL_APART).
 */
#include <stdbool.h>
#include <string.h>

#include "planner/band.h"

enum generation { HOPPER_AND_BEFORE, BLACKWELL, OTHERS, GENERATIONS };

static const struct band bands[2][GENERATIONS] = {
    {
        {"dense models on NVIDIA Hopper and before", 149, 0.87, 1.10, 0.79},
        {"dense models on NVIDIA Blackwell", 106, 0.88, 1.20, 0.78},
        {"other makers' GPUs", 15, 0.75, 1.87, 0},
    },
    {
        {"MoE models on NVIDIA Hopper and before", 93, 0.88, 1.27, 0.78},
        {"MoE models on NVIDIA Blackwell", 103, 0.73, 1.44, 0.75},
        {"other makers' GPUs", 15, 0.75, 1.87, 0},
    },
};

static enum generation
generation_of(const struct gpu *gpu)
{
	bool other = strncmp(gpu->name, "MI", 2) == 0 || strncmp(gpu->name, "Ascend", 6) == 0;

	if (other)
		return OTHERS;
	return gpu->flops[FLOP_FP4].value > 0 ? BLACKWELL : HOPPER_AND_BEFORE;
}

const struct band *
band_of(const struct model *model, const struct gpu *gpu)
{
	return &bands[model_moe(model) != NULL][generation_of(gpu)];
}
