/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What must go from the JSON that people have before a strict parser reads it?
 *
 * Comments and trailing commas (DeepSpeed reads its files as Hjson), NaN and
 * Infinity (Python's json module writes them). Each is overwritten in place and
 * noted once. Numbers are checked against RFC 8259 here and overwritten by 0:
 * cJSON takes 01 and 1. for numbers and none that is longer than 63 characters.
 * So are control characters and \u escapes in strings, which it lets pass.
 */
#include "base/doc_private.h"

#include <inttypes.h>
#include <string.h>

#include "base/arena.h"

enum extension { EXTENSION_COMMENT, EXTENSION_COMMA, EXTENSION_NUMBER, EXTENSIONS };

static const char *const extension_names[EXTENSIONS] = {
    "a comment is read over, JSON has none",
    "a comma before a closing bracket is read over, JSON has none",
    "NaN and Infinity are read as Python writes them, JSON has neither",
};

enum { MAX_SHOWN = 24 };

struct cleaner {
	struct doc_reader *reader;
	const char *text;
	char *out;
	size_t length;
	size_t at;
	size_t opened[DOC_MAX_DEPTH]; /* offsets of open brackets */
	size_t depth;
	size_t commas;
	size_t last;	/* offset of the last token */
	bool any;	/* there was a token */
	bool after_key; /* the last token was a member's name */
	bool noted[EXTENSIONS];
};

static struct loc
loc_at(const struct cleaner *c, size_t offset)
{
	return doc_loc_at(c->reader, offset);
}

static void
note(struct cleaner *c, enum extension extension, size_t offset)
{
	if (c->noted[extension])
		return;
	c->noted[extension] = true;
	diag_add(c->reader->diags, loc_at(c, offset), NULL, SEVERITY_NOTE, "%s",
	    extension_names[extension]);
}

static void
blank(struct cleaner *c, size_t from, size_t to)
{
	for (size_t i = from; i < to; i++) {
		if (c->out[i] != '\n' && c->out[i] != '\r')
			c->out[i] = ' ';
	}
}

static size_t
word_length(const struct cleaner *c, size_t at)
{
	size_t length = strcspn(c->text + at, " \t\r\n,:{}[]\"/");

	return length > 0 ? length : 1;
}

/* What stands at an offset, for "found …": cut, and between quotes. */
static const char *
shown(const struct cleaner *c, size_t at)
{
	size_t length = word_length(c, at);

	if (length <= MAX_SHOWN)
		return arena_printf(c->reader->arena, "'%.*s'", (int)length, c->text + at);
	length = MAX_SHOWN;
	while (((unsigned char)c->text[at + length] & 0xc0) == 0x80)
		length--;
	return arena_printf(c->reader->arena, "'%.*s...'", (int)length, c->text + at);
}

static int
expected(const struct cleaner *c, size_t at, const char *what)
{
	return diag_error(
	    c->reader->diags, loc_at(c, at), "found %s, expected %s", shown(c, at), what);
}

static bool
in_map(const struct cleaner *c)
{
	return c->depth > 0 && c->text[c->opened[c->depth - 1]] == '{';
}

static bool
last_is(const struct cleaner *c, const char *set)
{
	return c->any && strchr(set, c->text[c->last]) != NULL;
}

/* What can be said about a token before it is looked at. */
static int
check_place(const struct cleaner *c, char token)
{
	if (c->any && c->depth == 0)
		return expected(c, c->at, "the end of the file");
	if (c->after_key && token != ':')
		return expected(c, c->at, "':' after the name");
	if (in_map(c) && last_is(c, "{,") && token != '"' && token != '}')
		return expected(c, c->at, "a name in double quotes");
	if (token == ',' && last_is(c, "[,:"))
		return expected(c, c->at, "a value");
	return 0;
}

static int
clean_comment(struct cleaner *c)
{
	bool is_line = c->text[c->at + 1] == '/';
	const char *end;
	size_t start = c->at;

	if (!is_line && c->text[c->at + 1] != '*')
		return expected(c, c->at, "a value");
	end = is_line ? strpbrk(c->text + start, "\r\n") : strstr(c->text + start + 2, "*/");
	if (!end && !is_line)
		return diag_error(
		    c->reader->diags, loc_at(c, start), "this comment has no closing '*/'");
	note(c, EXTENSION_COMMENT, start);
	c->at = !end ? c->length : (size_t)(end - c->text) + (is_line ? 0 : 2);
	blank(c, start, c->at);
	return 0;
}

static int
check_escape(const struct cleaner *c, size_t at)
{
	const char *digits = c->text + at + 2;

	if (c->text[at + 1] != 'u')
		return 0;
	if (strspn(digits, "0123456789abcdefABCDEF") < 4)
		return diag_error(c->reader->diags, loc_at(c, at),
		    "'\\u' needs four hexadecimal digits in a string");
	if (strncmp(digits, "0000", 4) == 0)
		return diag_error(
		    c->reader->diags, loc_at(c, at), "'\\u0000' is not allowed in a string");
	return 0;
}

static int
clean_string(struct cleaner *c)
{
	size_t at = c->at + 1;

	for (;;) {
		unsigned char byte = (unsigned char)c->text[at];

		if (byte == '"')
			break;
		if (byte == '\0' || byte == '\n' || byte == '\r')
			return diag_error(c->reader->diags, loc_at(c, c->at),
			    "this string has no closing quote in its line");
		if (byte < 0x20)
			return diag_error(c->reader->diags, loc_at(c, at),
			    "control character 0x%02x in a string", byte);
		if (byte == '\\' && check_escape(c, at) != 0)
			return -1;
		at += byte == '\\' && (unsigned char)c->text[at + 1] >= 0x20 ? 2 : 1;
	}
	c->at = at + 1;
	return 0;
}

static int
clean_open(struct cleaner *c)
{
	if (c->depth == DOC_MAX_DEPTH)
		return diag_error(c->reader->diags, loc_at(c, c->at),
		    "nested deeper than %d levels, the limit", DOC_MAX_DEPTH);
	c->opened[c->depth++] = c->at++;
	return 0;
}

static int
clean_close(struct cleaner *c, char token)
{
	char wanted;

	if (c->depth == 0)
		return expected(c, c->at, "a value");
	wanted = in_map(c) ? '}' : ']';
	if (token != wanted)
		return diag_error(c->reader->diags, loc_at(c, c->at),
		    "found '%c', expected '%c' for the '%c' in line %d", token, wanted,
		    c->text[c->opened[c->depth - 1]], loc_at(c, c->opened[c->depth - 1]).line);
	if (last_is(c, ",")) {
		note(c, EXTENSION_COMMA, c->last);
		c->out[c->last] = ' ';
	}
	c->depth--;
	c->at++;
	return 0;
}

static int
clean_comma(struct cleaner *c)
{
	c->at++;
	if (c->commas++ < DOC_MAX_NODES)
		return 0;
	return diag_error(c->reader->diags, loc_at(c, c->at),
	    "'%s' has more than %d values, the limit", c->reader->name, DOC_MAX_NODES);
}

static size_t
digits(const char *text)
{
	return strspn(text, "0123456789");
}

/* RFC 8259: [-] (0 | 1-9 digits) [. digits] [e [sign] digits], `length` bytes of it. */
static bool
is_number(const char *text, size_t length)
{
	const char *start = text;

	if (*text == '-')
		text++;
	if (digits(text) == 0 || (*text == '0' && digits(text) > 1))
		return false;
	text += digits(text);
	if (*text == '.') {
		if (digits(++text) == 0)
			return false;
		text += digits(text);
	}
	if (*text == 'e' || *text == 'E') {
		text++;
		if (*text == '-' || *text == '+')
			text++;
		if (digits(text) == 0)
			return false;
		text += digits(text);
	}
	return (size_t)(text - start) == length;
}

static bool
is_one_of(const char *const *list, const char *word, size_t length)
{
	for (; *list; list++) {
		if (strlen(*list) == length && strncmp(*list, word, length) == 0)
			return true;
	}
	return false;
}

static int
unknown_word(const struct cleaner *c)
{
	char first = c->text[c->at];
	bool numeric = strchr("0123456789+-.", first) != NULL;

	expected(c, c->at, numeric ? "a number as JSON writes it" : "a value");
	if (first == '\'')
		diag_last_hint(c->reader->diags, "strings stand in double quotes");
	else if (!numeric)
		diag_last_hint(c->reader->diags,
		    "strings stand in double quotes; the words are true, false and null");
	return -1;
}

static int
clean_word(struct cleaner *c)
{
	static const char *const literals[] = {"true", "false", "null", NULL};
	static const char *const not_finite[] = {"NaN", "Infinity", "-Infinity", NULL};
	const char *word = c->text + c->at;
	size_t length = word_length(c, c->at);
	bool is_not_finite = is_one_of(not_finite, word, length);

	if (is_not_finite)
		note(c, EXTENSION_NUMBER, c->at);
	if (is_not_finite || is_number(word, length)) {
		blank(c, c->at, c->at + length);
		c->out[c->at] = '0';
	} else if (!is_one_of(literals, word, length)) {
		return unknown_word(c);
	}
	c->at += length;
	return 0;
}

static int
clean_token(struct cleaner *c, char token)
{
	switch (token) {
	case '"':
		return clean_string(c);
	case '{':
	case '[':
		return clean_open(c);
	case '}':
	case ']':
		return clean_close(c, token);
	case ',':
		return clean_comma(c);
	case ':':
		c->at++;
		return 0;
	default:
		return clean_word(c);
	}
}

static int
clean_next(struct cleaner *c)
{
	size_t start = c->at;
	char token = c->text[start];
	bool is_key = in_map(c) && last_is(c, "{,") && token == '"';

	if (strchr(" \t\r\n", token)) {
		c->at++;
		return 0;
	}
	if (token == '/')
		return clean_comment(c);
	if (check_place(c, token) != 0 || clean_token(c, token) != 0)
		return -1;
	c->last = start;
	c->any = true;
	c->after_key = is_key;
	return 0;
}

char *
doc_json_clean(struct doc_reader *reader)
{
	struct cleaner c = {.reader = reader, .text = reader->text, .length = reader->length};

	c.out = arena_strndup(reader->arena, reader->text, reader->length);
	while (c.at < c.length) {
		if (clean_next(&c) != 0)
			return NULL;
	}
	if (c.depth > 0) {
		diag_error(reader->diags, loc_at(&c, c.length),
		    "the file ends before the '%c' in line %d is closed",
		    c.text[c.opened[c.depth - 1]], loc_at(&c, c.opened[c.depth - 1]).line);
		return NULL;
	}
	return c.out;
}
