/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is this model? Parameters by component, active by three conventions, FLOPs a token. */
#include "cmd/json_model.h"
#include "cmd/text_model.h"
#include "planner/estimate.h"

static void
count_flops(struct request *request, struct model_facts *facts)
{
	struct loc loc = facts->model->loc;

	facts->seq_len = request->job.base.seq_len;
	if (facts->seq_len == 0)
		facts->seq_len = facts->model->max_positions;
	if (facts->seq_len == 0) {
		diag_add(request->diags, loc, NULL, SEVERITY_NOTE,
		    "no FLOPs a token: the model names no maximum length");
		diag_last_hint(request->diags, "give the length with --seq-len");
		return;
	}
	facts->has_flops = true;
	facts->flops = flops_per_token(facts->model, facts->seq_len, false);
	facts->flops_with_mtp = flops_per_token(facts->model, facts->seq_len, true);
}

static enum status
examine(struct request *request, struct model_facts *facts)
{
	const char *refusal;

	if (facts->model->uncounted) {
		diag_error(request->diags, facts->model->loc,
		    "the parameters of '%s' cannot be counted: %s", facts->model->name,
		    facts->model->uncounted);
		return STATUS_NO;
	}
	facts->counted = true;
	params_count(facts->model, &facts->params);
	refusal = evaluator_refusal(request->arena, facts->model);
	if (!refusal) {
		count_flops(request, facts);
		return STATUS_YES;
	}
	diag_add(request->diags, facts->model->loc, NULL, SEVERITY_NOTE,
	    "estimate and plan refuse this model: %s", refusal);
	return STATUS_YES;
}

enum status
cmd_model(struct request *request)
{
	struct model_facts *facts = arena_alloc(request->arena, sizeof(*facts));
	enum status status;

	if (inputs_load(request, 1U << SLOT_MODEL) != 0)
		return STATUS_USAGE;
	facts->model = request->model;
	status = examine(request, facts);
	if (request->common.format == FORMAT_JSON)
		json_model(request, facts);
	else
		text_model(request, facts);
	return status;
}
