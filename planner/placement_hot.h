/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_PLACEMENT_HOT_H
#define MOEPLAN_PLACEMENT_HOT_H

#include "model/job.h"
#include "model/loads.h"

struct arena;

/*
 * For every EP that divides the experts, and every number of nodes that it may
 * span and that the counts tell apart: how full the fullest rank is and how much traffic
 * leaves the node when experts are placed for these loads. One row a pair.
 */
const struct skew_point *placement_points(
    struct arena *arena, const struct loads *loads, int *n_points);

#endif
