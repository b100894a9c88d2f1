/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_CUDA_WORDS_H
#define MOEPLAN_CUDA_WORDS_H

/* What the kernels share on the device: rows as words of bf16, sums over a block. */
#include <cuda_bf16.h>
#include <cuda_runtime.h>
#include <string.h>

#include "probe/cuda_grid.h"
#include "probe/cuda_kernels.h"

typedef __nv_bfloat16 bf16;

/* Rows move as words of eight elements or of one. */
static inline __device__ void
unpack(const uint4 &word, float *values)
{
	__nv_bfloat162 pairs[4];

	memcpy(pairs, &word, sizeof(word)); /* a cast would alias: compilers may reorder */
	for (int i = 0; i < 4; i++) {
		float2 pair = __bfloat1622float2(pairs[i]);

		values[2 * i] = pair.x;
		values[2 * i + 1] = pair.y;
	}
}

static inline __device__ void
unpack(const bf16 &word, float *values)
{
	values[0] = __bfloat162float(word);
}

static inline __device__ void
pack(const float *values, uint4 *word)
{
	__nv_bfloat162 pairs[4];

	for (int i = 0; i < 4; i++)
		pairs[i] = __floats2bfloat162_rn(values[2 * i], values[2 * i + 1]);
	memcpy(word, pairs, sizeof(pairs));
}

static inline __device__ void
pack(const float *values, bf16 *word)
{
	*word = __float2bfloat16(values[0]);
}

static inline bool
wide(int64_t width, const void *a, const void *b, const void *c)
{
	uintptr_t all = reinterpret_cast<uintptr_t>(a) | reinterpret_cast<uintptr_t>(b) |
			reinterpret_cast<uintptr_t>(c);

	return width % 8 == 0 && all % 16 == 0;
}

/* Sum over a warp; every lane gets it. */
static inline __device__ float
warp_sum(float value)
{
	for (int lanes = WARP / 2; lanes > 0; lanes /= 2)
		value += __shfl_xor_sync(0xffffffffu, value, lanes);
	return value;
}

/* Sum over a block of THREADS; every thread gets it. */
static inline __device__ float
block_sum(float value)
{
	__shared__ float parts[THREADS / WARP];
	float sum = 0;

	value = warp_sum(value);
	__syncthreads();
	if (threadIdx.x % WARP == 0)
		parts[threadIdx.x / WARP] = value;
	__syncthreads();
	for (int i = 0; i < THREADS / WARP; i++)
		sum += parts[i];
	return sum;
}

#endif
