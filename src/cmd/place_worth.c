/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What is a placement worth on this model and machine? The planner's step time of one
 * strategy, with every layer's fullest rank and traffic as the placement has them.
 *
 * Its dependence on the two is taken at three points and laid flat:
 *     step(ratio, share) = rest + compute * ratio + traffic * ratio * share
 * Ignores: that layers differ within a step.
 */
#include <math.h>

#include "cmd/place_facts.h"
#include "planner/tensors.h"

static const struct loc nowhere;

/* Step time when the fullest rank has `ratio` times the mean and `share` of the tokens leave their
 * node. */
static double
step_s(struct request *request, const struct place_facts *facts, double ratio, double share)
{
	int nodes = facts->options.nodes;
	struct job job = request->job;
	struct arena_mark mark = arena_mark(request->arena);
	struct evaluator *evaluator;
	struct estimate *estimate = arena_alloc(request->arena, sizeof(*estimate));
	double step;

	job.skew = (struct load_skew){.kind = SKEW_MAX,
	    .value = fmax(1, ratio),
	    .off_node = nodes > 1 ? share * nodes / (nodes - 1) : 0};
	evaluator = evaluator_new(request->arena, request->model, request->cluster, &job);
	evaluate(evaluator, &facts->worth.strategy, NULL, NULL, estimate);
	step = estimate->step_s;
	arena_reset(request->arena, mark);
	return step;
}

static double
bytes_of_expert(const struct model *model)
{
	const struct layer_kind *moe = model_moe(model);
	struct tensor rows[TENSORS_MAX];
	size_t n = moe ? tensors_of_layer(model, moe, rows) : 0;
	double elements = 0;

	for (size_t i = 0; i < n; i++)
		if (rows[i].shard == SHARD_EXPERT)
			elements += (double)tensor_elements(&rows[i]);
	return moe ? 2 * elements / (double)moe->ffn.experts : 0;
}

/* The strategy whose step is looked at: the user's, its EP the GPUs of the placement. */
static int
settle_strategy(struct request *request, struct place_facts *facts)
{
	struct strategy *s = &facts->worth.strategy;

	*s = request->job.base;
	if (s->ep > 0 && s->ep != facts->options.gpus)
		return diag_error(request->diags, nowhere, "EP is %lld, --gpus is %d",
		    (long long)s->ep, facts->options.gpus);
	s->ep = facts->options.gpus;
	strategy_derive(s, request->model, request->cluster->world);
	return strategy_violations(s, request->model, request->diags) > 0 ? -1 : 0;
}

enum status
place_price(struct request *request, struct place_facts *facts)
{
	int nodes = facts->options.nodes;
	double even = nodes > 1 ? (double)(nodes - 1) / nodes : 0, base, heavier, nearer;
	struct placement_price *price = &facts->options.price;
	enum status status;

	if (request->model)
		facts->worth.expert_bytes = bytes_of_expert(request->model);
	if (!request->model || !request->cluster)
		return STATUS_YES;
	status = job_prepare(request);
	if (status != STATUS_YES)
		return status;
	if (settle_strategy(request, facts) != 0)
		return STATUS_NO;
	facts->worth.known = true;
	base = step_s(request, facts, 1, even);
	heavier = step_s(request, facts, 1.1, even);
	nearer = step_s(request, facts, 1, even / 2);
	price->traffic = nodes > 1 ? fmax(0, (base - nearer) / (even / 2)) : 0;
	price->compute = fmax(0, (heavier - base) / 0.1 - price->traffic * even);
	if (price->compute + price->traffic <=
	    0) /* hidden behind other work: balance all the same */
		price->compute = 1;
	return STATUS_YES;
}

void
place_worth(struct request *request, struct place_facts *facts)
{
	const struct placement *p = facts->placement;
	struct place_worth *worth = &facts->worth;

	if (!worth->known)
		return;
	worth->step_s = step_s(request, facts, p->mean.ratio, p->mean.share);
	for (int b = 0; b < BASELINES; b++)
		if (p->baseline_mean[b].ratio > 0)
			worth->baseline_s[b] = step_s(
			    request, facts, p->baseline_mean[b].ratio, p->baseline_mean[b].share);
	worth->from_s = p->from_mean.ratio > 0
			    ? step_s(request, facts, p->from_mean.ratio, p->from_mean.share)
			    : worth->baseline_s[BASELINE_CONTIGUOUS];
}
