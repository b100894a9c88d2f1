/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What does a TOML text say? torchtitan up to 0.2 is configured with such files.
 *
 * TOML 1.0 (toml.io/en/v1.0.0): tables, arrays of tables, dotted keys, the four kinds of
 * strings, numbers, arrays, inline tables. Dates and times are kept as text, nobody needs
 * them here. The first mistake ends the reading: what follows one means little.
 */
#include "check/import_toml_private.h"

#include <string.h>

#include "base/arena.h"
#include "base/str.h"

static const char bare_key[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-";

static int parse_value(struct toml *t, const char *key, int depth, struct doc **out);

int
toml_fail(struct toml *t, const char *expected)
{
	const char *found = t->text->bytes + t->at;
	size_t length = strcspn(found, " \t\n=,[]{}#");

	if (*found == '\0' || *found == '\n')
		return diag_error(t->diags, toml_here(t), "not TOML: the %s ends, expected %s",
		    *found ? "line" : "text", expected);
	return diag_error(t->diags, toml_here(t), "not TOML: found '%s', expected %s",
	    import_shown(t->arena, found, length > 0 ? length : 1), expected);
}

void
toml_skip_blanks(struct toml *t)
{
	while (toml_peek(t) == ' ' || toml_peek(t) == '\t')
		t->at++;
}

/* Blanks, comments and ends of lines. */
static void
skip_lines(struct toml *t)
{
	for (;;) {
		toml_skip_blanks(t);
		if (toml_peek(t) == '#')
			t->at += strcspn(t->text->bytes + t->at, "\n");
		if (toml_peek(t) != '\n')
			return;
		t->at++;
	}
}

/* --- keys ----------------------------------------------------------------------------------- */

static int
parse_key(struct toml *t, const char **key)
{
	size_t length = strspn(t->text->bytes + t->at, bare_key);

	if (toml_peek(t) == '"' || toml_peek(t) == '\'')
		return toml_string(t, false, key);
	if (length == 0)
		return toml_fail(t, "a key");
	*key = arena_strndup(t->arena, t->text->bytes + t->at, length);
	t->at += length;
	return 0;
}

/* The tables in front of the last part of a dotted key; that part is left in *key. */
static struct toml_table *
parse_path(struct toml *t, struct toml_table *table, bool dotted, const char **key, struct loc *loc)
{
	for (int depth = 0;; depth++) {
		*loc = toml_here(t);
		if (parse_key(t, key) != 0)
			return NULL;
		toml_skip_blanks(t);
		if (toml_peek(t) != '.')
			return table;
		if (depth == DOC_MAX_DEPTH) {
			toml_fail(t, "a shorter key");
			return NULL;
		}
		t->at++;
		toml_skip_blanks(t);
		table = toml_enter(t, table, *key, *loc, dotted);
		if (!table)
			return NULL;
	}
}

/* --- values --------------------------------------------------------------------------------- */

static int
parse_bare(struct toml *t, const char *key, struct loc loc, struct doc **out)
{
	const char *bytes = t->text->bytes + t->at;
	size_t length = strcspn(bytes, " \t\n,]}#");

	/* a blank may stand between a date and its time */
	if (length == 10 && bytes[4] == '-' && bytes[10] == ' ' &&
	    strspn(bytes + 11, "0123456789") == 2)
		length += 1 + strcspn(bytes + 11, " \t\n,]}#");
	*out = import_toml_bare(t->arena, key, arena_strndup(t->arena, bytes, length), loc);
	if (!*out)
		return toml_fail(t, "a value: strings stand in quotes");
	t->at += length;
	return 0;
}

static int
parse_array(struct toml *t, const char *key, struct loc loc, int depth, struct doc **out)
{
	struct doc *list = import_container(t->arena, key, DOC_LIST, loc), *last = NULL,
		   *item = NULL;

	t->at++;
	for (;;) {
		skip_lines(t);
		if (toml_peek(t) == ']')
			break;
		if (toml_count_key(t) != 0 || parse_value(t, NULL, depth + 1, &item) != 0)
			return -1;
		last = import_append(list, last, item);
		skip_lines(t);
		if (toml_peek(t) == ',')
			t->at++;
		else if (toml_peek(t) != ']')
			return toml_fail(t, "',' or ']'");
	}
	t->at++;
	*out = list;
	return 0;
}

static int
parse_pair(struct toml *t, struct toml_table *table, int depth)
{
	const char *key = NULL;
	struct loc loc;
	struct doc *node = NULL;

	table = parse_path(t, table, true, &key, &loc);
	if (!table)
		return -1;
	if (toml_peek(t) != '=')
		return toml_fail(t, "'=' after the key");
	t->at++;
	toml_skip_blanks(t);
	if (toml_member(table, key))
		return toml_taken(t, toml_member(table, key), loc);
	if (toml_count_key(t) != 0 || parse_value(t, key, depth, &node) != 0 || !node)
		return -1;
	node->key_loc = loc;
	toml_add_member(table, node);
	return 0;
}

static void
close_tables(struct toml *t, const struct toml_table *from)
{
	for (struct toml_table *table = t->all; table != from; table = table->next)
		table->closed = true;
}

static int
parse_inline(struct toml *t, const char *key, struct loc loc, int depth, struct doc **out)
{
	struct toml_table *before = t->all;
	struct toml_table *table = toml_add_table(t, import_container(t->arena, key, DOC_MAP, loc));

	t->at++;
	toml_skip_blanks(t);
	while (toml_peek(t) != '}') {
		if (parse_pair(t, table, depth + 1) != 0)
			return -1;
		toml_skip_blanks(t);
		if (toml_peek(t) != ',' && toml_peek(t) != '}')
			return toml_fail(t, "',' or '}'");
		if (toml_peek(t) == ',') {
			t->at++;
			toml_skip_blanks(t);
			if (toml_peek(t) == '}')
				return toml_fail(t, "a key");
		}
	}
	t->at++;
	close_tables(t, before);
	*out = table->node;
	return 0;
}

static int
parse_value(struct toml *t, const char *key, int depth, struct doc **out)
{
	struct loc loc = toml_here(t);
	const char *text = NULL;

	if (depth >= DOC_MAX_DEPTH)
		return diag_error(
		    t->diags, loc, "nested deeper than %d levels, the limit", DOC_MAX_DEPTH);
	switch (toml_peek(t)) {
	case '"':
	case '\'':
		if (toml_string(t, true, &text) != 0)
			return -1;
		*out = import_string(t->arena, key, text, loc);
		return 0;
	case '[':
		return parse_array(t, key, loc, depth, out);
	case '{':
		return parse_inline(t, key, loc, depth, out);
	default:
		return parse_bare(t, key, loc, out);
	}
}

/* --- lines ---------------------------------------------------------------------------------- */

static struct toml_table *
open_array_item(struct toml *t, struct toml_table *parent, const char *key, struct loc loc)
{
	struct doc *list = toml_member(parent, key), *item, *last;

	if (!list) {
		list = import_container(t->arena, key, DOC_LIST, loc);
		toml_add_member(parent, list);
	} else if (list->kind != DOC_LIST || !list->first || !toml_table_of(t, list->first) ||
		   toml_table_of(t, list->first)->closed) {
		toml_taken(t, list, loc);
		return NULL;
	}
	item = import_container(t->arena, NULL, DOC_MAP, loc);
	for (last = list->first; last && last->next;)
		last = last->next;
	import_append(list, last, item);
	return toml_add_table(t, item);
}

static struct toml_table *
open_table(struct toml *t, struct toml_table *parent, const char *key, struct loc loc)
{
	struct doc *node = toml_member(parent, key);
	struct toml_table *table = node ? toml_table_of(t, node) : NULL;

	if (node && (!table || table->defined || table->dotted || table->closed)) {
		toml_taken(t, node, loc);
		return NULL;
	}
	if (!table)
		table = toml_new_table(t, parent, key, loc);
	table->defined = true;
	return table;
}

/* [a.b] and [[a.b]] */
static struct toml_table *
parse_header(struct toml *t, struct toml_table *root)
{
	bool array = t->text->bytes[t->at + 1] == '[';
	struct toml_table *table;
	const char *key = NULL;
	struct loc loc;

	t->at += array ? 2 : 1;
	toml_skip_blanks(t);
	table = parse_path(t, root, false, &key, &loc);
	if (!table || toml_count_key(t) != 0)
		return NULL;
	if (strncmp(t->text->bytes + t->at, array ? "]]" : "]", array ? 2 : 1) != 0) {
		toml_fail(t, array ? "']]'" : "']'");
		return NULL;
	}
	t->at += array ? 2 : 1;
	return array ? open_array_item(t, table, key, loc) : open_table(t, table, key, loc);
}

static int
end_line(struct toml *t)
{
	toml_skip_blanks(t);
	if (toml_peek(t) != '\n' && toml_peek(t) != '#' && toml_peek(t) != '\0')
		return toml_fail(t, "the end of the line");
	return 0;
}

struct doc *
import_toml(struct arena *arena, struct diags *diags, const struct import_text *text)
{
	struct toml t = {.arena = arena, .diags = diags, .text = text};
	struct toml_table *root = toml_add_table(&t, doc_new_map(arena, import_text_loc(text, 0)));
	struct toml_table *table = root;

	for (skip_lines(&t); toml_peek(&t) != '\0'; skip_lines(&t)) {
		if (toml_peek(&t) == '[') {
			table = parse_header(&t, root);
			if (!table)
				return NULL;
		} else if (parse_pair(&t, table, 0) != 0) {
			return NULL;
		}
		if (end_line(&t) != 0)
			return NULL;
	}
	return root->node;
}
