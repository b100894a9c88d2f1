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

static struct product
product_of(struct linear l, void *to, int64_t width)
{
	return (struct product){.run = linear_forward, .l = l, .to = to, .ld = width};
}

enum { MOST_PRODUCTS = 4 };

/* Keys, values and, where they have a latent, queries. */
static int
up_products(struct stage *stage, int64_t layer, const struct dims *d, struct kept *kept,
    struct product up[MOST_PRODUCTS])
{
	struct linear k = linear_of(stage, layer, "kv_up", d->rows), v = k;
	int n = 2;

	k.out = d->k_width - d->rope; /* rows of kv_up: all heads' keys, then all heads' values */
	v.out = d->v_width;
	v.w = act_at(stage, v.w, k.out * v.in);
	up[0] = product_of(k, kept->k, d->k_width);
	up[1] = product_of(v, kept->v, d->v_width);
	up[0].column = up[1].column = d->q_rank;
	if (d->q_rank)
		up[n++] = product_of(linear_of(stage, layer, "q_up", d->rows), kept->q, d->q_width);
	return n;
}

/* Queries, keys and values from the own tokens' latents; queries from n1 where they have none. */
static int
up_mla(struct stage *stage, int64_t layer, const struct dims *d, struct kept *kept, const void *own)
{
	struct product up[MOST_PRODUCTS];
	struct backend *b = &stage->s->backend;
	int n = up_products(stage, layer, d, kept, up);
	const void *all = rows_multiply(stage, own, d->tokens, d->latent, kept->latent, up, n);
	struct product q;

	if (!all ||
	    kernel_done(stage,
		b->ops->copy(b, act_at(stage, kept->k, d->k_width - d->rope), d->k_width,
		    act_at(stage, all, d->q_rank + d->kv_rank), d->latent, d->rows, d->rope),
		"rotary keys") != 0)
		return -1;
	if (d->q_rank)
		return 0;
	q = product_of(linear_of(stage, layer, "q", d->rows), kept->q, d->q_width);
	return rows_multiply(stage, kept->n1, d->tokens, d->h, stage->scratch.full, &q, 1) ? 0 : -1;
}

/* Of the own tokens; they go where the group's will be when there is none. */
static const void *
norm_latents(struct stage *stage, int64_t layer, const struct dims *d, struct kept *kept)
{
	struct vector q = {layer, "q_norm", 0}, kv = {layer, "kv_norm", 0};
	struct backend *b = &stage->s->backend;
	void *own = stage->s->groups[GROUP_TP].comm ? stage->scratch.latent : kept->latent;
	int64_t rope = d->q_rank + d->kv_rank;

	if ((d->q_rank &&
		rows_norm(stage, q, kept->raw, own, d->tokens, d->q_rank, d->latent) != 0) ||
	    rows_norm(stage, kv, act_at(stage, kept->raw, d->q_rank), act_at(stage, own, d->q_rank),
		d->tokens, d->kv_rank, d->latent) != 0 ||
	    kernel_done(stage,
		b->ops->copy(b, act_at(stage, own, rope), d->latent, act_at(stage, kept->raw, rope),
		    d->latent, d->tokens, d->rope),
		"rotary keys") != 0)
		return NULL;
	return own;
}

static int
project_mla(struct stage *stage, int64_t layer, const struct dims *d, struct kept *kept)
{
	struct vector q_bias = {layer, "q_down_bias", 0}, kv_bias = {layer, "kv_down_bias", 0};
	struct linear q_down = linear_of(stage, layer, "q_down", d->tokens);
	struct linear kv_down = linear_of(stage, layer, "kv_down", d->tokens);
	void *kv = act_at(stage, kept->raw, d->q_rank);
	int64_t kv_width = d->latent - d->q_rank;
	const void *own;

	if (d->q_rank &&
	    (linear_forward(stage, &q_down, kept->n1, d->h, kept->raw, d->latent, 0) != 0 ||
		bias_add(stage, q_bias, kept->raw, d->tokens, d->q_rank, d->latent) != 0))
		return -1;
	if (linear_forward(stage, &kv_down, kept->n1, d->h, kv, d->latent, 0) != 0 ||
	    bias_add(stage, kv_bias, kv, d->tokens, kv_width, d->latent) != 0)
		return -1;
	own = norm_latents(stage, layer, d, kept);
	return own ? up_mla(stage, layer, d, kept, own) : -1;
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

/* What multiplies the heads' outputs, in front of its sigmoid; its product has run. */
static int
bias_gates(struct stage *stage, int64_t layer, const struct dims *d, struct kept *kept)
{
	struct vector sinks = {layer, "sinks", 0}, bias = {layer, "q_bias", d->q_width};

	if (d->gates == 0)
		return 0;
	if (d->sinks && act_clear(stage, kept->gates_o, d->rows * d->gates) != 0)
		return -1;
	return bias_add(stage, d->sinks ? sinks : bias, kept->gates_o, d->rows, d->gates, d->gates);
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
	struct product in[MOST_PRODUCTS] = {[1] = product_of(k, raw_k, d->k_width),
	    [2] = product_of(v.w ? v : k, kept->v, d->v_width), /* else values are the keys */
	    [3] = product_of(gate_of(stage, d, q), kept->gates_o, d->gates)};
	int n = d->gates && !d->sinks ? 4 : 3;

	q.out = d->q_width;
	in[0] = product_of(q, raw_q, d->q_width);
	if (!rows_multiply(stage, kept->n1, d->tokens, d->h, stage->scratch.full, in, n) ||
	    bias_add(stage, q_bias, raw_q, d->rows, d->q_width, d->q_width) != 0 ||
	    bias_add(stage, k_bias, raw_k, d->rows, d->k_width, d->k_width) != 0 ||
	    bias_add(stage, v_bias, kept->v, d->rows, d->v_width, d->v_width) != 0 ||
	    norm_heads(stage, layer, d, kept) != 0)
		return -1;
	return bias_gates(stage, layer, d, kept);
}

int
project_forward(struct stage *stage, int64_t layer, const struct dims *d, struct kept *kept)
{
	return d->mla ? project_mla(stage, layer, d, kept) : project_gqa(stage, layer, d, kept);
}

int
project_replay(struct stage *stage, int64_t layer, const struct dims *d, struct kept *kept)
{
	if (d->mla && stage->replayed & MODULE_MLA_UP_PROJ) {
		const void *own = norm_latents(stage, layer, d, kept);

		if (!own || up_mla(stage, layer, d, kept, own) != 0)
			return -1;
	}
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
		return (struct projected){kept->q, kept->k, kept->v, kept->dlatent, kept->gates_o};
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

	if (d->q_normed &&
	    (rows_norm_back(stage, q_norm, kept->q_raw, p->dq, d->rows * d->q_width / d->q_normed,
		 d->q_normed, d->q_normed) != 0 ||
		rows_norm_back(stage, k_norm, kept->k_raw, p->dk,
		    d->rows * d->k_width / d->k_normed, d->k_normed, d->k_normed) != 0))
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
	    gates_back(stage, layer, d, &l.q, &p, partial) != 0 || rows_joined(stage) != 0)
		return -1;
	return rows_send_back(stage, partial, d->tokens, d->h, dn1);
}

static int
project_gqa_weights(
    struct stage *stage, int64_t layer, const struct dims *d, struct kept *kept, const void *x)
{
	struct projections l = gqa_of(stage, layer, d);
	struct projected p = projected_of(stage, kept);
	struct linear gate = gate_of(stage, d, l.q);

	if (linear_back_weight(stage, &l.q, p.dq, d->q_width, x, d->h) != 0 ||
	    linear_back_weight(stage, &l.k, p.dk, d->k_width, x, d->h) != 0 ||
	    linear_back_weight(stage, &l.v, p.dv, d->v_width, x, d->h) != 0)
		return -1;
	return d->gates && !d->sinks ? linear_back_weight(stage, &gate, p.dgates, d->gates, x, d->h)
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
	    latents_back(stage, layer, d, kept, p.dlatent) != 0 || rows_joined(stage) != 0)
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
project_mla_weights(
    struct stage *stage, int64_t layer, const struct dims *d, struct kept *kept, const void *x)
{
	struct linear q_down = linear_of(stage, layer, "q_down", d->tokens);
	struct linear kv_down = linear_of(stage, layer, "kv_down", d->tokens);
	struct linear q = linear_of(stage, layer, "q", d->rows);
	struct projections l = mla_of(stage, layer, d);
	struct projected p = projected_of(stage, kept);
	const void *kv = act_at(stage, kept->latent, d->q_rank);
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
	return linear_back_weight(stage, &q, p.dq, d->q_width, x, d->h);
}

int
project_backward(
    struct stage *stage, int64_t layer, const struct dims *d, struct kept *kept, void *dn1)
{
	return d->mla ? project_mla_back(stage, layer, d, kept, dn1)
		      : project_gqa_back(stage, layer, d, kept, dn1);
}

int
project_weights(
    struct stage *stage, int64_t layer, const struct dims *d, struct kept *kept, const void *x)
{
	return d->mla ? project_mla_weights(stage, layer, d, kept, x)
		      : project_gqa_weights(stage, layer, d, kept, x);
}
