/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Each element, or each token, by itself on a GPU: activations, additions, gates, the optimizer.
 * bf16 in memory, float in registers; grid-stride loops. Formulas as in host_kernels.c.
 */
#include "probe/cuda_words.cuh"

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
		float sum[8], more[8];

		unpack(to[i], sum);
		unpack(from[i], more);
		for (int j = 0; j < 8; j++)
			sum[j] += more[j];
		pack(sum, &to[i]);
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
