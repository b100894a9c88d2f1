/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What does a trace of loads mean for each expert-parallel degree?
 *
 * Means over the layers of what a quick placement reaches: on one node the fullest
 * rank alone counts; on several nodes, where the counts tell nodes apart, the layer's
 * time by placement_price_default(). Several nodes are looked at in at most
 * SAMPLED_LAYERS layers, evenly spread; their ratio to the load-only answer of the same
 * layers is applied to the mean over all. Ignores: that layers differ, since a strategy
 * has one factor for all its layers.
 */
#include "planner/placement_hot.h"

#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "planner/placement_private.h"
#include "planner/placement_traffic.h"

enum { SAMPLED_LAYERS = 12 };

static struct placement_options
quick_options(const struct loads *loads, int64_t ep, int64_t nodes)
{
	return (struct placement_options){.gpus = (int)ep,
	    .nodes = (int)nodes,
	    .slots_per_gpu = loads->experts / (int)ep,
	    .quick = true,
	    .price = placement_price_default((int)nodes)};
}

/* Ratio of the load-only answer of one layer, and its placement. */
static double
load_ratio(struct arena *arena, const struct layer_problem *p, struct load_answer *answer)
{
	struct rng rng = {(uint64_t)p->layer + 1};

	*answer = solve_load(arena, p, &rng);
	return ratio_of(p, answer->value);
}

static double
hot_on_one_node(struct arena *arena, const struct loads *loads, int64_t ep)
{
	struct placement_options options = quick_options(loads, ep, 1);
	double sum = 0;

	for (int l = 0; l < loads->layers; l++) {
		struct arena_mark mark = arena_mark(arena);
		struct load_answer answer;
		struct layer_problem p;

		layer_problem_init(arena, &p, loads, &options, l);
		sum += load_ratio(arena, &p, &answer);
		arena_reset(arena, mark);
	}
	return sum / loads->layers;
}

static struct skew_point
point_on_nodes(
    struct arena *arena, const struct loads *loads, int64_t ep, int64_t nodes, double hot)
{
	struct placement_options options = quick_options(loads, ep, nodes);
	int samples = loads->layers < SAMPLED_LAYERS ? loads->layers : SAMPLED_LAYERS;
	double load = 0, ratio = 0, share = 0, even = (double)(nodes - 1) / (double)nodes;

	for (int i = 0; i < samples; i++) {
		struct arena_mark mark = arena_mark(arena);
		struct placement_layer layer = {.number = 0};
		struct load_answer answer;
		struct layer_problem p;
		struct rng rng = {(uint64_t)i + 1};

		layer_problem_init(arena, &p, loads, &options, i * loads->layers / samples);
		layer.expert_of_slot = arena_array(arena, (size_t)loads->experts, sizeof(int));
		load += load_ratio(arena, &p, &answer);
		solve_traffic(arena, &p, &answer, &rng, &layer);
		ratio += layer.cost.ratio;
		share += layer.cost.share;
		arena_reset(arena, mark);
	}
	return (struct skew_point){ep, nodes, fmax(1, hot * ratio / load), share / samples / even};
}

static bool
tells_nodes_apart(const struct loads *loads, int64_t nodes)
{
	struct placement_options options = {.nodes = (int)nodes};

	return loads->sources % nodes == 0 && sources_are_nodes(loads, &options);
}

const struct skew_point *
placement_points(struct arena *arena, const struct loads *loads, int *n_points)
{
	struct skew_point *points;
	int n = 0, room = 0;

	for (int64_t ep = 1; ep <= loads->experts; ep++)
		for (int64_t nodes = 1; nodes <= ep && loads->experts % ep == 0; nodes++)
			room += ep % nodes == 0;
	points = arena_array(arena, (size_t)room, sizeof(*points));
	for (int64_t ep = 1; ep <= loads->experts; ep++) {
		double hot;

		if (loads->experts % ep != 0)
			continue;
		hot = fmax(1, hot_on_one_node(arena, loads, ep));
		points[n++] = (struct skew_point){ep, 1, hot, 0};
		for (int64_t nodes = 2; nodes <= ep; nodes++)
			if (ep % nodes == 0 && tells_nodes_apart(loads, nodes))
				points[n++] = point_on_nodes(arena, loads, ep, nodes, hot);
	}
	*n_points = n;
	return points;
}
