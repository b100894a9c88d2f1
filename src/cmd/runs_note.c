/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which measured runs of the cluster correct this model's times, by how much, and which do not? */
#include <string.h>

#include "base/units.h"
#include "cmd/cmd.h"
#include "planner/correction.h"

#define WORTH_SAYING 0.015 /* a factor nearer to 1 is said as none */

static void
note_factors(struct request *request, const struct evaluator *evaluator, const struct correction *c)
{
	double scale = evaluator_activation_scale(evaluator, &request->job.base);
	struct loc nowhere = {NULL, 0, 0};
	struct str text = str_new(request->arena);
	int i;

	for (i = 0; i < CORRECTED; i++)
		if (c->factor[i] > 1 + WORTH_SAYING || c->factor[i] < 1 - WORTH_SAYING)
			str_addf(&text, "%s%s x %.2f", text.length ? ", " : "", corrected_names[i],
			    c->factor[i]);
	if (scale > 1 + WORTH_SAYING || scale < 1 - WORTH_SAYING)
		str_addf(&text, "%sactivations x %.2f", text.length ? "; " : "", scale);
	diag_add(request->diags, nowhere, NULL, SEVERITY_NOTE,
	    "corrected by %d measured run%s of this model: %s", c->runs, c->runs == 1 ? "" : "s",
	    text.length ? text.text : "nothing to correct");
}

static void
note_unused(struct request *request, const struct measured_run *run, enum run_use use)
{
	const char *factor = run->predicted_s > 0
				 ? arena_printf(request->arena, ", %.2f x the prediction",
				       run->step_s / run->predicted_s)
				 : "";

	diag_add(request->diags, run->loc, NULL, SEVERITY_NOTE,
	    "not used: a measured run %s (%s, %s%s)", run_use_reasons[use], run->model,
	    units_seconds(request->arena, run->step_s), factor);
	if (use == RUN_OTHER_MODEL)
		diag_last_hint(request->diags,
		    "what one model's run says does not carry over to another model");
}

/* The strategy that is asked for was measured itself. */
static void
note_same(struct request *request, const struct measured_run *run)
{
	struct strategy asked = request->job.base, ran = run->strategy;

	if (request->command->run != cmd_estimate || request->measured_predicted_s > 0)
		return;
	strategy_derive(&asked, request->model, request->cluster->world);
	strategy_derive(&ran, request->model, request->cluster->world);
	if (!asked.layout)
		ran.layout = NULL; /* even, most likely: a run says its split */
	if (strcmp(strategy_options_text(request->arena, &asked),
		strategy_options_text(request->arena, &ran)) == 0)
		diag_add(request->diags, run->loc, NULL, SEVERITY_NOTE,
		    "this very strategy was measured: a step took %s",
		    units_seconds(request->arena, run->step_s));
}

void
runs_note(struct request *request)
{
	const struct measured_runs *runs = &request->cluster->runs;
	const struct evaluator *evaluator;
	const struct correction *correction;
	int i;

	if (runs->n == 0)
		return;
	evaluator = evaluator_new(request->arena, request->model, request->cluster, &request->job);
	correction = evaluator_correction(evaluator, &request->job.base);
	if (correction)
		note_factors(request, evaluator, correction);
	for (i = 0; i < runs->n; i++) {
		enum run_use use = run_use(&runs->rows[i], request->model, request->cluster,
		    &request->job.base, request->arena);

		if (use == RUN_USED)
			note_same(request, &runs->rows[i]);
		else
			note_unused(request, &runs->rows[i], use);
	}
}
