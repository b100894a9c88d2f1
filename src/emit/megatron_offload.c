/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which activations does Megatron-LM move to the host, and how is it told?
 *
 * Fine-grained offloading names modules whose inputs go (transformer_config.py
 * offload_modules); those whose input a recompute drops are left out. The share is
 * over the groups in their order, which for layers that are alike is one of bytes.
 */
#include "base/arena.h"
#include "base/str.h"
#include "emit/megatron_values.h"
#include "emit/values.h"

static bool
offloads(const struct plan_view *plan)
{
	return plan->strategy.offload == OFFLOAD_ACTIVATIONS;
}

const struct doc *
megatron_offload_activations(struct arena *arena, const struct plan_view *plan)
{
	return offloads(plan) ? doc_bool(arena, true) : NULL;
}

int
megatron_read_offload_activations(const struct key *key, const struct doc *value,
    struct strategy *strategy, struct field_context *context)
{
	(void)key, (void)context;
	if (value->kind == DOC_BOOL && !value->boolean)
		return 0;
	strategy->offload = OFFLOAD_ACTIVATIONS;
	strategy->offload_fraction = 1;
	return 0;
}

const struct doc *
megatron_offload_modules(struct arena *arena, const struct plan_view *plan)
{
	static const struct {
		const char *name;
		unsigned dropped_by; /* enum recompute_module */
		bool experts;
	} modules[] = {
	    {"attn_norm", 0, false},
	    {"qkv_linear", MODULE_LAYERNORM, false},
	    {"core_attn", 0, false},
	    {"attn_proj", 0, false},
	    {"mlp_norm", 0, false},
	    {"expert_fc1", 0, true},
	    {"moe_act", 0, true},
	};
	const struct recompute *recompute = &plan->strategy.recompute;
	unsigned dropped = recompute->kind == RECOMPUTE_SELECTIVE ? recompute->modules : 0;
	struct doc *list;

	if (!offloads(plan))
		return NULL;
	list = doc_list(arena);
	for (size_t i = 0; i < sizeof(modules) / sizeof(*modules); i++)
		if (!(modules[i].dropped_by & dropped) &&
		    (!modules[i].experts || model_moe(plan->model)))
			doc_add_item(arena, list, doc_text(arena, modules[i].name));
	return list;
}

const struct doc *
megatron_offload_share(struct arena *arena, const struct plan_view *plan)
{
	double share = plan->strategy.offload_fraction;

	return offloads(plan) && share < 1 ? doc_number(arena, share) : NULL;
}

int
megatron_read_offload_share(const struct key *key, const struct doc *value,
    struct strategy *strategy, struct field_context *context)
{
	if (value->kind != DOC_NUMBER || !(value->number >= 0 && value->number <= 1))
		return diag_error(context->diags, value->loc,
		    "'%s' is '%.60s', allowed is 0 to 1", key->name,
		    value->text ? value->text : doc_kind_name(value->kind));
	if (strategy->offload != OFFLOAD_ACTIVATIONS)
		return 0;
	strategy->offload_fraction = value->number;
	if (value->number <= 0)
		strategy->offload = OFFLOAD_NONE;
	return 0;
}
