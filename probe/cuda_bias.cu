/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Biases, gates and copies between rows of other strides, on a GPU. Formulas as in host_norm.c.
 */
#include "probe/cuda_words.cuh"

enum { CHUNK = 128 }; /* rows that a thread sums up before it adds to what all threads add to */

/* --- biases ------------------------------------------------------------------------------- */

static __global__ void
bias_rows(bf16 *to, const bf16 *bias, const int32_t *which, int64_t rows, int64_t width,
    int64_t stride)
{
	EACH_ROW(row, rows)
	{
		const bf16 *own = bias + (which ? which[row] : 0) * width;

		EACH_COL(i, width)
		{
			bf16 *at = to + row * stride + i;

			*at = __float2bfloat16(__bfloat162float(*at) + __bfloat162float(own[i]));
		}
	}
}

int
cuda_bias(void *stream, void *to, const void *bias, const int32_t *which, int64_t rows,
    int64_t width, int64_t stride)
{
	if (rows == 0 || width == 0)
		return 0;
	LAUNCH(bias_rows, at_most(rows), stream, static_cast<bf16 *>(to),
	    static_cast<const bf16 *>(bias), which, rows, width, stride);
	return cudaGetLastError();
}

/* A block has THREADS columns of CHUNK rows; rows of one bias follow each other. */
static __global__ void
bias_chunks_back(float *dbias, const bf16 *dy, const int32_t *which, int64_t rows, int64_t width,
    int64_t stride, int64_t tiles, int64_t chunks)
{
	EACH_ROW(item, tiles * chunks)
	{
		int64_t col = item % tiles * blockDim.x + threadIdx.x, first = item / tiles * CHUNK;
		int64_t last = first + CHUNK < rows ? first + CHUNK : rows;
		int32_t own = which ? which[first] : 0;
		float sum = 0;

		if (col >= width)
			continue;
		for (int64_t row = first; row < last; row++) {
			int32_t next = which ? which[row] : 0;

			if (next != own) {
				atomicAdd(&dbias[own * width + col], sum);
				own = next;
				sum = 0;
			}
			sum += __bfloat162float(dy[row * stride + col]);
		}
		atomicAdd(&dbias[own * width + col], sum);
	}
}

int
cuda_bias_back(void *stream, float *dbias, const void *dy, const int32_t *which, int64_t rows,
    int64_t width, int64_t stride)
{
	int64_t tiles = (width + THREADS - 1) / THREADS, chunks = (rows + CHUNK - 1) / CHUNK;

	if (rows == 0 || width == 0)
		return 0;
	LAUNCH(bias_chunks_back, at_most(tiles * chunks), stream, dbias,
	    static_cast<const bf16 *>(dy), which, rows, width, stride, tiles, chunks);
	return cudaGetLastError();
}

/* --- gates -------------------------------------------------------------------------------- */

static __device__ float
sigmoid(bf16 x)
{
	return 1 / (1 + __expf(-__bfloat162float(x)));
}

static __global__ void
gate_each(bf16 *out, const bf16 *in, const bf16 *gates, int64_t n)
{
	EACH(i, n) out[i] = __float2bfloat16(__bfloat162float(in[i]) * sigmoid(gates[i]));
}

static __global__ void
gate_spans(bf16 *out, const bf16 *in, const bf16 *gates, int64_t n, int64_t span)
{
	EACH_WARP(at, n)
	{
		float open = sigmoid(gates[at]);

		EACH_LANE(i, span)
		out[at * span + i] = __float2bfloat16(__bfloat162float(in[at * span + i]) * open);
	}
}

int
cuda_gate(void *stream, void *out, const void *in, const void *gates, int64_t n, int64_t span)
{
	bf16 *to = static_cast<bf16 *>(out);
	const bf16 *from = static_cast<const bf16 *>(in), *g = static_cast<const bf16 *>(gates);

	if (n == 0)
		return 0;
	if (span == 1)
		LAUNCH(gate_each, blocks_for(n), stream, to, from, g, n);
	else
		LAUNCH(gate_spans, warps_for(n / span), stream, to, from, g, n / span, span);
	return cudaGetLastError();
}

static __global__ void
gate_each_back(
    bf16 *din, bf16 *dgates, const bf16 *dout, const bf16 *in, const bf16 *gates, int64_t n)
{
	EACH(i, n)
	{
		float open = sigmoid(gates[i]), grad = __bfloat162float(dout[i]);

		dgates[i] = __float2bfloat16(grad * __bfloat162float(in[i]) * open * (1 - open));
		din[i] = __float2bfloat16(grad * open);
	}
}

static __global__ void
gate_spans_back(bf16 *din, bf16 *dgates, const bf16 *dout, const bf16 *in, const bf16 *gates,
    int64_t n, int64_t span)
{
	EACH_WARP(at, n)
	{
		float open = sigmoid(gates[at]), sum = 0;

		EACH_LANE(i, span)
		sum += __bfloat162float(dout[at * span + i]) * __bfloat162float(in[at * span + i]);
		sum = warp_sum(sum);
		EACH_LANE(i, span)
		din[at * span + i] =
		    __float2bfloat16(__bfloat162float(dout[at * span + i]) * open);
		if (threadIdx.x % WARP == 0)
			dgates[at] = __float2bfloat16(sum * open * (1 - open));
	}
}

int
cuda_gate_back(void *stream, void *din, void *dgates, const void *dout, const void *in,
    const void *gates, int64_t n, int64_t span)
{
	bf16 *to = static_cast<bf16 *>(din), *dg = static_cast<bf16 *>(dgates);
	const bf16 *grad = static_cast<const bf16 *>(dout), *from = static_cast<const bf16 *>(in);
	const bf16 *g = static_cast<const bf16 *>(gates);

	if (n == 0)
		return 0;
	if (span == 1)
		LAUNCH(gate_each_back, blocks_for(n), stream, to, dg, grad, from, g, n);
	else
		LAUNCH(gate_spans_back, warps_for(n / span), stream, to, dg, grad, from, g,
		    n / span, span);
	return cudaGetLastError();
}

/* --- rows of other strides ---------------------------------------------------------------- */

static __global__ void
copy_spans(
    bf16 *to, int64_t to_stride, const bf16 *from, int64_t from_stride, int64_t rows, int64_t width)
{
	EACH_WARP(row, rows)
	EACH_LANE(i, width) to[row * to_stride + i] = from[row * from_stride + i];
}

int
cuda_copy(void *stream, void *to, int64_t to_stride, const void *from, int64_t from_stride,
    int64_t rows, int64_t width)
{
	if (rows == 0 || width == 0)
		return 0;
	LAUNCH(copy_spans, warps_for(rows), stream, static_cast<bf16 *>(to), to_stride,
	    static_cast<const bf16 *>(from), from_stride, rows, width);
	return cudaGetLastError();
}
