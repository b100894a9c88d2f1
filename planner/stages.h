/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_STAGES_H
#define MOEPLAN_STAGES_H

#include "model/layout.h"
#include "model/strategy.h"
#include "planner/schedule.h"

/* How a strategy's stages run, as its ranks see it: DualPipe is a V on half of them. */
struct pipeline pipeline_of(const struct strategy *strategy);
/* Do forwards and backwards of two micro-batches hide each other's expert traffic? */
enum pairing {
	PAIRS_NONE,
	PAIRS_1F1B,    /* Megatron's overlap_moe_expert_parallel_comm */
	PAIRS_DUALPIPE /* all of it, at the cost of a share of the SMs */
};
enum pairing pairing_of(const struct strategy *strategy);
/* The chunks on a rank of a stage, in the order of the model; DualPipe has those of both ends. */
int rank_chunks(
    const struct strategy *strategy, const struct layout *layout, int stage, int chunks[]);
/* Copies of every weight that a data-parallel rank's worth of GPUs holds: DualPipe two. */
int weight_copies(const struct strategy *strategy);
/* FSDP2 under a pipeline: gathered once a step, reduced once a step. */
bool fsdp_stays_gathered(const struct strategy *strategy);

#endif
