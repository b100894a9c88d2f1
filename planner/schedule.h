/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_SCHEDULE_H
#define MOEPLAN_SCHEDULE_H

#include <stdint.h>

struct arena;

/*
 * A pipeline schedule as each stage runs it: 1F1B (vpp 1) and Megatron's
 * interleaved 1F1B with micro-batch groups of pp. Chunk c = v*pp + stage.
 */
struct schedule_op {
	int32_t micro_batch;
	int16_t virtual_stage;
	int8_t backward;
};

/* Micro-batches (vpp 1) or chunk passes run forward before the first backward. */
int64_t schedule_warmup(int pp, int vpp, int64_t micro_batches, int stage);
/* Operation number `index` of a stage, 0 <= index < 2*micro_batches*vpp. */
struct schedule_op schedule_op(int pp, int vpp, int64_t micro_batches, int stage, int64_t index);

/*
 * Most bytes alive on a stage when a pass of virtual stage v keeps bytes[v]
 * from its forward to its backward; *passes: how many are alive then.
 */
double schedule_peak(int pp, int vpp, int64_t micro_batches, int stage, const double *bytes,
    int *passes);

/*
 * Seconds from the first forward to the last backward, event by event.
 * forward_s and backward_s by chunk; a hand-off between chunks takes handoff_s
 * and, when `blocking`, keeps both stages busy for as long.
 */
struct schedule_times {
	int pp, vpp;
	int64_t micro_batches;
	const double *forward_s, *backward_s;
	double handoff_s;
	int blocking;
};
double schedule_simulate(const struct schedule_times *times, struct arena *scratch);
/* Closed form of the same: m * slowest stage + the other stages / vpp. */
double schedule_closed_form(const struct schedule_times *times);
/* Busy seconds of a stage for one micro-batch, blocking hand-offs included. */
double schedule_stage_s(const struct schedule_times *times, int stage);

#endif
