/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What should the distributed step have computed?
 *
 * The same model with no ranks: loops over all tokens in double, written from the formulas and
 * not from the step's code. It shares the values of weights and inputs (shape.c) and the choice
 * of experts (routing.c), since those are given, and two conventions that are the plan's: which
 * keys a query sees (by context block) and the row order of MLA's fused up projection (by
 * tensor-parallel rank).
 */
#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "probe/reference.h"

struct layer_values {
	double *x, *n1, *latent, *q, *k, *v, *o, *x1, *n2, *dense, *shared;
	double *gates;     /* [token][top_k] */
	int32_t *picked, *chosen; /* [token][top_k]; chosen is -1 over capacity */
	double *fc1, *out; /* [token][top_k][2f], [token][top_k][h] */
};

struct ref {
	struct arena *arena;
	const struct shape *shape;
	const struct skew *skew;
	struct reference *r;
	bool bf16;
	int64_t tokens, h;
	int64_t seqs, seq_len;
	struct layer_values *layers;
};

/* Global widths: those of one rank times its degree. */
static void
whole_dims(const struct ref *ref, int64_t layer, struct dims *d)
{
	const struct strategy *s = &ref->shape->strategy;

	dims_of(ref->shape, shape_kind(ref->shape, layer), d);
	d->heads *= s->tp;
	d->kv_heads *= s->tp;
	d->q_width *= s->tp;
	d->k_width *= s->tp;
	d->v_width *= s->tp;
	d->o_width *= s->tp;
	d->dense *= s->tp;
	d->shared *= s->tp;
	d->expert *= s->etp;
}

const struct reference_weight *
reference_find(const struct reference *r, int64_t layer, const char *name)
{
	int i;

	for (i = 0; i < r->n; i++)
		if (r->weights[i].layer == layer && strcmp(r->weights[i].tensor.name, name) == 0)
			return &r->weights[i];
	return NULL;
}

static void
make_weight(struct ref *ref, int64_t layer, const struct tensor *t)
{
	struct reference_weight *w = &ref->r->weights[ref->r->n++];
	struct place at = {.name = name_hash(t->name), .layer = layer};
	int64_t m, i, j, n = tensor_elements(t);
	double *value;

	w->tensor = *t;
	w->layer = layer;
	w->value = value = arena_array(ref->arena, (size_t)n, sizeof(double));
	w->gradient = arena_array(ref->arena, (size_t)n, sizeof(double));
	for (m = 0; m < t->count; m++)
		for (i = 0; i < t->rows; i++)
			for (j = 0; j < t->cols; j++) {
				at.matrix = m;
				at.row = i;
				at.col = j;
				*value++ = weight_value(t, &at, ref->bf16);
			}
}

static void
make_weights(struct ref *ref)
{
	const struct model *model = &ref->shape->model;
	int64_t layer;

	ref->r->weights = arena_array(
	    ref->arena, (size_t)model->layers * TENSORS_MAX, sizeof(*ref->r->weights));
	for (layer = 0; layer < model->layers; layer++) {
		struct tensor rows[TENSORS_MAX];
		size_t n = tensors_of_layer(model, shape_kind(ref->shape, layer), rows), i;

		for (i = 0; i < n; i++)
			make_weight(ref, layer, &rows[i]);
	}
}

static double *
numbers(struct ref *ref, int64_t n)
{
	return arena_array(ref->arena, (size_t)(n > 0 ? n : 1), sizeof(double));
}

/* --- one row at a time -------------------------------------------------------------------------- */

/* y[i] (+)= sum_j W[i][j] x[j] */
static void
row_forward(const double *w, int64_t out, int64_t in, const double *x, double *y, bool add)
{
	int64_t i, j;

	for (i = 0; i < out; i++) {
		double sum = add ? y[i] : 0;

		for (j = 0; j < in; j++)
			sum += w[i * in + j] * x[j];
		y[i] = sum;
	}
}

/* dx += W^T dy; dW += scale-free outer product dy x^T */
static void
row_back(const double *w, double *dw, int64_t out, int64_t in, const double *x, const double *dy,
    double *dx)
{
	int64_t i, j;

	for (i = 0; i < out; i++)
		for (j = 0; j < in; j++) {
			dw[i * in + j] += dy[i] * x[j];
			dx[j] += w[i * in + j] * dy[i];
		}
}

static void
act_row(bool ungated, const double *in, int64_t width, double *out)
{
	int64_t i;

	for (i = 0; i < width; i++) {
		double a = ungated ? in[i] : in[2 * i];

		out[i] = ungated ? (a > 0 ? a * a : 0) : a / (1 + exp(-a)) * in[2 * i + 1];
	}
}

static void
act_row_back(bool ungated, const double *in, int64_t width, const double *dout, double *din)
{
	int64_t i;

	for (i = 0; i < width; i++) {
		if (ungated) {
			din[i] = in[i] > 0 ? 2 * in[i] * dout[i] : 0;
			continue;
		}
		double a = in[2 * i], sigmoid = 1 / (1 + exp(-a));

		din[2 * i] = dout[i] * in[2 * i + 1] * (sigmoid + a * sigmoid * (1 - sigmoid));
		din[2 * i + 1] = dout[i] * a * sigmoid;
	}
}

#define NORM_EPSILON 1e-6

static double
rms_of(const double *x, int64_t h)
{
	double sum = 0;
	int64_t i;

	for (i = 0; i < h; i++)
		sum += x[i] * x[i];
	return sqrt(sum / (double)h + NORM_EPSILON);
}

static void
norm_row(const double *x, const double *g, int64_t h, double *y)
{
	double rms = rms_of(x, h);
	int64_t i;

	for (i = 0; i < h; i++)
		y[i] = x[i] / rms * g[i];
}

/* dx += d(norm)/dx dy */
static void
norm_row_back(
    const double *x, const double *g, double *dg, int64_t h, const double *dy, double *dx)
{
	double rms = rms_of(x, h), dot = 0;
	int64_t i;

	for (i = 0; i < h; i++) {
		dg[i] += dy[i] * x[i] / rms;
		dot += dy[i] * g[i] * x[i];
	}
	for (i = 0; i < h; i++)
		dx[i] += dy[i] * g[i] / rms - x[i] * dot / ((double)h * rms * rms * rms);
}

/* --- attention ---------------------------------------------------------------------------------- */

/* First row of what one head's projection is in the stored matrix. */
struct head_rows {
	int64_t q, k, v;
};

static struct head_rows
rows_of_head(const struct ref *ref, const struct dims *d, const struct reference_weight *q,
    int64_t head)
{
	int64_t tp = ref->shape->strategy.tp, heads = d->heads / tp, rank = head / heads;
	int64_t local = head % heads, kv = local / (d->heads / d->kv_heads);
	struct head_rows rows = {.q = rank * (q->tensor.rows / tp) + local * d->qk};

	if (d->mla) {
		int64_t base = rank * heads * (d->key_dim + d->v);

		rows.k = base + local * d->key_dim;
		rows.v = base + heads * d->key_dim + local * d->v;
	} else {
		rows.k = (rank * (d->kv_heads / tp) + kv) * d->key_dim;
		rows.v = (rank * (d->kv_heads / tp) + kv) * d->v;
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
	struct source s = {.xq = l->n1, .xkv = l->n1, .q_in = ref->h, .kv_in = ref->h,
	    .q_stride = ref->h, .kv_stride = ref->h};

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

	l->latent = numbers(ref, ref->tokens * d->latent);
	for (t = 0; d->mla && t < ref->tokens; t++) {
		double *row = l->latent + t * d->latent;

		if (d->q_rank)
			row_forward(q->value, d->q_rank, ref->h, l->n1 + t * ref->h, row, false);
		row_forward(kv->value, d->latent - d->q_rank, ref->h, l->n1 + t * ref->h, row + d->q_rank,
		    false);
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
		row_forward(s->wq->value + rows.q * s->q_in, d->qk, s->q_in, s->xq + i * s->q_stride,
		    l->q + (i * d->heads + head) * d->qk, false);
		row_forward(s->wk->value + rows.k * s->kv_in, d->key_dim, s->kv_in,
		    s->xkv + i * s->kv_stride, l->k + (i * d->heads + head) * d->key_dim, false);
		row_forward(s->wv->value + rows.v * s->kv_in, d->v, s->kv_in, s->xkv + i * s->kv_stride,
		    l->v + (i * d->heads + head) * d->v, false);
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

static void
attention(struct ref *ref, const struct dims *d, int64_t layer)
{
	struct layer_values *l = &ref->layers[layer];
	const struct reference_weight *wo = reference_find(ref->r, layer, "o");
	struct source s;
	int64_t seq, head, t, i;

	latents(ref, d, layer);
	s = source_of(ref, d, layer);
	l->q = numbers(ref, ref->tokens * d->heads * d->qk);
	l->k = numbers(ref, ref->tokens * d->heads * d->key_dim);
	l->v = numbers(ref, ref->tokens * d->heads * d->v);
	l->o = numbers(ref, ref->tokens * d->o_width);
	for (seq = 0; seq < ref->seqs; seq++)
		for (head = 0; head < d->heads; head++)
			head_forward(ref, d, &s, layer, head, seq * ref->seq_len);
	for (t = 0; t < ref->tokens; t++) {
		row_forward(wo->value, ref->h, d->o_width, l->o + t * d->o_width, l->x1 + t * ref->h, false);
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
	double *dq = numbers(ref, ref->seq_len * d->qk), *dk = numbers(ref, ref->seq_len * d->key_dim);
	double *dv = numbers(ref, ref->seq_len * d->v);
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
		const double *xq = s->xq + (first + i) * s->q_stride, *xkv = s->xkv + (first + i) * s->kv_stride;
		double *dxq = s->dxq + (first + i) * s->q_stride, *dxkv = s->dxkv + (first + i) * s->kv_stride;

		row_back(s->wq->value + rows.q * s->q_in, s->wq->gradient + rows.q * s->q_in, d->qk, s->q_in,
		    xq, dq + i * d->qk, dxq);
		row_back(s->wk->value + rows.k * s->kv_in, s->wk->gradient + rows.k * s->kv_in, d->key_dim,
		    s->kv_in, xkv, dk + i * d->key_dim, dxkv);
		row_back(s->wv->value + rows.v * s->kv_in, s->wv->gradient + rows.v * s->kv_in, d->v, s->kv_in,
		    xkv, dv + i * d->v, dxkv);
	}
}

static void
latents_back(struct ref *ref, const struct dims *d, int64_t layer, const double *dlatent, double *dn1)
{
	struct layer_values *l = &ref->layers[layer];
	const struct reference_weight *q = reference_find(ref->r, layer, "q_down");
	const struct reference_weight *kv = reference_find(ref->r, layer, "kv_down");
	int64_t t;

	for (t = 0; t < ref->tokens; t++) {
		const double *row = dlatent + t * d->latent, *x = l->n1 + t * ref->h;

		if (d->q_rank)
			row_back(q->value, q->gradient, d->q_rank, ref->h, x, row, dn1 + t * ref->h);
		row_back(kv->value, kv->gradient, d->latent - d->q_rank, ref->h, x, row + d->q_rank,
		    dn1 + t * ref->h);
	}
}

static void
attention_back(struct ref *ref, const struct dims *d, int64_t layer, const double *dx1, double *dn1)
{
	struct layer_values *l = &ref->layers[layer];
	const struct reference_weight *wo = reference_find(ref->r, layer, "o");
	double *d_o = numbers(ref, ref->tokens * d->o_width);
	double *dlatent = numbers(ref, ref->tokens * d->latent);
	struct source s = source_of(ref, d, layer);
	int64_t t, seq, head;

	s.dxq = d->mla && d->q_rank ? dlatent : dn1;
	s.dxkv = d->mla ? dlatent + d->q_rank : dn1;
	for (t = 0; t < ref->tokens; t++)
		row_back(wo->value, wo->gradient, ref->h, d->o_width, l->o + t * d->o_width, dx1 + t * ref->h,
		    d_o + t * d->o_width);
	for (seq = 0; seq < ref->seqs; seq++)
		for (head = 0; head < d->heads; head++)
			head_backward(ref, d, &s, layer, head, seq * ref->seq_len, d_o);
	if (d->mla)
		latents_back(ref, d, layer, dlatent, dn1);
}

/* --- feed-forward ------------------------------------------------------------------------------- */

static double *
mlp(struct ref *ref, const struct dims *d, int64_t layer, const char *first, const char *second,
    int64_t width, double *out)
{
	struct layer_values *l = &ref->layers[layer];
	const struct reference_weight *in = reference_find(ref->r, layer, first);
	const struct reference_weight *last = reference_find(ref->r, layer, second);
	int64_t wide = fc1_width(d, width), t;
	double *fc1 = numbers(ref, ref->tokens * wide), *hidden = numbers(ref, width);

	for (t = 0; t < ref->tokens; t++) {
		row_forward(in->value, wide, ref->h, l->n2 + t * ref->h, fc1 + t * wide, false);
		act_row(d->ungated, fc1 + t * wide, width, hidden);
		row_forward(last->value, ref->h, width, hidden, out + t * ref->h, true);
	}
	return fc1;
}

static void
mlp_back(struct ref *ref, const struct dims *d, int64_t layer, const char *first, const char *second,
    int64_t width, const double *fc1, const double *dout, double *dn2)
{
	struct layer_values *l = &ref->layers[layer];
	const struct reference_weight *in = reference_find(ref->r, layer, first);
	const struct reference_weight *last = reference_find(ref->r, layer, second);
	int64_t wide = fc1_width(d, width), t;
	double *hidden = numbers(ref, width), *dhidden = numbers(ref, width), *dfc1 = numbers(ref, wide);

	for (t = 0; t < ref->tokens; t++) {
		act_row(d->ungated, fc1 + t * wide, width, hidden);
		memset(dhidden, 0, (size_t)width * sizeof(*dhidden));
		row_back(last->value, last->gradient, ref->h, width, hidden, dout + t * ref->h, dhidden);
		act_row_back(d->ungated, fc1 + t * wide, width, dhidden, dfc1);
		row_back(in->value, in->gradient, wide, ref->h, l->n2 + t * ref->h, dfc1, dn2 + t * ref->h);
	}
}

/* The tokens of one rank of one micro-batch choose, in its order, as capacity counts by rank. */
static void
choose_of_rank(struct ref *ref, const struct dims *d, int64_t layer, struct session *at,
    int64_t micro_batch, const double *cumulative)
{
	struct layer_values *l = &ref->layers[layer];
	double factor = ref->shape->strategy.capacity;
	int64_t *count = arena_array(ref->arena, (size_t)d->experts, sizeof(*count)), row, j;
	int64_t most = factor > 0 ? (int64_t)ceil(factor * (double)(d->tokens * d->top_k) / (double)d->experts)
				  : INT64_MAX;

	for (row = 0; row < d->tokens; row++) {
		int64_t token = token_number(at, ref->shape, micro_batch, row);
		int32_t *chosen = l->chosen + token * d->top_k;

		routing_choose(ref->skew, d, cumulative, layer,
		    token_number(at, ref->shape, micro_batch % ROUTING_PATTERNS, row), chosen);
		memcpy(l->picked + token * d->top_k, chosen, (size_t)d->top_k * sizeof(*chosen));
		for (j = 0; j < d->top_k; j++) {
			if (count[chosen[j]]++ < most)
				ref->r->slots++;
			else
				chosen[j] = -1;
			ref->r->dropped += chosen[j] < 0;
		}
	}
}

static void
choose(struct ref *ref, const struct dims *d, int64_t layer)
{
	const struct strategy *s = &ref->shape->strategy;
	double *cumulative = numbers(ref, d->experts);
	struct session at;
	int64_t micro_batch;

	memset(&at, 0, sizeof(at));
	routing_popularity(ref->skew, layer, d->experts, cumulative);
	for (at.dp = 0; at.dp < s->dp; at.dp++)
		for (micro_batch = 0; micro_batch < s->micro_batches; micro_batch++)
			for (at.cp = 0; at.cp < s->cp; at.cp++)
				for (at.tp = 0; at.tp < s->tp; at.tp++)
					choose_of_rank(ref, d, layer, &at, micro_batch, cumulative);
}

static void
token_gates(const struct ref *ref, const struct dims *d, int64_t layer, int64_t token, double *logits)
{
	struct layer_values *l = &ref->layers[layer];
	const struct reference_weight *router = reference_find(ref->r, layer, "router");
	const int32_t *picked = l->picked + token * d->top_k;
	double *gates = l->gates + token * d->top_k, sum = 0;
	int64_t j;

	row_forward(router->value, d->experts, ref->h, l->n2 + token * ref->h, logits, false);
	for (j = 0; j < d->top_k; j++)
		sum += exp(logits[picked[j]]);
	for (j = 0; j < d->top_k; j++)
		gates[j] = exp(logits[picked[j]]) / sum;
}

static void
routed(struct ref *ref, const struct dims *d, int64_t layer, double *out)
{
	struct layer_values *l = &ref->layers[layer];
	const struct reference_weight *first = reference_find(ref->r, layer, "expert_fc1");
	const struct reference_weight *second = reference_find(ref->r, layer, "expert_fc2");
	int64_t wide = fc1_width(d, d->expert), t, j, i, n = ref->tokens * d->top_k;
	double *logits = numbers(ref, d->experts), *hidden = numbers(ref, d->expert);

	l->picked = arena_array(ref->arena, 2 * (size_t)n, sizeof(*l->picked));
	l->chosen = l->picked + n;
	l->gates = numbers(ref, n);
	l->fc1 = numbers(ref, n * wide);
	l->out = numbers(ref, n * ref->h);
	choose(ref, d, layer);
	for (t = 0; t < ref->tokens; t++) {
		token_gates(ref, d, layer, t, logits);
		for (j = t * d->top_k; j < (t + 1) * d->top_k; j++) {
			int64_t e = l->chosen[j];

			if (e < 0)
				continue;
			row_forward(first->value + e * wide * ref->h, wide, ref->h, l->n2 + t * ref->h,
			    l->fc1 + j * wide, false);
			act_row(d->ungated, l->fc1 + j * wide, d->expert, hidden);
			row_forward(second->value + e * ref->h * d->expert, ref->h, d->expert, hidden,
			    l->out + j * ref->h, false);
			for (i = 0; i < ref->h; i++)
				out[t * ref->h + i] += l->gates[j] * l->out[j * ref->h + i];
		}
	}
}

static void
expert_back(struct ref *ref, const struct dims *d, int64_t layer, int64_t t, int64_t j,
    const double *dout, double *dn2)
{
	struct layer_values *l = &ref->layers[layer];
	const struct reference_weight *first = reference_find(ref->r, layer, "expert_fc1");
	const struct reference_weight *second = reference_find(ref->r, layer, "expert_fc2");
	int64_t wide = fc1_width(d, d->expert), e = l->chosen[j], i, w1 = e * wide * ref->h;
	int64_t w2 = e * ref->h * d->expert;
	double *hidden = numbers(ref, d->expert), *dhidden = numbers(ref, d->expert);
	double *dfc1 = numbers(ref, wide), *dy = numbers(ref, ref->h);

	for (i = 0; i < ref->h; i++)
		dy[i] = l->gates[j] * dout[t * ref->h + i];
	act_row(d->ungated, l->fc1 + j * wide, d->expert, hidden);
	row_back(second->value + w2, second->gradient + w2, ref->h, d->expert, hidden, dy, dhidden);
	act_row_back(d->ungated, l->fc1 + j * wide, d->expert, dhidden, dfc1);
	row_back(
	    first->value + w1, first->gradient + w1, wide, ref->h, l->n2 + t * ref->h, dfc1, dn2 + t * ref->h);
}

static void
routed_back(struct ref *ref, const struct dims *d, int64_t layer, const double *dout, double *dn2)
{
	struct layer_values *l = &ref->layers[layer];
	const struct reference_weight *router = reference_find(ref->r, layer, "router");
	double *dlogits = numbers(ref, d->experts), *dgate = numbers(ref, d->top_k);
	int64_t t, j, i;

	for (t = 0; t < ref->tokens; t++) {
		struct arena_mark mark = arena_mark(ref->arena);
		double dot = 0;

		memset(dlogits, 0, (size_t)d->experts * sizeof(*dlogits));
		for (j = 0; j < d->top_k; j++) {
			int64_t at = t * d->top_k + j;

			dgate[j] = 0;
			if (l->chosen[at] < 0)
				continue;
			for (i = 0; i < ref->h; i++)
				dgate[j] += dout[t * ref->h + i] * l->out[at * ref->h + i];
			dot += l->gates[at] * dgate[j];
			expert_back(ref, d, layer, t, at, dout, dn2);
		}
		for (j = 0; j < d->top_k; j++)
			dlogits[l->picked[t * d->top_k + j]] =
			    l->gates[t * d->top_k + j] * (dgate[j] - dot);
		row_back(router->value, router->gradient, d->experts, ref->h, l->n2 + t * ref->h, dlogits,
		    dn2 + t * ref->h);
		arena_reset(ref->arena, mark);
	}
}

/* --- layers ------------------------------------------------------------------------------------- */

static void
layer_run(struct ref *ref, int64_t layer, double *out)
{
	struct layer_values *l = &ref->layers[layer];
	const struct reference_weight *norms = reference_find(ref->r, layer, "norms");
	int64_t t, n = ref->tokens * ref->h;
	struct dims d;

	whole_dims(ref, layer, &d);
	l->n1 = numbers(ref, n);
	l->x1 = numbers(ref, n);
	l->n2 = numbers(ref, n);
	for (t = 0; t < ref->tokens; t++)
		norm_row(l->x + t * ref->h, norms->value, ref->h, l->n1 + t * ref->h);
	attention(ref, &d, layer);
	for (t = 0; t < ref->tokens; t++)
		norm_row(l->x1 + t * ref->h, norms->value + ref->h, ref->h, l->n2 + t * ref->h);
	memcpy(out, l->x1, (size_t)n * sizeof(*out));
	if (d.dense)
		l->dense = mlp(ref, &d, layer, "mlp_fc1", "mlp_fc2", d.dense, out);
	if (d.shared)
		l->shared = mlp(ref, &d, layer, "shared_fc1", "shared_fc2", d.shared, out);
	if (d.experts)
		routed(ref, &d, layer, out);
}

/* dout becomes the gradient of the layer's input. */
static void
layer_back(struct ref *ref, int64_t layer, double *dout)
{
	struct layer_values *l = &ref->layers[layer];
	const struct reference_weight *norms = reference_find(ref->r, layer, "norms");
	int64_t t, n = ref->tokens * ref->h;
	double *dn = numbers(ref, n);
	struct dims d;

	whole_dims(ref, layer, &d);
	if (d.dense)
		mlp_back(ref, &d, layer, "mlp_fc1", "mlp_fc2", d.dense, l->dense, dout, dn);
	if (d.shared)
		mlp_back(ref, &d, layer, "shared_fc1", "shared_fc2", d.shared, l->shared, dout, dn);
	if (d.experts)
		routed_back(ref, &d, layer, dout, dn);
	for (t = 0; t < ref->tokens; t++)
		norm_row_back(l->x1 + t * ref->h, norms->value + ref->h, norms->gradient + ref->h, ref->h,
		    dn + t * ref->h, dout + t * ref->h);
	memset(dn, 0, (size_t)n * sizeof(*dn));
	attention_back(ref, &d, layer, dout, dn);
	for (t = 0; t < ref->tokens; t++)
		norm_row_back(l->x + t * ref->h, norms->value, norms->gradient, ref->h, dn + t * ref->h,
		    dout + t * ref->h);
}

static double
flops_of(const struct shape *shape)
{
	const struct strategy *s = &shape->strategy;

	return shape_flops(shape) * (double)(s->tp * s->cp * s->pp * s->dp);
}

struct reference *
reference_run(struct arena *arena, const struct shape *shape, const struct skew *skew, bool bf16,
    double most_flops)
{
	const struct strategy *s = &shape->strategy;
	struct reference *r;
	struct ref ref = {.arena = arena, .shape = shape, .skew = skew, .bf16 = bf16};
	int64_t layer, i;
	double *gradient;

	if (flops_of(shape) > most_flops)
		return NULL;
	ref.r = r = arena_alloc(arena, sizeof(*r));
	ref.h = r->h = shape->model.hidden;
	ref.seq_len = s->seq_len;
	ref.seqs = s->dp * s->micro_batches * s->micro_batch;
	ref.tokens = r->tokens = ref.seqs * s->seq_len;
	ref.layers = arena_array(arena, (size_t)shape->model.layers + 1, sizeof(*ref.layers));
	make_weights(&ref);
	for (layer = 0; layer <= shape->model.layers; layer++)
		ref.layers[layer].x = numbers(&ref, ref.tokens * ref.h);
	gradient = numbers(&ref, ref.tokens * ref.h);
	for (i = 0; i < ref.tokens * ref.h; i++) {
		ref.layers[0].x[i] = input_value(i / ref.h, i % ref.h, bf16);
		gradient[i] = output_gradient(i / ref.h, i % ref.h, bf16);
	}
	for (layer = 0; layer < shape->model.layers; layer++)
		layer_run(&ref, layer, ref.layers[layer + 1].x);
	r->outputs = ref.layers[shape->model.layers].x;
	for (layer = shape->model.layers - 1; layer >= 0; layer--)
		layer_back(&ref, layer, gradient);
	r->input_gradients = gradient;
	return r;
}
