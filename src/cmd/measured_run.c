/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A step was measured: of which strategy, and what was predicted for it? And what is in a file
 * that was measured?
 *
 * The strategy is that of `estimate` itself, or what --measured-on names: a plan or an estimate as
 * JSON, or keys and values in one text.
 */
#include "cmd/measured_run.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/units.h"
#include "emit/emit.h"
#include "model/trace.h"
#include "planner/params.h"
#include "planner/rates.h"

int
measured_kind_of(struct request *request, const char *path)
{
	enum { PEEK = 65536 };
	char *start = arena_alloc(request->arena, PEEK + 1);
	struct loc loc = {path, 0, 0};
	struct stat status;
	FILE *file;
	size_t length, blank;

	if (stat(path, &status) == 0 && !S_ISREG(status.st_mode)) {
		diag_error(request->diags, loc, "'%s' is no regular file", path);
		diag_last_hint(request->diags, "it is read more than once: save what a pipe gives "
					       "in a file first");
		return -1;
	}
	file = fopen(path, "rb");
	if (!file)
		return diag_error(
		    request->diags, loc, "'%s' cannot be opened: %s", path, strerror(errno));
	length = fread(start, 1, PEEK, file);
	fclose(file);
	if (length > 2 && memcmp(start, "\x1f\x8b", 2) == 0) {
		diag_error(request->diags, loc, "'%s' is compressed", path);
		diag_last_hint(request->diags, "unpack it first: gunzip -k %s", path);
		return -1;
	}
	blank = strspn(start, " \t\r\n");
	if ((start[blank] == '{' || start[blank] == '[') && trace_is(start, length))
		return MEASURED_TRACE;
	return start[blank] == '{' ? MEASURED_DOCUMENT
				   : MEASURED_TEXT; /* logs start with [rank0] */
}

/* The cluster as if nothing had been measured on it. */
static void
predict(struct request *request, struct measured_step *step)
{
	struct cluster *plain = arena_alloc(request->arena, sizeof(*plain));
	struct job *job = arena_alloc(request->arena, sizeof(*job));
	struct layout *layout = arena_alloc(request->arena, sizeof(*layout));
	struct stage_memory *stages =
	    arena_array(request->arena, (size_t)step->strategy.pp, sizeof(*stages));

	*plain = *request->cluster;
	plain->runs.n = 0;
	job_init(job);
	job->base = step->strategy;
	job->skew = request->job.skew; /* as what the factors are fitted to */
	layout_even(layout, step->model->layers, (int)step->strategy.pp, (int)step->strategy.vpp);
	evaluate_exact(evaluator_new(request->arena, step->model, plain, job), &step->strategy,
	    step->layout ? step->layout : layout, request->arena, stages, &step->predicted);
	step->predicted.stages = stages;
}

/* The same strategy measured again takes the place of the older run. */
static struct measured_run *
place_of(struct request *request, const struct model *model, const struct measured_run *run)
{
	struct measured_runs *runs = &request->cluster->runs;
	const char *text = strategy_options_text(request->arena, &run->strategy);
	int i;

	for (i = 0; i < runs->n; i++) {
		struct strategy own = runs->rows[i].strategy;

		if (runs->rows[i].parameters != run->parameters ||
		    strcmp(runs->rows[i].gpu, run->gpu) != 0)
			continue;
		strategy_derive(&own, model, own.world);
		if (strcmp(strategy_options_text(request->arena, &own), text) == 0)
			return &runs->rows[i];
	}
	if (runs->n == MEASURED_MAX_RUNS)
		return NULL;
	runs->rows = arena_grow(request->arena, runs->rows, (size_t)runs->n * sizeof(*runs->rows),
	    ((size_t)runs->n + 1) * sizeof(*runs->rows));
	return &runs->rows[runs->n++];
}

static int
check_run(struct request *request, const struct measured_step *step)
{
	const char *refusal = evaluator_refusal(request->arena, step->model);
	struct loc nowhere = {NULL, 0, 0};

	if (!refusal)
		refusal = strategy_refusal(&step->strategy);
	if (!refusal)
		return 0;
	return diag_error(request->diags, nowhere,
	    "the measured step cannot be compared: the cost of %s is not modelled", refusal);
}

/* Far outside its band it is in a wrong unit, or of another job. */
static int
check_step(struct request *request, const struct measured_step *step)
{
	struct arena *arena = request->arena;
	const struct estimate *e = &step->predicted;
	double believed = rate_table[RATE_STEP_BELIEVED].value;
	struct loc nowhere = {NULL, 0, 0};

	if (step->step_s <= believed * e->step_high_s && step->step_s >= e->step_low_s / believed)
		return 0;
	diag_error(request->diags, nowhere,
	    "a step of %s is not believed: %s are predicted for this strategy, %s to %s for four "
	    "of five runs, allowed is %.4g times as far",
	    units_seconds(arena, step->step_s), units_seconds(arena, e->step_s),
	    units_seconds(arena, e->step_low_s), units_seconds(arena, e->step_high_s), believed);
	diag_last_hint(request->diags,
	    "is it the step of this strategy? A time is in seconds or has its unit: 9.2s, 9200ms");
	return -1;
}

int
measured_step_add(struct request *request, struct measured_step *step)
{
	double doubted = rate_table[RATE_STEP_DOUBTED].value;
	struct loc nowhere = {NULL, 0, 0};
	struct measured_run *place, run = {.model = step->model->name,
					.gpu = request->cluster->gpu.name,
					.step_s = step->step_s,
					.exposed_s = step->exposed_s,
					.allocated_bytes = (uint64_t)step->allocated_bytes,
					.reserved_bytes = (uint64_t)step->reserved_bytes,
					.strategy = step->strategy};
	struct params params;

	if (check_run(request, step) != 0)
		return -1;
	predict(request, step);
	if (check_step(request, step) != 0)
		return -1;
	params_count(step->model, &params);
	run.parameters = params.total;
	run.predicted_s = step->predicted.step_s;
	if (step->strategy.pp > 1 && step->layout)
		run.strategy.layout = layout_text(request->arena, step->layout, step->model);
	place = place_of(request, step->model, &run);
	if (!place)
		return diag_error(request->diags, nowhere,
		    "the cluster has %d measured runs already, the most that are kept",
		    MEASURED_MAX_RUNS);
	*place = run;
	if (run.step_s > doubted * run.predicted_s || run.predicted_s > doubted * run.step_s)
		diag_add(request->diags, nowhere, NULL, SEVERITY_WARNING,
		    "%s were measured and %s predicted: is it the step of this strategy, in "
		    "seconds?",
		    units_seconds(request->arena, run.step_s),
		    units_seconds(request->arena, run.predicted_s));
	return 0;
}

/* --- the options ------------------------------------------------------------------------------ */

/* "tp=2 ep=8": what it leaves out is as for the plan that is asked for. */
static int
read_words(struct request *request, const char *text, struct strategy *strategy)
{
	struct arena *arena = request->arena;
	struct loc loc = {"--measured-on", 0, 0};
	struct doc *map = doc_new_map(arena, loc);

	strategy->layout = NULL; /* of the strategy that is asked for */
	for (text += strspn(text, " \t\n"); *text; text += strspn(text, " \t\n")) {
		size_t length = strcspn(text, " \t\n"), key = strcspn(text, "= \t\n");

		if (text[key] != '=') {
			diag_error(request->diags, loc, "'%.*s' is neither a file nor KEY=VALUE",
			    (int)length, text);
			diag_last_hint(request->diags, "a plan or an estimate as JSON, or "
						       "\"tp=2 ep=8 recompute=full\"");
			return -1;
		}
		doc_add_scalar(arena, map, arena_strndup(arena, text, key),
		    arena_strndup(arena, text + key + 1, length - key - 1), loc);
		text += length;
	}
	return fields_read(strategy_fields, strategy, map, NULL, &request->context);
}

static int
read_document(struct request *request, const char *path, struct measured_step *step)
{
	const struct plan_view *plan;
	const struct doc *doc;
	size_t length;
	char *text = doc_read_file(request->arena, request->diags, path, &length);

	doc = text ? doc_parse(request->arena, request->diags, path, text, length) : NULL;
	plan = doc ? plan_read(request->arena, request->diags, doc, path) : NULL;
	if (!plan)
		return -1;
	step->strategy = plan->strategy;
	step->layout = &plan->layout;
	return 0;
}

static int
read_measured_on(struct request *request, const char *text, struct measured_step *step)
{
	struct stat status;

	if (stat(text, &status) == 0)
		return read_document(request, text, step);
	request->measured_words = &step->strategy;
	return read_words(request, text, &step->strategy);
}

int
measured_option_add(struct request *request)
{
	struct loc option = {"--measured-step", 0, 0};
	const struct job *job = &request->job;
	struct measured_step *step = arena_alloc(request->arena, sizeof(*step));
	struct layout layout;

	if (!(job->measured_step_s > 0)) {
		if (!job->measured_on)
			return 0;
		return diag_error(request->diags, option,
		    "'--measured-on' says what ran, and no '--measured-step' how long it took");
	}
	step->model = request->model;
	step->strategy = job->base;
	step->step_s = job->measured_step_s;
	if (request->command->run == cmd_plan && !job->measured_on)
		return 0; /* of which strategy is not known: only compared */
	if (job->measured_on && read_measured_on(request, job->measured_on, step) != 0)
		return -1;
	strategy_derive(&step->strategy, request->model, request->cluster->world);
	if (strategy_violations(&step->strategy, request->model, request->diags) > 0) {
		diag_add(request->diags, option, NULL, SEVERITY_NOTE,
		    "this is the strategy that was measured: %s",
		    strategy_options_text(request->arena, &step->strategy));
		return -1;
	}
	if (step->strategy.layout) {
		if (layout_parse(&layout, step->strategy.layout, request->model,
			(int)step->strategy.pp, request->diags, option) != 0)
			return -1;
		step->layout = &layout;
	}
	if (measured_step_add(request, step) != 0)
		return -1;
	request->measured_predicted_s = step->predicted.step_s;
	return 0;
}
