/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which layers does each chunk hold when a stage has several (VPP)?
 *
 * Chunks follow each other in the model, stage s sums chunks s, s+pp, …; so one
 * layer can go from a stage to any other by moving all boundaries between a chunk
 * of the one and a chunk of the other by one. From the even split, the worst
 * stage gives a layer to another while both end below the worst value: first by
 * bytes until all fit, then by time within the bytes, then by bytes within the
 * time. Every move makes fewer stages worst or the worst lower, so it ends.
 *
 * Ignores: moves of two layers at once; the run-length MILP finds what they would.
 */
#include <math.h>
#include <string.h>

#include "planner/partition_window.h"

struct descent {
	const struct windows *w;
	struct layout *layout;
	struct load stages[STRATEGY_MAX_PP];
	struct load limit; /* no move may end above it */
};

/* The boundaries that move, (low, high], and by how much. */
struct shift {
	int low, high, step;
};

static bool
may_be_empty(const struct layout *layout, int chunk)
{
	return chunk == 0 || chunk == layout->pp * layout->vpp - 1;
}

static struct load
chunk_load(const struct descent *d, int chunk)
{
	return window_load(
	    d->w, layout_stage(d->layout, chunk), d->layout->first[chunk],
	    d->layout->first[chunk + 1]);
}

static void
sum_stages(struct descent *d)
{
	const struct stage_costs *costs = d->w->costs;

	for (int s = 0; s < costs->pp; s++) {
		struct load *sum = &d->stages[s];

		*sum = (struct load){costs->fixed_s[s], costs->fixed_bytes[s]};
		for (int v = 0; v < costs->vpp; v++) {
			struct load load = chunk_load(d, layout_chunk(d->layout, s, v));

			sum->time_s += load.time_s;
			sum->bytes += load.bytes;
		}
	}
}

static struct shift
shift_between(int from, int to)
{
	return from < to ? (struct shift){from, to, -1} : (struct shift){to, from, 1};
}

static void
apply(struct layout *layout, struct shift shift, int times)
{
	for (int c = shift.low + 1; c <= shift.high; c++)
		layout->first[c] = (int16_t)(layout->first[c] + times * shift.step);
}

/* Stage sums after the shift; only what changed is recomputed. */
static void
sum_changed(struct descent *d, struct shift shift, struct load sums[])
{
	int pp = d->layout->pp;

	memcpy(sums, d->stages, (size_t)pp * sizeof(*sums));
	for (int c = shift.low; c <= shift.high; c++) {
		struct load load = chunk_load(d, c);

		sums[layout_stage(d->layout, c)].time_s -= load.time_s;
		sums[layout_stage(d->layout, c)].bytes -= load.bytes;
	}
	apply(d->layout, shift, 1);
	for (int c = shift.low; c <= shift.high; c++) {
		struct load load = chunk_load(d, c);

		sums[layout_stage(d->layout, c)].time_s += load.time_s;
		sums[layout_stage(d->layout, c)].bytes += load.bytes;
	}
}

static double
value_of(struct load load, bool by_time)
{
	return by_time ? load.time_s : load.bytes;
}

static bool
over(double value, double limit)
{
	return value > limit + PARTITION_EPS * fabs(limit);
}

static bool
below(double value, double limit)
{
	return value < limit - PARTITION_EPS * fabs(limit);
}

static int
worst_stage(const struct descent *d, bool by_time)
{
	int worst = 0;

	for (int s = 1; s < d->layout->pp; s++)
		if (value_of(d->stages[s], by_time) > value_of(d->stages[worst], by_time))
			worst = s;
	return worst;
}

/* Is the worst stage relieved, and no other stage made as bad or put over the limits? */
static bool
relieved(const struct descent *d, const struct load sums[], int source, bool by_time)
{
	double value = value_of(d->stages[source], by_time);

	for (int s = 0; s < d->layout->pp; s++) {
		double was = value_of(d->stages[s], by_time), now = value_of(sums[s], by_time);

		if ((s == source || over(now, was)) && !below(now, value))
			return false;
		if (over(sums[s].time_s, d->limit.time_s) || over(sums[s].bytes, d->limit.bytes))
			return false;
	}
	return true;
}

static bool
try_move(struct descent *d, int from, int to, bool by_time)
{
	struct load sums[STRATEGY_MAX_PP];
	struct shift shift = shift_between(from, to);
	int pp = d->layout->pp, held = d->layout->first[from + 1] - d->layout->first[from];

	if (held <= !may_be_empty(d->layout, from))
		return false;
	sum_changed(d, shift, sums);
	if (!relieved(d, sums, layout_stage(d->layout, from), by_time)) {
		apply(d->layout, shift, -1);
		return false;
	}
	memcpy(d->stages, sums, (size_t)pp * sizeof(*sums));
	return true;
}

/* The first chunk of a stage from `chunk` on in steps of 1 or -1; -1: none. */
static int
nearest(const struct layout *layout, int stage, int chunk, int step)
{
	for (int c = chunk; c >= 0 && c < layout->pp * layout->vpp; c += step)
		if (layout_stage(layout, c) == stage)
			return c;
	return -1;
}

/* From any chunk of a stage to the nearest chunk of another, before or after it. */
static bool
move_between(struct descent *d, int from, int to, bool by_time)
{
	for (int v = 0; v < d->layout->vpp; v++) {
		int a = layout_chunk(d->layout, from, v);
		int after = nearest(d->layout, to, a, 1), before = nearest(d->layout, to, a, -1);

		if (after >= 0 && try_move(d, a, after, by_time))
			return true;
		if (before >= 0 && try_move(d, a, before, by_time))
			return true;
	}
	return false;
}

/* The least that one more layer can add to a stage. */
static double
least_gain(const struct stage_costs *costs, int stage, bool by_time)
{
	double least = INFINITY;

	for (int k = 0; k < costs->n_kinds; k++) {
		double kept = costs->activation_bytes[k];

		if (costs->recomputed > 0)
			kept -= costs->saved_bytes[k];
		least = fmin(least, by_time ? costs->layer_s[k]
					    : costs->state_bytes[k] + costs->alive[stage] * kept);
	}
	return least;
}

static int
lightest_unseen(const struct descent *d, const bool seen[], bool by_time)
{
	int found = -1;

	for (int s = 0; s < d->layout->pp; s++)
		if (!seen[s] && (found < 0 || value_of(d->stages[s], by_time) <
						  value_of(d->stages[found], by_time)))
			found = s;
	return found;
}

/* One move that relieves the worst stage; takers are tried from the lightest on. */
static bool
relieve(struct descent *d, bool by_time)
{
	int worst = worst_stage(d, by_time);
	double value = value_of(d->stages[worst], by_time);
	bool seen[STRATEGY_MAX_PP] = {false};

	seen[worst] = true;
	for (int i = 1; i < d->layout->pp; i++) {
		int to = lightest_unseen(d, seen, by_time);
		double gain = least_gain(d->w->costs, to, by_time);

		if (!below(value_of(d->stages[to], by_time) + gain, value)) {
			if (by_time)
				return false;
		} else if (move_between(d, worst, to, by_time)) {
			return true;
		}
		seen[to] = true;
	}
	return false;
}

static void
descend(struct descent *d, bool by_time)
{
	/* Each move is an improvement; the count only guards against rounding. */
	for (int moves = 0; moves < 4 * MODEL_MAX_LAYERS && relieve(d, by_time); moves++)
		;
	sum_stages(d);
}

static double
worst_value(const struct descent *d, bool by_time)
{
	return value_of(d->stages[worst_stage(d, by_time)], by_time);
}

bool
partition_chunks(const struct windows *w, struct layout *layout)
{
	struct descent d = {.w = w, .layout = layout, .limit = {INFINITY, INFINITY}};
	double capacity = w->costs->capacity_bytes;

	layout_even(layout, w->layers, layout->pp, layout->vpp);
	layout->vee = w->costs->vee;
	sum_stages(&d);
	if (over(worst_value(&d, false), capacity))
		descend(&d, false);
	d.limit.bytes = fmax(capacity, worst_value(&d, false));
	descend(&d, true);
	d.limit = (struct load){worst_value(&d, true), INFINITY};
	descend(&d, false);
	return !over(worst_value(&d, false), capacity);
}
