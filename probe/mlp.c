/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The MLPs that every token passes: dense layers and the shared expert.
 *
 * y = W2 act(W1 x + b1) + b2 over all rows of the tensor-parallel group; partial sums of both are
 * reduced together, so that a layer with both pays for one reduce-scatter. A gate g on the shared
 * expert multiplies by sigmoid(g x) in front of W2, which is the same and narrower.
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
	void *fc1, *act, *gate; /* gate NULL: none */
	const char *bias;	/* of the first matrix; NULL: none */
};

static struct mlp
dense_of(const struct dims *d, const struct kept *kept)
{
	return (struct mlp){
	    "mlp_fc1", "mlp_fc2", d->dense, kept->fc1_dense, kept->act_dense, NULL, "mlp_fc1_bias"};
}

static struct mlp
shared_of(const struct dims *d, const struct kept *kept)
{
	return (struct mlp){"shared_fc1", "shared_fc2", d->shared, kept->fc1_shared,
	    kept->act_shared, d->shared_gate ? kept->gate_shared : NULL, NULL};
}

/* What W2 sees: the activation, through the gate where there is one. */
static const void *
gated(struct stage *stage, const struct dims *d, const struct mlp *m)
{
	void *out = stage->scratch.dnarrow;
	int64_t n = d->rows * m->width;

	if (!m->gate)
		return m->act;
	return KERNEL(stage, gate(backend(stage), out, m->act, m->gate, n, m->width), "a gate") == 0
		   ? out
		   : NULL;
}

static int
one_forward(struct stage *stage, int64_t layer, const struct dims *d, struct mlp m, const void *x,
    void *partial, float beta)
{
	struct linear in = linear_of(stage, layer, m.first, d->rows);
	struct linear out = linear_of(stage, layer, m.second, d->rows);
	struct linear gate = linear_of(stage, layer, "shared_gate", d->rows);
	int64_t wide = fc1_width(d, m.width);
	const void *seen;

	if (linear_forward(stage, &in, x, d->h, m.fc1, wide, 0) != 0 ||
	    (m.bias && bias_add(stage, (struct vector){layer, m.bias, 0}, m.fc1, d->rows, wide, wide) != 0) ||
	    activate(stage, d, m.act, m.fc1, d->rows, m.width) != 0 ||
	    (m.gate && linear_forward(stage, &gate, x, d->h, m.gate, 1, 0) != 0))
		return -1;
	seen = gated(stage, d, &m);
	return seen ? linear_forward(stage, &out, seen, m.width, partial, d->h, beta) : -1;
}

int
mlp_forward(struct stage *stage, int64_t layer, const struct dims *d, struct kept *kept, void *out)
{
	const void *x = rows_gather(stage, kept->n2, d->tokens, d->h, stage->scratch.full);
	void *partial = rows_partial(stage, out, stage->scratch.part);
	struct vector bias = {layer, "mlp_fc2_bias", 0};
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
	if (result != 0 || rows_reduce(stage, partial, d->tokens, d->h, out) != 0)
		return -1;
	return d->dense ? bias_add(stage, bias, out, d->tokens, d->h, d->h) : 0;
}

/* The gradient of what the activation saw; until the weights have had theirs it stays there. */
static void *
dfc1_of(const struct stage *stage, const struct mlp *m)
{
	return stage->apart ? m->fc1 : stage->scratch.dwide;
}

static void *
dgate_of(const struct stage *stage, const struct mlp *m)
{
	return stage->apart ? m->gate : stage->scratch.dgate;
}

static int
one_weights(struct stage *stage, int64_t layer, const struct dims *d, struct mlp m, const void *x,
    const void *dy)
{
	struct linear in = linear_of(stage, layer, m.first, d->rows);
	struct linear out = linear_of(stage, layer, m.second, d->rows);
	struct linear gate = linear_of(stage, layer, "shared_gate", d->rows);

	if (linear_back_weight(stage, &out, dy, d->h, m.act, m.width) != 0 ||
	    linear_back_weight(stage, &in, dfc1_of(stage, &m), fc1_width(d, m.width), x, d->h) != 0)
		return -1;
	return m.gate ? linear_back_weight(stage, &gate, dgate_of(stage, &m), 1, x, d->h) : 0;
}

/*
 * Of the gate: `dact` becomes the gradient of the activation, m->act what the second matrix saw;
 * what the gate adds to the gradient of x goes to `partial`.
 */
static int
gate_back(struct stage *stage, int64_t layer, const struct dims *d, const struct mlp *m, void *dact,
    void *partial, float beta)
{
	struct linear gate = linear_of(stage, layer, "shared_gate", d->rows);
	void *dgate = stage->scratch.dgate;
	int64_t n = d->rows * m->width;

	if (KERNEL(stage, gate_back(backend(stage), dact, dgate, dact, m->act, m->gate, n, m->width),
		"a gate") != 0 ||
	    KERNEL(stage, gate(backend(stage), m->act, m->act, m->gate, n, m->width), "a gate") !=
		0 ||
	    linear_back_input(stage, &gate, dgate, 1, partial, d->h, beta) != 0)
		return -1;
	if (!stage->apart)
		return 0;
	return KERNEL(stage, copy(backend(stage), m->gate, 1, dgate, 1, d->rows, 1), "a gate");
}

/* x is NULL when the weights come later. */
static int
one_backward(struct stage *stage, int64_t layer, const struct dims *d, struct mlp m, const void *x,
    const void *dy, void *partial, float beta)
{
	struct linear in = linear_of(stage, layer, m.first, d->rows);
	struct linear out = linear_of(stage, layer, m.second, d->rows);
	struct vector bias = {layer, m.bias, 0};
	void *dfc1 = dfc1_of(stage, &m), *dact = stage->scratch.dnarrow;
	int64_t wide = fc1_width(d, m.width);

	if (linear_back_input(stage, &out, dy, d->h, dact, m.width, 0) != 0)
		return -1;
	if (m.gate) {
		if (gate_back(stage, layer, d, &m, dact, partial, beta) != 0)
			return -1;
		beta = 1; /* what follows is added */
	}
	if (activate_back(stage, d, dfc1, dact, m.fc1, d->rows, m.width) != 0 ||
	    (m.bias && bias_sum(stage, bias, dfc1, d->rows, wide, wide) != 0) ||
	    linear_back_input(stage, &in, dfc1, wide, partial, d->h, beta) != 0)
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
	struct vector bias = {layer, "mlp_fc2_bias", 0};
	int result = 0;

	if (!dy || (!x && !later))
		return -1;
	part_begin(stage->s, PART_MLP, STREAM_COMPUTE);
	if (d->dense)
		result = bias_sum(stage, bias, dout, d->tokens, d->h, d->h);
	if (d->dense && result == 0)
		result = one_backward(stage, layer, d, dense_of(d, kept), x, dy, partial, 0);
	if (d->shared && result == 0)
		result = one_backward(
		    stage, layer, d, shared_of(d, kept), x, dy, partial, d->dense ? 1 : 0);
	part_end(stage->s, STREAM_COMPUTE);
	return result == 0 ? rows_reduce(stage, partial, d->tokens, d->h, dn2) : -1;
}
