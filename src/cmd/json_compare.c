/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Predicted beside measured, for a script. Schema moeplan/compare/v1. */
#include "cmd/compare_report.h"
#include "cmd/json_common.h"

void
json_comparison(struct request *request, const struct comparison *c)
{
	struct jsonw w = json_begin(request);
	static const char *const units[] = {"s", "bytes", "TFLOP/s"};
	int i;

	jsonw_string(&w, "measured_by", c->measured_by);
	jsonw_double(&w, "tolerance", c->tolerance);
	if (c->judged > 0)
		jsonw_bool(&w, "holds", c->holds);
	else
		jsonw_string(&w, "holds", NULL);
	jsonw_list(&w, "rows");
	for (i = 0; i < c->n; i++) {
		const struct compare_row *row = &c->rows[i];

		jsonw_open(&w, NULL);
		jsonw_string(&w, "name", row->name);
		jsonw_string(&w, "unit", units[row->unit]);
		jsonw_double(&w, "predicted", row->predicted);
		if (row->measured >= 0)
			jsonw_double(&w, "measured", row->measured);
		else
			jsonw_string(&w, "measured", NULL);
		jsonw_bool(&w, "judged", row->counts);
		jsonw_close(&w);
	}
	jsonw_close(&w);
	json_finish(request, &w);
}
