/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Is it right, for a script? Schema moeplan/check/v1. */
#include "cmd/check_report.h"
#include "cmd/json_common.h"

static void
size_or_null(struct jsonw *w, const char *key, int64_t value)
{
	if (value > 0)
		jsonw_int(w, key, value);
	else
		jsonw_string(w, key, NULL);
}

static void
json_conventions(struct jsonw *w, const struct check_report *report)
{
	jsonw_list(w, "conventions");
	for (size_t i = 0; i < report->n_conventions; i++) {
		const struct convention *c = &report->conventions[i];

		jsonw_open(w, NULL);
		jsonw_string(w, "name", c->name);
		jsonw_string(w, "title", c->title);
		size_or_null(w, "dp", c->dp);
		size_or_null(w, "edp", c->edp);
		size_or_null(w, "etp", c->etp);
		jsonw_bool(w, "valid", c->valid);
		jsonw_bool(w, "asked", c->asked);
		jsonw_string(w, "arithmetic", c->arithmetic);
		jsonw_close(w);
	}
	jsonw_close(w);
}

static void
json_choices(struct jsonw *w, const struct choices *choices)
{
	jsonw_open(w, "choices");
	jsonw_row(w, "ep");
	for (size_t i = 0; i < choices->n_ep; i++)
		jsonw_int(w, NULL, choices->ep[i]);
	jsonw_close(w);
	jsonw_row(w, "world_size");
	for (size_t i = 0; i < choices->n_worlds; i++)
		jsonw_int(w, NULL, choices->worlds[i]);
	jsonw_close(w);
	jsonw_row(w, "global_batch");
	if (choices->batch_below > 0)
		jsonw_int(w, NULL, choices->batch_below);
	if (choices->batch_above > 0)
		jsonw_int(w, NULL, choices->batch_above);
	jsonw_close(w);
	jsonw_close(w);
}

static void
json_knobs(struct jsonw *w, const struct check_report *report)
{
	jsonw_list(w, "knobs");
	for (int i = 0; i < report->n_knobs; i++) {
		const struct check_knob *knob = &report->knobs[i];

		jsonw_open(w, NULL);
		jsonw_string(w, "change", knob->text);
		jsonw_string(w, "verdict", verdict_names[knob->verdict]);
		jsonw_double(w, "worst_bytes", knob->worst_bytes);
		jsonw_double(w, "step_s", knob->step_s);
		jsonw_bool(w, "best", i == report->best_knob);
		jsonw_close(w);
	}
	jsonw_close(w);
}

static void
json_memory(struct jsonw *w, const struct check_report *report)
{
	const struct estimate *estimate = report->estimate;
	const struct stage_memory *worst;

	jsonw_open(w, "memory");
	jsonw_string(w, "verdict", estimate ? verdict_names[estimate->verdict] : NULL);
	jsonw_string(w, "not_judged", report->no_estimate);
	if (estimate) {
		worst = &estimate->stages[estimate->worst_stage];
		jsonw_int(w, "worst_stage", estimate->worst_stage);
		jsonw_double(w, "worst_bytes", estimate->worst_bytes);
		jsonw_double(w, "capacity_bytes", estimate->capacity_bytes);
		jsonw_string(w, "skewed_verdict", verdict_names[estimate->skewed_verdict]);
		jsonw_open(w, "parts");
		for (int i = 0; i < MEMORY_PARTS; i++)
			jsonw_double(w, memory_part_names[i], worst->parts[i]);
		jsonw_close(w);
	}
	json_knobs(w, report);
	jsonw_close(w);
}

static void
json_items(struct jsonw *w, const struct check_report *report)
{
	jsonw_list(w, "checklist");
	for (int i = 0; i < CHECK_ITEMS; i++) {
		jsonw_open(w, NULL);
		jsonw_string(w, "name", report->items[i].name);
		jsonw_string(w, "text", report->items[i].text);
		jsonw_string(w, "verdict", item_verdict_names[report->items[i].verdict]);
		jsonw_close(w);
	}
	jsonw_close(w);
}

static void
json_report(struct jsonw *w, const struct check_report *report)
{
	jsonw_string(w, "form", config_form_names[report->config->form]);
	jsonw_string(w, "framework", report->framework);
	jsonw_string(w, "version", report->strategy.framework_version);
	json_strategy(w, "strategy", &report->strategy);
	json_conventions(w, report);
	json_choices(w, &report->choices);
	json_memory(w, report);
	json_items(w, report);
	jsonw_open(w, "rules");
	jsonw_int(w, "decided", report->decided);
	jsonw_int(w, "undecided", report->undecided);
	jsonw_close(w);
}

/* Variants of a case share one list of diagnostics; the first fills the document's members. */
void
json_check(struct request *request, const struct check_report *reports)
{
	struct jsonw w = json_begin(request);

	jsonw_string(&w, "verdict", check_verdict_names[check_verdict(reports)]);
	json_report(&w, reports);
	jsonw_list(&w, "variants");
	for (const struct check_report *report = reports->next; report; report = report->next) {
		jsonw_open(&w, NULL);
		json_report(&w, report);
		jsonw_close(&w);
	}
	jsonw_close(&w);
	json_finish(request, &w);
}
