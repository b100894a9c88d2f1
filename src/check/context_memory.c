/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How many parameters and bytes of model state does a mean rank hold?
 *
 *   dense on a rank   (attention + MLPs)/(TP*PP) + (router + norms)/PP + embedding/TP
 *   experts on a rank  experts/(EP*ETP*PP)
 *   bytes             dense*d(DP*CP) + experts*d(EDP)
 *   d(D)              18 unsharded, 6 + 12/D ZeRO-1 and distributed optimizer,
 *                     2 + 16/D ZeRO-2, 18/D ZeRO-3 (16/D FSDP2)
 * with mixed-precision Adam: 2 bytes of weights, 4 of fp32 gradients, 12 of
 * master weights and moments. Source: NVIDIA/Megatron-LM
 * theoretical_memory_usage.py, DeepSpeed ZeRO papers. It ignores activations and
 * that stages differ: the planner's evaluator does better when there are a model
 * and a cluster, this is what a few stated numbers allow.
 */
#include <string.h>

#include "check/context.h"
#include "planner/params.h"

static struct value
stated(const struct facts *facts, const char *name)
{
	const struct setting *setting = setting_find(facts->check->config, name);
	struct value value = value_undecided;

	if (setting)
		value = value_of_doc(facts->arena, setting->value);
	return value_is_numeric(&value) ? value : value_undecided;
}

/* A parameter count that was stated stands before what the shapes say. */
struct value
facts_params(const struct facts *facts)
{
	struct value value = stated(facts, "params");
	struct params params;

	if (value.kind > VALUE_UNSET)
		return value;
	value = stated(facts, "total_params");
	if (value.kind > VALUE_UNSET || !facts->check->model)
		return value;
	params_count(facts->check->model, &params);
	return value_int(params.total);
}

static bool
states_experts(const struct facts *facts)
{
	const struct config *config = facts->check->config;

	return setting_find(config, "num_experts") || facts->check->strategy->ep > 1;
}

struct value
facts_expert_params(const struct facts *facts)
{
	struct value value = stated(facts, "expert_params");
	struct params params;

	if (value.kind > VALUE_UNSET)
		return value;
	if (!facts->check->model) /* a parameter count and no experts: a dense model */
		return stated(facts, "params").kind > VALUE_UNSET && !states_experts(facts)
			   ? value_int(0)
			   : value_undecided;
	params_count(facts->check->model, &params);
	return value_int(params.components[COMPONENT_EXPERTS]);
}

static double
expert_copies(const struct strategy *s)
{
	return (double)s->ep * (double)s->etp * (double)s->pp;
}

struct value
facts_expert_rank_params(const struct facts *facts)
{
	struct value all = facts_expert_params(facts);

	if (!value_is_numeric(&all))
		return value_undecided;
	return value_number(value_as_number(&all) / expert_copies(facts->check->strategy));
}

struct value
facts_dense_rank_params(const struct facts *facts)
{
	const struct strategy *s = facts->check->strategy;
	double tp = (double)s->tp, pp = (double)s->pp, ends, split, copied;
	struct params params;
	const int64_t *parts = params.components;

	if (!facts->check->model) {
		struct value all = facts_params(facts), experts = facts_expert_params(facts);

		if (!value_is_numeric(&all) || !value_is_numeric(&experts))
			return value_undecided;
		return value_number(
		    (value_as_number(&all) - value_as_number(&experts)) / (tp * pp));
	}
	params_count(facts->check->model, &params);
	split = (double)(parts[COMPONENT_ATTENTION] + parts[COMPONENT_DENSE_MLP] +
			 parts[COMPONENT_SHARED_EXPERT]);
	copied =
	    (double)(parts[COMPONENT_ROUTER] + parts[COMPONENT_NORMS] + parts[COMPONENT_OTHER]);
	ends = (double)parts[COMPONENT_EMBEDDING];
	if (s->pp == 1)
		ends += (double)parts[COMPONENT_HEAD];
	return value_number(split / (tp * pp) + copied / pp + ends / tp);
}

/* Bytes a parameter; `moved`: with the 12 bytes of optimizer state in host memory. */
static double
bytes_per_param(const struct facts *facts, double shards, bool moved)
{
	bool fsdp = facts->framework == 1U << FRAMEWORK_TORCHTITAN;

	switch (facts->check->config->strategy.zero) {
	case 1:
		return 6 + (moved ? 0 : 12 / shards);
	case 2:
		return 2 + (moved ? 4 : 16) / shards;
	case 3:
		return (moved ? 6 : fsdp ? 16 : 18) / shards;
	default:
		return moved ? 6 : 18;
	}
}

static struct value
bytes(const struct facts *facts, bool moved)
{
	const struct strategy *s = facts->check->strategy;
	struct value dense = facts_dense_rank_params(facts);
	struct value experts = facts_expert_rank_params(facts);
	double expert_bytes;

	if (!value_is_numeric(&dense) || !value_is_numeric(&experts) || s->dp <= 0 || s->edp <= 0)
		return value_undecided;
	expert_bytes = value_as_number(&experts) * bytes_per_param(facts, (double)s->edp, moved);
	return value_number(
	    expert_bytes +
	    value_as_number(&dense) * bytes_per_param(facts, (double)(s->dp * s->cp), moved));
}

struct value
facts_state_bytes(const struct facts *facts)
{
	return bytes(facts, false);
}

struct value
facts_offloaded_bytes(const struct facts *facts)
{
	return bytes(facts, true);
}
