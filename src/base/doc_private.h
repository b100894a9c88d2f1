/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_DOC_PRIVATE_H
#define MOEPLAN_DOC_PRIVATE_H

/* What the parts of doc.h share: doc*.c only. */

#include "base/doc.h"

/* One text being read. */
struct doc_reader {
	struct arena *arena;
	struct diags *diags;
	const char *name;
	const char *text; /* valid UTF-8, without byte order mark and NUL */
	size_t length;
	size_t nodes;
	bool repeats;	/* a key of a map may come again */
	int duplicates; /* keys that a map has twice, all maps together */
};

/* A new node, or NULL after the error that there are too many. */
struct doc *doc_new(struct doc_reader *reader, enum doc_kind kind, struct loc loc);
/* Adds `child` after `last`, the last child so far or NULL. */
void doc_append(struct doc *parent, struct doc *last, struct doc *child);
/* Sets kind and value from unquoted text by YAML 1.2's core schema. */
void doc_resolve_plain(struct doc *node, const char *text);
/* Counts and reports the keys that a map has twice; reading goes on. */
void doc_check_keys(struct doc_reader *reader, const struct doc *map);

/* -1 after an error when the text is too long, not UTF-8, or binary. */
int doc_check_text(struct doc_reader *reader);
/* Line and column (both from 1, in characters) of a byte. */
struct loc doc_loc_at(const struct doc_reader *reader, size_t offset);

/*
 * JSON with its extensions taken out, every byte at its place: comments and
 * trailing commas are blanks, each number and NaN is a 0 and blanks. NULL after
 * an error. What is left is strict JSON or is refused by a strict parser.
 */
char *doc_json_clean(struct doc_reader *reader);

struct doc *doc_json_parse(struct doc_reader *reader);
struct doc *doc_yaml_parse(struct doc_reader *reader);

#endif
