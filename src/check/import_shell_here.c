/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which files does a script write from its own text? Here-documents that cat and tee put into
 * a file, what echo and printf do, IEEE 1003.1, XCU 2.7.4: variables in them are expanded
 * unless the delimiter is quoted.
 */
#include <string.h>

#include "base/arena.h"
#include "base/str.h"
#include "check/import_shell_private.h"

/* "<<EOF": the body follows on the next line. */
struct here_doc {
	const char *delimiter;
	bool tabs;   /* "<<-": tabs in front of its lines do not count */
	bool quoted; /* nothing in it is expanded */
	bool claimed;
	struct shell_document file; /* what becomes of it; no name: not a file */
	struct here_doc *next;
};

/* A word without its quotes. */
static bool
take_delimiter(struct shell_cursor *cursor, struct str *word)
{
	bool quoted = false;
	char quote = '\0';

	for (; cursor->at < cursor->text.length; cursor->at++) {
		char c = shell_peek(cursor, 0);

		if (c == '\n' || (!quote && strchr(" \t;&|<>()", c)))
			break;
		quoted = quoted || strchr("'\"\\", c);
		if (c == quote)
			quote = '\0';
		else if (!quote && (c == '\'' || c == '"'))
			quote = c;
		else if (c != '\\')
			str_addc(word, c);
	}
	return quoted;
}

int
shell_take_here_doc(struct shell *shell, struct shell_cursor *cursor)
{
	struct here_doc *doc = arena_alloc(shell->arena, sizeof(*doc)), **last = &cursor->here_docs;
	struct str word = str_new(shell->arena);
	size_t start = cursor->at, before = 0;

	cursor->at += 2;
	doc->tabs = shell_peek(cursor, 0) == '-';
	cursor->at += doc->tabs;
	while (shell_peek(cursor, 0) == ' ' || shell_peek(cursor, 0) == '\t')
		cursor->at++;
	doc->quoted = take_delimiter(cursor, &word);
	/* 1 << 2 in arithmetic is none */
	if (word.length == 0 || (word.text[0] >= '0' && word.text[0] <= '9')) {
		cursor->at = start + 2;
		return 0;
	}
	doc->delimiter = word.text;
	for (; *last; before++)
		last = &(*last)->next;
	*last = doc;
	return shell_spend(shell, 64 + before) ? 0 : -1;
}

/* --- what becomes of them -------------------------------------------------------------------- */

static bool
is_command(const struct shell_words *words, const char *name)
{
	const char *program = words->count > 0 ? words->items[0].bytes : "";
	const char *slash = strrchr(program, '/');

	return strcmp(slash ? slash + 1 : program, name) == 0;
}

/* The file that cat or tee writes, or NULL. */
static const struct shell_text *
written(const struct shell *shell, const struct shell_words *words)
{
	if (is_command(words, "cat") && shell->output.length > 0)
		return &shell->output;
	for (size_t i = 1; i < words->count && is_command(words, "tee"); i++)
		if (words->items[i].bytes[0] != '-')
			return &words->items[i];
	return NULL;
}

void
shell_claim_here_docs(
    struct shell *shell, struct shell_cursor *cursor, const struct shell_words *words)
{
	const struct shell_text *file = written(shell, words);

	for (struct here_doc *doc = cursor->here_docs; doc && shell_spend(shell, 1);
	     doc = doc->next) {
		if (doc->claimed)
			continue;
		doc->claimed = true;
		if (!file || shell_live(shell) == SHELL_DEAD)
			continue;
		doc->file.name = shell_plain(shell->arena, file);
		doc->file.maybe = shell_live(shell) != SHELL_LIVE;
		doc->file.append = shell->appends;
	}
}

/* echo '{…}' >file */
void
shell_note_echo(struct shell *shell, const struct shell_words *words)
{
	struct shell_document document = {0};
	size_t from = 1;

	if (shell->output.length == 0 ||
	    (!is_command(words, "echo") && !is_command(words, "printf")))
		return;
	while (from < words->count && words->items[from].bytes[0] == '-' &&
	       words->items[from].length < 4)
		from++;
	document.name = shell_plain(shell->arena, &shell->output);
	document.text = shell_join(shell, words, from);
	document.maybe = shell_live(shell) != SHELL_LIVE;
	document.append = shell->appends;
	if (from < words->count)
		document.origin = words->items[from].length > 0 ? words->items[from].origin[0] : 0;
	if (shell->on_document && from < words->count && !shell->failed)
		shell->on_document(shell->context, &document);
}

/* --- bodies ---------------------------------------------------------------------------------- */

/* \$, \` and \\ lose their backslash, everything else but expansions is as it is. */
static int
expand_body(struct shell *shell, const struct shell_text *text, struct shell_text *out)
{
	struct shell_cursor cursor = {.text = *text};
	struct shell_words ignored = {0};
	struct word_builder builder = {.out = &ignored};

	while (cursor.at < cursor.text.length && !shell->failed) {
		char c = shell_peek(&cursor, 0), next = shell_peek(&cursor, 1);
		int result = 0;

		if (shell_take_mark(shell, &cursor, &builder.text))
			continue;
		if (c == '$') {
			result = shell_dollar(shell, &cursor, &builder, true);
		} else if (c == '`') {
			result = shell_backquote(shell, &cursor, &builder, true);
		} else {
			cursor.at += c == '\\' && next != '\0' && strchr("$`\\", next);
			shell_put(shell, &builder.text, shell_peek(&cursor, 0),
			    shell_origin(&cursor));
			cursor.at++;
		}
		if (result != 0)
			return -1;
	}
	shell_put_string(shell, &builder.text, "", 0);
	*out = builder.text;
	return shell->failed ? -1 : 0;
}

/* A text with a '$' that no shell takes is left alone, and the rest of the script is read. */
static bool
try_expansion(struct shell *shell, const struct shell_text *text, struct shell_text *out)
{
	struct diags *aloud = shell->diags;
	int result;

	shell->diags = diags_new(shell->arena);
	result = expand_body(shell, text, out);
	shell->diags = aloud;
	if (result == 0)
		return true;
	shell->failed = false;
	shell_spend(shell, 1); /* when there is no work left, it says so */
	return false;
}

static void
hand_on(struct shell *shell, struct here_doc *doc, const struct shell_cursor *cursor, size_t start,
    size_t length)
{
	struct shell_text body = {0};

	for (size_t i = start; i < start + length; i++) {
		bool first = i == start || cursor->text.bytes[i - 1] == '\n';

		while (doc->tabs && first && i < start + length && cursor->text.bytes[i] == '\t')
			i++;
		if (i < start + length)
			shell_put(shell, &body, cursor->text.bytes[i], cursor->text.origin[i]);
	}
	if (body.length == 0 || shell->failed)
		return;
	doc->file.text = body;
	doc->file.origin = body.origin[0];
	if (doc->quoted || try_expansion(shell, &body, &doc->file.text))
		shell->on_document(shell->context, &doc->file);
}

static bool
ends_here(const struct here_doc *doc, const char *line, size_t length)
{
	if (doc->tabs)
		while (length > 0 && *line == '\t') {
			line++;
			length--;
		}
	return length == strlen(doc->delimiter) && memcmp(line, doc->delimiter, length) == 0;
}

/* The cursor is behind the end of the line that announced them. */
int
shell_skip_here_docs(struct shell *shell, struct shell_cursor *cursor)
{
	while (cursor->here_docs) {
		struct here_doc *doc = cursor->here_docs;
		size_t start = cursor->at, end = start;
		bool ended = false;

		while (!ended && cursor->at < cursor->text.length) {
			const char *line = cursor->text.bytes + cursor->at;
			size_t length = strcspn(line, "\n");

			if (!shell_spend(shell, length + 1))
				return -1;
			ended = ends_here(doc, line, length);
			cursor->at += length + (line[length] == '\n');
			end = ended ? end : cursor->at;
		}
		cursor->here_docs = doc->next;
		if (doc->file.name && shell->on_document)
			hand_on(shell, doc, cursor, start, end - start);
		if (shell->failed)
			return -1;
	}
	return 0;
}
