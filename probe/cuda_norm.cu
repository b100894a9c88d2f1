/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Norms on a GPU. Formulas as in host_kernels.c. */
#include "probe/cuda_words.cuh"

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
