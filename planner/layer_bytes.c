/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What do the kernels of a layer that multiply nothing read and write?
 *
 * Norms, residuals, rotary embedding, SwiGLU, router, biases of experts, permutation, fp8
 * casts: bytes of the tensors a kernel reads and writes, one kernel a line of the sums below.
 * Sources: AMD-AGI/Primus projection, the kernels of NVIDIA/Megatron-LM and
 * NVIDIA/TransformerEngine.
 * Ignored: what stays in a cache between two kernels.
 */
#include <math.h>

#include "planner/layer_private.h"

/* Bytes that elementwise kernels read and write in the forward pass. */
double
mixer_bytes(const struct layer_context *c)
{
	const struct mixer *m = &c->facts->kind->mixer;
	const struct sizes *z = c->z;
	double qk =
	    (double)(m->kind == MIXER_MLA ? m->nope_dim + m->rope_dim : m->head_dim);
	double rotated = ((double)m->heads + fmax((double)m->kv_heads, z->tp)) / z->tp * qk;
	double passes = m->qk_norm == QK_NORM_NONE ? 1 : 2;

	if (m->kind == MIXER_NONE)
		return 0;
	if (m->kind != MIXER_GQA && m->kind != MIXER_MLA)
		return z->T * c->h * (4 + 6);
	/* norm in and out, residual in, in, out; rotary (and q/k norm) in and out */
	return z->T * c->h * (4 + 6) + passes * 4 * z->M * rotated;
}

/*
 * What is left of the bytes between an expert's products: with block scales and a graph of the
 * whole iteration the MLP is one kernel, with SwiGLU and quantization inside.
 */
static double
unfused_share(const struct strategy *s)
{
	bool blocks = s->precision == PRECISION_MXFP8 || s->precision == PRECISION_NVFP4;
	bool fuses = blocks && s->cuda_graphs == GRAPHS_FULL;

	return fuses ? 1 - rate_table[RATE_FUSED_EXPERTS].value : 1;
}

/* Nemotron-H has blocks that are a mixer or an FFN; other layers are both. */
bool
layer_has_ffn(const struct ffn *f)
{
	return f->experts > 0 || f->dense_width > 0;
}

/*
 * Biases of experts behind each product: a bias is scaled by the probability of every row
 * (written), added (two read, one written), and the parts are joined (NVIDIA/Megatron-LM
 * experts.py _apply_bias).
 */
static double
bias_bytes(const struct layer_context *c)
{
	const struct ffn *f = &c->facts->kind->ffn;
	double first = (f->ungated ? 1 : 2) * (double)f->expert_width / c->z->etp;

	return 2 * 6 * c->rows * (first + c->row_width);
}

double
ffn_bytes(const struct layer_context *c)
{
	const struct ffn *f = &c->facts->kind->ffn;
	const struct sizes *z = c->z;
	double tensors = f->ungated ? 2 : 3;
	double bytes = z->T * c->h * (4 + 6);

	if (!layer_has_ffn(f))
		return 0;
	bytes += 2 * tensors * z->M * (double)(f->dense_width + f->shared_width) / z->tp;
	bytes += unfused_share(c->s) * (2 * tensors * c->rows * (double)f->expert_width / z->etp);
	if (f->expert_bias)
		bytes += unfused_share(c->s) * bias_bytes(c);
	bytes += 16 * z->T * (double)f->experts; /* fp32 logits, softmax, top-k, map: four passes */
	return bytes;
}

/* Rows that arrive at a rank: a token once for all its experts there, or once for each. */
static double
arriving_rows(const struct layer_context *c)
{
	const struct ffn *f = &c->facts->kind->ffn;
	double copies = expected_bins(f->experts, f->top_k, c->z->ep);

	return c->rows * fmin(1, copies / (double)f->top_k);
}

/*
 * Gather into expert order and back, each once a direction. All-to-all sorts before it sends,
 * and again when a rank holds several experts; fused dispatchers copy what arrived.
 */
double
permute_bytes(const struct layer_context *c)
{
	const struct ffn *f = &c->facts->kind->ffn;
	bool sorts = c->z->ep > 1 && (double)f->experts > c->z->ep;
	bool fused = c->s->dispatcher == DISPATCH_DEEPEP || c->s->dispatcher == DISPATCH_HYBRIDEP;
	double first = fused ? 0 : c->z->T * (double)(1 + f->top_k);
	double second = fused ? arriving_rows(c) + c->rows : sorts ? 2 * c->rows : 0;

	if (f->experts == 0)
		return 0;
	return 2 * 2 * c->row_width * (first + second) * rate_table[RATE_PERMUTE].value;
}

/* Does an earlier product read the same tensor? Projections of one input are one matrix. */
static bool
shares_input(const struct kind_facts *k, int product)
{
	const struct product *p = &k->products[product];

	for (int i = 0; i < product; i++)
		if (k->products[i].component == p->component && k->products[i].cols == p->cols &&
		    !k->products[i].split_cols && !p->split_cols)
			return true;
	return false;
}

/* What fp8 casts read and write: inputs of linears forward, gradients of their outputs backward. */
void
cast_bytes(const struct layer_context *c, double *forward, double *backward)
{
	const struct kind_facts *k = c->facts;
	double unfused = unfused_share(c->s);

	*forward = *backward = 0;
	for (int i = 0; c->z->fp8 > 0 && i < k->n_products; i++) {
		const struct product *p = &k->products[i];
		bool expert = p->shard == SHARD_EXPERT;
		double parts = expert ? c->z->etp : p->shard == SHARD_KV ? c->z->kv_tp : c->z->tp;
		double tokens = expert ? c->rows : p->shard == SHARD_NONE ? c->z->T : c->z->M;
		double bytes = tokens * rate_table[RATE_FP8_CAST_BYTES].value;

		if (p->component == COMPONENT_ROUTER)
			continue;
		if (p->shard == SHARD_NONE)
			parts = 1;
		/* fused: only what enters the pair of products from outside is cast on its own */
		if (!shares_input(k, i))
			*forward += (expert && p->split_cols ? unfused : 1) *
			    (bytes * p->cols / (p->split_cols ? parts : 1));
		*backward += (expert && !p->split_cols ? unfused : 1) *
		    (bytes * p->rows / (p->split_cols ? 1 : parts));
	}
}
