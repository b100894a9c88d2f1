/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Is a finished plan what it says it is?
 *
 * Shares nothing with the search: the two grids are multiplied out again, the
 * batch, the layout and the groups are walked, the weights of every stage are
 * summed anew from the tensor table, parts are added up, and what the user
 * pinned or capped is held against each answer. A difference is a bug.
 * Not re-derived: activations and time, which tests hold against measurements.
 */
#include <math.h>
#include <string.h>

#include "model/groups.h"
#include "planner/search.h"
#include "planner/tensors.h"

struct checker {
	const struct model *model;
	const struct cluster *cluster;
	const struct job *job;
	struct diags *diags;
	int answer; /* 1: the best */
	int found;
};

/* Adds the finding when `holds` is false. */
static void
expect(struct checker *c, bool holds, const char *what, double is, double should)
{
	struct loc nowhere = {NULL, 0, 0};

	if (holds)
		return;
	diag_error(c->diags, nowhere, "answer %d: %s is %.17g, not %.17g", c->answer, what, is,
		    should);
	c->found++;
}

static void
check_grid(struct checker *c, const struct strategy *s)
{
	int64_t dense = s->tp * s->cp * s->gtp * s->pp * s->dp;
	int64_t expert = s->etp * s->ep * s->egtp * s->pp * s->edp;
	int64_t batch = s->micro_batch * s->micro_batches * s->dp;

	expect(c, dense == s->world, "tp*cp*gtp*pp*dp", (double)dense, (double)s->world);
	expect(c, expert == s->world, "etp*ep*egtp*pp*edp", (double)expert, (double)s->world);
	expect(c, batch == s->global_batch, "micro batch * count * dp", (double)batch,
	    (double)s->global_batch);
	expect(c, s->world <= c->cluster->world, "GPUs used", (double)s->world,
	    (double)c->cluster->world);
	expect(c, strategy_first_violation(s, c->model) == NULL, "rules broken", 1, 0);
}

static void
check_layout(struct checker *c, const struct strategy *s, const struct layout *layout)
{
	int chunks = (int)(s->pp * s->vpp);

	expect(c, layout->pp == s->pp && layout->vpp == s->vpp, "chunks of the layout",
	    layout->pp * layout->vpp, chunks);
	expect(c, layout->first[0] == 0, "first layer placed", layout->first[0], 0);
	expect(c, layout->first[chunks] == c->model->layers, "layers placed", layout->first[chunks],
	    (double)c->model->layers);
	for (int i = 0; i < chunks; i++) {
		int layers = layout->first[i + 1] - layout->first[i];
		bool end = i == 0 || i + 1 == chunks;

		expect(c, layers >= (end ? 0 : 1), "layers of a chunk", layers, 1);
	}
}

/* Elements of these rows on one rank that ZeRO-3 does not shard further. */
static double
local_elements(const struct tensor *rows, size_t n, const struct strategy *s, double kv_heads)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++) {
		double elements = rows[i].buffer ? 0 : (double)tensor_elements(&rows[i]);

		if (rows[i].shard == SHARD_TP)
			elements /= (double)s->tp;
		else if (rows[i].shard == SHARD_KV)
			elements /= fmin((double)s->tp, fmax(1, kv_heads));
		else if (rows[i].shard == SHARD_EXPERT)
			elements /= (double)(s->ep * s->etp);
		sum += elements;
	}
	return sum;
}

static double
layer_elements(const struct checker *c, const struct layer_kind *kind, const struct strategy *s)
{
	struct tensor rows[TENSORS_MAX];

	return local_elements(
	    rows, tensors_of_layer(c->model, kind, rows), s, (double)kind->mixer.kv_heads);
}

/* 2 bytes an element of everything that the layout puts on the stage. */
static double
stage_weights(const struct checker *c, const struct estimate *e, int stage)
{
	const struct strategy *s = &e->strategy;
	const struct layout *layout = &e->layout;
	struct tensor rows[TENSORS_MAX];
	int last = layout->pp * layout->vpp - 1, head_stage = layout_stage(layout, last);
	double embedding = local_elements(rows, tensors_of_embedding(c->model, rows), s, 1);
	double elements = 0;

	for (int v = 0; v < layout->vpp; v++) {
		int chunk = layout_chunk(layout, stage, v);

		for (int l = layout->first[chunk]; l < layout->first[chunk + 1]; l++)
			elements += layer_elements(c, &c->model->kinds[c->model->kind_of[l]], s);
	}
	if (stage == 0)
		elements += embedding;
	if (stage == head_stage) {
		double mtp = local_elements(rows, tensors_of_mtp(c->model, rows), s,
		    (double)c->model->mtp.mixer.kv_heads);

		elements += local_elements(rows, tensors_of_head(c->model, rows), s, 1);
		elements += (double)c->model->mtp_layers * (c->model->mtp_layers > 0 ? mtp : 0);
		if (stage != 0 && (c->model->tied || c->model->mtp_layers > 0))
			elements += embedding;
	}
	return 2 * elements;
}

static void
check_memory(struct checker *c, const struct estimate *e)
{
	double worst = 0;

	for (int i = 0; i < e->n_stages; i++) {
		const struct stage_memory *m = &e->stages[i];
		double sum = 0, weights = stage_weights(c, e, i);

		for (int p = 0; p < MEMORY_PARTS; p++)
			sum += m->parts[p];
		worst = fmax(worst, m->total_bytes);
		expect(c, fabs(sum - m->total_bytes) <= 1e-6 * sum, "sum of a stage's parts", sum,
		    m->total_bytes);
		if (e->strategy.zero < 3) /* beyond, units are gathered besides */
			expect(c, fabs(weights - m->parts[MEMORY_WEIGHTS]) <= 1e-6 * weights,
			    "weights of a stage", m->parts[MEMORY_WEIGHTS], weights);
	}
	expect(c, fabs(worst - e->worst_bytes) <= 1e-6 * worst, "worst stage", e->worst_bytes,
	    worst);
	expect(c, worst <= e->capacity_bytes, "memory of an answer", worst, e->capacity_bytes);
}

static void
check_time(struct checker *c, const struct estimate *e)
{
	double sum = 0;

	for (int i = 0; i < TIME_PARTS; i++)
		sum += e->exposed_s[i];
	expect(c, fabs(sum - e->step_s) <= 1e-6 * sum, "sum of the step's parts", sum, e->step_s);
}

static void
check_limits(struct checker *c, const struct estimate *e)
{
	const struct strategy *s = &e->strategy;
	const struct job *job = c->job;
	const int64_t values[] = {[AXIS_TP] = s->tp, [AXIS_CP] = s->cp, [AXIS_PP] = s->pp,
	    [AXIS_VPP] = s->vpp, [AXIS_EP] = s->ep, [AXIS_ETP] = s->etp,
	    [AXIS_MICRO_BATCH] = s->micro_batch, [AXIS_ZERO] = s->zero,
	    [AXIS_DISPATCHER] = s->dispatcher, [AXIS_RECOMPUTE] = recompute_value(s->recompute)};

	for (int axis = 0; axis < AXES; axis++) {
		if (axis == AXIS_DISPATCHER && s->ep == 1)
			continue; /* nothing is dispatched */
		expect(c, axis_allows(&job->limits[axis], values[axis]), axis_names[axis],
		    (double)values[axis], (double)job->limits[axis].max);
	}
	if (job->max_step_s > 0)
		expect(c, e->step_s <= job->max_step_s, "step", e->step_s, job->max_step_s);
	if (job->max_memory_bytes > 0)
		expect(c, e->worst_bytes <= (double)job->max_memory_bytes, "memory", e->worst_bytes,
		    (double)job->max_memory_bytes);
	if (job->max_gpus > 0)
		expect(c, s->world <= job->max_gpus, "GPUs", (double)s->world,
		    (double)job->max_gpus);
}

/* Every rank is in exactly one group of each kind. */
enum { GROUPS_CHECKED_TO = 4096 };
static void
check_groups(struct checker *c, const struct strategy *s)
{
	struct group_table *table;

	if (s->world > GROUPS_CHECKED_TO)
		return;
	table = groups_build(c->diags->arena, c->diags, s);
	expect(c, table != NULL, "group tables", 0, 1);
	for (size_t k = 0; table && k < table->n_kinds; k++) {
		const struct group_kind *kind = &table->kinds[k];
		bool seen[GROUPS_CHECKED_TO] = {false};
		int64_t ranks = 0;

		for (int64_t i = 0; i < kind->count * kind->size; i++) {
			ranks += !seen[kind->ranks[i]];
			seen[kind->ranks[i]] = true;
		}
		expect(c, ranks == s->world && kind->count * kind->size == s->world, kind->name,
		    (double)ranks, (double)s->world);
	}
}

int
plan_check(const struct plan *plan, const struct model *model, const struct cluster *cluster,
    const struct job *job, struct diags *diags)
{
	struct checker c = {.model = model, .cluster = cluster, .job = job, .diags = diags};

	for (int i = 0; i < plan->n_best; i++) {
		const struct estimate *e = &plan->best[i];

		c.answer = i + 1;
		check_grid(&c, &e->strategy);
		check_layout(&c, &e->strategy, &e->layout);
		check_memory(&c, e);
		check_time(&c, e);
		check_limits(&c, e);
		check_groups(&c, &e->strategy);
	}
	return c.found;
}
