/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_MEASURED_H
#define MOEPLAN_MEASURED_H

#include <stdint.h>

#include "base/field.h"
#include "base/str.h"
#include "model/strategy.h"

/*
 * A training step that was timed on this machine, and the strategy that it ran: a row of `runs:`
 * in a cluster file. Plans of the same model, GPU, framework and precision are corrected by it.
 */
enum { MEASURED_MAX_RUNS = 64 };
struct measured_run {
	const char *model;  /* its name, for people … */
	int64_t parameters; /* … and its parameters, by which it is known */
	const char *gpu;
	double step_s;
	double predicted_s; /* what had been predicted without this run; 0: not said */
	double exposed_s;   /* of communication that nothing hid; 0: not measured */
	uint64_t allocated_bytes, reserved_bytes; /* most of the allocator; 0: not measured */
	struct strategy strategy;		  /* as read, nothing derived */
	struct loc loc;
};
struct measured_runs {
	int n;
	struct measured_run *rows;
};

/* The list under `runs:`; -1 after adding errors. */
int measured_runs_read(
    struct measured_runs *runs, const struct doc *list, struct field_context *context);
/* The row of a cluster file, indented as an entry of that list. */
void measured_run_write(struct arena *arena, const struct measured_run *run, struct str *out);

#endif
