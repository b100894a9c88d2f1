/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Norms on a GPU, of whole tokens (one thread block a row) and of heads (one warp a row). Formulas
 * as in host_norm.c.
 *
 * Columns of dscale are summed in the block's own memory, up to TILE of them, and added to the
 * whole once a block: an addition a row and column would queue up at the few addresses of dscale.
 * There are no more blocks than fill a GPU, so that each has many rows.
 */
#include "probe/cuda_words.cuh"

#define NORM_EPSILON 1e-6f
enum { TILE = 8192, NARROW = 256, NORM_BLOCKS = 1024, WARPS = THREADS / WARP };

static unsigned
few(int64_t blocks)
{
	return at_most(blocks < NORM_BLOCKS ? blocks : (int64_t)NORM_BLOCKS);
}

static __device__ float
inverse_of(float squares, int64_t width)
{
	return rsqrtf(squares / (float)width + NORM_EPSILON);
}

/* --- whole tokens ------------------------------------------------------------------------- */

static __device__ float
inverse_rms(const bf16 *row, int64_t width)
{
	float sum = 0;

	EACH_COL(i, width)
	{
		float x = __bfloat162float(row[i]);

		sum += x * x;
	}
	return inverse_of(block_sum(sum), width);
}

static __global__ void
norm_rows(bf16 *out, const bf16 *in, const bf16 *scale, int64_t rows, int64_t width, int64_t stride)
{
	EACH_ROW(row, rows)
	{
		const bf16 *x = in + row * stride;
		float r = inverse_rms(x, width);

		EACH_COL(i, width)
		out[row * stride + i] =
		    __float2bfloat16(__bfloat162float(x[i]) * r * __bfloat162float(scale[i]));
	}
}

static __global__ void
norm_rows_back(bf16 *din, float *dscale, const bf16 *dout, const bf16 *in, const bf16 *scale,
    int64_t rows, int64_t width, int64_t stride)
{
	__shared__ float tile[TILE];

	EACH_COL(i, width < TILE ? width : (int64_t)TILE) tile[i] = 0;
	EACH_ROW(row, rows)
	{
		const bf16 *x = in + row * stride, *grad = dout + row * stride;
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
			din[row * stride + i] =
			    __float2bfloat16(r * (g * __bfloat162float(scale[i]) - xi * dot));
		}
	}
	EACH_COL(i, width < TILE ? width : (int64_t)TILE) atomicAdd(&dscale[i], tile[i]);
}

/* --- heads -------------------------------------------------------------------------------- */

static __device__ float
inverse_rms_of_head(const bf16 *row, int64_t width)
{
	float sum = 0;

	EACH_LANE(i, width)
	{
		float x = __bfloat162float(row[i]);

		sum += x * x;
	}
	return inverse_of(warp_sum(sum), width);
}

static __global__ void
norm_heads(bf16 *out, const bf16 *in, const bf16 *scale, int64_t rows, int64_t width, int64_t stride)
{
	EACH_WARP(row, rows)
	{
		const bf16 *x = in + row * stride;
		float r = inverse_rms_of_head(x, width);

		EACH_LANE(i, width)
		out[row * stride + i] =
		    __float2bfloat16(__bfloat162float(x[i]) * r * __bfloat162float(scale[i]));
	}
}

static __global__ void
norm_heads_back(bf16 *din, float *dscale, const bf16 *dout, const bf16 *in, const bf16 *scale,
    int64_t rows, int64_t width, int64_t stride)
{
	__shared__ float tiles[WARPS * NARROW];
	float *tile = tiles + threadIdx.x / WARP * NARROW;

	EACH_LANE(i, width) tile[i] = 0;
	EACH_WARP(row, rows)
	{
		const bf16 *x = in + row * stride, *grad = dout + row * stride;
		float r = inverse_rms_of_head(x, width), dot = 0;

		EACH_LANE(i, width)
		dot +=
		    __bfloat162float(grad[i]) * __bfloat162float(scale[i]) * __bfloat162float(x[i]);
		dot = warp_sum(dot) * r * r / (float)width;
		EACH_LANE(i, width)
		{
			float xi = __bfloat162float(x[i]), g = __bfloat162float(grad[i]);

			tile[i] += g * xi * r; /* the column is this lane's alone */
			din[row * stride + i] =
			    __float2bfloat16(r * (g * __bfloat162float(scale[i]) - xi * dot));
		}
	}
	__syncthreads();
	EACH_COL(i, width)
	{
		float sum = 0;

		for (int warp = 0; warp < WARPS; warp++)
			sum += tiles[warp * NARROW + i];
		atomicAdd(&dscale[i], sum);
	}
}

/* --- launches ----------------------------------------------------------------------------- */

int
cuda_norm(void *stream, void *out, const void *in, const void *scale, int64_t rows, int64_t width,
    int64_t stride)
{
	bf16 *to = static_cast<bf16 *>(out);
	const bf16 *from = static_cast<const bf16 *>(in), *g = static_cast<const bf16 *>(scale);

	if (rows == 0)
		return 0;
	if (width <= NARROW)
		LAUNCH(norm_heads, warps_for(rows), stream, to, from, g, rows, width, stride);
	else
		LAUNCH(norm_rows, at_most(rows), stream, to, from, g, rows, width, stride);
	return cudaGetLastError();
}

int
cuda_norm_back(void *stream, void *din, float *dscale, const void *dout, const void *in,
    const void *scale, int64_t rows, int64_t width, int64_t stride)
{
	bf16 *to = static_cast<bf16 *>(din);
	const bf16 *grad = static_cast<const bf16 *>(dout), *from = static_cast<const bf16 *>(in);
	const bf16 *g = static_cast<const bf16 *>(scale);

	if (rows == 0)
		return 0;
	if (width <= NARROW)
		LAUNCH(norm_heads_back, few(warps_for(rows)), stream, to, dscale, grad, from, g,
		    rows, width, stride);
	else
		LAUNCH(norm_rows_back, few(rows), stream, to, dscale, grad, from, g, rows, width,
		    stride);
	return cudaGetLastError();
}
