/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Reads the published runs and replays each of them once. cross.csv holds their
 * steps under rates fitted without them (fit --cross), and the shipped ones of
 * the day it was written, so that one sees when it has grown old.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/doc.h"
#include "bench.h"

static void
cross_line(struct bench *b, const char *line)
{
	char id[32];
	double shipped_s, cross_s;

	if (sscanf(line, "%31[^,],%lf,%lf", id, &shipped_s, &cross_s) != 3)
		return;
	for (size_t i = 0; i < b->count; i++) {
		struct rerun *r = &b->reruns[i];

		if (r->outcome != OUTCOME_PREDICTED || strcmp(r->run->id, id) != 0)
			continue;
		r->cross_step_s = cross_s;
		errors_add(b->arena, &b->cross_drift, fabs(r->estimate.step_s / shipped_s - 1));
	}
}

/* Absent when it is about to be written. */
static void
cross_load(struct bench *b, const char *folder)
{
	const char *path = arena_printf(b->arena, "%s/cross.csv", folder);
	struct diags *diags = diags_new(b->arena);
	size_t length;
	const char *line = doc_read_file(b->arena, diags, path, &length);

	for (; line && *line; line += strcspn(line, "\n") + (strchr(line, '\n') != NULL))
		cross_line(b, line);
}

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
	cross_load(b, folder);
	return 0;
}

bool
same_layout(const struct rerun *a, const struct rerun *b)
{
	return a->command && b->command && strcmp(a->command, b->command) == 0;
}
