/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Memory of one run: alignment, zeroing, limits, marks. */
#include <criterion/criterion.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>

#include "base/arena.h"

static jmp_buf out_of_memory;

static void
jump(void *context)
{
	*(int *)context += 1;
	longjmp(out_of_memory, 1);
}

/* 1 when `size` bytes cannot be had. */
static int
fails(struct arena *arena, size_t count, size_t size)
{
	if (setjmp(out_of_memory))
		return 1;
	arena_array(arena, count, size);
	return 0;
}

static bool
is_zero(const unsigned char *bytes, size_t length)
{
	for (size_t i = 0; i < length; i++) {
		if (bytes[i] != 0)
			return false;
	}
	return true;
}

Test(arena, memory_is_zero_and_aligned_also_when_used_again)
{
	struct arena *arena = arena_new(NULL, NULL);
	struct arena_mark mark = arena_mark(arena);

	for (int round = 0; round < 3; round++) {
		for (size_t size = 0; size < 300; size++) {
			unsigned char *bytes = arena_alloc(arena, size * size);

			cr_assert_not_null(bytes);
			cr_assert_eq((uintptr_t)bytes % _Alignof(max_align_t), 0);
			cr_assert(is_zero(bytes, size * size));
			memset(bytes, 0xa5, size * size);
		}
		arena_reset(arena, mark);
	}
	cr_assert_eq(arena_used(arena), 0);
	arena_free(arena);
}

Test(arena, allocations_do_not_overlap)
{
	struct arena *arena = arena_new(NULL, NULL);
	unsigned char *parts[200];

	for (size_t i = 0; i < 200; i++) {
		parts[i] = arena_alloc(arena, 1000 + i);
		memset(parts[i], (int)i, 1000 + i);
	}
	for (size_t i = 0; i < 200; i++) {
		for (size_t j = 0; j < 1000 + i; j++)
			cr_assert_eq(parts[i][j], i);
	}
	cr_assert_eq(arena_used(arena), 200 * 1000 + 199 * 200 / 2);
	arena_free(arena);
}

Test(arena, the_limit_calls_the_handler)
{
	int calls = 0;
	struct arena *arena = arena_new(jump, &calls);

	arena_limit(arena, 1000);
	cr_assert_not(fails(arena, 1, 1000));
	cr_assert(fails(arena, 1, 1));
	arena_limit(arena, 0);
	cr_assert_not(fails(arena, 1, 1));
	cr_assert_eq(calls, 1);
	arena_free(arena);
}

Test(arena, sizes_that_overflow_call_the_handler)
{
	static const struct {
		size_t count, size;
	} rows[] = {
		{SIZE_MAX, 1},
		{SIZE_MAX - 15, 1},
		{SIZE_MAX / 2 + 1, 2},
		{SIZE_MAX / 8, 16},
		{2, SIZE_MAX},
	};
	int calls = 0;
	struct arena *arena = arena_new(jump, &calls);

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		cr_assert(fails(arena, rows[i].count, rows[i].size), "row %zu", i);
	cr_assert_eq(calls, 5);
	cr_assert_not(fails(arena, 0, SIZE_MAX));
	cr_assert_not(fails(arena, SIZE_MAX, 0));
	arena_free(arena);
}

Test(arena, reset_gives_back_what_came_after_the_mark)
{
	struct arena *arena = arena_new(NULL, NULL);
	char *kept = arena_strdup(arena, "kept");
	size_t used = arena_used(arena);
	struct arena_mark mark = arena_mark(arena);

	for (int i = 0; i < 1000; i++) {
		memset(arena_alloc(arena, 5 << 20), 1, 5 << 20);
		memset(arena_alloc(arena, 100000), 1, 100000);
		arena_reset(arena, mark);
	}
	cr_assert_eq(arena_used(arena), used);
	cr_assert_str_eq(kept, "kept");
	arena_free(arena);
}

Test(arena, marks_nest)
{
	struct arena *arena = arena_new(NULL, NULL);
	struct arena_mark outer = arena_mark(arena);
	char *first = arena_strdup(arena, "first");
	struct arena_mark inner = arena_mark(arena);

	arena_alloc(arena, 3 << 20);
	arena_reset(arena, inner);
	cr_assert_str_eq(first, "first");
	cr_assert_eq(arena_used(arena), 6);
	arena_reset(arena, outer);
	cr_assert_eq(arena_used(arena), 0);
	arena_free(arena);
}

Test(arena, grow_copies_and_clears_the_rest)
{
	struct arena *arena = arena_new(NULL, NULL);
	const char *grown = arena_grow(arena, "abc", 3, 6);

	cr_assert_eq(memcmp(grown, "abc\0\0\0", 6), 0);
	cr_assert_eq(memcmp(arena_grow(arena, "abc", 3, 2), "ab", 2), 0);
	cr_assert_not_null(arena_grow(arena, NULL, 0, 8));
	arena_free(arena);
}

Test(arena, strings)
{
	struct arena *arena = arena_new(NULL, NULL);

	cr_assert_str_eq(arena_strdup(arena, ""), "");
	cr_assert_str_eq(arena_strndup(arena, "abcdef", 3), "abc");
	cr_assert_str_eq(arena_strndup(arena, NULL, 0), "");
	cr_assert_str_eq(arena_printf(arena, "%d-%s-%.2f", 7, "x", 1.5), "7-x-1.50");
	cr_assert_eq(strlen(arena_printf(arena, "%*d", 200000, 1)), 200000);
	arena_free(arena);
}

Test(arena, freeing_nothing_is_allowed)
{
	arena_free(NULL);
}
