/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What can a condition ask of the hostfile and of deepspeed's filters? One row a function. */
#include <string.h>

#include "base/arena.h"
#include "check/context.h"
#include "check/hosts.h"

enum { MOST = 256 };

static const struct doc *
hosts_of(const struct expr_scope *scope)
{
	const struct facts *facts = scope->context;

	return facts->check->config->launch.hostfile;
}

/* A host of a filter, the hostfile's entry for it, and one of the slots that the filter names. */
struct named {
	struct host_part part;
	const struct doc *host; /* NULL: the hostfile does not have it */
	int64_t slot;		/* -1: the filter names the host alone */
};

static const struct doc *
find_host(const struct expr_scope *scope, const struct host_part *part)
{
	const struct doc *hosts = hosts_of(scope), *host = hosts ? hosts->first : NULL;

	while (host && !host_part_is(part, host->key))
		host = host->next;
	return host;
}

/* What `pick` makes of every host and slot that a filter names, a list; undecided: no filter. */
static struct value
pick_named(const struct expr_scope *scope, const struct value *filter,
    struct value (*pick)(const struct expr_scope *scope, const struct named *named))
{
	struct value *items = arena_array(scope->arena, MOST, sizeof(*items));
	const char *text = filter->text;
	struct named named;
	size_t n = 0;

	if (filter->kind != VALUE_TEXT)
		return value_undecided;
	while (host_part_next(&text, &named.part)) {
		named.host = find_host(scope, &named.part);
		named.slot = -1;
		do {
			struct value item = pick(scope, &named);

			if (item.kind > VALUE_UNSET && n < MOST)
				items[n++] = item;
		} while (named.part.slots && host_slot_next(&named.part.slots, &named.slot));
	}
	return value_list(items, n);
}

static struct value
asked(const struct expr_scope *scope, const struct named *named)
{
	(void)scope;
	return named->slot >= 0 ? value_int(named->slot) : value_unset;
}

static bool
is_missing(const struct named *named)
{
	return named->host && named->slot >= named->host->integer;
}

static struct value
missing(const struct expr_scope *scope, const struct named *named)
{
	(void)scope;
	return is_missing(named) ? value_int(named->slot) : value_unset;
}

static struct value
slots_of_short(const struct expr_scope *scope, const struct named *named)
{
	(void)scope;
	return is_missing(named) ? value_int(named->host->integer) : value_unset;
}

static struct value
unknown_host(const struct expr_scope *scope, const struct named *named)
{
	if (named->host || named->slot >= 0)
		return value_unset;
	return value_text(arena_strndup(scope->arena, named->part.host, named->part.length));
}

/* asked_slots('work1:2,3'): slots that a filter names. */
static struct value
call_asked_slots(const struct expr_scope *scope, const struct value *arguments, size_t count)
{
	(void)count;
	return pick_named(scope, arguments, asked);
}

/* missing_slots('work1:2,3'): those of them that the hostfile does not give their host. */
static struct value
call_missing_slots(const struct expr_scope *scope, const struct value *arguments, size_t count)
{
	(void)count;
	return hosts_of(scope) ? pick_named(scope, arguments, missing) : value_undecided;
}

/* short_host('work1:2,3'): slots of the first host that has fewer than the filter names. */
static struct value
call_short_host(const struct expr_scope *scope, const struct value *arguments, size_t count)
{
	struct value found = pick_named(scope, arguments, slots_of_short);

	(void)count;
	return found.count > 0 ? found.items[0] : value_undecided;
}

/* missing_hosts('work9'): hosts of a filter that the hostfile does not have. */
static struct value
call_missing_hosts(const struct expr_scope *scope, const struct value *arguments, size_t count)
{
	(void)count;
	return hosts_of(scope) ? pick_named(scope, arguments, unknown_host) : value_undecided;
}

static struct value
started(const struct expr_scope *scope, bool filtered)
{
	const struct facts *facts = scope->context;
	const struct doc *hosts = hosts_of(scope);
	struct host_walk walk = {.config = facts->check->config};
	struct value *items;
	size_t n = 0;

	if (!hosts)
		return value_undecided;
	items = arena_array(scope->arena, hosts->count, sizeof(*items));
	while (host_walk_next(&walk))
		items[n++] = value_int(filtered ? walk.slots : walk.host->integer);
	return value_list(items, n);
}

/* slots_left(): slots that filters leave of each host that starts ranks. */
static struct value
call_slots_left(const struct expr_scope *scope, const struct value *arguments, size_t count)
{
	(void)arguments, (void)count;
	return started(scope, true);
}

/* slots_used(): slots that the hostfile gives each host that starts ranks. */
static struct value
call_slots_used(const struct expr_scope *scope, const struct value *arguments, size_t count)
{
	(void)arguments, (void)count;
	return started(scope, false);
}

const struct expr_function host_functions[] = {
    {"asked_slots", 1, 1, false, call_asked_slots},
    {"missing_slots", 1, 1, false, call_missing_slots},
    {"missing_hosts", 1, 1, false, call_missing_hosts},
    {"short_host", 1, 1, false, call_short_host},
    {"slots_left", 0, 0, false, call_slots_left},
    {"slots_used", 0, 0, false, call_slots_used},
    {.name = NULL},
};
