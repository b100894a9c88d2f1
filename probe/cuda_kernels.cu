/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The kernels of host_kernels.c on a GPU: bf16 in memory, float in registers. Plain CUDA, one
 * thread block a row where a row is summed, grid-stride loops elsewhere; rows move 16 bytes at a
 * time where their width allows it.
 */
#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include "probe/cuda_kernels.h"

typedef __nv_bfloat16 bf16;

enum { THREADS = 256 };
static const int64_t MOST_BLOCKS = 1 << 16;

static unsigned
blocks_for(int64_t items)
{
	int64_t blocks = (items + THREADS - 1) / THREADS;

	return (unsigned)(blocks < MOST_BLOCKS ? blocks : MOST_BLOCKS);
}

#define STREAM static_cast<cudaStream_t>(stream)
#define EACH(i, n)                                                                                 \
	for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < (n);                  \
	     i += (int64_t)gridDim.x * blockDim.x)

/* --- rows ---------------------------------------------------------------------------------------- */

template <typename word>
static __global__ void
gather_rows(word *out, const word *in, const int32_t *rows, int64_t n, int64_t words)
{
	EACH(i, n * words)
	{
		int32_t row = rows[i / words];

		out[i] = row < 0 ? word() : in[row * words + i % words];
	}
}

struct word16 {
	uint4 bits;
	__device__ word16() : bits(make_uint4(0, 0, 0, 0)) {}
};

int
cuda_gather(void *stream, void *out, const void *in, const int32_t *rows, int64_t n, int64_t width)
{
	if (n == 0)
		return 0;
	if (width % 8 == 0)
		gather_rows<<<blocks_for(n * width / 8), THREADS, 0, STREAM>>>(
		    static_cast<word16 *>(out), static_cast<const word16 *>(in), rows, n, width / 8);
	else
		gather_rows<<<blocks_for(n * width), THREADS, 0, STREAM>>>(static_cast<uint16_t *>(out),
		    static_cast<const uint16_t *>(in), rows, n, width);
	return cudaGetLastError();
}

static __global__ void
combine_rows(bf16 *out, const bf16 *in, const int32_t *slots, const float *gates, int64_t tokens,
    int top_k, int64_t width)
{
	EACH(i, tokens * width)
	{
		int64_t token = i / width, col = i % width;
		float sum = 0;

		for (int j = 0; j < top_k; j++) {
			int32_t slot = slots[token * top_k + j];

			if (slot >= 0)
				sum += (gates ? gates[token * top_k + j] : 1.0f) *
				       __bfloat162float(in[slot * width + col]);
		}
		out[i] = __float2bfloat16(sum);
	}
}

int
cuda_combine(void *stream, void *out, const void *in, const int32_t *slots, const float *gates,
    int64_t tokens, int top_k, int64_t width)
{
	if (tokens == 0)
		return 0;
	combine_rows<<<blocks_for(tokens * width), THREADS, 0, STREAM>>>(
	    static_cast<bf16 *>(out), static_cast<const bf16 *>(in), slots, gates, tokens, top_k, width);
	return cudaGetLastError();
}

int
cuda_gather_back(void *stream, void *din, const void *dout, const int32_t *slots, int64_t tokens,
    int top_k, int64_t width)
{
	return cuda_combine(stream, din, dout, slots, nullptr, tokens, top_k, width);
}

/* Sum over a block of THREADS; every thread gets it. */
static __device__ float
block_sum(float value)
{
	__shared__ float parts[THREADS / 32];
	float sum = 0;

	for (int offset = 16; offset > 0; offset /= 2)
		value += __shfl_down_sync(0xffffffffu, value, offset);
	__syncthreads();
	if (threadIdx.x % 32 == 0)
		parts[threadIdx.x / 32] = value;
	__syncthreads();
	for (int i = 0; i < THREADS / 32; i++)
		sum += parts[i];
	return sum;
}

/* One block a token and choice. */
static __global__ void
combine_rows_back(bf16 *din, float *dgates, const bf16 *dout, const bf16 *in, const int32_t *slots,
    const float *gates, int64_t choices, int top_k, int64_t width)
{
	for (int64_t at = blockIdx.x; at < choices; at += gridDim.x) {
		int32_t slot = slots[at];
		const bf16 *grad = dout + at / top_k * width;
		float sum = 0;

		for (int64_t i = threadIdx.x; slot >= 0 && i < width; i += blockDim.x) {
			float g = __bfloat162float(grad[i]);

			din[slot * width + i] = __float2bfloat16(gates[at] * g);
			sum += g * __bfloat162float(in[slot * width + i]);
		}
		sum = block_sum(sum);
		if (threadIdx.x == 0)
			dgates[at] = sum;
	}
}

int
cuda_combine_back(void *stream, void *din, float *dgates, const void *dout, const void *in,
    const int32_t *slots, const float *gates, int64_t tokens, int top_k, int64_t width)
{
	int64_t choices = tokens * top_k;

	if (choices == 0)
		return 0;
	combine_rows_back<<<(unsigned)(choices < MOST_BLOCKS ? choices : MOST_BLOCKS), THREADS, 0, STREAM>>>(
	    static_cast<bf16 *>(din), dgates, static_cast<const bf16 *>(dout),
	    static_cast<const bf16 *>(in), slots, gates, choices, top_k, width);
	return cudaGetLastError();
}

/* --- activations --------------------------------------------------------------------------------- */

static __global__ void
swiglu_pairs(bf16 *out, const __nv_bfloat162 *in, int64_t n)
{
	EACH(i, n)
	{
		float2 pair = __bfloat1622float2(in[i]);

		out[i] = __float2bfloat16(pair.x / (1 + __expf(-pair.x)) * pair.y);
	}
}

int
cuda_swiglu(void *stream, void *out, const void *in, int64_t n)
{
	if (n == 0)
		return 0;
	swiglu_pairs<<<blocks_for(n), THREADS, 0, STREAM>>>(
	    static_cast<bf16 *>(out), static_cast<const __nv_bfloat162 *>(in), n);
	return cudaGetLastError();
}

static __global__ void
swiglu_pairs_back(__nv_bfloat162 *din, const bf16 *dout, const __nv_bfloat162 *in, int64_t n)
{
	EACH(i, n)
	{
		float2 pair = __bfloat1622float2(in[i]);
		float grad = __bfloat162float(dout[i]), sigmoid = 1 / (1 + __expf(-pair.x));

		din[i] = __floats2bfloat162_rn(
		    grad * pair.y * sigmoid * (1 + pair.x * (1 - sigmoid)), grad * pair.x * sigmoid);
	}
}

int
cuda_swiglu_back(void *stream, void *din, const void *dout, const void *in, int64_t n)
{
	if (n == 0)
		return 0;
	swiglu_pairs_back<<<blocks_for(n), THREADS, 0, STREAM>>>(static_cast<__nv_bfloat162 *>(din),
	    static_cast<const bf16 *>(dout), static_cast<const __nv_bfloat162 *>(in), n);
	return cudaGetLastError();
}

static __global__ void
relu2_each(bf16 *out, const bf16 *in, int64_t n)
{
	EACH(i, n)
	{
		float x = fmaxf(__bfloat162float(in[i]), 0);

		out[i] = __float2bfloat16(x * x);
	}
}

int
cuda_relu2(void *stream, void *out, const void *in, int64_t n)
{
	if (n == 0)
		return 0;
	relu2_each<<<blocks_for(n), THREADS, 0, STREAM>>>(
	    static_cast<bf16 *>(out), static_cast<const bf16 *>(in), n);
	return cudaGetLastError();
}

static __global__ void
relu2_each_back(bf16 *din, const bf16 *dout, const bf16 *in, int64_t n)
{
	EACH(i, n)
	{
		float x = fmaxf(__bfloat162float(in[i]), 0);

		din[i] = __float2bfloat16(2 * x * __bfloat162float(dout[i]));
	}
}

int
cuda_relu2_back(void *stream, void *din, const void *dout, const void *in, int64_t n)
{
	if (n == 0)
		return 0;
	relu2_each_back<<<blocks_for(n), THREADS, 0, STREAM>>>(static_cast<bf16 *>(din),
	    static_cast<const bf16 *>(dout), static_cast<const bf16 *>(in), n);
	return cudaGetLastError();
}

static __global__ void
add_each(bf16 *to, const bf16 *from, int64_t n)
{
	EACH(i, n) to[i] = __float2bfloat16(__bfloat162float(to[i]) + __bfloat162float(from[i]));
}

static __global__ void
add_eight(uint4 *to, const uint4 *from, int64_t n)
{
	EACH(i, n)
	{
		uint4 a = to[i], b = from[i];
		__nv_bfloat162 *x = reinterpret_cast<__nv_bfloat162 *>(&a);
		const __nv_bfloat162 *y = reinterpret_cast<const __nv_bfloat162 *>(&b);

		for (int j = 0; j < 4; j++) {
			float2 p = __bfloat1622float2(x[j]), q = __bfloat1622float2(y[j]);

			x[j] = __floats2bfloat162_rn(p.x + q.x, p.y + q.y);
		}
		to[i] = a;
	}
}

int
cuda_add(void *stream, void *to, const void *from, int64_t n)
{
	bool aligned = n % 8 == 0 && reinterpret_cast<uintptr_t>(to) % 16 == 0 &&
		       reinterpret_cast<uintptr_t>(from) % 16 == 0;

	if (n == 0)
		return 0;
	if (aligned)
		add_eight<<<blocks_for(n / 8), THREADS, 0, STREAM>>>(
		    static_cast<uint4 *>(to), static_cast<const uint4 *>(from), n / 8);
	else
		add_each<<<blocks_for(n), THREADS, 0, STREAM>>>(
		    static_cast<bf16 *>(to), static_cast<const bf16 *>(from), n);
	return cudaGetLastError();
}

/* --- norm ---------------------------------------------------------------------------------------- */

#define NORM_EPSILON 1e-6f

static __device__ float
inverse_rms(const bf16 *row, int64_t width)
{
	float sum = 0;

	for (int64_t i = threadIdx.x; i < width; i += blockDim.x) {
		float x = __bfloat162float(row[i]);

		sum += x * x;
	}
	return rsqrtf(block_sum(sum) / (float)width + NORM_EPSILON);
}

static __global__ void
norm_rows(bf16 *out, const bf16 *in, const bf16 *scale, int64_t rows, int64_t width)
{
	for (int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
		float r = inverse_rms(in + row * width, width);

		for (int64_t i = threadIdx.x; i < width; i += blockDim.x)
			out[row * width + i] = __float2bfloat16(
			    __bfloat162float(in[row * width + i]) * r * __bfloat162float(scale[i]));
	}
}

int
cuda_norm(void *stream, void *out, const void *in, const void *scale, int64_t rows, int64_t width)
{
	if (rows == 0)
		return 0;
	norm_rows<<<(unsigned)(rows < MOST_BLOCKS ? rows : MOST_BLOCKS), THREADS, 0, STREAM>>>(
	    static_cast<bf16 *>(out), static_cast<const bf16 *>(in), static_cast<const bf16 *>(scale), rows,
	    width);
	return cudaGetLastError();
}

/* A block takes every gridDim-th row; its share of dscale is added once a column at the end of a row. */
static __global__ void
norm_rows_back(bf16 *din, float *dscale, const bf16 *dout, const bf16 *in, const bf16 *scale,
    int64_t rows, int64_t width)
{
	for (int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
		const bf16 *x = in + row * width, *grad = dout + row * width;
		float r = inverse_rms(x, width), dot = 0;

		for (int64_t i = threadIdx.x; i < width; i += blockDim.x)
			dot += __bfloat162float(grad[i]) * __bfloat162float(scale[i]) * __bfloat162float(x[i]);
		dot = block_sum(dot) * r * r / (float)width;
		for (int64_t i = threadIdx.x; i < width; i += blockDim.x) {
			float xi = __bfloat162float(x[i]), g = __bfloat162float(grad[i]);

			atomicAdd(&dscale[i], g * xi * r);
			din[row * width + i] =
			    __float2bfloat16(r * (g * __bfloat162float(scale[i]) - xi * dot));
		}
	}
}

int
cuda_norm_back(void *stream, void *din, float *dscale, const void *dout, const void *in,
    const void *scale, int64_t rows, int64_t width)
{
	if (rows == 0)
		return 0;
	norm_rows_back<<<(unsigned)(rows < MOST_BLOCKS ? rows : MOST_BLOCKS), THREADS, 0, STREAM>>>(
	    static_cast<bf16 *>(din), dscale, static_cast<const bf16 *>(dout), static_cast<const bf16 *>(in),
	    static_cast<const bf16 *>(scale), rows, width);
	return cudaGetLastError();
}

/* --- gates and optimizer ------------------------------------------------------------------------- */

static __global__ void
gates_each(float *gates, const bf16 *logits, const int32_t *chosen, int64_t tokens, int top_k,
    int64_t experts)
{
	EACH(t, tokens)
	{
		const bf16 *row = logits + t * experts;
		const int32_t *picked = chosen + t * top_k;
		float *out = gates + t * top_k, most = -3e38f, sum = 0;

		for (int j = 0; j < top_k; j++)
			most = fmaxf(most, __bfloat162float(row[picked[j]]));
		for (int j = 0; j < top_k; j++)
			sum += out[j] = __expf(__bfloat162float(row[picked[j]]) - most);
		for (int j = 0; j < top_k; j++)
			out[j] /= sum;
	}
}

int
cuda_gates(void *stream, float *gates, const void *logits, const int32_t *chosen, int64_t tokens,
    int top_k, int64_t experts)
{
	if (tokens == 0)
		return 0;
	gates_each<<<blocks_for(tokens), THREADS, 0, STREAM>>>(
	    gates, static_cast<const bf16 *>(logits), chosen, tokens, top_k, experts);
	return cudaGetLastError();
}

static __global__ void
gates_each_back(bf16 *dlogits, const float *dgates, const float *gates, const int32_t *chosen,
    int64_t tokens, int top_k, int64_t experts)
{
	EACH(t, tokens)
	{
		const float *gate = gates + t * top_k, *grad = dgates + t * top_k;
		float dot = 0;

		for (int j = 0; j < top_k; j++)
			dot += gate[j] * grad[j];
		for (int j = 0; j < top_k; j++)
			dlogits[t * experts + chosen[t * top_k + j]] =
			    __float2bfloat16(gate[j] * (grad[j] - dot));
	}
}

int
cuda_gates_back(void *stream, void *dlogits, const float *dgates, const float *gates,
    const int32_t *chosen, int64_t tokens, int top_k, int64_t experts)
{
	cudaError_t error;

	if (tokens == 0)
		return 0;
	error = cudaMemsetAsync(dlogits, 0, (size_t)(tokens * experts) * sizeof(bf16), STREAM);
	if (error != cudaSuccess)
		return error;
	gates_each_back<<<blocks_for(tokens), THREADS, 0, STREAM>>>(
	    static_cast<bf16 *>(dlogits), dgates, gates, chosen, tokens, top_k, experts);
	return cudaGetLastError();
}

struct adam_values {
	float rate, beta1, beta2, epsilon, correction1, correction2;
};

static __global__ void
adam_each(bf16 *weights, float *master, float *m, float *v, const float *gradient, int64_t n,
    adam_values a)
{
	EACH(i, n)
	{
		float g = gradient[i];
		float first = a.beta1 * m[i] + (1 - a.beta1) * g;
		float second = a.beta2 * v[i] + (1 - a.beta2) * g * g;
		float w = master[i] -
			  a.rate * (first / a.correction1) / (sqrtf(second / a.correction2) + a.epsilon);

		m[i] = first;
		v[i] = second;
		master[i] = w;
		weights[i] = __float2bfloat16(w);
	}
}

int
cuda_adam(void *stream, void *weights, float *master, float *m, float *v, const float *gradient,
    int64_t n, const float values[6])
{
	adam_values a = {values[0], values[1], values[2], values[3], values[4], values[5]};

	if (n == 0)
		return 0;
	adam_each<<<blocks_for(n), THREADS, 0, STREAM>>>(
	    static_cast<bf16 *>(weights), master, m, v, gradient, n, a);
	return cudaGetLastError();
}
