/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_PLACEMENT_PAIRS_H
#define MOEPLAN_PLACEMENT_PAIRS_H

#include "planner/placement_private.h"

/*
 * Private to placement*.c: experts into bins (nodes, or GPUs of one node) of equal
 * number, so that the weight of pairs inside bins is greatest and no bin holds more than `cap`.
 */
struct pair_problem {
	int experts, bins, each;
	const float *pairs; /* [expert][expert] symmetric */
	const double *load; /* [expert] */
	double cap;
};

double pairs_inside(const struct pair_problem *problem, const int *bin_of);
/* From a start within the cap; exchanges, disturbed and descended again. */
void pairs_search(struct arena *scratch, const struct pair_problem *problem, struct rng *rng,
    int rounds, int *bin_of);

/*
 * Sets of `each` experts by column generation and GLPK: improves bin_of. Returns a bound of
 * the weight inside; *proven: bin_of reaches it as far as GLPK's integers go.
 */
bool pairs_sets_apply(const struct pair_problem *problem);
double pairs_sets(
    struct arena *scratch, const struct pair_problem *problem, int *bin_of, bool *proven);

/* The projected eigenvalue bound of the weight inside, of which `reached` is known; no loads. */
double pairs_eigen_bound(struct arena *scratch, const struct pair_problem *problem, double reached);

/* GOAL_PAIRS for one layer, on top of its load-only answer. */
void solve_pairs(struct arena *arena, const struct layer_problem *problem, struct rng *rng,
    struct placement_layer *layer);
/* Bins that pairs and hops are told of, and the smallest cap of theirs that is worth asking for. */
int affinity_bins(const struct layer_problem *problem);
double affinity_cap(struct arena *scratch, const struct layer_problem *problem, int *bin_of);
/* Slots from bins: GPUs inside each node by load, or the bins themselves when they are GPUs. */
void slots_of_bins(struct arena *scratch, const struct layer_problem *problem, struct rng *rng,
    const int *bin_of, int *expert_of_slot);

#endif
