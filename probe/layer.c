/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How does one layer run, forward, backward, and once more where the plan recomputes?
 *
 * x1 = x + attention(norm(x)), out = x1 + ffn(norm(x1)). Full recompute runs a layer's forward
 * again in front of its backward; selective recompute runs the named modules again, each from
 * what is still there.
 * A backward in two (Qi et al., arXiv 2401.10241): the products with weights first, those that give
 * the weights' gradients in a pass of their own. Until then each product's input and the gradient
 * of its output stay; the latter take the place of what only the first half needed: x1, the inputs
 * of layers, queries, keys and values, inputs of activations, what experts returned. Norms, whose
 * gradients cost no product, have theirs in the first half.
 */
#include "probe/stage.h"

int
norm_forward(struct stage *stage, struct norm norm, const void *in, void *out)
{
	const struct weight *w = weight_find(&stage->weights, norm.layer, norm.name);
	struct backend *b = &stage->s->backend;
	const struct widest *d = &stage->widest;
	int result;

	part_begin(stage->s, PART_NORM, STREAM_COMPUTE);
	result = b->ops->norm(b, out, in,
	    act_at(stage, weight_data(stage->s, &stage->weights, w), norm.which * d->h), d->tokens,
	    d->h);
	part_end(stage->s, STREAM_COMPUTE);
	return kernel_done(stage, result, "norm");
}

int
norm_backward(struct stage *stage, struct norm norm, const void *in, const void *dout,
    const void *residual, void *din)
{
	const struct weight *w = weight_find(&stage->weights, norm.layer, norm.name);
	struct backend *b = &stage->s->backend;
	const struct widest *d = &stage->widest;
	int result;

	part_begin(stage->s, PART_NORM, STREAM_COMPUTE);
	result = b->ops->norm_back(b, din, weight_gradient(&stage->weights, w) + norm.which * d->h,
	    dout, in, act_at(stage, weight_data(stage->s, &stage->weights, w), norm.which * d->h),
	    d->tokens, d->h);
	if (result == 0 && residual)
		result = b->ops->add(b, din, residual, d->tokens * d->h);
	part_end(stage->s, STREAM_COMPUTE);
	return kernel_done(stage, result, "norm");
}

int
layer_forward(struct stage *stage, int64_t layer, int64_t micro_batch, struct kept *kept, void *out)
{
	struct norm first = {layer, "norms", 0}, second = {layer, "norms", 1};
	struct backend *b = &stage->s->backend;
	struct dims d;

	dims_of(stage->shape, shape_kind(stage->shape, layer), &d);
	if (norm_forward(stage, first, kept->x, kept->n1) != 0 ||
	    attention_forward(stage, layer, &d, kept) != 0 ||
	    kernel_done(stage, b->ops->add(b, kept->x1, kept->x, d.tokens * d.h), "residual") !=
		0 ||
	    norm_forward(stage, second, kept->x1, kept->n2) != 0 ||
	    ffn_forward(stage, layer, micro_batch, &d, kept, out) != 0)
		return -1;
	return kernel_done(stage, b->ops->add(b, out, kept->x1, d.tokens * d.h), "residual");
}

int
layer_replay(struct stage *stage, int64_t layer, int64_t micro_batch, struct kept *kept, void *out)
{
	int result;

	stage->s->replaying = true;
	result = layer_forward(stage, layer, micro_batch, kept, out);
	stage->s->replaying = false;
	return result;
}

static int
replay_modules(struct stage *stage, int64_t layer, int64_t micro_batch, const struct dims *d,
    struct kept *kept)
{
	struct norm first = {layer, "norms", 0}, second = {layer, "norms", 1};
	int result = 0;

	stage->s->replaying = true;
	if (stage->replayed & MODULE_LAYERNORM &&
	    (norm_forward(stage, first, kept->x, kept->n1) != 0 ||
		norm_forward(stage, second, kept->x1, kept->n2) != 0))
		result = -1;
	if (result == 0)
		result = attention_replay(stage, layer, d, kept);
	if (result == 0)
		result = ffn_replay(stage, layer, micro_batch, d, kept);
	stage->s->replaying = false;
	return result;
}

int
layer_backward(struct stage *stage, int64_t layer, int64_t micro_batch, struct kept *kept,
    const void *dout, void *dx)
{
	struct norm first = {layer, "norms", 0}, second = {layer, "norms", 1};
	struct scratch *t = &stage->scratch;
	void *dx1 = stage->apart ? kept->x1 : t->t3;
	struct dims d;

	dims_of(stage->shape, shape_kind(stage->shape, layer), &d);
	if ((stage->replayed && replay_modules(stage, layer, micro_batch, &d, kept) != 0) ||
	    ffn_backward(stage, layer, micro_batch, &d, kept, dout, t->t2) != 0 ||
	    norm_backward(stage, second, kept->x1, t->t2, dout, dx1) != 0 ||
	    attention_backward(stage, layer, &d, kept, dx1, t->t2) != 0)
		return -1;
	return norm_backward(stage, first, kept->x, t->t2, dx1, dx);
}

int
layer_weights(
    struct stage *stage, int64_t layer, int64_t micro_batch, struct kept *kept, const void *dout)
{
	struct dims d;

	dims_of(stage->shape, shape_kind(stage->shape, layer), &d);
	if (ffn_weights(stage, layer, micro_batch, &d, kept, dout) != 0)
		return -1;
	return attention_weights(stage, layer, &d, kept, kept->x1);
}
