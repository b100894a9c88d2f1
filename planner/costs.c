/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What does one strategy make of the model, whatever the layout? Local sizes
 * and the spans of its groups; then state, activations and seconds of a layer
 * of each kind and of the two ends.
 */
#include <math.h>
#include <string.h>

#include "planner/evaluator.h"

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
