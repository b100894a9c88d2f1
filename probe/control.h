/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_CONTROL_H
#define MOEPLAN_CONTROL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The connections of the rendezvous, kept open: rank 0 to every other rank. A
 * thread of its own (the watchdog) serves them, since the main thread may be
 * stuck in a collective that never ends. It notices dead and silent ranks and
 * operations that take too long, tells everybody, and ends the process when the
 * main thread does not.
 */
struct control;

/*
 * A launcher that loses one rank ends the others by SIGTERM, before they could say who is missing.
 * While `watched`, the handler of the signal sets `wanted` only: what is known is said, then the
 * process ends. The handler runs on one thread, the watchdog looks from another; such an atomic
 * takes no lock, which a handler must not.
 */
struct stop_request {
	atomic_bool watched, wanted;
};

struct control_options {
	int rank, world;
	const char *host;	/* of rank 0 */
	const char *other_host; /* of rank 0 as well: tried by turns with `host`; may be NULL */
	int port;
	int listener;	  /* an open one, or -1: rank 0 opens it on `port` */
	double timeout_s; /* for arriving, for every operation, and for signs of life */
	const char *token, *version, *plan_sha256, *backend;
	int local_rank; /* above 0: what rank 0 has told everybody is not printed once more */
	struct stop_request *stop; /* may be NULL */
	bool *told;		   /* set when every rank was told the reason; may be NULL */
	/* What this process prints once when all has failed; the default writes to standard error.
	 */
	void (*print)(const char *text);
};

enum { CONTROL_TEXT = 2048 };

/*
 * All ranks meet within the time-out, or each gets -1 and `why`: who is
 * missing, who is there twice, whose version, plan, world or job is another.
 */
struct control *control_open(const struct control_options *options, char why[CONTROL_TEXT]);
/* Rank 0's address as this rank sees it, in digits; NULL on rank 0. */
const char *control_master(const struct control *control);
/* Says good-bye: after this the end of the connections is no accident. */
void control_close(struct control *control);

/*
 * What the main thread does now. Between enter and leave the clock runs: an
 * operation older than the time-out is a failure.
 */
void control_phase(struct control *control, const char *phase);
void control_enter(struct control *control, const char *operation, const char *group);
void control_leave(struct control *control);

bool control_failed(const struct control *control);
/* The reason, once failed. */
const char *control_reason(struct control *control);
/* This rank cannot go on: tells everybody. Returns -1. */
int control_fail(struct control *control, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* On rank 0: what its account of a time-out adds. */
void control_remark(struct control *control, const char *text);
/* Waits for rank 0's account of a failure, prints it once and ends the process with 3. */
_Noreturn void control_die(struct control *control);

/* Collective. Rank 0 gets world x size bytes in rank order; -1 once failed. */
int control_gather(struct control *control, const void *mine, size_t size, void *all);
/* Rank 0's bytes to everybody. */
int control_share(struct control *control, void *bytes, size_t size);
int control_barrier(struct control *control);

/* For tests: cuts this rank's connections as a broken network would. */
void control_cut(struct control *control);

#endif
