/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_LAUNCH_H
#define MOEPLAN_LAUNCH_H

#include "probe/identity.h"

/* What a rank does; its result is the exit status. `listener` is open on rank 0, else -1. */
typedef int rank_fn(void *context, const struct identity *identity, int listener);

/*
 * Forks `world` ranks on this host, which meet on a port of their own, and waits for all. The
 * result is the worst status; a rank that a signal ended counts as 3. -1: no fork, no port.
 */
int launch_ranks(int world, rank_fn *run, void *context);

/*
 * mpirun takes this process over and starts `world` ranks of it with the same arguments. Returns
 * only when that cannot be: -1 with errno, or 1 when mpirun has started this process already.
 */
int launch_mpirun(int world, char *const *argv);

/* A number that a child finds out (the parent must not touch a GPU before it forks). */
typedef int count_fn(void *context);
int count_in_child(count_fn *count, void *context);

#endif
