/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_STRATEGY_RULES_H
#define MOEPLAN_STRATEGY_RULES_H

#include "model/model.h"
#include "model/strategy.h"
#include "model/strategy_grid.h"

/*
 * A rule is two functions, X_holds and X_report, and a row in strategy_rules.c.
 * To add one: write the pair, DECLARE_RULE it here, add the row and its tests.
 * holds() is called for every point of the search: cheap, no allocation, true
 * when it does not apply, safe whatever other rules are broken.
 */
#define DECLARE_RULE(name)                                                                         \
	bool name##_holds(const struct strategy *strategy, const struct model *model);             \
	void name##_report(const struct grid_rule *rule, const struct strategy *strategy,          \
	    const struct model *model, struct diags *diags)

/* A broken rule; a hint and numbers can be attached. */
#define BROKEN(rule, diags, ...)                                                                   \
	diag_add(diags, (struct loc){NULL, 0, 0}, (rule)->id, SEVERITY_ERROR, __VA_ARGS__)

/*
 * For hints: "use --ep 6 or 10": the divisors of `number`, or the multiples of `factor`,
 * around `value` that break the fewest of all rules; options of degree_of().
 */
void hint_divisors(struct diags *diags, const struct strategy *strategy, const struct model *model,
    const char *option, int64_t number, int64_t value);
void hint_multiples(struct diags *diags, const struct strategy *strategy,
    const struct model *model, const char *option, int64_t factor, int64_t value);

/* Rules that stay broken with the option changed, and at the best of those divisors. */
int degree_breaks(const struct strategy *strategy, const struct model *model, const char *option,
    int64_t value);
int divisors_break(const struct strategy *strategy, const struct model *model, const char *option,
    int64_t number, int64_t value);

static inline bool
divides(int64_t divisor, int64_t number)
{
	return divisor > 0 && number % divisor == 0;
}

/* Layer kind i of the model, its MTP layer after the last one, NULL past that. */
static inline const struct layer_kind *
kind_at(const struct model *model, int i)
{
	if (!model || i > model->n_kinds)
		return NULL;
	if (i < model->n_kinds)
		return &model->kinds[i];
	return model->mtp_layers > 0 ? &model->mtp : NULL;
}

/* strategy_rules_grid.c, strategy_rules_schedule.c: world, ranks, batch and pipeline */
DECLARE_RULE(world_known);
DECLARE_RULE(foreign_option);
DECLARE_RULE(stages_bounded);
DECLARE_RULE(dense_grid);
DECLARE_RULE(expert_grid);
DECLARE_RULE(order_complete);
DECLARE_RULE(order_end);
DECLARE_RULE(order_stages);
DECLARE_RULE(batch_filled);
DECLARE_RULE(batch_divides);
DECLARE_RULE(chunks_filled);
DECLARE_RULE(virtual_needs_stages);
DECLARE_RULE(virtual_mamba);
DECLARE_RULE(virtual_warm_up);
DECLARE_RULE(virtual_rounds);
DECLARE_RULE(schedule_fits);
DECLARE_RULE(schedule_filled);
DECLARE_RULE(layout_chunks_fit);

/* strategy_rules_fp8.c: shapes that FP8 products take */
DECLARE_RULE(fp8_tokens);
DECLARE_RULE(fp8_widths);

/* strategy_rules_model.c: what the model's shapes allow */
DECLARE_RULE(heads_divide);
DECLARE_RULE(kv_heads_divide);
DECLARE_RULE(all_heads_divide);
DECLARE_RULE(tokens_divide);
DECLARE_RULE(context_divides);
DECLARE_RULE(sequence_divides);
DECLARE_RULE(experts_there);
DECLARE_RULE(experts_divide);
DECLARE_RULE(dense_etp);
DECLARE_RULE(widths_divide);
DECLARE_RULE(expert_bias);
DECLARE_RULE(recompute_fits);

/* strategy_rules_framework.c: what a framework can do */
DECLARE_RULE(deepspeed_context);
DECLARE_RULE(deepspeed_etp);
DECLARE_RULE(deepspeed_stage);
DECLARE_RULE(deepspeed_lane);
DECLARE_RULE(deepspeed_folding);
DECLARE_RULE(deepspeed_native_zero);
DECLARE_RULE(deepspeed_pipeline_zero);
DECLARE_RULE(deepspeed_folding_limits);
DECLARE_RULE(deepspeed_offload);
DECLARE_RULE(torchtitan_sparse);
DECLARE_RULE(torchtitan_etp);
DECLARE_RULE(torchtitan_zero);
DECLARE_RULE(own_recompute);
DECLARE_RULE(dispatcher_known);
DECLARE_RULE(dispatcher_experts);
DECLARE_RULE(capacity_allowed);
DECLARE_RULE(overlap_experts);
DECLARE_RULE(offload_leaves);

#endif
