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
	d->gates *= s->tp;
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

void
reference_add(double *to, const double *from, int64_t n)
{
	int64_t i;

	for (i = 0; i < n; i++)
		to[i] += from[i];
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

/* --- layers ------------------------------------------------------------------------------- */

/* By its place among a layer's norms; biases, if any, follow the two scales. */
static void
layer_norm(
    struct ref *ref, const struct dims *d, int64_t layer, int which, const double *x, double *y)
{
	const struct reference_weight *norms = reference_find(ref->r, layer, "norms");
	int64_t t, h = ref->h;

	for (t = 0; t < ref->tokens; t++) {
		reference_norm(x + t * h, norms->value + which * h, h, y + t * h);
		if (d->norm_bias)
			reference_add(y + t * h, norms->value + (which + 2) * h, h);
	}
}

static void
layer_norm_back(struct ref *ref, const struct dims *d, int64_t layer, int which, const double *x,
    const double *dy, double *dx)
{
	const struct reference_weight *norms = reference_find(ref->r, layer, "norms");
	int64_t t, h = ref->h;

	for (t = 0; t < ref->tokens; t++) {
		reference_norm_back(x + t * h, norms->value + which * h,
		    norms->gradient + which * h, h, dy + t * h, dx + t * h);
		if (d->norm_bias)
			reference_add(norms->gradient + (which + 2) * h, dy + t * h, h);
	}
}

/* out = x + y, y normed where norms stand behind the halves. */
static void
behind(struct ref *ref, const struct dims *d, int64_t layer, int which, const double *x,
    const double *y, double *out)
{
	int64_t n = ref->tokens * ref->h;

	if (d->norms > 2)
		layer_norm(ref, d, layer, which, y, out);
	else
		memcpy(out, y, (size_t)n * sizeof(*out));
	reference_add(out, x, n);
}

static void
back_to(struct ref *ref, const struct dims *d, int64_t layer, int which, const double *y,
    const double *dout, double *dy)
{
	size_t bytes = (size_t)(ref->tokens * ref->h) * sizeof(*dy);

	if (d->norms > 2) {
		memset(dy, 0, bytes);
		layer_norm_back(ref, d, layer, which, y, dout, dy);
	} else {
		memcpy(dy, dout, bytes);
	}
}

void
reference_layer(struct ref *ref, int64_t layer, double *out)
{
	struct layer_values *l = &ref->layers[layer];
	int64_t n = ref->tokens * ref->h;
	struct dims d;

	whole_dims(ref, layer, &d);
	l->n1 = reference_numbers(ref, n);
	l->y1 = reference_numbers(ref, n);
	l->x1 = reference_numbers(ref, n);
	l->n2 = reference_numbers(ref, n);
	l->y2 = reference_numbers(ref, n);
	layer_norm(ref, &d, layer, 0, l->x, l->n1);
	reference_attention(ref, &d, layer);
	behind(ref, &d, layer, 2, l->x, l->y1, l->x1);
	layer_norm(ref, &d, layer, 1, l->x1, l->n2);
	reference_ffn(ref, &d, layer);
	behind(ref, &d, layer, 3, l->x1, l->y2, out);
}

void
reference_layer_back(struct ref *ref, int64_t layer, double *dout)
{
	struct layer_values *l = &ref->layers[layer];
	int64_t n = ref->tokens * ref->h;
	double *dn = reference_numbers(ref, n), *dy = reference_numbers(ref, n);
	struct dims d;

	whole_dims(ref, layer, &d);
	back_to(ref, &d, layer, 3, l->y2, dout, dy);
	reference_ffn_back(ref, &d, layer, dy, dn);
	layer_norm_back(ref, &d, layer, 1, l->x1, dn, dout);
	memset(dn, 0, (size_t)n * sizeof(*dn));
	back_to(ref, &d, layer, 2, l->y1, dout, dy);
	reference_attention_back(ref, &d, layer, dy, dn);
	layer_norm_back(ref, &d, layer, 0, l->x, dn, dout);
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
