/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The feed-forward half of a layer: dense MLP and shared expert (mlp.c), and routed experts.
 *
 * out = x1 + MLP(n2) + shared(n2) + sum over the chosen experts of gate * expert(n2).
 * Gates are a softmax over the chosen experts' logits. Rows go out in slot order (by expert),
 * an all-to-all over the expert group brings them to their experts' ranks, the expert-tensor
 * group unites its members' rows, products run expert by expert, and all goes back the same way.
 * The two all-to-alls part what is here into three (struct layer_pass).
 */
#include "probe/ffn_private.h"

static struct backend *
backend(struct stage *stage)
{
	return &stage->s->backend;
}

#define KERNEL(stage, call, what) kernel_done(stage, backend(stage)->ops->call, what)

/* --- the way to the experts and back ------------------------------------------------------ */

static struct collective
rows_exchange(struct stage *stage, const struct routing *r, bool out, const void *from, void *to,
    int64_t counts[], int64_t width)
{
	int n = stage->s->groups[GROUP_EP].size, i;

	for (i = 0; i < n; i++) {
		counts[i] = (out ? r->send_counts : r->recv_counts)[i] * width;
		counts[n + i] = (out ? r->send_offsets : r->recv_offsets)[i] * width;
		counts[2 * n + i] = (out ? r->recv_counts : r->send_counts)[i] * width;
		counts[3 * n + i] = (out ? r->recv_offsets : r->send_offsets)[i] * width;
	}
	return (struct collective){.kind = COLLECTIVE_ALL_TO_ALL,
	    .comm = stage->s->groups[GROUP_EP].comm,
	    .send = from,
	    .recv = to,
	    .send_counts = counts,
	    .send_offsets = counts + n,
	    .recv_counts = counts + 2 * n,
	    .recv_offsets = counts + 3 * n};
}

static const struct routing *
routing_at(const struct stage *stage, const struct layer_pass *p)
{
	return routing_of(&stage->routings, p->layer, p->micro_batch);
}

static void
set_out(struct layer_pass *p, enum part part, bool to_experts, const void *from, void *to)
{
	p->travels = true;
	p->part = part;
	p->to_experts = to_experts;
	p->from = from;
	p->to = to;
}

int
rows_depart(struct stage *stage, struct layer_pass *p)
{
	int64_t width = stage->shape->model.hidden;
	struct collective c;

	if (!p->travels || !stage->s->groups[GROUP_EP].comm)
		return 0;
	c = rows_exchange(stage, routing_at(stage, p), p->to_experts, p->from, p->to,
	    stage->counts, width);
	return session_beside(
	    stage->s, STREAM_ROWS, p->part, group_names[GROUP_EP], &c, BEHIND_COMPUTE);
}

int
rows_arrive(struct stage *stage, struct layer_pass *p)
{
	bool alone = !stage->s->groups[GROUP_EP].comm;

	if (!p->travels)
		return 0;
	p->travels = false;
	p->rows = alone ? p->from : p->to;
	return alone ? 0
		     : session_joined(stage->s, STREAM_ROWS, p->part, group_names[GROUP_EP]);
}

/* Rows of all members of the expert-tensor group, by member. */
static const void *
unite(struct stage *stage, const struct routing *r, const void *mine)
{
	const struct group_comm *group = &stage->s->groups[GROUP_EXPERT_TP];
	int64_t *counts = stage->counts, width = stage->shape->model.hidden, at = 0;
	int n = group->size, i;
	struct collective c = {.kind = COLLECTIVE_ALL_TO_ALL,
	    .comm = group->comm,
	    .send = mine,
	    .recv = lane_of(stage)->united,
	    .send_counts = counts,
	    .send_offsets = counts + n,
	    .recv_counts = counts + 2 * n,
	    .recv_offsets = counts + 3 * n};

	if (!c.comm)
		return mine;
	for (i = 0; i < n; i++) {
		counts[i] = r->received * width;
		counts[n + i] = 0;
		counts[2 * n + i] = r->member_counts[i] * width;
		counts[3 * n + i] = at;
		at += counts[2 * n + i];
	}
	return session_collective(stage->s, PART_EXPERT_TENSOR, group_names[GROUP_EXPERT_TP], &c) ==
		       0
		   ? lane_of(stage)->united
		   : NULL;
}

/* Every member's partial sums of my rows, added up: into the lane's members. */
static const void *
part_again(struct stage *stage, const struct routing *r, const void *united)
{
	const struct group_comm *group = &stage->s->groups[GROUP_EXPERT_TP];
	int64_t *counts = stage->counts, width = stage->shape->model.hidden, at = 0;
	int n = group->size, i;
	void *room = lane_of(stage)->members;
	struct collective c = {.kind = COLLECTIVE_ALL_TO_ALL,
	    .comm = group->comm,
	    .send = united,
	    .recv = room,
	    .send_counts = counts,
	    .send_offsets = counts + n,
	    .recv_counts = counts + 2 * n,
	    .recv_offsets = counts + 3 * n};

	if (!c.comm)
		return united;
	for (i = 0; i < n; i++) {
		counts[i] = r->member_counts[i] * width;
		counts[n + i] = at;
		counts[2 * n + i] = r->received * width;
		counts[3 * n + i] = i * r->received * width;
		at += counts[i];
	}
	if (session_collective(stage->s, PART_EXPERT_TENSOR, group_names[GROUP_EXPERT_TP], &c) != 0)
		return NULL;
	for (i = 1; i < n; i++)
		if (KERNEL(stage,
			add(backend(stage), room, act_at(stage, room, i * r->received * width),
			    r->received * width),
			"adding expert shards") != 0)
			return NULL;
	return room;
}

static int
permute(struct stage *stage, void *out, const void *in, const int32_t *rows, int64_t n)
{
	int result;

	part_begin(stage->s, PART_PERMUTE, STREAM_COMPUTE);
	result = KERNEL(
	    stage, gather(backend(stage), out, in, rows, n, stage->shape->model.hidden), "permute");
	part_end(stage->s, STREAM_COMPUTE);
	return result;
}

/* --- routed experts ----------------------------------------------------------------------- */

/* A bias that balances loads steers the choice, which is drawn here; a trained one is a logit's. */
static bool
trains_router_bias(const struct stage *stage, int64_t layer)
{
	const struct weight *w = weight_find(&stage->weights, layer, "router_bias");

	return w && !w->tensor.buffer;
}

static int
route(struct stage *stage, int64_t layer, const struct routing *r, const struct dims *d,
    struct kept *kept)
{
	struct linear router = linear_of(stage, layer, "router", d->tokens);
	void *logits = stage->scratch.logits;
	int result;

	part_begin(stage->s, PART_ROUTER, STREAM_COMPUTE);
	result = linear_forward(stage, &router, kept->n2, d->h, logits, d->experts, 0);
	if (result == 0 && trains_router_bias(stage, layer))
		result = bias_add(stage, (struct vector){layer, "router_bias", 0}, logits,
		    d->tokens, d->experts, d->experts);
	if (result == 0)
		result = KERNEL(stage,
		    gates(backend(stage), kept->gates, logits, r->chosen, d->tokens,
			(int)d->top_k, d->experts),
		    "gates");
	part_end(stage->s, STREAM_COMPUTE);
	return result;
}

static int
set_out_to_experts(struct stage *stage, struct layer_pass *p)
{
	const struct routing *r = routing_at(stage, p);
	struct lane *lane = lane_of(stage);

	if (route(stage, p->layer, r, &p->d, p->kept) != 0 ||
	    permute(stage, lane->sent, p->kept->n2, r->send_rows, r->slots) != 0)
		return -1;
	set_out(p, PART_DISPATCH, true, lane->sent, lane->received);
	return 0;
}

/* Back at their token's rank rows are kept: at once where they never left it. */
static int
run_experts(struct stage *stage, struct layer_pass *p)
{
	const struct routing *r = routing_at(stage, p);
	struct scratch *t = &stage->scratch;
	struct lane *lane = lane_of(stage);
	const void *rows = unite(stage, r, p->rows);

	if (!rows || permute(stage, p->kept->permuted, rows, r->to_expert, r->united) != 0 ||
	    experts_forward(stage, p->layer, r, &p->d, p->kept) != 0 ||
	    permute(stage, lane->united, t->united2, r->from_expert, r->united) != 0)
		return -1;
	rows = part_again(stage, r, lane->united);
	if (!rows)
		return -1;
	if (!stage->s->groups[GROUP_EP].comm)
		return permute(stage, p->kept->returned, rows, stage->straight, r->slots);
	set_out(p, PART_COMBINE, false, rows, p->kept->returned);
	return 0;
}

static int
sum_experts(struct stage *stage, struct layer_pass *p, void *out)
{
	const struct routing *r = routing_at(stage, p);
	int result;

	part_begin(stage->s, PART_PERMUTE, STREAM_COMPUTE);
	result = KERNEL(stage,
	    combine(backend(stage), out, p->kept->returned, r->slot_of, p->kept->gates,
		p->d.tokens, (int)p->d.top_k, p->d.h),
	    "combine");
	part_end(stage->s, STREAM_COMPUTE);
	return result;
}

/* The gradient of the logits stays until the router has had its own. */
static void *
dlogits_of(const struct stage *stage, const struct kept *kept)
{
	return stage->apart ? kept->dlogits : stage->scratch.dlogits;
}

static int
router_weights(struct stage *stage, int64_t layer, const struct dims *d, const struct kept *kept)
{
	struct linear router = linear_of(stage, layer, "router", d->tokens);

	return linear_back_weight(
	    stage, &router, dlogits_of(stage, kept), d->experts, kept->n2, d->h);
}

static int
route_back(struct stage *stage, int64_t layer, const struct routing *r, const struct dims *d,
    struct kept *kept, void *dn2)
{
	struct linear router = linear_of(stage, layer, "router", d->tokens);
	void *dlogits = dlogits_of(stage, kept);
	int result;

	part_begin(stage->s, PART_ROUTER, STREAM_COMPUTE);
	result = KERNEL(stage,
	    gates_back(backend(stage), dlogits, stage->scratch.dgates, kept->gates, r->chosen,
		d->tokens, (int)d->top_k, d->experts),
	    "gates");
	if (result == 0 && trains_router_bias(stage, layer))
		result = bias_sum(stage, (struct vector){layer, "router_bias", 0}, dlogits,
		    d->tokens, d->experts, d->experts);
	if (result == 0 && !stage->apart)
		result = router_weights(stage, layer, d, kept);
	if (result == 0)
		result = linear_back_input(stage, &router, dlogits, d->experts, dn2, d->h, 1);
	part_end(stage->s, STREAM_COMPUTE);
	return result;
}

static int
sum_back(struct stage *stage, struct layer_pass *p)
{
	const struct routing *r = routing_at(stage, p);
	struct lane *lane = lane_of(stage);
	int result;

	part_begin(stage->s, PART_PERMUTE, STREAM_COMPUTE);
	result = KERNEL(stage,
	    combine_back(backend(stage), lane->sent, stage->scratch.dgates, p->half_back,
		p->kept->returned, r->slot_of, p->kept->gates, p->d.tokens, (int)p->d.top_k,
		p->d.h),
	    "combine");
	part_end(stage->s, STREAM_COMPUTE);
	set_out(p, PART_COMBINE, true, lane->sent, lane->received);
	return result;
}

static int
run_experts_back(struct stage *stage, struct layer_pass *p)
{
	const struct routing *r = routing_at(stage, p);
	void *dy = expert_gradients(stage, p->kept).dy;
	struct lane *lane = lane_of(stage);
	const void *rows = unite(stage, r, p->rows);

	if (!rows || permute(stage, dy, rows, r->to_expert, r->united) != 0 ||
	    experts_backward(stage, p->layer, r, &p->d, p->kept) != 0 ||
	    permute(stage, lane->united, stage->scratch.united2, r->from_expert, r->united) != 0)
		return -1;
	rows = part_again(stage, r, lane->united);
	if (!rows)
		return -1;
	set_out(p, PART_DISPATCH, false, rows, lane->sent);
	return 0;
}

/* dn2 is overwritten. */
static int
spread_back(struct stage *stage, struct layer_pass *p, void *dn2)
{
	const struct routing *r = routing_at(stage, p);
	int result;

	part_begin(stage->s, PART_PERMUTE, STREAM_COMPUTE);
	result = KERNEL(stage,
	    gather_back(backend(stage), dn2, p->rows, r->slot_of, p->d.tokens, (int)p->d.top_k,
		p->d.h),
	    "permute");
	part_end(stage->s, STREAM_COMPUTE);
	return result;
}

/* --- both --------------------------------------------------------------------------------- */

/* Into the layer's output, or the gradient of what the second norm gave. */
int
ffn_whole(struct stage *stage, struct layer_pass *p)
{
	if (p->whole_done || !(p->d.dense || p->d.shared))
		return 0;
	p->whole_done = true;
	return p->backward
		   ? mlp_backward(
			 stage, p->layer, &p->d, p->kept, p->half_back, stage->scratch.t2)
		   : mlp_forward(stage, p->layer, &p->d, p->kept, p->half);
}

static int
add_to(struct stage *stage, const struct layer_pass *p, void *to, const void *from)
{
	return KERNEL(stage, add(backend(stage), to, from, p->d.tokens * p->d.h), "residual");
}

/* scratch.t1 lives within a part. */
int
ffn_part(struct stage *stage, struct layer_pass *p, int part)
{
	bool whole = p->d.dense || p->d.shared;
	void *sum = whole ? stage->scratch.t1 : p->half;

	if (part == 0)
		return p->d.experts ? set_out_to_experts(stage, p) : 0;
	if (part == 1)
		return p->d.experts && run_experts(stage, p) != 0 ? -1 : ffn_whole(stage, p);
	if (!p->d.experts)
		return 0;
	if (sum_experts(stage, p, sum) != 0)
		return -1;
	return whole ? add_to(stage, p, p->half, sum) : 0;
}

/* The gradient of what the second norm gave goes into scratch.t2. */
int
ffn_back_part(struct stage *stage, struct layer_pass *p, int part)
{
	bool whole = p->d.dense || p->d.shared;
	void *dn2 = stage->scratch.t2, *first = whole ? stage->scratch.t1 : dn2;

	if (part == 0)
		return p->d.experts ? sum_back(stage, p) : 0;
	if (part == 1)
		return p->d.experts && run_experts_back(stage, p) != 0 ? -1 : ffn_whole(stage, p);
	if (!p->d.experts)
		return 0;
	if (spread_back(stage, p, first) != 0 || (whole && add_to(stage, p, dn2, first) != 0))
		return -1;
	return route_back(stage, p->layer, routing_at(stage, p), &p->d, p->kept, dn2);
}

int
ffn_weights(struct stage *stage, int64_t layer, int64_t micro_batch, const struct dims *d,
    struct kept *kept, const void *dout)
{
	const struct routing *r = routing_of(&stage->routings, layer, micro_batch);
	int result = 0;

	if (d->experts) {
		part_begin(stage->s, PART_EXPERTS, STREAM_COMPUTE);
		result = experts_weights(stage, layer, r, kept);
		part_end(stage->s, STREAM_COMPUTE);
		part_begin(stage->s, PART_ROUTER, STREAM_COMPUTE);
		if (result == 0)
			result = router_weights(stage, layer, d, kept);
		part_end(stage->s, STREAM_COMPUTE);
	}
	if (result == 0 && (d->dense || d->shared))
		result = mlp_weights(stage, layer, d, kept, dout);
	return result;
}

/* What is kept of the forward is there again; its output is not. */
static int
replay_experts(struct stage *stage, const struct layer_pass *of)
{
	struct layer_pass p = layer_pass_of(
	    stage, of->layer, of->micro_batch, false, of->kept, NULL, stage->scratch.t1);

	if (ffn_part(stage, &p, 0) != 0 || rows_depart(stage, &p) != 0 ||
	    rows_arrive(stage, &p) != 0 || run_experts(stage, &p) != 0 ||
	    rows_depart(stage, &p) != 0)
		return -1;
	return rows_arrive(stage, &p);
}

int
ffn_replay(struct stage *stage, const struct layer_pass *of)
{
	const struct dims *d = &of->d;
	unsigned again = stage->replayed;
	bool dense = d->dense && again & MODULE_MLP;
	bool shared = d->shared && again & (MODULE_SHARED_EXPERTS | MODULE_MOE);

	if ((dense || shared) &&
	    mlp_forward(stage, of->layer, d, of->kept, stage->scratch.t1) != 0)
		return -1;
	if (d->experts && again & MODULE_MOE)
		return replay_experts(stage, of);
	if (d->experts && again & MODULE_MOE_ACT) {
		int result;

		part_begin(stage->s, PART_EXPERTS, STREAM_COMPUTE);
		result = activate(stage, d, of->kept->act, of->kept->fc1_expert,
		    routing_at(stage, of)->united, d->expert);
		part_end(stage->s, STREAM_COMPUTE);
		return result;
	}
	return 0;
}
