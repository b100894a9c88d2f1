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

int64_t
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

int64_t
hosts_ranks(const struct config *config, int64_t *nodes, int64_t *each)
{
	const struct doc *host = config->launch.hostfile ? config->launch.hostfile->first : NULL;
	int64_t most = number(config, "num_nodes"), count = 0, first = 0, ranks = 0;
	bool even = true;

	for (; host; host = host->next) {
		int64_t slots = host->is_integer ? host_slots(config, host) : 0;

		if (slots <= 0 || slots > MAX_RANKS || (most > 0 && count == most))
			continue;
		first = first ? first : slots;
		even = even && slots == first;
		count++;
		if (ranks <= MAX_RANKS)
			ranks += slots;
	}
	if (nodes)
		*nodes = count;
	if (each)
		*each = even ? first : 0;
	return ranks;
}
