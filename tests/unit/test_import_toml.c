/* SPDX-License-Identifier: GPL-3.0-or-later */
/* TOML: what is read, where it stands, what is refused. Examples follow toml.io/en/v1.0.0. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "base/str.h"
#include "check/import_toml.h"
#include "scratch.h"

#define ROWS(table) (sizeof(table) / sizeof((table)[0]))

TestSuite(import_toml, .init = scratch_open, .fini = scratch_close);

static struct doc *
parse(const char *text)
{
	struct import_text source;

	if (import_text_open(&source, arena, diags, "file", text, strlen(text)) != 0)
		return NULL;
	return import_toml(arena, diags, &source);
}

static struct doc *
parse_good(const char *text)
{
	struct doc *doc = parse(text);

	cr_assert_not_null(doc, "refused: %s: %s", text, diags->last ? diags->last->message : "");
	return doc;
}

/* The member at "a.b.c"; a number in the path is the item of a list. */
static const struct doc *
at(const struct doc *doc, const char *path)
{
	while (*path && doc) {
		size_t length = strcspn(path, ".");
		char *part = arena_strndup(arena, path, length);

		doc = doc->kind == DOC_LIST ? doc_item(doc, (size_t)(part[0] - '0'))
					    : doc_get(doc, part);
		path += length + (path[length] == '.');
	}
	return doc;
}

static void
check_text(const char *text, const char *path, const char *expected)
{
	const struct doc *value = at(parse_good(text), path);

	cr_assert_not_null(value, "%s: %s is not there", text, path);
	cr_assert_str_eq(value->text, expected, "%s: %s", text, path);
}

Test(import_toml, strings)
{
	check_text("a = \"x\\ty \\\"q\\\" \\u00e9\"", "a", "x\ty \"q\" é");
	check_text("a = 'c:\\new'", "a", "c:\\new");
	check_text("a = \"\"\"\nfirst\nsecond\"\"\"", "a", "first\nsecond");
	check_text("a = \"\"\"one \\\n\n   two\"\"\"", "a", "one two");
	check_text("a = '''\nl'it'eral'''", "a", "l'it'eral");
	check_text("a = \"\"\"two quotes: \"\".\"\"\"", "a", "two quotes: \"\".");
	check_text("a = \"\"\"\"four\"\"\"\"", "a", "\"four\"");
	check_text("a = \"\"", "a", "");
}

Test(import_toml, numbers)
{
	const struct doc *doc = parse_good("a = 1_000\nb = -17\nc = 0xff\nd = 0b101\ne = 0o17\n"
					   "f = 2.2e-4\ng = -inf\nh = nan\ni = +3\nj = 0");

	cr_assert_eq(at(doc, "a")->integer, 1000);
	cr_assert_eq(at(doc, "b")->integer, -17);
	cr_assert_eq(at(doc, "c")->integer, 255);
	cr_assert_eq(at(doc, "d")->integer, 5);
	cr_assert_eq(at(doc, "e")->integer, 15);
	cr_assert_float_eq(at(doc, "f")->number, 2.2e-4, 1e-18);
	cr_assert(!at(doc, "f")->is_integer);
	cr_assert(isinf(at(doc, "g")->number) && at(doc, "g")->number < 0);
	cr_assert(isnan(at(doc, "h")->number));
	cr_assert_eq(at(doc, "i")->integer, 3);
	cr_assert(at(doc, "j")->is_integer);
}

Test(import_toml, booleans_and_dates)
{
	const struct doc *doc =
	    parse_good("a = true\nb = false\nc = 1979-05-27T07:32:00Z\n"
		       "d = 1979-05-27 07:32:00.5\ne = 07:32:00\nf = 1979-05-27");

	cr_assert_eq(at(doc, "a")->kind, DOC_BOOL);
	cr_assert(at(doc, "a")->boolean);
	cr_assert_not(at(doc, "b")->boolean);
	cr_assert_eq(at(doc, "c")->kind, DOC_STRING);
	cr_assert_str_eq(at(doc, "d")->text, "1979-05-27 07:32:00.5");
	cr_assert_str_eq(at(doc, "e")->text, "07:32:00");
	cr_assert_str_eq(at(doc, "f")->text, "1979-05-27");
}

Test(import_toml, tables)
{
	const struct doc *doc =
	    parse_good("x = 1\n[a]\ny = 2\n[a.b]\nz = 3\n[c.d]\nw = 4\n[c]\nv = 5\n"
		       "['q k'.\"r\"]\nu = 6");

	cr_assert_eq(at(doc, "x")->integer, 1);
	cr_assert_eq(at(doc, "a.y")->integer, 2);
	cr_assert_eq(at(doc, "a.b.z")->integer, 3);
	cr_assert_eq(at(doc, "c.d.w")->integer, 4);
	cr_assert_eq(at(doc, "c.v")->integer, 5);
	cr_assert_eq(at(doc, "q k.r.u")->integer, 6);
}

Test(import_toml, dotted_keys)
{
	const struct doc *doc =
	    parse_good("a.b.c = 1\na . b . d = 2\n[t]\nx.y = 3\nx.z = 4\n3.14 = 5");

	cr_assert_eq(at(doc, "a.b.c")->integer, 1);
	cr_assert_eq(at(doc, "a.b.d")->integer, 2);
	cr_assert_eq(at(doc, "t.x.y")->integer, 3);
	cr_assert_eq(at(doc, "t.x.z")->integer, 4);
	cr_assert_eq(doc_get(at(doc, "t"), "3")->kind, DOC_MAP);
}

Test(import_toml, arrays)
{
	const struct doc *doc =
	    parse_good("a = [ 1, 2, # two\n  3,\n]\nb = [[1, 2], [\"x\"]]\nc = []\n"
		       "d = [ {k = 1}, {k = 2} ]");

	cr_assert_eq(at(doc, "a")->count, 3);
	cr_assert_eq(at(doc, "a.2")->integer, 3);
	cr_assert_str_eq(at(doc, "b.1.0")->text, "x");
	cr_assert_eq(at(doc, "c")->count, 0);
	cr_assert_eq(at(doc, "d.1.k")->integer, 2);
}

Test(import_toml, inline_tables)
{
	const struct doc *doc = parse_good("a = { x = 1, y.z = 'q', l = [ {m = 2} ] }\nb = {}");

	cr_assert_eq(at(doc, "a.x")->integer, 1);
	cr_assert_str_eq(at(doc, "a.y.z")->text, "q");
	cr_assert_eq(at(doc, "a.l.0.m")->integer, 2);
	cr_assert_eq(at(doc, "b")->count, 0);
}

Test(import_toml, arrays_of_tables)
{
	const struct doc *doc = parse_good("[[p]]\nn = 1\n[p.sub]\nk = 'a'\n[[p]]\nn = 2\n"
					   "[[p.more]]\nm = 3\n[[p.more]]\nm = 4");

	cr_assert_eq(at(doc, "p")->count, 2);
	cr_assert_eq(at(doc, "p.0.n")->integer, 1);
	cr_assert_str_eq(at(doc, "p.0.sub.k")->text, "a");
	cr_assert_eq(at(doc, "p.1.more.1.m")->integer, 4);
}

Test(import_toml, places)
{
	const struct doc *doc = parse_good("# é\n[parallelism]\n  tensor_parallel_degree = 2\n");
	const struct doc *value = at(doc, "parallelism.tensor_parallel_degree");

	cr_assert_str_eq(value->loc.file, "file");
	cr_assert_eq(value->loc.line, 3);
	cr_assert_eq(value->loc.column, 28);
	cr_assert_eq(value->key_loc.column, 3);
}

Test(import_toml, lines_of_windows)
{
	const struct doc *doc = parse_good("a = 1\r\n[t]\r\nb = \"x\"\r\n");

	cr_assert_eq(at(doc, "a")->integer, 1);
	cr_assert_str_eq(at(doc, "t.b")->text, "x");
	cr_assert_eq(at(doc, "t.b")->loc.line, 3);
}

Test(import_toml, refused)
{
	static const struct {
		const char *text;
		int line;
		const char *message;
	} rows[] = {
	    {"a = 1\na = 2", 2, "key 'a' is already in line 1"},
	    {"[t]\nx = 1\n[t]", 3, "key 't' is already in line 1"},
	    {"a.b = 1\n[a]", 2, "key 'a' is already in line 1"},
	    {"a = 1\na.b = 2", 2, "key 'a' is already in line 1"},
	    {"a = {x = 1}\na.y = 2", 2, "key 'a' is already in line 1"},
	    {"a = {x = 1}\n[a.b]", 2, "key 'a' is already in line 1"},
	    {"a = [1]\n[[a]]", 2, "key 'a' is already in line 1"},
	    {"a = \"x", 1, "this string is not closed"},
	    {"a = '''x\ny", 1, "this string is not closed"},
	    {"a = \"\\q\"", 1, "expected an escape"},
	    {"a = \"\\ud800\"", 1, "expected an escape"},
	    {"a = \"\x07\"", 1, "control character 0x07"},
	    {"a = 01", 1, "found '01', expected a value"},
	    {"a = 1__0", 1, "expected a value"},
	    {"a = .5", 1, "expected a value"},
	    {"a = true x", 1, "found 'x', expected the end of the line"},
	    {"a = yes", 1, "strings stand in quotes"},
	    {"a =", 1, "the text ends, expected a value"},
	    {"a = [1, 2", 1, "the text ends, expected ',' or ']'"},
	    {"a = {x = 1,}", 1, "expected a key"},
	    {"a = {x = 1\n}", 1, "the line ends, expected ',' or '}'"},
	    {"[t", 1, "the text ends, expected ']'"},
	    {"[[t]", 1, "expected ']]'"},
	    {"= 1", 1, "expected a key"},
	    {"a b = 1", 1, "expected '=' after the key"},
	};

	for (size_t i = 0; i < ROWS(rows); i++) {
		cr_assert_null(parse(rows[i].text), "read: %s", rows[i].text);
		cr_assert_not_null(strstr(diags->last->message, rows[i].message),
		    "%s: '%s' is not in '%s'", rows[i].text, rows[i].message, diags->last->message);
		cr_assert_eq(diags->last->loc.line, rows[i].line, "%s: line %d", rows[i].text,
		    diags->last->loc.line);
	}
}

Test(import_toml, limits)
{
	struct str deep = str_new(arena), many = str_new(arena), tables = str_new(arena);

	str_add(&deep, "a = ");
	str_pad(&deep, '[', 1000);
	cr_assert_null(parse(deep.text));
	cr_assert_not_null(strstr(diags->last->message, "nested deeper than"));
	for (int i = 0; i < 9000; i++)
		str_addf(&many, "k%d = 1\n", i);
	cr_assert_null(parse(many.text));
	cr_assert_not_null(strstr(diags->last->message, "keys, the limit"));
	for (int i = 0; i < 3000; i++)
		str_addf(&tables, "[t%d]\n", i);
	cr_assert_null(parse(tables.text));
	cr_assert_not_null(strstr(diags->last->message, "tables, the limit"));
}
