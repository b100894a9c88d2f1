/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How does the probe run alone: who starts its ranks, and who waits for them?
 *
 * On GPUs it forks them itself. The cpu backend talks over MPI, whose ranks only mpirun can start.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
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

/* Rehearsals have more ranks than cores, and containers no user but root. */
static void
allow_mpirun(void)
{
	setenv("OMPI_MCA_rmaps_base_oversubscribe", "1", 0);
	setenv("PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe", 0);
	if (getuid() != 0)
		return;
	setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 0);
	setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 0);
}

extern char **environ;

/*
 * The one task of an interactive step: mpirun would have Slurm start its ranks, which waits for the
 * processors that the task itself holds. All ranks are on this host.
 */
static void
forget_slurm(void)
{
	char name[256];
	char **at = environ;

	while (at && *at) {
		size_t length = strcspn(*at, "=");

		if ((strncmp(*at, "SLURM", 5) != 0 && strncmp(*at, "PMI", 3) != 0) ||
		    length >= sizeof(name)) {
			at++;
			continue;
		}
		memcpy(name, *at, length);
		name[length] = '\0';
		if (unsetenv(name) != 0)
			return;
		at = environ;
	}
}

int
launch_mpirun(int world, char *const *argv)
{
	static const char *const mark = "MOEPLAN_PROBE_STARTED";
	char number[16], path[4096];
	ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 1);
	const char **command;
	int n;

	if (getenv(mark))
		return 1;
	for (n = 0; argv[n]; n++)
		;
	command = calloc((size_t)n + 4, sizeof(*command));
	if (!command || length <= 0 || setenv(mark, "1", 1) != 0) {
		free(command);
		return -1;
	}
	path[length] = '\0';
	snprintf(number, sizeof(number), "%d", world);
	command[0] = "mpirun";
	command[1] = "-n";
	command[2] = number;
	command[3] = path;
	memcpy(command + 4, argv + 1, (size_t)(n - 1) * sizeof(*command));
	allow_mpirun();
	forget_slurm();
	fflush(NULL);
	execvp(command[0], (char *const *)(uintptr_t)command);
	free(command);
	unsetenv(mark);
	return -1;
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
