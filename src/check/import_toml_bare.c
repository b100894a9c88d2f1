/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is a TOML value without quotes: a number, true, false, a date or a time? */
#include <string.h>

#include "base/arena.h"
#include "base/str.h"
#include "check/import_toml.h"

static bool
digits_only(const char *text, const char *digits)
{
	return *text && strspn(text, digits) == strlen(text);
}

/* Each underscore stands between two digits; *out is the text without them. */
static bool
without_underscores(struct arena *arena, const char *word, const char **out)
{
	struct str plain = str_new(arena);

	for (const char *c = word; *c; c++) {
		if (*c != '_')
			str_addc(&plain, *c);
		else if (c == word ||
			 !digits_only((char[]){c[-1], '\0'}, "0123456789abcdefABCDEF") ||
			 !digits_only((char[]){c[1], '\0'}, "0123456789abcdefABCDEF"))
			return false;
	}
	*out = plain.text;
	return true;
}

/* "0b101" in decimal, which the document tree has no spelling for; NULL when it is too long. */
static const char *
binary_text(struct arena *arena, const char *digits)
{
	long long value = 0;

	if (strlen(digits) > 62)
		return NULL;
	for (; *digits; digits++)
		value = value << 1 | (*digits - '0');
	return arena_printf(arena, "%lld", value);
}

static bool
is_time(const char *word)
{
	size_t n = strspn(word, "0123456789");

	return (n == 4 && word[4] == '-') || (n == 2 && word[2] == ':');
}

/* The text of a number as the document tree reads it; NULL when it is none. */
static const char *
number_text(struct arena *arena, const char *word)
{
	const char *sign = *word == '+' || *word == '-' ? word : NULL;
	const char *plain = sign ? word + 1 : word, *digits;
	size_t whole = strspn(plain, "0123456789_");

	if (strcmp(plain, "inf") == 0)
		return sign && *sign == '-' ? "-.inf" : ".inf";
	if (strcmp(plain, "nan") == 0)
		return ".nan";
	if (!without_underscores(arena, word, &digits))
		return NULL;
	plain = sign ? digits + 1 : digits;
	if (!sign && strncmp(plain, "0x", 2) == 0)
		return digits_only(plain + 2, "0123456789abcdefABCDEF") ? digits : NULL;
	if (!sign && strncmp(plain, "0o", 2) == 0)
		return digits_only(plain + 2, "01234567") ? digits : NULL;
	if (!sign && strncmp(plain, "0b", 2) == 0)
		return digits_only(plain + 2, "01") ? binary_text(arena, plain + 2) : NULL;
	if (whole == 0 || (plain[0] == '0' && plain[1] >= '0' && plain[1] <= '9'))
		return NULL;
	plain += strspn(plain, "0123456789");
	if (*plain == '.' && strspn(plain + 1, "0123456789") == 0)
		return NULL;
	return digits;
}

struct doc *
import_toml_bare(struct arena *arena, const char *key, const char *word, struct loc loc)
{
	const char *number;
	struct doc *node;

	if (strcmp(word, "true") == 0 || strcmp(word, "false") == 0)
		return import_bool(arena, key, *word == 't', loc);
	if (is_time(word))
		return import_string(arena, key, word, loc);
	number = number_text(arena, word);
	node = number ? import_scalar(arena, key, number, loc) : NULL;
	return node && node->kind == DOC_NUMBER ? node : NULL;
}
