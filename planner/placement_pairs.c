/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which experts belong together, since the same tokens pick them?
 *
 *     max sum over bins of sum_{i<j in bin} a_ij,   E/N experts a bin, load <= cap
 * (minimum k-section; a_ij tokens that pick i and j). Exchanges between bins, disturbed
 * and descended again. Bounds: for up to four experts a bin the set-partitioning LP
 * (placement_pair_sets.c), beyond that the projected eigenvalue bound of Donath and Hoffman
 * (IBM J. Res. Dev. 17, 1973; projection: Rendl and Wolkowicz 1995)
 *     inside <= 1/2 [ m (1'B1/E + sum of the N-1 largest eigenvalues of PBP) - sum d ],
 * B = A + diag(d), P = I - 11'/E, for any d; d is improved by subgradient
 * steps. It
 * ignores loads and is some percent loose.
 */
#include "planner/placement_pairs.h"

#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "planner/placement_eigen.h"
#include "planner/placement_nodes.h"
#include "planner/placement_traffic.h"

enum {
	PAIR_ROUNDS = 300,
	EIGEN_WORK = 100 << 18,
	EIGEN_MAX_STEPS = 200,
	EIGEN_MIN_STEPS = 10,
	IDLE_STEPS = 3
};
#define IDLE_GAIN 1e-4
#define PAIR_TOLERANCE 0.1 /* of the load of a bin */
#define SLACK 1e-9

/* --- exchanges --- */

struct pair_state {
	const struct pair_problem *p;
	int *bin_of;
	double *load;  /* [bin] */
	double *touch; /* [expert][bin] weight of pairs with experts of the bin */
};

double
pairs_inside(const struct pair_problem *p, const int *bin_of)
{
	double inside = 0;

	for (int i = 0; i < p->experts; i++)
		for (int j = i + 1; j < p->experts; j++)
			if (bin_of[i] == bin_of[j])
				inside += p->pairs[i * p->experts + j];
	return inside;
}

static void
fill_state(struct pair_state *s)
{
	const struct pair_problem *p = s->p;

	memset(s->load, 0, (size_t)p->bins * sizeof(double));
	memset(s->touch, 0, (size_t)p->experts * (size_t)p->bins * sizeof(double));
	for (int i = 0; i < p->experts; i++) {
		s->load[s->bin_of[i]] += p->load[i];
		for (int j = 0; j < p->experts; j++)
			if (i != j)
				s->touch[i * p->bins + s->bin_of[j]] +=
				    p->pairs[i * p->experts + j];
	}
}

static double
exchange_gain(const struct pair_state *s, int i, int j)
{
	const double *a = &s->touch[i * s->p->bins], *b = &s->touch[j * s->p->bins];
	int n = s->bin_of[i], m = s->bin_of[j];

	return a[m] + b[n] - a[n] - b[m] - 2.0 * s->p->pairs[i * s->p->experts + j];
}

static bool
exchange_fits(const struct pair_state *s, int i, int j)
{
	double d = s->p->load[i] - s->p->load[j], cap = s->p->cap * (1 + SLACK);

	return s->load[s->bin_of[i]] - d <= cap && s->load[s->bin_of[j]] + d <= cap;
}

static void
exchange_pair(struct pair_state *s, int i, int j)
{
	const struct pair_problem *p = s->p;
	int n = s->bin_of[i], m = s->bin_of[j];
	double d = p->load[i] - p->load[j];

	for (int k = 0; k < p->experts; k++) {
		double with_i = k == i ? 0 : p->pairs[k * p->experts + i];
		double with_j = k == j ? 0 : p->pairs[k * p->experts + j];

		s->touch[k * p->bins + n] += with_j - with_i;
		s->touch[k * p->bins + m] += with_i - with_j;
	}
	s->load[n] -= d;
	s->load[m] += d;
	s->bin_of[i] = m;
	s->bin_of[j] = n;
}

static void
pair_descend(struct pair_state *s, double least)
{
	bool moved = true;

	while (moved) {
		moved = false;
		for (int i = 0; i < s->p->experts; i++)
			for (int j = i + 1; j < s->p->experts; j++)
				if (s->bin_of[i] != s->bin_of[j] &&
				    exchange_gain(s, i, j) > least && exchange_fits(s, i, j)) {
					exchange_pair(s, i, j);
					moved = true;
				}
	}
}

static void
pair_disturb(struct pair_state *s, struct rng *rng)
{
	for (int left = 2 + rng_below(rng, 4), tries = 0; left > 0 && tries < 100; tries++) {
		int i = rng_below(rng, s->p->experts), j = rng_below(rng, s->p->experts);

		if (s->bin_of[i] == s->bin_of[j] || !exchange_fits(s, i, j))
			continue;
		exchange_pair(s, i, j);
		left--;
	}
}

void
pairs_search(
    struct arena *scratch, const struct pair_problem *p, struct rng *rng, int rounds, int *bin_of)
{
	struct arena_mark mark = arena_mark(scratch);
	size_t size = (size_t)p->experts * sizeof(int);
	struct pair_state s = {.p = p, .bin_of = bin_of};
	int *best = arena_array(scratch, (size_t)p->experts, sizeof(int));
	double inside, least;

	s.load = arena_array(scratch, (size_t)p->bins, sizeof(double));
	s.touch = arena_array(scratch, (size_t)p->experts * (size_t)p->bins, sizeof(double));
	fill_state(&s);
	inside = pairs_inside(p, bin_of);
	least = SLACK * fmax(1, inside);
	for (int round = 0; round <= rounds; round++) {
		double after;

		if (round > 0)
			pair_disturb(&s, rng);
		pair_descend(&s, least);
		after = pairs_inside(p, bin_of);
		if (after >= inside) {
			inside = after;
			memcpy(best, bin_of, size);
		} else {
			memcpy(bin_of, best, size);
			fill_state(&s);
		}
	}
	arena_reset(scratch, mark);
}

/* --- eigenvalue bound --- */

/* P (A + diag d) P, P = I - 11'/n; its eigenvalue 0 of 1 itself is pushed below all others. */
static void
project(const struct pair_problem *p, const double *d, double *mean, double *matrix)
{
	int n = p->experts;
	double all = 0, most = 0;

	for (int i = 0; i < n; i++) {
		double row = 0;

		mean[i] = 0;
		for (int j = 0; j < n; j++) {
			double value = i == j ? d[i] : p->pairs[i * n + j];

			matrix[i * n + j] = value;
			mean[i] += value / n;
			row += fabs(value);
		}
		all += mean[i] / n;
		most = fmax(most, row);
	}
	for (int i = 0; i < n; i++)
		for (int j = 0; j < n; j++)
			matrix[i * n + j] += all - mean[i] - mean[j] - 8 * most / n;
}

/* The bound for d; `slope` gets its subgradient. */
static double
bound_at(struct arena *scratch, const struct pair_problem *p, const double *d, double *slope)
{
	struct arena_mark mark = arena_mark(scratch);
	int n = p->experts;
	size_t cells = (size_t)n * (size_t)n;
	double *matrix = arena_array(scratch, cells, sizeof(double));
	double *vector = arena_array(scratch, cells, sizeof(double));
	double *value = arena_array(scratch, (size_t)n, sizeof(double));
	double *mean = arena_array(scratch, (size_t)n, sizeof(double)), bound = 0, sum = 0;

	project(p, d, mean, matrix);
	eigen_symmetric(scratch, matrix, n, value, vector);
	for (int i = 0; i < n; i++) {
		bound += mean[i];
		sum += d[i];
		slope[i] = 1.0 / n;
	}
	for (int k = 0; k < p->bins - 1; k++) {
		bound += value[k];
		for (int i = 0; i < n; i++)
			slope[i] += vector[k * n + i] * vector[k * n + i];
	}
	for (int i = 0; i < n; i++)
		slope[i] = (p->each * slope[i] - 1) / 2;
	arena_reset(scratch, mark);
	return (p->each * bound - sum) / 2;
}

/* Steps of Polyak's length towards what was reached; half as long when they stop helping. */
double
pairs_eigen_bound(struct arena *scratch, const struct pair_problem *p, double reached)
{
	struct arena_mark mark = arena_mark(scratch);
	int n = p->experts, idle = 0;
	double *d = arena_array(scratch, (size_t)n, sizeof(double));
	double *slope = arena_array(scratch, (size_t)n, sizeof(double));
	double best = INFINITY, length = 1, cost = (double)n * n * n;
	int steps = (int)fmin(EIGEN_MAX_STEPS, fmax(EIGEN_MIN_STEPS, EIGEN_WORK / cost));

	for (int i = 0; i < n; i++) /* minus the row sums: the Laplacian */
		for (int j = 0; j < n; j++)
			d[i] -= i == j ? 0 : p->pairs[i * n + j];
	for (int step = 0; step < steps; step++) {
		double now = bound_at(scratch, p, d, slope), size = 0;

		idle = now < best * (1 - IDLE_GAIN) ? 0 : idle + 1;
		best = fmin(best, now);
		if (idle == IDLE_STEPS) {
			length /= 2;
			idle = 0;
		}
		for (int i = 0; i < n; i++)
			size += slope[i] * slope[i];
		if (size <= 0 || now <= reached)
			break;
		for (int i = 0; i < n; i++)
			d[i] -= length * (now - reached) / size * slope[i];
	}
	arena_reset(scratch, mark);
	return best;
}

/* --- a layer --- */

int
affinity_bins(const struct layer_problem *p)
{
	return p->nodes > 1 ? p->nodes : p->gpus;
}

double
affinity_cap(struct arena *scratch, const struct layer_problem *p, int *bin_of)
{
	int bins = affinity_bins(p);
	struct node_problem np = {
	    .experts = p->experts, .nodes = bins, .each = p->experts / bins, .load = p->total};
	double least = nodes_least_load(scratch, &np, bin_of);

	return fmax(least, p->sum / bins) * (1 + PAIR_TOLERANCE);
}

void
slots_of_bins(struct arena *scratch, const struct layer_problem *p, struct rng *rng,
    const int *bin_of, int *expert_of_slot)
{
	int slot = 0;

	if (p->nodes > 1) {
		place_in_nodes(scratch, p, rng, bin_of, expert_of_slot);
		return;
	}
	for (int g = 0; g < p->gpus; g++)
		for (int e = 0; e < p->experts; e++)
			if (bin_of[e] == g)
				expert_of_slot[slot++] = e;
}

/* Contiguous bins, when they are within the cap and have more inside than the start so far. */
static void
start_contiguous(struct arena *scratch, const struct pair_problem *p, int *bin_of)
{
	struct arena_mark mark = arena_mark(scratch);
	int *contiguous = arena_array(scratch, (size_t)p->experts, sizeof(int));
	double *load = arena_array(scratch, (size_t)p->bins, sizeof(double)), most = 0;

	for (int e = 0; e < p->experts; e++) {
		contiguous[e] = e / p->each;
		load[contiguous[e]] += p->load[e];
		most = fmax(most, load[contiguous[e]]);
	}
	if (most <= p->cap && pairs_inside(p, contiguous) > pairs_inside(p, bin_of))
		memcpy(bin_of, contiguous, (size_t)p->experts * sizeof(int));
	arena_reset(scratch, mark);
}

void
solve_pairs(struct arena *arena, const struct layer_problem *p, struct rng *rng,
    struct placement_layer *layer)
{
	struct arena_mark mark = arena_mark(arena);
	int bins = affinity_bins(p), n = p->experts;
	int *bin_of = arena_array(arena, (size_t)n, sizeof(int));
	struct pair_problem pp = {.experts = n,
	    .bins = bins,
	    .each = n / bins,
	    .pairs = p->loads->pairs[p->layer],
	    .load = p->total};
	double all = 0, bound;

	pp.cap = affinity_cap(arena, p, bin_of);
	for (int i = 0; i < n; i++)
		for (int j = i + 1; j < n; j++)
			all += pp.pairs[i * n + j];
	start_contiguous(arena, &pp, bin_of);
	pairs_search(arena, &pp, rng, PAIR_ROUNDS, bin_of);
	bound = pairs_sets_apply(&pp) ? pairs_sets(arena, &pp, bin_of, &layer->objective_proven)
				      : pairs_eigen_bound(arena, &pp, pairs_inside(&pp, bin_of));
	layer->objective_low = all > 0 ? fmax(0, 1 - bound / all) : 0;
	slots_of_bins(arena, p, rng, bin_of, layer->expert_of_slot);
	arena_reset(arena, mark);
}
