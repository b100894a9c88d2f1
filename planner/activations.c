/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What does a layer keep of a micro-batch until its backward pass?
 *
 * Flash attention, fused SwiGLU and norms; every linear keeps its input. Bytes,
 * bf16 unless said. M = b*s/CP tokens seen by matrices whose width is already
 * divided (heads, FFN width, vocabulary), T = M/TP tokens of hidden-size tensors
 * (sequence parallel), R rows of permuted tokens on the fullest expert rank:
 *     GQA    2T h + 2T h + 2M(2 a d + 2 a_kv d) + 4M a
 *     MLA    2T h + 2T h + 2T(2 q_l + 2 k_l) + 2M a(2(d_n+d_r) + 2 d_v) + 4M a
 *     linear 2T h + 2T h + 2M(in + second + 2 out), widths of linear_mixer.c
 *     dense  2T h + 2T h + 2M 3f
 *     MoE    2T h + 2T h + R(2h + 6 f_e) + 8 E T + 2M 3 f_s
 *     head   2T h and, a logit, 4 fused, 13 compiled, 16 eager (8 in Megatron)
 * fp8: linear inputs take one byte, those of column-parallel linears are kept
 * after the gather (M h); what the attention core, SwiGLU and norms keep stays bf16.
 * Sources: leaf modules of MooreThreads/SimuMax, NVIDIA/Megatron-LM layer code;
 * checked against measured allocator peaks. DeepSeek-V3's MoE layer at T = 4096
 * is 457,216 bytes a token, Mixtral-8x7B's 241,856.
 * Recompute modules are Megatron's; what each drops stands in its row, and what
 * its fine-grained offloading can move: inputs of norms (not under CUDA graphs),
 * of projections, of the attention core, of fc1 and of the experts' activation.
 * Ignored: dropout masks, rotary tables, allocator rounding.
 */
#include <math.h>

#include "planner/evaluator.h"
#include "planner/linear_mixer.h"

/* One kept tensor: its bytes and the modules that drop it, and whether it can go to the host. */
enum { TO_HOST = 1 << 30, NORM_TO_HOST = 1 << 29 };

struct kept {
	double bytes;
	unsigned dropped_by;
};

enum { KEPT_MAX = 24 };
struct kept_list {
	int n;
	struct kept rows[KEPT_MAX];
};

static void
keep(struct kept_list *list, double bytes, unsigned dropped_by)
{
	list->rows[list->n++] = (struct kept){bytes, dropped_by};
}

/* Input of a column-parallel linear: a rank keeps its own part, gathers again for the backward. */
static double
column_input(const struct sizes *z, double h)
{
	return (z->fp8 > 0 ? 1 : 2) * z->T * h;
}

/* What fp8 adds for a row-parallel linear whose input somebody else keeps in bf16. */
static double
row_input_copy(const struct sizes *z, double width)
{
	return z->fp8 * z->M * width;
}

static void
keep_gqa(struct kept_list *list, const struct mixer *m, const struct sizes *z, double h)
{
	double a = (double)m->heads / z->tp, kv = fmax(1, (double)m->kv_heads / z->tp);
	double q = a * (double)m->head_dim, k = kv * (double)m->head_dim;
	double v = kv * (double)m->value_dim, out = a * (double)m->value_dim;

	keep(list, 2 * z->T * h, NORM_TO_HOST);                     /* norm in */
	keep(list, column_input(z, h), MODULE_LAYERNORM | TO_HOST); /* qkv in */
	keep(list, 2 * z->M * (q + k + v + out), TO_HOST);          /* core: q, k, v, out */
	keep(list, 4 * z->M * a, 0);                                /* log-sum-exp */
	keep(list, row_input_copy(z, out), 0);
	if (m->qk_norm != QK_NORM_NONE)
		keep(list, 2 * z->M * (q + k), MODULE_LAYERNORM);   /* q and k before their norm */
	if (m->out_gate)
		keep(list, 2 * z->M * 2 * out, 0);                  /* gate, gated output */
}

static void
keep_mla(struct kept_list *list, const struct mixer *m, const struct sizes *z, double h)
{
	double a = (double)m->heads / z->tp;
	double qk = a * (double)(m->nope_dim + m->rope_dim), v = a * (double)m->value_dim;
	double latent = (double)(m->q_rank + m->kv_rank);

	keep(list, 2 * z->T * h, NORM_TO_HOST);                        /* norm in */
	keep(list, column_input(z, h), MODULE_LAYERNORM | TO_HOST);    /* down projections in */
	keep(list, 2 * z->T * latent, 0);                              /* latent norms in */
	keep(list, column_input(z, latent), MODULE_MLA_UP_PROJ);       /* up projections in */
	keep(list, 2 * z->M * (2 * qk + v), MODULE_MLA_UP_PROJ | TO_HOST); /* q, k, v */
	keep(list, 2 * z->M * v, TO_HOST);                             /* core out, o_proj in */
	keep(list, 4 * z->M * a, 0);                                   /* log-sum-exp */
	keep(list, row_input_copy(z, v), 0);
}

/* The scan starts again from what the in-projection wrote; its states are not kept. */
static void
keep_linear(struct kept_list *list, const struct mixer *m, const struct sizes *z, double h)
{
	struct linear_widths w = linear_widths(m);

	keep(list, 2 * z->T * h, 0);                                 /* norm in */
	keep(list, column_input(z, h), MODULE_LAYERNORM);            /* in-projections in */
	keep(list, 2 * z->M * w.input / z->tp, 0);                   /* scan in, gate */
	keep(list, 2 * z->M * w.second / z->tp, 0);
	keep(list, 2 * z->M * 2 * w.output / z->tp, 0);            /* scan out, out-projection in */
	keep(list, row_input_copy(z, w.output / z->tp), 0);
}

static void
keep_dense(struct kept_list *list, const struct ffn *f, const struct sizes *z, double h)
{
	double width = (double)f->dense_width / z->tp;
	double gates = f->ungated ? 1 : 2, input = z->fp8 > 0 ? 1 : 2;

	keep(list, 2 * z->T * h, NORM_TO_HOST);                                /* norm in */
	keep(list, column_input(z, h), MODULE_LAYERNORM | MODULE_MLP);         /* fc1 in */
	keep(list, 2 * z->M * gates * width, MODULE_MLP);                      /* gate, up */
	keep(list, input * z->M * width, MODULE_MLP);                          /* product, fc2 in */
}

/* rows: permuted tokens that enter fc1 on the rank, ETP gather included. */
static void
keep_moe(struct kept_list *list, const struct ffn *f, const struct sizes *z, double h, double rows)
{
	double width = (double)f->expert_width / z->etp, shared = (double)f->shared_width / z->tp;
	double gates = f->ungated ? 1 : 2, input = z->fp8 > 0 ? 1 : 2;
	double entering = f->latent > 0 ? (double)f->latent : h;

	if (f->latent > 0)
		keep(list, (2 + input) * z->T * entering, MODULE_MOE);  /* latent out, back */
	if (f->dense_width == 0)
		keep(list, 2 * z->T * h, NORM_TO_HOST);                 /* norm in */
	keep(list, 2 * z->T * h, MODULE_LAYERNORM);                /* router in, shared expert in */
	keep(list, 8 * (double)f->experts * z->T, MODULE_MOE);          /* router probabilities */
	keep(list, rows * input * entering, MODULE_MOE | TO_HOST);      /* fc1 in */
	keep(list, rows * 2 * gates * width, MODULE_MOE | TO_HOST);     /* gate, up */
	keep(list, rows * input * width, MODULE_MOE | MODULE_MOE_ACT);  /* product, fc2 in */
	keep(list, z->M * (2 * gates + input) * shared, MODULE_MOE | MODULE_SHARED_EXPERTS);
}

/* Rows on the fullest rank that holds `load` times the mean. */
static double
expert_rows(const struct ffn *f, const struct strategy *s, const struct sizes *z, double load)
{
	double tokens = z->T * (double)f->top_k, experts = (double)f->experts;

	if (s->capacity > 0) /* padded: every expert has room for its capacity, full or not */
		return experts * ceil(tokens / experts * s->capacity) * z->etp;
	return tokens * load * z->etp;
}

/*
 * Beyond the replayed layer while its backward runs: gradients of the widest
 * tensors. The all-to-all dispatcher holds two more copies of the permuted rows
 * than fused ones (NVIDIA/Megatron-LM moe_perf: 0.9 GiB at h 7168, 32,768 rows),
 * in fp8 as much again.
 */
static void
transients(struct activations *act, const struct layer_kind *kind, const struct strategy *s,
    const struct sizes *z, double h, double rows)
{
	double input_gradient = 2 * z->T * h;
	double ffn = 2 * z->M * 2 * (double)kind->ffn.dense_width / z->tp;
	double experts = 0;

	if (kind->ffn.experts > 0) {
		double width = kind->ffn.latent > 0 ? (double)kind->ffn.latent : h;

		experts = rows * 2 * (width + 2 * (double)kind->ffn.expert_width / z->etp);
		if (s->dispatcher == DISPATCH_ALLTOALL && s->ep > 1)
			act->moe_buffers = rows * 2 * width * (z->fp8 > 0 ? 2 : 1);
	}
	act->transient = input_gradient + fmax(ffn, experts) + act->moe_buffers;
}

/* Which rows go to the host. */
static unsigned
moved_rows(const struct strategy *s)
{
	if (s->offload != OFFLOAD_ACTIVATIONS)
		return 0;
	return s->cuda_graphs ? TO_HOST : TO_HOST | NORM_TO_HOST;
}

struct activations
layer_activations(const struct evaluator *e, int k, const struct strategy *s,
    const struct sizes *z, double load)
{
	const struct layer_kind *kind = e->kinds[k].kind;
	struct kept_list list = {0};
	struct activations act = {0};
	double h = (double)e->model->hidden;
	double rows = kind->ffn.experts > 0 ? expert_rows(&kind->ffn, s, z, load) : 0;
	unsigned dropped = s->recompute.kind == RECOMPUTE_SELECTIVE ? s->recompute.modules : 0;

	if (kind->mixer.kind == MIXER_GQA)
		keep_gqa(&list, &kind->mixer, z, h);
	else if (kind->mixer.kind == MIXER_MLA)
		keep_mla(&list, &kind->mixer, z, h);
	else if (kind->mixer.kind != MIXER_NONE)
		keep_linear(&list, &kind->mixer, z, h);
	if (kind->ffn.dense_width > 0)
		keep_dense(&list, &kind->ffn, z, h);
	if (kind->ffn.experts > 0)
		keep_moe(&list, &kind->ffn, z, h, rows);
	for (int i = 0; i < list.n; i++) {
		const struct kept *row = &list.rows[i];
		double there = row->dropped_by & moved_rows(s) ? s->offload_fraction : 0;

		act.full += row->bytes;
		if (row->dropped_by & dropped)
			continue;
		act.kept += (1 - there) * row->bytes;
		act.offloaded += there * row->bytes;
	}
	transients(&act, kind, s, z, h, rows);
	act.transient += act.offloaded; /* of the layer before, on its way */
	return act;
}

double
head_activations(const struct evaluator *e, const struct sizes *z)
{
	return 2 * z->T * (double)e->model->hidden;
}

double
logits_bytes(const struct evaluator *e, const struct strategy *s, const struct sizes *z)
{
	static const enum rate rates[] = {[LOSS_FUSED] = RATE_LOGIT_FUSED_BYTES,
	    [LOSS_COMPILED] = RATE_LOGIT_COMPILED_BYTES, [LOSS_EAGER] = RATE_LOGIT_EAGER_BYTES};
	/* Megatron's own loss is written by hand, fused or not: no autograd keeps copies. */
	bool by_hand = s->framework == FRAMEWORK_MEGATRON && s->loss == LOSS_EAGER;
	enum rate rate = by_hand ? RATE_LOGIT_UNFUSED_BYTES : rates[s->loss];

	return rate_table[rate].value * z->M * (double)e->model->vocab / z->tp;
}
