/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What does a TOML text say? torchtitan up to 0.2 is configured with such files.
 *
 * TOML 1.0 (toml.io/en/v1.0.0): tables, arrays of tables, dotted keys, the four kinds of
 * strings, numbers, arrays, inline tables. Dates and times are kept as text, nobody needs
 * them here. The first mistake ends the reading: what follows one means little.
 */
#include "check/import_toml.h"

#include <string.h>

#include "base/arena.h"
#include "base/str.h"

enum { MAX_KEYS = 8192, MAX_TABLES = 2048 };

static const char bare_key[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-";

/* What TOML demands of a table beyond its members. */
struct table {
	struct doc *node, *last;
	bool defined; /* by a header of its own: not again */
	bool dotted;  /* made by a dotted key: no header either */
	bool closed;  /* inline: nothing is added later */
	struct table *next;
};

struct toml {
	struct arena *arena;
	struct diags *diags;
	const struct import_text *text;
	size_t at;
	int keys, tables;
	struct table *all;
};

static int parse_value(struct toml *t, const char *key, int depth, struct doc **out);

static struct loc
here(const struct toml *t)
{
	return import_text_loc(t->text, t->at);
}

static char
peek(const struct toml *t)
{
	return t->text->bytes[t->at];
}

static int
fail(struct toml *t, const char *expected)
{
	const char *found = t->text->bytes + t->at;
	size_t length = strcspn(found, " \t\n=,[]{}#");

	if (*found == '\0' || *found == '\n')
		return diag_error(t->diags, here(t), "not TOML: the %s ends, expected %s",
		    *found ? "line" : "text", expected);
	return diag_error(t->diags, here(t), "not TOML: found '%s', expected %s",
	    import_shown(t->arena, found, length > 0 ? length : 1), expected);
}

static void
skip_blanks(struct toml *t)
{
	while (peek(t) == ' ' || peek(t) == '\t')
		t->at++;
}

/* Blanks, comments and ends of lines. */
static void
skip_lines(struct toml *t)
{
	for (;;) {
		skip_blanks(t);
		if (peek(t) == '#')
			t->at += strcspn(t->text->bytes + t->at, "\n");
		if (peek(t) != '\n')
			return;
		t->at++;
	}
}

/* --- tables --------------------------------------------------------------------------------- */

static struct table *
add_table(struct toml *t, struct doc *node)
{
	struct table *table = arena_alloc(t->arena, sizeof(*table));

	table->node = node;
	table->next = t->all;
	t->all = table;
	t->tables++;
	return table;
}

static struct table *
table_of(const struct toml *t, const struct doc *node)
{
	struct table *table = t->all;

	while (table && table->node != node)
		table = table->next;
	return table;
}

static int
count_key(struct toml *t)
{
	if (++t->keys > MAX_KEYS)
		return diag_error(t->diags, here(t), "more than %d keys, the limit", MAX_KEYS);
	if (t->tables > MAX_TABLES)
		return diag_error(t->diags, here(t), "more than %d tables, the limit", MAX_TABLES);
	return 0;
}

static void
add_member(struct table *table, struct doc *node)
{
	table->last = import_append(table->node, table->last, node);
}

static struct table *
new_table(struct toml *t, struct table *parent, const char *key, struct loc loc)
{
	struct doc *node = import_container(t->arena, key, DOC_MAP, loc);

	add_member(parent, node);
	return add_table(t, node);
}

static struct doc *
member(const struct table *table, const char *key)
{
	struct doc *node = table->node->first;

	while (node && strcmp(node->key, key) != 0)
		node = node->next;
	return node;
}

static int
taken(struct toml *t, const struct doc *node, struct loc loc)
{
	return diag_error(
	    t->diags, loc, "key '%s' is already in line %d", node->key, node->key_loc.line);
}

/* The table under `key`, made when it is not there; the last item of an array of tables. */
static struct table *
enter(struct toml *t, struct table *parent, const char *key, struct loc loc, bool dotted)
{
	struct doc *node = member(parent, key);
	struct table *table;

	if (count_key(t) != 0)
		return NULL;
	if (!node) {
		table = new_table(t, parent, key, loc);
		table->dotted = dotted;
		return table;
	}
	if (node->kind == DOC_LIST && !dotted)
		for (node = node->first; node && node->next;)
			node = node->next;
	table = node ? table_of(t, node) : NULL;
	if (table && !table->closed && (!dotted || table->dotted))
		return table;
	taken(t, member(parent, key), loc);
	return NULL;
}

/* --- keys and strings ----------------------------------------------------------------------- */

static int
add_code_point(struct toml *t, struct str *out, size_t digits)
{
	uint32_t code = 0;

	for (size_t i = 0; i < digits; i++) {
		char c = peek(t);
		uint32_t digit = c >= '0' && c <= '9'	? (uint32_t)(c - '0')
				 : c >= 'a' && c <= 'f' ? (uint32_t)(c - 'a' + 10)
				 : c >= 'A' && c <= 'F' ? (uint32_t)(c - 'A' + 10)
							: 16;

		if (digit == 16)
			return fail(t, "a hexadecimal digit");
		code = code << 4 | digit;
		t->at++;
	}
	if (code == 0 || code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
		return fail(t, "an escape of a character before it");
	if (code < 0x80) {
		str_addc(out, (char)code);
		return 0;
	}
	if (code >= 0x10000)
		str_addc(out, (char)(0xf0 | code >> 18));
	if (code >= 0x800)
		str_addc(
		    out, (char)(code >= 0x10000 ? 0x80 | (code >> 12 & 0x3f) : 0xe0 | code >> 12));
	str_addc(out, (char)(code >= 0x800 ? 0x80 | (code >> 6 & 0x3f) : 0xc0 | code >> 6));
	str_addc(out, (char)(0x80 | (code & 0x3f)));
	return 0;
}

static int
add_escape(struct toml *t, struct str *out, bool multi)
{
	static const char from[] = "btnfr\"\\", to[] = "\b\t\n\f\r\"\\";
	const char *found;
	char c = t->text->bytes[++t->at];

	if (multi && strchr(" \t\n", c) && c != '\0') {
		skip_blanks(t);
		if (peek(t) != '\n')
			return fail(t, "the end of the line after '\\'");
		t->at += strspn(t->text->bytes + t->at, " \t\n");
		return 0;
	}
	found = c != '\0' ? strchr(from, c) : NULL;
	if (!found && c != 'u' && c != 'U')
		return fail(t, "an escape such as \\n or \\u00e9");
	t->at++;
	if (!found)
		return add_code_point(t, out, c == 'u' ? 4 : 8);
	str_addc(out, to[found - from]);
	return 0;
}

static int
not_closed(struct toml *t, size_t start)
{
	t->at = start;
	return diag_error(t->diags, here(t), "this string is not closed");
}

/* "…", '…' and both of three quotes; the text is left in *out. */
static int
parse_string(struct toml *t, bool multi_allowed, const char **out)
{
	const char *bytes = t->text->bytes;
	char quote = peek(t);
	size_t start = t->at;
	bool multi = bytes[start + 1] == quote && bytes[start + 2] == quote && multi_allowed;
	struct str text = str_new(t->arena);

	t->at += multi ? 3 : 1;
	if (multi && peek(t) == '\n')
		t->at++;
	for (;;) {
		char c = peek(t);

		if (c == '\0' || (c == '\n' && !multi))
			return not_closed(t, start);
		if ((unsigned char)c < 0x20 && c != '\t' && c != '\n')
			return diag_error(t->diags, here(t), "control character 0x%02x in a string",
			    (unsigned char)c);
		if (c == quote && !multi)
			break;
		if (c == quote && bytes[t->at + 1] == quote && bytes[t->at + 2] == quote &&
		    bytes[t->at + 3] != quote)
			break;
		if (c == '\\' && quote == '"') {
			if (add_escape(t, &text, multi) != 0)
				return -1;
			continue;
		}
		str_addc(&text, c);
		t->at++;
	}
	t->at += multi ? 3 : 1;
	*out = text.text;
	return 0;
}

static int
parse_key(struct toml *t, const char **key)
{
	size_t length = strspn(t->text->bytes + t->at, bare_key);

	if (peek(t) == '"' || peek(t) == '\'')
		return parse_string(t, false, key);
	if (length == 0)
		return fail(t, "a key");
	*key = arena_strndup(t->arena, t->text->bytes + t->at, length);
	t->at += length;
	return 0;
}

/* The tables in front of the last part of a dotted key; that part is left in *key. */
static struct table *
parse_path(struct toml *t, struct table *table, bool dotted, const char **key, struct loc *loc)
{
	for (int depth = 0;; depth++) {
		*loc = here(t);
		if (parse_key(t, key) != 0)
			return NULL;
		skip_blanks(t);
		if (peek(t) != '.')
			return table;
		if (depth == DOC_MAX_DEPTH) {
			fail(t, "a shorter key");
			return NULL;
		}
		t->at++;
		skip_blanks(t);
		table = enter(t, table, *key, *loc, dotted);
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
		return fail(t, "a value: strings stand in quotes");
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
		if (peek(t) == ']')
			break;
		if (count_key(t) != 0 || parse_value(t, NULL, depth + 1, &item) != 0)
			return -1;
		last = import_append(list, last, item);
		skip_lines(t);
		if (peek(t) == ',')
			t->at++;
		else if (peek(t) != ']')
			return fail(t, "',' or ']'");
	}
	t->at++;
	*out = list;
	return 0;
}

static int
parse_pair(struct toml *t, struct table *table, int depth)
{
	const char *key = NULL;
	struct loc loc;
	struct doc *node = NULL;

	table = parse_path(t, table, true, &key, &loc);
	if (!table)
		return -1;
	if (peek(t) != '=')
		return fail(t, "'=' after the key");
	t->at++;
	skip_blanks(t);
	if (member(table, key))
		return taken(t, member(table, key), loc);
	if (count_key(t) != 0 || parse_value(t, key, depth, &node) != 0 || !node)
		return -1;
	node->key_loc = loc;
	add_member(table, node);
	return 0;
}

static void
close_tables(struct toml *t, const struct table *from)
{
	for (struct table *table = t->all; table != from; table = table->next)
		table->closed = true;
}

static int
parse_inline(struct toml *t, const char *key, struct loc loc, int depth, struct doc **out)
{
	struct table *before = t->all;
	struct table *table = add_table(t, import_container(t->arena, key, DOC_MAP, loc));

	t->at++;
	skip_blanks(t);
	while (peek(t) != '}') {
		if (parse_pair(t, table, depth + 1) != 0)
			return -1;
		skip_blanks(t);
		if (peek(t) != ',' && peek(t) != '}')
			return fail(t, "',' or '}'");
		if (peek(t) == ',') {
			t->at++;
			skip_blanks(t);
			if (peek(t) == '}')
				return fail(t, "a key");
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
	struct loc loc = here(t);
	const char *text = NULL;

	if (depth >= DOC_MAX_DEPTH)
		return diag_error(
		    t->diags, loc, "nested deeper than %d levels, the limit", DOC_MAX_DEPTH);
	switch (peek(t)) {
	case '"':
	case '\'':
		if (parse_string(t, true, &text) != 0)
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

static struct table *
open_array_item(struct toml *t, struct table *parent, const char *key, struct loc loc)
{
	struct doc *list = member(parent, key), *item, *last;

	if (!list) {
		list = import_container(t->arena, key, DOC_LIST, loc);
		add_member(parent, list);
	} else if (list->kind != DOC_LIST || !list->first || !table_of(t, list->first) ||
		   table_of(t, list->first)->closed) {
		taken(t, list, loc);
		return NULL;
	}
	item = import_container(t->arena, NULL, DOC_MAP, loc);
	for (last = list->first; last && last->next;)
		last = last->next;
	import_append(list, last, item);
	return add_table(t, item);
}

static struct table *
open_table(struct toml *t, struct table *parent, const char *key, struct loc loc)
{
	struct doc *node = member(parent, key);
	struct table *table = node ? table_of(t, node) : NULL;

	if (node && (!table || table->defined || table->dotted || table->closed)) {
		taken(t, node, loc);
		return NULL;
	}
	if (!table)
		table = new_table(t, parent, key, loc);
	table->defined = true;
	return table;
}

/* [a.b] and [[a.b]] */
static struct table *
parse_header(struct toml *t, struct table *root)
{
	bool array = t->text->bytes[t->at + 1] == '[';
	struct table *table;
	const char *key = NULL;
	struct loc loc;

	t->at += array ? 2 : 1;
	skip_blanks(t);
	table = parse_path(t, root, false, &key, &loc);
	if (!table || count_key(t) != 0)
		return NULL;
	if (strncmp(t->text->bytes + t->at, array ? "]]" : "]", array ? 2 : 1) != 0) {
		fail(t, array ? "']]'" : "']'");
		return NULL;
	}
	t->at += array ? 2 : 1;
	return array ? open_array_item(t, table, key, loc) : open_table(t, table, key, loc);
}

static int
end_line(struct toml *t)
{
	skip_blanks(t);
	if (peek(t) != '\n' && peek(t) != '#' && peek(t) != '\0')
		return fail(t, "the end of the line");
	return 0;
}

struct doc *
import_toml(struct arena *arena, struct diags *diags, const struct import_text *text)
{
	struct toml t = {.arena = arena, .diags = diags, .text = text};
	struct table *root = add_table(&t, doc_new_map(arena, import_text_loc(text, 0)));
	struct table *table = root;

	for (skip_lines(&t); peek(&t) != '\0'; skip_lines(&t)) {
		if (peek(&t) == '[') {
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
