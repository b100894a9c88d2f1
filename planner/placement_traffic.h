/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_PLACEMENT_TRAFFIC_H
#define MOEPLAN_PLACEMENT_TRAFFIC_H

#include "planner/placement_private.h"

/*
 * GOAL_TRAFFIC for one layer, on top of its load-only answer: points of the trade
 * between balance and traffic, and in `layer` the cheapest placement found.
 */
void solve_traffic(struct arena *arena, const struct layer_problem *problem,
    const struct load_answer *load, struct rng *rng, struct placement_layer *layer);
/* The least share that any placement has, at the loosest tolerance: what is to be gained at all. */
double traffic_least_share(struct arena *scratch, const struct layer_problem *problem);
/* Sets objective_low and objective_proven of a finished layer. */
void prove_traffic(
    struct arena *arena, const struct layer_problem *problem, struct placement_layer *layer);

/* The GPUs of each node by balance, for experts that are spread over nodes. */
void place_in_nodes(struct arena *scratch, const struct layer_problem *problem, struct rng *rng,
    const int *node_of, int *expert_of_slot);
double price_of(const struct placement_price *price, const struct placement_cost *cost);

#endif
