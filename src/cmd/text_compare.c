/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Predicted beside measured, for people. */
#include <math.h>

#include "base/table.h"
#include "base/units.h"
#include "cmd/compare_report.h"
#include "cmd/text_common.h"

static const char *
value_text(struct arena *arena, const struct compare_row *row, double value)
{
	if (value < 0)
		return "-";
	switch (row->unit) {
	case COMPARE_BYTES:
		return units_gib(arena, value);
	case COMPARE_TFLOPS:
		return arena_printf(arena, "%.0f TFLOP/s", value);
	default:
		return units_seconds(arena, value);
	}
}

/* "+12 %"; "-" behind a prediction that its column shows as nothing: a percentage says no more. */
static const char *
off_text(struct arena *arena, const struct compare_row *row)
{
	static const double least_shown[] = {
	    [COMPARE_SECONDS] = 0.05e-6, [COMPARE_BYTES] = 1, [COMPARE_TFLOPS] = 0.5};

	if (row->measured < 0 || row->predicted < least_shown[row->unit])
		return "-";
	return arena_printf(arena, "%+.0f %%%s",
	    nearbyint(100 * (row->measured / row->predicted - 1)) + 0.0,
	    row->counts ? "" : " (not judged)");
}

/* "the prediction does not hold for step, memory allocated (tolerance 20 %)" */
static void
verdict(struct str *out, const struct comparison *c)
{
	const char *separator = " for ";
	int i;

	if (c->judged == 0) {
		str_add(out,
		    "nothing to judge: no number that counts is both predicted and measured\n");
		return;
	}
	str_addf(out, "the prediction %s", c->holds ? "holds" : "does not hold");
	for (i = 0; i < c->n; i++)
		if (compare_outside(c, &c->rows[i])) {
			str_addf(out, "%s%s", separator, time_name_label(c->rows[i].name));
			separator = ", ";
		}
	str_addf(out, " (tolerance %.0f %%)\n", 100 * c->tolerance);
}

void
text_comparison(struct request *request, const struct comparison *c)
{
	struct table *table = table_new(request->arena, 4);
	int i;

	table_column(table, 0, c->measured_by, TABLE_LEFT);
	table_column(table, 1, "predicted", TABLE_RIGHT);
	table_column(table, 2, "measured", TABLE_RIGHT);
	table_column(table, 3, "off", TABLE_RIGHT);
	for (i = 0; i < c->n; i++) {
		const struct compare_row *row = &c->rows[i];

		table_row(table);
		table_cell(table, time_name_label(row->name));
		table_cell(table, value_text(request->arena, row, row->predicted));
		table_cell(table, value_text(request->arena, row, row->measured));
		table_cell(table, off_text(request->arena, row));
	}
	table_print(table, &request->out, 0);
	verdict(&request->out, c);
}
