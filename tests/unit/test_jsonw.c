/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The JSON writer: layout, numbers that read back the same, strings. */
#include <criterion/criterion.h>
#include <float.h>
#include <locale.h>
#include <math.h>
#include <signal.h>
#include <string.h>

#include "base/arena.h"
#include "base/doc.h"
#include "base/jsonw.h"

#define ROWS(table) (sizeof(table) / sizeof((table)[0]))

static struct arena *arena;

static void
set_up(void)
{
	arena = arena_new(NULL, NULL);
}

static void
tear_down(void)
{
	arena_free(arena);
}

TestSuite(jsonw, .init = set_up, .fini = tear_down);

Test(jsonw, layout)
{
	struct jsonw w = jsonw_new(arena);

	jsonw_open(&w, NULL);
	jsonw_string(&w, "schema", "moeplan/test/v1");
	jsonw_open(&w, "tool");
	jsonw_int(&w, "n", -5);
	jsonw_close(&w);
	jsonw_list(&w, "list");
	jsonw_open(&w, NULL);
	jsonw_bool(&w, "yes", true);
	jsonw_close(&w);
	jsonw_row(&w, NULL);
	jsonw_int(&w, NULL, 1);
	jsonw_double(&w, NULL, 0.5);
	jsonw_close(&w);
	jsonw_close(&w);
	jsonw_row(&w, "row");
	jsonw_string(&w, NULL, NULL);
	jsonw_bool(&w, NULL, false);
	jsonw_close(&w);
	jsonw_open(&w, "empty");
	jsonw_close(&w);
	jsonw_list(&w, "none");
	jsonw_close(&w);
	jsonw_close(&w);
	cr_assert_str_eq(jsonw_end(&w), "{\n"
					"  \"schema\": \"moeplan/test/v1\",\n"
					"  \"tool\": {\n"
					"    \"n\": -5\n"
					"  },\n"
					"  \"list\": [\n"
					"    {\n"
					"      \"yes\": true\n"
					"    },\n"
					"    [1, 0.5]\n"
					"  ],\n"
					"  \"row\": [null, false],\n"
					"  \"empty\": {},\n"
					"  \"none\": []\n"
					"}\n");
}

Test(jsonw, containers_in_a_row_stay_on_its_line)
{
	struct jsonw w = jsonw_new(arena);

	jsonw_row(&w, NULL);
	jsonw_open(&w, NULL);
	jsonw_int(&w, "a", 1);
	jsonw_int(&w, "b", 2);
	jsonw_close(&w);
	jsonw_list(&w, NULL);
	jsonw_int(&w, NULL, 3);
	jsonw_close(&w);
	jsonw_close(&w);
	cr_assert_str_eq(jsonw_end(&w), "[{\"a\": 1, \"b\": 2}, [3]]\n");
}

static const char *
one_double(double value)
{
	struct jsonw w = jsonw_new(arena);

	jsonw_double(&w, NULL, value);
	return jsonw_end(&w);
}

Test(jsonw, doubles_are_short)
{
	static const struct {
		double value;
		const char *text;
	} rows[] = {
	    {0, "0\n"},
	    {1, "1\n"},
	    {0.1, "0.1\n"},
	    {1.0 / 3, "0.3333333333333333\n"},
	    {0.1 + 0.2, "0.30000000000000004\n"},
	    {11.2, "11.2\n"},
	    {1e21, "1e+21\n"},
	    {76557792051.2, "76557792051.2\n"},
	    {NAN, "null\n"},
	    {INFINITY, "null\n"},
	    {-INFINITY, "null\n"},
	};

	for (size_t i = 0; i < ROWS(rows); i++)
		cr_assert_str_eq(one_double(rows[i].value), rows[i].text, "row %zu: %s", i,
		    one_double(rows[i].value));
}

static double
read_back(const char *text)
{
	struct diags *diags = diags_new(arena);
	const char *list = arena_printf(arena, "[%s]", text);
	const struct doc *doc = doc_parse(arena, diags, "x", list, strlen(list));

	cr_assert_not_null(doc, "%s", list);
	return doc->first->number;
}

Test(jsonw, doubles_read_back_the_same)
{
	static const double rows[] = {DBL_MIN, DBL_MAX, -DBL_MAX, DBL_TRUE_MIN, DBL_EPSILON, 1e22,
	    1e23, 9007199254740993.0, 5e-324, 123456789012345678.0};
	uint64_t bits = 1;

	for (size_t i = 0; i < ROWS(rows); i++)
		cr_assert_eq(read_back(one_double(rows[i])), rows[i], "%g", rows[i]);
	for (int i = 0; i < 3000; i++) {
		double value;

		bits = bits * 6364136223846793005u + 1442695040888963407u;
		memcpy(&value, &bits, sizeof(value));
		if (isfinite(value))
			cr_assert_eq(read_back(one_double(value)), value, "%.17g", value);
	}
}

Test(jsonw, integers_are_exact)
{
	struct jsonw w = jsonw_new(arena);

	jsonw_row(&w, NULL);
	jsonw_int(&w, NULL, INT64_MIN);
	jsonw_int(&w, NULL, INT64_MAX);
	jsonw_uint(&w, NULL, UINT64_MAX);
	jsonw_close(&w);
	cr_assert_str_eq(
	    jsonw_end(&w), "[-9223372036854775808, 9223372036854775807, 18446744073709551615]\n");
}

Test(jsonw, strings_are_escaped)
{
	static const struct {
		const char *value, *text;
	} rows[] = {
	    {"", "\"\"\n"},
	    {"a\"b\\c", "\"a\\\"b\\\\c\"\n"},
	    {"\n\t\r\x01\x1f\x7f", "\"\\n\\t\\u000d\\u0001\\u001f\\u007f\"\n"},
	    {"\xc3\xa9\xf0\x9f\x98\x80", "\"\xc3\xa9\xf0\x9f\x98\x80\"\n"},
	    {"a\xff"
	     "b\xc3",
		"\"a\xef\xbf\xbd"
		"b\xef\xbf\xbd\"\n"},
	    {"\xe2\x82", "\"\xef\xbf\xbd\xef\xbf\xbd\"\n"},
	    {"a/b", "\"a/b\"\n"},
	};

	for (size_t i = 0; i < ROWS(rows); i++) {
		struct jsonw w = jsonw_new(arena);
		const char *text;

		jsonw_string(&w, NULL, rows[i].value);
		text = jsonw_end(&w);
		cr_assert_str_eq(text, rows[i].text, "row %zu: %s", i, text);
	}
}

Test(jsonw, keys_are_escaped_too)
{
	struct jsonw w = jsonw_new(arena);

	jsonw_open(&w, NULL);
	jsonw_int(&w, "a\"b", 1);
	jsonw_close(&w);
	cr_assert_str_eq(jsonw_end(&w), "{\n  \"a\\\"b\": 1\n}\n");
}

Test(jsonw, what_is_written_is_read_the_same)
{
	struct jsonw w = jsonw_new(arena);
	struct diags *diags = diags_new(arena);
	const char *text;
	const struct doc *doc;

	jsonw_open(&w, NULL);
	jsonw_string(&w, "k\x01", "v\"\\\n\x1b\xc3\xa9");
	jsonw_row(&w, "n");
	jsonw_int(&w, NULL, -7);
	jsonw_double(&w, NULL, 0.1);
	jsonw_close(&w);
	jsonw_close(&w);
	text = jsonw_end(&w);
	doc = doc_parse(arena, diags, "x", text, strlen(text));
	cr_assert_not_null(doc);
	cr_assert_eq(diags->notes, 0);
	cr_assert_str_eq(doc_get(doc, "k\x01")->text, "v\"\\\n\x1b\xc3\xa9");
	cr_assert_eq(doc_item(doc_get(doc, "n"), 0)->integer, -7);
	cr_assert_eq(doc_item(doc_get(doc, "n"), 1)->number, 0.1);
}

Test(jsonw, a_key_in_a_list_is_a_bug, .signal = SIGABRT)
{
	struct jsonw w = jsonw_new(arena);

	jsonw_list(&w, NULL);
	jsonw_int(&w, "key", 1);
}

Test(jsonw, a_missing_key_is_a_bug, .signal = SIGABRT)
{
	struct jsonw w = jsonw_new(arena);

	jsonw_open(&w, NULL);
	jsonw_int(&w, NULL, 1);
}

Test(jsonw, an_open_container_at_the_end_is_a_bug, .signal = SIGABRT)
{
	struct jsonw w = jsonw_new(arena);

	jsonw_open(&w, NULL);
	jsonw_end(&w);
}

Test(jsonw, too_deep_is_a_bug, .signal = SIGABRT)
{
	struct jsonw w = jsonw_new(arena);

	for (int i = 0; i <= JSONW_MAX_DEPTH; i++)
		jsonw_list(&w, NULL);
}
