/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How does the probe behave over a backend that never returns when a rank is missing? */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "probe/host_kernels.h"
#include "tests/probe/blocking_lines.h"

static int corrupt_from, all_to_alls;

void
blocking_corrupt(int n)
{
	corrupt_from = n;
	all_to_alls = 0;
}

/* --- collectives -------------------------------------------------------------------------- */

static void
exchange(struct state *s, const struct comm *c, const char *const *out, const size_t *out_bytes,
    char *const *in, const size_t *in_bytes)
{
	int i;

	for (i = 0; i < c->size; i++)
		if (i != c->index)
			blocking_post(s, c, i, out[i], out_bytes[i]);
	for (i = 0; i < c->size; i++)
		if (i != c->index)
			blocking_fetch(s, c, i, in[i], in_bytes[i]);
		else if (in_bytes[i])
			memmove(in[i], out[i], in_bytes[i]);
}

/* Everybody's `bytes` into room, in order of members. */
static void
gather(struct state *s, const struct comm *c, const void *mine, size_t bytes, char *room)
{
	const char *out[BLOCKING_MAX_RANKS] = {NULL};
	char *in[BLOCKING_MAX_RANKS] = {NULL};
	size_t sizes[BLOCKING_MAX_RANKS] = {0};
	int i;

	for (i = 0; i < c->size; i++) {
		out[i] = mine;
		in[i] = room + (size_t)i * bytes;
		sizes[i] = bytes;
	}
	exchange(s, c, out, sizes, in, sizes);
}

static void
all_to_all(struct state *s, const struct collective *c)
{
	const char *out[BLOCKING_MAX_RANKS] = {NULL};
	char *in[BLOCKING_MAX_RANKS] = {NULL};
	size_t out_bytes[BLOCKING_MAX_RANKS] = {0}, in_bytes[BLOCKING_MAX_RANKS] = {0};
	int i;

	for (i = 0; i < c->comm->size; i++) {
		out[i] = (const char *)c->send + 4 * c->send_offsets[i];
		in[i] = (char *)c->recv + 4 * c->recv_offsets[i];
		out_bytes[i] = 4 * (size_t)c->send_counts[i];
		in_bytes[i] = 4 * (size_t)c->recv_counts[i];
	}
	exchange(s, c->comm, out, out_bytes, in, in_bytes);
	all_to_alls++;
	if (corrupt_from && all_to_alls >= corrupt_from && c->element == ELEMENT_ACT && in_bytes[0])
		((float *)(void *)in[0])[0] += 1;
}

static void
reduce(struct state *s, const struct collective *c)
{
	int64_t n = c->kind == COLLECTIVE_ALL_REDUCE ? c->count : c->count * c->comm->size, i;
	int64_t first = c->kind == COLLECTIVE_ALL_REDUCE ? 0 : c->count * c->comm->index;
	const void *mine = c->kind == COLLECTIVE_ALL_REDUCE ? c->recv : c->send;
	float *all = malloc((size_t)n * (size_t)c->comm->size * 4 + 4), *to = c->recv;
	int member;

	gather(s, c->comm, mine, (size_t)n * 4, (char *)all);
	for (i = 0; i < c->count; i++) {
		float sum = 0;

		for (member = 0; member < c->comm->size; member++)
			sum += all[member * n + first + i];
		to[i] = sum;
	}
	free(all);
}

static enum op_state
blocking_collective(struct backend *b, enum stream stream, const struct collective *c)
{
	struct state *s = b->state;

	(void)stream;
	switch (c->kind) {
	case COLLECTIVE_ALL_REDUCE:
	case COLLECTIVE_REDUCE_SCATTER:
		reduce(s, c);
		break;
	case COLLECTIVE_ALL_GATHER:
		gather(s, c->comm, c->send, (size_t)c->count * 4, c->recv);
		break;
	case COLLECTIVE_ALL_TO_ALL:
		all_to_all(s, c);
		break;
	case COLLECTIVE_SEND:
		blocking_post(s, c->comm, c->peer, c->send, (size_t)c->count * 4);
		break;
	case COLLECTIVE_RECV:
		blocking_fetch(s, c->comm, c->peer, c->recv, (size_t)c->count * 4);
		break;
	case COLLECTIVES:
		return OP_FAILED;
	}
	return OP_DONE;
}

static enum op_state
blocking_world(struct backend *b, const unsigned char id[PROBE_ID_BYTES], struct comm **comm)
{
	struct state *s = b->state;
	int i;

	(void)id;
	*comm = &s->comms[s->n_comms++];
	(*comm)->size = s->world;
	(*comm)->index = s->rank;
	for (i = 0; i < s->world; i++)
		(*comm)->ranks[i] = i;
	return OP_DONE;
}

static enum op_state
blocking_split(struct backend *b, struct comm *parent, int color, int key, struct comm **comm)
{
	struct state *s = b->state;
	int mine[2] = {color, key}, all[BLOCKING_MAX_RANKS][2], i, wanted;

	gather(s, parent, mine, sizeof(mine), (char *)all);
	*comm = &s->comms[s->n_comms++];
	(*comm)->id = 1000 * s->n_comms + color;
	for (wanted = 0; color >= 0 && wanted < parent->size; wanted++)
		for (i = 0; i < parent->size; i++) {
			if (all[i][0] != color || all[i][1] != wanted)
				continue;
			if (parent->ranks[i] == s->rank)
				(*comm)->index = (*comm)->size;
			(*comm)->ranks[(*comm)->size++] = parent->ranks[i];
		}
	if (color < 0)
		*comm = NULL;
	return OP_DONE;
}

/* --- the rest ----------------------------------------------------------------------------- */

static int
blocking_devices(struct backend *b)
{
	(void)b;
	return BLOCKING_MAX_RANKS;
}

static int
blocking_open(struct backend *b, int rank, int world, int local_rank)
{
	struct state *s = calloc(1, sizeof(*s));

	(void)local_rank;
	if (!s)
		return -1;
	s->rank = rank;
	s->world = world;
	b->state = s;
	return 0;
}

static void
blocking_close(struct backend *b)
{
	free(b->state);
	b->state = NULL;
}

static void
blocking_abort(struct backend *b)
{
	(void)b;
}

static void
blocking_describe(struct backend *b, struct device_facts *facts)
{
	(void)b;
	memset(facts, 0, sizeof(*facts));
	snprintf(facts->name, sizeof(facts->name), "test");
	gethostname(facts->host, sizeof(facts->host) - 1);
}

static const char *
blocking_error(struct backend *b)
{
	(void)b;
	return "";
}

static uint64_t
blocking_free_bytes(struct backend *b)
{
	(void)b;
	return 0;
}

static int
blocking_unique_id(struct backend *b, unsigned char id[PROBE_ID_BYTES])
{
	(void)b;
	(void)id;
	return 0;
}

static enum op_state
blocking_done(struct backend *b, enum stream stream)
{
	(void)b;
	(void)stream;
	return OP_DONE;
}

static enum op_state
blocking_depend(struct backend *b, enum stream later, enum stream earlier)
{
	(void)b;
	(void)later;
	(void)earlier;
	return OP_DONE;
}

static float
element(const float *m, bool transpose, int64_t row, int64_t col, int64_t ld)
{
	return transpose ? m[col * ld + row] : m[row * ld + col];
}

static int
blocking_gemm(struct backend *b, const struct gemm *g)
{
	float *c = g->c;
	int64_t i, j, k;

	(void)b;
	for (i = 0; i < g->m; i++)
		for (j = 0; j < g->n; j++) {
			double sum = 0;

			for (k = 0; k < g->k; k++)
				sum += (double)element(g->a, g->transpose_a, i, k, g->lda) *
				       (double)element(g->b, g->transpose_b, k, j, g->ldb);
			sum *= (double)g->alpha;
			if (g->beta > 0)
				sum += (double)g->beta * (double)c[i * g->ldc + j];
			c[i * g->ldc + j] = (float)sum;
		}
	return 0;
}

static int
blocking_grouped(struct backend *b, const struct gemm *gemms, int n, enum grouped_engine engine)
{
	int i;

	for (i = 0; i < n && engine == GROUPED_LOOP; i++)
		blocking_gemm(b, &gemms[i]);
	return engine == GROUPED_LOOP ? 0 : -1;
}

static int
blocking_mark(struct backend *b, int event, enum stream stream)
{
	struct timespec now;

	(void)stream;
	clock_gettime(CLOCK_MONOTONIC, &now);
	((struct state *)b->state)->marks[event] = (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
	return 0;
}

/* What is behind a mark on the host is done when the mark is made. */
static bool
blocking_passed(struct backend *b, int event)
{
	(void)b;
	(void)event;
	return true;
}

static double
blocking_elapsed(struct backend *b, int from, int to)
{
	const struct state *s = b->state;

	return s->marks[to] - s->marks[from];
}

const struct backend_ops *
blocking_backend(void)
{
	static struct backend_ops ops = {
	    .abi = PROBE_ABI,
	    .name = "test",
	    .devices_word = "slot",
	    .devices = blocking_devices,
	    .open = blocking_open,
	    .close = blocking_close,
	    .abort = blocking_abort,
	    .describe = blocking_describe,
	    .error = blocking_error,
	    .free_bytes = blocking_free_bytes,
	    .unique_id = blocking_unique_id,
	    .world = blocking_world,
	    .split = blocking_split,
	    .collective = blocking_collective,
	    .progress = blocking_done,
	    .sync = blocking_done,
	    .depend = blocking_depend,
	    .gemm = blocking_gemm,
	    .grouped = blocking_grouped,
	    .mark = blocking_mark,
	    .passed = blocking_passed,
	    .elapsed = blocking_elapsed,
	};

	host_kernels(&ops);
	return &ops;
}
