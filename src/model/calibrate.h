/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_CALIBRATE_H
#define MOEPLAN_CALIBRATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/diag.h"
#include "base/str.h"
#include "model/cluster.h"

struct doc;

/* One timed collective. */
enum { CALIBRATE_SAMPLES = 4096, CALIBRATE_REPORTS = 64, CALIBRATE_PRODUCTS = 1024 };
struct sample {
	int level;	   /* of the cluster: the first that holds the whole group */
	bool all_to_all;   /* else a ring */
	double units;	   /* of the level below that take part (level 0: ranks) */
	double wire_bytes; /* out of one rank, over this level */
	double peers;	   /* ranks besides this one, twice for an all-reduce */
	double seconds;
};

/* A number that several reports give. */
struct readings {
	int n;
	double values[CALIBRATE_REPORTS];
};

/* Experts' products of some rows each. */
struct product {
	double rows, columns, depth, flops;
};

struct measurements {
	/* of the cost model: seconds a peer adds to a collective; size of half a product's rate */
	double peer_s, gemm_half;

	int n_samples, n_left_out; /* left out: bound by another link */
	struct sample samples[CALIBRATE_SAMPLES];
	struct readings memory_Bps, matmul_flops, launch_s, runtime_bytes;
	struct readings hidden[HIDDEN_TRAFFICS];
	int n_squares, n_experts;
	struct point squares[CALIBRATE_PRODUCTS]; /* FLOP/s by size of a square product */
	struct product experts[CALIBRATE_PRODUCTS];
	int reports;
};

/*
 * Adds a probe's report (JSON), or the output of an nccl-tests program. -1 after an error; reports
 * that are not comparable (a rehearsal on CPUs, several ranks on one GPU, small shapes) are
 * errors, since their rates are not this machine's.
 */
int calibrate_add_report(struct diags *diags, const struct cluster *cluster, const struct doc *doc,
    struct measurements *m);
int calibrate_add_nccl_tests(struct diags *diags, const struct cluster *cluster, const char *name,
    const char *text, size_t length, struct measurements *m);
/* The file that nccl-tests writes with -J. */
bool calibrate_is_nccl_json(const struct doc *doc);
int calibrate_add_nccl_json(struct diags *diags, const struct cluster *cluster,
    const struct doc *doc, struct measurements *m);
/* `ranks` of one collective over `bytes` (a rank's whole buffer), `inside` in a unit of the level
 * below. */
int calibrate_add_sample(struct diags *diags, struct loc loc, const struct cluster *cluster,
    struct measurements *m, int level, const char *op, double ranks, double inside, double bytes,
    double seconds);

/* t = latency + peers * peer_s + bytes / rate, least squares of relative errors. */
struct fit {
	int samples;
	double Bps, latency_s;
	double spread; /* greatest |t - fit| / t */
};
/* samples 0: too few sizes of this level, or no positive rate. */
struct fit calibrate_fit(const struct measurements *m, int level);
/* All-to-all of a level by units and bytes, latency taken off. */
struct traffic_curves calibrate_traffic(
    const struct measurements *m, const struct cluster *cluster, int level);
/* Size at which a product reaches half its rate, from squares of several sizes; 0 not known. */
double calibrate_gemm_half(const struct measurements *m);
/* Share of the ceiling (FLOP/s) that experts' products reach, by rows. */
struct curve calibrate_grouped(const struct measurements *m, double ceiling_flops);
double readings_median(const struct readings *readings);
/* Greatest over least, less 1; 0 of one. */
double readings_spread(const struct readings *readings);

/* The cluster with measured numbers in place of others, and its runs, `added` of them new; as a
 * file. */
int calibrate_cluster(struct diags *diags, const struct cluster *cluster,
    const struct measurements *m, int added, struct str *out);

#endif
