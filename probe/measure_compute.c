/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How fast are products, copies and permutations by themselves?
 *
 * Median over repeats, by marks on the computing stream. Data are random: zeros flatter a GPU's
 * products.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "probe/measure_private.h"

int
compare_seconds(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

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
	qsort(times, (size_t)b->repeats, sizeof(times[0]), compare_seconds);
	*seconds = times[b->repeats / 2];
	return 0;
}

int
run_products(struct bench *b, void *context)
{
	struct products *p = context;
	struct backend *backend = &b->s->backend;

	if (p->n == 1)
		return backend->ops->gemm(backend, p->gemms);
	return backend->ops->grouped(backend, p->gemms, p->n, p->engine);
}

/* `groups` products of (m, n, k), as many as fit into the room. */
bool
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

int
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
