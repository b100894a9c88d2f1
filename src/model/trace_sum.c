/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where did the GPU's time go in a profiled step?
 *
 *   exposed = time with communication and no other kernel, idle = time with no kernel at all,
 * both from the union of intervals inside the marked steps (the whole trace without marks).
 * Ignored: waiting inside a collective for late ranks (it counts as communication), what profiling
 * itself costs the host.
 */
#include <stdbool.h>
#include <stdlib.h>

#include "model/trace_private.h"

static int
by_start(const void *a, const void *b)
{
	double x = ((const struct interval *)a)->start, y = ((const struct interval *)b)->start;

	return (x > y) - (x < y);
}

static bool is_communication(enum trace_class class)
{
	return class == TRACE_ALL_TO_ALL || class == TRACE_COLLECTIVE;
}

static double
later(double a, double b)
{
	return a > b ? a : b;
}

/* Seconds in the window in which any kernel of the chosen kinds runs; intervals are sorted. */
static double
covered(const struct trace_events *r, double from, double to, bool computation_only)
{
	double reached = from, sum = 0;
	size_t i;

	for (i = 0; i < r->n_kernels; i++) {
		const struct interval *k = &r->kernels[i];
		double start = later(k->start, reached), end = k->end < to ? k->end : to;

		if ((computation_only && is_communication(k->class)) || end <= start)
			continue;
		sum += end - start;
		reached = end;
	}
	return sum;
}

/* The marked steps, or the time from the first kernel to the last. */
static void
find_window(const struct trace_events *r, double *from, double *to)
{
	const struct interval *list = r->n_steps > 0 ? r->steps : r->kernels;
	size_t n = r->n_steps > 0 ? (size_t)r->n_steps : r->n_kernels, i;

	*from = list[0].start;
	*to = list[0].end;
	for (i = 1; i < n; i++) {
		*from = list[i].start < *from ? list[i].start : *from;
		*to = later(*to, list[i].end);
	}
}

static int
by_length(const void *a, const void *b)
{
	const struct interval *x = a, *y = b;
	double p = x->end - x->start, q = y->end - y->start;

	return (p > q) - (p < q);
}

void
trace_sum(struct trace_events *r, struct trace_facts *facts)
{
	double from, to, share, all, computed, inside = 0, total = 0;
	size_t i;

	qsort(r->kernels, r->n_kernels, sizeof(*r->kernels), by_start);
	find_window(r, &from, &to);
	facts->kernels = (int64_t)r->n_kernels;
	facts->steps = r->n_steps;
	share = r->n_steps > 0 ? 1.0 / r->n_steps : 1;
	for (i = 0; i < r->n_kernels; i++) {
		double start = later(r->kernels[i].start, from);
		double end = r->kernels[i].end < to ? r->kernels[i].end : to;

		total += r->kernels[i].end - r->kernels[i].start;
		if (end <= start)
			continue;
		facts->seconds[r->kernels[i].class] += share * (end - start);
		inside += end - start;
	}
	facts->outside_share = total > 0 ? later(0, 1 - inside / total) : 0;
	all = covered(r, from, to, false);
	computed = covered(r, from, to, true);
	facts->window_s = share * (to - from);
	facts->computed_s = share * computed;
	facts->exposed_s = share * (all - computed);
	facts->idle_s = share * (to - from - all);
	if (r->n_steps > 0) {
		qsort(r->steps, (size_t)r->n_steps, sizeof(*r->steps), by_length);
		facts->step_s = r->steps[r->n_steps / 2].end - r->steps[r->n_steps / 2].start;
	}
}
