/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which tables does a TOML text make, by headers and by dotted keys, and which not twice? */
#include <string.h>

#include "base/arena.h"
#include "check/import_toml_private.h"

enum { MAX_KEYS = 8192, MAX_TABLES = 2048 };

struct toml_table *
toml_add_table(struct toml *t, struct doc *node)
{
	struct toml_table *table = arena_alloc(t->arena, sizeof(*table));

	table->node = node;
	table->next = t->all;
	t->all = table;
	t->tables++;
	return table;
}

struct toml_table *
toml_table_of(const struct toml *t, const struct doc *node)
{
	struct toml_table *table = t->all;

	while (table && table->node != node)
		table = table->next;
	return table;
}

int
toml_count_key(struct toml *t)
{
	if (++t->keys > MAX_KEYS)
		return diag_error(t->diags, toml_here(t), "more than %d keys, the limit", MAX_KEYS);
	if (t->tables > MAX_TABLES)
		return diag_error(
		    t->diags, toml_here(t), "more than %d tables, the limit", MAX_TABLES);
	return 0;
}

void
toml_add_member(struct toml_table *table, struct doc *node)
{
	table->last = import_append(table->node, table->last, node);
}

struct toml_table *
toml_new_table(struct toml *t, struct toml_table *parent, const char *key, struct loc loc)
{
	struct doc *node = import_container(t->arena, key, DOC_MAP, loc);

	toml_add_member(parent, node);
	return toml_add_table(t, node);
}

struct doc *
toml_member(const struct toml_table *table, const char *key)
{
	struct doc *node = table->node->first;

	while (node && strcmp(node->key, key) != 0)
		node = node->next;
	return node;
}

int
toml_taken(struct toml *t, const struct doc *node, struct loc loc)
{
	return diag_error(
	    t->diags, loc, "key '%s' is already in line %d", node->key, node->key_loc.line);
}

/* The table under `key`, made when it is not there; the last item of an array of tables. */
struct toml_table *
toml_enter(struct toml *t, struct toml_table *parent, const char *key, struct loc loc, bool dotted)
{
	struct doc *node = toml_member(parent, key);
	struct toml_table *table;

	if (toml_count_key(t) != 0)
		return NULL;
	if (!node) {
		table = toml_new_table(t, parent, key, loc);
		table->dotted = dotted;
		return table;
	}
	if (node->kind == DOC_LIST && !dotted)
		for (node = node->first; node && node->next;)
			node = node->next;
	table = node ? toml_table_of(t, node) : NULL;
	if (table && !table->closed && (!dotted || table->dotted))
		return table;
	toml_taken(t, toml_member(parent, key), loc);
	return NULL;
}
