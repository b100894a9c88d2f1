/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Placements against all placements there are where those can be listed: the enumerations
 * here share no code with the solvers.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "placement_fixture.h"

#define ROWS(table) (sizeof(table) / sizeof((table)[0]))

TestSuite(placement_all, .init = scratch_open, .fini = scratch_close);

/* --- all placements --- */

/* The least value over all ways to put experts into equal bins, by recursion over experts. */
struct all {
	const struct loads *loads;
	const struct placement_options *options;
	int experts, bins, each;
	int *bin_of, *room;
	double best;
	double (*value)(const struct all *all);
};

static void
try_all(struct all *all, int expert)
{
	if (expert == all->experts) {
		all->best = fmin(all->best, all->value(all));
		return;
	}
	for (int b = 0; b < all->bins; b++) {
		if (all->room[b] == 0)
			continue;
		all->room[b]--;
		all->bin_of[expert] = b;
		try_all(all, expert + 1);
		all->room[b]++;
	}
}

static double
least_of_all(const struct loads *loads, const struct placement_options *options, int bins,
    double (*value)(const struct all *all))
{
	struct all all = {.loads = loads,
	    .options = options,
	    .experts = loads->experts,
	    .bins = bins,
	    .each = loads->experts / bins,
	    .best = INFINITY,
	    .value = value};

	all.bin_of = arena_array(arena, (size_t)all.experts, sizeof(int));
	all.room = arena_array(arena, (size_t)bins, sizeof(int));
	for (int b = 0; b < bins; b++)
		all.room[b] = all.each;
	try_all(&all, 0);
	return all.best;
}

/* sum over snapshots of the slowest bin's time, over that of the mean. */
static double
ratio_of_all(const struct all *all)
{
	double value = 0, sum = 0, speed = 0;

	for (int b = 0; b < all->bins; b++)
		speed += all->options->speed ? all->options->speed[b] : 1;
	for (int t = 0; t < all->loads->snapshots; t++) {
		const double *row = loads_row(all->loads, 0, t, 0);
		double load[16] = {0}, most = 0;

		for (int e = 0; e < all->experts; e++) {
			load[all->bin_of[e]] += row[e];
			sum += row[e];
		}
		for (int b = 0; b < all->bins; b++)
			most = fmax(
			    most, load[b] / (all->options->speed ? all->options->speed[b] : 1));
		value += most;
	}
	return value / (sum / speed);
}

Test(placement_all, brute_force_load)
{
	static const struct {
		int experts, gpus;
		const char *spec;
	} rows[] = {{8, 4, "lognormal=0.4"}, {8, 2, "lognormal=1"}, {9, 3, "zipf=0.6"},
	    {9, 3, "lognormal=0.2"}, {10, 5, "power=2.5"}, {6, 6, "cv=1"}, {12, 3, "cv=0.4"}};

	for (size_t i = 0; i < ROWS(rows); i++)
		for (uint64_t seed = 1; seed <= 5; seed++) {
			const char *spec = arena_printf(
			    arena, "%s,experts=%d,tokens=1000", rows[i].spec, rows[i].experts);
			struct loads *loads = made_up(spec, seed);
			struct placement_options o =
			    options_for(rows[i].gpus, 1, rows[i].experts / rows[i].gpus, GOAL_LOAD);
			const struct placement_layer *layer = &solve(loads, &o)->layer[0];
			double best = least_of_all(loads, &o, rows[i].gpus, ratio_of_all);

			cr_assert_float_eq(layer->cost.ratio, best, 1e-9, "%s seed %d: %g, best %g",
			    spec, (int)seed, layer->cost.ratio, best);
			cr_assert_leq(layer->lower_bound, best * (1 + 1e-9));
		}
}

Test(placement_all, brute_force_snapshots_and_speeds)
{
	static const double speed[3] = {1, 0.8, 1.25};

	for (uint64_t seed = 1; seed <= 6; seed++) {
		struct loads *loads =
		    made_up("cv=0.6,experts=9,tokens=1000,snapshots=3,drift=0.7", seed);
		struct placement_options o = options_for(3, 1, 3, GOAL_LOAD);

		for (int slow = 0; slow < 2; slow++) {
			const struct placement_layer *layer;
			double best;

			o.speed = slow ? speed : NULL;
			layer = &solve(loads, &o)->layer[0];
			best = least_of_all(loads, &o, 3, ratio_of_all);
			cr_assert_float_eq(layer->cost.ratio, best, 1e-9, "seed %d: %g, best %g",
			    (int)seed, layer->cost.ratio, best);
			cr_assert_leq(layer->lower_bound, best * (1 + 1e-9));
		}
	}
}

/* Heaviest with lightest is optimal when a GPU holds two: proved, not searched. */
Test(placement_all, pairing)
{
	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct loads *loads = made_up("lognormal=0.8,experts=32", seed);
		struct placement_options o = options_for(16, 1, 2, GOAL_LOAD);
		const struct placement_layer *layer = &solve(loads, &o)->layer[0];

		cr_assert(layer->proven);
		cr_assert_eq(layer->proof, PROOF_PAIRING);
	}
}

/* --- copies --- */

/* Slots of all GPUs filled with experts in every way, each at least once, none twice on a GPU. */
struct copies_all {
	const double *count;
	int experts, gpus, slots;
	int at[12], copies[6];
	double best;
};

static double
value_of_copies(const struct copies_all *c)
{
	double most = 0;

	for (int g = 0; g < c->gpus; g++) {
		double load = 0;

		for (int k = 0; k < c->slots; k++) {
			int e = c->at[g * c->slots + k];

			load += c->count[e] / c->copies[e];
		}
		most = fmax(most, load);
	}
	return most;
}

static void
try_copies(struct copies_all *c, int slot)
{
	int first = slot / c->slots * c->slots;

	if (slot == c->gpus * c->slots) {
		for (int e = 0; e < c->experts; e++)
			if (c->copies[e] == 0)
				return;
		c->best = fmin(c->best, value_of_copies(c));
		return;
	}
	/* Ascending inside a GPU: the same sets in another order are the same placement. */
	for (int e = slot > first ? c->at[slot - 1] + 1 : 0; e < c->experts; e++) {
		c->at[slot] = e;
		c->copies[e]++;
		try_copies(c, slot + 1);
		c->copies[e]--;
	}
}

Test(placement_all, brute_force_copies)
{
	static const struct {
		int experts, gpus, slots;
	} rows[] = {{4, 3, 2}, {5, 3, 2}, {5, 4, 2}, {4, 2, 3}, {5, 3, 3}, {6, 4, 2}};

	for (size_t i = 0; i < ROWS(rows); i++)
		for (uint64_t seed = 1; seed <= 4; seed++) {
			struct loads *loads =
			    made_up(arena_printf(arena, "lognormal=0.9,experts=%d,tokens=997",
					rows[i].experts),
				seed);
			struct placement_options o =
			    options_for(rows[i].gpus, 1, rows[i].slots, GOAL_LOAD);
			const struct placement_layer *layer = &solve(loads, &o)->layer[0];
			struct copies_all all = {.count = loads->count,
			    .experts = rows[i].experts,
			    .gpus = rows[i].gpus,
			    .slots = rows[i].slots,
			    .best = INFINITY};
			double sum = 0, best;

			for (int e = 0; e < all.experts; e++)
				sum += loads->count[e];
			try_copies(&all, 0);
			best = all.best / (sum / all.gpus);
			cr_assert_float_eq(layer->cost.ratio, best, 1e-9,
			    "row %zu seed %d: %.9g, best %.9g", i, (int)seed, layer->cost.ratio,
			    best);
			cr_assert_leq(layer->lower_bound, best * (1 + 1e-9));
			cr_assert_leq(layer->split_low, best * (1 + 1e-6));
		}
}

/* --- traffic --- */

/* Share that leaves under the best GPU assignment of all for the price. */
static double
price_of_all(const struct all *all)
{
	struct assignment a = {.copies = all->experts};
	struct placement_cost cost;

	a.expert = arena_array(arena, (size_t)all->experts, sizeof(int));
	a.gpu = all->bin_of;
	for (int e = 0; e < all->experts; e++)
		a.expert[e] = e;
	placement_cost(arena, all->loads, all->options, 0, &a, NULL, &cost);
	return cost.ratio *
	       (all->options->price.compute + all->options->price.traffic * cost.share);
}

Test(placement_all, brute_force_traffic)
{
	for (uint64_t seed = 1; seed <= 8; seed++) {
		struct loads *loads =
		    made_up("lognormal=0.5,experts=8,nodes=2,affinity=0.7,tokens=2000", seed);
		struct placement_options o = options_for(4, 2, 2, GOAL_TRAFFIC);
		const struct placement *p = solve(loads, &o);
		const struct placement_layer *layer = &p->layer[0];
		struct arena_mark mark = arena_mark(arena);
		double best = least_of_all(loads, &o, 4, price_of_all);
		double price =
		    layer->cost.ratio * (o.price.compute + o.price.traffic * layer->cost.share);

		cr_assert_leq(
		    price, best * (1 + 0.02), "seed %d: %g, best %g", (int)seed, price, best);
		cr_assert_geq(price, best * (1 - 1e-9));
		/* what is proved holds for the best of all */
		cr_assert_geq(best * (1 + 1e-9), price / (1 + layer->price_gap));
		arena_reset(arena, mark);
	}
}

/* Shuffled data: every node sends the same, no placement helps, and that is said. */
Test(placement_all, no_traffic_to_save)
{
	struct loads *loads = made_up("cv=0.4,experts=32,nodes=4,layers=3", 1);
	struct placement_options o = options_for(8, 4, 4, GOAL_TRAFFIC);
	const struct placement *p = solve(loads, &o);

	cr_assert(p->no_traffic_gain);
	cr_assert_float_eq(p->mean.share, 0.75, 0.01);
	for (int l = 0; l < p->layers; l++)
		cr_assert_leq(p->layer[l].gap, 0.005);
}

Test(placement_all, traffic_points_are_proved)
{
	struct loads *loads = made_up("cv=0.4,experts=64,nodes=4,layers=2,affinity=0.5", 3);
	struct placement_options o = options_for(16, 4, 4, GOAL_TRAFFIC);
	const struct placement *p = solve(loads, &o);

	cr_assert_not(p->no_traffic_gain);
	cr_assert_lt(p->mean.share, 0.66);
	for (int l = 0; l < p->layers; l++)
		for (int k = 1; k < PLACEMENT_POINTS; k++) {
			const struct placement_point *point = &p->layer[l].points[k];

			cr_assert(point->feasible && point->share_proven);
			cr_assert_leq(point->cost.node_ratio, 1 + placement_tolerances[k] + 1e-6);
			cr_assert_geq(point->cost.share, point->share_low - 1e-9);
			if (k > 1)
				cr_assert_leq(point->share_low, point[-1].share_low + 1e-9);
		}
}

/* --- pairs and hops --- */

static double
split_of_all(const struct all *all)
{
	const float *pairs = all->loads->pairs[0];
	double together = 0, sum = 0;

	for (int i = 0; i < all->experts; i++)
		for (int j = i + 1; j < all->experts; j++) {
			sum += pairs[i * all->experts + j];
			if (all->bin_of[i] == all->bin_of[j])
				together += pairs[i * all->experts + j];
		}
	return 1 - together / sum;
}

/* Equal loads, so that the cap never binds; pair weights from a fixed recurrence. */
static struct loads *
pair_loads(int experts, unsigned seed)
{
	struct loads *loads = loads_new(arena, 1, 1, 1, experts);

	loads->pairs[0] = arena_array(arena, (size_t)(experts * experts), sizeof(float));
	for (int e = 0; e < experts; e++)
		loads->count[e] = 100;
	for (int i = 0; i < experts; i++)
		for (int j = i + 1; j < experts; j++) {
			seed = seed * 1664525 + 1013904223;
			loads->pairs[0][i * experts + j] = loads->pairs[0][j * experts + i] =
			    (float)(seed >> 24);
		}
	return loads;
}

Test(placement_all, brute_force_pairs)
{
	static const struct {
		int experts, gpus;
	} rows[] = {{8, 4}, {8, 2}, {9, 3}, {10, 2}, {12, 3}};

	for (size_t i = 0; i < ROWS(rows); i++)
		for (unsigned seed = 1; seed <= 3; seed++) {
			struct loads *loads = pair_loads(rows[i].experts, seed);
			struct placement_options o = options_for(
			    rows[i].gpus, 1, rows[i].experts / rows[i].gpus, GOAL_PAIRS);
			const struct placement_layer *layer = &solve(loads, &o)->layer[0];
			double best = least_of_all(loads, &o, rows[i].gpus, split_of_all);

			cr_assert_float_eq(layer->cost.split, best, 1e-6,
			    "row %zu seed %u: %g, best %g", i, seed, layer->cost.split, best);
			cr_assert_leq(layer->objective_low, best + 1e-6);
			cr_assert_gt(layer->objective_low, 0.5 * best, "row %zu: bound %g of %g", i,
			    layer->objective_low, best);
		}
}

/* Two layers of four experts on two GPUs: all 36 pairs of placements. */
Test(placement_all, brute_force_hops)
{
	static const int halves[6][4] = {
	    {0, 0, 1, 1}, {0, 1, 0, 1}, {0, 1, 1, 0}, {1, 0, 0, 1}, {1, 0, 1, 0}, {1, 1, 0, 0}};

	for (unsigned seed = 1; seed <= 10; seed++) {
		struct loads *loads = loads_new(arena, 2, 1, 1, 4);
		struct placement_options o = options_for(2, 1, 2, GOAL_CHAIN);
		const struct placement *p;
		unsigned state = seed;
		double best = 1;

		loads->next[0] = arena_array(arena, 16, sizeof(float));
		for (int i = 0; i < 16; i++) {
			state = state * 1664525 + 1013904223;
			loads->next[0][i] = (float)(state >> 24);
		}
		for (int e = 0; e < 8; e++)
			loads->count[e] = 100;
		for (int s = 0; s < 6; s++)
			for (int t = 0; t < 6; t++) {
				double stay = 0, all = 0;

				for (int i = 0; i < 16; i++) {
					all += loads->next[0][i];
					if (halves[s][i / 4] == halves[t][i % 4])
						stay += loads->next[0][i];
				}
				best = fmin(best, 1 - stay / all);
			}
		p = solve(loads, &o);
		cr_assert(p->chain_proven);
		cr_assert_float_eq(p->layer[0].cost.hops, best, 1e-6);
		cr_assert_float_eq(p->chain_low, best, 1e-6);
	}
}

/* By turns the answer is a local optimum above its bound. */
Test(placement_all, hops_by_turns)
{
	struct loads *loads = loads_new(arena, 3, 1, 1, 16);
	struct placement_options o = options_for(4, 1, 4, GOAL_CHAIN);
	unsigned state = 7;
	const struct placement *p;

	for (int l = 0; l < 2; l++) {
		loads->next[l] = arena_array(arena, 256, sizeof(float));
		for (int i = 0; i < 256; i++) {
			state = state * 1664525 + 1013904223;
			loads->next[l][i] = (float)(state >> 28);
		}
	}
	for (int i = 0; i < 48; i++)
		loads->count[i] = 100;
	p = solve(loads, &o);
	cr_assert_not(p->chain_proven);
	cr_assert_leq(p->chain_low, p->mean.hops);
	cr_assert_lt(p->mean.hops, p->baseline_mean[BASELINE_CONTIGUOUS].hops);
}
