/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The MLPs that every token passes: dense layers and the shared expert.
 *
 * y = W2 act(W1 x + b1) + b2 over all rows of the tensor-parallel group; partial sums of both are
 * reduced together, so that a layer with both pays for one reduce-scatter. A gate g on the shared
 * expert multiplies by sigmoid(g x) in front of W2, which is the same and narrower. Where traffic
 * overlaps, rows come with the first product and go with the last.
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

enum { MOST_MLPS = 2 };

static int
mlps_of(const struct dims *d, const struct kept *kept, struct mlp mlps[MOST_MLPS])
{
	int n = 0;

	if (d->dense)
		mlps[n++] = dense_of(d, kept);
	if (d->shared)
		mlps[n++] = shared_of(d, kept);
	return n;
}

/* The products of x: the first matrix and the gate. */
static int
first_products(struct stage *stage, int64_t layer, const struct dims *d, const struct mlp *m,
    struct product in[2])
{
	in[0] = (struct product){.run = linear_forward,
	    .l = linear_of(stage, layer, m->first, d->rows),
	    .to = m->fc1,
	    .ld = fc1_width(d, m->width)};
	in[1] = (struct product){.run = linear_forward,
	    .l = linear_of(stage, layer, "shared_gate", d->rows),
	    .to = m->gate,
	    .ld = 1};
	return m->gate ? 2 : 1;
}

/* What W2 sees. */
static const void *
between(struct stage *stage, int64_t layer, const struct dims *d, const struct mlp *m)
{
	int64_t wide = fc1_width(d, m->width);
	struct vector bias = {layer, m->bias, 0};

	if ((m->bias && bias_add(stage, bias, m->fc1, d->rows, wide, wide) != 0) ||
	    activate(stage, d, m->act, m->fc1, d->rows, m->width) != 0)
		return NULL;
	return gated(stage, d, m);
}

static int
all_forward(struct stage *stage, int64_t layer, const struct dims *d, struct kept *kept, void *out)
{
	struct mlp mlps[MOST_MLPS];
	void *full = stage->scratch.full, *partial = rows_partial(stage, out, stage->scratch.part);
	int n = mlps_of(d, kept, mlps), i, products, result = 0;
	const void *x = NULL, *seen;

	for (i = 0; i < n && result == 0; i++) {
		struct product in[2], back = {.run = linear_forward,
					  .l = linear_of(stage, layer, mlps[i].second, d->rows),
					  .to = partial,
					  .ld = d->h,
					  .beta = i > 0 ? 1 : 0};

		products = first_products(stage, layer, d, &mlps[i], in);
		if (i == 0)
			x = rows_multiply(stage, kept->n2, d->tokens, d->h, full, in, products);
		if (!x || (i > 0 && rows_run(stage, in, products, x, d->h) != 0))
			return -1;
		seen = between(stage, layer, d, &mlps[i]);
		if (!seen)
			return -1;
		result = i + 1 < n ? rows_run(stage, &back, 1, seen, mlps[i].width)
				   : rows_multiply_reduce(
					 stage, seen, mlps[i].width, &back, d->tokens, full, out);
	}
	return result;
}

int
mlp_forward(struct stage *stage, int64_t layer, const struct dims *d, struct kept *kept, void *out)
{
	struct vector bias = {layer, "mlp_fc2_bias", 0};
	int result;

	part_begin(stage->s, PART_MLP, STREAM_COMPUTE);
	result = all_forward(stage, layer, d, kept, out);
	part_end(stage->s, STREAM_COMPUTE);
	if (result != 0)
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

	if (KERNEL(stage,
		gate_back(backend(stage), dact, dgate, dact, m->act, m->gate, n, m->width),
		"a gate") != 0 ||
	    KERNEL(stage, gate(backend(stage), m->act, m->act, m->gate, n, m->width), "a gate") !=
		0 ||
	    linear_back_input(stage, &gate, dgate, 1, partial, d->h, beta) != 0)
		return -1;
	if (!stage->apart)
		return 0;
	return KERNEL(stage, copy(backend(stage), m->gate, 1, dgate, 1, d->rows, 1), "a gate");
}

/* What is between the two matrices, and the gradient of the first one's input. */
static int
through(struct stage *stage, int64_t layer, const struct dims *d, struct mlp m, void *partial,
    float beta)
{
	struct linear in = linear_of(stage, layer, m.first, d->rows);
	struct vector bias = {layer, m.bias, 0};
	void *dfc1 = dfc1_of(stage, &m), *dact = stage->scratch.dnarrow;
	int64_t wide = fc1_width(d, m.width);

	if (m.gate) {
		if (gate_back(stage, layer, d, &m, dact, partial, beta) != 0)
			return -1;
		beta = 1; /* what follows is added */
	}
	if (activate_back(stage, d, dfc1, dact, m.fc1, d->rows, m.width) != 0 ||
	    (m.bias && bias_sum(stage, bias, dfc1, d->rows, wide, wide) != 0))
		return -1;
	return linear_back_input(stage, &in, dfc1, wide, partial, d->h, beta);
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

/* Rows that gradients of weights need come meanwhile; the input's gradient goes meanwhile. */
static int
all_backward(struct stage *stage, int64_t layer, const struct dims *d, struct kept *kept,
    const void *dout, void *dn2)
{
	struct mlp mlps[MOST_MLPS];
	struct scratch *t = &stage->scratch;
	void *partial = rows_partial(stage, dn2, t->part);
	bool later = stage->apart;
	int n = mlps_of(d, kept, mlps), i;
	const void *x = NULL, *dy = NULL;

	for (i = 0; i < n; i++) {
		struct product back = {.run = linear_back_input,
		    .l = linear_of(stage, layer, mlps[i].second, d->rows),
		    .to = t->dnarrow,
		    .ld = mlps[i].width};

		if (i == 0)
			dy = rows_multiply(stage, dout, d->tokens, d->h, t->full2, &back, 1);
		if (i == 0 && dy && !later)
			x = rows_fetch(stage, kept->n2, d->tokens, d->h, t->full);
		if (!dy || (!x && !later) || (i > 0 && rows_run(stage, &back, 1, dy, d->h) != 0) ||
		    through(stage, layer, d, mlps[i], partial, i > 0 ? 1 : 0) != 0 ||
		    rows_joined(stage) != 0 ||
		    (i + 1 == n && rows_send_back(stage, partial, d->tokens, d->h, dn2) != 0) ||
		    (!later && one_weights(stage, layer, d, mlps[i], x, dy) != 0))
			return -1;
	}
	return rows_joined(stage);
}

int
mlp_backward(struct stage *stage, int64_t layer, const struct dims *d, struct kept *kept,
    const void *dout, void *dn2)
{
	struct vector bias = {layer, "mlp_fc2_bias", 0};
	int result = 0;

	part_begin(stage->s, PART_MLP, STREAM_COMPUTE);
	if (d->dense)
		result = bias_sum(stage, bias, dout, d->tokens, d->h, d->h);
	if (result == 0)
		result = all_backward(stage, layer, d, kept, dout, dn2);
	part_end(stage->s, STREAM_COMPUTE);
	return result;
}
