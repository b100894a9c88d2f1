/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What does a strategy cost at least, whatever the layout? And what does one
 * more layer on a stage cost, for the solver that chooses the layout?
 *
 * Time, vpp 1: stage j starts after the forwards of the stages before it and
 * leaves their backwards to do, so step >= sum_{i<j} t_i + m t_j for every j.
 * Over all splits of the total T the largest of these is least when they are
 * equal: T / (1 - (1 - 1/m)^p). Other schedules: m T / p; interleaved, stage
 * j waits for a chunk of each stage before it and leaves their backwards to do, a
 * layer at least but for the first: (p-1)(p-2)/(2p) layers more. Every layout also holds the
 * heaviest fixed stage (embedding, head, MTP): m times that.
 * Memory: every stage holds its fixed part; and if X is the worst stage, at
 * most (X - fixed_s) / (state_k + alive_s act_k) layers of kind k fit on stage s,
 * so X is at least where these sum to all layers of kind k.
 * The optimizer and the traffic are bounded by an even split with everything
 * hidden that may hide; the constant of a step is added.
 */
#include <math.h>
#include <string.h>

#include "planner/correction.h"
#include "planner/evaluator.h"
#include "planner/schedule.h"

static double
surplus_of_kinds(const struct evaluator *e, const struct strategy *s, const struct costs *c)
{
	double input = 2 * c->sizes.T * (double)e->model->hidden, most = 0;

	for (int k = 0; k < e->n_kinds; k++) {
		const struct activations *a = &c->activations[k];
		double kept = s->recompute.kind == RECOMPUTE_FULL ? input : a->kept;

		most = fmax(most, a->full - kept + a->transient);
	}
	return most;
}

static double
total_state(const struct state *state)
{
	return state->weights + state->gradients + state->optimizer;
}

/* With the copies that a rank holds of another stage's layers, taken to be as many. */
static double
copied_state(const struct strategy *s, const struct state *state)
{
	double copies = weight_copies(s), split = s->zero >= 1 ? 1 : copies;

	return copies * (state->weights + state->gradients) + split * state->optimizer;
}

/* Bytes of memory that a predicted byte of activations takes: fragments, and what runs showed. */
static double
growth(const struct evaluator *e, const struct strategy *s)
{
	return evaluator_activation_scale(e, s) / rate_table[RATE_ALLOCATOR].value;
}

/* What a stage holds besides its layers: the ends' state, activations and logits. */
static void
fixed_parts(const struct evaluator *e, const struct strategy *s, const struct costs *c,
    int stage, double surplus, double *seconds, double *bytes, double *act)
{
	bool first = stage == 0;
	bool last = stage == (schedule_is_vee(s->schedule) ? 0 : s->pp - 1);
	double mtp = e->has_mtp ? (double)e->model->mtp_layers : 0;
	bool full = s->recompute.kind == RECOMPUTE_FULL;
	double event = surplus, copies = 0;

	*seconds = *bytes = *act = 0;
	copies += first;
	copies += last && !first && (e->model->tied || mtp > 0);
	*bytes += copies * total_state(&c->embedding_state);
	if (last) {
		const struct layer_time *t = &c->time[e->n_kinds];
		double kept = full ? 2 * c->sizes.T * (double)e->model->hidden
		                   : c->activations[e->n_kinds].kept;

		*seconds += c->head.forward_s + c->head.backward_s;
		*bytes += total_state(&c->head_state);
		*act += c->head_bytes;
		event = fmax(surplus, c->logits_bytes * (1 + mtp));
		if (mtp > 0) {
			*seconds +=
			    mtp * (t->forward_s + t->backward_s + (full ? t->recompute_s : 0));
			*bytes += mtp *
			    (total_state(&c->state[e->n_kinds]) + total_state(&c->mtp_state));
			*act += mtp * (kept + c->mtp_bytes);
		}
	}
	*bytes += event * growth(e, s) +
	    runtime_bytes(&e->cluster->gpu);
	if (s->schedule == SCHEDULE_1F1B && s->pp > 1)
		*seconds += c->handoff_s * ((first ? 0 : 1) + (last ? 0 : 1));
}

/* Passes alive on a stage at its peak, in whole stages: half of DualPipe's are the other end's. */
static double
alive_stages(const struct strategy *s, int stage)
{
	struct pipeline pipeline = pipeline_of(s);
	double one[LAYOUT_MAX_CHUNKS];
	int passes, rank = stage < pipeline.pp ? stage : (int)s->pp - 1 - stage;

	for (int v = 0; v < pipeline.vpp; v++)
		one[v] = 1;
	return schedule_peak(&pipeline, rank, one, &passes) / (double)s->vpp;
}

/*
 * The fewest passes that any virtual stage has alive at that moment: when
 * chunks are uneven, layers may sit where least is alive.
 */
static double
alive_least(const struct strategy *s, int stage)
{
	double last_chunk = fmin((double)s->pp, 2 * (double)(s->pp - stage) - 1);

	if (s->schedule > SCHEDULE_INTERLEAVED)
		return 1; /* while its first micro-batch is on the way back */
	if (s->vpp == 1)
		return alive_stages(s, stage);
	return fmin(last_chunk, (double)s->micro_batches);
}

void
stage_costs(const struct evaluator *e, const struct strategy *s, const struct costs *c,
    struct stage_costs *out)
{
	double grow = growth(e, s);
	double input = 2 * c->sizes.T * (double)e->model->hidden;
	double surplus = surplus_of_kinds(e, s, c), buffers;
	bool present[EVALUATOR_KINDS] = {false};
	bool full = s->recompute.kind == RECOMPUTE_FULL, some = full && s->recompute.layers > 0;

	memset(out, 0, sizeof(*out));
	out->pp = (int)s->pp;
	out->vpp = (int)s->vpp;
	out->n_kinds = e->n_kinds;
	out->vee = schedule_is_vee(s->schedule);
	out->recomputed = full ? (some ? (int)s->recompute.layers : MODEL_MAX_LAYERS) : 0;
	out->capacity_bytes = e->capacity_bytes;
	for (int k = 0; k < e->n_kinds; k++) {
		present[k] = true;
		out->layer_s[k] = c->time[k].forward_s + c->time[k].backward_s;
		out->recompute_s[k] = full ? c->time[k].recompute_s : 0;
		out->state_bytes[k] = copied_state(s, &c->state[k]);
		out->activation_bytes[k] = grow * c->activations[k].kept;
		out->saved_bytes[k] = full ? grow * (c->activations[k].kept - input) : 0;
	}
	buffers = 2 * wgrad_elements(e, s, present, false);
	for (int i = 0; i < out->pp; i++) {
		double act;

		fixed_parts(e, s, c, i, surplus, &out->fixed_s[i], &out->fixed_bytes[i], &act);
		out->alive[i] = alive_stages(s, i);
		out->fixed_bytes[i] += grow * act; /* the head's pass is followed by its backward */
		out->fixed_bytes[i] +=
		    i + 1 < out->pp ? buffers : 2 * wgrad_elements(e, s, present, true);
	}
}

void
evaluate_costs(const struct evaluator *e, const struct strategy *s, struct stage_costs *out)
{
	struct costs c;

	costs_init(e, s, false, &c);
	stage_costs(e, s, &c, out);
}

/* Seconds of one micro-batch over all stages, and of the heaviest end. */
static double
total_time(const struct evaluator *e, const struct strategy *s, const struct costs *c,
    double *heaviest)
{
	double total = 0, seconds, bytes, act;

	*heaviest = 0;
	for (int i = 0; i < s->pp; i++) {
		fixed_parts(e, s, c, i, 0, &seconds, &bytes, &act);
		total += seconds;
		*heaviest = fmax(*heaviest, seconds);
	}
	for (int k = 0; k < e->n_kinds; k++) {
		const struct layer_time *t = &c->time[k];
		double layers = (double)e->kinds[k].layers, replay = 0;

		total += layers * (t->forward_s + t->backward_s);
		if (s->recompute.kind == RECOMPUTE_FULL)
			replay = s->recompute.layers > 0
			    ? 0 /* which layers are replayed depends on the layout */
			    : layers;
		total += replay * t->recompute_s;
	}
	return total;
}

/* The layer that takes least, with no replay that a layout could leave out. */
static double
lightest_layer_s(const struct evaluator *e, const struct strategy *s, const struct costs *c)
{
	bool all_again = s->recompute.kind == RECOMPUTE_FULL && s->recompute.layers == 0;
	double least_s = INFINITY;

	for (int k = 0; k < e->n_kinds; k++)
		least_s = fmin(least_s, c->time[k].forward_s + c->time[k].backward_s +
		        (all_again ? c->time[k].recompute_s : 0));
	return least_s;
}

static double
schedule_bound(const struct evaluator *e, const struct strategy *s, const struct costs *c)
{
	double m = (double)s->micro_batches, p = (double)s->pp, heaviest;
	double total = total_time(e, s, c, &heaviest);
	bool fills = s->schedule == SCHEDULE_1F1B; /* no work before the first, after the last */
	double even = fills ? total / (1 - pow(1 - 1 / m, p)) : m * total / p;

	if (s->schedule == SCHEDULE_INTERLEAVED && p > 2)
		even += lightest_layer_s(e, s, c) * (p - 1) * (p - 2) / (2 * p);

	return fmax(even, m * heaviest / weight_copies(s));
}

/* Least worst stage when layers of one kind alone had to be placed. */
static double
memory_of_kind(const struct strategy *s, const double *fixed, double state, double act,
    double layers, double floor_bytes)
{
	double weight = 0, held = 0;

	for (int i = 0; i < s->pp; i++) {
		double one = state + alive_least(s, i) * act;

		if (one <= 0)
			return floor_bytes;
		weight += 1 / one;
		held += fixed[i] / one;
	}
	return fmax(floor_bytes, (layers + held) / weight);
}

static double
memory_bound(const struct evaluator *e, const struct strategy *s, const struct costs *c)
{
	double fixed[STRATEGY_MAX_PP], seconds, act, floor_bytes = 0, bound;
	double grow = growth(e, s);
	double input = 2 * c->sizes.T * (double)e->model->hidden;

	for (int i = 0; i < s->pp; i++) {
		fixed_parts(e, s, c, i, 0, &seconds, &fixed[i], &act);
		fixed[i] += grow * act;
		floor_bytes = fmax(floor_bytes, fixed[i]);
	}
	bound = floor_bytes;
	for (int k = 0; k < e->n_kinds; k++) {
		bool full = s->recompute.kind == RECOMPUTE_FULL;
		double kept = full ? fmin(input, c->activations[k].kept) : c->activations[k].kept;

		bound = fmax(bound, memory_of_kind(s, fixed, total_state(&c->state[k]), grow * kept,
		                        (double)e->kinds[k].layers, floor_bytes));
	}
	return bound;
}

struct bound
evaluate_bound(const struct evaluator *e, const struct strategy *s)
{
	struct bound bound;
	struct costs c;

	costs_init(e, s, false, &c);
	bound.step_s = schedule_bound(e, s, &c) + step_constant_s(e, s);
	bound.memory_bytes = memory_bound(e, s, &c);
	return bound;
}
