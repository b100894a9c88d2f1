/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Is everything there that an estimate needs? */
#include <string.h>

#include "base/units.h"
#include "cmd/measured_run.h"
#include "model/loads.h"
#include "planner/estimate.h"

static int
need_seq_len(struct request *request)
{
	struct strategy *strategy = &request->job.base;
	struct loc nowhere = {NULL, 0, 0};

	if (strategy->seq_len > 0)
		return 0;
	strategy->seq_len = request->model->max_positions;
	if (strategy->seq_len > 0) {
		diag_add(request->diags, nowhere, NULL, SEVERITY_NOTE,
		    "sequence length %s, the longest that the model's config names",
		    units_grouped(request->arena, strategy->seq_len));
		diag_last_hint(request->diags, "--seq-len trains on another length");
		return 0;
	}
	diag_error(request->diags, nowhere,
	    "the sequence length is not given, and the model names no longest one");
	diag_last_hint(
	    request->diags, "add --seq-len TOKENS, or 'seq_len:' in a job or strategy section");
	return -1;
}

static int
need_global_batch(struct request *request)
{
	struct loc nowhere = {NULL, 0, 0};

	if (request->job.base.global_batch > 0)
		return 0;
	diag_error(request->diags, nowhere, "the global batch is not given");
	diag_last_hint(request->diags,
	    "add --global-batch SEQUENCES (of one optimizer step, all GPUs together), or "
	    "'global_batch:' in a job or strategy section");
	return -1;
}

static enum status
need_covered_model(struct request *request)
{
	const char *refusal = evaluator_refusal(request->arena, request->model);

	if (!refusal)
		return STATUS_YES;
	diag_error(request->diags, request->model->loc,
	    "time and memory of '%s' cannot be estimated: %s", request->model->name, refusal);
	diag_last_hint(request->diags,
	    "what the cost model does not cover is refused, not guessed; 'moeplan model' counts "
	    "its parameters");
	return STATUS_NO;
}

static enum status
need_covered_choices(struct request *request)
{
	const char *refusal = strategy_refusal(&request->job.base);
	struct loc nowhere = {NULL, 0, 0};

	if (!refusal)
		return STATUS_YES;
	diag_error(request->diags, nowhere, "the cost of %s is not modelled", refusal);
	diag_last_hint(
	    request->diags, "leave it out: it is refused rather than priced as something else");
	return STATUS_NO;
}

/* Parts that came before bf16 multiply in fp16. */
static void
choose_precision(struct request *request)
{
	struct strategy *strategy = &request->job.base;
	const struct gpu *gpu = &request->cluster->gpu;
	struct loc nowhere = {NULL, 0, 0};
	bool stated = strategy->said & SAID_PRECISION;

	if (strategy->precision != PRECISION_BF16 || gpu->flops[FLOP_BF16].value > 0)
		return;
	if (!stated)
		strategy->precision = PRECISION_FP16;
	diag_add(request->diags, nowhere, NULL, stated ? SEVERITY_WARNING : SEVERITY_NOTE,
	    stated ? "%s has no bf16 products: the step is what fp16 takes"
		   : "precision fp16: %s has no bf16 products",
	    gpu->name);
}

/* What is pinned must be left by --forbid and --max. */
static int
need_values(struct request *request)
{
	struct loc nowhere = {NULL, 0, 0};
	int result = 0;
	int axis, i;

	for (axis = 0; axis < AXES; axis++) {
		const struct axis_limit *limit = &request->job.limits[axis];

		for (i = 0; i < limit->n_allowed && !axis_allows(limit, limit->allowed[i]); i++)
			;
		if (limit->n_allowed == 0 || i < limit->n_allowed)
			continue;
		result = diag_error(request->diags, nowhere,
		    "'%s' is pinned to %s, and not above %lld by 'forbid' or 'max'",
		    axis_names[axis],
		    axis_value_text(request->arena, (enum axis)axis, limit->allowed[0]),
		    (long long)limit->max);
		diag_last_hint(request->diags, "give one of them");
	}
	return result;
}

/* A trace of loads that the job names; its experts must be the model's. */
int
job_loads(struct request *request, const struct model *model)
{
	const struct layer_kind *moe = model_moe(model);
	struct load_skew *skew = &request->job.skew;
	struct loc nowhere = {NULL, 0, 0};
	const struct loads *loads;

	if (skew->kind != SKEW_TRACE || skew->loads)
		return 0;
	loads = request_loads(request, skew->path);
	if (!loads)
		return -1;
	if (!moe || moe->ffn.experts != loads->experts)
		return diag_error(request->diags, nowhere,
		    "'%s' has loads of %d experts, the model has %lld", loads->name, loads->experts,
		    moe ? (long long)moe->ffn.experts : 0LL);
	skew->loads = loads;
	diag_add(request->diags, nowhere, NULL, SEVERITY_NOTE,
	    "experts are taken to be placed for the loads of '%s', layer by layer", loads->name);
	diag_last_hint(request->diags, "'moeplan place %s' shows where, and what that gains",
	    loads->name);
	return 0;
}

const struct loads *
request_loads(struct request *request, const char *path)
{
	struct input_file *input = arena_alloc(request->arena, sizeof(*input));
	const struct loads *loads = loads_read(request->arena, request->diags, path);

	if (!loads)
		return NULL;
	input->name = loads->name;
	memcpy(input->sha256, loads->sha256, sizeof(input->sha256));
	*request->last_input = input;
	request->last_input = &input->next;
	return loads;
}

enum status
job_prepare(struct request *request)
{
	int missing = need_global_batch(request);
	enum status status;

	missing |= need_seq_len(request);
	missing |= need_values(request);
	missing |= job_loads(request, request->model);
	if (missing)
		return STATUS_USAGE;
	choose_precision(request);
	status = need_covered_model(request);
	if (status == STATUS_YES)
		status = need_covered_choices(request);
	if (status == STATUS_YES && measured_option_add(request) != 0)
		return STATUS_USAGE;
	if (status == STATUS_YES)
		runs_note(request);
	return status;
}
