/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_SEARCH_PRIVATE_H
#define MOEPLAN_SEARCH_PRIVATE_H

#include "planner/master.h"
#include "planner/search.h"

/* Shared by the files of the search; not for others. */

enum { GRID_MAX_VALUES = 64 };
struct grid_axis {
	int n;
	int64_t values[GRID_MAX_VALUES];
};

struct grid {
	struct grid_axis axes[AXES];
	int n_worlds;
	int64_t worlds[GRID_MAX_VALUES]; /* ascending */
	bool free_recompute; /* full recompute may keep some layers of a chunk: the solver says how
				many */
};
void grid_init(struct grid *grid, const struct model *model, const struct cluster *cluster,
    const struct job *job);
/* Values that mean anything beside the earlier ones: no VPP without stages, no dispatcher without
 * experts. */
int grid_vpp_values(const struct grid *grid, int64_t pp);
int grid_dispatchers(const struct grid *grid, int64_t ep, int64_t etp);

enum candidate_state {
	CANDIDATE_BOUND,      /* only its lower bounds are known */
	CANDIDATE_LAID_OUT,   /* its layout is known, and step_s is a sharper bound from it */
	CANDIDATE_EXACT,      /* step and bytes are exact */
	CANDIDATE_UNFIT,      /* its best layout is over the capacity by `bytes` - capacity */
	CANDIDATE_OVER_LIMIT, /* breaks a cap of the user's */
};

/* A legal point of the grid; indices into grid->axes and grid->worlds. */
struct candidate {
	double bound_s, bound_bytes;
	double step_s, bytes;
	uint8_t value[AXES];
	uint8_t world;
	uint8_t state;
};

/* Legal points that differ only in recompute and, when there are several, in chunks a stage. */
struct family {
	struct candidate first; /* one of them, with the least bounds of all */
	int64_t legal;		/* how many there are */
	bool several_chunks;	/* VPP over 1 */
	int member, n_members;	/* of search->candidates; n_members -1: not opened */
};

struct search {
	struct arena *arena, *scratch;
	struct diags *diags;
	const struct model *model;
	const struct cluster *cluster;
	const struct job *job;
	const struct evaluator *evaluator;
	struct grid grid;
	double capacity_bytes; /* of a GPU */
	double cap_bytes;  /* what an answer may take: the user's limit, else short of at risk */
	bool at_risk_too;  /* answers may fill a GPU to the last byte */
	double cap_step_s; /* the user's, or INFINITY */
	struct family *families; /* in the order of the sweep */
	int n_families, family_room;
	struct candidate *candidates; /* of opened families; moves when one is opened */
	int n_candidates, candidate_room;
	/* Of each value the candidate whose memory bound is nearest to fitting among those that do
	 * not. */
	struct candidate nearest[AXES][GRID_MAX_VALUES];
	bool keep_unfit; /* all families are kept, whatever their bounds */
	struct search_account account;
	int64_t broken[GRID_MAX_RULES];	      /* candidates by the rule that they break */
	int64_t legal[AXES][GRID_MAX_VALUES]; /* candidates that break none, by value */
	search_progress_fn *progress;
	void *progress_context;
	double deadline_s; /* on the clock of search_clock_s(); INFINITY: none */
	bool failed;
};

double search_clock_s(void);

/* Every family of legal points with its bounds; counts the rest by rule. */
void grid_enumerate(struct search *search);
/* Makes candidates of a family's points. */
void family_open(struct search *search, struct family *family);

struct strategy candidate_strategy(const struct search *search, const struct candidate *candidate);
/* Whether two are one answer to a reader: all but VPP and dispatcher the same. */
bool candidate_is_like(const struct candidate *a, const struct candidate *b);
/* What is minimised, exact, and its lower bound. */
double candidate_value(const struct search *search, const struct candidate *candidate);
double candidate_bound(const struct search *search, const struct candidate *candidate);
/* Layout, sharper bound, and when that is below `limit` the exact numbers. */
void candidate_price(struct search *search, struct candidate *candidate, double limit);
/* A finalist: the layout by GLPK, all stages filled. False when it does not fit after all. */
bool candidate_settle(
    struct search *search, const struct candidate *candidate, struct estimate *estimate);
/* On its layout as the split makes it, whether or not it fits; `stages` may be NULL. */
void candidate_estimate(struct search *search, const struct candidate *candidate, bool exact,
    struct stage_memory *stages, struct estimate *estimate);

/* Restricts a sweep to one value of an axis (axis AXES: none). */
struct filter {
	enum axis axis;
	int value;
};
/*
 * The best n exact candidates, no two alike, best first; how many there are. All
 * others are proved no better, or like one of them.
 */
int search_sweep(struct search *search, struct filter filter, int n, int best[]);

/* What a search works on. The arenas and the diagnostics are set; job and cluster are given. */
void search_prepare(struct search *search, const struct job *job, const struct cluster *cluster);
/* The order of a sweep, or by memory bound, in which a fit is looked for. */
void search_sort(struct search *search, bool by_bytes);

/* What a master column says of a candidate as far as it is known. */
struct master_column candidate_column(
    const struct search *search, const struct candidate *candidate);
/* The master over the candidates that may win, overall or with some value of an axis. */
struct choice_model {
	struct search *search;
	struct master *master;
	int *candidates; /* by column */
	int n_columns;
};
void choice_model_init(
    struct choice_model *model, struct search *search, const int *must, int n_must);
/* The best that is possible now, as a candidate's index; -1: none, or search->failed. */
int choice_model_solve(struct choice_model *model);
int choice_model_column(const struct choice_model *model, int candidate);

/* Values beside the winner's, the best with each (or -1): what the "why not" lines are about. */
struct other_value {
	enum axis axis;
	int value;
	int best;
};
enum { MAX_OTHER_VALUES = 3 * AXES };
int search_other_values(struct search *search, const struct candidate *winner,
    struct other_value others[MAX_OTHER_VALUES]);
void search_why_not(struct search *search, const struct estimate *winner,
    const struct other_value *others, int n_others, struct plan *plan);
/* Nothing is possible: by how much, and what would help. */
void search_near_miss(struct search *search, struct plan *plan);

#endif
