/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which strategy is best, why, what was rejected and why, how far from provably optimal? */
#include <string.h>

#include "base/output.h"
#include "cmd/plan_report.h"
#include "cmd/progress.h"

/* What a `strategy:` section fixes on an axis is a pin, unless --pin or `pin:` says otherwise. */
static void
pin_section(struct request *request)
{
	struct job *job = &request->job;
	int axis;

	for (axis = 0; axis < AXES; axis++) {
		struct axis_limit *limit = &job->limits[axis];

		if (!doc_get(request->strategy_section, axis_names[axis]) || limit->n_allowed > 0)
			continue;
		limit->allowed[0] = strategy_axis_value(&job->base, (enum axis)axis);
		limit->n_allowed = 1;
	}
}

/* Keys of the section that neither an axis nor a setting takes: said, not silently dropped. */
static void
note_unused(struct request *request)
{
	static const char *const unused[] = {"world_size", "dp", "edp", "layout"};
	size_t i;

	for (i = 0; i < sizeof(unused) / sizeof(*unused); i++) {
		const struct doc *member = doc_get(request->strategy_section, unused[i]);

		if (!member)
			continue;
		diag_add(request->diags, member->key_loc, NULL, SEVERITY_WARNING,
		    "'%s' does not bind the search, which finds it from the other degrees",
		    member->key);
	}
}

/* See planner/search_grid.c: an axis that is not searched is no silent limit. */
static void
note_mamba(struct request *request)
{
	const struct job *job = &request->job;

	if (job->base.framework != FRAMEWORK_MEGATRON || !model_has_mamba(request->model) ||
	    job->limits[AXIS_VPP].n_allowed > 0)
		return;
	diag_add(request->diags, (struct loc){NULL, 0, 0}, "MEG-130", SEVERITY_NOTE,
	    "vpp over 1 is not searched: Megatron-Bridge builds Mamba layers without virtual "
	    "stages");
	diag_last_hint(request->diags,
	    "Megatron-LM takes them from --hybrid-layer-pattern since 0.17: --pin vpp=1,vpp=2 "
	    "searches both");
}

/* The search starts from settings only: degrees are its to choose. */
static void
leave_degrees_open(struct strategy *s)
{
	s->world = s->dp = s->edp = 0;
	s->tp = s->cp = s->pp = s->vpp = s->ep = s->etp = s->micro_batch = 0;
	s->layout = NULL;
}

static struct plan *
run_search(struct request *request)
{
	struct progress progress;
	struct plan *plan;

	progress_start(&progress, !request->common.quiet);
	plan = search(request->arena, request->diags, request->model, request->cluster,
	    &request->job, progress_update, &progress);
	progress_end(&progress);
	return plan;
}

/* Our mistake, never the user's. */
static enum status
report_bug(struct request *request, const char *what)
{
	struct loc nowhere = {NULL, 0, 0};

	diag_error(request->diags, nowhere, "%s: a bug in moeplan", what);
	diag_last_hint(request->diags,
	    "please report it with the command line, the input files, these messages and the "
	    "version, " MOEPLAN_VERSION);
	return STATUS_BUG;
}

/* Solvers that disagree are an internal error; all other errors say that there is no answer. */
static enum status
no_plan(struct request *request)
{
	const struct diag *diag;

	for (diag = request->diags->first; diag; diag = diag->next)
		if (diag->rule && strcmp(diag->rule, "internal") == 0)
			return report_bug(request, "the search failed");
	return STATUS_NO;
}

static enum status
check(struct request *request, const struct plan *plan)
{
	if (plan_check(plan, request->model, request->cluster, &request->job, request->diags) == 0)
		return STATUS_YES;
	return report_bug(request, "the finished plan fails its own check");
}

static enum status
write_lp(struct request *request, const struct plan *plan)
{
	const char *path = request->job.lp_path;
	struct loc option = {"--lp", 0, 0};

	if (!path)
		return STATUS_YES;
	if (!plan->master_lp) {
		diag_add(request->diags, option, NULL, SEVERITY_WARNING,
		    "'%s' is not written: no strategy is left for an integer programme to choose",
		    path);
		return STATUS_YES;
	}
	if (output_write_file(request->diags, path, plan->master_lp, strlen(plan->master_lp)) != 0)
		return STATUS_ENVIRONMENT;
	return STATUS_YES;
}

enum status
cmd_plan(struct request *request)
{
	enum status status;
	struct plan *plan;

	if (inputs_load(request, 1U << SLOT_MODEL | 1U << SLOT_CLUSTER) != 0)
		return STATUS_USAGE;
	status = job_prepare(request);
	if (status != STATUS_YES)
		return status;
	pin_section(request);
	note_unused(request);
	note_mamba(request);
	leave_degrees_open(&request->job.base);
	plan = run_search(request);
	if (!plan)
		return no_plan(request);
	status = check(request, plan);
	if (status != STATUS_YES)
		return status;
	status = write_lp(request, plan);
	if (request->common.format == FORMAT_JSON)
		json_plan(request, plan);
	else
		text_plan(request, plan);
	if (status != STATUS_YES)
		return status;
	return plan->n_best > 0 ? STATUS_YES : STATUS_NO;
}
