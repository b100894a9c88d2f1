/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What can moeplan do, and which models and clusters does it know by name? */
#include <string.h>

#include "base/table.h"
#include "cmd/cmd.h"
#include "model/builtin_models.h"

static void
add_names(struct request *request)
{
	struct table *clusters = table_new(request->arena, 2);
	int row;

	str_add(&request->out, "models\n");
	for (row = 0; builtin_model_name(row); row++)
		str_addf(&request->out, "  %s\n", builtin_model_name(row));
	str_add(&request->out, "\nclusters (NAMExN: N nodes)\n");
	for (row = 0; cluster_slug(row); row++) {
		table_row(clusters);
		table_cell(clusters, cluster_slug(row));
		table_cell(clusters, cluster_slug_text(request->arena, row));
	}
	table_print(clusters, &request->out, 2);
}

enum status
cmd_help(struct request *request)
{
	struct loc nowhere = {NULL, 0, 0};
	const char *topic = request->arguments.count ? request->arguments.positional[0] : NULL;

	if (!topic)
		help_short(&request->out);
	else if (strcmp(topic, "names") == 0)
		add_names(request);
	else if (command_find(topic))
		help_command(request, command_find(topic));
	else {
		diag_error(request->diags, nowhere, "no help on '%s'", topic);
		diag_last_hint(request->diags, "'moeplan help' lists the commands");
		return STATUS_USAGE;
	}
	return STATUS_YES;
}
