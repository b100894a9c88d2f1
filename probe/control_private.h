/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_CONTROL_PRIVATE_H
#define MOEPLAN_CONTROL_PRIVATE_H

/* What control*.c and rendezvous.c share. */

#include <pthread.h>
#include <stdatomic.h>

#include "probe/control.h"
#include "probe/wire.h"

enum { STATE_TEXT = 192 };

/* Sent as it is: ranks run the same binary (the hello checks its version). */
struct state {
	char phase[48], operation[48], group[48];
	int64_t number; /* operations entered so far */
};

struct parcel {
	char *bytes;
	size_t length;
	struct parcel *next;
};

struct peer {
	int fd;
	struct wire_buffer in;
	struct state state;
	double heard_s;
	bool gone;		/* no more connection */
	bool left;		/* it said good-bye, or we did */
	struct parcel *parcels; /* data that the main thread has not taken yet */
};

struct control {
	int rank, world;
	double timeout_s;
	struct peer *peers; /* by rank; rank 0 has all, the others have rank 0 only */
	pthread_mutex_t lock;
	pthread_cond_t changed;
	pthread_t thread;
	bool started;
	atomic_bool stop, failed;
	bool final; /* `reason` is rank 0's account */
	bool printed, told; /* `reason` was sent to all ranks */
	bool brief;
	struct stop_request *stop_request;
	double stop_wanted_s;
	char reason[CONTROL_TEXT], remark[256];
	double failed_s, since_s, next_beat_s;
	struct state own;
	char master[64]; /* the address of rank 0 */
	void (*print)(const char *text);
};

/* Lock held: this rank fails, rank 0 is told. */
void control_fail_text(struct control *control, const char *why);
/* Lock held, these five. */
void control_state_text(const struct state *state, char text[STATE_TEXT]);
/* The reason, and where everybody was. */
void control_describe(struct control *control, const char *why, char text[CONTROL_TEXT]);
void control_set_failed(struct control *control, const char *why);
/* Rank 0's account, to all. */
void control_broadcast(struct control *control);
/* Prints the reason, once. */
void control_print(struct control *control);
_Noreturn void control_end_process(struct control *control);
/* The watchdog thread; its argument is the control. */
void *control_watch(void *control);

/* Lock held: the first parcel of a peer has been used. */
void control_drop_parcel(struct peer *peer);

struct control *control_new(const struct control_options *options);
int control_start(struct control *control);
void control_free(struct control *control);

#endif
