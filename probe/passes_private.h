/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_PASSES_PRIVATE_H
#define MOEPLAN_PASSES_PRIVATE_H

/* What passes.c and sends.c share. */

#include "probe/passes.h"

/* A stage's passes, one after the other. */
struct order {
	const struct shape *shape;
	struct pipeline pipeline;
	int stage;     /* of that pipeline */
	bool mirrored; /* DualPipe's second half of the stages */
	struct schedule_walk walk;
};
void order_begin(struct order *order, const struct shape *shape, int stage);
/* The next pass or the two of a pair: how many, 0 behind the last. */
int order_next(struct order *order, struct pass_op ops[2]);

/* When results set off: fills in ops[].sends and sent[] of a stage whose passes are there. */
void sends_make(struct passes *passes, struct arena *arena, const struct shape *shape, int stage);

#endif
