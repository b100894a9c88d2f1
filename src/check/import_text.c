/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which line and column is a byte of a text in, and how are nodes made of its pieces? */
#include "check/import_text.h"

#include <string.h>

#include "base/arena.h"

/* Columns count characters this far into a line; in a longer one, which is no one's, bytes. */
enum { COUNTED_COLUMNS = 4096, SHOWN = 60 };

/* Without the carriage returns of lines that end as on Windows. */
static const char *
plain_lines(struct arena *arena, const char *bytes, size_t *length)
{
	char *copy = arena_alloc(arena, *length + 1);
	size_t n = 0;

	for (size_t i = 0; i < *length; i++)
		if (bytes[i] != '\r' || i + 1 == *length || bytes[i + 1] != '\n')
			copy[n++] = bytes[i];
	*length = n;
	return copy;
}

static void
index_lines(struct import_text *text, struct arena *arena)
{
	uint32_t *lines;
	size_t n = 1;

	for (size_t i = 0; i < text->length; i++)
		n += text->bytes[i] == '\n';
	lines = arena_array(arena, n, sizeof(*lines));
	n = 1;
	for (size_t i = 0; i < text->length; i++)
		if (text->bytes[i] == '\n')
			lines[n++] = (uint32_t)i + 1;
	text->lines = lines;
	text->n_lines = n;
}

int
import_text_open(struct import_text *text, struct arena *arena, struct diags *diags,
    const char *name, const char *bytes, size_t length)
{
	*text = (struct import_text){.name = arena_strdup(arena, name)};
	if (length > IMPORT_MAX_BYTES)
		return diag_error(diags, (struct loc){text->name, 1, 1},
		    "'%s' has %zu bytes, a script or TOML file may have %d at most", name, length,
		    IMPORT_MAX_BYTES);
	if (doc_check(arena, diags, name, &bytes, &length) != 0)
		return -1;
	text->bytes = plain_lines(arena, bytes, &length);
	text->length = length;
	index_lines(text, arena);
	return 0;
}

struct loc
import_text_loc(const struct import_text *text, size_t offset)
{
	size_t low = 0, high = text->n_lines, start;
	int column = 1;

	while (high - low > 1) {
		size_t middle = (low + high) / 2;

		if (text->lines[middle] <= offset)
			low = middle;
		else
			high = middle;
	}
	start = text->lines[low];
	if (offset > start + COUNTED_COLUMNS)
		return (struct loc){text->name, (int)low + 1, (int)(offset - start) + 1};
	for (size_t i = start; i < offset && i < text->length; i++)
		column += ((unsigned char)text->bytes[i] & 0xc0) != 0x80;
	return (struct loc){text->name, (int)low + 1, column};
}

const char *
import_shown(struct arena *arena, const char *text, size_t length)
{
	bool cut = length > SHOWN;
	char *shown;

	if (cut)
		length = SHOWN;
	while (cut && length > 0 && ((unsigned char)text[length] & 0xc0) == 0x80)
		length--;
	shown = arena_printf(arena, "%.*s%s", (int)length, text, cut ? "..." : "");
	for (char *c = shown; *c; c++)
		if ((unsigned char)*c < 0x20 || *c == 0x7f)
			*c = ' ';
	return shown;
}

struct doc *
import_container(struct arena *arena, const char *key, enum doc_kind kind, struct loc loc)
{
	struct doc *node = arena_alloc(arena, sizeof(*node));

	node->kind = kind;
	node->key = key;
	node->loc = node->key_loc = loc;
	return node;
}

struct doc *
import_scalar(struct arena *arena, const char *key, const char *text, struct loc loc)
{
	struct doc *node =
	    doc_add_scalar(arena, doc_new_map(arena, loc), key ? key : "", text, loc);

	if (!key)
		node->key = NULL;
	return node;
}

struct doc *
import_string(struct arena *arena, const char *key, const char *text, struct loc loc)
{
	struct doc *node = import_container(arena, key, DOC_STRING, loc);

	node->text = text;
	node->quoted = true;
	return node;
}

struct doc *
import_bool(struct arena *arena, const char *key, bool value, struct loc loc)
{
	struct doc *node = import_container(arena, key, DOC_BOOL, loc);

	node->boolean = value;
	node->text = value ? "true" : "false";
	return node;
}

struct doc *
import_append(struct doc *parent, struct doc *last, struct doc *child)
{
	if (last)
		last->next = child;
	else
		parent->first = child;
	parent->count++;
	return child;
}
