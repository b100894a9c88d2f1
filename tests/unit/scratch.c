/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "scratch.h"

#include <stdlib.h>

struct arena *arena;
struct diags *diags;

static void
out_of_memory(void *context)
{
	(void)context;
	abort();
}

void
scratch_open(void)
{
	arena = arena_new(out_of_memory, NULL);
	diags = diags_new(arena);
}

void
scratch_close(void)
{
	arena_free(arena);
}
