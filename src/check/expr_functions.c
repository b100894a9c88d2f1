/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What can a condition compute beside + - * / %? One row a function. Those that
 * need to know the configuration are in rules_functions.c.
 */
#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "base/str.h"
#include "base/units.h"
#include "check/expr.h"

enum { MAX_DIVISORS = 128, LARGEST_DIVIDED = 1 << 20 };

static struct value
call_set(const struct expr_scope *scope, const struct value *arguments, size_t count)
{
	(void)scope, (void)count;
	if (arguments[0].kind == VALUE_UNDECIDED)
		return value_undecided;
	return value_int(arguments[0].kind != VALUE_UNSET);
}

/* get(name, default): the default only when the name is known not to be there. */
static struct value
call_get(const struct expr_scope *scope, const struct value *arguments, size_t count)
{
	(void)scope, (void)count;
	return arguments[0].kind == VALUE_UNSET ? arguments[1] : arguments[0];
}

/* on(name): a flag that is there and not false. */
static struct value
call_on(const struct expr_scope *scope, const struct value *arguments, size_t count)
{
	int truth;

	(void)scope, (void)count;
	if (arguments[0].kind == VALUE_UNSET)
		return value_int(0);
	truth = value_truth(&arguments[0]);
	return truth < 0 ? value_undecided : value_int(truth);
}

/* said(name): it is there, for all that can be seen, whatever its value; never undecided. */
static struct value
call_said(const struct expr_scope *scope, const struct value *arguments, size_t count)
{
	(void)scope, (void)count;
	return value_int(arguments[0].kind > VALUE_UNSET || arguments[0].kind == VALUE_HIDDEN);
}

/*
 * given(name, default): the default when it is not there, for all that can be seen;
 * undecided when it is there and its value is not known.
 */
static struct value
call_given(const struct expr_scope *scope, const struct value *arguments, size_t count)
{
	(void)scope, (void)count;
	if (arguments[0].kind == VALUE_HIDDEN)
		return value_undecided;
	return arguments[arguments[0].kind > VALUE_UNSET ? 0 : 1];
}

static struct value
call_if(const struct expr_scope *scope, const struct value *arguments, size_t count)
{
	int truth = value_truth(&arguments[0]);

	(void)scope, (void)count;
	return truth < 0 ? value_undecided : arguments[truth ? 1 : 2];
}

static bool
is_one_of(const struct value *value, const struct value *allowed, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (allowed[i].kind == VALUE_LIST) {
			if (is_one_of(value, allowed[i].items, allowed[i].count))
				return true;
		} else if (value_equal(value, &allowed[i]) == 1) {
			return true;
		}
	}
	return false;
}

/* in(value, a, b …): a list is in when all its items are. */
static struct value
call_in(const struct expr_scope *scope, const struct value *arguments, size_t count)
{
	(void)scope;
	if (arguments[0].kind != VALUE_LIST)
		return value_int(is_one_of(&arguments[0], arguments + 1, count - 1));
	for (size_t i = 0; i < arguments[0].count; i++)
		if (!is_one_of(&arguments[0].items[i], arguments + 1, count - 1))
			return value_int(0);
	return value_int(1);
}

/* has(list, item): the list, or the single value, contains it. */
static struct value
call_has(const struct expr_scope *scope, const struct value *arguments, size_t count)
{
	(void)scope, (void)count;
	return value_int(is_one_of(&arguments[1], arguments, 1));
}

static struct value
call_count(const struct expr_scope *scope, const struct value *arguments, size_t count)
{
	(void)scope, (void)count;
	return value_int(arguments[0].kind == VALUE_LIST ? (int64_t)arguments[0].count : 1);
}

/* The arguments, or the items of the only one when that is a list. */
static const struct value *
items_of(const struct value *arguments, size_t *count)
{
	if (*count != 1 || arguments[0].kind != VALUE_LIST)
		return arguments;
	*count = arguments[0].count;
	return arguments[0].items;
}

static struct value
fold(const struct value *arguments, size_t count, char operation)
{
	const struct value *items = items_of(arguments, &count);
	int64_t total = operation == '*';

	for (size_t i = 0; i < count; i++) {
		bool overflow;

		if (items[i].kind != VALUE_INT)
			return value_undecided;
		overflow = operation == '*'
			       ? __builtin_mul_overflow(total, items[i].integer, &total)
			       : __builtin_add_overflow(total, items[i].integer, &total);
		if (overflow)
			return value_undecided;
	}
	return value_int(total);
}

static struct value
call_sum(const struct expr_scope *scope, const struct value *arguments, size_t count)
{
	(void)scope;
	return fold(arguments, count, '+');
}

static struct value
call_product(const struct expr_scope *scope, const struct value *arguments, size_t count)
{
	(void)scope;
	return fold(arguments, count, '*');
}

static struct value
extreme(const struct value *arguments, size_t count, bool greatest)
{
	const struct value *items = items_of(arguments, &count), *best = NULL;

	for (size_t i = 0; i < count; i++) {
		if (!value_is_numeric(&items[i]))
			return value_undecided;
		if (!best || (value_as_number(&items[i]) > value_as_number(best)) == greatest)
			best = &items[i];
	}
	return best ? *best : value_undecided;
}

static struct value
call_min(const struct expr_scope *scope, const struct value *arguments, size_t count)
{
	(void)scope;
	return extreme(arguments, count, false);
}

static struct value
call_max(const struct expr_scope *scope, const struct value *arguments, size_t count)
{
	(void)scope;
	return extreme(arguments, count, true);
}

static struct value
rounded(const struct value *value, double (*rounding)(double))
{
	double result;

	if (value->kind == VALUE_INT)
		return *value;
	if (value->kind != VALUE_NUMBER)
		return value_undecided;
	result = rounding(value->number);
	return fabs(result) < 9e15 ? value_int((int64_t)result) : value_undecided;
}

static struct value
call_ceil(const struct expr_scope *scope, const struct value *arguments, size_t count)
{
	(void)scope, (void)count;
	return rounded(&arguments[0], ceil);
}

static struct value
call_floor(const struct expr_scope *scope, const struct value *arguments, size_t count)
{
	(void)scope, (void)count;
	return rounded(&arguments[0], floor);
}

/* whole(x): x when it is a whole number, else undecided. */
static struct value
call_whole(const struct expr_scope *scope, const struct value *arguments, size_t count)
{
	(void)scope, (void)count;
	return arguments[0].kind == VALUE_INT && arguments[0].integer > 0 ? arguments[0]
									  : value_undecided;
}

/* all_equal(list, value) */
static struct value
call_all_equal(const struct expr_scope *scope, const struct value *arguments, size_t count)
{
	const struct value *items;

	(void)scope;
	count = 1;
	items = items_of(arguments, &count);
	for (size_t i = 0; i < count; i++)
		if (value_equal(&items[i], &arguments[1]) != 1)
			return value_int(0);
	return value_int(1);
}

/* join(list, separator) */
static struct value
call_join(const struct expr_scope *scope, const struct value *arguments, size_t count)
{
	struct str text = str_new(scope->arena);
	const struct value *items;

	if (arguments[1].kind != VALUE_TEXT)
		return value_undecided;
	count = 1;
	items = items_of(arguments, &count);
	for (size_t i = 0; i < count; i++) {
		str_add(&text, i > 0 ? arguments[1].text : "");
		str_add(&text, value_show(scope->arena, &items[i]));
	}
	return value_text(text.text);
}

static bool
both_positive(const struct value *arguments)
{
	return arguments[0].kind == VALUE_INT && arguments[1].kind == VALUE_INT &&
	       arguments[0].integer > 0 && arguments[1].integer > 0;
}

/* divisors(n) and divisors(n, m): those of n that divide m too. */
static struct value
call_divisors(const struct expr_scope *scope, const struct value *arguments, size_t count)
{
	struct value *items = arena_array(scope->arena, MAX_DIVISORS, sizeof(*items));
	int64_t other = count > 1 ? arguments[1].integer : 0;
	size_t n = 0;

	if (arguments[0].kind != VALUE_INT || arguments[0].integer < 1 ||
	    arguments[0].integer > LARGEST_DIVIDED || (count > 1 && arguments[1].kind != VALUE_INT))
		return value_undecided;
	for (int64_t d = 1; d <= arguments[0].integer && n < MAX_DIVISORS; d++)
		if (arguments[0].integer % d == 0 && other % d == 0)
			items[n++] = value_int(d);
	return value_list(items, n);
}

/* nearest_divisor(n, v): the greatest divisor of n that is at most v. */
static struct value
call_nearest_divisor(const struct expr_scope *scope, const struct value *arguments, size_t count)
{
	int64_t n, d;

	(void)scope, (void)count;
	if (!both_positive(arguments) || arguments[0].integer > LARGEST_DIVIDED)
		return value_undecided;
	n = arguments[0].integer;
	d = arguments[1].integer < n ? arguments[1].integer : n;
	while (n % d != 0)
		d--;
	return value_int(d);
}

/* multiple_above(v, n), multiple_below(v, n): the multiples of n nearest to v. */
static struct value
call_multiple_above(const struct expr_scope *scope, const struct value *arguments, size_t count)
{
	int64_t v = arguments[0].integer, n = arguments[1].integer;

	(void)scope, (void)count;
	if (!both_positive(arguments) || v > INT64_MAX - n)
		return value_undecided;
	return value_int((v + n - 1) / n * n);
}

static struct value
call_multiple_below(const struct expr_scope *scope, const struct value *arguments, size_t count)
{
	(void)scope, (void)count;
	if (!both_positive(arguments))
		return value_undecided;
	return value_int(arguments[0].integer / arguments[1].integer * arguments[1].integer);
}

static struct value
call_lcm(const struct expr_scope *scope, const struct value *arguments, size_t count)
{
	int64_t a, b, product;

	(void)scope, (void)count;
	if (!both_positive(arguments))
		return value_undecided;
	a = arguments[0].integer;
	b = arguments[1].integer;
	while (b != 0) {
		int64_t rest = a % b;

		a = b;
		b = rest;
	}
	if (__builtin_mul_overflow(arguments[0].integer / a, arguments[1].integer, &product))
		return value_undecided;
	return value_int(product);
}

static struct value
call_gib(const struct expr_scope *scope, const struct value *arguments, size_t count)
{
	(void)count;
	if (!value_is_numeric(&arguments[0]))
		return value_undecided;
	return value_text(units_gib(scope->arena, value_as_number(&arguments[0])));
}

static struct value
call_percent(const struct expr_scope *scope, const struct value *arguments, size_t count)
{
	(void)count;
	if (!value_is_numeric(&arguments[0]))
		return value_undecided;
	return value_text(units_percent(scope->arena, value_as_number(&arguments[0])));
}

static struct value
call_grouped(const struct expr_scope *scope, const struct value *arguments, size_t count)
{
	(void)count;
	if (arguments[0].kind != VALUE_INT)
		return value_undecided;
	return value_text(units_grouped(scope->arena, arguments[0].integer));
}

/* contains(text, part) */
static struct value
call_contains(const struct expr_scope *scope, const struct value *arguments, size_t count)
{
	(void)scope, (void)count;
	if (arguments[0].kind != VALUE_TEXT || arguments[1].kind != VALUE_TEXT)
		return value_undecided;
	return value_int(strstr(arguments[0].text, arguments[1].text) != NULL);
}

/* pieces(text, separator): how many pieces the separator cuts the text into. */
static struct value
call_pieces(const struct expr_scope *scope, const struct value *arguments, size_t count)
{
	int64_t n = 1;

	(void)scope, (void)count;
	if (arguments[0].kind != VALUE_TEXT || arguments[1].kind != VALUE_TEXT ||
	    !arguments[1].text[0])
		return value_undecided;
	for (const char *at = arguments[0].text; (at = strstr(at, arguments[1].text)) != NULL;
	     at += strlen(arguments[1].text))
		n++;
	return value_int(n);
}

const struct expr_function expr_functions[] = {
    {"set", 1, 1, true, call_set},
    {"get", 2, 2, true, call_get},
    {"on", 1, 1, true, call_on},
    {"said", 1, 1, true, call_said},
    {"given", 2, 2, true, call_given},
    {"if", 3, 3, true, call_if},
    {"in", 2, -1, false, call_in},
    {"has", 2, 2, false, call_has},
    {"count", 1, 1, false, call_count},
    {"sum", 1, -1, false, call_sum},
    {"product", 1, -1, false, call_product},
    {"min", 1, -1, false, call_min},
    {"max", 1, -1, false, call_max},
    {"ceil", 1, 1, false, call_ceil},
    {"floor", 1, 1, false, call_floor},
    {"whole", 1, 1, false, call_whole},
    {"all_equal", 2, 2, false, call_all_equal},
    {"join", 2, 2, false, call_join},
    {"divisors", 1, 2, false, call_divisors},
    {"nearest_divisor", 2, 2, false, call_nearest_divisor},
    {"multiple_above", 2, 2, false, call_multiple_above},
    {"multiple_below", 2, 2, false, call_multiple_below},
    {"lcm", 2, 2, false, call_lcm},
    {"gib", 1, 1, false, call_gib},
    {"percent", 1, 1, false, call_percent},
    {"grouped", 1, 1, false, call_grouped},
    {"contains", 2, 2, false, call_contains},
    {"pieces", 2, 2, false, call_pieces},
    {.name = NULL},
};
