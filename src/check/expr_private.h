/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_EXPR_PRIVATE_H
#define MOEPLAN_EXPR_PRIVATE_H

#include "check/expr.h"

/* Shared by expr.c, which builds the tree, and expr_value.c, which evaluates it. */
enum expr_op {
	EXPR_CONSTANT,
	EXPR_NAME,
	EXPR_CALL,
	EXPR_NEGATE,
	EXPR_NOT,
	EXPR_AND,
	EXPR_OR,
	EXPR_ADD,
	EXPR_SUBTRACT,
	EXPR_MULTIPLY,
	EXPR_DIVIDE,
	EXPR_REMAINDER,
	EXPR_EQUAL,
	EXPR_DIFFERENT,
	EXPR_LESS,
	EXPR_AT_MOST,
	EXPR_GREATER,
	EXPR_AT_LEAST,
};

struct expr {
	enum expr_op op;
	struct value constant;
	const char *name;
	const struct expr_function *function;
	struct expr *first, *next; /* operands or arguments; the next of the same list */
};

#endif
