/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_CPU_TCP_H
#define MOEPLAN_CPU_TCP_H

/* What cpu_tcp.c (groups, order) and cpu_tcp_parts.c (one operation) share. */
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

struct mesh;
struct tcp {
	struct mesh *mesh;
	struct comm comms[CPU_MAX_COMMS];
	int n_comms;
	struct request requests[CPU_MAX_REQUESTS];
	int n_requests;
};

struct tcp *cpu_tcp_ways(struct backend *b);
/* Both -1; the second with what the mesh says. */
int cpu_tcp_fail(struct backend *b, const char *why);
int cpu_tcp_gone(struct backend *b);

/* Posts what others need of us. */
int cpu_tcp_send(struct backend *b, const struct collective *c);
/* 1 when everybody's part is here, 0 not yet, -1 when somebody sent something else. */
int cpu_tcp_is_here(struct backend *b, const struct collective *c);
/* Once all is here. */
int cpu_tcp_finish(struct backend *b, const struct collective *c);

#endif
