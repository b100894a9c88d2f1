/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_PLACEMENT_NODES_H
#define MOEPLAN_PLACEMENT_NODES_H

#include "planner/placement_private.h"

/*
 * Private to placement*.c: experts to nodes, the same number on each, so that the
 * gain of an expert on its node, summed, is greatest while no node holds more than `cap`.
 */
struct node_problem {
	int experts, nodes, each; /* each = experts / nodes */
	const double *gain;	  /* [node][expert] */
	const double *load;	  /* [expert] */
	double all;		  /* what gains are shown as parts of */
	double cap;		  /* of a node's load */
};

/* The smallest fullest node that packing finds: a cap below may be out of reach. */
double nodes_least_load(struct arena *scratch, const struct node_problem *problem, int *node_of);
/* From a start within the cap; improves node_of. Returns the gain. */
double nodes_search(struct arena *scratch, const struct node_problem *problem, struct rng *rng,
    int rounds, int *node_of);
double nodes_gain(const struct node_problem *problem, const int *node_of);

/*
 * The LP relaxation: no assignment within the cap gains more than `bound`, and none
 * with expert e on node n more than bound - loss[e * nodes + n].
 */
struct nodes_lp {
	double bound;
	double *x,
	    *loss; /* [expert][node]; NULL when GLPK failed: then bound is all there is to gain */
};
struct nodes_lp nodes_relax(struct arena *arena, const struct node_problem *problem);
/* The LP's point made whole, if that can be brought within the cap: then true and in node_of. */
bool nodes_round(struct arena *scratch, const struct node_problem *problem,
    const struct nodes_lp *lp, int *node_of);
/*
 * The integer programme, from node_of on, without what the LP rules out: better where
 * GLPK finds better. Returns the bound that was reached; *proven: node_of is optimal.
 * `effort` 1 takes about two seconds at most.
 */
double nodes_prove(struct arena *scratch, const struct node_problem *problem,
    const struct nodes_lp *lp, double effort, int *node_of, bool *proven);

#endif
