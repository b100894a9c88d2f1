/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which numbers has the plan at hand, and what would a change make of them? */
#include <string.h>

#include "cmd/check_report.h"
#include "cmd/explain_report.h"
#include "cmd/what_if.h"
#include "emit/emit.h"

static double
number(const struct doc *map, const char *key)
{
	const struct doc *value = doc_get(map, key);

	return value && value->kind == DOC_NUMBER ? value->number : 0;
}

static bool
read_levels(struct cluster *cluster, const struct doc *list)
{
	for (const struct doc *item = list ? list->first : NULL;
	     item && cluster->n_levels < CLUSTER_MAX_LEVELS; item = item->next) {
		struct level *level = &cluster->levels[cluster->n_levels++];
		const struct doc *name = doc_get(item, "name");

		level->name = name && name->text ? name->text : "link";
		level->gpus = (int64_t)number(item, "gpus");
		level->Bps = (struct quantity){number(item, "bytes_per_s"), ORIGIN_FILE, NULL};
		level->latency_s = (struct quantity){number(item, "latency_s"), ORIGIN_FILE, NULL};
		level->oversubscription = 1;
		if (level->gpus < 1 || !(level->Bps.value > 0))
			return false;
	}
	return cluster->n_levels > 0;
}

/* The machine as the document tells it: part, levels, nodes. */
static const struct cluster *
read_machine(struct request *request, const struct doc *doc)
{
	const struct doc *machine = doc_get(doc, "cluster");
	const struct doc *gpu = doc_get(machine, "gpu"), *name = doc_get(machine, "name");
	const struct gpu *part = gpu && gpu->text ? gpu_find(gpu->text) : NULL;
	struct cluster *cluster = arena_alloc(request->arena, sizeof(*cluster));

	cluster->name = name && name->text ? name->text : "plan";
	cluster->nodes = (int64_t)number(machine, "nodes");
	cluster->gpus_per_node = (int64_t)number(machine, "gpus_per_node");
	cluster->world = cluster->nodes * cluster->gpus_per_node;
	if (part)
		cluster->gpu = *part;
	if (part && cluster->nodes > 0 && cluster->gpus_per_node > 0 &&
	    cluster->world <= CLUSTER_MAX_WORLD &&
	    read_levels(cluster, doc_get(machine, "levels"))) {
		cluster->domain_gpus = cluster->levels[0].gpus;
		return cluster;
	}
	diag_error(request->diags, doc->loc,
	    "the plan's machine cannot be read back: its GPU must be in the catalogue");
	diag_last_hint(request->diags, "'moeplan help names' lists the parts");
	return NULL;
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
	if (!plan->cluster)
		return NULL;
	if (!what_if(request, plan->model, plan->cluster, &view->strategy, &plan->estimate)) {
		diag_error(request->diags, doc->loc, "the plan cannot be evaluated again");
		return NULL;
	}
	return plan;
}

/* A change that gains less than this is not worth a restart. */
#define WORTH_TRYING 0.005

static bool
gains(const struct estimate *now, const struct estimate *before, int aim)
{
	if (aim == AIM_TIME)
		return now->step_s < before->step_s * (1 - WORTH_TRYING);
	return now->worst_bytes < before->worst_bytes * (1 - WORTH_TRYING);
}

void
explained_plan_try(struct request *request, struct explained_plan *plan, int aim)
{
	const struct strategy *from = &plan->estimate.strategy;
	struct str no_gain = str_new(request->arena);

	for (const struct change *change = changes; change->name; change++) {
		struct trial *trial = &plan->trials[plan->n_trials];
		struct strategy strategy;
		struct estimate estimate = {.n_stages = 0};

		if ((int)change->aim != aim || plan->n_trials == TRIALS ||
		    !change_apply(change, plan->model, from, &strategy) ||
		    !what_if(request, plan->model, plan->cluster, &strategy, &estimate))
			continue;
		if (!gains(&estimate, &plan->estimate, aim)) {
			str_addf(&no_gain, "%s%s", no_gain.length ? ", " : "", change->name);
			continue;
		}
		*trial = (struct trial){change->name, change_text(request->arena, &strategy, from),
		    estimate.verdict, estimate.worst_bytes, estimate.step_s,
		    estimate.exposed_s[TIME_ALL_TO_ALL]};
		plan->n_trials++;
	}
	plan->no_gain = no_gain.length ? no_gain.text : NULL;
}
