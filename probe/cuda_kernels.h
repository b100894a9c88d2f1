/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_CUDA_KERNELS_H
#define MOEPLAN_CUDA_KERNELS_H

#include <stdint.h>

/*
 * The kernels of the step in bf16, float inside. `stream` is a cudaStream_t; each returns a
 * cudaError_t as an int, 0 for success. Row counts of 0 launch nothing.
 */
#ifdef __cplusplus
extern "C" {
#endif

int cuda_gather(
    void *stream, void *out, const void *in, const int32_t *rows, int64_t n, int64_t width);
int cuda_combine(void *stream, void *out, const void *in, const int32_t *slots, const float *gates,
    int64_t tokens, int top_k, int64_t width);
int cuda_combine_back(void *stream, void *din, float *dgates, const void *dout, const void *in,
    const int32_t *slots, const float *gates, int64_t tokens, int top_k, int64_t width);
int cuda_gather_back(void *stream, void *din, const void *dout, const int32_t *slots,
    int64_t tokens, int top_k, int64_t width);
int cuda_swiglu(void *stream, void *out, const void *in, int64_t n);
int cuda_swiglu_back(void *stream, void *din, const void *dout, const void *in, int64_t n);
int cuda_relu2(void *stream, void *out, const void *in, int64_t n);
int cuda_relu2_back(void *stream, void *din, const void *dout, const void *in, int64_t n);
int cuda_norm(void *stream, void *out, const void *in, const void *scale, int64_t rows,
    int64_t width, int64_t stride);
int cuda_norm_back(void *stream, void *din, float *dscale, const void *dout, const void *in,
    const void *scale, int64_t rows, int64_t width, int64_t stride);
int cuda_bias(void *stream, void *to, const void *bias, const int32_t *which, int64_t rows,
    int64_t width, int64_t stride);
int cuda_bias_back(void *stream, float *dbias, const void *dy, const int32_t *which, int64_t rows,
    int64_t width, int64_t stride);
int cuda_gate(
    void *stream, void *out, const void *in, const void *gates, int64_t n, int64_t span);
int cuda_gate_back(void *stream, void *din, void *dgates, const void *dout, const void *in,
    const void *gates, int64_t n, int64_t span);
int cuda_copy(void *stream, void *to, int64_t to_stride, const void *from, int64_t from_stride,
    int64_t rows, int64_t width);
int cuda_add(void *stream, void *to, const void *from, int64_t n);
int cuda_gates(void *stream, float *gates, const void *logits, const int32_t *chosen,
    int64_t tokens, int top_k, int64_t experts);
int cuda_gates_back(void *stream, void *dlogits, const float *dgates, const float *gates,
    const int32_t *chosen, int64_t tokens, int top_k, int64_t experts);
int cuda_sum(void *stream, float *to, const float *from, int64_t n);
int cuda_scatter_add(
    void *stream, float *to, const void *in, const int32_t *rows, int64_t n, int64_t width);
int cuda_loss_stats(void *stream, float *stats, const void *logits, const int32_t *targets,
    int64_t rows, int64_t cols);
int cuda_loss(void *stream, float *losses, void *logits, const float *stats, int ranks,
    const int32_t *targets, int64_t rows, int64_t cols);
/* values: rate, beta1, beta2, epsilon, 1 - beta1^step, 1 - beta2^step */
int cuda_adam(void *stream, void *weights, float *master, float *m, float *v, const float *gradient,
    int64_t n, const float values[6]);
/* Carried by the launch itself: a copy from pageable memory may wait for the stream. */
int cuda_store_addresses(void *stream, const void **to, const void *const *from, int n);

#ifdef __cplusplus
}
#endif

#endif
