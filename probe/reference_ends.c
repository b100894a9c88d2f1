/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What should ends.c and mtp.c have computed? Embedding, head, cross entropy, MTP modules, token by
 * token: loss = log(sum_v exp l_v) - l_target summed over tokens.
 */
#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "probe/reference_private.h"
#include "probe/weights.h"

static int64_t
word_of(const struct ref *ref, int64_t token, int64_t shift)
{
	return token_id(token + shift, ref->shape->model.vocab);
}

/* Row of the learned positions that a token sees. */
static int64_t
position_of(const struct ref *ref, int64_t token)
{
	return token % ref->seq_len % ref->shape->model.learned_positions;
}

void
reference_embed(struct ref *ref, int64_t shift, double *x)
{
	const struct reference_weight *table = reference_find(ref->r, LAYER_ENDS, "embedding");
	const struct reference_weight *positions = reference_find(ref->r, LAYER_ENDS, "positions");
	int64_t t, i, h = ref->h;

	for (t = 0; t < ref->tokens; t++)
		for (i = 0; i < h; i++) {
			x[t * h + i] = table->value[word_of(ref, t, shift) * h + i];
			if (positions)
				x[t * h + i] += positions->value[position_of(ref, t) * h + i];
		}
}

void
reference_embed_back(struct ref *ref, int64_t shift, const double *dx)
{
	const struct reference_weight *table = reference_find(ref->r, LAYER_ENDS, "embedding");
	const struct reference_weight *positions = reference_find(ref->r, LAYER_ENDS, "positions");
	int64_t t, i, h = ref->h;

	for (t = 0; t < ref->tokens; t++)
		for (i = 0; i < h; i++) {
			table->gradient[word_of(ref, t, shift) * h + i] += dx[t * h + i];
			if (positions)
				positions->gradient[position_of(ref, t) * h + i] += dx[t * h + i];
		}
}

/* --- head and loss: forward and backward of one token at once ------------------------------- */

static double
cross_entropy(const double *logits, int64_t words, int64_t target, double *dlogits)
{
	double most = logits[0], sum = 0;
	int64_t v;

	for (v = 1; v < words; v++)
		most = fmax(most, logits[v]);
	for (v = 0; v < words; v++)
		sum += exp(logits[v] - most);
	for (v = 0; v < words; v++)
		dlogits[v] = exp(logits[v] - most) / sum - (v == target);
	return log(sum) + most - logits[target];
}

/* Losses of all tokens; dhidden += the gradient of what the norm saw. */
static void
head_run(struct ref *ref, int module, const double *hidden, double *losses, double *dhidden)
{
	const struct model *model = &ref->shape->model;
	const struct reference_weight *head =
	    reference_find(ref->r, LAYER_ENDS, model->tied ? "embedding" : "head");
	const struct reference_weight *norm =
	    module ? reference_find(ref->r, model->layers + module - 1, "mtp_norms")
		   : reference_find(ref->r, LAYER_ENDS, "final_norm");
	const struct reference_weight *bias = reference_find(ref->r, LAYER_ENDS, "head_bias");
	bool norm_bias = module == 0 && shape_norm_bias(model);
	int64_t t, h = ref->h, words = model->vocab, at = module ? 2 * h : 0;
	double *y = reference_numbers(ref, h), *dy = reference_numbers(ref, h);
	double *logits = reference_numbers(ref, words), *dlogits = reference_numbers(ref, words);

	for (t = 0; t < ref->tokens; t++) {
		reference_norm(hidden + t * h, norm->value + at, h, y);
		if (norm_bias)
			reference_add(y, norm->value + h, h);
		reference_row_forward(head->value, words, h, y, logits, false);
		if (bias)
			reference_add(logits, bias->value, words);
		losses[t] = cross_entropy(logits, words, word_of(ref, t, module + 1), dlogits);
		memset(dy, 0, (size_t)h * sizeof(*dy));
		reference_row_back(head->value, head->gradient, words, h, y, dlogits, dy);
		if (bias)
			reference_add(bias->gradient, dlogits, words);
		if (norm_bias)
			reference_add(norm->gradient + h, dy, h);
		reference_norm_back(
		    hidden + t * h, norm->value + at, norm->gradient + at, h, dy, dhidden + t * h);
	}
}

/* --- MTP ---------------------------------------------------------------------------------- */

struct module_values {
	const double *hidden; /* what it took */
	double *embedded, *pairs, *out;
};

/* x = M [norm(e); norm(h)] of every token, into the layer's input. */
static void
project(struct ref *ref, int module, struct module_values *m)
{
	int64_t layer = ref->shape->model.layers + module - 1, t, h = ref->h;
	const struct reference_weight *norms = reference_find(ref->r, layer, "mtp_norms");
	const struct reference_weight *matrix = reference_find(ref->r, layer, "mtp_projection");

	m->embedded = reference_numbers(ref, ref->tokens * h);
	m->pairs = reference_numbers(ref, 2 * ref->tokens * h);
	reference_embed(ref, module, m->embedded);
	for (t = 0; t < ref->tokens; t++) {
		double *pair = m->pairs + 2 * t * h;

		reference_norm(m->embedded + t * h, norms->value, h, pair);
		reference_norm(m->hidden + t * h, norms->value + h, h, pair + h);
		reference_row_forward(
		    matrix->value, h, 2 * h, pair, ref->layers[layer].x + t * h, false);
	}
}

/* dx: of the layer's input; dhidden += the gradient of what the module took. */
static void
project_back(
    struct ref *ref, int module, const struct module_values *m, const double *dx, double *dhidden)
{
	int64_t layer = ref->shape->model.layers + module - 1, t, h = ref->h;
	const struct reference_weight *norms = reference_find(ref->r, layer, "mtp_norms");
	const struct reference_weight *matrix = reference_find(ref->r, layer, "mtp_projection");
	double *dpair = reference_numbers(ref, 2 * h);
	double *de = reference_numbers(ref, ref->tokens * h);

	for (t = 0; t < ref->tokens; t++) {
		memset(dpair, 0, 2 * (size_t)h * sizeof(*dpair));
		reference_row_back(matrix->value, matrix->gradient, h, 2 * h, m->pairs + 2 * t * h,
		    dx + t * h, dpair);
		reference_norm_back(
		    m->embedded + t * h, norms->value, norms->gradient, h, dpair, de + t * h);
		reference_norm_back(m->hidden + t * h, norms->value + h, norms->gradient + h, h,
		    dpair + h, dhidden + t * h);
	}
	reference_embed_back(ref, module, de);
}

void
reference_ends(struct ref *ref, double *dhidden)
{
	int64_t modules = ref->shape->model.mtp_layers, n = ref->tokens * ref->h;
	struct module_values *m = arena_array(ref->arena, (size_t)modules + 1, sizeof(*m));
	double **gradients = arena_array(ref->arena, (size_t)modules + 1, sizeof(*gradients));
	int module;

	ref->r->losses = reference_numbers(ref, (1 + modules) * ref->tokens);
	m[0].out = ref->r->outputs;
	gradients[0] = dhidden;
	head_run(ref, 0, m[0].out, ref->r->losses, dhidden);
	for (module = 1; module <= modules; module++) {
		m[module].hidden = m[module - 1].out;
		m[module].out = reference_numbers(ref, n);
		gradients[module] = reference_numbers(ref, n);
		project(ref, module, &m[module]);
		reference_layer(ref, ref->shape->model.layers + module - 1, m[module].out);
		head_run(ref, module, m[module].out, ref->r->losses + module * ref->tokens,
		    gradients[module]);
	}
	for (module = (int)modules; module > 0; module--) {
		reference_layer_back(ref, ref->shape->model.layers + module - 1, gradients[module]);
		project_back(ref, module, &m[module], gradients[module], gradients[module - 1]);
	}
}
