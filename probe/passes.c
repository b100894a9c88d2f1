/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * In which order does a stage run its forwards and backwards?
 *
 * The order that the planner simulated (planner/schedule.h), as a list; how many passes are alive
 * at once is counted on that list, so that it holds for any schedule.
 */
#include "base/arena.h"
#include "probe/passes.h"

static void
count_alive(struct passes *passes, int last)
{
	int alive = 0, alive_last = 0;
	int64_t i;

	for (i = 0; i < passes->n; i++) {
		const struct schedule_op *op = &passes->ops[i];
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

void
passes_make(struct passes *passes, struct arena *arena, const struct shape *shape, int stage)
{
	const struct strategy *s = &shape->strategy;
	int64_t i;

	*passes = (struct passes){.n = 2 * s->micro_batches * s->vpp};
	passes->ops = arena_array(arena, (size_t)passes->n, sizeof(*passes->ops));
	for (i = 0; i < passes->n; i++)
		passes->ops[i] = schedule_op((int)s->pp, (int)s->vpp, s->micro_batches, stage, i);
	count_alive(passes, (int)s->vpp - 1);
}
