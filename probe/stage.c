/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What does a stage allocate before it starts, and how does one layer run?
 *
 * Everything is allocated once, before the first collective of the step: sizes follow from the
 * shapes and from the routing, which is known. A slot keeps what a pass through a chunk needs until
 * its backward; there are as many as the schedule has alive at its peak.
 */
#include <string.h>

#include "base/arena.h"
#include "planner/schedule.h"
#include "probe/stage.h"

struct owned {
	void *memory;
	size_t bytes;
	struct owned *next;
};

static void *
own(struct stage *stage, size_t bytes)
{
	struct owned *owned = arena_alloc(stage->s->arena, sizeof(*owned));

	bytes = bytes ? bytes : 16;
	owned->memory = session_alloc(stage->s, bytes);
	owned->bytes = bytes;
	owned->next = stage->owned;
	stage->owned = owned;
	stage->activation_bytes += bytes;
	return owned->memory;
}

static void *
own_act(struct stage *stage, int64_t elements)
{
	return own(stage, (size_t)elements * stage->s->backend.ops->act_bytes);
}

static void
keep_max(int64_t *most, int64_t value)
{
	if (value > *most)
		*most = value;
}

/* The largest of every width over the layers that this stage holds. */
static void
find_widest(struct stage *stage)
{
	const struct layout *layout = &stage->shape->layout;
	struct dims *w = &stage->widest, d;
	int64_t layer;
	int v;

	memset(w, 0, sizeof(*w));
	for (v = 0; v < layout->vpp; v++) {
		int chunk = v * layout->pp + stage->s->pp,
		    n = layout->first[chunk + 1] - layout->first[chunk];

		if (n > stage->places)
			stage->places = n;
		for (layer = layout->first[chunk]; layer < layout->first[chunk + 1]; layer++) {
			dims_of(stage->shape, shape_kind(stage->shape, layer), &d);
			keep_max(&w->latent, d.latent);
			keep_max(&w->q_width, d.q_width);
			keep_max(&w->k_width, d.k_width);
			keep_max(&w->v_width, d.v_width);
			keep_max(&w->o_width, d.o_width);
			keep_max(&w->dense, fc1_width(&d, d.dense));
			keep_max(&w->shared, fc1_width(&d, d.shared));
			keep_max(&w->expert, fc1_width(&d, d.expert));
			keep_max(&w->experts, d.experts);
			keep_max(&w->local_experts, d.local_experts);
			keep_max(&w->top_k, d.top_k);
			keep_max(&w->heads, d.seq_rows * ((d.seq_rows + d.stride - 1) / d.stride));
		}
	}
	dims_of(stage->shape, &stage->shape->model.kinds[0], &d);
	w->h = d.h;
	w->tokens = d.tokens;
	w->rows = d.rows;
}

static int
alloc_kept(struct stage *stage, struct kept *kept)
{
	const struct dims *w = &stage->widest;
	const struct routings *r = &stage->routings;

	kept->n1 = own_act(stage, w->tokens * w->h);
	kept->x1 = own_act(stage, w->tokens * w->h);
	kept->n2 = own_act(stage, w->tokens * w->h);
	kept->latent = own_act(stage, w->rows * w->latent);
	kept->q = own_act(stage, w->rows * w->q_width);
	kept->k = own_act(stage, w->rows * w->k_width);
	kept->v = own_act(stage, w->rows * w->v_width);
	kept->o = own_act(stage, w->rows * w->o_width);
	kept->fc1_dense = own_act(stage, w->rows * w->dense);
	kept->fc1_shared = own_act(stage, w->rows * w->shared);
	kept->permuted = own_act(stage, r->most_united * w->h);
	kept->fc1_expert = own_act(stage, r->most_united * w->expert);
	kept->returned = own_act(stage, r->most_slots * w->h);
	kept->gates = own(stage, (size_t)(w->tokens * w->top_k) * sizeof(float));
	return control_failed(stage->s->control) ? -1 : 0;
}

static int
alloc_slots(struct stage *stage)
{
	const struct dims *w = &stage->widest;
	int i, n = stage->slots * (stage->places + 1);

	stage->kept = arena_array(
	    stage->s->arena, (size_t)(stage->slots * stage->places), sizeof(*stage->kept));
	stage->inputs = arena_array(stage->s->arena, (size_t)n, sizeof(*stage->inputs));
	for (i = 0; i < n; i++)
		stage->inputs[i] = own_act(stage, w->tokens * w->h);
	for (i = 0; i < stage->slots * stage->places; i++) {
		struct kept *kept = &stage->kept[i];

		if (stage->recompute && i > 0)
			*kept = stage->kept[0];
		else if (alloc_kept(stage, kept) != 0)
			return -1;
		kept->x =
		    stage->inputs[i / stage->places * (stage->places + 1) + i % stage->places];
	}
	return 0;
}

static void
alloc_scratch_attention(struct stage *stage)
{
	const struct dims *w = &stage->widest;
	struct scratch *t = &stage->scratch;
	int64_t cp = stage->shape->strategy.cp, rows = w->rows;

	t->latent = own_act(stage, w->tokens * w->latent);
	t->k_all = own_act(stage, cp > 1 ? cp * rows * w->k_width : 0);
	t->v_all = own_act(stage, cp > 1 ? cp * rows * w->v_width : 0);
	t->dk_all = own_act(stage, cp > 1 ? cp * rows * w->k_width : 0);
	t->dv_all = own_act(stage, cp > 1 ? cp * rows * w->v_width : 0);
	t->dq = own_act(stage, rows * w->q_width);
	t->dk = own_act(stage, rows * w->k_width);
	t->dv = own_act(stage, rows * w->v_width);
	t->attention = own_act(stage, rows * w->o_width);
	t->scores = own_act(stage, w->heads); /* find_widest(): elements of one block */
	t->dscores = own_act(stage, w->heads);
}

static int
alloc_scratch(struct stage *stage)
{
	const struct dims *w = &stage->widest;
	const struct routings *r = &stage->routings;
	struct scratch *t = &stage->scratch;
	bool tp = stage->shape->strategy.tp > 1;
	int64_t etp = stage->shape->strategy.etp,
		wide = w->dense > w->shared ? w->dense : w->shared;

	t->full = own_act(stage, tp ? w->rows * w->h : 0);
	t->full2 = own_act(stage, tp ? w->rows * w->h : 0);
	t->part = own_act(stage, tp ? w->rows * w->h : 0);
	alloc_scratch_attention(stage);
	t->wide = own_act(stage, w->rows * (wide > w->latent ? wide : w->latent));
	t->dwide = own_act(stage, w->rows * wide);
	t->narrow = own_act(stage, w->rows * wide);
	t->dnarrow = own_act(stage, w->rows * wide);
	t->sent = own_act(stage, r->most_slots * w->h);
	t->received = own_act(stage, r->most_received * w->h);
	t->members = own_act(stage, etp > 1 ? etp * r->most_received * w->h : 0);
	t->united = own_act(stage, r->most_united * w->h);
	t->united2 = own_act(stage, r->most_united * w->h);
	t->expert_wide = own_act(stage, r->most_united * w->expert);
	t->expert_narrow = own_act(stage, r->most_united * w->expert);
	t->expert_dnarrow = own_act(stage, r->most_united * w->expert);
	t->logits = own_act(stage, w->tokens * w->experts);
	t->dlogits = own_act(stage, w->tokens * w->experts);
	t->dgates = own(stage, (size_t)(w->tokens * w->top_k) * sizeof(float));
	t->t1 = own_act(stage, w->tokens * w->h);
	t->t2 = own_act(stage, w->tokens * w->h);
	t->t3 = own_act(stage, w->tokens * w->h);
	return control_failed(stage->s->control) ? -1 : 0;
}

static int
alloc_rest(struct stage *stage)
{
	int64_t n = stage->routings.most_slots, i;
	int ep = stage->s->groups[GROUP_EP].size, etp = stage->s->groups[GROUP_EXPERT_TP].size;
	int32_t *straight = arena_array(stage->s->arena, (size_t)n + 1, sizeof(*straight));

	for (i = 0; i < n; i++)
		straight[i] = (int32_t)i;
	stage->gemms = arena_array(
	    stage->s->arena, (size_t)stage->widest.local_experts + 1, sizeof(*stage->gemms));
	stage->counts =
	    arena_array(stage->s->arena, 4 * (size_t)(ep > etp ? ep : etp), sizeof(int64_t));
	stage->straight = own(stage, (size_t)n * sizeof(*straight));
	if (!stage->straight)
		return -1;
	if (stage->s->backend.ops->put(
		&stage->s->backend, ELEMENT_INT32, stage->straight, straight, n) != 0)
		return session_fail(stage->s, "routing tables");
	stage->prepared_input = own_act(stage, stage->widest.tokens * stage->widest.h);
	stage->prepared_gradient = own_act(stage, stage->widest.tokens * stage->widest.h);
	stage->gradients = arena_array(stage->s->arena, (size_t)stage->n_gradients, sizeof(void *));
	for (i = 0; i < stage->n_gradients; i++)
		stage->gradients[i] = own_act(stage, stage->widest.tokens * stage->widest.h);
	return control_failed(stage->s->control) ? -1 : 0;
}

/* Nothing that was not written may look right: NaN in every float and bf16. */
static int
poison(struct stage *stage)
{
	const struct owned *owned;

	for (owned = stage->owned; owned; owned = owned->next)
		if (owned->memory != stage->straight &&
		    stage->s->backend.ops->fill(
			&stage->s->backend, owned->memory, 0xff, owned->bytes) != 0)
			return session_fail(stage->s, "poisoning");
	return 0;
}

int
stage_open(
    struct stage *stage, struct session *s, const struct shape *shape, const struct skew *skew)
{
	const struct strategy *st = &shape->strategy;
	int64_t passes = schedule_warmup((int)st->pp, (int)st->vpp, st->micro_batches, s->pp) + 1;

	memset(stage, 0, sizeof(*stage));
	stage->s = s;
	stage->shape = shape;
	stage->skew = skew;
	stage->recompute = st->recompute.kind == RECOMPUTE_FULL;
	stage->slots =
	    (int)(passes < st->micro_batches * st->vpp ? passes : st->micro_batches * st->vpp);
	stage->n_gradients =
	    (int)(st->micro_batches * st->vpp + 1 < 8 ? st->micro_batches * st->vpp + 1 : 8);
	find_widest(stage);
	if (weights_make(s, shape, &stage->weights) != 0 ||
	    routing_make(s, shape, skew, &stage->routings) != 0)
		return -1;
	control_phase(s->control, "allocation");
	if (alloc_slots(stage) != 0 || alloc_scratch(stage) != 0 || alloc_rest(stage) != 0 ||
	    weights_fill(s, &stage->weights) != 0)
		return -1;
	return poison(stage);
}

void
stage_close(struct stage *stage)
{
	struct owned *owned;

	for (owned = stage->owned; owned; owned = owned->next)
		session_release(stage->s, owned->memory, owned->bytes);
	stage->owned = NULL;
	routing_free(stage->s, &stage->routings);
	weights_free(stage->s, &stage->weights);
}

/* --- a layer ------------------------------------------------------------------------------ */

static int
norm(struct stage *stage, int64_t layer, int which, const struct dims *d, const void *in, void *out)
{
	const struct weight *w = weight_find(&stage->weights, layer, "norms");
	struct backend *b = &stage->s->backend;
	int result;

	part_begin(stage->s, PART_NORM, STREAM_COMPUTE);
	result = kernel_done(stage,
	    b->ops->norm(b, out, in,
		act_at(stage, weight_data(stage->s, &stage->weights, w), which * d->h), d->tokens,
		d->h),
	    "norm");
	part_end(stage->s, STREAM_COMPUTE);
	return result;
}

/* din = norm's gradient + `residual`. */
static int
norm_back(struct stage *stage, int64_t layer, int which, const struct dims *d, const void *in,
    const void *dout, const void *residual, void *din)
{
	const struct weight *w = weight_find(&stage->weights, layer, "norms");
	struct backend *b = &stage->s->backend;
	int result;

	part_begin(stage->s, PART_NORM, STREAM_COMPUTE);
	result = b->ops->norm_back(b, din, weight_gradient(&stage->weights, w) + which * d->h, dout,
	    in, act_at(stage, weight_data(stage->s, &stage->weights, w), which * d->h), d->tokens,
	    d->h);
	if (result == 0)
		result = b->ops->add(b, din, residual, d->tokens * d->h);
	part_end(stage->s, STREAM_COMPUTE);
	return kernel_done(stage, result, "norm");
}

int
layer_forward(struct stage *stage, int64_t layer, int64_t micro_batch, struct kept *kept, void *out)
{
	struct backend *b = &stage->s->backend;
	struct dims d;

	dims_of(stage->shape, shape_kind(stage->shape, layer), &d);
	if (norm(stage, layer, 0, &d, kept->x, kept->n1) != 0 ||
	    attention_forward(stage, layer, &d, kept) != 0 ||
	    kernel_done(stage, b->ops->add(b, kept->x1, kept->x, d.tokens * d.h), "residual") !=
		0 ||
	    norm(stage, layer, 1, &d, kept->x1, kept->n2) != 0 ||
	    ffn_forward(stage, layer, micro_batch, &d, kept, out) != 0)
		return -1;
	return kernel_done(stage, b->ops->add(b, out, kept->x1, d.tokens * d.h), "residual");
}

int
layer_backward(struct stage *stage, int64_t layer, int64_t micro_batch, struct kept *kept,
    const void *dout, void *dx)
{
	struct scratch *t = &stage->scratch;
	struct dims d;

	dims_of(stage->shape, shape_kind(stage->shape, layer), &d);
	if (ffn_backward(stage, layer, micro_batch, &d, kept, dout, t->t2) != 0 ||
	    norm_back(stage, layer, 1, &d, kept->x1, t->t2, dout, t->t3) != 0 ||
	    attention_backward(stage, layer, &d, kept, t->t3, t->t2) != 0)
		return -1;
	return norm_back(stage, layer, 0, &d, kept->x, t->t2, t->t3, dx);
}
