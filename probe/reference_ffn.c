/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What should mlp.c and ffn.c have computed? Dense MLP, shared expert and routed experts, token by
 * token. */
#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "probe/reference_private.h"
#include "probe/weights.h"

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

/* y = W2 (s act(W1 x + b1)) + b2, s = sigmoid(g x) where the shared expert has a gate, else 1. */
struct mlp {
	const struct reference_weight *first, *second, *bias1, *bias2, *gate;
	int64_t width, wide;
	double **fc1;
};

static struct mlp
dense_of(struct ref *ref, const struct dims *d, int64_t layer)
{
	const struct reference *r = ref->r;

	return (struct mlp){.first = reference_find(r, layer, "mlp_fc1"),
	    .second = reference_find(r, layer, "mlp_fc2"),
	    .bias1 = reference_find(r, layer, "mlp_fc1_bias"),
	    .bias2 = reference_find(r, layer, "mlp_fc2_bias"),
	    .width = d->dense,
	    .wide = fc1_width(d, d->dense),
	    .fc1 = &ref->layers[layer].dense};
}

static struct mlp
shared_of(struct ref *ref, const struct dims *d, int64_t layer)
{
	const struct reference *r = ref->r;

	return (struct mlp){.first = reference_find(r, layer, "shared_fc1"),
	    .second = reference_find(r, layer, "shared_fc2"),
	    .gate = reference_find(r, layer, "shared_gate"),
	    .width = d->shared,
	    .wide = fc1_width(d, d->shared),
	    .fc1 = &ref->layers[layer].shared};
}

static double
open_of(const struct ref *ref, const struct mlp *m, const double *x)
{
	double g = 0;

	if (!m->gate)
		return 1;
	reference_row_forward(m->gate->value, 1, ref->h, x, &g, false);
	return 1 / (1 + exp(-g));
}

static void
mlp(struct ref *ref, const struct dims *d, int64_t layer, struct mlp m, double *out)
{
	struct layer_values *l = &ref->layers[layer];
	double *fc1 = *m.fc1 = reference_numbers(ref, ref->tokens * m.wide);
	double *hidden = reference_numbers(ref, m.width);
	int64_t t, i;

	for (t = 0; t < ref->tokens; t++, fc1 += m.wide) {
		const double *x = l->n2 + t * ref->h;
		double open = open_of(ref, &m, x);

		reference_row_forward(m.first->value, m.wide, ref->h, x, fc1, false);
		if (m.bias1)
			reference_add(fc1, m.bias1->value, m.wide);
		act_row(d->ungated, fc1, m.width, hidden);
		for (i = 0; i < m.width; i++)
			hidden[i] *= open;
		reference_row_forward(
		    m.second->value, ref->h, m.width, hidden, out + t * ref->h, true);
		if (m.bias2)
			reference_add(out + t * ref->h, m.bias2->value, ref->h);
	}
}

/* `hidden` is the activation, `dhidden` the gradient of what W2 saw; it becomes the activation's.
 */
static void
gate_row_back(struct ref *ref, const struct mlp *m, const double *x, const double *hidden,
    double *dhidden, double *dx)
{
	double open = open_of(ref, m, x), dgate = 0;
	int64_t i;

	for (i = 0; i < m->width; i++) {
		dgate += dhidden[i] * hidden[i] * open * (1 - open);
		dhidden[i] *= open;
	}
	reference_row_back(m->gate->value, m->gate->gradient, 1, ref->h, x, &dgate, dx);
}

static void
mlp_back(struct ref *ref, const struct dims *d, int64_t layer, struct mlp m, const double *dout,
    double *dn2)
{
	double *hidden = reference_numbers(ref, m.width), *seen = reference_numbers(ref, m.width);
	double *dhidden = reference_numbers(ref, m.width), *dfc1 = reference_numbers(ref, m.wide);
	int64_t t, i;

	for (t = 0; t < ref->tokens; t++, dout += ref->h, dn2 += ref->h) {
		const double *x = ref->layers[layer].n2 + t * ref->h, *fc1 = *m.fc1 + t * m.wide;
		double open = open_of(ref, &m, x);

		act_row(d->ungated, fc1, m.width, hidden);
		for (i = 0; i < m.width; i++) {
			seen[i] = hidden[i] * open;
			dhidden[i] = 0;
		}
		reference_row_back(
		    m.second->value, m.second->gradient, ref->h, m.width, seen, dout, dhidden);
		if (m.gate)
			gate_row_back(ref, &m, x, hidden, dhidden, dn2);
		act_row_back(d->ungated, fc1, m.width, dhidden, dfc1);
		reference_row_back(m.first->value, m.first->gradient, m.wide, ref->h, x, dfc1, dn2);
		if (m.bias1)
			reference_add(m.bias1->gradient, dfc1, m.wide);
		if (m.bias2)
			reference_add(m.bias2->gradient, dout, ref->h);
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

/* Of the router; a bias that balances loads is not trained and not in the gates. */
static const struct reference_weight *
trained_bias(const struct ref *ref, int64_t layer)
{
	const struct reference_weight *bias = reference_find(ref->r, layer, "router_bias");

	return bias && !bias->tensor.buffer ? bias : NULL;
}

static void
token_gates(
    const struct ref *ref, const struct dims *d, int64_t layer, int64_t token, double *logits)
{
	struct layer_values *l = &ref->layers[layer];
	const struct reference_weight *router = reference_find(ref->r, layer, "router");
	const struct reference_weight *bias = trained_bias(ref, layer);
	const int32_t *picked = l->picked + token * d->top_k;
	double *gates = l->gates + token * d->top_k, sum = 0;
	int64_t j;

	reference_row_forward(
	    router->value, d->experts, ref->h, l->n2 + token * ref->h, logits, false);
	if (bias)
		reference_add(logits, bias->value, d->experts);
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
	const struct reference_weight *bias1 = reference_find(ref->r, layer, "expert_fc1_bias");
	const struct reference_weight *bias2 = reference_find(ref->r, layer, "expert_fc2_bias");
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
			if (bias1)
				reference_add(l->fc1 + j * wide, bias1->value + e * wide, wide);
			act_row(d->ungated, l->fc1 + j * wide, d->expert, hidden);
			reference_row_forward(second->value + e * ref->h * d->expert, ref->h,
			    d->expert, hidden, l->out + j * ref->h, false);
			if (bias2)
				reference_add(
				    l->out + j * ref->h, bias2->value + e * ref->h, ref->h);
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
	const struct reference_weight *bias1 = reference_find(ref->r, layer, "expert_fc1_bias");
	const struct reference_weight *bias2 = reference_find(ref->r, layer, "expert_fc2_bias");
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
	if (bias1)
		reference_add(bias1->gradient + e * wide, dfc1, wide);
	if (bias2)
		reference_add(bias2->gradient + e * ref->h, dy, ref->h);
}

static void
routed_back(struct ref *ref, const struct dims *d, int64_t layer, const double *dout, double *dn2)
{
	struct layer_values *l = &ref->layers[layer];
	const struct reference_weight *router = reference_find(ref->r, layer, "router");
	const struct reference_weight *bias = trained_bias(ref, layer);
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
		if (bias)
			reference_add(bias->gradient, dlogits, d->experts);
		arena_reset(ref->arena, mark);
	}
}

/* --- all parts ---------------------------------------------------------------------------- */

void
reference_ffn(struct ref *ref, const struct dims *d, int64_t layer)
{
	double *out = ref->layers[layer].y2;

	if (d->dense)
		mlp(ref, d, layer, dense_of(ref, d, layer), out);
	if (d->shared)
		mlp(ref, d, layer, shared_of(ref, d, layer), out);
	if (d->experts)
		routed(ref, d, layer, out);
}

void
reference_ffn_back(
    struct ref *ref, const struct dims *d, int64_t layer, const double *dy2, double *dn2)
{
	if (d->dense)
		mlp_back(ref, d, layer, dense_of(ref, d, layer), dy2, dn2);
	if (d->shared)
		mlp_back(ref, d, layer, shared_of(ref, d, layer), dy2, dn2);
	if (d->experts)
		routed_back(ref, d, layer, dy2, dn2);
}
