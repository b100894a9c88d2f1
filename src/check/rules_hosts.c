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

static const struct doc *
find_host(const struct expr_scope *scope, const struct host_part *part)
{
	const struct doc *hosts = hosts_of(scope), *host = hosts ? hosts->first : NULL;

	while (host && !host_part_is(part, host->key))
		host = host->next;
	return host;
}

/* asked_slots('work1:2,3'): slots that a filter names. */
static struct value
call_asked_slots(const struct expr_scope *scope, const struct value *arguments, size_t count)
{
	struct value *items = arena_array(scope->arena, MOST, sizeof(*items));
	const char *filter = arguments[0].text;
	struct host_part part;
	size_t n = 0;
	int64_t slot;

	(void)count;
	if (arguments[0].kind != VALUE_TEXT)
		return value_undecided;
	while (host_part_next(&filter, &part))
		while (part.slots && n < MOST && host_slot_next(&part.slots, &slot))
			items[n++] = value_int(slot);
	return value_list(items, n);
}

/* missing_slots('work1:2,3'): those of them that the hostfile does not give their host. */
static struct value
call_missing_slots(const struct expr_scope *scope, const struct value *arguments, size_t count)
{
	struct value *items = arena_array(scope->arena, MOST, sizeof(*items));
	const char *filter = arguments[0].text;
	struct host_part part;
	size_t n = 0;
	int64_t slot;

	(void)count;
	if (arguments[0].kind != VALUE_TEXT || !hosts_of(scope))
		return value_undecided;
	while (host_part_next(&filter, &part)) {
		const struct doc *host = find_host(scope, &part);

		while (host && part.slots && n < MOST && host_slot_next(&part.slots, &slot))
			if (slot >= host->integer)
				items[n++] = value_int(slot);
	}
	return value_list(items, n);
}

/* short_host('work1:2,3'): slots of the first host that has fewer than the filter names. */
static struct value
call_short_host(const struct expr_scope *scope, const struct value *arguments, size_t count)
{
	const char *filter = arguments[0].text;
	struct host_part part;
	int64_t slot;

	(void)count;
	if (arguments[0].kind != VALUE_TEXT)
		return value_undecided;
	while (host_part_next(&filter, &part)) {
		const struct doc *host = find_host(scope, &part);

		while (host && part.slots && host_slot_next(&part.slots, &slot))
			if (slot >= host->integer)
				return value_int(host->integer);
	}
	return value_undecided;
}

/* missing_hosts('work9'): hosts of a filter that the hostfile does not have. */
static struct value
call_missing_hosts(const struct expr_scope *scope, const struct value *arguments, size_t count)
{
	struct value *items = arena_array(scope->arena, MOST, sizeof(*items));
	const char *filter = arguments[0].text;
	struct host_part part;
	size_t n = 0;

	(void)count;
	if (arguments[0].kind != VALUE_TEXT || !hosts_of(scope))
		return value_undecided;
	while (n < MOST && host_part_next(&filter, &part))
		if (!find_host(scope, &part))
			items[n++] =
			    value_text(arena_strndup(scope->arena, part.host, part.length));
	return value_list(items, n);
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
