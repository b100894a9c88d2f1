/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which hosts with how many slots does a hostfile name? "work1 slots=8", comments with '#'.
 * DeepSpeed refuses bad lines, hosts that come twice and files without hosts
 * (deepspeed/launcher/runner.py); Open MPI's "max_slots=" may follow.
 */
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/units.h"
#include "check/import_private.h"

enum { MAX_HOSTS = 1 << 16, MAX_SLOTS = 1 << 16, MAX_MISTAKES = 20 };

static const char blanks[] = " \t\r";

/* "slots=8" and blanks or max_slots behind it. */
static bool
read_slots(struct arena *arena, const char *text, const char *end, int64_t *slots)
{
	size_t length;

	text += strspn(text, blanks);
	if (strncmp(text, "slots", 5) != 0)
		return false;
	text += 5 + strspn(text + 5, " \t");
	if (*text != '=')
		return false;
	text += 1 + strspn(text + 1, " \t");
	length = strspn(text, "0123456789");
	if (length == 0 || !units_parse_integer(arena_strndup(arena, text, length), slots))
		return false;
	text += length;
	text += strspn(text, blanks);
	return (text >= end || strncmp(text, "max", 3) == 0 || *text == '#') && *slots >= 0 &&
	       *slots <= MAX_SLOTS;
}

static int
compare_hosts(const void *a, const void *b)
{
	const struct doc *const *x = a, *const *y = b;
	int order = strcmp((*x)->key, (*y)->key);

	return order != 0 ? order
			  : ((*x)->loc.line > (*y)->loc.line) - ((*x)->loc.line < (*y)->loc.line);
}

static int
check_twice(struct import *in, const struct doc *hosts)
{
	const struct doc **sorted =
	    arena_array(in->arena, hosts->count, sizeof(const struct doc *));
	size_t n = 0;
	int mistakes = 0;

	for (const struct doc *host = hosts->first; host; host = host->next)
		sorted[n++] = host;
	qsort(sorted, n, sizeof(const struct doc *), compare_hosts);
	for (size_t i = 1; i < n && mistakes < MAX_MISTAKES; i++)
		if (strcmp(sorted[i - 1]->key, sorted[i]->key) == 0) {
			diag_error(in->diags, sorted[i]->loc, "host '%s' is already in line %d",
			    sorted[i]->key, sorted[i - 1]->loc.line);
			mistakes++;
		}
	return mistakes > 0 ? -1 : 0;
}

static bool
same_hosts(const struct doc *a, const struct doc *b)
{
	const struct doc *x = a->first, *y = b->first;

	while (x && y && strcmp(x->key, y->key) == 0 && x->integer == y->integer) {
		x = x->next;
		y = y->next;
	}
	return !x && !y;
}

static int
keep_hosts(struct import *in, const struct doc *hosts)
{
	const struct doc *before = in->config->launch.hostfile;

	if (hosts->count == 0)
		return diag_error(in->diags, hosts->loc, "'%s' names no host", in->name);
	if (check_twice(in, hosts) != 0)
		return -1;
	if (before && !same_hosts(before, hosts))
		return diag_error(in->diags, hosts->loc,
		    "this hostfile names other hosts or slots than %s", before->loc.file);
	if (!before)
		in->config->launch.hostfile = hosts;
	return 0;
}

int
import_hostfile(struct import *in, const struct import_text *text)
{
	struct doc *hosts = import_container(in->arena, NULL, DOC_MAP, import_text_loc(text, 0));
	struct doc *last = NULL;
	int mistakes = 0;

	for (size_t i = 0; i < text->n_lines && mistakes < MAX_MISTAKES; i++) {
		size_t at = text->lines[i] + strspn(text->bytes + text->lines[i], blanks);
		const char *line = text->bytes + at;
		size_t length = strcspn(line, "\n"), name = strcspn(line, " \t\r\n");
		struct loc loc = import_text_loc(text, at);
		int64_t slots;

		if (length == 0 || *line == '#')
			continue;
		if (hosts->count == MAX_HOSTS)
			return diag_error(
			    in->diags, loc, "more than %d hosts, the limit", MAX_HOSTS);
		if (!read_slots(in->arena, line + name, line + length, &slots)) {
			diag_error(in->diags, loc, "'%s' is no line of a hostfile",
			    import_shown(in->arena, line, length));
			diag_last_hint(in->diags, "write 'host slots=N', N processes on that host");
			mistakes++;
			continue;
		}
		last = import_append(hosts, last,
		    import_scalar(in->arena, arena_strndup(in->arena, line, name),
			arena_printf(in->arena, "%lld", (long long)slots), loc));
	}
	return mistakes > 0 ? -1 : keep_hosts(in, hosts);
}

/* "node1:8,node2:8" of mpirun -H; a host without a number has as many as Open MPI finds there. */
int
import_host_list(struct import *in, const char *text, struct loc loc)
{
	struct doc *hosts = import_container(in->arena, NULL, DOC_MAP, loc), *last = NULL;

	while (*text && hosts->count < MAX_HOSTS) {
		size_t length = strcspn(text, ","), name = strcspn(text, ":,");
		size_t digits = strspn(text + name + (name < length), "0123456789");
		int64_t slots;

		if (name == length || name + 1 + digits != length || digits == 0 ||
		    !units_parse_integer(
			arena_strndup(in->arena, text + name + 1, digits), &slots) ||
		    slots > MAX_SLOTS)
			return 0;
		last = import_append(hosts, last,
		    import_scalar(in->arena, arena_strndup(in->arena, text, name),
			arena_printf(in->arena, "%lld", (long long)slots), loc));
		text += length + (text[length] == ',');
	}
	return hosts->count > 0 ? keep_hosts(in, hosts) : 0;
}
