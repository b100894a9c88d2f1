/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What does a JSON text say?
 *
 * cJSON decides whether the cleaned text is JSON (RFC 8259) and decodes its
 * strings, surrogate pairs included. It keeps no positions and no number text,
 * so the text is walked along with its tree: the n-th value of the tree is the
 * n-th value of the text. (libyaml is not used for JSON: it refuses surrogate
 * pairs, splits lines at U+2028 and loses a key whose colon is on the next
 * line.)
 */
#include "base/doc_private.h"

#include <cjson/cJSON.h>
#include <string.h>

#include "base/arena.h"

/* Where the walk is. `clean` has no comments and no trailing commas. */
struct walk {
	struct doc_reader *reader;
	const char *clean;
	size_t at;
	struct loc loc;
};

static void
step(struct walk *walk)
{
	char c = walk->reader->text[walk->at++];

	if (c == '\n' || (c == '\r' && walk->reader->text[walk->at] != '\n')) {
		walk->loc.line++;
		walk->loc.column = 1;
	} else if (((unsigned char)c & 0xc0) != 0x80) {
		walk->loc.column++;
	}
}

static void
skip_to_token(struct walk *walk)
{
	while (walk->clean[walk->at] != '\0' && strchr(" \t\r\n,:", walk->clean[walk->at]))
		step(walk);
}

static void
skip_string(struct walk *walk)
{
	step(walk);
	while (walk->clean[walk->at] != '"') {
		if (walk->clean[walk->at] == '\\')
			step(walk);
		step(walk);
	}
	step(walk);
}

/* A number or a word as it stands in the file. */
static const char *
take_word(struct walk *walk)
{
	size_t start = walk->at;

	while (!strchr(" \t\r\n,:{}[]\"/", walk->reader->text[walk->at]))
		step(walk);
	return arena_strndup(walk->reader->arena, walk->reader->text + start, walk->at - start);
}

static struct doc *build(struct walk *walk, const cJSON *item);

static int
build_children(struct walk *walk, struct doc *node, const cJSON *item)
{
	struct doc *last = NULL;

	for (const cJSON *child = item->child; child; child = child->next) {
		const char *key = NULL;
		struct loc key_loc;
		struct doc *value;

		skip_to_token(walk);
		key_loc = walk->loc;
		if (node->kind == DOC_MAP) {
			key = arena_strdup(walk->reader->arena, child->string);
			skip_string(walk);
			skip_to_token(walk);
		}
		value = build(walk, child);
		if (!value)
			return -1;
		if (key) {
			value->key = key;
			value->key_loc = key_loc;
		}
		doc_append(node, last, value);
		last = value;
	}
	return 0;
}

/* Depth is bounded by doc_json_clean(). */
static struct doc *
build_container(struct walk *walk, struct doc *node, const cJSON *item)
{
	step(walk);
	if (build_children(walk, node, item) != 0)
		return NULL;
	skip_to_token(walk);
	step(walk);
	if (node->kind == DOC_MAP)
		doc_check_keys(walk->reader, node);
	return node;
}

static struct doc *
build(struct walk *walk, const cJSON *item)
{
	struct doc *node = doc_new(walk->reader, DOC_NULL, walk->loc);

	if (!node)
		return NULL;
	if (cJSON_IsObject(item) || cJSON_IsArray(item)) {
		node->kind = cJSON_IsObject(item) ? DOC_MAP : DOC_LIST;
		return build_container(walk, node, item);
	}
	if (cJSON_IsString(item)) {
		node->kind = DOC_STRING;
		node->quoted = true;
		node->text = arena_strdup(walk->reader->arena, item->valuestring);
		skip_string(walk);
	} else {
		doc_resolve_plain(node, take_word(walk));
	}
	return node;
}

enum { MAX_SHOWN = 24 };

/* cJSON says where it stopped; what it wanted follows from what stands before. */
static void
explain(struct doc_reader *reader, const char *clean, size_t at)
{
	size_t before;
	const char *wanted = "',' or a closing bracket";
	size_t length;

	at += strspn(clean + at, " \t\r\n");
	for (before = at; before > 0 && strchr(" \t\r\n", clean[before - 1]); before--)
		;
	if (clean[at] == '\\') {
		diag_error(reader->diags, doc_loc_at(reader, at),
		    "'%.2s' does not start a character in a JSON string", clean + at);
		return;
	}
	if (before > 0 && strchr("[,:", clean[before - 1]))
		wanted = "a value";
	length = strcspn(reader->text + at, " \t\r\n,:{}[]\"/");
	if (length == 0 || length > MAX_SHOWN)
		length = length == 0 ? 1 : MAX_SHOWN;
	diag_error(reader->diags, doc_loc_at(reader, at), "found '%.*s', expected %s", (int)length,
	    reader->text + at, wanted);
}

struct doc *
doc_json_parse(struct doc_reader *reader)
{
	struct walk walk = {.reader = reader, .loc = {reader->name, 1, 1}};
	const char *end = NULL;
	struct doc *root;
	cJSON *tree;

	walk.clean = doc_json_clean(reader);
	if (!walk.clean)
		return NULL;
	tree = cJSON_ParseWithLengthOpts(walk.clean, reader->length + 1, &end, 1);
	if (!tree) {
		explain(reader, walk.clean, end ? (size_t)(end - walk.clean) : 0);
		return NULL;
	}
	skip_to_token(&walk);
	root = build(&walk, tree);
	cJSON_Delete(tree);
	return root;
}
