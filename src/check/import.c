/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which reader does a text need? Its content tells, its name is a hint at most: people call
 * files what they like, and standard input has no name.
 */
#include <string.h>

#include "base/arena.h"
#include "check/import_private.h"
#include "check/import_toml.h"

enum text_kind {
	TEXT_DOCUMENT,
	TEXT_TOML,
	TEXT_HOSTFILE,
	TEXT_PYTHON,
	TEXT_OVERRIDES,
	TEXT_SCRIPT
};

/* The first line that is neither empty nor a comment; its length in *length. */
static const char *
first_line(const struct import_text *text, size_t *length)
{
	for (size_t i = 0; i < text->n_lines; i++) {
		const char *line = text->bytes + text->lines[i];

		line += strspn(line, " \t");
		*length = strcspn(line, "\n");
		while (*length > 0 && strchr(" \t", line[*length - 1]))
			--*length;
		if (*length > 0 && *line != '#')
			return line;
	}
	*length = 0;
	return text->bytes + text->length;
}

static bool
begins(const char *line, size_t length, const char *with)
{
	return length >= strlen(with) && strncmp(line, with, strlen(with)) == 0;
}

static bool
is_word_byte(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_' || c == '-' || c == '.';
}

/* [section], [[section]] or key = value with a blank in front of '=', which no shell allows. */
static bool
is_toml_line(const char *line, size_t length)
{
	size_t name = 0;

	if (*line == '[') {
		size_t open = line[1] == '[' ? 2 : 1;

		for (name = open;
		     name < length && (is_word_byte(line[name]) || strchr(" \"'", line[name]));)
			name++;
		return name > open && name < length && line[name] == ']';
	}
	while (name < length && is_word_byte(line[name]))
		name++;
	return name > 0 && name + 1 < length && line[name] == ' ' &&
	       line[name + strspn(line + name, " ")] == '=' &&
	       line[name + strspn(line + name, " ") + 1] != '=';
}

/* key: value, key:, - item, or a document mark. */
static bool
is_yaml_line(const char *line, size_t length)
{
	size_t name = strspn(line, "\"'");

	if (begins(line, length, "---") && length == 3)
		return true;
	if (begins(line, length, "%YAML") || begins(line, length, "- ") || *line == '&' ||
	    *line == '*')
		return true;
	while (name < length && is_word_byte(line[name]))
		name++;
	name += name < length && strchr("\"'", line[name]) != NULL;
	if (name == 0 || name >= length)
		return false;
	name += strspn(line + name, " ");
	return line[name] == ':' && (name + 1 == length || line[name + 1] == ' ');
}

static bool
is_hostfile_line(const char *line, size_t length)
{
	size_t name = 0;

	while (name < length && line[name] != ' ' && line[name] != '\t')
		name++;
	while (name < length && (line[name] == ' ' || line[name] == '\t'))
		name++;
	return begins(line + name, length - name, "slots=") ||
	       begins(line + name, length - name, "slots =");
}

/* An interpreter in the first line decides, and Slurm's header. */
static bool
has_shell_header(const struct import_text *text)
{
	size_t length = strcspn(text->bytes, "\n");
	bool shell = false;

	if (strncmp(text->bytes, "#SBATCH", 7) == 0)
		return true;
	for (size_t i = 2; i + 1 < length && strncmp(text->bytes, "#!", 2) == 0; i++)
		shell = shell || strncmp(text->bytes + i, "sh", 2) == 0;
	return shell;
}

static enum text_kind
kind_of(const struct import_text *text)
{
	size_t length;
	const char *line = first_line(text, &length);

	if (has_shell_header(text))
		return TEXT_SCRIPT;
	if (*line == '{' || begins(line, length, "//") || begins(line, length, "/*"))
		return TEXT_DOCUMENT;
	if (is_toml_line(line, length) && *line == '[')
		return TEXT_TOML;
	if (import_is_python(text))
		return TEXT_PYTHON;
	if (*line == '[')
		return TEXT_DOCUMENT;
	if (is_hostfile_line(line, length))
		return TEXT_HOSTFILE;
	if (is_toml_line(line, length))
		return TEXT_TOML;
	if (import_are_overrides(text))
		return TEXT_OVERRIDES;
	return is_yaml_line(line, length) ? TEXT_DOCUMENT : TEXT_SCRIPT;
}

/* JSON and YAML may be far longer than what people write by hand. */
static bool
is_large_document(const char *text, size_t length)
{
	size_t at = 0;

	while (at < length && strchr(" \t\r\n", text[at]) && text[at] != '\0')
		at++;
	return length > IMPORT_MAX_BYTES && at < length && text[at] == '{';
}

static int
read_document(struct import *in, const char *text, size_t length)
{
	const struct doc *doc = doc_parse_repeats(in->arena, in->diags, in->name, text, length);

	/* our own documents are read as everywhere else */
	if (doc && doc->kind == DOC_MAP && (doc_get(doc, "strategy") || doc_get(doc, "schema")))
		doc = doc_parse(in->arena, in->diags, in->name, text, length);
	return doc ? import_document(in, doc) : -1;
}

static int
read_toml(struct import *in, const struct import_text *text)
{
	const struct doc *doc = import_toml(in->arena, in->diags, text);

	return doc ? import_document(in, doc) : -1;
}

static bool
has_only_comments(const struct import_text *text)
{
	size_t length;

	first_line(text, &length);
	return length == 0 && !strstr(text->bytes, "#SBATCH");
}

static int
read_text(struct import *in, const char *bytes, size_t length)
{
	struct import_text text;

	if (is_large_document(bytes, length))
		return read_document(in, bytes, length);
	if (import_text_open(&text, in->arena, in->diags, in->name, bytes, length) != 0)
		return -1;
	if (text.bytes[strspn(text.bytes, " \t\n")] == '\0')
		return diag_error(
		    in->diags, (struct loc){text.name, 1, 1}, "'%s' is empty", text.name);
	if (has_only_comments(&text)) {
		diag_add(in->diags, (struct loc){text.name, 1, 1}, NULL, SEVERITY_NOTE,
		    "'%s' holds nothing but comments", text.name);
		return 0;
	}
	switch (kind_of(&text)) {
	case TEXT_DOCUMENT:
		return read_document(in, bytes, length);
	case TEXT_TOML:
		return read_toml(in, &text);
	case TEXT_HOSTFILE:
		return import_hostfile(in, &text);
	case TEXT_PYTHON:
		return import_python(in, &text);
	case TEXT_OVERRIDES:
		return import_overrides(in, &text);
	case TEXT_SCRIPT:
		break;
	}
	return import_script(in, &text);
}

/* A configuration of some framework: what its keys are, not whether they are right. */
static bool
is_configuration(struct import *in, const struct doc *doc)
{
	struct config config;
	struct import trial = {
	    .config = &config, .arena = in->arena, .diags = diags_new(in->arena), .name = in->name};

	config_init(&config);
	return import_document(&trial, doc) == 0;
}

int
import_embedded(struct import *in, const char *bytes, size_t length, bool needed)
{
	struct diags *aloud = needed ? in->diags : diags_new(in->arena);
	struct import_text text;
	const struct doc *doc;
	enum text_kind kind;

	if (import_text_open(&text, in->arena, aloud, in->name, bytes, length) != 0)
		return needed ? -1 : 0;
	if (text.bytes[strspn(text.bytes, " \t\n")] == '\0' || has_only_comments(&text))
		return 0;
	kind = kind_of(&text);
	if (kind == TEXT_HOSTFILE) /* with slots that are not known it says nothing */
		return strstr(text.bytes, "${") ? 0 : import_hostfile(in, &text);
	if (kind != TEXT_DOCUMENT && kind != TEXT_TOML)
		return 0;
	doc = kind == TEXT_TOML ? import_toml(in->arena, aloud, &text)
				: doc_parse(in->arena, aloud, in->name, bytes, length);
	if (!doc)
		return needed ? -1 : 0;
	return is_configuration(in, doc) ? import_document(in, doc) : 0;
}

static struct import
begin(struct config *config, struct arena *arena, struct diags *diags, const char *name)
{
	struct import in = {
	    .config = config, .arena = arena, .diags = diags, .errors = diags->errors};

	in.name = arena_strdup(arena, name);
	in.old = config->settings;
	while (in.old && in.old->next)
		in.old = in.old->next;
	return in;
}

int
config_import(struct config *config, struct arena *arena, struct diags *diags, const char *name,
    const char *text, size_t length)
{
	struct import in = begin(config, arena, diags, name);

	if (read_text(&in, text, length) != 0)
		return -1;
	return import_conclude(&in);
}

/* Words of an argument vector have no place in a file. */
static struct shell_words
words_of(struct arena *arena, int argc, char **argv)
{
	struct shell_words words = {.count = (size_t)argc, .capacity = (size_t)argc};

	words.items = arena_array(arena, words.count, sizeof(*words.items));
	for (size_t i = 0; i < words.count; i++) {
		size_t length = strlen(argv[i]);

		words.items[i] = (struct shell_text){arena_strdup(arena, argv[i]),
		    arena_array(arena, length + 1, sizeof(uint32_t)), length, length};
		/* marks are ours */
		for (char *c = words.items[i].bytes; *c; c++)
			if (*c >= SHELL_VALUE && *c <= SHELL_UNSET)
				*c = ' ';
	}
	return words;
}

int
config_import_arguments(
    struct config *config, struct arena *arena, struct diags *diags, int argc, char **argv)
{
	struct import in = begin(config, arena, diags, "arguments");
	struct shell_words words = words_of(arena, argc, argv);
	bool launched;
	size_t at = 0;

	if (argc < 1)
		return 0;
	if (words.items[0].bytes[0] != '-' && !import_is_override(&words.items[0]))
		at = import_launchers(&in, NULL, &words, true, &launched);
	if (import_arguments(&in, NULL, &words, at) != 0)
		return -1;
	return import_conclude(&in);
}
