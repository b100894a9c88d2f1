/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_IMPORT_TEXT_H
#define MOEPLAN_IMPORT_TEXT_H

#include <stddef.h>
#include <stdint.h>

#include "base/doc.h"

struct arena;

/* A text that is read by hand (shell, TOML, Python, hostfile), with an index of its lines. */
struct import_text {
	const char *name;
	const char *bytes; /* terminated, UTF-8, no NUL, no carriage returns before line feeds */
	size_t length;
	const uint32_t *lines; /* offsets of their first bytes */
	size_t n_lines;
};

/* Longer than any script or configuration that somebody wrote. */
enum { IMPORT_MAX_BYTES = 1 << 20 };

/* -1 after an error: too long, binary, not UTF-8. Columns count what is left of the text. */
int import_text_open(struct import_text *text, struct arena *arena, struct diags *diags,
    const char *name, const char *bytes, size_t length);
struct loc import_text_loc(const struct import_text *text, size_t offset);

/* So much of a piece of text as a message shows: one line, cut between characters. */
const char *import_shown(struct arena *arena, const char *text, size_t length);

/* A scalar whose kind is read from its text as YAML's core schema would. */
struct doc *import_scalar(struct arena *arena, const char *key, const char *text, struct loc loc);
/* A string whatever it looks like; the text is not copied. */
struct doc *import_string(struct arena *arena, const char *key, const char *text, struct loc loc);
struct doc *import_bool(struct arena *arena, const char *key, bool value, struct loc loc);
struct doc *import_container(
    struct arena *arena, const char *key, enum doc_kind kind, struct loc loc);
/* Adds a child after `last`, the last one so far or NULL; returns it. */
struct doc *import_append(struct doc *parent, struct doc *last, struct doc *child);

#endif
