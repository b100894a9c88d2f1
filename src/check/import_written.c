/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What do the files say that a script writes itself? "cat >ds_config.json <<EOF" is how
 * many scripts bring their DeepSpeed configuration or hostfile along.
 *
 * A value that cannot be told becomes "${what stands there}", which importers take for
 * unknown. Lines keep the numbers that they have in the script.
 */
#include "check/import_written.h"

#include <string.h>

#include "base/arena.h"

enum { MAX_FILES = 64 };

void
written_add(struct written **list, struct import *in, const struct shell_document *document)
{
	struct written *file = *list;
	int count = 0;

	for (; file && strcmp(file->name, document->name) != 0; count++) {
		list = &file->next;
		file = *list;
	}
	if (file && document->append && file->text.length < IMPORT_MAX_BYTES) {
		str_addc(&file->text, '\n');
		str_addn(&file->text, document->text.bytes, document->text.length);
		return;
	}
	if (!file && count == MAX_FILES)
		return;
	if (!file)
		file = *list = arena_alloc(in->arena, sizeof(*file));
	file->name = document->name;
	file->text = str_new(in->arena);
	str_addn(&file->text, document->text.bytes, document->text.length);
	file->origin = document->origin;
	file->versions = document->maybe ? file->versions + 1 : 1;
}

/* A mark as a value of JSON, YAML and TOML; `quoted`: it stands inside of quotes already. */
static void
add_unknown(struct str *out, const char *raw, size_t length, bool quoted)
{
	str_add(out, quoted ? "${" : "\"${");
	for (size_t i = 0; i < length; i++)
		if (!strchr("\"'\\\n{}$", raw[i]))
			str_addc(out, raw[i]);
	str_add(out, quoted ? "}" : "}\"");
}

static const char *
readable(struct import *in, const struct written *file, int line)
{
	struct str out = str_new(in->arena);
	const struct str *written = &file->text;
	bool quoted = false;

	for (int i = 1; i < line; i++)
		str_addc(&out, '\n');
	for (size_t i = 0; i < written->length; i++) {
		char c = written->text[i];

		if (c == SHELL_VALUE || c == SHELL_WORDS || c == SHELL_UNSET) {
			size_t end = i + 1;

			while (end < written->length && written->text[end] != SHELL_END)
				end++;
			add_unknown(&out, written->text + i + 1, end - i - 1, quoted);
			i = end;
			continue;
		}
		quoted = c == '"' && (i == 0 || written->text[i - 1] != '\\') ? !quoted
									      : quoted && c != '\n';
		str_addc(&out, c);
	}
	return out.text;
}

/* The command names this file: it is no mere by-product. */
static bool
is_used(const struct written *file, const struct shell_words *command)
{
	const char *slash = strrchr(file->name, '/');
	const char *base = slash ? slash + 1 : file->name;

	for (size_t i = 0; command && *base && i < command->count; i++)
		if (strstr(command->items[i].bytes, base))
			return true;
	return false;
}

int
written_read(struct import *in, const struct import_text *script, const struct written *list,
    const struct shell_words *command)
{
	int result = 0;

	for (const struct written *file = list; file; file = file->next) {
		struct loc loc = import_text_loc(script, file->origin);
		const char *text = readable(in, file, loc.line);

		if (file->versions > 1 && is_used(file, command))
			diag_add(in->diags, loc, NULL, SEVERITY_NOTE,
			    "'%s' is written in %d branches, this text is read", file->name,
			    file->versions);
		if (import_embedded(in, text, strlen(text), is_used(file, command)) != 0)
			result = -1;
	}
	return result;
}
