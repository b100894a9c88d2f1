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

/* What training logs and reports say of a whole step; zero: not said. */
struct step_facts {
	double step_s;	    /* median */
	double peak_bytes;  /* most of any line */
	int64_t lines;	    /* that carried a step's time */
	const char *format; /* "Megatron-LM", "DeepSpeed" */
};

struct measurements {
	int n_samples;
	struct sample samples[CALIBRATE_SAMPLES];
	double memory_Bps, matmul_flops, launch_s; /* best; 0 not measured */
	int reports;
};

/*
 * Adds what a file has: a probe's report (JSON) or the output of an nccl-tests program. -1 after
 * an error; reports that are not comparable (a rehearsal on CPUs, several ranks on one GPU, small
 * shapes) are errors, since their rates are not this machine's.
 */
int calibrate_add(struct arena *arena, struct diags *diags, const struct cluster *cluster,
    const char *name, const char *text, size_t length, struct measurements *m);

/* Step time and peak memory of a Megatron-LM or DeepSpeed training log; false when it is none. */
bool log_read(const char *text, size_t length, struct step_facts *facts);

/* t = latency * messages + bytes / rate, least squares of relative errors. */
struct fit {
	int samples;
	double Bps, latency_s;
	double spread; /* greatest |t - fit| / t */
};
/* samples 0: too few sizes of this level, or no positive rate. */
struct fit calibrate_fit(const struct measurements *m, int level);

/* The cluster with measured numbers in place of others, as a file. */
int calibrate_cluster(struct diags *diags, const struct cluster *cluster,
    const struct measurements *m, struct str *out);

#endif
