/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What does one strategy make of the model, whatever the layout? Local sizes
 * and the spans of its groups; then state, activations and seconds of a layer
 * of each kind and of the two ends.
 */
#include <math.h>
#include <string.h>

#include "planner/evaluator.h"

/* The placement that a trace gets on this many ranks and nodes. */
static void
sizes_of_trace(const struct evaluator *e, const struct strategy *s, struct sizes *z)
{
	const struct skew_point *point =
	    load_point(&e->skew, s->ep, (int64_t)nearbyint(z->ep_span.units[0]));

	z->hot = point ? point->hot : 1;
	z->off_node = point ? point->off_node : 0;
}

/* Of the layers that have some: blocks of experts alone have none. */
static double
most_kv_heads(const struct evaluator *e)
{
	double most = 1;

	for (int k = 0; k < e->n_kinds; k++)
		most = fmax(most, (double)e->kinds[k].kind->mixer.kv_heads);
	return most;
}

void
sizes_init(const struct evaluator *e, const struct strategy *s, struct sizes *z)
{
	const struct layer_kind *moe = e->moe;

	memset(z, 0, sizeof(*z));
	z->tp = (double)s->tp;
	z->kv_tp = fmin(z->tp, most_kv_heads(e));
	z->ep = (double)s->ep;
	z->etp = (double)s->etp;
	z->M = (double)s->micro_batch * (double)s->seq_len / (double)s->cp;
	z->T = z->M / z->tp;
	z->hot = moe ? load_hot(&e->skew, moe->ffn.experts, s->ep) : 1;
	z->off_node = e->skew.off_node;
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
	if (moe && e->skew.kind == SKEW_TRACE)
		sizes_of_trace(e, s, z);
}

static int
level_of_stride(const struct links *links, int64_t stride)
{
	int l = 0;

	while (l + 1 < links->n_levels && stride >= links->gpus[l])
		l++;
	return l;
}

/*
 * What seconds of a layer depend on: strategies that differ only in pipeline,
 * full recompute or sharding share them, and a search asks for them in a row.
 */
static void
time_key(const struct strategy *s, struct time_key *key)
{
	memset(key, 0, sizeof(*key)); /* compared as bytes, padding too */
	key->world = s->world;
	key->tp = s->tp;
	key->cp = s->cp;
	key->ep = s->ep;
	key->etp = s->etp;
	key->micro_batch = s->micro_batch;
	key->seq_len = s->seq_len;
	key->capacity = s->capacity;
	key->modules = s->recompute.kind == RECOMPUTE_SELECTIVE ? s->recompute.modules : 0;
	key->framework = (int)s->framework;
	key->dispatcher = (int)s->dispatcher;
	key->precision = (int)s->precision;
	key->loss = (int)s->loss;
	key->overlap = s->overlap;
	key->graphs = (int)s->cuda_graphs;
	key->paired = (int)pairing_of(s);
}

static struct time_slot *
time_slot_of(const struct evaluator *e, const struct time_key *key)
{
	int64_t sum = key->tp + 3 * key->cp + 7 * key->ep + 11 * key->etp + 13 * key->micro_batch +
	    17 * key->dispatcher + 29 * key->modules;

	return &e->slots[(size_t)sum % TIME_SLOTS];
}

static void
times_init(const struct evaluator *e, const struct strategy *s, int kinds, struct costs *c)
{
	struct time_key key;
	struct time_slot *cached;

	time_key(s, &key);
	cached = time_slot_of(e, &key);
	/* Bytes that differ without need only cost a second computation. */
	/* NOLINTNEXTLINE(bugprone-suspicious-memory-comparison) */
	if (!cached->used || memcmp(&cached->key, &key, sizeof(key)) != 0) {
		for (int k = 0; k < kinds; k++)
			layer_time(e, k, s, &c->sizes, &cached->time[k]);
		head_time(e, s, &c->sizes, &cached->head);
		memcpy(&cached->key, &key, sizeof(key));
		cached->used = true;
	}
	memcpy(c->time, cached->time, (size_t)kinds * sizeof(c->time[0]));
	c->head = cached->head;
}

void
costs_init(
    const struct evaluator *e, const struct strategy *s, bool with_skew, struct costs *c)
{
	struct sizes *z = &c->sizes;
	struct transfer handoff;
	int kinds = e->n_kinds + (e->has_mtp ? 1 : 0);
	double skewed = rate_table[RATE_SKEWED_LOAD].value;

	c->n_wgrad = 0;
	sizes_init(e, s, z);
	for (int k = 0; k < kinds; k++) {
		bool spread = e->kinds[k].kind->ffn.experts > 0 && s->ep > 1;

		c->activations[k] = layer_activations(e, k, s, z, z->hot);
		c->skewed[k] = with_skew && spread
		    ? layer_activations(e, k, s, z, fmax(skewed, z->hot))
		    : c->activations[k];
		c->state[k] = state_bytes(&e->kinds[k].buckets, s);
	}
	times_init(e, s, kinds, c);
	for (int k = 0; k < kinds && s->offload == OFFLOAD_ACTIVATIONS; k++)
		offload_layer_time(e, s, &c->activations[k], &c->time[k]);
	c->embedding_state = state_bytes(&e->embedding, s);
	c->head_state = state_bytes(&e->head, s);
	c->mtp_state = state_bytes(&e->mtp_own, s);
	c->head_bytes = head_activations(e, z);
	c->logits_bytes = logits_bytes(e, s, z);
	c->dlogits_bytes = 2 * z->M * (double)e->model->vocab / z->tp;
	/* a projection's two inputs before and after their norms, and a head input */
	c->mtp_bytes = 2 * z->T * (double)e->model->hidden * (2 + 2) + c->head_bytes;
	c->handoff_bytes = 2 * z->T * (double)e->model->hidden;
	handoff = comm_send(&z->links, z->pp_stride, c->handoff_bytes);
	c->handoff_s = handoff.seconds * corrected_factor(e, s, CORRECTED_TRAFFIC);
	c->handoff_level = level_of_stride(&z->links, z->pp_stride);
}
