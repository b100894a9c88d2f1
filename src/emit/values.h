/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_VALUES_H
#define MOEPLAN_VALUES_H

#include "base/doc.h"
#include "base/str.h"

struct arena;

/* Values as a key table writes them: document nodes without a place. */
const struct doc *doc_int(struct arena *arena, int64_t integer);
const struct doc *doc_number(struct arena *arena, double number);
const struct doc *doc_text(struct arena *arena, const char *text);
const struct doc *doc_bool(struct arena *arena, bool boolean);
/* The same, or NULL: nothing is written. */
const struct doc *flag_if(struct arena *arena, bool condition);
const struct doc *size_if(struct arena *arena, bool condition, int64_t size);
const struct doc *text_if(struct arena *arena, bool condition, const char *text);
/* A list that doc_add_item() fills. */
struct doc *doc_list(struct arena *arena);
void doc_add_item(struct arena *arena, struct doc *list, const struct doc *item);

/* With the fewest digits that read back as the same number. */
const char *number_text(struct arena *arena, double number);

/* As JSON, Python, TOML and a shell word take it. Flags are true in all of them. */
void add_json(struct str *out, const struct doc *value);
void add_python(struct str *out, const struct doc *value);
void add_shell(struct str *out, const char *word);

#endif
