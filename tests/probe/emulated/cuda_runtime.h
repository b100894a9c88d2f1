/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef EMULATED_CUDA_RUNTIME_H
#define EMULATED_CUDA_RUNTIME_H

/*
 * Stands in for CUDA's header of that name when the probe's kernels are compiled for a host: what
 * they use of the language, and launches that run their threads one after the other (emulated.c).
 */
#include <math.h>
#include <stddef.h>
#include <stdint.h>

#include "tests/probe/emulated.h"

#define __global__
#define __device__
#define __shared__ static /* blocks run one after the other */

typedef struct CUstream_st *cudaStream_t;
typedef int cudaError_t;
enum { cudaSuccess = 0 };

struct alignas(16) uint4 {
	unsigned x, y, z, w;
};

#define threadIdx (emulated_place.thread)
#define blockIdx (emulated_place.block)
#define blockDim (emulated_place.threads)
#define gridDim (emulated_place.blocks)

extern "C" cudaError_t cudaGetLastError(void);
extern "C" cudaError_t cudaMemsetAsync(void *to, int byte, size_t bytes, cudaStream_t stream);

static inline void
__syncthreads()
{
	emulated_barrier();
}

static inline float
__shfl_xor_sync(unsigned mask, float value, int lanes)
{
	return emulated_shuffle(mask, value, threadIdx.x % 32 ^ (unsigned)lanes);
}

static inline float
atomicAdd(float *to, float value)
{
	float before = *to;

	*to += value;
	return before;
}

#define __expf(x) expf(x) /* libm has another of that name */

static inline float
rsqrtf(float x)
{
	return 1 / sqrtf(x);
}

/* Few and small blocks, so that small arrays have grids that stride. */
#define THREADS 64
#define MOST_BLOCKS 5
#define LAUNCH(kernel, blocks, stream, ...)                                                        \
	emulated_launch(stream, blocks, THREADS, [=] { kernel(__VA_ARGS__); })

template <typename body>
static void
emulated_launch(void *stream, unsigned blocks, unsigned threads, const body &kernel)
{
	emulated_post(
	    stream, blocks, threads, [](void *copy) { (*static_cast<body *>(copy))(); },
	    [](void *copy) { delete static_cast<body *>(copy); }, new body(kernel));
}

#endif
