/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where do tokens go from layer to layer, and can they stay where they are?
 *
 *     max sum_l sum_ef b_l(e,f) [node of e in layer l = node of f in layer l+1]
 * with E/N experts of every layer on a node and a cap on its load. When the ways to
 * share out a layer are few (8 experts on 2 nodes: 70, on 4: 2,520) a Viterbi pass over them
 * is exact. Otherwise layers take turns: with all others fixed, one layer is the assignment
 * problem of placement_nodes.c; sweeps until nothing changes, from several starts: a
 * local optimum. Its bound is loose and said to be: an expert's node has E/N experts of the
 * next layer, so what stays is at most the sum of the E/N largest b_l(e,.) over e, and
 * likewise over f.
 */
#include "planner/placement_chain.h"

#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "planner/placement_nodes.h"
#include "planner/placement_pairs.h"

enum {
	MAX_STATES = 3000,
	STARTS = 4,
	MAX_SWEEPS = 30,
	CHAIN_ROUNDS = 20,
	MAX_VITERBI_EXPERTS = 16
};

struct chain {
	struct arena *arena;
	const struct loads *loads;
	int layers, experts, bins, each;
	struct layer_problem *p; /* [layer] */
	double *cap;		 /* [layer] */
	int *bin_of;		 /* [layer][expert] */
	double all;		 /* transitions */
};

static const int *
layer_bins(const struct chain *c, const int *bin_of, int layer)
{
	return bin_of + (size_t)layer * (size_t)c->experts;
}

static double
staying(const struct chain *c, const int *bin_of)
{
	double stay = 0;

	for (int l = 0; l + 1 < c->layers; l++) {
		const int *here = layer_bins(c, bin_of, l), *there = layer_bins(c, bin_of, l + 1);

		for (int e = 0; e < c->experts; e++)
			for (int f = 0; f < c->experts; f++)
				if (here[e] == there[f])
					stay += c->loads->next[l][e * c->experts + f];
	}
	return stay;
}

/* --- exact --- */

/* Ways to share E experts out, E/N a bin; capped. */
static double
count_states(const struct chain *c)
{
	double ways = 1;
	int left = c->experts;

	for (int b = 0; b < c->bins; b++)
		for (int k = 0; k < c->each; k++)
			ways *= (double)(left--) / (k + 1);
	return ways;
}

struct states {
	int count;
	uint8_t *bin_of; /* [state][expert] */
};

/* All of them in a fixed order, experts from `expert` on. */
static void
list_states(const struct chain *c, int expert, uint8_t *current, int *room, struct states *states)
{
	if (expert == c->experts) {
		memcpy(states->bin_of + (size_t)states->count++ * (size_t)c->experts, current,
		    (size_t)c->experts);
		return;
	}
	for (int b = 0; b < c->bins; b++) {
		if (room[b] == 0)
			continue;
		room[b]--;
		current[expert] = (uint8_t)b;
		list_states(c, expert + 1, current, room, states);
		room[b]++;
	}
}

static struct states
all_states(const struct chain *c)
{
	size_t count = (size_t)(count_states(c) + 0.5);
	struct states states = {.bin_of = arena_array(c->arena, count, (size_t)c->experts)};
	uint8_t current[MAX_VITERBI_EXPERTS];
	int *room = arena_array(c->arena, (size_t)c->bins, sizeof(int));

	for (int b = 0; b < c->bins; b++)
		room[b] = c->each;
	list_states(c, 0, current, room, &states);
	return states;
}

static bool
state_fits(const struct chain *c, int layer, const uint8_t *bin_of, double *load)
{
	memset(load, 0, (size_t)c->bins * sizeof(double));
	for (int e = 0; e < c->experts; e++)
		load[bin_of[e]] += c->p[layer].total[e];
	for (int b = 0; b < c->bins; b++)
		if (load[b] > c->cap[layer] * (1 + 1e-9))
			return false;
	return true;
}

/* toward[bin][f]: tokens of layer l on the bin's experts that go to f. */
static void
sum_toward(const struct chain *c, int layer, const uint8_t *bin_of, double *toward)
{
	memset(toward, 0, (size_t)c->bins * (size_t)c->experts * sizeof(double));
	for (int e = 0; e < c->experts; e++)
		for (int f = 0; f < c->experts; f++)
			toward[bin_of[e] * c->experts + f] +=
			    c->loads->next[layer][e * c->experts + f];
}

/* best[t] of the next layer from best[s] of this one. */
static void
viterbi_step(const struct chain *c, const struct states *states, int layer, const double *best,
    const bool *fits, double *next, int *from)
{
	double *toward =
	    arena_array(c->arena, (size_t)c->bins * (size_t)c->experts, sizeof(double));

	for (int t = 0; t < states->count; t++)
		next[t] = -INFINITY;
	for (int s = 0; s < states->count; s++) {
		if (!(best[s] >= 0))
			continue;
		sum_toward(c, layer, states->bin_of + (size_t)s * (size_t)c->experts, toward);
		for (int t = 0; t < states->count; t++) {
			const uint8_t *there = states->bin_of + (size_t)t * (size_t)c->experts;
			double sum = best[s];

			if (!fits[t])
				continue;
			for (int f = 0; f < c->experts; f++)
				sum += toward[there[f] * c->experts + f];
			if (sum > next[t]) {
				next[t] = sum;
				from[t] = s;
			}
		}
	}
}

static void
solve_viterbi(struct chain *c)
{
	struct states states = all_states(c);
	size_t n = (size_t)states.count;
	double *best = arena_array(c->arena, n, sizeof(double));
	double *next = arena_array(c->arena, n, sizeof(double));
	double *load = arena_array(c->arena, (size_t)c->bins, sizeof(double));
	bool *fits = arena_array(c->arena, n, sizeof(bool));
	int *from = arena_array(c->arena, n * (size_t)c->layers, sizeof(int)), state = 0;

	for (int l = 0; l < c->layers; l++) {
		double *swap = best;

		for (size_t t = 0; t < n; t++)
			fits[t] = state_fits(c, l, states.bin_of + t * (size_t)c->experts, load);
		if (l == 0) {
			for (size_t t = 0; t < n; t++)
				best[t] = fits[t] ? 0 : -INFINITY;
			continue;
		}
		viterbi_step(c, &states, l - 1, best, fits, next, from + n * (size_t)l);
		best = next;
		next = swap;
	}
	for (size_t t = 1; t < n; t++)
		if (best[t] > best[state])
			state = (int)t;
	for (int l = c->layers - 1; l >= 0; l--) {
		for (int e = 0; e < c->experts; e++)
			c->bin_of[(size_t)l * (size_t)c->experts + (size_t)e] =
			    states.bin_of[(size_t)state * (size_t)c->experts + (size_t)e];
		state = l > 0 ? from[n * (size_t)l + (size_t)state] : 0;
	}
}

/* --- by turns --- */

/* gain[bin][expert] of one layer, its neighbours fixed. */
static void
gains_of_layer(const struct chain *c, const int *bin_of, int layer, double *gain)
{
	int n = c->experts;

	memset(gain, 0, (size_t)c->bins * (size_t)n * sizeof(double));
	if (layer > 0) {
		const int *before = layer_bins(c, bin_of, layer - 1);

		for (int f = 0; f < n; f++)
			for (int e = 0; e < n; e++)
				gain[before[f] * n + e] += c->loads->next[layer - 1][f * n + e];
	}
	if (layer + 1 < c->layers) {
		const int *after = layer_bins(c, bin_of, layer + 1);

		for (int e = 0; e < n; e++)
			for (int f = 0; f < n; f++)
				gain[after[f] * n + e] += c->loads->next[layer][e * n + f];
	}
}

static void
solve_turn(struct chain *c, struct rng *rng, int *bin_of, int layer, double *gain)
{
	struct arena_mark mark = arena_mark(c->arena);
	struct node_problem np = {.experts = c->experts,
	    .nodes = c->bins,
	    .each = c->each,
	    .gain = gain,
	    .load = c->p[layer].total,
	    .all = c->p[layer].sum * 2,
	    .cap = c->cap[layer]};
	int *mine = bin_of + (size_t)layer * (size_t)c->experts;
	int *rounded = arena_array(c->arena, (size_t)c->experts, sizeof(int));
	struct nodes_lp lp;

	gains_of_layer(c, bin_of, layer, gain);
	lp = nodes_relax(c->arena, &np);
	if (nodes_round(c->arena, &np, &lp, rounded) &&
	    nodes_gain(&np, rounded) > nodes_gain(&np, mine))
		memcpy(mine, rounded, (size_t)c->experts * sizeof(int));
	nodes_search(c->arena, &np, rng, CHAIN_ROUNDS, mine);
	arena_reset(c->arena, mark);
}

/* A random start within the caps: the balanced one, its bins renamed and disturbed. */
static void
random_start(struct chain *c, struct rng *rng, int *bin_of)
{
	double *zero = arena_array(c->arena, (size_t)c->bins * (size_t)c->experts, sizeof(double));

	for (int l = 0; l < c->layers; l++) {
		struct node_problem np = {.experts = c->experts,
		    .nodes = c->bins,
		    .each = c->each,
		    .gain = zero,
		    .load = c->p[l].total,
		    .all = c->p[l].sum,
		    .cap = c->cap[l]};
		int *mine = bin_of + (size_t)l * (size_t)c->experts;

		nodes_least_load(c->arena, &np, mine);
		nodes_search(c->arena, &np, rng, CHAIN_ROUNDS, mine);
	}
}

static void
solve_turns(struct chain *c, struct rng *rng)
{
	size_t size = (size_t)c->layers * (size_t)c->experts;
	int *bin_of = arena_array(c->arena, size, sizeof(int));
	double *gain = arena_array(c->arena, (size_t)c->bins * (size_t)c->experts, sizeof(double));
	double best = -1;

	for (int start = 0; start < STARTS; start++) {
		double now, before;

		random_start(c, rng, bin_of);
		now = staying(c, bin_of);
		for (int sweep = 0; sweep < MAX_SWEEPS; sweep++) {
			before = now;
			for (int i = 0; i < c->layers; i++)
				solve_turn(
				    c, rng, bin_of, sweep % 2 == 0 ? i : c->layers - 1 - i, gain);
			now = staying(c, bin_of);
			if (now <= before * (1 + 1e-6))
				break;
		}
		if (now > best) {
			best = now;
			memcpy(c->bin_of, bin_of, size * sizeof(int));
		}
	}
}

/* The `each` largest of a row or column, summed. */
static double
largest_sum(const float *at, int n, int stride, int each, float *top)
{
	double sum = 0;

	for (int k = 0; k < each; k++)
		top[k] = 0;
	for (int i = 0; i < n; i++) {
		float value = at[(size_t)i * (size_t)stride];
		int k = each - 1;

		if (value <= top[k])
			continue;
		for (; k > 0 && top[k - 1] < value; k--)
			top[k] = top[k - 1];
		top[k] = value;
	}
	for (int k = 0; k < each; k++)
		sum += top[k];
	return sum;
}

static double
most_staying(const struct chain *c)
{
	float *top = arena_array(c->arena, (size_t)c->each, sizeof(float));
	int n = c->experts;
	double stay = 0;

	for (int l = 0; l + 1 < c->layers; l++) {
		double rows = 0, columns = 0;

		for (int e = 0; e < n; e++) {
			rows += largest_sum(c->loads->next[l] + e * n, n, 1, c->each, top);
			columns += largest_sum(c->loads->next[l] + e, n, n, c->each, top);
		}
		stay += fmin(rows, columns);
	}
	return stay;
}

/* --- the whole --- */

static struct chain
chain_new(struct arena *arena, const struct loads *loads, const struct placement_options *options)
{
	struct chain c = {
	    .arena = arena, .loads = loads, .layers = loads->layers, .experts = loads->experts};
	size_t layers = (size_t)loads->layers;

	c.bins = options->nodes > 1 ? options->nodes : options->gpus;
	c.each = c.experts / c.bins;
	c.p = arena_array(arena, layers, sizeof(*c.p));
	c.cap = arena_array(arena, layers, sizeof(double));
	c.bin_of = arena_array(arena, layers * (size_t)c.experts, sizeof(int));
	for (int l = 0; l < c.layers; l++) {
		layer_problem_init(arena, &c.p[l], loads, options, l);
		c.cap[l] = affinity_cap(arena, &c.p[l], c.bin_of + (size_t)l * (size_t)c.experts);
		for (int i = 0; l + 1 < c.layers && i < c.experts * c.experts; i++)
			c.all += loads->next[l][i];
	}
	return c;
}

void
solve_chain(struct arena *arena, const struct loads *loads, const struct placement_options *options,
    struct placement *placement)
{
	struct arena_mark mark = arena_mark(arena);
	struct chain c = chain_new(arena, loads, options);
	struct rng rng = {options->seed + 1};
	double all = fmax(c.all, 1);

	placement->chain_proven =
	    c.experts <= MAX_VITERBI_EXPERTS && count_states(&c) <= MAX_STATES;
	if (placement->chain_proven) {
		solve_viterbi(&c);
		placement->chain_low = 1 - staying(&c, c.bin_of) / all;
	} else {
		solve_turns(&c, &rng);
		placement->chain_low = fmax(0, 1 - most_staying(&c) / all);
	}
	for (int l = 0; l < c.layers; l++)
		slots_of_bins(arena, &c.p[l], &rng, c.bin_of + (size_t)l * (size_t)c.experts,
		    placement->layer[l].expert_of_slot);
	arena_reset(arena, mark);
}
