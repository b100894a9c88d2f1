/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What size is everything that the probe runs?
 *
 * The stand-in for attention sees every stride-th key of each block, so that its products cost
 * what a mask leaves: stride = round(s / mean keys seen). Scores have no softmax:
 * O = a Q K^T V, linear in each of them, so that a reference is easy and the FLOPs are attention's.
 * An output gate multiplies O by sigmoid(g). A sink takes its share of a softmax; here it leaves
 * sigmoid(sink) of its head.
 */
#include <math.h>
#include <string.h>

#include "probe/mix.h"
#include "probe/shape.h"

static int64_t
at_least_one(int64_t value)
{
	return value > 0 ? value : 1;
}

/* DualPipe and DualPipeV run 2 * pp at least. */
int64_t
shape_micro_batches(const struct strategy *s)
{
	bool plain = s->vpp == 1 && s->schedule == SCHEDULE_1F1B;
	int64_t wanted = plain ? s->pp + 1 : 2 * s->pp;

	return s->micro_batches < wanted ? s->micro_batches : wanted;
}

/* Every rank of a tensor-parallel group holds as many rows; Megatron pads its vocabulary too. */
static void
pad_vocab(struct shape *shape)
{
	int64_t tp = shape->strategy.tp;

	shape->model.vocab = (shape->model.vocab + tp - 1) / tp * tp;
	if (shape->model.head_bias)
		shape->model.head_bias = shape->model.vocab;
}

void
shape_of_plan(const struct probe_plan *plan, const struct skew *skew, int64_t micro_batches,
    struct shape *shape)
{
	memset(shape, 0, sizeof(*shape));
	shape->model = *plan->model;
	shape->strategy = plan->strategy;
	shape->layout = plan->layout;
	shape->placement = skew->placement;
	shape->keeps_experts = skew_numbers_experts(skew);
	pad_vocab(shape);
	if (micro_batches < plan->strategy.micro_batches)
		shape->strategy.micro_batches = micro_batches;
}

/* Smaller, and still a multiple of `unit` when it was one. */
static int64_t
shrink(int64_t value, int64_t unit, int64_t wanted)
{
	int64_t small = (wanted + unit - 1) / unit * unit;

	return value > small ? small : value;
}

static void
scale_experts(struct ffn *f, const struct strategy *s)
{
	f->experts = f->experts ? shrink(f->experts, s->ep, 8) : 0;
	if (f->top_k > f->experts)
		f->top_k = f->experts;
}

/* As many ranks share a head as in the plan. */
static int64_t
scaled_kv_heads(const struct mixer *m, const struct strategy *s)
{
	return m->kv_heads < s->tp ? m->kv_heads : s->tp;
}

/* `hidden`: of the plan's model and of the small one. */
static void
scale_kind(
    struct layer_kind *kind, const struct strategy *s, const int64_t hidden[2], bool keeps_experts)
{
	struct mixer *m = &kind->mixer;
	struct ffn *f = &kind->ffn;
	int64_t group = at_least_one(m->heads / at_least_one(m->kv_heads));

	group = group > 2 ? 2 : group;
	m->kv_heads = scaled_kv_heads(m, s);
	m->heads = s->tp * group;
	m->head_dim = m->value_dim = 4;
	m->window = m->chunk = m->sparse = 0;
	m->index_heads = m->index_dim = 0;
	if (m->kind == MIXER_MLA) {
		m->kv_heads = m->heads;
		m->q_rank = m->q_rank ? 6 : 0;
		m->kv_rank = 6;
		m->nope_dim = 4;
		m->rope_dim = 2;
		m->head_dim = 6;
	}
	f->dense_width = f->dense_width ? shrink(f->dense_width, 2 * s->tp, 8) : 0;
	f->shared_width = f->shared_width ? shrink(f->shared_width, 2 * s->tp, 8) : 0;
	f->expert_width = f->expert_width ? shrink(f->expert_width, 2 * s->etp, 8) : 0;
	if (!keeps_experts)
		scale_experts(f, s);
	if (f->top_k > 4)
		f->top_k = 4;
	kind->norm_elements = kind->norm_elements / hidden[0] * hidden[1];
}

enum { SCALED_HIDDEN = 16, SCALED_ROWS = 4, SCALED_VOCAB = 32, SCALED_MTP = 2 };

/* Embedding, head and MTP modules; their norms and projections as HF's readers count them. */
static void
scale_ends(struct model *m, const struct strategy *s, const int64_t hidden[2], bool keeps_experts)
{
	m->vocab = shrink(m->vocab, 2 * s->tp, SCALED_VOCAB);
	m->learned_positions = m->learned_positions ? s->seq_len : 0;
	m->final_norm = m->final_norm / hidden[0] * hidden[1];
	m->head_bias = m->head_bias ? m->vocab : 0;
	if (m->mtp_layers > SCALED_MTP)
		m->mtp_layers = SCALED_MTP;
	if (m->mtp_layers) {
		scale_kind(&m->mtp, s, hidden, keeps_experts);
		m->mtp_projection = 2 * m->hidden * m->hidden;
		m->mtp_norms = 3 * m->hidden;
	}
}

void
shape_scaled(const struct probe_plan *plan, const struct skew *skew, int64_t micro_batches,
    struct shape *shape)
{
	struct strategy *s = &shape->strategy;
	struct model *m = &shape->model;
	int64_t hidden[2];
	int kind;

	shape_of_plan(plan, skew, micro_batches, shape);
	shape->scaled = true;
	hidden[0] = m->hidden;
	m->hidden = hidden[1] = shrink(m->hidden, 2 * s->tp, SCALED_HIDDEN);
	s->micro_batch = s->micro_batch > 2 ? 2 : s->micro_batch;
	s->seq_len = shrink(s->seq_len, s->cp * s->tp, SCALED_ROWS * s->cp * s->tp);
	for (kind = 0; kind < m->n_kinds; kind++)
		scale_kind(&m->kinds[kind], s, hidden, shape->keeps_experts);
	scale_ends(m, s, hidden, shape->keeps_experts);
}

const struct layer_kind *
shape_kind(const struct shape *shape, int64_t layer)
{
	if (layer >= shape->model.layers)
		return &shape->model.mtp;
	return &shape->model.kinds[shape->model.kind_of[layer]];
}

bool
shape_norm_bias(const struct model *model)
{
	return model->final_norm == 2 * model->hidden;
}

static double
keys_seen(const struct mixer *m, int64_t seq_len)
{
	double keys = ((double)seq_len + 1) / 2;

	if (m->window && (double)m->window < keys)
		keys = (double)m->window;
	if (m->chunk && (double)m->chunk / 2 < keys)
		keys = (double)m->chunk / 2;
	if (m->sparse && (double)m->sparse < keys)
		keys = (double)m->sparse;
	return keys < 1 ? 1 : keys;
}

/* Norms of heads, gates and sinks. */
static void
mixer_extras(const struct mixer *m, struct dims *d)
{
	bool full = m->qk_norm == QK_NORM_FULL;

	if (m->kind == MIXER_GQA && m->qk_norm != QK_NORM_NONE) {
		d->q_normed = full ? d->q_width : d->qk;
		d->k_normed = full ? d->k_width : d->key_dim;
	}
	d->sinks = m->sinks;
	if (m->out_gate || m->sinks) {
		d->gates = m->sinks ? d->heads : d->o_width;
		d->gate_span = d->o_width / d->gates;
	}
}

/* Scores of one head and sequence at one time: half a GiB in bf16. Small shapes part theirs too. */
enum { MOST_SCORES = 1 << 28, SCALED_QUERIES = 3 };

static void
mixer_dims(const struct shape *shape, const struct mixer *m, struct dims *d)
{
	const struct strategy *s = &shape->strategy;
	int64_t keys;

	d->mla = m->kind == MIXER_MLA;
	d->heads = at_least_one(m->heads / s->tp);
	d->kv_heads = d->mla ? d->heads : at_least_one(m->kv_heads / s->tp);
	d->qk = m->head_dim;
	d->v = m->value_dim;
	d->key_dim = d->mla ? m->nope_dim : m->head_dim;
	d->q_width = d->heads * d->qk;
	d->rope = d->mla ? m->rope_dim : 0;
	d->k_width = d->kv_heads * d->key_dim + d->rope;
	d->v_width = d->kv_heads * d->v;
	d->o_width = d->heads * d->v;
	mixer_extras(m, d);
	if (d->mla) {
		d->q_rank = m->q_rank;
		d->kv_rank = m->kv_rank;
		d->latent = m->q_rank + m->kv_rank + m->rope_dim;
	}
	d->stride = (int64_t)floor((double)s->seq_len / keys_seen(m, s->seq_len) + 0.5);
	if (d->stride > d->seq_rows)
		d->stride = d->seq_rows;
	d->stride = at_least_one(d->stride);
	keys = (d->seq_rows + d->stride - 1) / d->stride;
	d->at_once = shape->scaled ? SCALED_QUERIES : at_least_one(MOST_SCORES / keys);
	if (d->at_once > d->seq_rows)
		d->at_once = d->seq_rows;
	keys *= s->cp;
	d->scale = 1 / (sqrt((double)d->qk) * (double)keys);
}

/* Groups that could not hold a token's choices are none: those of small shapes. */
static void
limit_groups(const struct ffn *f, struct dims *d)
{
	int64_t size = f->route_groups > 0 ? f->experts / f->route_groups : 0;

	if (f->top_groups == 0 || size * f->route_groups != f->experts ||
	    size * f->top_groups < f->top_k)
		return;
	d->group_experts = size;
	d->top_groups = f->top_groups;
}

void
dims_of(const struct shape *shape, const struct layer_kind *kind, struct dims *d)
{
	const struct strategy *s = &shape->strategy;
	const struct ffn *f = &kind->ffn;

	memset(d, 0, sizeof(*d));
	d->h = shape->model.hidden;
	d->seqs = s->micro_batch;
	d->seq_rows = s->seq_len / s->cp;
	d->rows = d->seqs * d->seq_rows;
	d->tokens = d->rows / s->tp;
	mixer_dims(shape, &kind->mixer, d);
	d->norm_bias = shape_norm_bias(&shape->model);
	d->norms = d->norm_bias ? 2 : (int)(kind->norm_elements / shape->model.hidden);
	d->shared_gate = f->shared_gate;
	d->ungated = f->ungated;
	d->expert_bias = f->expert_bias;
	d->dense = f->dense_width / s->tp;
	d->shared = f->shared_width / s->tp;
	d->expert = f->expert_width / s->etp;
	d->experts = f->experts;
	d->slots = shape->placement && f->experts ? shape->placement->slots : f->experts;
	d->local_experts = d->slots / s->ep;
	d->top_k = f->top_k;
	limit_groups(f, d);
}

double
shape_flops(const struct shape *shape)
{
	const struct strategy *s = &shape->strategy;
	const struct model *m = &shape->model;
	double flops = 6 * (double)(1 + m->mtp_layers) * (double)m->vocab * (double)m->hidden;
	int64_t layer;

	for (layer = 0; layer < m->layers + m->mtp_layers; layer++) {
		struct tensor rows[TENSORS_MAX];
		const struct layer_kind *kind = shape_kind(shape, layer);
		size_t n = tensors_of_layer(m, kind, rows), i;

		for (i = 0; i < n; i++) {
			double used = rows[i].shard == SHARD_EXPERT ? (double)kind->ffn.top_k : 1;

			flops += 6 * used * (double)rows[i].rows * (double)rows[i].cols;
		}
	}
	return flops * (double)(s->micro_batches * s->micro_batch * s->seq_len) /
	       (double)(s->tp * s->cp * s->pp);
}

/* --- values ------------------------------------------------------------------------------- */

double
random_unit(uint64_t what, uint64_t a, uint64_t b, uint64_t c)
{
	uint64_t bits = mix_bits(mix_bits(mix_bits(mix_bits(what) ^ a) ^ b) ^ c);

	return (double)(bits >> 11) * 0x1p-52 - 1;
}

double
random_share(uint64_t what, uint64_t a, uint64_t b, uint64_t c)
{
	return (random_unit(what, a, b, c) + 1) / 2;
}

uint64_t
name_hash(const char *name)
{
	uint64_t hash = 0;

	for (; *name; name++)
		hash = mix_bits(hash ^ (unsigned char)*name);
	return hash;
}

/* To the nearest value that a bf16 holds, ties to even: what the device will really have. */
static double
rounded(double value, bool bf16)
{
	float f = (float)value;
	uint32_t bits;

	if (!bf16)
		return (double)f;
	memcpy(&bits, &f, sizeof(bits));
	bits = (bits + 0x7fffu + ((bits >> 16) & 1)) & 0xffff0000u;
	memcpy(&f, &bits, sizeof(f));
	return (double)f;
}

/*
 * Output projections (o, fc2) add to the residual stream; small ones, as GPT-2 starts with, under
 * an embedding that is not small keep the model well-conditioned at any depth, so that errors tell
 * mistakes from rounding.
 */
#define RESIDUAL_SCALE 0.2
#define EMBEDDING_SCALE 4.0

static double
scale_of(const struct tensor *t)
{
	if (t->component == COMPONENT_EMBEDDING)
		return EMBEDDING_SCALE;
	return t->split_cols ? RESIDUAL_SCALE : 1;
}

/* Scales are near 1. */
static bool
is_norm(const struct tensor *t)
{
	const char *end = strrchr(t->name, '_');

	return t->component == COMPONENT_NORMS ||
	       (t->cols == 1 && end && strcmp(end, "_norm") == 0);
}

double
weight_value(const struct tensor *t, const struct place *p, bool bf16)
{
	double unit = random_unit(p->name, (uint64_t)p->layer << 32 | (uint64_t)p->matrix,
	    (uint64_t)p->row, (uint64_t)p->col);

	if (is_norm(t))
		return rounded(1 + 0.25 * unit, bf16);
	if (t->cols == 1) /* biases and sinks */
		return rounded(0.25 * unit, bf16);
	return rounded(1.7 * scale_of(t) * unit / sqrt((double)t->cols), bf16);
}

int64_t
token_id(int64_t token, int64_t vocab)
{
	return (int64_t)(mix_bits((uint64_t)token) % (uint64_t)vocab);
}
