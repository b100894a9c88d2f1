/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How fast are collectives by themselves, and what do products hide of them?
 *
 * Collectives: in front of each timed one stands a tiny all-reduce of the same group, so that
 * nobody is waited for; median over repeats, slowest rank. Bus bandwidth by nccl-tests'
 * definitions: size is a rank's whole buffer, factor 2(n-1)/n for all-reduce, (n-1)/n for
 * reduce-scatter, all-gather and all-to-all. Products: measure_compute.c.
 * Overlap: an all-to-all and expert products alone (Tm, Tc) and together (Tb);
 * hidden = (Tc + Tm - Tb) / min(Tc, Tm).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "probe/measure_private.h"
#include "probe/wire.h"

/* What is measured on which group, as the step uses it. */
static const struct {
	enum group group;
	enum collective_kind kind;
} rows[] = {
    {GROUP_TP, COLLECTIVE_ALL_GATHER},
    {GROUP_TP, COLLECTIVE_REDUCE_SCATTER},
    {GROUP_CP, COLLECTIVE_ALL_GATHER},
    {GROUP_EP, COLLECTIVE_ALL_TO_ALL},
    {GROUP_EXPERT_TP, COLLECTIVE_ALL_TO_ALL},
    {GROUP_DP_CP, COLLECTIVE_REDUCE_SCATTER},
    {GROUP_DP_CP, COLLECTIVE_ALL_REDUCE},
    {GROUP_EXPERT_DP, COLLECTIVE_REDUCE_SCATTER},
};

static double
bus_factor(enum collective_kind kind, int n)
{
	double factor = (double)(n - 1) / n;

	return kind == COLLECTIVE_ALL_REDUCE ? 2 * factor : factor;
}

static struct collective
collective_of(struct bench *b, int row, int64_t elements)
{
	const struct group_comm *group = &b->s->groups[rows[row].group];
	int n = group->size, i;
	struct collective c = {.kind = rows[row].kind,
	    .comm = group->comm,
	    .send = b->a,
	    .recv = b->b,
	    .count = elements / n,
	    .send_counts = b->counts,
	    .send_offsets = b->counts + n,
	    .recv_counts = b->counts,
	    .recv_offsets = b->counts + n};

	if (c.kind == COLLECTIVE_ALL_REDUCE)
		c.count = elements;
	for (i = 0; i < n; i++) {
		b->counts[i] = elements / n;
		b->counts[n + i] = i * (elements / n);
	}
	return c;
}

/* Seconds of one repeat, waiting for the others taken away. */
static int
time_once(struct bench *b, int row, int64_t elements, double *seconds)
{
	struct collective c = collective_of(b, row, elements);
	struct collective tiny = {.kind = COLLECTIVE_ALL_REDUCE,
	    .element = ELEMENT_FLOAT,
	    .comm = c.comm,
	    .recv = b->tiny,
	    .count = 1};
	const char *name = group_names[rows[row].group];
	struct session *s = b->s;

	timing_reset(s);
	if (session_collective(s, PART_HANDOFF, name, &tiny) != 0 ||
	    session_collective(s, PART_DISPATCH, name, &c) != 0 || session_sync_all(s, name) != 0)
		return -1;
	timing_collect(s);
	*seconds = s->parts[PART_DISPATCH][s->backward].seconds;
	return 0;
}

static int
level_of(const struct session *s, const struct group_comm *group)
{
	int level, i;

	for (level = 0; level + 1 < s->plan->n_levels; level++) {
		int64_t unit = s->plan->levels[level].gpus;

		for (i = 1; i < group->size && group->ranks[i] / unit == group->ranks[0] / unit;
		     i++)
			;
		if (i >= group->size)
			break;
	}
	return level;
}

/* Units of the level below that hold a rank of the group; ranks are in order. */
static int
units_of(const struct session *s, const struct group_comm *group, int level)
{
	int64_t unit = level > 0 ? s->plan->levels[level - 1].gpus : 1;
	int units = 1, i;

	for (i = 1; i < group->size; i++)
		units += group->ranks[i] / unit != group->ranks[i - 1] / unit;
	return units;
}

struct medians {
	double median, low, high;
	int level, units;
};

static int
time_collective(struct bench *b, int row, int64_t elements, struct medians *out)
{
	double times[REPEATS];
	int i;

	for (i = -b->warm; i < b->repeats; i++)
		if (time_once(b, row, elements, &times[i < 0 ? 0 : i]) != 0)
			return -1;
	qsort(times, (size_t)b->repeats, sizeof(times[0]), compare_seconds);
	*out = (struct medians){times[b->repeats / 2], times[0], times[b->repeats - 1],
	    level_of(b->s, &b->s->groups[rows[row].group]), 0};
	out->units = units_of(b->s, &b->s->groups[rows[row].group], out->level);
	return 0;
}

static int
keep_transfer(struct bench *b, int row, int64_t elements, const struct medians *mine)
{
	struct session *s = b->s;
	struct medians *all = arena_array(s->arena, (size_t)s->world, sizeof(*all)), worst = {0};
	struct transfer_row *out = &b->m->transfers[b->m->n_transfers];
	int size = s->groups[rows[row].group].size, i;

	if (control_gather(s->control, mine, sizeof(*mine), all) != 0)
		return -1;
	for (i = 0; s->rank == 0 && i < s->world; i++)
		if (all[i].median > worst.median)
			worst = all[i];
	memset(out, 0, sizeof(*out));
	snprintf(out->group, sizeof(out->group), "%s", group_names[rows[row].group]);
	snprintf(out->op, sizeof(out->op), "%s", collective_names[rows[row].kind]);
	out->size = size;
	out->level = worst.level;
	out->units = worst.units;
	out->bytes = elements * (int64_t)s->backend.ops->act_bytes;
	out->seconds = worst.median;
	out->low_s = worst.low;
	out->high_s = worst.high;
	if (worst.median > 0)
		out->bus_Bps = (double)out->bytes / worst.median * bus_factor(rows[row].kind, size);
	b->m->n_transfers++;
	return 0;
}

static int
bench_transfers(struct bench *b)
{
	size_t row;

	for (row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
		const struct group_comm *group = &b->s->groups[rows[row].group];
		int64_t most = (int64_t)(b->bytes / b->s->backend.ops->act_bytes), n;

		if (group->size == 1)
			continue;
		for (n = 512; n * 16 <= most && b->m->n_transfers < MAX_TRANSFERS; n *= 16) {
			int64_t elements = (n + group->size - 1) / group->size * group->size;
			struct medians mine;

			if (time_collective(b, (int)row, elements, &mine) != 0 ||
			    keep_transfer(b, (int)row, elements, &mine) != 0)
				return -1;
		}
	}
	return 0;
}

/* --- overlap ------------------------------------------------------------------------------ */

static int
both(struct bench *b, struct products *p, const struct collective *c, bool compute, bool comm,
    double *seconds)
{
	struct session *s = b->s;
	double start;

	if (control_barrier(s->control) != 0)
		return -1;
	start = wire_now_s();
	if (comm && session_post(s, "ep", c) != 0)
		return -1;
	if (compute && run_products(b, p) != 0)
		return session_fail(s, "a measured kernel");
	if (session_sync_all(s, "overlap") != 0)
		return -1;
	*seconds = wire_now_s() - start;
	return 0;
}

static int
bench_overlap(struct bench *b, const struct dims *d)
{
	struct products p = {
	    .gemms = arena_array(b->s->arena, (size_t)d->local_experts + 1, sizeof(*p.gemms)),
	    .engine = (enum grouped_engine)b->m->engine};
	int64_t rows_each = d->experts ? d->tokens * d->top_k / d->local_experts : 0;
	int64_t half = (int64_t)(b->bytes / b->s->backend.ops->act_bytes) / 2;
	int64_t elements = d->tokens * d->top_k * d->h < half ? d->tokens * d->top_k * d->h : half;
	struct collective c;
	int i;

	if (!b->s->backend.ops->times_count || b->s->groups[GROUP_EP].size == 1 || rows_each < 1 ||
	    !fill_products(b, &p, d->local_experts, rows_each, fc1_width(d, d->expert), d->h))
		return 0;
	c = collective_of(b, 3, elements);
	c.send = (char *)b->a + (size_t)half * b->s->backend.ops->act_bytes;
	c.recv = b->overlap;
	for (i = 0; i < 2; i++) /* the second time counts */
		if (both(b, &p, &c, true, false, &b->m->experts_overlap.compute_s) != 0 ||
		    both(b, &p, &c, false, true, &b->m->experts_overlap.comm_s) != 0 ||
		    both(b, &p, &c, true, true, &b->m->experts_overlap.both_s) != 0)
			return -1;
	return 0;
}

/* --- all ---------------------------------------------------------------------------------- */

static int
fill_random(struct bench *b)
{
	enum { BLOCK = 1 << 16 };
	struct backend *backend = &b->s->backend;
	int64_t n = (int64_t)(b->bytes / backend->ops->act_bytes), i, at;
	float *values = arena_array(b->s->arena, BLOCK, sizeof(*values));

	for (i = 0; i < BLOCK; i++)
		values[i] = (float)random_unit(7, (uint64_t)i, (uint64_t)b->s->rank, 0);
	for (at = 0; at < n; at += BLOCK) {
		int64_t block = at + BLOCK < n ? BLOCK : n - at;
		char *to = (char *)b->a + (size_t)at * backend->ops->act_bytes;

		if (backend->ops->put(backend, ELEMENT_ACT, to, values, block) != 0)
			return session_fail(b->s, "filling");
	}
	if (backend->ops->fill(backend, b->b, 0, b->bytes) != 0)
		return session_fail(b->s, "filling");
	return 0;
}

static int
run_all(struct bench *b, const struct shape *shape)
{
	const struct layer_kind *kind = model_moe(&shape->model);
	struct dims d;

	dims_of(shape, kind ? kind : &shape->model.kinds[0], &d);
	if (fill_random(b) != 0 || bench_transfers(b) != 0 || bench_compute(b, &d) != 0)
		return -1;
	/* every rank must choose alike: rank 0's choice */
	if (control_share(b->s->control, &b->m->engine, sizeof(b->m->engine)) != 0)
		return -1;
	return bench_overlap(b, &d);
}

int
measure_parts(struct session *s, const struct shape *shape, struct measured *m)
{
	struct arena_mark mark = arena_mark(s->arena);
	bool real = s->backend.ops->times_count;
	struct bench b = {.s = s,
	    .m = m,
	    .bytes = real ? (size_t)512 << 20 : (size_t)1 << 20,
	    .repeats = real ? REPEATS : REPEATS_HOST,
	    .warm = real ? WARM : 1};
	int result = -1;

	s->backward = false;
	b.counts = arena_array(s->arena, 2 * (size_t)s->world, sizeof(*b.counts));
	b.a = session_alloc(s, b.bytes);
	b.b = session_alloc(s, b.bytes);
	b.overlap = session_alloc(s, b.bytes);
	b.tiny = session_alloc(s, 64);
	if (b.a && b.b && b.overlap && b.tiny &&
	    s->backend.ops->fill(&s->backend, b.tiny, 0, 64) == 0)
		result = run_all(&b, shape);
	session_release(s, b.a, b.bytes);
	session_release(s, b.b, b.bytes);
	session_release(s, b.overlap, b.bytes);
	session_release(s, b.tiny, 64);
	arena_reset(s->arena, mark);
	return result;
}
