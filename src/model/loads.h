/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_LOADS_H
#define MOEPLAN_LOADS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/diag.h"

struct arena;

/*
 * How many tokens each expert of each layer gets, as training or serving logs
 * it: counts, counts by source (the node, rank or domain that the tokens come
 * from), several snapshots in time, pairs of experts that one token picks
 * together, and experts that a token goes through from layer to layer.
 */
enum {
	LOADS_MAX_EXPERTS = 4096,
	LOADS_MAX_LAYERS = 1024,
	LOADS_MAX_SOURCES = 1024,
	LOADS_MAX_SNAPSHOTS = 1024,
	LOADS_MAX_CELLS = 8 << 20,    /* layers x snapshots x sources x experts */
	LOADS_MAX_PAIR_EXPERTS = 512, /* pairs and transitions are kept up to so many experts */
};
#define LOADS_MAX_COUNT 9e15 /* of one expert: sums stay exact in a double */

/* Where the tokens come from: LOADS_WHOLE says nothing about it. */
enum loads_source { LOADS_WHOLE, LOADS_NODES, LOADS_DOMAINS };

/* What a reader saw beside the counts; reported, never silent. */
struct loads_account {
	const char *format;   /* "CSV counts", "routes" … */
	int64_t rows;	      /* of data */
	int64_t warm_up_rows; /* left out: the same tuple over and over */
	int64_t linked;	      /* rows whose token was seen in the layer before */
	int64_t skipped;      /* lines of a log that carry no counts */
};

struct loads {
	const char *name; /* the file */
	int layers, experts, sources, snapshots;
	enum loads_source kind;
	int64_t *number;	   /* [layer] as the file numbers them */
	const char **source_names; /* [source] */
	double *count;		   /* [layer][snapshot][source][expert] */
	float **pairs; /* [layer] NULL or [expert][expert], symmetric, diagonal unused */
	float **next;  /* [layer] NULL or [expert here][expert in the next layer] */
	int64_t top_k; /* experts a token picks; 0 unknown */
	struct loads_account account;
	char sha256[65];
};

/* The cells of one layer, snapshot and source: [expert]. */
const double *loads_row(const struct loads *loads, int layer, int snapshot, int source);
/* Adds one layer up: over all sources and snapshots into total[expert]. */
void loads_total(const struct loads *loads, int layer, double *total);

/*
 * Reads a file (`-`: standard input): CSV with the header `layer,e0,e1,…` and
 * perhaps a first column node, domain or snapshot; an E x E matrix of numbers
 * without header (co-activation); JSON; a log of routes (JSON lines), which may
 * be of any length; a training log whose lines carry per-expert counts. NULL
 * after adding errors.
 */
struct loads *loads_read(struct arena *arena, struct diags *diags, const char *path);
/* The same from memory, under a name. */
struct loads *loads_parse(
    struct arena *arena, struct diags *diags, const char *name, const char *text, size_t length);

/* A table of zeros to fill, for generators and tests; sources and snapshots at least 1. */
struct loads *loads_new(struct arena *arena, int layers, int snapshots, int sources, int experts);

#endif
