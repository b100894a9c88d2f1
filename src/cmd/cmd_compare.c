/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What was predicted, and what came of it?
 *
 * PLAN is a plan or an estimate as JSON, MEASURED a probe's report or a training log. A report
 * brings its parts, scaled to what it ran; a log the median time of a step and the most memory.
 * More than predicted by the tolerance is outside; less is no objection.
 */
#include <math.h>
#include <string.h>

#include "cmd/compare_report.h"
#include "model/calibrate.h"

const struct field compare_fields[] = {
    {.name = "tolerance",
	.arg = "PCT",
	.help = "how much more than predicted is still right, percent (20)",
	.kind = FIELD_NUMBER,
	.offset = offsetof(struct request, tolerance_percent),
	.min = 0,
	.max = 1000,
	.option_only = true},
    {.name = NULL},
};

static double
number_of(const struct doc *map, const char *key)
{
	const struct doc *value = doc_get(map, key);

	return value && value->kind == DOC_NUMBER && isfinite(value->number) ? value->number : -1;
}

static void
add_row(struct comparison *c, const char *name, bool bytes, double predicted, double measured,
    bool counts)
{
	struct compare_row *row = &c->rows[c->n];

	if (c->n == COMPARE_ROWS)
		return;
	*row = (struct compare_row){
	    name, bytes, predicted, measured, counts && predicted > 0 && measured >= 0};
	c->n++;
	if (row->counts && measured > predicted * (1 + c->tolerance))
		c->holds = false;
}

static const struct doc *
read_json(struct request *request, const char *path, const char *text, size_t length)
{
	const struct doc *doc = doc_parse(request->arena, request->diags, path, text, length);

	return doc && doc->kind == DOC_MAP ? doc : NULL;
}

/* The part of a plan or an estimate with `time` and `memory`; NULL after an error. */
static const struct doc *
read_plan(struct request *request, const char *path)
{
	struct loc loc = {path, 0, 0};
	const struct doc *doc, *best;
	size_t length;
	char *text = doc_read_file(request->arena, request->diags, path, &length);

	doc = text ? read_json(request, path, text, length) : NULL;
	if (!doc)
		return NULL;
	best = doc_get(doc, "best") ? doc_get(doc, "best") : doc;
	if (number_of(doc_get(best, "time"), "step_s") > 0)
		return best;
	diag_error(request->diags, loc, "'%s' is neither a plan nor an estimate", path);
	diag_last_hint(
	    request->diags, "'moeplan plan' and 'moeplan estimate' write them with --format json");
	return NULL;
}

/* The most that a stage allocates: what a framework's log reports. */
static double
allocated_of(const struct doc *plan)
{
	const struct doc *stages = doc_get(doc_get(plan, "memory"), "stages"), *stage;
	double most = 0;

	for (stage = stages ? stages->first : NULL; stage; stage = stage->next)
		most = fmax(most, number_of(stage, "allocated_bytes"));
	return most;
}

static void
compare_stages(struct request *request, const struct doc *report, struct comparison *c)
{
	static const char *const names[] = {"weights", "gradients", "optimizer", "activations"};
	const struct doc *stages = doc_get(doc_get(report, "memory"), "stages"), *stage;
	size_t i;

	for (stage = stages ? stages->first : NULL; stage; stage = stage->next)
		for (i = 0; i < 4; i++) {
			double predicted = number_of(doc_get(stage, "predicted"), names[i]);

			if (predicted > 0)
				add_row(c,
				    arena_printf(request->arena, "%s, stage %.0f", names[i],
					number_of(stage, "stage")),
				    true, predicted,
				    number_of(doc_get(stage, "measured"), names[i]), false);
		}
}

static enum status
compare_report(struct request *request, const struct doc *report, struct comparison *c)
{
	const struct doc *schema = doc_get(report, "schema"), *part,
			 *parts = doc_get(report, "plan_parts");
	const struct doc *comparable = doc_get(doc_get(report, "environment"), "comparable");

	if (!schema || schema->kind != DOC_STRING ||
	    strcmp(schema->text, "moeplan/probe/v1") != 0) {
		diag_error(request->diags, report->loc, "its schema is not 'moeplan/probe/v1'");
		return STATUS_USAGE;
	}
	if (!comparable || comparable->kind != DOC_BOOL || !comparable->boolean) {
		diag_error(request->diags, report->loc,
		    "the report is a rehearsal: its times are not comparable");
		diag_last_hint(request->diags, "run the probe on the planned GPUs, one rank each");
		return STATUS_NO;
	}
	c->measured_by = "moeplan-probe";
	for (part = parts ? parts->first : NULL; part; part = part->next) {
		const struct doc *name = doc_get(part, "name"), *judged = doc_get(part, "judged");
		double predicted = number_of(part, "predicted_s"),
		       measured = number_of(part, "measured_s");

		if (name && name->kind == DOC_STRING && predicted >= 0 &&
		    (predicted > 0 || measured > 0))
			add_row(c, name->text, false, predicted, measured,
			    judged && judged->kind == DOC_BOOL && judged->boolean);
	}
	compare_stages(request, report, c);
	return STATUS_YES;
}

static enum status
compare_log(struct request *request, const struct doc *plan, const char *path, const char *text,
    size_t length, struct comparison *c)
{
	struct loc loc = {path, 0, 0};
	struct step_facts facts;

	if (!log_read(text, length, &facts)) {
		diag_error(
		    request->diags, loc, "'%s' has no step time and no memory that is known", path);
		diag_last_hint(request->diags,
		    "a probe's report, or a Megatron-LM or DeepSpeed log with the time "
		    "of each iteration, is read");
		return STATUS_USAGE;
	}
	c->measured_by = facts.format ? facts.format : "training log";
	if (facts.step_s > 0)
		add_row(c, "step", false, number_of(doc_get(plan, "time"), "step_s"), facts.step_s,
		    true);
	if (facts.peak_bytes > 0)
		add_row(c, "memory allocated", true, allocated_of(plan), facts.peak_bytes, true);
	return STATUS_YES;
}

static enum status
compare(struct request *request, struct comparison *c)
{
	const char *path = request->arguments.positional[1];
	const struct doc *plan = read_plan(request, request->arguments.positional[0]), *report;
	size_t length;
	char *text = plan ? doc_read_file(request->arena, request->diags, path, &length) : NULL;

	if (!text)
		return STATUS_USAGE;
	if (text[strspn(text, " \t\r\n")] != '{')
		return compare_log(request, plan, path, text, length, c);
	report = read_json(request, path, text, length);
	return report ? compare_report(request, report, c) : STATUS_USAGE;
}

enum status
cmd_compare(struct request *request)
{
	struct comparison *c = arena_alloc(request->arena, sizeof(*c));
	struct loc nowhere = {NULL, 0, 0};
	enum status status;

	if (request->arguments.count != 2) {
		diag_error(request->diags, nowhere,
		    "a plan and what was measured are wanted, %zu file%s given",
		    request->arguments.count, request->arguments.count == 1 ? " is" : "s are");
		return STATUS_USAGE;
	}
	c->tolerance = (request->tolerance_percent > 0 ? request->tolerance_percent : 20) / 100;
	c->holds = true;
	status = compare(request, c);
	if (status != STATUS_YES)
		return status;
	if (request->common.format == FORMAT_JSON)
		json_comparison(request, c);
	else
		text_comparison(request, c);
	return c->holds ? STATUS_YES : STATUS_NO;
}
