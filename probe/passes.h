/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_PASSES_H
#define MOEPLAN_PASSES_H

#include "planner/schedule.h"
#include "probe/shape.h"

/*
 * The legs of a forward: from each rank to the next one (round to the first in a loop), or from the
 * last rank back to the first, as the second half of a V and DualPipe's other direction go.
 */
enum leg { LEG_ON, LEG_BACK, LEGS };

/* One pass of one micro-batch through one chunk. */
struct pass_op {
	enum pass kind; /* a pair is two: its forward, then its backward */
	bool paired;	/* the first of such two (pairs.c) */
	enum leg leg;
	int chunk, virtual_stage;
	int64_t micro_batch;
	int64_t number; /* of this micro-batch in this chunk, among those that are here */
	int64_t first_send, sends; /* of struct passes' sent: what sets off behind this pass */
};

/* What a rank runs, in order, and how much of it is alive at once. */
struct passes {
	int64_t n, pairs;
	struct pass_op *ops;
	int64_t *sent;	  /* passes whose results go to other ranks (sends.c) */
	int64_t numbers;  /* of pass_op.number: micro-batches, each once a virtual stage */
	int64_t each;	  /* micro-batches that go through a chunk here */
	bool defers;	  /* some gradients of weights come in a pass of their own */
	int alive;	  /* passes between their forward and the gradients of weights, at most */
	int alive_last;	  /* of the last chunk: between their forward and the end of the head's */
};

struct arena;
void passes_make(struct passes *passes, struct arena *arena, const struct shape *shape, int stage);

/* Which stage runs a chunk's passes of a micro-batch, and what is its number there. */
int pass_stage(const struct shape *shape, int chunk, int64_t micro_batch);
int64_t pass_number(const struct shape *shape, int chunk, int64_t micro_batch);
/* Whether a stage holds a chunk, whatever micro-batches it runs there. */
bool stage_holds(const struct shape *shape, int stage, int chunk);
int last_chunk(const struct layout *layout);
/* Legs that forwards go: both, or LEG_ON alone. */
int pass_legs(const struct strategy *strategy);
/* Whether the pairs of the schedule run as such: their layers' weights are both at hand. */
bool pairs_hide(const struct strategy *strategy);
/* Whether first and last chunk are on one rank, so that nothing of the model is there twice. */
bool ends_meet(const struct strategy *strategy);

#endif
