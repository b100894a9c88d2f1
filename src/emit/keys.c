/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which settings does a release have, and what do they say of a plan? */
#include "emit/keys.h"

#include <string.h>

#include "base/arena.h"
#include "base/str.h"
#include "emit/emit.h"
#include "emit/values.h"

const struct key *
key_find(const struct key *table, const char *name)
{
	for (; table->name; table++)
		if (strcmp(table->name, name) == 0)
			return table;
	return NULL;
}

bool
key_in_version(const struct key *key, const char *version)
{
	if (!version)
		return !key->until;
	if (key->since && version_compare(version, key->since) < 0)
		return false;
	return !key->until || version_compare(version, key->until) < 0;
}

static const struct field *
term_field(const struct key *key)
{
	return key->term ? field_find(strategy_fields, key->term) : NULL;
}

bool
key_is_on(const struct doc *value)
{
	return value->kind != DOC_BOOL || value->boolean;
}

int
key_refuse(const struct key *key, const struct doc *value, struct field_context *context,
    const char *allowed)
{
	return diag_error(context->diags, value->loc, "'%s' is '%.60s', allowed is %s", key->name,
	    value->text ? value->text : doc_kind_name(value->kind), allowed);
}

int
key_read(const struct key *key, const struct doc *value, struct strategy *strategy,
    struct field_context *context)
{
	const struct field *field = term_field(key);

	if (key->read)
		return key->read(key, value, strategy, context);
	return field ? field_read(field, strategy, value, context) : 0;
}

int
key_counted_as(const struct key *key, const struct doc *value, struct field_context *context,
    const char *what)
{
	diag_add(context->diags, value->loc, NULL, SEVERITY_NOTE, "'%s' is '%.60s', counted as %s",
	    key->name, value->text ? value->text : doc_kind_name(value->kind), what);
	return 0;
}

const struct doc *
key_write(const struct key *key, struct arena *arena, const struct plan_view *plan)
{
	const struct field *field = term_field(key);
	const char *strategy = (const char *)&plan->strategy;

	if (key->write)
		return key->write(arena, plan);
	if (!field || field->kind != FIELD_INT)
		return NULL;
	return doc_int(arena, *(const int64_t *)(const void *)(strategy + field->offset));
}

static int
refuse_key(const struct key *key, struct diags *diags, const struct plan_view *plan)
{
	struct loc nowhere = {NULL, 0, 0};
	const char *framework = framework_names[plan->strategy.framework];

	if (key->until)
		return diag_error(diags, nowhere, "the plan needs '%s', which %s has until %s only",
		    key->name, framework, key->until);
	diag_error(diags, nowhere, "the plan needs '%s', which %s has since %s, not in %s",
	    key->name, framework, key->since, plan->strategy.framework_version);
	diag_last_hint(diags, "emit for %s or newer, or plan without it", key->since);
	return -1;
}

const struct key_value *
keys_write(
    const struct key *table, struct arena *arena, struct diags *diags, const struct plan_view *plan)
{
	const char *version = plan->strategy.framework_version;
	struct key_value *first = NULL, **last = &first;
	int result = 0;

	for (; table->name; table++) {
		const struct doc *value = key_write(table, arena, plan);
		bool there = key_in_version(table, version);

		if (value && !there && !table->optional)
			result = refuse_key(table, diags, plan);
		if (!value || !there)
			continue;
		*last = arena_alloc(arena, sizeof(**last));
		**last = (struct key_value){table, value, NULL};
		last = &(*last)->next;
	}
	return result == 0 ? first : NULL;
}
