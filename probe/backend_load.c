/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where is a backend, and does it fit this program?
 *
 * Backends are shared objects so that the program itself starts on any machine: without CUDA,
 * without MPI. Symbols are loaded globally, since MPI loads plug-ins that look for them.
 */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/str.h"
#include "probe/backend_load.h"

/* Folder of the running program, with a slash; NULL when the system does not say. */
static const char *
program_folder(struct arena *arena)
{
	char path[4096];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);

	if (n <= 0)
		return NULL;
	path[n] = '\0';
	*(strrchr(path, '/') + 1) = '\0';
	return arena_strdup(arena, path);
}

static void *
try_open(struct arena *arena, struct str *tried, const char *folder, const char *name)
{
	const char *path = arena_printf(arena, "%smoeplan-probe-%s.so", folder, name);
	void *library;

	if (access(path, R_OK) != 0) {
		str_addf(tried, "%s%s", tried->length ? ", " : "", path);
		return NULL;
	}
	library = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
	if (!library)
		str_addf(tried, "%s%s", tried->length ? ", " : "", dlerror());
	return library;
}

static void *
open_library(struct arena *arena, struct str *tried, const char *name)
{
	const char *chosen = getenv("MOEPLAN_PROBE_BACKENDS"), *own = program_folder(arena);
	void *library = NULL;

	if (chosen && chosen[0])
		return try_open(arena, tried, arena_printf(arena, "%s/", chosen), name);
	if (own)
		library = try_open(arena, tried, own, name);
	if (own && !library)
		library =
		    try_open(arena, tried, arena_printf(arena, "%s../lib/moeplan/", own), name);
	return library;
}

int
backend_load(struct arena *arena, struct diags *diags, const char *name, struct backend *backend)
{
	struct loc nowhere = {NULL, 0, 0};
	struct str tried = str_new(arena);
	void *library = open_library(arena, &tried, name), *symbol;
	probe_entry_fn *entry;

	if (!library) {
		diag_error(
		    diags, nowhere, "the '%s' backend cannot be loaded: %s", name, tried.text);
		diag_last_hint(diags,
		    "'make probe' builds the backends for which the machine has what they "
		    "need");
		return -1;
	}
	symbol = dlsym(library, PROBE_ENTRY);
	if (!symbol)
		return diag_error(diags, nowhere, "the '%s' backend has no entry", name);
	memcpy(&entry, &symbol, sizeof(entry));
	backend->ops = entry();
	backend->state = NULL;
	if (backend->ops->abi != PROBE_ABI)
		return diag_error(diags, nowhere,
		    "the '%s' backend is of another version (%d, this program %d)", name,
		    backend->ops->abi, PROBE_ABI);
	return 0;
}
