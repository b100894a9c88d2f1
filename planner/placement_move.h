/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_PLACEMENT_MOVE_H
#define MOEPLAN_PLACEMENT_MOVE_H

#include "planner/placement_private.h"

/* Slots whose expert the same GPU does not have in `from`. */
int placement_moves(const struct layer_problem *problem, const int *from, const int *to);

/*
 * GPUs that are alike change names, and slots inside a GPU, so that as little as
 * possible moves from `from`. `nodes_alike`: whole nodes may change names too.
 */
void placement_rename(struct arena *scratch, const struct layer_problem *problem, const int *from,
    bool nodes_alike, int *expert_of_slot);

/*
 * From the placement in use: the exchanges that lower the ratio, one by one, and of
 * all placements on that way and `best` the one with the least ratio + cost * moves.
 */
void placement_migrate(struct arena *scratch, const struct layer_problem *problem, const int *from,
    double move_cost, int *best);

#endif
