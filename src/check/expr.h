/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_EXPR_H
#define MOEPLAN_EXPR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/diag.h"

struct arena;

/*
 * The language of rule conditions: integers, decimals, text in '…' or "…",
 * names, lists, + - * / % == != < <= > >= and or not, functions, ( ).
 * Integers are exact; what overflows, divides by zero or does not go together
 * is undecided, and so is whatever is computed from it. `and` and `or` decide
 * when one side is enough. Truth is 1 or 0.
 */
enum value_kind {
	VALUE_UNDECIDED, /* nobody can tell */
	VALUE_HIDDEN,	 /* it is there, but not its value */
	VALUE_UNSET,	 /* known not to be there; undecided in arithmetic */
	VALUE_INT,
	VALUE_NUMBER,
	VALUE_TEXT,
	VALUE_LIST,
};
struct value {
	enum value_kind kind;
	int64_t integer;
	double number;
	const char *text;
	const struct value *items;
	size_t count;
};

struct expr_scope {
	struct arena *arena;
	struct value (*resolve)(const struct expr_scope *scope, const char *name);
	const void *context;
};

struct expr_function {
	const char *name; /* NULL ends a table */
	int min, max;	  /* arguments; max -1: any number */
	bool raw;	  /* gets unset and undecided arguments too */
	struct value (*call)(
	    const struct expr_scope *scope, const struct value *arguments, size_t count);
};
/* set get on in has count sum product min max ceil floor abs join all_equal divisors … */
extern const struct expr_function expr_functions[];

struct expr;
/* `tables` of functions end with NULL. NULL after adding an error. */
const struct expr *expr_parse(struct arena *arena, struct diags *diags, const char *text,
    const struct expr_function *const *tables);
struct value expr_evaluate(const struct expr *expr, const struct expr_scope *scope);
/* Calls `visit` with every name in the order of the text, those inside set() and get() included. */
void expr_names(
    const struct expr *expr, void (*visit)(void *context, const char *name), void *context);

struct value value_int(int64_t integer);
struct value value_number(double number); /* not finite: undecided */
struct value value_text(const char *text);
struct value value_list(const struct value *items, size_t count);
extern const struct value value_undecided, value_hidden, value_unset;
bool value_is_numeric(const struct value *value);
double value_as_number(const struct value *value);
/* 1 true, 0 false, -1 undecided. Text and lists are true unless empty. */
int value_truth(const struct value *value);
/* 1 equal, 0 not, -1 undecided. */
int value_equal(const struct value *a, const struct value *b);
/* As messages show it: "128", "1.5", "1, 2, 4". */
const char *value_show(struct arena *arena, const struct value *value);

#endif
