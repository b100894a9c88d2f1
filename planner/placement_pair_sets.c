/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which sets of few experts share a bin? Set partitioning with column generation:
 *     max sum_s a(s) y_s   with  sum over sets s with e in s of y_s = 1,
 * a(s) the weight of pairs inside, sets of m experts that weigh at most the cap. Columns are
 * made by enumerating all sets against the duals p of GLPK's LP (Gilmore, Gomory 1961).
 * N sets are used, so for any p
 *     inside <= sum_e p_e + N * max over sets of (a(s) - p(s)),
 * whatever GLPK's LP was worth; the maximum is found here. Then GLPK chooses among the
 * columns as integers, from the best bins known.
 */
#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "planner/milp.h"
#include "planner/placement_pairs.h"

enum { PAIR_SETS_MAX = 2000000, MAX_EACH = 4, MAX_ROUNDS = 200, MIP_ITERATIONS = 20000 };
#define NEGLIGIBLE 1e-9

/* Columns so far and what the enumeration needs. */
struct pair_sets {
	const struct pair_problem *p;
	struct arena *arena;
	struct milp *milp;
	int columns, room;
	int *members; /* [column][each] */
	double *dual; /* [expert] */
	double scale; /* of weights, so that GLPK sees numbers around one */
	double best;
	int chosen[MAX_EACH], current[MAX_EACH];
};

bool
pairs_sets_apply(const struct pair_problem *p)
{
	double sets = 1;

	for (int k = 0; k < p->each; k++)
		sets *= (double)(p->experts - k) / (k + 1);
	return p->each >= 2 && p->each <= MAX_EACH && sets <= PAIR_SETS_MAX;
}

static void
add_set(struct pair_sets *s, const int *members)
{
	int each = s->p->each, column;
	double inside = 0;

	if (s->columns == s->room) {
		s->members =
		    arena_grow(s->arena, s->members, (size_t)(s->room * each) * sizeof(int),
			(size_t)(2 * s->room * each) * sizeof(int));
		s->room *= 2;
	}
	for (int i = 0; i < each; i++)
		for (int j = i + 1; j < each; j++)
			inside += s->p->pairs[members[i] * s->p->experts + members[j]];
	memcpy(s->members + s->columns * each, members, (size_t)each * sizeof(int));
	column = milp_column(s->milp, arena_printf(s->arena, "y%d", s->columns++), MILP_CONTINUOUS,
	    0, INFINITY, -inside / s->scale);
	for (int i = 0; i < each; i++)
		milp_entry(s->milp, members[i], column, 1);
}

static void
add_bins(struct pair_sets *s, const int *bin_of)
{
	int members[MAX_EACH] = {0};

	for (int b = 0; b < s->p->bins; b++) {
		int n = 0;

		for (int e = 0; e < s->p->experts; e++)
			if (bin_of[e] == b)
				members[n++] = e;
		add_set(s, members);
	}
}

/* All sets that go on from current[0..depth-1] with experts from `from` on. */
static void
extend(struct pair_sets *s, int depth, int from, double load, double profit)
{
	const struct pair_problem *p = s->p;

	if (depth == p->each) {
		if (profit > s->best) {
			s->best = profit;
			memcpy(s->chosen, s->current, sizeof(s->chosen));
		}
		return;
	}
	for (int e = from; e + p->each - depth <= p->experts; e++) {
		double more = -s->dual[e];

		if (load + p->load[e] > p->cap * (1 + NEGLIGIBLE))
			continue;
		for (int i = 0; i < depth; i++)
			more += p->pairs[s->current[i] * p->experts + e] / s->scale;
		s->current[depth] = e;
		extend(s, depth + 1, e + 1, load + p->load[e], profit + more);
	}
}

/* Adds the most profitable set under each first expert; the greatest profit of all sets. */
static double
price_sets(struct pair_sets *s)
{
	const struct pair_problem *p = s->p;
	double greatest = -INFINITY;

	for (int first = 0; first + p->each <= p->experts; first++) {
		s->best = -INFINITY;
		s->current[0] = first;
		extend(s, 1, first + 1, p->load[first], -s->dual[first]);
		if (s->best > NEGLIGIBLE)
			add_set(s, s->chosen);
		greatest = fmax(greatest, s->best);
	}
	return greatest;
}

/* Solves the LP to its optimum or MAX_ROUNDS; the least bound met on the way. */
static double
generate(struct pair_sets *s)
{
	struct milp_options options = {0};
	double bound = INFINITY;

	for (int round = 0; round < MAX_ROUNDS; round++) {
		struct milp_result result = milp_solve(s->arena, s->milp, &options);
		double sum = 0, greatest;

		if (result.status != MILP_OPTIMAL)
			break;
		for (int e = 0; e < s->p->experts; e++)
			sum += s->dual[e] = -result.dual[e];
		greatest = price_sets(s);
		bound = fmin(bound, (sum + s->p->bins * fmax(0, greatest)) * s->scale);
		if (greatest <= NEGLIGIBLE)
			break;
	}
	return bound;
}

/* The columns as integers, in a model of their own; takes the bins when they are better. */
static bool
choose_sets(struct pair_sets *s, int *bin_of)
{
	const struct pair_problem *p = s->p;
	struct milp *milp = milp_new(s->arena, "partition");
	double *start = arena_array(s->arena, (size_t)s->columns, sizeof(double));
	struct milp_options options = {.iteration_limit = MIP_ITERATIONS, .start = start};
	int *found = arena_array(s->arena, (size_t)p->experts, sizeof(int)), bin = 0;
	struct milp_result result;

	for (int e = 0; e < p->experts; e++)
		milp_row(milp, arena_printf(s->arena, "r%d", e), 1, 1);
	for (int c = 0; c < s->columns; c++) {
		const int *members = s->members + c * p->each;
		double inside = 0;

		for (int i = 0; i < p->each; i++)
			for (int j = i + 1; j < p->each; j++)
				inside += p->pairs[members[i] * p->experts + members[j]];
		milp_column(
		    milp, arena_printf(s->arena, "y%d", c), MILP_BINARY, 0, 1, -inside / s->scale);
		for (int i = 0; i < p->each; i++)
			milp_entry(milp, members[i], c, 1);
		start[c] = c < p->bins; /* the bins known were the first columns */
	}
	result = milp_solve(s->arena, milp, &options);
	if (result.status == MILP_OPTIMAL || result.status == MILP_FEASIBLE) {
		for (int c = 0; c < s->columns; c++) {
			for (int i = 0; i < p->each && result.x[c] > 0.5; i++)
				found[s->members[c * p->each + i]] = bin;
			bin += result.x[c] > 0.5;
		}
		if (pairs_inside(p, found) > pairs_inside(p, bin_of))
			memcpy(bin_of, found, (size_t)p->experts * sizeof(int));
	}
	milp_release(milp);
	return result.status == MILP_OPTIMAL;
}

double
pairs_sets(struct arena *scratch, const struct pair_problem *p, int *bin_of, bool *proven)
{
	struct arena_mark mark = arena_mark(scratch);
	struct pair_sets s = {.p = p, .arena = scratch, .room = 4 * p->experts};
	double bound, inside;

	s.milp = milp_new(scratch, "sets");
	s.members = arena_array(scratch, (size_t)(s.room * p->each), sizeof(int));
	s.dual = arena_array(scratch, (size_t)p->experts, sizeof(double));
	s.scale = fmax(1e-9, pairs_inside(p, bin_of) / p->bins);
	for (int e = 0; e < p->experts; e++)
		milp_row(s.milp, arena_printf(scratch, "r%d", e), 1, 1);
	add_bins(&s, bin_of);
	bound = generate(&s);
	milp_release(s.milp);
	choose_sets(&s, bin_of);
	inside = pairs_inside(p, bin_of);
	*proven = inside >= bound - 1e-6 * fmax(1, bound);
	arena_reset(scratch, mark);
	return bound;
}
