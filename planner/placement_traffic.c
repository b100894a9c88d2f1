/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How much balance is a token worth that stays on its node?
 *
 * Two steps for each tolerance of node balance: experts to nodes (placement_nodes.c),
 * then GPUs inside each node by load alone (placement_pack.c). A hot expert can make
 * its node hard to balance, so the points of the sweep, and the load-only answer, are
 * then improved together: exchanges between any two GPUs while the layer's price
 *     compute * ratio + traffic * ratio * share
 * falls. The cheapest of all is the answer. Its traffic is proved against the integer
 * programme at the node balance that it has. Bound of the price: a placement whose
 * node balance lies between two steps has a ratio of at least the lower one and of the
 * load bound, and a share of at least what the LP allows under the upper one; the least over
 * all steps.
 */
#include "planner/placement_traffic.h"

#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "planner/placement_nodes.h"

const double placement_tolerances[PLACEMENT_POINTS] = {-1, 0.005, 0.01, 0.02, 0.05};

enum { NODE_ROUNDS = 50, INSIDE_WORK = 100000, JOINT_PASSES = 60, JOINT_WORK = 400000 };
#define PROOF_EFFORT 0.25 /* half a second at most, for each point and for the answer */

double
price_of(const struct placement_price *price, const struct placement_cost *cost)
{
	return cost->ratio * (price->compute + price->traffic * cost->share);
}

static struct node_problem
nodes_of(const struct layer_problem *p, double cap)
{
	return (struct node_problem){.experts = p->experts,
	    .nodes = p->nodes,
	    .each = p->experts / p->nodes,
	    .gain = p->source,
	    .load = p->total,
	    .all = p->sum,
	    .cap = cap};
}

void
place_in_nodes(struct arena *scratch, const struct layer_problem *p, struct rng *rng,
    const int *node_of, int *expert_of_slot)
{
	struct arena_mark mark = arena_mark(scratch);
	int gpus = p->gpus / p->nodes, each = gpus * p->slots;
	int *experts = arena_array(scratch, (size_t)each, sizeof(int));
	double *weight = arena_array(scratch, (size_t)each * (size_t)p->vectors, sizeof(double));

	for (int node = 0; node < p->nodes; node++) {
		struct pack pack = pack_new(scratch, gpus, p->slots, p->vectors, weight);
		int n = 0;

		for (int e = 0; e < p->experts; e++) {
			if (node_of[e] != node)
				continue;
			memcpy(weight + n * p->vectors, p->weight + e * p->vectors,
			    (size_t)p->vectors * sizeof(double));
			experts[n++] = e;
		}
		pack.slow = p->slow ? p->slow + node * gpus : NULL;
		pack_lpt(scratch, &pack);
		pack_descend(&pack);
		pack_search(scratch, &pack, rng, 0, p->options->quick ? 0 : INSIDE_WORK);
		for (int i = 0; i < each; i++)
			expert_of_slot[node * each + i] = experts[pack.at[i]];
	}
	arena_reset(scratch, mark);
}

static void
cost_of_slots(struct arena *scratch, const struct layer_problem *p, const int *expert_of_slot,
    struct placement_cost *cost)
{
	struct arena_mark mark = arena_mark(scratch);
	struct assignment a =
	    assignment_of_slots(scratch, expert_of_slot, p->gpus * p->slots, p->slots);

	placement_cost(scratch, p->loads, p->options, p->layer, &a, NULL, cost);
	arena_reset(scratch, mark);
}

/* --- exchanges for the price --- */

struct joint {
	const struct layer_problem *p;
	struct placement_price price;
	struct pack pack;
	double stay; /* tokens whose expert is on their node */
	double now;  /* price */
};

static double
joint_price(const struct joint *q, double value, double stay)
{
	return ratio_of(q->p, value) *
	       (q->price.compute + q->price.traffic * (1 - stay / q->p->sum));
}

static double
stay_change(const struct joint *q, int a, int i, int b, int j)
{
	const struct layer_problem *p = q->p;
	int per_node = p->gpus / p->nodes, n = a / per_node, m = b / per_node;
	int e = q->pack.at[a * p->slots + i], f = q->pack.at[b * p->slots + j];
	const double *here = p->source + n * p->experts, *there = p->source + m * p->experts;

	return n == m ? 0 : there[e] + here[f] - here[e] - there[f];
}

/* Makes the exchange when the price falls by more than rounding. */
static bool
try_exchange(struct joint *q, int a, int i, int b, int j)
{
	double change = stay_change(q, a, i, b, j);
	double value = pack_value_after(&q->pack, a, i, b, j);
	double price = joint_price(q, value, q->stay + change);

	if (price >= q->now * (1 - 1e-12))
		return false;
	pack_exchange(&q->pack, a, i, b, j);
	q->stay += change;
	q->now = price;
	return true;
}

static bool
joint_pass(struct joint *q)
{
	bool moved = false;

	for (int a = 0; a < q->pack.bins; a++)
		for (int b = a + 1; b < q->pack.bins; b++)
			for (int i = 0; i < q->pack.slots; i++)
				for (int j = 0; j < q->pack.slots; j++)
					moved = try_exchange(q, a, i, b, j) || moved;
	return moved;
}

static void
joint_passes(struct joint *q)
{
	for (int pass = 0; pass < JOINT_PASSES && joint_pass(q); pass++)
		;
}

/* Sums, tokens at home and price from the slots. */
static void
joint_sums(struct joint *q)
{
	const struct layer_problem *p = q->p;
	int per_node = p->gpus / p->nodes * p->slots;

	pack_sums(&q->pack);
	pack_watch(&q->pack);
	q->stay = 0;
	for (int s = 0; s < q->pack.items; s++)
		q->stay += p->source[s / per_node * p->experts + q->pack.at[s]];
	q->now = joint_price(q, pack_value(&q->pack), q->stay);
}

static void
joint_disturb(struct joint *q, struct rng *rng)
{
	for (int n = 1 + rng_below(rng, 3); n > 0; n--) {
		int a = rng_below(rng, q->pack.bins), b = rng_below(rng, q->pack.bins);
		int i = rng_below(rng, q->pack.slots), j = rng_below(rng, q->pack.slots);

		if (a != b)
			pack_exchange(&q->pack, a, i, b, j);
	}
	joint_sums(q);
}

/* About JOINT_WORK exchanges looked at, five passes a round. */
static int
joint_rounds(const struct layer_problem *p)
{
	int pass = p->experts * p->experts / 2;

	return p->options->quick ? 0 : JOINT_WORK / 5 / pass;
}

static void
joint_descend(
    struct arena *scratch, const struct layer_problem *p, struct rng *rng, int *expert_of_slot)
{
	struct arena_mark mark = arena_mark(scratch);
	struct joint q = {.p = p, .price = p->options->price};
	size_t size = (size_t)(p->gpus * p->slots) * sizeof(int);
	double best;

	q.pack = pack_new(scratch, p->gpus, p->slots, p->vectors, p->weight);
	q.pack.slow = p->slow;
	memcpy(q.pack.at, expert_of_slot, size);
	joint_sums(&q);
	joint_passes(&q);
	best = q.now;
	memcpy(expert_of_slot, q.pack.at, size);
	for (int round = joint_rounds(p); round > 0; round--) {
		joint_disturb(&q, rng);
		joint_passes(&q);
		if (q.now <= best) {
			best = q.now;
			memcpy(expert_of_slot, q.pack.at, size);
		} else {
			memcpy(q.pack.at, expert_of_slot, size);
			joint_sums(&q);
		}
	}
	arena_reset(scratch, mark);
}

/* --- the sweep --- */

static void
offer(struct arena *scratch, const struct layer_problem *p, const int *expert_of_slot,
    int tolerance, double *best, struct placement_layer *layer)
{
	struct placement_cost cost;
	double price;

	cost_of_slots(scratch, p, expert_of_slot, &cost);
	price = price_of(&p->options->price, &cost);
	if (price >= *best * (1 - 1e-9))
		return;
	*best = price;
	layer->cost = cost;
	layer->tolerance = tolerance;
	memcpy(layer->expert_of_slot, expert_of_slot, (size_t)(p->gpus * p->slots) * sizeof(int));
}

/* Offers a point as it is and improved. */
static void
offer_both(struct arena *scratch, const struct layer_problem *p, struct rng *rng,
    int *expert_of_slot, int tolerance, double *best, struct placement_layer *layer)
{
	struct placement_point *point = &layer->points[tolerance];

	point->feasible = true;
	cost_of_slots(scratch, p, expert_of_slot, &point->cost);
	offer(scratch, p, expert_of_slot, tolerance, best, layer);
	joint_descend(scratch, p, rng, expert_of_slot);
	offer(scratch, p, expert_of_slot, tolerance, best, layer);
}

/* One tolerance: nodes, then GPUs. False when no node assignment is within it. */
static bool
solve_point(struct arena *scratch, const struct layer_problem *p, double cap, struct rng *rng,
    int *expert_of_slot, struct placement_point *point)
{
	struct node_problem np = nodes_of(p, cap);
	int *node_of = arena_array(scratch, (size_t)p->experts, sizeof(int));
	int *rounded = arena_array(scratch, (size_t)p->experts, sizeof(int));
	struct nodes_lp lp = nodes_relax(scratch, &np);

	point->share_low = fmax(0, 1 - lp.bound / p->sum);
	if (nodes_least_load(scratch, &np, node_of) > cap * (1 + 1e-9))
		return false;
	if (nodes_round(scratch, &np, &lp, rounded) &&
	    nodes_gain(&np, rounded) > nodes_gain(&np, node_of))
		memcpy(node_of, rounded, (size_t)p->experts * sizeof(int));
	nodes_search(scratch, &np, rng, p->options->quick ? 5 : NODE_ROUNDS, node_of);
	if (!p->options->quick) {
		double bound =
		    nodes_prove(scratch, &np, &lp, PROOF_EFFORT, node_of, &point->share_proven);

		point->share_low = fmax(0, 1 - bound / p->sum);
	}
	place_in_nodes(scratch, p, rng, node_of, expert_of_slot);
	return true;
}

/* Of node loads: the mean, or what packing reaches when a few experts make that impossible. */
static double
least_cap(struct arena *scratch, const struct layer_problem *p)
{
	struct node_problem np = nodes_of(p, 0);
	int *node_of = arena_array(scratch, (size_t)p->experts, sizeof(int));

	return fmax(p->sum / p->nodes, nodes_least_load(scratch, &np, node_of));
}

/* Node balance over the load bound, where the least share is asked for. */
static const double bound_steps[] = {1, 1.005, 1.01, 1.02, 1.05, 1.1, 1.2, 1.5, INFINITY};

/* No placement of the layer has a lower price. */
static double
price_bound(
    struct arena *scratch, const struct layer_problem *p, const struct placement_layer *layer)
{
	struct placement_price price = p->options->price;
	double low = layer->lower_bound, bound = INFINITY;

	for (size_t k = 0; k < sizeof(bound_steps) / sizeof(bound_steps[0]); k++) {
		struct arena_mark mark = arena_mark(scratch);
		double ratio = layer->lower_bound * bound_steps[k];
		struct node_problem np = nodes_of(p, fmin(p->sum, ratio * p->sum / p->nodes));
		double share = fmax(0, 1 - nodes_relax(scratch, &np).bound / p->sum);

		bound = fmin(bound, low * (price.compute + price.traffic * share));
		low = fmax(low, ratio);
		arena_reset(scratch, mark);
	}
	return bound;
}

void
solve_traffic(struct arena *arena, const struct layer_problem *p, const struct load_answer *load,
    struct rng *rng, struct placement_layer *layer)
{
	size_t slots = (size_t)(p->gpus * p->slots);
	int *expert_of_slot = arena_array(arena, slots, sizeof(int));
	double least = least_cap(arena, p), best = INFINITY;

	memcpy(expert_of_slot, load->expert_of_slot, slots * sizeof(int));
	offer_both(arena, p, rng, expert_of_slot, 0, &best, layer);
	for (int k = 1; k < PLACEMENT_POINTS; k++) {
		struct placement_point *point = &layer->points[k];
		struct arena_mark mark = arena_mark(arena);

		if (p->options->quick && k != PLACEMENT_POINTS - 2)
			continue;
		if (solve_point(arena, p, least * (1 + placement_tolerances[k]), rng,
			expert_of_slot, point))
			offer_both(arena, p, rng, expert_of_slot, k, &best, layer);
		arena_reset(arena, mark);
	}
	if (!p->options->quick)
		layer->price_gap = fmax(0, best / price_bound(arena, p, layer) - 1);
}

double
traffic_least_share(struct arena *scratch, const struct layer_problem *p)
{
	struct arena_mark mark = arena_mark(scratch);
	double loosest = 1 + placement_tolerances[PLACEMENT_POINTS - 1];
	struct node_problem np = nodes_of(p, least_cap(scratch, p) * loosest);
	double share = fmax(0, 1 - nodes_relax(scratch, &np).bound / p->sum);

	arena_reset(scratch, mark);
	return share;
}

void
prove_traffic(struct arena *arena, const struct layer_problem *p, struct placement_layer *layer)
{
	struct arena_mark mark = arena_mark(arena);
	int per_node = p->gpus / p->nodes * p->slots;
	int *node_of = arena_array(arena, (size_t)p->experts, sizeof(int));
	struct node_problem np =
	    nodes_of(p, layer->cost.node_ratio * p->sum / p->nodes * (1 + 1e-12));
	double gain, bound;
	struct nodes_lp lp;
	const struct placement_point *from =
	    layer->tolerance > 0 ? &layer->points[layer->tolerance] : NULL;
	bool proven;

	if (from && from->share_proven && layer->cost.share >= from->cost.share - 1e-12 &&
	    layer->cost.share <= from->cost.share + 1e-12 &&
	    layer->cost.node_ratio <= from->cost.node_ratio * (1 + 1e-12)) {
		layer->objective_low = from->share_low; /* it is that point, proved above */
		layer->objective_proven = true;
		return;
	}
	for (int s = 0; s < p->gpus * p->slots; s++)
		node_of[layer->expert_of_slot[s]] = s / per_node;
	gain = nodes_gain(&np, node_of);
	lp = nodes_relax(arena, &np);
	bound = nodes_prove(arena, &np, &lp, PROOF_EFFORT, node_of, &proven);
	layer->objective_low = fmax(0, 1 - bound / p->sum);
	layer->objective_proven = proven && nodes_gain(&np, node_of) <= gain * (1 + 1e-9);
	arena_reset(arena, mark);
}
