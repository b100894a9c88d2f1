/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What does one simple command of a script do? Assignments (also of arrays and elements),
 * redirections, words; export, unset, read, eval, functions and bash -c are followed, the
 * rest is handed on as a command.
 */
#include <string.h>

#include "base/arena.h"
#include "check/import_shell_private.h"

/* One command as it is put together. */
struct simple {
	struct shell_words words;
	struct shell_variable *env;
	size_t n_env;
	bool assigned;
	struct block
	    *block; /* of assignments that are for the command alone; its words do not see them */
};

/* NAME, the offset behind its "=" or "+=" in *value, and the [subscript]; false: no assignment. */
struct target {
	char *name;
	bool append, element;
	size_t value;
};

static bool
at_assignment(struct shell *shell, const struct shell_cursor *cursor, struct target *target)
{
	size_t length = shell_name_length(cursor), at = length;

	*target = (struct target){0};
	if (length == 0)
		return false;
	if (shell_peek(cursor, at) == '[') {
		while (shell_peek(cursor, at) != ']' && shell_peek(cursor, at) != '\0' &&
		       !strchr(" \t\n\"'", shell_peek(cursor, at)))
			at++;
		at += shell_peek(cursor, at) == ']';
		target->element = true;
	}
	target->append = shell_peek(cursor, at) == '+';
	at += target->append;
	if (shell_peek(cursor, at) != '=')
		return false;
	target->name = arena_strndup(shell->arena, cursor->text.bytes + cursor->at, length);
	target->value = cursor->at + at + 1;
	return true;
}

/* The items of NAME=( … ). */
static int
array_items(struct shell *shell, struct shell_cursor *cursor, struct shell_words *items)
{
	uint32_t start = shell_origin(cursor);

	cursor->at++;
	for (;;) {
		size_t before;

		if (shell_skip_separators(shell, cursor, false) != 0)
			return -1;
		if (shell_at_end(cursor))
			return shell_fail(shell, start, "this '(' of an array is not closed");
		if (shell_peek(cursor, 0) == ')')
			break;
		before = cursor->at;
		if (shell_word(shell, cursor, WORD_SPLIT | WORD_PATTERN, items, NULL) != 0)
			return -1;
		if (cursor->at == before)
			return shell_unexpected(shell, cursor, "an item of the array, or ')'");
	}
	cursor->at++;
	return 0;
}

static int
take_assignment(struct shell *shell, struct shell_cursor *cursor, const struct target *target,
    struct simple *simple)
{
	struct shell_words value = {0};
	bool array;

	cursor->at = target->value;
	array = shell_peek(cursor, 0) == '(';
	if ((array ? array_items(shell, cursor, &value)
		   : shell_word(shell, cursor, 0, &value, NULL)) != 0)
		return -1;
	simple->assigned = true;
	if (target->element) {
		/* which element is not followed: the array is not known from here on */
		struct shell_words unknown = {0};
		struct shell_text mark = {0};

		shell_put_mark(shell, &mark, SHELL_WORDS, target->name, strlen(target->name),
		    shell_origin(cursor));
		shell_push(shell, &unknown, mark);
		shell_assign(shell, target->name, &unknown, true, false);
		return 0;
	}
	shell_assign(shell, target->name, &value, array, target->append);
	if (!array && value.count == 1) {
		struct shell_variable *env =
		    arena_array(shell->arena, simple->n_env + 1, sizeof(*env));

		if (simple->n_env > 0)
			memcpy(env, simple->env, simple->n_env * sizeof(*env));
		env[simple->n_env] = (struct shell_variable){target->name, value.items[0]};
		simple->env = env;
		simple->n_env++;
	}
	return shell->failed ? -1 : 0;
}

int
shell_redirection(struct shell *shell, struct shell_cursor *cursor, bool *taken)
{
	struct shell_words file = {0};
	size_t digits = 0;
	bool output, appends;

	while (shell_peek(cursor, digits) >= '0' && shell_peek(cursor, digits) <= '9')
		digits++;
	if (shell_peek(cursor, 0) == '&' && shell_peek(cursor, 1) == '>')
		digits = 1;
	*taken = shell_peek(cursor, digits) == '<' || shell_peek(cursor, digits) == '>';
	if (!*taken)
		return 0;
	cursor->at += digits;
	if (shell_has(cursor, "<<") && !shell_has(cursor, "<<<"))
		return shell_take_here_doc(shell, cursor);
	if (shell_peek(cursor, 1) == '(') { /* <(command) is a file */
		uint32_t start = shell_origin(cursor);

		cursor->at += 2;
		return shell_skip_parens(shell, cursor, start);
	}
	output = shell_peek(cursor, 0) == '>' && digits == 0;
	appends = shell_peek(cursor, 1) == '>';
	while (!shell_at_end(cursor) && strchr("<>&|-", shell_peek(cursor, 0)))
		cursor->at++;
	shell_skip_blanks(cursor);
	if (shell_word(shell, cursor, 0, &file, NULL) != 0)
		return -1;
	if (output && file.count > 0) {
		shell->output = file.items[0];
		shell->appends = appends;
	}
	return 0;
}

static bool
declares(const struct shell_words *words)
{
	static const char *const names[] = {
	    "export", "declare", "typeset", "local", "readonly", NULL};

	for (size_t i = 0; words->count > 0 && names[i]; i++)
		if (shell_equals(&words->items[0], names[i]))
			return true;
	return false;
}

static bool
ends_command(const struct shell_cursor *cursor)
{
	char c = shell_peek(cursor, 0);

	return shell_at_end(cursor) || (c != '\0' && strchr("\n;|()", c)) ||
	       (c == '&' && shell_peek(cursor, 1) != '>');
}

static int
read_simple(struct shell *shell, struct shell_cursor *cursor, struct simple *simple)
{
	for (shell_skip_blanks(cursor); !ends_command(cursor); shell_skip_blanks(cursor)) {
		struct target target;
		bool taken;

		if (shell_peek(cursor, 0) == '#') {
			while (!shell_at_end(cursor) && shell_peek(cursor, 0) != '\n')
				cursor->at++;
			return 0;
		}
		if (shell_redirection(shell, cursor, &taken) != 0)
			return -1;
		if (taken)
			continue;
		if ((simple->words.count == 0 || declares(&simple->words)) &&
		    at_assignment(shell, cursor, &target)) {
			if (take_assignment(shell, cursor, &target, simple) != 0)
				return -1;
			if (simple->words.count > 0 &&
			    shell_equals(&simple->words.items[0], "export"))
				shell_export(shell, target.name);
			continue;
		}
		shell_leave(shell, simple->block);
		simple->block = NULL;
		if (shell_word(shell, cursor, WORD_SPLIT | WORD_PATTERN, &simple->words, NULL) != 0)
			return -1;
	}
	return 0;
}

static struct function *
find_function(struct shell *shell, const struct shell_text *name)
{
	for (struct function *f = shell->functions; f && shell_spend(shell, 1); f = f->next)
		if (shell_equals(name, f->name))
			return f;
	return NULL;
}

int
shell_run_nested(struct shell *shell, struct shell_text text)
{
	struct shell_cursor cursor = {.text = text};
	int result = 0;

	if (++shell->depth > SHELL_MAX_DEPTH / 4)
		return shell_fail(
		    shell, text.length ? text.origin[0] : 0, "commands call each other too deep");
	while (result == 0 && !shell_at_end(&cursor)) {
		result = shell_run_list(shell, &cursor);
		if (result == 0 && !shell_at_end(&cursor))
			cursor.at++; /* a closer of nothing */
	}
	shell->depth--;
	return result;
}

static int
call_function(struct shell *shell, struct function *function, const struct simple *simple)
{
	const struct shell_words *before = shell->positional;
	struct shell_words arguments = {0};
	int result;

	function->called = true;
	if (function->active) /* how often it calls itself is not known */
		return 0;
	function->active = true;
	for (size_t i = 1; i < simple->words.count; i++)
		shell_push(shell, &arguments, simple->words.items[i]);
	shell->positional = &arguments;
	result = shell_run_nested(shell, function->body.text);
	shell->positional = before;
	function->active = false;
	return result;
}

static const char *
base_name(const struct shell_text *word)
{
	const char *slash = strrchr(word->bytes, '/');

	return slash ? slash + 1 : word->bytes;
}

/* bash -c 'command', with srun and the like in front: the index of the command, or 0. */
static size_t
find_inner(const struct shell_words *words)
{
	for (size_t i = 0; i + 2 < words->count; i++) {
		const char *name = base_name(&words->items[i]);
		const char *option = words->items[i + 1].bytes;

		if ((strcmp(name, "bash") == 0 || strcmp(name, "sh") == 0) && option[0] == '-' &&
		    option[1] != '-' && option[strlen(option) - 1] == 'c')
			return i + 2;
	}
	return 0;
}

/* ssh host 'command': the index of a command with its arguments in one word, or 0. */
static size_t
find_remote(const struct shell_words *words)
{
	static const char *const names[] = {"ssh", "pdsh", "clush", NULL};
	const char *name = base_name(&words->items[0]);
	size_t inner = 0;

	for (int i = 0; names[i] && inner == 0; i++)
		if (strcmp(name, names[i]) == 0)
			inner = words->count - 1;
	return inner > 0 && strpbrk(words->items[inner].bytes, " \n") ? inner : 0;
}

/* The command `inner`, with the first `n_outer` words in front of it. */
static int
run_inner(struct shell *shell, const struct shell_words *words, size_t inner, size_t n_outer)
{
	const struct shell_words *before = shell->outer;
	struct block *block = shell_enter(shell, SHELL_LIVE, 0, true);
	struct shell_words outer = {words->items, n_outer, n_outer};
	const struct shell_words *arguments = shell->positional;
	struct shell_words own = {0};
	bool task = shell_enter_task(shell, &outer);
	int result;

	/* sh -c 'command' name argument… */
	if (words->count > inner + 1) {
		own.count = own.capacity = words->count - inner - 2;
		own.items = words->items + inner + 2;
		shell->positional = &own;
	}
	shell->outer = n_outer > 0 ? &outer : before;
	result = shell_run_nested(shell, words->items[inner]);
	shell->outer = before;
	shell->task = task;
	shell->positional = arguments;
	shell_leave(shell, block);
	return result;
}

static void
unset_all(struct shell *shell, const struct shell_words *words)
{
	for (size_t i = 1; i < words->count; i++)
		shell_unset(shell, words->items[i].bytes);
}

/* read NAME…: what comes in is not known. */
static void
read_names(struct shell *shell, const struct shell_words *words)
{
	for (size_t i = 1; i < words->count; i++) {
		const struct shell_text *word = &words->items[i];
		struct shell_words unknown = {0};
		struct shell_text mark = {0};
		const char *raw;

		if (word->length == 0 || !shell_is_name(word->bytes[0], true))
			continue;
		raw = arena_printf(shell->arena, "$%s", word->bytes);
		shell_put_mark(shell, &mark, SHELL_VALUE, raw, strlen(raw), word->origin[0]);
		shell_push(shell, &unknown, mark);
		shell_assign(shell, word->bytes, &unknown, false, false);
	}
}

static void
export_names(struct shell *shell, const struct shell_words *words)
{
	for (size_t i = 1; i < words->count; i++)
		if (shell_equals(&words->items[0], "export") &&
		    shell_is_name(words->items[i].bytes[0], true))
			shell_export(shell, words->items[i].bytes);
}

/* set -- words: the arguments from here on; in a branch that may not run they are not known. */
static void
set_arguments(struct shell *shell, const struct shell_words *words)
{
	struct shell_words *arguments;

	if (words->count < 2 || !shell_equals(&words->items[1], "--"))
		return;
	arguments = arena_alloc(shell->arena, sizeof(*arguments));
	for (size_t i = 2; i < words->count; i++)
		shell_push(shell, arguments, words->items[i]);
	shell->positional = shell_live(shell) == SHELL_LIVE ? arguments : NULL;
}

static enum shell_truth
status_of(const struct shell_words *words)
{
	const struct shell_text *first = words->items, *last = words->items + words->count - 1;

	if (shell_equals(first, "[") && words->count > 1 && shell_equals(last, "]"))
		return shell_test(words, 1, words->count - 1);
	if (shell_equals(first, "test"))
		return shell_test(words, 1, words->count);
	if (shell_equals(first, ":") || shell_equals(first, "true"))
		return SHELL_TRUE;
	return shell_equals(first, "false") ? SHELL_FALSE : SHELL_UNKNOWN;
}

static int
run_words(struct shell *shell, struct simple *simple)
{
	const struct shell_words *words = &simple->words;
	struct shell_command command = {.words = *words,
	    .env = simple->env,
	    .n_env = simple->n_env,
	    .outer = shell->outer,
	    .maybe = shell_live(shell) != SHELL_LIVE};
	struct function *function = find_function(shell, &words->items[0]);
	size_t inner = find_inner(words);

	shell->status = status_of(words);
	if (function)
		return call_function(shell, function, simple);
	if (shell_equals(&words->items[0], "eval"))
		return shell_run_nested(shell, shell_join(shell, words, 1));
	if (inner > 0)
		return run_inner(shell, words, inner, inner - 2);
	inner = find_remote(words);
	if (inner > 0)
		return run_inner(shell, words, inner, inner);
	if (shell_equals(&words->items[0], "unset"))
		unset_all(shell, words);
	else if (shell_equals(&words->items[0], "read"))
		read_names(shell, words);
	else if (shell_equals(&words->items[0], "set"))
		set_arguments(shell, words);
	else if (declares(words))
		export_names(shell, words);
	else
		shell->on_command(shell->context, &command);
	return shell->failed ? -1 : 0;
}

/* What stands in front of a command is for it alone, and is gone behind it. */
int
shell_run_simple(struct shell *shell, struct shell_cursor *cursor)
{
	struct simple simple = {0};
	struct shell_cursor ahead = *cursor;
	struct target target;
	int result;

	ahead.here_docs = NULL;
	/* assignments alone stay; in front of a command they do not */
	if (at_assignment(shell, cursor, &target) && shell_live(shell) != SHELL_DEAD) {
		struct simple probe = {0};
		struct block *dry = shell_enter(shell, SHELL_DEAD, 0, false);

		result = read_simple(shell, &ahead, &probe);
		shell_leave(shell, dry);
		if (result != 0)
			return -1;
		if (probe.words.count > 0)
			simple.block = shell_enter(shell, SHELL_LIVE, 0, true);
	}
	shell->output = (struct shell_text){0};
	result = read_simple(shell, cursor, &simple);
	shell_leave(shell, simple.block);
	if (result != 0)
		return -1;
	shell_claim_here_docs(shell, cursor, &simple.words);
	if (shell->failed)
		return -1;
	shell->status = simple.assigned ? SHELL_TRUE : SHELL_UNKNOWN;
	if (simple.words.count == 0 || shell_live(shell) == SHELL_DEAD)
		return 0;
	shell_note_echo(shell, &simple.words);
	return run_words(shell, &simple);
}
