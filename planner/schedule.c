/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * When does each stage run what, how much is alive, and when is the step over?
 *
 * 1F1B: stage r runs p-r-1 forwards, then one forward and one backward in turn.
 * Interleaved (Narayanan et al., arXiv 2104.04473; NVIDIA/Megatron-LM
 * core/pipeline_parallel/schedules.py): passes are numbered group by group of
 * p micro-batches, all virtual stages of a group before the next group;
 * warm-up 2(p-r-1) + (v-1)p passes; backwards run through the virtual stages in
 * reverse. A last group may be smaller. Alive at the peak: warm-up + 1 passes.
 * The closed form m max + sum(others)/v orders candidates; it is no bound.
 * Ignored: variable-length micro-batches, dataloader stalls.
 */
#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "planner/schedule.h"

int64_t
schedule_warmup(int pp, int vpp, int64_t m, int stage)
{
	int64_t warmup = pp - stage - 1;

	if (vpp > 1)
		warmup = 2 * warmup + (int64_t)(vpp - 1) * pp;
	return warmup < m * vpp ? warmup : m * vpp;
}

/* The k-th forward pass: which micro-batch, which virtual stage. */
static void
forward_pass(int pp, int vpp, int64_t m, int64_t k, int32_t *micro_batch, int16_t *virtual_stage)
{
	int64_t group = k / ((int64_t)pp * vpp), within = k % ((int64_t)pp * vpp);
	int64_t size = m - group * pp < pp ? m - group * pp : pp;

	*virtual_stage = (int16_t)(within / size);
	*micro_batch = (int32_t)(group * pp + within % size);
}

struct schedule_op
schedule_op(int pp, int vpp, int64_t m, int stage, int64_t index)
{
	int64_t warmup = schedule_warmup(pp, vpp, m, stage), total = m * vpp, k;
	struct schedule_op op = {0};

	if (index < warmup) {
		k = index;
	} else if (index < 2 * total - warmup) {
		op.backward = (index - warmup) % 2 != 0;
		k = (index - warmup) / 2 + (op.backward ? 0 : warmup);
	} else {
		op.backward = 1;
		k = index - total;
	}
	forward_pass(pp, vpp, m, k, &op.micro_batch, &op.virtual_stage);
	if (op.backward)
		op.virtual_stage = (int16_t)(vpp - 1 - op.virtual_stage);
	return op;
}

static int
all_equal(const double *values, int n)
{
	for (int i = 1; i < n; i++)
		if (values[i] < values[0] || values[i] > values[0])
			return 0;
	return 1;
}

double
schedule_peak(int pp, int vpp, int64_t m, int stage, const double *bytes, int *passes)
{
	int64_t warmup = schedule_warmup(pp, vpp, m, stage), total = m * vpp;
	int64_t peak_passes = warmup + 1 < total ? warmup + 1 : total;
	int64_t steps = warmup + 2 * ((int64_t)pp * vpp + 1); /* one period of the steady state */
	double alive = 0, peak = 0;
	int n = 0;

	*passes = (int)peak_passes;
	if (vpp == 1 || all_equal(bytes, vpp))
		return (double)peak_passes * bytes[0];
	for (int64_t i = 0; i < steps && i < 2 * total; i++) {
		struct schedule_op op = schedule_op(pp, vpp, m, stage, i);

		alive += op.backward ? -bytes[op.virtual_stage] : bytes[op.virtual_stage];
		n += op.backward ? -1 : 1;
		if (alive > peak) {
			peak = alive;
			*passes = n;
		}
	}
	return peak;
}

double
schedule_stage_s(const struct schedule_times *t, int stage)
{
	double seconds = 0;

	for (int v = 0; v < t->vpp; v++) {
		int c = v * t->pp + stage;

		seconds += t->forward_s[c] + t->backward_s[c];
		if (t->blocking && c > 0)
			seconds += t->handoff_s;
		if (t->blocking && c + 1 < t->pp * t->vpp)
			seconds += t->handoff_s;
	}
	return seconds;
}

double
schedule_closed_form(const struct schedule_times *t)
{
	double slowest = 0, sum = 0;

	for (int s = 0; s < t->pp; s++) {
		double seconds = schedule_stage_s(t, s);

		slowest = fmax(slowest, seconds);
		sum += seconds;
	}
	return (double)t->micro_batches * slowest + (sum - slowest) / t->vpp;
}

struct simulation {
	const struct schedule_times *t;
	int64_t m;
	double *forward_done, *backward_done; /* [chunk * m + micro-batch], < 0 not yet */
	int64_t *next;                        /* by stage: operation to run */
	double *free_at;                      /* by stage */
};

/* When the input of an operation is there, or < 0 when it is not known yet. */
static double
ready_at(const struct simulation *sim, int chunk, struct schedule_op op)
{
	const struct schedule_times *t = sim->t;
	int last = t->pp * t->vpp - 1;
	int64_t i = op.micro_batch;
	double at;

	if (!op.backward && chunk == 0)
		return 0;
	if (op.backward && chunk == last)
		return sim->forward_done[(int64_t)chunk * sim->m + i];
	at = op.backward ? sim->backward_done[(int64_t)(chunk + 1) * sim->m + i]
	                 : sim->forward_done[(int64_t)(chunk - 1) * sim->m + i];
	return at < 0 ? at : at + (t->pp > 1 && !t->blocking ? t->handoff_s : 0);
}

/* Busy time of an operation; blocking: its receive and its send. */
static double
busy_s(const struct schedule_times *t, int chunk, int backward)
{
	double seconds = backward ? t->backward_s[chunk] : t->forward_s[chunk];
	int last = t->pp * t->vpp - 1;

	if (!t->blocking)
		return seconds;
	/* the sender pays; a stage's passes send forward unless last, backward unless first */
	if (backward ? chunk > 0 : chunk < last)
		seconds += t->handoff_s;
	return seconds;
}

/* Runs a stage as far as its inputs allow; true when it moved. */
static int
advance(struct simulation *sim, int stage)
{
	const struct schedule_times *t = sim->t;
	int64_t total = 2 * sim->m * t->vpp;
	int moved = 0;

	while (sim->next[stage] < total) {
		struct schedule_op op =
		    schedule_op(t->pp, t->vpp, sim->m, stage, sim->next[stage]);
		int chunk = op.virtual_stage * t->pp + stage;
		double start = ready_at(sim, chunk, op);
		double *done = op.backward ? sim->backward_done : sim->forward_done;

		if (start < 0)
			break;
		sim->free_at[stage] = fmax(start, sim->free_at[stage]) + busy_s(t, chunk, op.backward);
		done[(int64_t)chunk * sim->m + op.micro_batch] = sim->free_at[stage];
		sim->next[stage]++;
		moved = 1;
	}
	return moved;
}

static double
simulate(const struct schedule_times *t, int64_t m, struct arena *scratch)
{
	struct simulation sim = {.t = t, .m = m};
	size_t cells = (size_t)(t->pp * t->vpp) * (size_t)m;
	double end = 0;
	int moved = 1;

	sim.forward_done = arena_array(scratch, 2 * cells, sizeof(double));
	sim.backward_done = sim.forward_done + cells;
	sim.next = arena_array(scratch, (size_t)t->pp, sizeof(*sim.next));
	sim.free_at = arena_array(scratch, (size_t)t->pp, sizeof(*sim.free_at));
	for (size_t i = 0; i < 2 * cells; i++)
		sim.forward_done[i] = -1;
	while (moved) {
		moved = 0;
		for (int s = 0; s < t->pp; s++)
			moved |= advance(&sim, s);
	}
	for (int s = 0; s < t->pp; s++) {
		if (sim.next[s] < 2 * m * t->vpp)
			return INFINITY; /* a partial last group leaves stages waiting for each other */
		end = fmax(end, sim.free_at[s]);
	}
	return end;
}

double
schedule_simulate(const struct schedule_times *t, struct arena *scratch)
{
	struct arena_mark mark = arena_mark(scratch);
	int64_t most = 6 * (int64_t)t->pp, groups;
	double slowest = 0, end, group_s;

	if (t->micro_batches <= most + t->pp) {
		end = simulate(t, t->micro_batches, scratch);
		arena_reset(scratch, mark);
		return end;
	}
	/* Beyond a few groups the schedule repeats: a group costs what the last one did. */
	groups = (t->micro_batches - most) / t->pp;
	for (int s = 0; s < t->pp; s++)
		slowest = fmax(slowest, schedule_stage_s(t, s));
	end = simulate(t, t->micro_batches - groups * t->pp, scratch);
	group_s = end - simulate(t, t->micro_batches - (groups + 1) * t->pp, scratch);
	arena_reset(scratch, mark);
	return end + (double)groups * fmax(group_s, t->pp * slowest);
}
