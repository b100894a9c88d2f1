/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What should the distributed step have computed?
 *
 * The same model with no ranks: loops over all tokens in double, written from the formulas and
 * not from the step's code. It shares the values of weights and words (shape.c) and the choice
 * of experts (routing.c), since those are given, and two conventions that are the plan's: which
 * keys a query sees (by context block) and the row order of MLA's fused up projection (by
 * tensor-parallel rank).
 */
#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "probe/reference_private.h"
#include "probe/weights.h"

/* Global widths: those of one rank times its degree. */
static void
whole_dims(const struct ref *ref, int64_t layer, struct dims *d)
{
	const struct strategy *s = &ref->shape->strategy;

	dims_of(ref->shape, shape_kind(ref->shape, layer), d);
	d->heads *= s->tp;
	d->kv_heads = d->mla ? d->heads : shape_kind(ref->shape, layer)->mixer.kv_heads;
	d->q_width *= s->tp;
	d->k_width = d->kv_heads * d->key_dim;
	d->v_width = d->kv_heads * d->v;
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
make_rows(struct ref *ref, int64_t layer, const struct tensor *rows, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		make_weight(ref, layer, &rows[i]);
}

static void
make_weights(struct ref *ref)
{
	const struct model *model = &ref->shape->model;
	int64_t layers = model->layers + model->mtp_layers, layer;
	struct tensor rows[TENSORS_MAX];

	ref->r->weights =
	    arena_array(ref->arena, (size_t)(layers + 2) * TENSORS_MAX, sizeof(*ref->r->weights));
	make_rows(ref, LAYER_ENDS, rows, tensors_of_embedding(model, rows));
	make_rows(ref, LAYER_ENDS, rows, tensors_of_head(model, rows));
	for (layer = 0; layer < layers; layer++)
		make_rows(ref, layer, rows,
		    layer < model->layers
			? tensors_of_layer(model, shape_kind(ref->shape, layer), rows)
			: tensors_of_mtp(model, rows));
}

double *
reference_numbers(struct ref *ref, int64_t n)
{
	return arena_array(ref->arena, (size_t)(n > 0 ? n : 1), sizeof(double));
}

/* --- one row at a time -------------------------------------------------------------------- */

void
reference_row_forward(
    const double *w, int64_t out, int64_t in, const double *x, double *y, bool add)
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
void
reference_row_back(const double *w, double *dw, int64_t out, int64_t in, const double *x,
    const double *dy, double *dx)
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

void
reference_norm(const double *x, const double *g, int64_t h, double *y)
{
	double rms = rms_of(x, h);
	int64_t i;

	for (i = 0; i < h; i++)
		y[i] = x[i] / rms * g[i];
}

void
reference_norm_back(
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

/* --- feed-forward ------------------------------------------------------------------------- */

static double *
mlp(struct ref *ref, const struct dims *d, int64_t layer, const char *first, const char *second,
    int64_t width, double *out)
{
	struct layer_values *l = &ref->layers[layer];
	const struct reference_weight *in = reference_find(ref->r, layer, first);
	const struct reference_weight *last = reference_find(ref->r, layer, second);
	int64_t wide = fc1_width(d, width), t;
	double *fc1 = reference_numbers(ref, ref->tokens * wide),
	       *hidden = reference_numbers(ref, width);

	for (t = 0; t < ref->tokens; t++) {
		reference_row_forward(
		    in->value, wide, ref->h, l->n2 + t * ref->h, fc1 + t * wide, false);
		act_row(d->ungated, fc1 + t * wide, width, hidden);
		reference_row_forward(last->value, ref->h, width, hidden, out + t * ref->h, true);
	}
	return fc1;
}

static void
mlp_back(struct ref *ref, const struct dims *d, int64_t layer, const char *first,
    const char *second, int64_t width, const double *fc1, const double *dout, double *dn2)
{
	struct layer_values *l = &ref->layers[layer];
	const struct reference_weight *in = reference_find(ref->r, layer, first);
	const struct reference_weight *last = reference_find(ref->r, layer, second);
	int64_t wide = fc1_width(d, width), t;
	double *hidden = reference_numbers(ref, width), *dhidden = reference_numbers(ref, width),
	       *dfc1 = reference_numbers(ref, wide);

	for (t = 0; t < ref->tokens; t++) {
		act_row(d->ungated, fc1 + t * wide, width, hidden);
		memset(dhidden, 0, (size_t)width * sizeof(*dhidden));
		reference_row_back(
		    last->value, last->gradient, ref->h, width, hidden, dout + t * ref->h, dhidden);
		act_row_back(d->ungated, fc1 + t * wide, width, dhidden, dfc1);
		reference_row_back(in->value, in->gradient, wide, ref->h, l->n2 + t * ref->h, dfc1,
		    dn2 + t * ref->h);
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
	int64_t most =
	    factor > 0 ? (int64_t)ceil(factor * (double)(d->tokens * d->top_k) / (double)d->experts)
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
	double *cumulative = reference_numbers(ref, d->experts);
	struct session at;
	int64_t micro_batch;

	memset(&at, 0, sizeof(at));
	skew_popularity(ref->skew, layer, d->experts, cumulative);
	for (at.dp = 0; at.dp < s->dp; at.dp++)
		for (micro_batch = 0; micro_batch < s->micro_batches; micro_batch++)
			for (at.cp = 0; at.cp < s->cp; at.cp++)
				for (at.tp = 0; at.tp < s->tp; at.tp++)
					choose_of_rank(ref, d, layer, &at, micro_batch, cumulative);
}

static void
token_gates(
    const struct ref *ref, const struct dims *d, int64_t layer, int64_t token, double *logits)
{
	struct layer_values *l = &ref->layers[layer];
	const struct reference_weight *router = reference_find(ref->r, layer, "router");
	const int32_t *picked = l->picked + token * d->top_k;
	double *gates = l->gates + token * d->top_k, sum = 0;
	int64_t j;

	reference_row_forward(
	    router->value, d->experts, ref->h, l->n2 + token * ref->h, logits, false);
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
	double *logits = reference_numbers(ref, d->experts),
	       *hidden = reference_numbers(ref, d->expert);

	l->picked = arena_array(ref->arena, 2 * (size_t)n, sizeof(*l->picked));
	l->chosen = l->picked + n;
	l->gates = reference_numbers(ref, n);
	l->fc1 = reference_numbers(ref, n * wide);
	l->out = reference_numbers(ref, n * ref->h);
	choose(ref, d, layer);
	for (t = 0; t < ref->tokens; t++) {
		token_gates(ref, d, layer, t, logits);
		for (j = t * d->top_k; j < (t + 1) * d->top_k; j++) {
			int64_t e = l->chosen[j];

			if (e < 0)
				continue;
			reference_row_forward(first->value + e * wide * ref->h, wide, ref->h,
			    l->n2 + t * ref->h, l->fc1 + j * wide, false);
			act_row(d->ungated, l->fc1 + j * wide, d->expert, hidden);
			reference_row_forward(second->value + e * ref->h * d->expert, ref->h,
			    d->expert, hidden, l->out + j * ref->h, false);
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
	double *hidden = reference_numbers(ref, d->expert),
	       *dhidden = reference_numbers(ref, d->expert);
	double *dfc1 = reference_numbers(ref, wide), *dy = reference_numbers(ref, ref->h);

	for (i = 0; i < ref->h; i++)
		dy[i] = l->gates[j] * dout[t * ref->h + i];
	act_row(d->ungated, l->fc1 + j * wide, d->expert, hidden);
	reference_row_back(
	    second->value + w2, second->gradient + w2, ref->h, d->expert, hidden, dy, dhidden);
	act_row_back(d->ungated, l->fc1 + j * wide, d->expert, dhidden, dfc1);
	reference_row_back(first->value + w1, first->gradient + w1, wide, ref->h,
	    l->n2 + t * ref->h, dfc1, dn2 + t * ref->h);
}

static void
routed_back(struct ref *ref, const struct dims *d, int64_t layer, const double *dout, double *dn2)
{
	struct layer_values *l = &ref->layers[layer];
	const struct reference_weight *router = reference_find(ref->r, layer, "router");
	double *dlogits = reference_numbers(ref, d->experts),
	       *dgate = reference_numbers(ref, d->top_k);
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
		reference_row_back(router->value, router->gradient, d->experts, ref->h,
		    l->n2 + t * ref->h, dlogits, dn2 + t * ref->h);
		arena_reset(ref->arena, mark);
	}
}

/* --- layers ------------------------------------------------------------------------------- */

void
reference_layer(struct ref *ref, int64_t layer, double *out)
{
	struct layer_values *l = &ref->layers[layer];
	const struct reference_weight *norms = reference_find(ref->r, layer, "norms");
	int64_t t, n = ref->tokens * ref->h;
	struct dims d;

	whole_dims(ref, layer, &d);
	l->n1 = reference_numbers(ref, n);
	l->x1 = reference_numbers(ref, n);
	l->n2 = reference_numbers(ref, n);
	for (t = 0; t < ref->tokens; t++)
		reference_norm(l->x + t * ref->h, norms->value, ref->h, l->n1 + t * ref->h);
	reference_attention(ref, &d, layer);
	for (t = 0; t < ref->tokens; t++)
		reference_norm(
		    l->x1 + t * ref->h, norms->value + ref->h, ref->h, l->n2 + t * ref->h);
	memcpy(out, l->x1, (size_t)n * sizeof(*out));
	if (d.dense)
		l->dense = mlp(ref, &d, layer, "mlp_fc1", "mlp_fc2", d.dense, out);
	if (d.shared)
		l->shared = mlp(ref, &d, layer, "shared_fc1", "shared_fc2", d.shared, out);
	if (d.experts)
		routed(ref, &d, layer, out);
}

void
reference_layer_back(struct ref *ref, int64_t layer, double *dout)
{
	struct layer_values *l = &ref->layers[layer];
	const struct reference_weight *norms = reference_find(ref->r, layer, "norms");
	int64_t t, n = ref->tokens * ref->h;
	double *dn = reference_numbers(ref, n);
	struct dims d;

	whole_dims(ref, layer, &d);
	if (d.dense)
		mlp_back(ref, &d, layer, "mlp_fc1", "mlp_fc2", d.dense, l->dense, dout, dn);
	if (d.shared)
		mlp_back(ref, &d, layer, "shared_fc1", "shared_fc2", d.shared, l->shared, dout, dn);
	if (d.experts)
		routed_back(ref, &d, layer, dout, dn);
	for (t = 0; t < ref->tokens; t++)
		reference_norm_back(l->x1 + t * ref->h, norms->value + ref->h,
		    norms->gradient + ref->h, ref->h, dn + t * ref->h, dout + t * ref->h);
	memset(dn, 0, (size_t)n * sizeof(*dn));
	reference_attention_back(ref, &d, layer, dout, dn);
	for (t = 0; t < ref->tokens; t++)
		reference_norm_back(l->x + t * ref->h, norms->value, norms->gradient, ref->h,
		    dn + t * ref->h, dout + t * ref->h);
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
	int64_t layers = shape->model.layers, all = layers + shape->model.mtp_layers, layer, n;

	if (flops_of(shape) > most_flops)
		return NULL;
	ref.r = r = arena_alloc(arena, sizeof(*r));
	ref.h = r->h = shape->model.hidden;
	ref.seq_len = s->seq_len;
	ref.seqs = s->dp * s->micro_batches * s->micro_batch;
	ref.tokens = r->tokens = ref.seqs * s->seq_len;
	n = ref.tokens * ref.h;
	ref.layers = arena_array(arena, (size_t)all + 1, sizeof(*ref.layers));
	make_weights(&ref);
	for (layer = 0; layer < all; layer++)
		ref.layers[layer].x = reference_numbers(&ref, n);
	r->outputs = reference_numbers(&ref, n);
	r->input_gradients = reference_numbers(&ref, n);
	reference_embed(&ref, 0, layers > 0 ? ref.layers[0].x : r->outputs);
	for (layer = 0; layer < layers; layer++)
		reference_layer(
		    &ref, layer, layer + 1 < layers ? ref.layers[layer + 1].x : r->outputs);
	reference_ends(&ref, r->input_gradients);
	for (layer = layers - 1; layer >= 0; layer--)
		reference_layer_back(&ref, layer, r->input_gradients);
	reference_embed_back(&ref, 0, r->input_gradients);
	return r;
}
