/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which candidate is best, and which with a value forced or kept off?
 *
 *   min sum_c value_c x_c
 *   sum_{c: axis(c) = v} x_c = y_{axis=v}   for every axis and value
 *   sum_v y_{axis=v} = 1                     for every axis
 *   sum_c step_c x_c <= step, sum_c bytes_c x_c <= bytes, sum_c gpus_c x_c <= gpus
 *
 * x and y binary. Coefficients begin as lower bounds; the winner's are made exact
 * and the model is solved again from its basis. When the winner is exact nothing
 * can be better: all others are at least their bounds (logic-based Benders
 * decomposition, Hooker and Ottosson, Math. Programming 96, 2003). A column that
 * breaks a cap alone is also fixed at 0, so that the relaxation is integral.
 */
#include "planner/master.h"

#include <math.h>

#include "base/arena.h"
#include "base/units.h"
#include "planner/milp.h"

struct master {
	struct arena *arena;
	struct milp *milp;
	const struct master_axis *axes;
	int n_axes;
	enum master_aim aim;
	struct master_caps caps;
	int *y[MASTER_MAX_AXES], *tie[MASTER_MAX_AXES]; /* columns and rows by axis and value */
	int step_row, bytes_row, gpus_row;		/* -1: no cap */
	struct master_column *columns;
	bool *taken;
	int *x;
	int n_columns;
};

static void
axis_rows(struct master *m, int a)
{
	const struct master_axis *axis = &m->axes[a];
	int one = milp_row(m->milp, arena_printf(m->arena, "one_%s", axis->name), 1, 1);

	m->y[a] = arena_array(m->arena, (size_t)axis->n_values, sizeof(int));
	m->tie[a] = arena_array(m->arena, (size_t)axis->n_values, sizeof(int));
	for (int v = 0; v < axis->n_values; v++) {
		const char *name = arena_printf(m->arena, "%s_%s", axis->name, axis->values[v]);

		m->y[a][v] = milp_column(
		    m->milp, arena_printf(m->arena, "y_%s", name), MILP_BINARY, 0, 1, 0);
		m->tie[a][v] = milp_row(m->milp, arena_printf(m->arena, "is_%s", name), 0, 0);
		milp_entry(m->milp, m->tie[a][v], m->y[a][v], -1);
		milp_entry(m->milp, one, m->y[a][v], 1);
	}
}

static int
cap_row(struct master *m, const char *name, double cap)
{
	return isfinite(cap) ? milp_row(m->milp, name, -INFINITY, 1) : -1;
}

struct master *
master_new(struct arena *arena, const struct master_axis *axes, int n_axes, enum master_aim aim,
    const struct master_caps *caps)
{
	struct master *m = arena_alloc(arena, sizeof(*m));

	*m = (struct master){.arena = arena,
	    .milp = milp_new(arena, "strategy"),
	    .axes = axes,
	    .n_axes = n_axes,
	    .aim = aim,
	    .caps = *caps};
	for (int a = 0; a < n_axes; a++)
		axis_rows(m, a);
	m->step_row = cap_row(m, "cap_step", caps->step_s);
	m->bytes_row = cap_row(m, "cap_bytes", caps->bytes);
	m->gpus_row = cap_row(m, "cap_gpus", caps->gpus);
	m->columns = arena_array(arena, MASTER_MAX_COLUMNS, sizeof(*m->columns));
	m->taken = arena_array(arena, MASTER_MAX_COLUMNS, sizeof(*m->taken));
	m->x = arena_array(arena, MASTER_MAX_COLUMNS, sizeof(*m->x));
	return m;
}

/* In seconds, GiB or GPUs: numbers that a solver likes. */
static double
value_of(const struct master *m, const struct master_column *c)
{
	return m->aim == MASTER_BYTES  ? c->bytes / GIB
	       : m->aim == MASTER_GPUS ? c->gpus
				       : c->step_s;
}

static bool
keeps_caps(const struct master *m, const struct master_column *c)
{
	return c->possible && c->step_s <= m->caps.step_s && c->bytes <= m->caps.bytes &&
	       c->gpus <= m->caps.gpus;
}

static void
put_column(struct master *m, int column)
{
	const struct master_column *c = &m->columns[column];
	int x = m->x[column];

	milp_set_cost(m->milp, x, value_of(m, c));
	if (m->step_row >= 0)
		milp_set_entry(m->milp, m->step_row, x, c->step_s / m->caps.step_s);
	if (m->bytes_row >= 0)
		milp_set_entry(m->milp, m->bytes_row, x, c->bytes / m->caps.bytes);
	if (m->gpus_row >= 0)
		milp_set_entry(m->milp, m->gpus_row, x, c->gpus / m->caps.gpus);
	milp_set_bounds(m->milp, x, 0, keeps_caps(m, c) && !m->taken[column]);
}

int
master_add(struct master *m, const struct master_column *column)
{
	int c = m->n_columns;

	if (c == MASTER_MAX_COLUMNS)
		return -1;
	m->n_columns++;
	m->columns[c] = *column;
	m->x[c] = milp_column(m->milp, column->name, MILP_BINARY, 0, 1, 0);
	for (int a = 0; a < m->n_axes; a++)
		milp_entry(m->milp, m->tie[a][column->values[a]], m->x[c], 1);
	put_column(m, c);
	return c;
}

void
master_force(struct master *m, int axis, int value, enum master_force force)
{
	milp_set_bounds(
	    m->milp, m->y[axis][value], force == MASTER_FORCED, force != MASTER_EXCLUDED);
}

void
master_take(struct master *m, int column, bool taken)
{
	m->taken[column] = taken;
	put_column(m, column);
}

static int
failed(struct diags *diags, const struct milp_result *result)
{
	struct loc nowhere = {NULL, 0, 0};

	diag_add(diags, nowhere, "internal", SEVERITY_ERROR,
	    "GLPK left the choice of a strategy %s: %s", milp_status_names[result->status],
	    result->message ? result->message : "no reason given");
	diag_last_hint(diags, "this is a bug in moeplan: please report it with the inputs");
	return -1;
}

/* Solves until the winner's numbers are exact; the aim is what the costs say. */
static int
solve_lazily(struct arena *arena, struct diags *diags, struct master *m, master_exact_fn *exact,
    void *context, struct master_answer *answer)
{
	static const struct milp_options to_the_end = {0};

	for (;;) {
		struct milp_result result = milp_solve(arena, m->milp, &to_the_end);

		answer->rounds++;
		answer->column = -1;
		if (result.status == MILP_INFEASIBLE)
			return 0;
		if (result.status != MILP_OPTIMAL)
			return failed(diags, &result);
		for (int c = 0; c < m->n_columns; c++)
			if (result.x[m->x[c]] > 0.5)
				answer->column = c;
		if (m->columns[answer->column].exact)
			return 0;
		exact(context, answer->column, &m->columns[answer->column]);
		m->columns[answer->column].exact = true;
		put_column(m, answer->column);
	}
}

/* Changes what is minimised, over columns with at most so many GPUs. */
static void
set_aim(struct master *m, enum master_aim aim, double most_gpus)
{
	m->aim = aim;
	for (int c = 0; c < m->n_columns; c++) {
		put_column(m, c);
		if (m->columns[c].gpus > most_gpus)
			milp_set_bounds(m->milp, m->x[c], 0, 0);
	}
}

int
master_solve(struct arena *arena, struct diags *diags, struct master *m, master_exact_fn *exact,
    void *context, struct master_answer *answer)
{
	int status;

	*answer = (struct master_answer){.column = -1};
	if (m->n_columns == 0)
		return 0;
	status = solve_lazily(arena, diags, m, exact, context, answer);
	if (status == 0 && m->aim == MASTER_GPUS && answer->column >= 0) {
		double gpus = m->columns[answer->column].gpus;

		/* Among those with so few GPUs, the fastest. */
		set_aim(m, MASTER_TIME, gpus);
		status = solve_lazily(arena, diags, m, exact, context, answer);
		set_aim(m, MASTER_GPUS, INFINITY);
	}
	if (status == 0 && answer->column >= 0)
		answer->value = value_of(m, &m->columns[answer->column]);
	return status;
}

const char *
master_lp_text(struct arena *arena, const struct master *m)
{
	return milp_lp_text(arena, m->milp);
}

void
master_release(struct master *m)
{
	milp_release(m->milp);
}
