/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_ROUTING_H
#define MOEPLAN_ROUTING_H

#include "probe/session.h"
#include "probe/shape.h"
#include "probe/traffic.h"

/* The experts of one token of one layer, `top_k` different ones. */
void routing_choose(const struct skew *skew, const struct dims *dims, const double *cumulative,
    int64_t layer, int64_t token, int32_t *chosen);
/*
 * Where the tokens of one micro-batch of one layer go. Slots are the send order (by expert);
 * the union is what all expert-tensor ranks of this place together received (by member, sender
 * and expert); expert order is the union sorted by expert.
 */
struct routing {
	int64_t slots;	  /* sent: tokens * top_k without those over capacity */
	int64_t received; /* by this rank */
	int64_t united;	  /* by its expert-tensor group */
	int64_t *send_counts, *send_offsets, *recv_counts, *recv_offsets; /* rows by ep peer */
	int64_t *member_counts; /* rows by expert-tensor member */
	int64_t *expert_rows;	/* rows of each local expert, of the union */
	int32_t *chosen, *send_rows, *slot_of, *to_expert, *from_expert; /* on the device */
	int32_t *expert_of; /* local expert of each row in expert order, for biases; else NULL */
	int64_t dropped;
};

struct routings {
	int64_t layers, patterns;
	struct routing *items; /* [layer][pattern]; empty where the stage has no such layer */
	int64_t most_slots, most_received, most_united;
	uint64_t bytes;
};
enum { ROUTING_PATTERNS = 2 }; /* micro-batches use them in turn */

/* Global number of row `row` of this rank's tokens in a micro-batch. */
int64_t token_number(
    const struct session *s, const struct shape *shape, int64_t micro_batch, int64_t row);
/* Of row `row` of its tensor-parallel group. */
int64_t group_token_number(
    const struct session *s, const struct shape *shape, int64_t micro_batch, int64_t row);

/* Draws the routing of all layers of this stage and exchanges the counts. Collective. */
int routing_make(struct session *s, const struct shape *shape, const struct skew *skew,
    struct routings *routings);
void routing_free(struct session *s, struct routings *routings);
const struct routing *routing_of(
    const struct routings *routings, int64_t layer, int64_t micro_batch);

#endif
