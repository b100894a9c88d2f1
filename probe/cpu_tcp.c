/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How do the ranks of a rehearsal talk under torchrun, deepspeed and srun, which start no MPI?
 *
 * Over the connections of cpu_mesh.c, every two ranks directly. What an operation sends goes out
 * when it is posted; it is done when it has heard from everybody it needs. Operations of one group
 * run in the order in which they were posted. A message of another length than the one that is
 * waited for is another operation's: the ranks are out of step, which is a failure, not a wait.
 * Sums are taken in the order of the members, so that all get the same.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "probe/cpu_mesh.h"
#include "probe/cpu_private.h"

struct comm {
	uint64_t id;
	int size, rank;
	int *members;
	uint64_t splits;
};

struct request {
	struct collective c;
	int64_t *counts; /* of an all-to-all: what c points to belongs to the caller */
	enum stream stream;
};

struct tcp {
	struct mesh *mesh;
	struct comm comms[CPU_MAX_COMMS];
	int n_comms;
	struct request requests[CPU_MAX_REQUESTS];
	int n_requests;
};

static int
fail(struct backend *b, const char *why)
{
	snprintf(((struct cpu *)b->state)->error, PROBE_TEXT_MAX, "%s", why);
	return -1;
}

static struct tcp *
ways_of(struct backend *b)
{
	return ((struct cpu *)b->state)->ways;
}

static int
gone(struct backend *b)
{
	return fail(b, mesh_error(ways_of(b)->mesh));
}

static void
tcp_close(struct backend *b)
{
	struct cpu *cpu = b->state;
	struct tcp *t = cpu ? cpu->ways : NULL;
	int i;

	for (i = 0; t && i < t->n_comms; i++)
		free(t->comms[i].members);
	for (i = 0; t && i < t->n_requests; i++)
		free(t->requests[i].counts);
	if (t)
		mesh_free(t->mesh);
	free(t);
	free(cpu);
	b->state = NULL;
}

static enum op_state tcp_look(struct backend *b, enum stream stream);

int
cpu_tcp_open(struct backend *b)
{
	struct cpu *cpu = b->state;
	struct tcp *t = calloc(1, sizeof(*t));

	cpu->ways = t;
	cpu->look = tcp_look;
	if (!t)
		return fail(b, "out of memory");
	t->mesh = mesh_new(cpu->rank, cpu->world);
	return t->mesh ? 0 : fail(b, "out of memory");
}

static void
tcp_describe(struct backend *b, struct device_facts *facts)
{
	cpu_describe(b, facts);
	snprintf(facts->library, sizeof(facts->library), "TCP");
}

/* --- groups ------------------------------------------------------------------------------- */

static int
tcp_unique_id(struct backend *b, unsigned char id[PROBE_ID_BYTES])
{
	memset(id, 0, PROBE_ID_BYTES);
	return mesh_invite(ways_of(b)->mesh, id) == 0 ? 0 : gone(b);
}

static struct comm *
new_comm(struct backend *b, int room)
{
	struct tcp *t = ways_of(b);
	struct comm *comm = &t->comms[t->n_comms];

	if (t->n_comms == CPU_MAX_COMMS) {
		fail(b, "too many groups");
		return NULL;
	}
	comm->members = calloc((size_t)room, sizeof(*comm->members));
	if (!comm->members) {
		fail(b, "out of memory");
		return NULL;
	}
	t->n_comms++;
	return comm;
}

static enum op_state
tcp_world(struct backend *b, const unsigned char id[PROBE_ID_BYTES], struct comm **comm)
{
	struct cpu *cpu = b->state;
	struct comm *world = new_comm(b, cpu->world);
	int i;

	*comm = world;
	if (!world)
		return OP_FAILED;
	if (mesh_join(ways_of(b)->mesh, id, b->master) != 0) {
		gone(b);
		return OP_FAILED;
	}
	world->id = 1;
	world->size = cpu->world;
	world->rank = cpu->rank;
	for (i = 0; i < cpu->world; i++)
		world->members[i] = i;
	return OP_DONE;
}

/* The same on all members, and another for every split and colour (the finalizer of splitmix64). */
static uint64_t
child_id(const struct comm *parent, int color)
{
	uint64_t x = parent->id * 0x9e3779b97f4a7c15u + (parent->splits << 32) + (uint64_t)color + 1;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
	x = (x ^ x >> 27) * 0x94d049bb133111ebu;
	return x ^ x >> 31;
}

/* Waits for the next message of a member: only where all members are known to be on their way. */
static const struct mesh_message *
await(struct backend *b, const struct comm *comm, int member)
{
	struct tcp *t = ways_of(b);
	struct timespec nap = {0, 50000};
	const struct mesh_message *m;

	while (!(m = mesh_peek(t->mesh, comm->id, comm->members[member]))) {
		if (mesh_advance(t->mesh) != 0) {
			gone(b);
			return NULL;
		}
		nanosleep(&nap, NULL);
	}
	return m;
}

struct seat {
	int color, key;
};

static int
exchange_seats(struct backend *b, const struct comm *parent, const struct seat *own, struct seat *all)
{
	struct tcp *t = ways_of(b);
	int i;

	for (i = 0; i < parent->size; i++)
		if (i != parent->rank && mesh_send(t->mesh, parent->id, parent->members[i], own,
					     sizeof(*own)) != 0)
			return gone(b);
	for (i = 0; i < parent->size; i++) {
		const struct mesh_message *m = i == parent->rank ? NULL : await(b, parent, i);

		if (i == parent->rank)
			all[i] = *own;
		else if (!m)
			return -1;
		else if (m->length != sizeof(*all))
			return fail(b, "ranks are out of step: another operation meets a split");
		else
			memcpy(&all[i], m->bytes, sizeof(*all));
		if (m)
			mesh_drop(t->mesh, m);
	}
	return 0;
}

/* Members of the colour by key; equal keys in the parent's order. */
static void
seat_members(struct comm *comm, const struct comm *parent, const struct seat *all, int color)
{
	int own = parent->members[parent->rank], i, j;
	int *keys = malloc((size_t)parent->size * sizeof(*keys));

	for (i = 0; keys && i < parent->size; i++) {
		if (all[i].color != color)
			continue;
		for (j = comm->size++; j > 0 && keys[j - 1] > all[i].key; j--) {
			keys[j] = keys[j - 1];
			comm->members[j] = comm->members[j - 1];
		}
		keys[j] = all[i].key;
		comm->members[j] = parent->members[i];
	}
	for (i = 0; i < comm->size; i++)
		if (comm->members[i] == own)
			comm->rank = i;
	free(keys);
}

static enum op_state
tcp_split(struct backend *b, struct comm *parent, int color, int key, struct comm **comm)
{
	struct seat own = {color, key};
	struct seat *all = calloc((size_t)parent->size, sizeof(*all));
	int result = all ? exchange_seats(b, parent, &own, all) : fail(b, "out of memory");

	*comm = NULL;
	parent->splits++;
	if (result == 0 && color >= 0) {
		*comm = new_comm(b, parent->size);
		if (*comm) {
			(*comm)->id = child_id(parent, color);
			seat_members(*comm, parent, all, color);
		}
	}
	free(all);
	return result == 0 && (color < 0 || *comm) ? OP_DONE : OP_FAILED;
}

/* --- what an operation sends, hears, and makes of it --------------------------------------- */

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

static int
send_parts(struct backend *b, const struct collective *c)
{
	struct mesh *mesh = ways_of(b)->mesh;
	int i;

	for (i = 0; i < c->comm->size; i++)
		if (is_partner(c, i) && c->kind != COLLECTIVE_RECV &&
		    mesh_send(mesh, c->comm->id, c->comm->members[i], part_for(c, i), bytes_out(c, i)) != 0)
			return gone(b);
	return 0;
}

/* 1 when everybody's part is here, 0 not yet, -1 when somebody sent something else. */
static int
is_here(struct backend *b, const struct collective *c)
{
	int i;

	for (i = 0; i < c->comm->size; i++) {
		const struct mesh_message *m;

		if (!is_partner(c, i))
			continue;
		m = mesh_peek(ways_of(b)->mesh, c->comm->id, c->comm->members[i]);
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

static int
finish(struct backend *b, const struct collective *c)
{
	bool adds = c->kind == COLLECTIVE_ALL_REDUCE || c->kind == COLLECTIVE_REDUCE_SCATTER;
	void *sums = adds ? calloc((size_t)c->count + 1, 4) : NULL;
	struct mesh *mesh = ways_of(b)->mesh;
	int i;

	if (adds && !sums)
		return fail(b, "out of memory");
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

/* --- streams: operations that are not done yet --------------------------------------------- */

/* An operation waits for those of its group that were posted before it. */
static bool
is_first(const struct tcp *t, int at)
{
	int i;

	for (i = 0; i < at; i++)
		if (t->requests[i].c.comm == t->requests[at].c.comm)
			return false;
	return true;
}

static int
finish_some(struct backend *b)
{
	struct tcp *t = ways_of(b);
	int i = 0, here;

	while (i < t->n_requests) {
		here = is_first(t, i) ? is_here(b, &t->requests[i].c) : 0;
		if (here < 0 || (here > 0 && finish(b, &t->requests[i].c) != 0))
			return -1;
		if (here == 0) {
			i++;
			continue;
		}
		free(t->requests[i].counts);
		memmove(&t->requests[i], &t->requests[i + 1],
		    (size_t)(--t->n_requests - i) * sizeof(*t->requests));
	}
	return 0;
}

static enum op_state
state_of(struct backend *b, enum stream stream)
{
	struct tcp *t = ways_of(b);
	int i;

	if (mesh_advance(t->mesh) != 0) {
		gone(b);
		return OP_FAILED;
	}
	if (finish_some(b) != 0)
		return OP_FAILED;
	for (i = 0; i < t->n_requests; i++)
		if (t->requests[i].stream == stream)
			return OP_BUSY;
	cpu_over(b->state, stream);
	return OP_DONE;
}

/* Asked between products: nothing costs nothing. */
static enum op_state
tcp_look(struct backend *b, enum stream stream)
{
	const struct tcp *t = ways_of(b);

	return t->n_requests == 0 && mesh_flushed(t->mesh) ? OP_DONE : state_of(b, stream);
}

static enum op_state
tcp_sync(struct backend *b, enum stream stream)
{
	enum op_state state = state_of(b, stream);

	return state == OP_DONE && !mesh_flushed(ways_of(b)->mesh) ? OP_BUSY : state;
}

static enum op_state
tcp_depend(struct backend *b, enum stream later, enum stream earlier)
{
	(void)later;
	return state_of(b, earlier);
}

/* What was posted is on its way, and is waited for where it is needed. */
static enum op_state
tcp_progress(struct backend *b, enum stream stream)
{
	return state_of(b, stream) == OP_FAILED ? OP_FAILED : OP_DONE;
}

static int
copy_counts(struct request *r, int size)
{
	struct collective *c = &r->c;
	const int64_t *from[4] = {c->send_counts, c->send_offsets, c->recv_counts, c->recv_offsets};
	size_t bytes = (size_t)size * sizeof(**from);
	int i;

	r->counts = malloc(4 * bytes);
	if (!r->counts)
		return -1;
	for (i = 0; i < 4; i++)
		memcpy(r->counts + i * size, from[i], bytes);
	c->send_counts = r->counts;
	c->send_offsets = r->counts + size;
	c->recv_counts = r->counts + 2 * size;
	c->recv_offsets = r->counts + 3 * size;
	return 0;
}

static enum op_state
tcp_collective(struct backend *b, enum stream stream, const struct collective *c)
{
	struct tcp *t = ways_of(b);
	struct request *r = &t->requests[t->n_requests];

	if (send_parts(b, c) != 0)
		return OP_FAILED;
	if (c->kind == COLLECTIVE_SEND)
		return OP_DONE;
	if (t->n_requests == CPU_MAX_REQUESTS) {
		fail(b, "too many operations in flight");
		return OP_FAILED;
	}
	*r = (struct request){.c = *c, .stream = stream};
	if (c->kind == COLLECTIVE_ALL_TO_ALL && copy_counts(r, c->comm->size) != 0) {
		fail(b, "out of memory");
		return OP_FAILED;
	}
	t->n_requests++;
	return OP_BUSY;
}

void
cpu_tcp_ops(struct backend_ops *ops)
{
	ops->close = tcp_close;
	ops->describe = tcp_describe;
	ops->unique_id = tcp_unique_id;
	ops->world = tcp_world;
	ops->split = tcp_split;
	ops->collective = tcp_collective;
	ops->progress = tcp_progress;
	ops->sync = tcp_sync;
	ops->depend = tcp_depend;
}
