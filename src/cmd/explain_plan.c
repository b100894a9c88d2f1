/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which numbers has the plan at hand, and what would a change make of them? */
#include "cmd/check_report.h"
#include "cmd/explain_report.h"
#include "cmd/what_if.h"
#include "emit/emit.h"

/* The machine as it was read then: a cluster file's mapping, or a name; with its runs. */
static const struct cluster *
read_machine(struct request *request, const struct doc *doc)
{
	const struct doc *definition = doc_get(doc, "cluster_definition");
	const struct doc *runs = doc_get(doc, "runs");
	struct cluster *cluster;

	if (doc_is_null(definition)) {
		diag_error(request->diags, doc->loc, "the plan does not hold the cluster");
		diag_last_hint(request->diags, "make the document again with this version");
		return NULL;
	}
	cluster = definition->kind == DOC_STRING
		      ? cluster_from_text(request->arena, request->diags, definition->text)
		      : cluster_read(request->arena, request->diags, definition);
	if (cluster && runs && measured_runs_read(&cluster->runs, runs, &request->context) != 0)
		return NULL;
	return cluster;
}

/* What of the job the plan's numbers hold for. */
static int
read_job(struct request *request, const struct doc *doc, const struct model *model)
{
	const struct doc *skew = doc_get(doc, "load_skew");
	const struct doc *reserve = doc_get(doc, "reserve_bytes");
	struct doc here;

	if (skew) {
		here = *skew;
		here.loc.line = 0; /* a file of loads lies where moeplan runs, not by the plan */
		if (field_read(field_find(job_fields, "load_skew"), &request->job, &here,
			&request->context) != 0)
			return -1;
	}
	if (reserve && field_read(field_find(job_fields, "reserve"), &request->job, reserve,
			   &request->context) != 0)
		return -1;
	return job_loads(request, model);
}

struct explained_plan *
explained_plan_read(struct request *request, const char *path)
{
	struct explained_plan *plan = arena_alloc(request->arena, sizeof(*plan));
	const struct doc *doc = request_document(request, path);
	const struct plan_view *view =
	    doc ? plan_read(request->arena, request->diags, doc, path) : NULL;

	if (!view)
		return NULL;
	plan->name = path;
	plan->model = view->model;
	plan->cluster = read_machine(request, doc);
	if (!plan->cluster || read_job(request, doc, plan->model) != 0)
		return NULL;
	if (!what_if(request, plan->model, plan->cluster, &view->strategy, &plan->estimate)) {
		diag_error(request->diags, doc->loc, "the plan cannot be evaluated again");
		return NULL;
	}
	return plan;
}

/* A change that gains less than this is not worth a restart. */
#define WORTH_TRYING 0.01

static bool
gains(const struct estimate *now, const struct estimate *before, int aim)
{
	if (aim == AIM_TIME)
		return now->step_s < before->step_s * (1 - WORTH_TRYING);
	return now->worst_bytes < before->worst_bytes * (1 - WORTH_TRYING);
}

/* Adds a change to the end of a list of names. */
static void
add_name(struct str *list, const char *name)
{
	str_addf(list, "%s%s", list->length ? ", " : "", name);
}

void
explained_plan_try(struct request *request, struct explained_plan *plan, int aim)
{
	const struct strategy *from = &plan->estimate.strategy;
	struct str no_gain = str_new(request->arena), no_room = str_new(request->arena);

	for (const struct change *change = changes; change->name; change++) {
		struct trial *trial = &plan->trials[plan->n_trials];
		struct strategy strategy;
		struct estimate estimate = {.n_stages = 0};

		if ((int)change->aim != aim || plan->n_trials == TRIALS ||
		    !change_apply(change, plan->model, from, &strategy) ||
		    !what_if(request, plan->model, plan->cluster, &strategy, &estimate))
			continue;
		if (!gains(&estimate, &plan->estimate, aim)) {
			add_name(&no_gain, change->name);
			continue;
		}
		if (estimate.verdict == VERDICT_OOM && plan->estimate.verdict != VERDICT_OOM) {
			add_name(&no_room, change->name);
			continue;
		}
		*trial = (struct trial){change->name, change_text(request->arena, &strategy, from),
		    estimate.verdict, estimate.worst_bytes, estimate.step_s,
		    estimate.exposed_s[TIME_ALL_TO_ALL]};
		plan->n_trials++;
	}
	plan->no_gain = no_gain.length ? no_gain.text : NULL;
	plan->no_room = no_room.length ? no_room.text : NULL;
}
