/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which training runs were published, and what was measured?
 *
 * A reader of runs.csv: fields are separated by commas, may stand in double
 * quotes, and a quote inside quotes is doubled. One line a row.
 */
#include "runs.h"

#include <string.h>

#include "base/arena.h"
#include "base/units.h"

struct column {
	const char *name;
	size_t offset;
	bool is_number;
};

/* clang-format off */
#define TEXT(name) { #name, offsetof(struct run, name), false }
#define NUMBER(name) { #name, offsetof(struct run, name), true }
/* clang-format on */
static const struct column columns[] = {TEXT(id), TEXT(set), TEXT(source), TEXT(model),
    TEXT(overrides), TEXT(gpu), TEXT(cluster), TEXT(gpus), TEXT(seq), TEXT(gbs), TEXT(mbs),
    TEXT(tp), TEXT(pp), TEXT(vpp), TEXT(cp), TEXT(ep), TEXT(etp), TEXT(zero), TEXT(precision),
    TEXT(recompute), TEXT(dispatcher), TEXT(capacity), TEXT(loss), TEXT(grad_type),
    TEXT(moment_type), TEXT(cuda_graphs), TEXT(overlap), TEXT(options), NUMBER(step_s),
    NUMBER(tokens_per_s_per_gpu), NUMBER(tflops), TEXT(flops), NUMBER(mem_gib), TEXT(mem_kind),
    NUMBER(oom), NUMBER(sim_step_s), NUMBER(sim_mem_gib), TEXT(class), TEXT(complete),
    TEXT(unstated), TEXT(aside), TEXT(group), TEXT(note)};
enum { COLUMNS = sizeof(columns) / sizeof(*columns) };

/* The field at *at, unquoted in place; *at moves behind its separator, which is returned. */
static char
read_field(char **at, char **field)
{
	char *from = *at, *to = *at, end;
	bool quoted = *from == '"';

	*field = to;
	if (quoted)
		from++;
	for (; *from && *from != '\n' && (quoted || *from != ','); from++) {
		if (quoted && *from == '"' && from[1] == '"')
			*to++ = *from++;
		else if (quoted && *from == '"')
			quoted = false;
		else
			*to++ = *from;
	}
	end = *from;
	*at = end ? from + 1 : from;
	*to = '\0';
	return end;
}

static int
store(struct run *run, const struct column *column, const char *text, struct diags *diags)
{
	char *member = (char *)run + column->offset;
	double value = 0;

	if (!column->is_number) {
		*(const char **)(void *)member = text;
		return 0;
	}
	if (text[0] && (!units_parse_number(text, &value) || value <= 0))
		return diag_error(
		    diags, run->loc, "'%s' is not a positive number for '%s'", text, column->name);
	*(double *)(void *)member = value;
	return 0;
}

static int
read_header(char **at, struct diags *diags, struct loc loc)
{
	for (size_t i = 0; i < COLUMNS; i++) {
		char *name;
		char end = read_field(at, &name);

		if (strcmp(name, columns[i].name) != 0)
			return diag_error(diags, loc, "column %zu is '%s' instead of '%s'", i + 1,
			    name, columns[i].name);
		if ((end == '\n') != (i + 1 == COLUMNS))
			return diag_error(
			    diags, loc, "the header does not have %d columns", COLUMNS);
	}
	return 0;
}

static int
read_run(char **at, struct run *run, struct diags *diags)
{
	for (size_t i = 0; i < COLUMNS; i++) {
		char *text;
		char end = read_field(at, &text);

		if ((end != ',') != (i + 1 == COLUMNS))
			return diag_error(
			    diags, run->loc, "the row does not have %d fields", COLUMNS);
		if (store(run, &columns[i], text, diags) != 0)
			return -1;
	}
	return 0;
}

struct run *
runs_parse(struct arena *arena, struct diags *diags, const char *path, char *text, size_t *count)
{
	struct loc loc = {path, 1, 0};
	size_t lines = 0, n = 0;
	struct run *runs;

	for (const char *c = text; *c; c++)
		lines += *c == '\n';
	runs = arena_array(arena, lines + 1, sizeof(*runs));
	if (read_header(&text, diags, loc) != 0)
		return NULL;
	for (; *text; n++) {
		runs[n].loc = (struct loc){path, (int)n + 2, 0};
		if (read_run(&text, &runs[n], diags) != 0)
			return NULL;
	}
	*count = n;
	return runs;
}

const char *
next_item(struct arena *arena, const char **list)
{
	size_t length;
	const char *item;

	*list += strspn(*list, " ");
	length = strcspn(*list, " ");
	if (length == 0)
		return NULL;
	item = arena_strndup(arena, *list, length);
	*list += length;
	return item;
}
