/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which strategy is best, why, what was rejected and why, how far from provably optimal? */
#include <string.h>

#include "base/output.h"
#include "cmd/plan_report.h"
#include "cmd/progress.h"

/* A degree that a `strategy:` section fixes is a pin of the search. */
static void
pin_degrees(struct job *job)
{
	const struct {
		enum axis axis;
		int64_t *value;
	} degrees[] = {
	    {AXIS_TP, &job->base.tp},
	    {AXIS_CP, &job->base.cp},
	    {AXIS_PP, &job->base.pp},
	    {AXIS_VPP, &job->base.vpp},
	    {AXIS_EP, &job->base.ep},
	    {AXIS_ETP, &job->base.etp},
	    {AXIS_MICRO_BATCH, &job->base.micro_batch},
	};
	size_t i;

	for (i = 0; i < sizeof(degrees) / sizeof(*degrees); i++) {
		struct axis_limit *limit = &job->limits[degrees[i].axis];

		if (*degrees[i].value > 0 && limit->n_allowed == 0)
			limit->allowed[limit->n_allowed++] = *degrees[i].value;
		*degrees[i].value = 0;
	}
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

/* A finished plan that does not pass its check is our mistake, never the user's. */
static enum status
check(struct request *request, const struct plan *plan)
{
	struct loc nowhere = {NULL, 0, 0};

	if (plan_check(plan, request->model, request->cluster, &request->job, request->diags) == 0)
		return STATUS_YES;
	diag_error(request->diags, nowhere, "the finished plan fails its own check: a bug");
	diag_last_hint(request->diags,
	    "please report it with the command line, the input files and the output of "
	    "'moeplan --version' (" MOEPLAN_VERSION ")");
	return STATUS_BUG;
}

static enum status
write_lp(struct request *request, const struct plan *plan)
{
	const char *path = request->job.lp_path;

	if (!path || !plan->master_lp)
		return STATUS_YES;
	return output_write_file(request->diags, path, plan->master_lp, strlen(plan->master_lp)) == 0
	    ? STATUS_YES
	    : STATUS_ENVIRONMENT;
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
	pin_degrees(&request->job);
	plan = run_search(request);
	if (!plan)
		return STATUS_NO;
	status = check(request, plan);
	if (status == STATUS_YES)
		status = write_lp(request, plan);
	if (status != STATUS_YES)
		return status;
	if (request->common.format == FORMAT_JSON)
		json_plan(request, plan);
	else
		text_plan(request, plan);
	return plan->n_best > 0 ? STATUS_YES : STATUS_NO;
}
