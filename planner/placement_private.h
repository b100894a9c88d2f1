/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_PLACEMENT_PRIVATE_H
#define MOEPLAN_PLACEMENT_PRIVATE_H

#include "planner/placement.h"
#include "planner/placement_bound.h"
#include "planner/placement_pack.h"

/* What placement*.c share. */

/* One layer as the solvers see it. */
struct layer_problem {
	const struct loads *loads;
	const struct placement_options *options;
	int layer, experts, vectors;
	int gpus, nodes, slots; /* slots a GPU */
	double *weight;		/* [expert][vector] */
	double *total;		/* [expert] */
	double *source;	    /* [node][expert] tokens; NULL: where tokens come from is not known */
	double sum;	    /* of total */
	double mean_time;   /* of a GPU, vectors summed: what ratios are relative to */
	const double *slow; /* [gpu] */
};
void layer_problem_init(struct arena *arena, struct layer_problem *problem,
    const struct loads *loads, const struct placement_options *options, int layer);

/* Time slows by these, from speeds; NULL when all are alike. */
const double *placement_slow(struct arena *arena, const struct placement_options *options);
/* The node of the tokens of a source. */
int source_node(const struct loads *loads, const struct placement_options *options, int source);
/* Whether the counts say on which node tokens are. */
bool sources_are_nodes(const struct loads *loads, const struct placement_options *options);

/* Copies of experts ready to be packed: item i is a copy of owner[i]. */
struct copies {
	int *count;	/* [expert] */
	int *owner;	/* [slots] */
	double *weight; /* [slot][vector] */
};
struct copies copies_new(struct arena *arena, const struct layer_problem *problem);
/* One each, further ones to the expert with the largest share so far. */
void copies_greedy(const struct layer_problem *problem, int *count);
/* owner and weight from count. */
void copies_expand(const struct layer_problem *problem, struct copies *copies);

/* The best packing found and what proves it; `owner` of its items comes with it. */
struct load_answer {
	int *expert_of_slot;
	double value, bound;
	enum proof proof;
};
/* GOAL_LOAD for one layer. */
struct load_answer solve_load(
    struct arena *arena, const struct layer_problem *problem, struct rng *rng);

/*
 * The ratio that uneven dispatch weights reach with copies where they are; 0 when it
 * was not asked: several snapshots, or very many slots.
 */
double split_bound(
    struct arena *scratch, const struct layer_problem *problem, const int *expert_of_slot);

double ratio_of(const struct layer_problem *problem, double value);

#endif
