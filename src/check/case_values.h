/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_CASE_VALUES_H
#define MOEPLAN_CASE_VALUES_H

#include "check/config.h"

/* Private to case*.c. */
struct case_framework {
	const char *name;
	enum framework framework;
	bool whole_experts; /* ETP 1 when EP is over 1 */
};
/* "megatron@0.15", "Megatron-Core 0.15.0"; NULL: its rules are not known. */
const struct case_framework *case_framework(
    struct arena *arena, const char *text, const char **version);
/* The first thing in the text that looks like a release, or NULL. */
const char *case_version(struct arena *arena, const char *text);
/* 8, 8.0 and "8". */
bool case_integer(const struct doc *value, int64_t *integer);
/* A map of hosts, lines of a hostfile or a list of them; -1 after adding errors. */
int case_hostfile(
    struct config *config, struct arena *arena, struct diags *diags, const struct doc *value);

#endif
