/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How do messages of the blocking backend get from rank to rank, and wait until they are wanted? */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/probe/blocking_lines.h"

static int ends[BLOCKING_MAX_RANKS][BLOCKING_MAX_RANKS]; /* [rank][peer] */

int
blocking_prepare(int world)
{
	int pair[2], i, j;

	for (i = 0; i < world; i++)
		for (j = 0; j < i; j++) {
			if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0)
				return -1;
			ends[i][j] = pair[0];
			ends[j][i] = pair[1];
		}
	return 0;
}

/* Blocks for ever on trouble: this is what it is for. */
static void
block(void)
{
	for (;;)
		poll(NULL, 0, 1000);
}

static void drain(struct state *s);

/* While the peer's room is full, what others send is taken in: they may wait for us. */
static void
write_all(struct state *s, int fd, const void *bytes, size_t length)
{
	const char *from = bytes;

	while (length > 0) {
		ssize_t n = send(fd, from, length, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
			drain(s);
		if (n < 0 && (errno == EINTR || errno == EAGAIN || errno == EWOULDBLOCK))
			continue;
		if (n <= 0)
			block();
		from += n;
		length -= (size_t)n;
	}
}

void
blocking_post(struct state *s, const struct comm *c, int peer, const void *bytes, size_t length)
{
	int fd = ends[s->rank][c->ranks[peer]];
	uint64_t head[2] = {(uint64_t)c->id, length};

	write_all(s, fd, head, sizeof(head));
	write_all(s, fd, bytes, length);
}

static struct stashed *
take_stashed(struct state *s, int comm, int from)
{
	struct stashed **at = &s->stash, *found;

	while (*at && ((*at)->comm != comm || (*at)->from != from))
		at = &(*at)->next;
	found = *at;
	if (found)
		*at = found->next;
	return found;
}

static void
stash(struct state *s, int from, struct incoming *in)
{
	struct stashed *m = calloc(1, sizeof(*m)), **end = &s->stash;

	m->comm = (int)in->head[0];
	m->from = from;
	m->length = in->head[1];
	m->bytes = in->bytes;
	while (*end)
		end = &(*end)->next;
	*end = m;
	memset(in, 0, sizeof(*in));
}

/* What has come from a peer so far; whole messages are stashed. */
static void
take_in(struct state *s, int from)
{
	struct incoming *in = &s->incoming[from];
	size_t head = sizeof(in->head);
	bool in_head = in->got < head;
	char *to = in_head ? (char *)in->head + in->got : in->bytes + (in->got - head);
	size_t wanted = in_head ? head - in->got : head + in->head[1] - in->got;
	ssize_t n = recv(ends[s->rank][from], to, wanted, MSG_DONTWAIT);

	if (n == 0)
		block();
	if (n > 0)
		in->got += (size_t)n;
	if (n > 0 && in_head && in->got == head)
		in->bytes = malloc(in->head[1] + 1);
	if (in->got >= head && in->got == head + in->head[1])
		stash(s, from, in);
}

static void
drain(struct state *s)
{
	struct pollfd polls[BLOCKING_MAX_RANKS];
	int i, error = errno;

	for (i = 0; i < s->world; i++)
		polls[i] =
		    (struct pollfd){.fd = i == s->rank ? -1 : ends[s->rank][i], .events = POLLIN};
	if (poll(polls, (nfds_t)s->world, 10) > 0)
		for (i = 0; i < s->world; i++)
			if (polls[i].revents & POLLIN)
				take_in(s, i);
	errno = error;
}

/* The message of another length is another operation's: never ours. */
void
blocking_fetch(struct state *s, const struct comm *c, int peer, void *bytes, size_t length)
{
	struct stashed *m;

	while (!(m = take_stashed(s, c->id, c->ranks[peer])))
		drain(s);
	if (m->length != length)
		block();
	if (length)
		memcpy(bytes, m->bytes, length);
	free(m->bytes);
	free(m);
}
