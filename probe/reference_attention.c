/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What should attention.c and projections.c have computed? O = a Q K^T V, head by head, from
 * projections with their biases and norms, through gates. A norm over all heads sees those of one
 * tensor-parallel rank, as the step's does.
 */
#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "probe/reference_private.h"

/* First row of what one head's projection is in the stored matrix. */
struct head_rows {
	int64_t q, k, v, gate;
};

static struct head_rows
rows_of_head(
    const struct ref *ref, const struct dims *d, const struct reference_weight *q, int64_t head)
{
	int64_t tp = ref->shape->strategy.tp, heads = d->heads / tp, rank = head / heads;
	int64_t local = head % heads, first = rank * (q->tensor.rows / tp);
	int64_t kv = head / (d->heads / d->kv_heads);
	struct head_rows rows = {
	    .q = first + local * d->qk, .gate = first + heads * d->qk + local * d->v};

	if (d->mla) {
		int64_t base = rank * heads * (d->key_dim + d->v);

		rows.k = base + local * d->key_dim;
		rows.v = base + heads * d->key_dim + local * d->v;
	} else {
		rows.k = kv * d->key_dim;
		rows.v = kv * d->v;
	}
	return rows;
}

static bool
is_seen(const struct dims *d, int64_t position)
{
	return position % d->seq_rows % d->stride == 0;
}

/* Some rows of a stored matrix and of its bias, which may be NULL. */
struct rows {
	const struct reference_weight *w, *bias;
	int64_t first, n, in;
};

static void
rows_forward(const struct rows *r, const double *x, double *y)
{
	int64_t i;

	reference_row_forward(r->w->value + r->first * r->in, r->n, r->in, x, y, false);
	for (i = 0; r->bias && i < r->n; i++)
		y[i] += r->bias->value[r->first + i];
}

static void
rows_back(const struct rows *r, const double *x, const double *dy, double *dx)
{
	int64_t i;

	reference_row_back(r->w->value + r->first * r->in, r->w->gradient + r->first * r->in, r->n,
	    r->in, x, dy, dx);
	for (i = 0; r->bias && i < r->n; i++)
		r->bias->gradient[r->first + i] += dy[i];
}

/* Where q, k and v of a layer come from: weights, and what they multiply. */
struct source {
	const struct reference_weight *wq, *wk, *wv, *bq, *bk, *bv, *sinks;
	const double *xq, *xkv; /* [token][stride] */
	int64_t q_in, kv_in, q_stride, kv_stride;
};

static struct source
source_of(struct ref *ref, const struct dims *d, int64_t layer)
{
	struct layer_values *l = &ref->layers[layer];
	const struct reference *r = ref->r;
	struct source s = {.xq = l->n1,
	    .xkv = l->n1,
	    .q_in = ref->h,
	    .kv_in = ref->h,
	    .q_stride = ref->h,
	    .kv_stride = ref->h};

	s.sinks = reference_find(r, layer, "sinks");
	if (d->mla) {
		s.wq = reference_find(r, layer, d->q_rank ? "q_up" : "q");
		s.wk = s.wv = reference_find(r, layer, "kv_up");
		s.xkv = l->latent + d->q_rank;
		s.kv_in = d->kv_rank;
		s.kv_stride = d->latent;
		if (d->q_rank) {
			s.xq = l->latent;
			s.q_in = d->q_rank;
			s.q_stride = d->latent;
		}
		return s;
	}
	s.wq = reference_find(r, layer, "q");
	s.wk = reference_find(r, layer, "k");
	s.wv = reference_find(r, layer, "v") ? reference_find(r, layer, "v") : s.wk;
	s.bq = reference_find(r, layer, "q_bias");
	s.bk = reference_find(r, layer, "k_bias");
	s.bv = reference_find(r, layer, "v_bias");
	return s;
}

/* Width of a key with its rotary part. */
static int64_t
whole_key(const struct dims *d)
{
	return d->key_dim + d->rope;
}

/* --- latents ------------------------------------------------------------------------------ */

static struct rows
down_of(struct ref *ref, const struct dims *d, int64_t layer, bool q)
{
	return (struct rows){reference_find(ref->r, layer, q ? "q_down" : "kv_down"),
	    reference_find(ref->r, layer, q ? "q_down_bias" : "kv_down_bias"), 0,
	    q ? d->q_rank : d->latent - d->q_rank, ref->h};
}

static void
latents(struct ref *ref, const struct dims *d, int64_t layer)
{
	struct layer_values *l = &ref->layers[layer];
	const struct reference_weight *q_norm = reference_find(ref->r, layer, "q_norm");
	const struct reference_weight *kv_norm = reference_find(ref->r, layer, "kv_norm");
	struct rows q = down_of(ref, d, layer, true), kv = down_of(ref, d, layer, false);
	int64_t t;

	l->raw = reference_numbers(ref, ref->tokens * d->latent);
	l->latent = reference_numbers(ref, ref->tokens * d->latent);
	for (t = 0; t < ref->tokens; t++) {
		double *raw = l->raw + t * d->latent, *row = l->latent + t * d->latent;
		const double *x = l->n1 + t * ref->h;

		if (d->q_rank) {
			rows_forward(&q, x, raw);
			reference_norm(raw, q_norm->value, d->q_rank, row);
		}
		rows_forward(&kv, x, raw + d->q_rank);
		memcpy(row + d->q_rank, raw + d->q_rank,
		    (size_t)(d->latent - d->q_rank) * sizeof(*row));
		reference_norm(raw + d->q_rank, kv_norm->value, d->kv_rank, row + d->q_rank);
	}
}

/* drow: of the normed latents. */
static void
latents_back(
    struct ref *ref, const struct dims *d, int64_t layer, const double *dlatent, double *dn1)
{
	struct layer_values *l = &ref->layers[layer];
	const struct reference_weight *q_norm = reference_find(ref->r, layer, "q_norm");
	const struct reference_weight *kv_norm = reference_find(ref->r, layer, "kv_norm");
	struct rows q = down_of(ref, d, layer, true), kv = down_of(ref, d, layer, false);
	double *draw = reference_numbers(ref, d->latent);
	int64_t t, rope = d->q_rank + d->kv_rank;

	for (t = 0; t < ref->tokens; t++) {
		const double *drow = dlatent + t * d->latent, *x = l->n1 + t * ref->h;
		const double *raw = l->raw + t * d->latent;

		memset(draw, 0, (size_t)d->latent * sizeof(*draw));
		memcpy(draw + rope, drow + rope, (size_t)(d->latent - rope) * sizeof(*draw));
		if (d->q_rank) {
			reference_norm_back(
			    raw, q_norm->value, q_norm->gradient, d->q_rank, drow, draw);
			rows_back(&q, x, draw, dn1 + t * ref->h);
		}
		reference_norm_back(raw + d->q_rank, kv_norm->value, kv_norm->gradient, d->kv_rank,
		    drow + d->q_rank, draw + d->q_rank);
		rows_back(&kv, x, draw + d->q_rank, dn1 + t * ref->h);
	}
}

/* --- projections -------------------------------------------------------------------------- */

/* All heads of one token; what is the same for several query heads is written once more. */
static void
project(struct ref *ref, const struct dims *d, const struct source *s, int64_t layer, int64_t t)
{
	struct layer_values *l = &ref->layers[layer];
	const double *xq = s->xq + t * s->q_stride, *xkv = s->xkv + t * s->kv_stride;
	int64_t head, c, key = whole_key(d), shared = d->heads / d->kv_heads;

	for (head = 0; head < d->heads; head++) {
		struct head_rows at = rows_of_head(ref, d, s->wq, head);
		struct rows q = {s->wq, s->bq, at.q, d->qk, s->q_in};
		struct rows k = {s->wk, s->bk, at.k, d->key_dim, s->kv_in};
		struct rows v = {s->wv, s->bv, at.v, d->v, s->kv_in};
		struct rows gate = {s->wq, s->bq, at.gate, d->v, s->q_in};
		int64_t kv = t * d->kv_heads + head / shared;

		rows_forward(&q, xq, l->q_raw + (t * d->heads + head) * d->qk);
		rows_forward(&k, xkv, l->k_raw + kv * key);
		rows_forward(&v, xkv, l->v + kv * d->v);
		for (c = 0; c < d->rope; c++)
			l->k_raw[kv * key + d->key_dim + c] = xkv[d->kv_rank + c];
		if (d->sinks)
			l->gates_o[t * d->gates + head] = s->sinks->value[head];
		else if (d->gates)
			rows_forward(&gate, xq, l->gates_o + t * d->gates + head * d->v);
	}
}

/* Rows of `width` elements, normed by parts of `part`; a scale of more than a part goes on. */
static void
norm_parts(
    const struct reference_weight *g, int64_t part, int64_t width, const double *x, double *y)
{
	int64_t at;

	for (at = 0; at < width; at += part)
		reference_norm(x + at, g->value + at % g->tensor.rows, part, y + at);
}

static void
norm_parts_back(const struct reference_weight *g, int64_t part, int64_t width, const double *x,
    const double *dy, double *dx)
{
	int64_t at;

	for (at = 0; at < width; at += part)
		reference_norm_back(x + at, g->value + at % g->tensor.rows,
		    g->gradient + at % g->tensor.rows, part, dy + at, dx + at);
}

static void
norm_heads(struct ref *ref, const struct dims *d, int64_t layer)
{
	struct layer_values *l = &ref->layers[layer];
	int64_t q = d->heads * d->qk, k = d->kv_heads * whole_key(d), t;

	if (d->q_normed == 0) {
		memcpy(l->q, l->q_raw, (size_t)(ref->tokens * q) * sizeof(*l->q));
		memcpy(l->k, l->k_raw, (size_t)(ref->tokens * k) * sizeof(*l->k));
		return;
	}
	for (t = 0; t < ref->tokens; t++) {
		norm_parts(reference_find(ref->r, layer, "q_norm"), d->q_normed, q,
		    l->q_raw + t * q, l->q + t * q);
		norm_parts(reference_find(ref->r, layer, "k_norm"), d->k_normed, k,
		    l->k_raw + t * k, l->k + t * k);
	}
}

/* --- heads -------------------------------------------------------------------------------- */

static double
score_of(const struct dims *d, const double *q, const double *k)
{
	double score = 0;
	int64_t c;

	for (c = 0; c < d->qk; c++)
		score += d->scale * q[c] * k[c];
	return score;
}

static void
head_forward(struct ref *ref, const struct dims *d, int64_t layer, int64_t head, int64_t first)
{
	struct layer_values *l = &ref->layers[layer];
	int64_t kv = head / (d->heads / d->kv_heads), i, j, c;

	for (i = first; i < first + ref->seq_len; i++)
		for (j = first; j < first + ref->seq_len; j++) {
			double score;

			if (!is_seen(d, j - first))
				continue;
			score = score_of(d, l->q + (i * d->heads + head) * d->qk,
			    l->k + (j * d->kv_heads + kv) * whole_key(d));
			for (c = 0; c < d->v; c++)
				l->o[i * d->o_width + head * d->v + c] +=
				    score * l->v[(j * d->kv_heads + kv) * d->v + c];
		}
}

/* What each head and token gives, gated. */
static double
open_of(const struct layer_values *l, const struct dims *d, int64_t element)
{
	return d->gates ? 1 / (1 + exp(-l->gates_o[element / d->gate_span])) : 1;
}

static void
alloc_heads(struct ref *ref, const struct dims *d, struct layer_values *l)
{
	int64_t q = ref->tokens * d->heads * d->qk;
	int64_t k = ref->tokens * d->kv_heads * whole_key(d);

	l->q_raw = reference_numbers(ref, q);
	l->q = reference_numbers(ref, q);
	l->k_raw = reference_numbers(ref, k);
	l->k = reference_numbers(ref, k);
	l->v = reference_numbers(ref, ref->tokens * d->kv_heads * d->v);
	l->o = reference_numbers(ref, ref->tokens * d->o_width);
	l->gates_o = reference_numbers(ref, ref->tokens * d->gates);
	l->gated = reference_numbers(ref, ref->tokens * d->o_width);
}

void
reference_attention(struct ref *ref, const struct dims *d, int64_t layer)
{
	struct layer_values *l = &ref->layers[layer];
	struct rows out = {reference_find(ref->r, layer, "o"),
	    reference_find(ref->r, layer, "o_bias"), 0, ref->h, d->o_width};
	struct source s;
	int64_t seq, head, t, i;

	if (d->mla)
		latents(ref, d, layer);
	s = source_of(ref, d, layer);
	alloc_heads(ref, d, l);
	for (t = 0; t < ref->tokens; t++)
		project(ref, d, &s, layer, t);
	norm_heads(ref, d, layer);
	for (seq = 0; seq < ref->seqs; seq++)
		for (head = 0; head < d->heads; head++)
			head_forward(ref, d, layer, head, seq * ref->seq_len);
	for (i = 0; i < ref->tokens * d->o_width; i++)
		l->gated[i] = l->o[i] * open_of(l, d, i);
	for (t = 0; t < ref->tokens; t++)
		rows_forward(&out, l->gated + t * d->o_width, l->y1 + t * ref->h);
}

/* --- backward ----------------------------------------------------------------------------- */

struct gradients {
	double *gated, *o, *q, *k, *v, *gates, *q_raw, *k_raw, *latent;
};

static struct gradients
alloc_gradients(struct ref *ref, const struct dims *d)
{
	int64_t q = ref->tokens * d->heads * d->qk;
	int64_t k = ref->tokens * d->kv_heads * whole_key(d);

	return (struct gradients){.gated = reference_numbers(ref, ref->tokens * d->o_width),
	    .o = reference_numbers(ref, ref->tokens * d->o_width),
	    .q = reference_numbers(ref, q),
	    .k = reference_numbers(ref, k),
	    .v = reference_numbers(ref, ref->tokens * d->kv_heads * d->v),
	    .gates = reference_numbers(ref, ref->tokens * d->gates),
	    .q_raw = reference_numbers(ref, q),
	    .k_raw = reference_numbers(ref, k),
	    .latent = reference_numbers(ref, ref->tokens * d->latent)};
}

static void
gates_back(const struct ref *ref, const struct dims *d, int64_t layer, struct gradients *g)
{
	const struct layer_values *l = &ref->layers[layer];
	int64_t i;

	for (i = 0; i < ref->tokens * d->o_width; i++) {
		double open = open_of(l, d, i);

		g->o[i] = g->gated[i] * open;
		if (d->gates)
			g->gates[i / d->gate_span] += g->gated[i] * l->o[i] * open * (1 - open);
	}
}

static void
head_backward(const struct ref *ref, const struct dims *d, int64_t layer, int64_t head,
    int64_t first, struct gradients *g)
{
	const struct layer_values *l = &ref->layers[layer];
	int64_t kv = head / (d->heads / d->kv_heads), i, j, c;

	for (i = first; i < first + ref->seq_len; i++)
		for (j = first; j < first + ref->seq_len; j++) {
			int64_t q = (i * d->heads + head) * d->qk;
			int64_t k = (j * d->kv_heads + kv) * whole_key(d);
			int64_t v = (j * d->kv_heads + kv) * d->v;
			const double *dout = g->o + i * d->o_width + head * d->v;
			double score, dscore = 0;

			if (!is_seen(d, j - first))
				continue;
			score = score_of(d, l->q + q, l->k + k);
			for (c = 0; c < d->v; c++) {
				g->v[v + c] += score * dout[c];
				dscore += d->scale * dout[c] * l->v[v + c];
			}
			for (c = 0; c < d->qk; c++) {
				g->q[q + c] += dscore * l->k[k + c];
				g->k[k + c] += dscore * l->q[q + c];
			}
		}
}

static void
norm_heads_back(struct ref *ref, const struct dims *d, int64_t layer, struct gradients *g)
{
	const struct layer_values *l = &ref->layers[layer];
	int64_t q = d->heads * d->qk, k = d->kv_heads * whole_key(d), t;

	if (d->q_normed == 0) {
		g->q_raw = g->q;
		g->k_raw = g->k;
		return;
	}
	for (t = 0; t < ref->tokens; t++) {
		norm_parts_back(reference_find(ref->r, layer, "q_norm"), d->q_normed, q,
		    l->q_raw + t * q, g->q + t * q, g->q_raw + t * q);
		norm_parts_back(reference_find(ref->r, layer, "k_norm"), d->k_normed, k,
		    l->k_raw + t * k, g->k + t * k, g->k_raw + t * k);
	}
}

static void
project_back(struct ref *ref, const struct dims *d, const struct source *s, int64_t t,
    const struct gradients *g, double *dxq, double *dxkv)
{
	const double *xq = s->xq + t * s->q_stride, *xkv = s->xkv + t * s->kv_stride;
	int64_t head, c, key = whole_key(d), shared = d->heads / d->kv_heads;

	for (head = 0; head < d->heads; head++) {
		struct head_rows at = rows_of_head(ref, d, s->wq, head);
		struct rows q = {s->wq, s->bq, at.q, d->qk, s->q_in};
		struct rows k = {s->wk, s->bk, at.k, d->key_dim, s->kv_in};
		struct rows v = {s->wv, s->bv, at.v, d->v, s->kv_in};
		struct rows gate = {s->wq, s->bq, at.gate, d->v, s->q_in};
		int64_t kv = t * d->kv_heads + head / shared;

		rows_back(&q, xq, g->q_raw + (t * d->heads + head) * d->qk, dxq);
		if (d->sinks)
			s->sinks->gradient[head] += g->gates[t * d->gates + head];
		else if (d->gates)
			rows_back(&gate, xq, g->gates + t * d->gates + head * d->v, dxq);
		if (head % shared)
			continue;
		rows_back(&k, xkv, g->k_raw + kv * key, dxkv);
		rows_back(&v, xkv, g->v + kv * d->v, dxkv);
		for (c = 0; c < d->rope; c++)
			dxkv[d->kv_rank + c] += g->k_raw[kv * key + d->key_dim + c];
	}
}

void
reference_attention_back(
    struct ref *ref, const struct dims *d, int64_t layer, const double *dy1, double *dn1)
{
	struct layer_values *l = &ref->layers[layer];
	struct rows out = {reference_find(ref->r, layer, "o"),
	    reference_find(ref->r, layer, "o_bias"), 0, ref->h, d->o_width};
	struct source s = source_of(ref, d, layer);
	struct gradients g = alloc_gradients(ref, d);
	int64_t t, seq, head;

	for (t = 0; t < ref->tokens; t++)
		rows_back(
		    &out, l->gated + t * d->o_width, dy1 + t * ref->h, g.gated + t * d->o_width);
	gates_back(ref, d, layer, &g);
	for (seq = 0; seq < ref->seqs; seq++)
		for (head = 0; head < d->heads; head++)
			head_backward(ref, d, layer, head, seq * ref->seq_len, &g);
	norm_heads_back(ref, d, layer, &g);
	for (t = 0; t < ref->tokens; t++)
		project_back(ref, d, &s, t, &g,
		    d->mla && d->q_rank ? g.latent + t * d->latent : dn1 + t * ref->h,
		    d->mla ? g.latent + t * d->latent + d->q_rank : dn1 + t * ref->h);
	if (d->mla)
		latents_back(ref, d, layer, g.latent, dn1);
}
