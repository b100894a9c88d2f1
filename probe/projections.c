/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What is in front of attention's heads: projections, biases and norms.
 *
 * MLA (arXiv 2405.04434, section 2.1): both down projections and the latents' norms run on the
 * rank's own tokens; the rotary part of a key is one for all heads and stands behind their own
 * parts. A norm over all heads sees those of its tensor-parallel rank. A sink takes its share of a
 * softmax; here, without one, it leaves sigmoid(sink) of its head.
 */
#include "probe/attention_private.h"

int
act_clear(struct stage *stage, void *memory, int64_t elements)
{
	struct backend *b = &stage->s->backend;

	return kernel_done(
	    stage, b->ops->fill(b, memory, 0, (size_t)elements * b->ops->act_bytes), "clearing");
}

/* Queries, keys and values from the latents; queries from n1 where they have none. */
static int
up_mla(struct stage *stage, int64_t layer, const struct dims *d, struct kept *kept)
{
	struct linear q = linear_of(stage, layer, d->q_rank ? "q_up" : "q", d->rows);
	struct linear k = linear_of(stage, layer, "kv_up", d->rows), v = k;
	struct backend *b = &stage->s->backend;
	const void *kv = act_at(stage, kept->latent, d->q_rank);
	const void *x = d->q_rank
			    ? kept->latent
			    : rows_gather(stage, kept->n1, d->tokens, d->h, stage->scratch.full);

	if (!x)
		return -1;
	k.out = d->k_width - d->rope; /* rows of kv_up: all heads' keys, then all heads' values */
	v.out = d->v_width;
	v.w = act_at(stage, v.w, k.out * v.in);
	if (linear_forward(stage, &q, x, d->q_rank ? d->latent : d->h, kept->q, d->q_width, 0) !=
		0 ||
	    linear_forward(stage, &k, kv, d->latent, kept->k, d->k_width, 0) != 0 ||
	    linear_forward(stage, &v, kv, d->latent, kept->v, d->v_width, 0) != 0)
		return -1;
	return kernel_done(stage,
	    b->ops->copy(b, act_at(stage, kept->k, k.out), d->k_width,
		act_at(stage, kv, d->kv_rank), d->latent, d->rows, d->rope),
	    "rotary keys");
}

/* Of the own tokens, then of the group's. */
static int
norm_latents(struct stage *stage, int64_t layer, const struct dims *d, struct kept *kept)
{
	struct vector q = {layer, "q_norm", 0}, kv = {layer, "kv_norm", 0};
	struct backend *b = &stage->s->backend;
	void *own = stage->s->groups[GROUP_TP].comm ? stage->scratch.latent : kept->latent;
	int64_t rope = d->q_rank + d->kv_rank;

	if ((d->q_rank &&
		rows_norm(stage, q, kept->raw, own, d->tokens, d->q_rank, d->latent) != 0) ||
	    rows_norm(stage, kv, act_at(stage, kept->raw, d->q_rank),
		act_at(stage, own, d->q_rank), d->tokens, d->kv_rank, d->latent) != 0 ||
	    kernel_done(stage,
		b->ops->copy(b, act_at(stage, own, rope), d->latent, act_at(stage, kept->raw, rope),
		    d->latent, d->tokens, d->rope),
		"rotary keys") != 0)
		return -1;
	return rows_gather(stage, own, d->tokens, d->latent, kept->latent) ? 0 : -1;
}

static int
project_mla(struct stage *stage, int64_t layer, const struct dims *d, struct kept *kept)
{
	struct vector q_bias = {layer, "q_down_bias", 0}, kv_bias = {layer, "kv_down_bias", 0};
	struct linear q_down = linear_of(stage, layer, "q_down", d->tokens);
	struct linear kv_down = linear_of(stage, layer, "kv_down", d->tokens);
	void *kv = act_at(stage, kept->raw, d->q_rank);
	int64_t kv_width = d->latent - d->q_rank;

	if (d->q_rank &&
	    (linear_forward(stage, &q_down, kept->n1, d->h, kept->raw, d->latent, 0) != 0 ||
		bias_add(stage, q_bias, kept->raw, d->tokens, d->q_rank, d->latent) != 0))
		return -1;
	if (linear_forward(stage, &kv_down, kept->n1, d->h, kv, d->latent, 0) != 0 ||
	    bias_add(stage, kv_bias, kv, d->tokens, kv_width, d->latent) != 0 ||
	    norm_latents(stage, layer, d, kept) != 0)
		return -1;
	return up_mla(stage, layer, d, kept);
}

/* The output gate's rows of the query projection stand behind the queries'. */
static struct linear
gate_of(const struct stage *stage, const struct dims *d, struct linear q)
{
	q.w = act_at(stage, q.w, d->q_width * q.in);
	q.dw += d->q_width * q.in;
	q.out = d->gates;
	return q;
}

static int
norm_heads(struct stage *stage, int64_t layer, const struct dims *d, struct kept *kept)
{
	struct vector q = {layer, "q_norm", 0}, k = {layer, "k_norm", 0};

	if (d->q_normed == 0)
		return 0;
	if (rows_norm(stage, q, kept->q_raw, kept->q, d->rows * d->q_width / d->q_normed,
		d->q_normed, d->q_normed) != 0)
		return -1;
	return rows_norm(stage, k, kept->k_raw, kept->k, d->rows * d->k_width / d->k_normed,
	    d->k_normed, d->k_normed);
}

/* What multiplies the heads' outputs, in front of its sigmoid. */
static int
project_gates(struct stage *stage, int64_t layer, const struct dims *d, struct kept *kept,
    const struct linear *q, const void *x)
{
	struct vector sinks = {layer, "sinks", 0}, bias = {layer, "q_bias", d->q_width};
	struct linear gate = gate_of(stage, d, *q);

	if (d->gates == 0)
		return 0;
	if (!d->sinks) {
		if (linear_forward(stage, &gate, x, d->h, kept->gates_o, d->gates, 0) != 0)
			return -1;
		return bias_add(stage, bias, kept->gates_o, d->rows, d->gates, d->gates);
	}
	if (act_clear(stage, kept->gates_o, d->rows * d->gates) != 0)
		return -1;
	return bias_add(stage, sinks, kept->gates_o, d->rows, d->gates, d->gates);
}

static int
project_gqa(struct stage *stage, int64_t layer, const struct dims *d, struct kept *kept)
{
	struct vector q_bias = {layer, "q_bias", 0}, k_bias = {layer, "k_bias", 0};
	struct vector v_bias = {layer, "v_bias", 0};
	struct linear q = linear_of(stage, layer, "q", d->rows);
	struct linear k = linear_of(stage, layer, "k", d->rows);
	struct linear v = linear_of(stage, layer, "v", d->rows);
	void *raw_q = d->q_normed ? kept->q_raw : kept->q;
	void *raw_k = d->k_normed ? kept->k_raw : kept->k;
	const void *x = rows_gather(stage, kept->n1, d->tokens, d->h, stage->scratch.full);

	if (!v.w) /* values are the keys */
		v = k;
	q.out = d->q_width;
	if (!x || linear_forward(stage, &q, x, d->h, raw_q, d->q_width, 0) != 0 ||
	    linear_forward(stage, &k, x, d->h, raw_k, d->k_width, 0) != 0 ||
	    linear_forward(stage, &v, x, d->h, kept->v, d->v_width, 0) != 0 ||
	    bias_add(stage, q_bias, raw_q, d->rows, d->q_width, d->q_width) != 0 ||
	    bias_add(stage, k_bias, raw_k, d->rows, d->k_width, d->k_width) != 0 ||
	    bias_add(stage, v_bias, kept->v, d->rows, d->v_width, d->v_width) != 0 ||
	    norm_heads(stage, layer, d, kept) != 0)
		return -1;
	return project_gates(stage, layer, d, kept, &q, x);
}

int
project_forward(struct stage *stage, int64_t layer, const struct dims *d, struct kept *kept)
{
	return d->mla ? project_mla(stage, layer, d, kept) : project_gqa(stage, layer, d, kept);
}

int
project_replay(struct stage *stage, int64_t layer, const struct dims *d, struct kept *kept)
{
	if (d->mla && stage->replayed & MODULE_MLA_UP_PROJ &&
	    (norm_latents(stage, layer, d, kept) != 0 || up_mla(stage, layer, d, kept) != 0))
		return -1;
	return stage->replayed & MODULE_LAYERNORM ? norm_heads(stage, layer, d, kept) : 0;
}

/* --- backward ----------------------------------------------------------------------------- */

/* Gradients of what the projections gave. */
struct projected {
	void *dq, *dk, *dv, *dlatent, *dgates;
};

static struct projected
projected_of(const struct stage *stage, const struct kept *kept)
{
	const struct scratch *t = &stage->scratch;

	if (stage->apart)
		return (struct projected){
		    kept->q, kept->k, kept->v, kept->dlatent, kept->gates_o};
	return (struct projected){t->dq, t->dk, t->dv, t->latent, t->dgate};
}

struct projections {
	struct linear q, k, v;
};

static struct projections
gqa_of(struct stage *stage, int64_t layer, const struct dims *d)
{
	struct projections p = {linear_of(stage, layer, "q", d->rows),
	    linear_of(stage, layer, "k", d->rows), linear_of(stage, layer, "v", d->rows)};

	if (!p.v.w)
		p.v = p.k;
	p.q.out = d->q_width;
	return p;
}

/* In front of norms and biases. */
static int
heads_back(struct stage *stage, int64_t layer, const struct dims *d, const struct kept *kept,
    const struct projected *p)
{
	struct vector q_norm = {layer, "q_norm", 0}, k_norm = {layer, "k_norm", 0};
	struct vector q_bias = {layer, "q_bias", 0}, k_bias = {layer, "k_bias", 0};
	struct vector v_bias = {layer, "v_bias", 0};

	if (d->q_normed && (rows_norm_back(stage, q_norm, kept->q_raw, p->dq,
				d->rows * d->q_width / d->q_normed, d->q_normed, d->q_normed) != 0 ||
			       rows_norm_back(stage, k_norm, kept->k_raw, p->dk,
				   d->rows * d->k_width / d->k_normed, d->k_normed,
				   d->k_normed) != 0))
		return -1;
	if (bias_sum(stage, q_bias, p->dq, d->rows, d->q_width, d->q_width) != 0 ||
	    bias_sum(stage, k_bias, p->dk, d->rows, d->k_width, d->k_width) != 0)
		return -1;
	return bias_sum(stage, v_bias, p->dv, d->rows, d->v_width, d->v_width);
}

/* Of what the gates saw in front of their sigmoid. */
static int
gates_back(struct stage *stage, int64_t layer, const struct dims *d, const struct linear *q,
    const struct projected *p, void *partial)
{
	struct vector sinks = {layer, "sinks", 0}, bias = {layer, "q_bias", d->q_width};
	struct linear gate;

	if (d->gates == 0)
		return 0;
	if (d->sinks)
		return bias_sum(stage, sinks, p->dgates, d->rows, d->gates, d->gates);
	gate = gate_of(stage, d, *q);
	if (bias_sum(stage, bias, p->dgates, d->rows, d->gates, d->gates) != 0)
		return -1;
	return linear_back_input(stage, &gate, p->dgates, d->gates, partial, d->h, 1);
}

static int
project_gqa_back(
    struct stage *stage, int64_t layer, const struct dims *d, struct kept *kept, void *dn1)
{
	struct projections l = gqa_of(stage, layer, d);
	struct projected p = projected_of(stage, kept);
	void *partial = rows_partial(stage, dn1, stage->scratch.part);

	if (heads_back(stage, layer, d, kept, &p) != 0 ||
	    linear_back_input(stage, &l.q, p.dq, d->q_width, partial, d->h, 0) != 0 ||
	    linear_back_input(stage, &l.k, p.dk, d->k_width, partial, d->h, 1) != 0 ||
	    linear_back_input(stage, &l.v, p.dv, d->v_width, partial, d->h, 1) != 0 ||
	    gates_back(stage, layer, d, &l.q, &p, partial) != 0)
		return -1;
	return rows_reduce(stage, partial, d->tokens, d->h, dn1);
}

static int
project_gqa_weights(struct stage *stage, int64_t layer, const struct dims *d, struct kept *kept)
{
	struct projections l = gqa_of(stage, layer, d);
	struct projected p = projected_of(stage, kept);
	struct linear gate = gate_of(stage, d, l.q);
	const void *x = rows_gather(stage, kept->n1, d->tokens, d->h, stage->scratch.full);

	if (!x || linear_back_weight(stage, &l.q, p.dq, d->q_width, x, d->h) != 0 ||
	    linear_back_weight(stage, &l.k, p.dk, d->k_width, x, d->h) != 0 ||
	    linear_back_weight(stage, &l.v, p.dv, d->v_width, x, d->h) != 0)
		return -1;
	return d->gates && !d->sinks
		   ? linear_back_weight(stage, &gate, p.dgates, d->gates, x, d->h)
		   : 0;
}

/* Up from the latents. */
static struct projections
mla_of(struct stage *stage, int64_t layer, const struct dims *d)
{
	struct projections p = {.q = linear_of(stage, layer, "q_up", d->rows),
	    .k = linear_of(stage, layer, "kv_up", d->rows)};

	p.v = p.k;
	p.k.out = d->k_width - d->rope;
	p.v.out = d->v_width;
	p.v.w = act_at(stage, p.k.w, p.k.out * p.k.in);
	p.v.dw = p.k.dw + p.k.out * p.k.in;
	return p;
}

/* Gradient of the normed latents: rows of the group into t->dwide, own tokens where they stay. */
static int
up_mla_back(struct stage *stage, int64_t layer, const struct dims *d, const struct projected *p)
{
	struct projections l = mla_of(stage, layer, d);
	struct backend *b = &stage->s->backend;
	void *partial = rows_partial(stage, p->dlatent, stage->scratch.dwide);
	void *dkv = act_at(stage, partial, d->q_rank);

	if (linear_back_input(stage, &l.k, p->dk, d->k_width, dkv, d->latent, 0) != 0 ||
	    linear_back_input(stage, &l.v, p->dv, d->v_width, dkv, d->latent, 1) != 0 ||
	    kernel_done(stage,
		b->ops->copy(b, act_at(stage, dkv, d->kv_rank), d->latent,
		    act_at(stage, p->dk, l.k.out), d->k_width, d->rows, d->rope),
		"rotary keys") != 0)
		return -1;
	if (d->q_rank &&
	    linear_back_input(stage, &l.q, p->dq, d->q_width, partial, d->latent, 0) != 0)
		return -1;
	return rows_reduce(stage, partial, d->tokens, d->latent, p->dlatent);
}

/* dlatent becomes the gradient of what the down projections gave. */
static int
latents_back(struct stage *stage, int64_t layer, const struct dims *d, const struct kept *kept,
    void *dlatent)
{
	struct vector q_norm = {layer, "q_norm", 0}, kv_norm = {layer, "kv_norm", 0};
	struct vector q_bias = {layer, "q_down_bias", 0}, kv_bias = {layer, "kv_down_bias", 0};
	void *dkv = act_at(stage, dlatent, d->q_rank);

	if (d->q_rank &&
	    (rows_norm_back(stage, q_norm, kept->raw, dlatent, d->tokens, d->q_rank, d->latent) !=
		    0 ||
		bias_sum(stage, q_bias, dlatent, d->tokens, d->q_rank, d->latent) != 0))
		return -1;
	if (rows_norm_back(stage, kv_norm, act_at(stage, kept->raw, d->q_rank), dkv, d->tokens,
		d->kv_rank, d->latent) != 0)
		return -1;
	return bias_sum(stage, kv_bias, dkv, d->tokens, d->latent - d->q_rank, d->latent);
}

static int
project_mla_back(
    struct stage *stage, int64_t layer, const struct dims *d, struct kept *kept, void *dn1)
{
	struct linear q_down = linear_of(stage, layer, "q_down", d->tokens);
	struct linear kv_down = linear_of(stage, layer, "kv_down", d->tokens);
	struct linear q = linear_of(stage, layer, "q", d->rows);
	struct projected p = projected_of(stage, kept);
	void *partial = rows_partial(stage, dn1, stage->scratch.part),
	     *dkv = act_at(stage, p.dlatent, d->q_rank);

	if (up_mla_back(stage, layer, d, &p) != 0 ||
	    latents_back(stage, layer, d, kept, p.dlatent) != 0)
		return -1;
	if (d->q_rank) {
		if (linear_back_input(stage, &q_down, p.dlatent, d->latent, dn1, d->h, 0) != 0)
			return -1;
	} else if (linear_back_input(stage, &q, p.dq, d->q_width, partial, d->h, 0) != 0 ||
		   rows_reduce(stage, partial, d->tokens, d->h, dn1) != 0) {
		return -1;
	}
	return linear_back_input(stage, &kv_down, dkv, d->latent, dn1, d->h, 1);
}

static int
project_mla_weights(struct stage *stage, int64_t layer, const struct dims *d, struct kept *kept)
{
	struct linear q_down = linear_of(stage, layer, "q_down", d->tokens);
	struct linear kv_down = linear_of(stage, layer, "kv_down", d->tokens);
	struct linear q = linear_of(stage, layer, "q", d->rows);
	struct projections l = mla_of(stage, layer, d);
	struct projected p = projected_of(stage, kept);
	const void *kv = act_at(stage, kept->latent, d->q_rank), *x;
	const void *dkv = act_at(stage, p.dlatent, d->q_rank);

	if (linear_back_weight(stage, &l.k, p.dk, d->k_width, kv, d->latent) != 0 ||
	    linear_back_weight(stage, &l.v, p.dv, d->v_width, kv, d->latent) != 0 ||
	    linear_back_weight(stage, &kv_down, dkv, d->latent, kept->n1, d->h) != 0)
		return -1;
	if (d->q_rank) {
		if (linear_back_weight(stage, &l.q, p.dq, d->q_width, kept->latent, d->latent) != 0)
			return -1;
		return linear_back_weight(stage, &q_down, p.dlatent, d->latent, kept->n1, d->h);
	}
	x = rows_gather(stage, kept->n1, d->tokens, d->h, stage->scratch.full);
	return x ? linear_back_weight(stage, &q, p.dq, d->q_width, x, d->h) : -1;
}

int
project_backward(
    struct stage *stage, int64_t layer, const struct dims *d, struct kept *kept, void *dn1)
{
	return d->mla ? project_mla_back(stage, layer, d, kept, dn1)
		      : project_gqa_back(stage, layer, d, kept, dn1);
}

int
project_weights(struct stage *stage, int64_t layer, const struct dims *d, struct kept *kept)
{
	return d->mla ? project_mla_weights(stage, layer, d, kept)
		      : project_gqa_weights(stage, layer, d, kept);
}
