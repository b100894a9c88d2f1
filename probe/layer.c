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
#include "probe/room.h"

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

struct layer_pass
layer_pass_of(struct stage *stage, int64_t layer, int64_t micro_batch, bool backward,
    struct kept *kept, const void *dout, void *out)
{
	struct layer_pass p = {.layer = layer,
	    .micro_batch = micro_batch,
	    .backward = backward,
	    .kept = kept,
	    .dout = dout,
	    .out = out};

	dims_of(stage->shape, shape_kind(stage->shape, layer), &p.d);
	return p;
}

static int
residual(struct stage *stage, const struct layer_pass *p, void *to, const void *from)
{
	struct backend *b = &stage->s->backend;

	return kernel_done(stage, b->ops->add(b, to, from, p->d.tokens * p->d.h), "residual");
}

static int
forward_part(struct stage *stage, struct layer_pass *p, int part)
{
	struct norm first = {p->layer, "norms", 0}, second = {p->layer, "norms", 1};
	struct kept *kept = p->kept;

	if (part == 0 &&
	    (norm_forward(stage, first, kept->x, kept->n1) != 0 ||
		attention_forward(stage, p->layer, &p->d, kept) != 0 ||
		residual(stage, p, kept->x1, kept->x) != 0 ||
		norm_forward(stage, second, kept->x1, kept->n2) != 0))
		return -1;
	if (ffn_part(stage, p, part) != 0)
		return -1;
	return part == 2 ? residual(stage, p, p->out, kept->x1) : 0;
}

static int
replay_modules(struct stage *stage, const struct layer_pass *p)
{
	struct norm first = {p->layer, "norms", 0}, second = {p->layer, "norms", 1};
	struct kept *kept = p->kept;
	int result = 0;

	stage->s->replaying = true;
	if (stage->replayed & MODULE_LAYERNORM &&
	    (norm_forward(stage, first, kept->x, kept->n1) != 0 ||
		norm_forward(stage, second, kept->x1, kept->n2) != 0))
		result = -1;
	if (result == 0)
		result = attention_replay(stage, p->layer, &p->d, kept);
	if (result == 0)
		result = ffn_replay(stage, p);
	stage->s->replaying = false;
	return result;
}

static int
backward_part(struct stage *stage, struct layer_pass *p, int part)
{
	struct norm first = {p->layer, "norms", 0}, second = {p->layer, "norms", 1};
	struct scratch *t = &stage->scratch;
	void *dx1 = stage->apart ? p->kept->x1 : t->t3;

	if (part == 0 && stage->replayed && replay_modules(stage, p) != 0)
		return -1;
	if (ffn_back_part(stage, p, part) != 0)
		return -1;
	if (part < 2)
		return 0;
	if (norm_backward(stage, second, p->kept->x1, t->t2, p->dout, dx1) != 0 ||
	    attention_backward(stage, p->layer, &p->d, p->kept, dx1, t->t2) != 0)
		return -1;
	return norm_backward(stage, first, p->kept->x, t->t2, dx1, p->out);
}

int
layer_part(struct stage *stage, struct layer_pass *p, int part)
{
	if (part == 0)
		room_point(stage, p->kept);
	return p->backward ? backward_part(stage, p, part) : forward_part(stage, p, part);
}

/* What every token passes hides behind rows on their way, where the plan overlaps them. */
int
layer_run(struct stage *stage, struct layer_pass *p)
{
	int part;

	for (part = 0; part < LAYER_PARTS; part++)
		if (layer_part(stage, p, part) != 0 || rows_depart(stage, p) != 0 ||
		    (part == 0 && stage->overlap & OVERLAP_EP && ffn_whole(stage, p) != 0) ||
		    rows_arrive(stage, p) != 0)
			return -1;
	return 0;
}

int
layer_forward(struct stage *stage, int64_t layer, int64_t micro_batch, struct kept *kept, void *out)
{
	struct layer_pass p = layer_pass_of(stage, layer, micro_batch, false, kept, NULL, out);

	return layer_run(stage, &p);
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

int
layer_backward(struct stage *stage, int64_t layer, int64_t micro_batch, struct kept *kept,
    const void *dout, void *dx)
{
	struct layer_pass p = layer_pass_of(stage, layer, micro_batch, true, kept, dout, dx);

	return layer_run(stage, &p);
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
