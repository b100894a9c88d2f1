/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_RULES_PRIVATE_H
#define MOEPLAN_RULES_PRIVATE_H

#include "check/context.h"

/* A row of a rule table, ready to be decided. Private to rules*.c and their tests. */
struct rule_piece {
	const struct expr *condition;
	const char *text; /* what is wrong when it does not hold, or NULL */
};
enum { RULE_MAX_PIECES = 16 };
struct compiled {
	const struct rule *rule;
	const struct expr *when, *grid; /* or NULL */
	int n_pieces;
	struct rule_piece pieces[RULE_MAX_PIECES];
	bool each; /* decided for every setting */
};
/* -1 after adding errors: a mistake in the table. */
int rule_compile(
    const struct rule *rule, struct compiled *compiled, struct arena *arena, struct diags *diags);
/* -1 after adding errors: something in braces of a message or hint cannot be read. */
int rule_check_templates(const struct rule *rule, struct arena *arena, struct diags *diags);
/* rules_text.c: where numbers and the place of a finding go while its text is written. */
struct rule_sink {
	const struct facts *facts;
	struct diags *diags;
	struct diag *diag;
};
/* Visitors of expr_names(), with a struct rule_sink: the value as a number, the setting's place. */
void rule_add_name(void *sink, const char *name);
void rule_add_place(void *sink, const char *name);
/* Calls `visit` with the names of everything that stands in braces. */
void rule_visit_braces(struct rule_sink *sink, const char *text,
    void (*visit)(void *context, const char *name), void *context);
const char *rule_render(struct rule_sink *sink, const char *text, const char *problem);
/* The first alternative in which everything is known; NULL. */
const char *rule_render_hint(struct rule_sink *sink, const char *hint, const char *problem);
/*
 * rules_meant.c: the strategy that DeepSpeed makes of its file where degrees of the other one
 * stand in keys that it does not read; NULL: there are no such.
 */
struct strategy *rules_as_read(const struct facts *facts);
/* A finding that holds "if" the code does what the file means, or "unless" it does. */
void rule_soften(
    const struct facts *facts, struct diags *diags, struct diag *diag, const char *condition);
bool rule_applies(const struct rule *rule, unsigned framework, const char *version);
/* The grid rule of this id, or NULL. */
const struct grid_rule *rule_grid(const char *id);
/* A hint with our options in the configuration's spelling: "--ep 8" as its framework writes it. */
const char *rule_spell(const struct facts *facts, const char *hint);

#endif
