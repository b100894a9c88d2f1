/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_EXPLAIN_REPORT_H
#define MOEPLAN_EXPLAIN_REPORT_H

#include "check/rules.h"
#include "cmd/cmd.h"
#include "planner/estimate.h"

/* A part of memory or time, with its formula. */
struct part_text {
	const char *name;  /* as in the documents */
	const char *about; /* "memory", "time" */
	const char *text;  /* what it is */
	const char *formula;
	const char *ignores; /* or NULL */
	const char *source;
};
extern const struct part_text part_texts[]; /* ends with name NULL */
const struct part_text *part_find(const char *name);

/* What people see go wrong. */
struct symptom {
	const char *name;
	const char *question;
	const char *const *steps; /* in the order in which to try them; ends with NULL */
	int aim;		  /* enum aim whose changes are tried on a plan, -1 none */
};
extern const struct symptom symptoms[]; /* ends with name NULL */

/* A change that was tried on the plan at hand. */
struct trial {
	const char *change; /* "twice the EP" */
	const char *option; /* "--ep 16" */
	enum verdict verdict;
	double worst_bytes, step_s, all_to_all_s;
};
enum { TRIALS = 16 };

/* The plan that an explanation is about. */
struct explained_plan {
	const char *name;
	const struct model *model;
	const struct cluster *cluster;
	struct estimate estimate;
	struct trial trials[TRIALS];
	int n_trials;
	const char *no_gain; /* changes that were tried and do not help; NULL none */
	const char *no_room; /* changes that would be faster in more memory than there is */
};
/* explain_exchanges.c: MoE layers of a rank and exchanges of tokens that it takes part in. */
struct exchanges {
	int stage;
	int64_t layers, replayed, micro_batches, total;
};
struct exchanges count_exchanges(struct request *request, const struct explained_plan *plan);
void text_exchanges(struct request *request, const struct explained_plan *plan);
/* explain_plan.c: NULL after adding errors. */
struct explained_plan *explained_plan_read(struct request *request, const char *path);
void explained_plan_try(struct request *request, struct explained_plan *plan, int aim);

/* What is explained; one of these is there. */
struct explanation {
	const char *topic;
	const struct rule *rule;
	const struct rule_fact *fact;
	const struct part_text *part;
	int rate; /* index into rate_table, -1 none */
	const struct term *term;
	const struct symptom *symptom;
	bool all_rules, all_terms, all_fields, compare; /* "rules", "terms", "cases", "tp-vs-ep" */
	struct explained_plan *plan;			/* or NULL */
};

void text_explain(struct request *request, const struct explanation *what);
void json_explain(struct request *request, const struct explanation *what);
/* text_symptom.c: a symptom or tp-vs-ep, with the plan's numbers. */
void text_symptom(struct request *request, const struct explanation *what);
void text_tp_vs_ep(struct request *request, const struct explanation *what);

/* A rule's condition for people: grid rules tell their gist. */
const char *rule_condition(struct arena *arena, const struct rule *rule);
const char *rule_frameworks(struct arena *arena, const struct rule *rule);
const char *rule_versions(struct arena *arena, const struct rule *rule);
/* A message with the names of its values in place of the values. */
const char *rule_plain(struct arena *arena, const char *text);

#endif
