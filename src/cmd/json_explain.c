/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What does it mean, for a script? Schema moeplan/explain/v1. */
#include <string.h>

#include "check/case_fields.h"
#include "check/context.h"
#include "cmd/explain_report.h"
#include "cmd/json_common.h"
#include "planner/rates.h"

static void
json_rule(struct jsonw *w, const struct rule *rule)
{
	struct arena *arena = w->out.arena;

	jsonw_open(w, NULL);
	jsonw_string(w, "id", rule->id);
	jsonw_string(w, "frameworks", rule_frameworks(arena, rule));
	jsonw_string(w, "since", rule->since);
	jsonw_string(w, "until", rule->until);
	jsonw_string(w, "severity", severity_name(rule->severity));
	jsonw_bool(w, "silent", rule->silent);
	jsonw_string(w, "when", rule->when);
	jsonw_string(w, "condition", rule_condition(arena, rule));
	jsonw_string(w, "message", rule_plain(arena, rule->message));
	jsonw_string(w, "hint", rule->hint ? rule_plain(arena, rule->hint) : NULL);
	jsonw_string(w, "source", rule->source);
	jsonw_close(w);
}

static void
json_rules(struct jsonw *w, const struct explanation *what)
{
	jsonw_list(w, "rules");
	for (size_t t = 0; rule_tables[t]; t++)
		for (const struct rule *rule = rule_tables[t]; rule->id; rule++)
			if (what->all_rules || rule == what->rule)
				json_rule(w, rule);
	jsonw_close(w);
	jsonw_list(w, "facts");
	for (const struct rule_fact *fact = rule_facts; fact->id; fact++) {
		if (!what->all_rules && fact != what->fact)
			continue;
		jsonw_open(w, NULL);
		jsonw_string(w, "id", fact->id);
		jsonw_string(w, "about", fact->about);
		jsonw_string(w, "text", fact->text);
		jsonw_string(w, "source", fact->source);
		jsonw_close(w);
	}
	jsonw_close(w);
}

static void
json_terms(struct jsonw *w, const struct explanation *what)
{
	jsonw_list(w, "terms");
	for (const struct part_text *part = part_texts; part->name; part++) {
		if (!what->all_terms && !(what->part && strcmp(part->name, what->part->name) == 0))
			continue;
		jsonw_open(w, NULL);
		jsonw_string(w, "name", part->name);
		jsonw_string(w, "kind", part->about);
		jsonw_string(w, "text", part->text);
		jsonw_string(w, "formula", part->formula);
		jsonw_string(w, "source", part->source);
		jsonw_close(w);
	}
	for (int i = 0; i < RATES; i++) {
		if (!what->all_terms && i != what->rate)
			continue;
		jsonw_open(w, NULL);
		jsonw_string(w, "name", rate_table[i].name);
		jsonw_string(w, "kind", "rate");
		jsonw_double(w, "value", rate_table[i].value);
		jsonw_string(w, "text", rate_table[i].unit);
		jsonw_string(w, "source", rate_table[i].source);
		jsonw_close(w);
	}
	for (const struct term *term = terms; term->name; term++) {
		if (!what->all_terms && term != what->term)
			continue;
		jsonw_open(w, NULL);
		jsonw_string(w, "name", term->name);
		jsonw_string(w, "kind", "word");
		jsonw_string(w, "text", term->text);
		jsonw_string(w, "settings", term->natives);
		jsonw_close(w);
	}
	jsonw_close(w);
}

static void
json_fields(struct jsonw *w)
{
	const char *text = NULL;

	jsonw_list(w, "fields");
	for (const struct case_field *field = case_fields; field->name; field++) {
		text = field->text ? field->text : text;
		jsonw_open(w, NULL);
		jsonw_string(w, "name", field->name);
		jsonw_string(w, "text", text);
		jsonw_close(w);
	}
	jsonw_close(w);
	jsonw_list(w, "other_names");
	for (const struct case_names *row = case_names; row->name; row++) {
		jsonw_open(w, NULL);
		jsonw_string(w, "name", row->name);
		jsonw_string(w, "others", row->others);
		jsonw_close(w);
	}
	jsonw_close(w);
}

static void
json_plan_numbers(struct jsonw *w, const struct explained_plan *plan)
{
	const struct estimate *estimate = &plan->estimate;

	jsonw_open(w, "plan");
	jsonw_string(w, "verdict", verdict_names[estimate->verdict]);
	jsonw_double(w, "worst_bytes", estimate->worst_bytes);
	jsonw_double(w, "step_s", estimate->step_s);
	jsonw_double(w, "all_to_all_s", estimate->exposed_s[TIME_ALL_TO_ALL]);
	jsonw_list(w, "changes");
	for (int i = 0; i < plan->n_trials; i++) {
		const struct trial *trial = &plan->trials[i];

		jsonw_open(w, NULL);
		jsonw_string(w, "change", trial->change);
		jsonw_string(w, "option", trial->option);
		jsonw_string(w, "verdict", verdict_names[trial->verdict]);
		jsonw_double(w, "worst_bytes", trial->worst_bytes);
		jsonw_double(w, "step_s", trial->step_s);
		jsonw_double(w, "all_to_all_s", trial->all_to_all_s);
		jsonw_close(w);
	}
	jsonw_close(w);
	jsonw_close(w);
}

void
json_explain(struct request *request, const struct explanation *what)
{
	struct jsonw w = json_begin(request);

	jsonw_string(&w, "topic", what->topic);
	json_rules(&w, what);
	json_terms(&w, what);
	jsonw_list(&w, "steps");
	for (int i = 0; what->symptom && what->symptom->steps[i]; i++)
		jsonw_string(&w, NULL, what->symptom->steps[i]);
	jsonw_close(&w);
	if (what->all_fields)
		json_fields(&w);
	if (what->plan)
		json_plan_numbers(&w, what->plan);
	json_finish(request, &w);
}
