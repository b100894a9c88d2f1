/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What does a command line ask for?
 *
 * `--micro-batch 2` sets the row named micro_batch of the first set that has
 * it, by the same readers as a key of a file. What follows an option is its
 * value unless it begins with "--"; such a value is written --name=value.
 */
#include "base/field.h"

#include <string.h>

#include "base/arena.h"
#include "base/str.h"

struct parser {
	const struct field_set *sets;
	struct field_context *context;
	struct arguments *arguments;
	const char **given; /* text by row over all sets, NULL: not given */
	int argc;
	char **argv;
	int at;
};

/* A row that was found, and the number that it has over all sets. */
struct found {
	const struct field *field;
	void *object;
	size_t index;
};

/* micro_batch is written micro-batch. */
static bool
is_option_name(const char *field_name, const char *option, size_t length)
{
	for (size_t i = 0; i < length; i++) {
		char wanted = field_name[i] == '_' ? '-' : field_name[i];

		if (field_name[i] == '\0' || option[i] != wanted)
			return false;
	}
	return field_name[length] == '\0';
}

static bool
find_option(const struct parser *p, const char *option, size_t length, struct found *found)
{
	size_t index = 0;

	for (const struct field_set *set = p->sets; set->fields; set++) {
		for (const struct field *field = set->fields; field->name; field++, index++) {
			if (!is_option_name(field->name, option, length))
				continue;
			*found = (struct found){field, set->object, index};
			return true;
		}
	}
	return false;
}

static size_t
count_rows(const struct field_set *sets)
{
	size_t count = 0;

	for (; sets->fields; sets++) {
		for (const struct field *field = sets->fields; field->name; field++)
			count++;
	}
	return count;
}

static const char *
option_text(struct arena *arena, const char *field_name)
{
	char *text = arena_printf(arena, "--%s", field_name);

	for (char *c = text; *c; c++) {
		if (*c == '_')
			*c = '-';
	}
	return text;
}

static int
report_unknown(const struct parser *p, const char *option)
{
	struct arena *arena = p->context->arena;
	const char **known = arena_array(arena, count_rows(p->sets) + 1, sizeof(const char *));
	const char *near;
	size_t count = 0;

	for (const struct field_set *set = p->sets; set->fields; set++) {
		for (const struct field *field = set->fields; field->name; field++)
			known[count++] = option_text(arena, field->name);
	}
	diag_error(p->context->diags, (struct loc){0}, "unknown option '%s'", option);
	near = str_nearest(option, known);
	if (near)
		diag_last_hint(p->context->diags, "did you mean '%s'?", near);
	return -1;
}

static int
set_option(struct parser *p, struct found found, const char *option, const char *text)
{
	struct loc loc = {option, 0, 0};
	struct doc *map = doc_new_map(p->context->arena, loc);
	const char *before = p->given[found.index];

	if (before && strcmp(before, text) == 0)
		return 0;
	if (before)
		return diag_error(p->context->diags, loc, "'%s' is given twice: '%s' and '%s'",
		    option, before, text);
	p->given[found.index] = text;
	return field_read(found.field, found.object,
	    doc_add_scalar(p->context->arena, map, found.field->name, text, loc), p->context);
}

/* The value after '=' or in the next argument; NULL after an error. */
static const char *
take_value(struct parser *p, const struct field *field, const char *option, const char *equals)
{
	const char *arg = field->arg ? field->arg : "VALUE";

	if (equals)
		return equals + 1;
	if (p->at + 1 < p->argc && strncmp(p->argv[p->at + 1], "--", 2) != 0)
		return p->argv[++p->at];
	diag_error(p->context->diags, (struct loc){option, 0, 0}, "'%s' needs a value", option);
	diag_last_hint(p->context->diags, "write %s %s", option, arg);
	return NULL;
}

static int
parse_option(struct parser *p)
{
	const char *word = p->argv[p->at];
	const char *equals = strchr(word, '=');
	size_t length = equals ? (size_t)(equals - word) : strlen(word);
	const char *option = arena_strndup(p->context->arena, word, length);
	bool negated = false;
	struct found found;
	const char *value;

	if (!find_option(p, option + 2, length - 2, &found)) {
		negated = strncmp(option, "--no-", 5) == 0 &&
			  find_option(p, option + 5, length - 5, &found) &&
			  found.field->kind == FIELD_FLAG;
		if (!negated)
			return report_unknown(p, option);
	}
	if (found.field->kind != FIELD_FLAG) {
		value = take_value(p, found.field, option, equals);
		return value ? set_option(p, found, option, value) : -1;
	}
	if (equals)
		return diag_error(p->context->diags, (struct loc){option, 0, 0},
		    "'%s' takes no value, found '%s'", option, equals + 1);
	return set_option(p, found, option, negated ? "false" : "true");
}

static int
parse_argument(struct parser *p, bool options_ended)
{
	const char *word = p->argv[p->at];

	if (options_ended || word[0] != '-' || word[1] == '\0') {
		p->arguments->positional[p->arguments->count++] = word;
		return 0;
	}
	if (word[1] != '-')
		return report_unknown(p, word);
	return parse_option(p);
}

int
options_parse(const struct field_set *sets, int argc, char **argv, struct arguments *arguments,
    struct field_context *context)
{
	struct parser p = {sets, context, arguments, NULL, argc, argv, 0};
	bool options_ended = false;
	int status = 0;

	p.given = arena_array(context->arena, count_rows(sets), sizeof(const char *));
	arguments->positional = arena_array(context->arena, (size_t)argc + 1, sizeof(const char *));
	arguments->count = 0;
	for (; p.at < argc; p.at++) {
		if (!options_ended && strcmp(argv[p.at], "--") == 0)
			options_ended = true;
		else if (parse_argument(&p, options_ended) != 0)
			status = -1;
	}
	return status;
}
