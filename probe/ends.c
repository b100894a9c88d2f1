/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What is in front of the first layer and behind the last one?
 *
 * Embedding: each rank of a tensor-parallel group has V / TP rows of the table and sums up what it
 * has of the group's tokens; the reduce-scatter leaves each its own rows. Head and loss: logits of
 * the own V / TP words for all rows of the group, cross entropy from three numbers a row and rank
 * (host_kernels.c), whose gradient takes the logits' place. The loss is the sum over tokens.
 */
#include "probe/stage.h"

static const int32_t *
words_of(const struct stage *stage, int64_t micro_batch, int shift)
{
	int64_t shifts = stage->shape->model.mtp_layers + 2;

	return stage->words + (micro_batch * shifts + shift) * stage->widest.rows;
}

/* Learned positions are whole on every rank and are added to its own rows. */
static int
add_positions(struct stage *stage, void *out)
{
	const struct weight *w = weight_find(&stage->weights, LAYER_ENDS, "positions");
	struct backend *b = &stage->s->backend;
	const struct widest *d = &stage->widest;

	if (!w)
		return 0;
	if (b->ops->gather(b, stage->scratch.t1, weight_data(stage->s, &stage->weights, w),
		stage->positions, d->tokens, d->h) != 0)
		return kernel_done(stage, -1, "embedding");
	return kernel_done(
	    stage, b->ops->add(b, out, stage->scratch.t1, d->tokens * d->h), "embedding");
}

int
embedding_forward(struct stage *stage, int64_t micro_batch, int shift, void *out)
{
	const struct weight *w = weight_find(&stage->weights, LAYER_ENDS, "embedding");
	void *partial = rows_partial(stage, out, stage->scratch.part);
	struct backend *b = &stage->s->backend;
	const struct widest *d = &stage->widest;
	int result;

	if (unit_enter(stage->s, &stage->weights, UNIT_EMBEDDING) != 0)
		return -1;
	part_begin(stage->s, PART_EMBEDDING, STREAM_COMPUTE);
	result = kernel_done(stage,
	    b->ops->gather(b, partial, weight_data(stage->s, &stage->weights, w),
		words_of(stage, micro_batch, shift), d->rows, d->h),
	    "embedding");
	if (result == 0)
		result = rows_reduce(stage, partial, d->tokens, d->h, out);
	if (result == 0)
		result = add_positions(stage, out);
	part_end(stage->s, STREAM_COMPUTE);
	return result == 0 ? unit_leave(stage->s, &stage->weights) : -1;
}

int
embedding_backward(struct stage *stage, int64_t micro_batch, int shift, const void *dout)
{
	const struct weight *w = weight_find(&stage->weights, LAYER_ENDS, "embedding");
	const struct weight *positions = weight_find(&stage->weights, LAYER_ENDS, "positions");
	const struct widest *d = &stage->widest;
	const void *rows = rows_gather(stage, dout, d->tokens, d->h, stage->scratch.full2);
	struct backend *b = &stage->s->backend;
	int result;

	if (!rows || unit_enter(stage->s, &stage->weights, UNIT_EMBEDDING) != 0)
		return -1;
	part_begin(stage->s, PART_EMBEDDING, STREAM_COMPUTE);
	result = b->ops->scatter_add(b, weight_gradient(&stage->weights, w), rows,
	    words_of(stage, micro_batch, shift), d->rows, d->h);
	if (result == 0 && positions)
		result = b->ops->scatter_add(b, weight_gradient(&stage->weights, positions), dout,
		    stage->positions, d->tokens, d->h);
	part_end(stage->s, STREAM_COMPUTE);
	if (kernel_done(stage, result, "embedding") != 0)
		return -1;
	return unit_leave(stage->s, &stage->weights);
}

/* --- head and loss ------------------------------------------------------------------------ */

static struct norm
norm_of_head(const struct stage *stage, int module)
{
	int64_t layer = stage->shape->model.layers + module - 1;

	return module == 0 ? (struct norm){LAYER_ENDS, "final_norm", 0,
				 shape_norm_bias(&stage->shape->model)}
			   : (struct norm){layer, "mtp_norms", 2, 0};
}

static struct linear
head_of(const struct stage *stage)
{
	const char *name = stage->shape->model.tied ? "embedding" : "head";

	return linear_of(stage, LAYER_ENDS, name, stage->widest.rows);
}

static const struct vector head_bias = {LAYER_ENDS, "head_bias", 0};

static int
cross_entropy(struct stage *stage, int64_t micro_batch, int module, void *logits, int64_t words)
{
	const int32_t *targets = words_of(stage, micro_batch, module + 1);
	struct scratch *t = &stage->scratch;
	struct backend *b = &stage->s->backend;
	int64_t rows = stage->widest.rows;
	struct collective all = {.kind = COLLECTIVE_ALL_GATHER,
	    .element = ELEMENT_FLOAT,
	    .comm = stage->s->groups[GROUP_TP].comm,
	    .send = t->stats,
	    .recv = t->all_stats,
	    .count = 3 * rows};

	if (b->ops->loss_stats(b, t->stats, logits, targets, rows, words) != 0)
		return kernel_done(stage, -1, "loss");
	if (session_collective(stage->s, PART_TENSOR_PARALLEL, group_names[GROUP_TP], &all) != 0)
		return -1;
	return kernel_done(stage,
	    b->ops->loss(b, t->losses, logits, all.comm ? t->all_stats : t->stats,
		stage->s->groups[GROUP_TP].size, targets, rows, words),
	    "loss");
}

/* The norm in front of a head is the model's or its module's; the words are one matrix. */
struct head_units {
	int64_t norm, words;
};

static struct head_units
units_of(const struct stage *stage, int module)
{
	const struct model *model = &stage->shape->model;

	return (struct head_units){.norm = module ? model->layers + module - 1 : UNIT_HEAD,
	    .words = model->tied ? UNIT_EMBEDDING : UNIT_HEAD};
}

static int
normed_forward(struct stage *stage, int64_t unit, int module, struct head_kept *kept)
{
	if (unit_enter(stage->s, &stage->weights, unit) != 0 ||
	    norm_forward(stage, norm_of_head(stage, module), kept->hidden, kept->normed) != 0)
		return -1;
	return unit_leave(stage->s, &stage->weights);
}

static int
words_forward(struct stage *stage, int64_t micro_batch, int module, struct head_kept *kept)
{
	struct linear head = head_of(stage);
	const struct widest *d = &stage->widest;
	const void *x;
	int result;

	x = rows_gather(stage, kept->normed, d->tokens, d->h, stage->scratch.full);
	if (!x)
		return -1;
	part_begin(stage->s, PART_HEAD, STREAM_COMPUTE);
	result = linear_forward(stage, &head, x, d->h, kept->logits, head.out, 0);
	if (result == 0)
		result = bias_add(stage, head_bias, kept->logits, d->rows, head.out, head.out);
	if (result == 0)
		result = cross_entropy(stage, micro_batch, module, kept->logits, head.out);
	part_end(stage->s, STREAM_COMPUTE);
	return result;
}

int
head_forward(struct stage *stage, int64_t micro_batch, int module, struct head_kept *kept)
{
	struct head_units units = units_of(stage, module);
	struct weights *weights = &stage->weights;
	bool one = units.norm == units.words; /* gathered once for both */

	if ((one && unit_enter(stage->s, weights, units.words) != 0) ||
	    normed_forward(stage, units.norm, module, kept) != 0 ||
	    unit_enter(stage->s, weights, units.words) != 0 ||
	    words_forward(stage, micro_batch, module, kept) != 0 ||
	    unit_leave(stage->s, weights) != 0)
		return -1;
	return one ? unit_leave(stage->s, weights) : 0;
}

static int
words_weights(struct stage *stage, const struct head_kept *kept)
{
	struct linear head = head_of(stage);
	const struct widest *d = &stage->widest;
	const void *x = rows_gather(stage, kept->normed, d->tokens, d->h, stage->scratch.full);
	int result;

	if (!x)
		return -1;
	part_begin(stage->s, PART_HEAD, STREAM_COMPUTE);
	result = linear_back_weight(stage, &head, kept->logits, head.out, x, d->h);
	part_end(stage->s, STREAM_COMPUTE);
	return result;
}

/* The gradient of what the norm gave into scratch.t1. */
static int
words_backward(struct stage *stage, struct head_kept *kept)
{
	struct linear head = head_of(stage);
	const struct widest *d = &stage->widest;
	struct scratch *t = &stage->scratch;
	void *partial = rows_partial(stage, t->t1, t->part);
	int result;

	if (!stage->apart && words_weights(stage, kept) != 0)
		return -1;
	part_begin(stage->s, PART_HEAD, STREAM_COMPUTE);
	result = bias_sum(stage, head_bias, kept->logits, d->rows, head.out, head.out);
	if (result == 0)
		result = linear_back_input(stage, &head, kept->logits, head.out, partial, d->h, 0);
	part_end(stage->s, STREAM_COMPUTE);
	return result == 0 ? rows_reduce(stage, partial, d->tokens, d->h, t->t1) : -1;
}

int
head_weights(struct stage *stage, int module, const struct head_kept *kept)
{
	int64_t words = units_of(stage, module).words;

	if (unit_enter(stage->s, &stage->weights, words) != 0 || words_weights(stage, kept) != 0)
		return -1;
	return unit_leave(stage->s, &stage->weights);
}

int
head_backward(
    struct stage *stage, int module, struct head_kept *kept, const void *residual, void *dhidden)
{
	struct head_units units = units_of(stage, module);
	struct weights *weights = &stage->weights;
	bool one = units.norm == units.words;

	if ((one && unit_enter(stage->s, weights, units.words) != 0) ||
	    unit_enter(stage->s, weights, units.words) != 0 || words_backward(stage, kept) != 0 ||
	    unit_leave(stage->s, weights) != 0 || unit_enter(stage->s, weights, units.norm) != 0 ||
	    norm_backward(stage, norm_of_head(stage, module), kept->hidden, stage->scratch.t1,
		residual, dhidden) != 0 ||
	    unit_leave(stage->s, weights) != 0)
		return -1;
	return one ? unit_leave(stage->s, weights) : 0;
}
