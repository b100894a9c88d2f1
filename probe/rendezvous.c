/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Do all ranks of one job meet, and are they what the plan wants?
 *
 * Rank 0 listens; every other rank connects (again and again until the time is over), says who
 * it is, and waits. Rank 0 refuses with a reason: another job on the same port, another version,
 * another plan, another world, a rank that is there already. When all have come, all are told.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "probe/control_private.h"

/* Texts are cut to their fields; both sides cut alike, so equal stays equal. */
struct hello {
	char version[32], token[128], plan[72], backend[16], host[64];
	int32_t rank, world, local_rank;
};

static void
fill_hello(const struct control_options *o, struct hello *hello)
{
	memset(hello, 0, sizeof(*hello));
	snprintf(hello->version, sizeof(hello->version), "%s", o->version);
	snprintf(hello->token, sizeof(hello->token), "%s", o->token ? o->token : "");
	snprintf(hello->plan, sizeof(hello->plan), "%s", o->plan_sha256);
	snprintf(hello->backend, sizeof(hello->backend), "%s", o->backend);
	gethostname(hello->host, sizeof(hello->host) - 1);
	hello->rank = o->rank;
	hello->world = o->world;
	hello->local_rank = o->local_rank;
}

/* What must be the same everywhere, and how it is called when it is not. */
static const struct {
	size_t offset, size;
	const char *what;
} same[] = {
    {offsetof(struct hello, token), sizeof(((struct hello *)0)->token), "job"},
    {offsetof(struct hello, version), sizeof(((struct hello *)0)->version), "version"},
    {offsetof(struct hello, plan), sizeof(((struct hello *)0)->plan), "plan (sha256)"},
    {offsetof(struct hello, backend), sizeof(((struct hello *)0)->backend), "backend"},
};

/* 0 when the newcomer may stay, else the reason. */
static int
check_hello(struct control *c, const struct hello *own, struct hello *got, char why[CONTROL_TEXT])
{
	size_t i;

	for (i = 0; i < sizeof(same) / sizeof(same[0]); i++) {
		const char *mine = (const char *)own + same[i].offset;
		char *theirs = (char *)got + same[i].offset;

		theirs[same[i].size - 1] = '\0';
		if (strcmp(mine, theirs) == 0)
			continue;
		snprintf(why, CONTROL_TEXT,
		    "rank %d brings another %s: '%.80s', rank 0 has '%.80s'", got->rank,
		    same[i].what, theirs, mine);
		return -1;
	}
	got->host[sizeof(got->host) - 1] = '\0';
	if (got->world != own->world)
		snprintf(why, CONTROL_TEXT, "rank %d believes in a world of %d ranks, rank 0 in %d",
		    got->rank, got->world, own->world);
	else if (got->rank <= 0 || got->rank >= own->world)
		snprintf(why, CONTROL_TEXT, "'%.40s' says it is rank %d of %d, which is not free",
		    got->host, got->rank, own->world);
	else if (c->peers[got->rank].fd >= 0)
		snprintf(why, CONTROL_TEXT,
		    "two processes say they are rank %d; the second is on '%.40s'", got->rank,
		    got->host);
	else
		return 0;
	return -1;
}

/* Another job's process must not end ours: it alone is sent away. */
static bool
is_stranger(const struct hello *own, const struct hello *got)
{
	return strcmp(own->token, got->token) != 0;
}

struct guest {
	int fd;
	struct wire_buffer in;
	struct guest *next;
};

/* 1 seated, 0 sent away or not finished, -1 the job fails. */
static int
hear_guest(struct control *c, const struct hello *own, struct guest *guest, char why[CONTROL_TEXT])
{
	enum message_kind kind;
	struct hello got;
	size_t length;
	char *bytes;
	int read = wire_read(guest->fd, &guest->in);
	int taken = wire_take(&guest->in, &kind, &bytes, &length), bad;

	if (taken == 0 && read == 1)
		return 0;
	if (taken <= 0 || kind != MESSAGE_HELLO || length != sizeof(got)) {
		if (taken == 1)
			free(bytes);
		close(guest->fd);
		guest->fd = -1;
		return 0;
	}
	memcpy(&got, bytes, sizeof(got));
	free(bytes);
	bad = check_hello(c, own, &got, why);
	if (bad == 0) {
		c->peers[got.rank].fd = guest->fd;
		c->peers[got.rank].in = guest->in;
		guest->in = (struct wire_buffer){0};
		guest->fd = -1;
		return 1;
	}
	wire_send(guest->fd, MESSAGE_REFUSE, why, strlen(why));
	close(guest->fd);
	guest->fd = -1;
	return is_stranger(own, &got) ? 0 : -1;
}

static void
accept_guest(int listener, struct guest **guests)
{
	struct guest *guest;
	int fd = accept(listener, NULL, NULL);

	if (fd < 0)
		return;
	guest = calloc(1, sizeof(*guest));
	if (!guest) {
		close(fd);
		return;
	}
	guest->fd = fd;
	guest->next = *guests;
	*guests = guest;
}

static void
free_guests(struct guest **guests, bool all)
{
	struct guest **at = guests;

	while (*at) {
		struct guest *guest = *at;

		if (guest->fd >= 0 && !all) {
			at = &guest->next;
			continue;
		}
		if (guest->fd >= 0)
			close(guest->fd);
		wire_buffer_free(&guest->in);
		*at = guest->next;
		free(guest);
	}
}

static void
missing_text(const struct control *c, int present, double waited_s, char why[CONTROL_TEXT])
{
	size_t used;
	int i, shown = 0;

	used = (size_t)snprintf(why, CONTROL_TEXT,
	    "waited %.0f s for %d ranks, %d came; missing: rank", waited_s, c->world, present);
	for (i = 1; i < c->world && used < CONTROL_TEXT - 32; i++) {
		if (c->peers[i].fd >= 0)
			continue;
		used +=
		    (size_t)snprintf(why + used, CONTROL_TEXT - used, shown++ ? ", %d" : " %d", i);
		if (shown == 16) {
			snprintf(why + used, CONTROL_TEXT - used, ", …");
			break;
		}
	}
}

static void
tell_all(struct control *c, enum message_kind kind, const char *text)
{
	int i;

	for (i = 1; i < c->world; i++)
		if (c->peers[i].fd >= 0)
			wire_send(c->peers[i].fd, kind, text, strlen(text));
}

/* A connected rank that has gone again before all are there. */
static int
check_seated(struct control *c, char why[CONTROL_TEXT])
{
	int i;

	for (i = 1; i < c->world; i++) {
		if (c->peers[i].fd < 0 || wire_read(c->peers[i].fd, &c->peers[i].in) == 1)
			continue;
		snprintf(why, CONTROL_TEXT, "rank %d came and went before all were there", i);
		return -1;
	}
	return 0;
}

static int
host_ranks(struct control *c, const struct control_options *o, int listener, char why[CONTROL_TEXT])
{
	double start = wire_now_s();
	struct guest *guests = NULL, *guest;
	struct hello own;
	int present = 1, result = 0;

	fill_hello(o, &own);
	while (present < c->world && result >= 0) {
		struct pollfd wait = {.fd = listener, .events = POLLIN};

		if (wire_now_s() - start > c->timeout_s) {
			missing_text(c, present, c->timeout_s, why);
			result = -1;
			break;
		}
		if (poll(&wait, 1, 20) > 0)
			accept_guest(listener, &guests);
		for (guest = guests; guest && result >= 0; guest = guest->next) {
			result = guest->fd < 0 ? 0 : hear_guest(c, &own, guest, why);
			present += result == 1;
		}
		free_guests(&guests, false);
		if (result >= 0)
			result = check_seated(c, why);
	}
	free_guests(&guests, true);
	tell_all(c, result < 0 ? MESSAGE_CALL_OFF : MESSAGE_WELCOME, result < 0 ? why : "");
	return result < 0 ? -1 : 0;
}

static int
host(struct control *c, const struct control_options *o, char why[CONTROL_TEXT])
{
	int listener = o->listener, port = o->port, result;

	if (listener < 0)
		listener = wire_listen(&port);
	if (listener < 0) {
		snprintf(why, CONTROL_TEXT,
		    "rank 0 cannot listen on port %d: %s; --master HOST:PORT names "
		    "another",
		    o->port, strerror(errno));
		return -1;
	}
	result = host_ranks(c, o, listener, why);
	close(listener);
	return result;
}

/* The answer to our hello: 0 welcome, -1 with the reason. */
static int
await_welcome(
    struct control *c, const struct control_options *o, double deadline_s, char why[CONTROL_TEXT])
{
	struct peer *peer = &c->peers[0];
	enum message_kind kind;
	size_t length;
	char *bytes;
	/* rank 0 gives up first and says who is missing */
	int taken = wire_receive(peer->fd, &peer->in, deadline_s + 2, &kind, &bytes, &length);

	if (taken != 1) {
		snprintf(why, CONTROL_TEXT, "rank 0 went away while ranks were arriving");
		return -1;
	}
	if (kind != MESSAGE_WELCOME)
		snprintf(why, CONTROL_TEXT, "%.1500s", bytes);
	if (kind == MESSAGE_CALL_OFF && o->told)
		*o->told = true;
	free(bytes);
	return kind == MESSAGE_WELCOME ? 0 : -1;
}

/* Tries rank 0's names by turns; a name that does not answer may take a part of the time only. */
static int
connect_by_turns(const struct control_options *o, double deadline_s)
{
	const char *hosts[2] = {o->host, o->other_host ? o->other_host : o->host};
	struct timespec nap = {0, 50000000};
	double patience_s = o->other_host ? o->timeout_s / 4 : o->timeout_s;
	int fd = -1, error = 0, turn;

	for (turn = 0; fd < 0 && wire_now_s() < deadline_s; turn = !turn) {
		double left_s = deadline_s - wire_now_s();

		fd = wire_connect(hosts[turn], o->port, left_s < patience_s ? left_s : patience_s);
		error = errno;
		if (fd < 0)
			nanosleep(&nap, NULL);
	}
	errno = error;
	return fd;
}

static int
visit(struct control *c, const struct control_options *o, char why[CONTROL_TEXT])
{
	double deadline = wire_now_s() + c->timeout_s;
	struct hello hello;
	int fd = connect_by_turns(o, deadline);
	bool here, unknown = errno == ENOENT;

	fill_hello(o, &hello);
	if (fd < 0) {
		snprintf(why, CONTROL_TEXT,
		    "rank 0 is missing: %s %s%s%s port %d for %.0f s; --master names another host",
		    unknown ? "no address was found for" : "nobody answered at", o->host,
		    o->other_host ? " or " : "", o->other_host ? o->other_host : "", o->port,
		    c->timeout_s);
		return -1;
	}
	c->peers[0].fd = fd;
	wire_peer(fd, c->master, sizeof(c->master), &here);
	if (wire_send(fd, MESSAGE_HELLO, &hello, sizeof(hello)) != 0) {
		snprintf(why, CONTROL_TEXT, "rank 0 went away while ranks were arriving");
		return -1;
	}
	return await_welcome(c, o, deadline, why);
}

struct control *
control_open(const struct control_options *options, char why[CONTROL_TEXT])
{
	struct control *c = control_new(options);
	int result;

	if (!c) {
		snprintf(why, CONTROL_TEXT, "out of memory");
		return NULL;
	}
	result = options->rank == 0 ? host(c, options, why) : visit(c, options, why);
	if (result == 0 && control_start(c) != 0) {
		snprintf(why, CONTROL_TEXT, "no thread can be started: %s", strerror(errno));
		result = -1;
	}
	if (result == 0)
		return c;
	control_free(c);
	return NULL;
}
