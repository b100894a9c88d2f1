/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What would this exact strategy cost? Memory of every stage, step time, traffic, verdict. */
#include "cmd/json_estimate.h"
#include "cmd/text_estimate.h"

static enum status
report(struct request *request, const struct strategy *strategy, const struct estimate *estimate,
    const struct unstated *unstated)
{
	if (request->common.format == FORMAT_JSON)
		json_estimate(request, strategy, estimate, unstated);
	else if (estimate)
		text_estimate(request, estimate, unstated);
	else
		text_invalid(request, strategy);
	if (!estimate)
		return STATUS_NO;
	return estimate->verdict == VERDICT_OOM ? STATUS_NO : STATUS_YES;
}

static int
more_gpus_than_there_are(struct request *request, const struct strategy *strategy)
{
	struct loc nowhere = {NULL, 0, 0};

	if (strategy->world <= request->cluster->world)
		return 0;
	diag_error(request->diags, nowhere, "the strategy takes %lld GPUs, the cluster has %lld",
	    (long long)strategy->world, (long long)request->cluster->world);
	diag_last_hint(request->diags, "give a cluster of at least %lld nodes, or smaller degrees",
	    (long long)((strategy->world + request->cluster->gpus_per_node - 1) /
			request->cluster->gpus_per_node));
	return -1;
}

/* The layout string, or the even split that a framework makes without one. */
static int
choose_layout(struct request *request, const struct strategy *strategy, struct layout *layout)
{
	struct loc option = {"--layout", 0, 0};

	if (strategy->layout)
		return layout_parse(layout, strategy->layout, request->model, (int)strategy->pp,
		    request->diags, option);
	layout_even(layout, request->model->layers, (int)strategy->pp, (int)strategy->vpp);
	return 0;
}

/* It is computed all the same: who wrote such a schedule wants to know. */
static void
note_schedule(struct request *request, const struct strategy *strategy)
{
	struct loc option = {"--schedule", 0, 0};

	if (!schedule_is_foreign(strategy))
		return;
	diag_add(request->diags, option, NULL, SEVERITY_WARNING,
	    "%s does not run the schedule '%s': the estimate is of a program of your own",
	    framework_names[strategy->framework], schedule_names[strategy->schedule]);
	diag_last_hint(request->diags,
	    "use 1f1b or interleaved; torchtitan runs zb, zbv and dualpipev too");
}

static const struct estimate *
estimate_strategy(
    struct request *request, const struct strategy *strategy, struct unstated *unstated)
{
	struct arena *arena = request->arena;
	struct estimate *estimate = arena_alloc(arena, sizeof(*estimate));
	struct layout *layout = arena_alloc(arena, sizeof(*layout));
	struct evaluator *evaluator;
	struct stage_memory *stages;

	if (strategy_violations(strategy, request->model, request->diags) > 0 ||
	    more_gpus_than_there_are(request, strategy) != 0 ||
	    choose_layout(request, strategy, layout) != 0)
		return NULL;
	stages = arena_array(arena, (size_t)strategy->pp, sizeof(*stages));
	evaluator = evaluator_new(arena, request->model, request->cluster, &request->job);
	evaluate_exact(evaluator, strategy, layout, arena, stages, estimate);
	estimate->stages = stages;
	note_schedule(request, strategy);
	evaluate_unstated(evaluator, strategy, layout, unstated);
	return estimate;
}

enum status
cmd_estimate(struct request *request)
{
	struct strategy *strategy = &request->job.base;
	const struct estimate *estimate;
	struct unstated unstated;
	enum status status;

	if (inputs_load(request, 1U << SLOT_MODEL | 1U << SLOT_CLUSTER) != 0)
		return STATUS_USAGE;
	status = job_prepare(request);
	if (status != STATUS_YES)
		return status;
	strategy_derive(strategy, request->model, request->cluster->world);
	estimate = estimate_strategy(request, strategy, &unstated);
	return report(request, strategy, estimate, &unstated);
}
