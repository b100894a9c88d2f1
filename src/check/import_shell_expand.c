/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What does one `$…` or `…` stand for?
 *
 * Known: variables of the script, ${X:-default} and its relatives, arrays, arguments of a
 * function, lengths, arithmetic. Everything else is a mark with the text as it was written.
 */
#include <string.h>

#include "base/arena.h"
#include "check/import_shell_private.h"

/* The text from `start` to the cursor. */
static struct shell_text
slice(const struct shell_cursor *cursor, size_t start, size_t end)
{
	return (struct shell_text){cursor->text.bytes + start, cursor->text.origin + start,
	    end > start ? end - start : 0, 0};
}

static void
add_mark(struct shell *shell, struct word_builder *builder, char kind,
    const struct shell_cursor *cursor, size_t start)
{
	size_t end = cursor->at < cursor->text.length ? cursor->at : cursor->text.length;
	const char *raw = shell_in_task(
	    shell, arena_strndup(shell->arena, cursor->text.bytes + start, end - start));

	shell_put_mark(shell, &builder->text, kind, raw, strlen(raw), cursor->text.origin[start]);
	builder->have = true;
}

/* Elements of an array or arguments: a word each. */
static void
add_words(
    struct shell *shell, struct word_builder *builder, const struct shell_words *words, bool quoted)
{
	builder->vanishes = builder->vanishes || words->count == 0;
	for (size_t i = 0; i < words->count && !shell->failed; i++) {
		if (i > 0)
			builder_end(shell, builder);
		builder_add(shell, builder, &words->items[i], quoted);
	}
}

static void
add_number(struct shell *shell, struct word_builder *builder, int64_t number, uint32_t origin)
{
	struct shell_text text = {0};

	shell_put_string(
	    shell, &text, arena_printf(shell->arena, "%lld", (long long)number), origin);
	builder_add(shell, builder, &text, false);
}

/* --- $(…), $((…)), `…` ----------------------------------------------------------------------- */

static int
substitution(struct shell *shell, struct shell_cursor *cursor, struct word_builder *builder)
{
	size_t start = cursor->at;

	cursor->at += 2;
	if (shell_skip_parens(shell, cursor, cursor->text.origin[start]) != 0)
		return -1;
	add_mark(shell, builder, SHELL_VALUE, cursor, start);
	return 0;
}

/* 1 when it is not arithmetic after all: $( (subshell) ). */
static int
arithmetic(struct shell *shell, struct shell_cursor *cursor, struct word_builder *builder)
{
	size_t start = cursor->at;
	struct shell_text inner, expanded;
	int64_t value;

	cursor->at += 3;
	if (shell_skip_parens(shell, cursor, cursor->text.origin[start]) != 0)
		return -1;
	if (shell_peek(cursor, 0) != ')') {
		cursor->at = start;
		return 1;
	}
	inner = slice(cursor, start + 3, cursor->at - 1);
	cursor->at++;
	if (shell_expand_quoted(shell, &inner, &expanded) != 0)
		return -1;
	if (shell_arith(shell, &expanded, &value) == ARITH_OK)
		add_number(shell, builder, value, cursor->text.origin[start]);
	else
		add_mark(shell, builder, SHELL_VALUE, cursor, start);
	return 0;
}

int
shell_backquote(
    struct shell *shell, struct shell_cursor *cursor, struct word_builder *builder, bool quoted)
{
	size_t start = cursor->at;

	(void)quoted;
	for (cursor->at++; shell_peek(cursor, 0) != '`';) {
		if (cursor->at >= cursor->text.length)
			return shell_fail(
			    shell, cursor->text.origin[start], "this '`' is not closed");
		if (shell_take_mark(shell, cursor, NULL))
			continue;
		cursor->at += shell_peek(cursor, 0) == '\\' ? 2 : 1;
	}
	cursor->at++;
	add_mark(shell, builder, SHELL_VALUE, cursor, start);
	return 0;
}

/* --- names ---------------------------------------------------------------------------------- */

/* A name, its subscript and what they are worth. */
struct parameter {
	const char *name;
	bool all;    /* [@] or [*], $@ or $* */
	bool joined; /* [*], $* */
	enum lookup found;
	struct shell_words words;
};

static void
look_up_argument(struct shell *shell, struct parameter *p)
{
	size_t index = 0;

	p->all = p->name[0] == '@' || p->name[0] == '*';
	p->joined = p->name[0] == '*';
	p->found = p->all ? LOOKUP_UNCERTAIN : LOOKUP_UNSET;
	if (!shell->positional)
		return;
	if (p->all) {
		p->found = LOOKUP_FOUND;
		p->words = *shell->positional;
		return;
	}
	for (const char *c = p->name; *c && index < 100000; c++)
		index = index * 10 + (size_t)(*c - '0');
	if (index == 0)
		p->found = LOOKUP_UNCERTAIN; /* the script's own name */
	else
		p->found = index <= shell->positional->count ? LOOKUP_FOUND : LOOKUP_UNSET;
	if (index > 0 && p->found == LOOKUP_FOUND)
		p->words = (struct shell_words){&shell->positional->items[index - 1], 1, 1};
}

/* The element of an array that `subscript` names, all of them for "@" and "*". */
static void
pick(struct shell *shell, struct parameter *p, bool array, const struct shell_text *subscript)
{
	int64_t index = 0;

	if (subscript && (shell_equals(subscript, "@") || shell_equals(subscript, "*"))) {
		p->all = true;
		p->joined = subscript->bytes[0] == '*';
		if (p->found == LOOKUP_UNSET) {
			p->found = LOOKUP_FOUND;
			p->words = (struct shell_words){0};
		}
		return;
	}
	if (p->found != LOOKUP_FOUND || (!subscript && !array))
		return;
	if (subscript && shell_arith(shell, subscript, &index) != ARITH_OK) {
		p->found = LOOKUP_UNCERTAIN;
		return;
	}
	if (index < 0)
		index += (int64_t)p->words.count;
	if (index < 0 || (uint64_t)index >= p->words.count) {
		p->found = LOOKUP_UNSET;
		return;
	}
	p->words = (struct shell_words){&p->words.items[index], 1, 1};
	/* what may stand before an element moves it */
	if (shell_is_marked(&p->words.items[0]) && p->words.items[0].bytes[0] == SHELL_WORDS)
		p->found = LOOKUP_UNCERTAIN;
}

static int64_t
argument_count(const struct shell *shell)
{
	return shell->positional ? (int64_t)shell->positional->count : 0;
}

static bool
is_argument(const char *name)
{
	return strspn(name, "0123456789") == strlen(name) || strcmp(name, "@") == 0 ||
	       strcmp(name, "*") == 0;
}

static void
look_up(struct shell *shell, struct parameter *p, const struct shell_text *subscript)
{
	bool array = false;

	if (is_argument(p->name)) {
		look_up_argument(shell, p);
		return;
	}
	p->found = shell_lookup(shell, p->name, &p->words, &array);
	pick(shell, p, array, subscript);
}

/* What a found parameter adds to the word. */
static void
add_found(struct shell *shell, struct word_builder *builder, struct parameter *p, bool quoted)
{
	struct shell_text joined;

	/* where no words are made, elements stand beside each other */
	if (p->all && !(p->joined && quoted) && builder->mode & WORD_SPLIT) {
		add_words(shell, builder, &p->words, quoted);
		return;
	}
	joined = shell_join(shell, &p->words, 0);
	builder_add(shell, builder, &joined, quoted);
}

/* --- ${…} ----------------------------------------------------------------------------------- */

/* Bytes of a parameter's name: letters, digits alone, or one special character. */
static size_t
parameter_length(const struct shell_cursor *cursor, bool braces)
{
	size_t length = shell_name_length(cursor);
	char c = shell_peek(cursor, 0);

	if (length > 0)
		return length;
	while (shell_peek(cursor, length) >= '0' && shell_peek(cursor, length) <= '9' &&
	       (braces || length == 0))
		length++;
	if (length > 0)
		return length;
	return c != '\0' && strchr("@*#?-$!", c) ? 1 : 0;
}

static int
take_subscript(
    struct shell *shell, struct shell_cursor *cursor, size_t end, struct shell_text *subscript)
{
	size_t start = ++cursor->at;
	struct shell_text raw;

	while (cursor->at < end && shell_peek(cursor, 0) != ']')
		cursor->at++;
	raw = slice(cursor, start, cursor->at);
	cursor->at++;
	return shell_expand_quoted(shell, &raw, subscript);
}

static bool
is_empty(const struct shell_words *words)
{
	for (size_t i = 0; i < words->count; i++)
		if (words->items[i].length > 0)
			return false;
	return true;
}

static int
add_operand(struct shell *shell, struct word_builder *builder, const struct shell_text *operand,
    bool quoted)
{
	struct shell_words ignored = {0};
	struct word_builder whole = {.out = &ignored};

	if (!quoted && builder->mode & WORD_SPLIT)
		return shell_expand_operand(shell, operand, builder);
	if (shell_expand_operand(shell, operand, &whole) != 0)
		return -1;
	shell_put_string(shell, &whole.text, "", 0);
	builder_add(shell, builder, &whole.text, true);
	return 0;
}

/* X=word of ${X:=word}. */
static int
assign_default(struct shell *shell, const char *name, const struct shell_text *operand)
{
	struct shell_words words = {0};
	struct word_builder whole = {.out = &words};

	if (shell_expand_operand(shell, operand, &whole) != 0)
		return -1;
	whole.have = true;
	builder_end(shell, &whole);
	if (!is_argument(name))
		shell_assign(shell, name, &words, false, false);
	return 0;
}

/* ${NODE_RANK:-0}: each node is told its own, and the default is for one node alone. */
static bool
is_of_node(const char *name)
{
	static const char *const ends[] = {"WORLD_SIZE", "RANK", "_ADDR", "_ADDRESS", "_IP",
	    "_HOST", "NODEID", "PROCID", "LOCALID", NULL};
	size_t length = strlen(name);

	for (int i = 0; ends[i]; i++)
		if (length >= strlen(ends[i]) &&
		    strcmp(name + length - strlen(ends[i]), ends[i]) == 0)
			return true;
	return false;
}

/* ":-", "-", ":=", "=", ":+", "+", ":?", "?"; the mark of something else is left to the caller: 1.
 */
static int
with_operator(struct shell *shell, struct word_builder *builder, struct parameter *p,
    const struct shell_text *rest, bool quoted)
{
	bool colon = rest->bytes[0] == ':';
	char word = rest->bytes[colon];
	bool missing =
	    p->found == LOOKUP_UNSET || (p->found == LOOKUP_FOUND && colon && is_empty(&p->words));
	struct shell_text operand = {
	    rest->bytes + colon + 1, rest->origin + colon + 1, rest->length - colon - 1, 0};

	if (rest->length <= (size_t)colon || !strchr("-=+?", word) ||
	    p->found == LOOKUP_UNCERTAIN || (word == '?' && missing) ||
	    (missing && word != '+' && is_of_node(p->name)))
		return 1;
	if (word == '+')
		return missing ? 0 : add_operand(shell, builder, &operand, quoted);
	if (!missing) {
		add_found(shell, builder, p, quoted);
		return 0;
	}
	if (word == '=' && assign_default(shell, p->name, &operand) != 0)
		return -1;
	return add_operand(shell, builder, &operand, quoted);
}

static int
plain_parameter(struct shell *shell, struct shell_cursor *cursor, struct word_builder *builder,
    struct parameter *p, size_t start, bool quoted)
{
	if (p->found == LOOKUP_FOUND)
		add_found(shell, builder, p, quoted);
	else if (shell->positional && is_argument(p->name) && p->found == LOOKUP_UNSET)
		builder->have = builder->have || quoted;
	else if (p->found == LOOKUP_UNSET)
		add_mark(shell, builder, SHELL_UNSET, cursor, start);
	else
		add_mark(shell, builder, p->all ? SHELL_WORDS : SHELL_VALUE, cursor, start);
	return 0;
}

/* ${#X} and ${#X[@]} */
static int
add_length(struct shell *shell, struct shell_cursor *cursor, struct word_builder *builder,
    struct parameter *p, size_t start)
{
	if (p->found == LOOKUP_FOUND && p->all)
		add_number(shell, builder, (int64_t)p->words.count, cursor->text.origin[start]);
	else if (p->found == LOOKUP_FOUND && !shell_is_marked(&p->words.items[0]))
		add_number(
		    shell, builder, (int64_t)p->words.items[0].length, cursor->text.origin[start]);
	else
		add_mark(shell, builder, SHELL_VALUE, cursor, start);
	return 0;
}

/* Behind "${". */
static int
braces(struct shell *shell, struct shell_cursor *cursor, struct word_builder *builder, size_t start,
    bool quoted)
{
	struct parameter p = {0};
	struct shell_text subscript = {0}, rest;
	struct shell_cursor inner = *cursor;
	bool length_of = shell_peek(cursor, 0) == '#' && shell_peek(cursor, 1) != '}';
	bool has_subscript;
	size_t end, length;
	int result;

	if (shell_skip_braces(shell, cursor, cursor->text.origin[start], quoted) != 0)
		return -1;
	end = cursor->at - 1;
	inner.at += length_of;
	length = parameter_length(&inner, true);
	if (length == 0 || inner.at + length > end) {
		add_mark(shell, builder, SHELL_VALUE, cursor, start);
		return 0;
	}
	p.name = arena_strndup(shell->arena, inner.text.bytes + inner.at, length);
	inner.at += length;
	has_subscript = shell_peek(&inner, 0) == '[';
	if (has_subscript && take_subscript(shell, &inner, end, &subscript) != 0)
		return -1;
	rest = slice(&inner, inner.at, end);
	if (strchr("!?-$#", p.name[0])) {
		if (p.name[0] == '#' && rest.length == 0)
			add_number(
			    shell, builder, argument_count(shell), cursor->text.origin[start]);
		else
			add_mark(shell, builder, SHELL_VALUE, cursor, start);
		return 0;
	}
	look_up(shell, &p, has_subscript ? &subscript : NULL);
	if (length_of)
		return add_length(shell, cursor, builder, &p, start);
	if (rest.length == 0)
		return plain_parameter(shell, cursor, builder, &p, start, quoted);
	result = with_operator(shell, builder, &p, &rest, quoted);
	if (result == 1)
		add_mark(shell, builder, SHELL_VALUE, cursor, start);
	return result < 0 ? -1 : 0;
}

/* $X, $1, $@ … without braces. */
static int
bare_parameter(
    struct shell *shell, struct shell_cursor *cursor, struct word_builder *builder, bool quoted)
{
	size_t start = cursor->at++, length = parameter_length(cursor, false);
	struct parameter p = {0};

	if (length == 0) {
		shell_put(shell, &builder->text, '$', cursor->text.origin[start]);
		builder->have = true;
		return 0;
	}
	p.name = arena_strndup(shell->arena, cursor->text.bytes + cursor->at, length);
	cursor->at += length;
	if (p.name[0] == '#') {
		add_number(shell, builder, argument_count(shell), cursor->text.origin[start]);
		return 0;
	}
	if (strchr("!?-$", p.name[0])) {
		add_mark(shell, builder, SHELL_VALUE, cursor, start);
		return 0;
	}
	look_up(shell, &p, NULL);
	return plain_parameter(shell, cursor, builder, &p, start, quoted);
}

static int
one_dollar(
    struct shell *shell, struct shell_cursor *cursor, struct word_builder *builder, bool quoted)
{
	size_t start = cursor->at;
	char next = shell_peek(cursor, 1);
	int result;

	if (next == '(' && shell_peek(cursor, 2) == '(') {
		result = arithmetic(shell, cursor, builder);
		if (result != 1)
			return result;
	}
	if (next == '(')
		return substitution(shell, cursor, builder);
	if (next != '{')
		return bare_parameter(shell, cursor, builder, quoted);
	cursor->at += 2;
	return braces(shell, cursor, builder, start, quoted);
}

int
shell_dollar(
    struct shell *shell, struct shell_cursor *cursor, struct word_builder *builder, bool quoted)
{
	int result;

	if (!shell_spend(shell, 8))
		return -1;
	if (++shell->depth > SHELL_MAX_DEPTH)
		return shell_fail(shell, shell_origin(cursor), "expansions nest too deep");
	result = one_dollar(shell, cursor, builder, quoted);
	shell->depth--;
	return shell->failed ? -1 : result;
}
