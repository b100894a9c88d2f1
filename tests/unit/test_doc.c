/* SPDX-License-Identifier: GPL-3.0-or-later */
/* JSON and YAML: what is read, where it stands, what is refused and how that is said. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "doc_fixture.h"

#define ROWS(table) (sizeof(table) / sizeof((table)[0]))

TestSuite(doc, .init = scratch_open, .fini = scratch_close);

Test(doc, json_values_and_places)
{
	const struct doc *doc =
	    parse_good("{\"a\": [1, -2.5e3,\n  \"x\"],\n\"b\": {\"c\": true, \"d\": null},"
		       "\r\n \"e\": false}\n");
	const struct doc *a = doc_get(doc, "a");
	const struct doc *b = doc_get(doc, "b");

	cr_assert_eq(doc->kind, DOC_MAP);
	cr_assert_eq(doc->count, 3);
	assert_place(doc, 1, 1);
	cr_assert_eq(a->kind, DOC_LIST);
	cr_assert_eq(a->count, 3);
	assert_place(a, 1, 7);
	cr_assert_eq(a->key_loc.column, 2);
	assert_place(doc_item(a, 1), 1, 11);
	cr_assert_str_eq(doc_item(a, 1)->text, "-2.5e3");
	cr_assert_eq(doc_item(a, 1)->number, -2500);
	cr_assert_not(doc_item(a, 1)->is_integer);
	assert_place(doc_item(a, 2), 2, 3);
	cr_assert(doc_item(a, 2)->quoted);
	cr_assert_null(doc_item(a, 3));
	assert_place(doc_get(b, "c"), 3, 12);
	cr_assert(doc_get(b, "c")->boolean);
	cr_assert(doc_is_null(doc_get(b, "d")));
	assert_place(doc_get(doc, "e"), 4, 7);
	cr_assert_eq(doc_get(doc, "e")->key_loc.line, 4);
	cr_assert_eq(doc_get(doc, "e")->kind, DOC_BOOL);
	cr_assert_not(doc_get(doc, "e")->boolean);
	cr_assert_eq(diags->notes, 0);
}

Test(doc, yaml_values_and_places)
{
	const struct doc *doc =
	    parse_good("# a comment\nname: my-h100\nnodes: 16   # sixteen\nlinks:\n"
		       "  scale_up: {domain_gpus: 8, GBps: 450.5}\nlist:\n- 1\n- [a, 'b']\n"
		       "text: |\n  two\n  lines\n");
	const struct doc *up = doc_get(doc_get(doc, "links"), "scale_up");

	cr_assert_eq(doc->count, 5);
	assert_place(doc_get(doc, "name"), 2, 7);
	cr_assert_str_eq(doc_get(doc, "name")->text, "my-h100");
	cr_assert_eq(doc_get(doc, "nodes")->integer, 16);
	assert_place(up, 5, 13);
	cr_assert_eq(up->key_loc.column, 3);
	cr_assert_eq(doc_get(up, "GBps")->number, 450.5);
	assert_place(doc_get(up, "GBps"), 5, 36);
	cr_assert_not(doc_item(doc_item(doc_get(doc, "list"), 1), 0)->quoted);
	cr_assert(doc_item(doc_item(doc_get(doc, "list"), 1), 1)->quoted);
	cr_assert_str_eq(doc_get(doc, "text")->text, "two\nlines\n");
}

struct plain {
	const char *text;
	enum doc_kind kind;
	double number;
	int64_t integer;
	bool is_integer;
};

static const struct plain plains[] = {
    {"~", DOC_NULL, 0, 0, false},
    {"null", DOC_NULL, 0, 0, false},
    {"true", DOC_BOOL, 0, 0, false},
    {"false", DOC_BOOL, 0, 0, false},
    {"yes", DOC_STRING, 0, 0, false},
    {"no", DOC_STRING, 0, 0, false},
    {"on", DOC_STRING, 0, 0, false},
    {"off", DOC_STRING, 0, 0, false},
    {"True", DOC_STRING, 0, 0, false},
    {"None", DOC_STRING, 0, 0, false},
    {"0", DOC_NUMBER, 0, 0, true},
    {"-0", DOC_NUMBER, 0, 0, true},
    {"+12", DOC_NUMBER, 12, 12, true},
    {"-7", DOC_NUMBER, -7, -7, true},
    {"010", DOC_NUMBER, 10, 10, true},
    {"0o17", DOC_NUMBER, 15, 15, true},
    {"0o8", DOC_STRING, 0, 0, false},
    {"0x1F", DOC_NUMBER, 31, 31, true},
    {"0x", DOC_STRING, 0, 0, false},
    {"0xg", DOC_STRING, 0, 0, false},
    {"0x7fffffffffffffff", DOC_NUMBER, 0x1p63, INT64_MAX, true},
    {"0x8000000000000000", DOC_NUMBER, 0x1p63, 0, false},
    {"9223372036854775807", DOC_NUMBER, 0x1p63, INT64_MAX, true},
    {"-9223372036854775808", DOC_NUMBER, -0x1p63, INT64_MIN, true},
    {"9223372036854775808", DOC_NUMBER, 0x1p63, 0, false},
    {"2.0", DOC_NUMBER, 2, 0, false},
    {"1e3", DOC_NUMBER, 1000, 0, false},
    {"1e-05", DOC_NUMBER, 1e-5, 0, false},
    {".5", DOC_NUMBER, 0.5, 0, false},
    {"5.", DOC_NUMBER, 5, 0, false},
    {"1e400", DOC_NUMBER, INFINITY, 0, false},
    {".inf", DOC_NUMBER, INFINITY, 0, false},
    {"-.inf", DOC_NUMBER, -INFINITY, 0, false},
    {"Infinity", DOC_NUMBER, INFINITY, 0, false},
    {"-Infinity", DOC_NUMBER, -INFINITY, 0, false},
    {"inf", DOC_STRING, 0, 0, false},
    {"nan", DOC_STRING, 0, 0, false},
    {"1e", DOC_STRING, 0, 0, false},
    {"1e+", DOC_STRING, 0, 0, false},
    {"1.2.3", DOC_STRING, 0, 0, false},
    {"1_000", DOC_STRING, 0, 0, false},
    {".", DOC_STRING, 0, 0, false},
    {"+", DOC_STRING, 0, 0, false},
    {"12:30", DOC_STRING, 0, 0, false},
    {"70GiB", DOC_STRING, 0, 0, false},
};

static void
check_plain(const struct doc *doc, const struct plain *row)
{
	cr_assert_eq(doc->kind, row->kind, "%s is %s", row->text, doc_kind_name(doc->kind));
	cr_assert_str_eq(doc->text, row->text);
	cr_assert_eq(doc->number, row->number, "%s: %g", row->text, doc->number);
	cr_assert_eq(doc->is_integer, row->is_integer, "%s", row->text);
	cr_assert_eq(doc->integer, row->integer, "%s", row->text);
	cr_assert_not(doc->quoted);
}

Test(doc, unquoted_words_in_files_and_in_options)
{
	struct doc *map = doc_new_map(arena, (struct loc){"--x", 0, 0});

	for (size_t i = 0; i < ROWS(plains); i++) {
		const char *text = arena_printf(arena, "a: %s\n", plains[i].text);

		check_plain(doc_get(parse_good(text), "a"), &plains[i]);
		check_plain(doc_add_scalar(arena, map, "x", plains[i].text, map->loc), &plains[i]);
	}
	cr_assert(isnan(doc_get(parse_good("a: .nan"), "a")->number));
	cr_assert(isnan(doc_get(parse_good("a: NaN"), "a")->number));
	cr_assert_eq(map->count, ROWS(plains));
	cr_assert_str_eq(doc_get(map, "x")->text, "~");
}

Test(doc, an_empty_value_is_null)
{
	const struct doc *doc = parse_good("a:\nb: ''\nc: [1, ~]\n");

	cr_assert_eq(doc_get(doc, "a")->kind, DOC_NULL);
	cr_assert_eq(doc_get(doc, "b")->kind, DOC_STRING);
	cr_assert_str_eq(doc_get(doc, "b")->text, "");
}

Test(doc, python_json_is_read_and_noted)
{
	const struct doc *doc =
	    parse_good("{\"a\": NaN, \"b\": -Infinity, \"c\": [Infinity, NaN]}");

	cr_assert_eq(doc_get(doc, "a")->kind, DOC_NUMBER);
	cr_assert(isnan(doc_get(doc, "a")->number));
	cr_assert_str_eq(doc_get(doc, "a")->text, "NaN");
	cr_assert_eq(doc_get(doc, "b")->number, -INFINITY);
	cr_assert_eq(doc_item(doc_get(doc, "c"), 0)->number, INFINITY);
	cr_assert_eq(diags->notes, 1);
	cr_assert_eq(diags->last->loc.column, 7);
}

Test(doc, comments_and_trailing_commas_are_read_and_noted_once)
{
	const struct doc *doc =
	    parse_good("// first\n{ /* , } */ \"a\": [1, 2, /* x */ ],\n"
		       "\"b\": \"no // comment, \\\"/* here */\", // yes, }\n}\n// end");

	cr_assert_eq(doc->count, 2);
	assert_place(doc, 2, 1);
	cr_assert_eq(doc_get(doc, "a")->count, 2);
	cr_assert_str_eq(doc_get(doc, "b")->text, "no // comment, \"/* here */");
	assert_place(doc_get(doc, "b"), 3, 6);
	cr_assert_eq(diags->notes, 2);
	cr_assert_eq(diags->first->loc.line, 1);
	cr_assert_eq(diags->last->loc.line, 2);
	cr_assert_eq(diags->last->loc.column, 23);
}

Test(doc, json_strings)
{
	static const struct {
		const char *json, *text;
	} rows[] = {
	    {"\"\"", ""},
	    {"\"a\\/b\\\\c\\\"d\\b\\f\\n\\r\\t\"", "a/b\\c\"d\b\f\n\r\t"},
	    {"\"\\u00e9\\u20AC\"", "\xc3\xa9\xe2\x82\xac"},
	    {"\"\\ud83d\\ude00!\"", "\xf0\x9f\x98\x80!"},
	    {"\"\xf0\x9f\x98\x80\"", "\xf0\x9f\x98\x80"},
	    {"\"\xe2\x80\xa8\xc2\x85\x7f\"", "\xe2\x80\xa8\xc2\x85\x7f"},
	    {"\"# no: comment\"", "# no: comment"},
	    {"\"<<\"", "<<"},
	};

	for (size_t i = 0; i < ROWS(rows); i++) {
		const struct doc *doc =
		    parse_good(arena_printf(arena, "{%s: [%s, 1]}", rows[i].json, rows[i].json));

		cr_assert_str_eq(doc->first->key, rows[i].text, "row %zu", i);
		cr_assert_str_eq(doc->first->first->text, rows[i].text, "row %zu", i);
		cr_assert_eq(doc->first->first->next->integer, 1);
	}
}

Test(doc, json_layouts_that_yaml_would_misread)
{
	char *key = arena_alloc(arena, 3001);
	const struct doc *doc = parse_good("\t{\"a\"\n:\n1,\"b\":\"x\"\t,\"c\"\t:[\n]}");

	cr_assert_eq(doc->count, 3);
	cr_assert_eq(doc_get(doc, "a")->integer, 1);
	assert_place(doc_get(doc, "a"), 3, 1);
	cr_assert_eq(doc_get(doc, "c")->kind, DOC_LIST);
	cr_assert_eq(doc_get(doc, "c")->count, 0);
	memset(key, 'k', 3000);
	doc = parse_good(arena_printf(arena, "{\"%s\": 5}", key));
	cr_assert_eq(doc_get(doc, key)->integer, 5);
}

Test(doc, long_json_numbers_are_read)
{
	const struct doc *doc =
	    parse_good("[1000000000000000000000000000000000000000000000000000000000000"
		       "000000000000000000000000000000, 0.1000000000000000055511151231257827"
		       "0211815834045410156250000000000000]");

	cr_assert_eq(doc->first->number, 1e90);
	cr_assert_not(doc->first->is_integer);
	cr_assert_eq(doc->first->next->number, 0.1);
}

Test(doc, a_byte_order_mark_is_skipped)
{
	assert_place(parse_good("\xef\xbb\xbf{\"a\": 1}"), 1, 1);
	assert_place(doc_get(parse_good("\xef\xbb\xbf"
					"a: 1"),
			 "a"),
	    1, 4);
}

static const struct refused bad_json[] = {
    {"{\"a\": 1", 1, 8, "ends before the '{' in line 1"},
    {"{\n\"a\": [1", 2, 8, "ends before the '[' in line 2"},
    {"{\"a\": 1]", 1, 8, "found ']', expected '}' for the '{' in line 1"},
    {"[1}", 1, 3, "found '}', expected ']'"},
    {"[1 2]", 1, 4, "found '2', expected ',' or a closing bracket"},
    {"[1, 2\n\n  x: 3]", 3, 3, "found 'x', expected a value"},
    {"{\"a\" 1}", 1, 6, "found '1', expected ':'"},
    {"{\"a\", \"b\": 1}", 1, 5, "found ',', expected ':'"},
    {"{\"a\"}", 1, 5, "found '}', expected ':'"},
    {"{\"a\": 1 \"b\": 2}", 1, 9, "found '\"', expected ',' or a closing bracket"},
    {"{\"a\": : 1}", 1, 7, "found ':', expected a value"},
    {"{\"a\":: 1}", 1, 6, "found ':', expected a value"},
    {"{\"a\":}", 1, 6, "found '}', expected a value"},
    {"{\"a\": 1 : 2}", 1, 9, "found ':', expected ',' or a closing bracket"},
    {"{a: 1}", 1, 2, "found 'a', expected a name in double quotes"},
    {"{\"a\": 1, b: 2}", 1, 10, "found 'b', expected a name in double quotes"},
    {"{,}", 1, 2, "found ',', expected a name in double quotes"},
    {"{1: 2}", 1, 2, "found '1', expected a name in double quotes"},
    {"{'a': 2}", 1, 2, "expected a name in double quotes"},
    {"{\"a\": 'b'}", 1, 7, "found ''b'', expected a value"},
    {"{\"a\": True}", 1, 7, "found 'True', expected a value"},
    {"{\"a\": nul}", 1, 7, "found 'nul', expected a value"},
    {"{\"a\": truefalse}", 1, 7, "found 'truefalse', expected a value"},
    {"[,]", 1, 2, "found ',', expected a value"},
    {"[1,,]", 1, 4, "found ',', expected a value"},
    {"[01]", 1, 2, "found '01', expected a number as JSON writes it"},
    {"[1.]", 1, 2, "found '1.', expected a number"},
    {"[.5]", 1, 2, "found '.5', expected a number"},
    {"[+1]", 1, 2, "found '+1', expected a number"},
    {"[-]", 1, 2, "found '-', expected a number"},
    {"[1e]", 1, 2, "found '1e', expected a number"},
    {"[0x10]", 1, 2, "found '0x10', expected a number"},
    {"[1]]", 1, 4, "found ']', expected the end of the file"},
    {"[1] [2]", 1, 5, "found '[', expected the end of the file"},
    {"{}\n,", 2, 1, "found ',', expected the end of the file"},
    {"[\"a]", 1, 2, "no closing quote"},
    {"[\"a\nb\"]", 1, 2, "no closing quote"},
    {"[\"a\\\nb\"]", 1, 2, "no closing quote"},
    {"[\"a\tb\"]", 1, 4, "control character 0x09"},
    {"[\"\xc3\xa9\\x\"]", 1, 4, "'\\x' does not start a character"},
    {"[\"\\u12g4\"]", 1, 3, "four hexadecimal digits"},
    {"[\"\\u0000\"]", 1, 3, "'\\u0000' is not allowed"},
    {"[\"\\ud83d\"]", 1, 3, "'\\u'"},
    {"[\"\\ude00\"]", 1, 3, "'\\u'"},
    {"[\"\\ud83d\\u0041\"]", 1, 3, "'\\u'"},
    {"[1 /* x]", 1, 4, "no closing '*/'"},
    {"[1 / 2]", 1, 4, "found '/'"},
    {"[\x01]", 1, 2, "found '\\x01'"},
    {"[1,\f2]", 1, 4, "found '\\x0c2'"},
    {"{\"a\": 1,\n \"b\": 2,\n \"a\": 3}", 3, 2, "key 'a' is already in line 1"},
    {"{\"a\": 1, \"\\u0061\": 3}", 1, 10, "key 'a' is already in line 1"},
    {"[1, 2, \xc3\xa9, 3]", 1, 8, "expected a value"},
};

Test(doc, bad_json_is_refused_with_its_place)
{
	for (size_t i = 0; i < ROWS(bad_json); i++)
		check_refused(&bad_json[i]);
}

static const struct refused bad_yaml[] = {
    {"a: 1\nb: [1, 2\n", 3, 1, "while parsing a flow sequence (line 2)"},
    {"a: 1\n b: 2\n", 2, 3, "mapping values are not allowed"},
    {"a: 1\n\tb: 2\n", 2, 1, "found a tab character"},
    {"a: 'x\n", 2, 1, "unexpected end of stream"},
    {"a: 1\nb: 2\na: 3\n", 3, 1, "key 'a' is already in line 1"},
    {"b:\n  x: 1\n  'x': 2\n", 3, 3, "key 'x' is already in line 2"},
    {"a: 1\n---\nb: 2\n", 2, 1, "a second YAML document"},
    {"a: *nowhere\n", 1, 4, "alias '*nowhere' has no anchor"},
    {"a: &x [1, *x]\n", 1, 11, "alias '*x' lies inside its own anchor"},
    {"? [a, b]\n: 1\n", 1, 3, "key is a list, allowed is a string"},
    {"? {a: b}\n: 1\n", 1, 3, "key is a map, allowed is a string"},
    {"a: &x [1]\n*x : 2\n", 2, 1, "key is a list, allowed is a string"},
    {"a: &x {b: 1}\nc:\n  <<: *x\n", 3, 3, "merge key '<<'"},
    {"a: !!python/object:os.system x\n", 1, 4, "tag 'tag:yaml.org,2002:python/object:os.system'"},
    {"a: !mine x\n", 1, 4, "tag '!mine'"},
    {"a: !!int 1.5\n", 1, 4, "tag 'tag:yaml.org,2002:int' on a number"},
    {"a: !!int abc\n", 1, 4, "tag 'tag:yaml.org,2002:int' on a string"},
    {"a: !!bool yes\n", 1, 4, "tag 'tag:yaml.org,2002:bool' on a string"},
    {"a: !!map [1]\n", 1, 4, "tag 'tag:yaml.org,2002:map' on a list"},
    {"a: \"x\\0y\"\n", 1, 4, "NUL character"},
    {"a: x\x7f"
     "y\n",
	1, 5, "control characters are not allowed"},
    {"", 1, 1, "is empty"},
    {" \n\t \n", 1, 1, "is empty"},
    {"# only a comment\n", 1, 1, "is empty"},
    {"---\n", 1, 1, "is empty"},
    {"// only a comment\n", 1, 1, "is empty"},
};

Test(doc, bad_yaml_is_refused_with_its_place)
{
	for (size_t i = 0; i < ROWS(bad_yaml); i++)
		check_refused(&bad_yaml[i]);
}

Test(doc, a_tab_in_the_indentation_gets_a_hint)
{
	cr_assert_null(parse("a:\n\tb: 2\n"));
	cr_assert_not_null(diags->last->hint);
	cr_assert_not_null(strstr(diags->last->hint, "no tabs"));
}

Test(doc, all_duplicate_keys_are_reported)
{
	cr_assert_null(parse("a: {x: 1, x: 2}\nb: 1\nc: {y: 1, y: 2, y: 3}\nb: 2\n"));
	cr_assert_eq(diags->errors, 4);
}

Test(doc, many_duplicates_do_not_flood)
{
	struct str text = str_new(arena);

	for (int i = 0; i < 1000; i++)
		str_add(&text, "a: 1\n");
	cr_assert_null(parse(text.text));
	cr_assert_leq(diags->errors, 20);
}
