/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What does a text say, and where does it say it?
 *
 * The tree itself, what an unquoted word means, and the choice between the two
 * readers. Unquoted words follow the core schema of YAML 1.2 (yaml.org, chapter
 * 10.3) with fewer spellings: null and ~, true and false, decimal, 0x and 0o
 * integers, floats, .inf and .nan, and Python's NaN and Infinity. So `no` and
 * `on` are strings, and 010 is ten.
 */
#include "base/doc.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/doc_private.h"
#include "base/numeric.h"
#include "base/units.h"

struct doc *
doc_new(struct doc_reader *reader, enum doc_kind kind, struct loc loc)
{
	struct doc *node;

	if (reader->nodes >= DOC_MAX_NODES) {
		diag_error(reader->diags, loc, "'%s' has more than %d values, the limit",
		    reader->name, DOC_MAX_NODES);
		return NULL;
	}
	reader->nodes++;
	node = arena_alloc(reader->arena, sizeof(*node));
	node->kind = kind;
	node->loc = loc;
	return node;
}

void
doc_append(struct doc *parent, struct doc *last, struct doc *child)
{
	if (last)
		last->next = child;
	else
		parent->first = child;
	parent->count++;
}

static const struct word {
	const char *text;
	enum doc_kind kind;
	bool boolean;
	double number;
} words[] = {
    {"", DOC_NULL, false, 0},
    {"~", DOC_NULL, false, 0},
    {"null", DOC_NULL, false, 0},
    {"true", DOC_BOOL, true, 0},
    {"false", DOC_BOOL, false, 0},
    {".inf", DOC_NUMBER, false, INFINITY},
    {".Inf", DOC_NUMBER, false, INFINITY},
    {".INF", DOC_NUMBER, false, INFINITY},
    {"+.inf", DOC_NUMBER, false, INFINITY},
    {"+.Inf", DOC_NUMBER, false, INFINITY},
    {"+.INF", DOC_NUMBER, false, INFINITY},
    {"-.inf", DOC_NUMBER, false, -INFINITY},
    {"-.Inf", DOC_NUMBER, false, -INFINITY},
    {"-.INF", DOC_NUMBER, false, -INFINITY},
    {".nan", DOC_NUMBER, false, NAN},
    {".NaN", DOC_NUMBER, false, NAN},
    {".NAN", DOC_NUMBER, false, NAN},
    {"NaN", DOC_NUMBER, false, NAN},
    {"Infinity", DOC_NUMBER, false, INFINITY},
    {"-Infinity", DOC_NUMBER, false, -INFINITY},
};

static const struct word *
find_word(const char *text)
{
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (strcmp(text, words[i].text) == 0)
			return &words[i];
	}
	return NULL;
}

static int
digit_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return 16;
}

/* The digits after 0x or 0o. Beyond int64 the value stays a double. */
static bool
resolve_based(struct doc *node, const char *digits, int base)
{
	uint64_t integer = 0;
	bool fits = true;
	double number = 0;

	if (*digits == '\0')
		return false;
	for (; *digits; digits++) {
		int digit = digit_value(*digits);

		if (digit >= base)
			return false;
		number = number * base + digit;
		fits = fits && units_mul_u64(integer, (uint64_t)base, &integer) &&
		       units_add_u64(integer, (uint64_t)digit, &integer) && integer <= INT64_MAX;
	}
	node->kind = DOC_NUMBER;
	node->number = fits ? (double)integer : number;
	node->integer = fits ? (int64_t)integer : 0;
	node->is_integer = fits;
	return true;
}

/* [sign] (. digits | digits [. [digits]]) [e [sign] digits] */
static bool
is_decimal(const char *text)
{
	size_t before;
	size_t after = 0;

	if (*text == '-' || *text == '+')
		text++;
	before = strspn(text, "0123456789");
	text += before;
	if (*text == '.') {
		after = strspn(text + 1, "0123456789");
		text += 1 + after;
	}
	if (before + after == 0)
		return false;
	if (*text == 'e' || *text == 'E') {
		text++;
		if (*text == '-' || *text == '+')
			text++;
		if (*text == '\0')
			return false;
		text += strspn(text, "0123456789");
	}
	return *text == '\0';
}

static bool
resolve_number(struct doc *node, const char *text)
{
	if (text[0] == '0' && text[1] == 'x')
		return resolve_based(node, text + 2, 16);
	if (text[0] == '0' && text[1] == 'o')
		return resolve_based(node, text + 2, 8);
	if (!is_decimal(text))
		return false;
	node->kind = DOC_NUMBER;
	node->is_integer = units_parse_integer(text, &node->integer);
	node->number = node->is_integer ? (double)node->integer : numeric_strtod(text, NULL);
	return true;
}

void
doc_resolve_plain(struct doc *node, const char *text)
{
	const struct word *word = find_word(text);

	node->text = text;
	if (word) {
		node->kind = word->kind;
		node->boolean = word->boolean;
		node->number = word->number;
	} else if (!resolve_number(node, text)) {
		node->kind = DOC_STRING;
	}
}

static int
compare_keys(const void *a, const void *b)
{
	const struct doc *const *x = a;
	const struct doc *const *y = b;
	int order = strcmp((*x)->key, (*y)->key);

	if (order == 0)
		order = ((*x)->key_loc.line > (*y)->key_loc.line) -
			((*x)->key_loc.line < (*y)->key_loc.line);
	if (order == 0)
		order = ((*x)->key_loc.column > (*y)->key_loc.column) -
			((*x)->key_loc.column < (*y)->key_loc.column);
	return order;
}

/* Says how often at most: a hostile file must not fill memory with messages. */
enum { MAX_DUPLICATES = 20 };

static void
report_duplicates(struct doc_reader *reader, const struct doc *const *sorted, size_t count)
{
	const struct doc *first = sorted[0];

	for (size_t i = 1; i < count && reader->duplicates < MAX_DUPLICATES; i++) {
		if (strcmp(first->key, sorted[i]->key) != 0) {
			first = sorted[i];
			continue;
		}
		diag_error(reader->diags, sorted[i]->key_loc, "key '%s' is already in line %d",
		    sorted[i]->key, first->key_loc.line);
		reader->duplicates++;
	}
}

void
doc_check_keys(struct doc_reader *reader, const struct doc *map)
{
	struct arena_mark mark = arena_mark(reader->arena);
	const struct doc **sorted;
	size_t count = 0;
	int before = reader->duplicates;

	if (map->count < 2 || reader->repeats)
		return;
	sorted = arena_array(reader->arena, map->count, sizeof(const struct doc *));
	for (const struct doc *member = map->first; member; member = member->next)
		sorted[count++] = member;
	qsort(sorted, count, sizeof(const struct doc *), compare_keys);
	report_duplicates(reader, sorted, count);
	if (reader->duplicates == before)
		arena_reset(reader->arena, mark);
}

/* The first byte that is not in blanks or comments; // and block comments may come before JSON. */
static size_t
first_token(const struct doc_reader *reader)
{
	const char *text = reader->text;
	size_t at = strspn(text, " \t\r\n");

	while (text[at] == '/' && (text[at + 1] == '/' || text[at + 1] == '*')) {
		const char *end = strstr(text + at + 2, text[at + 1] == '/' ? "\n" : "*/");

		if (!end)
			break;
		at = (size_t)(end - text) + (text[at + 1] == '/' ? 1 : 2);
		at += strspn(text + at, " \t\r\n");
	}
	return at;
}

static struct doc *
parse(struct arena *arena, struct diags *diags, const char *name, const char *text, size_t length,
    bool repeats)
{
	struct doc_reader reader = {.arena = arena, .diags = diags};
	struct doc *root;
	char first;

	reader.name = arena_strdup(arena, name);
	reader.text = text;
	reader.length = length;
	if (doc_check_text(&reader) != 0)
		return NULL;
	reader.text = arena_strndup(arena, reader.text, reader.length);
	first = reader.text[first_token(&reader)];
	if (first == '\0') {
		diag_error(diags, doc_loc_at(&reader, 0), "'%s' is empty", name);
		return NULL;
	}
	reader.repeats = repeats && first != '{' && first != '[';
	if (first == '{' || first == '[')
		root = doc_json_parse(&reader);
	else
		root = doc_yaml_parse(&reader);
	return reader.duplicates == 0 ? root : NULL;
}

struct doc *
doc_parse(
    struct arena *arena, struct diags *diags, const char *name, const char *text, size_t length)
{
	return parse(arena, diags, name, text, length, false);
}

struct doc *
doc_parse_repeats(
    struct arena *arena, struct diags *diags, const char *name, const char *text, size_t length)
{
	return parse(arena, diags, name, text, length, true);
}

const struct doc *
doc_get(const struct doc *map, const char *key)
{
	if (!map || map->kind != DOC_MAP)
		return NULL;
	for (const struct doc *member = map->first; member; member = member->next) {
		if (strcmp(member->key, key) == 0)
			return member;
	}
	return NULL;
}

const struct doc *
doc_item(const struct doc *list, size_t index)
{
	const struct doc *item;

	if (!list || list->kind != DOC_LIST)
		return NULL;
	for (item = list->first; item && index > 0; index--)
		item = item->next;
	return item;
}

bool
doc_is_null(const struct doc *doc)
{
	return !doc || doc->kind == DOC_NULL;
}

const char *
doc_kind_name(enum doc_kind kind)
{
	static const char *const names[] = {
	    "null", "true or false", "a number", "a string", "a list", "a map"};

	return names[kind];
}

struct doc *
doc_new_map(struct arena *arena, struct loc loc)
{
	struct doc *map = arena_alloc(arena, sizeof(*map));

	map->kind = DOC_MAP;
	map->loc = loc;
	return map;
}

struct doc *
doc_add_scalar(
    struct arena *arena, struct doc *map, const char *key, const char *text, struct loc loc)
{
	struct doc *node = arena_alloc(arena, sizeof(*node));
	struct doc *last = map->first;

	node->key = arena_strdup(arena, key);
	node->key_loc = loc;
	node->loc = loc;
	doc_resolve_plain(node, arena_strdup(arena, text));
	while (last && last->next)
		last = last->next;
	doc_append(map, last, node);
	return node;
}
