/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which weights does one group hold several times, and how are their gradients added up?
 *
 * Key and value heads where there are fewer of them than tensor-parallel ranks, and experts that a
 * placement puts on several expert-parallel ranks. Each copy has served other tokens or other
 * queries. Blocks, one for each copied matrix, are laid out alike on all ranks of the group, zero
 * where a rank has no copy, and all-reduced; every copy takes its sum back, so that all of them
 * are updated alike.
 */
#include <string.h>

#include "base/arena.h"
#include "probe/weights.h"

#define MOST_BYTES ((size_t)64 << 20) /* of the room for blocks; one block at least */

void
copies_of_heads(struct weight *w, struct arena *arena, int64_t parts, const struct session *s)
{
	if (parts == s->groups[GROUP_TP].size)
		return;
	w->copies = (struct copies){.group = GROUP_TP,
	    .n = parts,
	    .elements = w->rows * w->cols,
	    .block = arena_array(arena, 1, sizeof(int32_t))};
	w->copies.block[0] = (int32_t)(s->tp * parts / s->groups[GROUP_TP].size);
}

void
copies_of_experts(struct weight *w, struct arena *arena, const int *placed, int64_t slots)
{
	int32_t *times = arena_array(arena, (size_t)w->tensor.count, sizeof(*times));
	int64_t i, blocks = 0;

	for (i = 0; i < slots; i++)
		times[placed[i]]++;
	for (i = 0; i < w->tensor.count; i++) /* becomes the expert's block */
		times[i] = times[i] > 1 ? (int32_t)blocks++ : -1;
	w->copies = (struct copies){.group = GROUP_EP,
	    .n = blocks,
	    .elements = w->rows * w->cols,
	    .block = arena_array(arena, (size_t)w->count, sizeof(int32_t))};
	for (i = 0; i < w->count; i++)
		w->copies.block[i] = times[w->experts[i]];
}

static int
make_rows(struct session *s, struct weights *weights)
{
	int64_t n = weights->copies_rows, i;
	int32_t *rows = arena_array(s->arena, (size_t)n, sizeof(*rows));

	for (i = 0; i < n; i++)
		rows[i] = (int32_t)i;
	weights->rows = session_alloc(s, (size_t)n * sizeof(*rows));
	if (!weights->rows)
		return -1;
	if (s->backend.ops->put(&s->backend, ELEMENT_INT32, weights->rows, rows, n) != 0)
		return session_fail(s, "index tables");
	return 0;
}

int
copies_make(struct session *s, struct weights *weights)
{
	int64_t most = 0;
	int i;

	for (i = 0; i < weights->n; i++) {
		const struct copies *c = &weights->items[i].copies;
		int64_t fit = c->n ? (int64_t)(MOST_BYTES / sizeof(float)) / c->elements : 0;
		int64_t blocks = c->n > fit && fit > 0 ? fit : c->n > fit ? 1 : c->n;

		if (blocks * c->elements > most)
			most = blocks * c->elements;
		if (c->n && weights->items[i].rows > weights->copies_rows)
			weights->copies_rows = weights->items[i].rows;
	}
	if (most == 0)
		return 0;
	weights->copies_elements = most;
	weights->copies = session_alloc(s, (size_t)most * sizeof(float));
	return weights->copies ? make_rows(s, weights) : -1;
}

void
copies_free(struct session *s, struct weights *weights)
{
	session_release(s, weights->copies, (size_t)weights->copies_elements * sizeof(float));
	session_release(s, weights->rows, (size_t)weights->copies_rows * sizeof(*weights->rows));
}

/* A gather of all rows moves words as they are: floats as one or two elements. */
static int
copy(struct session *s, struct weights *weights, const struct weight *w, float *to,
    const float *from)
{
	int64_t width = w->cols * (int64_t)(sizeof(float) / s->backend.ops->act_bytes);

	if (s->backend.ops->gather(&s->backend, to, from, weights->rows, w->rows, width) != 0)
		return session_fail(s, "copying gradients");
	return 0;
}

/* Own matrices of blocks [first, first + n): into their blocks or back. */
static int
move(struct session *s, struct weights *weights, const struct weight *w, int64_t first, int64_t n,
    bool back)
{
	const struct copies *c = &w->copies;
	int64_t i;

	for (i = 0; i < w->count; i++) {
		float *gradient = weight_gradient(weights, w) + i * c->elements;
		float *block = weights->copies + (c->block[i] - first) * c->elements;

		if (c->block[i] < first || c->block[i] >= first + n)
			continue;
		if (copy(s, weights, w, back ? gradient : block, back ? block : gradient) != 0)
			return -1;
	}
	return 0;
}

static int
reduce_weight(struct session *s, struct weights *weights, const struct weight *w)
{
	const struct copies *c = &w->copies;
	int64_t most = c->n ? weights->copies_elements / c->elements : 1, first;

	for (first = 0; first < c->n; first += most) {
		int64_t n = c->n - first < most ? c->n - first : most;
		struct collective all = {.kind = COLLECTIVE_ALL_REDUCE,
		    .element = ELEMENT_FLOAT,
		    .comm = s->groups[c->group].comm,
		    .recv = weights->copies,
		    .count = n * c->elements};

		if (s->backend.ops->fill(
			&s->backend, weights->copies, 0, (size_t)all.count * sizeof(float)) != 0)
			return session_fail(s, "clearing gradients");
		if (move(s, weights, w, first, n, false) != 0 ||
		    session_collective(s, PART_GRADIENTS, group_names[c->group], &all) != 0 ||
		    move(s, weights, w, first, n, true) != 0)
			return -1;
	}
	return 0;
}

int
copies_reduce(struct session *s, struct weights *weights, int unit)
{
	int i;

	for (i = 0; i < weights->n; i++)
		if (weights->items[i].unit == unit &&
		    reduce_weight(s, weights, &weights->items[i]) != 0)
			return -1;
	return 0;
}
