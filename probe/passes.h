/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_PASSES_H
#define MOEPLAN_PASSES_H

#include "probe/shape.h"

/* One pass of one micro-batch through one chunk of a stage. */
struct pass_op {
	int64_t micro_batch;
	int virtual_stage;
	bool backward;
};

/* What a rank runs, in order, and how much of it is alive at once. */
struct passes {
	int64_t n;
	struct pass_op *ops;
	int alive;	/* passes between their forward and their backward, at most */
	int alive_last; /* of the last virtual stage */
};

struct arena;
void passes_make(struct passes *passes, struct arena *arena, const struct shape *shape, int stage);

#endif
