/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Is a finished placement what it says it is? Counted again from the file's counts,
 * with nothing of what found it: every expert is there, none twice on a GPU, the ratio and
 * the share are those of the result, and no bound is above what it bounds.
 */
#include <math.h>

#include "base/arena.h"
#include "planner/placement_private.h"

/* Sums in another order differ by rounding alone. */
#define ROUNDING 1e-9

struct recount {
	const struct placement *placement;
	const struct loads *loads;
	const struct placement_options *options;
	struct diags *diags;
	int layer;
	int *copies; /* [expert] */
};

static int
wrong(const struct recount *r, const char *what, double said, double is)
{
	struct loc nowhere = {NULL, 0, 0};

	return diag_error(r->diags, nowhere, "placement of layer %lld: %s is %.9g, said %.9g",
	    (long long)r->placement->layer[r->layer].number, what, is, said);
}

static bool
same(double a, double b)
{
	return fabs(a - b) <= ROUNDING * fmax(1, fabs(b));
}

static int
check_slots(const struct recount *r)
{
	const struct placement *p = r->placement;
	const int *slots = p->layer[r->layer].expert_of_slot;
	int bad = 0;

	for (int e = 0; e < p->experts; e++)
		r->copies[e] = 0;
	for (int s = 0; s < p->gpus * p->slots_per_gpu; s++) {
		int first = s / p->slots_per_gpu * p->slots_per_gpu;

		if (slots[s] < 0 || slots[s] >= p->experts)
			return wrong(r, "an expert's number", p->experts, slots[s]);
		r->copies[slots[s]]++;
		for (int t = first; t < s; t++)
			bad |= slots[t] == slots[s];
	}
	if (bad)
		return wrong(r, "copies of one expert on a GPU", 1, 2);
	for (int e = 0; e < p->experts; e++)
		if (r->copies[e] == 0)
			return wrong(r, "copies of an expert", 1, 0);
	return 0;
}

/* Tokens of a snapshot that a GPU gets, and of those, how many come from its own node. */
static double
gpu_tokens(const struct recount *r, int gpu, int snapshot, double *at_home)
{
	const struct placement *p = r->placement;
	const int *slots = p->layer[r->layer].expert_of_slot + gpu * p->slots_per_gpu;
	int node = gpu / (p->gpus / p->nodes), sources = r->loads->sources;
	bool known = sources_are_nodes(r->loads, r->options);
	double sum = 0;

	for (int k = 0; k < p->slots_per_gpu; k++)
		for (int s = 0; s < sources; s++) {
			double tokens = loads_row(r->loads, r->layer, snapshot, s)[slots[k]] /
					r->copies[slots[k]];

			sum += tokens;
			if (!known)
				*at_home += tokens / p->nodes;
			else if ((int64_t)s * p->nodes / sources == node)
				*at_home += tokens;
		}
	return sum;
}

static int
check_layer(const struct recount *r)
{
	const struct placement *p = r->placement;
	const struct placement_layer *layer = &p->layer[r->layer];
	double slowest = 0, all = 0, home = 0, speed = 0, share;

	if (check_slots(r) != 0)
		return -1;
	for (int g = 0; g < p->gpus; g++)
		speed += r->options->speed ? r->options->speed[g] : 1;
	for (int t = 0; t < r->loads->snapshots; t++) {
		double most = 0;

		for (int g = 0; g < p->gpus; g++) {
			double tokens = gpu_tokens(r, g, t, &home);

			all += tokens;
			most = fmax(most, tokens / (r->options->speed ? r->options->speed[g] : 1));
		}
		slowest += most;
	}
	share = p->nodes > 1 ? 1 - home / all : 0;
	if (!same(slowest * speed / all, layer->cost.ratio))
		return wrong(
		    r, "the fullest GPU over the mean", layer->cost.ratio, slowest * speed / all);
	if (!same(share, layer->cost.share))
		return wrong(r, "the share that leaves its node", layer->cost.share, share);
	if (layer->lower_bound > layer->cost.ratio * (1 + ROUNDING))
		return wrong(
		    r, "a bound above what it bounds", layer->cost.ratio, layer->lower_bound);
	return 0;
}

int
placement_verify(const struct placement *placement, const struct loads *loads,
    const struct placement_options *options, struct diags *diags)
{
	struct recount r = {
	    .placement = placement, .loads = loads, .options = options, .diags = diags};
	struct arena_mark mark = arena_mark(diags->arena);
	int result = 0;

	r.copies = arena_array(diags->arena, (size_t)placement->experts, sizeof(int));
	for (r.layer = 0; r.layer < placement->layers; r.layer++)
		result |= check_layer(&r);
	if (result == 0)
		arena_reset(diags->arena, mark);
	return result;
}
