/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The two ends of the model on a GPU: the embedding's gradient and cross entropy over columns that
 * are shared out over ranks. One thread block a row; formulas as in host_kernels.c.
 */
#include "probe/cuda_words.cuh"

enum { STATS = 3 };

/* Tokens repeat, so that rows of the table meet: atomic. */
static __global__ void
scatter_rows(float *to, const bf16 *in, const int32_t *rows, int64_t n, int64_t width)
{
	EACH_ROW(at, n)
	{
		int32_t row = rows[at];

		EACH_COL(i, row >= 0 ? width : 0)
		atomicAdd(&to[row * width + i], __bfloat162float(in[at * width + i]));
	}
}

int
cuda_scatter_add(
    void *stream, float *to, const void *in, const int32_t *rows, int64_t n, int64_t width)
{
	if (n == 0)
		return 0;
	LAUNCH(scatter_rows, at_most(n), stream, to, static_cast<const bf16 *>(in), rows, n, width);
	return cudaGetLastError();
}

struct pair {
	float most, sum;
};

/* Two parts of a row as one. An empty part has sum 0. */
static __device__ pair
unite(pair a, pair b)
{
	float most = fmaxf(a.most, b.most);

	return {most, a.sum * __expf(a.most - most) + b.sum * __expf(b.most - most)};
}

static __global__ void
stats_rows(float *stats, const bf16 *logits, const int32_t *targets, int64_t rows, int64_t cols)
{
	__shared__ pair parts[THREADS];

	EACH_ROW(at, rows)
	{
		const bf16 *row = logits + at * cols;
		pair own = {-3e38f, 0};

		EACH_COL(i, cols)
		own = unite(own, {__bfloat162float(row[i]), 1});
		parts[threadIdx.x] = own;
		for (unsigned half = THREADS / 2; half > 0; half /= 2) {
			__syncthreads();
			if (threadIdx.x < half)
				parts[threadIdx.x] =
				    unite(parts[threadIdx.x], parts[threadIdx.x + half]);
		}
		if (threadIdx.x == 0) {
			stats[at * STATS] = parts[0].most;
			stats[at * STATS + 1] = parts[0].sum;
			stats[at * STATS + 2] =
			    targets[at] >= 0 ? __bfloat162float(row[targets[at]]) : 0;
		}
		__syncthreads();
	}
}

int
cuda_loss_stats(void *stream, float *stats, const void *logits, const int32_t *targets,
    int64_t rows, int64_t cols)
{
	if (rows == 0)
		return 0;
	LAUNCH(stats_rows, at_most(rows), stream, stats, static_cast<const bf16 *>(logits), targets,
	    rows, cols);
	return cudaGetLastError();
}

static __global__ void
loss_rows(float *losses, bf16 *logits, const float *stats, int ranks, const int32_t *targets,
    int64_t rows, int64_t cols)
{
	EACH_ROW(at, rows)
	{
		bf16 *row = logits + at * cols;
		pair whole = {-3e38f, 0};
		float target = 0;

		for (int r = 0; r < ranks; r++) {
			const float *part = stats + (r * rows + at) * STATS;

			whole = unite(whole, {part[0], part[1]});
			target += part[2];
		}
		EACH_COL(i, cols)
		{
			float share = __expf(__bfloat162float(row[i]) - whole.most) / whole.sum;

			row[i] = __float2bfloat16(i == targets[at] ? share - 1 : share);
		}
		if (threadIdx.x == 0)
			losses[at] = logf(whole.sum) + whole.most - target;
	}
}

int
cuda_loss(void *stream, float *losses, void *logits, const float *stats, int ranks,
    const int32_t *targets, int64_t rows, int64_t cols)
{
	if (rows == 0)
		return 0;
	LAUNCH(loss_rows, at_most(rows), stream, losses, static_cast<bf16 *>(logits), stats, ranks,
	    targets, rows, cols);
	return cudaGetLastError();
}
