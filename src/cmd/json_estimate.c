/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What does a strategy cost, for a script? Schema moeplan/estimate/v1. */
#include "cmd/json_estimate.h"

#include <stddef.h>

#include "cmd/text_common.h"

/* Sizes of a strategy, under the names of their options. */
static const struct {
	const char *key;
	size_t offset;
} sizes[] = {
    {"world_size", offsetof(struct strategy, world)},
    {"tp", offsetof(struct strategy, tp)},
    {"cp", offsetof(struct strategy, cp)},
    {"pp", offsetof(struct strategy, pp)},
    {"vpp", offsetof(struct strategy, vpp)},
    {"ep", offsetof(struct strategy, ep)},
    {"etp", offsetof(struct strategy, etp)},
    {"dp", offsetof(struct strategy, dp)},
    {"edp", offsetof(struct strategy, edp)},
    {"gtp", offsetof(struct strategy, gtp)},
    {"egtp", offsetof(struct strategy, egtp)},
    {"seq_len", offsetof(struct strategy, seq_len)},
    {"micro_batch", offsetof(struct strategy, micro_batch)},
    {"global_batch", offsetof(struct strategy, global_batch)},
    {"micro_batches", offsetof(struct strategy, micro_batches)},
    {"experts_per_rank", offsetof(struct strategy, experts_per_rank)},
};

/* What one framework alone has, so that a plan for it can be read back. */
static void
json_own_settings(struct jsonw *w, const struct strategy *s)
{
	if (s->framework_version)
		jsonw_string(w, "framework_version", s->framework_version);
	if (s->framework == FRAMEWORK_TORCHTITAN) {
		jsonw_int(w, "dp_replicate", s->dp_replicate);
		jsonw_int(w, "dp_shard", s->dp_shard);
	}
	if (s->framework == FRAMEWORK_DEEPSPEED) {
		jsonw_bool(w, "data_before_expert", s->data_before_expert);
		jsonw_string(w, "expert_tp", s->expert_tp == 1 ? "on" : "off");
		jsonw_bool(w, "auto_ep", s->auto_ep);
	}
}

static void
json_settings(struct jsonw *w, const struct strategy *s)
{
	struct arena *arena = w->out.arena;

	jsonw_string(w, "recompute", recompute_text(arena, s->recompute));
	jsonw_int(w, "zero", s->zero);
	jsonw_string(w, "dispatcher", dispatcher_names[s->dispatcher]);
	if (s->capacity > 0)
		jsonw_double(w, "capacity", s->capacity);
	else
		jsonw_string(w, "capacity", "dropless");
	jsonw_string(w, "schedule", s->schedule >= 0 ? schedule_names[s->schedule] : NULL);
	jsonw_string(w, "order", s->order);
	jsonw_string(w, "precision", precision_names[s->precision]);
	jsonw_string(w, "grad_type", float_type_names[s->grad_type]);
	jsonw_string(
	    w, "optimizer", arena_printf(arena, "adam:%s", float_type_names[s->moment_type]));
	jsonw_string(w, "offload", offload_text(arena, s));
	jsonw_string(w, "loss", loss_names[s->loss]);
	jsonw_string(w, "cuda_graphs", graphs_names[s->cuda_graphs]);
	jsonw_string(w, "overlap", overlap_text(arena, s->overlap));
	jsonw_bool(w, "sequence_parallel", s->sequence_parallel);
}

void
json_strategy(struct jsonw *w, const char *key, const struct strategy *strategy)
{
	size_t i;

	jsonw_open(w, key);
	jsonw_string(w, "framework", framework_names[strategy->framework]);
	for (i = 0; i < sizeof(sizes) / sizeof(*sizes); i++)
		jsonw_int(w, sizes[i].key,
		    *(const int64_t *)(const void *)((const char *)strategy + sizes[i].offset));
	json_settings(w, strategy);
	json_own_settings(w, strategy);
	jsonw_close(w);
}

static void
json_stage(
    struct jsonw *w, const struct request *request, const struct estimate *estimate, int stage)
{
	const struct stage_memory *memory = &estimate->stages[stage];
	int i;

	jsonw_open(w, NULL);
	jsonw_int(w, "stage", stage);
	jsonw_int(w, "layers", memory->layers);
	jsonw_string(w, "holds", text_stage_layers(w->out.arena, request->model, estimate, stage));
	jsonw_int(w, "in_flight", memory->in_flight);
	jsonw_open(w, "parts");
	for (i = 0; i < MEMORY_PARTS; i++)
		jsonw_double(w, memory_part_names[i], memory->parts[i]);
	jsonw_close(w);
	jsonw_double(w, "allocated_bytes", memory->allocated_bytes);
	jsonw_double(w, "total_bytes", memory->total_bytes);
	jsonw_double(w, "low_bytes", memory->low_bytes);
	jsonw_double(w, "high_bytes", memory->high_bytes);
	jsonw_double(w, "skewed_bytes", memory->skewed_bytes);
	jsonw_close(w);
}

static void
json_memory(struct jsonw *w, const struct request *request, const struct estimate *estimate)
{
	int i;

	jsonw_open(w, "memory");
	jsonw_double(w, "capacity_bytes", estimate->capacity_bytes);
	jsonw_int(w, "worst_stage", estimate->worst_stage);
	if (estimate->host_bytes > 0) /* of a node */
		jsonw_double(w, "host_bytes", estimate->host_bytes);
	jsonw_list(w, "stages");
	for (i = 0; i < estimate->n_stages; i++)
		json_stage(w, request, estimate, i);
	jsonw_close(w);
	jsonw_close(w);
}

static void
json_seconds(struct jsonw *w, const char *key, const double seconds[TIME_PARTS])
{
	int i;

	jsonw_open(w, key);
	for (i = 0; i < TIME_PARTS; i++)
		if (i != TIME_OFFLOAD || seconds[i] > 0) /* only where something is offloaded */
			jsonw_double(w, time_part_names[i], seconds[i]);
	jsonw_close(w);
}

static void
json_time(struct jsonw *w, const struct estimate *estimate)
{
	jsonw_open(w, "time");
	jsonw_double(w, "step_s", estimate->step_s);
	jsonw_double(w, "step_s_low", estimate->step_low_s);
	jsonw_double(w, "step_s_high", estimate->step_high_s);
	jsonw_double(w, "tokens_per_s_per_gpu", estimate->tokens_per_s_per_gpu);
	jsonw_double(w, "model_tflops_per_gpu", estimate->model_tflops_per_gpu);
	jsonw_double(w, "mfu", estimate->mfu);
	jsonw_int(w, "slowest_stage", estimate->slowest_stage);
	json_seconds(w, "parts", estimate->exposed_s);
	json_seconds(w, "hidden", estimate->hidden_s);
	jsonw_close(w);
}

void
json_estimate_members(
    struct jsonw *w, const struct request *request, const struct estimate *estimate)
{
	int i;

	jsonw_string(w, "verdict", verdict_names[estimate->verdict]);
	jsonw_string(w, "skewed_verdict", verdict_names[estimate->skewed_verdict]);
	json_strategy(w, "strategy", &estimate->strategy);
	jsonw_string(w, "layout", layout_text(w->out.arena, &estimate->layout, request->model));
	json_memory(w, request, estimate);
	json_time(w, estimate);
	jsonw_open(w, "traffic");
	for (i = 0; i < request->cluster->n_levels; i++)
		jsonw_double(w, request->cluster->levels[i].name, estimate->traffic_bytes[i]);
	jsonw_close(w);
}

/* Settings that nobody stated, and between what their usual values put step and peak. */
static void
json_unstated(struct jsonw *w, const struct unstated *unstated)
{
	static const struct {
		enum said said;
		const char *name;
	} rows[] = {{SAID_RECOMPUTE, "recompute"}, {SAID_DISPATCHER, "dispatcher"},
	    {SAID_GRADIENTS, "grad_type"}, {SAID_OPTIMIZER, "optimizer"}};
	size_t i;

	jsonw_open(w, "unstated");
	jsonw_row(w, "settings");
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (unstated->settings & rows[i].said)
			jsonw_string(w, NULL, rows[i].name);
	jsonw_close(w);
	jsonw_int(w, "combinations", unstated->combinations);
	jsonw_double(w, "step_s_low", unstated->step_low_s);
	jsonw_double(w, "step_s_high", unstated->step_high_s);
	jsonw_double(w, "low_bytes", unstated->low_bytes);
	jsonw_double(w, "high_bytes", unstated->high_bytes);
	jsonw_close(w);
}

void
json_measured_step(struct jsonw *w, const struct request *request)
{
	if (request->job.measured_step_s > 0)
		jsonw_double(w, "measured_step_s", request->job.measured_step_s);
	if (request->measured_predicted_s > 0)
		jsonw_double(w, "measured_predicted_s", request->measured_predicted_s);
}

void
json_estimate(struct request *request, const struct strategy *strategy,
    const struct estimate *estimate, const struct unstated *unstated)
{
	struct jsonw w = json_begin(request);

	json_model_summary(&w, "model", request->model);
	json_doc(&w, "model_definition", request->model_doc);
	json_cluster_summary(&w, "cluster", request->cluster);
	json_made_with(&w, request);
	if (estimate) {
		json_estimate_members(&w, request, estimate);
		json_unstated(&w, unstated);
		json_measured_step(&w, request);
	} else {
		jsonw_string(&w, "verdict", verdict_names[VERDICT_INVALID]);
		json_strategy(&w, "strategy", strategy);
	}
	json_finish(request, &w);
}
