/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The choice of a candidate by MILP, against looking at all of them. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "base/units.h"
#include "glpsol.h"
#include "planner/master.h"

enum { COLUMNS = 60, AXIS_VALUES = 3, N_AXES = 2 };

static const char *const values[AXIS_VALUES] = {"1", "2", "4"};
static const struct master_axis axes[N_AXES] = {
    {"tp", AXIS_VALUES, values}, {"ep", AXIS_VALUES, values}};
static const struct master_caps no_caps = {INFINITY, INFINITY, INFINITY};

/* Exact numbers of all columns; what the master is first given are bounds of them. */
struct choice {
	struct arena *arena;
	struct diags *diags;
	struct master *master;
	struct master_column exact[COLUMNS];
	int asked[COLUMNS];
};

static uint64_t
next_random(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return *state >> 33;
}

static double
uniform(uint64_t *state, double low, double high)
{
	return low + (high - low) * (double)next_random(state) / 2147483648.0;
}

static struct choice
choice_new(enum master_aim aim, const struct master_caps *caps, uint64_t *state)
{
	struct choice c = {.arena = arena_new(NULL, NULL)};

	c.diags = diags_new(c.arena);
	c.master = master_new(c.arena, axes, N_AXES, aim, caps);
	for (int i = 0; i < COLUMNS; i++) {
		struct master_column column = {.name = arena_printf(c.arena, "x%d", i),
		    .values = {(int)next_random(state) % AXIS_VALUES,
			(int)next_random(state) % AXIS_VALUES},
		    .step_s = uniform(state, 1, 100),
		    .bytes = uniform(state, 10, 100) * GIB,
		    .gpus = (double)(8 << next_random(state) % 3),
		    .exact = true,
		    .possible = next_random(state) % 8 > 0};

		c.exact[i] = column;
		column.step_s *= uniform(state, 0.6, 1);
		column.bytes *= uniform(state, 0.6, 1);
		column.exact = false;
		column.possible = true;
		cr_assert_eq(master_add(c.master, &column), i);
	}
	return c;
}

static void
choice_free(struct choice *c)
{
	master_release(c->master);
	arena_free(c->arena);
}

static void
exact_numbers(void *context, int column, struct master_column *numbers)
{
	struct choice *c = context;

	c->asked[column]++;
	*numbers = c->exact[column];
}

static struct master_answer
answer_of(struct choice *c)
{
	struct master_answer answer;

	cr_assert_eq(master_solve(c->arena, c->diags, c->master, exact_numbers, c, &answer), 0);
	return answer;
}

static bool
is_possible(const struct master_column *c, const struct master_caps *caps)
{
	return c->possible && c->step_s <= caps->step_s && c->bytes <= caps->bytes &&
	       c->gpus <= caps->gpus;
}

/* The best by hand; axis -1: all columns. */
static int
best_of(const struct choice *c, enum master_aim aim, const struct master_caps *caps, int axis,
    int value, bool with)
{
	int best = -1;

	for (int i = 0; i < COLUMNS; i++) {
		const struct master_column *x = &c->exact[i], *y = &c->exact[best < 0 ? i : best];

		if (!is_possible(x, caps) || (axis >= 0 && (x->values[axis] == value) != with))
			continue;
		if (best < 0 || (aim == MASTER_TIME && x->step_s < y->step_s) ||
		    (aim == MASTER_BYTES && x->bytes < y->bytes) ||
		    (aim == MASTER_GPUS &&
			(x->gpus < y->gpus || (x->gpus <= y->gpus && x->step_s < y->step_s))))
			best = i;
	}
	return best;
}

Test(master, finds_the_best_for_every_aim)
{
	uint64_t state = 1;

	for (int i = 0; i < 60; i++) {
		enum master_aim aim = (enum master_aim)(i % 3);
		struct master_caps caps = {
		    i % 2 ? INFINITY : 40, i % 4 < 2 ? INFINITY : 50 * GIB, i % 5 ? INFINITY : 16};
		struct choice c = choice_new(aim, &caps, &state);

		cr_assert_eq(answer_of(&c).column, best_of(&c, aim, &caps, -1, 0, true), "%d", i);
		choice_free(&c);
	}
}

Test(master, bounds_become_exact_only_when_they_win)
{
	uint64_t state = 2;
	struct choice c = choice_new(MASTER_TIME, &no_caps, &state);
	struct master_answer answer = answer_of(&c);
	int asked = 0;

	for (int i = 0; i < COLUMNS; i++) {
		cr_assert_leq(c.asked[i], 1);
		asked += c.asked[i];
	}
	cr_assert_eq(answer.rounds, asked + 1);
	cr_assert_lt(asked, COLUMNS / 2);
	/* Solved again nothing is asked, and the answer is the same. */
	cr_assert_eq(answer_of(&c).rounds, 1);
	cr_assert_eq(answer_of(&c).column, answer.column);
	choice_free(&c);
}

Test(master, values_forced_and_kept_off)
{
	uint64_t state = 3;
	struct choice c = choice_new(MASTER_TIME, &no_caps, &state);

	for (int axis = 0; axis < N_AXES; axis++) {
		for (int value = 0; value < AXIS_VALUES; value++) {
			master_force(c.master, axis, value, MASTER_FORCED);
			cr_assert_eq(answer_of(&c).column,
			    best_of(&c, MASTER_TIME, &no_caps, axis, value, true));
			master_force(c.master, axis, value, MASTER_EXCLUDED);
			cr_assert_eq(answer_of(&c).column,
			    best_of(&c, MASTER_TIME, &no_caps, axis, value, false));
			master_force(c.master, axis, value, MASTER_FREE);
		}
	}
	cr_assert_eq(answer_of(&c).column, best_of(&c, MASTER_TIME, &no_caps, -1, 0, true));
	choice_free(&c);
}

Test(master, the_next_best_after_those_taken)
{
	uint64_t state = 4;
	struct choice c = choice_new(MASTER_TIME, &no_caps, &state);
	double before = 0;

	for (int i = 0; i < 10; i++) {
		struct master_answer answer = answer_of(&c);

		cr_assert_gt(answer.value, before);
		before = answer.value;
		master_take(c.master, answer.column, true);
	}
	choice_free(&c);
}

Test(master, nothing_possible)
{
	struct master_caps caps = {0.5, INFINITY, INFINITY};
	uint64_t state = 5;
	struct choice c = choice_new(MASTER_TIME, &caps, &state);

	cr_assert_eq(answer_of(&c).column, -1);
	choice_free(&c);
}

Test(master, glpsol_agrees_on_the_final_model)
{
	uint64_t state = 6;

	for (int aim = MASTER_TIME; aim <= MASTER_GPUS; aim++) {
		struct master_caps caps = {60, 60 * GIB, 32};
		struct choice c = choice_new((enum master_aim)aim, &caps, &state);
		struct master_answer answer = answer_of(&c);

		cr_assert_float_eq(glpsol_objective(master_lp_text(c.arena, c.master)),
		    answer.value, 1e-6 * answer.value);
		choice_free(&c);
	}
}
