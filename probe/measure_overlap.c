/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How much of a step's traffic hides behind its computation?
 *
 * The step runs with one planned overlap after the other switched off, then as planned. In line the
 * traffic takes Tm, when nobody is waited for (the rank that comes last), and the rest of the step
 * Tc; as planned the step takes Tb. Hidden is (Tc + Tm - Tb) / min(Tc, Tm). From quartile to
 * quartile of the steps: the share that the quickest and the slowest quarters leave.
 */
#include <math.h>

#include "base/arena.h"
#include "probe/measure_private.h"

const struct overlap_row overlap_rows[OVERLAPPED_KINDS] = {
    [OVERLAPPED_EXPERTS] = {"expert_overlap", "expert traffic", {PART_DISPATCH, PART_COMBINE}},
    [OVERLAPPED_TENSORS] = {"tensor_parallel_overlap", "tensor-parallel traffic",
	{PART_TENSOR_PARALLEL, PART_TENSOR_PARALLEL}},
    [OVERLAPPED_DATA] = {"data_parallel_overlap", "data-parallel traffic",
	{PART_GRADIENTS, PART_PARAMETERS}},
};

enum { APART_STEPS = 5 };

static double
share_of(double compute_s, double comm_s, double both_s)
{
	double least = fmin(compute_s, comm_s);

	/* measured apart: noise may go beyond what there is to hide */
	return least > 0 ? fmin(1, fmax(0, (compute_s + comm_s - both_s) / least)) : -1;
}

double
overlap_hidden(const struct overlapped *o)
{
	return share_of(o->compute_s, o->comm_s, o->both_s);
}

/* Whether there is anything to hide the traffic behind. */
static bool
hides_experts(const struct stage *stage)
{
	const struct strategy *s = &stage->shape->strategy;

	return s->overlap & OVERLAP_EP && s->ep > 1 &&
	       (stage->paired || stage->widest.dense > 0 || stage->widest.shared > 0);
}

/* Off, or on again where the plan has it; whether it has. Alike on all ranks. */
static bool
set_overlap(struct stage *stage, enum overlap_kind kind, bool on)
{
	const struct strategy *s = &stage->shape->strategy;
	unsigned bit = kind == OVERLAPPED_EXPERTS ? OVERLAP_EP : OVERLAP_TP;

	if (kind == OVERLAPPED_DATA)
		return weights_overlap(&stage->weights, on);
	stage->overlap = on ? stage->overlap | (s->overlap & bit) : stage->overlap & ~bit;
	return kind == OVERLAPPED_EXPERTS ? hides_experts(stage)
					  : s->overlap & OVERLAP_TP && s->tp > 1;
}

/* Of the traffic, what has computation beside it: outside pairs of passes rows have none. */
static double
share_beside(const struct stage *stage, enum overlap_kind kind)
{
	const struct passes *passes = &stage->passes;
	int64_t travels = 0, i;

	if (kind != OVERLAPPED_EXPERTS || !stage->paired)
		return 1;
	for (i = 0; i < passes->n; i++)
		travels += passes->ops[i].kind != PASS_WEIGHT;
	return 2 * (double)passes->pairs / (double)travels;
}

/* Over ranks: stages have pairs of their own number, and some may have no layer to hide behind. */
struct plan {
	double planned, beside;
};

static int
over_ranks(struct session *s, struct plan *plan)
{
	struct plan *all = arena_array(s->arena, (size_t)s->world, sizeof(*all)), sum = {0};
	int i;

	if (control_gather(s->control, plan, sizeof(*plan), all) != 0)
		return -1;
	for (i = 0; s->rank == 0 && i < s->world; i++) {
		sum.planned = fmax(sum.planned, all[i].planned);
		sum.beside += all[i].beside / s->world;
	}
	*plan = sum;
	return control_share(s->control, plan, sizeof(*plan));
}

int
overlap_apart(struct stage *stage, int64_t steps, struct measured *m, struct timed *apart)
{
	int result = 0, i;

	for (i = 0; i < OVERLAPPED_KINDS && result == 0; i++) {
		enum overlap_kind kind = (enum overlap_kind)i;
		struct plan plan = {
		    set_overlap(stage, kind, false) ? 1 : 0, share_beside(stage, kind)};

		result = over_ranks(stage->s, &plan);
		if (result == 0 && plan.planned > 0)
			result = time_steps(
			    stage, steps < APART_STEPS ? steps : APART_STEPS, &apart[kind]);
		m->in_step[kind].beside = plan.planned > 0 ? plan.beside : 0;
		set_overlap(stage, kind, true);
	}
	return result;
}

/* Of forward and backward of both parts: what one rank of the spread takes. */
static double
sum_of(const struct spread parts[PARTS][2], const enum part pair[2], bool least)
{
	double sum = 0;
	int i, n = pair[0] == pair[1] ? 1 : 2;

	for (i = 0; i < 2 * n; i++) {
		const struct spread *spread = &parts[pair[i / 2]][i % 2];

		sum += least ? spread->min : spread->max;
	}
	return sum;
}

void
overlap_judge(const struct timed *apart, const struct timed *planned, struct measured *m)
{
	int kind;

	for (kind = 0; kind < OVERLAPPED_KINDS; kind++) {
		const struct timed *in_line = &apart[kind];
		const enum part *pair = overlap_rows[kind].parts;
		struct overlapped *o = &m->in_step[kind];
		double comm_s = sum_of(in_line->parts, pair, true);

		if (!(o->beside > 0))
			continue;
		*o = (struct overlapped){.beside = o->beside,
		    .compute_s = in_line->step_s.max - comm_s,
		    .comm_s = comm_s,
		    .both_s = planned->step_s.max,
		    .in_line_s = sum_of(in_line->parts, pair, false),
		    .in_step_s = sum_of(planned->parts, pair, false),
		    .stall_s = sum_of(planned->stalls, pair, false),
		    .hidden_low = share_of(
			in_line->low_s.max - comm_s, comm_s, planned->high_s.max),
		    .hidden_high = share_of(
			in_line->high_s.max - comm_s, comm_s, planned->low_s.max)};
	}
}
