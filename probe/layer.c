/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How does one layer run, forward, backward, and once more where the plan recomputes?
 *
 * x1 = x + attention(norm(x)), out = x1 + ffn(norm(x1)); where a layer has four norms, both halves
 * are normed before they are added. Full recompute runs a layer's forward
 * again in front of its backward; selective recompute runs the named modules again, each from
 * what is still there.
 * A backward in two (Qi et al., arXiv 2401.10241): the products with weights first, those that give
 * the weights' gradients in a pass of their own. Until then each product's input and the gradient
 * of its output stay; the latter take the place of what only the first half needed: x1, the inputs
 * of layers, queries, keys and values, inputs of activations, what experts returned; rows of a
 * tensor-parallel group are gathered once more, since whole ones would be kept else. Norms, whose
 * gradients cost no product, have theirs in the first half.
 */
#include "probe/room.h"

static struct vector
scale_of_norm(const struct stage *stage, const struct norm *norm)
{
	return (struct vector){norm->layer, norm->name, norm->which * stage->widest.h};
}

static struct vector
bias_of_norm(const struct stage *stage, const struct norm *norm)
{
	return (struct vector){norm->layer, norm->name, norm->bias * stage->widest.h};
}

int
norm_forward(struct stage *stage, struct norm norm, const void *in, void *out)
{
	const struct widest *d = &stage->widest;
	int result;

	part_begin(stage->s, PART_NORM, STREAM_COMPUTE);
	result = rows_norm(stage, scale_of_norm(stage, &norm), in, out, d->tokens, d->h, d->h);
	if (result == 0 && norm.bias)
		result = bias_add(stage, bias_of_norm(stage, &norm), out, d->tokens, d->h, d->h);
	part_end(stage->s, STREAM_COMPUTE);
	return result;
}

int
norm_backward(struct stage *stage, struct norm norm, const void *in, const void *dout,
    const void *residual, void *din)
{
	struct vector v = scale_of_norm(stage, &norm);
	const struct weight *w = weight_find(&stage->weights, v.layer, v.name);
	struct backend *b = &stage->s->backend;
	const struct widest *d = &stage->widest;
	int result = 0;

	part_begin(stage->s, PART_NORM, STREAM_COMPUTE);
	if (norm.bias)
		result = bias_sum(stage, bias_of_norm(stage, &norm), dout, d->tokens, d->h, d->h);
	if (result == 0)
		result = b->ops->norm_back(b, din, weight_gradient(&stage->weights, w) + v.first,
		    dout, in, act_at(stage, weight_data(stage->s, &stage->weights, w), v.first),
		    d->tokens, d->h, d->h);
	if (result == 0 && residual)
		result = b->ops->add(b, din, residual, d->tokens * d->h);
	part_end(stage->s, STREAM_COMPUTE);
	return kernel_done(stage, result, "norm");
}

/* In front of attention, of the feed-forward half, then behind them; biases follow both scales. */
enum { NORM_FIRST, NORM_SECOND, NORM_BEHIND_FIRST, NORM_BEHIND_SECOND };

static struct norm
norm_of(const struct dims *d, int64_t layer, int which)
{
	return (struct norm){layer, "norms", which, d->norm_bias ? which + 2 : 0};
}

/* `out` = what the half gave, normed where a norm is behind it, + residual. */
static int
behind_half(struct stage *stage, const struct dims *d, struct norm norm, const void *y, void *out,
    const void *residual)
{
	struct backend *b = &stage->s->backend;

	if (d->norms > 2 && norm_forward(stage, norm, y, out) != 0)
		return -1;
	return kernel_done(stage, b->ops->add(b, out, residual, d->tokens * d->h), "residual");
}

/* The gradient of what the half gave, which takes its place where weights come later. */
static const void *
back_to_half(struct stage *stage, const struct dims *d, struct norm norm, void *y, const void *dout)
{
	void *dy = stage->apart ? y : stage->scratch.t4;

	if (d->norms == 2)
		return dout;
	return norm_backward(stage, norm, y, dout, NULL, dy) == 0 ? dy : NULL;
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

/* Attention and what is in front of the feed-forward half. */
static int
first_half(struct stage *stage, struct layer_pass *p)
{
	struct norm behind = norm_of(&p->d, p->layer, NORM_BEHIND_FIRST);
	struct kept *kept = p->kept;
	void *y1 = p->d.norms > 2 ? kept->y1 : kept->x1;

	p->half = p->d.norms > 2 ? kept->y2 : p->out;
	if (norm_forward(stage, norm_of(&p->d, p->layer, NORM_FIRST), kept->x, kept->n1) != 0 ||
	    attention_forward(stage, p->layer, &p->d, kept, y1) != 0 ||
	    behind_half(stage, &p->d, behind, y1, kept->x1, kept->x) != 0)
		return -1;
	return norm_forward(stage, norm_of(&p->d, p->layer, NORM_SECOND), kept->x1, kept->n2);
}

static int
forward_part(struct stage *stage, struct layer_pass *p, int part)
{
	struct norm last = norm_of(&p->d, p->layer, NORM_BEHIND_SECOND);

	if (part == 0 && first_half(stage, p) != 0)
		return -1;
	if (ffn_part(stage, p, part) != 0)
		return -1;
	return part == 2 ? behind_half(stage, &p->d, last, p->half, p->out, p->kept->x1) : 0;
}

static int
replay_modules(struct stage *stage, const struct layer_pass *p)
{
	struct norm first = norm_of(&p->d, p->layer, NORM_FIRST);
	struct norm second = norm_of(&p->d, p->layer, NORM_SECOND);
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
backward_begin(struct stage *stage, struct layer_pass *p)
{
	struct norm last = norm_of(&p->d, p->layer, NORM_BEHIND_SECOND);

	if (stage->replayed && replay_modules(stage, p) != 0)
		return -1;
	p->half_back = back_to_half(stage, &p->d, last, p->kept->y2, p->dout);
	return p->half_back ? 0 : -1;
}

static int
backward_part(struct stage *stage, struct layer_pass *p, int part)
{
	struct norm first = norm_of(&p->d, p->layer, NORM_FIRST);
	struct norm second = norm_of(&p->d, p->layer, NORM_SECOND);
	struct norm behind = norm_of(&p->d, p->layer, NORM_BEHIND_FIRST);
	struct scratch *t = &stage->scratch;
	void *dx1 = stage->apart ? p->kept->x1 : t->t3;
	const void *dy1;

	if ((part == 0 && backward_begin(stage, p) != 0) || ffn_back_part(stage, p, part) != 0)
		return -1;
	if (part < 2)
		return 0;
	if (norm_backward(stage, second, p->kept->x1, t->t2, p->dout, dx1) != 0)
		return -1;
	dy1 = back_to_half(stage, &p->d, behind, p->kept->y1, dx1);
	if (!dy1 || attention_backward(stage, p->layer, &p->d, p->kept, dy1, t->t2) != 0)
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
	bool behind;
	struct dims d;

	dims_of(stage->shape, shape_kind(stage->shape, layer), &d);
	behind = d.norms > 2;
	if (ffn_weights(stage, layer, micro_batch, &d, kept, behind ? kept->y2 : dout) != 0)
		return -1;
	return attention_weights(stage, layer, &d, kept, behind ? kept->y1 : kept->x1);
}
