/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which weights does this rank hold, and how are their gradients summed?
 *
 * The rows are those of the planner's tensor table (planner/tensors.h), so the bytes that it
 * sums are the bytes that are allocated here: weights in the backend's type, gradients in float,
 * and the optimizer's float master copy and two moments, whole (sharding stage 0) or a 1/n shard
 * (stage 1, as Megatron's distributed optimizer does it: reduce-scatter, update, all-gather). From
 * stage 2 on gradients, at stage 3 weights too are kept as shards, one unit whole at a time.
 */
#include <string.h>

#include "base/arena.h"
#include "planner/stages.h"
#include "probe/weights.h"

const char *const bucket_names[BUCKETS + 1] = {"replicated", "dense", "expert", NULL};

static int64_t
part_of(int64_t whole, int64_t parts)
{
	return parts > 0 ? whole / parts : whole;
}

/* Key and value heads are copied when there are fewer of them than tensor-parallel ranks. */
static int64_t
kv_parts(const struct shape *shape, int64_t layer)
{
	int64_t heads = shape_kind(shape, layer)->mixer.kv_heads;

	return heads < shape->strategy.tp ? heads : shape->strategy.tp;
}

static void
cut(struct weight *w, int64_t parts, int64_t index)
{
	if (w->tensor.split_cols) {
		w->cols = part_of(w->tensor.cols, parts);
		w->first_col = index * w->cols;
	} else {
		w->rows = part_of(w->tensor.rows, parts);
		w->first_row = index * w->rows;
	}
}

static void
place(const struct session *s, const struct shape *shape, struct weight *w)
{
	const struct strategy *st = &shape->strategy;
	const int *placed = skew_slots(shape->placement, w->layer);
	int64_t parts, slots;

	w->count = w->tensor.count;
	w->rows = w->tensor.rows;
	w->cols = w->tensor.cols;
	w->name = name_hash(w->tensor.name);
	switch (w->tensor.shard) {
	case SHARD_NONE:
		w->bucket = BUCKET_REPLICATED;
		break;
	case SHARD_TP:
		w->bucket = BUCKET_DENSE;
		cut(w, st->tp, s->tp);
		break;
	case SHARD_KV:
		w->bucket = BUCKET_DENSE;
		parts = kv_parts(shape, w->layer);
		cut(w, parts, s->tp * parts / st->tp);
		copies_of_heads(w, s->arena, parts, s);
		break;
	case SHARD_EXPERT:
		w->bucket = BUCKET_EXPERT;
		slots = placed ? shape->placement->slots : w->tensor.count;
		w->count = part_of(slots, st->ep);
		w->first_matrix = s->ep * w->count;
		if (w->tensor.matmul || !w->tensor.split_cols)
			cut(w, st->etp, s->etp);
		if (placed) {
			w->experts = placed + w->first_matrix;
			copies_of_experts(w, s->arena, placed, slots);
		}
		break;
	}
}

/* Below stage 2 all weights are one unit. */
static int
unit_of(struct weights *weights, int64_t id)
{
	int i;

	for (i = 0; i < weights->n_units; i++)
		if (weights->stage < 2 || weights->units[i].id == id)
			return i;
	weights->units[weights->n_units].id = id;
	return weights->n_units++;
}

static int64_t
unit_id(const struct weight *w)
{
	if (w->layer != LAYER_ENDS)
		return w->layer;
	return w->tensor.component == COMPONENT_EMBEDDING ? UNIT_EMBEDDING : UNIT_HEAD;
}

static void
add_rows(const struct session *s, const struct shape *shape, struct weights *weights, int64_t layer,
    const struct tensor *rows, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++) {
		struct weight *w = &weights->items[weights->n++];

		*w = (struct weight){.tensor = rows[i], .layer = layer};
		place(s, shape, w);
		w->unit = unit_of(weights, unit_id(w));
	}
}

/* The last stage has its own copy for tied heads and MTP modules, unless it is the first as well.
 */
bool
weights_copy_embedding(const struct shape *shape)
{
	return !ends_meet(&shape->strategy) && (shape->model.tied || shape->model.mtp_layers > 0);
}

static void
list_rows(const struct session *s, const struct shape *shape, struct weights *weights)
{
	const struct layout *layout = &shape->layout;
	struct tensor rows[TENSORS_MAX];
	int chunks[LAYOUT_MAX_CHUNKS], n, v, last = last_chunk(layout);
	int64_t layer, mtp;

	n = rank_chunks(&shape->strategy, layout, s->pp, chunks);
	for (v = 0; v < n; v++) {
		int chunk = chunks[v];

		if (chunk == 0 || (chunk == last && weights_copy_embedding(shape)))
			add_rows(s, shape, weights, LAYER_ENDS, rows,
			    tensors_of_embedding(&shape->model, rows));
		for (layer = layout->first[chunk]; layer < layout->first[chunk + 1]; layer++)
			add_rows(s, shape, weights, layer, rows,
			    tensors_of_layer(&shape->model, shape_kind(shape, layer), rows));
		for (mtp = 0; chunk == last && mtp < shape->model.mtp_layers; mtp++)
			add_rows(s, shape, weights, shape->model.layers + mtp, rows,
			    tensors_of_mtp(&shape->model, rows));
		if (chunk == last)
			add_rows(s, shape, weights, LAYER_ENDS, rows,
			    tensors_of_head(&shape->model, rows));
	}
}

int
weights_make(struct session *s, const struct shape *shape, struct weights *weights)
{
	int64_t layers = shape->model.layers + shape->model.mtp_layers + 2;

	memset(weights, 0, sizeof(*weights));
	weights->master_weights = fsdp_stays_gathered(&shape->strategy);
	weights->stage = weights->master_weights ? 1 : shape->strategy.zero;
	weights->units = arena_array(s->arena, (size_t)layers, sizeof(*weights->units));
	weights->items =
	    arena_array(s->arena, (size_t)layers * TENSORS_MAX, sizeof(*weights->items));
	list_rows(s, shape, weights);
	pieces_make(s, shape, weights);
	if (shards_make(s, weights) != 0)
		return -1;
	return copies_make(s, weights);
}

void
weights_free(struct session *s, struct weights *weights)
{
	shards_free(s, weights);
	copies_free(s, weights);
	memset(weights, 0, sizeof(*weights));
}

enum { RUN = 1 << 18, EXACT_MOST = 1 << 26 };

/* Elements [offset, offset + n) of a piece, and their master copies where they are kept. */
static int
put_run(struct session *s, struct bucket *b, int64_t offset, const float *values, int64_t n)
{
	const struct backend_ops *ops = s->backend.ops;
	const struct piece *piece = piece_at(b, offset);
	int64_t first = piece_first(s, b, piece), last = first + piece->shard;
	int64_t from = offset > first ? offset : first;
	int64_t to = offset + n < last ? offset + n : last;

	if (!b->own && ops->put(&s->backend, ELEMENT_ACT,
			   (char *)b->weights + (size_t)offset * ops->act_bytes, values, n) != 0)
		return -1;
	if (from >= to)
		return 0;
	if (b->own && ops->put(&s->backend, ELEMENT_ACT,
			  (char *)b->own + (size_t)(from - first) * ops->act_bytes,
			  values + from - offset, to - from) != 0)
		return -1;
	return ops->put(&s->backend, ELEMENT_FLOAT, b->master + piece->shard_offset + from - first,
	    values + from - offset, to - from);
}

static void
fill_row(const struct weight *w, int64_t row, bool bf16, float *values)
{
	struct place at = {
	    w->name, w->layer, weight_matrix(w, row / w->rows), w->first_row + row % w->rows, 0};
	int64_t col;

	for (col = 0; col < w->cols; col++) {
		at.col = w->first_col + col;
		values[col] = (float)weight_value(&w->tensor, &at, bf16);
	}
}

/*
 * A run of whole rows at a time. Stages of more than EXACT_MOST elements are only timed, never
 * compared: there each run repeats the first, since a host makes few random numbers a second.
 */
static int
fill_weight(struct session *s, struct bucket *b, const struct weight *w, float *values)
{
	bool bf16 = s->backend.ops->act_bytes == 2;
	int64_t rows = w->count * w->rows, most = RUN / (w->cols > 0 ? w->cols : 1), row, i;
	bool repeat = b->padded > EXACT_MOST;

	most = most > 0 ? most : 1;
	for (row = 0; row < rows; row += most) {
		int64_t n = row + most < rows ? most : rows - row;

		for (i = 0; i < n && (row == 0 || !repeat); i++)
			fill_row(w, row + i, bf16, values + i * w->cols);
		if (put_run(s, b, w->offset + row * w->cols, values, n * w->cols) != 0)
			return -1;
	}
	return 0;
}

static int
fill_bucket(struct session *s, struct weights *weights, int unit, int kind, float *values)
{
	const struct backend_ops *ops = s->backend.ops;
	struct bucket *b = &weights->units[unit].buckets[kind];
	size_t bytes = (size_t)b->shard * sizeof(float);
	int i, result;

	result = ops->fill(&s->backend, b->own ? b->own : b->weights, 0,
	    (size_t)(b->own ? b->shard : b->padded) * ops->act_bytes);
	result |= ops->fill(&s->backend, b->master, 0, bytes);
	result |= ops->fill(&s->backend, b->m, 0, bytes);
	result |= ops->fill(&s->backend, b->v, 0, bytes);
	for (i = 0; i < weights->n && result == 0; i++)
		if (weights->items[i].unit == unit && (int)weights->items[i].bucket == kind)
			result = fill_weight(s, b, &weights->items[i], values);
	return result == 0 ? 0 : session_fail(s, "filling weights");
}

int
weights_fill(struct session *s, struct weights *weights)
{
	struct arena_mark mark = arena_mark(s->arena);
	int64_t widest = RUN;
	float *values;
	int i, result = 0;

	for (i = 0; i < weights->n; i++)
		if (weights->items[i].cols > widest)
			widest = weights->items[i].cols;
	values = arena_array(s->arena, (size_t)widest, sizeof(*values));
	for (i = 0; i < weights->n_units * BUCKETS && result == 0; i++)
		result = fill_bucket(s, weights, i / BUCKETS, i % BUCKETS, values);
	arena_reset(s->arena, mark);
	return result;
}

const struct weight *
weight_find(const struct weights *weights, int64_t layer, const char *name)
{
	int i;

	for (i = 0; i < weights->n; i++)
		if (weights->items[i].layer == layer &&
		    strcmp(weights->items[i].tensor.name, name) == 0)
			return &weights->items[i];
	return NULL;
}

void *
weight_data(const struct session *s, const struct weights *weights, const struct weight *w)
{
	if (!w)
		return NULL;
	return (char *)weights->units[w->unit].buckets[w->bucket].weights +
	       (size_t)w->offset * s->backend.ops->act_bytes;
}

float *
weight_gradient(const struct weights *weights, const struct weight *w)
{
	return w ? weights->units[w->unit].buckets[w->bucket].gradient + w->offset : NULL;
}
