/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which rates does the cluster really have, and how far off was the plan? */
#include "base/units.h"
#include "cmd/cmd.h"
#include "model/calibrate.h"

/* What the report itself says of plan and measurement, so that a new plan can be judged. */
static void
note_step(struct request *request, const char *name, const char *text, size_t length)
{
	struct loc loc = {name, 0, 0};
	const struct doc *doc = text[0] == '{' ? doc_parse(request->arena,
						     diags_new(request->arena), name, text, length)
					       : NULL;
	const struct doc *parts = doc_get(doc, "plan_parts"), *part;

	for (part = parts ? parts->first : NULL; part; part = part->next) {
		const struct doc *judged = doc_get(part, "judged"), *label = doc_get(part, "name");
		const struct doc *predicted = doc_get(part, "predicted_s");
		const struct doc *measured = doc_get(part, "measured_s");

		if (!judged || judged->kind != DOC_BOOL || !judged->boolean || !label ||
		    !label->text || !predicted || !measured || !(predicted->number > 0))
			continue;
		diag_add(request->diags, loc, NULL, SEVERITY_NOTE,
		    "%s: predicted %s, measured %s (%+.0f %%)", label->text,
		    units_seconds(request->arena, predicted->number),
		    units_seconds(request->arena, measured->number),
		    100 * (measured->number / predicted->number - 1));
	}
}

static int
add_files(struct request *request, struct measurements *m, const char **files, size_t n)
{
	int result = 0;
	size_t i;

	for (i = 0; i < n; i++) {
		size_t length;
		char *text = doc_read_file(request->arena, request->diags, files[i], &length);

		if (!text || calibrate_add(request->arena, request->diags, request->cluster,
				 files[i], text, length, m) != 0)
			result = -1;
		else
			note_step(request, files[i], text, length);
	}
	return result;
}

enum status
cmd_calibrate(struct request *request)
{
	struct measurements *m = arena_alloc(request->arena, sizeof(*m));
	const char **files = request->arguments.positional + 1;
	size_t n = request->arguments.count;
	struct loc nowhere = {NULL, 0, 0};

	if (n < 2) {
		diag_error(
		    request->diags, nowhere, n ? "no report is given" : "no cluster is given");
		diag_last_hint(request->diags, "moeplan calibrate CLUSTER REPORT…: what "
					       "moeplan-probe wrote with --format json, or the "
					       "output of nccl-tests");
		return STATUS_USAGE;
	}
	request->arguments.count = 1; /* the cluster; the rest are no inputs of a plan */
	if (inputs_load(request, 1U << SLOT_CLUSTER) != 0 ||
	    add_files(request, m, files, n - 1) != 0)
		return STATUS_USAGE;
	return calibrate_cluster(request->diags, request->cluster, m, &request->out) == 0
		   ? STATUS_YES
		   : STATUS_NO;
}
