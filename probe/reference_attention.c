/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What should attention.c have computed? O = a Q K^T V, head by head. */
#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "probe/reference_private.h"

/* First row of what one head's projection is in the stored matrix. */
struct head_rows {
	int64_t q, k, v;
};

static struct head_rows
rows_of_head(
    const struct ref *ref, const struct dims *d, const struct reference_weight *q, int64_t head)
{
	int64_t tp = ref->shape->strategy.tp, heads = d->heads / tp, rank = head / heads;
	int64_t local = head % heads, kv = head / (d->heads / d->kv_heads);
	struct head_rows rows = {.q = rank * (q->tensor.rows / tp) + local * d->qk};

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

/* Where q, k and v of a layer come from: the projection's input and its weights. */
struct source {
	const struct reference_weight *wq, *wk, *wv;
	const double *xq, *xkv; /* [token][q_in], [token][kv_in] */
	double *dxq, *dxkv;
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
	return s;
}

static void
latents(struct ref *ref, const struct dims *d, int64_t layer)
{
	struct layer_values *l = &ref->layers[layer];
	const struct reference_weight *q = reference_find(ref->r, layer, "q_down");
	const struct reference_weight *kv = reference_find(ref->r, layer, "kv_down");
	int64_t t;

	l->latent = reference_numbers(ref, ref->tokens * d->latent);
	for (t = 0; d->mla && t < ref->tokens; t++) {
		double *row = l->latent + t * d->latent;

		if (d->q_rank)
			reference_row_forward(
			    q->value, d->q_rank, ref->h, l->n1 + t * ref->h, row, false);
		reference_row_forward(kv->value, d->latent - d->q_rank, ref->h, l->n1 + t * ref->h,
		    row + d->q_rank, false);
	}
}

/* One head of one sequence: q, k, v of all positions, then the sums. */
static void
head_forward(struct ref *ref, const struct dims *d, const struct source *s, int64_t layer,
    int64_t head, int64_t first)
{
	struct layer_values *l = &ref->layers[layer];
	struct head_rows rows = rows_of_head(ref, d, s->wq, head);
	int64_t i, j, c;

	for (i = first; i < first + ref->seq_len; i++) {
		reference_row_forward(s->wq->value + rows.q * s->q_in, d->qk, s->q_in,
		    s->xq + i * s->q_stride, l->q + (i * d->heads + head) * d->qk, false);
		reference_row_forward(s->wk->value + rows.k * s->kv_in, d->key_dim, s->kv_in,
		    s->xkv + i * s->kv_stride, l->k + (i * d->heads + head) * d->key_dim, false);
		reference_row_forward(s->wv->value + rows.v * s->kv_in, d->v, s->kv_in,
		    s->xkv + i * s->kv_stride, l->v + (i * d->heads + head) * d->v, false);
	}
	for (i = first; i < first + ref->seq_len; i++)
		for (j = first; j < first + ref->seq_len; j++) {
			const double *q = l->q + (i * d->heads + head) * d->qk;
			const double *k = l->k + (j * d->heads + head) * d->key_dim;
			double score = 0;

			if (!is_seen(d, j - first))
				continue;
			for (c = 0; c < d->key_dim; c++)
				score += d->scale * q[c] * k[c];
			for (c = 0; c < d->v; c++)
				l->o[i * d->o_width + head * d->v + c] +=
				    score * l->v[(j * d->heads + head) * d->v + c];
		}
}

void
reference_attention(struct ref *ref, const struct dims *d, int64_t layer)
{
	struct layer_values *l = &ref->layers[layer];
	const struct reference_weight *wo = reference_find(ref->r, layer, "o");
	struct source s;
	int64_t seq, head, t, i;

	latents(ref, d, layer);
	s = source_of(ref, d, layer);
	l->q = reference_numbers(ref, ref->tokens * d->heads * d->qk);
	l->k = reference_numbers(ref, ref->tokens * d->heads * d->key_dim);
	l->v = reference_numbers(ref, ref->tokens * d->heads * d->v);
	l->o = reference_numbers(ref, ref->tokens * d->o_width);
	for (seq = 0; seq < ref->seqs; seq++)
		for (head = 0; head < d->heads; head++)
			head_forward(ref, d, &s, layer, head, seq * ref->seq_len);
	for (t = 0; t < ref->tokens; t++) {
		reference_row_forward(wo->value, ref->h, d->o_width, l->o + t * d->o_width,
		    l->x1 + t * ref->h, false);
		for (i = 0; i < ref->h; i++)
			l->x1[t * ref->h + i] += l->x[t * ref->h + i];
	}
}

static void
head_backward(struct ref *ref, const struct dims *d, const struct source *s, int64_t layer,
    int64_t head, int64_t first, const double *d_o)
{
	struct layer_values *l = &ref->layers[layer];
	struct head_rows rows = rows_of_head(ref, d, s->wq, head);
	double *dq = reference_numbers(ref, ref->seq_len * d->qk),
	       *dk = reference_numbers(ref, ref->seq_len * d->key_dim);
	double *dv = reference_numbers(ref, ref->seq_len * d->v);
	int64_t i, j, c;

	for (i = 0; i < ref->seq_len; i++)
		for (j = 0; j < ref->seq_len; j++) {
			const double *q = l->q + ((first + i) * d->heads + head) * d->qk;
			const double *k = l->k + ((first + j) * d->heads + head) * d->key_dim;
			const double *v = l->v + ((first + j) * d->heads + head) * d->v;
			const double *dout = d_o + (first + i) * d->o_width + head * d->v;
			double score = 0, dscore = 0;

			if (!is_seen(d, j))
				continue;
			for (c = 0; c < d->key_dim; c++)
				score += d->scale * q[c] * k[c];
			for (c = 0; c < d->v; c++) {
				dv[j * d->v + c] += score * dout[c];
				dscore += d->scale * dout[c] * v[c];
			}
			for (c = 0; c < d->key_dim; c++) {
				dq[i * d->qk + c] += dscore * k[c];
				dk[j * d->key_dim + c] += dscore * q[c];
			}
		}
	for (i = 0; i < ref->seq_len; i++) {
		const double *xq = s->xq + (first + i) * s->q_stride,
			     *xkv = s->xkv + (first + i) * s->kv_stride;
		double *dxq = s->dxq + (first + i) * s->q_stride,
		       *dxkv = s->dxkv + (first + i) * s->kv_stride;

		reference_row_back(s->wq->value + rows.q * s->q_in,
		    s->wq->gradient + rows.q * s->q_in, d->qk, s->q_in, xq, dq + i * d->qk, dxq);
		reference_row_back(s->wk->value + rows.k * s->kv_in,
		    s->wk->gradient + rows.k * s->kv_in, d->key_dim, s->kv_in, xkv,
		    dk + i * d->key_dim, dxkv);
		reference_row_back(s->wv->value + rows.v * s->kv_in,
		    s->wv->gradient + rows.v * s->kv_in, d->v, s->kv_in, xkv, dv + i * d->v, dxkv);
	}
}

static void
latents_back(
    struct ref *ref, const struct dims *d, int64_t layer, const double *dlatent, double *dn1)
{
	struct layer_values *l = &ref->layers[layer];
	const struct reference_weight *q = reference_find(ref->r, layer, "q_down");
	const struct reference_weight *kv = reference_find(ref->r, layer, "kv_down");
	int64_t t;

	for (t = 0; t < ref->tokens; t++) {
		const double *row = dlatent + t * d->latent, *x = l->n1 + t * ref->h;

		if (d->q_rank)
			reference_row_back(
			    q->value, q->gradient, d->q_rank, ref->h, x, row, dn1 + t * ref->h);
		reference_row_back(kv->value, kv->gradient, d->latent - d->q_rank, ref->h, x,
		    row + d->q_rank, dn1 + t * ref->h);
	}
}

void
reference_attention_back(
    struct ref *ref, const struct dims *d, int64_t layer, const double *dx1, double *dn1)
{
	struct layer_values *l = &ref->layers[layer];
	const struct reference_weight *wo = reference_find(ref->r, layer, "o");
	double *d_o = reference_numbers(ref, ref->tokens * d->o_width);
	double *dlatent = reference_numbers(ref, ref->tokens * d->latent);
	struct source s = source_of(ref, d, layer);
	int64_t t, seq, head;

	s.dxq = d->mla && d->q_rank ? dlatent : dn1;
	s.dxkv = d->mla ? dlatent + d->q_rank : dn1;
	for (t = 0; t < ref->tokens; t++)
		reference_row_back(wo->value, wo->gradient, ref->h, d->o_width,
		    l->o + t * d->o_width, dx1 + t * ref->h, d_o + t * d->o_width);
	for (seq = 0; seq < ref->seqs; seq++)
		for (head = 0; head < d->heads; head++)
			head_backward(ref, d, &s, layer, head, seq * ref->seq_len, d_o);
	if (d->mla)
		latents_back(ref, d, layer, dlatent, dn1);
}
