/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * An evaluator of a few closed formulas, linked in place of the real one, so that
 * tests of the search are about the search: costs are easy to see through, and a
 * whole grid can be tried by brute force. Bounds are bounds by construction.
 */
#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "planner/partition.h"

const char *const memory_part_names[] = {"weights", "gradients", "optimizer", "wgrad_buffers",
    "activations", "logits", "moe_buffers", "runtime", "fragmentation", NULL};
const char *const time_part_names[TIME_PARTS + 1] = {"attention", "mlp", "experts", "memory_bound",
    "head", "recompute", "host", "all_to_all", "tensor_parallel", "context_parallel", "pipeline",
    "bubble", "data_parallel", "optimizer", "offload", "step_overhead", NULL};
const char *const verdict_names[] = {"fits", "at-risk", "oom", "invalid", NULL};

const char *
time_part_label(const struct model *model, enum time_part part)
{
	(void)model;
	return time_part_names[part];
}

struct evaluator {
	const struct model *model;
	const struct cluster *cluster;
	const struct job *job;
};

struct evaluator *
evaluator_new(struct arena *arena, const struct model *model, const struct cluster *cluster,
    const struct job *job)
{
	struct evaluator *e = arena_alloc(arena, sizeof(*e));

	*e = (struct evaluator){model, cluster, job};
	return e;
}

const char *
evaluator_refusal(struct arena *arena, const struct model *model)
{
	(void)arena;
	return model->unmodelled;
}

const char *
strategy_refusal(const struct strategy *strategy)
{
	(void)strategy;
	return NULL;
}

static double
capacity(const struct evaluator *e)
{
	return e->cluster->gpu.usable_bytes.value - (double)e->cluster->reserve_bytes -
	       (double)e->job->reserve_bytes;
}

static int
modules(const struct strategy *s)
{
	int n = 0;

	for (unsigned bits = s->recompute.modules; bits; bits &= bits - 1)
		n++;
	return s->recompute.kind == RECOMPUTE_SELECTIVE ? n : 0;
}

/* Milliseconds of a layer of this kind; every degree has a price, so that none is free. */
static double
layer_seconds(const struct evaluator *e, const struct strategy *s, int kind)
{
	bool moe = kind_is_moe(&e->model->kinds[kind]);
	double tokens = (double)(s->micro_batch * s->seq_len) / (double)(s->cp * s->tp);
	double seconds = 1e-6 * tokens * (moe ? 1.3 : 1);

	seconds *= 1 + 0.07 * log2((double)s->tp) + 0.03 * log2((double)s->cp);
	seconds *= 1 + 0.02 * modules(s);
	if (moe && s->ep * s->etp > 1)
		seconds *=
		    1 + (s->dispatcher == DISPATCH_ALLTOALL ? 0.02 : 0.016) * log2((double)s->ep) +
		    0.05 * log2((double)s->etp);
	return seconds + 2e-4 / (double)s->micro_batch;
}

void
evaluate_costs(const struct evaluator *e, const struct strategy *s, struct stage_costs *c)
{
	double tokens = (double)(s->micro_batch * s->seq_len) / (double)(s->cp * s->tp);
	bool full = s->recompute.kind == RECOMPUTE_FULL;

	memset(c, 0, sizeof(*c));
	c->pp = (int)s->pp;
	c->vpp = (int)s->vpp;
	c->n_kinds = e->model->n_kinds;
	c->capacity_bytes = capacity(e);
	c->recomputed = !full		      ? 0
			: s->recompute.layers ? (int)s->recompute.layers
					      : MODEL_MAX_LAYERS;
	for (int k = 0; k < c->n_kinds; k++) {
		bool moe = kind_is_moe(&e->model->kinds[k]);
		double split = moe ? (double)(s->ep * s->etp) : (double)s->tp;

		c->layer_s[k] = layer_seconds(e, s, k);
		c->recompute_s[k] = full ? 0.3 * c->layer_s[k] : 0;
		c->state_bytes[k] = (moe ? 24e9 : 3e9) / split;
		c->activation_bytes[k] = tokens * 4e5 * (1 - 0.15 * modules(s));
		c->saved_bytes[k] = full ? 0.8 * c->activation_bytes[k] : 0;
	}
	for (int i = 0; i < c->pp; i++) {
		double alive =
		    s->vpp == 1
			? (double)(s->pp - i)
			: (2.0 * (double)(s->pp - 1 - i) + (double)((s->vpp - 1) * s->pp) + 1) /
			      (double)s->vpp;

		c->alive[i] = fmin(alive, (double)s->micro_batches);
		if (i == 0)
			c->fixed_bytes[i] += 2e9 / (double)s->tp;
		if (i == c->pp - 1) {
			c->fixed_bytes[i] += 2e9 / (double)s->tp;
			c->fixed_s[i] = 2 * c->layer_s[0];
		}
	}
}

static void
evaluate_with(const struct evaluator *e, const struct strategy *s, const struct layout *layout,
    struct stage_memory *stages, struct estimate *estimate, bool exact)
{
	struct stage_costs c;
	struct partition_peak peak;
	double sum = 0, m = (double)s->micro_batches;

	evaluate_costs(e, s, &c);
	memset(estimate, 0, sizeof(*estimate));
	if (layout)
		estimate->layout = *layout;
	else
		partition_fast(&c, e->model, &estimate->layout);
	peak = partition_peak(&c, e->model, &estimate->layout);
	for (int i = 0; i < c.pp; i++)
		sum += c.fixed_s[i];
	for (int l = 0; l < e->model->layers; l++)
		sum += c.layer_s[e->model->kind_of[l]];
	estimate->strategy = *s;
	estimate->n_stages = c.pp;
	estimate->stages = stages;
	estimate->worst_stage = peak.fullest;
	estimate->worst_bytes = peak.bytes;
	estimate->capacity_bytes = c.capacity_bytes;
	estimate->verdict = peak.bytes > c.capacity_bytes ? VERDICT_OOM : VERDICT_FITS;
	estimate->exposed_s[TIME_EXPERTS] = m * peak.time_s;
	estimate->exposed_s[TIME_BUBBLE] =
	    fmax(0, sum - peak.time_s) / (double)s->vpp * (exact ? 1.01 : 1);
	estimate->exposed_s[TIME_PIPELINE] = s->vpp > 1 ? 1e-5 * m * (double)s->vpp : 0;
	estimate->exposed_s[TIME_DATA_PARALLEL] = 1e-3 * log2((double)(s->dp * s->cp));
	for (int p = 0; p < TIME_PARTS; p++)
		estimate->step_s += estimate->exposed_s[p];
	estimate->slowest_stage = peak.slowest;
	for (int i = 0; stages && i < c.pp; i++) {
		memset(&stages[i], 0, sizeof(stages[i]));
		stages[i].total_bytes = stages[i].parts[MEMORY_WEIGHTS] = peak.bytes;
	}
}

void
evaluate(const struct evaluator *e, const struct strategy *s, const struct layout *layout,
    struct stage_memory *stages, struct estimate *estimate)
{
	evaluate_with(e, s, layout, stages, estimate, false);
}

void
evaluate_exact(const struct evaluator *e, const struct strategy *s, const struct layout *layout,
    struct arena *scratch, struct stage_memory *stages, struct estimate *estimate)
{
	(void)scratch;
	evaluate_with(e, s, layout, stages, estimate, true);
}

bool
evaluate_below(const struct evaluator *e, const struct strategy *s, const struct layout *layout,
    double limit_s, struct arena *scratch, struct stage_memory *stages, struct estimate *estimate)
{
	evaluate_exact(e, s, layout, scratch, stages, estimate);
	return estimate->step_s < limit_s;
}

/* Perfect balance without replay, and all state with the fewest alive, over equal stages. */
struct bound
evaluate_bound(const struct evaluator *e, const struct strategy *s)
{
	struct bound bound = {0, 0};
	struct stage_costs c;
	double alive = (double)s->micro_batches;

	evaluate_costs(e, s, &c);
	for (int i = 0; i < c.pp; i++) {
		bound.step_s += c.fixed_s[i];
		bound.memory_bytes += c.fixed_bytes[i];
		alive = fmin(alive, s->vpp == 1 ? c.alive[i] : 1);
	}
	for (int l = 0; l < e->model->layers; l++) {
		int k = e->model->kind_of[l];

		bound.step_s +=
		    c.layer_s[k] + (c.recomputed == MODEL_MAX_LAYERS ? c.recompute_s[k] : 0);
		bound.memory_bytes +=
		    c.state_bytes[k] + alive * (c.activation_bytes[k] - c.saved_bytes[k]);
	}
	bound.step_s *= (double)s->micro_batches / (double)s->pp;
	bound.memory_bytes /= (double)s->pp;
	return bound;
}

bool
host_overflows(const struct cluster *cluster, const struct estimate *estimate)
{
	(void)cluster, (void)estimate;
	return false;
}
