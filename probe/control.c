/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Is every rank alive and getting on, and if not, who is missing?
 *
 * Every rank sends rank 0 its state (phase, operation, group, number of the operation) five
 * times a second. The first failure that rank 0 sees or is told of is final: it adds where
 * everybody was (control_account.c), sends that to all, and every process ends with status 3. A
 * thread of its own serves the connections (control_watch.c).
 */
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
#define PATIENCE_S 4.0 /* for rank 0's account */

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

/* Lock held. */
void
control_set_failed(struct control *c, const char *why)
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
	control_set_failed(c, why);
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

void
control_remark(struct control *c, const char *text)
{
	pthread_mutex_lock(&c->lock);
	copy_text(c->remark, sizeof(c->remark), text);
	pthread_mutex_unlock(&c->lock);
}

const char *
control_reason(struct control *c)
{
	return c->reason;
}

/* Lock held; rank 0. */
void
control_broadcast(struct control *c)
{
	char text[CONTROL_TEXT];
	int i;

	control_describe(c, c->reason, text);
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

void
control_print(struct control *c)
{
	char text[CONTROL_TEXT + 64];

	if (c->printed)
		return;
	c->printed = true;
	snprintf(text, sizeof(text), "moeplan-probe: rank %d of %d stops: %s", c->rank, c->world,
	    c->reason);
	if (!(c->brief && c->told))
		c->print(text);
}

/* Only one of the two threads prints; the other waits for the end of the process. */
_Noreturn void
control_end_process(struct control *c)
{
	pthread_mutex_lock(&c->lock);
	control_print(c);
	_exit(EXIT_ENVIRONMENT);
}

_Noreturn void
control_die(struct control *c)
{
	double until = wire_now_s() + PATIENCE_S;

	for (;;) {
		struct timespec nap = {0, 20000000};

		pthread_mutex_lock(&c->lock);
		if (c->final || wire_now_s() > until)
			break;
		pthread_mutex_unlock(&c->lock);
		nanosleep(&nap, NULL);
	}
	pthread_mutex_unlock(&c->lock);
	control_end_process(c);
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
	c->brief = options->local_rank > 0 && !options->print;
	c->stop_request = options->stop;
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
	if (pthread_create(&c->thread, NULL, control_watch, c) != 0)
		return -1;
	c->started = true;
	if (c->stop_request)
		c->stop_request->watched = true;
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

	if (c->stop_request)
		c->stop_request->watched = false;
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
