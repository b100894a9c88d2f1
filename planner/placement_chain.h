/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_PLACEMENT_CHAIN_H
#define MOEPLAN_PLACEMENT_CHAIN_H

#include "planner/placement_private.h"

/*
 * GOAL_CHAIN: all layers together, so that most tokens stay on their node (or GPU)
 * from layer to layer. Fills expert_of_slot of every layer, chain_low and chain_proven.
 */
void solve_chain(struct arena *arena, const struct loads *loads,
    const struct placement_options *options, struct placement *placement);

#endif
