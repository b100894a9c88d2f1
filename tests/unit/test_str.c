/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Growing strings, their width, and the word that was meant. */
#include <criterion/criterion.h>
#include <string.h>

#include "base/arena.h"
#include "base/str.h"

Test(str, pieces_come_one_after_the_other)
{
	struct arena *arena = arena_new(NULL, NULL);
	struct str str = str_new(arena);

	cr_assert_str_eq(str.text, "");
	str_add(&str, "ab");
	str_addn(&str, "cdef", 2);
	str_addc(&str, '-');
	str_pad(&str, '.', 3);
	str_addf(&str, "%d|%s", 42, "x");
	str_add(&str, "");
	str_pad(&str, '.', 0);
	cr_assert_str_eq(str.text, "abcd-...42|x");
	cr_assert_eq(str.length, strlen(str.text));
	arena_free(arena);
}

Test(str, growth_keeps_the_text_and_the_terminator)
{
	struct arena *arena = arena_new(NULL, NULL);
	struct str str = str_new(arena);

	for (size_t i = 0; i < 5000; i++) {
		if (i % 3 == 0)
			str_addc(&str, (char)('a' + i % 26));
		else
			str_addf(&str, "%c", (int)('a' + i % 26));
		cr_assert_eq(str.length, i + 1);
		cr_assert_lt(str.length, str.capacity);
		cr_assert_eq(str.text[str.length], '\0');
	}
	for (size_t i = 0; i < 5000; i++)
		cr_assert_eq(str.text[i], (char)('a' + i % 26));
	arena_free(arena);
}

Test(str, pieces_of_every_size_around_the_capacity)
{
	static const char text[] =
	    "0123456789012345678901234567890123456789012345678901234567890123456789";
	struct arena *arena = arena_new(NULL, NULL);

	for (size_t length = 0; length < sizeof(text); length++) {
		struct str str = str_new(arena);

		str_addn(&str, text, length);
		str_addf(&str, "%s", "!");
		cr_assert_eq(str.length, length + 1);
		cr_assert_eq(strncmp(str.text, text, length), 0);
		cr_assert_str_eq(str.text + length, "!");
	}
	arena_free(arena);
}

Test(str, width_counts_columns)
{
	static const struct {
		const char *text;
		size_t width;
	} rows[] = {
		{"", 0},
		{"abc", 3},
		{"\xc3\xa9t\xc3\xa9", 3},                 /* e acute */
		{"\xc2\xb1" "12%", 4},                    /* plus-minus */
		{"\xe2\x96\x88\xe2\x96\x91", 2},          /* block elements */
		{"\xe4\xb8\xad\xe6\x96\x87", 4},          /* two Chinese characters */
		{"\xf0\x9f\x98\x80", 2},                  /* an emoji */
		{"a\xff" "b", 3},                         /* broken */
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		cr_assert_eq(str_width(rows[i].text), rows[i].width, "row %zu: %zu", i,
		    str_width(rows[i].text));
}

static const char *const keys[] = {
    "tp", "pp", "micro_batch", "global_batch", "recompute", "seq_len", "precision", "edp", NULL};

Test(str, nearest_finds_what_was_meant)
{
	static const struct {
		const char *word, *meant;
	} rows[] = {
		{"micro_bach", "micro_batch"},
		{"micro-batch", "micro_batch"},
		{"microbatch", "micro_batch"},
		{"Micro_Batch", "micro_batch"},
		{"recmopute", "recompute"},
		{"seqlen", "seq_len"},
		{"TP", "tp"},
		{"epd", "edp"},
		{"prec", "precision"},
		{"glob", "global_batch"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const char *near = str_nearest(rows[i].word, keys);

		cr_assert_not_null(near, "%s", rows[i].word);
		cr_assert_str_eq(near, rows[i].meant, "%s: %s", rows[i].word, near);
	}
}

Test(str, nearest_does_not_guess)
{
	static const char *const far[] = {"", "x", "zz", "banana", "batch", "optimizer", "re"};
	static const char *const none[] = {NULL};
	char endless[1000];

	for (size_t i = 0; i < sizeof(far) / sizeof(far[0]); i++)
		cr_assert_null(str_nearest(far[i], keys), "%s", far[i]);
	memset(endless, 'a', sizeof(endless) - 1);
	endless[sizeof(endless) - 1] = '\0';
	cr_assert_null(str_nearest(endless, keys));
	cr_assert_null(str_nearest("tp", none));
}

Test(str, nearest_prefers_the_nearest)
{
	static const char *const words[] = {"alltoall", "allgather", "alltoal", NULL};

	cr_assert_str_eq(str_nearest("alltoall", words), "alltoall");
	cr_assert_str_eq(str_nearest("altoal", words), "alltoal");
	cr_assert_str_eq(str_nearest("allgater", words), "allgather");
}

Test(str, quoted_text_is_one_text)
{
	struct arena *arena = arena_new(NULL, NULL);
	struct str str = str_new(arena);

	str_add_quoted(&str, "it's\na: b");
	cr_assert_str_eq(str.text, "'it''s a: b'");
	arena_free(arena);
}
