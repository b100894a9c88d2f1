/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What does a rank keep of weights, gradients and optimizer state, and when is it made whole?
 *
 * Weights in the backend's type, gradients in float, the optimizer's float master copy and two
 * moments. Stage 0: all whole, gradients all-reduced. Stage 1 (Megatron's distributed optimizer):
 * a 1/n shard of the optimizer's state; reduce-scatter, update, all-gather. Stage 2: of gradients
 * as well; a unit's are reduced as soon as its backward is over, each micro-batch, into what is
 * there. Stage 3 (ZeRO-3, FSDP): of weights as well; a unit is gathered before its forward and
 * again before its backward (Rajbhandari et al., arXiv 1910.02054; Zhao et al., arXiv 2304.11277).
 * Units are layers, embedding and head, gathered in line with the computation. FSDP2 under a
 * pipeline gathers once a step and reduces once a step: stage 1, its master copy being the weights.
 */
#include <string.h>

#include "base/arena.h"
#include "probe/weights.h"

static void *
take(struct session *s, uint64_t *sum, int64_t elements, size_t bytes)
{
	*sum += (size_t)elements * bytes;
	return session_alloc(s, (size_t)elements * bytes);
}

/* Rooms that units share. */
static int
make_rooms(struct session *s, struct weights *weights, int kind)
{
	int64_t padded = weights->most_padded[kind], shard = weights->most_shard[kind];
	uint64_t *sum = &weights->room_bytes;

	if (weights->stage < 2 || weights->n_units == 0)
		return 0;
	/* a rank alone has a unit's gradients apart too: copies are summed before they are added */
	weights->room_gradient[kind] = take(s, sum, padded, sizeof(float));
	if (s->groups[weights->units[0].buckets[kind].group].size > 1) {
		weights->room_sum[kind] = take(s, sum, shard, sizeof(float));
		if (weights->stage > 2)
			weights->room_weights[kind] =
			    take(s, sum, padded, s->backend.ops->act_bytes);
	}
	return control_failed(s->control) ? -1 : 0;
}

static int
make_bucket(struct session *s, struct weights *weights, int kind, struct bucket *b)
{
	size_t act = s->backend.ops->act_bytes;
	bool apart = s->groups[b->group].size > 1;
	uint64_t *optimizer = &weights->optimizer_bytes;
	uint64_t *master = weights->master_weights ? &weights->weight_bytes : optimizer;

	b->weights = weights->room_weights[kind];
	b->gradient = weights->room_gradient[kind];
	if (b->weights)
		b->own = take(s, &weights->weight_bytes, b->shard, act);
	else
		b->weights = take(s, &weights->weight_bytes, b->padded, act);
	if (b->gradient)
		b->shard_gradient = take(s, &weights->gradient_bytes, b->shard, sizeof(float));
	else
		b->gradient = take(s, &weights->gradient_bytes, b->padded, sizeof(float));
	if (!b->shard_gradient && weights->stage > 0 && apart)
		b->shard_gradient = take(s, &weights->room_bytes, b->shard, sizeof(float));
	b->master = take(s, master, b->shard, sizeof(float));
	b->m = take(s, optimizer, b->shard, sizeof(float));
	b->v = take(s, optimizer, b->shard, sizeof(float));
	return control_failed(s->control) ? -1 : 0;
}

static void
find_most(struct weights *weights, int kind)
{
	int i;

	for (i = 0; i < weights->n_units; i++) {
		const struct bucket *b = &weights->units[i].buckets[kind];

		if (b->padded > weights->most_padded[kind])
			weights->most_padded[kind] = b->padded;
		if (b->shard > weights->most_shard[kind])
			weights->most_shard[kind] = b->shard;
	}
}

int
shards_make(struct session *s, struct weights *weights)
{
	int kind, i;

	for (kind = 0; kind < BUCKETS; kind++) {
		find_most(weights, kind);
		if (make_rooms(s, weights, kind) != 0)
			return -1;
		for (i = 0; i < weights->n_units; i++)
			if (make_bucket(s, weights, kind, &weights->units[i].buckets[kind]) != 0)
				return -1;
	}
	return 0;
}

static void
free_bucket(struct session *s, const struct weights *weights, int kind, struct bucket *b)
{
	size_t act = s->backend.ops->act_bytes, n = (size_t)b->shard * sizeof(float);

	if (!weights->room_weights[kind])
		session_release(s, b->weights, (size_t)b->padded * act);
	if (!weights->room_gradient[kind])
		session_release(s, b->gradient, (size_t)b->padded * sizeof(float));
	session_release(s, b->own, (size_t)b->shard * act);
	session_release(s, b->master, n);
	session_release(s, b->m, n);
	session_release(s, b->v, n);
	session_release(s, b->shard_gradient, n);
}

void
shards_free(struct session *s, struct weights *weights)
{
	int kind, i;

	for (kind = 0; kind < BUCKETS; kind++) {
		size_t padded = (size_t)weights->most_padded[kind];

		for (i = 0; i < weights->n_units; i++)
			free_bucket(s, weights, kind, &weights->units[i].buckets[kind]);
		session_release(s, weights->room_weights[kind], padded * s->backend.ops->act_bytes);
		session_release(s, weights->room_gradient[kind], padded * sizeof(float));
		session_release(
		    s, weights->room_sum[kind], (size_t)weights->most_shard[kind] * sizeof(float));
	}
}

/* --- collectives -------------------------------------------------------------------------- */

static int
reduce_scatter(struct session *s, const struct bucket *b, float *to)
{
	struct collective c = {.kind = COLLECTIVE_REDUCE_SCATTER,
	    .element = ELEMENT_FLOAT,
	    .comm = s->groups[b->group].comm,
	    .send = b->gradient,
	    .recv = to,
	    .count = b->shard};

	return b->shard > 0 ? session_collective(s, PART_GRADIENTS, group_names[b->group], &c) : 0;
}

static int
gather_weights(struct session *s, const struct bucket *b)
{
	struct collective c = {.kind = COLLECTIVE_ALL_GATHER,
	    .comm = s->groups[b->group].comm,
	    .send = b->own,
	    .recv = b->weights,
	    .count = b->shard};

	if (!b->own || b->shard == 0)
		return 0;
	return session_collective(s, PART_PARAMETERS, group_names[b->group], &c);
}

static int
clear(struct session *s, float *values, int64_t n)
{
	if (s->backend.ops->fill(&s->backend, values, 0, (size_t)n * sizeof(*values)) != 0)
		return session_fail(s, "clearing gradients");
	return 0;
}

/* --- units -------------------------------------------------------------------------------- */

static int
unit_index(const struct weights *weights, int64_t id)
{
	int i;

	for (i = 0; i < weights->n_units && weights->units[i].id != id; i++)
		;
	return i;
}

/* A forward that has all weights has nothing to gather, and no gradients: it may run in a pair. */
static bool
is_whole(const struct session *s, const struct weights *weights)
{
	return weights->stage < 2 || (weights->stage == 2 && !s->backward);
}

int
unit_enter(struct session *s, struct weights *weights, int64_t id)
{
	int unit = unit_index(weights, id), kind;

	if (is_whole(s, weights) || unit == weights->n_units)
		return 0;
	if (weights->depth > 0 && weights->entered != unit)
		return control_fail(s->control, "two units of weights are wanted at once");
	weights->entered = unit;
	if (weights->depth++ > 0)
		return 0;
	for (kind = 0; kind < BUCKETS; kind++) {
		struct bucket *b = &weights->units[unit].buckets[kind];

		if (gather_weights(s, b) != 0)
			return -1;
		if (s->backward && clear(s, b->gradient, b->padded) != 0)
			return -1;
	}
	return 0;
}

static int
sum_up(struct session *s, struct weights *weights, int kind, struct bucket *b)
{
	const float *sum = weights->room_sum[kind] ? weights->room_sum[kind] : b->gradient;
	struct backend *backend = &s->backend;

	if (weights->room_sum[kind] && reduce_scatter(s, b, weights->room_sum[kind]) != 0)
		return -1;
	if (backend->ops->sum(backend, b->shard_gradient, sum, b->shard) != 0)
		return session_fail(s, "adding gradients");
	return 0;
}

int
unit_leave(struct session *s, struct weights *weights)
{
	int kind;

	if (is_whole(s, weights) || weights->depth == 0 || --weights->depth > 0 || !s->backward)
		return 0;
	if (unit_sum(s, weights, weights->entered) != 0)
		return -1;
	for (kind = 0; kind < BUCKETS; kind++)
		if (sum_up(s, weights, kind, &weights->units[weights->entered].buckets[kind]) != 0)
			return -1;
	return 0;
}

/* --- once a step -------------------------------------------------------------------------- */

int
weights_begin(struct session *s, struct weights *weights)
{
	int i;

	for (i = 0; i < weights->n_units * BUCKETS; i++) {
		struct bucket *b = &weights->units[i / BUCKETS].buckets[i % BUCKETS];
		bool shared = weights->room_gradient[i % BUCKETS] != NULL;

		if (clear(s, shared ? b->shard_gradient : b->gradient,
			shared ? b->shard : b->padded) != 0)
			return -1;
	}
	return 0;
}
