/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * When does a pass's result set off to the next rank?
 *
 * At once, where the schedule allows that with one result on its way: a second send on a channel
 * starts when the first one has been received, and NCCL, told to keep the host's order
 * (backend_cuda.c), starts nothing that was posted behind a send that has not started. So a rank
 * may wait for its neighbour to receive what the neighbour cannot before it had something else
 * from this rank: interleaved zero-bubble schedules over three stages and more would stand still.
 * There each rank goes on while its results wait, and posts one when the one before it is received.
 * Who has received what is simulated: all ranks in turn, a pass each, the same on every rank. Each
 * then does its own part in the order that it had there; whatever that waits for was over before
 * it in the simulation, which came to its end.
 */
#include <string.h>

#include "base/arena.h"
#include "probe/passes_private.h"

/* Results to one neighbour in one direction. */
struct channel {
	int64_t made, sent, taken;
};

struct rank {
	struct order order;
	struct pass_op ops[2]; /* a pass or pair that waits for input */
	int n, taken;	       /* how many, and of how many the input has come; n 0: none read */
	int64_t done;	       /* passes that are over */
	bool over;
	struct channel out[LEGS][2]; /* by leg and direction */
};

struct flow {
	const struct shape *shape;
	bool patient; /* ranks go on while results wait */
	struct rank *ranks;
	int own;
	int64_t *made_by[LEGS][2]; /* own passes, by channel, in order */
	int64_t *after;		   /* [own pass]: behind which one its result sets off; -1: never */
};

static bool
goes_back(const struct pass_op *op)
{
	return op->kind == PASS_BACKWARD || op->kind == PASS_INPUT;
}

/* Another stage's number where the chunk beside the pass's is there, else -1. */
static int
away(const struct flow *flow, int stage, const struct pass_op *op, int chunk)
{
	int other;

	if (op->kind == PASS_WEIGHT || chunk < 0 || chunk > last_chunk(&flow->shape->layout))
		return -1;
	other = pass_stage(flow->shape, chunk, op->micro_batch);
	return other == stage ? -1 : other;
}

/* Receives what is there of the inputs of the next pass or pair; false while one is missing. */
static bool
take(struct flow *flow, int stage)
{
	struct rank *rank = &flow->ranks[stage];

	for (; rank->taken < rank->n; rank->taken++) {
		const struct pass_op *op = &rank->ops[rank->taken];
		int from =
		    away(flow, stage, op, goes_back(op) ? op->chunk + 1 : op->chunk - 1);
		struct channel *in;

		if (from < 0)
			continue;
		in = &flow->ranks[from].out[op->leg][goes_back(op)];
		if (in->sent == in->taken)
			return false;
		in->taken++;
	}
	return true;
}

static void
run(struct flow *flow, int stage)
{
	struct rank *rank = &flow->ranks[stage];
	int i;

	for (i = 0; i < rank->n; i++) {
		const struct pass_op *op = &rank->ops[i];
		int to = away(flow, stage, op, goes_back(op) ? op->chunk - 1 : op->chunk + 1);
		struct channel *out = &rank->out[op->leg][goes_back(op)];

		if (to >= 0 && stage == flow->own)
			flow->made_by[op->leg][goes_back(op)][out->made] = rank->done;
		out->made += to >= 0;
		rank->done++;
	}
}

/* Sends what may be sent now; whether there was something. `last`: passes that ran last. */
static bool
give(struct flow *flow, int stage, int last)
{
	struct rank *rank = &flow->ranks[stage];
	bool gave = false;
	int i;

	for (i = 0; i < 2 * LEGS; i++) {
		struct channel *out = &rank->out[i / 2][i % 2];
		int64_t by;

		if (out->made == out->sent || out->sent > out->taken)
			continue;
		gave = true;
		if (stage == flow->own) {
			by = flow->made_by[i / 2][i % 2][out->sent];
			flow->after[by] = by >= rank->done - last ? by : rank->done - 1;
		}
		out->sent++;
	}
	return gave;
}

static bool
has_waiting(const struct rank *rank)
{
	bool waiting = false;
	int i;

	for (i = 0; i < 2 * LEGS; i++)
		waiting = waiting || rank->out[i / 2][i % 2].made > rank->out[i / 2][i % 2].sent;
	return waiting;
}

/* One turn of a rank: sends, and a pass or pair whose inputs are there. Whether it did anything. */
static bool
turn(struct flow *flow, int stage)
{
	struct rank *rank = &flow->ranks[stage];
	bool moved = give(flow, stage, 0);
	int last;

	if (rank->over || (!flow->patient && has_waiting(rank)))
		return moved;
	if (rank->n == 0)
		rank->n = order_next(&rank->order, rank->ops);
	rank->over = rank->n == 0;
	if (rank->over || !take(flow, stage))
		return moved;
	run(flow, stage);
	last = rank->n;
	rank->n = rank->taken = 0;
	give(flow, stage, last);
	return true;
}

/* Whether all came to their end, with everything sent. */
static bool
simulate(struct flow *flow, bool patient)
{
	int stages = flow->shape->layout.pp, stage;
	bool moved = true, ended = true;

	flow->patient = patient;
	memset(flow->ranks, 0, (size_t)stages * sizeof(*flow->ranks));
	for (stage = 0; stage < stages; stage++)
		order_begin(&flow->ranks[stage].order, flow->shape, stage);
	while (moved)
		for (stage = 0, moved = false; stage < stages; stage++)
			moved = turn(flow, stage) || moved;
	for (stage = 0; stage < stages; stage++)
		ended = ended && flow->ranks[stage].over && !has_waiting(&flow->ranks[stage]);
	return ended;
}

/* By the pass behind which they set off, in order of their own. */
static void
sort_sends(struct passes *passes, const int64_t *after)
{
	int64_t i, at = 0;

	for (i = 0; i < passes->n; i++)
		if (after[i] >= 0)
			passes->ops[after[i]].sends++;
	for (i = 0; i < passes->n; i++) {
		passes->ops[i].first_send = at;
		at += passes->ops[i].sends;
		passes->ops[i].sends = 0;
	}
	for (i = 0; i < passes->n; i++) {
		struct pass_op *op = after[i] >= 0 ? &passes->ops[after[i]] : NULL;

		if (op)
			passes->sent[op->first_send + op->sends++] = i;
	}
}

void
sends_make(struct passes *passes, struct arena *arena, const struct shape *shape, int stage)
{
	struct flow flow = {.shape = shape, .own = stage};
	size_t n = (size_t)passes->n;
	struct arena_mark mark;
	int i;

	passes->sent = arena_array(arena, n + 1, sizeof(*passes->sent));
	mark = arena_mark(arena);
	flow.ranks = arena_array(arena, (size_t)shape->layout.pp, sizeof(*flow.ranks));
	flow.after = arena_array(arena, n + 1, sizeof(*flow.after));
	for (i = 0; i < 2 * LEGS; i++)
		flow.made_by[i / 2][i % 2] = arena_array(arena, n + 1, sizeof(int64_t));
	memset(flow.after, 0xff, (n + 1) * sizeof(*flow.after));
	if (!simulate(&flow, false))
		simulate(&flow, true);
	sort_sends(passes, flow.after);
	arena_reset(arena, mark);
}
