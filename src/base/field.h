/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_FIELD_H
#define MOEPLAN_FIELD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/doc.h"

struct arena;

/*
 * One row a setting: the same row reads a key of a file (`micro_batch: 2`),
 * an option (`--micro-batch 2`), checks its range, and writes the help text,
 * the shell completion and the table in the man page.
 */
enum field_kind {
	FIELD_FLAG,    /* bool; an option without argument, `--no-X` clears it */
	FIELD_INT,     /* int64_t in [min, max] */
	FIELD_NUMBER,  /* double in [min, max] */
	FIELD_BYTES,   /* uint64_t, text with a unit */
	FIELD_SECONDS, /* double */
	FIELD_TEXT,    /* const char * */
	FIELD_CHOICE,  /* int: index into `choices` */
	FIELD_CUSTOM,  /* read() decides */
};

struct field;
struct field_context {
	struct arena *arena;
	struct diags *diags;
};
/* Reads `value` into `object`; -1 after adding an error. */
typedef int field_read_fn(const struct field *field, void *object, const struct doc *value,
    struct field_context *context);

struct field {
	/* key, snake_case; the option is the same with dashes. NULL ends a table */
	const char *name;
	const char *arg;    /* "N", "SIZE", "none|full"…; NULL for flags */
	const char *help;   /* one line, lower case, no full stop */
	enum field_kind kind;
	size_t offset;      /* of the member in the object */
	double min, max;    /* inclusive, FIELD_INT and FIELD_NUMBER; both 0: no limit */
	/* FIELD_CHOICE, ends with NULL; also completed for FIELD_CUSTOM */
	const char *const *choices;
	field_read_fn *read;        /* FIELD_CUSTOM */
	bool option_only;   /* not a key of files */
	unsigned said;      /* bit that reading the row sets in the unsigned at said_at, 0: none */
	size_t said_at;
};

/* A table, the object it fills and the head that --help prints above it. */
struct field_set {
	const char *title;
	const struct field *fields;
	void *object;
};

/* Reads one value with its row's checks; -1 after adding errors. */
int field_read(const struct field *field, void *object, const struct doc *value,
    struct field_context *context);
/*
 * Reads a map. Unknown keys are errors with "did you mean"; every mistake is
 * reported. `skip` (ends with NULL, may be NULL) names keys that belong to somebody else.
 */
int fields_read(const struct field *fields, void *object, const struct doc *map,
    const char *const *skip, struct field_context *context);

/* The row with this name, or NULL. */
const struct field *field_find(const struct field *fields, const char *name);

/*
 * Parses a command line after the command word: `--name value`, `--name=value`,
 * unambiguous prefixes refused (scripts outlive them), `--` ends options. An
 * option given twice is an error unless both are equal. Values get the location
 * {"--name", 0, 0}. Positional arguments are collected in order. Sets end with
 * a NULL fields pointer. -1 after adding errors.
 */
struct arguments {
	const char **positional;
	size_t count;
};
int options_parse(const struct field_set *sets, int argc, char **argv, struct arguments *arguments,
    struct field_context *context);

#endif
