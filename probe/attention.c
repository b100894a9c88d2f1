/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The stand-in for attention: what it computes is simple, what it costs is attention.
 *
 *   O = a Q K^T V for each head and sequence, a = 1 / (sqrt(d) keys), no softmax, no mask;
 * every stride-th key of each block is seen (shape.c). Scores are computed again in the backward
 * pass, as flash attention does (arXiv 2205.14135). Context parallelism gathers keys and values of
 * all blocks and reduces their gradients: the bytes of a ring, without its overlap.
 * What is in front of it is in projections.c.
 */
#include "probe/attention_private.h"

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

/* One block of scores: queries of a sequence and head, seen keys of one context rank. */
struct block {
	int64_t queries, keys;
	int64_t q, k, v, o;	/* first elements */
	int64_t q_rope, k_rope; /* of their rotary parts, where those stand apart */
};

static struct block
block_of(const struct dims *d, int64_t seq, int64_t head, int64_t first, int64_t context)
{
	int64_t row = seq * d->seq_rows + first, left = d->seq_rows - first;
	int64_t far = context * d->rows + seq * d->seq_rows;
	int64_t kv_head = head / (d->heads / d->kv_heads);

	return (struct block){.queries = left < d->at_once ? left : d->at_once,
	    .keys = (d->seq_rows + d->stride - 1) / d->stride,
	    .q = row * d->q_width + head * d->qk,
	    .k = far * d->k_width + kv_head * d->key_dim,
	    .q_rope = row * d->q_width + head * d->qk + d->key_dim,
	    .k_rope = far * d->k_width + d->k_width - d->rope,
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

	if (product(stage, &gemm) != 0)
		return -1;
	if (d->rope == 0)
		return 0;
	gemm.k = d->rope;
	gemm.a = act_at(stage, q, b->q_rope);
	gemm.b = act_at(stage, k, b->k_rope);
	gemm.beta = 1;
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

/* Some queries of one head and sequence over the keys of all context ranks. */
static int
over_contexts(struct stage *stage, const struct dims *d, struct kept *kept, const void *k,
    const void *v, block_fn *run, const int64_t at[3])
{
	int64_t context, contexts = stage->s->groups[GROUP_CP].size;

	for (context = 0; context < contexts; context++) {
		struct block b = block_of(d, at[0], at[1], at[2], context);

		if (run(stage, d, &b, kept, k, v, context == 0) != 0)
			return -1;
	}
	return 0;
}

static int
each_block(struct stage *stage, const struct dims *d, struct kept *kept, const void *k,
    const void *v, block_fn *run)
{
	int64_t at[3]; /* sequence, head, first query */

	for (at[0] = 0; at[0] < d->seqs; at[0]++)
		for (at[1] = 0; at[1] < d->heads; at[1]++)
			for (at[2] = 0; at[2] < d->seq_rows; at[2] += d->at_once)
				if (over_contexts(stage, d, kept, k, v, run, at) != 0)
					return -1;
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
	int result;

	part_begin(stage->s, PART_ATTENTION, STREAM_COMPUTE);
	result = project_replay(stage, layer, d, kept);
	if (result == 0 && stage->replayed & MODULE_CORE_ATTN)
		result = all_keys(stage, d, kept, &k, &v) == 0
			     ? each_block(stage, d, kept, k, v, core_block)
			     : -1;
	part_end(stage->s, STREAM_COMPUTE);
	return result;
}

/* What the output projection sees: the heads' outputs, through their gates where they have any. */
static const void *
gated_output(struct stage *stage, const struct dims *d, const struct kept *kept)
{
	struct backend *b = &stage->s->backend;
	void *gated = stage->scratch.attention;

	if (d->gates == 0)
		return kept->o;
	return kernel_done(stage,
		   b->ops->gate(
		       b, gated, kept->o, kept->gates_o, d->rows * d->o_width, d->gate_span),
		   "a gate") == 0
		   ? gated
		   : NULL;
}

static int
heads_and_output(struct stage *stage, int64_t layer, const struct dims *d, struct kept *kept,
    const void *k, const void *v, void *out)
{
	struct product last = {.run = linear_forward,
	    .l = linear_of(stage, layer, "o", d->rows),
	    .to = rows_partial(stage, out, stage->scratch.part),
	    .ld = d->h};
	const void *gated;

	if (each_block(stage, d, kept, k, v, core_block) != 0)
		return -1;
	gated = gated_output(stage, d, kept);
	return gated ? rows_multiply_reduce(
			   stage, gated, d->o_width, &last, d->tokens, stage->scratch.full, out)
		     : -1;
}

int
attention_forward(
    struct stage *stage, int64_t layer, const struct dims *d, struct kept *kept, void *out)
{
	struct vector bias = {layer, "o_bias", 0};
	struct session *s = stage->s;
	const void *k, *v;
	int result;

	part_begin(s, PART_ATTENTION, STREAM_COMPUTE);
	result = project_forward(stage, layer, d, kept);
	part_end(s, STREAM_COMPUTE);
	if (result != 0 || all_keys(stage, d, kept, &k, &v) != 0)
		return -1;
	part_begin(s, PART_ATTENTION, STREAM_COMPUTE);
	result = heads_and_output(stage, layer, d, kept, k, v, out);
	part_end(s, STREAM_COMPUTE);
	return result == 0 ? bias_add(stage, bias, out, d->tokens, d->h, d->h) : -1;
}

/* --- backward ----------------------------------------------------------------------------- */

/* dQ += a dS K, dK += a dS^T Q over `width` elements of a head from the given ones on. */
static int
scores_back(struct stage *stage, const struct dims *d, const struct block *b, const void *q,
    const void *k, void *dk, int64_t q_at, int64_t k_at, int64_t width)
{
	struct scratch *t = &stage->scratch;
	struct gemm dqs = {.m = b->queries,
	    .n = width,
	    .k = b->keys,
	    .a = t->dscores,
	    .lda = b->keys,
	    .b = act_at(stage, k, k_at),
	    .ldb = d->k_width * d->stride,
	    .c = act_at(stage, t->dq, q_at),
	    .ldc = d->q_width,
	    .alpha = (float)d->scale,
	    .beta = 1};
	struct gemm dks = {.transpose_a = true,
	    .m = b->keys,
	    .n = width,
	    .k = b->queries,
	    .a = t->dscores,
	    .lda = b->keys,
	    .b = act_at(stage, q, q_at),
	    .ldb = d->q_width,
	    .c = act_at(stage, dk, k_at),
	    .ldc = d->k_width * d->stride,
	    .alpha = (float)d->scale,
	    .beta = 1};

	return product(stage, &dqs) == 0 ? product(stage, &dks) : -1;
}

/* dS = dO V^T; dV += S^T dO; then queries and keys. */
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

	(void)first;
	if (scores_of(stage, d, b, kept->q, k, t->scores) != 0 || product(stage, &ds) != 0 ||
	    product(stage, &dvs) != 0 ||
	    scores_back(stage, d, b, kept->q, k, dk, b->q, b->k, d->key_dim) != 0)
		return -1;
	return d->rope ? scores_back(stage, d, b, kept->q, k, dk, b->q_rope, b->k_rope, d->rope)
		       : 0;
}

static int
core_back(struct stage *stage, const struct dims *d, struct kept *kept)
{
	struct scratch *t = &stage->scratch;
	int64_t contexts = stage->s->groups[GROUP_CP].size;
	bool all = stage->s->groups[GROUP_CP].comm != NULL;
	const void *k, *v;

	if (all_keys(stage, d, kept, &k, &v) != 0 ||
	    act_clear(stage, t->dq, d->rows * d->q_width) != 0 ||
	    act_clear(stage, all ? t->dk_all : t->dk, contexts * d->rows * d->k_width) != 0 ||
	    act_clear(stage, all ? t->dv_all : t->dv, contexts * d->rows * d->v_width) != 0 ||
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

/* Queries, keys and values are used up: their room becomes scratch, and their gradients stay. */
static void
swap(void **a, void **b)
{
	void *was = *a;

	*a = *b;
	*b = was;
}

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

/*
 * t->attention becomes the gradient of the heads' outputs, kept->o what the output projection saw.
 * The gradient of the gates is in t->dgate or, where weights come later, in their place.
 */
static int
gates_back(struct stage *stage, const struct dims *d, struct kept *kept)
{
	struct scratch *t = &stage->scratch;
	struct backend *b = &stage->s->backend;
	int64_t n = d->rows * d->o_width;
	int result;

	if (d->gates == 0)
		return 0;
	result = b->ops->gate_back(
	    b, t->attention, t->dgate, t->attention, kept->o, kept->gates_o, n, d->gate_span);
	if (result == 0)
		result = b->ops->gate(b, kept->o, kept->o, kept->gates_o, n, d->gate_span);
	if (result == 0 && stage->apart)
		result =
		    b->ops->copy(b, kept->gates_o, d->gates, t->dgate, d->gates, d->rows, d->gates);
	return kernel_done(stage, result, "a gate");
}

/* Rows of the group: what the projections saw, and the gradient of what the output one gave. */
struct seen {
	const void *x, *dy;
};

/* Projections of MLA whose queries have a latent see no more than the own rows. */
static int
fetch_seen(struct stage *stage, const struct dims *d, const struct kept *kept, struct seen *seen)
{
	void *room = stage->scratch.full;

	seen->x =
	    d->mla && d->q_rank ? kept->n1 : rows_fetch(stage, kept->n1, d->tokens, d->h, room);
	return seen->x ? 0 : -1;
}

static int
all_weights(struct stage *stage, int64_t layer, const struct dims *d, struct kept *kept,
    const struct seen *seen)
{
	struct linear out = linear_of(stage, layer, "o", d->rows);

	if (linear_back_weight(stage, &out, seen->dy, d->h, kept->o, d->o_width) != 0)
		return -1;
	return project_weights(stage, layer, d, kept, seen->x);
}

int
attention_weights(
    struct stage *stage, int64_t layer, const struct dims *d, struct kept *kept, const void *dout)
{
	struct seen seen = {.dy = rows_gather(stage, dout, d->tokens, d->h, stage->scratch.full2)};
	int result;

	if (!seen.dy || fetch_seen(stage, d, kept, &seen) != 0 || rows_joined(stage) != 0)
		return -1;
	part_begin(stage->s, PART_ATTENTION, STREAM_COMPUTE);
	result = all_weights(stage, layer, d, kept, &seen);
	part_end(stage->s, STREAM_COMPUTE);
	return result;
}

/* Rows that gradients of weights need come meanwhile; the input's gradient goes meanwhile. */
static int
back(struct stage *stage, int64_t layer, const struct dims *d, struct kept *kept, const void *dout,
    void *dn1)
{
	struct scratch *t = &stage->scratch;
	struct product out = {.run = linear_back_input,
	    .l = linear_of(stage, layer, "o", d->rows),
	    .to = t->attention,
	    .ld = d->o_width};
	struct vector bias = {layer, "o_bias", 0};
	bool later = stage->apart;
	struct seen seen = {0};

	if (bias_sum(stage, bias, dout, d->tokens, d->h, d->h) != 0)
		return -1;
	seen.dy = rows_multiply(stage, dout, d->tokens, d->h, t->full2, &out, 1);
	if (!seen.dy || gates_back(stage, d, kept) != 0 || core_back(stage, d, kept) != 0 ||
	    (!later && fetch_seen(stage, d, kept, &seen) != 0))
		return -1;
	keep_projected(stage, kept);
	if (project_backward(stage, layer, d, kept, dn1) != 0 ||
	    (!later && all_weights(stage, layer, d, kept, &seen) != 0))
		return -1;
	return rows_joined(stage);
}

int
attention_backward(struct stage *stage, int64_t layer, const struct dims *d, struct kept *kept,
    const void *dout, void *dn1)
{
	int result;

	part_begin(stage->s, PART_ATTENTION, STREAM_COMPUTE);
	result = back(stage, layer, d, kept, dout, dn1);
	part_end(stage->s, STREAM_COMPUTE);
	return result;
}
