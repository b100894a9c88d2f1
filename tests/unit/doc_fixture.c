/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "doc_fixture.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

struct doc *
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

struct doc *
parse(const char *text)
{
	return parse_bytes(text, strlen(text));
}

struct doc *
parse_good(const char *text)
{
	struct doc *doc = parse(text);

	cr_assert_not_null(doc, "refused: %s: %s", text, diags->last ? diags->last->message : "");
	cr_assert_eq(diags->errors, 0);
	return doc;
}

void
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

void
assert_place(const struct doc *doc, int line, int column)
{
	cr_assert_not_null(doc);
	cr_assert_str_eq(doc->loc.file, "file");
	cr_assert_eq(doc->loc.line, line, "line %d", doc->loc.line);
	cr_assert_eq(doc->loc.column, column, "column %d", doc->loc.column);
}
