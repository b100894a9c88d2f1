/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_RULES_NAMES_H
#define MOEPLAN_RULES_NAMES_H

#include "model/strategy.h"

/* Names of settings that a framework knows from one release to another. */
struct name_span {
	const char *since, *until; /* NULL open */
	const char *prefix;	   /* "", "zero_optimization." */
	const char *names;	   /* blank-separated; NULL ends a table */
};
extern const struct name_span megatron_names[], deepspeed_names[], torchtitan_names[];

enum name_state {
	NAME_KNOWN,
	NAME_UNKNOWN, /* never heard of */
	NAME_GONE,    /* known up to an older release */
	NAME_LATER,   /* known from a newer release on */
	NAME_STATES
};
extern const char *const name_state_names[NAME_STATES + 1];

/* `version` NULL: the newest. *span, when not NULL, is the row that has the name, or NULL. */
enum name_state name_state(
    enum framework framework, const char *version, const char *name, const struct name_span **span);
/* Does the table have names below this one ("zero_optimization")? */
bool name_is_block(enum framework framework, const char *name);
/* The one known name that ends with a point and this one: "tensor_parallel_degree"; NULL. */
const char *name_in_block(struct arena *arena, enum framework framework, const char *name);
/* A known name that is spelled nearly so; NULL. */
const char *name_nearest(
    struct arena *arena, enum framework framework, const char *version, const char *name);
/* The name that replaces this one in Megatron-LM, or NULL. */
const char *name_replacement(const char *name);

#endif
