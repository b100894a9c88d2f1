/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The MLPs that every token passes: dense layers and the shared expert.
 *
 * y = W2 act(W1 x) over all rows of the tensor-parallel group; partial sums of both are reduced
 * together, so that a layer with both pays for one reduce-scatter.
 */
#include "probe/stage.h"

#define KERNEL(stage, call, what) kernel_done(stage, backend(stage)->ops->call, what)

static struct backend *
backend(struct stage *stage)
{
	return &stage->s->backend;
}

int
activate(struct stage *stage, const struct dims *d, void *out, const void *in, int64_t rows,
    int64_t width)
{
	if (d->ungated)
		return KERNEL(stage, relu2(backend(stage), out, in, rows * width), "activation");
	return KERNEL(stage, swiglu(backend(stage), out, in, rows, width), "activation");
}

int
activate_back(struct stage *stage, const struct dims *d, void *din, const void *dout,
    const void *in, int64_t rows, int64_t width)
{
	if (d->ungated)
		return KERNEL(
		    stage, relu2_back(backend(stage), din, dout, in, rows * width), "activation");
	return KERNEL(stage, swiglu_back(backend(stage), din, dout, in, rows, width), "activation");
}

/* The two matrices of an MLP, their local width and what is kept of it. */
struct mlp {
	const char *first, *second;
	int64_t width;
	void *fc1, *act;
};

static struct mlp
dense_of(const struct dims *d, const struct kept *kept)
{
	return (struct mlp){"mlp_fc1", "mlp_fc2", d->dense, kept->fc1_dense, kept->act_dense};
}

static struct mlp
shared_of(const struct dims *d, const struct kept *kept)
{
	return (struct mlp){
	    "shared_fc1", "shared_fc2", d->shared, kept->fc1_shared, kept->act_shared};
}

static int
one_forward(struct stage *stage, int64_t layer, const struct dims *d, struct mlp m, const void *x,
    void *partial, float beta)
{
	struct linear in = linear_of(stage, layer, m.first, d->rows);
	struct linear out = linear_of(stage, layer, m.second, d->rows);

	if (linear_forward(stage, &in, x, d->h, m.fc1, fc1_width(d, m.width), 0) != 0 ||
	    activate(stage, d, m.act, m.fc1, d->rows, m.width) != 0)
		return -1;
	return linear_forward(stage, &out, m.act, m.width, partial, d->h, beta);
}

int
mlp_forward(struct stage *stage, int64_t layer, const struct dims *d, struct kept *kept, void *out)
{
	const void *x = rows_gather(stage, kept->n2, d->tokens, d->h, stage->scratch.full);
	void *partial = rows_partial(stage, out, stage->scratch.part);
	int result = 0;

	if (!x)
		return -1;
	part_begin(stage->s, PART_MLP, STREAM_COMPUTE);
	if (d->dense)
		result = one_forward(stage, layer, d, dense_of(d, kept), x, partial, 0);
	if (d->shared && result == 0)
		result =
		    one_forward(stage, layer, d, shared_of(d, kept), x, partial, d->dense ? 1 : 0);
	part_end(stage->s, STREAM_COMPUTE);
	return result == 0 ? rows_reduce(stage, partial, d->tokens, d->h, out) : -1;
}

/* The gradient of what the activation saw; until the weights have had theirs it stays there. */
static void *
dfc1_of(const struct stage *stage, const struct mlp *m)
{
	return stage->apart ? m->fc1 : stage->scratch.dwide;
}

static int
one_weights(struct stage *stage, int64_t layer, const struct dims *d, struct mlp m, const void *x,
    const void *dy)
{
	struct linear in = linear_of(stage, layer, m.first, d->rows);
	struct linear out = linear_of(stage, layer, m.second, d->rows);

	if (linear_back_weight(stage, &out, dy, d->h, m.act, m.width) != 0)
		return -1;
	return linear_back_weight(
	    stage, &in, dfc1_of(stage, &m), fc1_width(d, m.width), x, d->h);
}

/* x is NULL when the weights come later. */
static int
one_backward(struct stage *stage, int64_t layer, const struct dims *d, struct mlp m, const void *x,
    const void *dy, void *partial, float beta)
{
	struct linear in = linear_of(stage, layer, m.first, d->rows);
	struct linear out = linear_of(stage, layer, m.second, d->rows);
	void *dfc1 = dfc1_of(stage, &m), *dact = stage->scratch.dnarrow;

	if (linear_back_input(stage, &out, dy, d->h, dact, m.width, 0) != 0 ||
	    activate_back(stage, d, dfc1, dact, m.fc1, d->rows, m.width) != 0 ||
	    linear_back_input(stage, &in, dfc1, fc1_width(d, m.width), partial, d->h, beta) != 0)
		return -1;
	return x ? one_weights(stage, layer, d, m, x, dy) : 0;
}

int
mlp_weights(
    struct stage *stage, int64_t layer, const struct dims *d, struct kept *kept, const void *dout)
{
	const void *x = rows_gather(stage, kept->n2, d->tokens, d->h, stage->scratch.full);
	const void *dy = x ? rows_gather(stage, dout, d->tokens, d->h, stage->scratch.full2) : NULL;
	int result = 0;

	if (!dy)
		return -1;
	part_begin(stage->s, PART_MLP, STREAM_COMPUTE);
	if (d->dense)
		result = one_weights(stage, layer, d, dense_of(d, kept), x, dy);
	if (d->shared && result == 0)
		result = one_weights(stage, layer, d, shared_of(d, kept), x, dy);
	part_end(stage->s, STREAM_COMPUTE);
	return result;
}

int
mlp_backward(struct stage *stage, int64_t layer, const struct dims *d, struct kept *kept,
    const void *dout, void *dn2)
{
	struct scratch *t = &stage->scratch;
	bool later = stage->apart;
	const void *x = later ? NULL : rows_gather(stage, kept->n2, d->tokens, d->h, t->full);
	const void *dy = rows_gather(stage, dout, d->tokens, d->h, t->full2);
	void *partial = rows_partial(stage, dn2, t->part);
	int result = 0;

	if (!dy || (!x && !later))
		return -1;
	part_begin(stage->s, PART_MLP, STREAM_COMPUTE);
	if (d->dense)
		result = one_backward(stage, layer, d, dense_of(d, kept), x, dy, partial, 0);
	if (d->shared && result == 0)
		result = one_backward(
		    stage, layer, d, shared_of(d, kept), x, dy, partial, d->dense ? 1 : 0);
	part_end(stage->s, STREAM_COMPUTE);
	return result == 0 ? rows_reduce(stage, partial, d->tokens, d->h, dn2) : -1;
}
