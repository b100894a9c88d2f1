/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which commands would a script run, with which words? Lists, pipelines, branches, loops,
 * functions (IEEE 1003.1, XCU 2.9 and 2.10, and bash's [[ ]], (( )), arrays).
 *
 * Nothing is run. A branch whose condition is known is taken or left out; of any other all
 * arms are read, and what they assign may count afterwards (import_shell_variable.c).
 */
#include <string.h>

#include "base/arena.h"
#include "check/import_shell_private.h"

/* --- what stands at the cursor -------------------------------------------------------------- */

bool
shell_at_end(const struct shell_cursor *cursor)
{
	return cursor->at >= cursor->text.length;
}

void
shell_skip_blanks(struct shell_cursor *cursor)
{
	for (;;) {
		if (shell_peek(cursor, 0) == ' ' || shell_peek(cursor, 0) == '\t')
			cursor->at++;
		else if (shell_peek(cursor, 0) == '\\' && shell_peek(cursor, 1) == '\n')
			cursor->at += 2;
		else
			return;
	}
}

bool
shell_has(const struct shell_cursor *cursor, const char *text)
{
	for (size_t i = 0; text[i]; i++)
		if (shell_peek(cursor, i) != text[i])
			return false;
	return true;
}

/* A reserved word: followed by something that ends a word. */
static bool
at_keyword(const struct shell_cursor *cursor, const char *word)
{
	char next = shell_peek(cursor, strlen(word));

	return shell_has(cursor, word) && (next == '\0' || strchr(" \t\n;&|()", next));
}

bool
shell_take_keyword(struct shell_cursor *cursor, const char *word)
{
	if (!at_keyword(cursor, word))
		return false;
	cursor->at += strlen(word);
	return true;
}

/* Blanks, ends of lines with the here-documents behind them, comments, and ; and &. */
int
shell_skip_separators(struct shell *shell, struct shell_cursor *cursor, bool semicolons)
{
	for (;;) {
		char c;

		shell_skip_blanks(cursor);
		c = shell_peek(cursor, 0);
		if (c == '\n') {
			cursor->at++;
			if (shell_skip_here_docs(shell, cursor) != 0)
				return -1;
		} else if (c == '#') {
			while (!shell_at_end(cursor) && shell_peek(cursor, 0) != '\n')
				cursor->at++;
		} else if (semicolons && (c == '&' || (c == ';' && shell_peek(cursor, 1) != ';' &&
							  shell_peek(cursor, 1) != '&'))) {
			cursor->at++;
		} else {
			return 0;
		}
	}
}

/* What ends a list and belongs to the command around it. */
static bool
at_closer(const struct shell_cursor *cursor)
{
	static const char *const words[] = {
	    "then", "do", "done", "fi", "elif", "else", "esac", "}", NULL};

	if (shell_peek(cursor, 0) == ')' || shell_has(cursor, ";;") || shell_has(cursor, ";&"))
		return true;
	for (size_t i = 0; words[i]; i++)
		if (at_keyword(cursor, words[i]))
			return true;
	return false;
}

int
shell_unexpected(struct shell *shell, const struct shell_cursor *cursor, const char *expected)
{
	if (shell->failed)
		return -1;
	return shell_fail(shell, shell_origin(cursor),
	    arena_printf(
		shell->arena, "not a script that a shell reads: expected %s here", expected));
}

/* --- groups and functions ------------------------------------------------------------------- */

/* Behind '{' or '('. */
static int
run_group(struct shell *shell, struct shell_cursor *cursor, bool subshell)
{
	struct block *block = shell_enter(shell, SHELL_LIVE, 0, subshell);
	int result = shell_run_list(shell, cursor);

	shell_leave(shell, block);
	if (result != 0)
		return -1;
	if (subshell && shell_peek(cursor, 0) == ')') {
		cursor->at++;
		return 0;
	}
	return subshell ? shell_unexpected(shell, cursor, "')'") : shell_need(shell, cursor, "}");
}

/* (( … )): its truth; what it assigns is not known afterwards. */
static int
run_arithmetic(struct shell *shell, struct shell_cursor *cursor)
{
	size_t start = cursor->at + 2;
	struct shell_text inner, expanded;
	int64_t value = 0;
	size_t length;

	cursor->at += 2;
	if (shell_skip_parens(shell, cursor, shell_origin(cursor)) != 0)
		return -1;
	inner = (struct shell_text){
	    cursor->text.bytes + start, cursor->text.origin + start, cursor->at - 1 - start, 0};
	cursor->at += shell_peek(cursor, 0) == ')';
	if (shell_expand_quoted(shell, &inner, &expanded) != 0)
		return -1;
	shell->status = SHELL_UNKNOWN;
	if (shell_arith(shell, &expanded, &value) == ARITH_OK) {
		shell->status = value ? SHELL_TRUE : SHELL_FALSE;
		return 0;
	}
	expanded.bytes += strspn(expanded.bytes, " \t\n");
	for (length = 0; shell_is_name(expanded.bytes[length], length == 0);)
		length++;
	if (length > 0) {
		struct shell_words none = {0};

		shell_unknown_variable(shell, arena_strndup(shell->arena, expanded.bytes, length),
		    &none, inner.length ? inner.origin[0] : 0);
	}
	return 0;
}

/* name() or `function name`: the offset of its body; 0 when there is none here. */
static size_t
function_body(const struct shell_cursor *cursor, size_t *name, size_t *length)
{
	struct shell_cursor ahead = *cursor;
	bool keyword = at_keyword(cursor, "function");

	if (keyword)
		ahead.at += strlen("function");
	shell_skip_blanks(&ahead);
	*name = ahead.at;
	while (shell_is_name(shell_peek(&ahead, 0), ahead.at == *name) ||
	       (ahead.at > *name && strchr("-.:", shell_peek(&ahead, 0)) && !shell_at_end(&ahead)))
		ahead.at++;
	*length = ahead.at - *name;
	shell_skip_blanks(&ahead);
	if (*length == 0 || (!keyword && shell_peek(&ahead, 0) != '('))
		return 0;
	if (shell_peek(&ahead, 0) == '(') {
		ahead.at++;
		shell_skip_blanks(&ahead);
		if (shell_peek(&ahead, 0) != ')')
			return 0;
		ahead.at++;
	}
	while (!shell_at_end(&ahead) && strchr(" \t\n", shell_peek(&ahead, 0)))
		ahead.at++;
	return shell_peek(&ahead, 0) == '{' || shell_peek(&ahead, 0) == '(' ? ahead.at : 0;
}

/* Read over now, and when it is called. */
static int
define_function(
    struct shell *shell, struct shell_cursor *cursor, size_t body, size_t name, size_t length)
{
	struct function *function = arena_alloc(shell->arena, sizeof(*function));
	struct block *block = shell_enter(shell, SHELL_DEAD, 0, false);
	int result;

	cursor->at = body + 1;
	result = run_group(shell, cursor, cursor->text.bytes[body] == '(');
	shell_leave(shell, block);
	if (result != 0)
		return -1;
	function->name = arena_strndup(shell->arena, cursor->text.bytes + name, length);
	function->body.text = (struct shell_text){cursor->text.bytes + body + 1,
	    cursor->text.origin + body + 1, cursor->at - body - 2, 0};
	function->next = shell->functions;
	if (shell_live(shell) != SHELL_DEAD)
		shell->functions = function;
	return 0;
}

/* --- lists ---------------------------------------------------------------------------------- */

static int
run_command(struct shell *shell, struct shell_cursor *cursor)
{
	size_t name, length, body = function_body(cursor, &name, &length);

	if (body > 0)
		return define_function(shell, cursor, body, name, length);
	if (shell_take_keyword(cursor, "if"))
		return shell_run_if(shell, cursor);
	if (shell_take_keyword(cursor, "for") || shell_take_keyword(cursor, "select"))
		return shell_run_for(shell, cursor);
	if (shell_take_keyword(cursor, "while"))
		return shell_run_while(shell, cursor, false);
	if (shell_take_keyword(cursor, "until"))
		return shell_run_while(shell, cursor, true);
	if (shell_take_keyword(cursor, "case"))
		return shell_run_case(shell, cursor);
	if (shell_take_keyword(cursor, "{"))
		return run_group(shell, cursor, false);
	if (shell_take_keyword(cursor, "[["))
		return shell_double_test(shell, cursor, &shell->status);
	if (shell_has(cursor, "(("))
		return run_arithmetic(shell, cursor);
	if (shell_peek(cursor, 0) == '(') {
		cursor->at++;
		return run_group(shell, cursor, true);
	}
	return shell_run_simple(shell, cursor);
}

/* Redirections behind a branch, loop or group. */
static int
skip_redirections(struct shell *shell, struct shell_cursor *cursor)
{
	bool taken = true;

	while (taken) {
		shell_skip_blanks(cursor);
		if (shell_redirection(shell, cursor, &taken) != 0)
			return -1;
	}
	return 0;
}

static int
run_pipeline(struct shell *shell, struct shell_cursor *cursor)
{
	bool negated = false, piped = false;

	for (;;) {
		struct block *block = piped ? shell_enter(shell, SHELL_LIVE, 0, true) : NULL;
		size_t before;
		int result;

		while (shell_take_keyword(cursor, "!") || shell_take_keyword(cursor, "time")) {
			negated = negated != (cursor->text.bytes[cursor->at - 1] == '!');
			shell_skip_blanks(cursor);
		}
		before = cursor->at;
		result = run_command(shell, cursor);
		if (result == 0)
			result = skip_redirections(shell, cursor);
		shell_leave(shell, block);
		if (result != 0)
			return -1;
		if (cursor->at == before)
			return shell_unexpected(shell, cursor, "a command");
		if (shell_peek(cursor, 0) != '|' || shell_peek(cursor, 1) == '|')
			break;
		cursor->at += shell_has(cursor, "|&") ? 2 : 1;
		piped = true;
		if (shell_skip_separators(shell, cursor, false) != 0)
			return -1;
	}
	if (piped)
		shell->status = SHELL_UNKNOWN;
	if (negated)
		shell->status = shell_not(shell->status);
	return 0;
}

/* a && b || c: what stands behind runs when what stands in front says so. */
static int
run_and_or(struct shell *shell, struct shell_cursor *cursor)
{
	enum shell_truth truth;

	if (run_pipeline(shell, cursor) != 0)
		return -1;
	truth = shell->status;
	for (;;) {
		bool and = shell_has(cursor, "&&");
		enum shell_truth runs = and? truth : shell_not(truth);
		struct block *block;
		int result;

		if (!and&&!shell_has(cursor, "||"))
			break;
		cursor->at += 2;
		if (shell_skip_separators(shell, cursor, false) != 0)
			return -1;
		block = shell_enter(shell, shell_live_of(runs), 0, false);
		result = run_pipeline(shell, cursor);
		shell_leave(shell, block);
		if (result != 0)
			return -1;
		truth = and? shell_both(truth, shell->status)
			   : shell_not(shell_both(shell_not(truth), shell_not(shell->status)));
	}
	shell->status = truth;
	return 0;
}

int
shell_run_list(struct shell *shell, struct shell_cursor *cursor)
{
	int result = 0;

	if (++shell->depth > SHELL_MAX_DEPTH)
		return shell_fail(shell, shell_origin(cursor), "commands nest too deep");
	shell->status = SHELL_TRUE;
	while (result == 0) {
		result = shell_skip_separators(shell, cursor, true);
		if (result != 0 || shell_at_end(cursor) || at_closer(cursor))
			break;
		result = shell_spend(shell, 16) ? run_and_or(shell, cursor) : -1;
	}
	shell->depth--;
	return result;
}

/* --- the whole ------------------------------------------------------------------------------ */

struct shell *
shell_new(struct arena *arena, struct diags *diags, const struct import_text *source,
    shell_command_fn *on_command, void *context)
{
	struct shell *shell = arena_alloc(arena, sizeof(*shell));

	shell->arena = arena;
	shell->diags = diags;
	shell->source = source;
	shell->on_command = on_command;
	shell->context = context;
	shell->work = SHELL_MAX_WORK;
	shell->block = arena_alloc(arena, sizeof(*shell->block));
	*shell->block = (struct block){.live = SHELL_LIVE, .open = true};
	return shell;
}

void
shell_on_document(struct shell *shell, shell_document_fn *on_document)
{
	shell->on_document = on_document;
}

/* Marks are control characters that no script needs. */
static int
check_marks(struct shell *shell)
{
	const char *found = strpbrk(shell->source->bytes, "\x01\x02\x03\x04");

	if (!found)
		return 0;
	return diag_error(shell->diags,
	    import_text_loc(shell->source, (size_t)(found - shell->source->bytes)),
	    "control character 0x%02x in a script", (unsigned char)*found);
}

/* Functions that nothing calls here: something else may, their commands are looked at. */
static int
run_uncalled(struct shell *shell)
{
	struct block *block = shell_enter(shell, SHELL_MAYBE, 0, false);
	int result = 0;

	for (struct function *f = shell->functions; f && result == 0; f = f->next) {
		struct shell_cursor cursor = f->body;

		if (f->called)
			continue;
		f->called = f->active = true;
		result = shell_run_list(shell, &cursor);
		f->active = false;
	}
	shell_leave(shell, block);
	return result;
}

int
shell_read(struct shell *shell)
{
	struct shell_cursor cursor = {0};
	size_t length = shell->source->length;

	if (check_marks(shell) != 0)
		return -1;
	cursor.text.bytes = arena_strndup(shell->arena, shell->source->bytes, length);
	cursor.text.length = length;
	cursor.text.origin = arena_array(shell->arena, length + 1, sizeof(*cursor.text.origin));
	for (size_t i = 0; i < length; i++)
		cursor.text.origin[i] = (uint32_t)i;
	if (shell_run_list(shell, &cursor) != 0)
		return -1;
	if (!shell_at_end(&cursor))
		return shell_unexpected(shell, &cursor, "a command");
	return run_uncalled(shell);
}
