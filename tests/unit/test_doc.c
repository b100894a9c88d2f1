/* SPDX-License-Identifier: GPL-3.0-or-later */
/* JSON and YAML: what is read, where it stands, what is refused and how that is said. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/doc.h"
#include "base/str.h"
#include "scratch.h"

#define ROWS(table) (sizeof(table) / sizeof((table)[0]))

TestSuite(doc, .init = scratch_open, .fini = scratch_close);

/* The text is in memory of its exact size, which is gone when the tree is looked at. */
static struct doc *
parse_bytes(const char *text, size_t length)
{
	char *copy = malloc(length ? length : 1);
	struct doc *doc;

	cr_assert_not_null(copy);
	memcpy(copy, text, length);
	doc = doc_parse(arena, diags, "file", copy, length);
	memset(copy, 'x', length);
	free(copy);
	return doc;
}

static struct doc *
parse(const char *text)
{
	return parse_bytes(text, strlen(text));
}

static struct doc *
parse_good(const char *text)
{
	struct doc *doc = parse(text);

	cr_assert_not_null(doc, "refused: %s: %s", text, diags->last ? diags->last->message : "");
	cr_assert_eq(diags->errors, 0);
	return doc;
}

struct refused {
	const char *text;
	int line, column;
	const char *message; /* a part of it */
};

static void
check_refused(const struct refused *row)
{
	int before = diags->errors;

	cr_assert_null(parse(row->text), "read: %s", row->text);
	cr_assert_gt(diags->errors, before, "%s", row->text);
	cr_assert_not_null(strstr(diags->last->message, row->message), "%s: '%s' is not in '%s'",
	    row->text, row->message, diags->last->message);
	cr_assert_str_eq(diags->last->loc.file, "file");
	cr_assert_eq(
	    diags->last->loc.line, row->line, "%s: line %d", row->text, diags->last->loc.line);
	cr_assert_eq(diags->last->loc.column, row->column, "%s: column %d", row->text,
	    diags->last->loc.column);
}

static void
assert_place(const struct doc *doc, int line, int column)
{
	cr_assert_not_null(doc);
	cr_assert_str_eq(doc->loc.file, "file");
	cr_assert_eq(doc->loc.line, line, "line %d", doc->loc.line);
	cr_assert_eq(doc->loc.column, column, "column %d", doc->loc.column);
}

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

struct bytes {
	const char *text;
	size_t length;
	const char *message;
	int line, column;
};

Test(doc, text_that_is_not_utf8_is_refused)
{
	static const struct bytes rows[] = {
	    {"a: 1\n\0b", 7, "NUL byte", 2, 1},
	    {"a: \xff", 4, "found byte 0xff", 1, 4},
	    {"a: \xc0\xaf", 5, "found byte 0xc0", 1, 4},
	    {"a: \xe2\x82", 5, "found byte 0xe2", 1, 4},
	    {"a: \xed\xa0\x80", 6, "found byte 0xed", 1, 4},
	    {"a: \xf4\x90\x80\x80", 7, "found byte 0xf4", 1, 4},
	    {"a: \xf0\x80\x80\x80", 7, "found byte 0xf0", 1, 4},
	    {"\xc3\xa9\x80", 3, "found byte 0x80", 1, 2},
	    {"\xff\xfe{\0}\0", 6, "found byte 0xff", 1, 1},
	    {"a\r\xff", 3, "found byte 0xff", 2, 1},
	};

	for (size_t i = 0; i < ROWS(rows); i++) {
		cr_assert_null(parse_bytes(rows[i].text, rows[i].length), "row %zu", i);
		cr_assert_not_null(strstr(diags->last->message, rows[i].message), "row %zu: %s", i,
		    diags->last->message);
		cr_assert_eq(diags->last->loc.line, rows[i].line, "row %zu", i);
		cr_assert_eq(diags->last->loc.column, rows[i].column, "row %zu", i);
	}
	cr_assert_null(parse_bytes("\xff\xfe{\0}\0", 6));
	cr_assert_not_null(strstr(diags->last->hint, "UTF-16"));
}

static const char *
nested(const char *open, const char *close, int depth)
{
	struct str text = str_new(arena);

	for (int i = 0; i < depth; i++)
		str_add(&text, open);
	for (int i = 0; i < depth; i++)
		str_add(&text, close);
	return text.text;
}

Test(doc, depth_is_limited)
{
	static const char *const pairs[][2] = {{"[", "]"}, {"x: [", "]"}};

	parse_good(nested("[", "]", DOC_MAX_DEPTH));
	cr_assert_null(parse(nested("[", "]", DOC_MAX_DEPTH + 1)));
	cr_assert_not_null(strstr(diags->last->message, "deeper than 64 levels"));
	cr_assert_null(parse(nested("[", "]", 200000)));
	diags = diags_new(arena);
	parse_good(arena_printf(arena, "--- %s", nested(pairs[0][0], pairs[0][1], DOC_MAX_DEPTH)));
	cr_assert_null(parse(
	    arena_printf(arena, "--- %s", nested(pairs[0][0], pairs[0][1], DOC_MAX_DEPTH + 1))));
	cr_assert_not_null(strstr(diags->last->message, "deeper than 64 levels"));
}

Test(doc, aliases_are_copies)
{
	const struct doc *doc =
	    parse_good("a: &x {k: [1, 2]}\nb: *x\nc: [*x, &y two, *y]\n&z key: *y\n*y : *z\n");
	const struct doc *b = doc_get(doc, "b");

	cr_assert_eq(doc_item(doc_get(b, "k"), 1)->integer, 2);
	cr_assert_str_eq(b->key, "b");
	cr_assert_neq(b->first, doc_get(doc, "a")->first);
	cr_assert_eq(doc_get(doc, "c")->count, 3);
	cr_assert_str_eq(doc_item(doc_get(doc, "c"), 2)->text, "two");
	cr_assert_str_eq(doc_get(doc, "key")->text, "two");
	cr_assert_str_eq(doc_get(doc, "two")->text, "key");
	assert_place(doc_item(doc_get(b, "k"), 1), 1, 15);
}

Test(doc, an_anchor_may_be_set_again)
{
	const struct doc *doc = parse_good("- &x 1\n- *x\n- &x 2\n- *x\n");
	cr_assert_eq(doc_item(doc, 1)->integer, 1);
	cr_assert_eq(doc_item(doc, 3)->integer, 2);
}

Test(doc, aliases_that_multiply_hit_the_limit)
{
	struct str text = str_new(arena);

	str_add(&text, "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
	for (int i = 1; i < 10; i++)
		str_addf(&text, "a%d: &a%d [*a%d,*a%d,*a%d,*a%d,*a%d,*a%d,*a%d,*a%d,*a%d,*a%d]\n",
		    i, i, i - 1, i - 1, i - 1, i - 1, i - 1, i - 1, i - 1, i - 1, i - 1, i - 1);
	cr_assert_null(parse(text.text));
	cr_assert_not_null(strstr(diags->last->message, "more than 2000000 values"));
}

Test(doc, aliases_that_nest_hit_the_limit)
{
	struct str text = str_new(arena);

	str_add(&text, "a0: &a0 [x]\n");
	for (int i = 1; i < 100; i++)
		str_addf(&text, "a%d: &a%d [*a%d]\n", i, i, i - 1);
	cr_assert_null(parse(text.text));
	cr_assert_not_null(strstr(diags->last->message, "deeper than 64 levels"));
}

Test(doc, anchors_are_limited)
{
	struct str text = str_new(arena);

	for (int i = 0; i < 300; i++)
		str_addf(&text, "- &a%d x\n", i);
	cr_assert_null(parse(text.text));
	cr_assert_not_null(strstr(diags->last->message, "more than 256 anchors"));
	cr_assert_eq(diags->last->loc.line, 257);
}

Test(doc, tag_directives_are_limited)
{
	struct str text = str_new(arena);

	for (int i = 0; i < 17; i++)
		str_addf(&text, "%%TAG !a%d! tag:example.org,2000:\n", i);
	str_add(&text, "--- 1\n");
	cr_assert_null(parse(text.text));
	cr_assert_not_null(strstr(diags->last->message, "more than 16 %TAG lines"));
	cr_assert_eq(diags->last->loc.line, 17);
	diags = diags_new(arena);
	parse_good("%TAG !y! tag:yaml.org,2002:\n--- !y!int '1'\n");
}

Test(doc, values_are_limited)
{
	struct str text = str_new(arena);

	str_addc(&text, '[');
	for (int i = 0; i < DOC_MAX_NODES - 2; i++)
		str_add(&text, "1,");
	str_add(&text, "1]");
	parse_good(text.text);
	text.text[text.length - 1] = ',';
	str_add(&text, "1]");
	cr_assert_null(parse(text.text));
	cr_assert_not_null(strstr(diags->last->message, "more than 2000000 values"));
}

Test(doc, size_is_limited)
{
	size_t length = DOC_MAX_BYTES + 1;
	char *text = malloc(length);

	cr_assert_not_null(text);
	memset(text, '\n', length);
	text[0] = '1';
	cr_assert_not_null(doc_parse(arena, diags, "file", text, length - 1));
	cr_assert_null(doc_parse(arena, diags, "file", text, length));
	cr_assert_not_null(strstr(diags->last->message, "allowed are 16777216"));
	free(text);
}

Test(doc, tags_of_the_core_schema)
{
	const struct doc *doc =
	    parse_good("a: !!str 5\nb: !!int \"7\"\nc: !!float 3\nd: ! 12\n"
		       "e: !!null ''\nf: !!bool \"true\"\ng: !!seq [1]\nh: !!map {}\n"
		       "i: !!str null\n");

	cr_assert_eq(doc_get(doc, "a")->kind, DOC_STRING);
	cr_assert_str_eq(doc_get(doc, "a")->text, "5");
	cr_assert_not(doc_get(doc, "a")->is_integer);
	cr_assert_eq(doc_get(doc, "b")->integer, 7);
	cr_assert_eq(doc_get(doc, "c")->number, 3);
	cr_assert_eq(doc_get(doc, "d")->kind, DOC_STRING);
	cr_assert_eq(doc_get(doc, "e")->kind, DOC_NULL);
	cr_assert(doc_get(doc, "f")->boolean);
	cr_assert_eq(doc_get(doc, "g")->count, 1);
	cr_assert_eq(doc_get(doc, "h")->kind, DOC_MAP);
	cr_assert_str_eq(doc_get(doc, "i")->text, "null");
}

Test(doc, lookups_stand_nulls_and_other_kinds)
{
	const struct doc *doc = parse_good("[1]");

	cr_assert_null(doc_get(NULL, "a"));
	cr_assert_null(doc_get(doc, "a"));
	cr_assert_null(doc_item(NULL, 0));
	cr_assert_null(doc_item(doc->first, 0));
	cr_assert(doc_is_null(NULL));
	cr_assert_not(doc_is_null(doc));
	cr_assert_str_eq(doc_kind_name(DOC_LIST), "a list");
}

static char *
temporary_file(const char *text)
{
	char *path = arena_strdup(arena, "/tmp/moeplan-test-XXXXXX");
	int fd = mkstemp(path);

	cr_assert_geq(fd, 0);
	cr_assert_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
	return path;
}

Test(doc, files_are_read_whole)
{
	struct str text = str_new(arena);
	size_t length = 0;
	char *path;
	char *read_back;

	str_pad(&text, 'x', 300000);
	path = temporary_file(text.text);
	read_back = doc_read_file(arena, diags, path, &length);
	unlink(path);
	cr_assert_not_null(read_back);
	cr_assert_eq(length, 300000);
	cr_assert_str_eq(read_back, text.text);
}

Test(doc, files_that_cannot_be_read_are_named)
{
	size_t length = 0;
	char *path = temporary_file("");

	cr_assert_str_eq(doc_read_file(arena, diags, path, &length), "");
	cr_assert_eq(length, 0);
	unlink(path);
	cr_assert_null(doc_read_file(arena, diags, path, &length));
	cr_assert_not_null(strstr(diags->last->message, path));
	cr_assert_not_null(strstr(diags->last->message, "cannot open"));
	cr_assert_null(doc_read_file(arena, diags, "/", &length));
	cr_assert_not_null(strstr(diags->last->message, "cannot read '/'"));
	cr_assert_null(doc_read_file(arena, diags, "/dev/zero", &length));
	cr_assert_not_null(
	    strstr(diags->last->message, "'/dev/zero' has more than 16777216 bytes"));
	cr_assert_eq(diags->errors, 3);
}

Test(doc, standard_input_is_a_dash)
{
	size_t length = 0;
	int ends[2];

	cr_assert_eq(pipe(ends), 0);
	cr_assert_eq(write(ends[1], "a: 1\n", 5), 5);
	close(ends[1]);
	cr_assert_geq(dup2(ends[0], STDIN_FILENO), 0);
	cr_assert_str_eq(doc_read_file(arena, diags, "-", &length), "a: 1\n");
	cr_assert_eq(length, 5);
	close(ends[0]);
}
