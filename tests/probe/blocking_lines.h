/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_TEST_BLOCKING_LINES_H
#define MOEPLAN_TEST_BLOCKING_LINES_H

/* What blocking.c (collectives) and blocking_lines.c (messages) share. */
#include "tests/probe/blocking.h"

enum { MAX_COMMS = 64 };
struct comm {
	int id, size, index, ranks[BLOCKING_MAX_RANKS];
};

/* A message that came before its operation. */
struct stashed {
	int comm, from;
	char *bytes;
	size_t length;
	struct stashed *next;
};

struct incoming {
	uint64_t head[2]; /* communicator, bytes */
	char *bytes;
	size_t got;
};

struct state {
	int rank, world, n_comms;
	struct comm comms[MAX_COMMS];
	struct stashed *stash;
	struct incoming incoming[BLOCKING_MAX_RANKS];
	double marks[PROBE_EVENTS];
};

void blocking_post(
    struct state *s, const struct comm *c, int peer, const void *bytes, size_t length);
/* Waits for ever when nothing comes, or something of another length. */
void blocking_fetch(struct state *s, const struct comm *c, int peer, void *bytes, size_t length);

#endif
