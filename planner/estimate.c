/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What does one strategy cost? Builds the tables that all strategies of a run
 * share, then memory of every stage, step time and verdict of one of them.
 */
#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "base/str.h"
#include "planner/evaluator.h"
#include "planner/partition.h"

const char *const memory_part_names[] = {"weights", "gradients", "optimizer", "wgrad_buffers",
    "activations", "logits", "moe_buffers", "runtime", "fragmentation", NULL};
const char *const time_part_names[] = {"attention", "mlp", "experts", "memory_bound", "head",
    "recompute", "host", "all_to_all", "tensor_parallel", "context_parallel", "pipeline", "bubble",
    "data_parallel", "optimizer", "step_overhead", NULL};
const char *const time_part_labels[] = {"attention", "dense MLP and shared experts", "expert GEMM",
    "norms, permutation, casts", "output head and loss", "recompute", "host launches",
    "all-to-all", "tensor-parallel traffic", "context-parallel traffic", "stage hand-off", "bubble",
    "gradient and parameter traffic", "optimizer", "once a step", NULL};
const char *const verdict_names[] = {"fits", "at-risk", "oom", "invalid", NULL};

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
			facts->products[facts->n_products++] = (struct product){.component = t->component,
			    .shard = t->shard, .split_cols = t->split_cols, .count = (double)t->count,
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
	e->n_kinds = model->n_kinds;
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
	    {s->schedule == SCHEDULE_ZB, "the zero-bubble schedule"},
	    {s->schedule == SCHEDULE_DUALPIPE, "the DualPipe schedule"},
	    {s->offload == OFFLOAD_ACTIVATIONS, "offloaded activations"},
	    {s->offload == OFFLOAD_OPTIMIZER, "an offloaded optimizer"},
	    {s->gtp > 1 || s->egtp > 1, "weight shards beside tensor parallelism (gtp, egtp)"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (rows[i].chosen)
			return rows[i].name;
	return NULL;
}

/* Fullest expert rank over the mean; several experts on a rank average out. */
double
load_hot(const struct load_skew *skew, int64_t experts, int64_t ep)
{
	double per_rank = (double)experts / (double)ep, hottest = 1, sum = 0, mean;

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
		return fmax(1, (hottest + (per_rank - 1) * mean) / (per_rank * sum / (double)experts));
	default:
		return 1;
	}
}

void
sizes_init(const struct evaluator *e, const struct strategy *s, struct sizes *z)
{
	const struct layer_kind *moe = model_moe(e->model);
	const struct layer_kind *kind = moe ? moe : &e->model->kinds[0];

	memset(z, 0, sizeof(*z));
	z->tp = (double)s->tp;
	z->kv_tp = fmin(z->tp, fmax(1, (double)kind->mixer.kv_heads));
	z->ep = (double)s->ep;
	z->etp = (double)s->etp;
	z->M = (double)s->micro_batch * (double)s->seq_len / (double)s->cp;
	z->T = z->M / z->tp;
	z->hot = moe ? load_hot(&e->job->skew, moe->ffn.experts, s->ep) : 1;
	z->fp8 = precision_is_fp8(s->precision) ? 1 : 0;
	z->graphs = s->cuda_graphs;
	z->pp_stride = s->world / s->pp;
	links_init(&z->links, e->cluster, s->world);
	z->tp_span = span_of(&z->links, 1, s->tp);
	z->cp_span = span_of(&z->links, s->tp, s->cp);
	z->dp_span = span_of(&z->links, s->tp, s->dp * s->cp);
	z->etp_span = span_of(&z->links, 1, s->etp);
	z->ep_span = span_of(&z->links, s->etp, s->ep);
	z->edp_span = span_of(&z->links, s->etp * s->ep, s->edp > 0 ? s->edp : 1);
}

static int
level_of_stride(const struct links *links, int64_t stride)
{
	int l = 0;

	while (l + 1 < links->n_levels && stride >= links->gpus[l])
		l++;
	return l;
}

void
costs_init(const struct evaluator *e, const struct strategy *s, struct costs *c)
{
	struct sizes *z = &c->sizes;
	struct transfer handoff;
	int kinds = e->n_kinds + (e->has_mtp ? 1 : 0);
	double skewed = rate_table[RATE_SKEWED_LOAD].value;

	sizes_init(e, s, z);
	for (int k = 0; k < kinds; k++) {
		bool spread = e->kinds[k].kind->ffn.experts > 0 && s->ep > 1;

		c->activations[k] = layer_activations(e, k, s, z, z->hot);
		c->skewed[k] = layer_activations(e, k, s, z, spread ? fmax(skewed, z->hot) : 1);
		c->state[k] = state_bytes(&e->kinds[k].buckets, s);
		layer_time(e, k, s, z, &c->time[k]);
	}
	head_time(e, s, z, &c->head);
	c->embedding_state = state_bytes(&e->embedding, s);
	c->head_state = state_bytes(&e->head, s);
	c->mtp_state = state_bytes(&e->mtp_own, s);
	c->head_bytes = head_activations(e, z);
	c->logits_bytes = logits_bytes(e, s, z);
	/* a projection's two inputs before and after their norms, and a head input */
	c->mtp_bytes = 2 * z->T * (double)e->model->hidden * (2 + 2) + c->head_bytes;
	c->handoff_bytes = 2 * z->T * (double)e->model->hidden;
	handoff = comm_send(&z->links, z->pp_stride, c->handoff_bytes);
	c->handoff_s = handoff.seconds;
	c->handoff_level = level_of_stride(&z->links, z->pp_stride);
}

static enum verdict
verdict_of(double bytes, double capacity)
{
	if (bytes > capacity)
		return VERDICT_OOM;
	return bytes > rate_table[RATE_AT_RISK].value * capacity ? VERDICT_AT_RISK : VERDICT_FITS;
}

static void
memory_of_stages(const struct evaluator *e, const struct strategy *s, struct costs *c,
    const struct layout *layout, struct stage_memory *stages, struct estimate *estimate)
{
	double skewed = 0;

	estimate->worst_bytes = -1;
	for (int i = 0; i < layout->pp; i++) {
		struct stage_memory one, *m = stages ? &stages[i] : &one;

		stage_memory(e, s, c, layout, i, stages != NULL, m);
		skewed = fmax(skewed, m->skewed_bytes);
		if (m->total_bytes > estimate->worst_bytes) {
			estimate->worst_bytes = m->total_bytes;
			estimate->worst_stage = i;
		}
	}
	estimate->capacity_bytes = e->capacity_bytes;
	estimate->verdict = verdict_of(estimate->worst_bytes, e->capacity_bytes);
	estimate->skewed_verdict = verdict_of(skewed, e->capacity_bytes);
}

static void
throughput(const struct evaluator *e, const struct strategy *s, struct estimate *estimate)
{
	double tokens = (double)s->global_batch * (double)s->seq_len;

	estimate->tokens_per_s_per_gpu = tokens / estimate->step_s / (double)s->world;
	estimate->model_tflops_per_gpu = estimate->tokens_per_s_per_gpu * e->flops_training / 1e12;
	estimate->mfu = estimate->model_tflops_per_gpu * 1e12 /
	    peak_flops(&e->cluster->gpu, s->precision);
	estimate->step_low_s = estimate->step_s * rate_table[RATE_STEP_LOW].value;
	estimate->step_high_s = estimate->step_s * rate_table[RATE_STEP_HIGH].value;
}

static void
choose_layout(const struct evaluator *e, const struct strategy *s, const struct costs *c,
    struct layout *layout)
{
	struct stage_costs costs;

	if (s->pp == 1 && s->vpp == 1) {
		layout_even(layout, e->model->layers, 1, 1);
		return;
	}
	stage_costs(e, s, c, &costs);
	partition_fast(&costs, e->model, layout);
}

static void
evaluate_with(const struct evaluator *e, const struct strategy *s, const struct layout *layout,
    struct arena *scratch, struct stage_memory *stages, struct estimate *estimate)
{
	struct costs c;

	memset(&c, 0, sizeof(c));
	memset(estimate, 0, sizeof(*estimate));
	costs_init(e, s, &c);
	estimate->strategy = *s;
	if (layout)
		estimate->layout = *layout;
	else
		choose_layout(e, s, &c, &estimate->layout);
	estimate->n_stages = (int)s->pp;
	estimate->stages = stages;
	memory_of_stages(e, s, &c, &estimate->layout, stages, estimate);
	step_time(e, s, &c, &estimate->layout, scratch, estimate);
	throughput(e, s, estimate);
}

void
evaluate(const struct evaluator *e, const struct strategy *s, const struct layout *layout,
    struct stage_memory *stages, struct estimate *estimate)
{
	evaluate_with(e, s, layout, NULL, stages, estimate);
}

void
evaluate_exact(const struct evaluator *e, const struct strategy *s, const struct layout *layout,
    struct arena *scratch, struct stage_memory *stages, struct estimate *estimate)
{
	evaluate_with(e, s, layout, scratch, stages, estimate);
}
