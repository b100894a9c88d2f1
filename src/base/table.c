/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How do rows of text line up in columns? Cells are kept until the table is
 * printed, because only then is the widest cell of a column known.
 */
#include "base/table.h"

#include <assert.h>
#include <stdarg.h>
#include <string.h>

#include "base/arena.h"

enum { GAP = 2 };

struct column {
	const char *head;
	enum table_align align;
};

struct row {
	struct row *next;
	size_t count;
	const char *cells[]; /* one a column, NULL: empty */
};

struct table {
	struct arena *arena;
	struct column *columns;
	size_t n_columns;
	struct row *first, *last;
};

struct table *
table_new(struct arena *arena, size_t columns)
{
	struct table *table = arena_alloc(arena, sizeof(*table));

	table->arena = arena;
	table->n_columns = columns;
	table->columns = arena_array(arena, columns, sizeof(*table->columns));
	for (size_t i = 0; i < columns; i++)
		table->columns[i].head = "";
	return table;
}

void
table_column(struct table *table, size_t column, const char *head, enum table_align align)
{
	assert(column < table->n_columns);
	table->columns[column].head = arena_strdup(table->arena, head);
	table->columns[column].align = align;
}

void
table_row(struct table *table)
{
	struct row *row =
	    arena_alloc(table->arena, sizeof(*row) + table->n_columns * sizeof(row->cells[0]));

	if (table->last)
		table->last->next = row;
	else
		table->first = row;
	table->last = row;
}

/* Takes a text that lives as long as the table. */
static void
add_cell(struct table *table, const char *text)
{
	struct row *row = table->last;

	assert(row && row->count < table->n_columns);
	row->cells[row->count++] = text;
}

void
table_cell(struct table *table, const char *text)
{
	add_cell(table, arena_strdup(table->arena, text));
}

void
table_cellf(struct table *table, const char *format, ...)
{
	struct str text = str_new(table->arena);
	va_list arguments;

	va_start(arguments, format);
	str_addv(&text, format, arguments);
	va_end(arguments);
	add_cell(table, text.text);
}

static size_t
column_width(const struct table *table, size_t column)
{
	size_t width = str_width(table->columns[column].head);

	for (const struct row *row = table->first; row; row = row->next) {
		size_t cell = row->cells[column] ? str_width(row->cells[column]) : 0;

		if (cell > width)
			width = cell;
	}
	return width;
}

/* Adds a cell after `pending` blanks that are still owed, and returns what is owed after it. */
static size_t
print_cell(struct str *out, const char *text, size_t width, enum table_align align, size_t pending)
{
	size_t fill = width - str_width(text);

	if (text[0] == '\0')
		return pending + width;
	str_pad(out, ' ', pending + (align == TABLE_RIGHT ? fill : 0));
	str_add(out, text);
	return align == TABLE_RIGHT ? 0 : fill;
}

/* Blanks are written only before text, so that no line ends with them. */
static void
print_line(const struct table *table, const char *const *cells, const size_t *widths,
    struct str *out, size_t indent)
{
	size_t pending = indent;

	for (size_t i = 0; i < table->n_columns; i++) {
		const char *text = cells[i] ? cells[i] : "";

		pending = print_cell(out, text, widths[i], table->columns[i].align, pending);
		pending += GAP;
	}
	str_addc(out, '\n');
}

void
table_print(const struct table *table, struct str *out, size_t indent)
{
	size_t *widths = arena_array(table->arena, table->n_columns, sizeof(*widths));
	const char **heads = arena_array(table->arena, table->n_columns, sizeof(const char *));
	bool has_heads = false;

	for (size_t i = 0; i < table->n_columns; i++) {
		widths[i] = column_width(table, i);
		heads[i] = table->columns[i].head;
		has_heads = has_heads || heads[i][0] != '\0';
	}
	if (has_heads)
		print_line(table, heads, widths, out, indent);
	for (const struct row *row = table->first; row; row = row->next)
		print_line(table, row->cells, widths, out, indent);
}
