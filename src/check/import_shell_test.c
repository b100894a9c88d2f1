/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Is a condition of a script true, as far as it can be told? [ … ], test, [[ … ]] about text
 * and numbers. What asks for files, or holds something unknown, is unknown.
 */
#include <string.h>

#include "base/units.h"
#include "check/import_shell_private.h"

static enum shell_truth
truth_of(bool condition)
{
	return condition ? SHELL_TRUE : SHELL_FALSE;
}

static enum shell_truth not(enum shell_truth truth) {
	return truth == SHELL_UNKNOWN ? truth : truth_of(truth == SHELL_FALSE);
}

/* Bytes of a word outside of marks; -1 when it holds more than unset variables. */
static int
bytes_of(const struct shell_text *word)
{
	int bytes = 0;

	for (size_t i = 0; i < word->length; i++) {
		if (word->bytes[i] == SHELL_VALUE || word->bytes[i] == SHELL_WORDS)
			return -1;
		if (word->bytes[i] == SHELL_UNSET)
			i += strcspn(word->bytes + i, "\x02");
		else
			bytes++;
	}
	return bytes;
}

/* Nothing is set that the script does not set, so a variable of the environment is empty. */
static enum shell_truth
one_word(const struct shell_text *word)
{
	int bytes = bytes_of(word);

	return bytes < 0 ? SHELL_UNKNOWN : truth_of(bytes > 0);
}

static enum shell_truth
unary(const struct shell_text *operator, const struct shell_text * word)
{
	if (shell_equals(operator, "!"))
		return not(one_word(word));
	if (shell_equals(operator, "-n"))
		return one_word(word);
	if (shell_equals(operator, "-z"))
		return not(one_word(word));
	return SHELL_UNKNOWN;
}

static enum shell_truth
compare_numbers(const char *operator, int64_t a, int64_t b)
{
	static const char names[][4] = {"-eq", "-ne", "-lt", "-le", "-gt", "-ge"};
	const bool results[] = {a == b, a != b, a<b, a <= b, a> b, a >= b};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(operator, names[i]) == 0)
			return truth_of(results[i]);
	return SHELL_UNKNOWN;
}

/* "$5" and the like: a script that compares its arguments with words is started with some. */
static bool
is_argument(const struct shell_text *word)
{
	const char *mark = strchr(word->bytes, SHELL_UNSET);

	if (!mark || mark[1] != '$')
		return false;
	mark += mark[2] == '{' ? 3 : 2;
	return *mark >= '1' && *mark <= '9';
}

/* `pattern`: the right side has file name characters, which [[ == ]] matches with. */
static enum shell_truth
binary(const struct shell_text *left, const struct shell_text *operator,
    const struct shell_text * right, bool pattern)
{
	int64_t a, b;

	if (is_argument(left) && right->length > 0)
		return SHELL_UNKNOWN;
	if (bytes_of(left) == 0 && shell_is_marked(left) && !shell_is_marked(right) &&
	    !pattern && operator->bytes[0] != '-')
		return shell_equals(operator, "!=") ? truth_of(right->length > 0)
						    : truth_of(right->length == 0);
	if (shell_is_marked(left) || shell_is_marked(right) || shell_is_marked(operator))
		return SHELL_UNKNOWN;
	if (operator->bytes[0] == '-' && units_parse_integer(left->bytes, &a) &&
	    units_parse_integer(right->bytes, &b))
		return compare_numbers(operator->bytes, a, b);
	if (pattern)
		return SHELL_UNKNOWN;
	if (shell_equals(operator, "=") || shell_equals(operator, "=="))
		return truth_of(strcmp(left->bytes, right->bytes) == 0);
	if (shell_equals(operator, "!="))
		return truth_of(strcmp(left->bytes, right->bytes) != 0);
	return SHELL_UNKNOWN;
}

/* Words from..to of [ … ], without the brackets. Longer ones (-a, -o) are not looked into. */
enum shell_truth
shell_test(const struct shell_words *words, size_t from, size_t to)
{
	const struct shell_text *w = words->items + from;

	for (size_t i = from; i < to; i++)
		if (strchr(words->items[i].bytes, SHELL_WORDS))
			return SHELL_UNKNOWN;
	switch (to - from) {
	case 0:
		return SHELL_FALSE;
	case 1:
		return one_word(&w[0]);
	case 2:
		return unary(&w[0], &w[1]);
	case 3:
		return shell_equals(&w[0], "!") ? not(unary(&w[1], &w[2]))
						: binary(&w[0], &w[1], &w[2], false);
	case 4:
		return shell_equals(&w[0], "!") ? not(binary(&w[1], &w[2], &w[3], false))
						: SHELL_UNKNOWN;
	default:
		return SHELL_UNKNOWN;
	}
}

/* --- [[ … ]] -------------------------------------------------------------------------------- */

static enum shell_truth disjunction(struct shell *shell, struct shell_cursor *cursor);

static void
skip_space(struct shell_cursor *cursor)
{
	while (cursor->at < cursor->text.length && strchr(" \t\n\\", shell_peek(cursor, 0)))
		cursor->at++;
}

static bool
take(struct shell_cursor *cursor, const char *text)
{
	size_t length = strlen(text);

	skip_space(cursor);
	for (size_t i = 0; i < length; i++)
		if (shell_peek(cursor, i) != text[i])
			return false;
	cursor->at += length;
	return true;
}

static bool
at_end(struct shell_cursor *cursor)
{
	struct shell_cursor ahead = *cursor;

	return cursor->at >= cursor->text.length || take(&ahead, "]]") || take(&ahead, "&&") ||
	       take(&ahead, "||") || take(&ahead, ")");
}

/* One word; < and > are words of their own, a parenthesis inside a pattern belongs to it. */
static int
test_word(struct shell *shell, struct shell_cursor *cursor, struct shell_text *word, bool *pattern)
{
	struct shell_words words = {0};
	size_t before;

	skip_space(cursor);
	before = cursor->at;
	if (shell_word(shell, cursor, 0, &words, pattern) != 0)
		return -1;
	if (cursor->at == before) {
		shell_put(shell, &words.items[0], shell_peek(cursor, 0), shell_origin(cursor));
		cursor->at++;
	}
	*word = words.items[0];
	return shell->failed ? -1 : 0;
}

/* A regular expression is skipped: up to the blank in front of what follows. */
static int
skip_regex(struct shell *shell, struct shell_cursor *cursor)
{
	int depth = 0;

	skip_space(cursor);
	while (cursor->at < cursor->text.length) {
		char c = shell_peek(cursor, 0);
		struct shell_words ignored = {0};
		struct word_builder builder = {.out = &ignored};

		depth += (c == '(') - (c == ')');
		if (depth <= 0 && strchr(" \t\n", c))
			break;
		if (c == '"' && shell_double_quoted(shell, cursor, &builder) != 0)
			return -1;
		if (c == '\'' && shell_skip_single(shell, cursor) != 0)
			return -1;
		if (c != '"' && c != '\'')
			cursor->at += c == '\\' ? 2 : 1;
	}
	return 0;
}

static enum shell_truth
comparison(struct shell *shell, struct shell_cursor *cursor)
{
	struct shell_text words[3];
	bool pattern = false;
	int n = 0;

	while (n < 3 && !at_end(cursor)) {
		if (test_word(shell, cursor, &words[n], &pattern) != 0)
			return SHELL_UNKNOWN;
		n++;
		if (n == 2 && shell_equals(&words[1], "=~")) {
			skip_regex(shell, cursor);
			return SHELL_UNKNOWN;
		}
	}
	if (n == 3)
		return binary(&words[0], &words[1], &words[2], pattern);
	if (n == 2)
		return unary(&words[0], &words[1]);
	return n == 1 ? one_word(&words[0]) : SHELL_UNKNOWN;
}

static enum shell_truth
term(struct shell *shell, struct shell_cursor *cursor)
{
	enum shell_truth truth;

	if (++shell->depth > SHELL_MAX_DEPTH) {
		shell_fail(shell, shell_origin(cursor), "conditions nest too deep");
		return SHELL_UNKNOWN;
	}
	if (take(cursor, "! ")) {
		truth = not(term(shell, cursor));
	} else if (take(cursor, "(")) {
		truth = disjunction(shell, cursor);
		take(cursor, ")");
	} else {
		truth = comparison(shell, cursor);
	}
	shell->depth--;
	return truth;
}

static enum shell_truth
conjunction(struct shell *shell, struct shell_cursor *cursor)
{
	enum shell_truth truth = term(shell, cursor), other;

	while (!shell->failed && take(cursor, "&&")) {
		other = term(shell, cursor);
		if (truth == SHELL_FALSE || other == SHELL_FALSE)
			truth = SHELL_FALSE;
		else if (other == SHELL_UNKNOWN)
			truth = SHELL_UNKNOWN;
	}
	return truth;
}

static enum shell_truth
disjunction(struct shell *shell, struct shell_cursor *cursor)
{
	enum shell_truth truth = conjunction(shell, cursor), other;

	while (!shell->failed && take(cursor, "||")) {
		other = conjunction(shell, cursor);
		if (truth == SHELL_TRUE || other == SHELL_TRUE)
			truth = SHELL_TRUE;
		else if (other == SHELL_UNKNOWN)
			truth = SHELL_UNKNOWN;
	}
	return truth;
}

/* What is not understood is skipped up to the brackets, and unknown. */
int
shell_double_test(struct shell *shell, struct shell_cursor *cursor, enum shell_truth *truth)
{
	uint32_t start = shell_origin(cursor);

	*truth = disjunction(shell, cursor);
	while (!shell->failed && !take(cursor, "]]")) {
		struct shell_text ignored;

		*truth = SHELL_UNKNOWN;
		if (cursor->at >= cursor->text.length)
			return shell_fail(shell, start, "this '[[' is not closed");
		if (test_word(shell, cursor, &ignored, NULL) != 0)
			return -1;
	}
	return shell->failed ? -1 : 0;
}
