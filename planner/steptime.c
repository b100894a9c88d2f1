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
	sum->weight_s += times * t->weight_s;
	sum->forward_s += times * t->forward_s;
	sum->backward_s += times * (t->backward_s + (replay ? t->recompute_s : 0));
}

/* Layers of a chunk by kind: [0] as they are, [1] replayed. */
struct chunk_counts {
	int layers[2][MODEL_MAX_KINDS];
	bool head, mtp;
};

static void
count_chunk(const struct evaluator *e, const struct strategy *s, const struct layout *layout,
    int chunk, struct chunk_counts *counts)
{
	int first = layout->first[chunk], end = layout->first[chunk + 1];
	int replay = first + replayed_layers(s, end - first);

	for (int r = 0; r < 2; r++)
		memset(counts->layers[r], 0, (size_t)e->n_kinds * sizeof(int));
	for (int l = first; l < end; l++)
		counts->layers[l < replay][e->model->kind_of[l]]++;
	counts->head = chunk_has_head(layout, chunk);
	counts->mtp = chunk_has_mtp(e, layout, chunk);
}

/* One pass through a chunk, all parts. */
static void
chunk_time(const struct evaluator *e, const struct strategy *s, const struct costs *c,
    const struct layout *layout, int chunk, struct layer_time *sum)
{
	struct chunk_counts counts;

	count_chunk(e, s, layout, chunk, &counts);
	for (int k = 0; k < e->n_kinds; k++)
		for (int r = 0; r < 2; r++)
			if (counts.layers[r][k] > 0)
				add_layer(sum, &c->time[k], counts.layers[r][k], r == 1);
	if (counts.head)
		add_layer(sum, &c->head, 1, false);
	if (counts.mtp)
		add_layer(sum, &c->time[e->n_kinds], (double)e->model->mtp_layers,
		    s->recompute.kind == RECOMPUTE_FULL);
}

/* The same, seconds only: what the schedule sees of a chunk. */
struct pass_seconds {
	double forward, backward, weight, alone_forward, alone_backward;
};

static void
add_seconds(struct pass_seconds *sum, const struct layer_time *t, double layers, double replayed)
{
	sum->forward += layers * t->forward_s;
	sum->backward += layers * t->backward_s + replayed * t->recompute_s;
	sum->weight += layers * t->weight_s;
	sum->alone_forward += layers * t->alone_forward_s;
	sum->alone_backward += layers * t->alone_backward_s;
}

static struct pass_seconds
chunk_seconds(const struct evaluator *e, const struct strategy *s, const struct costs *c,
    const struct layout *layout, int chunk)
{
	struct pass_seconds sum = {0};
	struct chunk_counts counts;

	count_chunk(e, s, layout, chunk, &counts);
	for (int k = 0; k < e->n_kinds; k++)
		add_seconds(&sum, &c->time[k], counts.layers[0][k] + counts.layers[1][k],
		    counts.layers[1][k]);
	if (counts.head)
		add_seconds(&sum, &c->head, 1, 0);
	if (counts.mtp) {
		double mtp = (double)e->model->mtp_layers;

		add_seconds(&sum, &c->time[e->n_kinds], mtp,
		    s->recompute.kind == RECOMPUTE_FULL ? mtp : 0);
	}
	return sum;
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

/* `seconds` of traffic, of which a share may hide, behind `window` seconds of computation. */
static double
hidden_behind(double share, double seconds, double window)
{
	return fmin(share * seconds, window);
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
data_parallel(const struct evaluator *e, const struct strategy *s, const struct costs *c,
    double dense, double expert, double forward_s, double backward_s)
{
	double share = s->overlap & OVERLAP_DP ? hidden_share(e, HIDDEN_DATA_PARALLEL) : 0;
	const struct sizes *z = &c->sizes;
	double g = s->grad_type == FLOAT_BF16 ? 2 : 4, m = (double)s->micro_batches;
	struct traffic t = {0};
	struct transfer dense_reduce = comm_gather(&z->links, &z->dp_span, g * dense);
	struct transfer expert_reduce = comm_gather(&z->links, &z->edp_span, g * expert);
	struct transfer dense_gather = comm_gather(&z->links, &z->dp_span, 2 * dense);
	struct transfer expert_gather = comm_gather(&z->links, &z->edp_span, 2 * expert);
	struct transfer reduce = both(&dense_reduce, &expert_reduce);
	struct transfer gather = both(&dense_gather, &expert_gather);

	if (s->zero >= 3 && !fsdp_stays_gathered(s)) {
		add_traffic(&t, c, &gather, m, hidden_behind(share, gather.seconds, forward_s));
		gather = both(&gather, &reduce);
		add_traffic(&t, c, &gather, m, hidden_behind(share, gather.seconds, backward_s));
		return t;
	}
	if (s->zero == 0)
		gather = reduce; /* all-reduce: the second half moves gradients, not parameters */
	add_traffic(&t, c, &reduce, s->zero == 2 ? m : 1,
	    hidden_behind(share, reduce.seconds, backward_s));
	add_traffic(&t, c, &gather, 1,
	    hidden_behind(share, gather.seconds, s->zero == 0 ? backward_s : forward_s));
	return t;
}

/* Zeroing, norm and clip over local gradients; Adam over its shard, here or on the host. */
static double
optimizer_s(const struct evaluator *e, const struct strategy *s, double dense, double expert,
    double *offload_s, double *host_bytes)
{
	double g = s->grad_type == FLOAT_BF16 ? 2 : 4;
	double moments = s->moment_type == FLOAT_FP32 ? 8 : s->moment_type == FLOAT_BF16 ? 4 : 2;
	double dense_ranks = s->zero >= 1 ? (double)(s->dp * s->cp) : 1;
	double expert_ranks = s->zero >= 1 ? (double)s->edp : 1;
	double copies = s->zero >= 1 ? weight_copies(s) : 1;
	double shard = (dense / dense_ranks + expert / expert_ranks) / copies;
	double held = s->zero >= 2 ? shard : dense + expert;
	double here = s->offload == OFFLOAD_OPTIMIZER ? 1 - s->offload_fraction : 1;

	*offload_s = offload_optimizer_s(e, s, shard);
	*host_bytes = offload_optimizer_bytes(s, shard);
	return (3 * g * held + here * shard * (g + 2 * (4 + moments) + 2)) /
	    memory_Bps(&e->cluster->gpu);
}

/* What a stage adds after the schedule. */
struct stage_after {
	double forward_s, backward_s; /* of one micro-batch */
	double dense, expert;         /* elements on a rank */
	struct traffic traffic;
	double optimizer_s, offload_s;
	double host_bytes;            /* of host memory that a rank takes for its optimizer */
};

static void
add_elements(struct stage_after *after, const struct buckets *buckets, const struct strategy *s,
    double times)
{
	after->dense += times * local_dense(buckets, s);
	after->expert += times * local_expert(buckets, s);
}

static void
count_elements(const struct evaluator *e, const struct strategy *s, const struct layout *layout,
    int stage, struct stage_after *after)
{
	int layers[MODEL_MAX_KINDS] = {0}, chunks[LAYOUT_MAX_CHUNKS];
	int n = rank_chunks(s, layout, stage, chunks);

	for (int v = 0; v < n; v++) {
		int chunk = chunks[v];

		for (int l = layout->first[chunk]; l < layout->first[chunk + 1]; l++)
			layers[e->model->kind_of[l]]++;
		if (chunk == 0)
			add_elements(after, &e->embedding, s, 1);
		if (chunk_has_head(layout, chunk))
			add_elements(after, &e->head, s, 1);
		if (chunk_has_mtp(e, layout, chunk)) {
			double mtp = (double)e->model->mtp_layers;

			add_elements(after, &e->kinds[e->n_kinds].buckets, s, mtp);
			add_elements(after, &e->mtp_own, s, mtp);
		}
	}
	for (int k = 0; k < e->n_kinds; k++)
		if (layers[k] > 0)
			add_elements(after, &e->kinds[k].buckets, s, layers[k]);
}

double
step_constant_s(const struct evaluator *e, const struct strategy *s)
{
	return rate_table[RATE_STEP_S].value * corrected_factor(e, s, CORRECTED_HOST);
}

static double
stage_after_s(const struct stage_after *after)
{
	return after->traffic.exposed_s + after->optimizer_s + after->offload_s;
}

static bool
same_work(const struct stage_after *a, const struct stage_after *b)
{
	return fabs(a->dense - b->dense) < 1 && fabs(a->expert - b->expert) < 1 &&
	    fabs(a->forward_s - b->forward_s) < 1e-9 && fabs(a->backward_s - b->backward_s) < 1e-9;
}

/* Traffic and optimizer of a stage; most stages are like the one before. */
static void
stage_after(const struct evaluator *e, const struct strategy *s, const struct costs *c,
    const struct layout *layout, const struct schedule_times *times, int stage,
    const struct stage_after *before, struct stage_after *after)
{
	double factor = corrected_factor(e, s, CORRECTED_DATA);
	int chunks[LAYOUT_MAX_CHUNKS], n = rank_chunks(s, layout, stage, chunks);

	memset(after, 0, sizeof(*after));
	for (int v = 0; v < n; v++) {
		after->forward_s += times->forward_s[chunks[v]];
		after->backward_s += times->backward_s[chunks[v]];
	}
	count_elements(e, s, layout, stage, after);
	if (before && same_work(before, after)) {
		*after = *before;
		return;
	}
	after->traffic = data_parallel(
	    e, s, c, after->dense, after->expert, after->forward_s, after->backward_s);
	after->optimizer_s = factor *
	    optimizer_s(e, s, after->dense, after->expert, &after->offload_s, &after->host_bytes);
	after->offload_s *= factor;
	after->traffic.exposed_s *= factor;
	after->traffic.hidden_s *= factor;
}

static void
stage_parts(const struct schedule_times *times, const struct costs *c,
    const struct layer_time *pass, const struct stage_after *after, double handoffs,
    double once_s, struct estimate *estimate)
{
	double m = (double)times->pipeline.micro_batches;

	for (int i = 0; i < TIME_PARTS; i++) {
		estimate->exposed_s[i] = m * (pass->forward[i] + pass->backward[i]);
		estimate->hidden_s[i] = m * pass->hidden[i];
	}
	estimate->exposed_s[TIME_DATA_PARALLEL] = after->traffic.exposed_s;
	estimate->hidden_s[TIME_DATA_PARALLEL] = after->traffic.hidden_s;
	estimate->exposed_s[TIME_OPTIMIZER] = after->optimizer_s;
	estimate->exposed_s[TIME_OFFLOAD] += after->offload_s;
	estimate->exposed_s[TIME_STEP] = once_s;
	for (int l = 0; l < CLUSTER_MAX_LEVELS; l++)
		estimate->traffic_bytes[l] = m * pass->bytes[l] + after->traffic.bytes[l];
	estimate->traffic_bytes[c->handoff_level] += m * handoffs * c->handoff_bytes;
}

/* Hand-offs of a stage for one micro-batch: every boundary to another stage, both directions. */
static double
handoffs(const struct layout *layout, int stage)
{
	int last = layout->pp * layout->vpp - 1, count = 0;

	if (layout->pp == 1)
		return 0;
	for (int v = 0; v < layout->vpp; v++) {
		int chunk = layout_chunk(layout, stage, v);

		count += chunk > 0 && layout_stage(layout, chunk - 1) != stage;
		count += chunk < last && layout_stage(layout, chunk + 1) != stage;
	}
	return count;
}

struct chunk_times {
	double forward[LAYOUT_MAX_CHUNKS], backward[LAYOUT_MAX_CHUNKS], weight[LAYOUT_MAX_CHUNKS];
	double alone_forward[LAYOUT_MAX_CHUNKS], alone_backward[LAYOUT_MAX_CHUNKS];
};

/* Fills the times per chunk; the schedule sees nothing else. */
static void
schedule_inputs(const struct evaluator *e, const struct strategy *s, const struct costs *c,
    const struct layout *layout, struct chunk_times *chunks, struct schedule_times *t)
{
	bool pairs = pairing_of(s) != PAIRS_NONE;

	for (int i = 0; i < layout->pp * layout->vpp; i++) {
		struct pass_seconds seconds = chunk_seconds(e, s, c, layout, i);

		chunks->forward[i] = seconds.forward;
		chunks->backward[i] = seconds.backward;
		chunks->weight[i] = seconds.weight;
		chunks->alone_forward[i] = seconds.alone_forward;
		chunks->alone_backward[i] = seconds.alone_backward;
	}
	*t = (struct schedule_times){.pipeline = pipeline_of(s), .forward_s = chunks->forward,
	    .backward_s = chunks->backward, .weight_s = chunks->weight,
	    .alone_forward_s = pairs ? chunks->alone_forward : NULL,
	    .alone_backward_s = pairs ? chunks->alone_backward : NULL,
	    .handoff_s = layout->pp > 1 ? c->handoff_s : 0,
	    .blocking = layout->vpp == 1 && s->schedule == SCHEDULE_1F1B};
}

/* Parts of an average stage: busy ones of all over their number, the rest of the step is bubble. */
static void
mean_parts(const struct evaluator *e, const struct strategy *s, const struct costs *c,
    const struct layout *layout, const struct schedule_times *times, double offload_s,
    struct estimate *estimate)
{
	double m = (double)s->micro_batches, pp = layout->pp, busy = 0, alone = 0;
	const struct pipeline *p = &times->pipeline;
	struct layer_time pass = {0};

	for (int chunk = 0; chunk < layout->pp * layout->vpp; chunk++)
		chunk_time(e, s, c, layout, chunk, &pass);
	for (int i = 0; i < TIME_PARTS; i++)
		estimate->mean_s[i] = m * (pass.forward[i] + pass.backward[i]) / pp;
	for (int i = 0; i < p->pp; i++) {
		busy += (double)p->micro_batches * schedule_stage_s(times, i) / p->pp;
		alone += schedule_alone_s(times, i) / p->pp;
	}
	estimate->mean_s[TIME_PIPELINE] +=
	    fmax(0, busy - m * (pass.forward_s + pass.backward_s) / pp);
	estimate->mean_s[TIME_ALL_TO_ALL] += alone;
	busy += alone;
	estimate->mean_s[TIME_DATA_PARALLEL] = estimate->exposed_s[TIME_DATA_PARALLEL];
	estimate->mean_s[TIME_OPTIMIZER] = estimate->exposed_s[TIME_OPTIMIZER];
	estimate->mean_s[TIME_OFFLOAD] += offload_s;
	estimate->mean_s[TIME_STEP] = estimate->exposed_s[TIME_STEP];
	busy += estimate->mean_s[TIME_DATA_PARALLEL] + estimate->mean_s[TIME_OPTIMIZER] +
	    offload_s + estimate->mean_s[TIME_STEP];
	estimate->mean_s[TIME_BUBBLE] = fmax(0, estimate->step_s - busy);
}

/* The stage that the others wait for, and its seconds for one micro-batch. */
static int
slowest_stage(const struct schedule_times *times, double *slowest_s)
{
	int slowest = 0;

	*slowest_s = 0;
	for (int i = 0; i < times->pipeline.pp; i++) {
		double seconds = schedule_stage_s(times, i);

		if (seconds > *slowest_s) {
			*slowest_s = seconds;
			slowest = i;
		}
	}
	return slowest;
}

bool
step_time(const struct evaluator *e, const struct strategy *s, const struct costs *c,
    const struct layout *layout, double limit_s, struct arena *scratch, struct estimate *estimate)
{
	double once_s = step_constant_s(e, s), schedule_s, slowest_s, longest_s = 0, alone_s, m;
	double node_bytes = 0;
	int chunks[LAYOUT_MAX_CHUNKS], n;
	struct chunk_times chunk_times;
	struct schedule_times times;
	struct stage_after after[2], slowest = {0};
	struct layer_time pass = {0};
	int stage;

	schedule_inputs(e, s, c, layout, &chunk_times, &times);
	stage = slowest_stage(&times, &slowest_s);
	/* The step ends when the last stage has reduced and updated. */
	for (int i = 0; i < layout->pp; i++) {
		struct stage_after *now = &after[i % 2];

		stage_after(e, s, c, layout, &times, i, i > 0 ? &after[(i + 1) % 2] : NULL, now);
		if (i == stage)
			slowest = *now;
		longest_s = fmax(longest_s, stage_after_s(now));
		add_host_bytes(e, s, i, now->host_bytes, &node_bytes, estimate);
	}
	if (scratch && limit_s < INFINITY) {
		estimate->step_s = schedule_least(&times) + longest_s + once_s;
		if (estimate->step_s >= limit_s)
			return false;
	}
	schedule_s = scratch ? schedule_simulate(&times, scratch) : schedule_closed_form(&times);
	n = rank_chunks(s, layout, stage, chunks);
	for (int v = 0; v < n; v++)
		chunk_time(e, s, c, layout, chunks[v], &pass);
	stage_parts(&times, c, &pass, &slowest, handoffs(layout, stage), once_s, estimate);
	m = (double)times.pipeline.micro_batches;
	alone_s = schedule_alone_s(&times, stage);
	/* differences of equal sums may come out a rounding below zero */
	estimate->exposed_s[TIME_PIPELINE] +=
	    fmax(0, m * (slowest_s - pass.forward_s - pass.backward_s));
	estimate->exposed_s[TIME_ALL_TO_ALL] += alone_s;
	estimate->hidden_s[TIME_ALL_TO_ALL] -= alone_s;
	estimate->exposed_s[TIME_BUBBLE] = fmax(0, schedule_s - m * slowest_s - alone_s);
	/* what another stage needs longer for its gradients and update */
	estimate->exposed_s[TIME_DATA_PARALLEL] +=
	    longest_s - stage_after_s(&slowest);
	estimate->slowest_stage = stage;
	estimate->step_s = schedule_s + longest_s + once_s;
	if (scratch)
		mean_parts(e, s, c, layout, &times, slowest.offload_s, estimate);
	return true;
}
