/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What does an operation over TCP send, what does it need to hear, and what does it make of that?
 *
 * A message of another length than the one that is waited for is another operation's: the ranks are
 * out of step, which is a failure, not a wait. Sums are taken in the order of the members, so that
 * all get the same.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probe/cpu_mesh.h"
#include "probe/cpu_tcp.h"

/* Bytes to and from a member; none from a member that the operation does not need. */
static size_t
bytes_out(const struct collective *c, int member)
{
	if (c->kind == COLLECTIVE_ALL_TO_ALL)
		return 4 * (size_t)c->send_counts[member];
	return c->kind == COLLECTIVE_RECV ? 0 : 4 * (size_t)c->count;
}

static size_t
bytes_in(const struct collective *c, int member)
{
	return 4 * (size_t)(c->kind == COLLECTIVE_ALL_TO_ALL ? c->recv_counts[member] : c->count);
}

static const char *
part_for(const struct collective *c, int member)
{
	switch (c->kind) {
	case COLLECTIVE_ALL_REDUCE:
		return c->recv;
	case COLLECTIVE_REDUCE_SCATTER:
		return (const char *)c->send + 4 * c->count * member;
	case COLLECTIVE_ALL_TO_ALL:
		return (const char *)c->send + 4 * c->send_offsets[member];
	default:
		return c->send;
	}
}

static bool
is_partner(const struct collective *c, int member)
{
	bool pair = c->kind == COLLECTIVE_SEND || c->kind == COLLECTIVE_RECV;

	return member != c->comm->rank && (!pair || member == c->peer);
}

int
cpu_tcp_send(struct backend *b, const struct collective *c)
{
	struct mesh *mesh = cpu_tcp_ways(b)->mesh;
	int i;

	for (i = 0; i < c->comm->size; i++)
		if (is_partner(c, i) && c->kind != COLLECTIVE_RECV &&
		    mesh_send(mesh, c->comm->id, c->comm->members[i], part_for(c, i),
			bytes_out(c, i)) != 0)
			return cpu_tcp_gone(b);
	return 0;
}

int
cpu_tcp_is_here(struct backend *b, const struct collective *c)
{
	int i;

	for (i = 0; i < c->comm->size; i++) {
		const struct mesh_message *m;

		if (!is_partner(c, i))
			continue;
		m = mesh_peek(cpu_tcp_ways(b)->mesh, c->comm->id, c->comm->members[i]);
		if (!m)
			return 0;
		if (m->length == bytes_in(c, i))
			continue;
		snprintf(((struct cpu *)b->state)->error, PROBE_TEXT_MAX,
		    "ranks are out of step: rank %d sent %zu bytes, %zu belong here",
		    c->comm->members[i], m->length, bytes_in(c, i));
		return -1;
	}
	return 1;
}

static void
add_up(const struct collective *c, void *sums, const void *part)
{
	float *total = sums;
	int32_t *whole = sums;
	int64_t i;

	for (i = 0; i < c->count && c->element != ELEMENT_INT32; i++)
		total[i] += ((const float *)part)[i];
	for (i = 0; i < c->count && c->element == ELEMENT_INT32; i++)
		whole[i] += ((const int32_t *)part)[i];
}

/* `sums` is room for an operation that adds, else NULL. */
static void
use_part(const struct collective *c, int member, const char *part, void *sums)
{
	size_t bytes = bytes_in(c, member);
	char *to = c->recv;

	if (sums) {
		add_up(c, sums, part);
		return;
	}
	if (c->kind == COLLECTIVE_ALL_GATHER)
		to += bytes * (size_t)member;
	else if (c->kind == COLLECTIVE_ALL_TO_ALL)
		to += 4 * c->recv_offsets[member];
	if (bytes && to != part)
		memmove(to, part, bytes);
}

int
cpu_tcp_finish(struct backend *b, const struct collective *c)
{
	bool adds = c->kind == COLLECTIVE_ALL_REDUCE || c->kind == COLLECTIVE_REDUCE_SCATTER;
	void *sums = adds ? calloc((size_t)c->count + 1, 4) : NULL;
	struct mesh *mesh = cpu_tcp_ways(b)->mesh;
	int i;

	if (adds && !sums)
		return cpu_tcp_fail(b, "out of memory");
	for (i = 0; i < c->comm->size; i++) {
		const struct mesh_message *m;

		if (i == c->comm->rank && c->kind != COLLECTIVE_RECV)
			use_part(c, i, part_for(c, i), sums);
		if (!is_partner(c, i))
			continue;
		m = mesh_peek(mesh, c->comm->id, c->comm->members[i]);
		use_part(c, i, m->bytes, sums);
		mesh_drop(mesh, m);
	}
	if (sums)
		memcpy(c->recv, sums, 4 * (size_t)c->count);
	free(sums);
	return 0;
}
