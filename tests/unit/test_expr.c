/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Are conditions read and computed exactly, and undecided where nobody can tell? */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "check/expr.h"

static struct arena *arena;
static struct diags *diags;
static struct expr_scope scope;

static void
out_of_memory(void *context)
{
	(void)context;
	abort();
}

static struct value
resolve(const struct expr_scope *unused, const char *name)
{
	static const struct value list[] = {{.kind = VALUE_INT, .integer = 2},
	    {.kind = VALUE_INT, .integer = 3}, {.kind = VALUE_INT, .integer = 4}};

	(void)unused;
	if (strcmp(name, "six") == 0)
		return value_int(6);
	if (strcmp(name, "half") == 0)
		return value_number(0.5);
	if (strcmp(name, "zero.stage") == 0)
		return value_int(3);
	if (strcmp(name, "word") == 0)
		return value_text("alltoall");
	if (strcmp(name, "most") == 0)
		return value_int(INT64_MAX);
	if (strcmp(name, "list") == 0)
		return value_list(list, 3);
	return strcmp(name, "absent") == 0 ? value_unset : value_undecided;
}

static void
set_up(void)
{
	arena = arena_new(out_of_memory, NULL);
	diags = diags_new(arena);
	scope = (struct expr_scope){arena, resolve, NULL};
}

static void
tear_down(void)
{
	arena_free(arena);
}

TestSuite(expr, .init = set_up, .fini = tear_down);

static struct value
compute(const char *text)
{
	static const struct expr_function *const tables[] = {expr_functions, NULL};
	const struct expr *expr = expr_parse(arena, diags, text, tables);

	cr_assert_not_null(expr, "%s: %s", text, diags->last ? diags->last->message : "");
	return expr_evaluate(expr, &scope);
}

static void
expect_int(const char *text, int64_t wanted)
{
	struct value value = compute(text);

	cr_assert_eq(value.kind, VALUE_INT, "%s is of kind %d", text, (int)value.kind);
	cr_assert_eq(value.integer, wanted, "%s is %lld, not %lld", text, (long long)value.integer,
	    (long long)wanted);
}

static void
expect_undecided(const char *text)
{
	struct value value = compute(text);

	cr_assert_eq(value_truth(&value), -1, "%s is decided", text);
}

static void
expect_shown(const char *text, const char *wanted)
{
	struct value value = compute(text);

	cr_assert_str_eq(value_show(arena, &value), wanted, "%s", text);
}

Test(expr, precedence)
{
	expect_int("1 + 2 * 3", 7);
	expect_int("(1 + 2) * 3", 9);
	expect_int("10 - 2 - 3", 5);
	expect_int("-2 * 3", -6);
	expect_int("7 % 4 + 1", 4);
	expect_int("1 + 1 == 2 and 3 < 4", 1);
	expect_int("not 1 == 2", 1);
	expect_int("0 or 1 and 0", 0);
	expect_int("1 <= 1", 1);
	expect_int("2 >= 3", 0);
	expect_int("zero.stage == 3", 1);
}

Test(expr, exact_integers)
{
	expect_int("9007199254740993 - 1", 9007199254740992);
	expect_int("6 / 3", 2);
	expect_shown("5 / 2", "2.5");
	expect_int("floor(5 / 2)", 2);
	expect_int("ceil(5 / 2)", 3);
	expect_int("six * 0", 0);
}

Test(expr, undecided_instead_of_wrong)
{
	expect_undecided("most + 1");
	expect_undecided("most * 2");
	expect_undecided("-most - 2");
	expect_undecided("six / 0");
	expect_undecided("six % 0");
	expect_undecided("word + 1");
	expect_undecided("word < 1");
	expect_undecided("nobody == 1");
	expect_undecided("absent == 1");
	expect_undecided("half % 2");
}

Test(expr, one_side_is_enough)
{
	expect_int("nobody == 1 or 1", 1);
	expect_int("nobody == 1 and 0", 0);
	expect_undecided("nobody == 1 and 1");
	expect_undecided("nobody == 1 or 0");
	expect_undecided("not nobody");
}

Test(expr, what_is_there)
{
	expect_int("set(six)", 1);
	expect_int("set(absent)", 0);
	expect_undecided("set(nobody)");
	expect_int("get(absent, 7)", 7);
	expect_int("get(six, 7)", 6);
	expect_undecided("get(nobody, 7)");
	expect_int("given(nobody, 7)", 7);
	expect_int("said(nobody)", 0);
	expect_int("on(absent)", 0);
	expect_int("on(six)", 1);
	expect_undecided("on(nobody)");
	expect_int("if(six == 6, 1, nobody)", 1);
}

Test(expr, text_and_lists)
{
	expect_int("word == 'alltoall'", 1);
	expect_int("word == \"flex\"", 0);
	expect_int("word == 1", 0);
	expect_int("in(word, 'flex', 'alltoall')", 1);
	expect_int("in(list, 2, 3, 4, 5)", 1);
	expect_int("in(list, 2, 3)", 0);
	expect_int("has(list, 4)", 1);
	expect_int("has(list, 5)", 0);
	expect_int("count(list)", 3);
	expect_int("count(six)", 1);
	expect_int("product(list)", 24);
	expect_int("sum(list)", 9);
	expect_int("max(list) - min(list)", 2);
	expect_int("all_equal(list, 2)", 0);
	expect_int("contains(word, 'to')", 1);
	expect_int("pieces('a|b|c', '|')", 3);
	expect_shown("list", "2, 3, 4");
	expect_shown("join(list, ' ')", "2 3 4");
}

Test(expr, divisors)
{
	expect_shown("divisors(46)", "1, 2, 23, 46");
	expect_shown("divisors(24, 128)", "1, 2, 4, 8");
	expect_int("nearest_divisor(4, 8)", 4);
	expect_int("nearest_divisor(12, 5)", 4);
	expect_int("multiple_above(2020, 64)", 2048);
	expect_int("multiple_below(2020, 64)", 1984);
	expect_int("lcm(32, 64)", 64);
	expect_undecided("nearest_divisor(0, 4)");
	expect_undecided("divisors(0)");
}

Test(expr, mistakes_are_found)
{
	static const char *const bad[] = {"", "1 +", "(1", "1 2", "foo(", "foo(1)", "set()",
	    "get(six)", "'open", "1 = 2", "a b", "1 ++ 2 )", "9999999999999999999999x", "* 2",
	    "min()"};
	static const struct expr_function *const tables[] = {expr_functions, NULL};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		int before = diags->errors;

		cr_assert_null(expr_parse(arena, diags, bad[i], tables), "'%s' is read", bad[i]);
		cr_assert_eq(diags->errors, before + 1, "'%s' has no message", bad[i]);
	}
}

Test(expr, deep_nesting_ends)
{
	static const struct expr_function *const tables[] = {expr_functions, NULL};
	char text[4096];

	memset(text, '(', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	cr_assert_null(expr_parse(arena, diags, text, tables));
	memset(text, '-', sizeof(text) - 1);
	cr_assert_null(expr_parse(arena, diags, text, tables));
}

static void
count_name(void *context, const char *name)
{
	*(int *)context += strcmp(name, "six") == 0 ? 1 : 10;
}

Test(expr, names_of_a_condition)
{
	static const struct expr_function *const tables[] = {expr_functions, NULL};
	const struct expr *expr =
	    expr_parse(arena, diags, "six + six == set(absent) or word == 'six'", tables);
	int seen = 0;

	cr_assert_not_null(expr);
	expr_names(expr, count_name, &seen);
	cr_assert_eq(seen, 22);
}
