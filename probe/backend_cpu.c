/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The cpu backend: CBLAS for the products, host memory, and MPI or TCP for the collectives.
 *
 * A rehearsal: groups, counts, order of operations and numerics are the plan's; its times say
 * nothing about a GPU. Ranks that an mpirun started talk over MPI (cpu_mpi.c), those of torchrun,
 * deepspeed and srun over connections of their own (cpu_tcp.c).
 */
#include <cblas.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "probe/cpu_private.h"
#include "probe/host_kernels.h"

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

static void
cpu_abort(struct backend *b)
{
	(void)b; /* pending requests end with the process: MPI_Abort would hide who was missing */
}

void
cpu_describe(struct backend *b, struct device_facts *facts)
{
	long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);

	(void)b;
	memset(facts, 0, sizeof(*facts));
	snprintf(facts->name, sizeof(facts->name), "CPU");
	gethostname(facts->host, sizeof(facts->host) - 1);
	facts->visible = (int)sysconf(_SC_NPROCESSORS_ONLN);
	if (pages > 0 && page > 0)
		facts->total_bytes = facts->free_bytes = (uint64_t)pages * (uint64_t)page;
}

static uint64_t
cpu_free_bytes(struct backend *b)
{
	(void)b;
	return 0; /* other processes share it: what is allocated is counted instead */
}

/* --- products and clocks ------------------------------------------------------------------ */

/* What is posted beside products gets on meanwhile. */
static int
cpu_gemm(struct backend *b, const struct gemm *g)
{
	struct cpu *cpu = b->state;

	if (g->m > 0 && g->n > 0)
		cblas_sgemm(CblasRowMajor, g->transpose_a ? CblasTrans : CblasNoTrans,
		    g->transpose_b ? CblasTrans : CblasNoTrans, (int)g->m, (int)g->n, (int)g->k,
		    g->alpha, g->a, (int)g->lda, g->b, (int)g->ldb, g->beta, g->c, (int)g->ldc);
	return cpu->look(b, STREAM_COMPUTE) == OP_FAILED ? -1 : 0;
}

static int
cpu_grouped(struct backend *b, const struct gemm *gemms, int n, enum grouped_engine engine)
{
	int i;

	if (engine != GROUPED_LOOP) {
		snprintf(((struct cpu *)b->state)->error, PROBE_TEXT_MAX,
		    "CBLAS has no grouped products");
		return -1;
	}
	for (i = 0; i < n; i++)
		if (cpu_gemm(b, &gemms[i]) != 0)
			return -1;
	return 0;
}

static double
now_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Behind an operation it is made when that is found over. */
static int
cpu_mark(struct backend *b, int event, enum stream stream)
{
	struct cpu *cpu = b->state;

	cpu->marks[event] = now_s();
	if (cpu->look(b, stream) != OP_BUSY || cpu->n_open == CPU_MAX_REQUESTS)
		return 0;
	cpu->open[cpu->n_open].event = event;
	cpu->open[cpu->n_open++].stream = stream;
	return 0;
}

void
cpu_over(struct cpu *cpu, enum stream stream)
{
	int i, left = 0;

	for (i = 0; i < cpu->n_open; i++)
		if (cpu->open[i].stream == stream)
			cpu->marks[cpu->open[i].event] = now_s();
		else
			cpu->open[left++] = cpu->open[i];
	cpu->n_open = left;
}

static bool
cpu_passed(struct backend *b, int event)
{
	const struct cpu *cpu = b->state;
	int i;

	for (i = 0; i < cpu->n_open && cpu->open[i].event != event; i++)
		;
	return i == cpu->n_open;
}

static double
cpu_elapsed(struct backend *b, int from, int to)
{
	struct cpu *cpu = b->state;

	return cpu->marks[to] - cpu->marks[from];
}

/* --- the table ---------------------------------------------------------------------------- */

enum way { WAY_MPI, WAY_TCP, WAYS };
static struct backend_ops tables[WAYS];

/* The table that was loaded is a door: behind it, b->ops is that of the way which the ranks go. */
static int
cpu_open(struct backend *b, int rank, int world, int local_rank)
{
	struct cpu *cpu = calloc(1, sizeof(*cpu));
	enum way way = cpu_mpi_started(b) ? WAY_MPI : WAY_TCP;

	(void)local_rank;
	b->state = cpu;
	if (!cpu)
		return -1;
	cpu->rank = rank;
	cpu->world = world;
	b->ops = &tables[way];
	return way == WAY_MPI ? cpu_mpi_open(b) : cpu_tcp_open(b);
}

const struct backend_ops *moeplan_backend(void);

const struct backend_ops *
moeplan_backend(void)
{
	int way;

	for (way = 0; way < WAYS; way++) {
		tables[way] = (struct backend_ops){
		    .abi = PROBE_ABI,
		    .name = "cpu",
		    .devices_word = "slot",
		    .devices = cpu_devices,
		    .open = cpu_open,
		    .abort = cpu_abort,
		    .error = cpu_error,
		    .free_bytes = cpu_free_bytes,
		    .gemm = cpu_gemm,
		    .grouped = cpu_grouped,
		    .mark = cpu_mark,
		    .passed = cpu_passed,
		    .elapsed = cpu_elapsed,
		};
		host_kernels(&tables[way]);
	}
	cpu_mpi_ops(&tables[WAY_MPI]);
	cpu_tcp_ops(&tables[WAY_TCP]);
	return &tables[WAY_MPI];
}
