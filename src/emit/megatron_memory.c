/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How does Megatron-LM spell sharding, optimizer, experts and overlap?
 *
 * Sharding: 0 none, 1 the distributed optimizer, 2 and 3 Megatron-FSDP with
 * gradients, and parameters, sharded too. Source: megatron/training/arguments.py,
 * core/optimizer/optimizer_config.py, core/transformer/transformer_config.py, 0.12 to 0.19.
 */
#include <string.h>

#include "base/arena.h"
#include "base/str.h"
#include "emit/megatron_values.h"
#include "emit/values.h"

/* The index of the value's text in `names` (ends with NULL), or -1 after an error. */
static int
choose(const struct key *key, const struct doc *value, const char *const *names,
    struct field_context *context)
{
	struct str allowed = str_new(context->arena);
	int i;

	for (i = 0; names[i]; i++) {
		if (value->text && strcmp(value->text, names[i]) == 0)
			return i;
		str_addf(&allowed, "%s%s", i ? ", " : "", names[i]);
	}
	diag_error(context->diags, value->loc, "'%s' is '%.60s', allowed is one of %s", key->name,
	    value->text ? value->text : doc_kind_name(value->kind), allowed.text);
	return -1;
}

/* --- sharding ------------------------------------------------------------------------------- */

const struct doc *
megatron_distributed(struct arena *arena, const struct plan_view *plan)
{
	return flag_if(arena, plan->strategy.zero >= 1);
}

int
megatron_read_distributed(const struct key *key, const struct doc *value, struct strategy *strategy,
    struct field_context *context)
{
	(void)key, (void)context;
	strategy->zero = key_is_on(value) ? 1 : 0;
	return 0;
}

const struct doc *
megatron_overlap_grads(struct arena *arena, const struct plan_view *plan)
{
	return flag_if(arena, plan->strategy.overlap & OVERLAP_DP);
}

const struct doc *
megatron_overlap_params(struct arena *arena, const struct plan_view *plan)
{
	return flag_if(arena, plan->strategy.overlap & OVERLAP_DP && plan->strategy.zero >= 1);
}

int
megatron_read_overlap_dp(const struct key *key, const struct doc *value, struct strategy *strategy,
    struct field_context *context)
{
	(void)key, (void)context;
	strategy->overlap &= ~(unsigned)OVERLAP_DP;
	strategy->overlap |= key_is_on(value) ? OVERLAP_DP : 0U;
	return 0;
}

static const struct doc *
fsdp_flag(struct arena *arena, const struct plan_view *plan, bool renamed)
{
	bool has_new_name = version_compare(plan->strategy.framework_version, "0.14") >= 0;

	return flag_if(arena, plan->strategy.zero >= 2 && has_new_name == renamed);
}

const struct doc *
megatron_fsdp(struct arena *arena, const struct plan_view *plan)
{
	return fsdp_flag(arena, plan, true);
}

const struct doc *
megatron_custom_fsdp(struct arena *arena, const struct plan_view *plan)
{
	return fsdp_flag(arena, plan, false);
}

/* Until the strategy is read: its default is optim_grads_params. */
int
megatron_read_fsdp(const struct key *key, const struct doc *value, struct strategy *strategy,
    struct field_context *context)
{
	(void)key, (void)context;
	if (key_is_on(value))
		strategy->zero = 3;
	return 0;
}

static const char *const sharding_names[] = {
    "no_shard", "optim", "optim_grads", "optim_grads_params", NULL};

const struct doc *
megatron_sharding(struct arena *arena, const struct plan_view *plan)
{
	int zero = plan->strategy.zero;

	return text_if(arena, zero >= 2, sharding_names[zero]);
}

int
megatron_read_sharding(const struct key *key, const struct doc *value, struct strategy *strategy,
    struct field_context *context)
{
	int zero = choose(key, value, sharding_names, context);

	if (zero < 0)
		return -1;
	if (strategy->zero == 3) /* it says something with Megatron-FSDP only */
		strategy->zero = zero;
	return 0;
}

const struct doc *
megatron_checkpoint(struct arena *arena, const struct plan_view *plan)
{
	return text_if(arena, plan->strategy.zero >= 2, "fsdp_dtensor");
}

/* --- optimizer ------------------------------------------------------------------------------ */

const struct doc *
megatron_adam(struct arena *arena, const struct plan_view *plan)
{
	(void)plan;
	return doc_text(arena, "adam");
}

static bool
is_precision_aware(const struct strategy *s)
{
	return s->moment_type != FLOAT_FP32 || s->offload == OFFLOAD_OPTIMIZER;
}

const struct doc *
megatron_precision_aware(struct arena *arena, const struct plan_view *plan)
{
	return flag_if(arena, is_precision_aware(&plan->strategy));
}

const struct doc *
megatron_main_grads(struct arena *arena, const struct plan_view *plan)
{
	const struct strategy *s = &plan->strategy;

	return text_if(arena, is_precision_aware(s), float_type_names[s->grad_type]);
}

const struct doc *
megatron_main_params(struct arena *arena, const struct plan_view *plan)
{
	return text_if(arena, is_precision_aware(&plan->strategy), "fp32");
}

const struct doc *
megatron_moments(struct arena *arena, const struct plan_view *plan)
{
	const struct strategy *s = &plan->strategy;

	return text_if(arena, is_precision_aware(s), float_type_names[s->moment_type]);
}

int
megatron_read_moments(const struct key *key, const struct doc *value, struct strategy *strategy,
    struct field_context *context)
{
	static const char *const names[] = {"fp32", "bf16", "fp8", "fp16", NULL};
	int type = choose(key, value, names, context);

	if (type < 0)
		return -1;
	strategy->moment_type = names[type + 1] ? (enum float_type)type : FLOAT_BF16;
	return names[type + 1] ? 0 : key_counted_as(key, value, context, "bf16, as large");
}

int
megatron_read_main_grads(const struct key *key, const struct doc *value, struct strategy *strategy,
    struct field_context *context)
{
	static const char *const names[] = {"fp32", "bf16", NULL};
	int type = choose(key, value, names, context);

	if (type < 0)
		return -1;
	if (type == FLOAT_BF16)
		strategy->grad_type = FLOAT_BF16;
	return 0;
}

int
megatron_read_optimizer(const struct key *key, const struct doc *value, struct strategy *strategy,
    struct field_context *context)
{
	static const char *const names[] = {
	    "adam", "sgd", "muon", "dist_muon", "lion", "soap", "adaptive_muon", NULL};
	/* moments of a parameter, beside Adam's two */
	static const char *const counted_as[] = {NULL, "adam: sgd keeps one moment or none",
	    "adam: muon keeps one moment of each matrix",
	    "adam: dist_muon keeps one moment of each matrix", "adam: lion keeps one moment",
	    "adam: soap keeps preconditioners beside both moments, which are not counted",
	    "adam: adaptive_muon keeps moments of its own"};
	int choice = choose(key, value, names, context);

	(void)strategy;
	if (choice <= 0)
		return choice;
	return key_counted_as(key, value, context, counted_as[choice]);
}

const struct doc *
megatron_offload(struct arena *arena, const struct plan_view *plan)
{
	return flag_if(arena, plan->strategy.offload == OFFLOAD_OPTIMIZER);
}

int
megatron_read_offload(const struct key *key, const struct doc *value, struct strategy *strategy,
    struct field_context *context)
{
	(void)key, (void)context;
	if (!key_is_on(value))
		return 0;
	strategy->offload = OFFLOAD_OPTIMIZER;
	strategy->offload_fraction = 1;
	return 0;
}

const struct doc *
megatron_offload_fraction(struct arena *arena, const struct plan_view *plan)
{
	const struct strategy *s = &plan->strategy;

	return s->offload == OFFLOAD_OPTIMIZER ? doc_number(arena, s->offload_fraction) : NULL;
}

int
megatron_read_offload_fraction(const struct key *key, const struct doc *value,
    struct strategy *strategy, struct field_context *context)
{
	if (value->kind != DOC_NUMBER || !(value->number >= 0 && value->number <= 1))
		return diag_error(context->diags, value->loc, "'%s' is '%.60s', allowed is 0 to 1",
		    key->name, value->text ? value->text : doc_kind_name(value->kind));
	if (strategy->offload != OFFLOAD_OPTIMIZER)
		return 0;
	strategy->offload_fraction = value->number;
	if (!(value->number > 0))
		strategy->offload = OFFLOAD_NONE;
	return 0;
}

/* --- experts -------------------------------------------------------------------------------- */

static bool
is_flex(const struct strategy *s)
{
	return s->dispatcher == DISPATCH_DEEPEP || s->dispatcher == DISPATCH_HYBRIDEP;
}

const struct doc *
megatron_dispatcher(struct arena *arena, const struct plan_view *plan)
{
	const struct strategy *s = &plan->strategy;

	return text_if(arena, model_moe(plan->model) != NULL,
	    is_flex(s) ? "flex" : dispatcher_names[s->dispatcher]);
}

int
megatron_read_dispatcher(const struct key *key, const struct doc *value, struct strategy *strategy,
    struct field_context *context)
{
	static const char *const names[] = {"alltoall", "allgather", "flex", NULL};
	int dispatcher = choose(key, value, names, context);

	if (dispatcher < 0)
		return -1;
	strategy->dispatcher = (enum dispatcher)dispatcher; /* flex: deepep is its default */
	return 0;
}

/* Before 0.16 flex had DeepEP only, switched on by a flag of its own. */
static bool
has_backends(const struct plan_view *plan)
{
	return version_compare(plan->strategy.framework_version, "0.16") >= 0;
}

const struct doc *
megatron_flex_backend(struct arena *arena, const struct plan_view *plan)
{
	const struct strategy *s = &plan->strategy;
	bool needed = has_backends(plan) || s->dispatcher == DISPATCH_HYBRIDEP;

	return text_if(
	    arena, is_flex(s) && needed && model_moe(plan->model), dispatcher_names[s->dispatcher]);
}

int
megatron_read_flex_backend(const struct key *key, const struct doc *value,
    struct strategy *strategy, struct field_context *context)
{
	static const char *const names[] = {"deepep", "hybridep", "ncclep", NULL};
	int backend = choose(key, value, names, context);

	if (backend < 0)
		return -1;
	if (!is_flex(strategy))
		return 0;
	strategy->dispatcher = backend == 1 ? DISPATCH_HYBRIDEP : DISPATCH_DEEPEP;
	return backend < 2 ? 0
			   : key_counted_as(key, value, context,
				 "deepep, whose traffic is the same: no rate of it is known");
}

const struct doc *
megatron_enable_deepep(struct arena *arena, const struct plan_view *plan)
{
	return flag_if(arena, plan->strategy.dispatcher == DISPATCH_DEEPEP && !has_backends(plan));
}

int
megatron_read_enable_deepep(const struct key *key, const struct doc *value,
    struct strategy *strategy, struct field_context *context)
{
	(void)key, (void)context;
	if (key_is_on(value))
		strategy->dispatcher = DISPATCH_DEEPEP;
	return 0;
}

const struct doc *
megatron_capacity(struct arena *arena, const struct plan_view *plan)
{
	double factor = plan->strategy.capacity;

	return factor > 0 ? doc_number(arena, factor) : NULL;
}

int
megatron_read_capacity(const struct key *key, const struct doc *value, struct strategy *strategy,
    struct field_context *context)
{
	if (value->kind != DOC_NUMBER)
		return diag_error(context->diags, value->loc,
		    "'%s' is '%.60s', allowed is a number", key->name,
		    value->text ? value->text : doc_kind_name(value->kind));
	strategy->capacity = value->number > 0 ? value->number : 0; /* negative: dropless */
	return 0;
}

const struct doc *
megatron_drop_policy(struct arena *arena, const struct plan_view *plan)
{
	return text_if(arena, plan->strategy.capacity > 0, "probs");
}

/* With a bias in the experts, too: Megatron's grouped GEMM takes it. */
const struct doc *
megatron_grouped_gemm(struct arena *arena, const struct plan_view *plan)
{
	return flag_if(arena, model_moe(plan->model) != NULL);
}

/* --- overlap -------------------------------------------------------------------------------- */

const struct doc *
megatron_overlap_experts(struct arena *arena, const struct plan_view *plan)
{
	return flag_if(arena, plan->strategy.overlap & OVERLAP_EP && plan->strategy.ep > 1);
}

const struct doc *
megatron_overlap_tp(struct arena *arena, const struct plan_view *plan)
{
	return flag_if(arena, plan->strategy.overlap & OVERLAP_TP && plan->strategy.tp > 1);
}

/* Interleaved sends overlap by default; what can be asked for is warm-up and flush as well. */
const struct doc *
megatron_overlap_flush(struct arena *arena, const struct plan_view *plan)
{
	return flag_if(arena, plan->strategy.overlap & OVERLAP_PP && plan->strategy.vpp > 1);
}

static int
set_overlap(const struct doc *value, struct strategy *strategy, unsigned bit)
{
	if (key_is_on(value))
		strategy->overlap |= bit;
	return 0;
}

int
megatron_read_overlap_experts(const struct key *key, const struct doc *value,
    struct strategy *strategy, struct field_context *context)
{
	(void)key, (void)context;
	return set_overlap(value, strategy, OVERLAP_EP);
}

int
megatron_read_overlap_tp(const struct key *key, const struct doc *value, struct strategy *strategy,
    struct field_context *context)
{
	(void)key, (void)context;
	return set_overlap(value, strategy, OVERLAP_TP);
}

int
megatron_read_overlap_flush(const struct key *key, const struct doc *value,
    struct strategy *strategy, struct field_context *context)
{
	(void)key, (void)context;
	return set_overlap(value, strategy, OVERLAP_PP);
}
