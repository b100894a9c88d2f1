/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What do norms, biases and gates compute? The plain form, in host memory, with float elements.
 *
 * Norm: y = x g / sqrt(mean(x^2) + eps) (RMSNorm, arXiv 1910.07467). Gate: y = x sigmoid(g), one g
 * for `span` elements: of a head, of a token.
 */
#include <math.h>
#include <string.h>

#include "probe/host_kernels.h"

#define NORM_EPSILON 1e-6f

static float
inverse_rms(const float *row, int64_t width)
{
	double sum = 0;
	int64_t i;

	for (i = 0; i < width; i++)
		sum += (double)row[i] * row[i];
	return (float)(1 / sqrt(sum / (double)width + (double)NORM_EPSILON));
}

static int
host_norm(struct backend *b, void *out, const void *in, const void *scale, int64_t rows,
    int64_t width, int64_t stride)
{
	const float *from = in, *g = scale;
	float *to = out;
	int64_t t, i;

	(void)b;
	for (t = 0; t < rows; t++, from += stride, to += stride) {
		float r = inverse_rms(from, width);

		for (i = 0; i < width; i++)
			to[i] = from[i] * r * g[i];
	}
	return 0;
}

static int
host_norm_back(struct backend *b, void *din, float *dscale, const void *dout, const void *in,
    const void *scale, int64_t rows, int64_t width, int64_t stride)
{
	const float *from = in, *grad = dout, *g = scale;
	float *to = din;
	int64_t t, i;

	(void)b;
	for (t = 0; t < rows; t++, from += stride, grad += stride, to += stride) {
		float r = inverse_rms(from, width);
		double dot = 0;

		for (i = 0; i < width; i++) {
			dscale[i] += grad[i] * from[i] * r;
			dot += (double)grad[i] * g[i] * from[i];
		}
		dot *= (double)r * r / (double)width;
		for (i = 0; i < width; i++)
			to[i] = r * (grad[i] * g[i] - from[i] * (float)dot);
	}
	return 0;
}

static int
host_bias(struct backend *b, void *to, const void *bias, const int32_t *which, int64_t rows,
    int64_t width, int64_t stride)
{
	const float *values = bias;
	float *row = to;
	int64_t t, i;

	(void)b;
	for (t = 0; t < rows; t++, row += stride) {
		const float *own = values + (which ? which[t] : 0) * width;

		for (i = 0; i < width; i++)
			row[i] += own[i];
	}
	return 0;
}

static int
host_bias_back(struct backend *b, float *dbias, const void *dy, const int32_t *which, int64_t rows,
    int64_t width, int64_t stride)
{
	const float *row = dy;
	int64_t t, i;

	(void)b;
	for (t = 0; t < rows; t++, row += stride) {
		float *own = dbias + (which ? which[t] : 0) * width;

		for (i = 0; i < width; i++)
			own[i] += row[i];
	}
	return 0;
}

static float
sigmoid(float x)
{
	return 1 / (1 + expf(-x));
}

static int
host_gate(struct backend *b, void *out, const void *in, const void *gates, int64_t n, int64_t span)
{
	const float *from = in, *g = gates;
	float *to = out;
	int64_t at, i;

	(void)b;
	for (at = 0; at < n; at += span, g++)
		for (i = at; i < at + span; i++)
			to[i] = from[i] * sigmoid(*g);
	return 0;
}

static int
host_gate_back(struct backend *b, void *din, void *dgates, const void *dout, const void *in,
    const void *gates, int64_t n, int64_t span)
{
	const float *from = in, *g = gates, *grad = dout;
	float *to = din, *dg = dgates;
	int64_t at, i;

	(void)b;
	for (at = 0; at < n; at += span, g++, dg++) {
		float open = sigmoid(*g), sum = 0;

		for (i = at; i < at + span; i++) {
			sum += grad[i] * from[i];
			to[i] = grad[i] * open;
		}
		*dg = sum * open * (1 - open);
	}
	return 0;
}

static int
host_copy_rows(struct backend *b, void *to, int64_t to_stride, const void *from,
    int64_t from_stride, int64_t rows, int64_t width)
{
	const float *in = from;
	float *out = to;
	int64_t t;

	(void)b;
	for (t = 0; t < rows; t++, in += from_stride, out += to_stride)
		memcpy(out, in, (size_t)width * sizeof(*out));
	return 0;
}

void
host_norm_kernels(struct backend_ops *ops)
{
	ops->norm = host_norm;
	ops->norm_back = host_norm_back;
	ops->bias = host_bias;
	ops->bias_back = host_bias_back;
	ops->gate = host_gate;
	ops->gate_back = host_gate_back;
	ops->copy = host_copy_rows;
}
