/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How is a native value built, and how do JSON, Python and a shell spell it? */
#include "emit/values.h"

#include <string.h>

#include "base/arena.h"
#include "base/units.h"

static struct doc *
new_value(struct arena *arena, enum doc_kind kind, const char *text)
{
	struct doc *value = arena_alloc(arena, sizeof(*value));

	value->kind = kind;
	value->text = text;
	return value;
}

const struct doc *
doc_int(struct arena *arena, int64_t integer)
{
	struct doc *value =
	    new_value(arena, DOC_NUMBER, arena_printf(arena, "%lld", (long long)integer));

	value->integer = integer;
	value->number = (double)integer;
	value->is_integer = true;
	return value;
}

const char *
number_text(struct arena *arena, double number)
{
	for (int digits = 1; digits < 17; digits++) {
		const char *text = arena_printf(arena, "%.*g", digits, number);
		double back;

		if (units_parse_number(text, &back) && back >= number && back <= number)
			return text;
	}
	return arena_printf(arena, "%.17g", number);
}

const struct doc *
doc_number(struct arena *arena, double number)
{
	struct doc *value = new_value(arena, DOC_NUMBER, number_text(arena, number));

	value->number = number;
	value->is_integer = units_parse_integer(value->text, &value->integer);
	return value;
}

const struct doc *
doc_text(struct arena *arena, const char *text)
{
	struct doc *value = new_value(arena, DOC_STRING, text);

	value->quoted = true;
	return value;
}

const struct doc *
doc_bool(struct arena *arena, bool boolean)
{
	struct doc *value = new_value(arena, DOC_BOOL, boolean ? "true" : "false");

	value->boolean = boolean;
	return value;
}

const struct doc *
flag_if(struct arena *arena, bool condition)
{
	return condition ? doc_bool(arena, true) : NULL;
}

const struct doc *
size_if(struct arena *arena, bool condition, int64_t size)
{
	return condition ? doc_int(arena, size) : NULL;
}

const struct doc *
text_if(struct arena *arena, bool condition, const char *text)
{
	return condition ? doc_text(arena, text) : NULL;
}

struct doc *
doc_list(struct arena *arena)
{
	return new_value(arena, DOC_LIST, NULL);
}

void
doc_add_item(struct arena *arena, struct doc *list, const struct doc *item)
{
	struct doc *copy = arena_alloc(arena, sizeof(*copy));
	struct doc *last = list->first;

	*copy = *item;
	copy->next = NULL;
	while (last && last->next)
		last = last->next;
	if (last)
		last->next = copy;
	else
		list->first = copy;
	list->count++;
}

/* JSON's escapes are Python's and TOML's too. */
static void
add_quoted(struct str *out, const char *text)
{
	str_addc(out, '"');
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			str_addf(out, "\\%c", *text);
		else if ((unsigned char)*text < 0x20)
			str_addf(out, "\\u%04x", (unsigned)*text);
		else
			str_addc(out, *text);
	}
	str_addc(out, '"');
}

static void
add_value(struct str *out, const struct doc *value, const char *const booleans[2])
{
	const struct doc *item;

	if (value->kind == DOC_LIST) {
		str_addc(out, '[');
		for (item = value->first; item; item = item->next) {
			add_value(out, item, booleans);
			str_add(out, item->next ? ", " : "");
		}
		str_addc(out, ']');
	} else if (value->kind == DOC_STRING) {
		add_quoted(out, value->text);
	} else if (value->kind == DOC_BOOL) {
		str_add(out, booleans[value->boolean]);
	} else {
		str_add(out, value->text);
	}
}

void
add_json(struct str *out, const struct doc *value)
{
	static const char *const booleans[] = {"false", "true"};

	add_value(out, value, booleans);
}

void
add_python(struct str *out, const struct doc *value)
{
	static const char *const booleans[] = {"False", "True"};

	add_value(out, value, booleans);
}

void
add_shell(struct str *out, const char *word)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				    "_-+=./:,@%";

	if (*word && strspn(word, plain) == strlen(word)) {
		str_add(out, word);
		return;
	}
	str_addc(out, '\'');
	for (; *word; word++)
		str_add(out, *word == '\'' ? "'\\''" : (char[]){*word, '\0'});
	str_addc(out, '\'');
}
