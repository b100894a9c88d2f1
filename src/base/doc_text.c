/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How does a file become text that is safe to parse, and which line and column
 * is a byte in? Size, NUL bytes and UTF-8 (RFC 3629: no overlong forms, no
 * surrogates) are checked here once for both formats.
 */
#include "base/doc_private.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"

struct loc
doc_loc_at(const struct doc_reader *reader, size_t offset)
{
	struct loc loc = {reader->name, 1, 1};

	for (size_t i = 0; i < offset && i < reader->length; i++) {
		char c = reader->text[i];
		bool next_is_lf = i + 1 < reader->length && reader->text[i + 1] == '\n';

		if (c == '\n' || (c == '\r' && !next_is_lf)) {
			loc.line++;
			loc.column = 1;
		} else if (((unsigned char)c & 0xc0) != 0x80) {
			loc.column++;
		}
	}
	return loc;
}

/* RFC 3629's table: what the second byte may be, by first byte. */
static const struct lead {
	unsigned char first, last; /* first byte */
	unsigned char low, high;   /* second byte */
	unsigned char length;
} leads[] = {
    {0x01, 0x7f, 0, 0, 1},
    {0xc2, 0xdf, 0x80, 0xbf, 2},
    {0xe0, 0xe0, 0xa0, 0xbf, 3},
    {0xe1, 0xec, 0x80, 0xbf, 3},
    {0xed, 0xed, 0x80, 0x9f, 3},
    {0xee, 0xef, 0x80, 0xbf, 3},
    {0xf0, 0xf0, 0x90, 0xbf, 4},
    {0xf1, 0xf3, 0x80, 0xbf, 4},
    {0xf4, 0xf4, 0x80, 0x8f, 4},
};

/* Bytes of the UTF-8 sequence at `byte`, 0 when it is none. */
static size_t
sequence_length(const unsigned char *byte, size_t left)
{
	const struct lead *lead = NULL;

	for (size_t i = 0; i < sizeof(leads) / sizeof(leads[0]) && !lead; i++) {
		if (*byte >= leads[i].first && *byte <= leads[i].last)
			lead = &leads[i];
	}
	if (!lead || lead->length > left)
		return 0;
	if (lead->length > 1 && (byte[1] < lead->low || byte[1] > lead->high))
		return 0;
	for (size_t i = 2; i < lead->length; i++) {
		if ((byte[i] & 0xc0) != 0x80)
			return 0;
	}
	return lead->length;
}

static int
report_byte(struct doc_reader *reader, size_t offset)
{
	unsigned char byte = (unsigned char)reader->text[offset];
	bool utf16 = reader->length >= 2 &&
		     (!memcmp(reader->text, "\xff\xfe", 2) || !memcmp(reader->text, "\xfe\xff", 2));

	if (byte == 0)
		diag_error(reader->diags, doc_loc_at(reader, offset),
		    "'%s' holds a NUL byte, so it is not a text file", reader->name);
	else
		diag_error(reader->diags, doc_loc_at(reader, offset),
		    "'%s' is not UTF-8 text: found byte 0x%02x", reader->name, byte);
	if (utf16)
		diag_last_hint(reader->diags, "the file looks like UTF-16, save it as UTF-8");
	return -1;
}

int
doc_check_text(struct doc_reader *reader)
{
	if (reader->length > DOC_MAX_BYTES)
		return diag_error(reader->diags, doc_loc_at(reader, 0),
		    "'%s' has %zu bytes, allowed are %d at most", reader->name, reader->length,
		    DOC_MAX_BYTES);
	if (reader->length >= 3 && memcmp(reader->text, "\xef\xbb\xbf", 3) == 0) {
		reader->text += 3;
		reader->length -= 3;
	}
	for (size_t at = 0; at < reader->length;) {
		size_t taken =
		    sequence_length((const unsigned char *)reader->text + at, reader->length - at);

		if (taken == 0)
			return report_byte(reader, at);
		at += taken;
	}
	return 0;
}

int
doc_check(struct arena *arena, struct diags *diags, const char *name, const char **text,
    size_t *length)
{
	struct doc_reader reader = {.arena = arena, .diags = diags};

	reader.name = arena_strdup(arena, name);
	reader.text = *text;
	reader.length = *length;
	if (doc_check_text(&reader) != 0)
		return -1;
	*text = reader.text;
	*length = reader.length;
	return 0;
}

static char *
cannot_read(struct diags *diags, const char *path, const char *what)
{
	diag_error(diags, (struct loc){0}, "cannot %s '%s': %s", what, path, strerror(errno));
	return NULL;
}

/* Reads to the end into a buffer that doubles; one byte over the limit is enough to refuse. */
static char *
read_all(struct arena *arena, struct diags *diags, int fd, const char *path, size_t *length)
{
	size_t capacity = 64 << 10;
	char *buffer = arena_alloc(arena, capacity);
	size_t used = 0;

	for (;;) {
		ssize_t got = read(fd, buffer + used, capacity - 1 - used);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return cannot_read(diags, path, "read");
		used += (size_t)got;
		if (used > DOC_MAX_BYTES) {
			diag_error(diags, (struct loc){0}, "'%s' has more than %d bytes, the limit",
			    path, DOC_MAX_BYTES);
			return NULL;
		}
		if (got == 0)
			break;
		if (used == capacity - 1) {
			buffer = arena_grow(arena, buffer, used, capacity * 2);
			capacity *= 2;
		}
	}
	buffer[used] = '\0';
	*length = used;
	return buffer;
}

char *
doc_read_file(struct arena *arena, struct diags *diags, const char *path, size_t *length)
{
	bool is_stdin = strcmp(path, "-") == 0;
	int fd = is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
	char *text;

	if (fd < 0)
		return cannot_read(diags, path, "open");
	text = read_all(arena, diags, fd, is_stdin ? "standard input" : path, length);
	if (!is_stdin)
		close(fd);
	return text;
}
