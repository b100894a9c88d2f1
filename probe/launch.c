/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How does the probe run alone: who starts its ranks, and who waits for them? */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "probe/launch.h"
#include "probe/wire.h"

enum { EXIT_ENVIRONMENT = 3 };

static int
status_of(int status)
{
	return WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_ENVIRONMENT;
}

static int
wait_all(const pid_t *children, int n)
{
	int worst = 0, status, i;

	for (i = 0; i < n; i++) {
		pid_t got;

		while ((got = waitpid(children[i], &status, 0)) < 0 && errno == EINTR)
			;
		if (got < 0 || status_of(status) > worst)
			worst = got < 0 ? EXIT_ENVIRONMENT : status_of(status);
	}
	return worst;
}

/* Unique on this host while we live. */
static void
own_token(char text[64])
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	snprintf(
	    text, 64, "alone-%ld-%lld-%ld", (long)getpid(), (long long)now.tv_sec, now.tv_nsec);
}

int
launch_ranks(int world, rank_fn *run, void *context)
{
	struct identity identity = {
	    .launcher = NULL, .world = world, .local_world = world, .master = "127.0.0.1"};
	pid_t *children = calloc((size_t)world, sizeof(*children));
	int listener = wire_listen(&identity.port), i;
	char token[64];

	if (!children || listener < 0) {
		free(children);
		return -1;
	}
	own_token(token);
	identity.token = token;
	fflush(NULL);
	for (i = 0; i < world; i++) {
		identity.rank = identity.local_rank = i;
		children[i] = fork();
		if (children[i] == 0) {
			if (i > 0)
				close(listener);
			free(children);
			exit(run(context, &identity, i == 0 ? listener : -1));
		}
		if (children[i] < 0)
			break; /* those that are there will miss it and say so */
	}
	close(listener);
	i = wait_all(children, i);
	free(children);
	return i;
}

int
count_in_child(count_fn *count, void *context)
{
	int ends[2], value = -1;
	pid_t child;

	if (pipe(ends) != 0)
		return -1;
	fflush(NULL);
	child = fork();
	if (child == 0) {
		value = count(context);
		_exit(write(ends[1], &value, sizeof(value)) == (ssize_t)sizeof(value) ? 0 : 1);
	}
	close(ends[1]);
	if (child < 0 || read(ends[0], &value, sizeof(value)) != (ssize_t)sizeof(value))
		value = -1;
	close(ends[0]);
	if (child > 0)
		waitpid(child, NULL, 0);
	return value;
}
