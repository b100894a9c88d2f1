/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which arms of a branch would run, and which loops? if, case, for, while, until. An arm whose
 * condition is known is taken or left out; of any other all are read as if they may run.
 */
#include <string.h>

#include "base/arena.h"
#include "check/import_shell_private.h"

enum shell_live
shell_live_of(enum shell_truth truth)
{
	return truth == SHELL_TRUE ? SHELL_LIVE : truth == SHELL_FALSE ? SHELL_DEAD : SHELL_MAYBE;
}

enum shell_truth
shell_both(enum shell_truth a, enum shell_truth b)
{
	if (a == SHELL_FALSE || b == SHELL_FALSE)
		return SHELL_FALSE;
	return a == SHELL_TRUE && b == SHELL_TRUE ? SHELL_TRUE : SHELL_UNKNOWN;
}

enum shell_truth
shell_not(enum shell_truth truth)
{
	return truth == SHELL_UNKNOWN ? truth : truth == SHELL_TRUE ? SHELL_FALSE : SHELL_TRUE;
}

/* A list that runs when `truth` says so. */
static int
run_block(struct shell *shell, struct shell_cursor *cursor, enum shell_truth truth, int construct)
{
	struct block *block = shell_enter(shell, shell_live_of(truth), construct, false);
	int result = shell_run_list(shell, cursor);

	shell_leave(shell, block);
	return result;
}

int
shell_need(struct shell *shell, struct shell_cursor *cursor, const char *keyword)
{
	if (shell_skip_separators(shell, cursor, true) != 0)
		return -1;
	if (!shell_take_keyword(cursor, keyword))
		return shell_unexpected(shell, cursor, arena_printf(shell->arena, "'%s'", keyword));
	return 0;
}

/* Behind `if`. */
int
shell_run_if(struct shell *shell, struct shell_cursor *cursor)
{
	enum shell_truth reached = SHELL_TRUE, condition;
	int construct = ++shell->constructs;

	for (;;) {
		if (run_block(shell, cursor, reached, construct) != 0 ||
		    shell_need(shell, cursor, "then") != 0)
			return -1;
		condition = shell->status;
		if (run_block(shell, cursor, shell_both(reached, condition), construct) != 0)
			return -1;
		reached = shell_both(reached, shell_not(condition));
		if (shell_take_keyword(cursor, "elif"))
			continue;
		if (shell_take_keyword(cursor, "else") &&
		    run_block(shell, cursor, reached, construct) != 0)
			return -1;
		shell->status = SHELL_UNKNOWN;
		return shell_need(shell, cursor, "fi");
	}
}

static int
run_body(struct shell *shell, struct shell_cursor *cursor, enum shell_truth truth)
{
	if (shell_need(shell, cursor, "do") != 0 || run_block(shell, cursor, truth, 0) != 0 ||
	    shell_need(shell, cursor, "done") != 0)
		return -1;
	shell->status = SHELL_UNKNOWN;
	return 0;
}

/* A loop that runs at all may run again and change what its condition saw. */
int
shell_run_while(struct shell *shell, struct shell_cursor *cursor, bool until)
{
	enum shell_truth truth;

	if (shell_run_list(shell, cursor) != 0)
		return -1;
	truth = until ? shell_not(shell->status) : shell->status;
	return run_body(shell, cursor, truth == SHELL_FALSE ? truth : SHELL_UNKNOWN);
}

int
shell_unknown_variable(
    struct shell *shell, const char *name, const struct shell_words *items, uint32_t at)
{
	struct shell_words value = {0};
	struct shell_text mark = {0};

	if (items->count == 1) {
		shell_push(shell, &value, items->items[0]);
	} else {
		const char *raw = arena_printf(shell->arena, "$%s", name);

		shell_put_mark(shell, &mark, SHELL_VALUE, raw, strlen(raw), at);
		shell_push(shell, &value, mark);
	}
	shell_assign(shell, name, &value, false, false);
	return 0;
}

/* Behind `for` or `select`. One item: the body runs once. */
int
shell_run_for(struct shell *shell, struct shell_cursor *cursor)
{
	struct shell_words items = {0};
	uint32_t at = shell_origin(cursor);
	struct block *block;
	char *name;
	size_t length;
	int result;

	shell_skip_blanks(cursor);
	if (shell_has(cursor, "((")) {
		cursor->at += 2;
		if (shell_skip_parens(shell, cursor, at) != 0)
			return -1;
		cursor->at += shell_peek(cursor, 0) == ')';
		return run_body(shell, cursor, SHELL_UNKNOWN);
	}
	length = shell_name_length(cursor);
	if (length == 0)
		return shell_unexpected(shell, cursor, "the name of a variable");
	name = arena_strndup(shell->arena, cursor->text.bytes + cursor->at, length);
	cursor->at += length;
	if (shell_skip_separators(shell, cursor, false) != 0)
		return -1;
	if (shell_take_keyword(cursor, "in")) {
		for (shell_skip_blanks(cursor);
		     !shell_at_end(cursor) && !strchr(";\n", shell_peek(cursor, 0));
		     shell_skip_blanks(cursor)) {
			size_t before = cursor->at;

			if (shell_word(shell, cursor, WORD_SPLIT | WORD_PATTERN, &items, NULL) != 0)
				return -1;
			if (cursor->at == before)
				return shell_unexpected(shell, cursor, "an item, or 'do'");
		}
	}
	if (items.count == 1 && shell_is_marked(&items.items[0]))
		items.count = 0;
	block = shell_enter(shell, items.count == 1 ? SHELL_LIVE : SHELL_MAYBE, 0, false);
	result = shell_unknown_variable(shell, name, &items, at);
	if (result == 0)
		result = run_body(shell, cursor, items.count == 1 ? SHELL_TRUE : SHELL_UNKNOWN);
	shell_leave(shell, block);
	return result;
}

/* Whether a pattern of `case` matches; *any: it is one that matches everything. */
static enum shell_truth
case_pattern(struct shell *shell, struct shell_cursor *cursor, const struct shell_text *subject)
{
	struct shell_words words = {0};
	bool pattern = false;
	size_t before;

	shell_skip_blanks(cursor);
	before = cursor->at;
	if (shell_word(shell, cursor, 0, &words, &pattern) != 0)
		return SHELL_UNKNOWN;
	if (cursor->at == before) {
		shell_unexpected(shell, cursor, "a pattern of 'case'");
		return SHELL_UNKNOWN;
	}
	if (pattern && shell_equals(&words.items[0], "*"))
		return SHELL_TRUE;
	if (pattern || strchr(words.items[0].bytes, '[') || shell_is_marked(subject) ||
	    shell_is_marked(&words.items[0]))
		return SHELL_UNKNOWN;
	return shell_equals(subject, words.items[0].bytes) ? SHELL_TRUE : SHELL_FALSE;
}

/* pattern | pattern ) list ;; */
static int
run_arm(struct shell *shell, struct shell_cursor *cursor, const struct shell_text *subject,
    enum shell_truth *reached, int construct)
{
	enum shell_truth matches = SHELL_FALSE;

	if (shell_peek(cursor, 0) == '(')
		cursor->at++;
	for (;;) {
		enum shell_truth one = case_pattern(shell, cursor, subject);

		matches = shell_not(shell_both(shell_not(matches), shell_not(one)));
		shell_skip_blanks(cursor);
		if (shell->failed)
			return -1;
		if (shell_peek(cursor, 0) != '|')
			break;
		cursor->at++;
	}
	if (shell_peek(cursor, 0) != ')')
		return shell_unexpected(shell, cursor, "')' behind the patterns");
	cursor->at++;
	if (run_block(shell, cursor, shell_both(*reached, matches), construct) != 0)
		return -1;
	*reached = shell_both(*reached, shell_not(matches));
	while (shell_peek(cursor, 0) == ';' || shell_peek(cursor, 0) == '&')
		cursor->at++;
	return 0;
}

/* Behind `case`. */
int
shell_run_case(struct shell *shell, struct shell_cursor *cursor)
{
	struct shell_words words = {0};
	enum shell_truth reached = SHELL_TRUE;
	int construct = ++shell->constructs;

	shell_skip_blanks(cursor);
	if (shell_word(shell, cursor, 0, &words, NULL) != 0 || shell_need(shell, cursor, "in") != 0)
		return -1;
	for (;;) {
		if (shell_skip_separators(shell, cursor, true) != 0)
			return -1;
		if (shell_take_keyword(cursor, "esac"))
			break;
		if (shell_at_end(cursor))
			return shell_unexpected(shell, cursor, "'esac'");
		if (run_arm(shell, cursor, &words.items[0], &reached, construct) != 0)
			return -1;
	}
	shell->status = SHELL_UNKNOWN;
	return 0;
}
