/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What memory does a stage take beside its weights?
 *
 * Everything is allocated once, before the first collective of the step: sizes follow from the
 * shapes and from the routing, which is known. A slot keeps what a pass through a chunk needs until
 * its backward; there are as many as the schedule has alive at its peak. A layer that is replayed
 * whole keeps its input alone, and what a replayed module would keep is there once for all layers.
 * Where passes run in pairs, what travels and what is replayed is there once for forwards and once
 * for backwards.
 */
#include <string.h>

#include "base/arena.h"
#include "planner/stages.h"
#include "probe/room.h"

struct owned {
	void *memory;
	size_t bytes;
	bool numbers; /* may be poisoned */
	struct owned *next;
};

static void *
own(struct stage *stage, enum room room, size_t bytes, bool numbers)
{
	struct owned *owned = arena_alloc(stage->s->arena, sizeof(*owned));

	bytes = bytes ? bytes : 16;
	*owned = (struct owned){session_alloc(stage->s, bytes), bytes, numbers, stage->owned};
	stage->owned = owned;
	stage->bytes[room] += bytes;
	return owned->memory;
}

static void *
own_act(struct stage *stage, enum room room, int64_t elements)
{
	return own(stage, room, (size_t)elements * stage->s->backend.ops->act_bytes, true);
}

static float *
own_floats(struct stage *stage, enum room room, int64_t elements)
{
	return own(stage, room, (size_t)elements * sizeof(float), true);
}

static int32_t *
own_indices(struct stage *stage, int64_t n)
{
	return own(stage, ROOM_BUFFERS, (size_t)n * sizeof(int32_t), false);
}

static void
put_indices(struct stage *stage, int32_t *to, const int32_t *values, int64_t n)
{
	struct backend *b = &stage->s->backend;

	if (to && b->ops->put(b, ELEMENT_INT32, to, values, n) != 0)
		session_fail(stage->s, "index tables");
}

/* --- sizes -------------------------------------------------------------------------------- */

static void
keep_max(int64_t *most, int64_t value)
{
	if (value > *most)
		*most = value;
}

static void
widen(struct widest *w, const struct shape *shape, int64_t layer)
{
	struct dims d;

	dims_of(shape, shape_kind(shape, layer), &d);
	w->h = d.h;
	w->tokens = d.tokens;
	w->rows = d.rows;
	keep_max(&w->latent, d.latent);
	keep_max(&w->q_width, d.q_width);
	keep_max(&w->k_width, d.k_width);
	keep_max(&w->v_width, d.v_width);
	keep_max(&w->o_width, d.o_width);
	keep_max(&w->q_raw, d.q_normed ? d.q_width : 0);
	keep_max(&w->k_raw, d.k_normed ? d.k_width : 0);
	keep_max(&w->gates, d.gates);
	keep_max(&w->shared_gate, d.shared_gate);
	keep_max(&w->behind, d.norms > 2 ? d.h : 0);
	keep_max(&w->dense, fc1_width(&d, d.dense));
	keep_max(&w->dense_act, d.dense);
	keep_max(&w->shared, fc1_width(&d, d.shared));
	keep_max(&w->shared_act, d.shared);
	keep_max(&w->expert, fc1_width(&d, d.expert));
	keep_max(&w->expert_act, d.expert);
	keep_max(&w->experts, d.experts);
	keep_max(&w->local_experts, d.local_experts);
	keep_max(&w->top_k, d.top_k);
	keep_max(&w->block, d.at_once * ((d.seq_rows + d.stride - 1) / d.stride));
}

/* Over the layers at one place of the stage's chunks; place -1: over all, MTP modules too. */
static void
find_widest(const struct stage *stage, int place, struct widest *w)
{
	const struct shape *shape = stage->shape;
	const struct layout *layout = &shape->layout;
	int chunks[LAYOUT_MAX_CHUNKS], n, v;
	int64_t layer;

	memset(w, 0, sizeof(*w));
	n = rank_chunks(&shape->strategy, layout, stage->s->pp, chunks);
	for (v = 0; v < n; v++) {
		int chunk = chunks[v];

		for (layer = layout->first[chunk]; layer < layout->first[chunk + 1]; layer++)
			if (place < 0 || layer - layout->first[chunk] == place)
				widen(w, shape, layer);
	}
	for (layer = 0; place < 0 && stage->head_slots > 0 && layer < shape->model.mtp_layers;
	     layer++)
		widen(w, shape, shape->model.layers + layer);
	if (w->tokens == 0) { /* a stage of embedding or head alone */
		struct widest sizes = {0};

		widen(&sizes, shape, 0);
		w->h = sizes.h;
		w->tokens = sizes.tokens;
		w->rows = sizes.rows;
	}
}

/* --- what is kept ------------------------------------------------------------------------- */

enum size {
	SIZE_TOKENS,
	SIZE_BEHIND,
	SIZE_LATENT,
	SIZE_Q_RAW,
	SIZE_K_RAW,
	SIZE_GATES_O,
	SIZE_GATE_SHARED,
	SIZE_Q,
	SIZE_K,
	SIZE_V,
	SIZE_O,
	SIZE_DENSE,
	SIZE_DENSE_ACT,
	SIZE_SHARED,
	SIZE_SHARED_ACT,
	SIZE_UNITED,
	SIZE_EXPERT,
	SIZE_EXPERT_ACT,
	SIZE_GATES,
	SIZE_RETURNED,
	SIZE_OWN_LATENT,
	SIZE_ROUTED,
	SIZES
};

/* What is kept, how much, and which replayed modules bring it back (planner/activations.c). */
#define KEPT(member) offsetof(struct kept, member)
static const struct kept_row {
	size_t offset;
	enum size size;
	unsigned replayed_by;
	bool waits; /* there only where gradients of weights come later */
} kept_rows[] = {
    {KEPT(n1), SIZE_TOKENS, MODULE_LAYERNORM, false},
    {KEPT(x1), SIZE_TOKENS, 0, false},
    {KEPT(n2), SIZE_TOKENS, MODULE_LAYERNORM, false},
    {KEPT(y1), SIZE_BEHIND, 0, false},
    {KEPT(y2), SIZE_BEHIND, 0, false},
    {KEPT(raw), SIZE_OWN_LATENT, 0, false},
    {KEPT(latent), SIZE_LATENT, MODULE_MLA_UP_PROJ, false},
    {KEPT(q_raw), SIZE_Q_RAW, 0, false},
    {KEPT(k_raw), SIZE_K_RAW, 0, false},
    {KEPT(q), SIZE_Q, MODULE_MLA_UP_PROJ | MODULE_LAYERNORM, false},
    {KEPT(k), SIZE_K, MODULE_MLA_UP_PROJ | MODULE_LAYERNORM, false},
    {KEPT(v), SIZE_V, MODULE_MLA_UP_PROJ, false},
    {KEPT(o), SIZE_O, 0, false},
    {KEPT(gates_o), SIZE_GATES_O, 0, false},
    {KEPT(gate_shared), SIZE_GATE_SHARED, MODULE_SHARED_EXPERTS | MODULE_MOE, false},
    {KEPT(fc1_dense), SIZE_DENSE, MODULE_MLP, false},
    {KEPT(act_dense), SIZE_DENSE_ACT, MODULE_MLP, false},
    {KEPT(fc1_shared), SIZE_SHARED, MODULE_SHARED_EXPERTS | MODULE_MOE, false},
    {KEPT(act_shared), SIZE_SHARED_ACT, MODULE_SHARED_EXPERTS | MODULE_MOE, false},
    {KEPT(permuted), SIZE_UNITED, MODULE_MOE, false},
    {KEPT(fc1_expert), SIZE_EXPERT, MODULE_MOE, false},
    {KEPT(act), SIZE_EXPERT_ACT, MODULE_MOE | MODULE_MOE_ACT, false},
    {KEPT(returned), SIZE_RETURNED, MODULE_MOE, false},
    {KEPT(gates), SIZE_GATES, MODULE_MOE, false},
    {KEPT(dlatent), SIZE_OWN_LATENT, 0, true},
    {KEPT(dlogits), SIZE_ROUTED, 0, true},
};
enum { KEPT_ROWS = sizeof(kept_rows) / sizeof(kept_rows[0]) };

/* A module that is replayed brings it back; a norm brings back queries and keys of normed heads. */
static bool
is_replayed(const struct stage *stage, const struct widest *w, const struct kept_row *row)
{
	bool heads = row->size == SIZE_Q || row->size == SIZE_K;
	unsigned by = heads && w->q_raw == 0 ? row->replayed_by & ~(unsigned)MODULE_LAYERNORM
					     : row->replayed_by;

	return by & stage->replayed;
}

static void
sizes_of(const struct stage *stage, const struct widest *w, size_t bytes[SIZES])
{
	const struct routings *r = &stage->routings;
	size_t act = stage->s->backend.ops->act_bytes;
	int64_t united = w->experts ? r->most_united : 0, slots = w->experts ? r->most_slots : 0;
	const int64_t elements[SIZES] = {
	    [SIZE_TOKENS] = w->tokens * w->h,
	    [SIZE_BEHIND] = w->tokens * w->behind,
	    [SIZE_LATENT] = w->rows * w->latent,
	    [SIZE_Q_RAW] = w->rows * w->q_raw,
	    [SIZE_K_RAW] = w->rows * w->k_raw,
	    [SIZE_GATES_O] = w->rows * w->gates,
	    [SIZE_GATE_SHARED] = w->rows * w->shared_gate,
	    [SIZE_Q] = w->rows * w->q_width,
	    [SIZE_K] = w->rows * w->k_width,
	    [SIZE_V] = w->rows * w->v_width,
	    [SIZE_O] = w->rows * w->o_width,
	    [SIZE_DENSE] = w->rows * w->dense,
	    [SIZE_DENSE_ACT] = w->rows * w->dense_act,
	    [SIZE_SHARED] = w->rows * w->shared,
	    [SIZE_SHARED_ACT] = w->rows * w->shared_act,
	    [SIZE_UNITED] = united * w->h,
	    [SIZE_EXPERT] = united * w->expert,
	    [SIZE_EXPERT_ACT] = united * w->expert_act,
	    /* experts' outputs, then the gradients of those that are here */
	    [SIZE_RETURNED] = (stage->passes.defers && united > slots ? united : slots) * w->h,
	    [SIZE_OWN_LATENT] = w->tokens * w->latent,
	    [SIZE_ROUTED] = w->tokens * w->experts,
	};
	int i;

	for (i = 0; i < SIZES; i++)
		bytes[i] = (size_t)elements[i] * act;
	bytes[SIZE_GATES] = (size_t)(w->tokens * w->top_k) * sizeof(float);
}

static void **
kept_member(struct kept *kept, const struct kept_row *row)
{
	return (void **)(void *)((char *)kept + row->offset);
}

/* What every layer uses in its turn: all of it with full recompute, else what modules replay. */
static void
make_shared(struct stage *stage, struct kept *shared)
{
	bool full = stage->shape->strategy.recompute.kind == RECOMPUTE_FULL;
	size_t bytes[SIZES];
	int i;

	sizes_of(stage, &stage->widest, bytes);
	for (i = 0; i < KEPT_ROWS; i++)
		if (!kept_rows[i].waits &&
		    (full || is_replayed(stage, &stage->widest, &kept_rows[i])))
			*kept_member(shared, &kept_rows[i]) =
			    own(stage, ROOM_BUFFERS, bytes[kept_rows[i].size], true);
}

void
room_point(const struct stage *stage, struct kept *kept)
{
	bool backward = stage->s->backward;
	struct kept here = stage->shared[backward], there = stage->shared[!backward];
	int i;

	for (i = 0; i < KEPT_ROWS; i++) {
		void **at = kept_member(kept, &kept_rows[i]);

		if (*kept_member(&here, &kept_rows[i]) &&
		    *at == *kept_member(&there, &kept_rows[i]))
			*at = *kept_member(&here, &kept_rows[i]);
	}
}

/* What changes places with scratch that all layers share (attention.c) is as large as that. */
static void
widen_projected(const struct stage *stage, struct widest *w)
{
	if (!stage->passes.defers)
		return;
	w->q_width = stage->widest.q_width;
	w->k_width = stage->widest.k_width;
	w->v_width = stage->widest.v_width;
}

static void
make_kept(struct stage *stage, const struct widest *w, struct kept *kept)
{
	size_t bytes[SIZES];
	int i;

	sizes_of(stage, w, bytes);
	for (i = 0; i < KEPT_ROWS; i++) {
		const struct kept_row *row = &kept_rows[i];

		if (row->waits && !stage->passes.defers)
			continue;
		*kept_member(kept, row) =
		    is_replayed(stage, w, row)
			? *kept_member(&stage->shared[0], row)
			: own(stage, ROOM_ACTIVATIONS, bytes[row->size], true);
	}
}

static void
make_slots(struct stage *stage)
{
	int i, n = stage->slots * (stage->places + 1), places = stage->places;
	int64_t elements = stage->widest.tokens * stage->widest.h;

	stage->kept =
	    arena_array(stage->s->arena, (size_t)(stage->slots * places) + 1, sizeof(*stage->kept));
	stage->inputs = arena_array(stage->s->arena, (size_t)n, sizeof(*stage->inputs));
	for (i = 0; i < n; i++)
		stage->inputs[i] = own_act(stage, ROOM_ACTIVATIONS, elements);
	for (i = 0; i < stage->slots * places; i++) {
		struct kept *kept = &stage->kept[i];
		struct widest w;

		find_widest(stage, i % places, &w);
		widen_projected(stage, &w);
		if (stage_replays(stage, i % places))
			*kept = stage->shared[0];
		else
			make_kept(stage, &w, kept);
		kept->x = stage->inputs[i / places * (places + 1) + i % places];
	}
}

/* --- behind the last layer ---------------------------------------------------------------- */

static void
make_module(struct stage *stage, struct mtp_kept *mtp)
{
	int64_t elements = stage->widest.tokens * stage->widest.h;
	struct widest w = {0};

	widen(&w, stage->shape, stage->shape->model.layers);
	widen_projected(stage, &w);
	mtp->embedded = own_act(stage, ROOM_ACTIVATIONS, elements);
	mtp->hidden_normed = own_act(stage, ROOM_ACTIVATIONS, elements);
	mtp->embedded_normed = own_act(stage, ROOM_ACTIVATIONS, elements);
	mtp->out = own_act(stage, ROOM_ACTIVATIONS, elements);
	if (stage->shape->strategy.recompute.kind == RECOMPUTE_FULL)
		mtp->layer = stage->shared[0];
	else
		make_kept(stage, &w, &mtp->layer);
	mtp->layer.x = own_act(stage, ROOM_ACTIVATIONS, elements);
}

static void
make_heads(struct stage *stage)
{
	const struct shape *shape = stage->shape;
	const struct widest *w = &stage->widest;
	int64_t modules = shape->model.mtp_layers, vocab = shape->model.vocab / shape->strategy.tp;
	int64_t heads = stage->head_slots * (1 + modules), i;

	stage->heads = arena_array(stage->s->arena, (size_t)heads + 1, sizeof(*stage->heads));
	stage->mtp = arena_array(stage->s->arena, (size_t)heads + 1, sizeof(*stage->mtp));
	for (i = 0; i < heads; i++) {
		stage->heads[i].normed = own_act(stage, ROOM_ACTIVATIONS, w->tokens * w->h);
		stage->heads[i].logits = own_act(stage, ROOM_LOGITS, w->rows * vocab);
	}
	for (i = 0; i < stage->head_slots * modules; i++)
		make_module(stage, &stage->mtp[i]);
}

/* --- scratch ------------------------------------------------------------------------------ */

static void
make_scratch_attention(struct stage *stage)
{
	const struct widest *w = &stage->widest;
	struct scratch *t = &stage->scratch;
	int64_t cp = stage->shape->strategy.cp, rows = w->rows, far = cp > 1 ? cp * rows : 0;

	t->latent = own_act(stage, ROOM_BUFFERS, w->tokens * w->latent);
	t->k_all = own_act(stage, ROOM_BUFFERS, far * w->k_width);
	t->v_all = own_act(stage, ROOM_BUFFERS, far * w->v_width);
	t->dk_all = own_act(stage, ROOM_BUFFERS, far * w->k_width);
	t->dv_all = own_act(stage, ROOM_BUFFERS, far * w->v_width);
	t->dq = own_act(stage, ROOM_BUFFERS, rows * w->q_width);
	t->dk = own_act(stage, ROOM_BUFFERS, rows * w->k_width);
	t->dv = own_act(stage, ROOM_BUFFERS, rows * w->v_width);
	t->attention = own_act(stage, ROOM_BUFFERS, rows * w->o_width);
	t->dgate = own_act(
	    stage, ROOM_BUFFERS, rows * (w->gates > w->shared_gate ? w->gates : w->shared_gate));
	t->scores = own_act(stage, ROOM_BUFFERS, w->block);
	t->dscores = own_act(stage, ROOM_BUFFERS, w->block);
}

static void
make_lane(struct stage *stage, struct lane *lane)
{
	const struct routings *r = &stage->routings;
	int64_t h = stage->widest.h, etp = stage->shape->strategy.etp;

	lane->sent = own_act(stage, ROOM_ROWS, r->most_slots * h);
	lane->received = own_act(stage, ROOM_ROWS, r->most_received * h);
	lane->members = own_act(stage, ROOM_ROWS, etp > 1 ? etp * r->most_received * h : 0);
	lane->united = own_act(stage, ROOM_ROWS, r->most_united * h);
}

static void
make_scratch_experts(struct stage *stage)
{
	const struct widest *w = &stage->widest;
	const struct routings *r = &stage->routings;
	struct scratch *t = &stage->scratch;

	t->united2 = own_act(stage, ROOM_BUFFERS, r->most_united * w->h);
	t->expert_wide = own_act(stage, ROOM_BUFFERS, r->most_united * w->expert);
	t->expert_dnarrow = own_act(stage, ROOM_BUFFERS, r->most_united * w->expert_act);
	t->logits = own_act(stage, ROOM_BUFFERS, w->tokens * w->experts);
	t->dlogits = own_act(stage, ROOM_BUFFERS, w->tokens * w->experts);
	t->dgates = own_floats(stage, ROOM_BUFFERS, w->tokens * w->top_k);
}

static void
make_scratch(struct stage *stage)
{
	const struct widest *w = &stage->widest;
	struct scratch *t = &stage->scratch;
	int64_t tp = stage->shape->strategy.tp, full = tp > 1 ? w->rows * w->h : 0;
	int64_t wide = w->dense > w->shared ? w->dense : w->shared;
	int64_t narrow = w->dense_act > w->shared_act ? w->dense_act : w->shared_act;
	int64_t losses = stage->head_slots ? w->rows : 0;
	bool mtp = stage->head_slots && stage->shape->model.mtp_layers;

	t->full = own_act(stage, ROOM_BUFFERS, full);
	t->full2 = own_act(stage, ROOM_BUFFERS, full);
	t->part = own_act(stage, ROOM_BUFFERS, full);
	make_scratch_attention(stage);
	wide = wide > w->latent ? wide : w->latent;
	t->dwide = own_act(stage, ROOM_BUFFERS, w->rows * wide);
	t->dnarrow = own_act(stage, ROOM_BUFFERS, w->rows * narrow);
	make_scratch_experts(stage);
	t->t1 = own_act(stage, ROOM_BUFFERS, w->tokens * w->h);
	t->t2 = own_act(stage, ROOM_BUFFERS, w->tokens * w->h);
	t->t3 = own_act(stage, ROOM_BUFFERS, w->tokens * w->h);
	t->t4 = own_act(stage, ROOM_BUFFERS, w->tokens * w->behind);
	t->carried = own_act(stage, ROOM_BUFFERS, mtp ? w->tokens * w->h : 0);
	t->mtp_part = own_act(stage, ROOM_BUFFERS, mtp ? w->rows * w->h / tp : 0);
	t->stats = own_floats(stage, ROOM_BUFFERS, 3 * losses);
	t->all_stats = own_floats(stage, ROOM_BUFFERS, tp > 1 ? 3 * tp * losses : 0);
	t->losses = own_floats(stage, ROOM_BUFFERS, losses);
}

/* --- index tables ------------------------------------------------------------------------- */

/* Words of the group's rows and of those after them, as rows of the own part of the vocabulary. */
static void
make_words(struct stage *stage)
{
	const struct shape *shape = stage->shape;
	struct arena_mark mark;
	int64_t own_rows = shape->model.vocab / shape->strategy.tp, first = stage->s->tp * own_rows;
	int64_t shifts = shape->model.mtp_layers + 2, rows = stage->widest.rows, i;
	int64_t n = shape->strategy.micro_batches * shifts * rows;
	int32_t *words;

	stage->words = own_indices(stage, n);
	mark = arena_mark(stage->s->arena);
	words = arena_array(stage->s->arena, (size_t)n, sizeof(*words));
	for (i = 0; i < n; i++) {
		int64_t token = group_token_number(stage->s, shape, i / (shifts * rows), i % rows);
		int64_t word = token_id(token + i / rows % shifts, shape->model.vocab) - first;

		words[i] = word >= 0 && word < own_rows ? (int32_t)word : -1;
	}
	put_indices(stage, stage->words, words, n);
	arena_reset(stage->s->arena, mark);
}

static void
make_indices(struct stage *stage)
{
	const struct shape *shape = stage->shape;
	int64_t tokens = stage->widest.tokens, tp = shape->strategy.tp, i;
	int64_t n = stage->routings.most_slots > tokens ? stage->routings.most_slots : tokens;
	struct arena_mark mark;
	int32_t *values;

	stage->straight = own_indices(stage, n);
	stage->positions = own_indices(stage, tokens);
	stage->columns = own_indices(stage, tp * tokens);
	mark = arena_mark(stage->s->arena);
	values = arena_array(stage->s->arena, (size_t)(n + tp * tokens), sizeof(*values));
	for (i = 0; i < n; i++)
		values[i] = (int32_t)i;
	put_indices(stage, stage->straight, values, n);
	for (i = 0; i < tokens && shape->model.learned_positions; i++)
		values[i] = (int32_t)(token_number(stage->s, shape, 0, i) %
				      shape->strategy.seq_len % shape->model.learned_positions);
	put_indices(stage, stage->positions, values, tokens);
	for (i = 0; i < tp * tokens; i++)
		values[i] = (int32_t)(i % tp * stage->widest.rows + stage->s->tp * tokens + i / tp);
	put_indices(stage, stage->columns, values, tp * tokens);
	arena_reset(stage->s->arena, mark);
}

/* --- all ---------------------------------------------------------------------------------- */

static void
make_lanes(struct stage *stage)
{
	int i;

	for (i = 0; i < 1 + stage->paired; i++) {
		make_shared(stage, &stage->shared[i]);
		make_lane(stage, &stage->lanes[i]);
	}
	if (stage->paired)
		return;
	stage->shared[1] = stage->shared[0];
	stage->lanes[1] = stage->lanes[0];
}

static void
count_places(struct stage *stage)
{
	const struct layout *layout = &stage->shape->layout;
	int chunks[LAYOUT_MAX_CHUNKS], v;
	int n = rank_chunks(&stage->shape->strategy, layout, stage->s->pp, chunks);

	for (v = 0; v < n; v++) {
		int layers = layout->first[chunks[v] + 1] - layout->first[chunks[v]];

		if (layers > stage->places)
			stage->places = layers;
	}
}

/* Of the groups that exchange unevenly. */
static int
most_peers(const struct session *s)
{
	int tp = s->groups[GROUP_TP].size, ep = s->groups[GROUP_EP].size;
	int etp = s->groups[GROUP_EXPERT_TP].size, most = tp > ep ? tp : ep;

	return etp > most ? etp : most;
}

int
room_make(struct stage *stage)
{
	struct session *s = stage->s;
	int i;

	count_places(stage);
	find_widest(stage, -1, &stage->widest);
	make_lanes(stage);
	make_slots(stage);
	make_heads(stage);
	make_scratch(stage);
	make_words(stage);
	make_indices(stage);
	stage->gemms =
	    arena_array(s->arena, (size_t)stage->widest.local_experts + 1, sizeof(*stage->gemms));
	stage->counts = arena_array(s->arena, 4 * (size_t)most_peers(s), sizeof(int64_t));
	stage->gradients = arena_array(s->arena, (size_t)stage->n_gradients, sizeof(void *));
	for (i = 0; i < stage->n_gradients; i++)
		stage->gradients[i] =
		    own_act(stage, ROOM_BUFFERS, stage->widest.tokens * stage->widest.h);
	return control_failed(s->control) ? -1 : 0;
}

int
room_poison(struct stage *stage)
{
	const struct owned *owned;

	for (owned = stage->owned; owned; owned = owned->next)
		if (owned->numbers && stage->s->backend.ops->fill(&stage->s->backend, owned->memory,
					  0xff, owned->bytes) != 0)
			return session_fail(stage->s, "poisoning");
	return 0;
}

void
room_free(struct stage *stage)
{
	struct owned *owned;

	for (owned = stage->owned; owned; owned = owned->next)
		session_release(stage->s, owned->memory, owned->bytes);
	stage->owned = NULL;
}
