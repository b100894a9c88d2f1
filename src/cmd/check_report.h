/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_CHECK_REPORT_H
#define MOEPLAN_CHECK_REPORT_H

#include "check/conventions.h"
#include "check/rules.h"
#include "cmd/cmd.h"

enum check_verdict { CHECK_OK, CHECK_WARN, CHECK_ERROR };
extern const char *const check_verdict_names[];

/* One change of one setting that was tried by evaluating it. */
struct check_knob {
	const char *text; /* "ep 16" */
	enum verdict verdict;
	double worst_bytes, step_s;
};
enum { CHECK_KNOBS = 16 };

/* A line of the list that guides tell to go through before a run. */
enum item_verdict { ITEM_YES, ITEM_NO, ITEM_OPEN, ITEM_LATER };
extern const char *const item_verdict_names[];
struct check_item {
	const char *name, *text;
	enum item_verdict verdict;
	const char *detail;
};
enum { CHECK_ITEMS = 7 };

/* Everything that a check found out about one configuration. */
struct check_report {
	struct config *config;
	struct strategy strategy;  /* derived */
	const struct model *model; /* or NULL */
	const struct cluster *cluster;
	bool other;
	int64_t product_dp;
	const char *framework; /* as people call it */
	struct diags *findings;
	int decided, undecided;
	struct convention conventions[CONVENTIONS];
	size_t n_conventions; /* 0: the world is not known */
	bool only_launch;     /* nothing but who starts how many ranks of an unknown program */
	const char *hidden;   /* degrees that are said and not known, as options; or NULL */
	struct choices choices;
	const struct estimate *estimate; /* or NULL */
	const char *no_estimate;	 /* why not, or NULL */
	struct check_knob knobs[CHECK_KNOBS];
	int n_knobs, best_knob; /* -1 none that fits */
	struct check_item items[CHECK_ITEMS];
	struct check_report *next;
};

/* cmd_check.c: reads a document and counts it among the inputs; NULL after adding errors. */
const struct doc *request_document(struct request *request, const char *path);

/* check_run.c: decides one configuration; everything ends up in the report. */
void check_run(struct request *request, struct check_report *report);
/* The worst of all reports. */
enum check_verdict check_verdict(const struct check_report *reports);

/* check_memory.c: the planner's estimate, and the changes that make it fit. */
void check_estimate(struct request *request, struct check_report *report);
void check_try_knobs(struct request *request, struct check_report *report);

void text_check(struct request *request, const struct check_report *reports);
void json_check(struct request *request, const struct check_report *reports);

/* check_reshard.c: check --from OLD.json NEW.json */
enum status check_reshard(struct request *request);

#endif
