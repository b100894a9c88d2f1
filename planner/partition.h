/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_PARTITION_H
#define MOEPLAN_PARTITION_H

#include <stdbool.h>

#include "planner/estimate.h"

struct arena;

/*
 * The split of the layers over the stages that makes the slowest stage fastest
 * while every stage stays within costs->capacity_bytes; among these the one
 * whose fullest stage is emptiest, then the one nearest to an even split by time.
 * Inner chunks hold a layer at least; the first (embedding) and the last (head)
 * may hold none.
 *
 * vpp 1: exact, but where a part of a stage can cost more than the whole: an inner
 * stage that holds one kind of layer but not a single one of another kind, or
 * recompute of only the first layers of a chunk where that costs more than a whole
 * other layer. partition_exact() has no such exception.
 * vpp > 1: a deterministic descent from the even split.
 *
 * False when no layout satisfies memory (vpp > 1: none was found); then the
 * layout with the least excess of the worst stage is returned. Allocates nothing.
 * pp * vpp is at most layers + 2.
 */
bool partition_fast(
    const struct stage_costs *costs, const struct model *model, struct layout *layout);

/*
 * The least possible time of the slowest stage by dynamic programme, for vpp 1,
 * exact for any list of layers and any recompute; INFINITY when nothing fits.
 */
double partition_exact(struct arena *scratch, const struct stage_costs *costs,
    const struct model *model, struct layout *layout);

/* What a layout costs: of the slowest and of the fullest stage. */
struct partition_peak {
	double time_s, bytes;
	int slowest, fullest;
};
struct partition_peak partition_peak(
    const struct stage_costs *costs, const struct model *model, const struct layout *layout);

#endif
