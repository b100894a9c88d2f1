/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Can any text make the reader of scripts crash, hang or lose track of where words are from?
 *
 * Every byte of a word that is handed on comes from a place in the text, and marks in it are
 * closed. A script that is not read says why.
 */
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/arena.h"
#include "check/import_shell.h"
#include "promise.h"

struct seen {
	struct arena *arena;
	const struct import_text *source;
};

static void
check_text(const struct seen *seen, const struct shell_text *text)
{
	bool marked = false;

	check(text->bytes && strlen(text->bytes) == text->length);
	for (size_t i = 0; i < text->length; i++) {
		char c = text->bytes[i];
		bool opens = c == SHELL_VALUE || c == SHELL_WORDS || c == SHELL_UNSET;

		check(text->origin[i] <= seen->source->length);
		check(!opens || !marked);
		check(c != SHELL_END || marked);
		marked = opens || (marked && c != SHELL_END);
	}
	check(!marked);
	check(strlen(shell_plain(seen->arena, text)) <= text->length);
}

static void
on_command(void *context, const struct shell_command *command)
{
	const struct seen *seen = context;

	check(command->words.count > 0);
	for (size_t i = 0; i < command->words.count; i++)
		check_text(seen, &command->words.items[i]);
	for (size_t i = 0; i < command->n_env; i++)
		check_text(seen, &command->env[i].value);
}

static void
on_variable(void *context, const char *name, const struct shell_words *value, bool exported)
{
	(void)exported;
	check(name[0] != '\0');
	for (size_t i = 0; i < value->count; i++)
		check_text(context, &value->items[i]);
}

static void
on_document(void *context, const struct shell_document *document)
{
	check(document->name != NULL);
	check_text(context, &document->text);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena *arena = arena_new(out_of_memory, NULL);
	struct diags *diags = diags_new(arena);
	struct import_text source;
	struct seen seen = {arena, &source};

	if (import_text_open(&source, arena, diags, "fuzz", (const char *)data, size) == 0) {
		struct shell *shell = shell_new(arena, diags, &source, on_command, &seen);
		int result;

		shell_on_document(shell, on_document);
		result = shell_read(shell);

		check((result != 0) == (diags->errors > 0));
		if (result == 0)
			shell_variables(shell, on_variable, &seen);
	}
	arena_free(arena);
	return 0;
}
