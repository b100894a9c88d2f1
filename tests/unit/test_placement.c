/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Placements against published examples: maps, moves, what is refused, what is measured. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "placement_fixture.h"
#include "planner/placement_eigen.h"
#include "planner/placement_move.h"
#include "planner/placement_skew.h"

#define ROWS(table) (sizeof(table) / sizeof((table)[0]))

TestSuite(placement, .init = scratch_open, .fini = scratch_close);

/* --- published examples --- */

static const double eplb_example[2][12] = {
    {90, 132, 40, 61, 104, 165, 39, 4, 73, 56, 183, 86},
    {20, 107, 104, 64, 19, 197, 187, 157, 172, 86, 16, 27},
};

/* Experts of a GPU as a bit set. */
static unsigned
gpu_set(const struct assignment *a, int gpu)
{
	unsigned set = 0;

	for (int i = 0; i < a->copies; i++)
		if (a->gpu[i] == gpu)
			set |= 1U << a->expert[i];
	return set;
}

/* README of deepseek-ai/EPLB: 12 experts, 16 slots, 4 groups, 2 nodes, 8 GPUs, with its map. */
Test(placement, eplb_readme_map)
{
	static const int map[2][16] = {
	    {5, 6, 5, 7, 8, 4, 3, 4, 10, 9, 10, 2, 0, 1, 11, 1},
	    {7, 10, 6, 8, 6, 11, 8, 9, 2, 4, 5, 1, 5, 0, 3, 1},
	};

	for (int l = 0; l < 2; l++) {
		struct loads *loads = one_layer(eplb_example[l], 12);
		struct placement_options o = options_for(8, 2, 2, GOAL_LOAD);
		struct assignment *a = placement_baseline(arena, loads, &o, 0, BASELINE_EPLB_NODES);
		struct assignment published = assignment_of_slots(arena, map[l], 16, 2);
		struct placement_cost ours, theirs;

		cr_assert_not_null(a);
		placement_cost(arena, loads, &o, 0, a, NULL, &ours);
		placement_cost(arena, loads, &o, 0, &published, NULL, &theirs);
		cr_assert_float_eq(ours.ratio, theirs.ratio, 1e-12, "layer %d", l);
		for (int node = 0; node < 2; node++) {
			unsigned sets[2] = {0, 0};

			for (int g = 4 * node; g < 4 * node + 4; g++) {
				sets[0] |= gpu_set(a, g);
				sets[1] |= gpu_set(&published, g);
			}
			cr_assert_eq(sets[0], sets[1], "layer %d node %d", l, node);
		}
	}
}

Test(placement, eplb_readme_ratios)
{
	static const double hierarchical[2] = {1.208, 1.242}, global[2] = {1.073, 1.190};

	for (int l = 0; l < 2; l++) {
		struct loads *loads = one_layer(eplb_example[l], 12);
		struct placement_options o = options_for(8, 2, 2, GOAL_LOAD);
		const struct placement *p = solve(loads, &o);
		const struct placement_layer *layer = &p->layer[0];

		cr_assert_float_eq(
		    layer->baseline[BASELINE_EPLB_NODES].ratio, hierarchical[l], 5e-4);
		cr_assert_float_eq(layer->baseline[BASELINE_EPLB].ratio, global[l], 5e-4);
		cr_assert_leq(layer->cost.ratio, layer->baseline[BASELINE_EPLB].ratio * (1 + 1e-9));
	}
}

/*
 * The example of vLLM's FlashLB policy: EPLB reaches 232, its authors say 205; all 6,435
 * ways to spread eight copies say 196.67 is the least.
 */
Test(placement, flashlb_example)
{
	static const double count[8] = {600, 560, 120, 120, 20, 10, 10, 10};
	struct loads *loads = one_layer(count, 8);
	struct placement_options o = options_for(8, 1, 2, GOAL_LOAD);
	const struct placement *p = solve(loads, &o);
	double mean = 1450.0 / 8;

	cr_assert_float_eq(p->layer[0].baseline[BASELINE_EPLB].ratio * mean, 232, 0.5);
	cr_assert_float_eq(p->layer[0].cost.ratio * mean, 196.0 + 2.0 / 3, 1e-6);
	cr_assert(p->layer[0].proven);
	cr_assert_eq(p->layer[0].proof, PROOF_COUNTS);
}

/* Zipf's law with exponent 1: the hottest expert alone decides, EPLB is optimal and proved so. */
Test(placement, zipf_ratios)
{
	static const struct {
		int experts, gpus;
		double ratio;
	} rows[] = {{8, 4, 1.656}, {16, 8, 2.514}, {64, 8, 1.880}, {64, 16, 3.533},
	    {128, 16, 3.110}, {256, 32, 5.370}, {256, 64, 10.573}};

	for (size_t i = 0; i < ROWS(rows); i++) {
		int experts = rows[i].experts, slots = experts / rows[i].gpus;
		double *count = arena_array(arena, (size_t)experts, sizeof(double));
		struct placement_options o = options_for(rows[i].gpus, 1, slots, GOAL_LOAD);
		const struct placement_layer *layer;

		for (int e = 0; e < experts; e++)
			count[e] = 1.0 / (1 + (e * 37 + 11) % experts);
		layer = &solve(one_layer(count, experts), &o)->layer[0];
		cr_assert_float_eq(layer->cost.ratio, rows[i].ratio, 5e-4, "%d, %d: %g", experts,
		    rows[i].gpus, layer->cost.ratio);
		cr_assert_float_eq(layer->baseline[BASELINE_EPLB].ratio, layer->cost.ratio, 1e-9);
		cr_assert(layer->proven);
	}
}

/* --- moves --- */

/* A placement that only renames GPUs moves nothing. */
Test(placement, names_are_free)
{
	struct loads *loads = made_up("cv=0.4,experts=32", 5);
	struct placement_options o = options_for(8, 1, 4, GOAL_LOAD);
	const struct placement *first = solve(loads, &o), *second;
	int from[32];

	for (int s = 0; s < 32; s++)
		from[s] = first->layer[0].expert_of_slot[(s + 12) % 32];
	o.from = from;
	second = solve(loads, &o);
	cr_assert_eq(second->layer[0].moved, 0);
	cr_assert_float_eq(second->layer[0].cost.ratio, first->layer[0].cost.ratio, 1e-6);
	for (int s = 0; s < 32; s++)
		cr_assert_eq(second->layer[0].expert_of_slot[s], from[s]);
}

/* Slots whose expert the GPU of the same name does not have yet, under a renaming of four GPUs. */
static int
moves_when_named(const int *from, const int *to, const int name[4])
{
	int moves = 0;

	for (int s = 0; s < 12; s++) {
		bool there = false;

		for (int k = 0; k < 3; k++)
			there = there || from[name[s / 3] * 3 + k] == to[s];
		moves += !there;
	}
	return moves;
}

/* Names by assignment, against all 24 of them. */
Test(placement, names_with_least_moves)
{
	struct loads *loads = made_up("cv=0.4,experts=12", 1);
	struct placement_options o = options_for(4, 1, 3, GOAL_LOAD);
	struct layer_problem p;
	unsigned state = 1;

	layer_problem_init(arena, &p, loads, &o, 0);
	for (int round = 0; round < 50; round++) {
		int from[12], to[12], old[12], least = 12;

		for (int s = 0; s < 12; s++)
			from[s] = to[s] = s;
		for (int s = 11; s > 0; s--) {
			int other, swap = to[s];

			state = state * 1664525 + 1013904223;
			other = (int)((state >> 8) % (unsigned)(s + 1));
			to[s] = to[other];
			to[other] = swap;
		}
		memcpy(old, to, sizeof(old));
		for (int code = 0; code < 256; code++) {
			int name[4] = {code & 3, code >> 2 & 3, code >> 4 & 3, code >> 6 & 3};
			unsigned met = 0;

			for (int i = 0; i < 4; i++)
				met |= 1U << name[i];
			if (met == 15 && moves_when_named(from, old, name) < least)
				least = moves_when_named(from, old, name);
		}
		placement_rename(arena, &p, from, true, to);
		cr_assert_eq(placement_moves(&p, from, to), least, "round %d", round);
	}
}

/* A price on moves means fewer moves and no better balance. */
Test(placement, moves_have_a_price)
{
	struct loads *loads = made_up("cv=0.4,experts=64", 5);
	struct placement_options o = options_for(8, 1, 8, GOAL_LOAD);
	const struct placement *free_moves = solve(loads, &o), *dear, *none;

	o.move_cost = 0.002;
	dear = solve(loads, &o);
	o.move_cost = 1;
	none = solve(loads, &o);
	cr_assert_lt(dear->moved, free_moves->moved);
	cr_assert_gt(dear->moved, 0);
	cr_assert_geq(dear->mean.ratio, free_moves->mean.ratio);
	cr_assert_lt(dear->mean.ratio, none->mean.ratio);
	cr_assert_eq(none->moved, 0);
}

/* --- eigenvalues --- */

/* A v = value v, vectors orthonormal, values falling, for sizes around the special cases. */
Test(placement, eigenvalues)
{
	static const int sizes[] = {1, 2, 3, 10, 33, 64};
	unsigned state = 9;

	for (size_t i = 0; i < ROWS(sizes); i++) {
		int n = sizes[i];
		double *a = arena_array(arena, (size_t)(n * n), sizeof(double));
		double *q = arena_array(arena, (size_t)(n * n), sizeof(double));
		double *value = arena_array(arena, (size_t)n, sizeof(double));

		for (int r = 0; r < n; r++)
			for (int c = 0; c <= r; c++) {
				state = state * 1664525 + 1013904223;
				a[r * n + c] = a[c * n + r] =
				    (double)(state >> 8) / (1 << 24) - 0.5;
			}
		eigen_symmetric(arena, a, n, value, q);
		for (int k = 0; k < n; k++) {
			cr_assert(k == 0 || value[k] <= value[k - 1]);
			for (int r = 0; r < n; r++) {
				double image = 0, dot = 0;

				for (int c = 0; c < n; c++) {
					image += a[r * n + c] * q[k * n + c];
					dot += q[r * n + c] * q[k * n + c];
				}
				cr_assert_float_eq(image, value[k] * q[k * n + r], 1e-10);
				cr_assert_float_eq(dot, r == k ? 1 : 0, 1e-10);
			}
		}
	}
}

/* --- what is refused, and what a check would notice --- */

static const char *
refused(const struct loads *loads, struct placement_options options)
{
	int errors = diags->errors;

	cr_assert_null(placement_solve(arena, diags, loads, &options));
	cr_assert_gt(diags->errors, errors);
	return diags->last->message;
}

Test(placement, refusals)
{
	struct loads *loads = made_up("cv=0.4,experts=12,nodes=3", 1);

	cr_assert(strstr(refused(loads, options_for(5, 1, 2, GOAL_LOAD)), "do not fit"));
	cr_assert(strstr(refused(loads, options_for(2, 1, 13, GOAL_LOAD)), "holds an expert once"));
	cr_assert(strstr(refused(loads, options_for(6, 4, 2, GOAL_LOAD)), "do not divide"));
	cr_assert(strstr(refused(loads, options_for(6, 2, 2, GOAL_LOAD)), "counts of 3 nodes"));
	cr_assert(strstr(refused(loads, options_for(6, 3, 3, GOAL_TRAFFIC)), "by load alone"));
	cr_assert(
	    strstr(refused(loads, options_for(6, 1, 2, GOAL_TRAFFIC)), "on which of 1 nodes"));
	cr_assert(strstr(refused(loads, options_for(6, 3, 2, GOAL_PAIRS)), "no pairs"));
	cr_assert(strstr(refused(loads, options_for(6, 3, 2, GOAL_CHAIN)), "no transitions"));
}

Test(placement, the_check_notices)
{
	struct loads *loads = made_up("cv=0.4,experts=16", 1);
	struct placement_options o = options_for(4, 1, 4, GOAL_LOAD);
	struct placement *p = placement_solve(arena, diags, loads, &o);
	int *slots = p->layer[0].expert_of_slot, keep = slots[3];

	cr_assert_eq(placement_verify(p, loads, &o, diags), 0);
	slots[3] = slots[2];
	cr_assert_eq(placement_verify(p, loads, &o, diags), -1);
	slots[3] = keep;
	p->layer[0].cost.ratio *= 1.001;
	cr_assert_eq(placement_verify(p, loads, &o, diags), -1);
	p->layer[0].cost.ratio /= 1.001;
	p->layer[0].lower_bound = p->layer[0].cost.ratio * 1.001;
	cr_assert_eq(placement_verify(p, loads, &o, diags), -1);
}

/* --- metrics --- */

Test(placement, metrics)
{
	static const double count[4] = {10, 20, 30, 40};
	struct layer_stats stats;

	layer_stats(count, 4, &stats);
	cr_assert_float_eq(stats.max_over_mean, 1.6, 1e-12);
	cr_assert_float_eq(stats.min_over_mean, 0.4, 1e-12);
	cr_assert_float_eq(stats.variance, 125, 1e-9);
	cr_assert_float_eq(stats.cv, sqrt(125) / 25, 1e-12);
	cr_assert_float_eq(stats.entropy_bits, 1.846439344671, 1e-9);
	cr_assert(stats.hottest[0] == 3 && stats.hottest[1] == 2 && stats.hottest[2] == 1);
	cr_assert_float_eq(layer_dropped(count, 4, 1), 0.2, 1e-12);
	cr_assert_float_eq(layer_dropped(count, 4, 1.25), 0.0875, 1e-12);
	cr_assert_float_eq(layer_dropped(count, 4, 2), 0, 1e-12);
}
