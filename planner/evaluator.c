/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What is the same for every strategy of a run? Sums over the tensor table by
 * how weights are split, the products of each layer, the capacity; and what
 * cannot be estimated at all, by name.
 */
#include <assert.h>
#include <math.h>

#include "base/arena.h"
#include "planner/evaluator.h"
#include "planner/placement_hot.h"

static void
add_bucket(struct buckets *buckets, const struct tensor *t)
{
	double elements = (double)tensor_elements(t);

	if (t->buffer)
		return;
	switch (t->shard) {
	case SHARD_TP:
		buckets->tp += elements;
		break;
	case SHARD_KV:
		buckets->kv += elements;
		break;
	case SHARD_EXPERT:
		buckets->expert += elements;
		break;
	case SHARD_NONE:
		buckets->replicated += elements;
		break;
	}
}

static struct buckets
buckets_of(const struct tensor *rows, size_t n)
{
	struct buckets buckets = {.kv_heads = 1};

	for (size_t i = 0; i < n; i++)
		add_bucket(&buckets, &rows[i]);
	return buckets;
}

static void
kind_facts(struct evaluator *e, int k, const struct layer_kind *kind, int64_t layers)
{
	struct kind_facts *facts = &e->kinds[k];
	struct tensor rows[TENSORS_MAX];
	size_t n = tensors_of_layer(e->model, kind, rows);

	facts->kind = kind;
	facts->layers = layers;
	facts->buckets = buckets_of(rows, n);
	facts->buckets.kv_heads = fmax(1, (double)kind->mixer.kv_heads);
	facts->context = attention_context(&kind->mixer, e->job->base.seq_len);
	for (size_t i = 0; i < n; i++) {
		const struct tensor *t = &rows[i];

		if (t->matmul)
			facts->products[facts->n_products++] = (struct product){
			    .component = t->component, .shard = t->shard,
			    .split_cols = t->split_cols, .count = (double)t->count,
			    .rows = (double)t->rows, .cols = (double)t->cols};
	}
}

/* The MTP layer's own tensors: its rows without those of the decoder layer inside it. */
static struct buckets
mtp_extras(const struct model *model)
{
	double elements = (double)(model->mtp_projection + model->mtp_norms);
	struct buckets buckets = {.kv_heads = 1};

	buckets.tp = (double)model->mtp_projection;
	buckets.replicated = elements - buckets.tp;
	return buckets;
}

struct evaluator *
evaluator_new(struct arena *arena, const struct model *model, const struct cluster *cluster,
    const struct job *job)
{
	struct evaluator *e = arena_alloc(arena, sizeof(*e));
	struct tensor rows[TENSORS_MAX];

	e->model = model;
	e->cluster = cluster;
	e->job = job;
	e->skew = job->skew;
	if (job->skew.kind == SKEW_TRACE && model_moe(model)) {
		assert(job->skew.loads);
		e->skew.points = placement_points(arena, job->skew.loads, &e->skew.n_points);
	}
	e->n_kinds = model->n_kinds;
	e->moe = model_moe(model);
	e->slots = arena_array(arena, TIME_SLOTS, sizeof(*e->slots));
	for (int i = 0; i < TIME_SLOTS; i++)
		e->slots[i].time =
		    arena_array(arena, (size_t)model->n_kinds + 1, sizeof(*e->slots[i].time));
	for (int k = 0; k < model->n_kinds; k++)
		kind_facts(e, k, &model->kinds[k], model_layers_of(model, k));
	e->has_mtp = model->mtp_layers > 0;
	if (e->has_mtp) {
		kind_facts(e, model->n_kinds, &model->mtp, model->mtp_layers);
		e->mtp_own = mtp_extras(model);
	}
	e->embedding = buckets_of(rows, tensors_of_embedding(model, rows));
	e->head = buckets_of(rows, tensors_of_head(model, rows));
	e->flops_training = flops_per_token(model, job->base.seq_len, e->has_mtp).training;
	e->capacity_bytes = cluster->gpu.usable_bytes.value - (double)cluster->reserve_bytes -
	    (double)job->reserve_bytes;
	e->activation_scale = 1;
	evaluator_correct(e, arena);
	return e;
}

const char *
evaluator_refusal(struct arena *arena, const struct model *model)
{
	if (model->uncounted)
		return arena_printf(arena, "the parameters of %s are not known", model->uncounted);
	if (model->unmodelled)
		return arena_printf(arena, "the cost of %s is not modelled", model->unmodelled);
	return NULL;
}

/* Choices that the formulas do not cover: refused by name rather than priced as something else. */
const char *
strategy_refusal(const struct strategy *s)
{
	const struct {
		bool chosen;
		const char *name;
	} rows[] = {
	    {s->offload == OFFLOAD_ACTIVATIONS && s->framework != FRAMEWORK_MEGATRON,
		"activations offloaded by another framework than Megatron-LM"},
	    {s->offload == OFFLOAD_OPTIMIZER && s->framework == FRAMEWORK_TORCHTITAN,
		"FSDP's offload of parameters, gradients and optimizer together"},
	    {s->gtp > 1 || s->egtp > 1, "weight shards beside tensor parallelism (gtp, egtp)"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (rows[i].chosen)
			return rows[i].name;
	return NULL;
}

const struct skew_point *
load_point(const struct load_skew *skew, int64_t ep, int64_t nodes)
{
	const struct skew_point *one_node = NULL;

	for (int i = 0; i < skew->n_points; i++) {
		const struct skew_point *point = &skew->points[i];

		if (point->ep == ep && point->nodes == nodes)
			return point;
		if (point->ep == ep && point->nodes == 1)
			one_node = point;
	}
	return one_node;
}

/* Fullest expert rank over the mean; several experts on a rank average out. */
double
load_hot(const struct load_skew *skew, int64_t experts, int64_t ep)
{
	double per_rank = (double)experts / (double)ep, hottest = 1, sum = 0, mean;
	const struct skew_point *point;

	if (ep <= 1 || experts < ep)
		return 1;
	switch (skew->kind) {
	case SKEW_MAX:
		return fmax(1, skew->value);
	case SKEW_CV: /* expected largest of ep sums, normal approximation */
		return 1 + skew->value / sqrt(per_rank) * sqrt(2 * log((double)ep));
	case SKEW_ZIPF: /* the hottest expert beside per_rank - 1 average others */
		for (int64_t i = 1; i <= experts; i++)
			sum += pow((double)i, -skew->value);
		mean = (sum - hottest) / (double)(experts - 1);
		return fmax(1,
		    (hottest + (per_rank - 1) * mean) / (per_rank * sum / (double)experts));
	case SKEW_TRACE:
		point = load_point(skew, ep, 1);
		return point ? point->hot : 1;
	default:
		return 1;
	}
}
