/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How long does the step take, part by part?
 *
 * Each rank: a few steps to warm up, then `steps` steps; the median over steps of every part's
 * sum; then min, median, 90th percentile and max over ranks. Marks stand on the stream that runs
 * the part; marks of two devices are never subtracted. When a step has more parts than there are
 * marks, the rest is taken to last as long as those that were timed. Beside what a part takes
 * stands how long the computation stands still for it: all of it in line, what is left of it
 * beside.
 */
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "probe/measure_private.h"
#include "probe/wire.h"

enum { WARM_UP = 2, WARM_UP_TIMED = 5 };

static int
compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double
median(double *values, int64_t n)
{
	qsort(values, (size_t)n, sizeof(*values), compare_doubles);
	return n ? (values[(n - 1) / 2] + values[n / 2]) / 2 : 0;
}

static void
spread_of(const double *all, int world, int stride, double *room, struct spread *out)
{
	int i;

	*out = (struct spread){0};
	for (i = 0; i < world; i++) {
		room[i] = all[i * stride];
		if (room[i] > room[out->worst_rank])
			out->worst_rank = i;
	}
	out->median = median(room, world);
	out->min = room[0];
	out->max = room[world - 1];
	out->p90 = room[(int)(0.9 * (world - 1) + 0.5)];
}

static void
keep_times(const struct part_time times[PARTS][2], double *values)
{
	int i;

	for (i = 0; i < 2 * PARTS; i++) {
		const struct part_time *time = &times[i / 2][i % 2];

		values[i] = time->timed ? time->seconds * (double)time->ran / (double)time->timed : 0;
	}
}

static void
keep_step(struct session *s, double step_s, double *values)
{
	timing_collect(s);
	values[VALUE_STEP] = step_s;
	keep_times((const struct part_time(*)[2])s->parts, values + VALUE_PARTS);
	keep_times((const struct part_time(*)[2])s->stalls, values + VALUE_STALLS);
}

static int
timed_step(struct stage *stage, int number, double *values)
{
	struct session *s = stage->s;
	double start;

	if (control_barrier(s->control) != 0)
		return -1;
	timing_reset(s);
	start = wire_now_s();
	if (step_run(stage, number, NULL) != 0)
		return -1;
	keep_step(s, wire_now_s() - start, values);
	return 0;
}

static void
account(const struct stage *stage, uint64_t free_before, struct memory_account *memory)
{
	struct session *s = stage->s;
	uint64_t now = s->backend.ops->free_bytes(&s->backend);

	memory->weights = (double)stage->weights.weight_bytes;
	memory->gradients = (double)stage->weights.gradient_bytes;
	memory->optimizer = (double)stage->weights.optimizer_bytes;
	memory->activations = (double)stage->bytes[ROOM_ACTIVATIONS];
	memory->logits = (double)stage->bytes[ROOM_LOGITS];
	memory->rows = (double)stage->bytes[ROOM_ROWS];
	memory->buffers = (double)(stage->bytes[ROOM_BUFFERS] + stage->weights.room_bytes);
	memory->routing = (double)stage->routings.bytes;
	memory->allocated = (double)s->peak_bytes;
	if (free_before > now) /* what the libraries took since the program began */
		memory->outside = (double)(free_before - now) - (double)s->allocated_bytes;
}

/* Of the ranks that ran it at all. */
static void
spread_of_part(const double *all, int world, double *room, struct spread *out)
{
	int i, n = 0, worst = 0;

	*out = (struct spread){0};
	for (i = 0; i < world; i++) {
		if (!(all[i * VALUES] > 0))
			continue;
		room[n++] = all[i * VALUES];
		if (all[i * VALUES] > all[worst * VALUES])
			worst = i;
	}
	if (n == 0)
		return;
	spread_of(room, n, 1, room + world, out);
	out->worst_rank = worst;
}

/* The fullest rank of each stage, where the others' stages are rows too. */
static int
gather_memory(
    struct session *s, const struct shape *shape, struct memory_account *mine, struct measured *m)
{
	struct {
		struct memory_account memory;
		int stage;
	} part, *all = arena_array(s->arena, (size_t)s->world, sizeof(*all));
	int i;

	memset(&part, 0, sizeof(part));
	part.memory = *mine;
	part.stage = s->pp;
	if (control_gather(s->control, &part, sizeof(part), all) != 0)
		return -1;
	m->n_stages = shape->strategy.pp < 8 ? (int)shape->strategy.pp : 8;
	for (i = 0; s->rank == 0 && i < s->world; i++)
		if (all[i].stage < 8 && all[i].memory.allocated > m->memory[all[i].stage].allocated)
			m->memory[all[i].stage] = all[i].memory;
	return 0;
}

static int
gather_times(struct session *s, const double *mine, struct timed *t)
{
	double *all = arena_array(s->arena, (size_t)s->world * VALUES, sizeof(*all));
	double *room = arena_array(s->arena, 2 * (size_t)s->world, sizeof(*room));
	int i;

	if (control_gather(s->control, mine, VALUES * sizeof(*mine), all) != 0)
		return -1;
	if (s->rank != 0)
		return 0;
	spread_of(all + VALUE_STEP, s->world, VALUES, room, &t->step_s);
	spread_of(all + VALUE_LOW, s->world, VALUES, room, &t->low_s);
	spread_of(all + VALUE_HIGH, s->world, VALUES, room, &t->high_s);
	for (i = 0; i < 2 * PARTS; i++) {
		spread_of_part(
		    all + VALUE_PARTS + i, s->world, room, &t->parts[i / 2][i % 2]);
		spread_of_part(
		    all + VALUE_STALLS + i, s->world, room, &t->stalls[i / 2][i % 2]);
	}
	return 0;
}

static int
run_steps(struct stage *stage, int64_t steps, double *medians)
{
	struct session *s = stage->s;
	int warm_up = s->backend.ops->times_count ? WARM_UP_TIMED : WARM_UP;
	double *values = arena_array(s->arena, (size_t)steps * VALUES, sizeof(*values));
	double *room = arena_array(s->arena, (size_t)steps, sizeof(*room)), ignored[VALUES];
	int64_t i;
	int v;

	for (i = 0; i < warm_up; i++)
		if (timed_step(stage, (int)i + 1, ignored) != 0)
			return -1;
	for (i = 0; i < steps; i++)
		if (timed_step(stage, (int)i + 1 + warm_up, values + i * VALUES) != 0)
			return -1;
	for (v = VALUES - 1; v >= VALUE_STEP; v--) { /* the step's last, for its quartiles */
		for (i = 0; i < steps; i++)
			room[i] = values[i * VALUES + v];
		medians[v] = median(room, steps);
	}
	medians[VALUE_LOW] = room[(steps - 1) / 4];
	medians[VALUE_HIGH] = room[steps - 1 - (steps - 1) / 4];
	return 0;
}

int
time_steps(struct stage *stage, int64_t steps, struct timed *timed)
{
	double medians[VALUES] = {0};

	return run_steps(stage, steps, medians) == 0 ? gather_times(stage->s, medians, timed) : -1;
}

static void
keep_timed(const struct timed *t, struct measured *m)
{
	m->step_s = t->step_s;
	memcpy(m->parts, t->parts, sizeof(m->parts));
	memcpy(m->stalls, t->stalls, sizeof(m->stalls));
}

int
measure_steps(struct session *s, const struct shape *shape, const struct skew *skew, int64_t steps,
    struct measured *m)
{
	struct arena_mark mark = arena_mark(s->arena);
	struct timed *apart = arena_array(s->arena, OVERLAPPED_KINDS + 1, sizeof(*apart));
	struct timed *planned = &apart[OVERLAPPED_KINDS];
	struct memory_account memory = {0};
	struct stage stage;
	int result;

	m->own_shapes = !shape->scaled;
	m->micro_batches = shape->strategy.micro_batches;
	m->steps = steps;
	s->peak_bytes = s->allocated_bytes;
	if (stage_open(&stage, s, shape, skew) != 0)
		return -1;
	stage.engine = (enum grouped_engine)m->engine;
	result = overlap_apart(&stage, steps, m, apart);
	if (result == 0)
		result = time_steps(&stage, steps, planned);
	account(&stage, s->free_at_start, &memory);
	keep_timed(planned, m);
	overlap_judge(apart, planned, m);
	if (result == 0)
		result = gather_memory(s, shape, &memory, m);
	stage_close(&stage);
	arena_reset(s->arena, mark);
	return result;
}
