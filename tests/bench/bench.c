/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads the published runs and replays each of them once. */
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/doc.h"
#include "bench.h"

int
bench_load(struct bench *b, const char *folder)
{
	const char *path = arena_printf(b->arena, "%s/runs.csv", folder);
	size_t length;
	char *text = doc_read_file(b->arena, b->diags, path, &length);
	struct run *runs = text ? runs_parse(b->arena, b->diags, path, text, &b->count) : NULL;

	if (!runs) {
		fprintf(stderr, "%s:%d: %s\n", path, b->diags->first->loc.line,
		    b->diags->first->message);
		return -1;
	}
	b->reruns = arena_array(b->arena, b->count, sizeof(*b->reruns));
	for (size_t i = 0; i < b->count; i++)
		rerun_run(b->arena, folder, &runs[i], &b->reruns[i]);
	return 0;
}

bool
same_layout(const struct rerun *a, const struct rerun *b)
{
	return a->command && b->command && strcmp(a->command, b->command) == 0;
}
