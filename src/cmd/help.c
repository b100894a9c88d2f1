/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How is a command used? The text comes from the same rows that read the
 * options: names, arguments, choices, defaults (the values of a request that
 * nobody has touched).
 */
#include <string.h>

#include "base/units.h"
#include "cmd/cmd.h"

enum { HELP_WIDTH = 80, HELP_COLUMN = 28 };

void
help_short(struct str *out)
{
	size_t i;

	str_add(out, "usage: moeplan COMMAND [ARGUMENTS] [OPTIONS]\n\n"
		     "plans the training of mixture-of-experts models on GPU clusters\n\n");
	for (i = 0; commands[i].name; i++)
		str_addf(out, "  %-10s  %s\n", commands[i].name, commands[i].summary);
	str_add(out, "\n'moeplan COMMAND --help' explains one of them;"
		     " 'moeplan help names' lists the\nbuilt-in models and clusters\n");
}

/* Words of `text` from `column` on, later lines indented to HELP_COLUMN. */
static void
add_wrapped(struct str *out, const char *text, size_t column)
{
	while (*text) {
		size_t length = strcspn(text, " ");

		if (column > HELP_COLUMN && column + 1 + length > HELP_WIDTH) {
			str_addc(out, '\n');
			str_pad(out, ' ', HELP_COLUMN);
			column = HELP_COLUMN;
		} else if (column > HELP_COLUMN) {
			str_addc(out, ' ');
			column++;
		}
		str_addn(out, text, length);
		column += length;
		text += length + (text[length] == ' ');
	}
	str_addc(out, '\n');
}

static const void *
member(const struct field_set *set, const struct field *field)
{
	return (const char *)set->object + field->offset;
}

/* "8" when the untouched object holds a value worth telling, else NULL. */
static const char *
default_text(struct arena *arena, const struct field_set *set, const struct field *field)
{
	switch (field->kind) {
	case FIELD_INT: {
		int64_t value = *(const int64_t *)member(set, field);

		return value > 0 ? units_grouped(arena, value) : NULL;
	}
	case FIELD_CHOICE: {
		int value = *(const int *)member(set, field);

		return value >= 0 ? field->choices[value] : NULL;
	}
	case FIELD_TEXT:
		return *(const char *const *)member(set, field);
	case FIELD_FLAG:
	case FIELD_NUMBER:
	case FIELD_BYTES:
	case FIELD_SECONDS:
	case FIELD_CUSTOM:
		break;
	}
	return NULL;
}

const char *
option_name(struct arena *arena, const struct field *field)
{
	char *name = arena_printf(arena, "--%s", field->name);
	char *c;

	for (c = name; *c; c++)
		if (*c == '_')
			*c = '-';
	return name;
}

static void
add_option(struct str *out, const struct field_set *set, const struct field *field)
{
	struct str help = str_new(out->arena);
	const char *standard = default_text(out->arena, set, field);
	const char *name = option_name(out->arena, field);
	size_t column;

	str_add(&help, field->help);
	if (standard && !strchr(field->help, '(')) /* rows may word their default themselves */
		str_addf(&help, " (%s)", standard);
	column = 2 + strlen(name) + (field->arg ? 1 + strlen(field->arg) : 0);
	str_addf(out, "  %s%s%s", name, field->arg ? " " : "", field->arg ? field->arg : "");
	if (column + 2 > HELP_COLUMN) {
		str_addc(out, '\n');
		column = 0;
	}
	str_pad(out, ' ', HELP_COLUMN - column);
	add_wrapped(out, help.text, HELP_COLUMN);
}

void
help_command(struct request *request, const struct command *command)
{
	struct field_set sets[MAX_SETS];
	struct str *out = &request->out;
	const struct field *field;
	size_t i;

	str_addf(out, "usage: moeplan %s%s%s [OPTIONS]\n\n%s\n", command->name,
	    command->arguments[0] ? " " : "", command->arguments, command->about);
	command->sets(request, sets);
	for (i = 0; sets[i].fields; i++) {
		str_addf(out, "%s%s\n", i > 0 ? "\n" : "", sets[i].title);
		for (field = sets[i].fields; field->name; field++)
			add_option(out, &sets[i], field);
	}
	str_add(out, "\nExamples\n");
	for (i = 0; command->examples[i]; i++)
		str_addf(out, "  %s\n", command->examples[i]);
	str_add(out, "\nExit status: 0 yes or done, 1 the answer is no, 2 usage or unreadable\n"
		     "input, 3 the environment failed, 70 a bug in moeplan.\n");
}
