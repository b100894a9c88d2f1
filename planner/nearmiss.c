/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Nothing is possible: which strategy misses by least, and what would help?
 *
 * All legal candidates in the order of their memory bound are laid out for the
 * least memory until the next bound is above the best found. Then one thing after
 * another is changed (a limit of the user's left out, smaller gradients or moments,
 * a shorter sequence, more nodes), and the grid is searched again for a strategy
 * that really fits: nothing is proposed that was not evaluated.
 */
#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "base/str.h"
#include "base/units.h"
#include "planner/search_private.h"

enum {
	MAX_CHANGES = 6,
	MAX_PRICED = 4000, /* candidates looked at for one change */
	MAX_NODES_FACTOR = 16,
	MAX_HALVINGS = 5,
	LEAST_SEQUENCE = 1024,
};

/* Another search of the same model, sharing the arenas. */
static struct search *
another(struct search *search, const struct job *job, const struct cluster *cluster, bool keep)
{
	struct search *other = arena_alloc(search->arena, sizeof(*other));
	struct job *copy = arena_alloc(search->arena, sizeof(*copy));

	*copy = *job;
	*other = (struct search){.arena = search->arena,
	    .scratch = search->scratch,
	    .diags = search->diags,
	    .model = search->model,
	    .at_risk_too = keep, /* what is proposed should leave room */
	    .keep_unfit = keep};
	search_prepare(other, copy, cluster);
	return other;
}

/* Layouts for the least memory of a strategy, whatever its time. */
static struct job
least_memory(const struct job *job)
{
	struct job other = *job;

	other.max_step_s = 0;
	other.objective = OBJECTIVE_MEMORY;
	return other;
}

static int
nearest(struct search *all)
{
	double least = INFINITY;
	int found = -1;

	search_sort(all, true);
	for (int f = 0; f < all->n_families && all->families[f].first.bound_bytes < least; f++) {
		struct family *family = &all->families[f];

		family_open(all, family);
		for (int i = family->member; i < family->member + family->n_members; i++) {
			struct candidate *c = &all->candidates[i];

			if (c->bound_bytes >= least)
				continue;
			candidate_price(all, c, INFINITY);
			if (c->bytes < least) {
				least = c->bytes;
				found = i;
			}
		}
	}
	return found;
}

static void
biggest_parts(const struct stage_memory *stage, enum memory_part biggest[3])
{
	bool taken[MEMORY_PARTS] = {false};

	for (int i = 0; i < 3; i++) {
		int most = -1;

		for (int p = 0; p < MEMORY_PARTS; p++)
			if (!taken[p] && (most < 0 || stage->parts[p] > stage->parts[most]))
				most = p;
		taken[most] = true;
		biggest[i] = (enum memory_part)most;
	}
}

static const char *
strategy_text(struct arena *arena, const struct strategy *s)
{
	struct str text = str_new(arena);
	const struct {
		const char *name;
		int64_t value, usual;
	} parts[] = {{"TP", s->tp, 1}, {"CP", s->cp, 1}, {"PP", s->pp, 1}, {"VPP", s->vpp, 1},
	    {"EP", s->ep, 1}, {"ETP", s->etp, 1}, {"micro-batch", s->micro_batch, 1}};

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (parts[i].value != parts[i].usual)
			str_addf(&text, "%s %lld, ", parts[i].name, (long long)parts[i].value);
	str_addf(&text, "recompute %s", recompute_text(arena, s->recompute));
	return text.text;
}

/* The first candidate that fits, in the order of the families' memory bounds; -1: none. */
static int
first_fit(struct search *search)
{
	int priced = 0;

	search_sort(search, true);
	for (int f = 0; f < search->n_families && priced < MAX_PRICED; f++) {
		struct family *family = &search->families[f];

		family_open(search, family);
		for (int i = family->member; i < family->member + family->n_members; i++) {
			struct candidate *c = &search->candidates[i];

			if (c->state != CANDIDATE_BOUND)
				continue;
			priced++;
			candidate_price(search, c, INFINITY);
			if (c->state == CANDIDATE_EXACT)
				return i;
		}
	}
	return -1;
}

/* Adds "WHAT: 71.3 GiB with TP 8, recompute full" when some strategy then fits. */
static bool
try_change(struct search *search, struct near_miss *miss, const struct job *job,
    const struct cluster *cluster, const char *what)
{
	struct job least = least_memory(job);
	struct search *other;
	struct strategy s;
	int index;

	if (miss->n_changes == MAX_CHANGES)
		return true;
	other = another(search, &least, cluster, false);
	index = first_fit(other);
	if (index < 0)
		return false;
	s = candidate_strategy(other, &other->candidates[index]);
	miss->changes[miss->n_changes++] = arena_printf(search->arena, "%s: %s with %s", what,
	    units_gib(search->arena, other->candidates[index].bytes),
	    strategy_text(search->arena, &s));
	return true;
}

static void
try_without_limits(struct search *search, struct near_miss *miss)
{
	for (int a = 0; a < AXES; a++) {
		const struct axis_limit *limit = &search->job->limits[a];
		struct job job = *search->job;

		if (limit->n_allowed == 0 && limit->min == 0 && limit->max == 0)
			continue;
		job.limits[a] = (struct axis_limit){0};
		try_change(search, miss, &job, search->cluster,
		    arena_printf(search->arena, "without the limit on %s", axis_names[a]));
	}
	if (search->cap_bytes < search->capacity_bytes) {
		struct job job = *search->job;

		job.max_memory_bytes = 0;
		try_change(search, miss, &job, search->cluster, "without the limit on memory");
	}
}

static void
try_smaller_state(struct search *search, struct near_miss *miss)
{
	struct job job = *search->job;

	if (job.base.grad_type == FLOAT_FP32) {
		job.base.grad_type = FLOAT_BF16;
		try_change(search, miss, &job, search->cluster, "--grad-type bf16");
	}
	if (job.base.moment_type == FLOAT_FP32) {
		job.base.moment_type = FLOAT_BF16;
		try_change(search, miss, &job, search->cluster,
		    job.base.grad_type == search->job->base.grad_type
			? "--optimizer adam:bf16"
			: "--grad-type bf16 --optimizer adam:bf16");
	}
}

/* What costs most time comes last. */
static void
try_offload(struct search *search, struct near_miss *miss)
{
	struct job job = *search->job;

	if (job.base.offload != OFFLOAD_NONE || job.base.framework == FRAMEWORK_TORCHTITAN)
		return;
	job.base.offload = OFFLOAD_OPTIMIZER;
	job.base.offload_fraction = 1;
	try_change(search, miss, &job, search->cluster, "--offload optimizer");
	if (job.base.framework != FRAMEWORK_MEGATRON)
		return;
	job.base.offload = OFFLOAD_ACTIVATIONS;
	try_change(search, miss, &job, search->cluster, "--offload activations");
}

static void
try_shorter(struct search *search, struct near_miss *miss)
{
	struct job job = *search->job;

	for (int i = 0; i < MAX_HALVINGS && job.base.seq_len / 2 >= LEAST_SEQUENCE; i++) {
		job.base.seq_len /= 2;
		if (try_change(search, miss, &job, search->cluster,
			arena_printf(search->arena, "--seq-len %lld", (long long)job.base.seq_len)))
			return;
	}
}

static void
try_more_nodes(struct search *search, struct near_miss *miss)
{
	for (int64_t factor = 2; factor <= MAX_NODES_FACTOR; factor *= 2) {
		struct cluster *cluster = arena_alloc(search->arena, sizeof(*cluster));
		struct job job = *search->job;
		int64_t nodes = search->cluster->nodes * factor;

		if (nodes > CLUSTER_MAX_NODES ||
		    nodes > CLUSTER_MAX_WORLD / search->cluster->gpus_per_node)
			return;
		*cluster = *search->cluster;
		cluster_set_nodes(cluster, nodes);
		job.max_gpus = 0;
		if (try_change(search, miss, &job, cluster,
			arena_printf(search->arena, "%s nodes (%lld times as many)",
			    units_grouped(search->arena, nodes), (long long)factor)))
			return;
	}
}

/* The row of the account with most candidates, and what it says of the values that were pinned. */
static void
explain_rules(struct search *search, struct plan *plan)
{
	struct strategy s = search->job->base;
	struct diags *found = diags_new(search->arena);
	const struct grid_rule *rule;
	struct candidate pinned = {0};

	for (int a = 0; a < AXES; a++)
		if (search->grid.axes[a].n == 0)
			return;
	if (search->grid.n_worlds == 0)
		return;
	pinned.world = (uint8_t)(search->grid.n_worlds - 1);
	s = candidate_strategy(search, &pinned);
	rule = strategy_first_violation(&s, search->model);
	if (!rule)
		return;
	rule->report(rule, &s, search->model, found);
	plan->why_not = arena_alloc(search->arena, sizeof(*plan->why_not));
	plan->n_why_not = 1;
	for (int a = 0; a < AXES; a++)
		if (search->job->limits[a].n_allowed > 0)
			plan->why_not->axis = (enum axis)a;
	plan->why_not->value = search->grid.axes[plan->why_not->axis].values[0];
	plan->why_not->rule = rule->id;
	plan->why_not->text = arena_printf(
	    search->arena, "%s [%s]", found->first ? found->first->message : rule->gist, rule->id);
}

/* What fits is too slow: the fastest that there is. */
static void
explain_step_limit(struct search *search, struct plan *plan)
{
	struct job job = *search->job;
	struct search *other;
	struct estimate estimate;
	int best;

	job.max_step_s = 0;
	job.objective = OBJECTIVE_TIME;
	other = another(search, &job, search->cluster, false);
	search_sort(other, false);
	if (search_sweep(other, (struct filter){AXES, 0}, 1, &best) == 0)
		return;
	candidate_estimate(other, &other->candidates[best], true, NULL, &estimate);
	plan->why_not = arena_alloc(search->arena, sizeof(*plan->why_not));
	plan->n_why_not = 1;
	*plan->why_not = (struct why_not){.axis = AXIS_TP,
	    .value = estimate.strategy.tp,
	    .step_s = estimate.step_s,
	    .text = arena_printf(search->arena, "a step of %s: the fastest that fits takes %s (%s)",
		units_seconds(search->arena, search->job->max_step_s),
		units_seconds(search->arena, estimate.step_s),
		strategy_text(search->arena, &estimate.strategy))};
}

void
search_near_miss(struct search *search, struct plan *plan)
{
	struct job least = least_memory(search->job);
	struct search *all = another(search, &least, search->cluster, true);
	int index = nearest(all);
	struct near_miss *miss;
	struct stage_memory *stages;

	if (index < 0) {
		explain_rules(search, plan);
		return;
	}
	if (all->candidates[index].state == CANDIDATE_EXACT) {
		explain_step_limit(search, plan);
		return;
	}
	miss = arena_alloc(search->arena, sizeof(*miss));
	stages = arena_array(search->arena, STRATEGY_MAX_PP, sizeof(*stages));
	candidate_estimate(all, &all->candidates[index], true, stages, &miss->estimate);
	miss->over_bytes = fmax(0, miss->estimate.worst_bytes - search->cap_bytes);
	biggest_parts(&stages[miss->estimate.worst_stage], miss->biggest);
	plan->miss = miss;
	try_without_limits(search, miss);
	try_smaller_state(search, miss);
	try_offload(search, miss);
	try_shorter(search, miss);
	try_more_nodes(search, miss);
}
