/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which consecutive layers does each pipeline stage hold?
 *
 * With one chunk a stage: find the least T such that filling stage after stage
 * with as many layers as T and the capacity allow places all of them. Filling
 * greedily is right because a part of a window never costs more than the window;
 * it goes from the last stage back because the first ones keep most micro-batches.
 * A failed T names the next one worth trying (the least time at which one stage
 * would take one more layer), so that no T is tried in vain; when steps are many
 * the interval is halved as well. The same with the roles of time and memory
 * exchanged gives the emptiest fullest stage at that T. Source: chains on chains by
 * probing realizable values, Pinar and Aykanat, "Fast optimal load balancing
 * algorithms for 1D partitioning", J. Parallel Distrib. Comput. 64 (2004); the
 * memory limit is ours.
 *
 * Ignores: that a stage's memory peak is a maximum over events; costs are linear.
 */
#include "planner/partition.h"

#include <assert.h>
#include <math.h>

#include "planner/partition_window.h"

enum { PLAIN_ROUNDS = 8 }; /* steps to the next value before the interval is halved too */

void
windows_init(struct windows *w, const struct stage_costs *costs, const struct model *model)
{
	w->costs = costs;
	w->layers = (int)model->layers;
	w->recomputed = costs->recomputed;
	w->time_s[0] = w->state[0] = w->activation[0] = w->again_s[0] = w->saved[0] = 0;
	for (int l = 0; l < w->layers; l++) {
		int k = model->kind_of[l];

		w->time_s[l + 1] = w->time_s[l] + costs->layer_s[k];
		w->state[l + 1] = w->state[l] + costs->state_bytes[k];
		w->activation[l + 1] = w->activation[l] + costs->activation_bytes[k];
		if (w->recomputed > 0) {
			w->again_s[l + 1] = w->again_s[l] + costs->recompute_s[k];
			w->saved[l + 1] = w->saved[l] + costs->saved_bytes[k];
		}
	}
}

static struct load
stage_load(const struct windows *w, int stage, int i, int j)
{
	struct load load = window_load(w, stage, i, j);

	load.time_s += w->costs->fixed_s[stage];
	load.bytes += w->costs->fixed_bytes[stage];
	return load;
}

static bool
within(double value, double limit)
{
	return value <= limit + PARTITION_EPS * fabs(limit);
}

/* Inner stages must hold a layer; the first and the last need not. */
static bool
may_be_empty(const struct windows *w, int stage)
{
	return stage == 0 || stage == w->costs->pp - 1;
}

/* So that the inner stages before stage s (after it) still get a layer each. */
static int
least_start(int stage)
{
	return stage > 0 ? stage - 1 : 0;
}

static int
greatest_end(int stage, int pp, int layers)
{
	int after = pp - 2 - stage;

	return layers - (after > 0 ? after : 0);
}

/* How a fill with limits ended, and the next limits at which it would end otherwise. */
struct fill {
	bool complete;
	struct load peak; /* of the stages filled */
	struct load next; /* INFINITY: that limit was not what stopped it */
};

static void
note_next(struct fill *fill, struct load load, struct load limit)
{
	bool time_ok = within(load.time_s, limit.time_s);
	bool bytes_ok = within(load.bytes, limit.bytes);

	if (!time_ok && bytes_ok)
		fill->next.time_s = fmin(fill->next.time_s, load.time_s);
	if (!bytes_ok && time_ok)
		fill->next.bytes = fmin(fill->next.bytes, load.bytes);
}

static bool
load_within(struct load load, struct load limit)
{
	return within(load.time_s, limit.time_s) && within(load.bytes, limit.bytes);
}

/* From the last stage back, as many layers on each as the limits allow. */
static struct fill
fill_stages(const struct windows *w, struct load limit, int starts[])
{
	int pp = w->costs->pp, at = w->layers;
	struct fill fill = {.next = {INFINITY, INFINITY}, .peak = {-INFINITY, -INFINITY}};

	for (int s = pp - 1; s >= 0; s--) {
		int least = least_start(s), begin = at - !may_be_empty(w, s);
		struct load load = stage_load(w, s, begin, at), more;

		if (!load_within(load, limit)) {
			note_next(&fill, load, limit);
			return fill;
		}
		for (; begin > least; begin--, load = more) {
			more = stage_load(w, s, begin - 1, at);
			if (!load_within(more, limit)) {
				note_next(&fill, more, limit);
				break;
			}
		}
		fill.peak.time_s = fmax(fill.peak.time_s, load.time_s);
		fill.peak.bytes = fmax(fill.peak.bytes, load.bytes);
		starts[s] = at = begin;
	}
	fill.complete = at == 0;
	return fill;
}

/* No layout can have a fullest or slowest stage below the mean or below a fixed part. */
static struct load
lower_bound(const struct windows *w)
{
	int pp = w->costs->pp;
	struct load sum = stage_load(w, 0, 0, 0), most = sum;

	for (int s = 1; s < pp; s++) {
		struct load fixed = stage_load(w, s, 0, 0);

		sum.time_s += fixed.time_s;
		most.time_s = fmax(most.time_s, fixed.time_s);
		most.bytes = fmax(most.bytes, fixed.bytes);
	}
	return (struct load){
	    fmax(most.time_s, (sum.time_s + w->time_s[w->layers]) / pp), most.bytes};
}

/*
 * The least value of one limit with the other one given; INFINITY when there is
 * none. `by_time` chooses which. Invariant: below `next` nothing is complete,
 * `high` is reached by a complete fill.
 */
static double
least_limit(const struct windows *w, bool by_time, double other, double start)
{
	int starts[STRATEGY_MAX_PP];
	struct load limit = {by_time ? INFINITY : other, by_time ? other : INFINITY};
	double *limit_at = by_time ? &limit.time_s : &limit.bytes;
	double next = start, high = INFINITY;

	for (int round = 0; isfinite(next) && !within(high, next); round++) {
		bool halve = round >= PLAIN_ROUNDS && isfinite(high);
		struct fill fill;

		*limit_at = round == PLAIN_ROUNDS ? INFINITY : halve ? (next + high) / 2 : next;
		fill = fill_stages(w, limit, starts);
		if (fill.complete)
			high = by_time ? fill.peak.time_s : fill.peak.bytes;
		else if (round == PLAIN_ROUNDS)
			return INFINITY;
		else
			next = by_time ? fill.next.time_s : fill.next.bytes;
	}
	return high;
}

/* Where stage s ends when it starts at `at`: near its fair share, not before `least`. */
static int
fair_end(const struct windows *w, int s, int at, int least, double fair, struct load limit)
{
	int greatest = greatest_end(s, w->costs->pp, w->layers), end = at + !may_be_empty(w, s);
	struct load load = stage_load(w, s, at, end), more;

	for (; end < greatest; end++, load = more) {
		more = stage_load(w, s, at, end + 1);
		if (!load_within(more, limit))
			break;
		if (end >= least && more.time_s - fair > fair - load.time_s)
			break;
	}
	return end;
}

/*
 * Among the layouts within the limits one near to equal times: from the front,
 * each stage its fair share of what is left, but never less than what the later
 * stages cannot take. The fill itself is kept where that does not come out. False
 when the limits cannot be kept at all.
 */
static bool
place(const struct windows *w, struct load limit, struct layout *layout)
{
	int starts[STRATEGY_MAX_PP], pp = w->costs->pp, at = 0, s;
	double left = w->time_s[w->layers];

	for (s = 0; s < pp; s++)
		left += w->costs->fixed_s[s];
	if (!fill_stages(w, limit, starts).complete)
		return false;
	layout->first[0] = 0;
	layout->first[pp] = (int16_t)w->layers;
	for (s = 0; s < pp; s++) {
		int end = w->layers;
		struct load load;

		if (s < pp - 1)
			end = fair_end(w, s, at, starts[s + 1], left / (pp - s), limit);
		load = stage_load(w, s, at, end);
		if (!load_within(load, limit))
			break;
		left -= load.time_s;
		layout->first[s + 1] = (int16_t)(at = end);
	}
	if (s < pp)
		for (int i = 1; i < pp; i++)
			layout->first[i] = (int16_t)starts[i];
	return true;
}

/* Limits that were found may not be kept again only where a part can cost more than the whole. */
static bool
partition_stages(const struct windows *w, struct layout *layout)
{
	struct load least = lower_bound(w);
	double capacity = w->costs->capacity_bytes;
	struct load limit = {least_limit(w, true, capacity, least.time_s), capacity};
	bool fits = isfinite(limit.time_s);

	limit.bytes = least_limit(w, false, limit.time_s, least.bytes);
	if (!fits)
		limit.time_s = least_limit(w, true, limit.bytes, least.time_s);
	else
		limit.bytes = fmin(limit.bytes, capacity);
	if (place(w, limit, layout))
		return fits;
	layout_even(layout, w->layers, layout->pp, 1);
	return false;
}

bool
partition_fast(const struct stage_costs *costs, const struct model *model, struct layout *layout)
{
	struct windows windows;

	assert(costs->pp * costs->vpp <= model->layers + 2);
	windows_init(&windows, costs, model);
	layout->pp = costs->pp;
	layout->vpp = costs->vpp;
	layout->mtp_back = 0;
	layout->vee = costs->vee;
	return costs->vpp == 1 ? partition_stages(&windows, layout)
			       : partition_chunks(&windows, layout);
}

struct partition_peak
partition_peak(
    const struct stage_costs *costs, const struct model *model, const struct layout *layout)
{
	struct windows w;
	struct partition_peak peak = {-INFINITY, -INFINITY, 0, 0};

	windows_init(&w, costs, model);
	for (int s = 0; s < costs->pp; s++) {
		struct load sum = {costs->fixed_s[s], costs->fixed_bytes[s]};

		for (int v = 0; v < costs->vpp; v++) {
			int c = layout_chunk(layout, s, v);
			struct load load =
			    window_load(&w, s, layout->first[c], layout->first[c + 1]);

			sum.time_s += load.time_s;
			sum.bytes += load.bytes;
		}
		if (sum.time_s > peak.time_s) {
			peak.time_s = sum.time_s;
			peak.slowest = s;
		}
		if (sum.bytes > peak.bytes) {
			peak.bytes = sum.bytes;
			peak.fullest = s;
		}
	}
	return peak;
}
