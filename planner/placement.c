/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which expert goes on which GPU, in every layer, and how good is that provably?
 *
 * Layers are independent but for GOAL_CHAIN. Each layer's random numbers start from
 * the seed and the layer, so that the answer does not depend on the order of work.
 * Every number of the result comes from placement_cost(), which knows the counts and the
 * finished assignment and nothing of how it was found.
 */
#include "planner/placement.h"

#include <math.h>
#include <string.h>
#include <time.h>

#include "base/arena.h"
#include "base/str.h"
#include "planner/placement_chain.h"
#include "planner/placement_move.h"
#include "planner/placement_pairs.h"
#include "planner/placement_private.h"
#include "planner/placement_traffic.h"

/* A gap that counts as closed, and the one that is worth telling. */
#define PROVEN_GAP 1e-6
#define WITHIN_GAP 5e-4
/* Less than this part of contiguous placement's traffic is not worth a placement. */
#define LEAST_TRAFFIC_GAIN 0.02

/* --- what is refused --- */

static struct loc
file_of(const struct loads *loads)
{
	return (struct loc){loads->name, 0, 0};
}

static int
check_slots(struct diags *diags, const struct loads *loads, const struct placement_options *o)
{
	long long slots = (long long)o->gpus * o->slots_per_gpu, experts = loads->experts;
	long long copies = slots - experts;

	if (copies < 0) {
		diag_error(diags, file_of(loads),
		    "%lld experts do not fit into %lld slots (%d GPUs x %d)", experts, slots,
		    o->gpus, o->slots_per_gpu);
		diag_last_hint(
		    diags, "%lld slots a GPU hold them", (experts + o->gpus - 1) / o->gpus);
		return -1;
	}
	if (o->slots_per_gpu > experts)
		return diag_error(diags, file_of(loads),
		    "%d slots a GPU for %lld experts: a GPU holds an expert once", o->slots_per_gpu,
		    experts);
	return 0;
}

static int
check_nodes(struct diags *diags, const struct loads *loads, const struct placement_options *o)
{
	if (o->gpus % o->nodes != 0)
		return diag_error(diags, file_of(loads), "%d GPUs do not divide over %d nodes",
		    o->gpus, o->nodes);
	if (loads->kind == LOADS_NODES && o->nodes > 1 && loads->sources % o->nodes != 0) {
		diag_error(diags, file_of(loads),
		    "counts of %d nodes (or ranks) do not divide over %d nodes", loads->sources,
		    o->nodes);
		diag_last_hint(diags, "the number of sources is a multiple of --nodes");
		return -1;
	}
	return 0;
}

static int
check_goal(struct diags *diags, const struct loads *loads, const struct placement_options *o)
{
	bool copies = o->gpus * o->slots_per_gpu > loads->experts;
	bool has_pairs = true, has_next = loads->layers > 1;

	if (o->goal == GOAL_LOAD)
		return 0;
	if (copies)
		return diag_error(diags, file_of(loads),
		    "copies of experts are placed by load alone, not by %s", goal_names[o->goal]);
	if (o->goal == GOAL_TRAFFIC && !sources_are_nodes(loads, o))
		return diag_error(diags, file_of(loads),
		    "the counts do not say on which of %d nodes tokens are", o->nodes);
	for (int l = 0; l < loads->layers; l++) {
		has_pairs = has_pairs && loads->pairs[l];
		has_next = has_next && (l + 1 == loads->layers || loads->next[l]);
	}
	if (o->goal == GOAL_PAIRS && !has_pairs)
		return diag_error(diags, file_of(loads),
		    "there are no pairs of experts that tokens pick together in every layer");
	if (o->goal == GOAL_CHAIN && !has_next)
		return diag_error(diags, file_of(loads),
		    "there are no transitions between all neighbouring layers");
	return 0;
}

int
placement_check_options(
    struct diags *diags, const struct loads *loads, const struct placement_options *o)
{
	if (check_slots(diags, loads, o) != 0 || check_nodes(diags, loads, o) != 0)
		return -1;
	return check_goal(diags, loads, o);
}

/* --- one layer --- */

/* The run: options, clock, and the problem of each layer. */
struct run {
	struct arena *arena;
	const struct loads *loads;
	const struct placement_options *o;
	struct placement *placement;
	double start_s;
};

static double
now_s(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* Whether the time is up; what was not begun is then left out. */
static bool
out_of_time(struct run *run)
{
	if (run->o->time_limit_s <= 0 || now_s() - run->start_s < run->o->time_limit_s)
		return false;
	run->placement->stopped_early = true;
	return true;
}

static void
tell(const struct run *run, double fraction, const char *what)
{
	if (run->o->progress)
		run->o->progress(run->o->progress_context, fraction, what);
}

static struct rng
layer_rng(const struct run *run, int layer)
{
	struct rng rng = {run->o->seed * 0x9e3779b97f4a7c15 + (uint64_t)layer + 1};

	rng_next(&rng);
	return rng;
}

static void
layer_baselines(struct run *run, int l, struct placement_layer *layer)
{
	for (int b = 0; b < BASELINES; b++) {
		struct arena_mark mark = arena_mark(run->arena);
		struct assignment *a =
		    placement_baseline(run->arena, run->loads, run->o, l, (enum baseline)b);
		struct assignment *next = l + 1 < run->loads->layers && run->loads->next[l]
					      ? placement_baseline(run->arena, run->loads, run->o,
						    l + 1, (enum baseline)b)
					      : NULL;

		if (a)
			placement_cost(
			    run->arena, run->loads, run->o, l, a, next, &layer->baseline[b]);
		arena_reset(run->arena, mark);
	}
}

static void
layer_cost(struct run *run, int l, struct placement_layer *layer)
{
	struct arena_mark mark = arena_mark(run->arena);
	int slots = run->o->gpus * run->o->slots_per_gpu;
	struct assignment a =
	    assignment_of_slots(run->arena, layer->expert_of_slot, slots, run->o->slots_per_gpu);
	struct assignment next;

	if (l + 1 < run->loads->layers)
		next = assignment_of_slots(run->arena, run->placement->layer[l + 1].expert_of_slot,
		    slots, run->o->slots_per_gpu);
	placement_cost(run->arena, run->loads, run->o, l, &a,
	    l + 1 < run->loads->layers ? &next : NULL, &layer->cost);
	arena_reset(run->arena, mark);
}

static void
solve_layer(struct run *run, int l)
{
	struct placement_layer *layer = &run->placement->layer[l];
	struct arena_mark mark = arena_mark(run->arena);
	struct rng rng = layer_rng(run, l);
	struct placement_options options = *run->o;
	struct layer_problem p;
	struct load_answer answer;

	options.quick = options.quick || out_of_time(run);
	layer_problem_init(run->arena, &p, run->loads, &options, l);
	layer_stats(p.total, p.experts, &layer->stats);
	layer->dropped = layer_dropped(p.total, p.experts, run->o->capacity);
	answer = solve_load(run->arena, &p, &rng);
	memcpy(
	    layer->expert_of_slot, answer.expert_of_slot, (size_t)(p.gpus * p.slots) * sizeof(int));
	layer->lower_bound = ratio_of(&p, answer.bound);
	layer->proof = answer.proof;
	if (run->o->goal == GOAL_TRAFFIC && !run->placement->no_traffic_gain)
		solve_traffic(run->arena, &p, &answer, &rng, layer);
	if (run->o->goal == GOAL_PAIRS)
		solve_pairs(run->arena, &p, &rng, layer);
	arena_reset(run->arena, mark);
}

static void
prove_layer(struct run *run, int l)
{
	struct placement_layer *layer = &run->placement->layer[l];
	struct arena_mark mark = arena_mark(run->arena);
	struct layer_problem p;

	layer_problem_init(run->arena, &p, run->loads, run->o, l);
	if (!run->o->quick && !out_of_time(run))
		prove_traffic(run->arena, &p, layer);
	arena_reset(run->arena, mark);
}

/* Contiguous experts, as frameworks start; NULL when copies make that no full placement. */
static const int *
placement_in_use(struct run *run, int l)
{
	int slots = run->o->gpus * run->o->slots_per_gpu;
	int *contiguous;

	if (run->o->from)
		return run->o->from + (size_t)l * (size_t)slots;
	if (slots > run->loads->experts)
		return NULL;
	contiguous = arena_array(run->arena, (size_t)slots, sizeof(int));
	for (int s = 0; s < slots; s++)
		contiguous[s] = s;
	return contiguous;
}

static void
cost_of_slots(struct run *run, int l, const int *slots, struct placement_cost *cost)
{
	struct assignment a = assignment_of_slots(
	    run->arena, slots, run->o->gpus * run->o->slots_per_gpu, run->o->slots_per_gpu);

	placement_cost(run->arena, run->loads, run->o, l, &a, NULL, cost);
}

/* Names of GPUs, and slots, so that little moves; for load alone also a shorter way there. */
static void
settle_layer(struct run *run, int l)
{
	struct placement_layer *layer = &run->placement->layer[l];
	struct arena_mark mark = arena_mark(run->arena);
	const int *from = placement_in_use(run, l);
	bool chain = run->o->goal == GOAL_CHAIN; /* then names tie layers together */
	struct layer_problem p;

	layer_problem_init(run->arena, &p, run->loads, run->o, l);
	if (from && !p.slow && !(chain && p.nodes == 1))
		placement_rename(run->arena, &p, from, !p.source && !chain, layer->expert_of_slot);
	if (from && run->o->goal == GOAL_LOAD)
		placement_migrate(run->arena, &p, from, run->o->move_cost, layer->expert_of_slot);
	if (from)
		layer->moved = placement_moves(&p, from, layer->expert_of_slot);
	if (run->o->from)
		cost_of_slots(run, l, from, &layer->from);
	arena_reset(run->arena, mark);
}

static void
layer_split(struct run *run, int l, struct placement_layer *layer)
{
	struct arena_mark mark = arena_mark(run->arena);
	struct layer_problem p;

	layer_problem_init(run->arena, &p, run->loads, run->o, l);
	layer->split_low = split_bound(run->arena, &p, layer->expert_of_slot);
	arena_reset(run->arena, mark);
}

static void
finish_layer(struct run *run, int l)
{
	struct placement_layer *layer = &run->placement->layer[l];

	layer_cost(run, l, layer);
	if (run->placement->copies > 0 && !run->o->quick && !out_of_time(run))
		layer_split(run, l, layer);
	layer->gap = fmax(0, layer->cost.ratio / layer->lower_bound - 1);
	layer->proven = layer->gap <= PROVEN_GAP;
	layer_baselines(run, l, layer);
}

/* --- the whole --- */

static struct placement *
placement_new(struct arena *arena, const struct loads *loads, const struct placement_options *o)
{
	struct placement *placement = arena_alloc(arena, sizeof(*placement));
	size_t slots = (size_t)o->gpus * (size_t)o->slots_per_gpu;

	placement->layers = loads->layers;
	placement->experts = loads->experts;
	placement->gpus = o->gpus;
	placement->nodes = o->nodes;
	placement->slots_per_gpu = o->slots_per_gpu;
	placement->copies = (int)slots - loads->experts;
	placement->goal = o->goal;
	placement->layer = arena_array(arena, (size_t)loads->layers, sizeof(*placement->layer));
	for (int l = 0; l < loads->layers; l++) {
		placement->layer[l].number = loads->number[l];
		placement->layer[l].tolerance = -1;
		placement->layer[l].moved = -1;
		placement->layer[l].expert_of_slot = arena_array(arena, slots, sizeof(int));
	}
	return placement;
}

/* Whether traffic is worth a placement: what contiguous experts send, and the least there could be.
 */
static void
look_at_traffic(struct run *run)
{
	struct placement *placement = run->placement;

	for (int l = 0; l < run->loads->layers; l++) {
		struct arena_mark mark = arena_mark(run->arena);
		struct assignment *a =
		    placement_baseline(run->arena, run->loads, run->o, l, BASELINE_CONTIGUOUS);
		struct placement_cost cost;
		struct layer_problem p;

		layer_problem_init(run->arena, &p, run->loads, run->o, l);
		placement_cost(run->arena, run->loads, run->o, l, a, NULL, &cost);
		placement->contiguous_share += cost.share / run->loads->layers;
		placement->share_low_mean +=
		    traffic_least_share(run->arena, &p) / run->loads->layers;
		arena_reset(run->arena, mark);
	}
	placement->no_traffic_gain =
	    placement->share_low_mean > placement->contiguous_share * (1 - LEAST_TRAFFIC_GAIN);
}

static void
add_cost(struct placement_cost *sum, const struct placement_cost *cost, double weight)
{
	sum->ratio += weight * cost->ratio;
	sum->node_ratio += weight * cost->node_ratio;
	sum->share += weight * cost->share;
	sum->split += weight * cost->split;
	if (!isnan(cost->hops)) /* one value less than layers, or none at all */
		sum->hops += weight * cost->hops;
}

/* Means of hops are over the steps between layers. */
static void
settle_hops(const struct placement *placement, struct placement_cost *mean)
{
	bool known = placement->layers > 1 && !isnan(placement->layer[0].cost.hops);

	mean->hops = known ? mean->hops * placement->layers / (placement->layers - 1) : NAN;
}

static void
add_stats(struct layer_stats *sum, const struct layer_stats *stats, double weight)
{
	sum->mean += weight * stats->mean;
	sum->variance += weight * stats->variance;
	sum->cv += weight * stats->cv;
	sum->max_over_mean += weight * stats->max_over_mean;
	sum->min_over_mean += weight * stats->min_over_mean;
	sum->entropy_bits += weight * stats->entropy_bits;
}

static void
summarise(struct placement *placement)
{
	double weight = 1.0 / placement->layers;

	for (int l = 0; l < placement->layers; l++) {
		const struct placement_layer *layer = &placement->layer[l];

		add_cost(&placement->mean, &layer->cost, weight);
		for (int b = 0; b < BASELINES; b++)
			add_cost(&placement->baseline_mean[b], &layer->baseline[b], weight);
		for (int k = 0; k < PLACEMENT_POINTS; k++) {
			placement->point_mean[k].feasible =
			    layer->points[k].feasible &&
			    (l == 0 || placement->point_mean[k].feasible);
			add_cost(&placement->point_mean[k].cost, &layer->points[k].cost, weight);
			placement->point_mean[k].share_low += weight * layer->points[k].share_low;
			placement->shares_proven[k] += layer->points[k].share_proven;
		}
		add_cost(&placement->from_mean, &layer->from, weight);
		add_stats(&placement->stats_mean, &layer->stats, weight);
		placement->dropped_mean += weight * layer->dropped;
		placement->from_worst = fmax(placement->from_worst, layer->from.ratio);
		placement->objective_low_mean += weight * layer->objective_low;
		placement->objectives_proven += layer->objective_proven;
		placement->moved = layer->moved < 0 ? -1 : placement->moved + layer->moved;
		placement->bound_mean += weight * layer->lower_bound;
		placement->worst_ratio = fmax(placement->worst_ratio, layer->cost.ratio);
		placement->worst_gap = fmax(placement->worst_gap, layer->gap);
		placement->price_gap_mean += weight * layer->price_gap;
		placement->price_gap_worst = fmax(placement->price_gap_worst, layer->price_gap);
		placement->proven += layer->proven;
		placement->within += layer->gap <= WITHIN_GAP;
	}
	settle_hops(placement, &placement->mean);
	for (int b = 0; b < BASELINES; b++)
		settle_hops(placement, &placement->baseline_mean[b]);
}

static void
solve_layers(struct run *run)
{
	int layers = run->loads->layers;

	for (int l = 0; l < layers; l++) {
		tell(run, (double)l / layers,
		    arena_printf(run->arena, "placing layer %d of %d", l + 1, layers));
		solve_layer(run, l);
	}
	for (int l = 0; l < layers && run->o->goal == GOAL_TRAFFIC; l++) {
		tell(run, (double)l / layers,
		    arena_printf(run->arena, "proving layer %d of %d", l + 1, layers));
		prove_layer(run, l);
	}
}

struct placement *
placement_solve(struct arena *arena, struct diags *diags, const struct loads *loads,
    const struct placement_options *options)
{
	struct run run = {.arena = arena, .loads = loads, .o = options, .start_s = now_s()};

	if (placement_check_options(diags, loads, options) != 0)
		return NULL;
	run.placement = placement_new(arena, loads, options);
	if (options->goal == GOAL_TRAFFIC)
		look_at_traffic(&run);
	solve_layers(&run);
	if (options->goal == GOAL_CHAIN) {
		tell(&run, 0.5, "placing all layers together");
		solve_chain(arena, loads, options, run.placement);
	}
	for (int l = 0; l < loads->layers; l++)
		settle_layer(&run, l);
	for (int l = 0; l < loads->layers; l++)
		finish_layer(&run, l);
	summarise(run.placement);
	run.placement->wall_s = now_s() - run.start_s;
	return run.placement;
}
