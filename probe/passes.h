/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_PASSES_H
#define MOEPLAN_PASSES_H

#include "planner/schedule.h"
#include "probe/shape.h"

/* What a rank runs, in order, and how much of it is alive at once. */
struct passes {
	int64_t n;
	struct schedule_op *ops;
	int alive;	/* passes between their forward and their backward, at most */
	int alive_last; /* of the last chunk */
};

struct arena;
void passes_make(struct passes *passes, struct arena *arena, const struct shape *shape, int stage);

#endif
