/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How do the ranks of a rehearsal find each other where no MPI started them?
 *
 * Rank 0 listens on a port of its own, which the id of the world tells. Everybody connects there,
 * says who it is and where it listens itself, and gets the list of all; then the higher of two
 * ranks connects to the lower. Connections start with a number that only this job knows. A rank
 * that rank 0 sees on its own host has no address in the list: it is where rank 0 is.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "probe/cpu_mesh.h"
#include "probe/mix.h"
#include "probe/wire.h"

enum { SILENCE_S = 5, GONE_S = 2, ADDRESS = 48, MOST_BYTES = 1 << 30 };
#define JOIN_S 30.0

struct link {
	int fd;
	double gone_s; /* when the connection ended; 0: it has not */
	char *out;
	size_t out_from, out_length, out_room;
	uint64_t head[2]; /* communicator, bytes */
	char *in;
	size_t got;
};

struct mesh {
	int rank, world, listener;
	struct link *links;
	struct mesh_message *first, **last;
	char error[MESH_TEXT];
};

struct invitation {
	uint64_t secret;
	int32_t port;
};

struct card {
	uint64_t secret;
	int32_t rank, port;
};

struct place {
	char host[ADDRESS]; /* "": where rank 0 is */
	int32_t port;
};

static int
fail(struct mesh *m, const char *what, int rank)
{
	if (rank < 0)
		snprintf(m->error, sizeof(m->error), "%s: %s", what, strerror(errno));
	else
		snprintf(m->error, sizeof(m->error), "%s rank %d", what, rank);
	return -1;
}

struct mesh *
mesh_new(int rank, int world)
{
	struct mesh *m = calloc(1, sizeof(*m));
	int i;

	if (!m)
		return NULL;
	m->links = calloc((size_t)world, sizeof(*m->links));
	if (!m->links) {
		free(m);
		return NULL;
	}
	m->rank = rank;
	m->world = world;
	m->listener = -1;
	m->last = &m->first;
	for (i = 0; i < world; i++)
		m->links[i].fd = -1;
	return m;
}

void
mesh_free(struct mesh *m)
{
	int i;

	if (!m)
		return;
	for (i = 0; i < m->world; i++) {
		if (m->links[i].fd >= 0)
			close(m->links[i].fd);
		free(m->links[i].out);
		free(m->links[i].in);
	}
	while (m->first)
		mesh_drop(m, m->first);
	if (m->listener >= 0)
		close(m->listener);
	free(m->links);
	free(m);
}

const char *
mesh_error(const struct mesh *m)
{
	return m->error;
}

/* --- meeting ------------------------------------------------------------------------------ */

/* 0 when all was sent or received; a peer that keeps silent is given up. */
static int
transfer(int fd, void *bytes, size_t length, bool out)
{
	char *at = bytes;

	while (length > 0) {
		ssize_t n = out ? send(fd, at, length, MSG_NOSIGNAL) : recv(fd, at, length, 0);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return -1;
		at += n;
		length -= (size_t)n;
	}
	return 0;
}

static void
be_patient(int fd, int seconds)
{
	struct timeval limit = {.tv_sec = seconds};

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
}

int
mesh_invite(struct mesh *m, unsigned char id[MESH_ID_BYTES])
{
	struct invitation invitation = {.port = 0};
	struct timespec now;
	uint64_t moment;
	int port = 0;

	m->listener = wire_listen(&port);
	if (m->listener < 0)
		return fail(m, "no port to listen on", -1);
	clock_gettime(CLOCK_REALTIME, &now);
	moment = (uint64_t)now.tv_sec << 30 ^ (uint64_t)now.tv_nsec;
	invitation.secret = mix_bits(moment ^ (uint64_t)getpid() << 48);
	invitation.port = port;
	memset(id, 0, MESH_ID_BYTES);
	memcpy(id, &invitation, sizeof(invitation));
	return 0;
}

/* Takes one connection in; whoever does not know the secret is sent away. */
static int
admit(struct mesh *m, uint64_t secret, struct card *card)
{
	double until = wire_now_s() + JOIN_S;

	while (wire_now_s() < until) {
		struct pollfd wait = {.fd = m->listener, .events = POLLIN};
		int fd = poll(&wait, 1, 100) > 0 ? accept(m->listener, NULL, NULL) : -1;

		if (fd < 0)
			continue;
		be_patient(fd, SILENCE_S);
		if (transfer(fd, card, sizeof(*card), false) == 0 && card->secret == secret &&
		    card->rank > m->rank && card->rank < m->world &&
		    m->links[card->rank].fd < 0) {
			m->links[card->rank].fd = fd;
			return 0;
		}
		close(fd);
	}
	errno = ETIMEDOUT;
	return fail(m, "not every rank connected", -1);
}

static int
host_meeting(struct mesh *m, uint64_t secret)
{
	struct place *places = calloc((size_t)m->world, sizeof(*places));
	int i, result = places ? 0 : -1;
	struct card card;
	bool here;

	for (i = 1; i < m->world && result == 0; i++) {
		result = admit(m, secret, &card);
		if (result != 0)
			break;
		places[card.rank].port = card.port;
		if (wire_peer(m->links[card.rank].fd, places[card.rank].host, ADDRESS, &here) != 0)
			result = fail(m, "no address of", card.rank);
		else if (here)
			places[card.rank].host[0] = '\0';
	}
	for (i = 1; i < m->world && result == 0; i++)
		if (transfer(m->links[i].fd, places, (size_t)m->world * sizeof(*places), true) != 0)
			result = fail(m, "cannot tell the others to", i);
	free(places);
	return result;
}

static int
call(struct mesh *m, int rank, const char *host, int port, struct card *card)
{
	int fd = wire_connect(host, port, JOIN_S);

	if (fd < 0 || transfer(fd, card, sizeof(*card), true) != 0) {
		if (fd >= 0)
			close(fd);
		return fail(m, "cannot connect to", rank);
	}
	m->links[rank].fd = fd;
	return 0;
}

static int
visit_meeting(struct mesh *m, const struct invitation *invitation, const char *master)
{
	struct place *places = calloc((size_t)m->world, sizeof(*places));
	struct card card = {.secret = invitation->secret, .rank = m->rank};
	char host[ADDRESS];
	int port = 0, result, i;
	bool here;

	m->listener = wire_listen(&port);
	card.port = port;
	if (!places || m->listener < 0) {
		free(places);
		return fail(m, "no port to listen on", -1);
	}
	result = call(m, 0, master, invitation->port, &card);
	if (result == 0) {
		be_patient(m->links[0].fd, (int)JOIN_S);
		if (transfer(m->links[0].fd, places, (size_t)m->world * sizeof(*places), false) !=
			0 ||
		    wire_peer(m->links[0].fd, host, ADDRESS, &here) != 0)
			result = fail(m, "no list of ranks from", 0);
	}
	for (i = 1; i < m->rank && result == 0; i++)
		result = call(
		    m, i, places[i].host[0] ? places[i].host : host, places[i].port, &card);
	for (i = m->rank + 1; i < m->world && result == 0; i++)
		result = admit(m, invitation->secret, &card);
	free(places);
	return result;
}

int
mesh_join(struct mesh *m, const unsigned char id[MESH_ID_BYTES], const char *master)
{
	struct invitation invitation;
	int i, result;

	memcpy(&invitation, id, sizeof(invitation));
	result = m->rank == 0 ? host_meeting(m, invitation.secret)
			      : visit_meeting(m, &invitation, master);
	if (m->listener >= 0)
		close(m->listener);
	m->listener = -1;
	for (i = 0; i < m->world; i++)
		if (m->links[i].fd >= 0)
			fcntl(m->links[i].fd, F_SETFL, fcntl(m->links[i].fd, F_GETFL) | O_NONBLOCK);
	return result;
}

/* --- messages ----------------------------------------------------------------------------- */

/* The whole message that came over a link. */
static void
keep(struct mesh *m, int from, struct link *link)
{
	struct mesh_message *message = malloc(sizeof(*message));

	if (!message) {
		link->gone_s = wire_now_s();
		return;
	}
	*message = (struct mesh_message){link->head[0], from, link->head[1], link->in, NULL};
	*m->last = message;
	m->last = &message->next;
	link->in = NULL;
	link->got = 0;
}

const struct mesh_message *
mesh_peek(const struct mesh *m, uint64_t comm, int from)
{
	const struct mesh_message *message = m->first;

	while (message && (message->comm != comm || message->from != from))
		message = message->next;
	return message;
}

void
mesh_drop(struct mesh *m, const struct mesh_message *gone)
{
	struct mesh_message **at = &m->first, *message;

	while (*at != gone)
		at = &(*at)->next;
	message = *at;
	*at = message->next;
	if (!message->next)
		m->last = at;
	free(message->bytes);
	free(message);
}

static int
make_room(struct link *link, size_t more)
{
	size_t wanted = link->out_length + more;
	char *bytes;

	if (link->out_from) {
		memmove(link->out, link->out + link->out_from, link->out_length);
		link->out_from = 0;
	}
	if (wanted <= link->out_room)
		return 0;
	bytes = realloc(link->out, wanted * 2);
	if (!bytes)
		return -1;
	link->out = bytes;
	link->out_room = wanted * 2;
	return 0;
}

static void
flush(struct link *link)
{
	while (link->out_length > 0 && link->gone_s <= 0) {
		ssize_t n =
		    send(link->fd, link->out + link->out_from, link->out_length, MSG_NOSIGNAL);

		if (n < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR)
			link->gone_s = wire_now_s();
		if (n <= 0)
			return;
		link->out_from += (size_t)n;
		link->out_length -= (size_t)n;
	}
}

int
mesh_send(struct mesh *m, uint64_t comm, int to, const void *bytes, size_t length)
{
	uint64_t head[2] = {comm, length};
	struct link *link = &m->links[to];
	char *at;

	if (make_room(link, sizeof(head) + length) != 0)
		return fail(m, "no memory for a message", -1);
	at = link->out + link->out_length;
	memcpy(at, head, sizeof(head));
	if (length)
		memcpy(at + sizeof(head), bytes, length);
	link->out_length += sizeof(head) + length;
	flush(link);
	return 0;
}

/* Whether something came. */
static bool
take_in(struct mesh *m, int from)
{
	struct link *link = &m->links[from];
	size_t head = sizeof(link->head);
	bool in_head = link->got < head;
	char *to = in_head ? (char *)link->head + link->got : link->in + (link->got - head);
	size_t wanted = (in_head ? head : head + link->head[1]) - link->got;
	ssize_t n = wanted ? recv(link->fd, to, wanted, 0) : 0;

	if (n == 0 || (n < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR))
		link->gone_s = wire_now_s();
	if (n <= 0)
		return false;
	link->got += (size_t)n;
	if (in_head && link->got == head) {
		link->in = link->head[1] < MOST_BYTES ? malloc(link->head[1] + 1) : NULL;
		if (!link->in) {
			link->gone_s = wire_now_s();
			return false;
		}
	}
	if (link->got >= head && link->got == head + link->head[1])
		keep(m, from, link);
	return true;
}

int
mesh_advance(struct mesh *m)
{
	int i;

	for (i = 0; i < m->world; i++) {
		struct link *link = &m->links[i];

		if (link->fd < 0)
			continue;
		flush(link);
		while (link->gone_s <= 0 && take_in(m, i))
			;
		if (link->gone_s > 0 && wire_now_s() - link->gone_s > GONE_S)
			return fail(m, "the connection is gone to", i);
	}
	return 0;
}

bool
mesh_flushed(const struct mesh *m)
{
	int i;

	for (i = 0; i < m->world; i++)
		if (m->links[i].out_length > 0)
			return false;
	return true;
}
