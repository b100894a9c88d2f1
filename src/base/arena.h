/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_ARENA_H
#define MOEPLAN_ARENA_H

#include <stddef.h>

/*
 * One arena a run: everything that is read or derived lives in it until
 * the run ends, so there is no free() elsewhere and no partial clean-up.
 *
 * When memory runs out the arena calls its `out_of_memory` handler, which
 * must not return (the command line exits 3, tests long-jump).
 */
struct arena;

typedef void arena_oom_fn(void *context);

/* NULL when not even the first block can be had. */
struct arena *arena_new(arena_oom_fn *out_of_memory, void *context);
void arena_free(struct arena *arena);

/* Fail once more than `bytes` have been handed out (0: no limit). For tests and input limits. */
void arena_limit(struct arena *arena, size_t bytes);
size_t arena_used(const struct arena *arena);

/* Zeroed memory, aligned for any type. Size 0 gives a valid pointer. */
void *arena_alloc(struct arena *arena, size_t size);
/* count * size with the multiplication checked. */
void *arena_array(struct arena *arena, size_t count, size_t size);
/* A larger copy of an array; the old one stays where it is. */
void *arena_grow(struct arena *arena, const void *old, size_t old_size, size_t new_size);
char *arena_strdup(struct arena *arena, const char *text);
char *arena_strndup(struct arena *arena, const char *text, size_t length);
char *arena_printf(struct arena *arena, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Scratch use in loops: everything allocated after the mark is given back. */
struct arena_mark {
	void *block;
	size_t used;
	size_t total;
};
struct arena_mark arena_mark(struct arena *arena);
void arena_reset(struct arena *arena, struct arena_mark mark);

#endif
