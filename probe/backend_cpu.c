/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The cpu backend: MPI for the collectives, CBLAS for the products, host memory.
 *
 * A rehearsal: groups, counts, order of operations and numerics are the plan's; its times say
 * nothing about a GPU. Every collective is posted without blocking and tested, never waited for,
 * so that a rank that never arrives is noticed. Sends are copied first: their memory is free at
 * once. The id of the world is not used: MPI_COMM_WORLD is there, and must be as large as the
 * launcher said (a program started without mpirun is an MPI world of 1).
 */
#include <cblas.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "probe/host_kernels.h"
#include "probe/probe.h"

enum { MAX_REQUESTS = 4096, MAX_COMMS = 64 };

struct comm {
	MPI_Comm mpi;
	int size, rank;
};

struct request {
	MPI_Request mpi;
	void *memory; /* freed when the request is done */
	enum stream stream;
};

struct cpu {
	struct request requests[MAX_REQUESTS];
	int n_requests;
	struct comm comms[MAX_COMMS];
	int n_comms;
	int world;
	double marks[PROBE_EVENTS];
	char error[PROBE_TEXT_MAX];
};

static int
fail(struct cpu *cpu, const char *what, int code)
{
	char text[MPI_MAX_ERROR_STRING] = "";
	int length = 0;

	if (code != MPI_SUCCESS)
		MPI_Error_string(code, text, &length);
	snprintf(cpu->error, sizeof(cpu->error), "%s%s%.300s", what, length ? ": " : "", text);
	return -1;
}

static const char *
cpu_error(struct backend *b)
{
	return ((struct cpu *)b->state)->error;
}

static int
cpu_devices(struct backend *b)
{
	(void)b;
	return 1 << 20; /* as many ranks as the launcher starts */
}

static int
cpu_open(struct backend *b, int rank, int world, int local_rank)
{
	struct cpu *cpu = calloc(1, sizeof(*cpu));
	int provided, size, mpi_rank;

	(void)local_rank;
	b->state = cpu;
	if (!cpu)
		return -1;
	cpu->world = world;
	if (MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &provided) != MPI_SUCCESS)
		return fail(cpu, "MPI does not start", MPI_SUCCESS);
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	MPI_Comm_rank(MPI_COMM_WORLD, &mpi_rank);
	if (size == world && mpi_rank == rank)
		return 0;
	snprintf(cpu->error, sizeof(cpu->error),
	    "MPI says rank %d of %d, the launcher rank %d of %d: the "
	    "cpu backend talks over MPI, start it with mpirun -n %d moeplan-probe …",
	    mpi_rank, size, rank, world, world);
	return -1;
}

static void
cpu_close(struct backend *b)
{
	struct cpu *cpu = b->state;
	int i;

	if (!cpu)
		return;
	for (i = 1; i < cpu->n_comms; i++)
		if (cpu->comms[i].mpi != MPI_COMM_NULL)
			MPI_Comm_free(&cpu->comms[i].mpi);
	MPI_Finalize();
	free(cpu);
	b->state = NULL;
}

static void
cpu_abort(struct backend *b)
{
	(void)b; /* pending requests end with the process: MPI_Abort would hide who was missing */
}

static void
cpu_describe(struct backend *b, struct device_facts *facts)
{
	long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
	int length = 0;
	char version[MPI_MAX_LIBRARY_VERSION_STRING] = "";

	(void)b;
	memset(facts, 0, sizeof(*facts));
	snprintf(facts->name, sizeof(facts->name), "CPU");
	gethostname(facts->host, sizeof(facts->host) - 1);
	facts->visible = (int)sysconf(_SC_NPROCESSORS_ONLN);
	if (pages > 0 && page > 0)
		facts->total_bytes = facts->free_bytes = (uint64_t)pages * (uint64_t)page;
	MPI_Get_library_version(version, &length);
	version[strcspn(version, ",\n")] = '\0';
	snprintf(facts->library, sizeof(facts->library), "%.80s", version);
}

static uint64_t
cpu_free_bytes(struct backend *b)
{
	(void)b;
	return 0; /* other processes share it: what is allocated is counted instead */
}

static int
cpu_unique_id(struct backend *b, unsigned char id[PROBE_ID_BYTES])
{
	(void)b;
	memset(id, 0, PROBE_ID_BYTES);
	return 0;
}

static struct comm *
new_comm(struct cpu *cpu, MPI_Comm mpi)
{
	struct comm *comm;

	if (cpu->n_comms == MAX_COMMS)
		return NULL;
	comm = &cpu->comms[cpu->n_comms++];
	comm->mpi = mpi;
	comm->size = 1;
	if (mpi != MPI_COMM_NULL) {
		MPI_Comm_set_errhandler(mpi, MPI_ERRORS_RETURN);
		MPI_Comm_size(mpi, &comm->size);
		MPI_Comm_rank(mpi, &comm->rank);
	}
	return comm;
}

static enum op_state
cpu_world(struct backend *b, const unsigned char id[PROBE_ID_BYTES], struct comm **comm)
{
	(void)id;
	*comm = new_comm(b->state, MPI_COMM_WORLD);
	return *comm ? OP_DONE : OP_FAILED;
}

static enum op_state
cpu_split(struct backend *b, struct comm *parent, int color, int key, struct comm **comm)
{
	struct cpu *cpu = b->state;
	MPI_Comm mpi;
	int code = MPI_Comm_split(parent->mpi, color < 0 ? MPI_UNDEFINED : color, key, &mpi);

	if (code != MPI_SUCCESS) {
		fail(cpu, "MPI_Comm_split", code);
		return OP_FAILED;
	}
	*comm = color < 0 ? NULL : new_comm(cpu, mpi);
	return color < 0 || *comm ? OP_DONE : OP_FAILED;
}

/* --- streams: requests that are not done yet ---------------------------------------------- */

static enum op_state
cpu_sync(struct backend *b, enum stream stream)
{
	struct cpu *cpu = b->state;
	int i, done, code, pending = 0;

	for (i = 0; i < cpu->n_requests; i++) {
		struct request *r = &cpu->requests[i];

		code = MPI_Test(&r->mpi, &done, MPI_STATUS_IGNORE);
		if (code != MPI_SUCCESS) {
			fail(cpu, "an operation failed", code);
			return OP_FAILED;
		}
		if (done) {
			free(r->memory);
			*r = cpu->requests[--cpu->n_requests];
			i--;
		} else if (r->stream == stream) {
			pending = 1;
		}
	}
	return pending ? OP_BUSY : OP_DONE;
}

/* Buffered sends need not be over; everything else that was posted has to be. */
static enum op_state
cpu_depend(struct backend *b, enum stream later, enum stream earlier)
{
	(void)later;
	if (earlier == STREAM_FORWARD || earlier == STREAM_BACKWARD)
		return OP_DONE;
	return cpu_sync(b, earlier);
}

static enum op_state
cpu_progress(struct backend *b, enum stream stream)
{
	if (stream == STREAM_BESIDE || stream == STREAM_FORWARD_IN || stream == STREAM_BACKWARD_IN)
		return OP_DONE; /* waited for where it is needed */
	return cpu_depend(b, STREAM_COMPUTE, stream);
}

static enum op_state
posted(struct cpu *cpu, enum stream stream, MPI_Request mpi, void *memory, int code)
{
	if (code != MPI_SUCCESS || cpu->n_requests == MAX_REQUESTS) {
		fail(cpu, code == MPI_SUCCESS ? "too many operations in flight" : "cannot post",
		    code);
		return OP_FAILED;
	}
	cpu->requests[cpu->n_requests++] = (struct request){mpi, memory, stream};
	return OP_BUSY;
}

static enum op_state
post_all_to_all(struct cpu *cpu, enum stream stream, const struct collective *c, MPI_Datatype type)
{
	int size = c->comm->size, i, *all = malloc(4 * (size_t)size * sizeof(*all));
	const int64_t *from[4] = {c->send_counts, c->send_offsets, c->recv_counts, c->recv_offsets};
	MPI_Request request;
	int code;

	if (!all)
		return OP_FAILED;
	for (i = 0; i < 4 * size; i++)
		all[i] = (int)from[i / size][i % size];
	code = MPI_Ialltoallv(c->send, all, all + size, type, c->recv, all + 2 * size,
	    all + 3 * size, type, c->comm->mpi, &request);
	return posted(cpu, stream, request, all, code);
}

static enum op_state
post_send(struct cpu *cpu, enum stream stream, const struct collective *c, MPI_Datatype type)
{
	void *copy = malloc((size_t)c->count * 4 + 1);
	MPI_Request request;
	int code;

	if (!copy)
		return OP_FAILED;
	memcpy(copy, c->send, (size_t)c->count * 4);
	code = MPI_Isend(copy, (int)c->count, type, c->peer, 0, c->comm->mpi, &request);
	return posted(cpu, stream, request, copy, code) == OP_FAILED ? OP_FAILED : OP_DONE;
}

/* The sender's part may already stand where it belongs in the whole. */
static bool
in_place(const struct collective *c)
{
	return c->send == (const char *)c->recv + (size_t)c->comm->rank * (size_t)c->count * 4;
}

static enum op_state
cpu_collective(struct backend *b, enum stream stream, const struct collective *c)
{
	MPI_Datatype type = c->element == ELEMENT_INT32 ? MPI_INT : MPI_FLOAT;
	struct cpu *cpu = b->state;
	MPI_Request request = MPI_REQUEST_NULL;
	MPI_Comm mpi = c->comm->mpi;
	int code = MPI_SUCCESS, n = (int)c->count;

	switch (c->kind) {
	case COLLECTIVE_ALL_REDUCE:
		code = MPI_Iallreduce(MPI_IN_PLACE, c->recv, n, type, MPI_SUM, mpi, &request);
		break;
	case COLLECTIVE_REDUCE_SCATTER:
		code = MPI_Ireduce_scatter_block(c->send, c->recv, n, type, MPI_SUM, mpi, &request);
		break;
	case COLLECTIVE_ALL_GATHER:
		code = MPI_Iallgather(
		    in_place(c) ? MPI_IN_PLACE : c->send, n, type, c->recv, n, type, mpi, &request);
		break;
	case COLLECTIVE_ALL_TO_ALL:
		return post_all_to_all(cpu, stream, c, type);
	case COLLECTIVE_SEND:
		return post_send(cpu, stream, c, type);
	case COLLECTIVE_RECV:
		code = MPI_Irecv(c->recv, n, type, c->peer, 0, mpi, &request);
		break;
	case COLLECTIVES:
		return OP_FAILED;
	}
	return posted(cpu, stream, request, NULL, code);
}

/* --- products and clocks ------------------------------------------------------------------ */

static int
cpu_gemm(struct backend *b, const struct gemm *g)
{
	(void)b;
	if (g->m > 0 && g->n > 0)
		cblas_sgemm(CblasRowMajor, g->transpose_a ? CblasTrans : CblasNoTrans,
		    g->transpose_b ? CblasTrans : CblasNoTrans, (int)g->m, (int)g->n, (int)g->k,
		    g->alpha, g->a, (int)g->lda, g->b, (int)g->ldb, g->beta, g->c, (int)g->ldc);
	return 0;
}

static int
cpu_grouped(struct backend *b, const struct gemm *gemms, int n, enum grouped_engine engine)
{
	int i;

	if (engine != GROUPED_LOOP)
		return fail(b->state, "CBLAS has no grouped products", MPI_SUCCESS);
	for (i = 0; i < n; i++)
		cpu_gemm(b, &gemms[i]);
	return 0;
}

static int
cpu_mark(struct backend *b, int event, enum stream stream)
{
	struct timespec now;

	(void)stream;
	clock_gettime(CLOCK_MONOTONIC, &now);
	((struct cpu *)b->state)->marks[event] = (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
	return 0;
}

/* What is behind a mark on the host is done when the mark is made. */
static bool
cpu_passed(struct backend *b, int event)
{
	(void)b;
	(void)event;
	return true;
}

static double
cpu_elapsed(struct backend *b, int from, int to)
{
	struct cpu *cpu = b->state;

	return cpu->marks[to] - cpu->marks[from];
}

const struct backend_ops *moeplan_backend(void);

const struct backend_ops *
moeplan_backend(void)
{
	static struct backend_ops ops = {
	    .abi = PROBE_ABI,
	    .name = "cpu",
	    .devices_word = "slot",
	    .devices = cpu_devices,
	    .open = cpu_open,
	    .close = cpu_close,
	    .abort = cpu_abort,
	    .describe = cpu_describe,
	    .error = cpu_error,
	    .free_bytes = cpu_free_bytes,
	    .unique_id = cpu_unique_id,
	    .world = cpu_world,
	    .split = cpu_split,
	    .collective = cpu_collective,
	    .progress = cpu_progress,
	    .sync = cpu_sync,
	    .depend = cpu_depend,
	    .gemm = cpu_gemm,
	    .grouped = cpu_grouped,
	    .mark = cpu_mark,
	    .passed = cpu_passed,
	    .elapsed = cpu_elapsed,
	};

	host_kernels(&ops);
	return &ops;
}
