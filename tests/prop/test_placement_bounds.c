/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What must hold of every placement, whatever the loads and the machine. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "planner/placement_private.h"
#include "planner/placement_skew.h"

static struct arena *arena;
static struct diags *diags;
static uint32_t seed = 4711;

static uint32_t
next(uint32_t below)
{
	seed = seed * 1664525 + 1013904223;
	return (seed >> 8) % below;
}

static void
setup(void)
{
	arena = arena_new(NULL, NULL);
	diags = diags_new(arena);
}

static void
teardown(void)
{
	arena_free(arena);
}

TestSuite(placement_bounds, .init = setup, .fini = teardown);

static const char *const kinds[] = {"lognormal=0.2", "lognormal=0.5", "lognormal=1.2", "zipf=0.6",
    "zipf=1.1", "power=2.2", "balanced"};

/* Random loads: experts, gpus and slots that fit together. */
struct any {
	struct loads *loads;
	struct placement_options options;
};

static struct any
any_problem(const char *more)
{
	static const int gpus[] = {2, 3, 4, 8, 16};
	struct loc nowhere = {NULL, 0, 0};
	struct any any = {NULL, {.groups = 8, .quick = next(2) == 0, .capacity = 1.25}};
	int slots = 1 + (int)next(6);
	struct loads_spec spec;
	const char *text;

	any.options.gpus = gpus[next(5)];
	any.options.nodes = 1;
	any.options.slots_per_gpu = slots;
	any.options.price = placement_price_default(1);
	text = arena_printf(arena, "%s,experts=%d,tokens=%d%s", kinds[next(7)],
	    any.options.gpus * slots, 500 + (int)next(100000), more);
	loads_spec_init(&spec);
	cr_assert_eq(loads_spec_parse(arena, diags, nowhere, text, &spec), 0);
	any.loads = loads_generate(arena, &spec, next(1000000));
	for (int e = 0; e < any.loads->experts; e++)
		any.loads->count[e] += 1; /* no expert without a token: rounding may leave none */
	return any;
}

static const struct placement_layer *
solve(const struct any *any)
{
	const struct placement *p = placement_solve(arena, diags, any->loads, &any->options);

	cr_assert_not_null(p, "%s", diags->last ? diags->last->message : "");
	cr_assert_eq(placement_verify(p, any->loads, &any->options, diags), 0);
	return &p->layer[0];
}

Test(placement_bounds, bounds_and_baselines)
{
	for (int round = 0; round < 300; round++) {
		struct any any = any_problem("");
		const struct placement_layer *layer = solve(&any);

		cr_assert_leq(layer->lower_bound, layer->cost.ratio * (1 + 1e-9));
		cr_assert_geq(layer->lower_bound, 1 - 1e-9);
		for (int b = 0; b < BASELINES; b++) {
			double ratio = layer->baseline[b].ratio;

			cr_assert(ratio <= 0 || layer->cost.ratio <= ratio * (1 + 1e-9),
			    "round %d: %g, %s %g", round, layer->cost.ratio, baseline_names[b],
			    ratio);
			/* nobody is below the bound */
			cr_assert(ratio <= 0 || layer->lower_bound <= ratio * (1 + 1e-9));
		}
	}
}

/* Other numbers for the experts, other units for the loads: the same bound, the same balance. */
Test(placement_bounds, names_and_units_do_not_matter)
{
	for (int round = 0; round < 60; round++) {
		struct any any = any_problem(""), other = any;
		const struct placement_layer *one = solve(&any), *two;
		int n = any.loads->experts;

		other.loads = loads_new(arena, 1, 1, 1, n);
		for (int e = 0; e < n; e++)
			other.loads->count[e] = 4 * any.loads->count[(e * 5 + 3) % n];
		if (n % 5 == 0)
			continue; /* 5 e + 3 would not meet every expert */
		two = solve(&other);
		cr_assert_float_eq(one->lower_bound, two->lower_bound, 2e-3 * one->lower_bound);
		cr_assert_float_eq(one->cost.ratio, two->cost.ratio, 5e-3 * one->cost.ratio,
		    "round %d: %g and %g", round, one->cost.ratio, two->cost.ratio);
	}
}

Test(placement_bounds, same_seed_same_slots)
{
	for (int round = 0; round < 30; round++) {
		struct any any = any_problem("");
		const struct placement_layer *one, *two;
		size_t size = (size_t)any.loads->experts * sizeof(int);

		any.options.seed = next(100);
		one = solve(&any);
		two = solve(&any);
		cr_assert_eq(memcmp(one->expert_of_slot, two->expert_of_slot, size), 0);
	}
}

/* An expert that is not yet on the GPU. */
static int
another(const int *slots, int n, int experts)
{
	int expert = (int)next((uint32_t)experts);
	bool there = true;

	while (there) {
		there = false;
		expert = (expert + 1) % experts;
		for (int k = 0; k < n; k++)
			there = there || slots[k] == expert;
	}
	return expert;
}

/*
 * A slot more on every GPU, filled with any expert: what dispatch weights can reach never
 * gets worse, nor does the bound. (With even weights it can: two GPUs with three slots for four
 * experts share two of them, and the other two decide.)
 */
Test(placement_bounds, copies_do_not_hurt)
{
	for (int round = 0; round < 60; round++) {
		struct any any = any_problem(""), more = any;
		int k = any.options.slots_per_gpu, gpus = any.options.gpus, n = any.loads->experts;
		const struct placement_layer *without = solve(&any);
		int *slots = arena_array(arena, (size_t)(gpus * (k + 1)), sizeof(int));
		struct layer_problem p, q;

		if (k == n)
			continue;
		more.options.slots_per_gpu++;
		for (int g = 0; g < gpus; g++) {
			memcpy(slots + g * (k + 1), without->expert_of_slot + g * k,
			    (size_t)k * sizeof(int));
			slots[g * (k + 1) + k] = another(slots + g * (k + 1), k, n);
		}
		layer_problem_init(arena, &p, any.loads, &any.options, 0);
		layer_problem_init(arena, &q, more.loads, &more.options, 0);
		cr_assert_leq(split_bound(arena, &q, slots),
		    split_bound(arena, &p, without->expert_of_slot) * (1 + 1e-6));
		cr_assert_leq(solve(&more)->lower_bound, without->lower_bound * (1 + 1e-9));
	}
}

/* The same moment twice is that moment. */
Test(placement_bounds, snapshots_that_repeat)
{
	for (int round = 0; round < 30; round++) {
		struct any any = any_problem(""), twice;
		const struct placement_layer *one, *two;
		int n = any.loads->experts;

		any.options.quick = true; /* the closed form: proofs beyond it are for one moment */
		twice = any;
		one = solve(&any);
		twice.loads = loads_new(arena, 1, 2, 1, n);
		for (int t = 0; t < 2; t++)
			memcpy(twice.loads->count + t * n, any.loads->count,
			    (size_t)n * sizeof(double));
		two = solve(&twice);
		cr_assert_float_eq(one->lower_bound, two->lower_bound, 1e-3 * one->lower_bound);
		cr_assert_leq(two->cost.ratio, one->cost.ratio * 1.02);
		cr_assert_geq(two->cost.ratio, one->lower_bound * (1 - 1e-3));
	}
}

/* Traffic: every share is above its bound, and the chosen price is no higher than load alone's. */
Test(placement_bounds, traffic)
{
	for (int round = 0; round < 25; round++) {
		struct any any = any_problem(",nodes=2,affinity=0.6");
		struct placement_options *o = &any.options;
		const struct placement_layer *layer;
		const struct placement_cost *load;

		if (o->gpus % 2 != 0)
			continue;
		o->nodes = 2;
		o->goal = GOAL_TRAFFIC;
		o->price = placement_price_default(2);
		for (int i = 0; i < 2 * any.loads->experts; i++)
			any.loads->count[i] += 1;
		layer = solve(&any);
		for (int k = 1; k < PLACEMENT_POINTS; k++)
			if (layer->points[k].feasible)
				cr_assert_geq(
				    layer->points[k].cost.share, layer->points[k].share_low - 1e-9);
		load = &layer->points[0].cost;
		if (layer->points[0].feasible)
			cr_assert_leq(layer->cost.ratio *
					  (o->price.compute + o->price.traffic * layer->cost.share),
			    load->ratio * (o->price.compute + o->price.traffic * load->share) *
				(1 + 1e-9));
	}
}
