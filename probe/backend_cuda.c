/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The cuda backend: CUDA runtime, cuBLAS and NCCL.
 *
 * Communicators are non-blocking (config.blocking = 0, NCCL 2.18 and later): a call may return
 * ncclInProgress, and until the communicator's state is ncclSuccess nothing of it is on the
 * stream, so that no event may be recorded there yet (NCCL user guide, communicators). That is
 * what progress() tells. Nothing here waits for a stream: sync() asks cudaStreamQuery. Several
 * communicators share a device: NCCL_LAUNCH_ORDER_IMPLICIT makes the host's order theirs.
 * Row-major C = A B is cuBLAS' column-major C^T = B^T A^T.
 */
#include <cublas_v2.h>
#include <cuda_runtime.h>
#include <nccl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "probe/cuda_entries.h"
#include "probe/probe.h"

enum { MAX_COMMS = 64, MAX_GROUPED = 2048 };

struct comm {
	ncclComm_t nccl;
	int size;
};

struct cuda {
	int device, rank, world;
	cudaStream_t streams[STREAMS];
	cudaEvent_t marks[PROBE_EVENTS], order[STREAMS];
	cublasHandle_t cublas;
	struct comm comms[MAX_COMMS];
	int n_comms;
	struct comm *last[STREAMS]; /* whose operation was posted last; its state is the stream's */
	struct comm *child;	    /* of a split that is going on */
	void **pointers;	    /* on the device, 3 * MAX_GROUPED */
	char error[PROBE_TEXT_MAX];
};

static char no_device[PROBE_TEXT_MAX]; /* why devices() said -1: there is no state yet */

static int
cuda_failed(struct cuda *c, cudaError_t error, const char *what)
{
	if (error == cudaSuccess)
		return 0;
	snprintf(c->error, sizeof(c->error), "%s: %s", what, cudaGetErrorString(error));
	return -1;
}

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

static const char *
cuda_error(struct backend *b)
{
	return b->state ? ((struct cuda *)b->state)->error : no_device;
}

static int
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
make_streams(struct cuda *c)
{
	int least, greatest, i;

	if (cuda_failed(
		c, cudaDeviceGetStreamPriorityRange(&least, &greatest), "stream priorities") != 0)
		return -1;
	for (i = 0; i < STREAMS; i++) {
		/* communication starts beside a product that fills the device */
		int priority = i == STREAM_COMPUTE ? least : greatest;

		if (cuda_failed(c,
			cudaStreamCreateWithPriority(
			    &c->streams[i], cudaStreamNonBlocking, priority),
			"streams") != 0 ||
		    cuda_failed(c, cudaEventCreateWithFlags(&c->order[i], cudaEventDisableTiming),
			"events") != 0)
			return -1;
	}
	for (i = 0; i < PROBE_EVENTS; i++)
		if (cuda_failed(c, cudaEventCreate(&c->marks[i]), "events") != 0)
			return -1;
	return 0;
}

static int
make_cublas(struct cuda *c)
{
	if (cublasCreate(&c->cublas) != CUBLAS_STATUS_SUCCESS ||
	    cublasSetStream(c->cublas, c->streams[STREAM_COMPUTE]) != CUBLAS_STATUS_SUCCESS) {
		snprintf(c->error, sizeof(c->error), "cuBLAS does not start");
		return -1;
	}
	return cuda_failed(
	    c, cudaMalloc((void **)&c->pointers, 3 * MAX_GROUPED * sizeof(void *)), "pointers");
}

static int
cuda_open(struct backend *b, int rank, int world, int local_rank)
{
	struct cuda *c = calloc(1, sizeof(*c));
	int visible = 0;

	b->state = c;
	if (!c)
		return -1;
	c->rank = rank;
	c->world = world;
	setenv("NCCL_LAUNCH_ORDER_IMPLICIT", "1", 0);
	if (cuda_failed(c, cudaGetDeviceCount(&visible), "no GPU") != 0)
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
	return make_cublas(c);
}

static void
cuda_close(struct backend *b)
{
	struct cuda *c = b->state;
	int i;

	if (!c)
		return;
	cudaFree(c->pointers);
	cublasDestroy(c->cublas);
	for (i = 0; i < PROBE_EVENTS; i++)
		cudaEventDestroy(c->marks[i]);
	for (i = 0; i < STREAMS; i++) {
		cudaEventDestroy(c->order[i]);
		cudaStreamDestroy(c->streams[i]);
	}
	/* Communicators go with the process: destroying them waits for all ranks. */
	free(c);
	b->state = NULL;
}

static void
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

static void
cuda_describe(struct backend *b, struct device_facts *facts)
{
	struct cuda *c = b->state;
	struct cudaDeviceProp properties;
	const char *pretended = getenv("NCCL_HOSTID");
	size_t available = 0, total = 0;
	int nccl = 0, runtime = 0;

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
	ncclGetVersion(&nccl);
	cudaRuntimeGetVersion(&runtime);
	snprintf(facts->library, sizeof(facts->library), "CUDA %d.%d, NCCL %d.%d.%d",
	    runtime / 1000, runtime % 1000 / 10, nccl / 10000, nccl % 10000 / 100, nccl % 100);
}

/* --- memory ------------------------------------------------------------------------------- */

static void *
cuda_alloc(struct backend *b, size_t bytes)
{
	void *memory = NULL;

	if (cuda_failed(b->state, cudaMalloc(&memory, bytes ? bytes : 16), "memory") != 0) {
		cudaGetLastError(); /* or the next launch reports it again */
		return NULL;
	}
	return memory;
}

static void
cuda_release(struct backend *b, void *memory)
{
	(void)b;
	cudaFree(memory);
}

static uint64_t
cuda_free_bytes(struct backend *b)
{
	size_t available = 0, total = 0;

	(void)b;
	return cudaMemGetInfo(&available, &total) == cudaSuccess ? available : 0;
}

/* Round to nearest, ties to even: as the device does. */
static uint16_t
to_bf16(float value)
{
	uint32_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return (uint16_t)((bits + 0x7fffu + ((bits >> 16) & 1)) >> 16);
}

static float
from_bf16(uint16_t value)
{
	uint32_t bits = (uint32_t)value << 16;
	float result;

	memcpy(&result, &bits, sizeof(result));
	return result;
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

static int
cuda_put(struct backend *b, enum element element, void *to, const void *from, int64_t n)
{
	const float *values = from;
	uint16_t *words;
	int64_t i;
	int result;

	if (element != ELEMENT_ACT)
		return copy(b->state, to, from, (size_t)n * 4, cudaMemcpyHostToDevice);
	words = malloc((size_t)n * sizeof(*words) + 1);
	if (!words)
		return -1;
	for (i = 0; i < n; i++)
		words[i] = to_bf16(values[i]);
	result = copy(b->state, to, words, (size_t)n * sizeof(*words), cudaMemcpyHostToDevice);
	free(words);
	return result;
}

static int
cuda_get(struct backend *b, enum element element, void *to, const void *from, int64_t n)
{
	float *values = to;
	uint16_t *words;
	int64_t i;
	int result;

	if (element != ELEMENT_ACT)
		return copy(b->state, to, from, (size_t)n * 4, cudaMemcpyDeviceToHost);
	words = malloc((size_t)n * sizeof(*words) + 1);
	if (!words)
		return -1;
	result = copy(b->state, words, from, (size_t)n * sizeof(*words), cudaMemcpyDeviceToHost);
	for (i = 0; i < n && result == 0; i++)
		values[i] = from_bf16(words[i]);
	free(words);
	return result;
}

static int
cuda_fill(struct backend *b, void *to, int byte, size_t bytes)
{
	struct cuda *c = b->state;

	if (bytes == 0)
		return 0;
	return cuda_failed(
	    c, cudaMemsetAsync(to, byte, bytes, c->streams[STREAM_COMPUTE]), "filling");
}

/* --- communicators ------------------------------------------------------------------------ */

static int
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
	if (c->n_comms == MAX_COMMS) {
		snprintf(c->error, sizeof(c->error), "too many communicators");
		return NULL;
	}
	return &c->comms[c->n_comms++];
}

static enum op_state
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
static enum op_state
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

static enum op_state
cuda_progress(struct backend *b, enum stream stream)
{
	struct cuda *c = b->state;
	enum op_state state = comm_state(c, c->last[stream]);

	if (state != OP_DONE || !c->child)
		return state;
	state = comm_state(c, c->child);
	if (state == OP_DONE) {
		if (c->child->nccl)
			ncclCommCount(c->child->nccl, &c->child->size);
		c->child = NULL;
	}
	return state;
}

static enum op_state
cuda_sync(struct backend *b, enum stream stream)
{
	struct cuda *c = b->state;
	enum op_state state = cuda_progress(b, stream);
	cudaError_t error;

	if (state != OP_DONE)
		return state;
	error = cudaStreamQuery(c->streams[stream]);
	if (error == cudaErrorNotReady)
		return OP_BUSY;
	return cuda_failed(c, error, "the GPU") == 0 ? OP_DONE : OP_FAILED;
}

static enum op_state
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

static enum op_state
cuda_collective(struct backend *b, enum stream stream, const struct collective *o)
{
	struct cuda *c = b->state;

	c->last[stream] = o->comm;
	return nccl_state(c, run(o, c->streams[stream]), "a collective");
}

/* --- products ----------------------------------------------------------------------------- */

static int
cublas_failed(struct cuda *c, cublasStatus_t status, const char *what)
{
	if (status == CUBLAS_STATUS_SUCCESS)
		return 0;
	snprintf(c->error, sizeof(c->error), "%s: %s", what, cublasGetStatusString(status));
	return -1;
}

static int
cuda_gemm(struct backend *b, const struct gemm *g)
{
	struct cuda *c = b->state;

	return cublas_failed(c,
	    cublasGemmEx(c->cublas, g->transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N,
		g->transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N, (int)g->n, (int)g->m, (int)g->k,
		&g->alpha, g->b, CUDA_R_16BF, (int)g->ldb, g->a, CUDA_R_16BF, (int)g->lda, &g->beta,
		g->c, g->float_out ? CUDA_R_32F : CUDA_R_16BF, (int)g->ldc, CUBLAS_COMPUTE_32F,
		CUBLAS_GEMM_DEFAULT),
	    "cublasGemmEx");
}

/* Host arrays of the grouped call, one group a product. */
struct grouped {
	cublasOperation_t op_a[MAX_GROUPED], op_b[MAX_GROUPED];
	int m[MAX_GROUPED], n[MAX_GROUPED], k[MAX_GROUPED], lda[MAX_GROUPED], ldb[MAX_GROUPED];
	int ldc[MAX_GROUPED], size[MAX_GROUPED];
	float alpha[MAX_GROUPED], beta[MAX_GROUPED];
	const void *pointers[3 * MAX_GROUPED];
};

static void
fill_grouped(struct grouped *h, const struct gemm *gemms, int n)
{
	int i;

	for (i = 0; i < n; i++) {
		const struct gemm *g = &gemms[i];

		h->op_a[i] = g->transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N; /* swapped, see above */
		h->op_b[i] = g->transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N;
		h->m[i] = (int)g->n;
		h->n[i] = (int)g->m;
		h->k[i] = (int)g->k;
		h->lda[i] = (int)g->ldb;
		h->ldb[i] = (int)g->lda;
		h->ldc[i] = (int)g->ldc;
		h->alpha[i] = g->alpha;
		h->beta[i] = g->beta;
		h->size[i] = 1;
		h->pointers[i] = g->b;
		h->pointers[n + i] = g->a;
		h->pointers[2 * n + i] = g->c;
	}
}

static int
grouped_call(struct cuda *c, const struct gemm *gemms, int n)
{
	struct grouped *h = malloc(sizeof(*h));
	int result = -1;

	if (!h)
		return -1;
	fill_grouped(h, gemms, n);
	/* from pageable memory: copied before the call returns, in order on the stream */
	if (cuda_failed(c,
		cudaMemcpyAsync(c->pointers, h->pointers, 3 * (size_t)n * sizeof(void *),
		    cudaMemcpyHostToDevice, c->streams[STREAM_COMPUTE]),
		"pointers") == 0)
		result = cublas_failed(c,
		    cublasGemmGroupedBatchedEx(c->cublas, h->op_a, h->op_b, h->m, h->n, h->k,
			h->alpha, (const void *const *)c->pointers, CUDA_R_16BF, h->lda,
			(const void *const *)(c->pointers + n), CUDA_R_16BF, h->ldb, h->beta,
			c->pointers + 2 * n, CUDA_R_16BF, h->ldc, n, h->size, CUBLAS_COMPUTE_32F),
		    "cublasGemmGroupedBatchedEx");
	free(h);
	return result;
}

static int
cuda_grouped(struct backend *b, const struct gemm *gemms, int n, enum grouped_engine engine)
{
	int i;

	if (engine == GROUPED_API && n <= MAX_GROUPED)
		return grouped_call(b->state, gemms, n);
	for (i = 0; i < n; i++)
		if (cuda_gemm(b, &gemms[i]) != 0)
			return -1;
	return 0;
}

/* --- for the kernels ---------------------------------------------------------------------------
 */

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

static int
cuda_mark(struct backend *b, int event, enum stream stream)
{
	struct cuda *c = b->state;

	return cuda_failed(c, cudaEventRecord(c->marks[event], c->streams[stream]), "marks");
}

static double
cuda_elapsed(struct backend *b, int from, int to)
{
	struct cuda *c = b->state;
	float ms = 0;

	return cudaEventElapsedTime(&ms, c->marks[from], c->marks[to]) == cudaSuccess
		   ? (double)ms * 1e-3
		   : 0;
}

const struct backend_ops *moeplan_backend(void);

const struct backend_ops *
moeplan_backend(void)
{
	static struct backend_ops ops = {
	    .abi = PROBE_ABI,
	    .name = "cuda",
	    .act_bytes = 2,
	    .times_count = true,
	    .devices_word = "GPU",
	    .devices = cuda_devices,
	    .open = cuda_open,
	    .close = cuda_close,
	    .abort = cuda_abort,
	    .describe = cuda_describe,
	    .error = cuda_error,
	    .alloc = cuda_alloc,
	    .release = cuda_release,
	    .free_bytes = cuda_free_bytes,
	    .put = cuda_put,
	    .get = cuda_get,
	    .fill = cuda_fill,
	    .unique_id = cuda_unique_id,
	    .world = cuda_world,
	    .split = cuda_split,
	    .collective = cuda_collective,
	    .progress = cuda_progress,
	    .sync = cuda_sync,
	    .depend = cuda_depend,
	    .gemm = cuda_gemm,
	    .grouped = cuda_grouped,
	    .mark = cuda_mark,
	    .elapsed = cuda_elapsed,
	};

	cuda_kernel_ops(&ops);
	return &ops;
}
