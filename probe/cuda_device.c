/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The device of a rank: how is it opened, how does memory come and go, and in which order does work
 * run on its streams?
 *
 * Nothing here waits for a stream: sync() asks cudaStreamQuery. All calls of the CUDA runtime by
 * the host are in this file.
 */
#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "probe/cuda_entries.h"
#include "probe/cuda_private.h"

static char no_device[PROBE_TEXT_MAX]; /* why devices() said -1: there is no state yet */

int
cuda_failed(struct cuda *c, int code, const char *what)
{
	cudaError_t error = (cudaError_t)code;

	if (error == cudaSuccess)
		return 0;
	snprintf(c->error, sizeof(c->error), "%s: %s", what, cudaGetErrorString(error));
	return -1;
}

const char *
cuda_error(struct backend *b)
{
	return b->state ? ((struct cuda *)b->state)->error : no_device;
}

int
cuda_devices(struct backend *b)
{
	int n = 0;
	cudaError_t error = cudaGetDeviceCount(&n);

	(void)b;
	if (error == cudaSuccess)
		return n;
	snprintf(no_device, sizeof(no_device), "%s", cudaGetErrorString(error));
	return -1;
}

/* --- beginning and end -------------------------------------------------------------------- */

static int
make_stream(struct cuda *c, int priority, struct CUstream_st **stream, struct CUevent_st **event)
{
	if (cuda_failed(c, cudaStreamCreateWithPriority(stream, cudaStreamNonBlocking, priority),
		"making streams") != 0)
		return -1;
	return cuda_failed(
	    c, cudaEventCreateWithFlags(event, cudaEventDisableTiming), "making events");
}

static int
make_streams(struct cuda *c)
{
	int least, greatest, i;

	if (cuda_failed(
		c, cudaDeviceGetStreamPriorityRange(&least, &greatest), "stream priorities") != 0)
		return -1;
	for (i = 0; i < STREAMS; i++) /* communication starts beside a product that fills all */
		if (make_stream(c, i == STREAM_COMPUTE ? least : greatest, &c->streams[i],
			&c->order[i]) != 0)
			return -1;
	for (i = 0; i < CUDA_SIDE_STREAMS; i++)
		if (make_stream(c, least, &c->side[i], &c->side_done[i]) != 0)
			return -1;
	for (i = 0; i < PROBE_EVENTS; i++)
		if (cuda_failed(c, cudaEventCreate(&c->marks[i]), "making events") != 0)
			return -1;
	return 0;
}

/*
 * NCCL starts the operations of several communicators in the host's order when asked to, from
 * driver 12.3 on by waiting for the one before to start. Older drivers wait for its end (NCCL
 * src/enqueue.cc, getImplicitOrder): a send would wait for a receive that is posted behind it. An
 * older runtime counts as an older driver; NCCL knows the variable since 2.26.
 */
enum { ORDERED_SINCE = 12030, ORDERED_SINCE_NCCL = 22600 };

static const char order_variable[] = "NCCL_LAUNCH_ORDER_IMPLICIT";

static void
remark_order(struct cuda *c, int driver, int runtime)
{
	const char *set = getenv(order_variable);
	int nccl = cuda_nccl_version();

	if (set && strcmp(set, "0") != 0)
		return;
	if (set)
		snprintf(c->remark, sizeof(c->remark),
		    "%s is 0: NCCL does not start several groups' operations in the host's order, "
		    "and ranks may wait for each other for ever",
		    order_variable);
	else
		snprintf(c->remark, sizeof(c->remark),
		    "NCCL %d.%d.%d, driver for CUDA %d.%d and CUDA %d.%d do not start several "
		    "groups' operations in the host's order, and ranks may wait for each other for "
		    "ever: NCCL 2.26 and CUDA 12.3 do",
		    nccl / 10000, nccl % 10000 / 100, nccl % 100, driver / 1000,
		    driver % 1000 / 10, runtime / 1000, runtime % 1000 / 10);
}

static int
order_launches(struct cuda *c)
{
	int driver = 0, runtime = 0;

	if (cuda_failed(c, cudaDriverGetVersion(&driver), "the driver's version") != 0 ||
	    cuda_failed(c, cudaRuntimeGetVersion(&runtime), "the runtime's version") != 0)
		return -1;
	if (driver >= ORDERED_SINCE && runtime >= ORDERED_SINCE &&
	    cuda_nccl_version() >= ORDERED_SINCE_NCCL)
		setenv(order_variable, "1", 0);
	remark_order(c, driver, runtime);
	return 0;
}

int
cuda_open(struct backend *b, int rank, int world, int local_rank)
{
	struct cuda *c = calloc(1, sizeof(*c));
	int visible = 0;

	b->state = c;
	if (!c)
		return -1;
	c->rank = rank;
	c->world = world;
	if (cuda_failed(c, cudaGetDeviceCount(&visible), "counting GPUs") != 0 ||
	    order_launches(c) != 0)
		return -1;
	if (local_rank < 0)
		local_rank = 0;
	if (visible > 1 && local_rank >= visible) {
		snprintf(c->error, sizeof(c->error),
		    "this is process %d of its node, which shows %d GPUs: one process a GPU is "
		    "wanted",
		    local_rank, visible);
		return -1;
	}
	c->device = visible == 1 ? 0 : local_rank;
	if (cuda_failed(c, cudaSetDevice(c->device), "choosing the GPU") != 0 ||
	    make_streams(c) != 0)
		return -1;
	return cuda_make_cublas(b);
}

void
cuda_close(struct backend *b)
{
	struct cuda *c = b->state;
	int i;

	if (!c)
		return;
	cuda_free_cublas(b);
	for (i = 0; i < PROBE_EVENTS; i++)
		cudaEventDestroy(c->marks[i]);
	for (i = 0; i < STREAMS; i++) {
		cudaEventDestroy(c->order[i]);
		cudaStreamDestroy(c->streams[i]);
	}
	for (i = 0; i < CUDA_SIDE_STREAMS; i++) {
		cudaEventDestroy(c->side_done[i]);
		cudaStreamDestroy(c->side[i]);
	}
	/* Communicators go with the process: destroying them waits for all ranks. */
	free(c);
	b->state = NULL;
}

void
cuda_describe(struct backend *b, struct device_facts *facts)
{
	struct cuda *c = b->state;
	struct cudaDeviceProp properties;
	const char *pretended = getenv("NCCL_HOSTID");
	size_t available = 0, total = 0;
	int nccl = cuda_nccl_version(), runtime = 0, driver = 0;

	memset(facts, 0, sizeof(*facts));
	gethostname(facts->host, sizeof(facts->host) - 1);
	if (pretended) { /* NCCL takes it for the node, and so must we */
		snprintf(facts->host, sizeof(facts->host), "%.60s", pretended);
		facts->pretended = true;
	}
	if (cudaGetDeviceProperties(&properties, c->device) == cudaSuccess)
		snprintf(facts->name, sizeof(facts->name), "%.90s", properties.name);
	cudaDeviceGetPCIBusId(facts->bus_id, (int)sizeof(facts->bus_id), c->device);
	cudaMemGetInfo(&available, &total);
	facts->free_bytes = available;
	facts->total_bytes = total;
	cudaGetDeviceCount(&facts->visible);
	facts->partitioned = strstr(facts->name, "MIG") != NULL;
	cudaRuntimeGetVersion(&runtime);
	cudaDriverGetVersion(&driver);
	snprintf(facts->library, sizeof(facts->library),
	    "CUDA %d.%d (driver for %d.%d), NCCL %d.%d.%d", runtime / 1000, runtime % 1000 / 10,
	    driver / 1000, driver % 1000 / 10, nccl / 10000, nccl % 10000 / 100, nccl % 100);
	snprintf(facts->remark, sizeof(facts->remark), "%s", c->remark);
}

/* --- memory ------------------------------------------------------------------------------- */

void *
cuda_alloc(struct backend *b, size_t bytes)
{
	void *memory = NULL;

	if (cuda_failed(b->state, cudaMalloc(&memory, bytes ? bytes : 16), "memory") != 0) {
		cudaGetLastError(); /* or the next launch reports it again */
		return NULL;
	}
	return memory;
}

void
cuda_release(struct backend *b, void *memory)
{
	(void)b;
	cudaFree(memory);
}

uint64_t
cuda_free_bytes(struct backend *b)
{
	size_t available = 0, total = 0;

	(void)b;
	return cudaMemGetInfo(&available, &total) == cudaSuccess ? available : 0;
}

/*
 * In order with the computation. From and to pageable host memory such a copy is over, as far as
 * the host's side goes, when the call returns.
 */
static int
copy(struct cuda *c, void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind)
{
	if (bytes == 0)
		return 0;
	return cuda_failed(
	    c, cudaMemcpyAsync(to, from, bytes, kind, c->streams[STREAM_COMPUTE]), "copying");
}

int
cuda_upload(struct cuda *c, void *to, const void *from, size_t bytes)
{
	return copy(c, to, from, bytes, cudaMemcpyHostToDevice);
}

int
cuda_download(struct cuda *c, void *to, const void *from, size_t bytes)
{
	return copy(c, to, from, bytes, cudaMemcpyDeviceToHost);
}

int
cuda_fill(struct backend *b, void *to, int byte, size_t bytes)
{
	struct cuda *c = b->state;

	if (bytes == 0)
		return 0;
	return cuda_failed(
	    c, cudaMemsetAsync(to, byte, bytes, c->streams[STREAM_COMPUTE]), "filling");
}

/* --- order of streams --------------------------------------------------------------------- */

/* Waiting may be for a peer that another communicator knows to be gone. */
enum op_state
cuda_sync(struct backend *b, enum stream stream)
{
	struct cuda *c = b->state;
	enum op_state state = cuda_progress(b, stream);
	cudaError_t error;

	if (state != OP_DONE)
		return state;
	error = cudaStreamQuery(c->streams[stream]);
	if (error == cudaErrorNotReady)
		return cuda_comms_state(c) == OP_FAILED ? OP_FAILED : OP_BUSY;
	return cuda_failed(c, error, "the GPU") == 0 ? OP_DONE : OP_FAILED;
}

enum op_state
cuda_depend(struct backend *b, enum stream later, enum stream earlier)
{
	struct cuda *c = b->state;
	enum op_state state = cuda_progress(b, earlier);

	if (state != OP_DONE)
		return state;
	if (cuda_failed(c, cudaEventRecord(c->order[earlier], c->streams[earlier]), "ordering") !=
		0 ||
	    cuda_failed(
		c, cudaStreamWaitEvent(c->streams[later], c->order[earlier], 0), "ordering") != 0)
		return OP_FAILED;
	return OP_DONE;
}

int
cuda_fork(struct cuda *c, int n)
{
	struct CUevent_st *begun = c->order[STREAM_COMPUTE];
	int i;

	if (cuda_failed(c, cudaEventRecord(begun, c->streams[STREAM_COMPUTE]), "ordering") != 0)
		return -1;
	for (i = 0; i < n; i++)
		if (cuda_failed(c, cudaStreamWaitEvent(c->side[i], begun, 0), "ordering") != 0)
			return -1;
	return 0;
}

int
cuda_join(struct cuda *c, int n)
{
	int i;

	for (i = 0; i < n; i++)
		if (cuda_failed(c, cudaEventRecord(c->side_done[i], c->side[i]), "ordering") != 0 ||
		    cuda_failed(c,
			cudaStreamWaitEvent(c->streams[STREAM_COMPUTE], c->side_done[i], 0),
			"ordering") != 0)
			return -1;
	return 0;
}

int
cuda_launched(struct backend *b, int error, const char *what)
{
	return cuda_failed(b->state, (cudaError_t)error, what);
}

void *
cuda_compute_stream(struct backend *b)
{
	return ((struct cuda *)b->state)->streams[STREAM_COMPUTE];
}

/* --- time --------------------------------------------------------------------------------- */

int
cuda_mark(struct backend *b, int event, enum stream stream)
{
	struct cuda *c = b->state;

	return cuda_failed(c, cudaEventRecord(c->marks[event], c->streams[stream]), "marks");
}

bool
cuda_passed(struct backend *b, int event)
{
	struct cuda *c = b->state;

	return cudaEventQuery(c->marks[event]) == cudaSuccess;
}

double
cuda_elapsed(struct backend *b, int from, int to)
{
	struct cuda *c = b->state;
	float ms = 0;

	if (cuda_failed(c, cudaEventElapsedTime(&ms, c->marks[from], c->marks[to]), "a time") != 0)
		return -1;
	return (double)ms * 1e-3;
}
