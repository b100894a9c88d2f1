/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * In which order do the stages of a strategy run, and what does each hold?
 *
 * DualPipe gives a rank stage r and, for micro-batches from the other end, stage
 * p-1-r: to the schedule half as many ranks in a V with half the micro-batches,
 * to memory two copies of the weights and their gradients.
 * Megatron pairs forwards and backwards for its expert overlap in the interleaved
 * schedule and without stages; 1F1B with stages cannot.
 */
#include "planner/evaluator.h"

enum pairing
pairing_of(const struct strategy *s)
{
	if (!(s->overlap & OVERLAP_EP) || s->ep == 1)
		return PAIRS_NONE;
	if (s->schedule == SCHEDULE_DUALPIPE || s->schedule == SCHEDULE_DUALPIPEV)
		return PAIRS_DUALPIPE;
	return s->framework == FRAMEWORK_MEGATRON && (s->pp == 1 || s->vpp > 1) &&
	        s->schedule <= SCHEDULE_INTERLEAVED
	    ? PAIRS_1F1B
	    : PAIRS_NONE;
}

/* PyTorch takes groups of more than pp micro-batches where that makes them even. */
static int
group_of(const struct strategy *s)
{
	int64_t rounds = s->micro_batches / s->pp;

	if (s->framework == FRAMEWORK_TORCHTITAN && rounds > 0 && s->micro_batches % rounds == 0)
		return (int)(s->micro_batches / rounds);
	return (int)s->pp;
}

struct pipeline
pipeline_of(const struct strategy *s)
{
	static const enum pipeline_order orders[SCHEDULES] = {
	    [SCHEDULE_ZB] = ORDER_ZERO_BUBBLE,
	    [SCHEDULE_ZBV] = ORDER_ZBV,
	    [SCHEDULE_DUALPIPE] = ORDER_DUALPIPE_V,
	    [SCHEDULE_DUALPIPEV] = ORDER_DUALPIPE_V,
	};
	struct pipeline p = {.order = s->schedule >= 0 ? orders[s->schedule] : ORDER_1F1B,
	    .pp = (int)s->pp,
	    .vpp = (int)s->vpp,
	    .group = group_of(s),
	    .micro_batches = s->micro_batches,
	    .paired = pairing_of(s) == PAIRS_1F1B};

	if (s->schedule == SCHEDULE_DUALPIPE) {
		p.pp /= 2;
		p.vpp = 2;
		p.group = p.pp;
		p.micro_batches /= 2;
	}
	return p;
}

int
rank_chunks(const struct strategy *s, const struct layout *layout, int stage, int chunks[])
{
	int other = layout->pp - 1 - stage;

	if (s->schedule != SCHEDULE_DUALPIPE) {
		for (int v = 0; v < layout->vpp; v++)
			chunks[v] = layout_chunk(layout, stage, v);
		return layout->vpp;
	}
	chunks[0] = stage < other ? stage : other;
	chunks[1] = stage < other ? other : stage;
	return 2;
}

int
weight_copies(const struct strategy *s)
{
	return s->schedule == SCHEDULE_DUALPIPE ? 2 : 1;
}
