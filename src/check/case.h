/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_CASE_H
#define MOEPLAN_CASE_H

#include "check/case_fields.h"
#include "check/config.h"

/*
 * A report reduced to a few numbers: {"framework": "megatron", "input": {…}}.
 * Lists of sizes and a list `cases` make several configurations of one case.
 */
struct check_case {
	struct config config;
	const char *framework;	    /* as written */
	bool other;		    /* not one whose rules are known */
	const struct doc **unknown; /* fields that nobody understands */
	size_t n_unknown;
	struct check_case *next;
};
/* NULL after adding errors. */
struct check_case *case_read(struct arena *arena, struct diags *diags, const struct doc *doc);

/* Appends a setting. */
void config_add(
    struct config *config, struct arena *arena, const char *name, const struct doc *value);
/* case_model.c: stated shapes stand before those of a built-in model that has others. */
void case_settle_model(struct arena *arena, struct config *config);

#endif
