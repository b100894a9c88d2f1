/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Can another framework run this plan, and what is the plan in its words?
 *
 * A plan is carried over only when the result is the same: the same ranks in the same
 * groups, the same batch, the same memory. Megatron's order tp-cp-ep-dp-pp, DeepSpeed's
 * topology and torchtitan's mesh number ranks alike; with ETP 1 all three cut experts out
 * of consecutive ranks. The target's own rules then decide (model/strategy_rules.c).
 */
#include <string.h>

#include "base/arena.h"
#include "emit/private.h"

struct emitted *
refuse_plan(struct diags *diags, const char *target, const char *reason)
{
	struct loc nowhere = {NULL, 0, 0};

	diag_error(diags, nowhere, "'%s' cannot express this plan: %s", target, reason);
	return NULL;
}

bool
refuse_obstacles(struct diags *diags, const char *target, const struct obstacle *table,
    const struct plan_view *plan)
{
	bool any = false;

	for (; table->applies; table++) {
		if (!table->applies(plan))
			continue;
		refuse_plan(diags, target, table->text);
		any = true;
	}
	return any;
}

/* What a plan for one framework has that no other can be told. */
static const char *
own_trait(const struct strategy *s)
{
	if (s->framework == FRAMEWORK_MEGATRON && strcmp(s->order, "tp-cp-ep-dp-pp") != 0)
		return "its rank order has pipeline stages inside data parallelism";
	if (s->data_before_expert)
		return "its ranks are ordered data before experts, as DeepSpeed alone can";
	if (s->dp_replicate > 1)
		return "it shards over a part of the data-parallel ranks, as torchtitan alone does";
	return NULL;
}

static void
to_megatron(struct strategy *s)
{
	s->order = "tp-cp-ep-dp-pp";
	s->gtp = s->egtp = 1;
}

/* Native layers for what they can do, AutoEP for sharded parameters. */
static void
to_deepspeed(struct strategy *s, const struct model *model)
{
	s->auto_ep = model_moe(model) && s->zero == 3;
	if (model_moe(model) && !s->auto_ep && s->etp > 1)
		s->expert_tp = 1;
}

static void
to_torchtitan(struct strategy *s)
{
	s->dp_replicate = 1;
	s->dp_shard = s->dp;
}

static void
carry_over(struct strategy *s, const struct model *model, enum framework framework)
{
	s->framework = framework;
	s->layout = NULL;
	s->order = NULL;
	s->expert_tp = -1;
	s->auto_ep = s->data_before_expert = false;
	s->dp_replicate = s->dp_shard = 0;
	if (!model_moe(model))
		s->etp = framework == FRAMEWORK_MEGATRON ? s->tp : 1;
	if (framework == FRAMEWORK_MEGATRON)
		to_megatron(s);
	else if (framework == FRAMEWORK_DEEPSPEED)
		to_deepspeed(s, model);
	else
		to_torchtitan(s);
	s->edp = 0;
	strategy_derive(s, model, 0);
}

const struct plan_view *
plan_for(struct arena *arena, struct diags *diags, const struct plan_view *plan,
    enum framework framework, const char *version)
{
	struct plan_view *view = arena_alloc(arena, sizeof(*view));
	const char *trait = own_trait(&plan->strategy);
	struct loc nowhere = {NULL, 0, 0};
	bool fits;

	*view = *plan;
	if (plan->strategy.framework != framework) {
		if (trait) {
			refuse_plan(diags, framework_names[framework], trait);
			return NULL;
		}
		carry_over(&view->strategy, plan->model, framework);
	}
	view->strategy.framework_version = version;
	fits = strategy_violations(&view->strategy, plan->model, diags) == 0;
	if (plan->strategy.framework != framework || !fits)
		diag_add(diags, nowhere, NULL, SEVERITY_NOTE, "the plan was made for %s%s",
		    framework_names[plan->strategy.framework],
		    fits ? ": memory and time may be other ones here" : "");
	if (plan->strategy.framework != framework)
		diag_last_hint(
		    diags, "plan again with --framework %s", framework_names[framework]);
	return fits ? view : NULL;
}

void
add_file(struct arena *arena, struct emitted **list, const char *name, const struct str *text,
    bool executable)
{
	struct emitted *file = arena_alloc(arena, sizeof(*file));

	*file = (struct emitted){name, text->text, executable, NULL};
	while (*list)
		list = &(*list)->next;
	*list = file;
}

const char *
plan_title(struct arena *arena, const struct plan_view *plan)
{
	return arena_printf(arena, "%s on %lld GPUs (%lld %s of %lld)", plan->model->name,
	    (long long)plan->strategy.world, (long long)plan->nodes,
	    plan->nodes == 1 ? "node" : "nodes", (long long)plan->gpus_per_node);
}
