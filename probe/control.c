/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Is every rank alive and getting on, and if not, who is missing?
 *
 * Every rank sends rank 0 its state (phase, operation, group, number of the operation) five
 * times a second. The first failure that rank 0 sees or is told of is final: it adds where
 * everybody was, sends that to all, and every process ends with status 3. The watchdog thread
 * never calls into a backend, so a backend that blocks for ever cannot stop it.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "probe/control.h"
#include "probe/control_private.h"
#include "probe/wire.h"

enum { EXIT_ENVIRONMENT = 3 };
#define BEAT_S 0.2
#define GRACE_S 2.0  /* for the main thread to leave by itself after a failure */
#define SETTLE_S 0.5 /* rank 0 waits so long for the others' last states */

static void
state_text(const struct state *state, char text[STATE_TEXT])
{
	if (state->operation[0])
		snprintf(text, STATE_TEXT, "%s: %s on %s (operation %lld)", state->phase,
		    state->operation, state->group, (long long)state->number);
	else
		snprintf(text, STATE_TEXT, "%s: between operations (%lld done)", state->phase,
		    (long long)state->number);
}

static void
copy_text(char *to, size_t size, const char *from)
{
	snprintf(to, size, "%s", from);
}

/* Once failed, a rank stays where it was: the account of it says where everybody was. */
void
control_phase(struct control *c, const char *phase)
{
	pthread_mutex_lock(&c->lock);
	if (!atomic_load(&c->failed))
		copy_text(c->own.phase, sizeof(c->own.phase), phase);
	pthread_mutex_unlock(&c->lock);
}

void
control_enter(struct control *c, const char *operation, const char *group)
{
	pthread_mutex_lock(&c->lock);
	if (!atomic_load(&c->failed)) {
		copy_text(c->own.operation, sizeof(c->own.operation), operation);
		copy_text(c->own.group, sizeof(c->own.group), group);
		c->own.number++;
		c->since_s = wire_now_s();
	}
	pthread_mutex_unlock(&c->lock);
}

void
control_leave(struct control *c)
{
	pthread_mutex_lock(&c->lock);
	if (!atomic_load(&c->failed))
		c->own.operation[0] = '\0';
	pthread_mutex_unlock(&c->lock);
}

bool
control_failed(const struct control *c)
{
	return atomic_load(&c->failed);
}

/* --- failing ------------------------------------------------------------------------------ */

/* Ranks of `mask[i] == which` as "0-3,7". */
static void
rank_list(const int *which, int world, int wanted, char *text, size_t size)
{
	size_t used = 0;
	int i, end;

	text[0] = '\0';
	for (i = 0; i < world && used + 24 < size; i = end + 1) {
		end = i;
		if (which[i] != wanted)
			continue;
		while (end + 1 < world && which[end + 1] == wanted)
			end++;
		used += (size_t)snprintf(text + used, size - used, end > i ? "%s%d-%d" : "%s%d",
		    used ? "," : "", i, end);
	}
}

/* Which of the distinct states each rank is in; how many there are. */
static int
classify(struct control *c, int *which, char (*texts)[STATE_TEXT], int most)
{
	char text[STATE_TEXT];
	int n = 0, i, j;

	for (i = 0; i < c->world; i++) {
		which[i] = -1;
		if (c->peers[i].gone)
			continue;
		state_text(i == 0 ? &c->own : &c->peers[i].state, text);
		for (j = 0; j < n && strcmp(texts[j], text) != 0; j++)
			;
		if (j == most)
			continue;
		if (j == n)
			copy_text(texts[n++], STATE_TEXT, text);
		which[i] = j;
	}
	return n;
}

enum { MAX_STATES = 8 };

/* Who keeps the others waiting without being in an operation itself? */
static size_t
missing_there(const struct control *c, char *text, size_t size)
{
	size_t used = 0;
	int i;

	for (i = 0; i < c->world && used + 64 < size; i++) {
		const struct state *state = i == 0 ? &c->own : &c->peers[i].state;

		if (state->operation[0] || (i > 0 && c->peers[i].gone))
			continue;
		used += (size_t)snprintf(text + used, size - used, "%s%d",
		    used ? ", " : "\n  missing in every operation: rank ", i);
	}
	return used;
}

/* "…; ranks 0-2: dispatch: all_to_all on ep (operation 17); rank 3: …" */
static void
describe(struct control *c, const char *why, char text[CONTROL_TEXT])
{
	char states[MAX_STATES][STATE_TEXT], list[256];
	int *which = calloc((size_t)c->world, sizeof(*which));
	size_t used = (size_t)snprintf(text, CONTROL_TEXT, "%s", why);
	int n, i;

	if (!which)
		return;
	n = classify(c, which, states, MAX_STATES);
	used += missing_there(c, text + used, CONTROL_TEXT - used);
	for (i = 0; i < n && used + 1 < CONTROL_TEXT; i++) {
		rank_list(which, c->world, i, list, sizeof(list));
		used += (size_t)snprintf(text + used, CONTROL_TEXT - used, "\n  %s %s: %s",
		    strpbrk(list, "-,") ? "ranks" : "rank", list, states[i]);
	}
	free(which);
}

/* Lock held. */
static void
set_failed(struct control *c, const char *why)
{
	if (atomic_load(&c->failed))
		return;
	copy_text(c->reason, sizeof(c->reason), why);
	c->failed_s = wire_now_s();
	atomic_store(&c->failed, true);
	pthread_cond_broadcast(&c->changed);
}

/* Lock held. */
void
control_fail_text(struct control *c, const char *why)
{
	if (atomic_load(&c->failed))
		return;
	set_failed(c, why);
	if (c->rank != 0 && c->peers[0].fd >= 0)
		wire_send(c->peers[0].fd, MESSAGE_FAIL, why, strlen(why));
}

int
control_fail(struct control *c, const char *format, ...)
{
	char text[CONTROL_TEXT - 64], why[CONTROL_TEXT];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	snprintf(why, sizeof(why), "rank %d: %s", c->rank, text);
	pthread_mutex_lock(&c->lock);
	control_fail_text(c, why);
	pthread_mutex_unlock(&c->lock);
	return -1;
}

const char *
control_reason(struct control *c)
{
	return c->reason;
}

/* Lock held; rank 0. */
static void
broadcast_abort(struct control *c)
{
	char text[CONTROL_TEXT];
	int i;

	describe(c, c->reason, text);
	copy_text(c->reason, sizeof(c->reason), text);
	for (i = 1; i < c->world; i++)
		if (c->peers[i].fd >= 0 && !c->peers[i].gone)
			wire_send(c->peers[i].fd, MESSAGE_ABORT, text, strlen(text));
	c->final = true;
	pthread_cond_broadcast(&c->changed);
}

static void
print_default(const char *text)
{
	fprintf(stderr, "%s\n", text);
	fflush(stderr);
}

/* Only one of the two threads prints; the other waits for the end of the process. */
static _Noreturn void
end_process(struct control *c)
{
	char text[CONTROL_TEXT + 64];

	pthread_mutex_lock(&c->lock);
	if (!c->printed) {
		c->printed = true;
		snprintf(text, sizeof(text), "moeplan-probe: rank %d of %d stops: %s", c->rank,
		    c->world, c->reason);
		c->print(text);
	}
	_exit(EXIT_ENVIRONMENT);
}

_Noreturn void
control_die(struct control *c)
{
	double until = wire_now_s() + 2 * GRACE_S;

	for (;;) {
		struct timespec nap = {0, 20000000};

		pthread_mutex_lock(&c->lock);
		if (c->final || wire_now_s() > until)
			break;
		pthread_mutex_unlock(&c->lock);
		nanosleep(&nap, NULL);
	}
	pthread_mutex_unlock(&c->lock);
	end_process(c);
}

/* --- the watchdog ------------------------------------------------------------------------- */

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
		set_failed(c, "out of memory");
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
		set_failed(c, bytes);
		return false;
	case MESSAGE_ABORT:
		set_failed(c, bytes);
		copy_text(c->reason, sizeof(c->reason), bytes);
		c->final = true;
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
	state_text(&peer->state, state);
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
		state_text(&c->own, state);
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

/* Lock held. After a failure: the others' last states, then the account, then the end. */
static void
after_failure(struct control *c)
{
	double late = wire_now_s() - c->failed_s;

	if (c->rank == 0 && !c->final && late > SETTLE_S)
		broadcast_abort(c);
	if (late > GRACE_S + (c->final ? 0 : 2 * GRACE_S)) {
		pthread_mutex_unlock(&c->lock);
		end_process(c);
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
	send_states(c);
	if (atomic_load(&c->failed))
		after_failure(c);
	pthread_mutex_unlock(&c->lock);
}

static void *
watchdog(void *context)
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

/* --- beginning and end -------------------------------------------------------------------- */

struct control *
control_new(const struct control_options *options)
{
	struct control *c = calloc(1, sizeof(*c));
	int i;

	if (!c)
		return NULL;
	c->peers = calloc((size_t)options->world, sizeof(*c->peers));
	if (!c->peers) {
		free(c);
		return NULL;
	}
	c->rank = options->rank;
	c->world = options->world;
	c->timeout_s = options->timeout_s;
	c->print = options->print ? options->print : print_default;
	copy_text(c->own.phase, sizeof(c->own.phase), "start");
	pthread_mutex_init(&c->lock, NULL);
	pthread_cond_init(&c->changed, NULL);
	for (i = 0; i < c->world; i++) {
		c->peers[i].fd = -1;
		copy_text(c->peers[i].state.phase, sizeof(c->peers[i].state.phase), "start");
	}
	return c;
}

int
control_start(struct control *c)
{
	int i;

	for (i = 0; i < c->world; i++)
		c->peers[i].heard_s = wire_now_s();
	if (pthread_create(&c->thread, NULL, watchdog, c) != 0)
		return -1;
	c->started = true;
	return 0;
}

void
control_free(struct control *c)
{
	int i;

	for (i = 0; i < c->world; i++) {
		if (c->peers[i].fd >= 0)
			close(c->peers[i].fd);
		wire_buffer_free(&c->peers[i].in);
		while (c->peers[i].parcels)
			control_drop_parcel(&c->peers[i]);
	}
	pthread_mutex_destroy(&c->lock);
	pthread_cond_destroy(&c->changed);
	free(c->peers);
	free(c);
}

const char *
control_master(const struct control *c)
{
	return c->rank == 0 ? NULL : c->master;
}

void
control_close(struct control *c)
{
	int i;

	pthread_mutex_lock(&c->lock);
	for (i = 0; i < c->world; i++) {
		c->peers[i].left = true;
		if (c->peers[i].fd >= 0 && !c->peers[i].gone)
			wire_send(c->peers[i].fd, MESSAGE_BYE, "", 0);
	}
	pthread_mutex_unlock(&c->lock);
	atomic_store(&c->stop, true);
	if (c->started)
		pthread_join(c->thread, NULL);
	control_free(c);
}

void
control_cut(struct control *c)
{
	int i;

	for (i = 0; i < c->world; i++)
		if (c->peers[i].fd >= 0)
			shutdown(c->peers[i].fd, SHUT_RDWR);
}
