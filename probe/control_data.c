/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How do results and settings get to rank 0 and from there to all?
 *
 * The watchdog takes messages in; the main thread waits for them here, until they are there or
 * the run has failed.
 */
#include <stdio.h>
#include <string.h>

#include "probe/control_private.h"

/* Lock held. The bytes of a peer, waited for; -1 once failed or of another size. */
static int
take_data(struct control *c, int from, void *to, size_t size)
{
	struct peer *peer = &c->peers[from];

	while (!peer->parcels && !atomic_load(&c->failed))
		pthread_cond_wait(&c->changed, &c->lock);
	if (!peer->parcels)
		return -1;
	if (peer->parcels->length != size) {
		char text[CONTROL_TEXT];

		snprintf(text, sizeof(text), "rank %d sent %zu bytes of results, %zu were expected",
		    from, peer->parcels->length, size);
		control_fail_text(c, text);
		return -1;
	}
	if (size)
		memcpy(to, peer->parcels->bytes, size);
	control_drop_parcel(peer);
	return 0;
}

static int
gather(struct control *c, const void *mine, size_t size, void *all)
{
	int i;

	if (c->rank != 0)
		return wire_send(c->peers[0].fd, MESSAGE_DATA, mine, size);
	if (size)
		memcpy(all, mine, size);
	for (i = 1; i < c->world; i++)
		if (take_data(c, i, size ? (char *)all + (size_t)i * size : NULL, size) != 0)
			return -1;
	return 0;
}

static int
share(struct control *c, void *bytes, size_t size)
{
	int i;

	if (c->rank != 0)
		return take_data(c, 0, bytes, size);
	for (i = 1; i < c->world; i++)
		if (wire_send(c->peers[i].fd, MESSAGE_SHARE, bytes, size) != 0)
			return -1;
	return 0;
}

int
control_gather(struct control *c, const void *mine, size_t size, void *all)
{
	int result;

	control_enter(c, "gather", "world");
	pthread_mutex_lock(&c->lock);
	result = atomic_load(&c->failed) ? -1 : gather(c, mine, size, all);
	pthread_mutex_unlock(&c->lock);
	control_leave(c);
	return result;
}

int
control_share(struct control *c, void *bytes, size_t size)
{
	int result;

	control_enter(c, "share", "world");
	pthread_mutex_lock(&c->lock);
	result = atomic_load(&c->failed) ? -1 : share(c, bytes, size);
	pthread_mutex_unlock(&c->lock);
	control_leave(c);
	return result;
}

int
control_barrier(struct control *c)
{
	char nothing = 0;

	return control_gather(c, &nothing, 0, &nothing) == 0 ? control_share(c, &nothing, 0) : -1;
}
