/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_JSONW_H
#define MOEPLAN_JSONW_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

/*
 * Writes strict JSON in the order of the calls: two-space indent, integers
 * exact, doubles by the shortest text that reads back the same, non-finite
 * doubles as null. `key` is NULL inside a list. Nesting is asserted.
 */
enum { JSONW_MAX_DEPTH = 32 };
struct jsonw {
	struct str out;
	int depth;
	bool has_items[JSONW_MAX_DEPTH];
	bool in_list[JSONW_MAX_DEPTH];
	bool inline_list[JSONW_MAX_DEPTH];
};

struct jsonw jsonw_new(struct arena *arena);
void jsonw_open(struct jsonw *w, const char *key);      /* { */
void jsonw_close(struct jsonw *w);                      /* } or ] */
void jsonw_list(struct jsonw *w, const char *key);      /* [ one item a line */
void jsonw_row(struct jsonw *w, const char *key);       /* [ all items on one line */
void jsonw_string(struct jsonw *w, const char *key, const char *value); /* NULL writes null */
void jsonw_int(struct jsonw *w, const char *key, int64_t value);
void jsonw_uint(struct jsonw *w, const char *key, uint64_t value);
void jsonw_double(struct jsonw *w, const char *key, double value);
void jsonw_bool(struct jsonw *w, const char *key, bool value);
/* Ends the document with a newline and returns its text. */
const char *jsonw_end(struct jsonw *w);

#endif
