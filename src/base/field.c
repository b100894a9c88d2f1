/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How does a value of a file or an option become a member of a struct, and
 * what may it be?
 *
 * One reader a kind, chosen by the row. A message names what the user wrote:
 * the key of a file, or the option with its dashes.
 */
#include "base/field.h"

#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "base/str.h"
#include "base/units.h"

/* Messages show this many characters of a value, and this many unknown keys of a map. */
enum { MAX_SHOWN = 60, MAX_UNKNOWN = 20 };

/* Options are read from a place without line whose file is the option. */
static const char *
subject(const struct field *field, const struct doc *value)
{
	bool is_option =
	    value->loc.line == 0 && value->loc.file && strncmp(value->loc.file, "--", 2) == 0;

	return is_option ? value->loc.file : field->name;
}

/* A value in a message: its text, or what it is. */
static const char *
shown(struct arena *arena, const struct doc *value)
{
	size_t length;

	if (value->kind >= DOC_LIST)
		return doc_kind_name(value->kind);
	if (value->kind != DOC_STRING && value->text[0] == '\0')
		return "empty";
	length = strlen(value->text);
	if (length > MAX_SHOWN) {
		length = MAX_SHOWN;
		while (((unsigned char)value->text[length] & 0xc0) == 0x80)
			length--;
		return arena_printf(arena, "'%.*s...'", (int)length, value->text);
	}
	return value->kind == DOC_STRING ? arena_printf(arena, "'%s'", value->text) : value->text;
}

static int
refuse(const struct field *field, const struct doc *value, struct field_context *context,
    const char *allowed)
{
	return diag_error(context->diags, value->loc, "'%s' is %s, allowed is %s",
	    subject(field, value), shown(context->arena, value), allowed);
}

static const char *
limit_text(struct arena *arena, double limit)
{
	if (limit == floor(limit) && fabs(limit) < 1e15)
		return arena_printf(arena, "%.0f", limit);
	return arena_printf(arena, "%.6g", limit);
}

static bool
has_limits(const struct field *field)
{
	return field->min != 0 || field->max != 0;
}

/* "1 to 65536", "1 or more" when the upper limit is only there to be one. */
static const char *
range_text(struct arena *arena, const struct field *field, const char *what)
{
	if (!has_limits(field))
		return what;
	if (field->max >= 0x1p62)
		return arena_printf(arena, "%s, %s or more", what, limit_text(arena, field->min));
	return arena_printf(
	    arena, "%s to %s", limit_text(arena, field->min), limit_text(arena, field->max));
}

static int
check_range(const struct field *field, double number, const struct doc *value,
    struct field_context *context, const char *what)
{
	if (!has_limits(field) || (number >= field->min && number <= field->max))
		return 0;
	return refuse(field, value, context, range_text(context->arena, field, what));
}

static int
read_flag(
    const struct field *field, void *member, const struct doc *value, struct field_context *context)
{
	if (value->kind != DOC_BOOL)
		return refuse(field, value, context, "true or false");
	*(bool *)member = value->boolean;
	return 0;
}

static int
read_int(
    const struct field *field, void *member, const struct doc *value, struct field_context *context)
{
	static const char what[] = "an integer";

	if (value->kind != DOC_NUMBER || !value->is_integer) {
		refuse(field, value, context, range_text(context->arena, field, what));
		if (value->kind == DOC_NUMBER && isfinite(value->number))
			diag_last_hint(context->diags,
			    "write an integer of at most 63 bits, without point and exponent");
		return -1;
	}
	if (check_range(field, value->number, value, context, what) != 0)
		return -1;
	*(int64_t *)member = value->integer;
	return 0;
}

static int
read_number(
    const struct field *field, void *member, const struct doc *value, struct field_context *context)
{
	static const char what[] = "a number";

	if (value->kind != DOC_NUMBER || !isfinite(value->number))
		return refuse(field, value, context, range_text(context->arena, field, what));
	if (check_range(field, value->number, value, context, what) != 0)
		return -1;
	*(double *)member = value->number;
	return 0;
}

static bool
is_scalar(const struct doc *value)
{
	return value->kind < DOC_LIST;
}

static int
read_bytes(
    const struct field *field, void *member, const struct doc *value, struct field_context *context)
{
	if (!is_scalar(value) || !units_parse_bytes(value->text, member))
		return refuse(field, value, context, "a size such as 70GiB, 80GB or 1024 (bytes)");
	return 0;
}

static int
read_seconds(
    const struct field *field, void *member, const struct doc *value, struct field_context *context)
{
	if (!is_scalar(value) || !units_parse_seconds(value->text, member))
		return refuse(
		    field, value, context, "a time such as 18.2s, 250ms, 3us, 2min or 1h");
	return 0;
}

static int
read_text(
    const struct field *field, void *member, const struct doc *value, struct field_context *context)
{
	if (!is_scalar(value))
		return refuse(field, value, context, "a string");
	*(const char **)member = value->text;
	return 0;
}

static const char *
choices_text(struct arena *arena, const char *const *choices)
{
	struct str text = str_new(arena);

	for (size_t i = 0; choices[i]; i++)
		str_addf(&text, "%s%s", i == 0 ? "" : choices[i + 1] ? ", " : " or ", choices[i]);
	return text.text;
}

static int
read_choice(
    const struct field *field, void *member, const struct doc *value, struct field_context *context)
{
	const char *near;

	for (int i = 0; is_scalar(value) && field->choices[i]; i++) {
		if (strcmp(field->choices[i], value->text) == 0) {
			*(int *)member = i;
			return 0;
		}
	}
	refuse(field, value, context, choices_text(context->arena, field->choices));
	near = is_scalar(value) ? str_nearest(value->text, field->choices) : NULL;
	if (near)
		diag_last_hint(context->diags, "did you mean '%s'?", near);
	return -1;
}

static field_read_fn *const readers[] = {
    [FIELD_FLAG] = read_flag,
    [FIELD_INT] = read_int,
    [FIELD_NUMBER] = read_number,
    [FIELD_BYTES] = read_bytes,
    [FIELD_SECONDS] = read_seconds,
    [FIELD_TEXT] = read_text,
    [FIELD_CHOICE] = read_choice,
};

int
field_read(
    const struct field *field, void *object, const struct doc *value, struct field_context *context)
{
	int status = field->kind == FIELD_CUSTOM
	    ? field->read(field, object, value, context)
	    : readers[field->kind](field, (char *)object + field->offset, value, context);

	if (status == 0 && field->said)
		*(unsigned *)(void *)((char *)object + field->said_at) |= field->said;
	return status;
}

const struct field *
field_find(const struct field *fields, const char *name)
{
	for (; fields->name; fields++) {
		if (strcmp(fields->name, name) == 0)
			return fields;
	}
	return NULL;
}

static bool
is_listed(const char *const *list, const char *name)
{
	for (; list && *list; list++) {
		if (strcmp(*list, name) == 0)
			return true;
	}
	return false;
}

/* What may stand in the map, for "did you mean". */
static const char *const *
known_keys(const struct field *fields, const char *const *skip, struct arena *arena)
{
	const char **keys;
	size_t n_fields = 0;
	size_t n_skip = 0;
	size_t count = 0;

	while (fields[n_fields].name)
		n_fields++;
	while (skip && skip[n_skip])
		n_skip++;
	keys = arena_array(arena, n_fields + n_skip + 1, sizeof(const char *));
	for (size_t i = 0; i < n_fields; i++) {
		if (!fields[i].option_only)
			keys[count++] = fields[i].name;
	}
	for (size_t i = 0; i < n_skip; i++)
		keys[count++] = skip[i];
	return keys;
}

static void
report_unknown(const struct field *field, const struct doc *member, const char *const *known,
    struct field_context *context)
{
	const char *near;

	if (field) {
		diag_error(context->diags, member->key_loc,
		    "'%s' is an option of the command line and not a key of files", member->key);
		return;
	}
	diag_error(context->diags, member->key_loc, "unknown key '%s'", member->key);
	near = str_nearest(member->key, known);
	if (near)
		diag_last_hint(context->diags, "did you mean '%s'?", near);
}

int
fields_read(const struct field *fields, void *object, const struct doc *map,
    const char *const *skip, struct field_context *context)
{
	const char *const *known = known_keys(fields, skip, context->arena);
	size_t unknown = 0;
	int status = 0;

	if (map->kind != DOC_MAP)
		return diag_error(context->diags, map->loc, "found %s, expected a map",
		    shown(context->arena, map));
	for (const struct doc *member = map->first; member; member = member->next) {
		const struct field *field = field_find(fields, member->key);

		if (!field && is_listed(skip, member->key))
			continue;
		if (field && !field->option_only) {
			if (!doc_is_null(member) && field_read(field, object, member, context) != 0)
				status = -1;
		} else if (unknown++ < MAX_UNKNOWN) {
			report_unknown(field, member, known, context);
		}
	}
	if (unknown > MAX_UNKNOWN)
		diag_error(
		    context->diags, map->loc, "%zu more unknown keys", unknown - MAX_UNKNOWN);
	return unknown > 0 ? -1 : status;
}
