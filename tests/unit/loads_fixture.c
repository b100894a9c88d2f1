/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "loads_fixture.h"

#include <criterion/criterion.h>
#include <string.h>

struct loads *
parse_loads(const char *text)
{
	return loads_parse(arena, diags, "file", text, strlen(text));
}

struct loads *
good_loads(const char *text)
{
	struct loads *loads = parse_loads(text);

	cr_assert_not_null(loads, "%s", diags->last ? diags->last->message : "no message");
	cr_assert_eq(diags->errors, 0);
	return loads;
}

double
count_of(const struct loads *loads, int layer, int snapshot, int source, int expert)
{
	return loads_row(loads, layer, snapshot, source)[expert];
}
