/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Matrix products by cuBLAS: one, or those of all experts.
 *
 * Row-major C = A B is cuBLAS' column-major C^T = B^T A^T. Experts' products run either by one
 * grouped call or as a loop over a few streams, as Transformer Engine's default does.
 */
#include <cublas_v2.h>
#include <stdio.h>
#include <stdlib.h>

#include "probe/cuda_entries.h"
#include "probe/cuda_kernels.h"
#include "probe/cuda_private.h"

static int
cublas_failed(struct cuda *c, cublasStatus_t status, const char *what)
{
	if (status == CUBLAS_STATUS_SUCCESS)
		return 0;
	snprintf(c->error, sizeof(c->error), "%s: %s", what, cublasGetStatusString(status));
	return -1;
}

static int
make_handle(struct cuda *c, struct CUstream_st *stream, cublasHandle_t *handle)
{
	if (cublas_failed(c, cublasCreate(handle), "starting cuBLAS") != 0)
		return -1;
	return cublas_failed(c, cublasSetStream(*handle, stream), "cuBLAS' stream");
}

int
cuda_make_cublas(struct backend *b)
{
	struct cuda *c = b->state;
	int i;

	if (make_handle(c, c->streams[STREAM_COMPUTE], &c->cublas) != 0)
		return -1;
	for (i = 0; i < CUDA_SIDE_STREAMS; i++)
		if (make_handle(c, c->side[i], &c->side_cublas[i]) != 0)
			return -1;
	c->pointers = cuda_alloc(b, 3 * CUDA_MAX_GROUPED * sizeof(void *));
	return c->pointers ? 0 : -1;
}

void
cuda_free_cublas(struct backend *b)
{
	struct cuda *c = b->state;
	int i;

	cuda_release(b, c->pointers);
	for (i = 0; i < CUDA_SIDE_STREAMS; i++)
		if (c->side_cublas[i])
			cublasDestroy(c->side_cublas[i]);
	if (c->cublas)
		cublasDestroy(c->cublas);
}

/* --- products ----------------------------------------------------------------------------- */

static int
multiply(struct cuda *c, cublasHandle_t handle, const struct gemm *g)
{
	return cublas_failed(c,
	    cublasGemmEx(handle, g->transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N,
		g->transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N, (int)g->n, (int)g->m, (int)g->k,
		&g->alpha, g->b, CUDA_R_16BF, (int)g->ldb, g->a, CUDA_R_16BF, (int)g->lda, &g->beta,
		g->c, g->float_out ? CUDA_R_32F : CUDA_R_16BF, (int)g->ldc, CUBLAS_COMPUTE_32F,
		CUBLAS_GEMM_DEFAULT),
	    "cublasGemmEx");
}

int
cuda_gemm(struct backend *b, const struct gemm *g)
{
	struct cuda *c = b->state;

	return multiply(c, c->cublas, g);
}

/* Host arrays of the grouped call, one group a product. */
struct grouped {
	cublasOperation_t op_a[CUDA_MAX_GROUPED], op_b[CUDA_MAX_GROUPED];
	int m[CUDA_MAX_GROUPED], n[CUDA_MAX_GROUPED], k[CUDA_MAX_GROUPED], lda[CUDA_MAX_GROUPED],
	    ldb[CUDA_MAX_GROUPED];
	int ldc[CUDA_MAX_GROUPED], size[CUDA_MAX_GROUPED];
	float alpha[CUDA_MAX_GROUPED], beta[CUDA_MAX_GROUPED];
	const void *pointers[3 * CUDA_MAX_GROUPED];
};

static void
fill_grouped(struct grouped *h, const struct gemm *gemms, int n)
{
	int i;

	for (i = 0; i < n; i++) {
		const struct gemm *g = &gemms[i];

		h->op_a[i] = g->transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N; /* swapped, see above */
		h->op_b[i] = g->transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N;
		h->m[i] = (int)g->n;
		h->n[i] = (int)g->m;
		h->k[i] = (int)g->k;
		h->lda[i] = (int)g->ldb;
		h->ldb[i] = (int)g->lda;
		h->ldc[i] = (int)g->ldc;
		h->alpha[i] = g->alpha;
		h->beta[i] = g->beta;
		h->size[i] = 1;
		h->pointers[i] = g->b;
		h->pointers[n + i] = g->a;
		h->pointers[2 * n + i] = g->c;
	}
}

/*
 * In bf16 since cuBLAS 12.5: built with an older one, or run with one, products of experts are a
 * loop. A and B are bf16 and so must C be: cuBLAS groups no products that sum into float.
 */
#if CUBLAS_VERSION >= 120500
#pragma weak cublasGemmGroupedBatchedEx

static int
multiply_grouped(struct cuda *c, const struct grouped *h, int n)
{
	if (!cublasGemmGroupedBatchedEx)
		return cublas_failed(c, CUBLAS_STATUS_NOT_SUPPORTED, "grouped products");
	return cublas_failed(c,
	    cublasGemmGroupedBatchedEx(c->cublas, h->op_a, h->op_b, h->m, h->n, h->k, h->alpha,
		c->pointers, CUDA_R_16BF, h->lda, c->pointers + n, CUDA_R_16BF, h->ldb, h->beta,
		(void *const *)(c->pointers + 2 * n), CUDA_R_16BF, h->ldc, n, h->size,
		CUBLAS_COMPUTE_32F),
	    "cublasGemmGroupedBatchedEx");
}
#else
static int
multiply_grouped(struct cuda *c, const struct grouped *h, int n)
{
	(void)h;
	(void)n;
	return cublas_failed(c, CUBLAS_STATUS_NOT_SUPPORTED, "grouped products");
}
#endif

static int
grouped_call(struct backend *b, const struct gemm *gemms, int n)
{
	struct cuda *c = b->state;
	struct grouped *h = malloc(sizeof(*h));
	int result = -1;

	if (!h) {
		snprintf(c->error, sizeof(c->error), "no host memory for %d products", n);
		return -1;
	}
	fill_grouped(h, gemms, n);
	if (cuda_launched(b,
		cuda_store_addresses(cuda_compute_stream(b), c->pointers, h->pointers, 3 * n),
		"addresses") == 0)
		result = multiply_grouped(c, h, n);
	free(h);
	return result;
}

static int
loop(struct backend *b, const struct gemm *gemms, int n)
{
	struct cuda *c = b->state;
	int streams = n < CUDA_SIDE_STREAMS ? n : CUDA_SIDE_STREAMS, i;

	if (n == 1)
		return cuda_gemm(b, gemms);
	if (cuda_fork(c, streams) != 0)
		return -1;
	for (i = 0; i < n; i++)
		if (multiply(c, c->side_cublas[i % streams], &gemms[i]) != 0)
			return -1;
	return cuda_join(c, streams);
}

int
cuda_grouped(struct backend *b, const struct gemm *gemms, int n, enum grouped_engine engine)
{
	struct cuda *c = b->state;

	if (engine == GROUPED_LOOP)
		return loop(b, gemms, n);
	if (n <= CUDA_MAX_GROUPED)
		return grouped_call(b, gemms, n);
	snprintf(c->error, sizeof(c->error), "%d grouped products, at most %d are possible", n,
	    CUDA_MAX_GROUPED);
	return -1;
}
