/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What does a YAML text say?
 *
 * libyaml's events build the tree with a stack of open lists and maps. One
 * document, scalar keys, core-schema tags. An alias becomes a copy of what its
 * anchor named; copies count as values, so nested aliases run into the limit
 * and not into the memory.
 */
#include "base/doc_private.h"

#include <assert.h>
#include <string.h>
#include <yaml.h>

#include "base/arena.h"

enum { MAX_ANCHORS = 256, MAX_TAG_DIRECTIVES = 16 };

/* A list or a map that is being filled. */
struct frame {
	struct doc *node;
	struct doc *last;
	const char *key; /* read, and waiting for its value */
	struct loc key_loc;
};

struct anchor {
	const char *name;
	struct doc *node;
};

/* A place in the text: what libyaml counts (characters) and what people do. */
struct cursor {
	size_t offset;
	size_t characters;
	struct loc loc;
};

struct builder {
	struct doc_reader *reader;
	struct cursor cursor;
	struct frame stack[DOC_MAX_DEPTH];
	size_t depth;
	struct doc *root;
	struct anchor anchors[MAX_ANCHORS];
	size_t n_anchors;
	int documents;
	bool done;
};

static void
step(struct cursor *cursor, const char *text)
{
	char c = text[cursor->offset++];

	while (((unsigned char)text[cursor->offset] & 0xc0) == 0x80)
		cursor->offset++;
	cursor->characters++;
	if (c == '\n' || (c == '\r' && text[cursor->offset] != '\n')) {
		cursor->loc.line++;
		cursor->loc.column = 1;
	} else {
		cursor->loc.column++;
	}
}

/*
 * libyaml's own line numbers count U+0085, U+2028 and U+2029 as ends of lines,
 * and one line more at the end of the text; its index is sound. Events come in
 * the order of the text, so the cursor hardly ever starts again.
 */
static struct loc
loc_of(struct builder *b, yaml_mark_t mark)
{
	struct cursor *cursor = &b->cursor;

	if (mark.index < cursor->characters || cursor->characters == 0)
		*cursor = (struct cursor){.loc = {b->reader->name, 1, 1}};
	while (cursor->characters < mark.index && cursor->offset < b->reader->length)
		step(cursor, b->reader->text);
	return cursor->loc;
}

static int
add_anchor(struct builder *b, const yaml_char_t *name, struct doc *node)
{
	const char *text = (const char *)name;
	size_t i;

	if (!name)
		return 0;
	for (i = 0; i < b->n_anchors && strcmp(b->anchors[i].name, text) != 0; i++)
		;
	if (i == MAX_ANCHORS)
		return diag_error(
		    b->reader->diags, node->loc, "more than %d anchors, the limit", MAX_ANCHORS);
	if (i == b->n_anchors)
		b->anchors[b->n_anchors++].name = arena_strdup(b->reader->arena, text);
	b->anchors[i].node = node;
	return 0;
}

static struct doc *
find_anchor(const struct builder *b, const char *name)
{
	for (size_t i = 0; i < b->n_anchors; i++) {
		if (strcmp(b->anchors[i].name, name) == 0)
			return b->anchors[i].node;
	}
	return NULL;
}

static bool
wants_key(const struct builder *b)
{
	return b->depth > 0 && b->stack[b->depth - 1].node->kind == DOC_MAP &&
	       !b->stack[b->depth - 1].key;
}

/* Puts a value where it belongs: root, item, or member under the key that was read. */
static void
place(struct builder *b, struct doc *node)
{
	struct frame *top;

	if (b->depth == 0) {
		b->root = node;
		return;
	}
	top = &b->stack[b->depth - 1];
	node->key = top->key;
	node->key_loc = top->key_loc;
	top->key = NULL;
	doc_append(top->node, top->last, node);
	top->last = node;
}

static int
set_key(struct builder *b, const char *key, struct loc loc)
{
	b->stack[b->depth - 1].key = key;
	b->stack[b->depth - 1].key_loc = loc;
	return 0;
}

/* The tags of YAML's core schema. */
static const struct tag {
	const char *name;
	enum doc_kind kind;
	bool integer;
} tags[] = {
    {YAML_NULL_TAG, DOC_NULL, false},
    {YAML_BOOL_TAG, DOC_BOOL, false},
    {YAML_INT_TAG, DOC_NUMBER, true},
    {YAML_FLOAT_TAG, DOC_NUMBER, false},
    {YAML_STR_TAG, DOC_STRING, false},
    {YAML_SEQ_TAG, DOC_LIST, false},
    {YAML_MAP_TAG, DOC_MAP, false},
};

static const struct tag *
find_tag(const char *name)
{
	for (size_t i = 0; i < sizeof(tags) / sizeof(tags[0]); i++) {
		if (strcmp(tags[i].name, name) == 0)
			return &tags[i];
	}
	return NULL;
}

/* Holds the node against its tag; !!str makes a string of any scalar. "!" alone says nothing. */
static int
check_tag(struct builder *b, struct doc *node, const yaml_char_t *name)
{
	const char *text = (const char *)name;
	const struct tag *tag;

	if (!name || strcmp(text, "!") == 0)
		return 0;
	tag = find_tag(text);
	if (!tag)
		return diag_error(
		    b->reader->diags, node->loc, "tag '%s' is not one of YAML's core schema", text);
	if (tag->kind == DOC_STRING && node->kind < DOC_LIST) {
		*node = (struct doc){.kind = DOC_STRING,
		    .loc = node->loc,
		    .text = node->text,
		    .quoted = node->quoted};
		return 0;
	}
	if (node->kind != tag->kind || (tag->integer && !node->is_integer))
		return diag_error(
		    b->reader->diags, node->loc, "tag '%s' on %s", text, doc_kind_name(node->kind));
	return 0;
}

static struct doc *
new_scalar(struct builder *b, const yaml_event_t *event)
{
	const char *value = (const char *)event->data.scalar.value;
	const yaml_char_t *tag = event->data.scalar.tag;
	bool plain = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
	struct doc *node = doc_new(b->reader, DOC_STRING, loc_of(b, event->start_mark));

	if (!node)
		return NULL;
	if (strlen(value) != event->data.scalar.length) {
		diag_error(b->reader->diags, node->loc, "NUL character in a string");
		return NULL;
	}
	value = arena_strndup(b->reader->arena, value, event->data.scalar.length);
	node->text = value;
	node->quoted = !plain;
	/* a tag can make a number of "5", and "!" a string of 5 */
	if (tag ? strcmp((const char *)tag, "!") != 0 : plain)
		doc_resolve_plain(node, value);
	return check_tag(b, node, tag) == 0 ? node : NULL;
}

static int
on_scalar(struct builder *b, const yaml_event_t *event)
{
	struct doc *node = new_scalar(b, event);

	if (!node || add_anchor(b, event->data.scalar.anchor, node) != 0)
		return -1;
	if (!wants_key(b)) {
		place(b, node);
		return 0;
	}
	if (!node->quoted && strcmp(node->text, "<<") == 0) {
		diag_error(b->reader->diags, node->loc, "merge key '<<' is not read");
		diag_last_hint(
		    b->reader->diags, "write the members out, YAML 1.2 has no merge keys");
		return -1;
	}
	return set_key(b, node->text, node->loc);
}

/* A copy whose lists and maps lie `depth` levels deep; NULL after a limit was hit. */
static struct doc *
copy_tree(struct builder *b, const struct doc *node, size_t depth)
{
	struct doc *copy = doc_new(b->reader, node->kind, node->loc);
	struct doc *last = NULL;

	if (!copy)
		return NULL;
	if (node->first && depth >= DOC_MAX_DEPTH) {
		diag_error(b->reader->diags, node->loc,
		    "aliases nest deeper than %d levels, the limit", DOC_MAX_DEPTH);
		return NULL;
	}
	*copy = *node;
	copy->first = copy->next = NULL;
	copy->count = 0;
	for (const struct doc *child = node->first; child; child = child->next) {
		struct doc *copied = copy_tree(b, child, depth + 1);

		if (!copied)
			return NULL;
		doc_append(copy, last, copied);
		last = copied;
	}
	return copy;
}

static bool
is_open(const struct builder *b, const struct doc *node)
{
	for (size_t i = 0; i < b->depth; i++) {
		if (b->stack[i].node == node)
			return true;
	}
	return false;
}

static int
on_alias(struct builder *b, const yaml_event_t *event)
{
	const char *name = (const char *)event->data.alias.anchor;
	struct loc loc = loc_of(b, event->start_mark);
	struct doc *node = find_anchor(b, name);

	if (!node)
		return diag_error(
		    b->reader->diags, loc, "alias '*%s' has no anchor before it", name);
	if (is_open(b, node))
		return diag_error(
		    b->reader->diags, loc, "alias '*%s' lies inside its own anchor", name);
	if (wants_key(b)) {
		if (node->kind >= DOC_LIST)
			return diag_error(b->reader->diags, loc, "key is %s, allowed is a string",
			    doc_kind_name(node->kind));
		return set_key(b, node->text, loc);
	}
	node = copy_tree(b, node, b->depth);
	if (!node)
		return -1;
	place(b, node);
	return 0;
}

static int
open_container(struct builder *b, const yaml_event_t *event, enum doc_kind kind,
    const yaml_char_t *anchor, const yaml_char_t *tag)
{
	struct loc loc = loc_of(b, event->start_mark);
	struct doc *node;

	if (wants_key(b))
		return diag_error(
		    b->reader->diags, loc, "key is %s, allowed is a string", doc_kind_name(kind));
	if (b->depth == DOC_MAX_DEPTH)
		return diag_error(b->reader->diags, loc, "nested deeper than %d levels, the limit",
		    DOC_MAX_DEPTH);
	node = doc_new(b->reader, kind, loc);
	if (!node || check_tag(b, node, tag) != 0 || add_anchor(b, anchor, node) != 0)
		return -1;
	place(b, node);
	b->stack[b->depth++] = (struct frame){.node = node};
	return 0;
}

static int
close_container(struct builder *b)
{
	const struct doc *node;

	assert(b->depth > 0); /* libyaml pairs its events */
	node = b->stack[--b->depth].node;
	if (node->kind == DOC_MAP)
		doc_check_keys(b->reader, node);
	return 0;
}

static int
on_document(struct builder *b, const yaml_event_t *event)
{
	if (b->documents++ == 0)
		return 0;
	return diag_error(b->reader->diags, loc_of(b, event->start_mark),
	    "a second YAML document starts here, allowed is one");
}

static int
on_event(struct builder *b, const yaml_event_t *event)
{
	switch (event->type) {
	case YAML_DOCUMENT_START_EVENT:
		return on_document(b, event);
	case YAML_SCALAR_EVENT:
		return on_scalar(b, event);
	case YAML_ALIAS_EVENT:
		return on_alias(b, event);
	case YAML_SEQUENCE_START_EVENT:
		return open_container(b, event, DOC_LIST, event->data.sequence_start.anchor,
		    event->data.sequence_start.tag);
	case YAML_MAPPING_START_EVENT:
		return open_container(b, event, DOC_MAP, event->data.mapping_start.anchor,
		    event->data.mapping_start.tag);
	case YAML_SEQUENCE_END_EVENT:
	case YAML_MAPPING_END_EVENT:
		return close_container(b);
	case YAML_STREAM_END_EVENT:
		b->done = true;
		return 0;
	default:
		return 0;
	}
}

/* Tabs in the indentation are the mistake that libyaml's words explain least. */
static bool
line_has_tab(const struct doc_reader *reader, int line)
{
	const char *text = reader->text;

	for (; line > 1 && text; line--) {
		text = strchr(text, '\n');
		text = text ? text + 1 : NULL;
	}
	return text && memchr(text, '\t', strspn(text, " \t")) != NULL;
}

static void
report_syntax(struct builder *b, const yaml_parser_t *parser)
{
	struct doc_reader *reader = b->reader;
	const char *problem = parser->problem ? parser->problem : "out of memory";
	struct loc loc = loc_of(b, parser->problem_mark);

	if (parser->error == YAML_READER_ERROR) {
		diag_error(reader->diags, doc_loc_at(reader, parser->problem_offset),
		    "not YAML: %s", problem);
		return;
	}
	if (parser->context)
		diag_error(reader->diags, loc, "not YAML: %s %s (line %d)", problem,
		    parser->context, loc_of(b, parser->context_mark).line);
	else
		diag_error(reader->diags, loc, "not YAML: %s", problem);
	if (line_has_tab(reader, loc.line))
		diag_last_hint(reader->diags, "indent with blanks, YAML allows no tabs there");
}

/* libyaml compares each %TAG line with all before it, and that before the first event. */
static int
check_directives(struct doc_reader *reader)
{
	const char *line = reader->text;
	int count = 0;

	while (line && *line != '\0') {
		if (strncmp(line, "%TAG", 4) == 0 && ++count > MAX_TAG_DIRECTIVES)
			return diag_error(reader->diags,
			    doc_loc_at(reader, (size_t)(line - reader->text)),
			    "more than %d %%TAG lines, the limit", MAX_TAG_DIRECTIVES);
		line = strpbrk(line, "\r\n");
		line = line ? line + 1 : NULL;
	}
	return 0;
}

static int
read_events(struct builder *b, yaml_parser_t *parser)
{
	while (!b->done) {
		yaml_event_t event;
		int status;

		if (!yaml_parser_parse(parser, &event)) {
			report_syntax(b, parser);
			return -1;
		}
		status = on_event(b, &event);
		yaml_event_delete(&event);
		if (status != 0)
			return -1;
	}
	return 0;
}

struct doc *
doc_yaml_parse(struct doc_reader *reader)
{
	struct builder b = {.reader = reader};
	yaml_parser_t parser;
	int status;

	if (check_directives(reader) != 0)
		return NULL;
	if (!yaml_parser_initialize(&parser)) {
		diag_error(reader->diags, doc_loc_at(reader, 0), "out of memory in libyaml");
		return NULL;
	}
	yaml_parser_set_encoding(&parser, YAML_UTF8_ENCODING);
	yaml_parser_set_input_string(&parser, (const unsigned char *)reader->text, reader->length);
	status = read_events(&b, &parser);
	yaml_parser_delete(&parser);
	if (status != 0)
		return NULL;
	if (!b.root || (b.root->kind == DOC_NULL && b.root->text[0] == '\0')) {
		diag_error(reader->diags, doc_loc_at(reader, 0), "'%s' is empty", reader->name);
		return NULL;
	}
	return b.root;
}
