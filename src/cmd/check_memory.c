/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Does the configuration fit, and which single change makes it fit? The
 * planner's evaluator says both; a change counts only after it was evaluated.
 */
#include "base/units.h"
#include "cmd/check_report.h"
#include "cmd/what_if.h"

static const char *
obstacle(struct request *request, struct check_report *report)
{
	if (!report->model && report->config->model_lacks)
		return arena_printf(request->arena, "no model, '%s' is not told",
		    report->config->model_lacks);
	if (!report->model)
		return "no model, add --model";
	if (!report->cluster)
		return "no cluster, add --cluster";
	if (evaluator_refusal(request->arena, report->model))
		return evaluator_refusal(request->arena, report->model);
	if (report->strategy.seq_len <= 0)
		return "no sequence length, add --seq-len";
	if (report->hidden)
		return arena_printf(request->arena, "%s cannot be told", report->hidden);
	if (report->other)
		return "the framework is not one that is modelled";
	return NULL;
}

/* What an estimate needs and nobody gave: enough micro-batches to fill the pipeline. */
static void
assume_batch(struct check_report *report, struct strategy *strategy)
{
	if (strategy->global_batch > 0)
		return;
	strategy->global_batch = strategy->micro_batch * strategy->dp * strategy->pp * 2;
	strategy_derive(strategy, report->model, 0);
	diag_add(report->findings, (struct loc){NULL, 0, 0}, NULL, SEVERITY_NOTE,
	    "no global batch is given: memory is that of a full pipeline, %lld micro-batches",
	    (long long)strategy->micro_batches);
}

static void
note_vocabulary(struct request *request, struct check_report *report)
{
	struct diag *diag;

	if (!report->model || !report->model->vocab_assumed)
		return;
	diag = diag_add(report->findings, (struct loc){NULL, 0, 0}, NULL, SEVERITY_NOTE,
	    "no vocabulary size is told: memory counts one of %s",
	    units_grouped(request->arena, report->model->vocab));
	diag->hint = "state --vocab-size or name the model with --model";
}

void
check_estimate(struct request *request, struct check_report *report)
{
	struct estimate *estimate = arena_alloc(request->arena, sizeof(*estimate));
	struct strategy strategy;

	if (report->strategy.seq_len <= 0 && report->model && report->cluster)
		report->strategy.seq_len = report->model->max_positions;
	report->no_estimate = obstacle(request, report);
	if (report->no_estimate)
		return;
	if (strategy_first_violation(&report->strategy, report->model)) {
		report->no_estimate = "the degrees break rules";
		return;
	}
	strategy = report->strategy;
	note_vocabulary(request, report);
	assume_batch(report, &strategy);
	if (what_if(request, report->model, report->cluster, &strategy, estimate))
		report->estimate = estimate;
	else
		report->no_estimate = "the strategy cannot be evaluated";
}

/* --- one change at a time ------------------------------------------------------------------- */

static void
try_change(struct request *request, struct check_report *report, const struct change *change)
{
	struct check_knob *knob = &report->knobs[report->n_knobs];
	struct strategy strategy;
	struct estimate estimate = {.n_stages = 0};

	if (!change_apply(change, report->model, &report->estimate->strategy, &strategy) ||
	    !what_if(request, report->model, report->cluster, &strategy, &estimate))
		return;
	knob->text = change_text(request->arena, &strategy, &report->estimate->strategy);
	knob->verdict = estimate.verdict;
	knob->worst_bytes = estimate.worst_bytes;
	knob->step_s = estimate.step_s;
	report->n_knobs++;
}

/* The fastest that fits; without one the smallest. */
static int
best_knob(const struct check_report *report)
{
	int best = -1;

	for (int i = 0; i < report->n_knobs; i++) {
		const struct check_knob *knob = &report->knobs[i];

		if (knob->verdict == VERDICT_FITS &&
		    (best < 0 || knob->step_s < report->knobs[best].step_s))
			best = i;
	}
	return best;
}

void
check_try_knobs(struct request *request, struct check_report *report)
{
	report->best_knob = -1;
	if (!report->estimate || report->estimate->verdict == VERDICT_FITS)
		return;
	for (const struct change *change = changes; change->name; change++)
		if (change->aim == AIM_MEMORY && report->n_knobs < CHECK_KNOBS)
			try_change(request, report, change);
	report->best_knob = best_knob(report);
}
