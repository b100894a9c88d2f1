/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How long does one layer take for one micro-batch, forward and backward?
 *
 *     forward  = max(GPU + exposed communication, host) + sync gap
 *     backward = max(2 GPU + ..., 1.5 host) + sync gap + recompute
 * GPU time of a product is max(FLOP / (rate x shape), bytes / bandwidth);
 * attention counts the causal half, at a share of what 16-bit products sustain;
 * what only moves bytes (norms, residuals, SwiGLU, permutation, router, fp8
 * casts) is bytes over bandwidth. Host time is launching: decisive for MoE
 * layers with little work a GPU, gone when the whole iteration is one graph.
 * Communication: comm.c. A part of it hides behind independent work when the
 * overlap is switched on; ring attention hides behind the core.
 * Sources: efficiencies in rates.c; byte counts in layer_bytes.c.
 * Ignored: contention of overlapped kernels for SMs.
 */
#include <math.h>
#include <string.h>

#include "planner/evaluator.h"
#include "planner/layer_private.h"
#include "planner/linear_mixer.h"

/* Share of the rate that a dimension of this size reaches: x / (x + x_half). */
static double
fill(const struct layer_context *c, double size)
{
	double measured = c->e->cluster->gpu.gemm_half;

	return size / (size + (measured > 0 ? measured : rate_table[RATE_GEMM_HALF_DIM].value));
}

static double
matmul_s(const struct layer_context *c, double rate, double tokens, double rows, double cols,
    double count)
{
	double flop = 2 * tokens * rows * cols;
	double bytes = 2 * (tokens * (rows + cols) + count * rows * cols);

	if (tokens <= 0)
		return 0;
	flop /= rate * fill(c, tokens / count) * fill(c, rows) * fill(c, cols);
	return fmax(fmax(flop, bytes / c->bandwidth), c->e->cluster->gpu.launch_s);
}

/* Grouped products re-read the weights of every expert: rows / (rows + half) of the full rate. */
static double
grouped_fill(double rows_per_expert)
{
	return rows_per_expert / (rows_per_expert + rate_table[RATE_GROUPED_HALF_ROWS].value);
}

/* Rate of experts' products: measured (in bf16: fp8 by its shape), or by the default law. */
static double
grouped_rate(const struct layer_context *c, double rows_per_expert)
{
	const struct curve *curve = &c->e->cluster->gpu.grouped;
	double whole = rate_table[RATE_GROUPED_BF16].value;

	if (curve->n == 0)
		return c->grouped_rate * grouped_fill(rows_per_expert);
	if (precision_is_fp8(c->s->precision))
		whole = curve->value[curve->n - 1];
	return c->grouped_rate * curve_value(curve, rows_per_expert) / whole;
}

static double
product_s(const struct layer_context *c, const struct product *p)
{
	const struct sizes *z = c->z;
	double rows = p->rows, cols = p->cols;

	if (p->shard == SHARD_EXPERT) {
		double local = p->count / z->ep;
		double rate = grouped_rate(c, c->rows / local);

		*(p->split_cols ? &cols : &rows) /= z->etp;
		return matmul_s(c, rate, c->rows, rows, cols, local);
	}
	if (p->shard == SHARD_NONE)
		return matmul_s(c, c->dense_rate, z->T, rows, cols, 1);
	*(p->split_cols ? &cols : &rows) /= p->shard == SHARD_KV ? z->kv_tp : z->tp;
	return matmul_s(c, c->dense_rate, z->M, rows, cols, 1);
}

static enum time_part
part_of(enum component component)
{
	switch (component) {
	case COMPONENT_EXPERTS:
		return TIME_EXPERTS;
	case COMPONENT_DENSE_MLP:
	case COMPONENT_SHARED_EXPERT:
		return TIME_MLP;
	case COMPONENT_ROUTER:
		return TIME_MEMORY_BOUND;
	default:
		return TIME_ATTENTION;
	}
}

/* 2 x heads x (d_qk + d_v) x context FLOP a token, on this rank's heads. */
static double
core_flop(const struct layer_context *c)
{
	const struct mixer *m = &c->facts->kind->mixer;
	double qk =
	    (double)(m->kind == MIXER_MLA ? m->nope_dim + m->rope_dim : m->head_dim);
	double heads = (double)m->heads / c->z->tp;

	if (m->kind != MIXER_GQA && m->kind != MIXER_MLA)
		return 0;
	return 2 * heads * (qk + (double)m->value_dim) * c->facts->context * c->z->M;
}

/* Share of the attention rate with so many keys a call: x / (x + half), 1 from full on. */
static double
flash_fill(double keys)
{
	double half = rate_table[RATE_FLASH_HALF_KEYS].value;
	double full = rate_table[RATE_FLASH_FULL_KEYS].value;

	return fmin(1, keys / (keys + half) * (full + half) / full);
}

/* A score costs an exponential whatever the width of a head: products of narrow heads wait. */
static double
width_fill(const struct mixer *m)
{
	double width = (double)(m->head_dim + m->value_dim) / 2;
	double half = rate_table[RATE_FLASH_HALF_WIDTH].value;
	double full = rate_table[RATE_FLASH_FULL_WIDTH].value;

	return fmin(1, width / (width + half) * (full + half) / full);
}

/*
 * Attention kernels of a tuned stack, or what SDPA and FlexAttention reach, as a share of what
 * 16-bit products sustain. Ring attention calls the kernel once a peer, with that peer's keys.
 */
static double
flash_rate(const struct layer_context *c)
{
	double keys = (double)c->s->seq_len / (double)c->s->cp;
	double rate = gemm_flops(&c->e->cluster->gpu, PRECISION_BF16) * flash_fill(keys) *
	    width_fill(&c->facts->kind->mixer);

	return c->s->framework == FRAMEWORK_TORCHTITAN ? rate * rate_table[RATE_FLASH_UNTUNED].value
	                                               : rate;
}

/* Few heads and tokens leave multiprocessors idle: rows of queries on each, x / (x + half). */
static double
occupancy(const struct layer_context *c, enum rate half)
{
	double sms = (double)c->e->cluster->gpu.sm_count;
	double rows;

	if (sms <= 0)
		sms = rate_table[RATE_SM_DEFAULT].value;
	rows = (double)c->facts->kind->mixer.heads / c->z->tp * c->z->M / sms;
	return rows / (rows + rate_table[half].value);
}

static double
flash_forward_s(const struct layer_context *c)
{
	double full = flash_rate(c) * rate_table[RATE_FLASH_FORWARD].value;

	return core_flop(c) > 0 ? core_flop(c) / (full * occupancy(c, RATE_FLASH_HALF_ROWS)) : 0;
}

static double
flash_backward_s(const struct layer_context *c)
{
	double full = flash_rate(c) * rate_table[RATE_FLASH_BACKWARD].value;
	double flop = core_flop(c) * rate_table[RATE_FLASH_BACKWARD_FLOPS].value;

	return flop > 0 ? flop / (full * occupancy(c, RATE_FLASH_HALF_ROWS_BACKWARD)) : 0;
}

/* State-space and linear-attention kernels, forward; backward runs them again and twice as much. */
static double
scan_s(const struct layer_context *c)
{
	struct linear_widths w = linear_widths(&c->facts->kind->mixer);

	return linear_bytes(&w) / c->z->tp * c->z->M * rate_table[RATE_SCAN].value / c->bandwidth;
}

static void
gpu_time(const struct layer_context *c, struct layer_time *t)
{
	double moved = mixer_bytes(c) + ffn_bytes(c), permuted = permute_bytes(c);
	double cast_forward, cast_backward;

	for (int i = 0; i < c->facts->n_products; i++) {
		const struct product *p = &c->facts->products[i];
		double seconds = product_s(c, p);

		t->forward[part_of(p->component)] += seconds;
		t->backward[part_of(p->component)] += 2 * seconds;
		t->weight_s += seconds;
	}
	t->forward[TIME_ATTENTION] += flash_forward_s(c) + scan_s(c);
	t->backward[TIME_ATTENTION] += flash_backward_s(c) + 3 * scan_s(c);
	cast_bytes(c, &cast_forward, &cast_backward);
	t->forward[TIME_MEMORY_BOUND] += (moved + permuted + cast_forward) / c->bandwidth;
	t->backward[TIME_MEMORY_BOUND] += (2 * moved + permuted + cast_backward) / c->bandwidth;
}

/* Books `count` transfers, of which `share` may hide behind `window` seconds of work. */
static void
book(const struct layer_context *c, struct layer_time *t, double *exposed, enum time_part part,
    const struct transfer *transfer, double count, double share, double window)
{
	double seconds = count * transfer->seconds;
	double hidden = fmin(share * seconds, window);

	exposed[part] += seconds - hidden;
	t->hidden[part] += hidden;
	for (int l = 0; l < c->z->links.n_levels; l++)
		t->bytes[l] += count * transfer->bytes[l];
}

double
hidden_share(const struct evaluator *e, enum hidden_traffic traffic)
{
	static const enum rate rates[HIDDEN_TRAFFICS] = {[HIDDEN_ALL_TO_ALL] = RATE_HIDDEN_EP,
	    [HIDDEN_TENSOR_PARALLEL] = RATE_HIDDEN_TP,
	    [HIDDEN_DATA_PARALLEL] = RATE_HIDDEN_DP};
	double measured = e->cluster->hidden[traffic];

	return measured >= 0 ? measured : rate_table[rates[traffic]].value;
}

static void
tensor_parallel_time(const struct layer_context *c, struct layer_time *t)
{
	const struct layer_kind *k = c->facts->kind;
	const struct sizes *z = c->z;
	double share =
	    c->s->overlap & OVERLAP_TP ? hidden_share(c->e, HIDDEN_TENSOR_PARALLEL) : 0;
	double blocks = k->mixer.kind != MIXER_NONE;
	struct transfer one;

	if (z->tp > 1) {
		blocks += k->ffn.dense_width > 0 || k->ffn.shared_width > 0;
		one = comm_gather(&z->links, &z->tp_span, 2 * z->M * c->h);
		book(c, t, t->forward, TIME_TENSOR_PARALLEL, &one, 2 * blocks, share, INFINITY);
		book(c, t, t->backward, TIME_TENSOR_PARALLEL, &one, 2 * blocks, share, INFINITY);
	}
	if (z->etp > 1 && k->ffn.experts > 0) {
		one = comm_gather(&z->links, &z->etp_span, 2 * c->rows * c->row_width);
		book(c, t, t->forward, TIME_TENSOR_PARALLEL, &one, 2, share, INFINITY);
		book(c, t, t->backward, TIME_TENSOR_PARALLEL, &one, 2, share, INFINITY);
	}
}

/* Heads are exchanged for tokens before the scan and back behind it (Megatron's Mamba layers). */
static void
linear_context_time(const struct layer_context *c, struct layer_time *t)
{
	struct linear_widths w = linear_widths(&c->facts->kind->mixer);
	struct transfer one = comm_gather(
	    &c->z->links, &c->z->cp_span, 2 * c->z->M * (w.input + w.output) / c->z->tp);

	book(c, t, t->forward, TIME_CONTEXT_PARALLEL, &one, 1, 0, 0);
	book(c, t, t->backward, TIME_CONTEXT_PARALLEL, &one, 1, 0, 0);
}

/* Ring attention: keys and values of the other CP-1 ranks pass by, twice as much backward. */
static void
context_parallel_time(const struct layer_context *c, struct layer_time *t)
{
	const struct mixer *m = &c->facts->kind->mixer;
	const struct sizes *z = c->z;
	double share = rate_table[RATE_HIDDEN_CP].value, heads, width;
	struct transfer one;

	if (z->cp_span.size <= 1 || m->kind == MIXER_NONE)
		return;
	if (m->kind != MIXER_GQA && m->kind != MIXER_MLA) {
		linear_context_time(c, t);
		return;
	}
	heads = m->kind == MIXER_MLA ? (double)m->heads / z->tp
				     : fmax(1, (double)m->kv_heads / z->tp);
	width = m->kind == MIXER_MLA ? (double)(m->nope_dim + m->rope_dim) : (double)m->head_dim;
	one = comm_ring(&z->links, &z->cp_span, 2 * z->M * heads * (width + (double)m->value_dim));
	book(c, t, t->forward, TIME_CONTEXT_PARALLEL, &one, 1, share, t->forward[TIME_ATTENTION]);
	book(c, t, t->backward, TIME_CONTEXT_PARALLEL, &one, 2, share, t->backward[TIME_ATTENTION]);
}

static double
work_of(const double *parts)
{
	return parts[TIME_ATTENTION] + parts[TIME_MLP] + parts[TIME_EXPERTS] +
	    parts[TIME_MEMORY_BOUND];
}

/*
 * In a pair each pass hides the other's all-to-all; alone it hides nothing. With
 * DualPipe all of it hides, but takes SMs from the products.
 */
static void
pair_up(const struct layer_context *c, struct layer_time *t, enum pairing pairing)
{
	double share = pairing == PAIRS_DUALPIPE ? rate_table[RATE_HIDDEN_DUALPIPE].value
	                                         : hidden_share(c->e, HIDDEN_ALL_TO_ALL);
	double forward_s = fmin(share * t->forward[TIME_ALL_TO_ALL], work_of(t->backward));
	double backward_s = fmin(share * t->backward[TIME_ALL_TO_ALL], work_of(t->forward));

	if (pairing == PAIRS_NONE)
		return;
	t->forward[TIME_ALL_TO_ALL] -= forward_s;
	t->backward[TIME_ALL_TO_ALL] -= backward_s;
	t->hidden[TIME_ALL_TO_ALL] += forward_s + backward_s;
	t->alone_forward_s = forward_s;
	t->alone_backward_s = backward_s;
}

static void
all_to_all_time(const struct layer_context *c, struct layer_time *t)
{
	const struct ffn *f = &c->facts->kind->ffn;
	const struct sizes *z = c->z;
	bool fused = c->s->dispatcher == DISPATCH_DEEPEP || c->s->dispatcher == DISPATCH_HYBRIDEP;
	enum pairing pairing = pairing_of(c->s);
	bool hides = pairing == PAIRS_NONE && (c->s->overlap & OVERLAP_EP);
	double share = hides ? hidden_share(c->e, HIDDEN_ALL_TO_ALL) : 0;
	double width = f->latent > 0 ? (double)f->latent : c->h;
	struct dispatch d = {.tokens = z->T, .token_bytes = 2 * width, .experts = f->experts,
	    .top_k = f->top_k, .route_groups = f->route_groups, .top_groups = f->top_groups,
	    .hot = z->hot, .off_node = z->off_node, .deduplicate = fused,
	    .gather = c->s->dispatcher == DISPATCH_ALLGATHER};
	struct transfer combine, dispatch;

	if (f->experts == 0 || z->ep_span.size <= 1)
		return;
	if (c->s->capacity > 0)
		d.tokens *= c->s->capacity / z->hot;
	combine = comm_dispatch(&z->links, &z->ep_span, &d);
	if (fused && z->fp8 > 0)
		d.token_bytes = width * rate_table[RATE_FP8_SENT_BYTES].value;
	dispatch = comm_dispatch(&z->links, &z->ep_span, &d);
	book(c, t, t->forward, TIME_ALL_TO_ALL, &dispatch, 1, share, work_of(t->forward));
	book(c, t, t->forward, TIME_ALL_TO_ALL, &combine, 1, share, work_of(t->forward));
	book(c, t, t->backward, TIME_ALL_TO_ALL, &combine, 2, share, work_of(t->backward));
	pair_up(c, t, pairing);
}

static double
sum_parts(const double *parts)
{
	double sum = 0;

	for (int i = 0; i < TIME_PARTS; i++)
		sum += parts[i];
	return sum;
}

/* Forward launch time of the layer on the host. */
static double
host_s(const struct layer_context *c)
{
	const struct layer_kind *kind = c->facts->kind;
	bool half = kind->mixer.kind == MIXER_NONE || !layer_has_ffn(&kind->ffn);
	double seconds = rate_table[RATE_HOST_DENSE_S].value / (half ? 2 : 1);

	if (kind->ffn.experts > 0)
		seconds += rate_table[RATE_HOST_MOE_S].value;
	if (c->z->fp8 > 0)
		seconds *= rate_table[RATE_HOST_FP8].value;
	if (c->z->graphs == GRAPHS_ON)
		seconds *= rate_table[RATE_HOST_GRAPHS].value;
	if (c->z->graphs == GRAPHS_FULL)
		seconds = 0;
	return seconds;
}

/* The host waits for token counts before it can launch dropless experts. */
static double
gap_s(const struct layer_context *c)
{
	if (c->facts->kind->ffn.experts == 0 || c->s->capacity > 0 || c->z->graphs == GRAPHS_FULL)
		return 0;
	return rate_table[RATE_SYNC_GAP_S].value;
}

static void
host_time(const struct layer_context *c, struct layer_time *t)
{
	double host = host_s(c), gap = gap_s(c);

	t->forward[TIME_HOST] += fmax(0, host - sum_parts(t->forward)) + gap;
	t->backward[TIME_HOST] +=
	    fmax(0, host * rate_table[RATE_HOST_BACKWARD].value - sum_parts(t->backward)) + gap;
}

/* Forward seconds of the modules that are replayed in the backward pass. */
static double
selective_s(const struct layer_context *c, const struct layer_time *t)
{
	const struct layer_kind *k = c->facts->kind;
	const struct mixer *m = &k->mixer;
	const struct sizes *z = c->z;
	unsigned modules = c->s->recompute.modules;
	double seconds = 0, h_bytes = 4 * z->T * c->h, heads = (double)m->heads / z->tp;

	if (modules & MODULE_LAYERNORM)
		seconds += 2 * h_bytes / c->bandwidth;
	if (modules & MODULE_CORE_ATTN)
		seconds += flash_forward_s(c);
	if (modules & MODULE_MLA_UP_PROJ && m->kind == MIXER_MLA)
		seconds += matmul_s(c, c->dense_rate, z->M,
		               heads * (double)(m->nope_dim + m->rope_dim), (double)m->q_rank, 1) +
		    matmul_s(c, c->dense_rate, z->M, heads * (double)(m->nope_dim + m->value_dim),
		        (double)m->kv_rank, 1);
	if (k->ffn.experts == 0)
		return seconds + (modules & MODULE_MLP ? t->forward[TIME_MLP] : 0);
	if (modules & MODULE_MOE)
		return seconds + t->forward[TIME_MLP] + t->forward[TIME_EXPERTS] +
		    t->forward[TIME_ALL_TO_ALL] + (ffn_bytes(c) + permute_bytes(c)) / c->bandwidth +
		    t->forward[TIME_HOST];
	if (modules & MODULE_MOE_ACT)
		seconds += 6 * c->rows * (double)k->ffn.expert_width / z->etp / c->bandwidth;
	if (modules & MODULE_SHARED_EXPERTS)
		seconds += t->forward[TIME_MLP];
	return seconds;
}

static void
finish(struct layer_time *t)
{
	t->forward_s = sum_parts(t->forward);
	t->backward_s = sum_parts(t->backward);
}

void
layer_time(const struct evaluator *e, int kind, const struct strategy *s, const struct sizes *z,
    struct layer_time *t)
{
	const struct ffn *f = &e->kinds[kind].kind->ffn;
	struct layer_context c = {.e = e, .facts = &e->kinds[kind], .s = s, .z = z,
	    .h = (double)e->model->hidden,
	    .dense_rate = gemm_flops(&e->cluster->gpu, s->precision),
	    .grouped_rate = grouped_flops(&e->cluster->gpu, s->precision),
	    .bandwidth = memory_Bps(&e->cluster->gpu)};

	c.row_width = f->latent > 0 ? (double)f->latent : c.h;
	memset(t, 0, sizeof(*t));
	if (f->experts > 0) {
		double rows = z->T * (double)f->top_k;

		c.rows = z->etp * (s->capacity > 0 ? rows * s->capacity : rows * z->hot);
	}
	gpu_time(&c, t);
	tensor_parallel_time(&c, t);
	context_parallel_time(&c, t);
	all_to_all_time(&c, t);
	host_time(&c, t);
	t->recompute_s = sum_parts(t->forward);
	if (s->recompute.kind == RECOMPUTE_SELECTIVE)
		t->backward[TIME_RECOMPUTE] += selective_s(&c, t);
	correct_layer(e, s, t);
	finish(t);
}

/* Head product in bf16 whatever the precision, and two passes over what the loss keeps. */
void
head_time(const struct evaluator *e, const struct strategy *s, const struct sizes *z,
    struct layer_time *t)
{
	struct layer_context c = {.e = e, .s = s, .z = z, .h = (double)e->model->hidden,
	    .bandwidth = memory_Bps(&e->cluster->gpu)};
	double copies = e->has_mtp ? 1 + (double)e->model->mtp_layers : 1;
	double rate = gemm_flops(&e->cluster->gpu, PRECISION_BF16);
	double product, projection = 0, loss = 2 * logits_bytes(e, s, z) / c.bandwidth;

	memset(t, 0, sizeof(*t));
	product = matmul_s(&c, rate, z->M, (double)e->model->vocab / z->tp, c.h, 1);
	if (e->has_mtp)
		projection = (copies - 1) * matmul_s(&c, rate, z->M, c.h / z->tp, 2 * c.h, 1);
	t->forward[TIME_HEAD] = copies * (product + loss / 2) + projection;
	t->backward[TIME_HEAD] = copies * (2 * product + loss / 2) + 2 * projection;
	t->weight_s = copies * product + projection;
	if (z->tp > 1) {
		struct transfer one = comm_gather(&z->links, &z->tp_span, 2 * z->M * c.h);

		book(&c, t, t->forward, TIME_TENSOR_PARALLEL, &one, copies, 0, 0);
		book(&c, t, t->backward, TIME_TENSOR_PARALLEL, &one, copies, 0, 0);
	}
	correct_layer(e, s, t);
	finish(t);
}
