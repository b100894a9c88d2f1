/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_MASTER_H
#define MOEPLAN_MASTER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/diag.h"

struct arena;

/*
 * The choice of a strategy as a MILP: one binary column a candidate, one a value
 * of each axis, rows that tie them and rows for what is capped. Knows candidates
 * only by their numbers. A column starts at lower bounds and gets its exact
 * numbers when it wins; the model is then solved again from its basis.
 */
enum { MASTER_MAX_AXES = 12, MASTER_MAX_COLUMNS = 20000 };

struct master_axis {
	const char *name; /* "tp" */
	int n_values;
	const char *const *values; /* texts that may stand in a name of an LP file */
};

/* What is minimised; of equal GPUs the faster. */
enum master_aim { MASTER_TIME, MASTER_BYTES, MASTER_GPUS };

struct master_caps {
	double step_s, bytes, gpus; /* INFINITY: none */
};

struct master_column {
	const char *name;	     /* unique, as a name in an LP file */
	int values[MASTER_MAX_AXES]; /* index of its value, by axis */
	double step_s, bytes, gpus;
	bool exact;    /* else step_s and bytes are lower bounds */
	bool possible; /* false once its exact numbers broke a limit */
};

struct master;
struct master *master_new(struct arena *arena, const struct master_axis *axes, int n_axes,
    enum master_aim aim, const struct master_caps *caps);
int master_add(struct master *master, const struct master_column *column);
/* A value forced (every answer has it), kept off, or left free. */
enum master_force { MASTER_FREE, MASTER_FORCED, MASTER_EXCLUDED };
void master_force(struct master *master, int axis, int value, enum master_force force);
/* Taken columns are no answers: that is how the next best is found. */
void master_take(struct master *master, int column, bool taken);

/* Exact numbers of a column that won: fills step_s, bytes and possible. */
typedef void master_exact_fn(void *context, int column, struct master_column *numbers);

struct master_answer {
	int column; /* -1: none is possible */
	double value;
	int rounds; /* solves that it took */
};
/* -1 after adding an internal error (GLPK failed). */
int master_solve(struct arena *arena, struct diags *diags, struct master *master,
    master_exact_fn *exact, void *context, struct master_answer *answer);

const char *master_lp_text(struct arena *arena, const struct master *master);
void master_release(struct master *master);

#endif
