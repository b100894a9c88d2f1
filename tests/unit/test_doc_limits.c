/* SPDX-License-Identifier: GPL-3.0-or-later */
/* JSON and YAML: how much is read, of which bytes, and from which files. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/str.h"
#include "doc_fixture.h"

#define ROWS(table) (sizeof(table) / sizeof((table)[0]))

TestSuite(doc_limits, .init = scratch_open, .fini = scratch_close);

struct bytes {
	const char *text;
	size_t length;
	const char *message;
	int line, column;
};

Test(doc_limits, text_that_is_not_utf8_is_refused)
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

Test(doc_limits, depth_is_limited)
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

Test(doc_limits, aliases_are_copies)
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

Test(doc_limits, an_anchor_may_be_set_again)
{
	const struct doc *doc = parse_good("- &x 1\n- *x\n- &x 2\n- *x\n");
	cr_assert_eq(doc_item(doc, 1)->integer, 1);
	cr_assert_eq(doc_item(doc, 3)->integer, 2);
}

Test(doc_limits, aliases_that_multiply_hit_the_limit)
{
	struct str text = str_new(arena);

	str_add(&text, "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
	for (int i = 1; i < 10; i++)
		str_addf(&text, "a%d: &a%d [*a%d,*a%d,*a%d,*a%d,*a%d,*a%d,*a%d,*a%d,*a%d,*a%d]\n",
		    i, i, i - 1, i - 1, i - 1, i - 1, i - 1, i - 1, i - 1, i - 1, i - 1, i - 1);
	cr_assert_null(parse(text.text));
	cr_assert_not_null(strstr(diags->last->message, "more than 2000000 values"));
}

Test(doc_limits, aliases_that_nest_hit_the_limit)
{
	struct str text = str_new(arena);

	str_add(&text, "a0: &a0 [x]\n");
	for (int i = 1; i < 100; i++)
		str_addf(&text, "a%d: &a%d [*a%d]\n", i, i, i - 1);
	cr_assert_null(parse(text.text));
	cr_assert_not_null(strstr(diags->last->message, "deeper than 64 levels"));
}

Test(doc_limits, anchors_are_limited)
{
	struct str text = str_new(arena);

	for (int i = 0; i < 300; i++)
		str_addf(&text, "- &a%d x\n", i);
	cr_assert_null(parse(text.text));
	cr_assert_not_null(strstr(diags->last->message, "more than 256 anchors"));
	cr_assert_eq(diags->last->loc.line, 257);
}

Test(doc_limits, tag_directives_are_limited)
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

Test(doc_limits, values_are_limited)
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

Test(doc_limits, size_is_limited)
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

Test(doc_limits, tags_of_the_core_schema)
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

Test(doc_limits, lookups_stand_nulls_and_other_kinds)
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

Test(doc_limits, files_are_read_whole)
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

Test(doc_limits, files_that_cannot_be_read_are_named)
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

Test(doc_limits, standard_input_is_a_dash)
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
