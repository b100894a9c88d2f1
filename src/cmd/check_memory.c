/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Does the configuration fit, and which single change makes it fit? The
 * planner's evaluator says both; a change counts only after it was evaluated.
 */
#include <string.h>

#include "check/context.h"
#include "cmd/check_report.h"

static bool
breaks_rules(struct request *request, const struct strategy *strategy, const struct model *model)
{
	(void)request;
	return strategy_first_violation(strategy, model) != NULL;
}

static const char *
obstacle(struct request *request, struct check_report *report)
{
	if (!report->model)
		return "no model";
	if (!report->cluster)
		return "no cluster";
	if (evaluator_refusal(request->arena, report->model))
		return evaluator_refusal(request->arena, report->model);
	if (report->strategy.seq_len <= 0)
		return "no sequence length";
	if (report->other)
		return "the framework is not one that is modelled";
	return NULL;
}

/* What an estimate needs and nobody gave: enough micro-batches to fill the pipeline. */
static void
assume_batch(struct check_report *report, struct strategy *strategy)
{
	if (strategy->global_batch > 0)
		return;
	strategy->global_batch = strategy->micro_batch * strategy->dp * strategy->pp * 2;
	strategy_derive(strategy, report->model, 0);
	diag_add(report->findings, (struct loc){NULL, 0, 0}, NULL, SEVERITY_NOTE,
	    "no global batch is given: memory is that of a full pipeline, %lld micro-batches",
	    (long long)strategy->micro_batches);
}

static bool
evaluate_one(struct request *request, const struct check_report *report,
    const struct strategy *strategy, struct estimate *estimate)
{
	struct arena *arena = request->arena;
	struct job *job = arena_alloc(arena, sizeof(*job));
	struct layout *layout = arena_alloc(arena, sizeof(*layout));
	struct evaluator *evaluator;
	struct stage_memory *stages;

	if (breaks_rules(request, strategy, report->model) ||
	    strategy->world > report->cluster->world)
		return false;
	if (!strategy->layout)
		layout_even(
		    layout, report->model->layers, (int)strategy->pp, (int)strategy->vpp);
	else if (layout_parse(layout, strategy->layout, report->model, (int)strategy->pp,
		     diags_new(arena), (struct loc){NULL, 0, 0}) != 0)
		return false;
	*job = request->job;
	job->base = *strategy;
	stages = arena_array(arena, (size_t)strategy->pp, sizeof(*stages));
	evaluator = evaluator_new(arena, report->model, report->cluster, job);
	evaluate_exact(evaluator, strategy, layout, arena, stages, estimate);
	estimate->stages = stages;
	return true;
}

void
check_estimate(struct request *request, struct check_report *report)
{
	struct estimate *estimate = arena_alloc(request->arena, sizeof(*estimate));
	struct strategy strategy;

	if (report->strategy.seq_len <= 0 && report->model && report->cluster)
		report->strategy.seq_len = report->model->max_positions;
	report->no_estimate = obstacle(request, report);
	if (report->no_estimate)
		return;
	if (breaks_rules(request, &report->strategy, report->model)) {
		report->no_estimate = "the degrees break rules";
		return;
	}
	strategy = report->strategy;
	assume_batch(report, &strategy);
	if (evaluate_one(request, report, &strategy, estimate))
		report->estimate = estimate;
	else
		report->no_estimate = "the strategy cannot be evaluated";
}

/* --- one change at a time ------------------------------------------------------------------- */

static void
redo(struct strategy *s)
{
	s->dp = s->edp = 0;
	s->schedule = -1;
	s->order = NULL;
	s->layout = NULL;
	s->dp_shard = 0;
	s->micro_batches = 0;
}

typedef bool change_fn(struct strategy *strategy);

static bool
double_ep(struct strategy *s)
{
	s->ep *= 2;
	return true;
}

static bool
double_tp(struct strategy *s)
{
	if (s->etp == s->tp && s->etp > 1)
		s->etp *= 2;
	s->tp *= 2;
	return true;
}

static bool
double_pp(struct strategy *s)
{
	s->pp *= 2;
	s->vpp = 1;
	return true;
}

static bool
double_cp(struct strategy *s)
{
	s->cp *= 2;
	return s->framework != FRAMEWORK_DEEPSPEED;
}

static bool
halve_micro_batch(struct strategy *s)
{
	if (s->micro_batch % 2 != 0)
		return false;
	s->micro_batch /= 2;
	return true;
}

static bool
recompute_full(struct strategy *s)
{
	if (s->recompute.kind == RECOMPUTE_FULL && s->recompute.layers == 0)
		return false;
	s->recompute = (struct recompute){.kind = RECOMPUTE_FULL};
	s->overlap &= ~(unsigned)OVERLAP_EP;
	return true;
}

static bool
recompute_moe_act(struct strategy *s)
{
	if (s->recompute.kind != RECOMPUTE_NONE || s->framework != FRAMEWORK_MEGATRON)
		return false;
	s->recompute = (struct recompute){
	    .kind = RECOMPUTE_SELECTIVE, .modules = MODULE_MOE_ACT | MODULE_LAYERNORM};
	return true;
}

static bool
shard_optimizer(struct strategy *s)
{
	if (s->zero != 0)
		return false;
	s->zero = 1;
	return true;
}

static bool
offload_optimizer(struct strategy *s)
{
	if (s->offload != OFFLOAD_NONE)
		return false;
	s->offload = OFFLOAD_OPTIMIZER;
	s->offload_fraction = 1;
	return true;
}

static bool
fewer_chunks(struct strategy *s)
{
	if (s->vpp == 1)
		return false;
	s->vpp = 1;
	return true;
}

static const struct {
	const char *name;
	change_fn *change;
} changes[] = {
    {"twice the EP", double_ep},
    {"selective recomputation", recompute_moe_act},
    {"full recomputation", recompute_full},
    {"half the micro-batch", halve_micro_batch},
    {"twice the PP", double_pp},
    {"no virtual stages", fewer_chunks},
    {"twice the TP", double_tp},
    {"twice the CP", double_cp},
    {"a sharded optimizer", shard_optimizer},
    {"the optimizer in host memory", offload_optimizer},
};

/* What differs from the configuration, as an option: "--ep 16". */
static const char *
change_text(struct request *request, const struct strategy *s, const struct strategy *from)
{
	struct arena *arena = request->arena;

	if (s->ep != from->ep)
		return arena_printf(arena, "--ep %lld", (long long)s->ep);
	if (s->tp != from->tp)
		return arena_printf(arena, "--tp %lld", (long long)s->tp);
	if (s->pp != from->pp)
		return arena_printf(arena, "--pp %lld", (long long)s->pp);
	if (s->cp != from->cp)
		return arena_printf(arena, "--cp %lld", (long long)s->cp);
	if (s->vpp != from->vpp)
		return arena_printf(arena, "--vpp %lld", (long long)s->vpp);
	if (s->micro_batch != from->micro_batch)
		return arena_printf(arena, "--micro-batch %lld", (long long)s->micro_batch);
	if (s->zero != from->zero)
		return arena_printf(arena, "--zero %d", s->zero);
	if (s->offload != from->offload)
		return "--offload optimizer";
	return arena_printf(arena, "--recompute %s", recompute_text(arena, s->recompute));
}

static void
try_change(struct request *request, struct check_report *report, change_fn *change)
{
	struct check_knob *knob = &report->knobs[report->n_knobs];
	struct strategy strategy = report->estimate->strategy;
	struct estimate estimate = {.n_stages = 0};

	redo(&strategy);
	if (!change(&strategy))
		return;
	strategy_derive(&strategy, report->model, 0);
	if (!evaluate_one(request, report, &strategy, &estimate))
		return;
	knob->text = change_text(request, &strategy, &report->estimate->strategy);
	knob->verdict = estimate.verdict;
	knob->worst_bytes = estimate.worst_bytes;
	knob->step_s = estimate.step_s;
	report->n_knobs++;
}

/* The fastest that fits; without one the smallest. */
static int
best_knob(const struct check_report *report)
{
	int best = -1;

	for (int i = 0; i < report->n_knobs; i++) {
		const struct check_knob *knob = &report->knobs[i];

		if (knob->verdict == VERDICT_FITS &&
		    (best < 0 || knob->step_s < report->knobs[best].step_s))
			best = i;
	}
	return best;
}

void
check_try_knobs(struct request *request, struct check_report *report)
{
	report->best_knob = -1;
	if (!report->estimate || report->estimate->verdict == VERDICT_FITS)
		return;
	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++)
		try_change(request, report, changes[i].change);
	report->best_knob = best_knob(report);
}
