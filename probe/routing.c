/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which expert gets which token, and where do the rows lie on their way?
 *
 * Experts are drawn without replacement from the wanted popularity (traffic.c). Ranks draw only
 * their own tokens; how many rows come from whom is learnt by an exchange of counts, as in a real
 * step. An expert with several slots serves tokens by turns, by their number.
 */
#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "planner/stages.h"
#include "probe/routing.h"

enum { DRAW_EXPERT = 101 };

static bool
is_chosen(const int32_t *chosen, int n, int64_t expert)
{
	int j;

	for (j = 0; j < n; j++)
		if (chosen[j] == expert)
			return true;
	return false;
}

/* Whether a token may still go to this expert's group (node-limited routing, arXiv 2412.19437). */
static bool
is_open(const struct dims *d, const int32_t *chosen, int n, int64_t expert)
{
	int64_t groups = 0;
	int i, j;

	if (d->group_experts == 0)
		return true;
	for (j = 0; j < n; j++) {
		int64_t group = chosen[j] / d->group_experts;

		if (group == expert / d->group_experts)
			return true;
		for (i = 0; i < j && chosen[i] / d->group_experts != group; i++)
			;
		groups += i == j;
	}
	return groups < d->top_groups;
}

static bool
is_free(const struct dims *d, const int32_t *chosen, int n, int64_t expert)
{
	return !is_chosen(chosen, n, expert) && is_open(d, chosen, n, expert);
}

static int64_t
pick(const double *cumulative, int64_t experts, double u)
{
	int64_t low = 0, high = experts - 1;

	while (low < high) {
		int64_t middle = (low + high) / 2;

		if (cumulative[middle] > u)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

enum { DRAWS = 32 }; /* then the next expert that is free */

void
routing_choose(const struct skew *skew, const struct dims *d, const double *cumulative,
    int64_t layer, int64_t token, int32_t *chosen)
{
	int j, draw;

	for (j = 0; j < d->top_k; j++) {
		int64_t expert = j;

		for (draw = 0; skew->kind != SKEW_ONE && draw < DRAWS; draw++) {
			expert = pick(cumulative, d->experts,
			    random_share(DRAW_EXPERT, (uint64_t)layer, (uint64_t)token,
				(uint64_t)(j * DRAWS + draw)));
			if (is_free(d, chosen, j, expert))
				break;
		}
		while (!is_free(d, chosen, j, expert))
			expert = (expert + 1) % d->experts;
		chosen[j] = (int32_t)expert;
	}
}

int64_t
group_token_number(
    const struct session *s, const struct shape *shape, int64_t micro_batch, int64_t row)
{
	const struct strategy *st = &shape->strategy;
	int64_t seq_rows = st->seq_len / st->cp;
	int64_t seq = (s->dp * st->micro_batches + micro_batch) * st->micro_batch + row / seq_rows;

	return seq * st->seq_len + s->cp * seq_rows + row % seq_rows;
}

int64_t
token_number(const struct session *s, const struct shape *shape, int64_t micro_batch, int64_t row)
{
	const struct strategy *st = &shape->strategy;
	int64_t rows = st->micro_batch * (st->seq_len / st->cp);

	return group_token_number(s, shape, micro_batch, s->tp * (rows / st->tp) + row);
}

/* --- one rank's tables -------------------------------------------------------------------- */

struct draft {
	const struct dims *d;
	const int *placed;	/* expert of each slot; NULL: its number */
	int64_t capacity;	/* rows that a rank may send to an expert; 0 any number */
	const int64_t *numbers; /* of the tokens, all ranks' */
	int32_t *chosen, *send_rows, *slot_of, *counts; /* counts by slot */
	int64_t slots, dropped;
};

/* The slots of every expert: first[e] to first[e + 1] of `list`. */
static void
list_slots(const struct draft *t, int32_t *first, int32_t *list)
{
	int64_t e, slot;
	int32_t n = 0;

	for (e = 0; e < t->d->experts; e++) {
		first[e] = n;
		for (slot = 0; t->placed && slot < t->d->slots; slot++)
			if (t->placed[slot] == e)
				list[n++] = (int32_t)slot;
		if (!t->placed)
			list[n++] = (int32_t)e;
	}
	first[e] = n;
}

/* Which slot serves each choice, -1 beyond capacity; counts rows by slot. */
static void
choose_slots(struct draft *t, struct arena *arena, int32_t *slots)
{
	int32_t *first = arena_array(arena, (size_t)t->d->experts + 1, sizeof(*first));
	int32_t *list = arena_array(arena, (size_t)t->d->slots, sizeof(*list));
	int64_t *used = arena_array(arena, (size_t)t->d->experts, sizeof(*used)), i;

	list_slots(t, first, list);
	for (i = 0; i < t->d->tokens * t->d->top_k; i++) {
		int32_t e = t->chosen[i], copies = first[e + 1] - first[e];

		slots[i] = -1;
		if (t->capacity && used[e] == t->capacity) {
			t->dropped++;
			continue;
		}
		used[e]++;
		slots[i] = list[first[e] + t->numbers[i / t->d->top_k] % copies];
		t->counts[slots[i]]++;
	}
}

/* Rows by slot, tokens of a slot in order. */
static void
assign_slots(struct draft *t, struct arena *arena)
{
	struct arena_mark mark = arena_mark(arena);
	int32_t *next = arena_array(arena, (size_t)t->d->slots + 1, sizeof(*next));
	int64_t n = t->d->tokens * t->d->top_k, slot, i, at = 0;
	int32_t *slots = arena_array(arena, (size_t)n, sizeof(*slots));

	choose_slots(t, arena, slots);
	for (slot = 0; slot < t->d->slots; slot++) {
		next[slot] = (int32_t)at;
		at += t->counts[slot];
	}
	t->slots = at;
	for (i = 0; i < n; i++) {
		t->slot_of[i] = slots[i] < 0 ? -1 : next[slots[i]]++;
		if (slots[i] >= 0)
			t->send_rows[t->slot_of[i]] = (int32_t)(i / t->d->top_k);
	}
	arena_reset(arena, mark);
}

/* All ranks' counts by member of the expert-tensor group, sender and local expert. */
static int
exchange_counts(struct session *s, const struct dims *d, const int32_t *counts, int32_t *all)
{
	const struct backend_ops *ops = s->backend.ops;
	int ep = s->groups[GROUP_EP].size, etp = s->groups[GROUP_EXPERT_TP].size, i;
	size_t mine = (size_t)d->slots * sizeof(*counts), every = mine * (size_t)etp;
	int64_t *n = arena_array(s->arena, 2 * (size_t)ep, sizeof(*n));
	void *send = session_alloc(s, mine), *got = session_alloc(s, mine);
	void *whole = session_alloc(s, every);
	struct collective to_all = {.kind = COLLECTIVE_ALL_TO_ALL,
	    .element = ELEMENT_INT32,
	    .comm = s->groups[GROUP_EP].comm,
	    .send = send,
	    .recv = got,
	    .send_counts = n,
	    .send_offsets = n + ep,
	    .recv_counts = n,
	    .recv_offsets = n + ep};
	struct collective gather = {.kind = COLLECTIVE_ALL_GATHER,
	    .element = ELEMENT_INT32,
	    .comm = s->groups[GROUP_EXPERT_TP].comm,
	    .send = ep > 1 ? got : send,
	    .recv = whole,
	    .count = d->slots};
	int result = -1;

	for (i = 0; i < ep; i++) {
		n[i] = d->local_experts;
		n[ep + i] = i * d->local_experts;
	}
	if (send && got && whole &&
	    ops->put(&s->backend, ELEMENT_INT32, send, counts, d->slots) == 0 &&
	    session_collective(s, PART_DISPATCH, "ep counts", &to_all) == 0 &&
	    session_collective(s, PART_DISPATCH, "expert_tp counts", &gather) == 0 &&
	    session_sync_all(s, "counts") == 0)
		result = ops->get(
		    &s->backend, ELEMENT_INT32, all, etp > 1 ? whole : gather.send, d->slots * etp);
	session_release(s, send, mine);
	session_release(s, got, mine);
	session_release(s, whole, every);
	return result;
}

/* The union's rows stand by member, sender, expert; expert order is by expert, member, sender. */
static void
order_by_expert(struct session *s, const struct dims *d, const int32_t *all, struct routing *r,
    int32_t *to_expert, int32_t *from_expert)
{
	int ep = s->groups[GROUP_EP].size, etp = s->groups[GROUP_EXPERT_TP].size;
	int blocks = ep * etp, b;
	int64_t *start = arena_array(s->arena, (size_t)(blocks * d->local_experts), sizeof(*start));
	int64_t at = 0, e, i;

	for (b = 0; b < blocks; b++)
		for (e = 0; e < d->local_experts; e++) {
			start[b * d->local_experts + e] = at;
			at += all[b * d->local_experts + e];
		}
	for (e = 0, at = 0; e < d->local_experts; e++) {
		r->expert_rows[e] = 0;
		for (b = 0; b < blocks; b++) {
			int64_t n = all[b * d->local_experts + e];

			r->expert_rows[e] += n;
			for (i = 0; i < n; i++, at++) {
				int64_t row = start[b * d->local_experts + e] + i;

				to_expert[at] = (int32_t)row;
				from_expert[row] = (int32_t)at;
			}
		}
	}
}

static void
count_rows(struct session *s, const struct dims *d, const int32_t *counts, const int32_t *all,
    struct routing *r)
{
	int ep = s->groups[GROUP_EP].size, etp = s->groups[GROUP_EXPERT_TP].size, p, j;
	int64_t e, sent = 0;

	r->received = r->united = 0;
	for (j = 0; j < etp; j++) {
		r->member_counts[j] = 0;
		for (p = 0; p < ep; p++)
			for (e = 0; e < d->local_experts; e++)
				r->member_counts[j] += all[(j * ep + p) * d->local_experts + e];
		r->united += r->member_counts[j];
	}
	for (p = 0; p < ep; p++) {
		r->send_counts[p] = r->recv_counts[p] = 0;
		for (e = 0; e < d->local_experts; e++) {
			r->send_counts[p] += counts[p * d->local_experts + e];
			r->recv_counts[p] += all[(s->etp * ep + p) * d->local_experts + e];
		}
		r->send_offsets[p] = sent;
		r->recv_offsets[p] = r->received;
		sent += r->send_counts[p];
		r->received += r->recv_counts[p];
	}
}

static int32_t *
to_device(struct session *s, struct routings *all, const int32_t *values, int64_t n)
{
	size_t bytes = (size_t)(n > 0 ? n : 1) * sizeof(*values);
	int32_t *memory = session_alloc(s, bytes);

	if (memory && s->backend.ops->put(&s->backend, ELEMENT_INT32, memory, values, n) != 0) {
		session_fail(s, "routing tables");
		return NULL;
	}
	all->bytes += bytes;
	return memory;
}

/* Rows are in expert order. */
static int
place_biases(struct session *s, struct routings *all, const struct dims *d, struct routing *r)
{
	struct arena_mark mark = arena_mark(s->arena);
	int32_t *expert_of = arena_array(s->arena, (size_t)r->united + 1, sizeof(*expert_of));
	int64_t e, i, at = 0;

	for (e = 0; e < d->local_experts; e++)
		for (i = 0; i < r->expert_rows[e]; i++)
			expert_of[at++] = (int32_t)e;
	r->expert_of = to_device(s, all, expert_of, r->united);
	arena_reset(s->arena, mark);
	return r->expert_of ? 0 : -1;
}

static void
alloc_counts(struct session *s, const struct dims *d, struct routing *r)
{
	size_t ep = (size_t)s->groups[GROUP_EP].size;

	r->send_counts = arena_array(s->arena, 4 * ep, sizeof(int64_t));
	r->send_offsets = r->send_counts + ep;
	r->recv_counts = r->send_offsets + ep;
	r->recv_offsets = r->recv_counts + ep;
	r->member_counts =
	    arena_array(s->arena, (size_t)s->groups[GROUP_EXPERT_TP].size, sizeof(int64_t));
	r->expert_rows = arena_array(s->arena, (size_t)d->local_experts, sizeof(int64_t));
}

static void
draw(struct session *s, const struct shape *shape, const struct skew *skew, struct draft *t,
    int64_t layer, int64_t micro_batch)
{
	double *cumulative = arena_array(s->arena, (size_t)t->d->experts, sizeof(*cumulative));
	int64_t *numbers = arena_array(s->arena, (size_t)t->d->tokens, sizeof(*numbers)), row;

	skew_popularity(skew, layer, t->d->experts, cumulative);
	for (row = 0; row < t->d->tokens; row++) {
		numbers[row] = token_number(s, shape, micro_batch, row);
		routing_choose(
		    skew, t->d, cumulative, layer, numbers[row], t->chosen + row * t->d->top_k);
	}
	t->numbers = numbers;
}

static int
upload(struct session *s, struct routings *all, const struct draft *t, const int32_t *to_expert,
    const int32_t *from_expert, struct routing *r)
{
	int64_t n = t->d->tokens * t->d->top_k;

	r->slots = t->slots;
	r->dropped = t->dropped;
	r->chosen = to_device(s, all, t->chosen, n);
	r->send_rows = to_device(s, all, t->send_rows, t->slots);
	r->slot_of = to_device(s, all, t->slot_of, n);
	r->to_expert = to_device(s, all, to_expert, r->united);
	r->from_expert = to_device(s, all, from_expert, r->united);
	return r->chosen && r->send_rows && r->slot_of && r->to_expert && r->from_expert ? 0 : -1;
}

static int
make_one(struct session *s, const struct shape *shape, const struct skew *skew,
    struct routings *routings, int64_t layer, int64_t pattern, struct routing *r)
{
	struct dims d;
	struct draft t = {.d = &d, .placed = skew_slots(shape->placement, layer)};
	int etp = s->groups[GROUP_EXPERT_TP].size;
	int32_t *all, *to_expert, *from_expert;
	struct arena_mark mark;
	size_t n;
	int result;

	dims_of(shape, shape_kind(shape, layer), &d);
	alloc_counts(s, &d, r);
	mark = arena_mark(s->arena);
	n = (size_t)(d.tokens * d.top_k);
	t.chosen = arena_array(s->arena, 3 * n, sizeof(*t.chosen));
	t.send_rows = t.chosen + n;
	t.slot_of = t.send_rows + n;
	t.counts = arena_array(s->arena, (size_t)d.slots, sizeof(*t.counts));
	all = arena_array(s->arena, (size_t)(d.slots * etp), sizeof(*all));
	if (shape->strategy.capacity > 0)
		t.capacity =
		    (int64_t)ceil(shape->strategy.capacity * (double)n / (double)d.experts);
	draw(s, shape, skew, &t, layer, pattern);
	assign_slots(&t, s->arena);
	result = exchange_counts(s, &d, t.counts, all);
	if (result == 0) {
		count_rows(s, &d, t.counts, all, r);
		to_expert = arena_array(s->arena, 2 * (size_t)r->united + 1, sizeof(*to_expert));
		from_expert = to_expert + r->united;
		order_by_expert(s, &d, all, r, to_expert, from_expert);
		result = upload(s, routings, &t, to_expert, from_expert, r);
	}
	if (result == 0 && d.expert_bias)
		result = place_biases(s, routings, &d, r);
	arena_reset(s->arena, mark);
	return result;
}

static void
keep_most(struct routings *all, const struct routing *r)
{
	if (r->slots > all->most_slots)
		all->most_slots = r->slots;
	if (r->received > all->most_received)
		all->most_received = r->received;
	if (r->united > all->most_united)
		all->most_united = r->united;
}

static int
make_layer(struct session *s, const struct shape *shape, const struct skew *skew,
    struct routings *all, int64_t layer)
{
	int64_t pattern;

	if (shape_kind(shape, layer)->ffn.experts == 0)
		return 0;
	for (pattern = 0; pattern < all->patterns; pattern++) {
		struct routing *r = &all->items[layer * ROUTING_PATTERNS + pattern];

		if (make_one(s, shape, skew, all, layer, pattern, r) != 0)
			return -1;
		keep_most(all, r);
	}
	return 0;
}

int
routing_make(
    struct session *s, const struct shape *shape, const struct skew *skew, struct routings *all)
{
	const struct layout *layout = &shape->layout;
	int chunks[LAYOUT_MAX_CHUNKS], n = rank_chunks(&shape->strategy, layout, s->pp, chunks), v;
	bool last = stage_holds(shape, s->pp, last_chunk(layout));
	int64_t layer;

	memset(all, 0, sizeof(*all));
	control_phase(s->control, "routing");
	all->layers = shape->model.layers + shape->model.mtp_layers;
	all->patterns = shape->strategy.micro_batches < ROUTING_PATTERNS
			    ? shape->strategy.micro_batches
			    : ROUTING_PATTERNS;
	all->items =
	    arena_array(s->arena, (size_t)(all->layers * ROUTING_PATTERNS), sizeof(*all->items));
	for (v = 0; v < n; v++) {
		for (layer = layout->first[chunks[v]]; layer < layout->first[chunks[v] + 1];
		     layer++)
			if (make_layer(s, shape, skew, all, layer) != 0)
				return -1;
	}
	for (layer = shape->model.layers; last && layer < all->layers; layer++)
		if (make_layer(s, shape, skew, all, layer) != 0)
			return -1;
	return 0;
}

void
routing_free(struct session *s, struct routings *all)
{
	int64_t i;

	for (i = 0; i < all->layers * ROUTING_PATTERNS; i++) {
		struct routing *r = &all->items[i];

		s->backend.ops->release(&s->backend, r->chosen);
		s->backend.ops->release(&s->backend, r->send_rows);
		s->backend.ops->release(&s->backend, r->slot_of);
		s->backend.ops->release(&s->backend, r->to_expert);
		s->backend.ops->release(&s->backend, r->from_expert);
		s->backend.ops->release(&s->backend, r->expert_of);
	}
	s->allocated_bytes -= all->bytes;
	memset(all, 0, sizeof(*all));
}

const struct routing *
routing_of(const struct routings *all, int64_t layer, int64_t micro_batch)
{
	return &all->items[layer * ROUTING_PATTERNS + micro_batch % ROUTING_PATTERNS];
}
