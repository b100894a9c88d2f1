/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What was predicted, and what came of it?
 *
 * PLAN is a plan or an estimate as JSON, MEASURED a probe's report, a training log or a profile. A
 * report brings its parts, scaled to what it ran; a log the median time of a step and the most
 * memory; a profile what ran beside what.
 * More or less than predicted by the tolerance is outside.
 */
#include <math.h>
#include <string.h>

#include "cmd/compare_report.h"
#include "cmd/measured_run.h"
#include "cmd/text_common.h"
#include "model/trace.h"
#include "model/training_log.h"

const struct field compare_fields[] = {
    {.name = "tolerance",
	.arg = "PCT",
	.help = "how far off a prediction is still right, percent (20)",
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

bool
compare_outside(const struct comparison *c, const struct compare_row *row)
{
	return row->counts && fabs(row->measured - row->predicted) > row->predicted * c->tolerance;
}

static void
add_row(struct comparison *c, const char *name, enum compare_unit unit, double predicted,
    double measured, bool counts)
{
	struct compare_row *row = &c->rows[c->n];

	if (c->n == COMPARE_ROWS)
		return;
	*row = (struct compare_row){
	    name, unit, predicted, measured, counts && predicted > 0 && measured >= 0};
	c->n++;
	c->judged += row->counts;
	if (compare_outside(c, row))
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
				    COMPARE_BYTES, predicted,
				    number_of(doc_get(stage, "measured"), names[i]), false);
		}
}

/* Of traffic also what nothing hides. */
static void
compare_part(struct request *request, const struct doc *part, struct comparison *c)
{
	const struct doc *name = doc_get(part, "name"), *judged = doc_get(part, "judged");
	double predicted = number_of(part, "predicted_s"), measured = number_of(part, "measured_s");
	double exposed = number_of(part, "predicted_stall_s"), stall = number_of(part, "stall_s");

	if (!name || name->kind != DOC_STRING || predicted < 0 ||
	    !(predicted > 0 || measured > 0))
		return;
	add_row(c, name->text, COMPARE_SECONDS, predicted, measured,
	    judged && judged->kind == DOC_BOOL && judged->boolean);
	if (stall >= 0 && exposed >= 0)
		add_row(c, arena_printf(request->arena, "exposed %s", time_name_label(name->text)),
		    COMPARE_SECONDS, exposed, stall, false);
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
	for (part = parts ? parts->first : NULL; part; part = part->next)
		compare_part(request, part, c);
	compare_stages(request, report, c);
	return STATUS_YES;
}

/* --- a training log --------------------------------------------------------------------------- */

/* What a throughput is turned into a step by, and what the log may say too. */
static struct strategy
batch_of(const struct doc *plan)
{
	const struct doc *s = doc_get(plan, "strategy");
	struct strategy strategy = {0};

	strategy.global_batch = (int64_t)number_of(s, "global_batch");
	strategy.seq_len = (int64_t)number_of(s, "seq_len");
	strategy.world = (int64_t)number_of(s, "world_size");
	strategy.tp = (int64_t)number_of(s, "tp");
	strategy.pp = (int64_t)number_of(s, "pp");
	strategy.ep = (int64_t)number_of(s, "ep");
	return strategy;
}

/* The most that a stage's allocator holds, its fragments included. */
static double
reserved_of(const struct doc *plan)
{
	const struct doc *stages = doc_get(doc_get(plan, "memory"), "stages"), *stage;
	double most = 0;

	for (stage = stages ? stages->first : NULL; stage; stage = stage->next)
		most = fmax(most, number_of(stage, "total_bytes") -
				      number_of(doc_get(stage, "parts"), "runtime"));
	return most;
}

static enum status
compare_log(struct request *request, const struct doc *plan, const char *path, struct comparison *c)
{
	struct loc loc = {path, 0, 0};
	const struct doc *time = doc_get(plan, "time");
	struct strategy batch = batch_of(plan);
	struct log_facts facts;
	double step_s;

	if (log_read_file(request->arena, request->diags, path, &facts) != 0)
		return STATUS_USAGE;
	if (!facts.format) {
		diag_error(
		    request->diags, loc, "'%s' has no step time and no memory that is known", path);
		diag_last_hint(request->diags,
		    "a probe's report, a profile of torch.profiler, or a log of Megatron-LM, "
		    "Megatron-Bridge, DeepSpeed or torchtitan is read");
		return STATUS_USAGE;
	}
	if (log_check_sizes(request->diags, path, &facts, &batch) != 0)
		return STATUS_USAGE;
	c->measured_by = facts.format;
	step_s = log_step_s(&facts, &batch);
	if (step_s > 0)
		add_row(c, "step", COMPARE_SECONDS, number_of(time, "step_s"), step_s, true);
	if (facts.tflops_per_gpu > 0)
		add_row(c, "a GPU, by the log's own counter", COMPARE_TFLOPS,
		    number_of(time, "model_tflops_per_gpu"), facts.tflops_per_gpu, false);
	if (facts.allocated_bytes > 0)
		add_row(c, "memory allocated", COMPARE_BYTES, allocated_of(plan),
		    facts.allocated_bytes, true);
	if (facts.reserved_bytes > 0)
		add_row(c, "memory reserved", COMPARE_BYTES, reserved_of(plan),
		    facts.reserved_bytes, facts.allocated_bytes <= 0);
	return STATUS_YES;
}

/* --- a profile -------------------------------------------------------------------------------- */

/* Exposed (and hidden) seconds of some parts of the plan. */
static double
parts_of(const struct doc *plan, const char *const *names, bool hidden)
{
	const struct doc *time = doc_get(plan, "time");
	double sum = 0;

	for (; *names; names++) {
		sum += fmax(0, number_of(doc_get(time, "parts"), *names));
		if (hidden)
			sum += fmax(0, number_of(doc_get(time, "hidden"), *names));
	}
	return sum;
}

static enum status
compare_trace(
    struct request *request, const struct doc *plan, const char *path, struct comparison *c)
{
	static const char *const computation[] = {
	    "attention", "mlp", "experts", "memory_bound", "head", "recompute", "optimizer", NULL};
	static const char *const traffic[] = {
	    "all_to_all", "tensor_parallel", "context_parallel", "pipeline", "data_parallel", NULL};
	static const char *const sends[] = {"all_to_all", "context_parallel", "pipeline", NULL};
	static const char *const idle[] = {"host", "bubble", "step_overhead", NULL};
	struct trace_facts facts;

	if (trace_read_file(request->arena, request->diags, path, &facts) != 0 ||
	    trace_check_world(request->diags, path, &facts,
		(int64_t)number_of(doc_get(plan, "strategy"), "world_size")) != 0)
		return STATUS_USAGE;
	c->measured_by = "torch.profiler";
	if (!(facts.step_s > 0)) {
		diag_add(request->diags, (struct loc){path, 0, 0}, NULL, SEVERITY_WARNING,
		    "the profile marks no steps: all of it is taken for one");
		diag_last_hint(request->diags, "call step() of the profiler after every step");
	}
	add_row(c, "step", COMPARE_SECONDS, number_of(doc_get(plan, "time"), "step_s"),
	    facts.step_s > 0 ? facts.step_s : facts.window_s, true);
	add_row(c, "computation", COMPARE_SECONDS, parts_of(plan, computation, false),
	    facts.computed_s, false);
	add_row(c, "communication that nothing hides", COMPARE_SECONDS,
	    parts_of(plan, traffic, false), facts.exposed_s, false);
	add_row(c, "all-to-all, send and receive, hidden too", COMPARE_SECONDS,
	    parts_of(plan, sends, true), facts.seconds[TRACE_ALL_TO_ALL], false);
	add_row(c, "nothing runs: host, bubble", COMPARE_SECONDS, parts_of(plan, idle, false),
	    facts.idle_s, false);
	return STATUS_YES;
}

/* --- all -------------------------------------------------------------------------------------- */

static enum status
compare_file(
    struct request *request, const struct doc *plan, const char *path, struct comparison *c)
{
	int kind = measured_kind_of(request, path);
	const struct doc *report;
	size_t length;
	char *text;

	if (kind < 0)
		return STATUS_USAGE;
	if (kind == MEASURED_TEXT)
		return compare_log(request, plan, path, c);
	if (kind == MEASURED_TRACE)
		return compare_trace(request, plan, path, c);
	text = doc_read_file(request->arena, request->diags, path, &length);
	report = text ? read_json(request, path, text, length) : NULL;
	return report ? compare_report(request, report, c) : STATUS_USAGE;
}

static enum status
compare(struct request *request, struct comparison *c)
{
	const struct doc *plan = read_plan(request, request->arguments.positional[0]);

	return plan ? compare_file(request, plan, request->arguments.positional[1], c)
		    : STATUS_USAGE;
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
	c->holds = c->holds && c->judged > 0;
	if (request->common.format == FORMAT_JSON)
		json_comparison(request, c);
	else
		text_comparison(request, c);
	return c->holds ? STATUS_YES : STATUS_NO;
}
