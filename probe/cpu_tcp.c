/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How do the ranks of a rehearsal talk under torchrun, deepspeed and srun, which start no MPI?
 *
 * Over the connections of cpu_mesh.c, every two ranks directly. What an operation sends goes out
 * when it is posted; it is done when it has heard from everybody it needs. Operations of one group
 * run in the order in which they were posted.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "probe/cpu_mesh.h"
#include "probe/cpu_tcp.h"
#include "probe/mix.h"

int
cpu_tcp_fail(struct backend *b, const char *why)
{
	snprintf(((struct cpu *)b->state)->error, PROBE_TEXT_MAX, "%s", why);
	return -1;
}

struct tcp *
cpu_tcp_ways(struct backend *b)
{
	return ((struct cpu *)b->state)->ways;
}

int
cpu_tcp_gone(struct backend *b)
{
	return cpu_tcp_fail(b, mesh_error(cpu_tcp_ways(b)->mesh));
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
		return cpu_tcp_fail(b, "out of memory");
	t->mesh = mesh_new(cpu->rank, cpu->world);
	return t->mesh ? 0 : cpu_tcp_fail(b, "out of memory");
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
	return mesh_invite(cpu_tcp_ways(b)->mesh, id) == 0 ? 0 : cpu_tcp_gone(b);
}

static struct comm *
new_comm(struct backend *b, int room)
{
	struct tcp *t = cpu_tcp_ways(b);
	struct comm *comm = &t->comms[t->n_comms];

	if (t->n_comms == CPU_MAX_COMMS) {
		cpu_tcp_fail(b, "too many groups");
		return NULL;
	}
	comm->members = calloc((size_t)room, sizeof(*comm->members));
	if (!comm->members) {
		cpu_tcp_fail(b, "out of memory");
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
	if (mesh_join(cpu_tcp_ways(b)->mesh, id, b->master) != 0) {
		cpu_tcp_gone(b);
		return OP_FAILED;
	}
	world->id = 1;
	world->size = cpu->world;
	world->rank = cpu->rank;
	for (i = 0; i < cpu->world; i++)
		world->members[i] = i;
	return OP_DONE;
}

/* The same on all members, and another for every split and colour. */
static uint64_t
child_id(const struct comm *parent, int color)
{
	return mix_bits(mix_bits(parent->id) ^ (parent->splits << 32) ^ (uint32_t)color);
}

/* Waits for the next message of a member: only where all members are known to be on their way. */
static const struct mesh_message *
await(struct backend *b, const struct comm *comm, int member)
{
	struct tcp *t = cpu_tcp_ways(b);
	struct timespec nap = {0, 50000};
	const struct mesh_message *m;

	while (!(m = mesh_peek(t->mesh, comm->id, comm->members[member]))) {
		if (mesh_advance(t->mesh) != 0) {
			cpu_tcp_gone(b);
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
exchange_seats(
    struct backend *b, const struct comm *parent, const struct seat *own, struct seat *all)
{
	struct tcp *t = cpu_tcp_ways(b);
	int i;

	for (i = 0; i < parent->size; i++)
		if (i != parent->rank && mesh_send(t->mesh, parent->id, parent->members[i], own,
					     sizeof(*own)) != 0)
			return cpu_tcp_gone(b);
	for (i = 0; i < parent->size; i++) {
		const struct mesh_message *m = i == parent->rank ? NULL : await(b, parent, i);

		if (i == parent->rank)
			all[i] = *own;
		else if (!m)
			return -1;
		else if (m->length != sizeof(*all))
			return cpu_tcp_fail(
			    b, "ranks are out of step: another operation meets a split");
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
	int result = all ? exchange_seats(b, parent, &own, all) : cpu_tcp_fail(b, "out of memory");

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
	struct tcp *t = cpu_tcp_ways(b);
	int i = 0, here;

	while (i < t->n_requests) {
		here = is_first(t, i) ? cpu_tcp_is_here(b, &t->requests[i].c) : 0;
		if (here < 0 || (here > 0 && cpu_tcp_finish(b, &t->requests[i].c) != 0))
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
	struct tcp *t = cpu_tcp_ways(b);
	int i;

	if (mesh_advance(t->mesh) != 0) {
		cpu_tcp_gone(b);
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
	const struct tcp *t = cpu_tcp_ways(b);

	return t->n_requests == 0 && mesh_flushed(t->mesh) ? OP_DONE : state_of(b, stream);
}

static enum op_state
tcp_sync(struct backend *b, enum stream stream)
{
	enum op_state state = state_of(b, stream);

	return state == OP_DONE && !mesh_flushed(cpu_tcp_ways(b)->mesh) ? OP_BUSY : state;
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
	struct tcp *t = cpu_tcp_ways(b);
	struct request *r = &t->requests[t->n_requests];

	if (cpu_tcp_send(b, c) != 0)
		return OP_FAILED;
	if (c->kind == COLLECTIVE_SEND)
		return OP_DONE;
	if (t->n_requests == CPU_MAX_REQUESTS) {
		cpu_tcp_fail(b, "too many operations in flight");
		return OP_FAILED;
	}
	*r = (struct request){.c = *c, .stream = stream};
	if (c->kind == COLLECTIVE_ALL_TO_ALL && copy_counts(r, c->comm->size) != 0) {
		cpu_tcp_fail(b, "out of memory");
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
