/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_KEYS_H
#define MOEPLAN_KEYS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/doc.h"
#include "model/strategy.h"

struct arena;
struct plan_view;

/*
 * How a framework spells a setting: one row, read forwards by the emitters and
 * backwards by the importers, so that what is emitted is understood again.
 */
enum key_kind {
	KEY_INT,
	KEY_NUMBER,
	KEY_TEXT,
	KEY_FLAG, /* there or not there; no value on a command line */
	KEY_BOOL, /* true or false */
	KEY_LIST,
};

struct key {
	/* Native: "tensor_model_parallel_size", "zero_optimization.stage",
	   "parallelism.tensor_parallel_degree". */
	const char *name;
	/* Our word for it: a strategy field ("tp"), "model.num_experts" …; NULL: none. */
	const char *term;
	enum key_kind kind;
	/* First release that has it, first that has it no more; NULL: open. */
	const char *since, *until;
	/* The native value for a plan, NULL: left out. NULL function: the term as it is. */
	const struct doc *(*write)(struct arena *arena, const struct plan_view *plan);
	/* Sets the term from a native value; -1 after an error. NULL function: as it is. */
	int (*read)(const struct key *key, const struct doc *value, struct strategy *strategy,
	    struct field_context *context);
	/* A release that does not have it does not need it; otherwise such a plan is refused. */
	bool optional;
};

/* A switch is on unless it says false; key_refuse adds the error that names what is allowed: -1. */
bool key_is_on(const struct doc *value);
int key_refuse(const struct key *key, const struct doc *value, struct field_context *context,
    const char *allowed);

/* A table ends with a row without a name. */
extern const struct key megatron_keys[], deepspeed_keys[], torchtitan_keys[];
/* One name and one value a setting, in table order. */
struct key_value {
	const struct key *key;
	const struct doc *value;
	struct key_value *next;
};
/*
 * What the plan's release is told. NULL after an error: a value that the plan needs
 * has no key in that release.
 */
const struct key_value *keys_write(const struct key *table, struct arena *arena,
    struct diags *diags, const struct plan_view *plan);
const struct key *key_find(const struct key *table, const char *name);
/*
 * Sets the key's term from a native value, by its own reader or as it is. Rows are
 * read in the order of the table: a later one refines what an earlier one said.
 * Terms "model.…" name keys of our model files and are left to the caller.
 */
int key_read(const struct key *key, const struct doc *value, struct strategy *strategy,
    struct field_context *context);
/*
 * For a reader: a value that the framework takes and no plan has, and what it is counted
 * as, in a note. 0.
 */
int key_counted_as(const struct key *key, const struct doc *value, struct field_context *context,
    const char *what);
/* The native value for a plan, NULL: leave it out. */
const struct doc *key_write(
    const struct key *key, struct arena *arena, const struct plan_view *plan);
bool key_in_version(const struct key *key, const char *version);

#endif
