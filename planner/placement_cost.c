/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What does a placement cost, and how unbalanced are the experts to begin with?
 *
 *     ratio = sum over snapshots of max_g (load_g / speed_g)
 *             / sum over snapshots of (sum of loads / sum of speeds)
 *     share = tokens whose expert is on another node / tokens
 *     drop  = sum_e max(0, w_e - F mean) / sum_e w_e      at capacity factor F
 *     entropy = - sum_e p_e log2 p_e,  p_e = w_e / sum w
 * The copies of an expert take equal parts of its tokens, wherever these come from.
 * Ignores: that a dispatcher may prefer the copy on the token's own node.
 */
#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "planner/placement_private.h"

const char *const goal_names[] = {"load", "traffic", "pairs", "chain", NULL};
const char *const goal_labels[] = {"the fullest GPU", "time: fullest GPU and traffic between nodes",
    "pairs of a token on several nodes", "hops between layers", NULL};
const char *const proof_names[] = {
    "none", "closed form", "pairing", "copy counts", "set cover LP", "integer programme", NULL};

struct placement_price
placement_price_default(int nodes)
{
	double even = nodes > 1 ? (double)(nodes - 1) / nodes : 1;

	return (struct placement_price){1, nodes > 1 ? 1 / even : 0};
}

/* --- the counts alone --- */

static void
hottest(const double *load, int experts, int top[3])
{
	top[0] = top[1] = top[2] = -1;
	for (int e = 0; e < experts; e++) {
		int k = 3;

		while (k > 0 && (top[k - 1] < 0 || load[e] > load[top[k - 1]]))
			k--;
		for (int m = 2; m > k; m--)
			top[m] = top[m - 1];
		if (k < 3)
			top[k] = e;
	}
}

void
layer_stats(const double *load, int experts, struct layer_stats *stats)
{
	double sum = 0, most = 0, least = INFINITY, squares = 0, bits = 0;

	for (int e = 0; e < experts; e++) {
		sum += load[e];
		most = fmax(most, load[e]);
		least = fmin(least, load[e]);
	}
	stats->mean = sum / experts;
	for (int e = 0; e < experts; e++) {
		double p = load[e] / sum, off = load[e] - stats->mean;

		squares += off * off;
		bits -= p > 0 ? p * log2(p) : 0;
	}
	stats->variance = squares / experts;
	stats->cv = sqrt(stats->variance) / stats->mean;
	stats->max_over_mean = most / stats->mean;
	stats->min_over_mean = least / stats->mean;
	stats->entropy_bits = bits;
	hottest(load, experts, stats->hottest);
}

double
layer_dropped(const double *load, int experts, double factor)
{
	double sum = 0, dropped = 0;

	for (int e = 0; e < experts; e++)
		sum += load[e];
	for (int e = 0; e < experts; e++)
		dropped += fmax(0, load[e] - factor * sum / experts);
	return dropped / sum;
}

/* --- one layer --- */

const double *
placement_slow(struct arena *arena, const struct placement_options *options)
{
	double *slow;

	if (!options->speed)
		return NULL;
	slow = arena_array(arena, (size_t)options->gpus, sizeof(double));
	for (int g = 0; g < options->gpus; g++)
		slow[g] = 1 / options->speed[g];
	return slow;
}

bool
sources_are_nodes(const struct loads *loads, const struct placement_options *options)
{
	if (options->nodes < 2 || loads->sources < 2)
		return false;
	return loads->kind == LOADS_NODES || loads->sources == options->nodes;
}

int
source_node(const struct loads *loads, const struct placement_options *options, int source)
{
	return (int)((int64_t)source * options->nodes / loads->sources);
}

static double *
tokens_by_node(struct arena *arena, const struct loads *loads,
    const struct placement_options *options, int layer)
{
	size_t experts = (size_t)loads->experts;
	double *source = arena_array(arena, (size_t)options->nodes * experts, sizeof(double));

	for (int t = 0; t < loads->snapshots; t++)
		for (int s = 0; s < loads->sources; s++) {
			const double *row = loads_row(loads, layer, t, s);
			double *node = source + (size_t)source_node(loads, options, s) * experts;

			for (size_t e = 0; e < experts; e++)
				node[e] += row[e];
		}
	return source;
}

void
layer_problem_init(struct arena *arena, struct layer_problem *p, const struct loads *loads,
    const struct placement_options *options, int layer)
{
	double speed = 0;

	memset(p, 0, sizeof(*p));
	p->loads = loads;
	p->options = options;
	p->layer = layer;
	p->experts = loads->experts;
	p->vectors = loads->snapshots;
	p->gpus = options->gpus;
	p->nodes = options->nodes;
	p->slots = options->slots_per_gpu;
	p->slow = placement_slow(arena, options);
	p->weight = arena_array(arena, (size_t)p->experts * (size_t)p->vectors, sizeof(double));
	p->total = arena_array(arena, (size_t)p->experts, sizeof(double));
	for (int t = 0; t < p->vectors; t++)
		for (int s = 0; s < loads->sources; s++)
			for (int e = 0; e < p->experts; e++)
				p->weight[e * p->vectors + t] += loads_row(loads, layer, t, s)[e];
	loads_total(loads, layer, p->total);
	for (int e = 0; e < p->experts; e++)
		p->sum += p->total[e];
	for (int g = 0; g < p->gpus; g++)
		speed += p->slow ? 1 / p->slow[g] : 1;
	p->mean_time = p->sum / speed;
	if (sources_are_nodes(loads, options))
		p->source = tokens_by_node(arena, loads, options, layer);
}

double
ratio_of(const struct layer_problem *p, double value)
{
	return value / p->mean_time;
}

/* --- one assignment --- */

struct assignment
assignment_of_slots(struct arena *arena, const int *expert_of_slot, int slots, int slots_per_gpu)
{
	struct assignment a = {.copies = slots};

	a.expert = arena_array(arena, (size_t)slots, sizeof(int));
	a.gpu = arena_array(arena, (size_t)slots, sizeof(int));
	for (int s = 0; s < slots; s++) {
		a.expert[s] = expert_of_slot[s];
		a.gpu[s] = s / slots_per_gpu;
	}
	return a;
}

void
placement_gpu_loads(struct arena *scratch, const struct loads *loads, int layer,
    const struct assignment *a, double *load)
{
	struct arena_mark mark = arena_mark(scratch);
	double *total = arena_array(scratch, (size_t)loads->experts, sizeof(double));
	double *count = arena_array(scratch, (size_t)loads->experts, sizeof(double));

	loads_total(loads, layer, total);
	for (int i = 0; i < a->copies; i++)
		count[a->expert[i]]++;
	for (int i = 0; i < a->copies; i++)
		load[a->gpu[i]] += total[a->expert[i]] / count[a->expert[i]];
	arena_reset(scratch, mark);
}

/* part[node][expert]: of the expert's copies, those on the node. */
static double *
parts_by_node(struct arena *arena, const struct layer_problem *p, const struct assignment *a)
{
	double *part = arena_array(arena, (size_t)p->nodes * (size_t)p->experts, sizeof(double));
	double *count = arena_array(arena, (size_t)p->experts, sizeof(double));
	int per_node = p->gpus / p->nodes;

	for (int i = 0; i < a->copies; i++)
		count[a->expert[i]]++;
	for (int i = 0; i < a->copies; i++)
		part[a->gpu[i] / per_node * p->experts + a->expert[i]] += 1 / count[a->expert[i]];
	return part;
}

static double
share_leaving(const struct layer_problem *p, const double *part)
{
	double stay = 0;

	for (int n = 0; n < p->nodes; n++)
		for (int e = 0; e < p->experts; e++) {
			double tokens =
			    p->source ? p->source[n * p->experts + e] : p->total[e] / p->nodes;

			stay += tokens * part[n * p->experts + e];
		}
	return p->nodes > 1 ? fmax(0, 1 - stay / p->sum) : 0;
}

/* sum over vectors of the largest time of `units`, each of gpus / units GPUs, times their number.
 */
static double
slowest(struct arena *arena, const struct layer_problem *p, const struct assignment *a, int units)
{
	double *count = arena_array(arena, (size_t)p->experts, sizeof(double));
	double *load = arena_array(arena, (size_t)units, sizeof(double)), value = 0;
	int size = p->gpus / units;

	for (int i = 0; i < a->copies; i++)
		count[a->expert[i]]++;
	for (int v = 0; v < p->vectors; v++) {
		double most = 0;

		memset(load, 0, (size_t)units * sizeof(double));
		for (int i = 0; i < a->copies; i++)
			load[a->gpu[i] / size] +=
			    p->weight[a->expert[i] * p->vectors + v] / count[a->expert[i]];
		for (int u = 0; u < units; u++)
			most = fmax(most, p->slow && size == 1 ? load[u] * p->slow[u] : load[u]);
		value += most;
	}
	return value;
}

/* Pairs whose experts share no unit. An expert with copies counts by parts. */
static double
split_pairs(const struct layer_problem *p, const double *part, int units)
{
	const float *pairs = p->loads->pairs[p->layer];
	double all = 0, together = 0;

	if (!pairs || units < 2)
		return pairs ? 0 : NAN;
	for (int i = 0; i < p->experts; i++)
		for (int j = i + 1; j < p->experts; j++) {
			double weight = pairs[i * p->experts + j];

			all += weight;
			if (weight > 0)
				for (int u = 0; u < units; u++)
					together += weight * part[u * p->experts + i] *
						    part[u * p->experts + j];
		}
	return all > 0 ? fmax(0, 1 - together / all) : NAN;
}

static double
hops_to_next(const struct layer_problem *p, const double *part, const double *next, int units)
{
	const float *moves = p->loads->next[p->layer];
	double all = 0, stay = 0;

	if (!moves || !next || units < 2)
		return NAN;
	for (int i = 0; i < p->experts; i++)
		for (int j = 0; j < p->experts; j++) {
			double weight = moves[i * p->experts + j];

			all += weight;
			if (weight > 0)
				for (int u = 0; u < units; u++)
					stay += weight * part[u * p->experts + i] *
						next[u * p->experts + j];
		}
	return all > 0 ? fmax(0, 1 - stay / all) : NAN;
}

void
placement_cost(struct arena *scratch, const struct loads *loads,
    const struct placement_options *options, int layer, const struct assignment *a,
    const struct assignment *next, struct placement_cost *cost)
{
	struct arena_mark mark = arena_mark(scratch);
	struct layer_problem p;
	double *part, *unit_part, *next_part = NULL;

	layer_problem_init(scratch, &p, loads, options, layer);
	part = parts_by_node(scratch, &p, a);
	cost->ratio = slowest(scratch, &p, a, p.gpus) / p.mean_time;
	cost->node_ratio = slowest(scratch, &p, a, p.nodes) / (p.sum / p.nodes);
	cost->share = share_leaving(&p, part);
	if (p.nodes == 1) /* then pairs and hops are told of GPUs */
		p.nodes = p.gpus;
	unit_part = parts_by_node(scratch, &p, a);
	if (next)
		next_part = parts_by_node(scratch, &p, next);
	cost->split = split_pairs(&p, unit_part, p.nodes);
	cost->hops = hops_to_next(&p, unit_part, next_part, p.nodes);
	arena_reset(scratch, mark);
}
