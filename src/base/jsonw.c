/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How is JSON written so that every reader takes it and no bit is lost?
 *
 * RFC 8259 in the order of the calls. A double gets the first of 15, 16 and 17
 * significant digits that reads back the same; 17 always do (IEEE 754 binary64).
 * A double that is a whole number is written without a fraction. The writer's
 * misuse (a key in a list, an unbalanced close) is a bug and asserted.
 */
#include "base/jsonw.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stddef.h>

#include "base/numeric.h"

struct jsonw
jsonw_new(struct arena *arena)
{
	struct jsonw w = {.out = str_new(arena)};

	return w;
}

/* Bytes of the UTF-8 sequence at `text`, 0 when it is broken. Overlong forms pass. */
static size_t
sequence_length(const unsigned char *text)
{
	size_t length = text[0] < 0x80 ? 1 : text[0] >= 0xf0 ? 4 : text[0] >= 0xe0 ? 3 : 2;

	if (text[0] >= 0xf8 || (text[0] >= 0x80 && text[0] < 0xc0))
		return 0;
	for (size_t i = 1; i < length; i++) {
		if ((text[i] & 0xc0) != 0x80)
			return 0;
	}
	return length;
}

static void
add_control(struct str *out, unsigned char c)
{
	if (c == '\n')
		str_add(out, "\\n");
	else if (c == '\t')
		str_add(out, "\\t");
	else
		str_addf(out, "\\u%04x", c);
}

/* A byte that is not UTF-8 (a file name may hold one) becomes U+FFFD. */
static void
add_string(struct str *out, const char *value)
{
	const unsigned char *byte = (const unsigned char *)value;

	str_addc(out, '"');
	while (*byte) {
		size_t length = sequence_length(byte);

		if (length == 0) {
			str_add(out, "\xef\xbf\xbd");
			length = 1;
		} else if (*byte < 0x20 || *byte == 0x7f) {
			add_control(out, *byte);
		} else {
			if (*byte == '"' || *byte == '\\')
				str_addc(out, '\\');
			str_addn(out, (const char *)byte, length);
		}
		byte += length;
	}
	str_addc(out, '"');
}

/* The comma, the place on the line and the key before a value. */
static void
begin_value(struct jsonw *w, const char *key)
{
	bool is_inline = w->depth > 0 && w->inline_list[w->depth - 1];

	if (w->depth == 0) {
		assert(!key && w->out.length == 0);
		return;
	}
	assert(w->in_list[w->depth - 1] == !key);
	if (w->has_items[w->depth - 1])
		str_add(&w->out, is_inline ? ", " : ",");
	w->has_items[w->depth - 1] = true;
	if (!is_inline) {
		str_addc(&w->out, '\n');
		str_pad(&w->out, ' ', 2 * (size_t)w->depth);
	}
	if (key) {
		add_string(&w->out, key);
		str_add(&w->out, ": ");
	}
}

static void
push(struct jsonw *w, const char *key, bool is_list, bool is_inline)
{
	bool in_inline = w->depth > 0 && w->inline_list[w->depth - 1];

	assert(w->depth < JSONW_MAX_DEPTH);
	begin_value(w, key);
	str_addc(&w->out, is_list ? '[' : '{');
	w->has_items[w->depth] = false;
	w->in_list[w->depth] = is_list;
	w->inline_list[w->depth] = is_inline || in_inline;
	w->depth++;
}

void
jsonw_open(struct jsonw *w, const char *key)
{
	push(w, key, false, false);
}

void
jsonw_list(struct jsonw *w, const char *key)
{
	push(w, key, true, false);
}

void
jsonw_row(struct jsonw *w, const char *key)
{
	push(w, key, true, true);
}

void
jsonw_close(struct jsonw *w)
{
	assert(w->depth > 0);
	w->depth--;
	if (w->has_items[w->depth] && !w->inline_list[w->depth]) {
		str_addc(&w->out, '\n');
		str_pad(&w->out, ' ', 2 * (size_t)w->depth);
	}
	str_addc(&w->out, w->in_list[w->depth] ? ']' : '}');
}

void
jsonw_string(struct jsonw *w, const char *key, const char *value)
{
	begin_value(w, key);
	if (value)
		add_string(&w->out, value);
	else
		str_add(&w->out, "null");
}

void
jsonw_int(struct jsonw *w, const char *key, int64_t value)
{
	begin_value(w, key);
	str_addf(&w->out, "%" PRId64, value);
}

void
jsonw_uint(struct jsonw *w, const char *key, uint64_t value)
{
	begin_value(w, key);
	str_addf(&w->out, "%" PRIu64, value);
}

void
jsonw_double(struct jsonw *w, const char *key, double value)
{
	char text[32];

	begin_value(w, key);
	if (!isfinite(value)) {
		str_add(&w->out, "null");
		return;
	}
	for (int digits = 15; digits <= 17; digits++) {
		numeric_snprintf(text, sizeof(text), "%.*g", digits, value);
		if (numeric_strtod(text, NULL) == value)
			break;
	}
	str_add(&w->out, text);
}

void
jsonw_bool(struct jsonw *w, const char *key, bool value)
{
	begin_value(w, key);
	str_add(&w->out, value ? "true" : "false");
}

const char *
jsonw_end(struct jsonw *w)
{
	assert(w->depth == 0 && w->out.length > 0);
	str_addc(&w->out, '\n');
	return w->out.text;
}
