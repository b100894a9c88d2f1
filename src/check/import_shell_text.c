/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How is text built of which every byte knows where it was written? */
#include <string.h>

#include "base/arena.h"
#include "base/str.h"
#include "check/import_shell_private.h"

bool
shell_spend(struct shell *shell, size_t work)
{
	if (shell->failed)
		return false;
	if (work > SHELL_MAX_WORK)
		work = SHELL_MAX_WORK;
	shell->work -= (long)work;
	if (shell->work >= 0)
		return true;
	shell->failed = true;
	diag_error(shell->diags, (struct loc){shell->source->name, 1, 1},
	    "'%s' expands to more than anybody would run, reading it was given up",
	    shell->source->name);
	return false;
}

int
shell_fail(struct shell *shell, uint32_t origin, const char *message)
{
	if (!shell->failed)
		diag_error(shell->diags, import_text_loc(shell->source, origin), "%s", message);
	shell->failed = true;
	return -1;
}

static void
reserve(struct shell *shell, struct shell_text *text, size_t more)
{
	size_t capacity = text->capacity, used = text->length;

	if (text->bytes && used + more < capacity)
		return;
	capacity = (capacity > used + more ? capacity : used + more) * 2 + 16;
	text->bytes = arena_grow(shell->arena, text->bytes ? text->bytes : "", used + 1, capacity);
	text->origin = arena_grow(shell->arena, text->origin ? (void *)text->origin : "",
	    used * sizeof(*text->origin), capacity * sizeof(*text->origin));
	text->capacity = capacity;
}

void
shell_put(struct shell *shell, struct shell_text *text, char c, uint32_t origin)
{
	if (!shell_spend(shell, 1))
		return;
	reserve(shell, text, 1);
	text->bytes[text->length] = c;
	text->origin[text->length++] = origin;
	text->bytes[text->length] = '\0';
}

void
shell_put_text(struct shell *shell, struct shell_text *text, const struct shell_text *more)
{
	if (!shell_spend(shell, more->length))
		return;
	reserve(shell, text, more->length);
	if (more->length > 0) {
		memcpy(text->bytes + text->length, more->bytes, more->length);
		memcpy(text->origin + text->length, more->origin,
		    more->length * sizeof(*more->origin));
	}
	text->length += more->length;
	text->bytes[text->length] = '\0';
}

void
shell_put_string(struct shell *shell, struct shell_text *text, const char *more, uint32_t origin)
{
	reserve(shell, text, 0);
	for (; *more; more++)
		shell_put(shell, text, *more, origin);
}

static bool
is_mark(char c)
{
	return c >= SHELL_VALUE && c <= SHELL_UNSET;
}

void
shell_put_mark(struct shell *shell, struct shell_text *text, char kind, const char *raw,
    size_t length, uint32_t origin)
{
	shell_put(shell, text, kind, origin);
	for (size_t i = 0; i < length; i++)
		if (!is_mark(raw[i]))
			shell_put(shell, text, raw[i], origin);
	shell_put(shell, text, SHELL_END, origin);
}

void
shell_push(struct shell *shell, struct shell_words *words, struct shell_text text)
{
	if (!shell_spend(shell, sizeof(text)))
		return;
	if (words->count == words->capacity) {
		size_t capacity = words->capacity * 2 + 4;
		struct shell_text *items =
		    arena_array(shell->arena, capacity, sizeof(*words->items));

		if (words->count > 0)
			memcpy(items, words->items, words->count * sizeof(*items));
		words->items = items;
		words->capacity = capacity;
	}
	reserve(shell, &text, 0);
	words->items[words->count++] = text;
}

struct shell_text
shell_join(struct shell *shell, const struct shell_words *words, size_t from)
{
	struct shell_text joined = {0};

	reserve(shell, &joined, 0);
	for (size_t i = from; i < words->count; i++) {
		if (i > from)
			shell_put(shell, &joined, ' ',
			    words->items[i].length ? words->items[i].origin[0] : 0);
		shell_put_text(shell, &joined, &words->items[i]);
	}
	return joined;
}

bool
shell_equals(const struct shell_text *text, const char *word)
{
	return strcmp(text->bytes, word) == 0;
}

char
shell_peek(const struct shell_cursor *cursor, size_t ahead)
{
	return cursor->at + ahead < cursor->text.length ? cursor->text.bytes[cursor->at + ahead]
							: '\0';
}

bool
shell_take_mark(struct shell *shell, struct shell_cursor *cursor, struct shell_text *text)
{
	char c = shell_peek(cursor, 0);

	if (c != SHELL_VALUE && c != SHELL_WORDS && c != SHELL_UNSET)
		return false;
	do {
		c = shell_peek(cursor, 0);
		if (text)
			shell_put(shell, text, c, shell_origin(cursor));
		cursor->at++;
	} while (c != SHELL_END && cursor->at < cursor->text.length);
	/* a text that was cut inside of one */
	if (c != SHELL_END && text)
		shell_put(shell, text, SHELL_END, shell_origin(cursor));
	return true;
}

uint32_t
shell_origin(const struct shell_cursor *cursor)
{
	const struct shell_text *text = &cursor->text;

	if (text->length == 0)
		return 0;
	return text->origin[cursor->at < text->length ? cursor->at : text->length - 1];
}

bool
shell_is_name(char c, bool first)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
	       (!first && c >= '0' && c <= '9');
}

size_t
shell_name_length(const struct shell_cursor *cursor)
{
	size_t length = 0;

	while (shell_is_name(shell_peek(cursor, length), length == 0))
		length++;
	return length;
}

/* Bytes up to the next blank that is not inside a mark. */
static size_t
word_length(const struct shell_text *text, size_t at)
{
	size_t start = at;
	bool marked = false;

	for (; at < text->length && (marked || !strchr(" \t\n", text->bytes[at])); at++)
		marked = text->bytes[at] != SHELL_END && (marked || is_mark(text->bytes[at]));
	return at - start;
}

struct shell_words
shell_split(struct arena *arena, const struct shell_words *value)
{
	struct shell_words words = {0};

	for (size_t i = 0; i < value->count; i++)
		words.capacity += value->items[i].length / 2 + 1;
	words.items = arena_array(arena, words.capacity, sizeof(*words.items));
	for (size_t i = 0; i < value->count; i++) {
		const struct shell_text *text = &value->items[i];

		for (size_t at = 0; at < text->length;) {
			size_t length = word_length(text, at);

			if (length > 0)
				words.items[words.count++] = (struct shell_text){
				    arena_strndup(arena, text->bytes + at, length),
				    text->origin + at, length, length};
			at += length + 1;
		}
	}
	return words;
}

bool
shell_is_marked(const struct shell_text *text)
{
	return strpbrk(text->bytes, "\x01\x03\x04") != NULL;
}

const char *
shell_plain(struct arena *arena, const struct shell_text *text)
{
	char *plain = arena_alloc(arena, text->length + 1);
	size_t n = 0;

	for (size_t i = 0; i < text->length; i++)
		if (!is_mark(text->bytes[i]))
			plain[n++] = text->bytes[i];
	return plain;
}

struct loc
shell_loc(const struct import_text *source, const struct shell_text *text, size_t at)
{
	if (text->length == 0)
		return (struct loc){source->name, 0, 0};
	return import_text_loc(source, text->origin[at < text->length ? at : text->length - 1]);
}
