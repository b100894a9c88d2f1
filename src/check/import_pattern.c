/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which layers does "([0]*3+[1]*58)" name? Megatron evaluates such arguments as Python; here
 * lists of integers, +, * and parentheses are all there is.
 */
#include <string.h>

#include "base/arena.h"
#include "check/import_private.h"

enum { MAX_ITEMS = MODEL_MAX_LAYERS, MAX_DEPTH = 16 };

struct items {
	int count;
	int64_t values[MAX_ITEMS];
};

struct pattern {
	struct arena *arena;
	const char *at;
	int depth;
	bool bad;
};

static struct items *sum(struct pattern *p);

static bool
take(struct pattern *p, char c)
{
	p->at += strspn(p->at, " ");
	if (*p->at != c)
		return false;
	p->at++;
	return true;
}

static int64_t
number(struct pattern *p)
{
	int64_t value = 0;

	p->at += strspn(p->at, " ");
	if (*p->at < '0' || *p->at > '9')
		p->bad = true;
	for (; *p->at >= '0' && *p->at <= '9'; p->at++)
		if (value <= MAX_ITEMS)
			value = value * 10 + (*p->at - '0');
	return value;
}

static void
add(struct pattern *p, struct items *items, int64_t value)
{
	if (items->count == MAX_ITEMS)
		p->bad = true;
	else
		items->values[items->count++] = value;
}

static struct items *
atom(struct pattern *p)
{
	struct items *items;

	if (++p->depth > MAX_DEPTH)
		p->bad = true;
	if (!p->bad && take(p, '(')) {
		items = sum(p);
		p->bad = p->bad || !take(p, ')');
		p->depth--;
		return items;
	}
	items = arena_alloc(p->arena, sizeof(*items));
	if (!take(p, '['))
		p->bad = true;
	while (!p->bad && !take(p, ']')) {
		add(p, items, number(p));
		if (!take(p, ',') && *p->at != ']')
			p->bad = true;
	}
	p->depth--;
	return items;
}

static struct items *
product(struct pattern *p)
{
	struct items *items = atom(p);

	while (!p->bad && take(p, '*')) {
		int64_t times = number(p);
		int count = items->count;

		if (times * count > MAX_ITEMS)
			p->bad = true;
		else if (times == 0)
			items->count = 0;
		for (int64_t i = 1; i < times && !p->bad; i++)
			for (int k = 0; k < count; k++)
				add(p, items, items->values[k]);
	}
	return items;
}

static struct items *
sum(struct pattern *p)
{
	struct items *items = product(p), *more;

	while (!p->bad && take(p, '+')) {
		more = product(p);
		for (int k = 0; k < more->count; k++)
			add(p, items, more->values[k]);
	}
	return items;
}

struct doc *
import_pattern(struct arena *arena, const char *text, struct loc loc)
{
	struct pattern p = {.arena = arena, .at = text};
	struct items *items = sum(&p);
	struct doc *list = import_container(arena, NULL, DOC_LIST, loc), *last = NULL;

	if (p.bad || *(p.at + strspn(p.at, " ")) != '\0' || items->count == 0)
		return NULL;
	for (int i = 0; i < items->count; i++)
		last = import_append(list, last,
		    import_scalar(arena, NULL,
			arena_printf(arena, "%lld", (long long)items->values[i]), loc));
	return list;
}
