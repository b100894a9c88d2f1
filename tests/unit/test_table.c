/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Text tables. */
#include <criterion/criterion.h>

#include "base/table.h"
#include "scratch.h"

static struct str out;

static void
set_up(void)
{
	scratch_open();
	out = str_new(arena);
}

TestSuite(table, .init = set_up, .fini = scratch_close);

Test(table, columns_take_their_widest_cell)
{
	struct table *table = table_new(arena, 3);

	table_column(table, 0, "name", TABLE_LEFT);
	table_column(table, 1, "memory", TABLE_RIGHT);
	table_column(table, 2, "limited by", TABLE_LEFT);
	table_row(table);
	table_cell(table, "first one");
	table_cellf(table, "%.1f GiB", 7.25);
	table_cell(table, "x");
	table_row(table);
	table_cell(table, "b");
	table_cell(table, "123.4 GiB");
	table_print(table, &out, 0);
	cr_assert_str_eq(out.text, "name          memory  limited by\n"
				   "first one    7.2 GiB  x\n"
				   "b          123.4 GiB\n");
}

Test(table, lines_are_indented_and_have_no_trailing_blanks)
{
	struct table *table = table_new(arena, 3);

	table_column(table, 0, "a", TABLE_RIGHT);
	table_column(table, 1, "", TABLE_LEFT);
	table_column(table, 2, "c", TABLE_LEFT);
	table_row(table);
	table_cell(table, "");
	table_cell(table, "middle");
	table_row(table);
	table_cell(table, "10");
	table_row(table);
	table_print(table, &out, 2);
	cr_assert_str_eq(out.text, "   a          c\n"
				   "      middle\n"
				   "  10\n"
				   "\n");
}

Test(table, without_heads_there_is_no_head_line)
{
	struct table *table = table_new(arena, 2);

	table_row(table);
	table_cell(table, "why");
	table_cell(table, "because");
	table_row(table);
	table_cell(table, "longer");
	table_cell(table, "so");
	table_print(table, &out, 1);
	cr_assert_str_eq(out.text, " why     because\n"
				   " longer  so\n");
}

Test(table, width_is_in_columns_of_the_terminal)
{
	struct table *table = table_new(arena, 2);

	table_column(table, 0, "step", TABLE_RIGHT);
	table_column(table, 1, "n", TABLE_RIGHT);
	table_row(table);
	table_cell(table, "11.2 s \xc2\xb1" "12%");
	table_cell(table, "1");
	table_row(table);
	table_cell(table, "9.2 s");
	table_cell(table, "22");
	table_print(table, &out, 0);
	cr_assert_str_eq(out.text, "       step   n\n"
				   "11.2 s \xc2\xb1" "12%   1\n"
				   "      9.2 s  22\n");
}

Test(table, cells_are_copies_and_printing_appends)
{
	struct table *table = table_new(arena, 1);
	char text[] = "before";

	table_row(table);
	table_cell(table, text);
	text[0] = 'X';
	str_add(&out, "head\n");
	table_print(table, &out, 0);
	table_print(table, &out, 0);
	cr_assert_str_eq(out.text, "head\nbefore\nbefore\n");
}

Test(table, an_empty_table_is_its_head)
{
	struct table *table = table_new(arena, 2);

	table_column(table, 0, "a", TABLE_LEFT);
	table_column(table, 1, "b", TABLE_LEFT);
	table_print(table, &out, 0);
	cr_assert_str_eq(out.text, "a  b\n");
}
