/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How do the ranks of the stand-in for NCCL talk: processes with sockets between them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "tests/probe/fake_cuda.h"

int fake_own_rank, fake_n_ranks = 1;
static int ends[FAKE_MAX_RANKS][FAKE_MAX_RANKS];

struct line {
	char *out;
	size_t out_length, in_got;
	size_t head[2]; /* communicator, length */
	char *bytes;
};

static struct line lines[FAKE_MAX_RANKS];
static struct fake_message *arrived, **arrived_end = &arrived;

static void
keep(long comm, int from, char *bytes, size_t length)
{
	struct fake_message *m = calloc(1, sizeof(*m));

	if (!m)
		abort();
	*m = (struct fake_message){comm, from, length, bytes, NULL};
	*arrived_end = m;
	arrived_end = &m->next;
}

void
fake_send(long comm, int rank, const void *bytes, size_t length)
{
	size_t head[2] = {(size_t)comm, length};
	struct line *line = &lines[rank];

	if (rank == fake_own_rank) {
		char *copy = malloc(length + 1);

		memcpy(copy, bytes, length);
		keep(comm, rank, copy, length);
		return;
	}
	line->out = realloc(line->out, line->out_length + sizeof(head) + length);
	if (!line->out)
		abort();
	memcpy(line->out + line->out_length, head, sizeof(head));
	memcpy(line->out + line->out_length + sizeof(head), bytes, length);
	line->out_length += sizeof(head) + length;
}

static void
flush(int rank)
{
	struct line *line = &lines[rank];
	ssize_t n = 1;

	while (line->out_length > 0 && n > 0) {
		n = send(ends[fake_own_rank][rank], line->out, line->out_length,
		    MSG_DONTWAIT | MSG_NOSIGNAL);
		if (n <= 0)
			return;
		line->out_length -= (size_t)n;
		memmove(line->out, line->out + n, line->out_length);
	}
}

static bool
take_in(int rank)
{
	struct line *line = &lines[rank];
	size_t size = sizeof(line->head);
	bool in_head = line->in_got < size;
	char *to = in_head ? (char *)line->head + line->in_got : line->bytes + line->in_got - size;
	size_t wanted = (in_head ? size : size + line->head[1]) - line->in_got;
	ssize_t n = wanted ? recv(ends[fake_own_rank][rank], to, wanted, MSG_DONTWAIT) : 0;

	if (n <= 0 && wanted)
		return false;
	line->in_got += (size_t)n;
	if (line->in_got == size && in_head)
		line->bytes = malloc(line->head[1] + 1);
	if (line->in_got < size || line->in_got < size + line->head[1])
		return true;
	keep((long)line->head[0], rank, line->bytes, line->head[1]);
	line->bytes = NULL;
	line->in_got = 0;
	return true;
}

const struct fake_message *
fake_peek(long comm, int from)
{
	const struct fake_message *m = arrived;

	while (m && (m->comm != comm || m->from != from))
		m = m->next;
	return m;
}

void
fake_drop(const struct fake_message *gone)
{
	struct fake_message **at = &arrived, *m;

	while (*at != gone)
		at = &(*at)->next;
	m = *at;
	*at = m->next;
	if (!m->next)
		arrived_end = at;
	free(m->bytes);
	free(m);
}

int
fake_prepare(int world)
{
	int pair[2], i, j;

	fake_n_ranks = world;
	for (i = 0; i < world; i++)
		for (j = 0; j < i; j++) {
			if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0)
				return -1;
			ends[i][j] = pair[0];
			ends[j][i] = pair[1];
		}
	return 0;
}

/* Ends of other ranks are closed: a rank that dies is gone for its peers. */
void
fake_rank(int rank, unsigned seed)
{
	int i, j;

	fake_own_rank = rank;
	fake_seed(seed);
	for (i = 0; i < fake_n_ranks; i++)
		for (j = 0; j < fake_n_ranks; j++)
			if (i != j && i != rank)
				close(ends[i][j]);
}

void
fake_lines_advance(void)
{
	int i;

	for (i = 0; i < fake_n_ranks; i++)
		if (i != fake_own_rank) {
			flush(i);
			while (take_in(i))
				;
		}
}

/* --- ranks that nobody forked ------------------------------------------------------------- */

/* Where a rank listens: a name that is no file, of the id that rank 0 drew. */
static struct sockaddr_un
address_of(const char *id, int rank)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	snprintf(address.sun_path + 1, sizeof(address.sun_path) - 1, "%s %d", id, rank);
	return address;
}

static int
reach(const char *id, int rank)
{
	struct sockaddr_un address = address_of(id, rank);
	const struct timespec a_moment = {.tv_nsec = 10000000};
	int fd = socket(AF_UNIX, SOCK_STREAM, 0), tries;

	for (tries = 0; tries < 3000; tries++) {
		if (connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0)
			return fd;
		nanosleep(&a_moment, NULL);
	}
	return -1;
}

/* As NCCL finds its ranks by the id: the higher of two goes to the lower one. */
int
fake_find_ranks(const char *id, int rank, int world)
{
	struct sockaddr_un own = address_of(id, rank);
	int listener = socket(AF_UNIX, SOCK_STREAM, 0), i, peer;

	if (world > FAKE_MAX_RANKS || bind(listener, (struct sockaddr *)&own, sizeof(own)) != 0 ||
	    listen(listener, FAKE_MAX_RANKS) != 0)
		return -1;
	fake_own_rank = rank;
	fake_n_ranks = world;
	for (i = 0; i < rank; i++) {
		ends[rank][i] = reach(id, i);
		if (ends[rank][i] < 0 || write(ends[rank][i], &rank, sizeof(rank)) != sizeof(rank))
			return -1;
	}
	for (i = rank + 1; i < world; i++) {
		int fd = accept(listener, NULL, NULL);

		if (fd < 0 || read(fd, &peer, sizeof(peer)) != sizeof(peer))
			return -1;
		ends[rank][peer] = fd;
	}
	close(listener);
	return 0;
}
