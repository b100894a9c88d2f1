/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What do the kernels of the step compute? The plain form, in host memory, with float elements.
 *
 * SwiGLU: silu(a) b over pairs (a, b) (arXiv 2002.05202). Adam: arXiv 1412.6980, no weight decay.
 * Cross entropy of columns that are shared out, m_r the largest and s_r the sum of exp(l - m_r) on
 * rank r (Shoeybi et al., arXiv 1909.08053): loss = log(sum_r s_r exp(m_r - m)) + m - l_target,
 * gradient = softmax - target.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "probe/host_kernels.h"

static void *
host_alloc(struct backend *b, size_t bytes)
{
	(void)b;
	return malloc(bytes ? bytes : 1);
}

static void
host_release(struct backend *b, void *memory)
{
	(void)b;
	free(memory);
}

static int
host_copy(struct backend *b, enum element element, void *to, const void *from, int64_t n)
{
	(void)b;
	(void)element; /* all three take four bytes */
	if (n > 0)
		memcpy(to, from, (size_t)n * 4);
	return 0;
}

static int
host_fill(struct backend *b, void *to, int byte, size_t bytes)
{
	(void)b;
	if (bytes)
		memset(to, byte, bytes);
	return 0;
}

static int
host_gather(
    struct backend *b, void *out, const void *in, const int32_t *rows, int64_t n, int64_t width)
{
	const float *from = in;
	float *to = out;
	int64_t i;

	(void)b;
	for (i = 0; i < n; i++, to += width) {
		if (rows[i] < 0)
			memset(to, 0, (size_t)width * sizeof(*to));
		else
			memcpy(to, from + rows[i] * width, (size_t)width * sizeof(*to));
	}
	return 0;
}

static int
host_combine(struct backend *b, void *out, const void *in, const int32_t *slots, const float *gates,
    int64_t tokens, int top_k, int64_t width)
{
	const float *from = in;
	float *to = out;
	int64_t t, i;
	int j;

	(void)b;
	for (t = 0; t < tokens; t++, to += width) {
		memset(to, 0, (size_t)width * sizeof(*to));
		for (j = 0; j < top_k; j++) {
			int32_t slot = slots[t * top_k + j];

			for (i = 0; slot >= 0 && i < width; i++)
				to[i] += gates[t * top_k + j] * from[slot * width + i];
		}
	}
	return 0;
}

static int
host_combine_back(struct backend *b, void *din, float *dgates, const void *dout, const void *in,
    const int32_t *slots, const float *gates, int64_t tokens, int top_k, int64_t width)
{
	const float *from = in, *grad = dout;
	float *to = din;
	int64_t t, i;
	int j;

	(void)b;
	for (t = 0; t < tokens; t++, grad += width)
		for (j = 0; j < top_k; j++) {
			int32_t slot = slots[t * top_k + j];
			float sum = 0;

			for (i = 0; slot >= 0 && i < width; i++) {
				to[slot * width + i] = gates[t * top_k + j] * grad[i];
				sum += grad[i] * from[slot * width + i];
			}
			dgates[t * top_k + j] = sum;
		}
	return 0;
}

static int
host_gather_back(struct backend *b, void *din, const void *dout, const int32_t *slots,
    int64_t tokens, int top_k, int64_t width)
{
	const float *from = dout;
	float *to = din;
	int64_t t, i;
	int j;

	(void)b;
	for (t = 0; t < tokens; t++, to += width) {
		memset(to, 0, (size_t)width * sizeof(*to));
		for (j = 0; j < top_k; j++) {
			int32_t slot = slots[t * top_k + j];

			for (i = 0; slot >= 0 && i < width; i++)
				to[i] += from[slot * width + i];
		}
	}
	return 0;
}

static int
host_swiglu(struct backend *b, void *out, const void *in, int64_t rows, int64_t width)
{
	const float *from = in;
	float *to = out;
	int64_t i;

	(void)b;
	for (i = 0; i < rows * width; i++)
		to[i] = from[2 * i] / (1 + expf(-from[2 * i])) * from[2 * i + 1];
	return 0;
}

static int
host_swiglu_back(
    struct backend *b, void *din, const void *dout, const void *in, int64_t rows, int64_t width)
{
	const float *from = in, *grad = dout;
	float *to = din;
	int64_t i;

	(void)b;
	for (i = 0; i < rows * width; i++) {
		float gate = from[2 * i], up = from[2 * i + 1], sigmoid = 1 / (1 + expf(-gate));

		to[2 * i] = grad[i] * up * sigmoid * (1 + gate * (1 - sigmoid));
		to[2 * i + 1] = grad[i] * gate * sigmoid;
	}
	return 0;
}

static int
host_relu2(struct backend *b, void *out, const void *in, int64_t n)
{
	const float *from = in;
	float *to = out;
	int64_t i;

	(void)b;
	for (i = 0; i < n; i++)
		to[i] = from[i] > 0 ? from[i] * from[i] : 0;
	return 0;
}

static int
host_relu2_back(struct backend *b, void *din, const void *dout, const void *in, int64_t n)
{
	const float *from = in, *grad = dout;
	float *to = din;
	int64_t i;

	(void)b;
	for (i = 0; i < n; i++)
		to[i] = from[i] > 0 ? 2 * from[i] * grad[i] : 0;
	return 0;
}

static int
host_add(struct backend *b, void *to, const void *from, int64_t n)
{
	const float *y = from;
	float *x = to;
	int64_t i;

	(void)b;
	for (i = 0; i < n; i++)
		x[i] += y[i];
	return 0;
}

static int
host_gates(struct backend *b, float *gates, const void *logits, const int32_t *chosen,
    int64_t tokens, int top_k, int64_t experts)
{
	const float *from = logits;
	int64_t t;
	int j;

	(void)b;
	for (t = 0; t < tokens; t++, from += experts, chosen += top_k, gates += top_k) {
		float most = from[chosen[0]], sum = 0;

		for (j = 1; j < top_k; j++)
			most = fmaxf(most, from[chosen[j]]);
		for (j = 0; j < top_k; j++)
			sum += gates[j] = expf(from[chosen[j]] - most);
		for (j = 0; j < top_k; j++)
			gates[j] /= sum;
	}
	return 0;
}

static int
host_gates_back(struct backend *b, void *dlogits, const float *dgates, const float *gates,
    const int32_t *chosen, int64_t tokens, int top_k, int64_t experts)
{
	float *to = dlogits;
	int64_t t;
	int j;

	(void)b;
	memset(to, 0, (size_t)(tokens * experts) * sizeof(*to));
	for (t = 0; t < tokens;
	     t++, to += experts, chosen += top_k, gates += top_k, dgates += top_k) {
		float dot = 0;

		for (j = 0; j < top_k; j++)
			dot += gates[j] * dgates[j];
		for (j = 0; j < top_k; j++)
			to[chosen[j]] = gates[j] * (dgates[j] - dot);
	}
	return 0;
}

static int
host_sum(struct backend *b, float *to, const float *from, int64_t n)
{
	int64_t i;

	(void)b;
	for (i = 0; i < n; i++)
		to[i] += from[i];
	return 0;
}

static int
host_scatter_add(
    struct backend *b, float *to, const void *in, const int32_t *rows, int64_t n, int64_t width)
{
	const float *from = in;
	int64_t i, j;

	(void)b;
	for (i = 0; i < n; i++, from += width)
		for (j = 0; rows[i] >= 0 && j < width; j++)
			to[rows[i] * width + j] += from[j];
	return 0;
}

enum { STATS = 3 }; /* largest, sum, target */

static int
host_loss_stats(struct backend *b, float *stats, const void *logits, const int32_t *targets,
    int64_t rows, int64_t cols)
{
	const float *row = logits;
	int64_t i, j;

	(void)b;
	for (i = 0; i < rows; i++, row += cols, stats += STATS) {
		float most = row[0];
		double sum = 0;

		for (j = 1; j < cols; j++)
			most = fmaxf(most, row[j]);
		for (j = 0; j < cols; j++)
			sum += (double)expf(row[j] - most);
		stats[0] = most;
		stats[1] = (float)sum;
		stats[2] = targets[i] >= 0 ? row[targets[i]] : 0;
	}
	return 0;
}

/* The whole row's statistics from those of all ranks. */
static void
unite_stats(const float *stats, int ranks, int64_t stride, float whole[STATS])
{
	int r;

	whole[0] = stats[0];
	whole[1] = whole[2] = 0;
	for (r = 1; r < ranks; r++)
		whole[0] = fmaxf(whole[0], stats[r * stride]);
	for (r = 0; r < ranks; r++) {
		whole[1] += stats[r * stride + 1] * expf(stats[r * stride] - whole[0]);
		whole[2] += stats[r * stride + 2];
	}
}

static int
host_loss(struct backend *b, float *losses, void *logits, const float *stats, int ranks,
    const int32_t *targets, int64_t rows, int64_t cols)
{
	float *row = logits, whole[STATS];
	int64_t i, j;

	(void)b;
	for (i = 0; i < rows; i++, row += cols) {
		unite_stats(stats + i * STATS, ranks, rows * STATS, whole);
		losses[i] = logf(whole[1]) + whole[0] - whole[2];
		for (j = 0; j < cols; j++)
			row[j] = expf(row[j] - whole[0]) / whole[1];
		if (targets[i] >= 0)
			row[targets[i]] -= 1;
	}
	return 0;
}

static int
host_adam(struct backend *b, void *weights, float *master, float *m, float *v,
    const float *gradient, int64_t n, const struct adam *a)
{
	float *w = weights;
	int64_t i;

	(void)b;
	for (i = 0; i < n; i++) {
		m[i] = a->beta1 * m[i] + (1 - a->beta1) * gradient[i];
		v[i] = a->beta2 * v[i] + (1 - a->beta2) * gradient[i] * gradient[i];
		master[i] -=
		    a->rate * (m[i] / a->correction1) / (sqrtf(v[i] / a->correction2) + a->epsilon);
		w[i] = master[i];
	}
	return 0;
}

void
host_kernels(struct backend_ops *ops)
{
	ops->act_bytes = sizeof(float);
	ops->alloc = host_alloc;
	ops->release = host_release;
	ops->put = host_copy;
	ops->get = host_copy;
	ops->fill = host_fill;
	ops->gather = host_gather;
	ops->combine = host_combine;
	ops->combine_back = host_combine_back;
	ops->gather_back = host_gather_back;
	ops->swiglu = host_swiglu;
	ops->swiglu_back = host_swiglu_back;
	ops->relu2 = host_relu2;
	ops->relu2_back = host_relu2_back;
	ops->add = host_add;
	ops->gates = host_gates;
	ops->gates_back = host_gates_back;
	ops->sum = host_sum;
	ops->scatter_add = host_scatter_add;
	ops->loss_stats = host_loss_stats;
	ops->loss = host_loss;
	ops->adam = host_adam;
	host_norm_kernels(ops);
}
