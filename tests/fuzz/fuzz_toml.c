/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Can any text make the TOML reader crash, hang or build a tree that is none?
 *
 * Keys of a table differ, counts are right, nothing is nested deeper than documents may be, and
 * a text that is refused says why.
 */
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/arena.h"
#include "check/import_toml.h"
#include "promise.h"

static void
check_tree(const struct doc *node, int depth)
{
	size_t count = 0;

	check(depth <= 4 * DOC_MAX_DEPTH);
	check(node->kind >= DOC_LIST || node->text);
	check(node->kind >= DOC_LIST || !node->first);
	for (const struct doc *child = node->first; child; child = child->next) {
		check((node->kind == DOC_MAP) == (child->key != NULL));
		for (const struct doc *other = child->next; other && child->key;
		     other = other->next)
			check(strcmp(child->key, other->key) != 0);
		check_tree(child, depth + 1);
		count++;
	}
	check(count == node->count);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena *arena = arena_new(out_of_memory, NULL);
	struct diags *diags = diags_new(arena);
	struct import_text source;

	if (import_text_open(&source, arena, diags, "fuzz", (const char *)data, size) == 0) {
		const struct doc *doc = import_toml(arena, diags, &source);

		check((doc == NULL) == (diags->errors > 0));
		if (doc)
			check_tree(doc, 0);
	}
	arena_free(arena);
	return 0;
}
