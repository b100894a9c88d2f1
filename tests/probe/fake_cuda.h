/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_TEST_FAKE_CUDA_H
#define MOEPLAN_TEST_FAKE_CUDA_H

#include <stdbool.h>
#include <stddef.h>

#include "probe/probe.h"

/*
 * Stand-ins for the calls of the CUDA runtime, cuBLAS and NCCL that the cuda backend makes, so that
 * its host side runs without a GPU. Work is put on streams and done later, in an order that changes
 * from run to run: whatever is not ordered by an event will some time come too early or too late.
 */
enum { FAKE_MAX_RANKS = 16 };

/* Connects the ranks; before they are forked. */
int fake_prepare(int world);
/* Which of the ranks this process is, and the seed of its order. */
void fake_rank(int rank, unsigned seed);
/* The backend's table, which says that times mean nothing: it measures little. */
const struct backend_ops *fake_backend(void);

/* What cudaDriverGetVersion() says. */
extern int fake_driver_version;
/* From the n-th call on (1: the next) this function fails; NULL: none does. */
void fake_fail(const char *function, int n);
/* What was done that a GPU would punish, "" when nothing was. */
const char *fake_violation(void);

/* --- between the files of the stand-ins ------------------------------------ */

struct CUstream_st;
enum fake_step { FAKE_DONE, FAKE_WAITING };
typedef enum fake_step fake_step_fn(void *closure);

/* Done by step() when all before it on the stream is; then `closure` is freed. */
void fake_enqueue(struct CUstream_st *stream, fake_step_fn *step, void *closure);
bool fake_failing(const char *function);
void fake_violate(const char *what);
unsigned fake_random(void);
void fake_seed(unsigned seed);
extern int fake_own_rank, fake_n_ranks;
/* Ranks that nobody forked find each other by the id. */
int fake_find_ranks(const char *id, int rank, int world);
/* What happens by itself: streams get on, messages arrive. */
void fake_advance(void);
void fake_nccl_advance(void);

/* fake_lines.c: messages of communicators, in order; one to oneself is there at once. */
struct fake_message {
	long comm;
	int from;
	size_t length;
	char *bytes;
	struct fake_message *next;
};
void fake_send(long comm, int rank, const void *bytes, size_t length);
const struct fake_message *fake_peek(long comm, int from);
void fake_drop(const struct fake_message *gone);
void fake_lines_advance(void);

#endif
