/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_DIAG_H
#define MOEPLAN_DIAG_H

#include <stdbool.h>
#include <stdint.h>

struct arena;

/* Where something was read. line 0: no line (a command-line option, a derived value). */
struct loc {
	const char *file;
	int line;
	int column;
};

enum severity { SEVERITY_NOTE, SEVERITY_WARNING, SEVERITY_ERROR };

/* A number that a message was computed from, under a stable name. */
struct diag_number {
	const char *name;
	double value;
	struct diag_number *next;
};

struct diag {
	enum severity severity;
	bool silent;         /* the framework itself would say nothing */
	const char *rule;    /* rule id or NULL */
	struct loc loc;
	const char *message; /* lower case, no full stop, quotes its subject */
	const char *hint;    /* what to change, or NULL */
	struct diag_number *numbers;
	struct diag *next;
};

/* Collected, not thrown: the user sees every mistake at once. */
struct diags {
	struct arena *arena;
	struct diag *first, *last;
	int errors, warnings, notes;
};

struct diags *diags_new(struct arena *arena);

/* Adds one and returns it, so that a hint and numbers can be attached. Messages are copied. */
struct diag *diag_add(struct diags *diags, struct loc loc, const char *rule, enum severity severity,
    const char *format, ...) __attribute__((format(printf, 5, 6)));
/* The common case: an error of the input. Returns -1, so `return diag_error(...)` reads well. */
int diag_error(struct diags *diags, struct loc loc, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void diag_hint(struct diags *diags, struct diag *diag, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void diag_number(struct diags *diags, struct diag *diag, const char *name, double value);
/* Hint for the diagnostic that was added last. */
void diag_last_hint(struct diags *diags, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

const char *severity_name(enum severity severity);

#endif
