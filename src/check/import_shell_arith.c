/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What does shell arithmetic come to? int64 as in bash, but overflow, division by zero and
 * anything that is assigned inside make it unknown instead of something else. A name is the
 * value of the variable, which may be an expression again; one that is not set is unknown
 * too, since the environment may set it.
 */
#include <limits.h>
#include <string.h>

#include "base/arena.h"
#include "base/units.h"
#include "check/import_shell_private.h"

struct arith_reader {
	struct shell *shell;
	const char *at;
	bool unknown;
	int depth;
};

static int64_t ternary(struct arith_reader *r);

static int64_t
give_up(struct arith_reader *r)
{
	r->unknown = true;
	return 0;
}

static void
skip_blanks(struct arith_reader *r)
{
	r->at += strspn(r->at, " \t\n");
}

/* Takes an operator unless it is the beginning of a longer one. */
static bool
take(struct arith_reader *r, const char *operator)
{
	size_t length = strlen(operator);
	char next;

	skip_blanks(r);
	if (strncmp(r->at, operator, length) != 0)
		return false;
	next = r->at[length];
	if (length == 1 && strchr("<>=&|*", operator[0]) && next == operator[0])
		return false;
	if (next == '=' && strchr("<>=!+-*/%&|^", operator[0]) && operator[length - 1] != '=')
		return false;
	r->at += length;
	return true;
}

static int64_t
evaluate(struct shell *shell, const char *text, int depth, bool *unknown)
{
	struct arith_reader r = {.shell = shell, .at = text, .depth = depth + 1};
	int64_t value;

	if (r.depth > SHELL_MAX_DEPTH || !shell_spend(shell, 64)) {
		*unknown = true;
		return 0;
	}
	value = ternary(&r);
	skip_blanks(&r);
	*unknown = *unknown || r.unknown || *r.at != '\0';
	return value;
}

static int64_t
variable(struct arith_reader *r)
{
	size_t length = 0;
	struct shell_words words = {0};
	bool array;
	char *name;

	while (shell_is_name(r->at[length], length == 0))
		length++;
	name = arena_strndup(r->shell->arena, r->at, length);
	r->at += length;
	skip_blanks(r);
	if (*r->at == '[' || strncmp(r->at, "++", 2) == 0 || strncmp(r->at, "--", 2) == 0)
		return give_up(r);
	if (shell_lookup(r->shell, name, &words, &array) != LOOKUP_FOUND || words.count == 0 ||
	    shell_is_marked(&words.items[0]))
		return give_up(r);
	if (words.items[0].length == 0)
		return 0;
	return evaluate(r->shell, words.items[0].bytes, r->depth, &r->unknown);
}

static int
digit_of(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return 99;
}

/* Decimal, 0x…, 0… octal; 16#ff and the like are unknown. */
static int64_t
number(struct arith_reader *r)
{
	int base = 10;
	int64_t value = 0;

	if (r->at[0] == '0' && (r->at[1] == 'x' || r->at[1] == 'X')) {
		base = 16;
		r->at += 2;
	} else if (r->at[0] == '0') {
		base = 8;
	}
	for (; digit_of(*r->at) < 16; r->at++)
		if (digit_of(*r->at) >= base || __builtin_mul_overflow(value, base, &value) ||
		    __builtin_add_overflow(value, digit_of(*r->at), &value))
			return give_up(r);
	return shell_is_name(*r->at, true) || *r->at == '#' || *r->at == '.' ? give_up(r) : value;
}

static int64_t
primary(struct arith_reader *r)
{
	int64_t value;

	skip_blanks(r);
	if (++r->depth > SHELL_MAX_DEPTH || r->unknown)
		return give_up(r);
	if (take(r, "(")) {
		value = ternary(r);
		if (!take(r, ")"))
			give_up(r);
	} else if (shell_is_name(*r->at, true)) {
		value = variable(r);
	} else if (*r->at >= '0' && *r->at <= '9') {
		value = number(r);
	} else if (take(r, "-")) {
		value = primary(r);
		value = value == INT64_MIN ? give_up(r) : -value;
	} else if (take(r, "+")) {
		value = primary(r);
	} else if (take(r, "!")) {
		value = !primary(r);
	} else if (take(r, "~")) {
		value = ~primary(r);
	} else {
		value = give_up(r);
	}
	r->depth--;
	return value;
}

static int64_t
power(struct arith_reader *r)
{
	int64_t base = primary(r), exponent, value = 1;

	if (!take(r, "**"))
		return base;
	exponent = primary(r);
	if (exponent < 0 || exponent > 62)
		return give_up(r);
	while (exponent-- > 0)
		if (__builtin_mul_overflow(value, base, &value))
			return give_up(r);
	return value;
}

enum operation {
	OR,
	AND,
	BIT_OR,
	BIT_XOR,
	BIT_AND,
	EQUAL,
	UNEQUAL,
	AT_MOST,
	AT_LEAST,
	LESS,
	MORE,
	LEFT,
	RIGHT,
	ADD,
	SUBTRACT,
	MULTIPLY,
	DIVIDE,
	REMAINDER
};

/* By precedence, as in C; ** is above all of them. */
static const struct operator_row {
	const char *text;
	int level;
	enum operation operation;
} operators[] = {
    {"||", 0, OR},
    {"&&", 1, AND},
    {"|", 2, BIT_OR},
    {"^", 3, BIT_XOR},
    {"&", 4, BIT_AND},
    {"==", 5, EQUAL},
    {"!=", 5, UNEQUAL},
    {"<=", 6, AT_MOST},
    {">=", 6, AT_LEAST},
    {"<<", 7, LEFT},
    {">>", 7, RIGHT},
    {"<", 6, LESS},
    {">", 6, MORE},
    {"+", 8, ADD},
    {"-", 8, SUBTRACT},
    {"*", 9, MULTIPLY},
    {"/", 9, DIVIDE},
    {"%", 9, REMAINDER},
};
enum { LEVELS = 10 };

/* Overflow, division by zero and shifts of what would not fit are unknown. */
static int64_t
counted(struct arith_reader *r, enum operation operation, int64_t a, int64_t b)
{
	int64_t value = 0;
	bool bad;

	switch (operation) {
	case ADD:
		bad = __builtin_add_overflow(a, b, &value);
		break;
	case SUBTRACT:
		bad = __builtin_sub_overflow(a, b, &value);
		break;
	case MULTIPLY:
		bad = __builtin_mul_overflow(a, b, &value);
		break;
	case LEFT:
	case RIGHT:
		bad = b < 0 || b > 62 || a < 0 || (operation == LEFT && a > INT64_MAX >> b);
		value = bad ? 0 : operation == LEFT ? a << b : a >> b;
		break;
	default:
		bad = b == 0 || (a == INT64_MIN && b == -1);
		value = bad ? 0 : operation == DIVIDE ? a / b : a % b;
	}
	return bad ? give_up(r) : value;
}

static int64_t
apply(struct arith_reader *r, enum operation operation, int64_t a, int64_t b)
{
	switch (operation) {
	case OR:
		return a || b;
	case AND:
		return a && b;
	case BIT_OR:
		return a | b;
	case BIT_XOR:
		return a ^ b;
	case BIT_AND:
		return a & b;
	case EQUAL:
		return a == b;
	case UNEQUAL:
		return a != b;
	case AT_MOST:
		return a <= b;
	case AT_LEAST:
		return a >= b;
	case LESS:
		return a < b;
	case MORE:
		return a > b;
	default:
		return counted(r, operation, a, b);
	}
}

static const struct operator_row *
take_operator(struct arith_reader *r, int level)
{
	for (size_t i = 0; i < sizeof(operators) / sizeof(operators[0]); i++)
		if (operators[i].level == level && take(r, operators[i].text))
			return &operators[i];
	return NULL;
}

static int64_t
binary(struct arith_reader *r, int level)
{
	const struct operator_row *row;
	int64_t value;

	if (level == LEVELS)
		return power(r);
	value = binary(r, level + 1);
	while (!r->unknown && (row = take_operator(r, level)) != NULL)
		value = apply(r, row->operation, value, binary(r, level + 1));
	return value;
}

static int64_t
ternary(struct arith_reader *r)
{
	int64_t value, yes, no;

	if (++r->depth > SHELL_MAX_DEPTH)
		return give_up(r);
	value = binary(r, 0);
	if (take(r, "?")) {
		yes = ternary(r);
		if (!take(r, ":"))
			give_up(r);
		no = ternary(r);
		value = value ? yes : no;
	}
	r->depth--;
	return value;
}

enum arith
shell_arith(struct shell *shell, const struct shell_text *text, int64_t *value)
{
	bool unknown = false;

	if (shell_is_marked(text))
		return ARITH_UNKNOWN;
	*value = evaluate(shell, text->bytes, 0, &unknown);
	return unknown ? ARITH_UNKNOWN : ARITH_OK;
}
