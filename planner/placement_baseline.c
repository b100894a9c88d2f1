/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where would others put the experts?
 *
 * EPLB (deepseek-ai/EPLB, eplb.py @ d52c72d), its rules in our own words: a pack
 * takes items heaviest first, each into the lightest pack that has room; copies go
 * one by one to the expert with the largest load per copy; the hierarchical form packs
 * groups of experts to nodes first and copies within a node. Its sort is not
 * stable, so ties are fixed here: load, then number. Two copies of an expert may
 * meet on a GPU, as they do there.
 */
#include <string.h>

#include "base/arena.h"
#include "planner/placement_private.h"

const char *const baseline_names[] = {
    "contiguous", "round_robin", "eplb_global", "eplb_hierarchical", NULL};
const char *const baseline_labels[] = {"contiguous", "round robin", "EPLB", "EPLB by nodes", NULL};

/* Items into `packs` packs of equal count: the pack of each. */
static void
pack_balanced(struct arena *scratch, const double *weight, int items, int packs, int *pack_of)
{
	struct arena_mark mark = arena_mark(scratch);
	struct pack pack = pack_new(scratch, packs, items / packs, 1, weight);

	pack_lpt(scratch, &pack);
	for (int i = 0; i < items; i++)
		pack_of[pack.at[i]] = i / pack.slots;
	if (pack.slots == 1) /* nothing to balance: EPLB leaves items where they are */
		for (int i = 0; i < items; i++)
			pack_of[i] = i;
	arena_reset(scratch, mark);
}

/* Copies for `slots` slots; owner of each: the experts in order, then the copies as they came. */
static void
replicate(const double *load, int experts, int slots, int *count, int *owner)
{
	for (int e = 0; e < experts; e++) {
		count[e] = 1;
		owner[e] = e;
	}
	for (int s = experts; s < slots; s++) {
		int top = 0;

		for (int e = 1; e < experts; e++)
			if (load[e] / count[e] > load[top] / count[top])
				top = e;
		owner[s] = top;
		count[top]++;
	}
}

/* The experts of one node: copied, and packed to its GPUs. */
static void
place_node(struct arena *scratch, const struct layer_problem *p, const int *experts, int n,
    int node, int nodes, struct assignment *a)
{
	struct arena_mark mark = arena_mark(scratch);
	int gpus = p->gpus / nodes, slots = gpus * p->slots;
	double *load = arena_array(scratch, (size_t)n, sizeof(double));
	double *weight = arena_array(scratch, (size_t)slots, sizeof(double));
	int *count = arena_array(scratch, (size_t)n, sizeof(int));
	int *owner = arena_array(scratch, (size_t)slots, sizeof(int));
	int *gpu_of = arena_array(scratch, (size_t)slots, sizeof(int));

	for (int i = 0; i < n; i++)
		load[i] = p->total[experts[i]];
	replicate(load, n, slots, count, owner);
	for (int s = 0; s < slots; s++)
		weight[s] = load[owner[s]] / count[owner[s]];
	pack_balanced(scratch, weight, slots, gpus, gpu_of);
	for (int s = 0; s < slots; s++) {
		a->expert[a->copies] = experts[owner[s]];
		a->gpu[a->copies++] = node * gpus + gpu_of[s];
	}
	arena_reset(scratch, mark);
}

/* `groups` groups of experts to `nodes` nodes, then node by node; 1 and 1 is the global form. */
static void
eplb(struct arena *scratch, const struct layer_problem *p, int groups, int nodes,
    struct assignment *a)
{
	struct arena_mark mark = arena_mark(scratch);
	int size = p->experts / groups;
	double *weight = arena_array(scratch, (size_t)groups, sizeof(double));
	int *node_of = arena_array(scratch, (size_t)groups, sizeof(int));
	int *experts = arena_array(scratch, (size_t)p->experts, sizeof(int));

	for (int e = 0; e < p->experts; e++)
		weight[e / size] += p->total[e];
	pack_balanced(scratch, weight, groups, nodes, node_of);
	for (int node = 0; node < nodes; node++) {
		int n = 0;

		for (int e = 0; e < p->experts; e++)
			if (node_of[e / size] == node)
				experts[n++] = e;
		place_node(scratch, p, experts, n, node, nodes, a);
	}
	arena_reset(scratch, mark);
}

static void
place_simply(const struct layer_problem *p, bool round, struct assignment *a)
{
	for (int e = 0; e < p->experts; e++) {
		a->expert[a->copies] = e;
		a->gpu[a->copies++] =
		    round ? e % p->gpus : (int)((int64_t)e * p->gpus / p->experts);
	}
}

struct assignment *
placement_baseline(struct arena *arena, const struct loads *loads,
    const struct placement_options *options, int layer, enum baseline baseline)
{
	struct assignment *a = arena_alloc(arena, sizeof(*a));
	size_t slots = (size_t)options->gpus * (size_t)options->slots_per_gpu;
	int groups = options->groups, nodes = options->nodes;
	struct layer_problem p;

	layer_problem_init(arena, &p, loads, options, layer);
	a->expert = arena_array(arena, slots, sizeof(int));
	a->gpu = arena_array(arena, slots, sizeof(int));
	switch (baseline) {
	case BASELINE_CONTIGUOUS:
	case BASELINE_ROUND_ROBIN:
		place_simply(&p, baseline == BASELINE_ROUND_ROBIN, a);
		break;
	case BASELINE_EPLB:
		eplb(arena, &p, 1, 1, a);
		break;
	case BASELINE_EPLB_NODES:
		if (nodes < 2 || groups < 1 || p.experts % groups != 0 || groups % nodes != 0)
			return NULL;
		eplb(arena, &p, groups, nodes, a);
		break;
	case BASELINES:
		return NULL;
	}
	return a;
}
