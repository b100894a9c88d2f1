/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where do a step's seconds and bytes go? */
#include <stdlib.h>

#include "base/table.h"
#include "base/units.h"
#include "cmd/text_common.h"

enum { TIME_BAR_CELLS = 24 };
#define SHOWN_S 0.0005 /* less would be printed as 0.000 */

const char *
text_bar(const struct request *request, double share, int width)
{
	struct str bar = str_new(request->arena);
	double cells = share * width + 0.5;
	int i;

	for (i = 1; i <= width && i <= cells; i++)
		str_add(&bar, request->utf8 ? "\u2588" : "#");
	return bar.text;
}

int
time_parts_sorted(const struct estimate *estimate, enum time_part order[TIME_PARTS])
{
	int n = 0;
	int i, j;

	for (i = 0; i < TIME_PARTS; i++) {
		if (estimate->exposed_s[i] < SHOWN_S && estimate->hidden_s[i] < SHOWN_S)
			continue;
		for (j = n; j > 0; j--) {
			if (estimate->exposed_s[order[j - 1]] >= estimate->exposed_s[i])
				break;
			order[j] = order[j - 1];
		}
		order[j] = (enum time_part)i;
		n++;
	}
	return n;
}

static void
add_part(struct request *request, struct table *table, const struct estimate *estimate,
    enum time_part part)
{
	double exposed = estimate->exposed_s[part];
	double hidden = estimate->hidden_s[part];
	double share = estimate->step_s > 0 ? exposed / estimate->step_s : 0;

	table_row(table);
	table_cell(table, time_part_label(request->model, part));
	table_cellf(table, "%.3f", exposed);
	table_cellf(table, "%.1f", 100 * share);
	if (hidden > 0)
		table_cellf(table, "%.3f", hidden);
	else
		table_cell(table, "");
	table_cell(table, text_bar(request, share, TIME_BAR_CELLS));
}

void
text_time(struct request *request, const struct estimate *estimate)
{
	struct table *table = table_new(request->arena, 5);
	enum time_part order[TIME_PARTS];
	int n = time_parts_sorted(estimate, order);
	int i;

	table_column(table, 0, "time of a step", TABLE_LEFT);
	table_column(table, 1, "exposed s", TABLE_RIGHT);
	table_column(table, 2, "%", TABLE_RIGHT);
	table_column(table, 3, "hidden s", TABLE_RIGHT);
	for (i = 0; i < n; i++)
		add_part(request, table, estimate, order[i]);
	table_print(table, &request->out, 0);
}

void
text_traffic(struct request *request, const struct estimate *estimate)
{
	const struct cluster *cluster = request->cluster;
	struct str text = str_new(request->arena);
	int i;

	for (i = 0; i < cluster->n_levels; i++)
		str_addf(&text, "%s%s over %s", i == 0 ? "" : ", ",
		    units_gib(request->arena, estimate->traffic_bytes[i]), cluster->levels[i].name);
	text_line(request, "traffic", "%s leave a GPU in a step", text.text);
}
