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

/* One timed collective: bytes that leave a rank, and messages one after another. */
enum { CALIBRATE_SAMPLES = 4096, CALIBRATE_SIZES = 64 };
struct sample {
	int level;	   /* of the cluster */
	double wire_bytes; /* out of one rank */
	double messages;
	double seconds;
};

struct measurements {
	int n_samples;
	struct sample samples[CALIBRATE_SAMPLES];
	double memory_Bps, matmul_flops, launch_s; /* best; 0 not measured */
	int reports;
};

/*
 * Adds a probe's report (JSON), or the output of an nccl-tests program. -1 after
 * an error; reports that are not comparable (a rehearsal on CPUs, several ranks on one GPU, small
 * shapes) are errors, since their rates are not this machine's.
 */
int calibrate_add_report(struct diags *diags, const struct cluster *cluster, const struct doc *doc,
    struct measurements *m);
int calibrate_add_nccl_tests(struct diags *diags, const struct cluster *cluster, const char *name,
    const char *text, size_t length, struct measurements *m);

/* t = latency * messages + bytes / rate, least squares of relative errors. */
struct fit {
	int samples;
	double Bps, latency_s;
	double spread; /* greatest |t - fit| / t */
};
/* samples 0: too few sizes of this level, or no positive rate. */
struct fit calibrate_fit(const struct measurements *m, int level);

/* The cluster with measured numbers in place of others, and its runs, `added` of them new; as a file. */
int calibrate_cluster(struct diags *diags, const struct cluster *cluster,
    const struct measurements *m, int added, struct str *out);

#endif
