/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Multi-token prediction: what runs behind the last layer, module by module.
 *
 * DeepSeek-V3 (arXiv 2412.19437, section 2.2): module k takes the hidden state of the one before
 * (the last layer's for the first) and the embedding of the word k ahead, x = M [norm(e); norm(h)],
 * runs one layer on x and, through a norm of its own and the model's head, predicts the word k + 1
 * ahead. The projection's output width is shared out over the tensor-parallel group; an all-gather
 * brings the columns together, as Megatron-LM's does.
 */
#include "probe/stage.h"

enum { NORM_EMBEDDED, NORM_HIDDEN };

/* Both halves of M: columns [0, h) meet the embedding, [h, 2h) the hidden state. */
static struct linear
half_of(const struct stage *stage, int64_t layer, int half)
{
	struct linear l = linear_of(stage, layer, "mtp_projection", stage->widest.rows);

	l.in = stage->widest.h;
	l.w = act_at(stage, l.w, half * l.in);
	l.dw += half * l.in;
	return l;
}

/* Columns of all ranks for the own rows: [TP][M][h / TP] to [T][h]. */
static int
unite_columns(struct stage *stage, const void *columns, int64_t width, void *out)
{
	const struct group_comm *tp = &stage->s->groups[GROUP_TP];
	struct backend *b = &stage->s->backend;
	struct collective all = {.kind = COLLECTIVE_ALL_GATHER,
	    .comm = tp->comm,
	    .send = columns,
	    .recv = stage->scratch.part,
	    .count = stage->widest.rows * width};

	if (!tp->comm)
		return 0;
	if (session_collective(stage->s, PART_TENSOR_PARALLEL, group_names[GROUP_TP], &all) != 0)
		return -1;
	return kernel_done(stage,
	    b->ops->gather(b, out, stage->scratch.part, stage->columns,
		tp->size * stage->widest.tokens, width),
	    "projection");
}

static int
project(struct stage *stage, int64_t layer, struct mtp_kept *mtp)
{
	struct linear first = half_of(stage, layer, NORM_EMBEDDED);
	struct linear second = half_of(stage, layer, NORM_HIDDEN);
	const struct widest *d = &stage->widest;
	struct scratch *t = &stage->scratch;
	void *y = stage->s->groups[GROUP_TP].comm ? t->mtp_part : mtp->layer.x;
	const void *e = rows_gather(stage, mtp->embedded_normed, d->tokens, d->h, t->full);
	const void *h =
	    e ? rows_gather(stage, mtp->hidden_normed, d->tokens, d->h, t->full2) : NULL;
	int result;

	if (!h)
		return -1;
	part_begin(stage->s, PART_MTP, STREAM_COMPUTE);
	result = linear_forward(stage, &first, e, d->h, y, first.out, 0);
	if (result == 0)
		result = linear_forward(stage, &second, h, d->h, y, second.out, 1);
	if (result == 0)
		result = unite_columns(stage, y, first.out, mtp->layer.x);
	part_end(stage->s, STREAM_COMPUTE);
	return result;
}

static int
half_weights(struct stage *stage, const struct linear *l, const void *dy, const void *seen)
{
	const struct widest *d = &stage->widest;
	const void *x = rows_gather(stage, seen, d->tokens, d->h, stage->scratch.full);
	int result;

	if (!x)
		return -1;
	part_begin(stage->s, PART_MTP, STREAM_COMPUTE);
	result = linear_back_weight(stage, l, dy, d->h, x, d->h);
	part_end(stage->s, STREAM_COMPUTE);
	return result;
}

/* One half's weight gradient unless that comes later, and that of what it saw into `out`. */
static int
half_back(struct stage *stage, const struct linear *l, const void *dy, const void *seen, void *out)
{
	const struct widest *d = &stage->widest;
	void *partial = rows_partial(stage, out, stage->scratch.full);
	int result;

	if (!stage->apart && half_weights(stage, l, dy, seen) != 0)
		return -1;
	part_begin(stage->s, PART_MTP, STREAM_COMPUTE);
	result = linear_back_input(stage, l, dy, d->h, partial, d->h, 0);
	part_end(stage->s, STREAM_COMPUTE);
	return result == 0 ? rows_reduce(stage, partial, d->tokens, d->h, out) : -1;
}

/* The projection's columns that are here, all rows of the group. */
static const void *
own_columns(struct stage *stage, const struct linear *l, const void *rows)
{
	const struct widest *d = &stage->widest;
	const void *all = rows_gather(stage, rows, d->tokens, d->h, stage->scratch.part);

	return all ? act_at(stage, all, stage->s->tp * l->out) : NULL;
}

static int
module_forward(struct stage *stage, int module, int64_t micro_batch, struct mtp_kept *mtp)
{
	int64_t layer = stage->shape->model.layers + module - 1;
	struct norm embedded = {layer, "mtp_norms", NORM_EMBEDDED, 0},
		    hidden = {layer, "mtp_norms", NORM_HIDDEN, 0};

	if (embedding_forward(stage, micro_batch, module, mtp->embedded) != 0 ||
	    unit_enter(stage->s, &stage->weights, layer) != 0 ||
	    norm_forward(stage, embedded, mtp->embedded, mtp->embedded_normed) != 0 ||
	    norm_forward(stage, hidden, mtp->hidden, mtp->hidden_normed) != 0 ||
	    project(stage, layer, mtp) != 0 ||
	    layer_forward(stage, layer, micro_batch, &mtp->layer, mtp->out) != 0)
		return -1;
	return unit_leave(stage->s, &stage->weights);
}

/*
 * dout: of the module's output; dhidden: of what it took. dout is used up, unless weights come
 * later: then it stays, and the gradient of the projection's output is left where that was.
 */
static int
module_backward(struct stage *stage, int module, int64_t micro_batch, struct mtp_kept *mtp,
    void *dout, void *dhidden)
{
	int64_t layer = stage->shape->model.layers + module - 1;
	struct norm embedded = {layer, "mtp_norms", NORM_EMBEDDED, 0},
		    hidden = {layer, "mtp_norms", NORM_HIDDEN, 0};
	struct linear first = half_of(stage, layer, NORM_EMBEDDED);
	struct linear second = half_of(stage, layer, NORM_HIDDEN);
	struct scratch *t = &stage->scratch;
	void *dx = stage->apart ? mtp->layer.x : dout;
	const void *own;

	if (unit_enter(stage->s, &stage->weights, layer) != 0)
		return -1;
	if (stage->shape->strategy.recompute.kind == RECOMPUTE_FULL &&
	    layer_replay(stage, layer, micro_batch, &mtp->layer, mtp->out) != 0)
		return -1;
	if (layer_backward(stage, layer, micro_batch, &mtp->layer, dout, dx) != 0)
		return -1;
	own = own_columns(stage, &first, dx);
	if (!own || half_back(stage, &first, own, mtp->embedded_normed, t->t1) != 0 ||
	    half_back(stage, &second, own, mtp->hidden_normed, t->t2) != 0 ||
	    norm_backward(stage, embedded, mtp->embedded, t->t1, NULL, t->t3) != 0 ||
	    norm_backward(stage, hidden, mtp->hidden, t->t2, NULL, dhidden) != 0 ||
	    unit_leave(stage->s, &stage->weights) != 0)
		return -1;
	return embedding_backward(stage, micro_batch, module, t->t3);
}

static int
module_weights(struct stage *stage, int module, int64_t micro_batch, struct mtp_kept *mtp)
{
	int64_t layer = stage->shape->model.layers + module - 1;
	struct linear first = half_of(stage, layer, NORM_EMBEDDED);
	struct linear second = half_of(stage, layer, NORM_HIDDEN);
	const void *own;

	if (unit_enter(stage->s, &stage->weights, layer) != 0 ||
	    layer_weights(stage, layer, micro_batch, &mtp->layer, mtp->out) != 0)
		return -1;
	own = own_columns(stage, &first, mtp->layer.x);
	if (!own || half_weights(stage, &first, own, mtp->embedded_normed) != 0 ||
	    half_weights(stage, &second, own, mtp->hidden_normed) != 0)
		return -1;
	return unit_leave(stage->s, &stage->weights);
}

int
ends_forward(struct stage *stage, int slot, int64_t micro_batch, const void *hidden,
    losses_fn *losses, void *context)
{
	int modules = (int)stage->shape->model.mtp_layers, module;

	for (module = 0; module <= modules; module++) {
		struct head_kept *head = &stage->heads[slot * (1 + modules) + module];

		if (module > 0) {
			struct mtp_kept *mtp = &stage->mtp[slot * modules + module - 1];

			mtp->hidden = hidden;
			if (module_forward(stage, module, micro_batch, mtp) != 0)
				return -1;
			hidden = mtp->out;
		}
		head->hidden = hidden;
		if (head_forward(stage, micro_batch, module, head) != 0 ||
		    losses(context, module, micro_batch) != 0)
			return -1;
	}
	return 0;
}

int
ends_backward(struct stage *stage, int slot, int64_t micro_batch, void *dhidden)
{
	int modules = (int)stage->shape->model.mtp_layers, module;
	const void *carried = NULL;

	for (module = modules; module > 0; module--) {
		struct head_kept *head = &stage->heads[slot * (1 + modules) + module];
		struct mtp_kept *mtp = &stage->mtp[slot * modules + module - 1];
		void *dout = stage->apart ? mtp->out : dhidden;

		if (head_backward(stage, module, head, carried, dout) != 0 ||
		    module_backward(stage, module, micro_batch, mtp, dout,
			stage->scratch.carried) != 0)
			return -1;
		carried = stage->scratch.carried;
	}
	return head_backward(stage, 0, &stage->heads[slot * (1 + modules)], carried, dhidden);
}

int
ends_weights(struct stage *stage, int slot, int64_t micro_batch)
{
	int modules = (int)stage->shape->model.mtp_layers, module;

	for (module = modules; module >= 0; module--)
		if (head_weights(
			stage, module, &stage->heads[slot * (1 + modules) + module]) != 0 ||
		    (module > 0 && module_weights(stage, module, micro_batch,
				       &stage->mtp[slot * modules + module - 1]) != 0))
			return -1;
	return 0;
}
