/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How much memory does a pipeline stage need at its worst moment?
 *
 *     peak = state + max over events
 *     end of the head's forward:  kept activations of all passes alive + logits
 *     start of a layer's backward: the same + what the replay brings back + transients
 * then context, libraries and communicators, and fragmentation: activations
 * x (1/0.94 - 1). A maximum over events, not a sum of maxima: savings of
 * recompute saturate at the next event. Alive passes come from the schedule.
 * Where it leaves the gradients of weights for later, a pass of the head keeps
 * the logits' gradient until then: its product with the head's input is one of them.
 * Sources: MooreThreads/SimuMax (mem_factor), measured allocator peaks.
 * Ignored: the optimizer step's own temporaries (below the other two events).
 */
#include <math.h>
#include <string.h>

#include "planner/correction.h"
#include "planner/evaluator.h"

int
replayed_layers(const struct strategy *s, int layers)
{
	if (s->recompute.kind != RECOMPUTE_FULL)
		return 0;
	if (s->recompute.layers > 0 && s->recompute.layers < layers)
		return (int)s->recompute.layers;
	return layers;
}

bool
chunk_has_head(const struct layout *layout, int chunk)
{
	return chunk + 1 == layout->pp * layout->vpp;
}

bool
chunk_has_mtp(const struct evaluator *e, const struct layout *layout, int chunk)
{
	return e->has_mtp && chunk + 1 + layout->mtp_back == layout->pp * layout->vpp;
}

/* Bytes one pass of a chunk keeps; `acts` balanced or skewed. */
static double
chunk_bytes(const struct evaluator *e, const struct strategy *s, const struct costs *c,
    const struct activations *acts, const struct layout *layout, int chunk)
{
	int first = layout->first[chunk], last = layout->first[chunk + 1];
	int replay = replayed_layers(s, last - first);
	double input = 2 * c->sizes.T * (double)e->model->hidden, bytes = replay * input;

	for (int l = first + replay; l < last; l++)
		bytes += acts[e->model->kind_of[l]].kept;
	if (chunk_has_head(layout, chunk))
		bytes += c->head_bytes;
	if (chunk_has_mtp(e, layout, chunk)) {
		double layer = s->recompute.kind == RECOMPUTE_FULL ? input : acts[e->n_kinds].kept;

		bytes += (double)e->model->mtp_layers * (layer + c->mtp_bytes);
	}
	return bytes;
}

/* Bytes that one pass of a chunk keeps on the host. */
static double
chunk_host_bytes(const struct evaluator *e, const struct costs *c, const struct layout *layout,
    int chunk)
{
	double bytes = 0;

	for (int l = layout->first[chunk]; l < layout->first[chunk + 1]; l++)
		bytes += c->activations[e->model->kind_of[l]].offloaded;
	if (chunk_has_mtp(e, layout, chunk))
		bytes += (double)e->model->mtp_layers * c->activations[e->n_kinds].offloaded;
	return bytes;
}

static double
stage_host_bytes(const struct evaluator *e, const struct strategy *s, const struct costs *c,
    const struct layout *layout, int stage)
{
	int chunks[LAYOUT_MAX_CHUNKS], n = rank_chunks(s, layout, stage, chunks), passes;
	struct pipeline pipeline = pipeline_of(s);
	double bytes[LAYOUT_MAX_CHUNKS];

	if (s->offload != OFFLOAD_ACTIVATIONS)
		return 0;
	for (int v = 0; v < n; v++)
		bytes[v] = chunk_host_bytes(e, c, layout, chunks[v]);
	return schedule_peak(&pipeline, layout_stage(layout, chunks[0]), bytes, &passes);
}

/* The largest surplus of one layer's backward over what is kept of it. */
static double
backward_surplus(const struct evaluator *e, const struct strategy *s, const struct costs *c,
    const struct activations *acts, const bool *present, double *buffers)
{
	double input = 2 * c->sizes.T * (double)e->model->hidden, most = 0;

	*buffers = 0;
	for (int k = 0; k < EVALUATOR_KINDS; k++) {
		double kept, surplus;

		if (!present[k])
			continue;
		kept = s->recompute.kind == RECOMPUTE_FULL ? input : acts[k].kept;
		surplus = acts[k].full - kept + acts[k].transient;
		if (surplus > most) {
			most = surplus;
			*buffers = acts[k].moe_buffers;
		}
	}
	return most;
}

/* Activations, logits and dispatcher buffers at the worst event. */
static double
peak_events(const struct evaluator *e, const struct strategy *s, const struct costs *c,
    const struct activations *acts, const struct layout *layout, int stage, const bool *present,
    struct stage_memory *m)
{
	double bytes[LAYOUT_MAX_CHUNKS], waiting[LAYOUT_MAX_CHUNKS], surplus, buffers, logits = 0;
	struct pipeline pipeline = pipeline_of(s);
	int chunks[LAYOUT_MAX_CHUNKS], n = rank_chunks(s, layout, stage, chunks);
	double heads = 1 + (e->has_mtp ? (double)e->model->mtp_layers : 0);
	struct alive alive;

	for (int v = 0; v < n; v++) {
		bytes[v] = chunk_bytes(e, s, c, acts, layout, chunks[v]);
		waiting[v] = chunk_has_head(layout, chunks[v]) ? heads * c->dlogits_bytes : 0;
	}
	alive = schedule_alive(&pipeline, layout_stage(layout, chunks[0]), bytes, waiting);
	m->in_flight = alive.passes;
	surplus = backward_surplus(e, s, c, acts, present, &buffers);
	if (m->has_head)
		logits = c->logits_bytes * heads;
	m->parts[MEMORY_ACTIVATIONS] =
	    alive.bytes - alive.waiting_bytes + (logits >= surplus ? 0 : surplus - buffers);
	m->parts[MEMORY_LOGITS] = alive.waiting_bytes + (logits >= surplus ? logits : 0);
	m->parts[MEMORY_MOE_BUFFERS] = logits >= surplus ? 0 : buffers;
	return alive.bytes + fmax(logits, surplus);
}

static void
add_state(struct stage_memory *m, const struct state *state, double times)
{
	m->parts[MEMORY_WEIGHTS] += times * state->weights;
	m->parts[MEMORY_GRADIENTS] += times * state->gradients;
	m->parts[MEMORY_OPTIMIZER] += times * state->optimizer;
}

/* ZeRO-3 works on whole units: this one and the next are gathered, one gradient is whole. */
static void
add_gathered(const struct evaluator *e, const struct strategy *s, const bool *present,
    struct stage_memory *m)
{
	double most = 0;

	if (s->zero < 3)
		return;
	for (int k = 0; k < EVALUATOR_KINDS; k++)
		if (present[k])
			most = fmax(most, local_dense(&e->kinds[k].buckets, s) +
			        local_expert(&e->kinds[k].buckets, s));
	m->parts[MEMORY_WEIGHTS] += 2 * 2 * most;
	m->parts[MEMORY_GRADIENTS] += (s->grad_type == FLOAT_BF16 ? 2 : 4) * most;
}

/* What is sharded over the data-parallel ranks is sharded over the copies too. */
static void
share_copies(const struct strategy *s, struct stage_memory *m)
{
	double copies = weight_copies(s);

	if (s->zero >= 1)
		m->parts[MEMORY_OPTIMIZER] /= copies;
	if (s->zero >= 2)
		m->parts[MEMORY_GRADIENTS] /= copies;
	if (s->zero >= 3)
		m->parts[MEMORY_WEIGHTS] /= copies;
}

/* Stages hold few different sets of layer kinds: each set is worked out once. */
static double
wgrad_cached(const struct evaluator *e, const struct strategy *s, struct costs *c,
    const bool *present, bool has_head)
{
	unsigned set = has_head;

	for (int k = 0; k < EVALUATOR_KINDS; k++)
		set |= (unsigned)present[k] << (k + 1);
	for (int i = 0; i < c->n_wgrad; i++)
		if (c->wgrad_set[i] == set)
			return c->wgrad[i];
	if (c->n_wgrad == WGRAD_SETS)
		c->n_wgrad = 0;
	c->wgrad_set[c->n_wgrad] = set;
	c->wgrad[c->n_wgrad] = wgrad_elements(e, s, present, has_head);
	return c->wgrad[c->n_wgrad++];
}

static void
stage_state(const struct evaluator *e, const struct strategy *s, struct costs *c,
    const struct layout *layout, int stage, bool *present, struct stage_memory *m)
{
	double counts[EVALUATOR_KINDS] = {0};
	bool mtp = false;
	int chunks[LAYOUT_MAX_CHUNKS], n = rank_chunks(s, layout, stage, chunks);

	for (int v = 0; v < n; v++) {
		int chunk = chunks[v];

		for (int l = layout->first[chunk]; l < layout->first[chunk + 1]; l++)
			counts[e->model->kind_of[l]]++;
		m->has_embedding |= chunk == 0;
		m->has_head |= chunk_has_head(layout, chunk);
		mtp |= chunk_has_mtp(e, layout, chunk);
	}
	if (mtp) {
		counts[e->n_kinds] = (double)e->model->mtp_layers;
		add_state(m, &c->mtp_state, counts[e->n_kinds]);
	}
	for (int k = 0; k < EVALUATOR_KINDS; k++) {
		present[k] = counts[k] > 0;
		if (present[k])
			add_state(m, &c->state[k], counts[k]);
	}
	if (m->has_embedding)
		add_state(m, &c->embedding_state, 1);
	/* tied: the last stage keeps its own copy unless it holds the embedding already */
	if (m->has_head)
		add_state(m, &c->head_state, 1);
	if (m->has_head && e->model->tied && !m->has_embedding)
		add_state(m, &c->embedding_state, 1);
	/* MTP looks tokens up again; its stage has the embedding too */
	if (mtp && !m->has_embedding && !(m->has_head && e->model->tied))
		add_state(m, &c->embedding_state, 1);
	share_copies(s, m);
	add_gathered(e, s, present, m);
	m->parts[MEMORY_WGRAD_BUFFERS] = 2 * wgrad_cached(e, s, c, present, m->has_head);
}

static double
fragmentation(double activations)
{
	return activations * (1 / rate_table[RATE_ALLOCATOR].value - 1);
}

void
stage_memory(const struct evaluator *e, const struct strategy *s, struct costs *c,
    const struct layout *layout, int stage, bool with_skew, struct stage_memory *m)
{
	bool present[EVALUATOR_KINDS] = {false};
	struct stage_memory scratch;
	const struct band *band = &memory_bands[memory_class_of(s)];
	double state, acts, skewed, runtime = runtime_bytes(&e->cluster->gpu);
	double scale = evaluator_activation_scale(e, s);

	memset(m, 0, sizeof(*m));
	m->layers = layout_stage_layers(layout, stage);
	if (weight_copies(s) > 1)
		m->layers += layout_stage_layers(layout, layout->pp - 1 - stage);
	stage_state(e, s, c, layout, stage, present, m);
	m->host_bytes = stage_host_bytes(e, s, c, layout, stage);
	state = m->parts[MEMORY_WEIGHTS] + m->parts[MEMORY_GRADIENTS] +
	    m->parts[MEMORY_OPTIMIZER] + m->parts[MEMORY_WGRAD_BUFFERS];
	acts = peak_events(e, s, c, c->activations, layout, stage, present, m);
	scratch = *m;
	skewed = acts;
	if (with_skew)
		skewed = peak_events(e, s, c, c->skewed, layout, stage, present, &scratch);
	m->parts[MEMORY_ACTIVATIONS] *= scale;
	m->parts[MEMORY_LOGITS] *= scale;
	m->parts[MEMORY_MOE_BUFFERS] *= scale;
	acts *= scale;
	skewed *= scale;
	m->parts[MEMORY_RUNTIME] = runtime;
	m->parts[MEMORY_FRAGMENTATION] = fragmentation(acts);
	m->allocated_bytes = state + acts;
	m->total_bytes = state + acts + runtime + fragmentation(acts);
	m->low_bytes = (state + acts) * band->low + runtime; /* expandable segments: no fragments */
	m->high_bytes = m->total_bytes * band->high;
	m->skewed_bytes = state + skewed + runtime + fragmentation(skewed);
}
