/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where does memory come from, and when does it go back?
 *
 * A stack of blocks: allocations are cut from the newest block, a new block is
 * pushed when it is full, everything is freed with the arena. A mark remembers
 * the top of the stack; resetting pops what was pushed since. One popped block
 * is kept, so that a loop around a block's end does not call malloc() each
 * time.
 *
 * Under AddressSanitizer the part of a block that is not handed out is
 * poisoned, with a gap after each allocation, so that overruns are seen.
 */
#include "base/arena.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/numeric.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ARENA_ASAN 1
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define ARENA_ASAN 1
#endif

#ifdef ARENA_ASAN
#include <sanitizer/asan_interface.h>
enum { GAP_BYTES = 16 };
#else
#define ASAN_POISON_MEMORY_REGION(address, size) ((void)(address), (void)(size))
#define ASAN_UNPOISON_MEMORY_REGION(address, size) ((void)(address), (void)(size))
enum { GAP_BYTES = 0 };
#endif

enum { FIRST_BLOCK_BYTES = 64 << 10, LARGEST_BLOCK_BYTES = 1 << 20 };

struct block {
	struct block *below;
	size_t capacity;
	size_t used;
	_Alignas(max_align_t) unsigned char bytes[];
};

struct arena {
	struct block *top;
	struct block *spare;
	size_t next_capacity;
	size_t total; /* handed out, without padding */
	size_t limit; /* 0: none */
	arena_oom_fn *out_of_memory;
	void *context;
};

static struct block *
block_new(size_t capacity)
{
	struct block *block;

	if (capacity > SIZE_MAX - sizeof(*block))
		return NULL;
	block = malloc(sizeof(*block) + capacity);
	if (!block)
		return NULL;
	block->below = NULL;
	block->capacity = capacity;
	block->used = 0;
	ASAN_POISON_MEMORY_REGION(block->bytes, capacity);
	return block;
}

static void
block_free(struct block *block)
{
	if (!block)
		return;
	ASAN_UNPOISON_MEMORY_REGION(block->bytes, block->capacity);
	free(block);
}

struct arena *
arena_new(arena_oom_fn *out_of_memory, void *context)
{
	struct arena *arena = calloc(1, sizeof(*arena));

	if (!arena)
		return NULL;
	arena->out_of_memory = out_of_memory;
	arena->context = context;
	arena->next_capacity = FIRST_BLOCK_BYTES;
	arena->top = block_new(FIRST_BLOCK_BYTES);
	if (!arena->top) {
		free(arena);
		return NULL;
	}
	return arena;
}

void
arena_free(struct arena *arena)
{
	struct block *below;

	if (!arena)
		return;
	for (struct block *block = arena->top; block; block = below) {
		below = block->below;
		block_free(block);
	}
	block_free(arena->spare);
	free(arena);
}

void
arena_limit(struct arena *arena, size_t bytes)
{
	arena->limit = bytes;
}

size_t
arena_used(const struct arena *arena)
{
	return arena->total;
}

/* The handler must not return; should it, going on would write through NULL. */
_Noreturn static void
fail(struct arena *arena)
{
	if (arena->out_of_memory)
		arena->out_of_memory(arena->context);
	abort();
}

static void
push_block(struct arena *arena, size_t size)
{
	struct block *block = arena->spare;

	if (block && block->capacity >= size) {
		arena->spare = NULL;
	} else {
		if (arena->next_capacity < LARGEST_BLOCK_BYTES)
			arena->next_capacity *= 2;
		block = block_new(size > arena->next_capacity ? size : arena->next_capacity);
		if (!block)
			fail(arena);
	}
	block->used = 0;
	block->below = arena->top;
	arena->top = block;
}

/* The size that an allocation takes in its block, 0 when it does not fit in size_t. */
static size_t
padded(size_t size)
{
	size_t unit = _Alignof(max_align_t);
	size_t extra = unit - 1 + GAP_BYTES;

	if (size > SIZE_MAX - extra)
		return 0;
	if (size == 0)
		size = 1;
	return (size + extra) / unit * unit;
}

void *
arena_alloc(struct arena *arena, size_t size)
{
	size_t taken = padded(size);
	unsigned char *bytes;

	if (taken == 0 || size > SIZE_MAX - arena->total)
		fail(arena);
	if (arena->limit != 0 && arena->total + size > arena->limit)
		fail(arena);
	if (taken > arena->top->capacity - arena->top->used)
		push_block(arena, taken);
	bytes = arena->top->bytes + arena->top->used;
	arena->top->used += taken;
	arena->total += size;
	ASAN_UNPOISON_MEMORY_REGION(bytes, size);
	memset(bytes, 0, size);
	return bytes;
}

void *
arena_array(struct arena *arena, size_t count, size_t size)
{
	if (size != 0 && count > SIZE_MAX / size)
		fail(arena);
	return arena_alloc(arena, count * size);
}

void *
arena_grow(struct arena *arena, const void *old, size_t old_size, size_t new_size)
{
	void *copy = arena_alloc(arena, new_size);
	size_t kept = old_size < new_size ? old_size : new_size;

	if (kept != 0)
		memcpy(copy, old, kept);
	return copy;
}

char *
arena_strdup(struct arena *arena, const char *text)
{
	return arena_strndup(arena, text, strlen(text));
}

char *
arena_strndup(struct arena *arena, const char *text, size_t length)
{
	char *copy;

	if (length == SIZE_MAX)
		fail(arena);
	copy = arena_alloc(arena, length + 1);
	if (length != 0)
		memcpy(copy, text, length);
	return copy;
}

char *
arena_printf(struct arena *arena, const char *format, ...)
{
	va_list arguments;
	char *text;
	int length;

	va_start(arguments, format);
	length = numeric_vsnprintf(NULL, 0, format, arguments);
	va_end(arguments);
	if (length < 0)
		fail(arena);
	text = arena_alloc(arena, (size_t)length + 1);
	va_start(arguments, format);
	numeric_vsnprintf(text, (size_t)length + 1, format, arguments);
	va_end(arguments);
	return text;
}

struct arena_mark
arena_mark(struct arena *arena)
{
	struct arena_mark mark = {arena->top, arena->top->used, arena->total};

	return mark;
}

static void
keep_or_free(struct arena *arena, struct block *block)
{
	struct block *smaller = block;

	ASAN_POISON_MEMORY_REGION(block->bytes, block->capacity);
	if (block->capacity <= LARGEST_BLOCK_BYTES &&
	    (!arena->spare || arena->spare->capacity < block->capacity)) {
		smaller = arena->spare;
		arena->spare = block;
	}
	block_free(smaller);
}

void
arena_reset(struct arena *arena, struct arena_mark mark)
{
	while ((void *)arena->top != mark.block) {
		struct block *block = arena->top;

		arena->top = block->below;
		keep_or_free(arena, block);
	}
	arena->top->used = mark.used;
	arena->total = mark.total;
	ASAN_POISON_MEMORY_REGION(arena->top->bytes + mark.used, arena->top->capacity - mark.used);
}
