/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How is a file of any length read line by line? A buffer slides over it and grows
 * only to the longest line; what passes is fingerprinted on the way.
 */
#include <errno.h>
#include <string.h>

#include "base/arena.h"
#include "model/loads_private.h"

enum { FIRST_ROOM = 1 << 16 };

static void
start(struct lines *lines, struct arena *arena, struct diags *diags, const char *name)
{
	memset(lines, 0, sizeof(*lines));
	lines->arena = arena;
	lines->diags = diags;
	lines->name = name;
	lines->room = FIRST_ROOM;
	lines->buffer = arena_alloc(arena, lines->room + 1);
	lines->sha = sha256_begin();
}

int
lines_open(struct lines *lines, struct arena *arena, struct diags *diags, const char *path)
{
	struct loc nowhere = {NULL, 0, 0};
	bool standard = strcmp(path, "-") == 0;

	start(lines, arena, diags, standard ? "<stdin>" : arena_strdup(arena, path));
	lines->file = standard ? stdin : fopen(path, "rb");
	if (lines->file)
		return 0;
	return diag_error(diags, nowhere, "'%s' cannot be opened: %s", path, strerror(errno));
}

void
lines_open_text(struct lines *lines, struct arena *arena, struct diags *diags, const char *name,
    const char *text, size_t length)
{
	start(lines, arena, diags, name);
	lines->text = text;
	lines->text_left = length;
}

void
lines_close(struct lines *lines)
{
	if (lines->file && lines->file != stdin)
		fclose(lines->file);
	lines->file = NULL;
}

struct loc
lines_loc(const struct lines *lines, int column)
{
	return (struct loc){lines->name, lines->number, column};
}

static size_t
take(struct lines *lines, char *to, size_t room)
{
	size_t got = lines->text_left < room ? lines->text_left : room;

	if (lines->file)
		return fread(to, 1, room, lines->file);
	memcpy(to, lines->text, got);
	lines->text += got;
	lines->text_left -= got;
	return got;
}

/* More of the text behind what is in the buffer. -1 at the end and after an error. */
static int
refill(struct lines *lines)
{
	size_t kept = lines->end - lines->begin, got;

	if (lines->at_end)
		return -1;
	memmove(lines->buffer, lines->buffer + lines->begin, kept);
	lines->begin = 0;
	lines->end = kept;
	if (kept == lines->room) {
		if (lines->room >= LINES_MAX_LENGTH) {
			struct loc loc = {lines->name, lines->number + 1, 1};

			lines->failed = lines->at_end = true;
			return diag_error(lines->diags, loc,
			    "a line or a document has more than %d bytes", LINES_MAX_LENGTH);
		}
		lines->buffer =
		    arena_grow(lines->arena, lines->buffer, lines->room + 1, 2 * lines->room + 1);
		lines->room *= 2;
	}
	got = take(lines, lines->buffer + lines->end, lines->room - lines->end);
	sha256_add(&lines->sha, lines->buffer + lines->end, got);
	lines->end += got;
	lines->at_end = got == 0;
	if (lines->file && ferror(lines->file)) {
		struct loc loc = {lines->name, lines->number, 0};

		lines->failed = lines->at_end = true;
		return diag_error(
		    lines->diags, loc, "'%s' cannot be read: %s", lines->name, strerror(errno));
	}
	return lines->at_end ? -1 : 0;
}

/* The end of the line that starts at `begin`, or NULL after an error or at the end of all. */
static char *
find_end(struct lines *lines)
{
	size_t seen = 0;

	for (;;) {
		char *from = lines->buffer + lines->begin;
		char *end = memchr(from + seen, '\n', lines->end - lines->begin - seen);

		if (end)
			return end;
		seen = lines->end - lines->begin;
		if (refill(lines) != 0) {
			if (lines->failed || lines->begin == lines->end)
				return NULL;
			return lines->buffer + lines->end; /* a last line without its end */
		}
	}
}

char *
lines_next(struct lines *lines, size_t *length)
{
	char *end = find_end(lines), *line;

	if (!end)
		return NULL;
	line = lines->buffer + lines->begin;
	lines->last_begin = lines->begin;
	lines->last_lf = end < lines->buffer + lines->end;
	lines->begin = (size_t)(end - lines->buffer) + lines->last_lf;
	*end = '\0';
	lines->last_cr = end > line && end[-1] == '\r';
	if (lines->last_cr)
		*--end = '\0';
	lines->last_end = (size_t)(end - lines->buffer);
	*length = (size_t)(end - line);
	lines->number++;
	return line;
}

void
lines_again(struct lines *lines)
{
	char *end = lines->buffer + lines->last_end;

	if (lines->last_cr)
		*end++ = '\r';
	if (lines->last_lf)
		*end = '\n';
	lines->begin = lines->last_begin;
	lines->number--;
}

char *
lines_rest(struct lines *lines, size_t *length)
{
	while (refill(lines) == 0)
		;
	if (lines->failed)
		return NULL;
	lines->buffer[lines->end] = '\0';
	*length = lines->end - lines->begin;
	return lines->buffer + lines->begin;
}
