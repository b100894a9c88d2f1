/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What is a condition's value? Exact 64-bit integers with overflow checks,
 * doubles where one side is a decimal or a quotient does not come out.
 */
#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "base/numeric.h"
#include "base/str.h"
#include "check/expr_private.h"

enum { MAX_ARGUMENTS = 40, MAX_SHOWN = 24 };

const struct value value_undecided = {.kind = VALUE_UNDECIDED};
const struct value value_hidden = {.kind = VALUE_HIDDEN};
const struct value value_unset = {.kind = VALUE_UNSET};

struct value
value_int(int64_t integer)
{
	return (struct value){.kind = VALUE_INT, .integer = integer};
}

struct value
value_number(double number)
{
	if (!isfinite(number))
		return value_undecided;
	return (struct value){.kind = VALUE_NUMBER, .number = number};
}

struct value
value_text(const char *text)
{
	return (struct value){.kind = VALUE_TEXT, .text = text};
}

struct value
value_list(const struct value *items, size_t count)
{
	return (struct value){.kind = VALUE_LIST, .items = items, .count = count};
}

bool
value_is_numeric(const struct value *value)
{
	return value->kind == VALUE_INT || value->kind == VALUE_NUMBER;
}

double
value_as_number(const struct value *value)
{
	return value->kind == VALUE_INT ? (double)value->integer : value->number;
}

int
value_truth(const struct value *value)
{
	switch (value->kind) {
	case VALUE_UNDECIDED:
	case VALUE_HIDDEN:
	case VALUE_UNSET:
		return -1;
	case VALUE_INT:
		return value->integer != 0;
	case VALUE_NUMBER:
		return value->number < 0 || value->number > 0;
	case VALUE_TEXT:
		return value->text[0] != '\0';
	case VALUE_LIST:
		return value->count > 0;
	}
	return -1;
}

static int
lists_equal(const struct value *a, const struct value *b)
{
	if (a->count != b->count)
		return 0;
	for (size_t i = 0; i < a->count; i++) {
		int equal = value_equal(&a->items[i], &b->items[i]);

		if (equal != 1)
			return equal;
	}
	return 1;
}

int
value_equal(const struct value *a, const struct value *b)
{
	if (a->kind <= VALUE_UNSET || b->kind <= VALUE_UNSET)
		return -1;
	if (a->kind == VALUE_INT && b->kind == VALUE_INT)
		return a->integer == b->integer;
	if (value_is_numeric(a) && value_is_numeric(b)) {
		double difference = value_as_number(a) - value_as_number(b);

		return !(difference < 0) && !(difference > 0);
	}
	if (a->kind != b->kind)
		return 0;
	return a->kind == VALUE_TEXT ? strcmp(a->text, b->text) == 0 : lists_equal(a, b);
}

static struct value
truth_value(int truth)
{
	return truth < 0 ? value_undecided : value_int(truth);
}

static struct value
divide(int64_t a, int64_t b)
{
	if (b == 0 || (a == INT64_MIN && b == -1))
		return value_undecided;
	return a % b == 0 ? value_int(a / b) : value_number((double)a / (double)b);
}

static struct value
integer_arithmetic(enum expr_op op, int64_t a, int64_t b)
{
	int64_t result;

	switch (op) {
	case EXPR_ADD:
		return __builtin_add_overflow(a, b, &result) ? value_undecided : value_int(result);
	case EXPR_SUBTRACT:
		return __builtin_sub_overflow(a, b, &result) ? value_undecided : value_int(result);
	case EXPR_MULTIPLY:
		return __builtin_mul_overflow(a, b, &result) ? value_undecided : value_int(result);
	case EXPR_DIVIDE:
		return divide(a, b);
	default:
		return b == 0 || (a == INT64_MIN && b == -1) ? value_undecided : value_int(a % b);
	}
}

static struct value
arithmetic(enum expr_op op, const struct value *a, const struct value *b)
{
	double x, y;

	if (!value_is_numeric(a) || !value_is_numeric(b))
		return value_undecided;
	if (a->kind == VALUE_INT && b->kind == VALUE_INT)
		return integer_arithmetic(op, a->integer, b->integer);
	x = value_as_number(a);
	y = value_as_number(b);
	switch (op) {
	case EXPR_ADD:
		return value_number(x + y);
	case EXPR_SUBTRACT:
		return value_number(x - y);
	case EXPR_MULTIPLY:
		return value_number(x * y);
	case EXPR_DIVIDE:
		return value_number(x / y);
	default:
		return value_undecided;
	}
}

static int
compare(enum expr_op op, const struct value *a, const struct value *b)
{
	int order;

	if (op == EXPR_EQUAL || op == EXPR_DIFFERENT) {
		int equal = value_equal(a, b);

		return equal < 0 ? -1 : op == EXPR_EQUAL ? equal : !equal;
	}
	if (!value_is_numeric(a) || !value_is_numeric(b))
		return -1;
	if (a->kind == VALUE_INT && b->kind == VALUE_INT)
		order = (a->integer > b->integer) - (a->integer < b->integer);
	else
		order = (value_as_number(a) > value_as_number(b)) -
			(value_as_number(a) < value_as_number(b));
	switch (op) {
	case EXPR_LESS:
		return order < 0;
	case EXPR_AT_MOST:
		return order <= 0;
	case EXPR_GREATER:
		return order > 0;
	default:
		return order >= 0;
	}
}

/* Kleene's logic: one side may be enough. */
static struct value
logic(const struct expr *expr, const struct expr_scope *scope)
{
	int enough = expr->op == EXPR_OR;
	struct value value = expr_evaluate(expr->first, scope);
	int left = value_truth(&value), right;

	if (left == enough)
		return value_int(enough);
	value = expr_evaluate(expr->first->next, scope);
	right = value_truth(&value);
	if (right == enough)
		return value_int(enough);
	return left < 0 || right < 0 ? value_undecided : value_int(!enough);
}

static struct value
call(const struct expr *expr, const struct expr_scope *scope)
{
	struct value arguments[MAX_ARGUMENTS];
	size_t n = 0;

	for (const struct expr *e = expr->first; e && n < MAX_ARGUMENTS; e = e->next) {
		arguments[n] = expr_evaluate(e, scope);
		if (arguments[n].kind <= VALUE_UNSET && !expr->function->raw)
			return value_undecided;
		n++;
	}
	return expr->function->call(scope, arguments, n);
}

static struct value
unary(enum expr_op op, const struct value *operand)
{
	if (op == EXPR_NOT) {
		int truth = value_truth(operand);

		return truth_value(truth < 0 ? -1 : !truth);
	}
	if (operand->kind == VALUE_INT && operand->integer != INT64_MIN)
		return value_int(-operand->integer);
	return operand->kind == VALUE_NUMBER ? value_number(-operand->number) : value_undecided;
}

struct value
expr_evaluate(const struct expr *expr, const struct expr_scope *scope)
{
	struct value a, b;

	switch (expr->op) {
	case EXPR_CONSTANT:
		return expr->constant;
	case EXPR_NAME:
		return scope->resolve(scope, expr->name);
	case EXPR_CALL:
		return call(expr, scope);
	case EXPR_AND:
	case EXPR_OR:
		return logic(expr, scope);
	case EXPR_NEGATE:
	case EXPR_NOT:
		a = expr_evaluate(expr->first, scope);
		return unary(expr->op, &a);
	default:
		a = expr_evaluate(expr->first, scope);
		b = expr_evaluate(expr->first->next, scope);
		if (expr->op >= EXPR_EQUAL)
			return truth_value(compare(expr->op, &a, &b));
		return arithmetic(expr->op, &a, &b);
	}
}

static const char *
show_list(struct arena *arena, const struct value *list)
{
	struct str text = str_new(arena);

	for (size_t i = 0; i < list->count; i++) {
		if (i > 0)
			str_add(&text, ", ");
		if (i == MAX_SHOWN) {
			str_add(&text, "...");
			break;
		}
		str_add(&text, value_show(arena, &list->items[i]));
	}
	return text.text;
}

const char *
value_show(struct arena *arena, const struct value *value)
{
	char number[32];

	switch (value->kind) {
	case VALUE_INT:
		return arena_printf(arena, "%lld", (long long)value->integer);
	case VALUE_NUMBER:
		/* Four digits are enough for a message; whole numbers keep theirs. */
		numeric_snprintf(number, sizeof(number),
		    fabs(value->number) >= 1000 ? "%.0f" : "%.4g", value->number);
		return arena_strdup(arena, number);
	case VALUE_TEXT:
		return value->text;
	case VALUE_LIST:
		return show_list(arena, value);
	case VALUE_UNDECIDED:
	case VALUE_HIDDEN:
	case VALUE_UNSET:
		break;
	}
	return "unknown";
}
