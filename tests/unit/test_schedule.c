/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Does the schedule run every pass once, keep alive what it should, and take as long as theory says? */
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

/* Every (micro-batch, virtual stage) goes forward once, then backward once. */
static void
check_order(int pp, int vpp, int64_t m, int stage)
{
	int *seen = calloc((size_t)(m * vpp), sizeof(int));

	for (int64_t i = 0; i < 2 * m * vpp; i++) {
		struct schedule_op op = schedule_op(pp, vpp, m, stage, i);
		int *cell = &seen[op.virtual_stage * m + op.micro_batch];

		cr_assert(op.virtual_stage >= 0 && op.virtual_stage < vpp);
		cr_assert(op.micro_batch >= 0 && op.micro_batch < m);
		cr_assert_eq(*cell, op.backward, "pp %d vpp %d m %ld stage %d op %ld", pp, vpp,
		    (long)m, stage, (long)i);
		(*cell)++;
	}
	for (int64_t i = 0; i < m * vpp; i++)
		cr_assert_eq(seen[i], 2);
	free(seen);
}

Test(schedule, every_pass_forward_then_backward)
{
	for (int pp = 1; pp <= 8; pp *= 2)
		for (int vpp = 1; vpp <= 4; vpp++)
			for (int64_t m = pp; m <= 4 * pp + 1; m++)
				for (int stage = 0; stage < pp; stage++)
					check_order(pp, vpp, m, stage);
}

/* NVIDIA/Megatron-LM: 1F1B holds min(m, p-r); interleaved warm-up + 1 of m*v chunk passes. */
Test(schedule, alive_passes)
{
	double bytes[4] = {1, 1, 1, 1};
	int passes;

	for (int pp = 2; pp <= 8; pp *= 2)
		for (int64_t m = pp; m <= 4 * pp; m += pp)
			for (int r = 0; r < pp; r++) {
				cr_assert_eq((int)schedule_peak(pp, 1, m, r, bytes, &passes),
				    min64(m, pp - r));
				for (int v = 2; v <= 4; v++)
					cr_assert_eq((int)schedule_peak(pp, v, m, r, bytes, &passes),
					    min64(2 * (pp - r - 1) + (v - 1) * pp + 1, m * v));
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
			int64_t m = 4 * pp, turn = 2 * (pp - r) - 1;
			double only_first[3] = {1, 0, 0}, only_last[3] = {0, 0, 1};
			int passes;

			cr_assert_geq((int)schedule_peak(pp, 3, m, r, only_first, &passes),
			    max64(pp, turn));
			cr_assert_geq((int)schedule_peak(pp, 3, m, r, only_last, &passes),
			    min64(pp, turn));
		}
}

static double
run(int pp, int vpp, int64_t m, double *forward, double *backward, double *closed)
{
	struct arena *arena = arena_new(out_of_memory, NULL);
	struct schedule_times t = {.pp = pp, .vpp = vpp, .micro_batches = m, .forward_s = forward,
	    .backward_s = backward, .blocking = vpp == 1};
	double end = schedule_simulate(&t, arena);

	*closed = schedule_closed_form(&t);
	arena_free(arena);
	return end;
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
			cr_assert_float_eq(got, want, 1e-9 * want, "pp %d vpp %d: %g, not %g", pp, vpp,
			    got, want);
			cr_assert_float_eq(closed, want, 1e-9 * want);
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

	cr_assert_float_eq(run(4, 1, 28 + 400, forward, backward, &closed), before + 400 * 4.5, 1e-6);
}
