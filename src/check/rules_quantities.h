/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_RULES_QUANTITIES_H
#define MOEPLAN_RULES_QUANTITIES_H

#include "check/rules.h"

/*
 * What follows from the numbers, right or wrong: one row a quantity, an
 * expression as in rules. Those that are decided become the numbers of one note.
 */
struct quantity_row {
	const char *name;
	const char *expression;
	const char *text;
};
extern const struct quantity_row quantity_rows[]; /* ends with name NULL */

/* Adds the note "what follows" with every number that is known; NULL when there is none. */
struct diag *quantities_note(
    const struct check_context *check, struct arena *arena, struct diags *diags);

#endif
