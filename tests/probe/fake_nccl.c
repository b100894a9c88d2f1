/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How does NCCL behave with communicators that do not block?
 *
 * A call returns ncclInProgress, and its work comes onto the stream a few questions later; until
 * then the communicator takes no other call. Ranks are processes with sockets between them: every
 * operation sends what each member needs, takes what the others sent, and sums in their order. A
 * send is over only when its receive has begun, as above NCCL's own buffers. Told to keep the host's
 * order it starts no operation before the one that was posted before it has started.
 */
#include <cuda_runtime.h>
#include <nccl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/probe/bf16.h"
#include "tests/probe/fake_cuda.h"

#define FAKE_ID "fake id"
enum { MAX_COMMS = 64, MAX_OPS = 2 * FAKE_MAX_RANKS };

/* nccl.h declares them without their arguments. */
ncclResult_t ncclGroupStart(void);
ncclResult_t ncclGroupEnd(void);

/* --- communicators ------------------------------------------------------------------------ */

enum what { ALL_REDUCE, REDUCE_SCATTER, ALL_GATHER, SEND, RECV };

struct op {
	enum what what;
	const void *send;
	void *recv;
	size_t count;
	ncclDataType_t type;
	int peer;
};

struct work {
	ncclComm_t comm;
	cudaStream_t stream;
	bool started;
	long number, launch; /* among the communicator's, among all */
	int n;
	struct op ops[MAX_OPS];
};

struct ncclComm {
	long id;
	int size, rank, members[FAKE_MAX_RANKS];
	ncclResult_t error;
	bool aborted;
	long posted,
	    done; /* one communicator's operations run in their order, whatever their stream */
	int busy; /* questions until the call is through */
	struct work *work; /* comes onto its stream then */
	bool splitting;
	int color, key;
	long splits;
	ncclComm_t *child;
};

static struct ncclComm *comms[MAX_COMMS];
static int n_comms;
static int depth;
static struct work *group_work;
static long launches, launched;

static bool
is_its_turn(const struct work *w)
{
	const char *ordered = getenv("NCCL_LAUNCH_ORDER_IMPLICIT");

	return w->launch == launched || !ordered || strcmp(ordered, "1") != 0;
}

static ncclComm_t
new_comm(long id)
{
	ncclComm_t comm = calloc(1, sizeof(*comm));

	if (!comm || n_comms == MAX_COMMS)
		abort();
	comm->id = id;
	comm->busy = 1 + (int)(fake_random() % 4);
	comms[n_comms++] = comm;
	return comm;
}

static ncclResult_t
ready(ncclComm_t comm)
{
	if (!comm)
		return ncclInvalidArgument;
	if (comm->busy || comm->splitting) {
		fake_violate("a communicator was used before its last call was through");
		return comm->error = ncclInvalidArgument;
	}
	return comm->error;
}

static size_t
type_bytes(ncclDataType_t type)
{
	return type == ncclBfloat16 ? 2 : 4;
}

ncclResult_t
ncclCommInitRankConfig(ncclComm_t *comm, int size, ncclUniqueId id, int rank, ncclConfig_t *config)
{
	int i;

	*comm = NULL;
	if (fake_n_ranks == 1 && size > 1 && fake_find_ranks(id.internal, rank, size) != 0)
		return ncclSystemError;
	if (fake_failing("ncclCommInitRankConfig") || config->blocking != 0 || size != fake_n_ranks ||
	    strncmp(id.internal, FAKE_ID, sizeof(FAKE_ID) - 1) != 0)
		return ncclUnhandledCudaError;
	*comm = new_comm(1);
	(*comm)->size = size;
	(*comm)->rank = rank;
	for (i = 0; i < size; i++)
		(*comm)->members[i] = i;
	return ncclInProgress;
}

ncclResult_t
ncclCommSplit(ncclComm_t parent, int color, int key, ncclComm_t *child, ncclConfig_t *config)
{
	int mine[2] = {color, key}, i;

	if (fake_failing("ncclCommSplit") || ready(parent) != ncclSuccess || config)
		return ncclInvalidUsage;
	parent->splitting = true;
	parent->color = color;
	parent->key = key;
	parent->child = child;
	parent->splits++;
	*child = NULL;
	for (i = 0; i < parent->size; i++)
		fake_send(parent->id, parent->members[i], mine, sizeof(mine));
	return ncclInProgress;
}

static void
finish_split(ncclComm_t parent)
{
	int all[FAKE_MAX_RANKS][2], i, key;
	ncclComm_t child;

	for (i = 0; i < parent->size; i++)
		if (!fake_peek(parent->id, parent->members[i]))
			return;
	for (i = 0; i < parent->size; i++) {
		const struct fake_message *m = fake_peek(parent->id, parent->members[i]);

		memcpy(all[i], m->bytes, sizeof(all[i]));
		fake_drop(m);
	}
	parent->splitting = false;
	if (parent->color == NCCL_SPLIT_NOCOLOR)
		return;
	child = new_comm(1000 * parent->splits + parent->color + 2);
	for (key = 0; key < 64; key++)
		for (i = 0; i < parent->size; i++)
			if (all[i][0] == parent->color && all[i][1] == key) {
				if (parent->members[i] == fake_own_rank)
					child->rank = child->size;
				child->members[child->size++] = parent->members[i];
			}
	*parent->child = child;
}

static enum fake_step run_work(void *closure);

void
fake_nccl_advance(void)
{
	int i;

	fake_lines_advance();
	for (i = 0; i < n_comms; i++) {
		if (comms[i]->splitting)
			finish_split(comms[i]);
		if (comms[i]->busy == 0 || --comms[i]->busy > 0 || !comms[i]->work)
			continue;
		fake_enqueue(comms[i]->work->stream, run_work, comms[i]->work);
		comms[i]->work = NULL;
	}
}

ncclResult_t
ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t *error)
{
	if (fake_failing("ncclCommGetAsyncError"))
		return ncclInternalError;
	fake_nccl_advance();
	*error = comm->error;
	if (comm->error == ncclSuccess && fake_failing("an operation"))
		*error = comm->error = ncclRemoteError;
	if (comm->error == ncclSuccess && (comm->busy || comm->splitting))
		*error = ncclInProgress;
	return ncclSuccess;
}

ncclResult_t
ncclCommCount(const ncclComm_t comm, int *size)
{
	if (fake_failing("ncclCommCount") || ready((ncclComm_t)comm) != ncclSuccess)
		return ncclInvalidArgument;
	*size = comm->size;
	return ncclSuccess;
}

ncclResult_t
ncclCommAbort(ncclComm_t comm)
{
	if (comm->aborted)
		fake_violate("a communicator was aborted twice");
	comm->aborted = true;
	return ncclSuccess;
}

/* --- operations --------------------------------------------------------------------------- */

/* Under this number a receiver tells the sender that it is there. */
static long
begun(ncclComm_t c)
{
	return -c->id;
}

static void
start(ncclComm_t c, const struct op *op)
{
	size_t bytes = op->count * type_bytes(op->type);
	int i;

	if (op->what == SEND)
		fake_send(c->id, c->members[op->peer], op->send, bytes);
	if (op->what == RECV)
		fake_send(begun(c), c->members[op->peer], "", 0);
	for (i = 0; i < c->size && op->what != SEND && op->what != RECV; i++)
		fake_send(c->id, c->members[i],
		    op->what == REDUCE_SCATTER ? (const char *)op->send + (size_t)i * bytes
					       : op->send,
		    bytes);
}

static bool
all_there(ncclComm_t c, const struct op *op)
{
	size_t bytes = op->count * type_bytes(op->type);
	int i;

	for (i = 0; i < c->size; i++) {
		const struct fake_message *m = fake_peek(c->id, c->members[i]);

		if (op->what == SEND || (op->what == RECV && i != op->peer))
			continue;
		if (!m)
			return false;
		if (m->length != bytes) {
			c->error = ncclInternalError; /* others meant another operation */
			return false;
		}
	}
	return op->what != SEND || fake_peek(begun(c), c->members[op->peer]);
}

static void
sum_up(const struct op *op, float *sums, const char *bytes, bool first)
{
	size_t i;

	for (i = 0; i < op->count; i++) {
		float value = op->type == ncclBfloat16
				  ? float_of(((const uint16_t *)(const void *)bytes)[i])
				  : ((const float *)(const void *)bytes)[i];

		sums[i] = first ? value : sums[i] + value;
	}
}

static void
store_sums(const struct op *op, const float *sums)
{
	size_t i;

	for (i = 0; i < op->count; i++)
		if (op->type == ncclBfloat16)
			((uint16_t *)op->recv)[i] = bf16_of(sums[i]);
		else
			((float *)op->recv)[i] = sums[i];
}

static void
finish(ncclComm_t c, const struct op *op)
{
	size_t bytes = op->count * type_bytes(op->type);
	float *sums = calloc(op->count + 1, sizeof(*sums));
	int i;

	if (op->what == SEND)
		fake_drop(fake_peek(begun(c), c->members[op->peer]));
	for (i = 0; i < c->size; i++) {
		const struct fake_message *m = fake_peek(c->id, c->members[i]);

		if (op->what == SEND || (op->what == RECV && i != op->peer))
			continue;
		if (op->what == ALL_GATHER)
			memcpy((char *)op->recv + (size_t)i * bytes, m->bytes, bytes);
		else if (op->what == RECV)
			memcpy(op->recv, m->bytes, bytes);
		else
			sum_up(op, sums, m->bytes, i == 0);
		fake_drop(m);
	}
	if (op->what == ALL_REDUCE || op->what == REDUCE_SCATTER)
		store_sums(op, sums);
	free(sums);
}

static enum fake_step
run_work(void *closure)
{
	struct work *w = closure;
	int i;

	if (w->comm->aborted || w->number > w->comm->done ||
	    (!w->started && (!is_its_turn(w) || fake_random() % 2)))
		return FAKE_WAITING;
	for (i = 0; i < w->n && !w->started; i++)
		start(w->comm, &w->ops[i]);
	launched += !w->started;
	w->started = true;
	for (i = 0; i < w->n; i++)
		if (!all_there(w->comm, &w->ops[i]))
			return FAKE_WAITING;
	for (i = 0; i < w->n; i++)
		finish(w->comm, &w->ops[i]);
	w->comm->done++;
	return FAKE_DONE;
}

ncclResult_t
ncclGroupStart(void)
{
	if (fake_failing("ncclGroupStart"))
		return ncclSystemError;
	depth++;
	return ncclSuccess;
}

ncclResult_t
ncclGroupEnd(void)
{
	struct work *w = group_work;

	if (depth == 0)
		fake_violate("a group was ended that was not begun");
	depth--;
	if (depth > 0 || !w)
		return ncclSuccess;
	group_work = NULL;
	if (fake_failing("ncclGroupEnd")) {
		free(w);
		return ncclSystemError;
	}
	w->comm->work = w;
	w->number = w->comm->posted++;
	w->launch = launches++;
	w->comm->busy = 1 + (int)(fake_random() % 4);
	return ncclInProgress;
}

static ncclResult_t
post(const char *name, struct op op, ncclComm_t comm, cudaStream_t stream)
{
	ncclResult_t result;

	if (fake_failing(name))
		return ncclInvalidArgument;
	result = ready(comm);
	if (result != ncclSuccess)
		return result;
	if (!group_work) {
		group_work = calloc(1, sizeof(*group_work));
		*group_work = (struct work){.comm = comm, .stream = stream};
	}
	if (group_work->n == MAX_OPS || group_work->comm != comm || group_work->stream != stream)
		abort();
	group_work->ops[group_work->n++] = op;
	if (depth > 0)
		return ncclSuccess;
	depth++;
	return ncclGroupEnd();
}

ncclResult_t
ncclAllReduce(const void *send, void *recv, size_t count, ncclDataType_t type, ncclRedOp_t op,
    ncclComm_t comm, cudaStream_t stream)
{
	(void)op;
	return post(
	    "ncclAllReduce", (struct op){ALL_REDUCE, send, recv, count, type, 0}, comm, stream);
}

ncclResult_t
ncclReduceScatter(const void *send, void *recv, size_t count, ncclDataType_t type, ncclRedOp_t op,
    ncclComm_t comm, cudaStream_t stream)
{
	(void)op;
	return post("ncclReduceScatter", (struct op){REDUCE_SCATTER, send, recv, count, type, 0},
	    comm, stream);
}

ncclResult_t
ncclAllGather(const void *send, void *recv, size_t count, ncclDataType_t type, ncclComm_t comm,
    cudaStream_t stream)
{
	return post(
	    "ncclAllGather", (struct op){ALL_GATHER, send, recv, count, type, 0}, comm, stream);
}

ncclResult_t
ncclSend(const void *send, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
    cudaStream_t stream)
{
	return post("ncclSend", (struct op){SEND, send, NULL, count, type, peer}, comm, stream);
}

ncclResult_t
ncclRecv(
    void *recv, size_t count, ncclDataType_t type, int peer, ncclComm_t comm, cudaStream_t stream)
{
	return post("ncclRecv", (struct op){RECV, NULL, recv, count, type, peer}, comm, stream);
}

/* --- the rest ----------------------------------------------------------------------------- */

ncclResult_t
ncclGetUniqueId(ncclUniqueId *id)
{
	memset(id, 0, sizeof(*id));
	snprintf(id->internal, sizeof(id->internal), FAKE_ID " %d", (int)getpid());
	return fake_failing("ncclGetUniqueId") ? ncclSystemError : ncclSuccess;
}

ncclResult_t
ncclGetVersion(int *version)
{
	*version = 22809;
	return ncclSuccess;
}

const char *
ncclGetErrorString(ncclResult_t result)
{
	return result == ncclRemoteError ? "fake: a peer is gone" : "fake: an error";
}

const char *
ncclGetLastError(ncclComm_t comm)
{
	(void)comm;
	return "fake: what went wrong last";
}
