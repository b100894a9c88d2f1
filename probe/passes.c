/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * In which order does a stage run its forwards and backwards?
 *
 * The order that the planner simulated (planner/schedule.h), as a list. A forward and a backward
 * that the plan runs as one pair, to hide expert traffic, stand one behind the other. How many
 * passes are alive at once is counted on the list.
 */
#include "base/arena.h"
#include "planner/schedule.h"
#include "probe/passes.h"

static void
count_alive(struct passes *passes, int last)
{
	int alive = 0, alive_last = 0;
	int64_t i;

	for (i = 0; i < passes->n; i++) {
		const struct pass_op *op = &passes->ops[i];
		int change = op->backward ? -1 : 1;

		alive += change;
		if (op->virtual_stage == last)
			alive_last += change;
		if (alive > passes->alive)
			passes->alive = alive;
		if (alive_last > passes->alive_last)
			passes->alive_last = alive_last;
	}
}

static void
add(struct passes *passes, int64_t micro_batch, int virtual_stage, bool backward)
{
	passes->ops[passes->n++] = (struct pass_op){micro_batch, virtual_stage, backward};
}

/* Micro-batches that go through all virtual stages together: planner/stages.c. */
static int
group_of(const struct strategy *s)
{
	int64_t rounds = s->micro_batches / s->pp;

	if (s->framework == FRAMEWORK_TORCHTITAN && rounds > 0 && s->micro_batches % rounds == 0)
		return (int)(s->micro_batches / rounds);
	return (int)s->pp;
}

/* plan_runnable() lets no schedule through that splits its backwards. */
void
passes_make(struct passes *passes, struct arena *arena, const struct shape *shape, int stage)
{
	const struct strategy *s = &shape->strategy;
	struct pipeline pipeline = {.order = ORDER_1F1B,
	    .pp = (int)s->pp,
	    .vpp = (int)s->vpp,
	    .group = group_of(s),
	    .micro_batches = s->micro_batches,
	    .paired = s->framework == FRAMEWORK_MEGATRON && s->overlap & OVERLAP_EP && s->ep > 1 &&
		      (s->pp == 1 || s->vpp > 1)};
	struct schedule_walk *walk = arena_alloc(arena, sizeof(*walk));
	struct schedule_op op;

	*passes = (struct passes){0};
	passes->ops =
	    arena_array(arena, (size_t)(2 * s->micro_batches * s->vpp), sizeof(*passes->ops));
	schedule_begin(walk, &pipeline, stage);
	while (schedule_next(walk, &op)) {
		add(passes, op.micro_batch, op.virtual_stage, op.pass == PASS_BACKWARD);
		if (op.pass == PASS_PAIR)
			add(passes, op.back_micro_batch, op.back_virtual_stage, true);
	}
	count_alive(passes, (int)s->vpp - 1);
}
