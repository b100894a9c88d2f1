/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How fast are collectives, products and copies by themselves?
 *
 * Collectives: in front of each timed one stands a tiny all-reduce of the same group, so that
 * nobody is waited for; median over repeats, slowest rank. Bus bandwidth by nccl-tests'
 * definitions: size is a rank's whole buffer, factor 2(n-1)/n for all-reduce, (n-1)/n for
 * reduce-scatter, all-gather and all-to-all. Data are random: zeros flatter a GPU's products.
 * Overlap: an all-to-all and expert products alone (Tm, Tc) and together (Tb);
 * hidden = (Tc + Tm - Tb) / min(Tc, Tm).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "probe/measure.h"
#include "probe/wire.h"

enum { REPEATS = 20, REPEATS_HOST = 3, WARM = 5 };

struct bench {
	struct session *s;
	struct measured *m;
	void *a, *b, *overlap, *tiny;
	size_t bytes;
	int repeats, warm;
	int64_t *counts;
};

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
compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
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
	qsort(times, (size_t)b->repeats, sizeof(times[0]), compare_doubles);
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

/* --- computation -------------------------------------------------------------------------- */

typedef int work_fn(struct bench *b, void *context);

/* Seconds of one call on the computing stream, by marks. */
static int
time_work(struct bench *b, work_fn *work, void *context, double *seconds)
{
	struct session *s = b->s;
	double times[REPEATS];
	int i;

	for (i = -b->warm; i < b->repeats; i++) {
		timing_reset(s);
		part_begin(s, PART_EXPERTS, STREAM_COMPUTE);
		if (work(b, context) != 0)
			return session_fail(s, "a measured kernel");
		part_end(s, STREAM_COMPUTE);
		if (session_sync(s, STREAM_COMPUTE, "measuring") != 0)
			return -1;
		timing_collect(s);
		times[i < 0 ? 0 : i] = s->parts[PART_EXPERTS][s->backward].seconds;
	}
	qsort(times, (size_t)b->repeats, sizeof(times[0]), compare_doubles);
	*seconds = times[b->repeats / 2];
	return 0;
}

struct products {
	struct gemm *gemms;
	int n;
	enum grouped_engine engine;
};

static int
run_products(struct bench *b, void *context)
{
	struct products *p = context;
	struct backend *backend = &b->s->backend;

	if (p->n == 1)
		return backend->ops->gemm(backend, p->gemms);
	return backend->ops->grouped(backend, p->gemms, p->n, p->engine);
}

/* `groups` products of (m, n, k), as many as fit into the room. */
static bool
fill_products(struct bench *b, struct products *p, int64_t groups, int64_t m, int64_t n, int64_t k)
{
	size_t act = b->s->backend.ops->act_bytes;
	int i;

	if ((size_t)groups * (size_t)(m * k + n * k) * act > b->bytes ||
	    (size_t)groups * (size_t)(m * n) * act > b->bytes || m < 1 || n < 1 || k < 1)
		return false;
	p->n = (int)groups;
	for (i = 0; i < groups; i++)
		p->gemms[i] = (struct gemm){.transpose_b = true,
		    .m = m,
		    .n = n,
		    .k = k,
		    .a = (char *)b->a + (size_t)(i * (m * k + n * k)) * act,
		    .lda = k,
		    .b = (char *)b->a + (size_t)(i * (m * k + n * k) + m * k) * act,
		    .ldb = k,
		    .c = (char *)b->b + (size_t)(i * m * n) * act,
		    .ldc = n,
		    .alpha = 1};
	return true;
}

static void
keep_product(struct bench *b, const char *name, const struct products *p, double seconds)
{
	struct product_row *row = &b->m->products[b->m->n_products];
	const struct gemm *g = &p->gemms[0];

	if (b->m->n_products == MAX_PRODUCTS || !(seconds > 0))
		return;
	snprintf(row->name, sizeof(row->name), "%s", name);
	row->groups = p->n;
	row->m = g->m;
	row->n = g->n;
	row->k = g->k;
	row->flops = 2.0 * (double)p->n * (double)g->m * (double)g->n * (double)g->k / seconds;
	b->m->n_products++;
}

static int
bench_square(struct bench *b, struct products *p)
{
	int64_t size;
	double seconds;

	for (size = 256; size <= 8192; size *= 2) {
		if (!fill_products(b, p, 1, size, size, size))
			break;
		if (time_work(b, run_products, p, &seconds) != 0)
			return -1;
		keep_product(b, "gemm", p, seconds);
	}
	return 0;
}

/* Both engines on the first expert product with the planned mean of rows; the faster one is kept.
 */
static int
bench_engines(struct bench *b, const struct dims *d, struct products *p)
{
	int64_t rows_each = d->tokens * d->top_k / (d->local_experts > 0 ? d->local_experts : 1);
	struct backend *backend = &b->s->backend;
	int engine;

	if (!fill_products(b, p, d->local_experts, rows_each, fc1_width(d, d->expert), d->h))
		return 0;
	for (engine = 0; engine < GROUPED_ENGINES; engine++) {
		p->engine = (enum grouped_engine)engine;
		if (p->n == 1 || backend->ops->grouped(backend, p->gemms, p->n, p->engine) != 0)
			continue; /* this backend has no such engine */
		if (time_work(b, run_products, p, &b->m->engine_s[engine]) != 0)
			return -1;
		keep_product(b, grouped_names[engine], p, b->m->engine_s[engine]);
		if (engine && b->m->engine_s[engine] < b->m->engine_s[b->m->engine])
			b->m->engine = engine;
	}
	return 0;
}

/* Efficiency by rows an expert, with the engine that was chosen. */
static int
bench_rows(struct bench *b, const struct dims *d, struct products *p)
{
	int64_t n;
	double seconds;

	p->engine = (enum grouped_engine)b->m->engine;
	for (n = 16; n <= 8192; n *= 4) {
		if (!fill_products(b, p, d->local_experts, n, fc1_width(d, d->expert), d->h))
			break;
		if (time_work(b, run_products, p, &seconds) != 0)
			return -1;
		keep_product(b, "experts", p, seconds);
	}
	return 0;
}

static int
run_copy(struct bench *b, void *context)
{
	struct backend *backend = &b->s->backend;

	(void)context;
	return backend->ops->add(
	    backend, b->b, b->a, (int64_t)(b->bytes / backend->ops->act_bytes));
}

static int
run_tiny(struct bench *b, void *context)
{
	struct backend *backend = &b->s->backend;
	int i;

	(void)context;
	for (i = 0; i < 100; i++)
		if (backend->ops->add(backend, b->b, b->a, 1) != 0)
			return -1;
	return 0;
}

struct permutation {
	int32_t *rows; /* on the device */
	int64_t n, width;
};

static int
run_permute(struct bench *b, void *context)
{
	const struct permutation *p = context;
	struct backend *backend = &b->s->backend;

	return backend->ops->gather(backend, b->b, b->a, p->rows, p->n, p->width);
}

/* Rows of the model's width, far from where they were; each is read and written once. */
static int
bench_permute(struct bench *b, const struct dims *d)
{
	enum { MOST_ROWS = 1 << 16, APART = 7919 };
	struct backend *backend = &b->s->backend;
	size_t row_bytes = (size_t)d->h * backend->ops->act_bytes;
	struct permutation p = {.n = (int64_t)(b->bytes / row_bytes), .width = d->h};
	int32_t *host;
	double seconds = 0;
	int64_t i;
	int result;

	p.n = p.n > MOST_ROWS ? MOST_ROWS : p.n;
	host = arena_array(b->s->arena, (size_t)p.n + 1, sizeof(*host));
	for (i = 0; i < p.n; i++)
		host[i] = (int32_t)(i * APART % p.n);
	p.rows = session_alloc(b->s, (size_t)(p.n + 1) * sizeof(*host));
	if (!p.rows)
		return -1;
	if (backend->ops->put(backend, ELEMENT_INT32, p.rows, host, p.n) != 0)
		return session_fail(b->s, "filling");
	result = time_work(b, run_permute, &p, &seconds);
	session_release(b->s, p.rows, (size_t)(p.n + 1) * sizeof(*host));
	b->m->permute_Bps = seconds > 0 ? 2 * (double)p.n * (double)row_bytes / seconds : 0;
	return result;
}

static int
bench_compute(struct bench *b, const struct dims *d)
{
	struct products p = {
	    .gemms = arena_array(b->s->arena, (size_t)d->local_experts + 1, sizeof(*p.gemms))};
	double seconds;

	if (bench_square(b, &p) != 0)
		return -1;
	if (d->experts && (bench_engines(b, d, &p) != 0 || bench_rows(b, d, &p) != 0))
		return -1;
	if (time_work(b, run_copy, NULL, &seconds) != 0)
		return -1;
	b->m->copy_Bps =
	    seconds > 0 ? 3 * (double)b->bytes / seconds : 0; /* two reads, one write */
	if (bench_permute(b, d) != 0)
		return -1;
	if (time_work(b, run_tiny, NULL, &seconds) != 0)
		return -1;
	b->m->launch_s = seconds / 100;
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
