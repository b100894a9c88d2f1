/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Can any placement be better than the one that was found? Two proofs that no
 * formula gives.
 *
 * Sets: with T the value to beat, take every set of K experts that weighs at most
 * T as a column; if no non-negative combination of columns covers each expert
 * once, T cannot be reached:
 *     minimise sum_e u_e   with  sum over sets s with e in s of y_s + u_e = 1.
 * Columns are made as needed by enumerating sets against the duals p_e <= 1 of GLPK's
 * LP (column generation: Gilmore, Gomory 1961). Any such p proves by itself: G sets
 * are used, so sum u >= sum_e p_e - G * max over sets of p(s) (Lagrange), and that
 * maximum is found here by enumeration, not by GLPK.
 *
 * Integer programme: x_ig = 1 when expert i is in bin g; experts sorted heaviest
 * first and x_ig = 0 for g > i, since bins are alike; T in [low, high). GLPK says
 * that there is none, or finds a better one, which is then summed up again.
 */
#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "planner/milp.h"
#include "planner/placement_bound.h"

enum {
	SETS_MAX = 12000000, /* sets to look at in one pricing, before pruning */
	SETS_MAX_SLOTS = 6,
	SETS_ROUNDS = 300,
	SETS_STEPS = 8, /* of the bisection between the bounds */
	PROVE_MAX_CELLS = 1024,
};
/* Least step down from a value that is not whole, and the least that counts as proved. */
#define STEP 1e-6
#define PRICE 1e-7

/* Experts by weight, heaviest first, and what enumeration needs of the rest of the list. */
struct sets {
	int n, slots, bins;
	const double *w;     /* [n] sorted */
	const double *light; /* [m] sum of the m lightest */
	double *price;	     /* [n] */
	double *best_of;     /* [n + 1][slots] the m+1 highest prices from i on, summed */
	double limit;	     /* T */
	double best;	     /* price of the dearest set met under the current first expert */
	int members[SETS_MAX_SLOTS];
	int chosen[SETS_MAX_SLOTS];
};

/* Sets of `slots` experts, saturating. */
static double
count_sets(int n, int slots)
{
	double count = 1;

	for (int k = 0; k < slots; k++)
		count *= (double)(n - k) / (k + 1);
	return count;
}

bool
bound_sets_apply(const struct bound_problem *p)
{
	return p->vectors == 1 && !p->slow && p->experts == p->bins * p->slots && p->slots > 2 &&
	       p->slots <= SETS_MAX_SLOTS && count_sets(p->experts, p->slots) <= SETS_MAX;
}

/* Heaviest first into `w`, ties by number. */
static void
sort_experts(const struct bound_problem *p, double *w, int *order)
{
	for (int e = 0; e < p->experts; e++) {
		int k = e;

		for (; k > 0 && p->weight[order[k - 1]] < p->weight[e]; k--)
			order[k] = order[k - 1];
		order[k] = e;
	}
	for (int k = 0; k < p->experts; k++)
		w[k] = p->weight[order[k]];
}

/* best_of[i][m-1]: no m experts from i on are dearer. Kept sorted from the back. */
static void
price_tails(struct sets *s)
{
	int m = s->slots;
	double top[SETS_MAX_SLOTS] = {0};

	for (int i = s->n; i >= 0; i--) {
		double sum = 0;

		if (i < s->n) {
			double price = s->price[i];
			int k = m - 1;

			if (price > top[k]) {
				for (; k > 0 && top[k - 1] < price; k--)
					top[k] = top[k - 1];
				top[k] = price;
			}
		}
		for (int k = 0; k < m; k++)
			s->best_of[i * m + k] = sum += top[k];
	}
}

/* `depth` experts are chosen, the next is `from` or later. Depth is at most SETS_MAX_SLOTS. */
static void
extend(struct sets *s, int depth, int from, double weight, double price)
{
	int left = s->slots - depth;

	if (left == 0) {
		if (price > s->best) {
			s->best = price;
			memcpy(s->chosen, s->members, sizeof(s->chosen));
		}
		return;
	}
	for (int i = from; i + left <= s->n; i++) {
		if (price + s->best_of[i * s->slots + left - 1] <= s->best)
			return;
		if (weight + s->w[i] + s->light[left - 1] > s->limit)
			continue;
		s->members[depth] = i;
		extend(s, depth + 1, i + 1, weight + s->w[i], price + s->price[i]);
	}
}

/* The LP of one limit. */
struct cover {
	struct milp *milp;
	struct arena *arena;
	int columns;
};

static void
add_set(struct cover *cover, const int *members, int slots)
{
	const char *name = arena_printf(cover->arena, "y%d", cover->columns++);
	int column = milp_column(cover->milp, name, MILP_CONTINUOUS, 0, INFINITY, 0);

	for (int k = 0; k < slots; k++)
		milp_entry(cover->milp, members[k], column, 1);
}

static struct cover
cover_new(struct arena *arena, int n)
{
	struct cover cover = {.milp = milp_new(arena, "sets"), .arena = arena};

	for (int e = 0; e < n; e++) {
		int row = milp_row(cover.milp, arena_printf(arena, "r%d", e), 1, 1);
		int column = milp_column(
		    cover.milp, arena_printf(arena, "u%d", e), MILP_CONTINUOUS, 0, INFINITY, 1);

		milp_entry(cover.milp, row, column, 1);
	}
	return cover;
}

/* Adds the dearest set under each first expert; the price of the dearest of all. */
static double
price_sets(struct sets *s, struct cover *cover)
{
	double dearest = 0;

	price_tails(s);
	for (int first = 0; first + s->slots <= s->n; first++) {
		if (s->w[first] + s->light[s->slots - 1] > s->limit)
			continue;
		s->best = PRICE;
		s->members[0] = first;
		extend(s, 1, first + 1, s->w[first], s->price[first]);
		if (s->best > PRICE)
			add_set(cover, s->chosen, s->slots);
		dearest = fmax(dearest, s->best);
	}
	return dearest;
}

/* Whether no placement keeps every bin within the limit. False: not proved. */
static bool
sets_exclude(struct arena *scratch, struct sets *s, double limit)
{
	struct arena_mark mark = arena_mark(scratch);
	struct cover cover = cover_new(scratch, s->n);
	struct milp_options options = {0};
	bool excluded = false;

	s->limit = limit;
	for (int round = 0; round < SETS_ROUNDS; round++) {
		struct milp_result result = milp_solve(scratch, cover.milp, &options);
		double sum = 0, dearest;

		if (result.status != MILP_OPTIMAL || result.objective < PRICE)
			break;
		for (int e = 0; e < s->n; e++)
			sum += s->price[e] = fmin(1, result.dual[e]);
		dearest = price_sets(s, &cover);
		excluded = sum - s->bins * dearest > s->n * PRICE;
		if (excluded || dearest <= PRICE)
			break;
	}
	milp_release(cover.milp);
	arena_reset(scratch, mark);
	return excluded;
}

static double
below(double value, bool whole)
{
	return whole && value < 1 / STEP ? value - 1 : value * (1 - STEP);
}

double
bound_sets(
    struct arena *scratch, const struct bound_problem *p, double low, double high, bool bisect)
{
	struct arena_mark mark = arena_mark(scratch);
	double *w = arena_array(scratch, (size_t)p->experts, sizeof(double));
	double *light = arena_array(scratch, (size_t)p->slots + 1, sizeof(double));
	int *order = arena_array(scratch, (size_t)p->experts, sizeof(int));
	struct sets s = {
	    .n = p->experts, .slots = p->slots, .bins = p->bins, .w = w, .light = light};
	bool whole = weights_are_whole(p->weight, p->experts);
	double top = below(high, whole);

	s.price = arena_array(scratch, (size_t)s.n, sizeof(double));
	s.best_of = arena_array(scratch, (size_t)(s.n + 1) * (size_t)s.slots, sizeof(double));
	sort_experts(p, w, order);
	for (int m = 0; m < s.slots; m++)
		light[m + 1] = light[m] + w[s.n - 1 - m];
	if (sets_exclude(scratch, &s, top)) {
		low = whole && high < 1 / STEP ? high : top;
	} else {
		for (int step = 0; bisect && step < SETS_STEPS && top > low * (1 + STEP); step++) {
			double middle = (low + top) / 2;

			if (sets_exclude(scratch, &s, middle))
				low = middle;
			else
				top = middle;
		}
	}
	arena_reset(scratch, mark);
	return low;
}

/* --- integer programme --- */

struct prover {
	struct milp *milp;
	int n, bins;
	const int *order;
	int *column; /* [rank by weight][bin], -1: fixed at 0 */
};

static void
add_columns(struct arena *arena, struct prover *q)
{
	for (int i = 0; i < q->n; i++)
		for (int g = 0; g < q->bins; g++)
			q->column[i * q->bins + g] =
			    g > i ? -1
				  : milp_column(q->milp, arena_printf(arena, "x%d_%d", i, g),
					MILP_BINARY, 0, 1, 0);
}

static void
add_rows(struct arena *arena, struct prover *q, const struct bound_problem *p, double mean, int t)
{
	for (int i = 0; i < q->n; i++) {
		int row = milp_row(q->milp, arena_printf(arena, "once%d", i), 1, 1);

		for (int g = 0; g < q->bins && g <= i; g++)
			milp_entry(q->milp, row, q->column[i * q->bins + g], 1);
	}
	for (int g = 0; g < q->bins; g++) {
		int slots =
		    milp_row(q->milp, arena_printf(arena, "slots%d", g), p->slots, p->slots);
		int load = milp_row(q->milp, arena_printf(arena, "load%d", g), -INFINITY, 0);

		for (int i = g; i < q->n; i++) {
			int column = q->column[i * q->bins + g];

			milp_entry(q->milp, slots, column, 1);
			milp_entry(q->milp, load, column, p->weight[q->order[i]] / mean);
		}
		milp_entry(q->milp, load, t, -1);
	}
}

/* The packing of a point; its sums are taken from the weights again. */
static void
read_packing(const struct prover *q, const double *x, struct pack *found)
{
	for (int g = 0; g < q->bins; g++) {
		int slot = 0;

		for (int i = g; i < q->n; i++)
			if (x[q->column[i * q->bins + g]] > 0.5 && slot < found->slots)
				found->at[g * found->slots + slot++] = q->order[i];
	}
	pack_sums(found);
}

enum prove
bound_prove(struct arena *scratch, const struct bound_problem *p, double low, double high,
    int iteration_limit, struct pack *found)
{
	struct arena_mark mark = arena_mark(scratch);
	struct milp_options options = {.iteration_limit = iteration_limit};
	struct prover q = {.n = p->experts, .bins = p->bins};
	double *w = arena_array(scratch, (size_t)q.n, sizeof(double)), mean = 0;
	int *order = arena_array(scratch, (size_t)q.n, sizeof(int)), t;
	struct milp_result result;
	enum prove answer = PROVE_UNDECIDED;

	if (p->vectors != 1 || p->slow || q.n != q.bins * p->slots ||
	    q.n * q.bins > PROVE_MAX_CELLS)
		return PROVE_UNDECIDED;
	sort_experts(p, w, order);
	for (int i = 0; i < q.n; i++)
		mean += w[i] / q.bins;
	q.order = order;
	q.column = arena_array(scratch, (size_t)(q.n * q.bins), sizeof(int));
	q.milp = milp_new(scratch, "packing");
	add_columns(scratch, &q);
	t = milp_column(q.milp, "T", MILP_CONTINUOUS, low / mean,
	    fmax(low, below(high, weights_are_whole(w, q.n))) / mean, 1);
	add_rows(scratch, &q, p, mean, t);
	result = milp_solve(scratch, q.milp, &options);
	if (result.status == MILP_INFEASIBLE)
		answer = PROVE_NONE;
	if (result.status == MILP_OPTIMAL || result.status == MILP_FEASIBLE) {
		read_packing(&q, result.x, found);
		answer = pack_value(found) < high ? PROVE_FOUND : PROVE_UNDECIDED;
	}
	milp_release(q.milp);
	arena_reset(scratch, mark);
	return answer;
}
