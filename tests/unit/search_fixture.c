/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "search_fixture.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "planner/band.h"
#include "planner/partition.h"
#include "planner/rates.h"

void
pin(struct job *job, enum axis axis, int n, const int64_t *values)
{
	job->limits[axis].n_allowed = n;
	memcpy(job->limits[axis].allowed, values, (size_t)n * sizeof(*values));
}

struct world
world_new(int64_t layers, int64_t dense)
{
	struct world w = {.arena = arena_new(NULL, NULL)};
	struct job *job = &w.job;

	w.diags = diags_new(w.arena);
	w.cluster = cluster_from_text(w.arena, w.diags, "dgx-h100x2");
	cr_assert_not_null(w.cluster);
	w.model = (struct model){.name = "small",
	    .hidden = 4096,
	    .vocab = 32000,
	    .layers = layers,
	    .n_kinds = dense > 0 ? 2 : 1,
	    .max_positions = 32768};
	for (int k = 0; k < w.model.n_kinds; k++) {
		struct layer_kind *kind = &w.model.kinds[k];

		kind->mixer =
		    (struct mixer){.kind = MIXER_GQA, .heads = 32, .kv_heads = 8, .head_dim = 128};
		if (k == 0 && dense > 0)
			kind->ffn.dense_width = 16384;
		else
			kind->ffn = (struct ffn){.experts = 8, .top_k = 2, .expert_width = 8192};
	}
	for (int64_t l = 0; l < layers; l++)
		w.model.kind_of[l] = dense > 0 && l >= dense;
	job_init(job);
	job->base.seq_len = 4096;
	job->base.global_batch = 64;
	job->top = 4;
	PIN(job, AXIS_TP, 1, 2, 4);
	PIN(job, AXIS_CP, 1, 2);
	PIN(job, AXIS_PP, 1, 2, 4, 8);
	PIN(job, AXIS_VPP, 1, 2, 3);
	PIN(job, AXIS_EP, 1, 2, 4, 8);
	PIN(job, AXIS_ETP, 1, 2);
	PIN(job, AXIS_MICRO_BATCH, 1, 2, 3);
	PIN(job, AXIS_RECOMPUTE, RECOMPUTE_NONE,
	    recompute_value((struct recompute){RECOMPUTE_SELECTIVE, MODULE_MOE_ACT, 0}),
	    recompute_value((struct recompute){RECOMPUTE_FULL, 0, 0}));
	PIN(job, AXIS_ZERO, 1);
	PIN(job, AXIS_DISPATCHER, DISPATCH_ALLTOALL, DISPATCH_DEEPEP);
	return w;
}

void
world_free(struct world *w)
{
	arena_free(w->arena);
}

void
set_axis(struct strategy *s, int axis, int64_t value)
{
	int64_t *const degrees[] = {
	    &s->tp, &s->cp, &s->pp, &s->vpp, &s->ep, &s->etp, &s->micro_batch};

	if (axis <= AXIS_MICRO_BATCH)
		*degrees[axis] = value;
	else if (axis == AXIS_RECOMPUTE)
		s->recompute = recompute_of_value(value);
	else if (axis == AXIS_ZERO)
		s->zero = (int)value;
	else
		s->dispatcher = (enum dispatcher)value;
}

bool
means_something(const struct world *w, const int64_t value[AXES])
{
	const struct axis_limit *limits = w->job.limits;

	if (value[AXIS_PP] == 1 && value[AXIS_VPP] != limits[AXIS_VPP].allowed[0])
		return false;
	return value[AXIS_EP] * value[AXIS_ETP] > 1 ||
	       value[AXIS_DISPATCHER] == limits[AXIS_DISPATCHER].allowed[0];
}

void
try_point(
    const struct world *w, const struct evaluator *evaluator, struct tried *p, double cap_bytes)
{
	struct strategy *s = &p->strategy;
	const struct grid_rule *rule;
	struct estimate estimate;
	struct stage_costs costs;
	struct layout layout;

	*s = w->job.base;
	for (int a = 0; a < AXES; a++)
		set_axis(s, a, p->value[a]);
	strategy_derive(s, &w->model, w->cluster->world);
	rule = strategy_first_violation(s, &w->model);
	p->rule = rule ? rule->id : NULL;
	if (rule)
		return;
	evaluate_costs(evaluator, s, &costs);
	costs.capacity_bytes = w->job.objective == OBJECTIVE_MEMORY ? 0 : cap_bytes;
	partition_fast(&costs, &w->model, &layout);
	evaluate_exact(evaluator, s, &layout, w->arena, NULL, &estimate);
	p->step_s = estimate.step_s;
	p->bytes = estimate.worst_bytes;
	p->fits = estimate.worst_bytes <= cap_bytes;
}

struct points
points_under(struct world *w, double cap)
{
	struct evaluator *evaluator = evaluator_new(w->arena, &w->model, w->cluster, &w->job);
	struct points points = {0};
	int count = 1;

	for (int a = 0; a < AXES; a++)
		count *= w->job.limits[a].n_allowed;
	points.all = arena_array(w->arena, (size_t)count, sizeof(*points.all));
	for (int i = 0; i < count; i++) {
		struct tried *p = &points.all[points.n];
		int rest = i;

		for (int a = 0; a < AXES; a++) {
			p->value[a] = w->job.limits[a].allowed[rest % w->job.limits[a].n_allowed];
			rest /= w->job.limits[a].n_allowed;
		}
		if (!means_something(w, p->value))
			continue;
		try_point(w, evaluator, p, cap);
		points.n++;
	}
	return points;
}

double
capacity_of(const struct world *w)
{
	return w->cluster->gpu.usable_bytes.value - (double)w->cluster->reserve_bytes;
}

struct points
brute_force(struct world *w)
{
	double capacity = capacity_of(w);
	struct points points;

	if (w->job.max_memory_bytes > 0)
		return points_under(w, fmin(capacity, (double)w->job.max_memory_bytes));
	points = points_under(w, capacity / memory_bands[MEMORY_BY_HAND].high);
	for (int i = 0; i < points.n; i++)
		if (!points.all[i].rule && points.all[i].fits &&
		    (w->job.max_step_s <= 0 || points.all[i].step_s <= w->job.max_step_s))
			return points;
	return points_under(w, capacity);
}

bool
is_good(const struct world *w, const struct tried *p)
{
	return !p->rule && p->fits && (w->job.max_step_s <= 0 || p->step_s <= w->job.max_step_s);
}

bool
alike(const struct tried *p, const struct tried *q)
{
	for (int a = 0; a < AXES; a++)
		if (a != AXIS_VPP && a != AXIS_DISPATCHER && p->value[a] != q->value[a])
			return false;
	return true;
}

double
nth_best(const struct world *w, const struct points *points, int n)
{
	const struct tried *taken[64];

	for (int i = 0; i <= n; i++) {
		const struct tried *best = NULL;

		for (int j = 0; j < points->n; j++) {
			const struct tried *p = &points->all[j];
			bool seen = false;

			for (int k = 0; k < i && !seen; k++)
				seen = alike(p, taken[k]);
			if (seen || !is_good(w, p))
				continue;
			if (!best ||
			    (w->job.objective == OBJECTIVE_MEMORY ? p->bytes < best->bytes
								  : p->step_s < best->step_s))
				best = p;
		}
		if (!best)
			return INFINITY;
		taken[i] = best;
	}
	return w->job.objective == OBJECTIVE_MEMORY ? taken[n]->bytes : taken[n]->step_s;
}

struct plan *
plan_of(struct world *w)
{
	struct plan *plan = search(w->arena, w->diags, &w->model, w->cluster, &w->job, NULL, NULL);

	cr_assert_not_null(plan, "%s", w->diags->last ? w->diags->last->message : "no plan");
	return plan;
}

double
value_of(const struct world *w, const struct estimate *e)
{
	return w->job.objective == OBJECTIVE_MEMORY ? e->worst_bytes : e->step_s;
}

void
check_sums(const struct plan *plan)
{
	const struct search_account *a = &plan->account;
	int64_t rejected = 0;

	for (int i = 0; i < a->n_rules; i++)
		rejected += a->rules[i].count;
	cr_assert_eq(rejected, a->rejected);
	cr_assert_eq(a->candidates,
	    a->rejected + a->does_not_fit + a->over_limit + a->pruned + a->open + a->evaluated +
		a->exact,
	    "%lld: %lld %lld %lld %lld %lld %lld", (long long)a->candidates, (long long)a->rejected,
	    (long long)a->does_not_fit, (long long)a->over_limit, (long long)a->pruned,
	    (long long)a->evaluated, (long long)a->exact);
}
