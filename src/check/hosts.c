/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which slots do a hostfile and the filters of deepspeed's launcher leave?
 * deepspeed/launcher/runner.py: HOST[:SLOT,…][@HOST…]; a host without slots is all of it.
 */
#include "check/hosts.h"

#include <string.h>

#include "check/import_private.h"

enum { MAX_RANKS = 1 << 20 };

bool
host_part_next(const char **filter, struct host_part *part)
{
	size_t length = strcspn(*filter, "@");
	const char *colon = memchr(*filter, ':', length);

	if (length == 0)
		return false;
	*part = (struct host_part){*filter, colon ? (size_t)(colon - *filter) : length, NULL};
	if (colon)
		part->slots = colon + 1;
	*filter += length + ((*filter)[length] == '@');
	return true;
}

bool
host_slot_next(const char **slots, int64_t *slot)
{
	const char *at = *slots;

	if (*at < '0' || *at > '9')
		return false;
	for (*slot = 0; *at >= '0' && *at <= '9'; at++)
		if (*slot < MAX_RANKS)
			*slot = *slot * 10 + (*at - '0');
	*slots = at + (*at == ',');
	return true;
}

bool
host_part_is(const struct host_part *part, const char *host)
{
	return strlen(host) == part->length && strncmp(part->host, host, part->length) == 0;
}

static int64_t
number(const struct config *config, const char *name)
{
	int64_t value = import_integer(config, CONFIG_NUMBERS, name, 0);

	return value > 0 && value <= MAX_RANKS ? value : 0;
}

/* Slots of this host that a filter names: all of them for a part without slots. */
static int64_t
named(const char *filter, const struct doc *host)
{
	struct host_part part;
	int64_t count = 0, slot;

	while (host_part_next(&filter, &part)) {
		if (!host_part_is(&part, host->key))
			continue;
		if (!part.slots)
			return host->integer;
		while (host_slot_next(&part.slots, &slot))
			count++;
	}
	return count;
}

static int64_t
host_slots(const struct config *config, const struct doc *host)
{
	const char *include = import_word(config, CONFIG_NUMBERS, "include");
	const char *exclude = import_word(config, CONFIG_NUMBERS, "exclude");
	int64_t gpus = number(config, "num_gpus"), left;

	if (include)
		return named(include, host);
	if (exclude) {
		left = host->integer - named(exclude, host);
		return left > 0 ? left : 0;
	}
	return gpus > 0 && gpus < host->integer ? gpus : host->integer;
}

bool
host_walk_next(struct host_walk *walk)
{
	const struct doc *hosts = walk->config->launch.hostfile;
	int64_t most = number(walk->config, "num_nodes");

	if (most > 0 && walk->count == most)
		return false;
	walk->host = walk->host ? walk->host->next : hosts ? hosts->first : NULL;
	for (; walk->host; walk->host = walk->host->next) {
		walk->slots = walk->host->is_integer ? host_slots(walk->config, walk->host) : 0;
		if (walk->slots > 0 && walk->slots <= MAX_RANKS) {
			walk->count++;
			return true;
		}
	}
	return false;
}

int64_t
hosts_ranks(const struct config *config, int64_t *nodes, int64_t *each)
{
	struct host_walk walk = {.config = config};
	int64_t first = 0, ranks = 0;
	bool even = true;

	while (host_walk_next(&walk)) {
		first = first ? first : walk.slots;
		even = even && walk.slots == first;
		if (ranks <= MAX_RANKS)
			ranks += walk.slots;
	}
	if (nodes)
		*nodes = walk.count;
	if (each)
		*each = even ? first : 0;
	return ranks;
}
