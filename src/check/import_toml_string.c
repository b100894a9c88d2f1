/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is a string of TOML: basic or literal, on one line or several, with its escapes? */
#include <string.h>

#include "base/arena.h"
#include "base/str.h"
#include "check/import_toml_private.h"

static int
add_code_point(struct toml *t, struct str *out, size_t digits)
{
	uint32_t code = 0;

	for (size_t i = 0; i < digits; i++) {
		char c = toml_peek(t);
		uint32_t digit = c >= '0' && c <= '9'	? (uint32_t)(c - '0')
				 : c >= 'a' && c <= 'f' ? (uint32_t)(c - 'a' + 10)
				 : c >= 'A' && c <= 'F' ? (uint32_t)(c - 'A' + 10)
							: 16;

		if (digit == 16)
			return toml_fail(t, "a hexadecimal digit");
		code = code << 4 | digit;
		t->at++;
	}
	if (code == 0 || code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
		return toml_fail(t, "an escape of a character before it");
	if (code < 0x80) {
		str_addc(out, (char)code);
		return 0;
	}
	if (code >= 0x10000)
		str_addc(out, (char)(0xf0 | code >> 18));
	if (code >= 0x800)
		str_addc(
		    out, (char)(code >= 0x10000 ? 0x80 | (code >> 12 & 0x3f) : 0xe0 | code >> 12));
	str_addc(out, (char)(code >= 0x800 ? 0x80 | (code >> 6 & 0x3f) : 0xc0 | code >> 6));
	str_addc(out, (char)(0x80 | (code & 0x3f)));
	return 0;
}

static int
add_escape(struct toml *t, struct str *out, bool multi)
{
	static const char from[] = "btnfr\"\\", to[] = "\b\t\n\f\r\"\\";
	const char *found;
	char c = t->text->bytes[++t->at];

	if (multi && strchr(" \t\n", c) && c != '\0') {
		toml_skip_blanks(t);
		if (toml_peek(t) != '\n')
			return toml_fail(t, "the end of the line after '\\'");
		t->at += strspn(t->text->bytes + t->at, " \t\n");
		return 0;
	}
	found = c != '\0' ? strchr(from, c) : NULL;
	if (!found && c != 'u' && c != 'U')
		return toml_fail(t, "an escape such as \\n or \\u00e9");
	t->at++;
	if (!found)
		return add_code_point(t, out, c == 'u' ? 4 : 8);
	str_addc(out, to[found - from]);
	return 0;
}

static int
not_closed(struct toml *t, size_t start)
{
	t->at = start;
	return diag_error(t->diags, toml_here(t), "this string is not closed");
}

int
toml_string(struct toml *t, bool multi_allowed, const char **out)
{
	const char *bytes = t->text->bytes;
	char quote = toml_peek(t);
	size_t start = t->at;
	bool multi = bytes[start + 1] == quote && bytes[start + 2] == quote && multi_allowed;
	struct str text = str_new(t->arena);

	t->at += multi ? 3 : 1;
	if (multi && toml_peek(t) == '\n')
		t->at++;
	for (;;) {
		char c = toml_peek(t);

		if (c == '\0' || (c == '\n' && !multi))
			return not_closed(t, start);
		if ((unsigned char)c < 0x20 && c != '\t' && c != '\n')
			return diag_error(t->diags, toml_here(t),
			    "control character 0x%02x in a string", (unsigned char)c);
		if (c == quote && !multi)
			break;
		if (c == quote && bytes[t->at + 1] == quote && bytes[t->at + 2] == quote &&
		    bytes[t->at + 3] != quote)
			break;
		if (c == '\\' && quote == '"') {
			if (add_escape(t, &text, multi) != 0)
				return -1;
			continue;
		}
		str_addc(&text, c);
		t->at++;
	}
	t->at += multi ? 3 : 1;
	*out = text.text;
	return 0;
}
