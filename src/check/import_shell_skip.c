/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where does a piece of script end that is not looked into? Command substitutions and
 * quotes, each of which may hold the other.
 */
#include <string.h>

#include "check/import_shell_private.h"

static int skip_double(struct shell *shell, struct shell_cursor *cursor);

int
shell_skip_single(struct shell *shell, struct shell_cursor *cursor)
{
	uint32_t start = shell_origin(cursor);
	bool escapes = cursor->at > 0 && cursor->text.bytes[cursor->at - 1] == '$';

	cursor->at++;
	while (shell_peek(cursor, 0) != '\'') {
		if (cursor->at >= cursor->text.length)
			return shell_fail(shell, start, "this quote is not closed");
		if (shell_take_mark(shell, cursor, NULL))
			continue;
		cursor->at += escapes && shell_peek(cursor, 0) == '\\' ? 2 : 1;
	}
	cursor->at++;
	return 0;
}

static int
skip_back(struct shell *shell, struct shell_cursor *cursor)
{
	uint32_t start = shell_origin(cursor);

	cursor->at++;
	while (shell_peek(cursor, 0) != '`') {
		if (cursor->at >= cursor->text.length)
			return shell_fail(shell, start, "this '`' is not closed");
		if (shell_take_mark(shell, cursor, NULL))
			continue;
		cursor->at += shell_peek(cursor, 0) == '\\' ? 2 : 1;
	}
	cursor->at++;
	return 0;
}

int
shell_skip_braces(struct shell *shell, struct shell_cursor *cursor, uint32_t start, bool quoted)
{
	for (int depth = 1; depth > 0;) {
		char c = shell_peek(cursor, 0);

		if (cursor->at >= cursor->text.length)
			return shell_fail(shell, start, "this '${' is not closed");
		if (shell_take_mark(shell, cursor, NULL))
			continue;
		if (c == '"' || c == '`' || (c == '\'' && !quoted)) {
			if ((c == '"'	   ? skip_double(shell, cursor)
				: c == '`' ? skip_back(shell, cursor)
					   : shell_skip_single(shell, cursor)) != 0)
				return -1;
			continue;
		}
		depth += (c == '{') - (c == '}');
		cursor->at += c == '\\' ? 2 : 1;
	}
	return 0;
}

/* "$(" and "${" in double quotes; both may hold quotes again. */
static int
skip_dollar(struct shell *shell, struct shell_cursor *cursor)
{
	uint32_t start = shell_origin(cursor);

	cursor->at += 2;
	if (cursor->text.bytes[cursor->at - 1] == '(')
		return shell_skip_parens(shell, cursor, start);
	return shell_skip_braces(shell, cursor, start, true);
}

static int
skip_double(struct shell *shell, struct shell_cursor *cursor)
{
	uint32_t start = shell_origin(cursor);
	int result = 0;

	if (++shell->depth > SHELL_MAX_DEPTH)
		return shell_fail(shell, start, "quotes nest too deep");
	cursor->at++;
	while (result == 0 && shell_peek(cursor, 0) != '"') {
		char c = shell_peek(cursor, 0), next = shell_peek(cursor, 1);

		if (cursor->at >= cursor->text.length)
			result = shell_fail(shell, start, "this quote is not closed");
		else if (shell_take_mark(shell, cursor, NULL))
			continue;
		else if (c == '$' && (next == '(' || next == '{'))
			result = skip_dollar(shell, cursor);
		else if (c == '`')
			result = skip_back(shell, cursor);
		else
			cursor->at += c == '\\' ? 2 : 1;
	}
	cursor->at++;
	shell->depth--;
	return result;
}

static bool
begins_comment(const struct shell_cursor *cursor)
{
	char before = cursor->at > 0 ? cursor->text.bytes[cursor->at - 1] : ' ';

	return shell_peek(cursor, 0) == '#' && strchr(" \t\n;(", before) != NULL;
}

/* One piece inside parentheses; *depth follows those that open and close. */
static int
skip_piece(struct shell *shell, struct shell_cursor *cursor, int *depth)
{
	char c = shell_peek(cursor, 0), next = shell_peek(cursor, 1);

	if (shell_take_mark(shell, cursor, NULL))
		return 0;
	if (c == '\'')
		return shell_skip_single(shell, cursor);
	if (c == '"')
		return skip_double(shell, cursor);
	if (c == '`')
		return skip_back(shell, cursor);
	if (c == '<' && next == '<' && shell_peek(cursor, 2) != '<')
		return shell_take_here_doc(shell, cursor);
	if (begins_comment(cursor)) {
		while (shell_peek(cursor, 0) != '\n' && cursor->at < cursor->text.length)
			cursor->at++;
		return 0;
	}
	*depth += (c == '(') - (c == ')');
	cursor->at += c == '\\' ? 2 : 1;
	return c == '\n' ? shell_skip_here_docs(shell, cursor) : 0;
}

int
shell_skip_parens(struct shell *shell, struct shell_cursor *cursor, uint32_t start)
{
	struct here_doc *outer = cursor->here_docs;
	int result = 0;

	if (++shell->depth > SHELL_MAX_DEPTH)
		return shell_fail(shell, start, "parentheses nest too deep");
	cursor->here_docs = NULL;
	for (int depth = 1; depth > 0 && result == 0;) {
		if (cursor->at >= cursor->text.length)
			result = shell_fail(shell, start, "this '(' is not closed");
		else
			result = skip_piece(shell, cursor, &depth);
	}
	cursor->here_docs = outer;
	shell->depth--;
	return result;
}
