/* SPDX-License-Identifier: GPL-3.0-or-later */
/* y = x W^T, dx = dy W, dW += dy^T x; biases and norms of rows. */
#include "probe/stage.h"

int
kernel_done(struct stage *stage, int result, const char *what)
{
	if (result != 0)
		return session_fail(stage->s, what);
	return control_failed(stage->s->control) ? -1 : 0;
}

void *
act_at(const struct stage *stage, const void *base, int64_t element)
{
	return (char *)base + (size_t)element * stage->s->backend.ops->act_bytes;
}

struct linear
linear_of(const struct stage *stage, int64_t layer, const char *name, int64_t rows)
{
	const struct weight *w = weight_find(&stage->weights, layer, name);
	struct linear l = {.rows = rows};

	if (!w)
		return l;
	l.out = w->rows;
	l.in = l.stride = w->cols;
	l.w = weight_data(stage->s, &stage->weights, w);
	l.dw = weight_gradient(&stage->weights, w);
	return l;
}

static int
run(struct stage *stage, const struct gemm *gemm)
{
	struct backend *b = &stage->s->backend;

	if (gemm->m == 0 || gemm->n == 0)
		return 0;
	return kernel_done(stage, b->ops->gemm(b, gemm), "a matrix product");
}

int
linear_forward(struct stage *stage, const struct linear *l, const void *x, int64_t ldx, void *y,
    int64_t ldy, float beta)
{
	struct gemm gemm = {.transpose_b = true,
	    .m = l->rows,
	    .n = l->out,
	    .k = l->in,
	    .a = x,
	    .lda = ldx,
	    .b = l->w,
	    .ldb = l->stride,
	    .c = y,
	    .ldc = ldy,
	    .alpha = 1,
	    .beta = beta};

	return run(stage, &gemm);
}

int
linear_back_input(struct stage *stage, const struct linear *l, const void *dy, int64_t lddy,
    void *dx, int64_t lddx, float beta)
{
	struct gemm gemm = {.m = l->rows,
	    .n = l->in,
	    .k = l->out,
	    .a = dy,
	    .lda = lddy,
	    .b = l->w,
	    .ldb = l->stride,
	    .c = dx,
	    .ldc = lddx,
	    .alpha = 1,
	    .beta = beta};

	return run(stage, &gemm);
}

int
linear_back_weight(struct stage *stage, const struct linear *l, const void *dy, int64_t lddy,
    const void *x, int64_t ldx)
{
	struct gemm gemm = {.transpose_a = true,
	    .float_out = true,
	    .m = l->out,
	    .n = l->in,
	    .k = l->rows,
	    .a = dy,
	    .lda = lddy,
	    .b = x,
	    .ldb = ldx,
	    .c = l->dw,
	    .ldc = l->stride,
	    .alpha = 1,
	    .beta = 1};

	return l->rows > 0 ? run(stage, &gemm) : 0;
}

/* --- vectors of a row --------------------------------------------------------------------- */

int
bias_add(
    struct stage *stage, struct vector v, void *to, int64_t rows, int64_t width, int64_t stride)
{
	const struct weight *w = weight_find(&stage->weights, v.layer, v.name);
	struct backend *b = &stage->s->backend;
	const void *bias = weight_data(stage->s, &stage->weights, w);

	if (!w)
		return 0;
	return kernel_done(stage,
	    b->ops->bias(b, to, act_at(stage, bias, v.first), NULL, rows, width, stride), v.name);
}

int
bias_sum(struct stage *stage, struct vector v, const void *dy, int64_t rows, int64_t width,
    int64_t stride)
{
	const struct weight *w = weight_find(&stage->weights, v.layer, v.name);
	struct backend *b = &stage->s->backend;

	if (!w)
		return 0;
	return kernel_done(stage,
	    b->ops->bias_back(
		b, weight_gradient(&stage->weights, w) + v.first, dy, NULL, rows, width, stride),
	    v.name);
}

int
rows_norm(struct stage *stage, struct vector v, const void *in, void *out, int64_t rows,
    int64_t width, int64_t stride)
{
	const struct weight *w = weight_find(&stage->weights, v.layer, v.name);
	struct backend *b = &stage->s->backend;
	const void *scale = weight_data(stage->s, &stage->weights, w);

	return kernel_done(stage,
	    b->ops->norm(b, out, in, act_at(stage, scale, v.first), rows, width, stride), v.name);
}

int
rows_norm_back(struct stage *stage, struct vector v, const void *in, void *dy, int64_t rows,
    int64_t width, int64_t stride)
{
	const struct weight *w = weight_find(&stage->weights, v.layer, v.name);
	struct backend *b = &stage->s->backend;
	const void *scale = weight_data(stage->s, &stage->weights, w);

	return kernel_done(stage,
	    b->ops->norm_back(b, dy, weight_gradient(&stage->weights, w) + v.first, dy, in,
		act_at(stage, scale, v.first), rows, width, stride),
	    v.name);
}
