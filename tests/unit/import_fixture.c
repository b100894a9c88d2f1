/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "import_fixture.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"

struct imported
imported_new(void)
{
	struct imported imported = {.arena = arena_new(NULL, NULL)};

	imported.diags = diags_new(imported.arena);
	config_init(&imported.config);
	return imported;
}

void
imported_free(struct imported *imported)
{
	arena_free(imported->arena);
}

void
import_add_bytes(struct imported *imported, const char *name, const char *bytes, size_t length)
{
	char *copy = malloc(length ? length : 1);

	cr_assert_not_null(copy);
	memcpy(copy, bytes, length);
	imported->result =
	    config_import(&imported->config, imported->arena, imported->diags, name, copy, length);
	memset(copy, 'x', length);
	free(copy);
}

void
import_add(struct imported *imported, const char *name, const char *text)
{
	import_add_bytes(imported, name, text, strlen(text));
}

void
import_add_arguments(struct imported *imported, const char *words)
{
	enum { MOST = 64 };
	char *argv[MOST];
	int argc = 0;

	while (*words) {
		size_t length = strcspn(words, " ");

		cr_assert_lt(argc, MOST);
		argv[argc++] = arena_strndup(imported->arena, words, length);
		words += length;
		words += strspn(words, " ");
	}
	imported->result = config_import_arguments(
	    &imported->config, imported->arena, imported->diags, argc, argv);
}

struct imported
import_good(const char *name, const char *text)
{
	struct imported imported = imported_new();

	import_add(&imported, name, text);
	cr_assert_eq(imported.result, 0, "refused: %s: %s", text,
	    imported.diags->last ? imported.diags->last->message : "");
	cr_assert_eq(imported.diags->errors, 0);
	return imported;
}

static void
add_value(struct str *out, const struct doc *value)
{
	if (value->kind < DOC_LIST) {
		str_add(out, value->text);
		return;
	}
	if (value->kind == DOC_MAP) {
		str_add(out, "{}");
		return;
	}
	str_addc(out, '[');
	for (const struct doc *item = value->first; item; item = item->next) {
		add_value(out, item);
		str_add(out, item->next ? " " : "");
	}
	str_addc(out, ']');
}

const char *
import_value_of(const struct imported *imported, const char *name)
{
	const struct setting *setting = setting_find(&imported->config, name);
	struct str text = str_new(imported->arena);

	if (!setting || setting->unresolved)
		return NULL;
	add_value(&text, setting->value);
	return text.text;
}

const char *
import_unknown_of(const struct imported *imported, const char *name)
{
	const struct setting *setting = setting_find(&imported->config, name);

	return setting && setting->unresolved ? setting->value->text : NULL;
}

const char *
import_sizes(const struct imported *imported, const char *names)
{
	struct str text = str_new(imported->arena);

	while (*names) {
		size_t length = strcspn(names, " ");
		char *name = arena_strndup(imported->arena, names, length);
		const struct field *field = field_find(strategy_fields, name);

		cr_assert_not_null(field, "no such option: %s", name);
		cr_assert_eq(field->kind, FIELD_INT);
		str_addf(&text, "%s%s=%lld", text.length ? " " : "", name,
		    (long long)*(
			const int64_t *)(const void *)((const char *)&imported->config.strategy +
						       field->offset));
		names += length;
		names += strspn(names, " ");
	}
	return text.text;
}

bool
import_has_message(const struct imported *imported, enum severity severity, const char *part)
{
	for (const struct diag *d = imported->diags->first; d; d = d->next)
		if (d->severity == severity && strstr(d->message, part))
			return true;
	return false;
}

bool
import_has_unresolved(const struct imported *imported, const char *part)
{
	for (const struct unresolved *u = imported->config.unresolved; u; u = u->next)
		if (strstr(u->name, part))
			return true;
	return false;
}

void
import_expect(const struct imported *imported, const char *name, const char *expected)
{
	const char *value = import_value_of(imported, name);

	cr_assert_not_null(value, "'%s' is not there", name);
	cr_assert_str_eq(value, expected, "'%s' is '%s', not '%s'", name, value, expected);
}

void
import_expect_sizes(const struct imported *imported, const char *names, const char *expected)
{
	const char *sizes = import_sizes(imported, names);

	cr_assert_str_eq(sizes, expected, "%s, not %s", sizes, expected);
}
