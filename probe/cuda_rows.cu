/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The ways of rows on a GPU: permutations and weighted sums of rows, 16 bytes at a time where their
 * width allows it; one thread block a row. Formulas as in host_kernels.c.
 */
#include "probe/cuda_words.cuh"

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
