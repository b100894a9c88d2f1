/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * When is the last backward over?
 *
 * Event by event: a stage runs its passes in order, each as soon as its input is
 * there and the stage is free. A pass starts after the same micro-batch's pass of
 * the chunk before it (behind it for backwards) and a hand-off; gradients of
 * weights wait for nothing else. Beyond a few groups of micro-batches the schedule
 * repeats: a group costs what the last one did.
 * The closed forms are those of the papers, for even stages, with the mean of the
 * others where stages differ; they order candidates and are no bound.
 * Ignored: variable-length micro-batches, dataloader stalls.
 */
#include <math.h>

#include "base/arena.h"
#include "planner/schedule.h"

static int
chunks_of(const struct schedule_times *t)
{
	return t->pipeline.pp * t->pipeline.vpp;
}

double
schedule_stage_s(const struct schedule_times *t, int stage)
{
	double seconds = 0;

	for (int v = 0; v < t->pipeline.vpp; v++) {
		int c = pipeline_chunk(&t->pipeline, stage, v);

		seconds += t->forward_s[c] + t->backward_s[c];
		if (t->blocking && c > 0)
			seconds += t->handoff_s;
		if (t->blocking && c + 1 < chunks_of(t))
			seconds += t->handoff_s;
	}
	return seconds;
}

double
schedule_alone_s(const struct schedule_times *t, int stage)
{
	struct pipeline p = t->pipeline;
	struct schedule_walk walk;
	struct schedule_op op;
	double seconds = 0;

	if (!t->alone_forward_s)
		return 0;
	/* more micro-batches are more pairs */
	if (p.micro_batches > 4 * (int64_t)p.group)
		p.micro_batches = 4 * (int64_t)p.group;
	schedule_begin(&walk, &p, stage);
	while (schedule_next(&walk, &op)) {
		int c = pipeline_chunk(&p, stage, op.virtual_stage);

		if (op.pass == PASS_FORWARD)
			seconds += t->alone_forward_s[c];
		else if (op.pass == PASS_BACKWARD || op.pass == PASS_INPUT)
			seconds += t->alone_backward_s[c];
	}
	return seconds;
}

struct simulation {
	const struct schedule_times *t;
	int64_t m;
	double *forward_done, *backward_done; /* [chunk * m + micro-batch], < 0 not yet */
	struct schedule_walk *walks;          /* by stage */
	struct schedule_op *ops;              /* by stage: what runs next */
	bool *more;                           /* by stage: is there one */
	double *free_at;                      /* by stage */
};

/* When a pass of the neighbour that it builds on is over and has arrived, < 0: not known yet. */
static double
arrives_at(const struct simulation *sim, const double *done, int from, int to, int64_t micro_batch)
{
	const struct schedule_times *t = sim->t;
	double at = done[(int64_t)from * sim->m + micro_batch];
	bool moves = pipeline_stage(&t->pipeline, from) != pipeline_stage(&t->pipeline, to);

	return at < 0 || t->blocking || !moves ? at : at + t->handoff_s;
}

static double
forward_ready(const struct simulation *sim, int chunk, int64_t micro_batch)
{
	return chunk == 0 ? 0 : arrives_at(sim, sim->forward_done, chunk - 1, chunk, micro_batch);
}

static double
backward_ready(const struct simulation *sim, int chunk, int64_t micro_batch)
{
	if (chunk == chunks_of(sim->t) - 1)
		return sim->forward_done[(int64_t)chunk * sim->m + micro_batch];
	return arrives_at(sim, sim->backward_done, chunk + 1, chunk, micro_batch);
}

/* When the input of an operation is there, or < 0 when it is not known yet. */
static double
ready_at(const struct simulation *sim, int chunk, int back_chunk, const struct schedule_op *op)
{
	double forward, backward;

	switch (op->pass) {
	case PASS_FORWARD:
		return forward_ready(sim, chunk, op->micro_batch);
	case PASS_BACKWARD:
	case PASS_INPUT:
		return backward_ready(sim, chunk, op->micro_batch);
	case PASS_WEIGHT:
		return 0;
	default:
		forward = forward_ready(sim, chunk, op->micro_batch);
		backward = backward_ready(sim, back_chunk, op->back_micro_batch);
		return forward < 0 || backward < 0 ? -1 : fmax(forward, backward);
	}
}

static double
of(const double *seconds, int chunk)
{
	return seconds ? seconds[chunk] : 0;
}

/* Busy time of an operation; blocking: the sender pays, and no stage sends beyond the ends. */
static double
busy_s(const struct schedule_times *t, int chunk, int back_chunk, enum pass pass)
{
	double sends_on = t->blocking && chunk + 1 < chunks_of(t) ? t->handoff_s : 0;
	double sends_back = t->blocking && chunk > 0 ? t->handoff_s : 0;

	switch (pass) {
	case PASS_FORWARD:
		return t->forward_s[chunk] + of(t->alone_forward_s, chunk) + sends_on;
	case PASS_BACKWARD:
		return t->backward_s[chunk] + of(t->alone_backward_s, chunk) + sends_back;
	case PASS_INPUT:
		return t->backward_s[chunk] - of(t->weight_s, chunk) +
		    of(t->alone_backward_s, chunk) + sends_back;
	case PASS_WEIGHT:
		return of(t->weight_s, chunk);
	default:
		return t->forward_s[chunk] + t->backward_s[back_chunk];
	}
}

static void
note_done(
    struct simulation *sim, int chunk, int back_chunk, const struct schedule_op *op, double at)
{
	if (op->pass == PASS_FORWARD || op->pass == PASS_PAIR)
		sim->forward_done[(int64_t)chunk * sim->m + op->micro_batch] = at;
	if (op->pass == PASS_BACKWARD || op->pass == PASS_INPUT)
		sim->backward_done[(int64_t)chunk * sim->m + op->micro_batch] = at;
	if (op->pass == PASS_PAIR)
		sim->backward_done[(int64_t)back_chunk * sim->m + op->back_micro_batch] = at;
}

/* Runs a stage as far as its inputs allow; true when it moved. */
static bool
advance(struct simulation *sim, int stage)
{
	const struct pipeline *p = &sim->t->pipeline;
	struct schedule_op *op = &sim->ops[stage];
	bool moved = false;

	while (sim->more[stage]) {
		int chunk = pipeline_chunk(p, stage, op->virtual_stage);
		int back_chunk = pipeline_chunk(p, stage, op->back_virtual_stage);
		double start = ready_at(sim, chunk, back_chunk, op);

		if (start < 0)
			break;
		sim->free_at[stage] = fmax(start, sim->free_at[stage]) +
		    busy_s(sim->t, chunk, back_chunk, op->pass);
		note_done(sim, chunk, back_chunk, op, sim->free_at[stage]);
		sim->more[stage] = schedule_next(&sim->walks[stage], op);
		moved = true;
	}
	return moved;
}

static void
begin(struct simulation *sim, struct arena *scratch)
{
	struct pipeline p = sim->t->pipeline;
	size_t cells = (size_t)(p.pp * p.vpp) * (size_t)sim->m;

	p.micro_batches = sim->m;
	sim->forward_done = arena_array(scratch, 2 * cells, sizeof(double));
	sim->backward_done = sim->forward_done + cells;
	sim->walks = arena_array(scratch, (size_t)p.pp, sizeof(*sim->walks));
	sim->ops = arena_array(scratch, (size_t)p.pp, sizeof(*sim->ops));
	sim->more = arena_array(scratch, (size_t)p.pp, sizeof(*sim->more));
	sim->free_at = arena_array(scratch, (size_t)p.pp, sizeof(*sim->free_at));
	for (size_t i = 0; i < 2 * cells; i++)
		sim->forward_done[i] = -1;
	for (int s = 0; s < p.pp; s++) {
		schedule_begin(&sim->walks[s], &p, s);
		sim->more[s] = schedule_next(&sim->walks[s], &sim->ops[s]);
	}
}

static double
simulate(const struct schedule_times *t, int64_t m, struct arena *scratch)
{
	struct simulation sim = {.t = t, .m = m};
	double end = 0;
	bool moved = true;

	begin(&sim, scratch);
	while (moved) {
		moved = false;
		for (int s = 0; s < t->pipeline.pp; s++)
			moved |= advance(&sim, s);
	}
	for (int s = 0; s < t->pipeline.pp; s++) {
		if (sim.more[s])
			return INFINITY; /* a partial last group: stages wait for each other */
		end = fmax(end, sim.free_at[s]);
	}
	return end;
}

static double
slowest_stage_s(const struct schedule_times *t)
{
	double slowest = 0;

	for (int s = 0; s < t->pipeline.pp; s++)
		slowest = fmax(slowest, schedule_stage_s(t, s));
	return slowest;
}

double
schedule_simulate(const struct schedule_times *t, struct arena *scratch)
{
	struct arena_mark mark = arena_mark(scratch);
	int64_t group = t->pipeline.group, most = 6 * group, m = t->pipeline.micro_batches, groups;
	double end, group_s;

	if (m <= most + group) {
		end = simulate(t, m, scratch);
		arena_reset(scratch, mark);
		return end;
	}
	groups = (m - most) / group;
	end = simulate(t, m - groups * group, scratch);
	group_s = end - simulate(t, m - (groups + 1) * group, scratch);
	arena_reset(scratch, mark);
	return end + (double)groups * fmax(group_s, (double)group * slowest_stage_s(t));
}

/* Means over the chunks: what papers call F, B and W. */
struct means {
	double forward_s, input_s, weight_s;
};

static struct means
means_of(const struct schedule_times *t)
{
	struct means sum = {0, 0, 0};
	int chunks = chunks_of(t);

	for (int c = 0; c < chunks; c++) {
		sum.forward_s += t->forward_s[c] / chunks;
		sum.input_s += (t->backward_s[c] - of(t->weight_s, c)) / chunks;
		sum.weight_s += of(t->weight_s, c) / chunks;
	}
	return sum;
}

/*
 * Idle seconds. 1F1B: sum of the other stages / v. ZB-H1 (p-1)(F + I - W), I the
 * input's part of the backward; DualPipeV (p-1)(F&B + B - 3W); ZB-V fills all but
 * the start. Where the parts differ much the longest one sets the pace.
 */
static double
bubble_s(const struct schedule_times *t, double slowest_s)
{
	struct means mean = means_of(t);
	double hops = t->pipeline.pp - 1, backward_s = mean.input_s + mean.weight_s, others_s = 0;

	switch (t->pipeline.order) {
	case ORDER_ZERO_BUBBLE:
		return hops * (mean.forward_s + fmax(0, mean.input_s - mean.weight_s));
	case ORDER_ZBV:
		return hops * fmax(fmax(mean.forward_s, mean.input_s),
		    fmax(mean.weight_s, 2 * (mean.input_s - mean.weight_s)));
	case ORDER_DUALPIPE_V:
		return hops *
		    fmax(mean.forward_s + 2 * backward_s - 3 * mean.weight_s, backward_s);
	default:
		for (int s = 0; s < t->pipeline.pp; s++)
			others_s += schedule_stage_s(t, s);
		return (others_s - slowest_s) / t->pipeline.vpp;
	}
}

double
schedule_closed_form(const struct schedule_times *t)
{
	double slowest_s = slowest_stage_s(t);
	double alone_s = schedule_alone_s(t, 0) + schedule_alone_s(t, t->pipeline.pp - 1);

	return (double)t->pipeline.micro_batches * slowest_s + bubble_s(t, slowest_s) + alone_s / 2;
}

/*
 * A stage waits for a forward of each stage before it, does all its passes, and
 * with whole backwards leaves one of each stage before it to do.
 */
double
schedule_least(const struct schedule_times *t)
{
	const struct pipeline *p = &t->pipeline;
	bool splits = p->order != ORDER_1F1B;
	double around_s = 0, most_s = 0;

	for (int s = 0; s < p->pp; s++) {
		double own_s = (double)p->micro_batches * schedule_stage_s(t, s);

		most_s = fmax(most_s, around_s + own_s + schedule_alone_s(t, s));
		around_s += t->forward_s[s] + t->handoff_s;
		if (!splits)
			around_s += t->backward_s[s] + (t->blocking && s == 0 ? 0 : t->handoff_s);
	}
	return most_s;
}
