/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What can the chosen framework do and be told? The rules are listed in strategy_rules.c. */
#include "model/strategy_rules.h"

#include "base/str.h"

/* Megatron's rank groups allow any EP; DeepSpeed cuts EP out of the pipeline stage or out of dp. */
static bool
has_expert_tp(const struct strategy *s)
{
	return s->expert_tp == 1 && !s->auto_ep;
}

static int64_t
stage_ranks(const struct strategy *s)
{
	return divides(s->pp, s->world) ? s->world / s->pp : 0;
}

bool
deepspeed_context_holds(const struct strategy *s, const struct model *model)
{
	(void)model;
	return s->cp == 1;
}

void
deepspeed_context_report(const struct grid_rule *rule, const struct strategy *s,
    const struct model *model, struct diags *diags)
{
	(void)model;
	BROKEN(rule, diags, "cp %lld: DeepSpeed has no context-parallel axis", (long long)s->cp);
	diag_last_hint(diags, "use --cp 1");
}

static int64_t
deepspeed_etp(const struct strategy *s)
{
	return has_expert_tp(s) ? s->tp : 1;
}

bool
deepspeed_etp_holds(const struct strategy *s, const struct model *model)
{
	(void)model;
	return s->etp == deepspeed_etp(s);
}

void
deepspeed_etp_report(const struct grid_rule *rule, const struct strategy *s,
    const struct model *model, struct diags *diags)
{
	(void)model;
	BROKEN(rule, diags, "etp %lld: DeepSpeed has %s", (long long)s->etp,
	    s->auto_ep	       ? "1 with AutoEP"
	    : has_expert_tp(s) ? "tp with expert tensor parallelism"
			       : "1 without expert tensor parallelism");
	diag_last_hint(diags, "leave --etp out: it follows as %lld", (long long)deepspeed_etp(s));
}

bool
deepspeed_stage_holds(const struct strategy *s, const struct model *model)
{
	(void)model;
	return has_expert_tp(s) || s->auto_ep || divides(s->ep, stage_ranks(s));
}

static void
report_stage(const struct grid_rule *rule, const struct strategy *s, const struct model *model,
    struct diags *diags)
{
	int64_t stage = stage_ranks(s);
	struct diag *diag = BROKEN(rule, diags,
	    "a pipeline stage has %lld GPUs (world %lld / pp %lld), which is not a multiple of ep "
	    "%lld",
	    (long long)stage, (long long)s->world, (long long)s->pp, (long long)s->ep);

	diag_number(diags, diag, "stage", (double)stage);
	diag_number(diags, diag, "ep", (double)s->ep);
	hint_divisors(diags, s, model, "ep", stage, s->ep);
}

void
deepspeed_stage_report(const struct grid_rule *rule, const struct strategy *s,
    const struct model *model, struct diags *diags)
{
	report_stage(rule, s, model, diags);
}

bool
deepspeed_lane_holds(const struct strategy *s, const struct model *model)
{
	(void)model;
	return !has_expert_tp(s) || s->dp == 0 || divides(s->ep, s->dp);
}

void
deepspeed_lane_report(const struct grid_rule *rule, const struct strategy *s,
    const struct model *model, struct diags *diags)
{
	struct diag *diag = BROKEN(rule, diags,
	    "dense dp %lld (world %lld / (tp %lld x pp %lld)) is not a multiple of ep %lld: with "
	    "expert tensor parallelism experts live inside dp",
	    (long long)s->dp, (long long)s->world, (long long)s->tp, (long long)s->pp,
	    (long long)s->ep);

	diag_number(diags, diag, "dp", (double)s->dp);
	diag_number(diags, diag, "ep", (double)s->ep);
	hint_divisors(diags, s, model, "ep", s->dp, s->ep);
}

bool
deepspeed_folding_holds(const struct strategy *s, const struct model *model)
{
	(void)model;
	return !s->auto_ep || divides(s->ep, stage_ranks(s));
}

void
deepspeed_folding_report(const struct grid_rule *rule, const struct strategy *s,
    const struct model *model, struct diags *diags)
{
	report_stage(rule, s, model, diags);
}

bool
deepspeed_native_zero_holds(const struct strategy *s, const struct model *model)
{
	return s->zero != 3 || s->auto_ep || (s->ep == 1 && (!model || !model_moe(model)));
}

void
deepspeed_native_zero_report(const struct grid_rule *rule, const struct strategy *s,
    const struct model *model, struct diags *diags)
{
	(void)s, (void)model;
	BROKEN(rule, diags, "zero 3 is not supported with native DeepSpeed MoE layers");
	diag_last_hint(diags, "use --zero 2, or --auto-ep");
}

bool
deepspeed_pipeline_zero_holds(const struct strategy *s, const struct model *model)
{
	(void)model;
	return s->pp == 1 || s->zero <= 1;
}

void
deepspeed_pipeline_zero_report(const struct grid_rule *rule, const struct strategy *s,
    const struct model *model, struct diags *diags)
{
	(void)model;
	BROKEN(rule, diags, "zero %d is incompatible with pipeline parallelism (pp %lld)", s->zero,
	    (long long)s->pp);
	diag_last_hint(diags, "use --zero 1, or --pp 1");
}

/* What AutoEP together with AutoTP excludes (DeepSpeed 0.19.3 validate_folding_global). */
static const char *
folding_limit(const struct strategy *s)
{
	if (!s->auto_ep || s->tp == 1)
		return NULL;
	if (s->pp > 1)
		return "pp over 1";
	if (s->ep == 1)
		return "ep 1";
	if (s->data_before_expert)
		return "data-before-expert";
	if (s->zero == 3)
		return "zero 3";
	return s->offload != OFFLOAD_NONE ? "offload" : NULL;
}

bool
deepspeed_folding_limits_holds(const struct strategy *s, const struct model *model)
{
	(void)model;
	return !folding_limit(s);
}

void
deepspeed_folding_limits_report(const struct grid_rule *rule, const struct strategy *s,
    const struct model *model, struct diags *diags)
{
	(void)model;
	BROKEN(rule, diags, "AutoEP with tp %lld does not support %s", (long long)s->tp,
	    folding_limit(s));
	diag_last_hint(diags, "use --tp 1, or change that setting");
}

bool
deepspeed_offload_holds(const struct strategy *s, const struct model *model)
{
	(void)model;
	return s->offload != OFFLOAD_OPTIMIZER || s->offload_fraction >= 1 || s->zero == 3;
}

void
deepspeed_offload_report(const struct grid_rule *rule, const struct strategy *s,
    const struct model *model, struct diags *diags)
{
	(void)model;
	BROKEN(rule, diags, "offloading a part (%g) of the optimizer needs zero 3, not %d",
	    s->offload_fraction, s->zero);
	diag_last_hint(diags, "use --offload optimizer, or --zero 3");
}

static int64_t
sparse_ranks(const struct strategy *s)
{
	return grid_product(grid_product(s->dp_shard, s->cp), s->tp);
}

bool
torchtitan_sparse_holds(const struct strategy *s, const struct model *model)
{
	(void)model;
	return s->dp_shard <= 0 || divides(grid_product(s->etp, s->ep), sparse_ranks(s));
}

void
torchtitan_sparse_report(const struct grid_rule *rule, const struct strategy *s,
    const struct model *model, struct diags *diags)
{
	int64_t ranks = sparse_ranks(s);
	struct diag *diag = BROKEN(rule, diags,
	    "dp_shard %lld x cp %lld x tp %lld = %lld is not a multiple of etp %lld x ep %lld: "
	    "experts lie inside the sharded ranks",
	    (long long)s->dp_shard, (long long)s->cp, (long long)s->tp, (long long)ranks,
	    (long long)s->etp, (long long)s->ep);

	diag_number(diags, diag, "ranks", (double)ranks);
	diag_number(diags, diag, "ep", (double)s->ep);
	if (divides(s->etp, ranks))
		hint_divisors(diags, s, model, "ep", ranks / s->etp, s->ep);
}

bool
torchtitan_etp_holds(const struct strategy *s, const struct model *model)
{
	(void)model;
	return s->etp == 1 || (strategy_is_old_torchtitan(s) && s->etp == s->tp);
}

void
torchtitan_etp_report(const struct grid_rule *rule, const struct strategy *s,
    const struct model *model, struct diags *diags)
{
	(void)model;
	if (strategy_is_old_torchtitan(s))
		BROKEN(rule, diags, "etp %lld: torchtitan 0.2 has etp 1 or tp %lld",
		    (long long)s->etp, (long long)s->tp);
	else
		BROKEN(rule, diags,
		    "etp %lld: torchtitan has had no expert tensor parallelism since "
		    "0.3",
		    (long long)s->etp);
	diag_last_hint(diags, "use --etp 1");
}

bool
torchtitan_zero_holds(const struct strategy *s, const struct model *model)
{
	(void)model;
	return s->zero >= 2 || grid_product(s->dp_shard, s->cp) <= 1;
}

void
torchtitan_zero_report(const struct grid_rule *rule, const struct strategy *s,
    const struct model *model, struct diags *diags)
{
	(void)model;
	BROKEN(rule, diags,
	    "zero %d with dp_shard %lld x cp %lld: torchtitan shards parameters (FSDP)", s->zero,
	    (long long)s->dp_shard, (long long)s->cp);
	diag_last_hint(
	    diags, "use --zero 3, or 2 to keep gathered parameters until the backward pass");
}

bool
own_recompute_holds(const struct strategy *s, const struct model *model)
{
	(void)model;
	return s->recompute.kind != RECOMPUTE_SELECTIVE || s->recompute.modules == MODULE_CORE_ATTN;
}

void
own_recompute_report(const struct grid_rule *rule, const struct strategy *s,
    const struct model *model, struct diags *diags)
{
	(void)model;
	BROKEN(rule, diags, "%s cannot be told which modules to recompute",
	    framework_names[s->framework]);
	diag_last_hint(diags, "use --recompute none, selective or full");
}

bool
dispatcher_known_holds(const struct strategy *s, const struct model *model)
{
	(void)model;
	if (s->framework == FRAMEWORK_DEEPSPEED || s->dispatcher == DISPATCH_ALLGATHER)
		return s->dispatcher == DISPATCH_ALLTOALL;
	return s->dispatcher != DISPATCH_HYBRIDEP || !strategy_is_old_torchtitan(s);
}

void
dispatcher_known_report(const struct grid_rule *rule, const struct strategy *s,
    const struct model *model, struct diags *diags)
{
	(void)model;
	BROKEN(rule, diags, "%s has no dispatcher '%s'", framework_names[s->framework],
	    dispatcher_names[s->dispatcher]);
	diag_last_hint(diags, "use --dispatcher alltoall%s",
	    s->framework == FRAMEWORK_TORCHTITAN ? " or deepep" : "");
}

/* Megatron asks it of every backend of flex up to 0.17, of HybridEP no more since. */
static bool
needs_expert_ranks(const struct strategy *s)
{
	const char *version = s->framework_version;

	if (s->dispatcher == DISPATCH_HYBRIDEP)
		return s->framework != FRAMEWORK_MEGATRON ||
		       (version && version_compare(version, "0.18") < 0);
	return s->dispatcher == DISPATCH_DEEPEP;
}

/* Megatron counts ETP x EP, torchtitan EP alone. */
static int64_t
expert_ranks(const struct strategy *s)
{
	return s->framework == FRAMEWORK_MEGATRON ? grid_product(s->etp, s->ep) : s->ep;
}

bool
dispatcher_experts_holds(const struct strategy *s, const struct model *model)
{
	(void)model;
	return !needs_expert_ranks(s) || expert_ranks(s) > 1;
}

void
dispatcher_experts_report(const struct grid_rule *rule, const struct strategy *s,
    const struct model *model, struct diags *diags)
{
	(void)model;
	BROKEN(rule, diags, "dispatcher '%s' needs more than one expert rank: etp %lld x ep %lld",
	    dispatcher_names[s->dispatcher], (long long)s->etp, (long long)s->ep);
	diag_last_hint(diags, "use --dispatcher alltoall, or --ep 2 or more");
}

bool
capacity_allowed_holds(const struct strategy *s, const struct model *model)
{
	if (s->capacity > 0 && s->framework == FRAMEWORK_TORCHTITAN)
		return false;
	return !(s->capacity > 0) || !model || model_moe(model);
}

void
capacity_allowed_report(const struct grid_rule *rule, const struct strategy *s,
    const struct model *model, struct diags *diags)
{
	(void)model;
	if (s->framework == FRAMEWORK_TORCHTITAN)
		BROKEN(rule, diags, "capacity factor %g: torchtitan drops no tokens", s->capacity);
	else
		BROKEN(rule, diags, "capacity factor %g: the model has no experts", s->capacity);
	diag_last_hint(diags, "use --capacity dropless");
}

/* What Megatron's overlap_moe_expert_parallel_comm misses. */
static const char *
overlap_obstacle(const struct strategy *s, const struct model *model)
{
	if (!(s->overlap & OVERLAP_EP))
		return NULL;
	if (s->ep == 1)
		return "needs ep over 1";
	if (s->dispatcher == DISPATCH_ALLGATHER)
		return "does not work with dispatcher allgather";
	if (s->schedule == SCHEDULE_ZB || s->schedule == SCHEDULE_ZBV)
		return "needs passes in pairs, which zero-bubble schedules have none of";
	if (s->pp > 1 && s->vpp == 1 && s->schedule != SCHEDULE_DUALPIPE)
		return "needs vpp over 1 when pp is over 1";
	if (s->recompute.kind == RECOMPUTE_FULL)
		return "excludes full recompute";
	if (s->recompute.kind == RECOMPUTE_SELECTIVE && s->recompute.modules & MODULE_MOE)
		return "excludes recompute of 'moe'";
	return model && model->mtp_layers > 1 ? "allows at most one MTP layer" : NULL;
}

bool
overlap_experts_holds(const struct strategy *s, const struct model *model)
{
	return !overlap_obstacle(s, model);
}

void
overlap_experts_report(const struct grid_rule *rule, const struct strategy *s,
    const struct model *model, struct diags *diags)
{
	BROKEN(rule, diags, "overlap of expert communication %s", overlap_obstacle(s, model));
	diag_last_hint(diags, "leave 'ep' out of --overlap");
}

/* What recompute drops cannot be offloaded as well (transformer_config.py). */
enum { OFFLOADED_MODULES = MODULE_MOE | MODULE_CORE_ATTN | MODULE_MLA_UP_PROJ };

bool
offload_leaves_holds(const struct strategy *s, const struct model *model)
{
	(void)model;
	if (s->offload != OFFLOAD_ACTIVATIONS || s->recompute.kind == RECOMPUTE_NONE)
		return true;
	return s->recompute.kind == RECOMPUTE_SELECTIVE &&
	       !(s->recompute.modules & OFFLOADED_MODULES);
}

void
offload_leaves_report(const struct grid_rule *rule, const struct strategy *s,
    const struct model *model, struct diags *diags)
{
	(void)model;
	BROKEN(rule, diags, "activations that %s recompute drops cannot be offloaded",
	    s->recompute.kind == RECOMPUTE_FULL ? "full" : "selective");
	diag_last_hint(
	    diags, "use --offload none, or recompute none of moe, core_attn, mla_up_proj");
}
