/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How is text put together piece by piece, how wide is it on a terminal, which known
 * word did somebody mean, and which of two versions is older?
 *
 * str_nearest() uses the restricted Damerau-Levenshtein distance (insert,
 * delete, replace, swap neighbours; Damerau 1964). Case and the difference
 * between '-' and '_' cost nothing. It ignores where keys lie on a keyboard.
 */
#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/arena.h"
#include "base/numeric.h"

enum { FIRST_CAPACITY = 64, LONGEST_WORD = 63 };

struct str
str_new(struct arena *arena)
{
	struct str str = {arena_alloc(arena, FIRST_CAPACITY), 0, FIRST_CAPACITY, arena};

	return str;
}

/* Room for `more` bytes and the terminator. Overflow becomes a size that no arena grants. */
static void
reserve(struct str *str, size_t more)
{
	size_t capacity = str->capacity;

	if (more < capacity - str->length)
		return;
	if (more > SIZE_MAX / 4 || capacity > SIZE_MAX / 4)
		capacity = SIZE_MAX;
	else
		capacity = (capacity > str->length + more ? capacity : str->length + more + 1) * 2;
	str->text = arena_grow(str->arena, str->text, str->length + 1, capacity);
	str->capacity = capacity;
}

void
str_add(struct str *str, const char *text)
{
	str_addn(str, text, strlen(text));
}

void
str_addn(struct str *str, const char *text, size_t length)
{
	if (length == 0)
		return;
	reserve(str, length);
	memcpy(str->text + str->length, text, length);
	str->length += length;
	str->text[str->length] = '\0';
}

void
str_addc(struct str *str, char c)
{
	str_addn(str, &c, 1);
}

void
str_add_quoted(struct str *str, const char *text)
{
	str_addc(str, '\'');
	for (; *text; text++) {
		if (*text == '\'')
			str_addc(str, '\'');
		str_addc(str, (unsigned char)*text < ' ' ? ' ' : *text);
	}
	str_addc(str, '\'');
}

void
str_pad(struct str *str, char c, size_t count)
{
	if (count == 0)
		return;
	reserve(str, count);
	memset(str->text + str->length, c, count);
	str->length += count;
	str->text[str->length] = '\0';
}

void
str_addf(struct str *str, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	str_addv(str, format, arguments);
	va_end(arguments);
}

void
str_addv(struct str *str, const char *format, va_list arguments)
{
	va_list again;
	int length;

	va_copy(again, arguments);
	length = numeric_vsnprintf(NULL, 0, format, arguments);
	if (length > 0) {
		reserve(str, (size_t)length);
		numeric_vsnprintf(str->text + str->length, (size_t)length + 1, format, again);
		str->length += (size_t)length;
	}
	va_end(again);
}

/* What terminals draw two columns wide (Unicode's East Asian Width W and F, the large blocks). */
static const struct wide_range {
	uint32_t first, last;
} wide_ranges[] = {
    {0x1100, 0x115f},
    {0x2e80, 0x303e},
    {0x3041, 0xa4cf},
    {0xac00, 0xd7a3},
    {0xf900, 0xfaff},
    {0xfe30, 0xfe6f},
    {0xff00, 0xff60},
    {0xffe0, 0xffe6},
    {0x1f300, 0x1f64f},
    {0x1f900, 0x1f9ff},
    {0x20000, 0x3fffd},
};

static size_t
code_point_width(uint32_t code_point)
{
	for (size_t i = 0; i < sizeof(wide_ranges) / sizeof(wide_ranges[0]); i++) {
		if (code_point >= wide_ranges[i].first && code_point <= wide_ranges[i].last)
			return 2;
	}
	return 1;
}

/* Decodes leniently: a broken sequence counts one column a lead byte. */
size_t
str_width(const char *text)
{
	const unsigned char *byte = (const unsigned char *)text;
	size_t width = 0;

	while (*byte) {
		uint32_t code_point = *byte++;

		if (code_point >= 0xf0)
			code_point &= 0x07;
		else if (code_point >= 0xe0)
			code_point &= 0x0f;
		else if (code_point >= 0xc0)
			code_point &= 0x1f;
		while ((*byte & 0xc0) == 0x80)
			code_point = (code_point << 6 | (*byte++ & 0x3f)) & 0x1fffff;
		width += code_point_width(code_point);
	}
	return width;
}

static int
folded(char c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A' + 'a';
	return c == '-' ? '_' : c;
}

/*
 * A word that is compared with many: bit i of where[c] is set when letter i is c, so that
 * one column of the distance matrix is a few operations on 64-bit words.
 */
struct pattern {
	uint64_t where[256];
	size_t length;
};

static void
pattern_fill(struct pattern *pattern, const char *word, size_t length)
{
	*pattern = (struct pattern){.length = length};
	for (size_t i = 0; i < length; i++)
		pattern->where[(unsigned char)folded(word[i])] |= UINT64_C(1) << i;
}

/*
 * Hyyrö 2003, "A bit-vector algorithm for computing Levenshtein and Damerau edit distances":
 * `up` and `down` hold where the column rises and falls by one, `diagonal` where it does not
 * cost to come from the upper left. Any number above `most` when the distance is above it.
 */
static size_t
edit_distance(const struct pattern *pattern, const char *word, size_t length, size_t most)
{
	uint64_t up = ~UINT64_C(0), down = 0, diagonal = 0, before = 0;
	uint64_t last = UINT64_C(1) << (pattern->length - 1);
	size_t distance = pattern->length;

	for (size_t j = 0; j < length; j++) {
		uint64_t same = pattern->where[(unsigned char)folded(word[j])];
		uint64_t swap = ((~diagonal & same) << 1) & before;
		uint64_t right, left;

		diagonal = (((same & up) + up) ^ up) | same | down | swap;
		right = down | ~(diagonal | up);
		left = diagonal & up;
		distance += (right & last) != 0;
		distance -= (left & last) != 0;
		if (distance > most + (length - j - 1))
			break; /* a letter lowers it by one at most */
		right = right << 1 | 1;
		up = left << 1 | ~(diagonal | right);
		down = right & diagonal;
		before = same;
	}
	return distance;
}

static bool
is_start_of(const char *start, const char *word)
{
	while (*start && folded(*start) == folded(*word)) {
		start++;
		word++;
	}
	return *start == '\0';
}

/* Near: at most a third of the letters differ. Otherwise the one word that begins like this. */
const char *
str_nearest(const char *word, const char *const *candidates)
{
	size_t length = strlen(word);
	size_t allowed = length < 6 ? 1 : length / 3;
	size_t best_distance = allowed + 1;
	const char *best = NULL;
	const char *longer = NULL;
	size_t n_longer = 0;
	struct pattern pattern;

	if (length == 0 || length > LONGEST_WORD)
		return NULL;
	pattern_fill(&pattern, word, length);
	for (; *candidates; candidates++) {
		size_t candidate_length = strlen(*candidates);
		size_t distance;

		if (candidate_length > LONGEST_WORD)
			continue;
		if (length >= 3 && is_start_of(word, *candidates)) {
			longer = *candidates;
			n_longer++;
		}
		/* at least as many edits as the lengths differ by */
		if (candidate_length >= length + best_distance ||
		    length >= candidate_length + best_distance)
			continue;
		distance = edit_distance(&pattern, *candidates, candidate_length, best_distance);
		if (distance < best_distance && (distance < candidate_length || distance == 0)) {
			best_distance = distance;
			best = *candidates;
		}
	}
	return best ? best : n_longer == 1 ? longer : NULL;
}

/* --- versions ------------------------------------------------------------------------------- */

/* The number in front, at most nine digits; *text moves behind it and a point. */
static long
next_part(const char **text)
{
	long part = 0;
	int digits = 0;

	while (**text >= '0' && **text <= '9' && digits++ < 9)
		part = part * 10 + (*(*text)++ - '0');
	if (**text == '.')
		(*text)++;
	else
		*text += strlen(*text); /* "rc1" and the like say nothing here */
	return part;
}

int
version_compare(const char *a, const char *b)
{
	while (*a || *b) {
		long x = next_part(&a), y = next_part(&b);

		if (x != y)
			return x < y ? -1 : 1;
	}
	return 0;
}

int
str_index(const char *const *list, const char *word)
{
	for (int i = 0; list[i]; i++)
		if (strcmp(list[i], word) == 0)
			return i;
	return -1;
}
