/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How do rows of a tensor-parallel group come together in front of a sharded matrix and apart
 * behind it, in line or while the products run?
 *
 * With sequence parallelism every rank holds T = M / TP tokens outside the sharded matrices: an
 * all-gather in front of them, a reduce-scatter behind (Korthikanti et al., arXiv 2205.05198).
 * Overlapped they take the forms of Transformer Engine's defaults, without its kernels
 * (NVIDIA/TransformerEngine comm_gemm_overlap, initialize_ub):
 *   gather   ranks' blocks of T rows go round a ring, each multiplied while the next one comes
 *   reduce   each block of partial sums goes to its rank while the next one is multiplied, added
 *            up there in the type of the activations
 *   in the backward of a matrix with sharded outputs both in one piece: its input is gathered
 *   beside the products for the input's gradient, that is reduced beside those for the weights'
 * Heads, embeddings, MTP projections and the experts' tensor parallelism stay in line, as there.
 */
#include "probe/stage.h"

static const struct group_comm *
group_of(const struct stage *stage)
{
	return &stage->s->groups[GROUP_TP];
}

static bool
overlaps(const struct stage *stage)
{
	return group_of(stage)->comm && stage->overlap & OVERLAP_TP;
}

/* Beside the computation, or in its way where nothing overlaps. */
static int
post(struct stage *stage, const struct collective *c)
{
	const char *name = group_names[GROUP_TP];

	if (overlaps(stage))
		return session_beside(
		    stage->s, STREAM_COMM, PART_TENSOR_PARALLEL, name, c, BEHIND_COMPUTE);
	return session_collective(stage->s, PART_TENSOR_PARALLEL, name, c);
}

int
rows_joined(struct stage *stage)
{
	if (!overlaps(stage))
		return 0;
	return session_joined(
	    stage->s, STREAM_COMM, PART_TENSOR_PARALLEL, group_names[GROUP_TP]);
}

static struct collective
gather_of(const struct stage *stage, const void *in, int64_t elements, void *room)
{
	return (struct collective){.kind = COLLECTIVE_ALL_GATHER,
	    .comm = group_of(stage)->comm,
	    .send = in,
	    .recv = room,
	    .count = elements};
}

const void *
rows_gather(struct stage *stage, const void *in, int64_t tokens, int64_t width, void *room)
{
	struct collective c = gather_of(stage, in, tokens * width, room);

	if (!c.comm)
		return in;
	return session_collective(stage->s, PART_TENSOR_PARALLEL, group_names[GROUP_TP], &c) == 0
		   ? room
		   : NULL;
}

const void *
rows_fetch(struct stage *stage, const void *in, int64_t tokens, int64_t width, void *room)
{
	struct collective c = gather_of(stage, in, tokens * width, room);

	if (!c.comm)
		return in;
	return post(stage, &c) == 0 ? room : NULL;
}

void *
rows_partial(const struct stage *stage, void *out, void *room)
{
	return group_of(stage)->comm ? room : out;
}

static struct collective
reduce_of(const struct stage *stage, const void *partial, int64_t elements, void *out)
{
	return (struct collective){.kind = COLLECTIVE_REDUCE_SCATTER,
	    .comm = group_of(stage)->comm,
	    .send = partial,
	    .recv = out,
	    .count = elements};
}

int
rows_reduce(struct stage *stage, const void *partial, int64_t tokens, int64_t width, void *out)
{
	struct collective c = reduce_of(stage, partial, tokens * width, out);

	return session_collective(stage->s, PART_TENSOR_PARALLEL, group_names[GROUP_TP], &c);
}

int
rows_send_back(struct stage *stage, const void *partial, int64_t tokens, int64_t width, void *out)
{
	struct collective c = reduce_of(stage, partial, tokens * width, out);

	return c.comm ? post(stage, &c) : 0;
}

/* --- block by block ------------------------------------------------------------------------ */

static int
run(struct stage *stage, const struct product *products, int n, const void *rows, int64_t width,
    int64_t first, int64_t count)
{
	int i;

	for (i = 0; i < n; i++) {
		const struct product *p = &products[i];
		struct linear l = p->l;

		l.rows = count;
		if (p->run(stage, &l, act_at(stage, rows, p->column), width,
			act_at(stage, p->to, first * p->ld), p->ld, p->beta) != 0)
			return -1;
	}
	return 0;
}

int
rows_run(struct stage *stage, const struct product *products, int n, const void *rows,
    int64_t width)
{
	return run(stage, products, n, rows, width, 0, products[0].l.rows);
}

/*
 * A block to one rank while another's comes; and to ourselves, when it `keeps`. What is sent and
 * received never begins at one address: Open MPI would take that for an exchange in place.
 */
struct hop {
	int to, from;
	int64_t send, recv, keep; /* first elements */
	bool keeps;
};

static int
hop(struct stage *stage, const struct hop *h, const void *send, void *recv, int64_t elements,
    unsigned behind)
{
	const struct group_comm *tp = group_of(stage);
	int64_t *counts = stage->counts;
	int n = tp->size, i;
	struct collective c = {.kind = COLLECTIVE_ALL_TO_ALL,
	    .comm = tp->comm,
	    .send = act_at(stage, send, h->send),
	    .recv = act_at(stage, recv, h->keeps ? 0 : h->recv),
	    .send_counts = counts,
	    .send_offsets = counts + n,
	    .recv_counts = counts + 2 * n,
	    .recv_offsets = counts + 3 * n};

	for (i = 0; i < 4 * n; i++)
		counts[i] = 0;
	counts[h->to] = counts[2 * n + h->from] = elements;
	if (h->keeps) {
		counts[tp->index] = counts[2 * n + tp->index] = elements;
		counts[3 * n + h->from] = h->recv;
		counts[3 * n + tp->index] = h->keep;
	}
	return session_beside(stage->s, STREAM_COMM, PART_TENSOR_PARALLEL, group_names[GROUP_TP],
	    &c, behind);
}

/* Which rank's block is here after that many hops. */
static int
block_after(const struct group_comm *tp, int hops)
{
	return (tp->index - hops + tp->size) % tp->size;
}

static int
ring_hop(struct stage *stage, int hops, const void *in, int64_t elements, void *room)
{
	const struct group_comm *tp = group_of(stage);
	struct hop h = {.to = (tp->index + 1) % tp->size,
	    .from = block_after(tp, 1),
	    .send = hops ? block_after(tp, hops) * elements : 0,
	    .recv = block_after(tp, hops + 1) * elements,
	    .keep = tp->index * elements,
	    .keeps = hops == 0};

	return hop(stage, &h, hops ? room : in, room, elements,
	    hops ? BEHIND_STREAM : BEHIND_COMPUTE);
}

static int
ring(struct stage *stage, const void *in, int64_t tokens, int64_t width, void *room,
    const struct product *products, int n)
{
	const struct group_comm *tp = group_of(stage);
	int64_t elements = tokens * width;
	int hops;

	if (ring_hop(stage, 0, in, elements, room) != 0 ||
	    run(stage, products, n, in, width, tp->index * tokens, tokens) != 0)
		return -1;
	for (hops = 1; hops < tp->size; hops++) {
		int block = block_after(tp, hops);

		if (rows_joined(stage) != 0 ||
		    (hops + 1 < tp->size && ring_hop(stage, hops, in, elements, room) != 0) ||
		    run(stage, products, n, act_at(stage, room, block * elements), width,
			block * tokens, tokens) != 0)
			return -1;
	}
	return 0;
}

const void *
rows_multiply(struct stage *stage, const void *in, int64_t tokens, int64_t width, void *room,
    const struct product *products, int n)
{
	const void *x;

	if (overlaps(stage))
		return ring(stage, in, tokens, width, room, products, n) == 0 ? room : NULL;
	x = rows_gather(stage, in, tokens, width, room);
	return x && rows_run(stage, products, n, x, width) == 0 ? x : NULL;
}

/* The others' sums of the own block, in the room by rank, and the own one. */
static int
add_blocks(struct stage *stage, const void *partial, int64_t tokens, int64_t width,
    const void *room, void *out)
{
	const struct group_comm *tp = group_of(stage);
	struct backend *b = &stage->s->backend;
	int64_t elements = tokens * width;
	int i, result;

	result = b->ops->gather(b, out, act_at(stage, partial, tp->index * elements),
	    stage->straight, tokens, width);
	for (i = 0; i < tp->size && result == 0; i++)
		if (i != tp->index)
			result =
			    b->ops->add(b, out, act_at(stage, room, i * elements), elements);
	return kernel_done(stage, result, "adding partial sums");
}

int
rows_multiply_reduce(struct stage *stage, const void *from, int64_t ld,
    const struct product *product, int64_t tokens, void *room, void *out)
{
	const struct group_comm *tp = group_of(stage);
	int64_t width = product->ld, elements = tokens * width;
	int step;

	if (!overlaps(stage))
		return rows_run(stage, product, 1, from, ld) == 0
			   ? rows_reduce(stage, product->to, tokens, width, out)
			   : -1;
	for (step = 1; step <= tp->size; step++) { /* the own block last */
		int block = (tp->index + step) % tp->size;
		struct hop h = {.to = block,
		    .from = block_after(tp, step),
		    .send = block * elements,
		    .recv = block_after(tp, step) * elements};

		if (run(stage, product, 1, act_at(stage, from, block * tokens * ld), ld,
			block * tokens, tokens) != 0 ||
		    (step < tp->size &&
			hop(stage, &h, product->to, room, elements, BEHIND_COMPUTE) != 0))
			return -1;
	}
	if (rows_joined(stage) != 0)
		return -1;
	return add_blocks(stage, product->to, tokens, width, room, out);
}
