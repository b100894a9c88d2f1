/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which words does one word of a script become? Quotes are taken off, expansions put in
 * and, outside quotes, split at blanks. The rules are those of the POSIX shell (IEEE 1003.1,
 * XCU 2.2 and 2.6) and of bash's $'…'. IFS is taken to be blank, tab and newline.
 */
#include <string.h>

#include "base/arena.h"
#include "check/import_shell_private.h"

static const char METACHARACTERS[] = " \t\n;&|()<>";

/* "[0]*3+[1]*58" is a list of Python's for --moe-layer-freq: no file is called so. */
static bool
is_layer_list(const struct shell_text *text)
{
	return text->length > 0 && text->bytes[strspn(text->bytes, "[]()*+, 0123456789")] == '\0' &&
	       strchr(text->bytes, '[') && strchr(text->bytes, ']');
}

void
builder_end(struct shell *shell, struct word_builder *builder)
{
	struct shell_text text = builder->text;

	if (builder->have) {
		if (builder->pattern && builder->mode & WORD_PATTERN &&
		    !is_layer_list(&text)) {
			struct shell_text mark = {0};
			const char *raw = shell_plain(shell->arena, &text);

			shell_put_mark(shell, &mark, SHELL_VALUE, raw, strlen(raw),
			    text.length ? text.origin[0] : 0);
			text = mark;
		}
		shell_push(shell, builder->out, text);
	}
	builder->text = (struct shell_text){0};
	builder->have = builder->pattern = false;
}

static void
add_split(struct shell *shell, struct word_builder *builder, const struct shell_text *text)
{
	bool marked = false;

	for (size_t i = 0; i < text->length && !shell->failed; i++) {
		char c = text->bytes[i];

		if (c == SHELL_VALUE || c == SHELL_WORDS || c == SHELL_UNSET)
			marked = true;
		if (!marked && strchr(" \t\n", c)) {
			builder_end(shell, builder);
			continue;
		}
		shell_put(shell, &builder->text, c, text->origin[i]);
		builder->have = true;
		marked = marked && c != SHELL_END;
	}
}

void
builder_add(
    struct shell *shell, struct word_builder *builder, const struct shell_text *text, bool quoted)
{
	if (!quoted && builder->mode & WORD_SPLIT) {
		add_split(shell, builder, text);
		return;
	}
	shell_put_text(shell, &builder->text, text);
	builder->have = true;
}

int
shell_double_quoted(struct shell *shell, struct shell_cursor *cursor, struct word_builder *builder)
{
	uint32_t start = shell_origin(cursor);
	int result = 0;

	cursor->at++;
	builder->vanishes = false;
	while (result == 0 && shell_peek(cursor, 0) != '"') {
		char c = shell_peek(cursor, 0), next = shell_peek(cursor, 1);

		if (cursor->at >= cursor->text.length)
			return shell_fail(shell, start, "this quote is not closed");
		if (shell_take_mark(shell, cursor, &builder->text))
			continue;
		if (c == '$') {
			result = shell_dollar(shell, cursor, builder, true);
		} else if (c == '`') {
			result = shell_backquote(shell, cursor, builder, true);
		} else if (c == '\\' && next == '\n') {
			cursor->at += 2;
		} else {
			if (c == '\\' && next != '\0' && strchr("$`\"\\", next))
				cursor->at++; /* the next one as it is */
			shell_put(
			    shell, &builder->text, shell_peek(cursor, 0), shell_origin(cursor));
			cursor->at++;
		}
		if (shell->failed)
			result = -1;
	}
	cursor->at++;
	/* "" is a word, "$@" without arguments is none */
	builder->have = builder->have || !builder->vanishes || builder->text.length > 0;
	return result;
}

static int
single_quoted(struct shell *shell, struct shell_cursor *cursor, struct word_builder *builder)
{
	uint32_t start = shell_origin(cursor);

	builder->have = true;
	for (cursor->at++; shell_peek(cursor, 0) != '\'';) {
		if (cursor->at >= cursor->text.length)
			return shell_fail(shell, start, "this quote is not closed");
		if (shell_take_mark(shell, cursor, &builder->text))
			continue;
		shell_put(shell, &builder->text, shell_peek(cursor, 0), shell_origin(cursor));
		cursor->at++;
	}
	cursor->at++;
	return 0;
}

/* The character that a backslash and `c` stand for in $'…'; others stay as they are. */
static char
escaped(char c)
{
	static const char from[] = "abefnrtv\\'\"?", to[] = "\a\b\033\f\n\r\t\v\\'\"?";
	const char *found = c != '\0' ? strchr(from, c) : NULL;

	return found ? to[found - from] : c;
}

/* At the quote of $'…'. */
static int
ansi_quoted(struct shell *shell, struct shell_cursor *cursor, struct word_builder *builder)
{
	uint32_t start = shell_origin(cursor);

	builder->have = true;
	for (cursor->at++; shell_peek(cursor, 0) != '\'';) {
		char c = shell_peek(cursor, 0);

		if (cursor->at >= cursor->text.length)
			return shell_fail(shell, start, "this quote is not closed");
		if (shell_take_mark(shell, cursor, &builder->text))
			continue;
		if (c == '\\') {
			cursor->at++;
			c = escaped(shell_peek(cursor, 0));
		}
		if (c > SHELL_UNSET || c < 0)
			shell_put(shell, &builder->text, c, shell_origin(cursor));
		cursor->at++;
	}
	cursor->at++;
	return 0;
}

/* {a,b} or {1..8}: bash makes several words of it. */
static bool
begins_braces(struct shell *shell, const struct shell_cursor *cursor)
{
	bool several = false;

	for (size_t i = 1; shell_spend(shell, 1); i++) {
		char c = shell_peek(cursor, i);

		if (c == '}')
			return several;
		if (c == '\0' || strchr(" \t\n\"'$", c))
			return false;
		several = several || c == ',' || (c == '.' && shell_peek(cursor, i + 1) == '.');
	}
	return false;
}

static void
plain_byte(struct shell *shell, struct shell_cursor *cursor, struct word_builder *builder)
{
	char c = shell_peek(cursor, 0);

	if (c == '\\') {
		cursor->at++;
		if (shell_peek(cursor, 0) == '\n' || cursor->at >= cursor->text.length) {
			cursor->at++;
			return;
		}
		if (shell_take_mark(shell, cursor, &builder->text)) {
			builder->have = true;
			return;
		}
	} else if (c == '*' || c == '?' || (c == '{' && begins_braces(shell, cursor))) {
		builder->pattern = true;
	}
	shell_put(shell, &builder->text, shell_peek(cursor, 0), shell_origin(cursor));
	builder->have = true;
	cursor->at++;
}

/* One quoted piece, expansion or byte. */
static int
word_piece(struct shell *shell, struct shell_cursor *cursor, struct word_builder *builder)
{
	char c = shell_peek(cursor, 0), next = shell_peek(cursor, 1);

	if (shell_take_mark(shell, cursor, &builder->text)) {
		builder->have = true;
		return shell->failed ? -1 : 0;
	}
	if (c == '\'')
		return single_quoted(shell, cursor, builder);
	if (c == '"')
		return shell_double_quoted(shell, cursor, builder);
	if (c == '$' && (next == '\'' || next == '"')) {
		cursor->at++;
		return next == '"' ? shell_double_quoted(shell, cursor, builder)
				   : ansi_quoted(shell, cursor, builder);
	}
	if (c == '$')
		return shell_dollar(shell, cursor, builder, false);
	if (c == '`')
		return shell_backquote(shell, cursor, builder, false);
	plain_byte(shell, cursor, builder);
	return shell->failed ? -1 : 0;
}

int
shell_word(struct shell *shell, struct shell_cursor *cursor, unsigned mode, struct shell_words *out,
    bool *pattern)
{
	struct word_builder builder = {.out = out, .mode = mode};
	bool any_pattern = false;

	while (cursor->at < cursor->text.length && !strchr(METACHARACTERS, shell_peek(cursor, 0))) {
		if (word_piece(shell, cursor, &builder) != 0)
			return -1;
		any_pattern = any_pattern || builder.pattern;
	}
	if (!(mode & WORD_SPLIT))
		builder.have = true;
	builder_end(shell, &builder);
	if (pattern)
		*pattern = any_pattern;
	return shell->failed ? -1 : 0;
}

/* All of `text` is one word, blanks and metacharacters too; quotes in it count. */
int
shell_expand_operand(
    struct shell *shell, const struct shell_text *text, struct word_builder *builder)
{
	struct shell_cursor cursor = {.text = *text};

	while (cursor.at < cursor.text.length) {
		if (strchr(" \t\n", shell_peek(&cursor, 0)) && builder->mode & WORD_SPLIT) {
			builder_end(shell, builder);
			cursor.at++;
		} else if (word_piece(shell, &cursor, builder) != 0) {
			return -1;
		}
	}
	return 0;
}

int
shell_expand_quoted(struct shell *shell, const struct shell_text *text, struct shell_text *out)
{
	struct shell_cursor cursor = {.text = *text};
	struct shell_words ignored = {0};
	struct word_builder builder = {.out = &ignored};

	while (cursor.at < cursor.text.length) {
		char c = shell_peek(&cursor, 0);
		int result = 0;

		if (shell_take_mark(shell, &cursor, &builder.text))
			continue;
		if (c == '$')
			result = shell_dollar(shell, &cursor, &builder, true);
		else if (c == '`')
			result = shell_backquote(shell, &cursor, &builder, true);
		else
			shell_put(shell, &builder.text, cursor.text.bytes[cursor.at++], 0);
		if (result != 0 || shell->failed)
			return -1;
	}
	shell_put_string(shell, &builder.text, "", 0);
	*out = builder.text;
	return 0;
}
