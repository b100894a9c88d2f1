/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_MEASURE_H
#define MOEPLAN_MEASURE_H

#include "probe/step.h"

/* Over ranks, of each rank's median over steps. */
struct spread {
	double min, median, p90, max;
	int worst_rank;
};

/* Pure time of one collective: a tiny all-reduce in front takes the waiting for others away. */
enum { MAX_TRANSFERS = 64, MAX_PRODUCTS = 24 };
struct transfer_row {
	char group[16], op[16];
	int size, level;	       /* ranks; of the plan's levels */
	int units;		       /* of the level below that it lies in; level 0: ranks */
	int64_t bytes;		       /* nccl-tests' size: the whole buffer of a rank */
	double seconds, low_s, high_s; /* median of the slowest rank; over repeats */
	double bus_Bps;		       /* nccl-tests' factor */
};

struct product_row {
	char name[16];
	int64_t groups, m, n, k;
	double flops; /* a second */
};

struct memory_account {
	double weights, gradients, optimizer, activations, logits, buffers, rows,
	    routing; /* bytes allocated on the worst rank */
	double allocated;
	double outside; /* device memory that went elsewhere: context, libraries, communicators */
};

/*
 * Seconds of either alone and of both together; 0: nothing to overlap. Of a step's traffic `alone`
 * is the step with that traffic in line: what it takes there when nobody is waited for, and the
 * rest. Beside it what it takes as planned, how long the computation stands still for it, and the
 * hidden share from the quarters of the steps that are kindest to it and unkindest.
 */
struct overlapped {
	double compute_s, comm_s, both_s;
	double in_line_s, in_step_s, stall_s, hidden_low, hidden_high; /* in_line: slowest rank */
	double beside; /* of the traffic, what has computation beside it; 0: none does */
};

/* What a step may overlap with its computation. */
enum overlap_kind { OVERLAPPED_EXPERTS, OVERLAPPED_TENSORS, OVERLAPPED_DATA, OVERLAPPED_KINDS };
struct overlap_row {
	const char *name; /* in the report */
	const char *what;
	enum part parts[2];
};
extern const struct overlap_row overlap_rows[OVERLAPPED_KINDS];

struct measured {
	bool own_shapes; /* the plan's; false: scaled */
	int64_t micro_batches, steps;
	struct spread step_s;
	struct spread parts[PARTS][2];	 /* forward, backward */
	struct spread stalls[PARTS][2];	 /* how long the computation stands still for it */
	struct memory_account memory[8]; /* by stage, the first eight */
	int n_stages;
	int n_transfers;
	struct transfer_row transfers[MAX_TRANSFERS];
	int n_products;
	struct product_row products[MAX_PRODUCTS];
	double copy_Bps, permute_Bps, launch_s;
	int engine;				 /* enum grouped_engine, the faster one */
	double engine_s[GROUPED_ENGINES];	 /* 0: not there */
	struct overlapped experts_overlap;	 /* an all-to-all and expert products */
	struct overlapped in_step[OVERLAPPED_KINDS];
};

/* Of the shorter of both, the share that takes no time of its own; -1: nothing to overlap. */
double overlap_hidden(const struct overlapped *overlapped);

/* Steps of `shape`, each part's time; collective. */
int measure_steps(struct session *s, const struct shape *shape, const struct skew *skew,
    int64_t steps, struct measured *measured);
/* Collectives, products, copies, overlap by themselves. */
int measure_parts(struct session *s, const struct shape *shape, struct measured *measured);

/* A part of the plan beside what was measured for it, scaled to the measured step. */
struct verdict_row {
	const char *name;		/* of the plan's parts */
	double predicted_s, measured_s; /* measured: slowest rank; < 0 not measured */
	double exposed_s, stall_s; /* predicted and measured, of traffic, what nothing hides */
	bool counts;			/* large enough to be judged */
};
enum { VERDICT_ROWS = 20 };
struct verdict_rows {
	int n;
	struct verdict_row rows[VERDICT_ROWS];
	double worst; /* (measured - predicted) / predicted, greatest of those that count */
	const char *worst_name;
};
/* Whether nothing that counts is slower than predicted by more than `percent`. */
bool plan_holds(const struct probe_plan *plan, const struct measured *measured, double percent,
    struct verdict_rows *rows);

#endif
