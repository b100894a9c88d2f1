/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Drawn instances of the layout problem, and the best of all layouts of small ones. */
#ifndef MOEPLAN_TESTS_LAYOUT_CASES_H
#define MOEPLAN_TESTS_LAYOUT_CASES_H

#include <math.h>
#include <string.h>

#include "planner/partition.h"

static uint64_t
next_random(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return *state >> 33;
}

static double
uniform(uint64_t *state, double low, double high)
{
	return low + (high - low) * (double)next_random(state) / 2147483648.0;
}

struct instance {
	struct model model;
	struct stage_costs costs;
};

static void
random_layers(struct model *model, int kinds, int shape, uint64_t *state)
{
	int first = (int)(next_random(state) % (uint64_t)model->layers);

	model->n_kinds = kinds;
	for (int l = 0; l < model->layers; l++) {
		int runs = l < first ? 0 : kinds - 1;
		int kind = shape == 0	? runs
			   : shape == 1 ? l % kinds
					: (int)next_random(state) % kinds;

		model->kind_of[l] = (uint8_t)kind;
	}
}

/* Inner stages hold any layer if they hold one of them: the capacity is above every single layer.
 */
static void
random_instance(struct instance *in, int layers, int pp, int vpp, uint64_t *state)
{
	struct stage_costs *c = &in->costs;
	double heaviest = 0, total = 0;

	memset(in, 0, sizeof(*in));
	in->model.layers = layers;
	random_layers(
	    &in->model, 1 + (int)next_random(state) % 3, (int)next_random(state) % 3, state);
	c->pp = pp;
	c->vpp = vpp;
	c->n_kinds = in->model.n_kinds;
	for (int k = 0; k < c->n_kinds; k++) {
		c->layer_s[k] = uniform(state, 1, 2);
		c->recompute_s[k] = uniform(state, 0.2, 0.5);
		c->state_bytes[k] = uniform(state, 1, 3);
		c->activation_bytes[k] = uniform(state, 0.1, 1);
		c->saved_bytes[k] = c->activation_bytes[k] * uniform(state, 0.5, 0.9);
	}
	for (int s = 0; s < pp; s++) {
		c->fixed_s[s] = s == pp - 1 ? uniform(state, 0, 4) : s == 0 ? 0.3 : 0;
		c->fixed_bytes[s] = s == pp - 1 || s == 0 ? uniform(state, 0, 3) : 0;
		c->alive[s] = pp - s;
	}
	for (int l = 0; l < layers; l++) {
		int k = in->model.kind_of[l];
		double most = c->state_bytes[k] + pp * c->activation_bytes[k];

		heaviest = fmax(heaviest, most);
		total += c->state_bytes[k] + c->activation_bytes[k] * pp;
	}
	c->capacity_bytes = fmax(heaviest, total / pp * uniform(state, 0.5, 1.4));
}

struct best {
	double time_s;	      /* within the capacity */
	double bytes_at_time; /* the least worst stage at that time */
	double least_bytes;   /* of all layouts */
};

static void
try_layout(const struct instance *in, const struct layout *layout, struct best *best)
{
	struct partition_peak peak = partition_peak(&in->costs, &in->model, layout);

	best->least_bytes = fmin(best->least_bytes, peak.bytes);
	if (peak.bytes > in->costs.capacity_bytes)
		return;
	if (peak.time_s < best->time_s * (1 - 1e-12)) {
		best->time_s = peak.time_s;
		best->bytes_at_time = peak.bytes;
	} else if (peak.time_s < best->time_s * (1 + 1e-12)) {
		best->bytes_at_time = fmin(best->bytes_at_time, peak.bytes);
	}
}

static void
all_layouts(const struct instance *in, struct layout *layout, int chunk, struct best *best)
{
	int chunks = layout->pp * layout->vpp;
	int least = chunk > 0 && chunk < chunks - 1;

	if (chunk == chunks - 1) {
		layout->first[chunks] = (int16_t)in->model.layers;
		try_layout(in, layout, best);
		return;
	}
	for (int end = layout->first[chunk] + least; end <= in->model.layers; end++) {
		layout->first[chunk + 1] = (int16_t)end;
		all_layouts(in, layout, chunk + 1, best);
	}
}

static struct best
brute_force(const struct instance *in)
{
	struct layout layout = {.pp = in->costs.pp, .vpp = in->costs.vpp};
	struct best best = {INFINITY, INFINITY, INFINITY};

	all_layouts(in, &layout, 0, &best);
	return best;
}

#endif
