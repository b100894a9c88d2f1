/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_CPU_PRIVATE_H
#define MOEPLAN_CPU_PRIVATE_H

/*
 * What the rooms of the cpu backend share: backend_cpu.c (the table, products, clocks), cpu_mpi.c
 * (ranks that an mpirun started), cpu_tcp.c (all others), cpu_mesh.c (their connections).
 */
#include "probe/probe.h"

enum { CPU_MAX_COMMS = 64, CPU_MAX_REQUESTS = 4096 };

struct cpu {
	int rank, world;
	double marks[PROBE_EVENTS];
	/* Marks behind operations that are not over yet. */
	struct {
		int event;
		enum stream stream;
	} open[CPU_MAX_REQUESTS];
	int n_open;
	/* Takes operations on; whether what was posted on the stream is over. */
	enum op_state (*look)(struct backend *b, enum stream stream);
	char error[PROBE_TEXT_MAX];
	void *ways; /* of cpu_mpi.c or cpu_tcp.c */
};

/* Whether MPI knows the other ranks; that they are as many as the launcher said is checked there. */
bool cpu_mpi_started(const struct backend *b);

/* Without the library. */
void cpu_describe(struct backend *b, struct device_facts *facts);

/* What was posted on a stream has been found over. */
void cpu_over(struct cpu *cpu, enum stream stream);

/* Each fills `ways` and `look`, or is -1 with an error. */
int cpu_mpi_open(struct backend *b);
int cpu_tcp_open(struct backend *b);
/* The entries for collectives. */
void cpu_mpi_ops(struct backend_ops *ops);
void cpu_tcp_ops(struct backend_ops *ops);

#endif
