/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_PARTITION_WINDOW_H
#define MOEPLAN_PARTITION_WINDOW_H

#include "planner/estimate.h"

/* Times and bytes that differ by less than this, relatively, are the same. */
#define PARTITION_EPS 1e-9

/*
 * Prefix sums over the layers, so that what the layers [i, j) of one chunk cost
 * on stage s is a few subtractions. The first `recomputed` layers of a chunk
 * pay recompute_s and give back saved_bytes.
 */
struct windows {
	const struct stage_costs *costs;
	int layers, recomputed;
	double time_s[MODEL_MAX_LAYERS + 1], state[MODEL_MAX_LAYERS + 1];
	double activation[MODEL_MAX_LAYERS + 1];
	double again_s[MODEL_MAX_LAYERS + 1], saved[MODEL_MAX_LAYERS + 1];
};

struct load {
	double time_s, bytes;
};

void windows_init(
    struct windows *windows, const struct stage_costs *costs, const struct model *model);
/* The vpp > 1 half of partition_fast(). */
bool partition_chunks(const struct windows *windows, struct layout *layout);

static inline struct load
window_load(const struct windows *w, int stage, int i, int j)
{
	double alive = w->costs->alive[stage];
	struct load load = {
	    .time_s = w->time_s[j] - w->time_s[i],
	    .bytes = w->state[j] - w->state[i] + alive * (w->activation[j] - w->activation[i]),
	};

	if (w->recomputed > 0) {
		int r = j - i < w->recomputed ? j : i + w->recomputed;

		load.time_s += w->again_s[r] - w->again_s[i];
		load.bytes -= alive * (w->saved[r] - w->saved[i]);
	}
	return load;
}

#endif
