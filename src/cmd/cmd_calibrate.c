/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which rates does the cluster really have, how long do steps really take, and how far off was
 * what was predicted?
 *
 * Files are told apart by what is in them. A training log or a profile is of the plan that stands
 * before it.
 */
#include <math.h>
#include <string.h>

#include "base/units.h"
#include "cmd/measured_run.h"
#include "cmd/text_common.h"
#include "emit/emit.h"
#include "model/calibrate.h"
#include "model/trace.h"
#include "model/training_log.h"
#include "planner/rates.h"

/* Steps that differ by more are still warming up, or disturbed: their median is no steady step. */
#define STEADY 1.3

struct calibration {
	struct request *request;
	struct measurements *m;
	const struct plan_view *plan; /* of the logs that follow, or NULL */
	const char *plan_name;
	bool plan_used;
	int runs;
};

static struct loc
place(const char *name)
{
	return (struct loc){name, 0, 0};
}

/* "expert GEMM: predicted 1.2 s, measured 1.4 s (+17 %)" */
static void
note_off(struct request *request, const char *name, const char *what, double predicted,
    double measured, bool bytes)
{
	struct arena *arena = request->arena;

	diag_add(request->diags, place(name), NULL, SEVERITY_NOTE,
	    "%s: predicted %s, measured %s (%+.0f %%)", what,
	    bytes ? units_gib(arena, predicted) : units_seconds(arena, predicted),
	    bytes ? units_gib(arena, measured) : units_seconds(arena, measured),
	    nearbyint(100 * (measured / predicted - 1)) + 0.0); /* never "-0" */
}

/* --- a probe's report ------------------------------------------------------------------------- */

/* What the report itself says of plan and measurement, so that a new plan can be judged. */
static void
note_parts(struct request *request, const char *name, const struct doc *report)
{
	const struct doc *parts = doc_get(report, "plan_parts"), *part;

	for (part = parts ? parts->first : NULL; part; part = part->next) {
		const struct doc *judged = doc_get(part, "judged"), *label = doc_get(part, "name");
		const struct doc *predicted = doc_get(part, "predicted_s");
		const struct doc *measured = doc_get(part, "measured_s");

		if (judged && judged->kind == DOC_BOOL && judged->boolean && label && label->text &&
		    predicted && measured && predicted->number > 0)
			note_off(request, name, time_name_label(label->text), predicted->number,
			    measured->number, false);
	}
}

/* What the allocator gave, where the report has a prediction beside it. */
static void
note_memory(struct request *request, const char *name, const struct doc *report)
{
	static const char *const parts[] = {"weights", "gradients", "optimizer", "activations"};
	const struct doc *stages = doc_get(doc_get(report, "memory"), "stages"), *stage;
	size_t i;

	for (stage = stages ? stages->first : NULL; stage; stage = stage->next)
		for (i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
			const struct doc *was = doc_get(doc_get(stage, "predicted"), parts[i]);
			const struct doc *is = doc_get(doc_get(stage, "measured"), parts[i]);
			const struct doc *number = doc_get(stage, "stage");

			if (was && is && number && was->number > 0 &&
			    fabs(is->number / was->number - 1) > 0.01)
				note_off(request, name,
				    arena_printf(request->arena, "%s of stage %.0f", parts[i],
					number->number),
				    was->number, is->number, true);
		}
}

/* --- a plan and what was measured on it ------------------------------------------------------- */

/* A plan that no measurement follows is a mistake in the order of the files. */
static int
check_used(struct calibration *c)
{
	if (!c->plan || c->plan_used)
		return 0;
	return diag_error(c->request->diags, place(c->plan_name),
	    "nothing was measured on this plan: no log, no profile and no '--measured-step' "
	    "follows it");
}

static int
take_plan(struct calibration *c, const char *name, const struct doc *doc)
{
	struct request *request = c->request;
	int result = check_used(c);

	c->plan = plan_read(request->arena, request->diags, doc, name);
	c->plan_name = name;
	c->plan_used = false;
	if (!c->plan)
		return -1;
	if (!c->plan->gpu || strcmp(c->plan->gpu, request->cluster->gpu.name) == 0)
		return result;
	return diag_error(request->diags, place(name), "the plan is for '%s', the cluster has '%s'",
	    c->plan->gpu, request->cluster->gpu.name);
}

static int
need_plan(struct calibration *c, const char *name, const char *what)
{
	c->plan_used = true; /* whether or not it can be read */
	if (c->plan)
		return 0;
	diag_error(c->request->diags, place(name), "%s, and no plan stands before it", what);
	diag_last_hint(c->request->diags,
	    "give the plan or estimate that ran, as JSON: moeplan calibrate CLUSTER plan.json %s",
	    name);
	return -1;
}

/* `step` has what was measured; the rest is the plan's. */
static int
add_step(struct calibration *c, const char *name, struct measured_step *step)
{
	step->model = c->plan->model;
	step->strategy = c->plan->strategy;
	step->layout = &c->plan->layout;
	if (measured_step_add(c->request, step) != 0)
		return -1;
	note_off(c->request, name, "step", step->predicted.step_s, step->step_s, false);
	c->runs++;
	return 0;
}

static double
allocated_of(const struct estimate *estimate)
{
	double most = 0;
	int i;

	for (i = 0; i < estimate->n_stages; i++)
		if (estimate->stages[i].allocated_bytes > most)
			most = estimate->stages[i].allocated_bytes;
	return most;
}

/* "torchtitan" for a plan of Megatron-LM is most likely another run's log. */
static void
check_framework(struct calibration *c, const char *name, const char *format)
{
	static const char *const starts[FRAMEWORKS] = {"Megatron", "DeepSpeed", "torchtitan"};
	enum framework planned = c->plan->strategy.framework;

	if (strncmp(format, starts[planned], strlen(starts[planned])) != 0)
		diag_add(c->request->diags, place(name), NULL, SEVERITY_WARNING,
		    "a %s log, and the plan before it is for %s", format, framework_names[planned]);
}

static double
reserved_of(const struct estimate *estimate)
{
	double most = 0;
	int i;

	for (i = 0; i < estimate->n_stages; i++)
		most = fmax(most,
		    estimate->stages[i].total_bytes - estimate->stages[i].parts[MEMORY_RUNTIME]);
	return most;
}

static int
add_log(struct calibration *c, const char *name, const struct log_facts *facts)
{
	struct request *request = c->request;
	struct measured_step step = {
	    .allocated_bytes = facts->allocated_bytes, .reserved_bytes = facts->reserved_bytes};

	if (need_plan(c, name, arena_printf(request->arena, "a %s log", facts->format)) != 0)
		return -1;
	check_framework(c, name, facts->format);
	if (log_check_sizes(request->diags, name, facts, &c->plan->strategy) != 0)
		return -1;
	step.step_s = log_step_s(facts, &c->plan->strategy);
	if (!(step.step_s > 0))
		return diag_error(request->diags, place(name),
		    "the %s log has no time of a step and no throughput", facts->format);
	if (add_step(c, name, &step) != 0)
		return -1;
	if (facts->step_high_s > STEADY * facts->step_low_s)
		diag_add(request->diags, place(name), NULL, SEVERITY_WARNING,
		    "steps took %s to %s (four of five of them): the median may not be a steady "
		    "step",
		    units_seconds(request->arena, facts->step_low_s),
		    units_seconds(request->arena, facts->step_high_s));
	if (facts->allocated_bytes > 0)
		note_off(request, name, "memory allocated", allocated_of(&step.predicted),
		    facts->allocated_bytes, true);
	else if (facts->reserved_bytes > 0)
		note_off(request, name, "memory reserved", reserved_of(&step.predicted),
		    facts->reserved_bytes, true);
	return 0;
}

static int
add_trace(struct calibration *c, const char *name, const struct trace_facts *facts)
{
	struct request *request = c->request;
	struct measured_step step = {.step_s = facts->step_s, .exposed_s = facts->exposed_s};

	if (need_plan(c, name, "a profile") != 0 ||
	    trace_check_world(request->diags, name, facts, c->plan->strategy.world) != 0)
		return -1;
	if (!(facts->step_s > 0)) {
		diag_error(request->diags, place(name), "the profile marks no steps");
		diag_last_hint(request->diags, "call step() of the profiler after every step");
		return -1;
	}
	if (add_step(c, name, &step) != 0)
		return -1;
	diag_add(request->diags, place(name), NULL, SEVERITY_NOTE,
	    "of a step %.0f %% is communication that nothing hides, %.0f %% all-to-all, send and "
	    "receive, %.0f %% matrix products, %.0f %% nothing runs",
	    100 * facts->exposed_s / facts->window_s,
	    100 * facts->seconds[TRACE_ALL_TO_ALL] / facts->window_s,
	    100 * facts->seconds[TRACE_PRODUCTS] / facts->window_s,
	    100 * facts->idle_s / facts->window_s);
	return 0;
}

/* --- telling files apart ---------------------------------------------------------------------- */

static int
add_document(struct calibration *c, const char *name)
{
	struct request *request = c->request;
	const struct doc *doc, *schema;
	size_t length;
	char *text = doc_read_file(request->arena, request->diags, name, &length);

	doc = text ? doc_parse(request->arena, request->diags, name, text, length) : NULL;
	if (!doc)
		return -1;
	schema = doc_get(doc, "schema");
	if (schema && schema->text && strcmp(schema->text, "moeplan/probe/v1") == 0) {
		if (calibrate_add_report(request->diags, request->cluster, doc, c->m) != 0)
			return -1;
		note_parts(request, name, doc);
		note_memory(request, name, doc);
		return 0;
	}
	if (!schema && calibrate_is_nccl_json(doc))
		return calibrate_add_nccl_json(request->diags, request->cluster, doc, c->m);
	if (schema && schema->text &&
	    (strcmp(schema->text, "moeplan/plan/v1") == 0 ||
		strcmp(schema->text, "moeplan/estimate/v1") == 0))
		return take_plan(c, name, doc);
	diag_error(request->diags, schema ? schema->loc : doc->loc,
	    "'%s' is no report of moeplan-probe, no plan and no profile", name);
	return -1;
}

static int
add_text(struct calibration *c, const char *name)
{
	struct request *request = c->request;
	struct log_facts facts;
	size_t length;
	char *text;

	if (log_read_file(request->arena, request->diags, name, &facts) != 0)
		return -1;
	if (facts.format)
		return add_log(c, name, &facts);
	text = doc_read_file(request->arena, request->diags, name, &length);
	if (!text)
		return -1;
	return calibrate_add_nccl_tests(request->diags, request->cluster, name, text, length, c->m);
}

static int
add_file(struct calibration *c, const char *name)
{
	struct request *request = c->request;
	int kind = measured_kind_of(request, name);
	struct trace_facts facts;

	if (kind < 0)
		return -1;
	if (kind == MEASURED_TEXT)
		return add_text(c, name);
	if (kind == MEASURED_DOCUMENT)
		return add_document(c, name);
	if (trace_read_file(request->arena, request->diags, name, &facts) != 0)
		return -1;
	return add_trace(c, name, &facts);
}

/* --measured-step: of the last plan. */
static int
add_option(struct calibration *c)
{
	struct measured_step step = {.step_s = c->request->job.measured_step_s};

	if (!(step.step_s > 0))
		return 0;
	if (need_plan(c, "--measured-step", "a step time") != 0)
		return -1;
	return add_step(c, "--measured-step", &step);
}

static int
add_files(struct calibration *c, const char **files, size_t n)
{
	int result = 0;
	size_t i;

	for (i = 0; i < n; i++)
		result |= add_file(c, files[i]);
	result |= add_option(c);
	return result == 0 ? check_used(c) : result;
}

enum status
cmd_calibrate(struct request *request)
{
	struct calibration c = {.request = request, .m = arena_alloc(request->arena, sizeof(*c.m))};
	const char **files = request->arguments.positional + 1;
	size_t n = request->arguments.count;
	struct loc nowhere = {NULL, 0, 0};

	if (n < 2) {
		diag_error(request->diags, nowhere,
		    n ? "nothing that was measured is given" : "no cluster is given");
		diag_last_hint(request->diags,
		    "moeplan calibrate CLUSTER FILE…: reports of moeplan-probe, output of "
		    "nccl-tests, or a plan as JSON and the log of its training");
		return STATUS_USAGE;
	}
	c.m->peer_s = rate_table[RATE_MESSAGE_PEER_S].value;
	c.m->gemm_half = rate_table[RATE_GEMM_HALF_DIM].value;
	request->arguments.count = 1; /* the cluster; the rest are no inputs of a plan */
	if (inputs_load(request, 1U << SLOT_CLUSTER) != 0 || add_files(&c, files, n - 1) != 0)
		return STATUS_USAGE;
	return calibrate_cluster(request->diags, request->cluster, c.m, c.runs, &request->out) == 0
		   ? STATUS_YES
		   : STATUS_NO;
}
