/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Can any text make doc_parse() crash, hang or contradict itself?
 *
 * Either there is a tree and no error, or an error and no tree. A tree is whole
 * (counts, kinds, keys, places), holds no key twice, and written by jsonw and
 * read again it is the same. The tree is then read through a table of rows.
 */
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/arena.h"
#include "base/doc.h"
#include "base/field.h"
#include "base/jsonw.h"
#include "promise.h"

static void
check_scalar(const struct doc *node)
{
	check(node->text && node->count == 0 && !node->first);
	check(!node->is_integer || node->kind == DOC_NUMBER);
	if (node->is_integer)
		check((double)node->integer == node->number);
	if (node->quoted)
		check(node->kind == DOC_STRING || node->text);
}

/* Height of the tree: 0 for a scalar. */
static int
check_tree(const struct doc *node, int lines)
{
	size_t count = 0;
	int height = 0;

	check(node->loc.file && node->loc.line >= 1 && node->loc.line <= lines &&
	      node->loc.column >= 1);
	if (node->kind < DOC_LIST) {
		check_scalar(node);
		return 0;
	}
	for (const struct doc *child = node->first; child; child = child->next) {
		int below = check_tree(child, lines);

		height = below > height ? below : height;
		check((child->key != NULL) == (node->kind == DOC_MAP));
		if (child->key && node->count < 100)
			check(doc_get(node, child->key) == child);
		count++;
	}
	check(count == node->count && height < DOC_MAX_DEPTH);
	return height + 1;
}

static void
write_tree(struct jsonw *w, const struct doc *node)
{
	if (node->kind == DOC_NULL)
		jsonw_string(w, node->key, NULL);
	else if (node->kind == DOC_BOOL)
		jsonw_bool(w, node->key, node->boolean);
	else if (node->kind == DOC_STRING)
		jsonw_string(w, node->key, node->text);
	else if (node->is_integer)
		jsonw_int(w, node->key, node->integer);
	else if (node->kind == DOC_NUMBER)
		jsonw_double(w, node->key, node->number);
	else {
		if (node->kind == DOC_MAP)
			jsonw_open(w, node->key);
		else
			jsonw_list(w, node->key);
		for (const struct doc *child = node->first; child; child = child->next)
			write_tree(w, child);
		jsonw_close(w);
	}
}

/* 2.0 is written as 2, and a number that is not finite as null. */
static void
check_same(const struct doc *a, const struct doc *b)
{
	check(a && b && (!a->key) == (!b->key) && (!a->key || strcmp(a->key, b->key) == 0));
	if (a->kind == DOC_NUMBER && !isfinite(a->number)) {
		check(b->kind == DOC_NULL);
		return;
	}
	check(a->kind == b->kind && a->count == b->count && a->boolean == b->boolean);
	check(a->number == b->number && (!a->is_integer || a->integer == b->integer));
	if (a->kind == DOC_STRING)
		check(strcmp(a->text, b->text) == 0);
	for (a = a->first, b = b->first; a; a = a->next, b = b->next)
		check_same(a, b);
}

static void
check_round_trip(struct arena *arena, const struct doc *root)
{
	struct jsonw w = jsonw_new(arena);
	struct diags *diags = diags_new(arena);
	struct doc *again;
	const char *text;

	write_tree(&w, root);
	text = jsonw_end(&w);
	if (strlen(text) > DOC_MAX_BYTES)
		return;
	again = doc_parse(arena, diags, "again", text, strlen(text));
	check(diags->errors == 0 && diags->notes == 0);
	check_same(root, again);
}

struct settings {
	bool flag;
	int64_t integer;
	double number;
	uint64_t bytes;
	double seconds;
	const char *text;
	int choice;
};

static const char *const choices[] = {"one", "two", NULL};

#define OFFSET(member) .offset = offsetof(struct settings, member)

static const struct field rows[] = {
    {.name = "a", .kind = FIELD_FLAG, OFFSET(flag)},
    {.name = "b", .kind = FIELD_INT, OFFSET(integer), .min = 1, .max = 10},
    {.name = "c", .kind = FIELD_NUMBER, OFFSET(number), .min = 0, .max = 1},
    {.name = "d", .kind = FIELD_BYTES, OFFSET(bytes)},
    {.name = "e", .kind = FIELD_SECONDS, OFFSET(seconds)},
    {.name = "name", .kind = FIELD_TEXT, OFFSET(text)},
    {.name = "x", .kind = FIELD_CHOICE, OFFSET(choice), .choices = choices},
    {.name = NULL},
};

static void
check_fields(struct arena *arena, struct diags *diags, const struct doc *root)
{
	struct settings settings = {.integer = 1};
	struct field_context context = {arena, diags};
	int before = diags->errors;
	int status = fields_read(rows, &settings, root, NULL, &context);

	check((status == 0) == (diags->errors == before));
	check(settings.integer >= 1 && settings.integer <= 10);
	check(settings.number >= 0 && settings.number <= 1);
	check(settings.seconds >= 0 && isfinite(settings.seconds));
}

static int
count_lines(const uint8_t *data, size_t size)
{
	int lines = 1;

	for (size_t i = 0; i < size; i++)
		lines += data[i] == '\n' || data[i] == '\r';
	return lines;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena *arena = arena_new(out_of_memory, NULL);
	struct diags *diags = diags_new(arena);
	struct doc *root = doc_parse(arena, diags, "input", (const char *)data, size);

	check((root == NULL) == (diags->errors > 0));
	if (root) {
		/* the root of a tree that is written may be a scalar, but is then read as YAML */
		if (check_tree(root, count_lines(data, size)) < JSONW_MAX_DEPTH &&
		    root->kind >= DOC_LIST)
			check_round_trip(arena, root);
		check_fields(arena, diags, root);
	}
	for (const struct diag *diag = diags->first; diag; diag = diag->next)
		check(diag->message[0] != '\0' &&
		      strcspn(diag->message, "\n\r\x1b") == strlen(diag->message));
	arena_free(arena);
	return 0;
}
