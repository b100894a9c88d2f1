/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * When are gradients summed over their copies, and when do updated weights come back?
 *
 * At the end of the step, or, with data-parallel overlap, as Megatron's distributed optimizer does
 * it: a layer's gradients go out behind its last backward, beside the backward of the layers in
 * front of it, and its updated weights come back beside the forward of the layer in front of it.
 * Weights with copies of another kind (copies.c, embedding) and those of no layer wait for the end.
 * So do all with DualPipe: the two stages that hold a chunk are done with it at different times.
 */
#include "base/arena.h"
#include "planner/stages.h"
#include "probe/weights.h"

/* To 16 bytes of bf16: products and kernels load that much at once. */
enum { ALIGNED = 8 };

static int64_t
up_to(int64_t elements, int64_t multiple)
{
	return (elements + multiple - 1) / multiple * multiple;
}

static void
close_piece(struct bucket *b, int64_t size, bool sharded)
{
	struct piece *piece;

	if (b->n_pieces == 0)
		return;
	piece = &b->pieces[b->n_pieces - 1];
	piece->padded = up_to(piece->padded, sharded ? ALIGNED * size : ALIGNED);
	piece->shard = sharded ? piece->padded / size : piece->padded;
	piece->shard_offset = b->shard;
	b->padded += piece->padded;
	b->shard += piece->shard;
}

static void
cut_bucket(
    const struct session *s, const struct shape *shape, struct weights *weights, int unit, int kind)
{
	static const enum group groups[BUCKETS] = {GROUP_DP_CP, GROUP_DP_CP, GROUP_EXPERT_DP};
	struct bucket *b = &weights->units[unit].buckets[kind];
	int64_t size = s->groups[groups[kind]].size;
	bool sharded = weights->stage > 0, each = weights->overlap && size > 1;
	struct piece *piece = NULL;
	int i;

	b->group = groups[kind];
	b->pieces = arena_array(s->arena, (size_t)weights->n + 1, sizeof(*b->pieces));
	for (i = 0; i < weights->n; i++) {
		struct weight *w = &weights->items[i];

		if (w->unit != unit || (int)w->bucket != kind)
			continue;
		if (!piece || (each && piece->layer != w->layer)) {
			close_piece(b, size, sharded);
			piece = &b->pieces[b->n_pieces++];
			*piece =
			    (struct piece){.layer = w->layer, .offset = b->padded, .early = each};
		}
		w->offset = piece->offset + piece->padded;
		piece->padded += up_to(w->count * w->rows * w->cols, ALIGNED);
		if (w->layer < 0 || w->layer >= shape->model.layers || w->copies.n > 0)
			piece->early = false;
	}
	close_piece(b, size, sharded);
}

/* The same on all ranks, also where a stage has no layer. */
void
pieces_make(const struct session *s, const struct shape *shape, struct weights *weights)
{
	int i;

	weights->planned = weights->stage < 2 && (shape->strategy.overlap & OVERLAP_DP) != 0 &&
			   weight_copies(&shape->strategy) == 1 &&
			   (s->groups[GROUP_DP_CP].size > 1 || s->groups[GROUP_EXPERT_DP].size > 1);
	weights->overlap = weights->planned;
	for (i = 0; i < weights->n_units * BUCKETS; i++)
		cut_bucket(s, shape, weights, i / BUCKETS, i % BUCKETS);
}

bool
weights_overlap(struct weights *weights, bool on)
{
	weights->overlap = on && weights->planned;
	return weights->planned;
}

const struct piece *
piece_at(const struct bucket *b, int64_t element)
{
	const struct piece *piece = b->pieces;

	while (element >= piece->offset + piece->padded)
		piece++;
	return piece;
}

int64_t
piece_first(const struct session *s, const struct bucket *b, const struct piece *piece)
{
	int64_t index = piece->shard < piece->padded ? s->groups[b->group].index : 0;

	return piece->offset + piece->shard * index;
}

/* --- gradients ---------------------------------------------------------------------------- */

/* In the way of the computation, beside it, or beside it behind what else is there. */
enum way { IN_THE_WAY, BESIDE, BEHIND };

static int
post(struct session *s, enum part part, enum group group, struct collective *c, enum way way)
{
	c->comm = s->groups[group].comm;
	if (c->count == 0 || !c->comm)
		return 0;
	if (way == IN_THE_WAY)
		return session_collective(s, part, group_names[group], c);
	return session_beside(s, STREAM_BESIDE, part, group_names[group], c,
	    way == BEHIND ? BEHIND_COMPUTE | BEHIND_STREAM : BEHIND_COMPUTE);
}

static int
all_reduce(struct session *s, enum group group, float *values, int64_t n, enum way way)
{
	struct collective c = {
	    .kind = COLLECTIVE_ALL_REDUCE, .element = ELEMENT_FLOAT, .recv = values, .count = n};

	return post(s, PART_GRADIENTS, group, &c, way);
}

static int
reduce_piece(struct session *s, const struct bucket *b, struct piece *piece, enum way way)
{
	struct collective c = {.kind = COLLECTIVE_REDUCE_SCATTER,
	    .element = ELEMENT_FLOAT,
	    .send = b->gradient + piece->offset,
	    .recv = b->shard_gradient + piece->shard_offset,
	    .count = piece->shard};

	piece->reduced = true;
	if (!b->shard_gradient)
		return all_reduce(s, b->group, b->gradient + piece->offset, piece->padded, way);
	return post(s, PART_GRADIENTS, b->group, &c, way);
}

/* Copies on the tensor-parallel ranks have seen other tokens. */
static int
sum_replicated(
    struct session *s, const struct bucket *replicated, const struct piece *piece, enum way way)
{
	float *gradient = replicated->gradient;

	return all_reduce(s, GROUP_TP, gradient + piece->offset, piece->padded, way);
}

int
weights_early(struct session *s, struct weights *weights, int64_t layer)
{
	int kind, i;

	for (kind = 0; kind < BUCKETS && weights->overlap; kind++) {
		struct bucket *b = &weights->units[0].buckets[kind];

		for (i = 0; i < b->n_pieces; i++) {
			struct piece *piece = &b->pieces[i];

			if (!piece->early || piece->layer != layer)
				continue;
			if (kind == BUCKET_REPLICATED && sum_replicated(s, b, piece, BESIDE) != 0)
				return -1;
			if (reduce_piece(
				s, b, piece, kind == BUCKET_REPLICATED ? BEHIND : BESIDE) != 0)
				return -1;
		}
	}
	return 0;
}

/* First and last stage hold a copy each, which serves other tokens of the same micro-batches. */
static int
reduce_embedding(struct session *s, const struct shape *shape, struct weights *weights)
{
	static const char *const names[] = {"embedding", "positions"};
	size_t i;

	for (i = 0; weights_copy_embedding(shape) && i < 2; i++) {
		const struct weight *w = weight_find(weights, LAYER_ENDS, names[i]);

		if (w && all_reduce(s, GROUP_EMBEDDING, weight_gradient(weights, w),
			     w->count * w->rows * w->cols, IN_THE_WAY) != 0)
			return -1;
	}
	return 0;
}

static int
reduce_rest(struct session *s, struct weights *weights)
{
	int kind, i;

	for (kind = 0; kind < BUCKETS; kind++) {
		struct bucket *b = &weights->units[0].buckets[kind];

		for (i = 0; i < b->n_pieces; i++) {
			if (!b->pieces[i].reduced &&
			    reduce_piece(s, b, &b->pieces[i], IN_THE_WAY) != 0)
				return -1;
			b->pieces[i].reduced = false; /* for the next step */
		}
	}
	return 0;
}

int
unit_sum(struct session *s, struct weights *weights, int unit)
{
	const struct bucket *replicated = &weights->units[unit].buckets[BUCKET_REPLICATED];
	int i;

	for (i = 0; i < replicated->n_pieces; i++)
		if (!replicated->pieces[i].reduced &&
		    sum_replicated(s, replicated, &replicated->pieces[i], IN_THE_WAY) != 0)
			return -1;
	return copies_reduce(s, weights, unit);
}

/* From stage 2 on unit_leave() has done it. */
int
weights_reduce(struct session *s, const struct shape *shape, struct weights *weights)
{
	if (weights->stage > 1)
		return 0;
	if (unit_sum(s, weights, 0) != 0 || reduce_embedding(s, shape, weights) != 0 ||
	    reduce_rest(s, weights) != 0)
		return -1;
	return session_joined(s, STREAM_BESIDE, PART_GRADIENTS, "gradients");
}

/* --- weights ------------------------------------------------------------------------------ */

static char *
own_part(const struct session *s, const struct bucket *b, const struct piece *piece)
{
	if (b->own)
		return b->own;
	return (char *)b->weights + (size_t)piece_first(s, b, piece) * s->backend.ops->act_bytes;
}

/* In its place: the part that it will have in the whole. */
static int
give_back(struct session *s, const struct bucket *b, struct piece *piece, enum way way)
{
	struct collective c = {.kind = COLLECTIVE_ALL_GATHER,
	    .element = ELEMENT_ACT,
	    .send = own_part(s, b, piece),
	    .recv = (char *)b->weights + (size_t)piece->offset * s->backend.ops->act_bytes,
	    .count = piece->shard};

	if (b->own) /* unit_enter() gathers it */
		return 0;
	piece->others = way == IN_THE_WAY ? PIECE_HERE : PIECE_COMING;
	return piece->shard < piece->padded ? post(s, PART_PARAMETERS, b->group, &c, way) : 0;
}

static int
update_piece(
    struct session *s, const struct bucket *b, struct piece *piece, const struct adam *adam)
{
	const float *gradient = b->shard_gradient ? b->shard_gradient : b->gradient;
	int64_t at = piece->shard_offset;
	int result;

	part_begin(s, PART_OPTIMIZER, STREAM_COMPUTE);
	result = s->backend.ops->adam(&s->backend, own_part(s, b, piece), b->master + at, b->m + at,
	    b->v + at, gradient + at, piece->shard, adam);
	part_end(s, STREAM_COMPUTE);
	piece->others = PIECE_OUTDATED;
	return result == 0 ? 0 : session_fail(s, "the optimizer");
}

int
weights_update(struct session *s, struct weights *weights, int step)
{
	struct adam adam = {.rate = 1e-4f, .beta1 = 0.9f, .beta2 = 0.95f, .epsilon = 1e-8f};
	float power1 = 1, power2 = 1;
	int unit, i;

	for (i = 0; i < step; i++) {
		power1 *= adam.beta1;
		power2 *= adam.beta2;
	}
	adam.correction1 = 1 - power1;
	adam.correction2 = 1 - power2;
	for (unit = 0; unit < weights->n_units * BUCKETS; unit++) {
		struct bucket *b = &weights->units[unit / BUCKETS].buckets[unit % BUCKETS];

		for (i = 0; i < b->n_pieces; i++) {
			bool later = weights->overlap && b->pieces[i].early;

			if (update_piece(s, b, &b->pieces[i], &adam) != 0 ||
			    (!later && give_back(s, b, &b->pieces[i], IN_THE_WAY) != 0))
				return -1;
		}
	}
	return 0;
}

enum { ALL_LAYERS = -2 };

/* Sets off what of a layer is outdated; how many of its pieces are not here. */
static int
fetch(struct session *s, struct weights *weights, int64_t layer)
{
	int kind, i, coming = 0;

	for (kind = 0; kind < BUCKETS; kind++) {
		struct bucket *b = &weights->units[0].buckets[kind];

		for (i = 0; i < b->n_pieces; i++) {
			struct piece *piece = &b->pieces[i];

			if (piece->layer != layer && layer != ALL_LAYERS)
				continue;
			if (piece->others == PIECE_OUTDATED && give_back(s, b, piece, BESIDE) != 0)
				return -1;
			coming += piece->others == PIECE_COMING;
		}
	}
	return coming;
}

/* All that was set off has come. */
static int
join(struct session *s, struct weights *weights)
{
	int kind, i;

	for (kind = 0; kind < BUCKETS; kind++) {
		struct bucket *b = &weights->units[0].buckets[kind];

		for (i = 0; i < b->n_pieces; i++) {
			struct piece *piece = &b->pieces[i];

			if (piece->others == PIECE_COMING)
				piece->others = PIECE_HERE;
		}
	}
	return session_joined(s, STREAM_BESIDE, PART_PARAMETERS, "parameters");
}

/* The layer's own weights are waited for, those of the next one set off meanwhile. */
int
weights_need(struct session *s, struct weights *weights, int64_t layer)
{
	int coming = weights->overlap ? fetch(s, weights, layer) : 0;

	if (coming < 0 || (coming > 0 && join(s, weights) != 0))
		return -1;
	return weights->overlap && fetch(s, weights, layer + 1) < 0 ? -1 : 0;
}

int
weights_settle(struct session *s, struct weights *weights)
{
	if (weights->stage > 1)
		return 0;
	return fetch(s, weights, ALL_LAYERS) < 0 ? -1 : join(s, weights);
}
