/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_GROUPS_H
#define MOEPLAN_GROUPS_H

#include <stddef.h>
#include <stdint.h>

#include "model/cluster.h"
#include "model/strategy.h"

/*
 * Process groups by one mixed-radix formula. A scheme lists axes from fastest
 * to slowest with sizes n_i; stride_1 = 1, stride_{i+1} = stride_i * n_i. A
 * group kind is a set of axes: fix the other coordinates, let these run.
 * Lists are in creation order (fastest fixed axis fastest), members in rank order.
 */
struct group_kind {
	const char *name;   /* "tp", "dp_cp", "expert_dp" … */
	int64_t count, size;
	int32_t *ranks;     /* count x size */
};

struct group_table {
	int64_t world;
	size_t n_kinds;
	struct group_kind *kinds;
};

/*
 * All group kinds of the strategy's framework (DeepSpeed: native with expert TP
 * on or off, AutoEP; torchtitan 0.2 and 0.3). The strategy must be derived and
 * free of violations; NULL after adding an error for a world beyond 1<<20 ranks
 * or a framework rule broken.
 */
struct group_table *groups_build(
    struct arena *arena, struct diags *diags, const struct strategy *strategy);

/* Members of `ranks` per node and the smallest level that holds them all. */
struct group_span {
	int level;           /* index into cluster->levels */
	int64_t nodes;       /* distinct nodes */
};
struct group_span group_span(const struct cluster *cluster, const int32_t *ranks, int64_t size);

#endif
