/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_SCHEDULE_H
#define MOEPLAN_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

struct arena;

/*
 * A pipeline schedule as each stage runs it. Chunk c is virtual stage v of a
 * stage: c = v*pp + stage in loops, down the stages and back up (2*pp - 1 - stage)
 * in a V of two virtual stages.
 */
enum pipeline_order {
	ORDER_1F1B,       /* with vpp > 1 interleaved 1F1B */
	ORDER_ZERO_BUBBLE, /* ZB-H1, interleaved with vpp > 1 */
	ORDER_ZBV,        /* ZB-V */
	ORDER_DUALPIPE_V, /* half of DualPipe, which runs two at once from both ends */
};
struct pipeline {
	enum pipeline_order order;
	int pp, vpp;
	int group; /* micro-batches that loops pass through all virtual stages together */
	int64_t micro_batches;
	bool paired; /* 1F1B with passes of two micro-batches as one: expert overlap */
};
bool pipeline_is_vee(const struct pipeline *pipeline);
int pipeline_chunk(const struct pipeline *pipeline, int stage, int virtual_stage);
int pipeline_stage(const struct pipeline *pipeline, int chunk);

enum pass {
	PASS_FORWARD,
	PASS_BACKWARD, /* gradients of input and weights */
	PASS_INPUT,    /* of the input alone; */
	PASS_WEIGHT,   /* those of the weights later */
	PASS_PAIR,     /* a forward and the backward of another micro-batch, overlapped */
};
struct schedule_op {
	enum pass pass;
	int16_t virtual_stage;
	int32_t micro_batch;
	/* PASS_PAIR: the backward in it */
	int16_t back_virtual_stage;
	int32_t back_micro_batch;
};

/* The operations of one stage in order: schedule_next() until it is false. */
enum { SCHEDULE_BLOCKS = 11, SCHEDULE_SLOTS = 6, SCHEDULE_QUEUE = 257 };
struct schedule_walk {
	struct pipeline pipeline;
	int stage;
	struct schedule_block {
		int64_t times;
		int n;
		struct schedule_slot {
			int8_t pass, virtual_stage, back_virtual_stage;
		} slots[SCHEDULE_SLOTS];
	} blocks[SCHEDULE_BLOCKS];
	int n_blocks, block, slot;
	int64_t round;
	int64_t done[3][2]; /* forwards, backwards, weights so far; in a V by virtual stage */
	/* DualPipe: passes whose weight gradients wait, the oldest first */
	struct schedule_waiting {
		int32_t micro_batch;
		int16_t virtual_stage;
	} waiting[SCHEDULE_QUEUE];
	int first_waiting, n_waiting;
};
void schedule_begin(struct schedule_walk *walk, const struct pipeline *pipeline, int stage);
bool schedule_next(struct schedule_walk *walk, struct schedule_op *op);

/* Micro-batches (vpp 1) or chunk passes run forward before the first backward. */
int64_t schedule_warmup(const struct pipeline *pipeline, int stage);

/*
 * Most bytes alive on a stage when a pass of virtual stage v keeps bytes[v]
 * from its forward to its last backward, and waiting[v] more (NULL: no more)
 * from the gradients of its input to those of the weights.
 */
struct alive {
	double bytes, waiting_bytes; /* of which wait */
	int passes;
};
struct alive schedule_alive(
    const struct pipeline *pipeline, int stage, const double *bytes, const double *waiting);
/* The same without what waits; *passes: how many are alive then. */
double schedule_peak(
    const struct pipeline *pipeline, int stage, const double *bytes, int *passes);

/*
 * Seconds from the first forward to the last backward, event by event, all by
 * chunk. backward_s includes weight_s, which may be NULL where no pass is split.
 * In a pair a pass takes its seconds, alone alone_forward_s or alone_backward_s
 * more (NULL: no more). A hand-off between stages takes handoff_s and, when
 * `blocking`, keeps both stages busy for as long.
 */
struct schedule_times {
	struct pipeline pipeline;
	const double *forward_s, *backward_s, *weight_s;
	const double *alone_forward_s, *alone_backward_s;
	double handoff_s;
	bool blocking;
};
double schedule_simulate(const struct schedule_times *times, struct arena *scratch);
/* Never above schedule_simulate(), and the same for even stages in a loop. */
double schedule_least(const struct schedule_times *times);
/* Closed form of the same; for 1F1B m * slowest stage + the other stages / vpp. */
double schedule_closed_form(const struct schedule_times *times);
/* Busy seconds of a stage for one micro-batch, blocking hand-offs included. */
double schedule_stage_s(const struct schedule_times *times, int stage);
/* What a stage's passes outside pairs take longer, in all. */
double schedule_alone_s(const struct schedule_times *times, int stage);

#endif
