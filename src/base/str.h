/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_STR_H
#define MOEPLAN_STR_H

#include <stdarg.h>
#include <stddef.h>

struct arena;

/* A growing string on an arena; `text` is always terminated. */
struct str {
	char *text;
	size_t length;
	size_t capacity;
	struct arena *arena;
};

struct str str_new(struct arena *arena);
void str_add(struct str *str, const char *text);
void str_addn(struct str *str, const char *text, size_t length);
void str_addc(struct str *str, char c);
/* Between single quotes, as YAML takes any text; control characters become blanks. */
void str_add_quoted(struct str *str, const char *text);
void str_pad(struct str *str, char c, size_t count);
void str_addf(struct str *str, const char *format, ...) __attribute__((format(printf, 2, 3)));
void str_addv(struct str *str, const char *format, va_list arguments)
    __attribute__((format(printf, 2, 0)));

/* Columns that UTF-8 text takes on a terminal (combining marks are not used by us). */
size_t str_width(const char *text);

/*
 * The candidate nearest to `word` by edit distance, for "did you mean"; NULL
 * when none is near enough. `candidates` ends with NULL.
 */
const char *str_nearest(const char *word, const char *const *candidates);
/* Where a list that ends with NULL has the word, -1: nowhere. */
int str_index(const char *const *list, const char *word);

/* -1, 0, 1 as version a is older than, the same as, newer than b: "0.9" < "0.10" < "0.19.1". */
int version_compare(const char *a, const char *b);

#endif
