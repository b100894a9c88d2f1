/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How is a rule's condition read? A recursive-descent parser, one function a
 * level of precedence: or, and, not, comparison, + -, * / %, unary -, primary.
 * Conditions come from our own tables; a mistake in one is found by a test
 * that parses every row.
 */
#include "check/expr_private.h"

#include <string.h>

#include "base/arena.h"
#include "base/units.h"

enum { MAX_DEPTH = 64, MAX_WORD = 80 };

struct parser {
	struct arena *arena;
	struct diags *diags;
	const struct expr_function *const *tables;
	const char *text, *at;
	int depth;
	bool failed;
};

static struct expr *parse_or(struct parser *p);

static struct expr *
fail(struct parser *p, const char *problem)
{
	if (!p->failed)
		diag_error(p->diags, (struct loc){NULL, 0, 0}, "'%s': %s at character %d", p->text,
		    problem, (int)(p->at - p->text) + 1);
	p->failed = true;
	return NULL;
}

static struct expr *
new_expr(struct parser *p, enum expr_op op, struct expr *left, struct expr *right)
{
	struct expr *expr = arena_alloc(p->arena, sizeof(*expr));

	expr->op = op;
	expr->first = left;
	if (left)
		left->next = right;
	return expr;
}

static void
skip_blanks(struct parser *p)
{
	while (*p->at == ' ' || *p->at == '\n' || *p->at == '\t')
		p->at++;
}

static bool
is_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_' || c == '.';
}

/* Takes `symbol` when it comes next; a word only when it ends there. */
static bool
take(struct parser *p, const char *symbol)
{
	size_t length = strlen(symbol);

	skip_blanks(p);
	if (strncmp(p->at, symbol, length) != 0)
		return false;
	if (is_word(symbol[0]) && is_word(p->at[length]))
		return false;
	p->at += length;
	return true;
}

static struct expr *
parse_number(struct parser *p, const char *word)
{
	struct expr *expr = new_expr(p, EXPR_CONSTANT, NULL, NULL);
	int64_t integer;
	double number;

	if (units_parse_integer(word, &integer))
		expr->constant = value_int(integer);
	else if (units_parse_number(word, &number))
		expr->constant = value_number(number);
	else
		return fail(p, "a number that cannot be read");
	return expr;
}

static struct expr *
parse_quoted(struct parser *p)
{
	struct expr *expr = new_expr(p, EXPR_CONSTANT, NULL, NULL);
	const char *end = strchr(p->at + 1, *p->at);

	if (!end)
		return fail(p, "a quote that is not closed");
	expr->constant = value_text(arena_strndup(p->arena, p->at + 1, (size_t)(end - p->at) - 1));
	p->at = end + 1;
	return expr;
}

static const struct expr_function *
find_function(const struct parser *p, const char *name)
{
	for (size_t i = 0; p->tables[i]; i++)
		for (const struct expr_function *f = p->tables[i]; f->name; f++)
			if (strcmp(f->name, name) == 0)
				return f;
	return NULL;
}

static struct expr *
parse_call(struct parser *p, const char *name)
{
	struct expr *call = new_expr(p, EXPR_CALL, NULL, NULL), **end = &call->first;
	int n = 0;

	call->function = find_function(p, name);
	if (!call->function)
		return fail(p, "an unknown function ends");
	while (!p->failed && !take(p, ")")) {
		if (n > 0 && !take(p, ","))
			return fail(p, "',' or ')' is missing");
		*end = parse_or(p);
		if (*end)
			end = &(*end)->next;
		n++;
	}
	if (!p->failed &&
	    (n < call->function->min || (call->function->max >= 0 && n > call->function->max)))
		return fail(p, "a call with a wrong number of arguments ends");
	return call;
}

static struct expr *
parse_word(struct parser *p)
{
	const char *start = p->at;
	struct expr *expr;
	char *word;

	while (is_word(*p->at))
		p->at++;
	if (p->at == start)
		return fail(p, "a value is missing");
	if (p->at - start > MAX_WORD)
		return fail(p, "a word too long ends");
	word = arena_strndup(p->arena, start, (size_t)(p->at - start));
	if (word[0] >= '0' && word[0] <= '9')
		return parse_number(p, word);
	if (take(p, "("))
		return parse_call(p, word);
	expr = new_expr(p, EXPR_NAME, NULL, NULL);
	expr->name = word;
	return expr;
}

static struct expr *
parse_primary(struct parser *p)
{
	struct expr *expr;

	if (take(p, "(")) {
		expr = parse_or(p);
		return take(p, ")") ? expr : fail(p, "')' is missing");
	}
	skip_blanks(p);
	return *p->at == '\'' || *p->at == '"' ? parse_quoted(p) : parse_word(p);
}

static struct expr *
parse_unary(struct parser *p)
{
	struct expr *expr;

	if (++p->depth > MAX_DEPTH)
		return fail(p, "nesting too deep");
	if (take(p, "-"))
		expr = new_expr(p, EXPR_NEGATE, parse_unary(p), NULL);
	else
		expr = parse_primary(p);
	p->depth--;
	return expr;
}

struct symbol {
	const char *text;
	enum expr_op op;
};

static const struct symbol products[] = {
    {"*", EXPR_MULTIPLY}, {"/", EXPR_DIVIDE}, {"%", EXPR_REMAINDER}, {NULL, EXPR_CONSTANT}};
static const struct symbol sums[] = {{"+", EXPR_ADD}, {"-", EXPR_SUBTRACT}, {NULL, EXPR_CONSTANT}};
/* Longer symbols first. */
static const struct symbol comparisons[] = {{"==", EXPR_EQUAL}, {"!=", EXPR_DIFFERENT},
    {"<=", EXPR_AT_MOST}, {">=", EXPR_AT_LEAST}, {"<", EXPR_LESS}, {">", EXPR_GREATER},
    {NULL, EXPR_CONSTANT}};

static const struct symbol *
take_symbol(struct parser *p, const struct symbol *symbols)
{
	for (; symbols->text; symbols++)
		if (take(p, symbols->text))
			return symbols;
	return NULL;
}

static struct expr *
parse_product(struct parser *p)
{
	struct expr *left = parse_unary(p);
	const struct symbol *symbol;

	while (!p->failed && (symbol = take_symbol(p, products)))
		left = new_expr(p, symbol->op, left, parse_unary(p));
	return left;
}

static struct expr *
parse_sum(struct parser *p)
{
	struct expr *left = parse_product(p);
	const struct symbol *symbol;

	while (!p->failed && (symbol = take_symbol(p, sums)))
		left = new_expr(p, symbol->op, left, parse_product(p));
	return left;
}

static struct expr *
parse_comparison(struct parser *p)
{
	struct expr *left = parse_sum(p);
	const struct symbol *symbol = p->failed ? NULL : take_symbol(p, comparisons);

	return symbol ? new_expr(p, symbol->op, left, parse_sum(p)) : left;
}

static struct expr *
parse_not(struct parser *p)
{
	struct expr *expr;

	if (++p->depth > MAX_DEPTH)
		return fail(p, "nesting too deep");
	expr = take(p, "not") ? new_expr(p, EXPR_NOT, parse_not(p), NULL) : parse_comparison(p);
	p->depth--;
	return expr;
}

static struct expr *
parse_and(struct parser *p)
{
	struct expr *left = parse_not(p);

	while (!p->failed && take(p, "and"))
		left = new_expr(p, EXPR_AND, left, parse_not(p));
	return left;
}

static struct expr *
parse_or(struct parser *p)
{
	struct expr *left = parse_and(p);

	while (!p->failed && take(p, "or"))
		left = new_expr(p, EXPR_OR, left, parse_and(p));
	return left;
}

const struct expr *
expr_parse(struct arena *arena, struct diags *diags, const char *text,
    const struct expr_function *const *tables)
{
	struct parser p = {arena, diags, tables, text, text, 0, false};
	struct expr *expr = parse_or(&p);

	skip_blanks(&p);
	if (!p.failed && *p.at)
		fail(&p, "something that does not belong here");
	return p.failed ? NULL : expr;
}

void
expr_names(const struct expr *expr, void (*visit)(void *context, const char *name), void *context)
{
	if (expr->op == EXPR_NAME)
		visit(context, expr->name);
	for (const struct expr *operand = expr->first; operand; operand = operand->next)
		expr_names(operand, visit, context);
}
