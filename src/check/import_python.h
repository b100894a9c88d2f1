/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_IMPORT_PYTHON_H
#define MOEPLAN_IMPORT_PYTHON_H

/* What the readers of Python share: import_python*.c and import_recipe.c only. */

#include "check/import_private.h"

struct python {
	struct import *in;
	const struct import_text *text;
	size_t at;
	bool accelerate; /* the text imports it */
	struct doc *names, *last_name; /* NAME = literal */
};

char python_peek(const struct python *p);
bool python_is_name(char c);
/* Blanks, ends of lines, comments. */
void python_skip_space(struct python *p);
/* Behind the string at the cursor, of one quote or three. */
void python_skip_string(struct python *p);
/* Up to the comma or bracket that ends an expression. */
void python_skip_expression(struct python *p);
char *python_name(struct python *p);
/* NAME = literal on a line of its own, all of the text. */
void python_read_names(struct python *p);
/* NULL when it is no literal and no name of one; the cursor is then anywhere inside. */
struct doc *python_value(struct python *p, const char *key);

/*
 * import_recipe.c: torchtitan 0.3 is configured by assignments. Behind `name`, which begins at
 * `start`: takes what belongs to a recipe; *prefix is the section of a call of replace().
 */
int recipe_name(struct python *p, const char *name, size_t start, const char **prefix);

#endif
