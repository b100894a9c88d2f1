/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * In which order does a stage run its forwards and backwards, and of which chunks?
 *
 * The order that the planner simulated (planner/schedule.h), as a list. A forward and a backward
 * that the plan runs as one pair, to hide expert traffic, stand one behind the other (pairs.c).
 * How many passes are alive at once is counted on the list. DualPipe: stage r of p runs chunk r
 * for the first half of the micro-batches, which enter at stage 0, and chunk p-1-r for the second
 * half, which enter at stage p-1. The order of stages r and p-1-r is that of stage min(r, p-1-r)
 * of a V over p/2 stages, its leg there being the half that enters at their own end
 * (planner/stages.c).
 */
#include "base/arena.h"
#include "planner/stages.h"
#include "probe/passes_private.h"

static bool
is_dual(const struct strategy *s)
{
	return s->schedule == SCHEDULE_DUALPIPE;
}

int
pass_legs(const struct strategy *s)
{
	return is_dual(s) || schedule_is_vee(s->schedule) ? LEGS : 1;
}

bool
pairs_hide(const struct strategy *s)
{
	return pairing_of(s) != PAIRS_NONE && (s->zero < 3 || fsdp_stays_gathered(s));
}

bool
ends_meet(const struct strategy *s)
{
	return s->pp == 1 || pass_legs(s) == LEGS;
}

int
last_chunk(const struct layout *layout)
{
	return layout->pp * layout->vpp - 1;
}

/* DualPipe's second half of the micro-batches. */
static bool
enters_behind(const struct strategy *s, int64_t micro_batch)
{
	return is_dual(s) && micro_batch >= s->micro_batches / 2;
}

int
pass_stage(const struct shape *shape, int chunk, int64_t micro_batch)
{
	int stage = layout_stage(&shape->layout, chunk);

	return enters_behind(&shape->strategy, micro_batch) ? shape->layout.pp - 1 - stage : stage;
}

int64_t
pass_number(const struct shape *shape, int chunk, int64_t micro_batch)
{
	int64_t virtual_stage = chunk / shape->layout.pp;

	return virtual_stage * shape->strategy.micro_batches + micro_batch;
}

bool
stage_holds(const struct shape *shape, int stage, int chunk)
{
	int chunks[LAYOUT_MAX_CHUNKS];
	int n = rank_chunks(&shape->strategy, &shape->layout, stage, chunks), i;

	for (i = 0; i < n && chunks[i] != chunk; i++)
		;
	return i < n;
}

/* --- the list ----------------------------------------------------------------------------- */

static void
count_alive(struct passes *passes, int last)
{
	int alive = 0, alive_last = 0;
	int64_t i;

	for (i = 0; i < passes->n; i++) {
		const struct pass_op *op = &passes->ops[i];

		if (op->kind == PASS_FORWARD) {
			alive++;
			alive_last += op->chunk == last;
		}
		if (alive > passes->alive)
			passes->alive = alive;
		if (alive_last > passes->alive_last)
			passes->alive_last = alive_last;
		if (op->kind == PASS_BACKWARD || op->kind == PASS_WEIGHT)
			alive--;
		if (op->kind == PASS_BACKWARD ||
		    op->kind == (passes->defers ? PASS_WEIGHT : PASS_INPUT))
			alive_last -= op->chunk == last;
	}
}

void
order_begin(struct order *order, const struct shape *shape, int stage)
{
	order->shape = shape;
	order->pipeline = pipeline_of(&shape->strategy);
	order->mirrored = is_dual(&shape->strategy) && stage >= order->pipeline.pp;
	order->stage = order->mirrored ? (int)shape->strategy.pp - 1 - stage : stage;
	schedule_begin(&order->walk, &order->pipeline, order->stage);
}

static struct pass_op
pass_at(const struct order *order, enum pass kind, int virtual_stage, int64_t micro_batch)
{
	const struct strategy *s = &order->shape->strategy;
	struct pass_op op = {.kind = kind,
	    .leg = virtual_stage == 1 && pass_legs(s) == LEGS ? LEG_BACK : LEG_ON,
	    .chunk = pipeline_chunk(&order->pipeline, order->stage, virtual_stage),
	    .virtual_stage = virtual_stage,
	    .micro_batch = micro_batch};

	if (is_dual(s)) {
		op.leg = (virtual_stage == 1) != order->mirrored ? LEG_BACK : LEG_ON;
		op.micro_batch += op.leg == LEG_BACK ? s->micro_batches / 2 : 0;
	}
	op.number = pass_number(order->shape, op.chunk, op.micro_batch);
	return op;
}

int
order_next(struct order *order, struct pass_op ops[2])
{
	struct schedule_op op;

	if (!schedule_next(&order->walk, &op))
		return 0;
	if (op.pass != PASS_PAIR) {
		ops[0] = pass_at(order, op.pass, op.virtual_stage, op.micro_batch);
		return 1;
	}
	ops[0] = pass_at(order, PASS_FORWARD, op.virtual_stage, op.micro_batch);
	ops[0].paired = true;
	ops[1] = pass_at(order, PASS_BACKWARD, op.back_virtual_stage, op.back_micro_batch);
	return 2;
}

void
passes_make(struct passes *passes, struct arena *arena, const struct shape *shape, int stage)
{
	const struct strategy *s = &shape->strategy;
	struct order *order = arena_alloc(arena, sizeof(*order));
	struct pass_op ops[2];
	int n, i;

	order_begin(order, shape, stage);
	*passes = (struct passes){
	    .numbers = s->micro_batches * s->vpp, .each = order->pipeline.micro_batches};
	passes->ops = arena_array(arena, 3 * (size_t)passes->numbers, sizeof(*passes->ops));
	while ((n = order_next(order, ops)) > 0)
		for (i = 0; i < n; i++) {
			passes->pairs += ops[i].paired;
			passes->ops[passes->n++] = ops[i];
		}
	passes->defers = order->pipeline.order != ORDER_1F1B && s->recompute.kind == RECOMPUTE_NONE;
	count_alive(passes, last_chunk(&shape->layout));
	sends_make(passes, arena, shape, stage);
}
