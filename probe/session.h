/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_SESSION_H
#define MOEPLAN_SESSION_H

#include "model/groups.h"
#include "probe/control.h"
#include "probe/passes.h"
#include "probe/plan_file.h"
#include "probe/probe.h"

struct arena;

/* What is timed. `category` is the plan's name of the part of the step that it belongs to. */
enum part {
	PART_EMBEDDING,
	PART_ATTENTION,
	PART_NORM,
	PART_ROUTER,
	PART_PERMUTE,
	PART_DISPATCH,
	PART_EXPERTS,
	PART_COMBINE,
	PART_MLP,
	PART_HEAD,
	PART_MTP,
	PART_RECOMPUTE,
	PART_TENSOR_PARALLEL,
	PART_EXPERT_TENSOR,
	PART_CONTEXT_PARALLEL,
	PART_HANDOFF,
	PART_GRADIENTS, /* from here on: once a step, at its end */
	PART_PARAMETERS,
	PART_OPTIMIZER,
	PARTS
};
struct part_row {
	const char *name, *category;
};
extern const struct part_row part_rows[PARTS];

/* Marks that are kept for the end of the step, whatever its passes use up. */
enum { ONCE_EVENTS = 256 };

/* Groups that the step uses. The pipeline's are pairs of neighbours, one a boundary and direction.
 */
enum group {
	GROUP_TP,
	GROUP_CP,
	GROUP_DP_CP,
	GROUP_EP,
	GROUP_EXPERT_TP,
	GROUP_EXPERT_DP,
	GROUP_EMBEDDING,
	GROUPS
};
extern const char *const group_names[GROUPS + 1];
enum { PHASES = 3 };

struct group_comm {
	struct comm *comm; /* NULL: this rank is alone in it */
	int size, index;   /* own place */
	int id;		   /* which of the kind's groups */
	const int32_t *ranks;
};

/* To or from a pipeline neighbour, in one direction. */
struct channel {
	struct comm *comm;
	int peer;
};

/*
 * Seconds of one part, forward and backward apart; intervals that were timed and that ran. What an
 * interval times: the part itself, and how long the computation stands still for it.
 */
enum times { TIMES_RUN = 1, TIMES_STALL = 2 };
struct part_time {
	double seconds;
	int64_t timed, ran;
};

struct session {
	struct backend backend;
	struct control *control;
	struct arena *arena;
	const struct probe_plan *plan;
	const struct group_table *table;
	int rank, world;
	int tp, cp, dp, pp, ep, etp, edp; /* coordinates */
	struct comm *world_comm;
	struct group_comm groups[GROUPS];
	struct channel channels[LEGS][2][2]; /* pipeline: leg, backward, in */

	/* timing of the current step */
	bool backward, replaying; /* replaying: all that runs is PART_RECOMPUTE */
	int events;
	struct interval {
		int part, from, to;
		unsigned times; /* enum times bits */
		bool backward;
		const char *what, *group; /* of an operation among ranks, else NULL */
	} * intervals;
	int n_intervals;
	int oldest;    /* of the intervals: all before it are over */
	int open_part; /* on the computation's stream, -1 none: a collective inside interrupts it */
	struct part_time parts[PARTS][2], stalls[PARTS][2];
	uint64_t allocated_bytes, peak_bytes;
	int communicators;	     /* of this rank, the world's among them */
	uint64_t communicator_bytes; /* what they took of the device up to their first use */
	uint64_t free_at_start; /* on the device, before anything was made */
};

/* All return -1 once the session has failed; the reason is with the control. */
int session_fail(struct session *s, const char *what);
void *session_alloc(struct session *s, size_t bytes);
/* Once failed, memory stays: giving it back may wait for an operation that never ends. */
void session_release(struct session *s, void *memory, size_t bytes);
/* Asks about what was posted on the stream until it is on its way. */
int session_progress(struct session *s, enum op_state state, enum stream stream, const char *what);

/* Makes the world and all groups, uses each once, and checks on the wire who is in it. */
int session_groups(struct session *s);

/* Posts on `stream` behind the computation and makes the computation wait for it. */
int session_collective(
    struct session *s, enum part part, const char *group, const struct collective *collective);
/*
 * Posts on a stream beside the computation, behind what the computation has been given so far,
 * behind what else is on the stream, or both. session_joined(): the computation waits for all of it.
 */
enum behind { BEHIND_COMPUTE = 1, BEHIND_STREAM = 2 };
int session_beside(struct session *s, enum stream stream, enum part part, const char *group,
    const struct collective *collective, unsigned behind);
int session_joined(struct session *s, enum stream stream, enum part part, const char *what);
/* Posts beside the computation; nothing waits for it but session_sync(). */
int session_post(struct session *s, const char *group, const struct collective *collective);
/* A hand-off; sends are not waited for. */
struct hand_off {
	enum leg leg;
	bool backward;
};
int session_send(struct session *s, struct hand_off what, const void *from, int64_t elements);
int session_receive(struct session *s, struct hand_off what, void *to, int64_t elements);
/* The same in two halves, between which the computation goes on. */
int session_fetch(struct session *s, struct hand_off what, void *to, int64_t elements);
int session_fetched(struct session *s, struct hand_off what);
/* Meanwhile the watchdog hears of the oldest operation that is not over, one after the other. */
int session_sync(struct session *s, enum stream stream, const char *what);
int session_sync_all(struct session *s, const char *what);

void part_begin(struct session *s, enum part part, enum stream stream);
void part_end(struct session *s, enum stream stream);
void timing_reset(struct session *s);
/* After all streams are synced: sums the intervals up into parts[][]. */
void timing_collect(struct session *s);

#endif
