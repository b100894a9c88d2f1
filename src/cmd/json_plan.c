/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which strategy is best, for a script? Schema moeplan/plan/v1. */
#include "cmd/json_common.h"
#include "cmd/json_estimate.h"
#include "cmd/plan_report.h"

static void
json_best(struct jsonw *w, const struct request *request, const struct plan *plan)
{
	int i;

	if (plan->n_best > 0) {
		jsonw_open(w, "best");
		json_estimate_members(w, request, &plan->best[0]);
		jsonw_close(w);
	} else {
		jsonw_string(w, "best", NULL);
	}
	jsonw_list(w, "alternatives");
	for (i = 1; i < plan->n_best; i++) {
		jsonw_open(w, NULL);
		json_estimate_members(w, request, &plan->best[i]);
		jsonw_close(w);
	}
	jsonw_close(w);
	jsonw_int(w, "not_told_apart", not_told_apart(plan));
}

static void
json_why_not(struct jsonw *w, const struct plan *plan)
{
	int i;

	jsonw_list(w, "why_not");
	for (i = 0; i < plan->n_why_not; i++) {
		const struct why_not *why = &plan->why_not[i];

		jsonw_open(w, NULL);
		jsonw_string(w, "axis", axis_names[why->axis]);
		jsonw_int(w, "value", why->value);
		jsonw_bool(w, "feasible", why->feasible);
		jsonw_string(w, "text", why->text);
		if (why->feasible)
			jsonw_double(w, "step_s", why->step_s);
		else
			jsonw_double(w, "over_bytes", why->over_bytes);
		jsonw_string(w, "rule", why->rule);
		jsonw_close(w);
	}
	jsonw_close(w);
}

static void
json_near_miss(struct jsonw *w, const struct request *request, const struct near_miss *miss)
{
	int i;

	if (!miss)
		return;
	jsonw_open(w, "near_miss");
	jsonw_double(w, "over_bytes", miss->over_bytes);
	jsonw_row(w, "biggest_parts");
	for (i = 0; i < 3; i++)
		jsonw_string(w, NULL, memory_part_names[miss->biggest[i]]);
	jsonw_close(w);
	jsonw_list(w, "changes");
	for (i = 0; i < miss->n_changes; i++)
		jsonw_string(w, NULL, miss->changes[i]);
	jsonw_close(w);
	json_estimate_members(w, request, &miss->estimate);
	jsonw_close(w);
}

static void
json_rejected(struct jsonw *w, const struct search_account *account)
{
	int i;

	jsonw_open(w, "rejected");
	for (i = 0; i < account->n_rules; i++)
		jsonw_int(w, account->rules[i].id, account->rules[i].count);
	jsonw_close(w);
}

static void
json_search(struct jsonw *w, const struct request *request, const struct search_account *account)
{
	jsonw_open(w, "search");
	jsonw_int(w, "candidates", account->candidates);
	json_rejected(w, account);
	jsonw_int(w, "does_not_fit", account->does_not_fit);
	jsonw_int(w, "over_limit", account->over_limit);
	jsonw_int(w, "not_looked_at", account->open);
	jsonw_int(w, "pruned_by_bound", account->pruned);
	jsonw_int(w, "evaluated", account->evaluated);
	jsonw_int(w, "exact", account->exact);
	jsonw_open(w, "solver");
	jsonw_string(w, "name", account->solver);
	jsonw_string(w, "version", account->solver_version);
	jsonw_string(w, "status", account->status);
	jsonw_int(w, "master_rounds", account->master_rounds);
	jsonw_string(w, "objective", objective_names[request->job.objective]);
	jsonw_double(w, "incumbent", account->incumbent);
	jsonw_double(w, "bound", account->bound);
	if (request->job.objective == OBJECTIVE_TIME)
		jsonw_double(w, "bound_s", account->bound);
	jsonw_double(w, "gap", account->gap);
	jsonw_bool(w, "stopped_early", account->stopped_early);
	jsonw_close(w);
	if (request->common.verbose)
		jsonw_double(w, "wall_s", account->wall_s);
	jsonw_close(w);
}

/* What a launcher needs: whole nodes of the GPUs that the best plan uses. */
static void
json_launch(struct jsonw *w, const struct request *request, const struct plan *plan)
{
	int64_t gpus = request->cluster->gpus_per_node;
	int64_t world = plan->n_best > 0 ? plan->best[0].strategy.world : request->cluster->world;

	jsonw_open(w, "launch");
	jsonw_int(w, "nodes", (world + gpus - 1) / gpus);
	jsonw_int(w, "gpus_per_node", world < gpus ? world : gpus);
	jsonw_close(w);
}

void
json_plan(struct request *request, const struct plan *plan)
{
	struct jsonw w = json_begin(request);

	json_model_summary(&w, "model", request->model);
	json_doc(&w, "model_definition", request->model_doc);
	json_cluster_summary(&w, "cluster", request->cluster);
	json_made_with(&w, request);
	json_best(&w, request, plan);
	json_measured_step(&w, request);
	json_why_not(&w, plan);
	json_near_miss(&w, request, plan->miss);
	json_search(&w, request, &plan->account);
	json_launch(&w, request, plan);
	json_finish(request, &w);
}
