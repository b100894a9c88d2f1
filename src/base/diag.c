/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What is wrong, where, and what should be changed? A list in the order in
 * which mistakes were found; nothing is printed here.
 */
#include "base/diag.h"

#include <stdarg.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/str.h"

struct diags *
diags_new(struct arena *arena)
{
	struct diags *diags = arena_alloc(arena, sizeof(*diags));

	diags->arena = arena;
	return diags;
}

static const char *formatted(struct arena *arena, const char *format, va_list arguments)
    __attribute__((format(printf, 2, 0)));

/* Control characters (C0, DEL, and C1 in UTF-8) of a file must not reach a terminal. */
static size_t
control_length(const char *text)
{
	unsigned char first = (unsigned char)text[0];
	unsigned char second = first == '\0' ? 0 : (unsigned char)text[1];

	if (first == 0xc2 && second >= 0x80 && second <= 0x9f)
		return 2;
	return first < 0x20 || first == 0x7f ? 1 : 0;
}

/* Messages quote untrusted text; a key of megabytes helps nobody. */
enum { LONGEST_MESSAGE = 2000 };

static void
cut(struct str *text)
{
	size_t length = LONGEST_MESSAGE;

	if (text->length <= length)
		return;
	while (((unsigned char)text->text[length] & 0xc0) == 0x80)
		length--;
	text->length = length;
	str_add(text, "...");
}

static const char *
formatted(struct arena *arena, const char *format, va_list arguments)
{
	struct str raw = str_new(arena);
	struct str text = str_new(arena);
	size_t taken;

	str_addv(&raw, format, arguments);
	cut(&raw);
	for (size_t i = 0; i < raw.length; i += taken) {
		taken = control_length(raw.text + i);
		for (size_t j = 0; j < taken; j++)
			str_addf(&text, "\\x%02x", (unsigned char)raw.text[i + j]);
		if (taken == 0) {
			str_addc(&text, raw.text[i]);
			taken = 1;
		}
	}
	return text.text;
}

static void
count(struct diags *diags, enum severity severity)
{
	if (severity == SEVERITY_ERROR)
		diags->errors++;
	else if (severity == SEVERITY_WARNING)
		diags->warnings++;
	else
		diags->notes++;
}

static struct diag *
append(struct diags *diags, struct loc loc, const char *rule, enum severity severity,
    const char *message)
{
	struct diag *diag = arena_alloc(diags->arena, sizeof(*diag));

	diag->severity = severity;
	diag->rule = rule;
	diag->loc = loc;
	diag->message = message;
	if (diags->last)
		diags->last->next = diag;
	else
		diags->first = diag;
	diags->last = diag;
	count(diags, severity);
	return diag;
}

struct diag *
diag_add(struct diags *diags, struct loc loc, const char *rule, enum severity severity,
    const char *format, ...)
{
	const char *message;
	va_list arguments;

	va_start(arguments, format);
	message = formatted(diags->arena, format, arguments);
	va_end(arguments);
	return append(diags, loc, rule, severity, message);
}

int
diag_error(struct diags *diags, struct loc loc, const char *format, ...)
{
	const char *message;
	va_list arguments;

	va_start(arguments, format);
	message = formatted(diags->arena, format, arguments);
	va_end(arguments);
	append(diags, loc, NULL, SEVERITY_ERROR, message);
	return -1;
}

void
diag_hint(struct diags *diags, struct diag *diag, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	diag->hint = formatted(diags->arena, format, arguments);
	va_end(arguments);
}

void
diag_last_hint(struct diags *diags, const char *format, ...)
{
	va_list arguments;

	if (!diags->last)
		return;
	va_start(arguments, format);
	diags->last->hint = formatted(diags->arena, format, arguments);
	va_end(arguments);
}

void
diag_number(struct diags *diags, struct diag *diag, const char *name, double value)
{
	struct diag_number **end = &diag->numbers;
	struct diag_number *number = arena_alloc(diags->arena, sizeof(*number));

	number->name = name;
	number->value = value;
	while (*end)
		end = &(*end)->next;
	*end = number;
}

const char *
severity_name(enum severity severity)
{
	static const char *const names[] = {"note", "warning", "error"};

	return names[severity];
}
