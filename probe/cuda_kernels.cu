/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The kernels of host_kernels.c on a GPU: bf16 in memory, float in registers. Plain CUDA, one
 * thread block a row where a row is summed, grid-stride loops elsewhere; rows move 16 bytes at a
 * time where their width allows it.
 */
#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include "probe/cuda_grid.h"
#include "probe/cuda_kernels.h"

typedef __nv_bfloat16 bf16;

/* --- rows --------------------------------------------------------------------------------- */

/* Rows move as words of eight elements or of one. */
static __device__ void
unpack(const uint4 &word, float *values)
{
	const __nv_bfloat162 *pairs = reinterpret_cast<const __nv_bfloat162 *>(&word);

	for (int i = 0; i < 4; i++) {
		float2 pair = __bfloat1622float2(pairs[i]);

		values[2 * i] = pair.x;
		values[2 * i + 1] = pair.y;
	}
}

static __device__ void
unpack(const bf16 &word, float *values)
{
	values[0] = __bfloat162float(word);
}

static __device__ void
pack(const float *values, uint4 *word)
{
	__nv_bfloat162 *pairs = reinterpret_cast<__nv_bfloat162 *>(word);

	for (int i = 0; i < 4; i++)
		pairs[i] = __floats2bfloat162_rn(values[2 * i], values[2 * i + 1]);
}

static __device__ void
pack(const float *values, bf16 *word)
{
	*word = __float2bfloat16(values[0]);
}

static bool
wide(int64_t width, const void *a, const void *b, const void *c)
{
	uintptr_t all = reinterpret_cast<uintptr_t>(a) | reinterpret_cast<uintptr_t>(b) |
			reinterpret_cast<uintptr_t>(c);

	return width % 8 == 0 && all % 16 == 0;
}

template <typename word>
static __global__ void
gather_rows(word *out, const word *in, const int32_t *rows, int64_t n, int64_t words)
{
	EACH_ROW(row, n)
	{
		int64_t from = rows[row];

		EACH_COL(i, words) out[row * words + i] = from < 0 ? word() : in[from * words + i];
	}
}

int
cuda_gather(void *stream, void *out, const void *in, const int32_t *rows, int64_t n, int64_t width)
{
	if (n == 0)
		return 0;
	if (wide(width, out, in, nullptr))
		LAUNCH(gather_rows, at_most(n), stream, static_cast<uint4 *>(out),
		    static_cast<const uint4 *>(in), rows, n, width / 8);
	else
		LAUNCH(gather_rows, at_most(n), stream, static_cast<uint16_t *>(out),
		    static_cast<const uint16_t *>(in), rows, n, width);
	return cudaGetLastError();
}

template <typename word>
static __global__ void
combine_rows(word *out, const word *in, const int32_t *slots, const float *gates, int64_t tokens,
    int top_k, int64_t words)
{
	enum { LANES = sizeof(word) / sizeof(bf16) };

	EACH_ROW(token, tokens)
	EACH_COL(i, words)
	{
		float sum[LANES] = {0}, values[LANES];

		for (int j = 0; j < top_k; j++) {
			int64_t slot = slots[token * top_k + j];
			float gate = gates ? gates[token * top_k + j] : 1.0f;

			if (slot < 0)
				continue;
			unpack(in[slot * words + i], values);
			for (int lane = 0; lane < LANES; lane++)
				sum[lane] += gate * values[lane];
		}
		pack(sum, &out[token * words + i]);
	}
}

int
cuda_combine(void *stream, void *out, const void *in, const int32_t *slots, const float *gates,
    int64_t tokens, int top_k, int64_t width)
{
	if (tokens == 0)
		return 0;
	if (wide(width, out, in, nullptr))
		LAUNCH(combine_rows, at_most(tokens), stream, static_cast<uint4 *>(out),
		    static_cast<const uint4 *>(in), slots, gates, tokens, top_k, width / 8);
	else
		LAUNCH(combine_rows, at_most(tokens), stream, static_cast<bf16 *>(out),
		    static_cast<const bf16 *>(in), slots, gates, tokens, top_k, width);
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
template <typename word>
static __global__ void
combine_rows_back(word *din, float *dgates, const word *dout, const word *in, const int32_t *slots,
    const float *gates, int64_t choices, int top_k, int64_t words)
{
	enum { LANES = sizeof(word) / sizeof(bf16) };

	EACH_ROW(at, choices)
	{
		int64_t slot = slots[at];
		const word *gradient = dout + at / top_k * words;
		float sum = 0, gate = gates[at];

		EACH_COL(i, slot < 0 ? 0 : words)
		{
			float grad[LANES], values[LANES];

			unpack(gradient[i], grad);
			unpack(in[slot * words + i], values);
			for (int lane = 0; lane < LANES; lane++) {
				sum += grad[lane] * values[lane];
				grad[lane] *= gate;
			}
			pack(grad, &din[slot * words + i]);
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
	if (wide(width, din, dout, in))
		LAUNCH(combine_rows_back, at_most(choices), stream, static_cast<uint4 *>(din),
		    dgates, static_cast<const uint4 *>(dout), static_cast<const uint4 *>(in), slots,
		    gates, choices, top_k, width / 8);
	else
		LAUNCH(combine_rows_back, at_most(choices), stream, static_cast<bf16 *>(din),
		    dgates, static_cast<const bf16 *>(dout), static_cast<const bf16 *>(in), slots,
		    gates, choices, top_k, width);
	return cudaGetLastError();
}

/* --- activations -------------------------------------------------------------------------- */

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
	LAUNCH(swiglu_pairs, blocks_for(n), stream, static_cast<bf16 *>(out),
	    static_cast<const __nv_bfloat162 *>(in), n);
	return cudaGetLastError();
}

static __global__ void
swiglu_pairs_back(__nv_bfloat162 *din, const bf16 *dout, const __nv_bfloat162 *in, int64_t n)
{
	EACH(i, n)
	{
		float2 pair = __bfloat1622float2(in[i]);
		float grad = __bfloat162float(dout[i]), sigmoid = 1 / (1 + __expf(-pair.x));

		din[i] =
		    __floats2bfloat162_rn(grad * pair.y * sigmoid * (1 + pair.x * (1 - sigmoid)),
			grad * pair.x * sigmoid);
	}
}

int
cuda_swiglu_back(void *stream, void *din, const void *dout, const void *in, int64_t n)
{
	if (n == 0)
		return 0;
	LAUNCH(swiglu_pairs_back, blocks_for(n), stream, static_cast<__nv_bfloat162 *>(din),
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
	LAUNCH(relu2_each, blocks_for(n), stream, static_cast<bf16 *>(out),
	    static_cast<const bf16 *>(in), n);
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
	LAUNCH(relu2_each_back, blocks_for(n), stream, static_cast<bf16 *>(din),
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
		LAUNCH(add_eight, blocks_for(n / 8), stream, static_cast<uint4 *>(to),
		    static_cast<const uint4 *>(from), n / 8);
	else
		LAUNCH(add_each, blocks_for(n), stream, static_cast<bf16 *>(to),
		    static_cast<const bf16 *>(from), n);
	return cudaGetLastError();
}

static __global__ void
sum_each(float *to, const float *from, int64_t n)
{
	EACH(i, n) to[i] += from[i];
}

int
cuda_sum(void *stream, float *to, const float *from, int64_t n)
{
	if (n == 0)
		return 0;
	LAUNCH(sum_each, blocks_for(n), stream, to, from, n);
	return cudaGetLastError();
}

/* --- norm --------------------------------------------------------------------------------- */

#define NORM_EPSILON 1e-6f

static __device__ float
inverse_rms(const bf16 *row, int64_t width)
{
	float sum = 0;

	EACH_COL(i, width)
	{
		float x = __bfloat162float(row[i]);

		sum += x * x;
	}
	return rsqrtf(block_sum(sum) / (float)width + NORM_EPSILON);
}

static __global__ void
norm_rows(bf16 *out, const bf16 *in, const bf16 *scale, int64_t rows, int64_t width)
{
	EACH_ROW(row, rows)
	{
		float r = inverse_rms(in + row * width, width);

		EACH_COL(i, width)
		out[row * width + i] = __float2bfloat16(
		    __bfloat162float(in[row * width + i]) * r * __bfloat162float(scale[i]));
	}
}

int
cuda_norm(void *stream, void *out, const void *in, const void *scale, int64_t rows, int64_t width)
{
	if (rows == 0)
		return 0;
	LAUNCH(norm_rows, at_most(rows), stream, static_cast<bf16 *>(out),
	    static_cast<const bf16 *>(in), static_cast<const bf16 *>(scale), rows, width);
	return cudaGetLastError();
}

/*
 * Columns of dscale are summed in the block's own memory, up to TILE of them, and added to the
 * whole once a block: an addition a row and column would queue up at the few addresses of dscale.
 * There are no more blocks than fill a GPU, so that each has many rows.
 */
enum { TILE = 8192, NORM_BLOCKS = 1024 };

static __global__ void
norm_rows_back(bf16 *din, float *dscale, const bf16 *dout, const bf16 *in, const bf16 *scale,
    int64_t rows, int64_t width)
{
	__shared__ float tile[TILE];

	EACH_COL(i, width < TILE ? width : (int64_t)TILE) tile[i] = 0;
	EACH_ROW(row, rows)
	{
		const bf16 *x = in + row * width, *grad = dout + row * width;
		float r = inverse_rms(x, width), dot = 0;

		EACH_COL(i, width)
		dot +=
		    __bfloat162float(grad[i]) * __bfloat162float(scale[i]) * __bfloat162float(x[i]);
		dot = block_sum(dot) * r * r / (float)width;
		EACH_COL(i, width)
		{
			float xi = __bfloat162float(x[i]), g = __bfloat162float(grad[i]);

			if (i < TILE)
				tile[i] += g * xi * r; /* the column is this thread's alone */
			else
				atomicAdd(&dscale[i], g * xi * r);
			din[row * width + i] =
			    __float2bfloat16(r * (g * __bfloat162float(scale[i]) - xi * dot));
		}
	}
	EACH_COL(i, width < TILE ? width : (int64_t)TILE) atomicAdd(&dscale[i], tile[i]);
}

int
cuda_norm_back(void *stream, void *din, float *dscale, const void *dout, const void *in,
    const void *scale, int64_t rows, int64_t width)
{
	if (rows == 0)
		return 0;
	LAUNCH(norm_rows_back, at_most(rows < NORM_BLOCKS ? rows : (int64_t)NORM_BLOCKS), stream,
	    static_cast<bf16 *>(din), dscale, static_cast<const bf16 *>(dout),
	    static_cast<const bf16 *>(in), static_cast<const bf16 *>(scale), rows, width);
	return cudaGetLastError();
}

/* --- gates and optimizer ------------------------------------------------------------------ */

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
	LAUNCH(gates_each, blocks_for(tokens), stream, gates, static_cast<const bf16 *>(logits),
	    chosen, tokens, top_k, experts);
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
	error = cudaMemsetAsync(dlogits, 0, (size_t)(tokens * experts) * sizeof(bf16),
	    static_cast<cudaStream_t>(stream));
	if (error != cudaSuccess)
		return error;
	LAUNCH(gates_each_back, blocks_for(tokens), stream, static_cast<bf16 *>(dlogits), dgates,
	    gates, chosen, tokens, top_k, experts);
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
		float w = master[i] - a.rate * (first / a.correction1) /
					  (sqrtf(second / a.correction2) + a.epsilon);

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
	LAUNCH(adam_each, blocks_for(n), stream, static_cast<bf16 *>(weights), master, m, v,
	    gradient, n, a);
	return cudaGetLastError();
}

/* --- addresses ---------------------------------------------------------------------------- */

enum { AT_ONCE = 256 }; /* 2 KiB of the 4 KiB that a launch may carry */
struct addresses {
	const void *values[AT_ONCE];
};

static __global__ void
store_each(const void **to, addresses from, int n)
{
	EACH(i, n) to[i] = from.values[i];
}

int
cuda_store_addresses(void *stream, const void **to, const void *const *from, int n)
{
	for (int at = 0; at < n; at += AT_ONCE) {
		addresses some;
		int count = n - at < AT_ONCE ? n - at : AT_ONCE;

		for (int i = 0; i < count; i++)
			some.values[i] = from[at + i];
		LAUNCH(store_each, blocks_for(count), stream, to + at, some, count);
	}
	return cudaGetLastError();
}
