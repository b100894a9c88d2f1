/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How do the kernels of the .cu files stand in the backend's table? One entry each. */
#include "probe/cuda_entries.h"
#include "probe/cuda_kernels.h"

static int
cuda_gather_rows(
    struct backend *b, void *out, const void *in, const int32_t *rows, int64_t n, int64_t width)
{
	return cuda_launched(
	    b, cuda_gather(cuda_compute_stream(b), out, in, rows, n, width), "gather");
}

static int
cuda_combine_rows(struct backend *b, void *out, const void *in, const int32_t *slots,
    const float *gates, int64_t tokens, int top_k, int64_t width)
{
	return cuda_launched(b,
	    cuda_combine(cuda_compute_stream(b), out, in, slots, gates, tokens, top_k, width),
	    "combine");
}

static int
cuda_combine_rows_back(struct backend *b, void *din, float *dgates, const void *dout,
    const void *in, const int32_t *slots, const float *gates, int64_t tokens, int top_k,
    int64_t width)
{
	return cuda_launched(b,
	    cuda_combine_back(
		cuda_compute_stream(b), din, dgates, dout, in, slots, gates, tokens, top_k, width),
	    "combine");
}

static int
cuda_gather_rows_back(struct backend *b, void *din, const void *dout, const int32_t *slots,
    int64_t tokens, int top_k, int64_t width)
{
	return cuda_launched(b,
	    cuda_gather_back(cuda_compute_stream(b), din, dout, slots, tokens, top_k, width),
	    "gather");
}

static int
cuda_swiglu_rows(struct backend *b, void *out, const void *in, int64_t rows, int64_t width)
{
	return cuda_launched(
	    b, cuda_swiglu(cuda_compute_stream(b), out, in, rows * width), "activation");
}

static int
cuda_swiglu_rows_back(
    struct backend *b, void *din, const void *dout, const void *in, int64_t rows, int64_t width)
{
	return cuda_launched(
	    b, cuda_swiglu_back(cuda_compute_stream(b), din, dout, in, rows * width), "activation");
}

static int
cuda_relu2_all(struct backend *b, void *out, const void *in, int64_t n)
{
	return cuda_launched(b, cuda_relu2(cuda_compute_stream(b), out, in, n), "activation");
}

static int
cuda_relu2_all_back(struct backend *b, void *din, const void *dout, const void *in, int64_t n)
{
	return cuda_launched(
	    b, cuda_relu2_back(cuda_compute_stream(b), din, dout, in, n), "activation");
}

static int
cuda_norm_rows(struct backend *b, void *out, const void *in, const void *scale, int64_t rows,
    int64_t width, int64_t stride)
{
	return cuda_launched(
	    b, cuda_norm(cuda_compute_stream(b), out, in, scale, rows, width, stride), "norm");
}

static int
cuda_norm_rows_back(struct backend *b, void *din, float *dscale, const void *dout, const void *in,
    const void *scale, int64_t rows, int64_t width, int64_t stride)
{
	return cuda_launched(b,
	    cuda_norm_back(
		cuda_compute_stream(b), din, dscale, dout, in, scale, rows, width, stride),
	    "norm");
}

static int
cuda_bias_rows(struct backend *b, void *to, const void *bias, const int32_t *which, int64_t rows,
    int64_t width, int64_t stride)
{
	return cuda_launched(
	    b, cuda_bias(cuda_compute_stream(b), to, bias, which, rows, width, stride), "bias");
}

static int
cuda_bias_rows_back(struct backend *b, float *dbias, const void *dy, const int32_t *which,
    int64_t rows, int64_t width, int64_t stride)
{
	return cuda_launched(b,
	    cuda_bias_back(cuda_compute_stream(b), dbias, dy, which, rows, width, stride), "bias");
}

static int
cuda_gate_all(
    struct backend *b, void *out, const void *in, const void *gates, int64_t n, int64_t span)
{
	return cuda_launched(
	    b, cuda_gate(cuda_compute_stream(b), out, in, gates, n, span), "a gate");
}

static int
cuda_gate_all_back(struct backend *b, void *din, void *dgates, const void *dout, const void *in,
    const void *gates, int64_t n, int64_t span)
{
	return cuda_launched(b,
	    cuda_gate_back(cuda_compute_stream(b), din, dgates, dout, in, gates, n, span),
	    "a gate");
}

static int
cuda_copy_rows(struct backend *b, void *to, int64_t to_stride, const void *from,
    int64_t from_stride, int64_t rows, int64_t width)
{
	return cuda_launched(b,
	    cuda_copy(cuda_compute_stream(b), to, to_stride, from, from_stride, rows, width),
	    "copying rows");
}

static int
cuda_add_all(struct backend *b, void *to, const void *from, int64_t n)
{
	return cuda_launched(b, cuda_add(cuda_compute_stream(b), to, from, n), "addition");
}

static int
cuda_gates_rows(struct backend *b, float *gates, const void *logits, const int32_t *chosen,
    int64_t tokens, int top_k, int64_t experts)
{
	return cuda_launched(b,
	    cuda_gates(cuda_compute_stream(b), gates, logits, chosen, tokens, top_k, experts),
	    "gates");
}

static int
cuda_gates_rows_back(struct backend *b, void *dlogits, const float *dgates, const float *gates,
    const int32_t *chosen, int64_t tokens, int top_k, int64_t experts)
{
	return cuda_launched(b,
	    cuda_gates_back(
		cuda_compute_stream(b), dlogits, dgates, gates, chosen, tokens, top_k, experts),
	    "gates");
}

static int
cuda_sum_all(struct backend *b, float *to, const float *from, int64_t n)
{
	return cuda_launched(b, cuda_sum(cuda_compute_stream(b), to, from, n), "addition");
}

static int
cuda_scatter_add_rows(
    struct backend *b, float *to, const void *in, const int32_t *rows, int64_t n, int64_t width)
{
	return cuda_launched(
	    b, cuda_scatter_add(cuda_compute_stream(b), to, in, rows, n, width), "embedding");
}

static int
cuda_loss_stats_rows(struct backend *b, float *stats, const void *logits, const int32_t *targets,
    int64_t rows, int64_t cols)
{
	return cuda_launched(
	    b, cuda_loss_stats(cuda_compute_stream(b), stats, logits, targets, rows, cols), "loss");
}

static int
cuda_loss_rows(struct backend *b, float *losses, void *logits, const float *stats, int ranks,
    const int32_t *targets, int64_t rows, int64_t cols)
{
	return cuda_launched(b,
	    cuda_loss(cuda_compute_stream(b), losses, logits, stats, ranks, targets, rows, cols),
	    "loss");
}

static int
cuda_adam_all(struct backend *b, void *weights, float *master, float *m, float *v,
    const float *gradient, int64_t n, const struct adam *a)
{
	const float values[6] = {
	    a->rate, a->beta1, a->beta2, a->epsilon, a->correction1, a->correction2};

	return cuda_launched(b,
	    cuda_adam(cuda_compute_stream(b), weights, master, m, v, gradient, n, values),
	    "optimizer");
}

void
cuda_kernel_ops(struct backend_ops *ops)
{
	ops->gather = cuda_gather_rows;
	ops->combine = cuda_combine_rows;
	ops->combine_back = cuda_combine_rows_back;
	ops->gather_back = cuda_gather_rows_back;
	ops->swiglu = cuda_swiglu_rows;
	ops->swiglu_back = cuda_swiglu_rows_back;
	ops->relu2 = cuda_relu2_all;
	ops->relu2_back = cuda_relu2_all_back;
	ops->norm = cuda_norm_rows;
	ops->norm_back = cuda_norm_rows_back;
	ops->bias = cuda_bias_rows;
	ops->bias_back = cuda_bias_rows_back;
	ops->gate = cuda_gate_all;
	ops->gate_back = cuda_gate_all_back;
	ops->copy = cuda_copy_rows;
	ops->add = cuda_add_all;
	ops->gates = cuda_gates_rows;
	ops->gates_back = cuda_gates_rows_back;
	ops->sum = cuda_sum_all;
	ops->scatter_add = cuda_scatter_add_rows;
	ops->loss_stats = cuda_loss_stats_rows;
	ops->loss = cuda_loss_rows;
	ops->adam = cuda_adam_all;
}
