/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How do ranks with GPUs talk: NCCL's communicators and collectives.
 *
 * Communicators are non-blocking (config.blocking = 0, NCCL 2.18 and later): a call may return
 * ncclInProgress, and until the communicator's state is ncclSuccess nothing of it is on the
 * stream, so that no event may be recorded there yet (NCCL user guide, communicators). That is
 * what progress() tells. Several communicators share a device: NCCL_LAUNCH_ORDER_IMPLICIT (set
 * when the device is opened) makes the host's order theirs.
 */
#include <nccl.h>
#include <stdio.h>
#include <string.h>

#include "probe/cuda_private.h"

static enum op_state
nccl_state(struct cuda *c, ncclResult_t result, const char *what)
{
	if (result == ncclSuccess)
		return OP_DONE;
	if (result == ncclInProgress)
		return OP_BUSY;
	snprintf(c->error, sizeof(c->error), "%s: %s: %.300s", what, ncclGetErrorString(result),
	    ncclGetLastError(NULL));
	return OP_FAILED;
}

int
cuda_nccl_version(void)
{
	int version = 0;

	ncclGetVersion(&version);
	return version;
}

void
cuda_abort(struct backend *b)
{
	struct cuda *c = b->state;
	int i;

	if (!c || ncclGroupStart() != ncclSuccess)
		return;
	for (i = c->n_comms - 1; i >= 0; i--)
		if (c->comms[i].nccl)
			ncclCommAbort(c->comms[i].nccl);
	ncclGroupEnd();
}

int
cuda_unique_id(struct backend *b, unsigned char id[PROBE_ID_BYTES])
{
	ncclUniqueId unique;

	if (nccl_state(b->state, ncclGetUniqueId(&unique), "the id") != OP_DONE)
		return -1;
	memcpy(id, &unique, sizeof(unique) < PROBE_ID_BYTES ? sizeof(unique) : PROBE_ID_BYTES);
	return 0;
}

static struct comm *
new_comm(struct cuda *c)
{
	if (c->n_comms == CUDA_MAX_COMMS) {
		snprintf(c->error, sizeof(c->error), "too many communicators");
		return NULL;
	}
	return &c->comms[c->n_comms++];
}

enum op_state
cuda_world(struct backend *b, const unsigned char id[PROBE_ID_BYTES], struct comm **comm)
{
	ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
	struct cuda *c = b->state;
	struct comm *world = new_comm(c);
	ncclUniqueId unique;

	if (!world)
		return OP_FAILED;
	memcpy(&unique, id, sizeof(unique));
	config.blocking = 0;
	world->size = c->world;
	*comm = c->last[STREAM_COMM] = world;
	return nccl_state(c,
	    ncclCommInitRankConfig(&world->nccl, c->world, unique, c->rank, &config), "the world");
}

/* The parent's state is the split's; the child has one of its own once it is there. */
enum op_state
cuda_split(struct backend *b, struct comm *parent, int color, int key, struct comm **comm)
{
	struct cuda *c = b->state;
	struct comm *child = new_comm(c);
	enum op_state state;

	if (!child)
		return OP_FAILED;
	c->last[STREAM_COMM] = parent;
	c->child = child;
	*comm = color < 0 ? NULL : child;
	state = nccl_state(c,
	    ncclCommSplit(
		parent->nccl, color < 0 ? NCCL_SPLIT_NOCOLOR : color, key, &child->nccl, NULL),
	    "a split");
	return state == OP_DONE ? OP_BUSY : state; /* progress() also asks the child */
}

static enum op_state
comm_state(struct cuda *c, const struct comm *comm)
{
	ncclResult_t result = ncclSuccess;
	enum op_state state;

	if (!comm || !comm->nccl)
		return OP_DONE;
	state = nccl_state(c, ncclCommGetAsyncError(comm->nccl, &result), "asking");
	return state == OP_DONE ? nccl_state(c, result, "a collective") : state;
}

enum op_state
cuda_comms_state(struct cuda *c)
{
	int i;

	for (i = 0; i < c->n_comms; i++)
		if (&c->comms[i] != c->child && comm_state(c, &c->comms[i]) == OP_FAILED)
			return OP_FAILED;
	return OP_DONE;
}

enum op_state
cuda_progress(struct backend *b, enum stream stream)
{
	struct cuda *c = b->state;
	enum op_state state = comm_state(c, c->last[stream]);

	if (state != OP_DONE || !c->child)
		return state;
	state = comm_state(c, c->child);
	if (state == OP_DONE && c->child->nccl)
		state = nccl_state(
		    c, ncclCommCount(c->child->nccl, &c->child->size), "counting a group");
	if (state != OP_BUSY)
		c->child = NULL;
	return state;
}

/* --- collectives -------------------------------------------------------------------------- */

static const struct {
	ncclDataType_t type;
	size_t bytes;
} elements[ELEMENTS] = {
    [ELEMENT_ACT] = {ncclBfloat16, 2},
    [ELEMENT_FLOAT] = {ncclFloat32, 4},
    [ELEMENT_INT32] = {ncclInt32, 4},
};

/* There is no variable all-to-all in NCCL: a group of sends and receives. */
static ncclResult_t
all_to_all(const struct collective *o, ncclDataType_t type, size_t bytes, cudaStream_t stream)
{
	ncclResult_t result = ncclGroupStart(), end;
	int i;

	for (i = 0; i < o->comm->size && (result == ncclSuccess || result == ncclInProgress); i++) {
		if (o->send_counts[i])
			result =
			    ncclSend((const char *)o->send + (size_t)o->send_offsets[i] * bytes,
				(size_t)o->send_counts[i], type, i, o->comm->nccl, stream);
		if (o->recv_counts[i] && (result == ncclSuccess || result == ncclInProgress))
			result = ncclRecv((char *)o->recv + (size_t)o->recv_offsets[i] * bytes,
			    (size_t)o->recv_counts[i], type, i, o->comm->nccl, stream);
	}
	end = ncclGroupEnd();
	return result == ncclSuccess || result == ncclInProgress ? end : result;
}

static ncclResult_t
run(const struct collective *o, cudaStream_t stream)
{
	ncclDataType_t type = elements[o->element].type;
	size_t n = (size_t)o->count;
	ncclComm_t comm = o->comm->nccl;

	switch (o->kind) {
	case COLLECTIVE_ALL_REDUCE:
		return ncclAllReduce(o->recv, o->recv, n, type, ncclSum, comm, stream);
	case COLLECTIVE_REDUCE_SCATTER:
		return ncclReduceScatter(o->send, o->recv, n, type, ncclSum, comm, stream);
	case COLLECTIVE_ALL_GATHER:
		return ncclAllGather(o->send, o->recv, n, type, comm, stream);
	case COLLECTIVE_ALL_TO_ALL:
		return all_to_all(o, type, elements[o->element].bytes, stream);
	case COLLECTIVE_SEND:
		return ncclSend(o->send, n, type, o->peer, comm, stream);
	case COLLECTIVE_RECV:
		return ncclRecv(o->recv, n, type, o->peer, comm, stream);
	case COLLECTIVES:
		break;
	}
	return ncclInvalidArgument;
}

enum op_state
cuda_collective(struct backend *b, enum stream stream, const struct collective *o)
{
	struct cuda *c = b->state;

	c->last[stream] = o->comm;
	return nccl_state(c, run(o, c->streams[stream]), "a collective");
}
