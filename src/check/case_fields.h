/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_CASE_FIELDS_H
#define MOEPLAN_CASE_FIELDS_H

#include <stdbool.h>
#include <stddef.h>

/*
 * A key of a case's `input`. It sets a size of the strategy or of the launch,
 * or becomes a setting; `own` ones are facts that only cases have, and a
 * condition may always ask whether they are there.
 */
enum case_target { CASE_STRATEGY, CASE_LAUNCH, CASE_SETTING, CASE_SPECIAL };
struct case_field {
	const char *name;
	enum case_target target;
	size_t offset;	     /* CASE_STRATEGY and CASE_LAUNCH: of an int64_t */
	const char *setting; /* CASE_SETTING: its name; NULL the same */
	bool own;
	bool members; /* own, and a map whose members are asked for: "max_mb.first" */
	const char *text; /* for the man page; NULL: another spelling of the row before */
};
extern const struct case_field case_fields[]; /* ends with name NULL */
const struct case_field *case_field_find(const char *name);
/* Other names of a field or of a setting, separated by blanks: case_names.c. */
struct case_names {
	const char *name, *others;
};
extern const struct case_names case_names[]; /* ends with name NULL */
/* The name that this is another one of, or NULL. */
const char *case_name_of(const char *other);
/* A fact that only cases have, or a member of one ("max_mb.first"). */
bool case_field_is_own(const char *name);
/* True when some field becomes a setting of this name. */
bool case_field_says(const char *setting);

#endif
