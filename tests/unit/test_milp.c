/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The MILP builder, GLPK behind it, and the text that other solvers read. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "glpsol.h"
#include "planner/milp.h"

static const struct milp_options plain = {0};

static uint64_t
next_random(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return *state >> 33;
}

static int
pick(uint64_t *state, int low, int high)
{
	return low + (int)(next_random(state) % (uint64_t)(high - low + 1));
}

/* max 8a + 11b + 6c + 4d with 5a + 7b + 4c + 3d <= 14: b, c and d, 21. */
static struct milp *
knapsack(struct arena *arena)
{
	struct milp *milp = milp_new(arena, "knapsack");
	static const double value[] = {8, 11, 6, 4}, weight[] = {5, 7, 4, 3};
	int row = milp_row(milp, "weight", -INFINITY, 14);

	for (int j = 0; j < 4; j++) {
		char name[] = {(char)('a' + j), '\0'};

		milp_entry(
		    milp, row, milp_column(milp, name, MILP_BINARY, 0, 1, -value[j]), weight[j]);
	}
	return milp;
}

Test(milp, knapsack_is_solved)
{
	struct arena *arena = arena_new(NULL, NULL);
	struct milp *milp = knapsack(arena);
	struct milp_result result = milp_solve(arena, milp, &plain);

	cr_assert_eq(result.status, MILP_OPTIMAL);
	cr_assert_float_eq(result.objective, -21, 1e-9);
	cr_assert_float_eq(result.bound, -21, 1e-9);
	cr_assert_float_eq(
	    result.x[0] + 2 * result.x[1] + 4 * result.x[2] + 8 * result.x[3], 14, 1e-9);
	cr_assert_eq(milp_columns(milp), 4);
	cr_assert_eq(milp_rows(milp), 1);
	milp_release(milp);
	arena_free(arena);
}

Test(milp, changes_between_solves_are_seen)
{
	struct arena *arena = arena_new(NULL, NULL);
	struct milp *milp = knapsack(arena);
	int more;

	cr_assert_float_eq(milp_solve(arena, milp, &plain).objective, -21, 1e-9);
	milp_set_bounds(milp, 1, 0, 0); /* without b: a, c and d weigh 12 */
	cr_assert_float_eq(milp_solve(arena, milp, &plain).objective, -18, 1e-9);
	milp_set_row_bounds(milp, 0, -INFINITY, 9); /* a and c */
	cr_assert_float_eq(milp_solve(arena, milp, &plain).objective, -14, 1e-9);
	milp_set_cost(milp, 3, -7); /* a and d weigh 8 */
	cr_assert_float_eq(milp_solve(arena, milp, &plain).objective, -15, 1e-9);
	milp_set_entry(milp, 0, 3, 5); /* no longer */
	cr_assert_float_eq(milp_solve(arena, milp, &plain).objective, -14, 1e-9);
	more = milp_column(milp, "f", MILP_BINARY, 0, 1, -9);
	milp_entry(milp, 0, more, 4); /* a and f */
	cr_assert_float_eq(milp_solve(arena, milp, &plain).objective, -17, 1e-9);
	milp_entry(milp, milp_row(milp, "alone", -INFINITY, 0), more, 1);
	cr_assert_float_eq(milp_solve(arena, milp, &plain).objective, -14, 1e-9);
	milp_release(milp);
	/* After a release the same model is built anew. */
	cr_assert_float_eq(milp_solve(arena, milp, &plain).objective, -14, 1e-9);
	milp_release(milp);
	arena_free(arena);
}

Test(milp, infeasible_and_unbounded)
{
	struct arena *arena = arena_new(NULL, NULL);
	struct milp *milp = milp_new(arena, "m");
	int x = milp_column(milp, "x", MILP_INTEGER, 0, 10, 1), row = milp_row(milp, "r", 4.2, 4.8);
	struct milp_result result;

	/* No integer between 4.2 and 4.8, though the relaxation has points. */
	milp_entry(milp, row, x, 1);
	cr_assert_eq(milp_solve(arena, milp, &plain).status, MILP_INFEASIBLE);
	milp_set_row_bounds(milp, row, 11, INFINITY);
	cr_assert_eq(milp_solve(arena, milp, &plain).status, MILP_INFEASIBLE);
	milp_set_row_bounds(milp, row, -INFINITY, 11);
	milp_set_bounds(milp, x, -INFINITY, INFINITY);
	result = milp_solve(arena, milp, &plain);
	cr_assert_eq(result.status, MILP_FAILED);
	cr_assert(strstr(result.message, "unbounded"), "%s", result.message);
	milp_release(milp);
	arena_free(arena);
}

Test(milp, mistakes_are_remembered)
{
	struct arena *arena = arena_new(NULL, NULL);

	for (int i = 0; i < 10; i++) {
		struct milp *milp = knapsack(arena);
		struct milp_result result;

		switch (i) {
		case 0:
			milp_entry(milp, 1, 0, 1);
			break;
		case 1:
			milp_entry(milp, 0, -1, 1);
			break;
		case 2:
			milp_entry(milp, 0, 0, 1);
			break; /* there is one */
		case 3:
			milp_set_cost(milp, 0, NAN);
			break;
		case 4:
			milp_set_bounds(milp, 0, 1, 0);
			break;
		case 5:
			milp_set_bounds(milp, 0, 0, 2);
			break;
		case 6:
			milp_column(milp, "x y", MILP_BINARY, 0, 1, 0);
			break;
		case 7:
			milp_column(milp, "e1", MILP_BINARY, 0, 1, 0);
			break;
		case 8:
			milp_column(milp, "i", MILP_INTEGER, 0.5, 1, 0);
			break;
		case 9:
			milp_set_row_bounds(milp, 0, NAN, 1);
			break;
		}
		result = milp_solve(arena, milp, &plain);
		cr_assert_eq(result.status, MILP_FAILED, "%d", i);
		cr_assert(strstr(result.message, "knapsack"), "%d: %s", i, result.message);
		milp_release(milp);
	}
	arena_free(arena);
}

/* GLPK ends the process when its memory limit is hit; here it is an answer. */
Test(milp, an_abort_of_glpk_is_an_answer)
{
	struct arena *arena = arena_new(NULL, NULL);
	struct milp_options small = {.memory_limit_mib = 1};
	struct milp *other = knapsack(arena), *milp;
	struct milp_result result;

	for (int pass = 0; pass < 2; pass++) {
		milp = milp_new(arena, "big");
		for (int j = 0; j < 20000; j++)
			milp_column(milp, "x", MILP_BINARY, 0, 1, 1);
		if (pass == 1)
			cr_assert_eq(milp_solve(arena, other, &plain).status, MILP_OPTIMAL);
		result = milp_solve(arena, milp, &small);
		cr_assert_eq(result.status, MILP_FAILED);
		cr_assert(strstr(result.message, "memory"), "%s", result.message);
		cr_assert_eq(milp_solve(arena, milp, &plain).status, MILP_FAILED);
		milp_release(milp);
		/* Others are not touched by it. */
		cr_assert_eq(milp_solve(arena, other, &plain).status, MILP_OPTIMAL);
		cr_assert_float_eq(milp_solve(arena, other, &plain).objective, -21, 1e-9);
	}
	milp_release(other);
	arena_free(arena);
}

Test(milp, violation_of_bounds_rows_and_integrality)
{
	struct arena *arena = arena_new(NULL, NULL);
	struct milp *milp = knapsack(arena);
	double x[] = {0, 1, 1, 1};

	cr_assert_eq(milp_violation(milp, x), 0);
	x[3] = 0.75;
	cr_assert_float_eq(milp_violation(milp, x), 0.25, 1e-12);
	x[3] = 2;
	cr_assert_float_eq(milp_violation(milp, x), 1, 1e-12);
	x[3] = x[0] = 1; /* 19 of 14 */
	cr_assert_float_eq(milp_violation(milp, x), 5.0 / 14, 1e-12);
	x[0] = NAN;
	cr_assert_eq(milp_violation(milp, x), INFINITY);
	arena_free(arena);
}

enum { INTEGERS = 3, ROWS = 4 };

/* Three integers in [0, 4] and a continuous z that the first two rows bound from below. */
struct drawn {
	struct milp *milp;
	double cost[INTEGERS], a[ROWS][INTEGERS], low[ROWS], high[ROWS];
};

static struct drawn
draw(struct arena *arena, uint64_t *state)
{
	struct drawn d = {.milp = milp_new(arena, "drawn")};
	int z = milp_column(d.milp, "z", MILP_CONTINUOUS, -100, INFINITY, 1), x[INTEGERS];

	for (int j = 0; j < INTEGERS; j++) {
		char name[] = {'x', (char)('0' + j), '\0'};

		d.cost[j] = pick(state, -3, 3);
		x[j] = milp_column(d.milp, name, MILP_INTEGER, 0, 4, d.cost[j]);
	}
	for (int i = 0; i < ROWS; i++) {
		char name[] = {'r', (char)('0' + i), '\0'};
		int row;

		d.high[i] = pick(state, 1, 12);
		d.low[i] = i < 2    ? -INFINITY
			   : i == 2 ? d.high[i] / 4
				    : d.high[i] - pick(state, 0, 1);
		row = milp_row(d.milp, name, d.low[i], d.high[i]);
		if (i < 2)
			milp_entry(d.milp, row, z, -1);
		for (int j = 0; j < INTEGERS; j++) {
			d.a[i][j] = i < 3 ? pick(state, -2, 4) + 0.25 * pick(state, 0, 3)
					  : pick(state, 0, 2);
			milp_entry(d.milp, row, x[j], d.a[i][j]);
		}
	}
	return d;
}

static double
all_points(const struct drawn *d)
{
	double best = INFINITY;

	for (int p = 0; p < 125; p++) {
		int tens = p / 5, hundreds = p / 25;
		double x[] = {p % 5, tens % 5, hundreds}, z = -100, value = 0;
		bool inside = true;

		for (int i = 0; i < ROWS; i++) {
			double sum = d->a[i][0] * x[0] + d->a[i][1] * x[1] + d->a[i][2] * x[2];

			if (i < 2)
				z = fmax(z, sum - d->high[i]);
			else
				inside =
				    inside && sum >= d->low[i] - 1e-9 && sum <= d->high[i] + 1e-9;
		}
		for (int j = 0; j < INTEGERS; j++)
			value += d->cost[j] * x[j];
		if (inside)
			best = fmin(best, value + z);
	}
	return best;
}

Test(milp, drawn_models_agree_with_all_points)
{
	struct arena *arena = arena_new(NULL, NULL);
	uint64_t state = 5;
	int feasible = 0;

	for (int i = 0; i < 500; i++) {
		struct drawn d = draw(arena, &state);
		double best = all_points(&d);
		struct milp_result result = milp_solve(arena, d.milp, &plain);

		milp_release(d.milp);
		if (!isfinite(best)) {
			cr_assert_eq(result.status, MILP_INFEASIBLE, "model %d", i);
			continue;
		}
		feasible++;
		cr_assert_eq(result.status, MILP_OPTIMAL, "model %d", i);
		cr_assert_float_eq(
		    result.objective, best, 1e-6, "model %d: %g, %g", i, result.objective, best);
		cr_assert_leq(milp_violation(d.milp, result.x), 1e-6);
	}
	cr_assert(feasible > 100 && feasible < 490, "%d", feasible);
	arena_free(arena);
}

Test(milp, glpsol_reads_the_text_and_agrees)
{
	struct arena *arena = arena_new(NULL, NULL);
	struct milp *milp = knapsack(arena);
	uint64_t state = 9;

	for (int i = 0; i < 20; i++) {
		struct drawn d = draw(arena, &state);
		double best = all_points(&d), found = glpsol_objective(milp_lp_text(arena, d.milp));

		if (isfinite(best))
			cr_assert_float_eq(found, best, 1e-6, "model %d: %g, %g", i, found, best);
		else
			cr_assert(isnan(found), "model %d", i);
	}
	milp_set_bounds(milp, 1, 0, 0);
	cr_assert_float_eq(glpsol_objective(milp_lp_text(arena, milp)), -18, 1e-9);
	arena_free(arena);
}

Test(milp, the_text_of_every_kind_of_bound)
{
	struct arena *arena = arena_new(NULL, NULL);
	struct milp *milp = milp_new(arena, "bounds");
	static const struct {
		const char *name;
		double low, high;
	} columns[] = {{"a", 0, INFINITY}, {"b", -INFINITY, INFINITY}, {"c", -INFINITY, 5},
	    {"d", 2, INFINITY}, {"f", 3, 3}, {"g", -1, 4}};
	const char *text;
	int row = milp_row(milp, "r", 1, 2);

	for (int j = 0; j < 6; j++)
		milp_entry(milp, row,
		    milp_column(
			milp, columns[j].name, MILP_CONTINUOUS, columns[j].low, columns[j].high, 0),
		    1);
	milp_column(milp, "h", MILP_BINARY, 0, 1, 0.5);
	milp_column(milp, "i", MILP_BINARY, 1, 1, 0.5);
	milp_row(milp, "empty", -1, INFINITY);
	text = milp_lp_text(arena, milp);
	cr_assert_str_eq(text, "\\* bounds *\\\nMinimize\n obj: + 0.5 h + 0.5 i\n"
			       "Subject To\n r.low: + 1 a + 1 b + 1 c + 1 d + 1 f + 1 g >= 1\n"
			       " r.high: + 1 a + 1 b + 1 c + 1 d + 1 f + 1 g <= 2\n"
			       " empty: + 0 a >= -1\n"
			       "Bounds\n b free\n -inf <= c <= 5\n d >= 2\n f = 3\n -1 <= g <= 4\n"
			       " i = 1\nGeneral\n i\nBinary\n h\nEnd\n");
	cr_assert_float_eq(glpsol_objective(text), 0.5, 1e-9);
	cr_assert_float_eq(milp_solve(arena, milp, &plain).objective, 0.5, 1e-9);
	milp_release(milp);
	arena_free(arena);
}

/* An even sum of ones is never odd: GLPK needs its whole tree, so it is stopped early. */
Test(milp, a_stop_by_time_or_nodes_is_not_called_optimal)
{
	struct arena *arena = arena_new(NULL, NULL);
	struct milp *milp = milp_new(arena, "hard");
	struct milp_options hurry = {.time_limit_s = 0.05}, few = {.node_limit = 100};
	int row = milp_row(milp, "odd", 31, 31);

	for (int j = 0; j < 40; j++)
		milp_entry(milp, row, milp_column(milp, "x", MILP_BINARY, 0, 1, j % 3), 2);
	cr_assert_eq(milp_solve(arena, milp, &hurry).status, MILP_UNKNOWN);
	cr_assert_eq(milp_solve(arena, milp, &few).status, MILP_UNKNOWN);
	milp_release(milp);
	arena_free(arena);
}

Test(milp, a_stop_by_gap_says_so)
{
	struct arena *arena = arena_new(NULL, NULL);
	struct milp_options loose = {.gap = 0.5};
	uint64_t state = 2;
	int stopped = 0;

	for (int i = 0; i < 50; i++) {
		struct milp *milp = milp_new(arena, "many");
		int row = milp_row(milp, "weight", 1000, INFINITY);
		struct milp_result exact, near;

		for (int j = 0; j < 30; j++)
			milp_entry(milp, row,
			    milp_column(milp, "x", MILP_BINARY, 0, 1, pick(&state, 50, 99)),
			    pick(&state, 50, 99));
		near = milp_solve(arena, milp, &loose);
		exact = milp_solve(arena, milp, &plain);
		cr_assert_eq(exact.status, MILP_OPTIMAL);
		cr_assert(near.status == MILP_OPTIMAL || near.status == MILP_FEASIBLE);
		cr_assert_leq(near.bound, exact.objective + 1e-6);
		cr_assert_geq(near.objective, exact.objective - 1e-6);
		stopped += near.status == MILP_FEASIBLE;
		milp_release(milp);
	}
	cr_assert_gt(stopped, 0);
	arena_free(arena);
}

/* max 3x + 2y, x + y <= 4, x <= 3: the duals price the rows, y b is the optimum. */
Test(milp, duals_of_a_linear_programme)
{
	struct arena *arena = arena_new(NULL, NULL);
	struct milp *milp = milp_new(arena, "duals");
	int x = milp_column(milp, "x", MILP_CONTINUOUS, 0, INFINITY, -3);
	int y = milp_column(milp, "y", MILP_CONTINUOUS, 0, INFINITY, -2);
	int sum = milp_row(milp, "sum", -INFINITY, 4), top = milp_row(milp, "top", -INFINITY, 3);
	struct milp_result result;

	milp_entry(milp, sum, x, 1);
	milp_entry(milp, sum, y, 1);
	milp_entry(milp, top, x, 1);
	result = milp_solve(arena, milp, &plain);
	cr_assert_eq(result.status, MILP_OPTIMAL);
	cr_assert_float_eq(result.objective, -11, 1e-9);
	cr_assert_not_null(result.dual);
	cr_assert_float_eq(result.dual[sum], -2, 1e-9);
	cr_assert_float_eq(result.dual[top], -1, 1e-9);
	milp_release(milp);
	arena_free(arena);
}

/* A knapsack stopped at once has the start for its answer; one that breaks the model is refused. */
Test(milp, a_start_and_a_limit_of_iterations)
{
	struct arena *arena = arena_new(NULL, NULL);
	struct milp *milp = milp_new(arena, "start");
	int row = milp_row(milp, "weight", -INFINITY, 100);
	double start[30] = {0}, heavy[30];
	struct milp_options options = {.iteration_limit = 1, .start = start};
	struct milp_result result;
	double cost = 0;

	for (int j = 0; j < 30; j++) {
		int column = milp_column(milp, "x", MILP_BINARY, 0, 1, -(7.0 + j * 13 % 17));

		milp_entry(milp, row, column, 6.0 + j * 11 % 19);
		start[j] = j < 5;
		heavy[j] = 1;
		cost -= start[j] * (7.0 + j * 13 % 17);
	}
	result = milp_solve(arena, milp, &options);
	cr_assert_neq(result.status, MILP_OPTIMAL);
	options.iteration_limit = 0;
	result = milp_solve(arena, milp, &options);
	cr_assert_eq(result.status, MILP_OPTIMAL);
	cr_assert_leq(result.objective, cost);
	cr_assert_null(result.dual);
	options.start = heavy;
	result = milp_solve(arena, milp, &options);
	cr_assert_eq(result.status, MILP_FAILED);
	cr_assert(strstr(result.message, "breaks the model"));
	milp_release(milp);
	arena_free(arena);
}
