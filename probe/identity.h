/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_IDENTITY_H
#define MOEPLAN_IDENTITY_H

#include "base/diag.h"
#include "probe/probe.h"

struct arena;

/* Who this process is, as exactly one launcher says. */
struct identity {
	const char *launcher; /* "torchrun", "Slurm" …; NULL: started alone */
	enum mpi_ranks mpi;
	int rank, world;
	int local_rank;		  /* -1: not said */
	int local_world;	  /* -1: not said */
	const char *master;	  /* host of rank 0, or NULL */
	const char *other_master; /* tried when `master` does not answer, or NULL */
	int port;		  /* of the rendezvous; 0: to be derived from the token */
	const char *token;	  /* names the job; NULL: the launcher gives none */
};

/* Looks a variable up; getenv() for the program, a table for tests. */
typedef const char *lookup_fn(void *context, const char *name);

/*
 * Reads the launcher's variables as one unit. -1 after an error: variables
 * that are there in part (an sbatch shell, a lost RANK) promise ranks that are
 * not there, and a number that is none.
 */
int identity_read(struct arena *arena, struct diags *diags, lookup_fn *lookup, void *context,
    struct identity *identity);

/* First host of Slurm's "n[01-04,7],m3"; NULL when it is no such list. */
const char *first_host(struct arena *arena, const char *list);

/* "HOST", "HOST:PORT" or "[ADDRESS]:PORT" -> identity; -1 after an error. */
int identity_master(
    struct arena *arena, struct diags *diags, const char *text, struct identity *identity);

#endif
