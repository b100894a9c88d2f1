/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What does one rank need before its first step, in which order is it made? */
#include <string.h>

#include "probe/room.h"

bool
stage_replays(const struct stage *stage, int place)
{
	const struct recompute *r = &stage->shape->strategy.recompute;

	return r->kind == RECOMPUTE_FULL && (r->layers == 0 || place < r->layers);
}

int
stage_open(
    struct stage *stage, struct session *s, const struct shape *shape, const struct skew *skew)
{
	const struct strategy *st = &shape->strategy;

	memset(stage, 0, sizeof(*stage));
	stage->s = s;
	stage->shape = shape;
	stage->skew = skew;
	stage->replayed = st->recompute.kind == RECOMPUTE_SELECTIVE ? st->recompute.modules : 0;
	stage->overlap = st->overlap;
	passes_make(&stage->passes, s->arena, shape, s->pp);
	stage->fetches = (st->overlap & OVERLAP_PP) != 0 && st->pp > 1;
	stage->slots = stage->passes.alive + stage->fetches;
	stage->head_slots = stage->passes.alive_last;
	stage->n_gradients = (int)stage->passes.numbers;
	if (weights_make(s, shape, &stage->weights) != 0 ||
	    routing_make(s, shape, skew, &stage->routings) != 0)
		return -1;
	stage->paired = stage->passes.pairs > 0 && pairs_hide(st);
	control_phase(s->control, "allocation");
	if (room_make(stage) != 0 || weights_fill(s, &stage->weights) != 0)
		return -1;
	return room_poison(stage);
}

void
stage_close(struct stage *stage)
{
	room_free(stage);
	routing_free(stage->s, &stage->routings);
	weights_free(stage->s, &stage->weights);
}
