/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How long is a training step, and where does it go?
 *
 *     step = schedule of all micro-batches (slowest stage, bubble)
 *          + exposed gradient and parameter traffic + optimizer + a constant
 * Gradients: g bytes an element, dense over DP*CP, experts over EDP; with a
 * sharded optimizer reduce-scatter, then a 2-byte parameter gather; both hide
 * behind the last backward and the first forward when the overlap is on.
 * ZeRO-2 reduces every micro-batch; ZeRO-3 (FSDP) gathers forward and backward
 * and reduces, every micro-batch. Optimizer: bytes over bandwidth.
 * Sources: NVIDIA/Megatron-LM distributed optimizer, pytorch/torchtitan FSDP2,
 * MooreThreads/SimuMax _compute_optim_time.
 * Ignored: stragglers, bucket boundaries, traffic that meets pipeline hand-offs.
 */
#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "planner/evaluator.h"
#include "planner/schedule.h"

static int
replayed_layers(const struct strategy *s, int layers)
{
	if (s->recompute.kind != RECOMPUTE_FULL)
		return 0;
	return s->recompute.layers > 0 && s->recompute.layers < layers ? (int)s->recompute.layers
	                                                               : layers;
}

static void
add_layer(struct layer_time *sum, const struct layer_time *t, double times, bool replay)
{
	for (int i = 0; i < TIME_PARTS; i++) {
		sum->forward[i] += times * t->forward[i];
		sum->backward[i] += times * t->backward[i];
		sum->hidden[i] += times * t->hidden[i];
	}
	for (int l = 0; l < CLUSTER_MAX_LEVELS; l++)
		sum->bytes[l] += times * t->bytes[l] * (replay ? 1.5 : 1);
	if (replay)
		sum->backward[TIME_RECOMPUTE] += times * t->recompute_s;
	sum->forward_s += times * t->forward_s;
	sum->backward_s += times * (t->backward_s + (replay ? t->recompute_s : 0));
}

/* One pass through a chunk, all parts. */
static void
chunk_time(const struct evaluator *e, const struct strategy *s, const struct costs *c,
    const struct layout *layout, int chunk, struct layer_time *sum)
{
	int first = layout->first[chunk], last = layout->first[chunk + 1];
	int replay = replayed_layers(s, last - first);
	int counts[2][MODEL_MAX_KINDS] = {{0}};

	for (int l = first; l < last; l++)
		counts[l < first + replay][e->model->kind_of[l]]++;
	for (int k = 0; k < e->n_kinds; k++)
		for (int r = 0; r < 2; r++)
			if (counts[r][k] > 0)
				add_layer(sum, &c->time[k], counts[r][k], r == 1);
	if (chunk + 1 == layout->pp * layout->vpp) {
		add_layer(sum, &c->head, 1, false);
		if (e->has_mtp)
			add_layer(sum, &c->time[e->n_kinds], (double)e->model->mtp_layers,
			    s->recompute.kind == RECOMPUTE_FULL);
	}
}

/* Gradient and parameter traffic of a stage. */
struct traffic {
	double exposed_s, hidden_s;
	double bytes[CLUSTER_MAX_LEVELS];
};

static void
add_traffic(struct traffic *t, const struct costs *c, const struct transfer *one, double times,
    double hidden_s)
{
	t->exposed_s += times * (one->seconds - hidden_s);
	t->hidden_s += times * hidden_s;
	for (int l = 0; l < c->sizes.links.n_levels; l++)
		t->bytes[l] += times * one->bytes[l];
}

/* `seconds` of traffic behind `window` seconds of computation, when it may overlap. */
static double
hidden_behind(const struct strategy *s, double seconds, double window)
{
	if (!(s->overlap & OVERLAP_DP))
		return 0;
	return fmin(rate_table[RATE_HIDDEN_DP].value * seconds, window);
}

static struct transfer
both(const struct transfer *a, const struct transfer *b)
{
	struct transfer sum = *a;

	sum.seconds += b->seconds;
	for (int l = 0; l < CLUSTER_MAX_LEVELS; l++)
		sum.bytes[l] += b->bytes[l];
	return sum;
}

static struct traffic
data_parallel(const struct strategy *s, const struct costs *c, double dense, double expert,
    const struct layer_time *stage)
{
	const struct sizes *z = &c->sizes;
	double g = s->grad_type == FLOAT_BF16 ? 2 : 4, m = (double)s->micro_batches;
	struct traffic t = {0};
	struct transfer dense_reduce = comm_gather(&z->links, &z->dp_span, g * dense);
	struct transfer expert_reduce = comm_gather(&z->links, &z->edp_span, g * expert);
	struct transfer dense_gather = comm_gather(&z->links, &z->dp_span, 2 * dense);
	struct transfer expert_gather = comm_gather(&z->links, &z->edp_span, 2 * expert);
	struct transfer reduce = both(&dense_reduce, &expert_reduce);
	struct transfer gather = both(&dense_gather, &expert_gather);

	if (s->zero >= 3) {
		add_traffic(&t, c, &gather, m, hidden_behind(s, gather.seconds, stage->forward_s));
		gather = both(&gather, &reduce);
		add_traffic(&t, c, &gather, m, hidden_behind(s, gather.seconds, stage->backward_s));
		return t;
	}
	if (s->zero == 0)
		gather = reduce; /* all-reduce: the second half moves gradients, not parameters */
	add_traffic(&t, c, &reduce, s->zero == 2 ? m : 1,
	    hidden_behind(s, reduce.seconds, stage->backward_s));
	add_traffic(&t, c, &gather, 1,
	    hidden_behind(s, gather.seconds, s->zero == 0 ? stage->backward_s : stage->forward_s));
	return t;
}

/* Zeroing, norm and clip over local gradients; Adam reads and writes its shard. */
static double
optimizer_s(const struct evaluator *e, const struct strategy *s, double dense, double expert)
{
	double g = s->grad_type == FLOAT_BF16 ? 2 : 4;
	double moments = s->moment_type == FLOAT_FP32 ? 8 : s->moment_type == FLOAT_BF16 ? 4 : 2;
	double dense_ranks = s->zero >= 1 ? (double)(s->dp * s->cp) : 1;
	double expert_ranks = s->zero >= 1 ? (double)s->edp : 1;
	double shard = dense / dense_ranks + expert / expert_ranks;
	double held = s->zero >= 2 ? shard : dense + expert;

	return (3 * g * held + shard * (g + 2 * (4 + moments) + 2)) /
	    memory_Bps(&e->cluster->gpu);
}

struct stage_sums {
	struct layer_time time;
	double dense, expert; /* elements on a rank */
	struct traffic traffic;
	double optimizer_s;
};

static void
add_elements(struct stage_sums *sum, const struct buckets *buckets, const struct strategy *s,
    double times)
{
	sum->dense += times * local_dense(buckets, s);
	sum->expert += times * local_expert(buckets, s);
}

static void
stage_sums(const struct evaluator *e, const struct strategy *s, const struct costs *c,
    const struct layout *layout, int stage, struct stage_sums *sum)
{
	int last = layout->pp * layout->vpp - 1;

	memset(sum, 0, sizeof(*sum));
	for (int v = 0; v < layout->vpp; v++) {
		int chunk = v * layout->pp + stage;

		chunk_time(e, s, c, layout, chunk, &sum->time);
		for (int l = layout->first[chunk]; l < layout->first[chunk + 1]; l++)
			add_elements(sum, &e->kinds[e->model->kind_of[l]].buckets, s, 1);
		if (chunk == 0)
			add_elements(sum, &e->embedding, s, 1);
		if (chunk == last)
			add_elements(sum, &e->head, s, 1);
		if (chunk == last && e->has_mtp) {
			add_elements(sum, &e->kinds[e->n_kinds].buckets, s, (double)e->model->mtp_layers);
			add_elements(sum, &e->mtp_own, s, (double)e->model->mtp_layers);
		}
	}
	sum->traffic = data_parallel(s, c, sum->dense, sum->expert, &sum->time);
	sum->optimizer_s = optimizer_s(e, s, sum->dense, sum->expert);
}

static void
stage_parts(const struct strategy *s, const struct costs *c, const struct stage_sums *sum,
    double handoffs, struct estimate *estimate)
{
	double m = (double)s->micro_batches;

	for (int i = 0; i < TIME_PARTS; i++) {
		estimate->exposed_s[i] = m * (sum->time.forward[i] + sum->time.backward[i]);
		estimate->hidden_s[i] = m * sum->time.hidden[i];
	}
	estimate->exposed_s[TIME_DATA_PARALLEL] = sum->traffic.exposed_s;
	estimate->hidden_s[TIME_DATA_PARALLEL] = sum->traffic.hidden_s;
	estimate->exposed_s[TIME_OPTIMIZER] = sum->optimizer_s;
	estimate->exposed_s[TIME_STEP] = rate_table[RATE_STEP_S].value;
	for (int l = 0; l < CLUSTER_MAX_LEVELS; l++)
		estimate->traffic_bytes[l] = m * sum->time.bytes[l] + sum->traffic.bytes[l];
	estimate->traffic_bytes[c->handoff_level] += m * handoffs * c->handoff_bytes;
}

/* Hand-offs of a stage for one micro-batch: every chunk boundary, both directions. */
static double
handoffs(const struct layout *layout, int stage)
{
	int last = layout->pp * layout->vpp - 1, count = 0;

	if (layout->pp == 1)
		return 0;
	for (int v = 0; v < layout->vpp; v++) {
		int chunk = v * layout->pp + stage;

		count += (chunk > 0) + (chunk < last);
	}
	return count;
}

/* Fills the times per chunk; the schedule sees nothing else. */
static void
schedule_inputs(const struct evaluator *e, const struct strategy *s, const struct costs *c,
    const struct layout *layout, double *forward, double *backward, struct schedule_times *t)
{
	for (int chunk = 0; chunk < layout->pp * layout->vpp; chunk++) {
		struct layer_time sum = {0};

		chunk_time(e, s, c, layout, chunk, &sum);
		forward[chunk] = sum.forward_s;
		backward[chunk] = sum.backward_s;
	}
	*t = (struct schedule_times){.pp = layout->pp, .vpp = layout->vpp,
	    .micro_batches = s->micro_batches, .forward_s = forward, .backward_s = backward,
	    .handoff_s = layout->pp > 1 ? c->handoff_s : 0, .blocking = layout->vpp == 1};
}

void
step_time(const struct evaluator *e, const struct strategy *s, const struct costs *c,
    const struct layout *layout, struct arena *scratch, struct estimate *estimate)
{
	double forward[LAYOUT_MAX_CHUNKS], backward[LAYOUT_MAX_CHUNKS];
	double schedule_s, slowest_s = 0, after_s = -1, busy, m = (double)s->micro_batches;
	struct schedule_times times;
	struct stage_sums sum, slowest;
	int stage = 0;

	schedule_inputs(e, s, c, layout, forward, backward, &times);
	for (int i = 0; i < layout->pp; i++) {
		double seconds = schedule_stage_s(&times, i);

		if (seconds > slowest_s) {
			slowest_s = seconds;
			stage = i;
		}
	}
	schedule_s = scratch ? schedule_simulate(&times, scratch) : schedule_closed_form(&times);
	/* The step ends when the last stage has reduced and updated. */
	memset(&slowest, 0, sizeof(slowest));
	for (int i = 0; i < layout->pp; i++) {
		stage_sums(e, s, c, layout, i, &sum);
		if (i == stage)
			slowest = sum;
		after_s = fmax(after_s, sum.traffic.exposed_s + sum.optimizer_s);
	}
	stage_parts(s, c, &slowest, handoffs(layout, stage), estimate);
	busy = m * (slowest_s - slowest.time.forward_s - slowest.time.backward_s);
	estimate->exposed_s[TIME_PIPELINE] += busy;
	estimate->exposed_s[TIME_BUBBLE] = schedule_s - m * slowest_s;
	/* what another stage needs longer for its gradients and update */
	estimate->exposed_s[TIME_DATA_PARALLEL] +=
	    after_s - slowest.traffic.exposed_s - slowest.optimizer_s;
	estimate->slowest_stage = stage;
	estimate->step_s = schedule_s + after_s + rate_table[RATE_STEP_S].value;
}
