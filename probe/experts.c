/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What do experts compute over the rows that have come to them, forward and backward?
 *
 * y = W2 act(W1 x + b1) + b2, expert by expert, rows in expert order; the products of all of a
 * rank's experts at once (probe.h, grouped). With expert tensor parallelism a member has its share
 * of the inner width.
 */
#include "probe/ffn_private.h"

static struct backend *
backend(struct stage *stage)
{
	return &stage->s->backend;
}

#define KERNEL(stage, call, what) kernel_done(stage, backend(stage)->ops->call, what)

/* Products of all local experts over rows in expert order; `mode` as in linear.c. */
enum expert_product { PRODUCT_FORWARD, PRODUCT_BACK_INPUT, PRODUCT_BACK_WEIGHT };

static void
expert_gemm(struct stage *stage, enum expert_product mode, const struct weight *w, int64_t expert,
    int64_t at, int64_t n, const void *left, const void *right, void *out, struct gemm *g)
{
	int64_t size = w->rows * w->cols;
	const void *matrix =
	    act_at(stage, weight_data(stage->s, &stage->weights, w), expert * size);

	*g = (struct gemm){.m = n, .alpha = 1, .b = matrix, .ldb = w->cols};
	switch (mode) {
	case PRODUCT_FORWARD: /* left: x */
		g->transpose_b = true;
		g->n = g->ldc = w->rows;
		g->k = g->lda = w->cols;
		break;
	case PRODUCT_BACK_INPUT: /* left: dy */
		g->n = g->ldc = w->cols;
		g->k = g->lda = w->rows;
		break;
	case PRODUCT_BACK_WEIGHT: /* left: dy, right: x */
		g->transpose_a = g->float_out = true;
		g->m = g->lda = w->rows;
		g->n = g->ldb = g->ldc = w->cols;
		g->k = n;
		g->b = act_at(stage, right, at * w->cols);
		g->c = weight_gradient(&stage->weights, w) + expert * size;
		g->beta = 1;
		break;
	}
	g->a = act_at(stage, left, at * g->lda);
	if (mode != PRODUCT_BACK_WEIGHT)
		g->c = act_at(stage, out, at * g->ldc);
}

static int
experts_product(struct stage *stage, enum expert_product mode, int64_t layer, const char *name,
    const struct routing *r, const void *left, const void *right, void *out)
{
	const struct weight *w = weight_find(&stage->weights, layer, name);
	enum grouped_engine engine = mode == PRODUCT_BACK_WEIGHT ? GROUPED_LOOP : stage->engine;
	int64_t e, at = 0;
	int n = 0;

	for (e = 0; e < w->count; e++) {
		int64_t rows = r->expert_rows[e];

		if (rows > 0)
			expert_gemm(
			    stage, mode, w, e, at, rows, left, right, out, &stage->gemms[n++]);
		at += rows;
	}
	return n ? KERNEL(
		       stage, grouped(backend(stage), stage->gemms, n, engine), "expert products")
		 : 0;
}

/* Biases of both products; with expert tensor parallelism a member has some columns of the second,
 * so that each is added once. */
static int
expert_bias(struct stage *stage, int64_t layer, const char *name, const struct routing *r, void *to,
    int64_t stride)
{
	const struct weight *w = weight_find(&stage->weights, layer, name);

	if (!w)
		return 0;
	return KERNEL(stage,
	    bias(backend(stage), act_at(stage, to, stride > w->rows ? w->first_row : 0),
		weight_data(stage->s, &stage->weights, w), r->expert_of, r->united, w->rows, stride),
	    name);
}

static int
expert_bias_back(struct stage *stage, int64_t layer, const char *name, const struct routing *r,
    const void *dy, int64_t stride)
{
	const struct weight *w = weight_find(&stage->weights, layer, name);

	if (!w)
		return 0;
	return KERNEL(stage,
	    bias_back(backend(stage), weight_gradient(&stage->weights, w),
		act_at(stage, dy, stride > w->rows ? w->first_row : 0), r->expert_of, r->united,
		w->rows, stride),
	    name);
}

int
experts_forward(struct stage *stage, int64_t layer, const struct routing *r, const struct dims *d,
    struct kept *kept)
{
	struct scratch *t = &stage->scratch;
	int result;

	part_begin(stage->s, PART_EXPERTS, STREAM_COMPUTE);
	result = experts_product(
	    stage, PRODUCT_FORWARD, layer, "expert_fc1", r, kept->permuted, NULL, kept->fc1_expert);
	if (result == 0)
		result = expert_bias(stage, layer, "expert_fc1_bias", r, kept->fc1_expert,
		    fc1_width(d, d->expert));
	if (result == 0)
		result = activate(stage, d, kept->act, kept->fc1_expert, r->united, d->expert);
	if (result == 0)
		result = experts_product(
		    stage, PRODUCT_FORWARD, layer, "expert_fc2", r, kept->act, NULL, t->united2);
	if (result == 0)
		result = expert_bias(stage, layer, "expert_fc2_bias", r, t->united2, d->h);
	part_end(stage->s, STREAM_COMPUTE);
	return result;
}

/* They stay until the weights have had theirs, where what was returned, and that, was. */
struct expert_gradients
expert_gradients(const struct stage *stage, const struct kept *kept)
{
	const struct scratch *t = &stage->scratch;

	if (stage->apart)
		return (struct expert_gradients){kept->returned, kept->fc1_expert};
	return (struct expert_gradients){t->united2, t->expert_wide};
}

int
experts_weights(struct stage *stage, int64_t layer, const struct routing *r, struct kept *kept)
{
	struct expert_gradients g = expert_gradients(stage, kept);

	if (experts_product(
		stage, PRODUCT_BACK_WEIGHT, layer, "expert_fc2", r, g.dy, kept->act, NULL) != 0)
		return -1;
	return experts_product(
	    stage, PRODUCT_BACK_WEIGHT, layer, "expert_fc1", r, g.dfc1, kept->permuted, NULL);
}

/* The gradient of the permuted rows goes to t->united2. */
int
experts_backward(struct stage *stage, int64_t layer, const struct routing *r, const struct dims *d,
    struct kept *kept)
{
	struct expert_gradients g = expert_gradients(stage, kept);
	struct scratch *t = &stage->scratch;
	int result;

	part_begin(stage->s, PART_EXPERTS, STREAM_COMPUTE);
	result = expert_bias_back(stage, layer, "expert_fc2_bias", r, g.dy, d->h);
	if (result == 0)
		result = experts_product(stage, PRODUCT_BACK_INPUT, layer, "expert_fc2", r, g.dy,
		    NULL, t->expert_dnarrow);
	if (result == 0)
		result = activate_back(
		    stage, d, g.dfc1, t->expert_dnarrow, kept->fc1_expert, r->united, d->expert);
	if (result == 0)
		result = expert_bias_back(stage, layer, "expert_fc1_bias", r, g.dfc1,
		    fc1_width(d, d->expert));
	if (result == 0 && !stage->apart)
		result = experts_weights(stage, layer, r, kept);
	if (result == 0)
		result = experts_product(
		    stage, PRODUCT_BACK_INPUT, layer, "expert_fc1", r, g.dfc1, NULL, t->united2);
	part_end(stage->s, STREAM_COMPUTE);
	return result;
}
