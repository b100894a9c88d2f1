/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What do cuBLAS' products compute? Column-major, bf16 factors, float sums. Types and shapes that
 * the real ones refuse are refused.
 */
#include <cublas_v2.h>
#include <stdlib.h>

#include "tests/probe/bf16.h"
#include "tests/probe/fake_cuda.h"

struct cublasContext {
	cudaStream_t stream;
};

struct product {
	bool ta, tb, to_float;
	int m, n, k, lda, ldb, ldc;
	const uint16_t *a, *b;
	void *c;
	float alpha, beta;
	/* grouped: read from the device when the product runs */
	const void *const *a_at, *const *b_at;
	void *const *c_at;
};

cublasStatus_t
cublasCreate(cublasHandle_t *handle)
{
	if (fake_failing("cublasCreate"))
		return CUBLAS_STATUS_NOT_INITIALIZED;
	*handle = calloc(1, sizeof(**handle));
	return *handle ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_ALLOC_FAILED;
}

cublasStatus_t
cublasDestroy(cublasHandle_t handle)
{
	free(handle);
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t
cublasSetStream(cublasHandle_t handle, cudaStream_t stream)
{
	handle->stream = stream;
	return fake_failing("cublasSetStream") ? CUBLAS_STATUS_NOT_INITIALIZED
					       : CUBLAS_STATUS_SUCCESS;
}

const char *
cublasGetStatusString(cublasStatus_t status)
{
	return status == CUBLAS_STATUS_NOT_SUPPORTED ? "fake: not supported" : "fake: a status";
}

/* Rows of op(A), or columns of op(B), as floats one behind the other. */
static float *
lines_of(const uint16_t *m, bool strided, int lines, int k, int ld)
{
	float *all = malloc(((size_t)lines * (size_t)k + 1) * sizeof(*all));
	int line, i;

	if (!all)
		abort();
	for (line = 0; line < lines; line++)
		for (i = 0; i < k; i++)
			all[line * k + i] =
			    float_of(strided ? m[(size_t)i * (size_t)ld + (size_t)line]
					     : m[(size_t)line * (size_t)ld + (size_t)i]);
	return all;
}

static void
store(const struct product *p, int row, int col, float sum)
{
	size_t place = (size_t)col * (size_t)p->ldc + (size_t)row;
	float *whole = p->c;
	uint16_t *half = p->c;
	float before = 0;

	if (p->beta < 0 || p->beta > 0)
		before = p->to_float ? whole[place] : float_of(half[place]);
	sum = p->alpha * sum + (p->beta < 0 || p->beta > 0 ? p->beta * before : 0);
	if (p->to_float)
		whole[place] = sum;
	else
		half[place] = bf16_of(sum);
}

static enum fake_step
multiply(void *closure)
{
	struct product *p = closure;
	float *rows, *cols;
	int row, col, k;

	if (p->a_at) {
		p->a = *p->a_at;
		p->b = *p->b_at;
		p->c = *p->c_at;
	}
	rows = lines_of(p->a, !p->ta, p->m, p->k, p->lda);
	cols = lines_of(p->b, p->tb, p->n, p->k, p->ldb);
	for (col = 0; col < p->n; col++)
		for (row = 0; row < p->m; row++) {
			const float *x = rows + row * p->k, *y = cols + col * p->k;
			float sum = 0;

			for (k = 0; k < p->k; k++)
				sum += x[k] * y[k];
			store(p, row, col, sum);
		}
	free(rows);
	free(cols);
	return FAKE_DONE;
}

static bool
is_refused(const struct product *p)
{
	return p->m < 0 || p->n < 0 || p->k < 0 || p->lda < (p->ta ? p->k : p->m) ||
	       p->ldb < (p->tb ? p->n : p->k) || p->ldc < p->m;
}

static cublasStatus_t
post(cublasHandle_t handle, const struct product *p)
{
	struct product *copy = malloc(sizeof(*copy));

	if (!copy)
		abort();
	*copy = *p;
	fake_enqueue(handle->stream, multiply, copy);
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t
cublasGemmEx(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int m,
    int n, int k, const void *alpha, const void *a, cudaDataType a_type, int lda, const void *b,
    cudaDataType b_type, int ldb, const void *beta, void *c, cudaDataType c_type, int ldc,
    cublasComputeType_t compute, cublasGemmAlgo_t algo)
{
	struct product p = {transa == CUBLAS_OP_T, transb == CUBLAS_OP_T, c_type == CUDA_R_32F, m,
	    n, k, lda, ldb, ldc, a, b, c, *(const float *)alpha, *(const float *)beta, NULL, NULL,
	    NULL};

	(void)algo;
	if (fake_failing("cublasGemmEx") || is_refused(&p))
		return CUBLAS_STATUS_INVALID_VALUE;
	if (a_type != CUDA_R_16BF || b_type != CUDA_R_16BF || compute != CUBLAS_COMPUTE_32F ||
	    (c_type != CUDA_R_16BF && c_type != CUDA_R_32F))
		return CUBLAS_STATUS_NOT_SUPPORTED;
	return post(handle, &p);
}

cublasStatus_t
cublasGemmGroupedBatchedEx(cublasHandle_t handle, const cublasOperation_t transa[],
    const cublasOperation_t transb[], const int m[], const int n[], const int k[],
    const void *alpha, const void *const a[], cudaDataType_t a_type, const int lda[],
    const void *const b[], cudaDataType_t b_type, const int ldb[], const void *beta,
    void *const c[], cudaDataType_t c_type, const int ldc[], int groups, const int sizes[],
    cublasComputeType_t compute)
{
	int i;

	if (fake_failing("cublasGemmGroupedBatchedEx"))
		return CUBLAS_STATUS_INVALID_VALUE;
	if (a_type != CUDA_R_16BF || b_type != CUDA_R_16BF || c_type != CUDA_R_16BF ||
	    compute != CUBLAS_COMPUTE_32F)
		return CUBLAS_STATUS_NOT_SUPPORTED;
	for (i = 0; i < groups; i++) {
		struct product p = {.ta = transa[i] == CUBLAS_OP_T,
		    .tb = transb[i] == CUBLAS_OP_T,
		    .m = m[i],
		    .n = n[i],
		    .k = k[i],
		    .lda = lda[i],
		    .ldb = ldb[i],
		    .ldc = ldc[i],
		    .alpha = ((const float *)alpha)[i],
		    .beta = ((const float *)beta)[i],
		    .a_at = &a[i],
		    .b_at = &b[i],
		    .c_at = &c[i]};

		if (sizes[i] != 1 || is_refused(&p))
			return CUBLAS_STATUS_INVALID_VALUE;
		post(handle, &p);
	}
	return CUBLAS_STATUS_SUCCESS;
}
