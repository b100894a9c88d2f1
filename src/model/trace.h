/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_TRACE_H
#define MOEPLAN_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/diag.h"

struct arena;

enum trace_class {
	TRACE_ALL_TO_ALL, /* all-to-all and send/receive: NCCL runs both by the same kernel */
	TRACE_COLLECTIVE, /* gathers, scatters, reductions */
	TRACE_ATTENTION,
	TRACE_PRODUCTS,
	TRACE_OTHER, /* norms, activations, permutation, optimizer, copies */
	TRACE_CLASSES
};

/* What a profiler saw on one GPU; seconds of one step when it marked steps, else of all of it. */
struct trace_facts {
	int64_t world; /* ranks of the job; 0: not said */
	int64_t kernels;
	int steps;		       /* "ProfilerStep#…" that were marked */
	double step_s;		       /* median of them; 0 without */
	double window_s;	       /* mean step, or the whole trace */
	double seconds[TRACE_CLASSES]; /* of kernels, by kind; they may run beside each other */
	double computed_s;	       /* any kernel ran that is no communication */
	double exposed_s;	       /* communication with no computation beside it */
	double idle_s;		       /* nothing ran: host, bubble, data */
	double outside_share;	       /* of the kernels' time, outside the marked steps */
};

/* More of the kernels' time than this outside the marked steps is warned of: marks are off. */
#define TRACE_MAX_OUTSIDE 0.03

enum { TRACE_MAX_KERNELS = 1 << 21, TRACE_MAX_STEPS = 4096 };

/*
 * Reads the JSON that torch.profiler exports (Chrome trace events), as a stream: nothing but the
 * kernels' times is kept. -1 after adding an error.
 */
int trace_read_text(struct arena *arena, struct diags *diags, const char *name, const char *text,
    size_t length, struct trace_facts *facts);
int trace_read_file(
    struct arena *arena, struct diags *diags, const char *path, struct trace_facts *facts);
/* -1 and an error when the profile is of another number of ranks. */
int trace_check_world(
    struct diags *diags, const char *name, const struct trace_facts *facts, int64_t world);
/* Whether the first bytes of a file are those of such a trace. */
bool trace_is(const char *start, size_t length);

#endif
