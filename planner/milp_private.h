/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_MILP_PRIVATE_H
#define MOEPLAN_MILP_PRIVATE_H

#include "planner/milp.h"

/* What milp.c builds and milp_glpk.c reads. Entries hang on their column and are never removed. */
struct milp_entry {
	int row;
	double value;
	struct milp_entry *next;
};

struct milp_var {
	const char *name;
	enum milp_kind kind;
	double low, high, cost;
	struct milp_entry *entries, *last;
	int n_entries;
	bool changed; /* since the solver saw it: bounds or cost */
	bool entries_changed;
};

struct milp_constraint {
	const char *name;
	double low, high;
	bool changed;
};

struct milp {
	struct arena *arena;
	const char *name;
	struct milp_var *columns;
	int n_columns, columns_room;
	struct milp_constraint *rows;
	int n_rows, rows_room;
	const char *mistake;	    /* the first one made while building, or NULL */
	struct milp_solver *solver; /* milp_glpk.c's; NULL before the first solve */
};

#endif
