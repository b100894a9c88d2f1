/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where the experts go, for a script. Schema moeplan/place/v1. */
#include <math.h>

#include "cmd/json_common.h"
#include "cmd/place_facts.h"

static void
json_cost(struct jsonw *w, const char *key, const struct placement_cost *cost)
{
	jsonw_open(w, key);
	jsonw_double(w, "max_over_mean", cost->ratio);
	jsonw_double(w, "node_max_over_mean", cost->node_ratio);
	jsonw_double(w, "cross_node_share", cost->share);
	jsonw_double(w, "split_pairs", cost->split);
	jsonw_double(w, "hops", cost->hops);
	jsonw_close(w);
}

static void
json_stats(struct jsonw *w, const struct layer_stats *stats, const double *load, int experts)
{
	static const double factors[] = {1, 1.25, 1.5, 2};

	jsonw_open(w, "experts");
	jsonw_double(w, "max_over_mean", stats->max_over_mean);
	jsonw_double(w, "min_over_mean", stats->min_over_mean);
	jsonw_double(w, "variance", stats->variance);
	jsonw_double(w, "cv", stats->cv);
	jsonw_double(w, "entropy_bits", stats->entropy_bits);
	jsonw_row(w, "hottest");
	for (int i = 0; i < 3; i++)
		if (stats->hottest[i] >= 0)
			jsonw_int(w, NULL, stats->hottest[i]);
	jsonw_close(w);
	jsonw_list(w, "dropped");
	for (size_t i = 0; i < sizeof(factors) / sizeof(*factors); i++) {
		jsonw_open(w, NULL);
		jsonw_double(w, "capacity", factors[i]);
		jsonw_double(w, "share", layer_dropped(load, experts, factors[i]));
		jsonw_close(w);
	}
	jsonw_close(w);
	jsonw_close(w);
}

static void
json_points(struct jsonw *w, const struct placement_point *points)
{
	jsonw_list(w, "trade");
	for (int k = 0; k < PLACEMENT_POINTS; k++) {
		if (!points[k].feasible)
			continue;
		jsonw_open(w, NULL);
		if (k == 0)
			jsonw_string(w, "node_tolerance", NULL);
		else
			jsonw_double(w, "node_tolerance", placement_tolerances[k]);
		jsonw_double(w, "max_over_mean", points[k].cost.ratio);
		jsonw_double(w, "node_max_over_mean", points[k].cost.node_ratio);
		jsonw_double(w, "cross_node_share", points[k].cost.share);
		jsonw_double(w, "cross_node_share_bound", points[k].share_low);
		jsonw_bool(w, "proven_optimal", points[k].share_proven);
		jsonw_close(w);
	}
	jsonw_close(w);
}

static void
json_slots(struct jsonw *w, const struct placement *p, const struct placement_layer *layer)
{
	jsonw_row(w, "expert_of_slot");
	for (int s = 0; s < p->gpus * p->slots_per_gpu; s++)
		jsonw_int(w, NULL, layer->expert_of_slot[s]);
	jsonw_close(w);
	jsonw_row(w, "gpu_of_slot");
	for (int s = 0; s < p->gpus * p->slots_per_gpu; s++)
		jsonw_int(w, NULL, s / p->slots_per_gpu);
	jsonw_close(w);
}

/* What is proved about the layer's own objective beside its load. */
static void
json_objective(struct jsonw *w, const struct placement *p, const struct placement_layer *layer)
{
	if (p->goal != GOAL_TRAFFIC && p->goal != GOAL_PAIRS)
		return;
	jsonw_open(w, p->goal == GOAL_PAIRS ? "pairs" : "traffic");
	jsonw_double(w, p->goal == GOAL_PAIRS ? "split_bound" : "cross_node_share_bound",
	    layer->objective_low);
	jsonw_bool(w, "proven_optimal", layer->objective_proven);
	if (p->goal == GOAL_TRAFFIC)
		jsonw_double(w, "time_gap", layer->price_gap);
	jsonw_close(w);
}

static void
json_layer(struct jsonw *w, struct request *request, const struct place_facts *facts, int l)
{
	const struct placement *p = facts->placement;
	const struct placement_layer *layer = &p->layer[l];
	double *load = arena_array(request->arena, (size_t)p->experts, sizeof(double));

	loads_total(facts->loads, l, load);
	jsonw_open(w, NULL);
	jsonw_int(w, "layer", layer->number);
	json_slots(w, p, layer);
	jsonw_double(w, "max_over_mean", layer->cost.ratio);
	jsonw_double(w, "lower_bound", layer->lower_bound);
	jsonw_double(w, "gap", layer->gap);
	jsonw_bool(w, "proven_optimal", layer->proven);
	jsonw_string(w, "proof", proof_names[layer->proof]);
	jsonw_double(w, "cross_node_share", layer->cost.share);
	jsonw_double(w, "node_max_over_mean", layer->cost.node_ratio);
	jsonw_double(w, "split_pairs", layer->cost.split);
	jsonw_double(w, "hops", layer->cost.hops);
	json_objective(w, p, layer);
	if (p->copies > 0)
		jsonw_double(w, "split_weights_bound", layer->split_low);
	if (layer->moved >= 0)
		jsonw_int(w, "moved", layer->moved);
	json_stats(w, &layer->stats, load, p->experts);
	jsonw_open(w, "baselines");
	for (int b = 0; b < BASELINES; b++)
		if (layer->baseline[b].ratio > 0)
			json_cost(w, baseline_names[b], &layer->baseline[b]);
	jsonw_close(w);
	if (p->goal == GOAL_TRAFFIC)
		json_points(w, layer->points);
	jsonw_close(w);
}

static void
json_summary(struct jsonw *w, const struct place_facts *facts)
{
	const struct placement *p = facts->placement;

	jsonw_open(w, "summary");
	json_cost(w, "mean", &p->mean);
	jsonw_double(w, "worst_max_over_mean", p->worst_ratio);
	jsonw_double(w, "lower_bound", p->bound_mean);
	jsonw_double(w, "worst_gap", p->worst_gap);
	jsonw_int(w, "layers_proven_optimal", p->proven);
	jsonw_int(w, "layers_nearly_optimal", p->within);
	if (p->goal == GOAL_TRAFFIC) {
		jsonw_bool(w, "traffic_can_be_saved", !p->no_traffic_gain);
		jsonw_double(w, "cross_node_share_bound", p->share_low_mean);
		jsonw_double(w, "mean_time_gap", p->price_gap_mean);
		jsonw_double(w, "worst_time_gap", p->price_gap_worst);
		json_points(w, p->point_mean);
	}
	if (p->goal == GOAL_PAIRS)
		jsonw_double(w, "split_bound", p->objective_low_mean);
	if (p->goal == GOAL_CHAIN) {
		jsonw_double(w, "hops_bound", p->chain_low);
		jsonw_bool(w, "hops_proven_optimal", p->chain_proven);
	}
	if (p->moved >= 0)
		jsonw_int(w, "moved", p->moved);
	if (p->moved >= 0 && facts->worth.expert_bytes > 0)
		jsonw_double(w, "moved_bytes", (double)p->moved * facts->worth.expert_bytes);
	if (facts->options.from)
		json_cost(w, "in_use", &p->from_mean);
	jsonw_bool(w, "stopped_early", p->stopped_early);
	jsonw_close(w);
}

static void
json_worth(struct jsonw *w, const struct place_worth *worth)
{
	if (!worth->known)
		return;
	jsonw_open(w, "step");
	jsonw_double(w, "step_s", worth->step_s);
	jsonw_double(w, "in_use_s", worth->from_s);
	for (int b = 0; b < BASELINES; b++)
		if (worth->baseline_s[b] > 0)
			jsonw_double(w, baseline_names[b], worth->baseline_s[b]);
	jsonw_close(w);
	json_strategy(w, "strategy", &worth->strategy);
}

void
json_place(struct request *request, const struct place_facts *facts)
{
	const struct placement *p = facts->placement;
	struct jsonw w = json_begin(request);

	jsonw_int(&w, "gpus", p->gpus);
	jsonw_int(&w, "nodes", p->nodes);
	jsonw_int(&w, "slots_per_gpu", p->slots_per_gpu);
	jsonw_int(&w, "copies", p->copies);
	jsonw_string(&w, "goal", goal_names[p->goal]);
	jsonw_list(&w, "layers");
	for (int l = 0; l < p->layers; l++)
		json_layer(&w, request, facts, l);
	jsonw_close(&w);
	jsonw_open(&w, "baselines");
	for (int b = 0; b < BASELINES; b++)
		if (p->baseline_mean[b].ratio > 0)
			json_cost(&w, baseline_names[b], &p->baseline_mean[b]);
	jsonw_close(&w);
	json_summary(&w, facts);
	json_worth(&w, &facts->worth);
	json_finish(request, &w);
}
