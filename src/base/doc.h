/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_DOC_H
#define MOEPLAN_DOC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/diag.h"

struct arena;

enum doc_kind { DOC_NULL, DOC_BOOL, DOC_NUMBER, DOC_STRING, DOC_LIST, DOC_MAP };

/*
 * One tree for JSON, YAML and command-line options. Every node knows where it
 * came from. Numbers keep their raw text; `integer` is exact when `is_integer`.
 * NaN and infinities (Python writes them) are numbers with `!isfinite(number)`.
 */
struct doc {
	enum doc_kind kind;
	struct loc loc;
	const char *key;  /* member name when the parent is a map */
	struct loc key_loc;
	const char *text; /* raw text of any scalar; the decoded text of a string */
	double number;
	int64_t integer;
	bool is_integer;
	bool boolean;
	bool quoted;      /* a string that was written in quotes */
	size_t count;     /* members or items */
	struct doc *first, *next;
};

/* Limits on untrusted input; the message names the one that was hit. */
enum {
	DOC_MAX_BYTES = 16 << 20,
	DOC_MAX_DEPTH = 64,
	DOC_MAX_NODES = 2000000,
};

/*
 * Parses text as JSON (first character { or [) or YAML. `name` is what messages
 * call the file. JSON may hold // and block comments, trailing commas, NaN and
 * Infinity: each is read and noted once. Duplicate keys, anchors that expand
 * beyond DOC_MAX_NODES, tags other than the core schema's, several YAML
 * documents and binary data are errors. Returns NULL after adding errors.
 */
struct doc *doc_parse(struct arena *arena, struct diags *diags, const char *name, const char *text,
    size_t length);
/* The same, but a map in YAML keeps keys that come again, as PyYAML takes them: the last counts. */
struct doc *doc_parse_repeats(struct arena *arena, struct diags *diags, const char *name,
    const char *text, size_t length);

/*
 * What doc_parse() asks of any text: DOC_MAX_BYTES at most, UTF-8, no NUL. Skips a byte
 * order mark. -1 after adding an error.
 */
int doc_check(struct arena *arena, struct diags *diags, const char *name, const char **text,
    size_t *length);

/*
 * Reads a file (`-`: standard input) whole; NULL after adding an error. Terminated;
 * *length without.
 */
char *doc_read_file(struct arena *arena, struct diags *diags, const char *path, size_t *length);

/* Member of a map or NULL; NULL too for a NULL or non-map `map`. */
const struct doc *doc_get(const struct doc *map, const char *key);
/* Item of a list or NULL. Linear; walk first/next for loops. */
const struct doc *doc_item(const struct doc *list, size_t index);
/* True for absent and for null: config files use both for "not there". */
bool doc_is_null(const struct doc *doc);
/* "a number", "a list" …, for messages. */
const char *doc_kind_name(enum doc_kind kind);

/* A map node and scalar members built by hand, as the option parser does. */
struct doc *doc_new_map(struct arena *arena, struct loc loc);
/* Appends a member whose kind is read from `text` as YAML's core schema would. */
struct doc *doc_add_scalar(struct arena *arena, struct doc *map, const char *key, const char *text,
    struct loc loc);

#endif
