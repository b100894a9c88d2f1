/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What does the watchdog thread of a rank do: take messages in, keep the clocks, end the process?
 *
 * It never calls into a backend, so that a backend that blocks for ever cannot stop it.
 */
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probe/control_private.h"

#define BEAT_S 0.2
#define GRACE_S 2.0  /* for the main thread to leave by itself after a failure */
#define SETTLE_S 0.5 /* rank 0 waits so long for the others' last states */

static void
take_state(struct peer *peer, const char *bytes, size_t length)
{
	if (length == sizeof(peer->state))
		memcpy(&peer->state, bytes, length);
	peer->state.phase[sizeof(peer->state.phase) - 1] = '\0';
	peer->state.operation[sizeof(peer->state.operation) - 1] = '\0';
	peer->state.group[sizeof(peer->state.group) - 1] = '\0';
}

/* Lock held. A rank may be several gatherings ahead of rank 0. */
static bool
keep_data(struct control *c, struct peer *peer, char *bytes, size_t length)
{
	struct parcel *parcel = calloc(1, sizeof(*parcel)), **end = &peer->parcels;

	if (!parcel) {
		control_set_failed(c, "out of memory");
		return false;
	}
	parcel->bytes = bytes;
	parcel->length = length;
	while (*end)
		end = &(*end)->next;
	*end = parcel;
	pthread_cond_broadcast(&c->changed);
	return true;
}

void
control_drop_parcel(struct peer *peer)
{
	struct parcel *parcel = peer->parcels;

	peer->parcels = parcel->next;
	free(parcel->bytes);
	free(parcel);
}

/* Lock held. Returns whether the bytes were kept. */
static bool
handle(struct control *c, int from, enum message_kind kind, char *bytes, size_t length)
{
	struct peer *peer = &c->peers[from];

	switch (kind) {
	case MESSAGE_STATE:
		take_state(peer, bytes, length);
		return false;
	case MESSAGE_DATA:
	case MESSAGE_SHARE:
		return keep_data(c, peer, bytes, length);
	case MESSAGE_FAIL:
		control_set_failed(c, bytes);
		return false;
	case MESSAGE_ABORT:
		control_set_failed(c, bytes);
		snprintf(c->reason, sizeof(c->reason), "%s", bytes);
		c->final = c->told = true;
		pthread_cond_broadcast(&c->changed);
		return false;
	case MESSAGE_BYE:
		peer->left = true;
		return false;
	default:
		return false;
	}
}

/* Lock held. */
static void
peer_gone(struct control *c, int rank, const char *how)
{
	char text[CONTROL_TEXT], state[STATE_TEXT];
	struct peer *peer = &c->peers[rank];

	peer->gone = true;
	if (peer->left)
		return;
	control_state_text(&peer->state, state);
	if (rank == 0)
		snprintf(text, sizeof(text), "rank 0 is missing: %s", how);
	else
		snprintf(text, sizeof(text), "rank %d is missing: %s; last seen in %s", rank, how,
		    state);
	control_fail_text(c, text);
	if (c->rank != 0)
		c->final = true; /* nobody is left to tell us more */
}

/* Lock held. */
static void
read_peer(struct control *c, int rank)
{
	struct peer *peer = &c->peers[rank];
	int state = wire_read(peer->fd, &peer->in), taken;
	enum message_kind kind;
	size_t length;
	char *bytes;

	while ((taken = wire_take(&peer->in, &kind, &bytes, &length)) == 1) {
		peer->heard_s = wire_now_s();
		if (!handle(c, rank, kind, bytes, length))
			free(bytes);
	}
	if (taken < 0)
		peer_gone(c, rank, "it sent something that is no message of ours");
	else if (state == 0)
		peer_gone(c, rank, "its connection closed");
	else if (state < 0)
		peer_gone(c, rank, "its connection broke");
}

/* Lock held. */
static void
check_clocks(struct control *c)
{
	double now = wire_now_s();
	char text[CONTROL_TEXT], state[STATE_TEXT];
	int i;

	if (c->own.operation[0] && now - c->since_s > c->timeout_s) {
		control_state_text(&c->own, state);
		snprintf(text, sizeof(text), "time-out on rank %d after %.1f s in %s", c->rank,
		    now - c->since_s, state);
		control_fail_text(c, text);
	}
	for (i = 0; i < c->world; i++) {
		struct peer *peer = &c->peers[i];

		if (peer->fd < 0 || peer->gone || peer->left || now - peer->heard_s <= c->timeout_s)
			continue;
		snprintf(text, sizeof(text), "no sign of life for %.1f s", now - peer->heard_s);
		peer_gone(c, i, text);
	}
}

static void
send_states(struct control *c)
{
	int i;

	if (wire_now_s() < c->next_beat_s)
		return;
	c->next_beat_s = wire_now_s() + BEAT_S;
	for (i = 0; i < c->world; i++) {
		struct peer *peer = &c->peers[i];

		if (peer->fd >= 0 && !peer->gone && !peer->left)
			wire_send(peer->fd, MESSAGE_STATE, &c->own, sizeof(c->own));
	}
}

/* Lock held. Who is missing is known soon when that is why the launcher stops us. */
static void
check_stop(struct control *c)
{
	char text[CONTROL_TEXT], state[STATE_TEXT];

	if (!c->stop_request || !c->stop_request->wanted)
		return;
	if (c->stop_wanted_s <= 0)
		c->stop_wanted_s = wire_now_s();
	if (wire_now_s() - c->stop_wanted_s < SETTLE_S / 2)
		return;
	control_state_text(&c->own, state);
	snprintf(text, sizeof(text), "rank %d was told to stop (SIGTERM) in %s", c->rank, state);
	control_fail_text(c, text);
}

/* Lock held. After a failure: the others' last states, then the account, then the end. */
static void
after_failure(struct control *c)
{
	double late = wire_now_s() - c->failed_s;

	if (c->rank == 0 && !c->final && late > SETTLE_S)
		control_broadcast(c);
	if (c->final)
		control_print(c);
	if (late > GRACE_S + (c->final ? 0 : 2 * GRACE_S)) {
		pthread_mutex_unlock(&c->lock);
		control_end_process(c);
	}
}

static int
fill_polls(struct control *c, struct pollfd *polls, int *ranks)
{
	int n = 0, i;

	for (i = 0; i < c->world; i++) {
		if (c->peers[i].fd < 0 || c->peers[i].gone)
			continue;
		polls[n] = (struct pollfd){.fd = c->peers[i].fd, .events = POLLIN};
		ranks[n++] = i;
	}
	return n;
}

static void
serve(struct control *c, struct pollfd *polls, int *ranks)
{
	int n, i, ready;

	pthread_mutex_lock(&c->lock);
	n = fill_polls(c, polls, ranks);
	pthread_mutex_unlock(&c->lock);
	ready = poll(polls, (nfds_t)n, 50);
	pthread_mutex_lock(&c->lock);
	for (i = 0; i < n && ready > 0; i++)
		if (polls[i].revents)
			read_peer(c, ranks[i]);
	if (!atomic_load(&c->failed))
		check_clocks(c);
	if (!atomic_load(&c->failed))
		check_stop(c);
	send_states(c);
	if (atomic_load(&c->failed))
		after_failure(c);
	pthread_mutex_unlock(&c->lock);
}

void *
control_watch(void *context)
{
	struct control *c = context;
	struct pollfd *polls = calloc((size_t)c->world, sizeof(*polls));
	int *ranks = calloc((size_t)c->world, sizeof(*ranks));

	while (polls && ranks && !atomic_load(&c->stop))
		serve(c, polls, ranks);
	free(polls);
	free(ranks);
	return NULL;
}

