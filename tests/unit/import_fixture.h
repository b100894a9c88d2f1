/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_TEST_IMPORT_FIXTURE_H
#define MOEPLAN_TEST_IMPORT_FIXTURE_H

#include "base/arena.h"
#include "base/diag.h"
#include "check/config.h"

/* Texts that are imported one after another, and what came of them. */
struct imported {
	struct arena *arena;
	struct diags *diags;
	struct config config;
	int result; /* of the last text */
};

struct imported imported_new(void);
void imported_free(struct imported *imported);
/* Imports a text; it is gone when the result is looked at. */
void import_add(struct imported *imported, const char *name, const char *text);
void import_add_bytes(
    struct imported *imported, const char *name, const char *bytes, size_t length);
/* Words of an argument vector, with a blank between. */
void import_add_arguments(struct imported *imported, const char *words);
/* One text, which must be read without an error. */
struct imported import_good(const char *name, const char *text);

/* The setting's value as text; NULL: it is not there or not known. "[a b]" of a list. */
const char *import_value_of(const struct imported *imported, const char *name);
/* The text of a setting whose value is not known, or NULL. */
const char *import_unknown_of(const struct imported *imported, const char *name);
/* Options of the strategy that are asked for: "tp=2 ep=8" of "tp ep". */
const char *import_sizes(const struct imported *imported, const char *names);
/* Fails unless they are these. */
void import_expect(const struct imported *imported, const char *name, const char *expected);
void import_expect_sizes(const struct imported *imported, const char *names, const char *expected);
bool import_has_message(const struct imported *imported, enum severity severity, const char *part);
bool import_has_unresolved(const struct imported *imported, const char *part);

#endif
