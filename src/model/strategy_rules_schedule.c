/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which pipeline schedules go with which stages and micro-batches? The rules are
 * listed in strategy_rules.c. Sources: NVIDIA/Megatron-LM core/pipeline_parallel/
 * schedules.py, pytorch/pytorch torch/distributed/pipelining/schedules.py,
 * deepseek-ai/DualPipe.
 */
#include "base/str.h"
#include "model/strategy_grid.h"
#include "model/strategy_rules.h"

bool
virtual_needs_stages_holds(const struct strategy *s, const struct model *model)
{
	(void)model;
	return s->vpp == 1 || s->pp > 1;
}

void
virtual_needs_stages_report(const struct grid_rule *rule, const struct strategy *s,
    const struct model *model, struct diags *diags)
{
	(void)model;
	BROKEN(rule, diags, "vpp %lld needs more than pp %lld stage", (long long)s->vpp,
	    (long long)s->pp);
	diag_last_hint(diags, "use --vpp 1, or --pp 2 or more");
}

/*
 * core/ssm/mamba_block.py, 0.10 to 0.16: "does not currently support virtual/interleaved pipeline
 * parallelism". Since 0.17 virtual stages are parts of --hybrid-layer-pattern.
 */
bool
virtual_mamba_holds(const struct strategy *s, const struct model *model)
{
	return s->vpp <= 1 || !model || !s->framework_version || !model_has_mamba(model) ||
	       version_compare(s->framework_version, "0.17") >= 0;
}

void
virtual_mamba_report(const struct grid_rule *rule, const struct strategy *s,
    const struct model *model, struct diags *diags)
{
	(void)model;
	BROKEN(rule, diags,
	    "vpp %lld: Megatron-LM %s builds models with Mamba layers without virtual stages",
	    (long long)s->vpp, s->framework_version);
	diag_last_hint(diags, "use --vpp 1, or --framework megatron@0.17 or newer");
}

/* A V has rules of its own. */
static bool
interleaves(const struct strategy *s)
{
	return s->vpp > 1 && !schedule_is_vee(s->schedule);
}

bool
virtual_warm_up_holds(const struct strategy *s, const struct model *model)
{
	(void)model;
	return !interleaves(s) || s->micro_batches == 0 || s->micro_batches >= s->pp;
}

void
virtual_warm_up_report(const struct grid_rule *rule, const struct strategy *s,
    const struct model *model, struct diags *diags)
{
	(void)model;
	BROKEN(rule, diags, "vpp %lld interleaves groups of pp %lld micro-batches, there are %lld",
	    (long long)s->vpp, (long long)s->pp, (long long)s->micro_batches);
	diag_last_hint(diags, "use --vpp 1, or --global-batch %lld or more",
	    (long long)grid_product(s->pp, grid_product(s->micro_batch, s->dp)));
}

bool
virtual_rounds_holds(const struct strategy *s, const struct model *model)
{
	(void)model;
	return !interleaves(s) || s->micro_batches < s->pp || divides(s->pp, s->micro_batches);
}

void
virtual_rounds_report(const struct grid_rule *rule, const struct strategy *s,
    const struct model *model, struct diags *diags)
{
	int64_t each = grid_product(s->micro_batch, s->dp);
	int64_t below = s->pp > 0 ? s->micro_batches / s->pp * s->pp : 0;

	(void)model;
	BROKEN(rule, diags,
	    "vpp %lld interleaves groups of pp %lld micro-batches, %lld is not a multiple",
	    (long long)s->vpp, (long long)s->pp, (long long)s->micro_batches);
	diag_last_hint(diags, "use --global-batch %lld or %lld, or --vpp 1",
	    (long long)grid_product(below, each), (long long)grid_product(below + s->pp, each));
}

/* What a schedule asks of the virtual stages; NULL when it has it. */
static const char *
schedule_obstacle(const struct strategy *s)
{
	switch (s->schedule) {
	case SCHEDULE_1F1B:
		return s->vpp > 1 ? "has one virtual stage a rank" : NULL;
	case SCHEDULE_INTERLEAVED:
		return s->vpp == 1 ? "has two virtual stages a rank or more" : NULL;
	case SCHEDULE_ZB:
		if (s->pp == 1)
			return "has more than one pipeline stage";
		return s->vpp == 1 && s->framework == FRAMEWORK_TORCHTITAN
			   ? "has two virtual stages a rank or more in torchtitan"
			   : NULL;
	case SCHEDULE_ZBV:
	case SCHEDULE_DUALPIPEV:
		return s->vpp != 2 ? "has two virtual stages a rank" : NULL;
	case SCHEDULE_DUALPIPE:
		return s->vpp > 1 || s->pp % 2 != 0
			   ? "has one virtual stage a rank and an even number of ranks"
			   : NULL;
	default:
		return NULL;
	}
}

bool
schedule_fits_holds(const struct strategy *s, const struct model *model)
{
	(void)model;
	if (s->framework == FRAMEWORK_DEEPSPEED)
		return s->vpp == 1 && s->schedule == SCHEDULE_1F1B;
	return !schedule_obstacle(s);
}

static const char *
schedule_hint(const struct strategy *s)
{
	switch (s->schedule) {
	case SCHEDULE_1F1B:
		return "use --schedule interleaved, or --vpp 1";
	case SCHEDULE_INTERLEAVED:
		return "use --vpp 2 or more, or --schedule 1f1b";
	case SCHEDULE_ZB:
		return s->pp == 1 ? "use --pp 2 or more, or --schedule 1f1b"
				  : "use --vpp 2, or --schedule 1f1b with --vpp 1";
	case SCHEDULE_DUALPIPE:
		return "use --vpp 1 and an even --pp, or --schedule dualpipev with --vpp 2";
	default:
		return "use --vpp 2, or --schedule 1f1b with --vpp 1";
	}
}

void
schedule_fits_report(const struct grid_rule *rule, const struct strategy *s,
    const struct model *model, struct diags *diags)
{
	const char *name =
	    s->schedule >= 0 && s->schedule < SCHEDULES ? schedule_names[s->schedule] : "unset";

	(void)model;
	if (s->framework == FRAMEWORK_DEEPSPEED) {
		BROKEN(rule, diags, "DeepSpeed pipelines have no schedule '%s' with vpp %lld", name,
		    (long long)s->vpp);
		diag_last_hint(diags, "use --vpp 1 --schedule 1f1b");
		return;
	}
	BROKEN(rule, diags, "schedule '%s' does not go with pp %lld, vpp %lld: it %s", name,
	    (long long)s->pp, (long long)s->vpp, schedule_obstacle(s));
	diag_last_hint(diags, "%s", schedule_hint(s));
}

/* Micro-batches that fill a schedule of two directions; 0: it takes any number. */
static int64_t
schedule_needs(const struct strategy *s)
{
	bool dual = s->schedule == SCHEDULE_DUALPIPE || s->schedule == SCHEDULE_DUALPIPEV;

	return dual && s->pp > 1 ? grid_product(2, s->pp) : 0;
}

/* PyTorch's loops go round in groups of pp micro-batches or somewhat more, all as large. */
static int64_t
schedule_rounds(const struct strategy *s)
{
	bool loops = s->schedule == SCHEDULE_INTERLEAVED || s->schedule == SCHEDULE_ZB;

	return loops && s->vpp > 1 && s->framework == FRAMEWORK_TORCHTITAN && s->pp > 0 &&
		       s->micro_batches > s->pp
		   ? s->micro_batches / s->pp
		   : 1;
}

bool
schedule_filled_holds(const struct strategy *s, const struct model *model)
{
	(void)model;
	if (s->micro_batches == 0)
		return true;
	if (s->schedule == SCHEDULE_DUALPIPE && s->micro_batches % 2 != 0)
		return false;
	return s->micro_batches >= schedule_needs(s) &&
	       divides(schedule_rounds(s), s->micro_batches);
}

void
schedule_filled_report(const struct grid_rule *rule, const struct strategy *s,
    const struct model *model, struct diags *diags)
{
	int64_t each = grid_product(s->micro_batch, s->dp), needed = schedule_needs(s);
	int64_t rounds = schedule_rounds(s), groups = s->pp > 0 ? s->micro_batches / s->pp : 0;

	(void)model;
	if (rounds > 1) {
		BROKEN(rule, diags,
		    "schedule '%s' makes %lld rounds of %lld micro-batches over pp %lld, which "
		    "do not divide",
		    schedule_names[s->schedule], (long long)rounds, (long long)s->micro_batches,
		    (long long)s->pp);
		diag_last_hint(diags, "use --global-batch %lld",
		    (long long)grid_product(grid_product(groups, s->pp), each));
		return;
	}
	if (needed < s->micro_batches)
		needed = s->micro_batches + 1;
	BROKEN(rule, diags,
	    "schedule '%s' over pp %lld needs %lld micro-batches or more%s, there are %lld",
	    schedule_names[s->schedule], (long long)s->pp, (long long)schedule_needs(s),
	    s->schedule == SCHEDULE_DUALPIPE ? ", an even number" : "",
	    (long long)s->micro_batches);
	diag_last_hint(
	    diags, "use --global-batch %lld", (long long)grid_product(needed, each));
}
