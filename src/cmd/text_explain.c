/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What does it mean, for a person? A rule, a fact, a part, a rate, a word, or the lists of them. */
#include <string.h>

#include "base/table.h"
#include "base/units.h"
#include "check/case_fields.h"
#include "check/context.h"
#include "cmd/explain_report.h"
#include "cmd/text_common.h"
#include "planner/rates.h"

/* A paragraph that is wrapped beside its label. */
static void
paragraph(struct request *request, const char *label, const char *text)
{
	enum { WIDTH = 96 };
	size_t column = TEXT_LABEL_WIDTH;

	text_label(request, label);
	while (*text) {
		size_t length = strcspn(text, " ");

		if (column > TEXT_LABEL_WIDTH && column + 1 + length > WIDTH) {
			str_addc(&request->out, '\n');
			str_pad(&request->out, ' ', TEXT_LABEL_WIDTH);
			column = TEXT_LABEL_WIDTH;
		} else if (column > TEXT_LABEL_WIDTH) {
			str_addc(&request->out, ' ');
			column++;
		}
		str_addn(&request->out, text, length);
		column += length;
		text += length + (text[length] == ' ');
	}
	str_addc(&request->out, '\n');
}

static void
print_rule(struct request *request, const struct rule *rule)
{
	struct arena *arena = request->arena;

	text_line(request, rule->id, "%s%s of %s, releases %s", severity_name(rule->severity),
	    rule->silent ? " (the framework itself says nothing)" : "",
	    rule_frameworks(arena, rule), rule_versions(arena, rule));
	paragraph(request, "says", rule_plain(arena, rule->message));
	if (rule->hint)
		paragraph(request, "hint", rule_plain(arena, rule->hint));
	if (rule->when)
		paragraph(request, "when", rule->when);
	paragraph(request, "must hold", rule_condition(arena, rule));
	paragraph(request, "source", rule->source);
	str_addf(&request->out,
	    "\nexamples that keep and break it: tests/rules/%s-good.*, %s-bad.*\n", rule->id,
	    rule->id);
}

static void
print_parts(struct request *request, const char *name)
{
	for (const struct part_text *part = part_texts; part->name; part++) {
		if (strcmp(part->name, name) != 0)
			continue;
		text_line(request, part->name, "%s of a rank: %s", part->about, part->text);
		paragraph(request, "formula", part->formula);
		if (part->ignores)
			paragraph(request, "ignores", part->ignores);
		paragraph(request, "source", part->source);
	}
}

static void
print_rate(struct request *request, const struct rate_row *rate)
{
	text_line(request, rate->name, "%.4g %s", rate->value, rate->unit);
	paragraph(request, "source", rate->source);
	if (rate->absorbs)
		paragraph(request, "absorbs", rate->absorbs);
}

static void
print_term(struct request *request, const struct term *term)
{
	text_line(request, term->name, "%s", term->text);
	if (term->natives[0])
		paragraph(request, "settings", term->natives);
}

static void
list_rules(struct request *request)
{
	struct table *table = table_new(request->arena, 4);

	table_column(table, 0, "rule", TABLE_LEFT);
	table_column(table, 1, "", TABLE_LEFT);
	table_column(table, 2, "releases", TABLE_LEFT);
	table_column(table, 3, "says", TABLE_LEFT);
	for (size_t t = 0; rule_tables[t]; t++)
		for (const struct rule *rule = rule_tables[t]; rule->id; rule++) {
			table_row(table);
			table_cell(table, rule->id);
			table_cell(table, severity_name(rule->severity));
			table_cell(table, rule_versions(request->arena, rule));
			table_cellf(table, "%.90s", rule_plain(request->arena, rule->message));
		}
	for (const struct rule_fact *fact = rule_facts; fact->id; fact++) {
		table_row(table);
		table_cell(table, fact->id);
		table_cell(table, "fact");
		table_cell(table, "");
		table_cellf(table, "%.90s", fact->text);
	}
	table_print(table, &request->out, 0);
}

static void
list_terms(struct request *request)
{
	struct table *table = table_new(request->arena, 3);

	table_column(table, 0, "term", TABLE_LEFT);
	table_column(table, 1, "", TABLE_LEFT);
	table_column(table, 2, "", TABLE_LEFT);
	for (const struct part_text *part = part_texts; part->name; part++) {
		table_row(table);
		table_cell(table, part->name);
		table_cell(table, part->about);
		table_cell(table, part->text);
	}
	for (int i = 0; i < RATES; i++) {
		table_row(table);
		table_cell(table, rate_table[i].name);
		table_cell(table, "rate");
		table_cellf(table, "%.4g %s", rate_table[i].value, rate_table[i].unit);
	}
	for (const struct term *term = terms; term->name; term++) {
		table_row(table);
		table_cell(table, term->name);
		table_cell(table, "word");
		table_cell(table, term->text);
	}
	table_print(table, &request->out, 0);
}

/* Spellings of one field stand in one row. */
static void
list_fields(struct request *request)
{
	struct table *table = table_new(request->arena, 2);

	table_column(table, 0, "", TABLE_LEFT);
	table_column(table, 1, "field", TABLE_LEFT);
	for (const struct case_field *field = case_fields; field->name; field++) {
		struct str names = str_new(request->arena);
		const struct case_field *first = field;

		str_add(&names, field->name);
		for (; field[1].name && !field[1].text; field++)
			str_addf(&names, ", %s", field[1].name);
		table_row(table);
		table_cell(table, first->text ? first->text : "");
		table_cell(table, names.text);
	}
	for (const struct case_names *row = case_names; row->name; row++) {
		table_row(table);
		table_cell(table, arena_printf(request->arena, "as %s", row->name));
		table_cell(table, row->others);
	}
	table_print(table, &request->out, 0);
}

void
text_explain(struct request *request, const struct explanation *what)
{
	if (what->all_rules)
		list_rules(request);
	else if (what->all_terms)
		list_terms(request);
	else if (what->all_fields)
		list_fields(request);
	else if (what->compare)
		text_tp_vs_ep(request, what);
	else if (what->symptom)
		text_symptom(request, what);
	else if (what->rule)
		print_rule(request, what->rule);
	if (what->fact) {
		text_line(request, what->fact->id, "%s", what->fact->about);
		paragraph(request, "is", what->fact->text);
		paragraph(request, "source", what->fact->source);
	}
	if (what->part)
		print_parts(request, what->part->name);
	if (what->rate >= 0)
		print_rate(request, &rate_table[what->rate]);
	if (what->term)
		print_term(request, what->term);
}
