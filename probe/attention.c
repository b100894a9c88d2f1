/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The stand-in for attention: what it computes is simple, what it costs is attention.
 *
 *   O = a Q K^T V for each head and sequence, a = 1 / (sqrt(d) keys), no softmax, no mask;
 * every stride-th key of each block is seen (shape.c). Scores are computed again in the backward
 * pass, as flash attention does (arXiv 2205.14135). Context parallelism gathers keys and values of
 * all blocks and reduces their gradients: the bytes of a ring, without its overlap.
 * MLA: both down projections run on the rank's own tokens; its norms are left out.
 */
#include "probe/stage.h"

static int
cp_collective(
    struct stage *stage, enum collective_kind kind, const void *send, void *recv, int64_t n)
{
	struct collective c = {.kind = kind,
	    .comm = stage->s->groups[GROUP_CP].comm,
	    .send = send,
	    .recv = recv,
	    .count = n};

	return session_collective(stage->s, PART_CONTEXT_PARALLEL, group_names[GROUP_CP], &c);
}

/* Queries, keys and values from the latents; queries from n1 where they have none. */
static int
up_mla(struct stage *stage, int64_t layer, const struct dims *d, struct kept *kept)
{
	struct linear q = linear_of(stage, layer, d->q_rank ? "q_up" : "q", d->rows);
	struct linear up = linear_of(stage, layer, "kv_up", d->rows), k = up, v = up;
	const void *x = d->q_rank
			    ? kept->latent
			    : rows_gather(stage, kept->n1, d->tokens, d->h, stage->scratch.full);

	if (!x)
		return -1;
	k.out = d->k_width; /* rows of kv_up: all heads' keys, then all heads' values */
	v.out = d->v_width;
	v.w = act_at(stage, up.w, d->k_width * up.in);
	if (linear_forward(stage, &q, x, d->q_rank ? d->latent : d->h, kept->q, d->q_width, 0) !=
		0 ||
	    linear_forward(stage, &k, act_at(stage, kept->latent, d->q_rank), d->latent, kept->k,
		d->k_width, 0) != 0)
		return -1;
	return linear_forward(
	    stage, &v, act_at(stage, kept->latent, d->q_rank), d->latent, kept->v, d->v_width, 0);
}

static int
project_mla(struct stage *stage, int64_t layer, const struct dims *d, struct kept *kept)
{
	struct linear q_down = linear_of(stage, layer, "q_down", d->tokens);
	struct linear kv_down = linear_of(stage, layer, "kv_down", d->tokens);
	void *own = stage->s->groups[GROUP_TP].comm ? stage->scratch.latent : kept->latent;

	if (d->q_rank && linear_forward(stage, &q_down, kept->n1, d->h, own, d->latent, 0) != 0)
		return -1;
	if (linear_forward(stage, &kv_down, kept->n1, d->h, act_at(stage, own, d->q_rank),
		d->latent, 0) != 0 ||
	    !rows_gather(stage, own, d->tokens, d->latent, kept->latent))
		return -1;
	return up_mla(stage, layer, d, kept);
}

static int
project_gqa(struct stage *stage, int64_t layer, const struct dims *d, struct kept *kept)
{
	struct linear q = linear_of(stage, layer, "q", d->rows);
	struct linear k = linear_of(stage, layer, "k", d->rows);
	struct linear v = linear_of(stage, layer, "v", d->rows);
	const void *x = rows_gather(stage, kept->n1, d->tokens, d->h, stage->scratch.full);

	if (!v.w) /* values are the keys */
		v = k;
	q.out = d->q_width; /* without an output gate's half */
	if (!x || linear_forward(stage, &q, x, d->h, kept->q, d->q_width, 0) != 0 ||
	    linear_forward(stage, &k, x, d->h, kept->k, d->k_width, 0) != 0)
		return -1;
	return linear_forward(stage, &v, x, d->h, kept->v, d->v_width, 0);
}

/* One block of scores: queries of a sequence and head, seen keys of one context rank. */
struct block {
	int64_t queries, keys;
	int64_t q, k, v, o; /* first elements */
};

static struct block
block_of(const struct dims *d, int64_t seq, int64_t head, int64_t context)
{
	int64_t row = seq * d->seq_rows, far = context * d->rows + row;
	int64_t kv_head = head / (d->heads / d->kv_heads);

	return (struct block){.queries = d->seq_rows,
	    .keys = (d->seq_rows + d->stride - 1) / d->stride,
	    .q = row * d->q_width + head * d->qk,
	    .k = far * d->k_width + kv_head * d->key_dim,
	    .v = far * d->v_width + kv_head * d->v,
	    .o = row * d->o_width + head * d->v};
}

static int
product(struct stage *stage, const struct gemm *gemm)
{
	struct backend *b = &stage->s->backend;

	return kernel_done(stage, b->ops->gemm(b, gemm), "attention");
}

static int
scores_of(struct stage *stage, const struct dims *d, const struct block *b, const void *q,
    const void *k, void *scores)
{
	struct gemm gemm = {.transpose_b = true,
	    .m = b->queries,
	    .n = b->keys,
	    .k = d->key_dim,
	    .a = act_at(stage, q, b->q),
	    .lda = d->q_width,
	    .b = act_at(stage, k, b->k),
	    .ldb = d->k_width * d->stride,
	    .c = scores,
	    .ldc = b->keys,
	    .alpha = (float)d->scale};

	return product(stage, &gemm);
}

static int
core_block(struct stage *stage, const struct dims *d, const struct block *b, struct kept *kept,
    const void *k, const void *v, bool first)
{
	struct gemm sum = {.m = b->queries,
	    .n = d->v,
	    .k = b->keys,
	    .a = stage->scratch.scores,
	    .lda = b->keys,
	    .b = act_at(stage, v, b->v),
	    .ldb = d->v_width * d->stride,
	    .c = act_at(stage, kept->o, b->o),
	    .ldc = d->o_width,
	    .alpha = 1,
	    .beta = first ? 0 : 1};

	if (scores_of(stage, d, b, kept->q, k, stage->scratch.scores) != 0)
		return -1;
	return product(stage, &sum);
}

typedef int block_fn(struct stage *stage, const struct dims *d, const struct block *b,
    struct kept *kept, const void *k, const void *v, bool first);

static int
each_block(struct stage *stage, const struct dims *d, struct kept *kept, const void *k,
    const void *v, block_fn *run)
{
	int64_t seq, head, context, contexts = stage->s->groups[GROUP_CP].size;

	for (seq = 0; seq < d->seqs; seq++)
		for (head = 0; head < d->heads; head++)
			for (context = 0; context < contexts; context++) {
				struct block b = block_of(d, seq, head, context);

				if (run(stage, d, &b, kept, k, v, context == 0) != 0)
					return -1;
			}
	return 0;
}

static int
all_keys(struct stage *stage, const struct dims *d, const struct kept *kept, const void **k,
    const void **v)
{
	*k = kept->k;
	*v = kept->v;
	if (!stage->s->groups[GROUP_CP].comm)
		return 0;
	*k = stage->scratch.k_all;
	*v = stage->scratch.v_all;
	if (cp_collective(stage, COLLECTIVE_ALL_GATHER, kept->k, stage->scratch.k_all,
		d->rows * d->k_width) != 0)
		return -1;
	return cp_collective(
	    stage, COLLECTIVE_ALL_GATHER, kept->v, stage->scratch.v_all, d->rows * d->v_width);
}

int
attention_replay(struct stage *stage, int64_t layer, const struct dims *d, struct kept *kept)
{
	const void *k, *v;
	int result = 0;

	part_begin(stage->s, PART_ATTENTION, STREAM_COMPUTE);
	if (d->mla && stage->replayed & MODULE_MLA_UP_PROJ)
		result = up_mla(stage, layer, d, kept);
	if (result == 0 && stage->replayed & MODULE_CORE_ATTN)
		result = all_keys(stage, d, kept, &k, &v) == 0
			     ? each_block(stage, d, kept, k, v, core_block)
			     : -1;
	part_end(stage->s, STREAM_COMPUTE);
	return result;
}

int
attention_forward(struct stage *stage, int64_t layer, const struct dims *d, struct kept *kept)
{
	struct linear out = linear_of(stage, layer, "o", d->rows);
	void *partial = rows_partial(stage, kept->x1, stage->scratch.part);
	struct session *s = stage->s;
	const void *k, *v;
	int result;

	part_begin(s, PART_ATTENTION, STREAM_COMPUTE);
	result = d->mla ? project_mla(stage, layer, d, kept) : project_gqa(stage, layer, d, kept);
	part_end(s, STREAM_COMPUTE);
	if (result != 0 || all_keys(stage, d, kept, &k, &v) != 0)
		return -1;
	part_begin(s, PART_ATTENTION, STREAM_COMPUTE);
	result = each_block(stage, d, kept, k, v, core_block);
	if (result == 0)
		result = linear_forward(stage, &out, kept->o, d->o_width, partial, d->h, 0);
	part_end(s, STREAM_COMPUTE);
	return result == 0 ? rows_reduce(stage, partial, d->tokens, d->h, kept->x1) : -1;
}

/* --- backward ----------------------------------------------------------------------------- */

/* dS = dO V^T; dV += S^T dO; dQ += a dS K; dK += a dS^T Q. */
static int
core_back_block(struct stage *stage, const struct dims *d, const struct block *b, struct kept *kept,
    const void *k, const void *v, bool first)
{
	struct scratch *t = &stage->scratch;
	bool all = stage->s->groups[GROUP_CP].comm != NULL;
	void *dk = all ? t->dk_all : t->dk, *dv = all ? t->dv_all : t->dv;
	const void *dout = act_at(stage, t->attention, b->o);
	struct gemm ds = {.transpose_b = true,
	    .m = b->queries,
	    .n = b->keys,
	    .k = d->v,
	    .a = dout,
	    .lda = d->o_width,
	    .b = act_at(stage, v, b->v),
	    .ldb = d->v_width * d->stride,
	    .c = t->dscores,
	    .ldc = b->keys,
	    .alpha = 1};
	struct gemm dvs = {.transpose_a = true,
	    .m = b->keys,
	    .n = d->v,
	    .k = b->queries,
	    .a = t->scores,
	    .lda = b->keys,
	    .b = dout,
	    .ldb = d->o_width,
	    .c = act_at(stage, dv, b->v),
	    .ldc = d->v_width * d->stride,
	    .alpha = 1,
	    .beta = 1};
	struct gemm dqs = {.m = b->queries,
	    .n = d->key_dim,
	    .k = b->keys,
	    .a = t->dscores,
	    .lda = b->keys,
	    .b = act_at(stage, k, b->k),
	    .ldb = d->k_width * d->stride,
	    .c = act_at(stage, t->dq, b->q),
	    .ldc = d->q_width,
	    .alpha = (float)d->scale,
	    .beta = 1};
	struct gemm dks = {.transpose_a = true,
	    .m = b->keys,
	    .n = d->key_dim,
	    .k = b->queries,
	    .a = t->dscores,
	    .lda = b->keys,
	    .b = act_at(stage, kept->q, b->q),
	    .ldb = d->q_width,
	    .c = act_at(stage, dk, b->k),
	    .ldc = d->k_width * d->stride,
	    .alpha = (float)d->scale,
	    .beta = 1};

	(void)first;
	if (scores_of(stage, d, b, kept->q, k, t->scores) != 0 || product(stage, &ds) != 0 ||
	    product(stage, &dvs) != 0 || product(stage, &dqs) != 0)
		return -1;
	return product(stage, &dks);
}

static int
clear(struct stage *stage, void *memory, int64_t elements)
{
	struct backend *b = &stage->s->backend;

	return kernel_done(
	    stage, b->ops->fill(b, memory, 0, (size_t)elements * b->ops->act_bytes), "clearing");
}

static int
core_back(struct stage *stage, const struct dims *d, struct kept *kept)
{
	struct scratch *t = &stage->scratch;
	int64_t contexts = stage->s->groups[GROUP_CP].size;
	bool all = stage->s->groups[GROUP_CP].comm != NULL;
	const void *k, *v;

	if (all_keys(stage, d, kept, &k, &v) != 0 ||
	    clear(stage, t->dq, d->rows * d->q_width) != 0 ||
	    clear(stage, all ? t->dk_all : t->dk, contexts * d->rows * d->k_width) != 0 ||
	    clear(stage, all ? t->dv_all : t->dv, contexts * d->rows * d->v_width) != 0 ||
	    each_block(stage, d, kept, k, v, core_back_block) != 0)
		return -1;
	if (!all)
		return 0;
	if (cp_collective(
		stage, COLLECTIVE_REDUCE_SCATTER, t->dk_all, t->dk, d->rows * d->k_width) != 0)
		return -1;
	return cp_collective(
	    stage, COLLECTIVE_REDUCE_SCATTER, t->dv_all, t->dv, d->rows * d->v_width);
}

/* What the projections gave: its gradients, which stay until the weights have had theirs. */
struct projected {
	void *dq, *dk, *dv, *dlatent;
};

static struct projected
projected_of(const struct stage *stage, const struct kept *kept)
{
	const struct scratch *t = &stage->scratch;

	if (stage->apart)
		return (struct projected){kept->q, kept->k, kept->v, kept->dlatent};
	return (struct projected){t->dq, t->dk, t->dv, t->latent};
}

static void
swap(void **a, void **b)
{
	void *was = *a;

	*a = *b;
	*b = was;
}

/* Queries, keys and values are used up: their room becomes scratch, and their gradients stay. */
static void
keep_projected(struct stage *stage, struct kept *kept)
{
	struct scratch *t = &stage->scratch;

	if (!stage->apart)
		return;
	swap(&kept->q, &t->dq);
	swap(&kept->k, &t->dk);
	swap(&kept->v, &t->dv);
}

struct projections {
	struct linear q, k, v;
};

static struct projections
gqa_of(struct stage *stage, int64_t layer, const struct dims *d)
{
	struct projections p = {linear_of(stage, layer, "q", d->rows),
	    linear_of(stage, layer, "k", d->rows), linear_of(stage, layer, "v", d->rows)};

	if (!p.v.w)
		p.v = p.k;
	p.q.out = d->q_width;
	return p;
}

static int
project_gqa_back(
    struct stage *stage, int64_t layer, const struct dims *d, struct kept *kept, void *dn1)
{
	struct projections l = gqa_of(stage, layer, d);
	struct projected p = projected_of(stage, kept);
	void *partial = rows_partial(stage, dn1, stage->scratch.part);

	if (linear_back_input(stage, &l.q, p.dq, d->q_width, partial, d->h, 0) != 0 ||
	    linear_back_input(stage, &l.k, p.dk, d->k_width, partial, d->h, 1) != 0 ||
	    linear_back_input(stage, &l.v, p.dv, d->v_width, partial, d->h, 1) != 0)
		return -1;
	return rows_reduce(stage, partial, d->tokens, d->h, dn1);
}

static int
project_gqa_weights(struct stage *stage, int64_t layer, const struct dims *d, struct kept *kept)
{
	struct projections l = gqa_of(stage, layer, d);
	struct projected p = projected_of(stage, kept);
	const void *x = rows_gather(stage, kept->n1, d->tokens, d->h, stage->scratch.full);

	if (!x || linear_back_weight(stage, &l.q, p.dq, d->q_width, x, d->h) != 0 ||
	    linear_back_weight(stage, &l.k, p.dk, d->k_width, x, d->h) != 0)
		return -1;
	return linear_back_weight(stage, &l.v, p.dv, d->v_width, x, d->h);
}

/* Up from the latents. */
static struct projections
mla_of(struct stage *stage, int64_t layer, const struct dims *d)
{
	struct projections p = {.q = linear_of(stage, layer, "q_up", d->rows),
	    .k = linear_of(stage, layer, "kv_up", d->rows)};

	p.v = p.k;
	p.k.out = d->k_width;
	p.v.out = d->v_width;
	p.v.w = act_at(stage, p.k.w, d->k_width * p.k.in);
	p.v.dw = p.k.dw + d->k_width * p.k.in;
	return p;
}

/* Gradient of the latents: rows of the group into t->dwide, own tokens where they stay. */
static int
latent_back(struct stage *stage, int64_t layer, const struct dims *d, const struct projected *p)
{
	struct projections l = mla_of(stage, layer, d);
	void *partial = rows_partial(stage, p->dlatent, stage->scratch.dwide);
	void *dkv = act_at(stage, partial, d->q_rank);

	if (clear(stage, partial, d->rows * d->latent) != 0 ||
	    linear_back_input(stage, &l.k, p->dk, d->k_width, dkv, d->latent, 0) != 0 ||
	    linear_back_input(stage, &l.v, p->dv, d->v_width, dkv, d->latent, 1) != 0)
		return -1;
	if (d->q_rank &&
	    linear_back_input(stage, &l.q, p->dq, d->q_width, partial, d->latent, 0) != 0)
		return -1;
	return rows_reduce(stage, partial, d->tokens, d->latent, p->dlatent);
}

static int
project_mla_back(
    struct stage *stage, int64_t layer, const struct dims *d, struct kept *kept, void *dn1)
{
	struct linear q_down = linear_of(stage, layer, "q_down", d->tokens);
	struct linear kv_down = linear_of(stage, layer, "kv_down", d->tokens);
	struct linear q = linear_of(stage, layer, "q", d->rows);
	struct projected p = projected_of(stage, kept);
	void *partial = rows_partial(stage, dn1, stage->scratch.part),
	     *dkv = act_at(stage, p.dlatent, d->q_rank);

	if (latent_back(stage, layer, d, &p) != 0)
		return -1;
	if (d->q_rank) {
		if (linear_back_input(stage, &q_down, p.dlatent, d->latent, dn1, d->h, 0) != 0)
			return -1;
	} else if (linear_back_input(stage, &q, p.dq, d->q_width, partial, d->h, 0) != 0 ||
		   rows_reduce(stage, partial, d->tokens, d->h, dn1) != 0) {
		return -1;
	}
	return linear_back_input(stage, &kv_down, dkv, d->latent, dn1, d->h, 1);
}

static int
project_mla_weights(struct stage *stage, int64_t layer, const struct dims *d, struct kept *kept)
{
	struct linear q_down = linear_of(stage, layer, "q_down", d->tokens);
	struct linear kv_down = linear_of(stage, layer, "kv_down", d->tokens);
	struct linear q = linear_of(stage, layer, "q", d->rows);
	struct projections l = mla_of(stage, layer, d);
	struct projected p = projected_of(stage, kept);
	const void *kv = act_at(stage, kept->latent, d->q_rank), *x;
	const void *dkv = act_at(stage, p.dlatent, d->q_rank);

	if (linear_back_weight(stage, &l.k, p.dk, d->k_width, kv, d->latent) != 0 ||
	    linear_back_weight(stage, &l.v, p.dv, d->v_width, kv, d->latent) != 0 ||
	    linear_back_weight(stage, &kv_down, dkv, d->latent, kept->n1, d->h) != 0)
		return -1;
	if (d->q_rank) {
		if (linear_back_weight(stage, &l.q, p.dq, d->q_width, kept->latent, d->latent) != 0)
			return -1;
		return linear_back_weight(stage, &q_down, p.dlatent, d->latent, kept->n1, d->h);
	}
	x = rows_gather(stage, kept->n1, d->tokens, d->h, stage->scratch.full);
	return x ? linear_back_weight(stage, &q, p.dq, d->q_width, x, d->h) : -1;
}

/* dy: the gradient of what the output projection gave, all rows of the group. */
static int
all_weights(struct stage *stage, int64_t layer, const struct dims *d, struct kept *kept,
    const void *dy)
{
	struct linear out = linear_of(stage, layer, "o", d->rows);
	struct session *s = stage->s;
	int result;

	part_begin(s, PART_ATTENTION, STREAM_COMPUTE);
	result = linear_back_weight(stage, &out, dy, d->h, kept->o, d->o_width);
	if (result == 0)
		result = d->mla ? project_mla_weights(stage, layer, d, kept)
				: project_gqa_weights(stage, layer, d, kept);
	part_end(s, STREAM_COMPUTE);
	return result;
}

int
attention_weights(
    struct stage *stage, int64_t layer, const struct dims *d, struct kept *kept, const void *dx1)
{
	const void *dy = rows_gather(stage, dx1, d->tokens, d->h, stage->scratch.full2);

	return dy ? all_weights(stage, layer, d, kept, dy) : -1;
}

int
attention_backward(struct stage *stage, int64_t layer, const struct dims *d, struct kept *kept,
    const void *dx1, void *dn1)
{
	struct linear out = linear_of(stage, layer, "o", d->rows);
	struct scratch *t = &stage->scratch;
	const void *dy = rows_gather(stage, dx1, d->tokens, d->h, t->full2);
	struct session *s = stage->s;
	int result;

	if (!dy)
		return -1;
	part_begin(s, PART_ATTENTION, STREAM_COMPUTE);
	result = linear_back_input(stage, &out, dy, d->h, t->attention, d->o_width, 0);
	if (result == 0)
		result = core_back(stage, d, kept);
	keep_projected(stage, kept);
	if (result == 0)
		result = d->mla ? project_mla_back(stage, layer, d, kept, dn1)
				: project_gqa_back(stage, layer, d, kept, dn1);
	part_end(s, STREAM_COMPUTE);
	return result == 0 && !stage->apart ? all_weights(stage, layer, d, kept, dy) : result;
}
