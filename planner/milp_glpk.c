/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What does GLPK say to a model, and may it be believed?
 *
 * The LP relaxation by the simplex method from the basis of the last solve, then
 * branch and bound (glp_intopt without presolve, which needs that basis). Handled
 * with care, see GLPK's reference manual 5.0 for each:
 *  - glp_error() ends in abort(): the error hook jumps back here instead, and the
 *    problem is not touched again. What GLPK printed last is the message;
 *  - all output is swallowed by the terminal hook;
 *  - return code 0 is no proof: only the status GLP_OPT is "optimal"; a stop by gap
 *    is GLP_FEAS, and the bound is known in the callback alone;
 *  - integer columns are whole within 1e-5 alone: they are rounded, the others settle around them
 *    where that matters, and the point is checked with milp_violation().
 * GLPK's environment is per thread; it is freed with the last problem in it.
 */
#include <glpk.h>
#include <limits.h>
#include <math.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "planner/milp_private.h"

enum { WORDS_SIZE = 240, BIG_MODEL_COLUMNS = 8000 };
/* A checked point may be off by this, relative to limits above 1. */
#define MAX_VIOLATION 1e-6

struct milp_solver {
	glp_prob *prob;
	bool broken;	   /* GLPK failed inside this problem: it must not be touched */
	bool alone;	   /* the only problem in the environment when it was created */
	int columns, rows; /* that GLPK knows */
	int solves;	   /* that returned */
	int iterations;	   /* GLPK's counter when this solve began */
	bool has_start;	   /* options->start was checked and not yet handed over */
	struct milp *milp;
	const struct milp_options *options;
	jmp_buf escape;
	char words[WORDS_SIZE]; /* the end of what GLPK printed */
	int *indices;		/* room for the longest column, from 1 */
	double *values;
	int room;
	double *point; /* of branch and bound, integers whole */
	int point_room;
	double best_bound;
	int nodes;
	enum milp_status status;
};

const char *
milp_solver_version(void)
{
	return glp_version();
}

/* Keeps the last complete words; returning 1 swallows them. */
static int
on_print(void *info, const char *text)
{
	struct milp_solver *solver = info;
	size_t length = strlen(text), used = strlen(solver->words);

	if (length >= WORDS_SIZE) {
		text += length - (WORDS_SIZE - 1);
		length = WORDS_SIZE - 1;
	}
	if (used + length >= WORDS_SIZE) {
		size_t drop = used + length - (WORDS_SIZE - 1);

		memmove(solver->words, solver->words + drop, used - drop + 1);
		used -= drop;
	}
	memcpy(solver->words + used, text, length + 1);
	return 1;
}

static void
on_error(void *info)
{
	struct milp_solver *solver = info;

	longjmp(solver->escape, 1);
}

static bool
has_integers(const struct milp *milp)
{
	for (int j = 0; j < milp->n_columns; j++)
		if (milp->columns[j].kind != MILP_CONTINUOUS)
			return true;
	return false;
}

/* GLPK counts columns from 1; it does not check what it is given here, milp_solve() did. */
static void
hand_over_start(struct milp_solver *solver, glp_tree *tree)
{
	double *point = arena_array(
	    solver->milp->arena, (size_t)solver->columns + 1, sizeof(*point));

	memcpy(point + 1, solver->options->start, (size_t)solver->columns * sizeof(*point));
	glp_ios_heur_sol(tree, point);
	solver->has_start = false;
}

static void
on_node(glp_tree *tree, void *info)
{
	struct milp_solver *solver = info;
	int best = glp_ios_best_node(tree), limit = solver->options->iteration_limit;

	if (best != 0)
		solver->best_bound = glp_ios_node_bound(tree, best);
	if (glp_ios_reason(tree) == GLP_IPREPRO)
		solver->nodes++;
	if (solver->options->node_limit > 0 && solver->nodes > solver->options->node_limit)
		glp_ios_terminate(tree);
	if (solver->has_start && glp_ios_reason(tree) == GLP_IHEUR)
		hand_over_start(solver, tree);
	if (limit > 0 && glp_get_it_cnt(solver->prob) - solver->iterations > limit)
		glp_ios_terminate(tree);
}

static int
bound_type(double low, double high)
{
	if (!isfinite(low))
		return isfinite(high) ? GLP_UP : GLP_FR;
	if (!isfinite(high))
		return GLP_LO;
	return low == high ? GLP_FX : GLP_DB;
}

static void
put_column(struct milp_solver *solver, int j)
{
	struct milp_var *column = &solver->milp->columns[j];

	glp_set_col_bnds(
	    solver->prob, j + 1, bound_type(column->low, column->high), column->low, column->high);
	glp_set_obj_coef(solver->prob, j + 1, column->cost);
	column->changed = false;
}

static void
put_entries(struct milp_solver *solver, int j)
{
	struct milp_var *column = &solver->milp->columns[j];
	int n = 0;

	if (column->n_entries >= solver->room) {
		solver->room = 2 * column->n_entries + 8;
		solver->indices =
		    arena_array(solver->milp->arena, (size_t)solver->room, sizeof(int));
		solver->values =
		    arena_array(solver->milp->arena, (size_t)solver->room, sizeof(double));
	}
	for (const struct milp_entry *e = column->entries; e; e = e->next) {
		if (e->value == 0)
			continue;
		solver->indices[++n] = e->row + 1;
		solver->values[n] = e->value;
	}
	glp_set_mat_col(solver->prob, j + 1, n, solver->indices, solver->values);
	column->entries_changed = false;
}

/* Brings GLPK's problem up to date: new rows and columns, then what changed. */
static void
update(struct milp_solver *solver)
{
	struct milp *milp = solver->milp;

	if (milp->n_rows > solver->rows)
		glp_add_rows(solver->prob, milp->n_rows - solver->rows);
	if (milp->n_columns > solver->columns)
		glp_add_cols(solver->prob, milp->n_columns - solver->columns);
	for (int i = 0; i < milp->n_rows; i++) {
		struct milp_constraint *row = &milp->rows[i];

		if (row->changed)
			glp_set_row_bnds(solver->prob, i + 1, bound_type(row->low, row->high),
			    row->low, row->high);
		row->changed = false;
	}
	for (int j = 0; j < milp->n_columns; j++) {
		if (j >= solver->columns && milp->columns[j].kind != MILP_CONTINUOUS)
			glp_set_col_kind(solver->prob, j + 1, GLP_IV);
		if (milp->columns[j].changed)
			put_column(solver, j);
		if (milp->columns[j].entries_changed)
			put_entries(solver, j);
	}
	solver->rows = milp->n_rows;
	solver->columns = milp->n_columns;
}

/* Milliseconds for GLPK; it overshoots on big models, so those get half. */
static int
milliseconds(const struct milp_solver *solver)
{
	double limit = solver->options->time_limit_s * 1000;

	if (limit <= 0)
		return INT_MAX;
	if (solver->columns > BIG_MODEL_COLUMNS)
		limit /= 2;
	return limit < 1 ? 1 : limit > INT_MAX ? INT_MAX : (int)limit;
}

/* A stale or singular basis is no reason to fail: once more from a fresh one. */
static int
solve_relaxation(struct milp_solver *solver)
{
	glp_smcp parameters;
	int code;

	glp_init_smcp(&parameters);
	parameters.tm_lim = milliseconds(solver);
	if (solver->options->iteration_limit > 0)
		parameters.it_lim = solver->options->iteration_limit;
	code = glp_simplex(solver->prob, &parameters);
	if (code == 0 || code == GLP_ETMLIM || code == GLP_EITLIM)
		return code;
	glp_adv_basis(solver->prob, 0);
	return glp_simplex(solver->prob, &parameters);
}

static enum milp_status
status_of(int mip_status)
{
	switch (mip_status) {
	case GLP_OPT:
		return MILP_OPTIMAL;
	case GLP_FEAS:
		return MILP_FEASIBLE;
	case GLP_NOFEAS:
		return MILP_INFEASIBLE;
	default:
		return MILP_UNKNOWN;
	}
}

/* Integers stay at whole numbers; the simplex method finds the others. */
static void
settle_around(struct milp_solver *solver)
{
	struct milp *milp = solver->milp;

	for (int j = 0; j < milp->n_columns; j++)
		if (milp->columns[j].kind != MILP_CONTINUOUS) {
			glp_set_col_bnds(
			    solver->prob, j + 1, GLP_FX, solver->point[j], solver->point[j]);
			milp->columns[j].changed = true; /* back to its bounds next time */
		}
	if (glp_simplex(solver->prob, NULL) != 0 || glp_get_status(solver->prob) != GLP_OPT)
		return;
	for (int j = 0; j < milp->n_columns; j++)
		if (milp->columns[j].kind == MILP_CONTINUOUS)
			solver->point[j] = glp_get_col_prim(solver->prob, j + 1);
}

static void
settle(struct milp_solver *solver)
{
	struct milp *milp = solver->milp;

	if (milp->n_columns > solver->point_room) {
		solver->point_room = 2 * milp->n_columns;
		solver->point =
		    arena_array(milp->arena, (size_t)solver->point_room, sizeof(double));
	}
	for (int j = 0; j < milp->n_columns; j++) {
		double x = glp_mip_col_val(solver->prob, j + 1);

		solver->point[j] = milp->columns[j].kind == MILP_CONTINUOUS ? x : nearbyint(x);
	}
	if (!(milp_violation(milp, solver->point) <= MAX_VIOLATION))
		settle_around(solver);
}

static void
branch_and_bound(struct milp_solver *solver)
{
	glp_iocp parameters;
	int code;

	glp_init_iocp(&parameters);
	parameters.tm_lim = milliseconds(solver);
	parameters.mip_gap = solver->options->gap;
	parameters.cb_func = on_node;
	parameters.cb_info = solver;
	code = glp_intopt(solver->prob, &parameters);
	if (code == 0 || code == GLP_EMIPGAP || code == GLP_ETMLIM || code == GLP_ESTOP)
		solver->status = status_of(glp_mip_status(solver->prob));
	if (solver->status == MILP_OPTIMAL || solver->status == MILP_FEASIBLE)
		settle(solver);
}

static int
live_blocks(void)
{
	int blocks = 0;

	glp_mem_usage(&blocks, NULL, NULL, NULL);
	return blocks;
}

static void
run_solver(struct milp_solver *solver)
{
	int code;

	if (solver->options->memory_limit_mib > 0)
		glp_mem_limit(solver->options->memory_limit_mib);
	if (!solver->prob) {
		solver->alone = live_blocks() == 0;
		solver->prob = glp_create_prob();
		update(solver);
		glp_scale_prob(solver->prob, GLP_SF_AUTO);
		glp_adv_basis(solver->prob, 0);
	} else {
		update(solver);
	}
	solver->iterations = glp_get_it_cnt(solver->prob);
	code = solve_relaxation(solver);
	if (code == GLP_ETMLIM || code == GLP_EITLIM) {
		solver->status = MILP_UNKNOWN;
		return;
	}
	switch (glp_get_status(solver->prob)) {
	case GLP_OPT:
		solver->best_bound = glp_get_obj_val(solver->prob);
		if (has_integers(solver->milp))
			branch_and_bound(solver);
		else
			solver->status = MILP_OPTIMAL;
		break;
	case GLP_NOFEAS:
		solver->status = MILP_INFEASIBLE;
		break;
	case GLP_UNBND:
		on_print(solver, "the model is unbounded");
		break;
	default:
		break;
	}
}

/* setjmp() stands alone here: no local of a caller is changed between it and a jump. */
static bool
run_guarded(struct milp_solver *solver)
{
	if (setjmp(solver->escape) != 0)
		return false;
	run_solver(solver);
	solver->solves++;
	return true;
}

static struct milp_result
failed(struct arena *arena, const char *words)
{
	char *message = arena_strdup(arena, words);
	size_t length = strlen(message);

	while (length > 0 && (message[length - 1] == '\n' || message[length - 1] == ' '))
		message[--length] = '\0';
	for (size_t i = 0; i < length; i++)
		if (message[i] == '\n')
			message[i] = ' ';
	return (struct milp_result){.status = MILP_FAILED,
	    .objective = NAN,
	    .bound = -INFINITY,
	    .message = length ? message : "GLPK gave no reason"};
}

/* The point, checked by code that GLPK has no part in. */
static struct milp_result
checked_point(struct arena *arena, struct milp_solver *solver)
{
	const struct milp *milp = solver->milp;
	struct milp_result result = {.status = solver->status, .bound = solver->best_bound};
	bool integers = has_integers(milp);
	double violation;

	result.x = arena_array(arena, (size_t)milp->n_columns, sizeof(double));
	for (int j = 0; j < milp->n_columns; j++) {
		result.x[j] =
		    integers ? solver->point[j] : glp_get_col_prim(solver->prob, j + 1);
		result.objective += milp->columns[j].cost * result.x[j];
	}
	violation = milp_violation(milp, result.x);
	if (!(violation <= MAX_VIOLATION))
		return failed(
		    arena, arena_printf(arena, "GLPK's solution of '%s' breaks the model by %g",
			       milp->name, violation));
	if (result.status == MILP_OPTIMAL)
		result.bound = result.objective;
	if (!integers) {
		result.dual = arena_array(arena, (size_t)milp->n_rows, sizeof(double));
		for (int i = 0; i < milp->n_rows; i++)
			result.dual[i] = glp_get_row_dual(solver->prob, i + 1);
	}
	return result;
}

static struct milp_solver *
solver_of(struct milp *milp)
{
	if (!milp->solver) {
		milp->solver = arena_alloc(milp->arena, sizeof(*milp->solver));
		milp->solver->milp = milp;
	}
	return milp->solver;
}

/*
 * After an error GLPK's environment is to be freed, and with it every problem in
 * it. With others alive only this problem is given up: it stays allocated.
 */
static void
give_up(struct milp_solver *solver)
{
	solver->broken = true;
	if (solver->alone && solver->solves == 0)
		glp_free_env();
}

struct milp_result
milp_solve(struct arena *arena, struct milp *milp, const struct milp_options *options)
{
	struct milp_solver *solver = solver_of(milp);
	bool returned;

	if (milp->mistake)
		return failed(arena, milp->mistake);
	if (solver->broken)
		return failed(arena, "GLPK failed on this model before");
	if (options->start && !(milp_violation(milp, options->start) <= MAX_VIOLATION))
		return failed(arena, "the point to start from breaks the model");
	solver->has_start = options->start != NULL;
	solver->options = options;
	solver->words[0] = '\0';
	solver->status = MILP_FAILED;
	solver->best_bound = -INFINITY;
	solver->nodes = 0;
	glp_term_hook(on_print, solver);
	glp_error_hook(on_error, solver);
	returned = run_guarded(solver);
	glp_mem_limit(INT_MAX); /* none */
	glp_error_hook(NULL, NULL);
	glp_term_hook(NULL, NULL);
	if (!returned)
		give_up(solver);
	if (!returned || solver->status == MILP_FAILED)
		return failed(arena, solver->words);
	if (solver->status == MILP_OPTIMAL || solver->status == MILP_FEASIBLE)
		return checked_point(arena, solver);
	return (struct milp_result){
	    .status = solver->status, .objective = NAN, .bound = solver->best_bound};
}

void
milp_release(struct milp *milp)
{
	struct milp_solver *solver = milp->solver;

	if (!solver)
		return;
	if (solver->prob && !solver->broken)
		glp_delete_prob(solver->prob);
	milp->solver = NULL;
	for (int i = 0; i < milp->n_rows; i++)
		milp->rows[i].changed = true;
	for (int j = 0; j < milp->n_columns; j++)
		milp->columns[j].changed = milp->columns[j].entries_changed = true;
	if (live_blocks() == 0)
		glp_free_env();
}
