/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_CUDA_GRID_H
#define MOEPLAN_CUDA_GRID_H

/*
 * How kernels are launched, and how their threads share the work out. A test that runs kernels on a
 * host has launches and smaller sizes of its own.
 */
#ifndef LAUNCH
#define THREADS 256
#define LAUNCH(kernel, blocks, stream, ...)                                                        \
	kernel<<<blocks, THREADS, 0, static_cast<cudaStream_t>(stream)>>>(__VA_ARGS__)
#define MOST_BLOCKS (1 << 16)
#endif

enum { WARP = 32 };

static inline unsigned
at_most(int64_t blocks)
{
	return (unsigned)(blocks < MOST_BLOCKS ? blocks : MOST_BLOCKS);
}

static inline unsigned
blocks_for(int64_t items)
{
	return at_most((items + THREADS - 1) / THREADS);
}

static inline unsigned
warps_for(int64_t rows)
{
	return blocks_for(rows * WARP);
}

#define EACH(i, n)                                                                                 \
	for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < (n);                  \
	     i += (int64_t)gridDim.x * blockDim.x)
/* One block a row, since a division an element would cost more than the row's bytes. */
#define EACH_ROW(row, n) for (int64_t row = blockIdx.x; row < (n); row += gridDim.x)
#define EACH_COL(i, n) for (int64_t i = threadIdx.x; i < (n); i += blockDim.x)
/* One warp a row, where a block would have more threads than the row has elements. */
#define EACH_WARP(row, n)                                                                          \
	for (int64_t row = ((int64_t)blockIdx.x * blockDim.x + threadIdx.x) / WARP; row < (n);     \
	     row += (int64_t)gridDim.x * blockDim.x / WARP)
#define EACH_LANE(i, n) for (int64_t i = threadIdx.x % WARP; i < (n); i += WARP)

#endif
