/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A cuda backend for machines without a GPU, so that tests/gpu/run.sh itself can be tried.
 *
 * The backend's own files over the stand-ins of tests/probe. What would keep a CPU busy for minutes
 * is not computed but waited for, as long as a GPU might take: products, copies and transfers of
 * the size that measurements have, not of those that numbers are compared by. STAND_IN_WRONG makes
 * every norm wrong.
 */
#include <stdlib.h>
#include <time.h>

#include "probe/cuda_private.h"
#include "tests/probe/fake_cuda.h"

#define FLOPS 6e14
#define MEMORY_BPS 3.5e12
#define LINK_BPS 2e10

enum { LARGE = 1 << 21 };

const struct backend_ops *backend_of_cuda(void);
const struct backend_ops *moeplan_backend(void);

static const struct backend_ops *real;

struct pause {
	double seconds, until;
};

static double
now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static enum fake_step
pass_time(void *closure)
{
	struct pause *p = closure;

	if (p->until == 0)
		p->until = now() + p->seconds;
	return now() >= p->until ? FAKE_DONE : FAKE_WAITING;
}

static int
take(struct backend *b, enum stream stream, double seconds)
{
	struct pause *p = calloc(1, sizeof(*p));

	if (!p)
		abort();
	p->seconds = seconds;
	fake_enqueue(((struct cuda *)b->state)->streams[stream], pass_time, p);
	return 0;
}

static double
size_of(const struct gemm *g)
{
	return (double)g->m * (double)g->n * (double)g->k;
}

static int
some_gemm(struct backend *b, const struct gemm *g)
{
	if (size_of(g) < LARGE)
		return real->gemm(b, g);
	return take(b, STREAM_COMPUTE, 2 * size_of(g) / FLOPS);
}

static int
some_grouped(struct backend *b, const struct gemm *gemms, int n, enum grouped_engine engine)
{
	double sum = 0;
	int i;

	for (i = 0; i < n; i++)
		sum += size_of(&gemms[i]);
	if (sum < LARGE)
		return real->grouped(b, gemms, n, engine);
	return take(b, STREAM_COMPUTE, 2 * sum / FLOPS);
}

static int
some_add(struct backend *b, void *to, const void *from, int64_t n)
{
	return n < LARGE ? real->add(b, to, from, n)
			 : take(b, STREAM_COMPUTE, 6 * (double)n / MEMORY_BPS);
}

static int
some_gather(
    struct backend *b, void *out, const void *in, const int32_t *rows, int64_t n, int64_t width)
{
	return n * width < LARGE
		   ? real->gather(b, out, in, rows, n, width)
		   : take(b, STREAM_COMPUTE, 4 * (double)n * (double)width / MEMORY_BPS);
}

/* All ranks alike: what is measured is of one size. */
static enum op_state
some_collective(struct backend *b, enum stream stream, const struct collective *c)
{
	int64_t n = c->kind == COLLECTIVE_ALL_TO_ALL ? c->send_counts[0] : c->count;

	if (n < LARGE / 16)
		return real->collective(b, stream, c);
	take(b, stream, 2 * (double)n / LINK_BPS);
	return OP_DONE;
}

static int
wrong_norm(struct backend *b, void *out, const void *in, const void *scale, int64_t rows,
    int64_t width, int64_t stride)
{
	(void)in;
	return real->norm(b, out, scale, scale, rows > 0, width, stride);
}

const struct backend_ops *
moeplan_backend(void)
{
	static struct backend_ops ops;

	real = backend_of_cuda();
	ops = *real;
	ops.gemm = some_gemm;
	ops.grouped = some_grouped;
	ops.add = some_add;
	ops.gather = some_gather;
	ops.collective = some_collective;
	if (getenv("STAND_IN_WRONG"))
		ops.norm = wrong_norm;
	return &ops;
}
