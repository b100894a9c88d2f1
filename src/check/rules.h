/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_RULES_H
#define MOEPLAN_RULES_H

#include "check/config.h"
#include "planner/estimate.h"

/*
 * One row a rule. `when` and `require` are expressions over native setting
 * names and our terms (tp, cp, pp, vpp, ep, etp, dp, edp, world, layers,
 * experts …): integers, decimals, text in quotes, + - * / % == != < <= > >=
 * and or not, ( ), set(name), in(name, a, b …), count(list), min, max, ceil.
 * A name that is not set makes the rule undecided (skipped, and counted), but
 * inside set(). Names of a failed rule and their values become the
 * diagnostic's numbers; {expression} in message and hint is replaced by its value.
 */
struct rule {
	const char *id;         /* "MEG-071" */
	unsigned frameworks;    /* bit per enum framework; 0: any (launchers, health) */
	const char *since, *until;
	enum severity severity;
	bool silent;            /* the framework itself says nothing */
	const char *when;       /* NULL always */
	const char *require;
	const char *message;
	const char *hint;       /* NULL none */
	const char *source;     /* file of the framework, with its version */
};

extern const struct rule *const rule_tables[]; /* ends with NULL; tables end with id NULL */
const struct rule *rule_find(const char *id);

struct check_context {
	const struct config *config;
	const struct strategy *strategy; /* derived */
	const struct model *model;       /* or NULL */
	const struct cluster *cluster;   /* or NULL */
	const struct estimate *estimate; /* or NULL */
};
/* Runs all rules of the framework and version; returns how many were decided. */
int rules_run(const struct check_context *context, struct arena *arena, struct diags *diags);

#endif
