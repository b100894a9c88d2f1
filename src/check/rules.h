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
 * inside set(), get() and on(). `setting` in a condition makes the rule one for
 * every setting. Names of a failed rule and their values become the diagnostic's
 * numbers; {expression} in message and hint is replaced by its value, and
 * {label: expression} is a number of that name as well. A hint may be several
 * separated by " || ": the first that is decided is taken.
 */
enum { RULE_OTHER = 1 << FRAMEWORKS }; /* frameworks that are none of enum framework */
struct rule {
	const char *id;	     /* "MEG-071" */
	unsigned frameworks; /* bit per enum framework, RULE_OTHER; 0: any (launchers, health) */
	const char *since, *until;
	enum severity severity;
	bool silent;	  /* the framework itself says nothing */
	const char *when; /* NULL always */
	/*
	 * "condition", or "condition : 'what is wrong'; condition : …": the texts of those
	 * that do not hold become {problem} in the message. NULL: only the grid rule.
	 */
	const char *require;
	/* When the grid rule of this id (model/strategy.h) is decided as well; NULL: there is none.
	 */
	const char *grid;
	const char *message;
	const char *hint;   /* NULL none */
	const char *source; /* file of the framework, with its version */
};

extern const struct rule *const rule_tables[]; /* ends with NULL; tables end with id NULL */
const struct rule *rule_find(const char *id);
/* Some rule asks for a setting of this name. */
bool rules_mention(const char *name);

/* What a configuration cannot decide, but somebody wants explained: formulas, defaults, habits. */
struct rule_fact {
	const char *id;
	const char *about; /* "Megatron-LM", "launchers" … */
	const char *text;
	const char *source;
};
extern const struct rule_fact rule_facts[]; /* ends with id NULL */

struct check_context {
	const struct config *config;
	const struct strategy *strategy; /* derived */
	const struct model *model;	 /* or NULL */
	const struct cluster *cluster;	 /* or NULL */
	const struct estimate *estimate; /* or NULL */
	bool other;			 /* a framework that is none of enum framework */
	int64_t product_dp;		 /* DP of WORLD = DP*EP*TP*PP, 0 not that convention */
};
/* Runs all rules of the framework and version; returns how many were decided, *undecided the
 * others. */
int rules_run(
    const struct check_context *context, struct arena *arena, struct diags *diags, int *undecided);

#endif
