/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_TRAINING_LOG_H
#define MOEPLAN_TRAINING_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/diag.h"

struct arena;
struct strategy;

/* What a log says of the job itself. */
enum log_size { LOG_WORLD, LOG_GLOBAL_BATCH, LOG_SEQ_LEN, LOG_TP, LOG_PP, LOG_EP, LOG_SIZES };

/* What a training log says of its steps; 0: not said. Medians without the first fifth. */
struct log_facts {
	const char *format;			/* "Megatron-LM", "DeepSpeed", "torchtitan" */
	int64_t lines;				/* that carried a step's time or throughput */
	double step_s, step_low_s, step_high_s; /* median, 10th and 90th percentile */
	double samples_per_s;			/* of all GPUs together */
	double tokens_per_s_per_gpu;
	double tflops_per_gpu;			/* by the framework's own counter */
	double allocated_bytes, reserved_bytes; /* most of any line */
	int64_t sizes[LOG_SIZES];		/* as said last: a batch may grow */
};

/*
 * Reads a log of any length, line by line; a line counts up to its first 16 KiB. False when no
 * line is known. The file one adds an error when the file cannot be read.
 */
bool log_read_text(struct arena *arena, const char *text, size_t length, struct log_facts *facts);
int log_read_file(
    struct arena *arena, struct diags *diags, const char *path, struct log_facts *facts);

/* -1 and an error that names both when the log's sizes are not those of the strategy. */
int log_check_sizes(struct diags *diags, const char *name, const struct log_facts *facts,
    const struct strategy *strategy);

/* Seconds of a step, from its time or from its throughput by the strategy that ran; 0 unknown. */
double log_step_s(const struct log_facts *facts, const struct strategy *strategy);

#endif
