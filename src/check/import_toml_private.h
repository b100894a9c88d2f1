/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_IMPORT_TOML_PRIVATE_H
#define MOEPLAN_IMPORT_TOML_PRIVATE_H

/* What the parts of import_toml.h share: import_toml*.c only. */

#include "check/import_toml.h"

/* What TOML demands of a table beyond its members. */
struct toml_table {
	struct doc *node, *last;
	bool defined; /* by a header of its own: not again */
	bool dotted;  /* made by a dotted key: no header either */
	bool closed;  /* inline: nothing is added later */
	struct toml_table *next;
};

struct toml {
	struct arena *arena;
	struct diags *diags;
	const struct import_text *text;
	size_t at;
	int keys, tables;
	struct toml_table *all;
};

static inline struct loc
toml_here(const struct toml *t)
{
	return import_text_loc(t->text, t->at);
}

static inline char
toml_peek(const struct toml *t)
{
	return t->text->bytes[t->at];
}

/* import_toml.c: -1 after an error that names what stands here and what was expected. */
int toml_fail(struct toml *t, const char *expected);
void toml_skip_blanks(struct toml *t);

/* import_toml_table.c: NULL or -1 after an error. */
int toml_count_key(struct toml *t);
struct toml_table *toml_table_of(const struct toml *t, const struct doc *node);
struct toml_table *toml_new_table(
    struct toml *t, struct toml_table *parent, const char *key, struct loc loc);
struct toml_table *toml_add_table(struct toml *t, struct doc *node);
void toml_add_member(struct toml_table *table, struct doc *node);
struct doc *toml_member(const struct toml_table *table, const char *key);
/* The error for a key that is there already. */
int toml_taken(struct toml *t, const struct doc *node, struct loc loc);
/* The table of this key, made where there is none; `dotted`: by a dotted key. */
struct toml_table *toml_enter(
    struct toml *t, struct toml_table *parent, const char *key, struct loc loc, bool dotted);

/* import_toml_string.c: "…", '…' and both of three quotes; the text is left in *out. */
int toml_string(struct toml *t, bool multi_allowed, const char **out);

#endif
