/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How many bytes of weights, gradients and optimizer state does a rank hold?
 *
 * Elements come in buckets: split by TP, KV projections (copied once TP exceeds
 * the KV heads), replicated, and routed experts split by EP and ETP. Bytes an
 * element with mixed-precision Adam, D = DP*CP for dense weights and EDP for
 * experts:
 *     weights 2, main gradient g (4 or 2), master 4 + two moments of 4, 2 or 1
 *     ZeRO-1 (Megatron's distributed optimizer): optimizer / D
 *     ZeRO-2: gradients / D too;  ZeRO-3, FSDP: weights / D too
 *     FSDP2 (torchtitan): fp32 parameters are the master, so 16 / D; with a
 *     pipeline they stay gathered in bf16 and gradients whole until the step's
 *     last backward
 * Sources: NVIDIA/Megatron-LM theoretical_memory_usage.py for the buckets;
 * Rajbhandari et al., ZeRO (arXiv 1910.02054) for the stages; torchtitan's
 * published peaks give 17.1 to 17.6 bytes a parameter for FSDP, between the two counts.
 * Ignored: padding of buckets, buffers that are not trained.
 */
#include <math.h>
#include <string.h>

#include "planner/evaluator.h"

double
local_dense(const struct buckets *buckets, const struct strategy *strategy)
{
	double tp = (double)strategy->tp;
	double kv_tp = fmin(tp, fmax(1, buckets->kv_heads));

	return buckets->tp / tp + buckets->kv / kv_tp + buckets->replicated;
}

double
local_expert(const struct buckets *buckets, const struct strategy *strategy)
{
	return buckets->expert / (double)(strategy->ep * strategy->etp);
}

static double
moment_bytes(enum float_type type)
{
	return type == FLOAT_FP32 ? 4 : type == FLOAT_BF16 ? 2 : 1;
}

bool
fsdp_stays_gathered(const struct strategy *s)
{
	return s->framework == FRAMEWORK_TORCHTITAN && s->zero >= 3 && s->pp > 1;
}

static void
add_fsdp2_state(struct state *state, const struct strategy *s, double elements, double ranks)
{
	bool whole = fsdp_stays_gathered(s);

	state->weights += elements * (4 / ranks + (whole ? 2 : 0));
	state->gradients += elements * 4 / (whole ? 1 : ranks);
	state->optimizer += elements * 2 * moment_bytes(s->moment_type) / ranks;
}

static void
add_state(struct state *state, const struct strategy *s, double elements, double ranks)
{
	double gradient = s->grad_type == FLOAT_BF16 ? 2 : 4;
	double optimizer = 4 + 2 * moment_bytes(s->moment_type);
	double kept = s->offload == OFFLOAD_OPTIMIZER ? 1 - s->offload_fraction : 1;

	if (s->framework == FRAMEWORK_TORCHTITAN && s->zero >= 3) {
		add_fsdp2_state(state, s, elements, ranks);
		return;
	}
	state->weights += elements * 2 / (s->zero >= 3 ? ranks : 1);
	state->gradients += elements * gradient / (s->zero >= 2 ? ranks : 1);
	state->optimizer += elements * optimizer * kept / (s->zero >= 1 ? ranks : 1);
}

struct state
state_bytes(const struct buckets *buckets, const struct strategy *s)
{
	struct state state = {0};
	double dense_ranks = (double)(s->dp * s->cp);

	if (s->zero >= 3 && s->dp_replicate > 1) /* hybrid sharding: copies across replicas */
		dense_ranks /= (double)s->dp_replicate;
	add_state(&state, s, local_dense(buckets, s), dense_ranks);
	add_state(&state, s, local_expert(buckets, s), (double)s->edp);
	return state;
}

/*
 * TransformerEngine with fused gradient accumulation writes weight gradients
 * straight into the main buffer and hands autograd one bf16 dummy for each
 * distinct (rows, cols) on the rank, the head included, grouped linears once a
 * shape (TE >= 2.3, grouped >= 2.10; seen in MooreThreads/SimuMax base_struct).
 */
enum { SHAPES_MAX = 64 };
struct shapes {
	int n;
	double rows[SHAPES_MAX], cols[SHAPES_MAX];
};

static void
add_shape(struct shapes *shapes, double rows, double cols)
{
	if (rows <= 0 || cols <= 0 || shapes->n == SHAPES_MAX)
		return;
	for (int i = 0; i < shapes->n; i++)
		if (fabs(shapes->rows[i] - rows) < 0.5 && fabs(shapes->cols[i] - cols) < 0.5)
			return;
	shapes->rows[shapes->n] = rows;
	shapes->cols[shapes->n++] = cols;
}

/* Shapes of a layer's products; query, key and value are one matrix, the router is no TE linear. */
static void
add_kind_shapes(struct shapes *shapes, const struct kind_facts *kind, const struct strategy *s)
{
	double kv_tp = fmin((double)s->tp, fmax(1, kind->buckets.kv_heads));
	double rows = 0, cols = 0;

	for (int i = 0; i < kind->n_products; i++) {
		const struct product *p = &kind->products[i];
		double over = p->shard == SHARD_TP ? (double)s->tp
		    : p->shard == SHARD_KV         ? kv_tp
		    : p->shard == SHARD_EXPERT     ? (double)s->etp
		                                   : 1;

		if (p->component == COMPONENT_ROUTER)
			continue;
		if (p->shard == SHARD_KV) {
			rows += p->rows / over;
			continue;
		}
		add_shape(shapes, rows, cols);
		rows = p->split_cols ? p->rows : p->rows / over;
		cols = p->split_cols ? p->cols / over : p->cols;
	}
	add_shape(shapes, rows, cols);
}

double
wgrad_elements(const struct evaluator *e, const struct strategy *s,
    const bool present[EVALUATOR_KINDS], bool has_head)
{
	struct shapes shapes = {0};
	double elements = 0;

	if (s->framework != FRAMEWORK_MEGATRON || s->zero >= 3)
		return 0;
	for (int k = 0; k < EVALUATOR_KINDS; k++)
		if (present[k])
			add_kind_shapes(&shapes, &e->kinds[k], s);
	if (has_head)
		add_shape(
		    &shapes, (double)e->model->vocab / (double)s->tp, (double)e->model->hidden);
	for (int i = 0; i < shapes.n; i++)
		elements += shapes.rows[i] * shapes.cols[i];
	return elements;
}
