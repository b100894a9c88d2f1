/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Does a schedule run every pass once, keep alive what it should, and take as long as
 * theory says?
 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#include "base/arena.h"
#include "planner/schedule.h"

static void
out_of_memory(void *context)
{
	(void)context;
	abort();
}

static int64_t
min64(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static int64_t
max64(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

static struct pipeline
pipeline(enum pipeline_order order, int pp, int vpp, int64_t m)
{
	return (struct pipeline){
	    .order = order, .pp = pp, .vpp = vpp, .group = pp, .micro_batches = m};
}

/* How often a pass of one (virtual stage, micro-batch) was seen. */
struct seen {
	int forward, input, weight;
};

static void
see(struct seen *seen, const struct schedule_op *op, const struct pipeline *p)
{
	struct seen *cell = &seen[op->virtual_stage * p->micro_batches + op->micro_batch];

	cr_assert(op->virtual_stage >= 0 && op->virtual_stage < p->vpp);
	cr_assert(op->micro_batch >= 0 && op->micro_batch < p->micro_batches);
	if (op->pass == PASS_FORWARD || op->pass == PASS_PAIR)
		cell->forward++;
	if (op->pass == PASS_BACKWARD || op->pass == PASS_INPUT) {
		cr_assert_eq(cell->forward, 1);
		cell->input++;
	}
	if (op->pass == PASS_BACKWARD)
		cell->weight++;
	if (op->pass == PASS_WEIGHT) {
		cr_assert_eq(cell->input, 1);
		cell->weight++;
	}
	if (op->pass == PASS_PAIR) {
		cell = &seen[op->back_virtual_stage * p->micro_batches + op->back_micro_batch];
		cr_assert_eq(cell->forward, 1);
		cell->input++;
		cell->weight++;
	}
}

/* Every (virtual stage, micro-batch): forward once, then its input's and its weights' gradients. */
static void
check_order(const struct pipeline *p, int stage)
{
	struct seen *seen = calloc((size_t)(p->micro_batches * p->vpp), sizeof(*seen));
	struct schedule_walk walk;
	struct schedule_op op;

	schedule_begin(&walk, p, stage);
	while (schedule_next(&walk, &op))
		see(seen, &op, p);
	for (int64_t i = 0; i < p->micro_batches * p->vpp; i++) {
		cr_assert_eq(seen[i].forward, 1, "order %d pp %d vpp %d m %ld stage %d", p->order,
		    p->pp, p->vpp, (long)p->micro_batches, stage);
		cr_assert_eq(seen[i].input, 1);
		cr_assert_eq(seen[i].weight, 1);
	}
	free(seen);
}

Test(schedule, every_pass_once_and_in_order)
{
	for (int pp = 1; pp <= 8; pp++)
		for (int vpp = 1; vpp <= 4; vpp++)
			for (int64_t m = pp; m <= 4 * pp + 1; m++)
				for (int stage = 0; stage < pp; stage++) {
					struct pipeline p = pipeline(ORDER_1F1B, pp, vpp, m);

					check_order(&p, stage);
					p.paired = vpp > 1 || pp == 1;
					check_order(&p, stage);
					p = pipeline(ORDER_ZERO_BUBBLE, pp, vpp, m);
					check_order(&p, stage);
					p = pipeline(ORDER_ZBV, pp, 2, m);
					check_order(&p, stage);
					p = pipeline(
					    ORDER_DUALPIPE_V, pp, 2, m < 2 * pp ? 2 * pp : m);
					check_order(&p, stage);
				}
}

/* Megatron's rounds, and PyTorch's, which are a little larger where pp does not divide. */
Test(schedule, rounds_of_another_size)
{
	struct pipeline p = pipeline(ORDER_1F1B, 4, 2, 10);

	p.group = 5;
	for (int stage = 0; stage < 4; stage++)
		check_order(&p, stage);
	p.order = ORDER_ZERO_BUBBLE;
	for (int stage = 0; stage < 4; stage++)
		check_order(&p, stage);
}

static int
alive(const struct pipeline *p, int stage)
{
	double bytes[4] = {1, 1, 1, 1}, peak;
	int passes;

	peak = schedule_peak(p, stage, bytes, &passes);
	cr_assert_float_eq(peak, passes, 1e-9);
	return passes;
}

/* NVIDIA/Megatron-LM: 1F1B holds min(m, p-r); interleaved warm-up + 1 of m*v chunk passes. */
Test(schedule, alive_passes)
{
	for (int pp = 2; pp <= 8; pp *= 2)
		for (int64_t m = pp; m <= 4 * pp; m += pp)
			for (int r = 0; r < pp; r++) {
				struct pipeline p = pipeline(ORDER_1F1B, pp, 1, m);

				cr_assert_eq(alive(&p, r), min64(m, pp - r));
				for (p.vpp = 2; p.vpp <= 4; p.vpp++)
					cr_assert_eq(alive(&p, r),
					    min64(2 * (pp - r - 1) + (p.vpp - 1) * pp + 1,
						m * p.vpp));
			}
}

/*
 * arXiv 2401.10241: ZB-H1 holds p micro-batches on every stage, ZB-V as much: 2p
 * of half a stage. deepseek-ai/DualPipe: PP + 1 of PP = 2p chunks.
 */
Test(schedule, alive_passes_of_split_backwards)
{
	for (int pp = 2; pp <= 8; pp *= 2)
		for (int r = 0; r < pp; r++) {
			struct pipeline h1 = pipeline(ORDER_ZERO_BUBBLE, pp, 1, 8 * pp);
			struct pipeline zbv = pipeline(ORDER_ZBV, pp, 2, 8 * pp);
			struct pipeline dual = pipeline(ORDER_DUALPIPE_V, pp, 2, 8 * pp);

			cr_assert_eq(alive(&h1, r), pp);
			cr_assert_eq(alive(&zbv, r), 2 * pp);
			cr_assert_eq(alive(&dual, r), 2 * pp + 1);
		}
}

/*
 * ZB-H1 leaves the weights of r micro-batches for later on stage r, ZB-V on its first stage those
 * of none: the gradients of logits wait on the last stage of the one, on no stage of the other.
 */
Test(schedule, what_waits_for_weights)
{
	static const double one[2] = {1, 1}, nothing[2] = {0, 0}, last[2] = {0, 0.5};

	for (int pp = 2; pp <= 8; pp *= 2)
		for (int r = 0; r < pp; r++) {
			struct pipeline h1 = pipeline(ORDER_ZERO_BUBBLE, pp, 1, 8 * pp);
			struct pipeline zbv = pipeline(ORDER_ZBV, pp, 2, 8 * pp);
			struct alive alive = schedule_alive(&h1, r, one, one);

			cr_assert_eq(alive.passes, pp);
			cr_assert_float_eq(alive.waiting_bytes, r, 1e-9);
			cr_assert_float_eq(alive.bytes, pp + r, 1e-9);
			alive = schedule_alive(&h1, r, one, nothing);
			cr_assert_float_eq(alive.waiting_bytes, 0, 1e-9);
			alive = schedule_alive(&zbv, 0, one, last);
			cr_assert_float_eq(alive.waiting_bytes, 0, 1e-9);
		}
}

/* Pairs trade a micro-batch layer by layer: no more is alive than without. */
Test(schedule, pairs_keep_no_more)
{
	struct pipeline p = pipeline(ORDER_1F1B, 4, 2, 16), paired = p;
	double uneven[2] = {1, 1.5};
	int passes;

	paired.paired = true;
	for (int r = 0; r < 4; r++) {
		cr_assert_eq(alive(&paired, r), alive(&p, r));
		cr_assert_leq(schedule_peak(&paired, r, uneven, &passes),
		    schedule_peak(&p, r, uneven, &passes) + 0.5);
	}
}

/*
 * When most passes are alive, the first virtual stage has max(p, 2(p-r)-1) of
 * them and the last min(p, 2(p-r)-1); its own peak can only be higher.
 */
Test(schedule, alive_by_virtual_stage)
{
	for (int pp = 2; pp <= 8; pp *= 2)
		for (int r = 0; r < pp; r++) {
			struct pipeline p = pipeline(ORDER_1F1B, pp, 3, 4 * pp);
			int64_t turn = 2 * (pp - r) - 1;
			double only_first[3] = {1, 0, 0}, only_last[3] = {0, 0, 1};
			int passes;

			cr_assert_geq((int)schedule_peak(&p, r, only_first, &passes),
			    max64(pp, turn));
			cr_assert_geq((int)schedule_peak(&p, r, only_last, &passes),
			    min64(pp, turn));
		}
}

static double
run_times(const struct schedule_times *t, double *closed)
{
	struct arena *arena = arena_new(out_of_memory, NULL);
	double end = schedule_simulate(t, arena);

	cr_assert_leq(schedule_least(t), end * (1 + 1e-12));
	*closed = schedule_closed_form(t);
	arena_free(arena);
	return end;
}

static double
run(int pp, int vpp, int64_t m, double *forward, double *backward, double *closed)
{
	struct schedule_times t = {.pipeline = pipeline(ORDER_1F1B, pp, vpp, m),
	    .forward_s = forward, .backward_s = backward, .blocking = vpp == 1};

	return run_times(&t, closed);
}

/* Even stages: (m + (p-1)/v) (f+b), the textbook bubble. */
Test(schedule, textbook_bubble)
{
	double forward[64], backward[64], closed;

	for (int i = 0; i < 64; i++) {
		forward[i] = 1;
		backward[i] = 2;
	}
	for (int pp = 1; pp <= 16; pp *= 2)
		for (int vpp = 1; vpp <= 4; vpp++) {
			int64_t m = 12 * pp;
			double want = 3.0 * vpp * ((double)m + (double)(pp - 1) / vpp);
			double got;

			if (pp == 1 && vpp > 1)
				continue;
			got = run(pp, vpp, m, forward, backward, &closed);
			cr_assert_float_eq(
			    got, want, 1e-9 * want, "pp %d vpp %d: %g, not %g", pp, vpp, got, want);
			cr_assert_float_eq(closed, want, 1e-9 * want);
		}
}

/* Of even stages in a loop the bound is the time itself. */
Test(schedule, least_of_even_stages)
{
	double forward[64], backward[64];

	for (int i = 0; i < 64; i++) {
		forward[i] = 1;
		backward[i] = 2;
	}
	for (int pp = 2; pp <= 16; pp *= 2)
		for (int vpp = 1; vpp <= 4; vpp++) {
			struct schedule_times t = {
			    .pipeline = pipeline(ORDER_1F1B, pp, vpp, 3 * pp),
			    .forward_s = forward,
			    .backward_s = backward,
			    .handoff_s = 0.1,
			    .blocking = vpp == 1};
			double closed, end = run_times(&t, &closed);

			cr_assert_float_eq(schedule_least(&t), end, 0.03 * end);
			t.handoff_s = 0;
			end = run_times(&t, &closed);
			cr_assert_float_eq(schedule_least(&t), end, 1e-9 * end);
		}
}

/* Uneven stages: never faster than the slowest stage alone, nor than one micro-batch end to end. */
Test(schedule, never_below_its_stages)
{
	double forward[32], backward[32], closed;
	unsigned seed = 7;

	for (int round = 0; round < 200; round++) {
		int pp = 2 << (round % 3), vpp = 1 + round % 4;
		int64_t m = pp * (1 + round % 5);
		double slowest = 0, through = 0;

		for (int c = 0; c < pp * vpp && c < 32; c++) {
			seed = seed * 1103515245 + 12345;
			forward[c] = 0.5 + (double)(seed >> 16 & 0x7fff) / 32768;
			backward[c] = 2 * forward[c];
			through += forward[c] + backward[c];
		}
		for (int s = 0; s < pp; s++) {
			double stage = 0;

			for (int v = 0; v < vpp; v++)
				stage += forward[v * pp + s] + backward[v * pp + s];
			slowest = fmax(slowest, stage);
		}
		cr_assert_geq(run(pp, vpp, m, forward, backward, &closed) + 1e-9,
		    fmax((double)m * slowest, through));
	}
}

/* A long run is continued from a short one; the sum must be what running it whole gives. */
Test(schedule, long_runs_repeat)
{
	double forward[4] = {1, 1.25, 0.75, 1.5}, backward[4] = {2, 2.5, 1.5, 3}, closed;
	double before = run(4, 1, 28, forward, backward, &closed);

	cr_assert_float_eq(
	    run(4, 1, 28 + 400, forward, backward, &closed), before + 400 * 4.5, 1e-6);
}

/* Even chunks with passes of these lengths; what is over the work of one rank. */
struct even {
	double forward_s, input_s, weight_s, alone_s;
};

static double
bubble(struct pipeline p, struct even even, double *closed)
{
	double forward[64], backward[64], weight[64], alone[64], end;
	double work = (double)p.micro_batches * p.vpp *
	    (even.forward_s + even.input_s + even.weight_s);
	struct schedule_times t = {.pipeline = p, .forward_s = forward, .backward_s = backward,
	    .weight_s = weight, .alone_forward_s = even.alone_s > 0 ? alone : NULL,
	    .alone_backward_s = even.alone_s > 0 ? alone : NULL};

	for (int i = 0; i < 64; i++) {
		forward[i] = even.forward_s;
		backward[i] = even.input_s + even.weight_s;
		weight[i] = even.weight_s;
		alone[i] = even.alone_s;
	}
	end = run_times(&t, closed);
	*closed -= work;
	return end - work;
}

/* The published bubbles: ZB-H1 (p-1)(F + I - W), DualPipe's (PP/2-1)(F&B + B - 3W). */
Test(schedule, bubbles_of_the_papers)
{
	struct even equal = {1, 1, 1, 0}, small = {1, 1, 0.5, 0};
	double closed;

	for (int pp = 2; pp <= 16; pp *= 2)
		for (int k = 2; k <= 12; k *= 2) {
			double hops = pp - 1;

			cr_assert_float_eq(
			    bubble(pipeline(ORDER_ZERO_BUBBLE, pp, 1, k * pp), equal, &closed),
			    hops, 1e-9);
			cr_assert_float_eq(closed, hops, 1e-9);
			cr_assert_float_eq(
			    bubble(pipeline(ORDER_ZERO_BUBBLE, pp, 1, k * pp), small, &closed),
			    1.5 * hops, 1e-9);
			cr_assert_float_eq(closed, 1.5 * hops, 1e-9);
			/* only the way to the last stage is empty */
			cr_assert_float_eq(
			    bubble(pipeline(ORDER_ZBV, pp, 2, k * pp), equal, &closed), hops, 1e-9);
			cr_assert_float_eq(closed, hops, 1e-9);
			cr_assert_float_eq(
			    bubble(pipeline(ORDER_DUALPIPE_V, pp, 2, k * pp), equal, &closed),
			    2 * hops, 1e-9);
			cr_assert_float_eq(closed, 2 * hops, 1e-9);
			cr_assert_float_eq(
			    bubble(pipeline(ORDER_DUALPIPE_V, pp, 2, k * pp), small, &closed),
			    2.5 * hops, 1e-9);
			cr_assert_float_eq(closed, 2.5 * hops, 1e-9);
		}
}

/*
 * Passes of any lengths: the closed form stays near the simulation, which is never below
 * the work.
 */
Test(schedule, closed_forms_are_near)
{
	static const enum pipeline_order orders[] = {
	    ORDER_1F1B, ORDER_ZERO_BUBBLE, ORDER_ZBV, ORDER_DUALPIPE_V};
	unsigned seed = 3;

	for (int round = 0; round < 400; round++) {
		struct pipeline p = pipeline(orders[round % 4], 2 << (round % 3), 2, 0);
		struct even even = {.forward_s = 1};
		double closed, idle, work;

		p.micro_batches = 4 * p.pp * (1 + round % 3);
		p.paired = round % 8 == 0;
		seed = seed * 1103515245 + 12345;
		even.input_s = 0.8 + (double)(seed >> 16 & 0x7fff) / 32768;
		seed = seed * 1103515245 + 12345;
		even.weight_s = 0.4 + 0.6 * (double)(seed >> 16 & 0x7fff) / 32768;
		even.alone_s = p.paired || p.order == ORDER_DUALPIPE_V ? 0.3 : 0;
		work = (double)p.micro_batches * 2 * (1 + even.input_s + even.weight_s);
		idle = bubble(p, even, &closed);
		cr_assert_geq(idle, -1e-9 * work);
		cr_assert_float_eq(closed, idle, 0.03 * work, "order %d pp %d: %g, simulated %g",
		    p.order, p.pp, closed / work, idle / work);
	}
}
