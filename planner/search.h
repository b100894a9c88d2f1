/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_SEARCH_H
#define MOEPLAN_SEARCH_H

#include <stdbool.h>
#include <stdint.h>

#include "planner/estimate.h"

/* The search's account of itself: every candidate is in exactly one of these. */
enum { SEARCH_MAX_RULES = 40 };
struct search_account {
	int64_t candidates; /* points of the grid: allowed values of every axis */
	int64_t rejected;   /* break a rule of arithmetic, model or framework */
	int n_rules;
	struct {
		const char *id, *gist;
		int64_t count;
	} rules[SEARCH_MAX_RULES];
	int64_t does_not_fit; /* their memory bound, or their best layout, is over capacity */
	int64_t over_limit;   /* a cap of the user's is proved broken */
	int64_t pruned;	      /* bound not better than the N-th best */
	int64_t open;	      /* not looked at before the time limit */
	int64_t evaluated;    /* closed form */
	int64_t exact;	      /* simulated, layout solved */
	const char *solver, *solver_version, *status; /* "GLPK", "5.0", "optimal" */
	int master_rounds;			      /* times the master MILP was solved */
	double incumbent, bound, gap;		      /* objective's unit; gap a fraction */
	bool stopped_early;			      /* time limit: gap then says how far */
	double wall_s;
};

/* "why not": the best plan with an axis forced to (or kept off) a value, from the same master. */
struct why_not {
	enum axis axis;
	int64_t value;
	bool feasible;
	const char *text;  /* "TP 4: fits, 19 % slower: …" ready to print */
	double step_s;	   /* exact, when feasible */
	double over_bytes; /* when nothing fits: by how much */
	const char *rule;  /* when a rule forbids all: its id */
};

/* Nothing fits: the strategy that misses by least and what would make it fit. */
struct near_miss {
	struct estimate estimate;
	double over_bytes;
	enum memory_part biggest[3];
	int n_changes;
	const char *changes[6]; /* smallest first: "recompute full: 71.3 GiB", "2 more nodes: …" */
};

struct plan {
	int n_best;
	struct estimate *best; /* [n_best], best first, stages filled */
	int n_why_not;
	struct why_not *why_not;
	struct near_miss *miss; /* n_best == 0 */
	struct search_account account;
	const char *master_lp; /* text of the final master in CPLEX LP form when asked for */
};

typedef void search_progress_fn(void *context, double fraction, const char *what);

/* Deterministic; NULL after adding an error (GLPK failed, model refused, grid beyond limits). */
struct plan *search(struct arena *arena, struct diags *diags, const struct model *model,
    const struct cluster *cluster, const struct job *job, search_progress_fn *progress,
    void *progress_context);

/*
 * Independent check of a finished plan: world arithmetic, groups, layers placed
 * once, bytes re-summed, caps kept. Returns 0 or adds errors (a bug: exit 70).
 */
int plan_check(const struct plan *plan, const struct model *model, const struct cluster *cluster,
    const struct job *job, struct diags *diags);

#endif
