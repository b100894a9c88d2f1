/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How do the ranks of a rehearsal talk that an mpirun started: MPI's communicators and collectives.
 *
 * Every collective is posted without blocking and tested, never waited for, so that a rank that
 * never arrives is noticed. Sends are copied first: their memory is free at once. The id of the
 * world is not used: MPI_COMM_WORLD is there, and must be as large as the launcher said (a program
 * that another MPI's mpirun started is an MPI world of 1).
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probe/cpu_private.h"

struct comm {
	MPI_Comm mpi;
	int size, rank;
};

struct request {
	MPI_Request mpi;
	void *memory; /* freed when the request is done */
	enum stream stream;
};

struct ways {
	struct request requests[CPU_MAX_REQUESTS];
	int n_requests;
	struct comm comms[CPU_MAX_COMMS];
	int n_comms;
};

static int
fail(struct backend *b, const char *what, int code)
{
	char text[MPI_MAX_ERROR_STRING] = "";
	int length = 0;

	if (code != MPI_SUCCESS)
		MPI_Error_string(code, text, &length);
	snprintf(((struct cpu *)b->state)->error, PROBE_TEXT_MAX, "%s%s%.300s", what,
	    length ? ": " : "", text);
	return -1;
}

static struct ways *
ways_of(struct backend *b)
{
	return ((struct cpu *)b->state)->ways;
}

/* "Open MPI v4.1.4" of "Open MPI v4.1.4, package: …"; "MPICH 4.2.1" of "MPICH Version:  4.2.1…". */
static void
library_name(char text[96])
{
	char version[MPI_MAX_LIBRARY_VERSION_STRING] = "";
	const char *number = version;
	int length = 0;

	MPI_Get_library_version(version, &length);
	version[strcspn(version, ",\n")] = '\0';
	if (strncmp(version, "MPICH Version:", 14) == 0)
		number += 14 + strspn(version + 14, " \t");
	snprintf(text, 96, "%s%.80s", number > version ? "MPICH " : "", number);
}

/*
 * Slurm's srun starts MPI's ranks only when it offers what this MPI asks for: PMIx for Open MPI,
 * else PMI. Without that, MPI would be a world of 1, or end the process.
 */
bool
cpu_mpi_started(const struct backend *b)
{
#ifdef OPEN_MPI
	const char *variable = "PMIX_RANK";
#else
	const char *variable = "PMI_RANK";
#endif
	return b->mpi == MPI_RANKS || (b->mpi == MPI_PERHAPS && getenv(variable));
}

static enum op_state mpi_sync(struct backend *b, enum stream stream);

int
cpu_mpi_open(struct backend *b)
{
	struct cpu *cpu = b->state;
	int provided, size, rank;
	char library[96];

	cpu->ways = calloc(1, sizeof(struct ways));
	cpu->look = mpi_sync;
	if (!cpu->ways)
		return fail(b, "out of memory", MPI_SUCCESS);
	if (MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &provided) != MPI_SUCCESS)
		return fail(b, "MPI does not start", MPI_SUCCESS);
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	if (size == cpu->world && rank == cpu->rank)
		return 0;
	library_name(library);
	snprintf(cpu->error, sizeof(cpu->error),
	    "MPI says rank %d of %d, the launcher rank %d of %d: the cpu backend was built with %s, "
	    "and needs the mpirun of that",
	    rank, size, cpu->rank, cpu->world, library);
	return -1;
}

static void
mpi_close(struct backend *b)
{
	struct cpu *cpu = b->state;
	struct ways *ways = cpu ? cpu->ways : NULL;
	int i;

	if (!ways)
		return;
	for (i = 1; i < ways->n_comms; i++)
		if (ways->comms[i].mpi != MPI_COMM_NULL)
			MPI_Comm_free(&ways->comms[i].mpi);
	MPI_Finalize();
	free(ways);
	free(cpu);
	b->state = NULL;
}

static void
mpi_describe(struct backend *b, struct device_facts *facts)
{
	cpu_describe(b, facts);
	library_name(facts->library);
}

static int
mpi_unique_id(struct backend *b, unsigned char id[PROBE_ID_BYTES])
{
	(void)b;
	memset(id, 0, PROBE_ID_BYTES);
	return 0;
}

static struct comm *
new_comm(struct ways *ways, MPI_Comm mpi)
{
	struct comm *comm;

	if (ways->n_comms == CPU_MAX_COMMS)
		return NULL;
	comm = &ways->comms[ways->n_comms++];
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
mpi_world(struct backend *b, const unsigned char id[PROBE_ID_BYTES], struct comm **comm)
{
	(void)id;
	*comm = new_comm(ways_of(b), MPI_COMM_WORLD);
	return *comm ? OP_DONE : OP_FAILED;
}

static enum op_state
mpi_split(struct backend *b, struct comm *parent, int color, int key, struct comm **comm)
{
	MPI_Comm mpi;
	int code = MPI_Comm_split(parent->mpi, color < 0 ? MPI_UNDEFINED : color, key, &mpi);

	if (code != MPI_SUCCESS) {
		fail(b, "MPI_Comm_split", code);
		return OP_FAILED;
	}
	*comm = color < 0 ? NULL : new_comm(ways_of(b), mpi);
	return color < 0 || *comm ? OP_DONE : OP_FAILED;
}

/* --- streams: requests that are not done yet ---------------------------------------------- */

static enum op_state
mpi_sync(struct backend *b, enum stream stream)
{
	struct ways *ways = ways_of(b);
	int i, done, code, pending = 0;

	for (i = 0; i < ways->n_requests; i++) {
		struct request *r = &ways->requests[i];

		code = MPI_Test(&r->mpi, &done, MPI_STATUS_IGNORE);
		if (code != MPI_SUCCESS) {
			fail(b, "an operation failed", code);
			return OP_FAILED;
		}
		if (done) {
			free(r->memory);
			*r = ways->requests[--ways->n_requests];
			i--;
		} else if (r->stream == stream) {
			pending = 1;
		}
	}
	if (!pending)
		cpu_over(b->state, stream);
	return pending ? OP_BUSY : OP_DONE;
}

/* Buffered sends need not be over; everything else that was posted has to be. */
static enum op_state
mpi_depend(struct backend *b, enum stream later, enum stream earlier)
{
	(void)later;
	if (earlier == STREAM_FORWARD || earlier == STREAM_BACKWARD)
		return OP_DONE;
	return mpi_sync(b, earlier);
}

/* What MPI has been given is on its way; it is waited for where it is needed. */
static enum op_state
mpi_progress(struct backend *b, enum stream stream)
{
	(void)b;
	(void)stream;
	return OP_DONE;
}

static enum op_state
posted(struct backend *b, enum stream stream, MPI_Request mpi, void *memory, int code)
{
	struct ways *ways = ways_of(b);

	if (code != MPI_SUCCESS || ways->n_requests == CPU_MAX_REQUESTS) {
		fail(b, code == MPI_SUCCESS ? "too many operations in flight" : "cannot post",
		    code);
		return OP_FAILED;
	}
	ways->requests[ways->n_requests++] = (struct request){mpi, memory, stream};
	return OP_BUSY;
}

static enum op_state
post_all_to_all(
    struct backend *b, enum stream stream, const struct collective *c, MPI_Datatype type)
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
	return posted(b, stream, request, all, code);
}

static enum op_state
post_send(struct backend *b, enum stream stream, const struct collective *c, MPI_Datatype type)
{
	void *copy = malloc((size_t)c->count * 4 + 1);
	MPI_Request request;
	int code;

	if (!copy)
		return OP_FAILED;
	memcpy(copy, c->send, (size_t)c->count * 4);
	code = MPI_Isend(copy, (int)c->count, type, c->peer, 0, c->comm->mpi, &request);
	return posted(b, stream, request, copy, code) == OP_FAILED ? OP_FAILED : OP_DONE;
}

/* The sender's part may already stand where it belongs in the whole. */
static bool
in_place(const struct collective *c)
{
	return c->send == (const char *)c->recv + (size_t)c->comm->rank * (size_t)c->count * 4;
}

static enum op_state
mpi_collective(struct backend *b, enum stream stream, const struct collective *c)
{
	MPI_Datatype type = c->element == ELEMENT_INT32 ? MPI_INT : MPI_FLOAT;
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
		return post_all_to_all(b, stream, c, type);
	case COLLECTIVE_SEND:
		return post_send(b, stream, c, type);
	case COLLECTIVE_RECV:
		code = MPI_Irecv(c->recv, n, type, c->peer, 0, mpi, &request);
		break;
	case COLLECTIVES:
		return OP_FAILED;
	}
	return posted(b, stream, request, NULL, code);
}

void
cpu_mpi_ops(struct backend_ops *ops)
{
	ops->close = mpi_close;
	ops->describe = mpi_describe;
	ops->unique_id = mpi_unique_id;
	ops->world = mpi_world;
	ops->split = mpi_split;
	ops->collective = mpi_collective;
	ops->progress = mpi_progress;
	ops->sync = mpi_sync;
	ops->depend = mpi_depend;
}
