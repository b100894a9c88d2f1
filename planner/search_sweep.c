/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which candidates are the best n, and is that proved?
 *
 * In the order of their lower bounds (of fewer GPUs first where those count first) candidates are
 * laid out, and simulated when the bound of their layout is still below the n-th best. Once the
 * next bound is not, every candidate left is proved no better. To have good incumbents early, the
 * first candidates are put in the order of their closed-form estimate.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/arena.h"
#include "planner/search_private.h"

enum { FIRST_LOOK = 256, FIRST_EXACT = 16, CLOCK_EVERY = 64 };

double
search_clock_s(void)
{
	struct timespec now = {0, 0};

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static bool
passes(const struct candidate *c, struct filter filter)
{
	return filter.axis == AXES || c->value[filter.axis] == filter.value;
}

/* Whether some candidate of the family may pass. */
static bool
family_passes(const struct search *search, const struct family *family, struct filter filter)
{
	if (filter.axis == AXIS_RECOMPUTE)
		return true;
	if (filter.axis == AXIS_VPP)
		return (search->grid.axes[AXIS_VPP].values[filter.value] > 1) ==
		       family->several_chunks;
	return passes(&family->first, filter);
}

/* Fewer GPUs first where that is asked for, then the value, memory, and the order of the grid. */
static int
compare_exact(const struct search *search, int a, int b)
{
	const struct candidate *x = &search->candidates[a], *y = &search->candidates[b];
	double vx = candidate_value(search, x), vy = candidate_value(search, y);

	if (search->job->objective == OBJECTIVE_GPUS && x->world != y->world)
		return x->world < y->world ? -1 : 1;
	if (vx < vy || vx > vy)
		return vx < vy ? -1 : 1;
	if (x->bytes < y->bytes || x->bytes > y->bytes)
		return x->bytes < y->bytes ? -1 : 1;
	return a < b ? -1 : a > b;
}

/* Answers that differ only in VPP or dispatcher are one answer, the better of them. */
bool
candidate_is_like(const struct candidate *a, const struct candidate *b)
{
	for (int axis = 0; axis < AXES; axis++)
		if (axis != AXIS_VPP && axis != AXIS_DISPATCHER && a->value[axis] != b->value[axis])
			return false;
	return a->world == b->world;
}

/* Puts an exact candidate in its place among the best n, in place of a worse one like it. */
static void
insert(const struct search *search, int index, int n, int best[], int *found)
{
	int at = *found, gap = *found;

	for (int i = 0; i < *found; i++) {
		if (!candidate_is_like(&search->candidates[index], &search->candidates[best[i]]))
			continue;
		if (compare_exact(search, index, best[i]) >= 0)
			return;
		gap = i;
	}
	while (at > 0 && compare_exact(search, index, best[at - 1]) < 0)
		at--;
	if (at == n)
		return;
	if (gap == *found && *found < n)
		(*found)++;
	else if (gap == *found)
		gap = n - 1;
	memmove(best + at + 1, best + at, (size_t)(gap - at) * sizeof(*best));
	best[at] = index;
}

/* What a candidate must be below to matter; nothing of more GPUs when those count first. */
static double
limit_for(
    const struct search *search, const struct candidate *c, int n, const int best[], int found)
{
	const struct candidate *last;

	if (found < n)
		return INFINITY;
	last = &search->candidates[best[n - 1]];
	if (search->job->objective == OBJECTIVE_GPUS && c->world != last->world)
		return c->world < last->world ? INFINITY : -INFINITY;
	return candidate_value(search, last);
}

static bool
out_of_time(struct search *search)
{
	if (search_clock_s() < search->deadline_s)
		return false;
	search->account.stopped_early = true;
	return true;
}

static void
look_at(struct search *search, int index, int n, int best[], int *found)
{
	struct candidate *c = &search->candidates[index];
	double limit = limit_for(search, c, n, best, *found);

	if (c->state == CANDIDATE_BOUND || (c->state == CANDIDATE_LAID_OUT && c->step_s < limit))
		candidate_price(search, c, limit);
	if (c->state == CANDIDATE_EXACT)
		insert(search, index, n, best, found);
}

struct look {
	double step_s;
	int index;
};

static int
compare_looks(const void *a, const void *b)
{
	const struct look *x = a, *y = b;

	if (x->step_s < y->step_s || x->step_s > y->step_s)
		return x->step_s < y->step_s ? -1 : 1;
	return x->index < y->index ? -1 : x->index > y->index;
}

/* The most promising of the first candidates by their closed form become exact first. */
static void
first_incumbents(struct search *search, struct filter filter, int n, int best[], int *found)
{
	struct look looks[FIRST_LOOK];
	int n_looks = 0;

	for (int f = 0; f < search->n_families && n_looks < FIRST_LOOK; f++) {
		struct family *family = &search->families[f];

		if (!family_passes(search, family, filter))
			continue;
		family_open(search, family);
		for (int i = 0; i < family->n_members && n_looks < FIRST_LOOK; i++) {
			const struct candidate *c = &search->candidates[family->member + i];
			struct estimate estimate;
			struct strategy s;

			if (!passes(c, filter) || c->state != CANDIDATE_BOUND)
				continue;
			s = candidate_strategy(search, c);
			evaluate(search->evaluator, &s, NULL, NULL, &estimate);
			looks[n_looks++] = (struct look){
			    estimate.worst_bytes > search->cap_bytes ? INFINITY : estimate.step_s,
			    family->member + i};
		}
	}
	qsort(looks, (size_t)n_looks, sizeof(*looks), compare_looks);
	for (int i = 0; i < n_looks && i < FIRST_EXACT + n; i++)
		look_at(search, looks[i].index, n, best, found);
}

static void
sweep_family(struct search *search, struct family *family, struct filter filter, int n, int best[],
    int *found)
{
	family_open(search, family);
	for (int i = family->member; i < family->member + family->n_members; i++) {
		const struct candidate *c = &search->candidates[i];

		if (passes(c, filter) &&
		    candidate_bound(search, c) < limit_for(search, c, n, best, *found))
			look_at(search, i, n, best, found);
	}
}

int
search_sweep(struct search *search, struct filter filter, int n, int best[])
{
	int found = 0;

	first_incumbents(search, filter, n, best, &found);
	for (int f = 0; f < search->n_families; f++) {
		struct family *family = &search->families[f];

		if (!family_passes(search, family, filter))
			continue;
		if (candidate_bound(search, &family->first) >=
		    limit_for(search, &family->first, n, best, found))
			break;
		if (f % CLOCK_EVERY == 0 && out_of_time(search))
			break;
		sweep_family(search, family, filter, n, best, &found);
	}
	return found;
}
