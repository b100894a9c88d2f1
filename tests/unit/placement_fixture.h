/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_TEST_PLACEMENT_FIXTURE_H
#define MOEPLAN_TEST_PLACEMENT_FIXTURE_H

#include "planner/placement.h"
#include "scratch.h"

/* Loads of one layer, and placements that are held against their own account. */
/* One layer, one source. */
struct loads *one_layer(const double *count, int experts);
struct loads *made_up(const char *text, uint64_t seed);
struct placement_options options_for(int gpus, int nodes, int slots, enum placement_goal goal);
const struct placement *solve(const struct loads *loads, const struct placement_options *options);

#endif
