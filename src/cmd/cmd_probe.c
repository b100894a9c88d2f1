/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How does `moeplan probe` run the probe?
 *
 * As git runs its commands: the program moeplan-probe takes this process over, with the same
 * arguments. It stands beside this program or on the search path, and links what GPUs need.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "cmd/cmd.h"

static const char *const program = "moeplan-probe";

/* Beside the running program; NULL when the system does not say where that is. */
static char *
path_beside(struct arena *arena)
{
	char path[4096];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);

	if (n <= 0)
		return NULL;
	path[n] = '\0';
	return arena_printf(arena, "%.*s%s", (int)(strrchr(path, '/') + 1 - path), path, program);
}

enum status
cmd_probe(struct request *request)
{
	struct loc nowhere = {NULL, 0, 0};
	char **argv = arena_array(request->arena, (size_t)request->argc + 2, sizeof(*argv));
	char *path = path_beside(request->arena);
	int i;

	if (request->arguments.count == 0) {
		diag_error(request->diags, nowhere, "no plan is given");
		diag_last_hint(request->diags,
		    "'moeplan plan MODEL CLUSTER --format json --output plan.json' writes one");
		return STATUS_USAGE;
	}
	argv[0] = arena_strdup(request->arena, program);
	for (i = 0; i < request->argc; i++)
		argv[i + 1] = request->argv[i];
	if (path)
		execv(path, argv);
	execvp(program, argv);
	diag_error(request->diags, nowhere, "'%s' cannot be started: %s", program, strerror(errno));
	diag_last_hint(
	    request->diags, "'make probe' builds it; it belongs beside moeplan or on the PATH");
	return STATUS_ENVIRONMENT;
}
