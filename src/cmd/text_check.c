/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Is it right, for a person? What is wrong first, then what the numbers mean, then the list. */
#include <string.h>

#include "base/table.h"
#include "base/units.h"
#include "check/context.h"
#include "cmd/check_report.h"
#include "cmd/text_common.h"
#include "planner/rates.h"

static const char *
severity_text(const struct request *request, const struct diag *diag)
{
	static const enum paint paints[] = {[SEVERITY_NOTE] = PAINT_BOLD,
	    [SEVERITY_WARNING] = PAINT_DOUBT,
	    [SEVERITY_ERROR] = PAINT_BAD};

	return paint(request, paints[diag->severity], severity_name(diag->severity));
}

static void
print_place(struct str *out, const struct loc *loc)
{
	if (!loc->file)
		return;
	if (loc->line > 0)
		str_addf(out, "%s:%d: ", loc->file, loc->line);
	else
		str_addf(out, "%s: ", loc->file);
}

static void
print_finding(struct request *request, const struct diag *diag)
{
	struct str *out = &request->out;

	print_place(out, &diag->loc);
	str_addf(out, "%s%s: %s", severity_text(request, diag),
	    diag->silent && diag->severity > SEVERITY_NOTE ? " (the framework is silent)" : "",
	    diag->message);
	if (diag->rule)
		str_addf(out, " [%s]", diag->rule);
	str_addc(out, '\n');
	if (diag->hint)
		str_addf(out, "    %s\n", diag->hint);
}

/* Errors first, in the order of the rules; the note of numbers is for documents. */
static void
print_findings(struct request *request, const struct check_report *report)
{
	int least = request->common.quiet ? SEVERITY_WARNING : SEVERITY_NOTE;

	for (int severity = SEVERITY_ERROR; severity >= least; severity--)
		for (const struct diag *diag = report->findings->first; diag; diag = diag->next)
			if ((int)diag->severity == severity &&
			    (diag->rule || strncmp(diag->message, "what follows", 12) != 0))
				print_finding(request, diag);
	if (report->findings->errors + report->findings->warnings > 0)
		str_addc(&request->out, '\n');
}

static const char *
number_or_dash(struct arena *arena, int64_t value)
{
	return value > 0 ? units_grouped(arena, value) : "-";
}

static void
print_conventions(struct request *request, const struct check_report *report)
{
	static const char *const heads[] = {"", "DP", "expert DP", ""};
	const struct strategy *s = &report->strategy;
	struct table *table = table_new(request->arena, 5);
	struct arena *arena = request->arena;

	if (report->hidden)
		text_line(request, "degrees", "not in what is given: add %s",
		    report->hidden);
	if (report->only_launch)
		text_line(request, "degrees",
		    "the program has options of no framework that is known: give --tp, --ep ...");
	if (report->n_conventions == 0)
		return;
	str_addf(&request->out, "%s GPUs, TP %lld  CP %lld  PP %lld  EP %lld in every arithmetic\n",
	    units_grouped(arena, s->world), (long long)s->tp, (long long)s->cp, (long long)s->pp,
	    (long long)s->ep);
	for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++)
		table_column(table, i + 1, heads[i], i == 1 || i == 2 ? TABLE_RIGHT : TABLE_LEFT);
	for (size_t i = 0; i < report->n_conventions; i++) {
		const struct convention *c = &report->conventions[i];

		table_row(table);
		table_cell(table, c->asked ? ">" : "");
		table_cell(table, c->title);
		table_cell(table, number_or_dash(arena, c->dp));
		table_cell(table, number_or_dash(arena, c->edp));
		table_cellf(table, "%s%s", c->valid ? "" : "impossible: ", c->arithmetic);
	}
	table_print(table, &request->out, 0);
	str_addc(&request->out, '\n');
}

static void
print_choices(struct request *request, const struct check_report *report)
{
	const struct choices *choices = &report->choices;
	struct str line = str_new(request->arena);

	for (size_t i = 0; i < choices->n_ep; i++)
		str_addf(&line, "%s%lld", i > 0 ? " " : "", (long long)choices->ep[i]);
	if (choices->n_ep > 0)
		text_line(request, "valid EP", "%s", line.text);
	line = str_new(request->arena);
	for (size_t i = 0; i < choices->n_worlds; i++)
		str_addf(&line, "%s%s", i > 0 ? " or " : "",
		    units_grouped(request->arena, choices->worlds[i]));
	if (choices->n_worlds > 0 && choices->worlds[0] != report->strategy.world)
		text_line(request, "GPUs", "%s would do for these degrees", line.text);
	if (choices->batch_above > 0)
		text_line(request, "batch", "%s%s%s (%lld accumulation steps) divide",
		    choices->batch_below > 0 ? units_grouped(request->arena, choices->batch_below)
					     : "",
		    choices->batch_below > 0 ? " or " : "",
		    units_grouped(request->arena, choices->batch_above),
		    (long long)choices->accumulation);
}

/* The three greatest parts of the worst stage. */
static const char *
biggest_parts(struct arena *arena, const struct stage_memory *stage)
{
	struct str text = str_new(arena);
	bool taken[MEMORY_PARTS] = {false};

	for (int n = 0; n < 3; n++) {
		int best = -1;

		for (int i = 0; i < MEMORY_PARTS; i++)
			if (!taken[i] && (best < 0 || stage->parts[i] > stage->parts[best]))
				best = i;
		taken[best] = true;
		str_addf(&text, "%s%s %s", n > 0 ? ", " : "", memory_part_names[best],
		    units_gib(arena, stage->parts[best]));
	}
	return text.text;
}

static void
print_knobs(struct request *request, const struct check_report *report)
{
	struct arena *arena = request->arena;

	for (int i = 0; i < report->n_knobs; i++) {
		const struct check_knob *knob = &report->knobs[i];

		if (i != report->best_knob && !request->common.verbose)
			continue;
		text_line(request, i == report->best_knob ? "knob" : "",
		    "%s: %s, %s, step %s -> %s", knob->text, text_verdict(request, knob->verdict),
		    units_gib(arena, knob->worst_bytes),
		    units_seconds(arena, report->estimate->step_s),
		    units_seconds(arena, knob->step_s));
	}
	if (report->n_knobs > 0 && report->best_knob < 0)
		text_line(
		    request, "knob", "no single change makes it fit; 'moeplan plan' searches");
}

static void
print_memory(struct request *request, const struct check_report *report)
{
	const struct estimate *estimate = report->estimate;
	struct arena *arena = request->arena;

	if (!estimate) {
		if (report->cluster || report->model)
			text_line(request, "memory", "not judged: %s", report->no_estimate);
		return;
	}
	text_line(request, "memory", "%s: %sstage %d of %d needs %s %s of %s (%s)",
	    text_verdict(request, estimate->verdict),
	    host_overflows(report->cluster, estimate) ? "a node's memory is too small; " : "",
	    estimate->worst_stage, estimate->n_stages,
	    units_gib_number(arena, estimate->worst_bytes),
	    text_band(request, estimate->worst_bytes, estimate->worst_low_bytes,
		estimate->worst_high_bytes),
	    units_gib(arena, estimate->capacity_bytes),
	    units_percent(arena, estimate->worst_bytes / estimate->capacity_bytes));
	text_line(
	    request, "", "%s", biggest_parts(arena, &estimate->stages[estimate->worst_stage]));
	print_knobs(request, report);
}

static void
print_items(struct request *request, const struct check_report *report)
{
	static const char *const marks[] = {
	    [ITEM_YES] = "[x]", [ITEM_NO] = "[ ]", [ITEM_OPEN] = "[?]", [ITEM_LATER] = "[-]"};

	str_add(&request->out, "before the run ([x] yes, [ ] no, [?] not told, [-] to do)\n");
	for (int i = 0; i < CHECK_ITEMS; i++)
		str_addf(&request->out, "%s %s\n", marks[report->items[i].verdict],
		    report->items[i].text);
}

static void
print_plural(struct str *out, int n, const char *what)
{
	str_addf(out, "%d %s%s", n, what, n == 1 ? "" : "s");
}

static void
print_sum(struct request *request, const struct check_report *report)
{
	const char *version = report->strategy.framework_version;
	struct str *out = &request->out;

	if (!version && !report->other && !config_is_open(report->config))
		version = newest_release(report->strategy.framework);
	print_plural(out, report->findings->errors, "error");
	str_add(out, ", ");
	print_plural(out, report->findings->warnings, "warning");
	str_addf(out, "; checked %d rules for %s%s%s (%d more need what is not told)\n",
	    report->decided, report->framework, version ? " " : "", version ? version : "",
	    report->undecided);
}

void
text_check(struct request *request, const struct check_report *reports)
{
	for (const struct check_report *report = reports; report; report = report->next) {
		if (report != reports)
			str_addc(&request->out, '\n');
		print_findings(request, report);
		print_conventions(request, report);
		print_choices(request, report);
		print_memory(request, report);
		print_items(request, report);
		str_addc(&request->out, '\n');
		print_sum(request, report);
	}
}
