/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Do the GPU's kernels compute what the host's do?
 *
 * The probe's kernels, compiled for this host (emulated.h), on the same random
 * values, rounded to bf16, as probe/host_kernels.c. Memory is allocated to the element, so that a
 * sanitizer sees what reaches beyond; outputs start as NaN. Prints "N passed, M failed" last.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probe/cuda_kernels.h"
#include "probe/host_kernels.h"
#include "tests/probe/bf16.h"
#include "tests/probe/emulated.h"

static int passed, failed;
static struct backend host;
static uint64_t seed = 1;

int cudaGetLastError(void);
int cudaMemsetAsync(void *to, int byte, size_t bytes, void *stream);

int
cudaGetLastError(void)
{
	return 0;
}

int
cudaMemsetAsync(void *to, int byte, size_t bytes, void *stream)
{
	(void)stream;
	memset(to, byte, bytes);
	return 0;
}

void
emulated_post(void *stream, unsigned blocks, unsigned threads, emulated_fn *run, emulated_fn *drop,
    void *closure)
{
	(void)stream;
	emulated_run(blocks, threads, run, closure);
	drop(closure);
}

/* --- values in both forms ----------------------------------------------------------------- */

static uint64_t
random_bits(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

static void *
room(size_t bytes)
{
	void *memory = malloc(bytes ? bytes : 1);

	if (!memory)
		abort();
	memset(memory, 0xff, bytes ? bytes : 1); /* NaN in both forms */
	return memory;
}

/* The same numbers for the host (float) and for the device (bf16, or float when `exact`). */
struct pair {
	int64_t n;
	float *host;
	void *device;
	bool exact;
};

static struct pair
empty_pair(int64_t n, bool exact)
{
	return (struct pair){n, room((size_t)n * 4), room((size_t)n * (exact ? 4 : 2)), exact};
}

static struct pair
random_pair(int64_t n, bool exact)
{
	struct pair p = empty_pair(n, exact);
	int64_t i;

	for (i = 0; i < n; i++) {
		float value = (float)(random_bits() >> 40) / (float)(1 << 23) - 1.0f;
		uint16_t word = bf16_of(4 * value);

		p.host[i] = float_of(word);
		if (exact)
			((float *)p.device)[i] = p.host[i];
		else
			((uint16_t *)p.device)[i] = word;
	}
	return p;
}

static void
free_pair(struct pair p)
{
	free(p.host);
	free(p.device);
}

/* Within `steps` roundings of the device's type, of the largest value at hand. */
static bool
alike(const struct pair *p, double steps)
{
	double unit = p->exact ? 0x1p-23 : 0x1p-8;
	int64_t i;

	for (i = 0; i < p->n; i++) {
		double want = (double)p->host[i];
		double got = p->exact ? (double)((float *)p->device)[i]
				      : (double)float_of(((uint16_t *)p->device)[i]);

		if (isnan(want) && isnan(got))
			continue; /* neither wrote it */
		if (!(fabs(got - want) <= steps * unit * fmax(fabs(want), 1.0 / 16))) {
			printf("  element %lld of %lld: %.9g, wanted %.9g\n", (long long)i,
			    (long long)p->n, got, want);
			return false;
		}
	}
	return true;
}

static int32_t *
random_rows(int64_t n, int64_t most, bool distinct)
{
	int32_t *rows = room((size_t)n * 4);
	int64_t i, j;

	for (i = 0; i < n; i++) {
		rows[i] = (int32_t)(random_bits() % (uint64_t)(most > 0 ? most : 1));
		if (random_bits() % 7 == 0 && !distinct)
			rows[i] = -1;
		for (j = 0; distinct && j < i; j++)
			if (rows[j] == rows[i]) {
				rows[i] = (int32_t)((rows[i] + 1) % most);
				j = -1;
			}
	}
	return rows;
}

static void
verdict(const char *kernel, int64_t rows, int64_t width, int top_k, bool ok)
{
	if (ok)
		passed++;
	else
		failed++;
	if (!ok)
		printf("FAIL %s, %lld rows of %lld, %d choices\n", kernel, (long long)rows,
		    (long long)width, top_k);
}

/* --- kernels ------------------------------------------------------------------------------ */

struct size {
	int64_t tokens, width, experts;
	int top_k;
};

static void
test_gather(const struct size *s)
{
	int64_t n = s->tokens * s->top_k;
	struct pair in = random_pair((s->tokens + 1) * s->width, false);
	struct pair out = empty_pair(n * s->width, false);
	int32_t *rows = random_rows(n, s->tokens + 1, false);

	host.ops->gather(&host, out.host, in.host, rows, n, s->width);
	cuda_gather(NULL, out.device, in.device, rows, n, s->width);
	verdict("gather", n, s->width, s->top_k, alike(&out, 0));
	free_pair(in);
	free_pair(out);
	free(rows);
}

static void
test_combine(const struct size *s)
{
	int64_t choices = s->tokens * s->top_k, slots = choices + 3;
	struct pair in = random_pair(slots * s->width, false);
	struct pair gates = random_pair(choices, true),
		    out = empty_pair(s->tokens * s->width, false);
	int32_t *slot_of = random_rows(choices, slots, false);

	host.ops->combine(
	    &host, out.host, in.host, slot_of, gates.host, s->tokens, s->top_k, s->width);
	cuda_combine(
	    NULL, out.device, in.device, slot_of, gates.device, s->tokens, s->top_k, s->width);
	verdict("combine", s->tokens, s->width, s->top_k, alike(&out, 1));
	host.ops->gather_back(&host, out.host, in.host, slot_of, s->tokens, s->top_k, s->width);
	cuda_gather_back(NULL, out.device, in.device, slot_of, s->tokens, s->top_k, s->width);
	verdict("gather back", s->tokens, s->width, s->top_k, alike(&out, 1));
	free_pair(in);
	free_pair(gates);
	free_pair(out);
	free(slot_of);
}

static void
test_combine_back(const struct size *s)
{
	int64_t choices = s->tokens * s->top_k, slots = choices + 3;
	struct pair in = random_pair(slots * s->width, false);
	struct pair gates = random_pair(choices, true), dgates = empty_pair(choices, true);
	struct pair dout = random_pair(s->tokens * s->width, false);
	struct pair din = empty_pair(slots * s->width, false);
	int32_t *slot_of = random_rows(choices, slots, true);

	if (choices > 2)
		slot_of[1] = -1;
	host.ops->combine_back(&host, din.host, dgates.host, dout.host, in.host, slot_of,
	    gates.host, s->tokens, s->top_k, s->width);
	cuda_combine_back(NULL, din.device, dgates.device, dout.device, in.device, slot_of,
	    gates.device, s->tokens, s->top_k, s->width);
	verdict("combine back, rows", s->tokens, s->width, s->top_k, alike(&din, 1));
	/* sums of `width` products of up to 16, in another order */
	verdict("combine back, gates", s->tokens, s->width, s->top_k,
	    alike(&dgates, 16.0 * 16 * (double)s->width));
	free_pair(in);
	free_pair(gates);
	free_pair(dgates);
	free_pair(dout);
	free_pair(din);
	free(slot_of);
}

static void
test_activations(const struct size *s)
{
	int64_t n = s->tokens * s->width;
	struct pair in = random_pair(2 * n, false), dout = random_pair(n, false);
	struct pair out = empty_pair(n, false), din = empty_pair(2 * n, false);
	struct pair plain = {n, in.host, in.device, false}, dplain = empty_pair(n, false);
	struct pair sum = random_pair(n, false);

	host.ops->swiglu(&host, out.host, in.host, s->tokens, s->width);
	cuda_swiglu(NULL, out.device, in.device, n);
	verdict("swiglu", s->tokens, s->width, 1, alike(&out, 1));
	host.ops->swiglu_back(&host, din.host, dout.host, in.host, s->tokens, s->width);
	cuda_swiglu_back(NULL, din.device, dout.device, in.device, n);
	verdict("swiglu back", s->tokens, s->width, 1, alike(&din, 1));
	host.ops->relu2(&host, out.host, plain.host, n);
	cuda_relu2(NULL, out.device, plain.device, n);
	verdict("relu2", s->tokens, s->width, 1, alike(&out, 1));
	host.ops->relu2_back(&host, dplain.host, dout.host, plain.host, n);
	cuda_relu2_back(NULL, dplain.device, dout.device, plain.device, n);
	verdict("relu2 back", s->tokens, s->width, 1, alike(&dplain, 1));
	host.ops->add(&host, sum.host, dout.host, n);
	cuda_add(NULL, sum.device, dout.device, n);
	verdict("add", s->tokens, s->width, 1, alike(&sum, 1));
	free_pair(in);
	free_pair(dout);
	free_pair(out);
	free_pair(din);
	free_pair(dplain);
	free_pair(sum);
}

/* Rows of which `used` elements are normed: all, or a head's part of a wider row. */
static void
test_norm(const struct size *s, int64_t used)
{
	int64_t n = s->tokens * s->width, i;
	struct pair in = random_pair(n, false), dout = random_pair(n, false);
	struct pair scale = random_pair(s->width, false), dscale = empty_pair(s->width, true);
	struct pair out = empty_pair(n, false), din = empty_pair(n, false);

	for (i = 0; i < s->width; i++)
		dscale.host[i] = ((float *)dscale.device)[i] = 0.5f; /* it is added to */
	host.ops->norm(&host, out.host, in.host, scale.host, s->tokens, used, s->width);
	cuda_norm(NULL, out.device, in.device, scale.device, s->tokens, used, s->width);
	verdict("norm", s->tokens, s->width, 1, alike(&out, 1));
	host.ops->norm_back(&host, din.host, dscale.host, dout.host, in.host, scale.host, s->tokens,
	    used, s->width);
	cuda_norm_back(NULL, din.device, dscale.device, dout.device, in.device, scale.device,
	    s->tokens, used, s->width);
	verdict("norm back, rows", s->tokens, s->width, 1, alike(&din, 2));
	verdict("norm back, scale", s->tokens, s->width, 1,
	    alike(&dscale, 64.0 * (double)(s->tokens + 1)));
	cuda_norm(NULL, in.device, in.device, scale.device, s->tokens, used, s->width);
	host.ops->norm(&host, in.host, in.host, scale.host, s->tokens, used, s->width);
	verdict("norm in place", s->tokens, s->width, 1, alike(&in, 1));
	free_pair(in);
	free_pair(dout);
	free_pair(scale);
	free_pair(dscale);
	free_pair(out);
	free_pair(din);
}

/* Rows sorted by their bias, as experts' rows are, and one bias for all. */
static void
test_bias(const struct size *s)
{
	int64_t n = s->tokens * s->width, biases = s->experts, used = s->width - s->width / 3, t;
	struct pair to = random_pair(n, false), bias = random_pair(biases * used, false);
	struct pair dbias = random_pair(biases * used, true);
	int32_t *which = room((size_t)s->tokens * 4);

	for (t = 0; t < s->tokens; t++)
		which[t] = (int32_t)(t * biases / s->tokens);
	host.ops->bias(&host, to.host, bias.host, which, s->tokens, used, s->width);
	cuda_bias(NULL, to.device, bias.device, which, s->tokens, used, s->width);
	verdict("bias by row", s->tokens, s->width, 1, alike(&to, 1));
	free_pair(to);
	to = random_pair(n, false);
	host.ops->bias(&host, to.host, bias.host, NULL, s->tokens, used, s->width);
	cuda_bias(NULL, to.device, bias.device, NULL, s->tokens, used, s->width);
	verdict("bias", s->tokens, s->width, 1, alike(&to, 1));
	free_pair(to);
	to = random_pair(n, false);
	host.ops->bias_back(&host, dbias.host, to.host, which, s->tokens, used, s->width);
	cuda_bias_back(NULL, dbias.device, to.device, which, s->tokens, used, s->width);
	host.ops->bias_back(&host, dbias.host, to.host, NULL, s->tokens, used, s->width);
	cuda_bias_back(NULL, dbias.device, to.device, NULL, s->tokens, used, s->width);
	verdict("bias back", s->tokens, s->width, 1, alike(&dbias, 64.0 * (double)(s->tokens + 1)));
	free_pair(to);
	free_pair(bias);
	free_pair(dbias);
	free(which);
}

static void
test_gate(const struct size *s, int64_t span)
{
	int64_t n = s->tokens * s->width / span * span;
	struct pair in = random_pair(n, false), dout = random_pair(n, false);
	struct pair out = empty_pair(n, false);
	struct pair gates = random_pair(n / span, false), dgates = empty_pair(n / span, false);

	host.ops->gate(&host, out.host, in.host, gates.host, n, span);
	cuda_gate(NULL, out.device, in.device, gates.device, n, span);
	verdict("gate", n, span, 1, alike(&out, 1));
	host.ops->gate_back(
	    &host, dout.host, dgates.host, dout.host, in.host, gates.host, n, span);
	cuda_gate_back(
	    NULL, dout.device, dgates.device, dout.device, in.device, gates.device, n, span);
	verdict("gate back", n, span, 1, alike(&dout, 1) && alike(&dgates, 2));
	free_pair(in);
	free_pair(dout);
	free_pair(out);
	free_pair(gates);
	free_pair(dgates);
}

static void
test_copy(const struct size *s)
{
	int64_t width = s->width / 2 + 1;
	struct pair in = random_pair(s->tokens * s->width, false);
	struct pair out = empty_pair(s->tokens * (width + 3), false);

	host.ops->copy(&host, out.host, width + 3, in.host, s->width, s->tokens, width);
	cuda_copy(NULL, out.device, width + 3, in.device, s->width, s->tokens, width);
	verdict("copy of rows", s->tokens, width, 1, alike(&out, 0));
	free_pair(in);
	free_pair(out);
}

static int32_t *
random_choices(const struct size *s)
{
	int32_t *chosen = room((size_t)(s->tokens * s->top_k) * 4);
	int64_t t;
	int j;

	for (t = 0; t < s->tokens; t++)
		for (j = 0; j < s->top_k; j++) /* distinct: neighbours */
			chosen[t * s->top_k + j] =
			    (int32_t)((t * 5 + j + (int64_t)(t % 3)) % s->experts);
	return chosen;
}

static void
test_gates(const struct size *s)
{
	int64_t choices = s->tokens * s->top_k;
	struct pair logits = random_pair(s->tokens * s->experts, false);
	struct pair gates = empty_pair(choices, true), dgates = random_pair(choices, true);
	struct pair dlogits = empty_pair(s->tokens * s->experts, false);
	int32_t *chosen = random_choices(s);

	host.ops->gates(&host, gates.host, logits.host, chosen, s->tokens, s->top_k, s->experts);
	cuda_gates(NULL, gates.device, logits.device, chosen, s->tokens, s->top_k, s->experts);
	verdict("gates", s->tokens, s->experts, s->top_k, alike(&gates, 16));
	memcpy(gates.device, gates.host, (size_t)choices * 4);
	host.ops->gates_back(
	    &host, dlogits.host, dgates.host, gates.host, chosen, s->tokens, s->top_k, s->experts);
	cuda_gates_back(NULL, dlogits.device, dgates.device, gates.device, chosen, s->tokens,
	    s->top_k, s->experts);
	verdict("gates back", s->tokens, s->experts, s->top_k, alike(&dlogits, 1));
	free_pair(logits);
	free_pair(gates);
	free_pair(dgates);
	free_pair(dlogits);
	free(chosen);
}

static void
test_sum(const struct size *s)
{
	struct pair to = random_pair(s->tokens * s->width, true);
	struct pair from = random_pair(s->tokens * s->width, true);

	host.ops->sum(&host, to.host, from.host, to.n);
	cuda_sum(NULL, to.device, from.device, to.n);
	verdict("sum", s->tokens, s->width, 1, alike(&to, 0));
	free_pair(to);
	free_pair(from);
}

static void
test_scatter(const struct size *s)
{
	int64_t rows = s->tokens / 2 + 1, i;
	struct pair in = random_pair(s->tokens * s->width, false);
	struct pair to = empty_pair(rows * s->width, true);
	int32_t *at = random_rows(s->tokens, rows, false);

	for (i = 0; i < to.n; i++)
		to.host[i] = ((float *)to.device)[i] = 0.25f; /* it is added to */
	host.ops->scatter_add(&host, to.host, in.host, at, s->tokens, s->width);
	cuda_scatter_add(NULL, to.device, in.device, at, s->tokens, s->width);
	verdict("scatter", s->tokens, s->width, 1, alike(&to, 16.0 * (double)(s->tokens + 1)));
	free_pair(in);
	free_pair(to);
	free(at);
}

/* Two ranks' columns; the second has no target of its own where `at` says so. */
static void
test_loss(const struct size *s)
{
	int64_t cols = s->width, n = s->tokens * cols;
	struct pair logits = random_pair(n, false), losses = empty_pair(s->tokens, true);
	struct pair stats = empty_pair(2 * 3 * s->tokens, true);
	int32_t *at = random_rows(s->tokens, cols, false), *none = room((size_t)s->tokens * 4);

	host.ops->loss_stats(&host, stats.host, logits.host, at, s->tokens, cols);
	cuda_loss_stats(NULL, stats.device, logits.device, at, s->tokens, cols);
	host.ops->loss_stats(&host, stats.host + 3 * s->tokens, logits.host, none, s->tokens, cols);
	cuda_loss_stats(
	    NULL, (float *)stats.device + 3 * s->tokens, logits.device, none, s->tokens, cols);
	verdict("loss, statistics", s->tokens, cols, 1, alike(&stats, 64 + 4 * (double)cols));
	memcpy(stats.device, stats.host, (size_t)stats.n * 4);
	host.ops->loss(&host, losses.host, logits.host, stats.host, 2, at, s->tokens, cols);
	cuda_loss(NULL, losses.device, logits.device, stats.device, 2, at, s->tokens, cols);
	verdict("loss", s->tokens, cols, 1, alike(&losses, 64));
	verdict("loss, gradient", s->tokens, cols, 1, alike(&logits, 1));
	free_pair(logits);
	free_pair(losses);
	free_pair(stats);
	free(at);
	free(none);
}

static void
test_adam(const struct size *s)
{
	int64_t n = s->tokens * s->width, i;
	struct pair w = empty_pair(n, false), master = random_pair(n, true);
	struct pair m = random_pair(n, true), v = random_pair(n, true), g = random_pair(n, true);
	struct adam adam = {1e-2f, 0.9f, 0.95f, 1e-8f, 0.1f, 0.05f};
	const float values[6] = {1e-2f, 0.9f, 0.95f, 1e-8f, 0.1f, 0.05f};

	for (i = 0; i < n; i++)
		v.host[i] = ((float *)v.device)[i] = fabsf(v.host[i]); /* a mean of squares */
	host.ops->adam(&host, w.host, master.host, m.host, v.host, g.host, n, &adam);
	cuda_adam(NULL, w.device, master.device, m.device, v.device, g.device, n, values);
	verdict("adam, weights", s->tokens, s->width, 1, alike(&w, 1));
	verdict("adam, master", s->tokens, s->width, 1, alike(&master, 16));
	verdict("adam, moments", s->tokens, s->width, 1, alike(&m, 16) && alike(&v, 16));
	free_pair(w);
	free_pair(master);
	free_pair(m);
	free_pair(v);
	free_pair(g);
}

static void
test_addresses(void)
{
	enum { N = 700 };
	const void **from = room(N * sizeof(void *)), **to = room(N * sizeof(void *));
	int i;

	for (i = 0; i < N; i++)
		from[i] = &from[i];
	cuda_store_addresses(NULL, to, from, N);
	verdict("addresses", N, 1, 1, memcmp(from, to, N * sizeof(void *)) == 0);
	free(from);
	free(to);
}

/* No token; one; widths that are no multiple of a word, of a block, wider than norm's tile. */
static const struct size sizes[] = {{0, 64, 4, 2}, {1, 8, 1, 1}, {1, 1, 2, 2}, {3, 7, 5, 2},
    {5, 255, 8, 3}, {9, 256, 8, 8}, {17, 264, 64, 6}, {300, 24, 16, 4}, {2, 8200, 4, 1},
    {64, 12, 4, 1}};

int
main(void)
{
	static struct backend_ops ops;
	size_t i;

	host_kernels(&ops);
	host.ops = &ops;
	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		const struct size *s = &sizes[i];

		test_gather(s);
		test_combine(s);
		test_combine_back(s);
		test_activations(s);
		test_norm(s, s->width);
		test_norm(s, s->width - s->width / 3);
		test_bias(s);
		test_gate(s, 1);
		test_gate(s, s->width);
		test_copy(s);
		test_gates(s);
		test_sum(s);
		test_scatter(s);
		test_loss(s);
		test_adam(s);
	}
	test_addresses();
	printf("%d passed, %d failed\n", passed, failed);
	return failed != 0;
}
