/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_MILP_H
#define MOEPLAN_MILP_H

#include <stdbool.h>
#include <stddef.h>

#include "base/diag.h"

struct arena;

/*
 * A mixed-integer linear model, minimised, independent of the solver.
 * Columns and rows are numbered from 0. Built with the functions below, which
 * validate (index, finite, no duplicate entry) so that GLPK never aborts: the
 * first mistake is remembered, and milp_solve() answers MILP_FAILED with it.
 */
struct milp;
enum milp_kind { MILP_CONTINUOUS, MILP_INTEGER, MILP_BINARY };

struct milp *milp_new(struct arena *arena, const char *name);
/*
 * Infinite bounds are +-INFINITY. Returns the column's number. Names, for the LP
 * file: a letter, then [A-Za-z0-9_.()]; none begins like a number's exponent (e1).
 */
int milp_column(
    struct milp *milp, const char *name, enum milp_kind kind, double low, double high, double cost);
int milp_row(struct milp *milp, const char *name, double low, double high);
void milp_entry(struct milp *milp, int row, int column, double value);
/* Changes that keep the basis: bounds and costs of columns, bounds of rows. */
void milp_set_bounds(struct milp *milp, int column, double low, double high);
void milp_set_cost(struct milp *milp, int column, double cost);
void milp_set_row_bounds(struct milp *milp, int row, double low, double high);
/* Values of a column in a row may change too (a bound that became exact). */
void milp_set_entry(struct milp *milp, int row, int column, double value);
size_t milp_columns(const struct milp *milp);
size_t milp_rows(const struct milp *milp);

enum milp_status { MILP_OPTIMAL, MILP_FEASIBLE, MILP_INFEASIBLE, MILP_UNKNOWN, MILP_FAILED };
extern const char *const milp_status_names[];
struct milp_result {
	enum milp_status status;
	double objective;
	double bound;	     /* best proved lower bound; objective when optimal */
	double *x;	     /* per column, arena */
	double *dual;	     /* per row, arena; NULL for a model with integer columns */
	const char *message; /* MILP_FAILED: GLPK's own words */
};

struct milp_options {
	double time_limit_s;  /* 0: none */
	int node_limit;	      /* of branch and bound, the same on every machine; 0: none */
	double gap;	      /* stop at this relative gap; 0: optimal */
	int memory_limit_mib; /* GLPK fails beyond it; 0: none */
	int iteration_limit;  /* of the simplex method, nodes together; 0: none */
	const double *start;  /* a point to improve on, per column, or NULL; checked before use */
};

/*
 * Solves with GLPK, from the basis of the last solve of the same model when there
 * is one. Every answer is re-checked with milp_violation() before it is
 * returned: a solution that does not satisfy the model comes back MILP_FAILED.
 */
struct milp_result milp_solve(
    struct arena *arena, struct milp *milp, const struct milp_options *options);
/*
 * Largest violation of bounds, rows and integrality by x, relative to the limit
 * where that is above 1; shares no code with the solver.
 */
double milp_violation(const struct milp *milp, const double *x);
/* The model as CPLEX LP text, which glpsol --lp, CBC and HiGHS read. */
const char *milp_lp_text(struct arena *arena, const struct milp *milp);
/* Frees what the solver holds outside the arena. */
void milp_release(struct milp *milp);
const char *milp_solver_version(void);

#endif
