/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Does every target say every part of a strategy, or refuse it? One part of a plan that a target
 * takes is changed; then the files differ in more than comments, or the target has a reason.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "base/str.h"
#include "plans.h"

enum { TRIES = 3000, LEAST = 3 }; /* plans of a model; how often each change must have been told */

/* --- changes -------------------------------------------------------------------------------- */

/* Each makes another strategy of the same model, or leaves it as it is where it cannot. */
static void
change_world(struct plan_view *plan)
{
	plan->strategy.world *= 2;
}

static void
change_tp(struct plan_view *plan)
{
	plan->strategy.tp = plan->strategy.tp == 2 ? 1 : 2;
}

static void
change_cp(struct plan_view *plan)
{
	plan->strategy.cp = plan->strategy.cp == 2 ? 1 : 2;
}

static void
change_pp(struct plan_view *plan)
{
	struct strategy *s = &plan->strategy;

	s->pp = s->pp == 2 ? 1 : 2;
	if (s->pp == 1)
		s->vpp = 1;
}

static void
change_vpp(struct plan_view *plan)
{
	struct strategy *s = &plan->strategy;

	if (s->pp > 1)
		s->vpp = s->vpp == 2 ? 1 : 2;
}

static void
change_ep(struct plan_view *plan)
{
	plan->strategy.ep = plan->strategy.ep == 4 ? 8 : 4;
}

static void
change_etp(struct plan_view *plan)
{
	plan->strategy.etp = plan->strategy.etp == 2 ? 1 : 2;
}

static void
change_gtp(struct plan_view *plan)
{
	plan->strategy.gtp = plan->strategy.gtp == 2 ? 1 : 2;
}

static void
change_egtp(struct plan_view *plan)
{
	plan->strategy.egtp = plan->strategy.egtp == 2 ? 1 : 2;
}

static void
change_replicas(struct plan_view *plan)
{
	plan->strategy.dp_replicate = plan->strategy.dp_replicate == 2 ? 1 : 2;
}

static void
change_micro_batch(struct plan_view *plan)
{
	plan->strategy.micro_batch *= 2;
}

static void
change_batch(struct plan_view *plan)
{
	plan->strategy.global_batch *= 2;
}

static void
change_length(struct plan_view *plan)
{
	plan->strategy.seq_len *= 2;
}

static void
change_recompute(struct plan_view *plan)
{
	struct recompute *r = &plan->strategy.recompute;

	*r = r->kind == RECOMPUTE_FULL ? (struct recompute){0}
				       : (struct recompute){.kind = RECOMPUTE_FULL};
}

static void
change_modules(struct plan_view *plan)
{
	struct recompute *r = &plan->strategy.recompute;

	*r = (struct recompute){.kind = RECOMPUTE_SELECTIVE,
	    .modules = r->modules == MODULE_CORE_ATTN ? MODULE_LAYERNORM : MODULE_CORE_ATTN};
}

static void
change_recomputed_layers(struct plan_view *plan)
{
	struct recompute *r = &plan->strategy.recompute;

	*r = (struct recompute){.kind = RECOMPUTE_FULL, .layers = r->layers == 1 ? 2 : 1};
}

static void
change_zero(struct plan_view *plan)
{
	struct strategy *s = &plan->strategy;

	s->zero = s->zero == 3 ? s->framework == FRAMEWORK_TORCHTITAN ? 2 : 1 : s->zero + 1;
}

static void
change_dispatcher(struct plan_view *plan)
{
	enum dispatcher *d = &plan->strategy.dispatcher;

	*d = *d == DISPATCH_ALLTOALL ? DISPATCH_DEEPEP : DISPATCH_ALLTOALL;
}

static void
change_capacity(struct plan_view *plan)
{
	plan->strategy.capacity = plan->strategy.capacity > 0 ? 0 : 1.25;
}

static void
change_schedule(struct plan_view *plan)
{
	plan->strategy.schedule = SCHEDULE_ZB;
}

static void
change_layout(struct plan_view *plan)
{
	struct layout *layout = &plan->layout;

	if (layout->pp * layout->vpp > 1 && layout->first[1] + 1 < layout->first[2])
		layout->first[1]++;
}

static void
change_order(struct plan_view *plan)
{
	struct strategy *s = &plan->strategy;

	s->order = s->order && strcmp(s->order, "tp-cp-ep-pp-dp") == 0 ? NULL : "tp-cp-ep-pp-dp";
}

static void
change_precision(struct plan_view *plan)
{
	enum precision *p = &plan->strategy.precision;

	*p = *p == PRECISION_BF16 ? PRECISION_FP16 : PRECISION_BF16;
}

static void
change_format(struct plan_view *plan)
{
	enum precision *p = &plan->strategy.precision;

	*p = *p == PRECISION_MXFP8 ? PRECISION_FP8_BLOCKWISE : PRECISION_MXFP8;
}

static void
change_sums(struct plan_view *plan)
{
	enum float_type *type = &plan->strategy.grad_type;

	*type = *type == FLOAT_FP32 ? FLOAT_BF16 : FLOAT_FP32;
}

static void
change_moments(struct plan_view *plan)
{
	enum float_type *type = &plan->strategy.moment_type;

	*type = *type == FLOAT_FP32 ? FLOAT_BF16 : FLOAT_FP32;
}

static void
change_offload(struct plan_view *plan)
{
	struct strategy *s = &plan->strategy;

	s->offload = s->offload ? OFFLOAD_NONE : OFFLOAD_OPTIMIZER;
	s->offload_fraction = s->offload ? 1 : 0;
}

static void
change_fraction(struct plan_view *plan)
{
	struct strategy *s = &plan->strategy;

	s->offload = OFFLOAD_OPTIMIZER;
	s->offload_fraction = s->offload_fraction < 1 ? 1 : 0.5;
}

static void
change_activations(struct plan_view *plan)
{
	plan->strategy.offload = OFFLOAD_ACTIVATIONS;
	plan->strategy.offload_fraction = 0;
}

static void
change_loss(struct plan_view *plan)
{
	enum loss_kernel *loss = &plan->strategy.loss;

	*loss = *loss == LOSS_EAGER ? LOSS_FUSED : LOSS_EAGER;
}

static void
change_compiled_loss(struct plan_view *plan)
{
	enum loss_kernel *loss = &plan->strategy.loss;

	*loss = *loss == LOSS_COMPILED ? LOSS_EAGER : LOSS_COMPILED;
}

static void
change_graphs(struct plan_view *plan)
{
	plan->strategy.cuda_graphs = !plan->strategy.cuda_graphs;
}

static void
change_hidden_dp(struct plan_view *plan)
{
	plan->strategy.overlap ^= OVERLAP_DP;
}

static void
change_hidden_tp(struct plan_view *plan)
{
	if (plan->strategy.tp > 1)
		plan->strategy.overlap ^= OVERLAP_TP;
}

static void
change_hidden_ep(struct plan_view *plan)
{
	if (plan->strategy.ep > 1)
		plan->strategy.overlap ^= OVERLAP_EP;
}

static void
change_hidden_pp(struct plan_view *plan)
{
	if (plan->strategy.vpp > 1)
		plan->strategy.overlap ^= OVERLAP_PP;
}

static void
change_auto_ep(struct plan_view *plan)
{
	plan->strategy.auto_ep = !plan->strategy.auto_ep;
}

static void
change_expert_tp(struct plan_view *plan)
{
	struct strategy *s = &plan->strategy;

	if (s->tp == 1 || s->auto_ep)
		return;
	s->expert_tp = s->expert_tp == 1 ? 0 : 1;
	s->etp = 0; /* it follows */
}

static void
change_expert_order(struct plan_view *plan)
{
	plan->strategy.data_before_expert = !plan->strategy.data_before_expert;
}

enum {
	MEGATRON = 1 << FRAMEWORK_MEGATRON,
	DEEPSPEED = 1 << FRAMEWORK_DEEPSPEED,
	TORCHTITAN = 1 << FRAMEWORK_TORCHTITAN,
	ALL = MEGATRON | DEEPSPEED | TORCHTITAN,
};

static const struct change {
	const char *name;
	void (*make)(struct plan_view *plan);
	unsigned frameworks; /* that have it at all */
	bool moe;	     /* of models with experts */
} changes[] = {
    {"world", change_world, ALL, false},
    {"tp", change_tp, ALL, false},
    {"cp", change_cp, MEGATRON | TORCHTITAN, false},
    {"pp", change_pp, ALL, false},
    {"vpp", change_vpp, MEGATRON | TORCHTITAN, false},
    {"ep", change_ep, ALL, true},
    {"etp", change_etp, MEGATRON, true},
    {"gtp", change_gtp, MEGATRON, false},
    {"egtp", change_egtp, MEGATRON, true},
    {"dp_replicate", change_replicas, TORCHTITAN, false},
    {"micro_batch", change_micro_batch, ALL, false},
    {"global_batch", change_batch, ALL, false},
    {"seq_len", change_length, ALL, false},
    {"recompute", change_recompute, ALL, false},
    {"recomputed modules", change_modules, ALL, false},
    {"recomputed layers", change_recomputed_layers, ALL, false},
    {"zero", change_zero, ALL, false},
    {"dispatcher", change_dispatcher, MEGATRON | TORCHTITAN, true},
    {"capacity", change_capacity, MEGATRON | DEEPSPEED, true},
    {"schedule", change_schedule, ALL, false},
    {"layout", change_layout, ALL, false},
    {"order", change_order, MEGATRON, false},
    {"precision", change_precision, ALL, false},
    {"number format", change_format, ALL, false},
    {"grad_type", change_sums, ALL, false},
    {"optimizer", change_moments, ALL, false},
    {"offload", change_offload, ALL, false},
    {"share of offload", change_fraction, MEGATRON | DEEPSPEED, false},
    {"offload of activations", change_activations, ALL, false},
    {"loss", change_loss, ALL, false},
    {"compiled loss", change_compiled_loss, ALL, false},
    {"cuda_graphs", change_graphs, ALL, false},
    {"overlap dp", change_hidden_dp, ALL, false},
    {"overlap tp", change_hidden_tp, ALL, false},
    {"overlap ep", change_hidden_ep, MEGATRON, true},
    {"overlap pp", change_hidden_pp, MEGATRON, false},
    {"auto_ep", change_auto_ep, DEEPSPEED, true},
    {"expert_tp", change_expert_tp, DEEPSPEED, true},
    {"data_before_expert", change_expert_order, DEEPSPEED, true},
};
enum { CHANGES = sizeof(changes) / sizeof(*changes) };

/* --- what is another plan ------------------------------------------------------------------- */

/* Communication that there is none of, and orders of one rank, are nothing to say. */
static bool
means_another(const struct strategy *a, const struct strategy *b, const char *name)
{
	if (strcmp(name, "order") == 0)
		return a->pp > 1 && a->dp > 1;
	if (strcmp(name, "overlap dp") == 0)
		return a->dp * a->cp > 1;
	if (strcmp(name, "zero") == 0)
		return (a->framework == FRAMEWORK_TORCHTITAN ? a->dp_shard : a->dp) * a->cp > 1;
	if (strcmp(name, "data_before_expert") == 0)
		return a->ep > 1 && a->edp > 1;
	if (strcmp(name, "dispatcher") == 0)
		return b->ep > 1;
	if (strcmp(name, "dp_replicate") == 0)
		return b->dp > 1;
	return true;
}

/* The plan with one part changed, or false: there is no such plan. */
static bool
make_change(const struct change *change, const struct plan_view *plan, struct plan_view *changed)
{
	struct strategy *s = &changed->strategy;
	bool schedule = change->make == change_schedule, layout = change->make == change_layout;

	*changed = *plan;
	change->make(changed);
	s->dp = s->edp = s->dp_shard = 0;
	s->schedule = schedule ? s->schedule : -1;
	strategy_derive(s, plan->model, 0);
	if (strategy_first_violation(s, plan->model) || s->micro_batches < 1 ||
	    (schedule && s->pp == 1) || !means_another(&plan->strategy, s, change->name))
		return false;
	if (s->pp * s->vpp != plan->layout.pp * plan->layout.vpp)
		layout_even(&changed->layout, plan->model->layers, (int)s->pp, (int)s->vpp);
	changed->nodes = s->world / changed->gpus_per_node;
	return layout ? memcmp(&changed->layout, &plan->layout, sizeof(plan->layout)) != 0
		      : memcmp(s, &plan->strategy, sizeof(*s)) != 0;
}

/* All files without their comments. */
static const char *
said(struct arena *arena, const struct emitted *files)
{
	struct str out = str_new(arena);

	for (; files; files = files->next)
		for (const char *line = files->text; *line;) {
			size_t length = strcspn(line, "\n") + (strchr(line, '\n') != NULL);

			if (*line != '#')
				str_addn(&out, line, length);
			line += length;
		}
	return out.text;
}

/* --- targets -------------------------------------------------------------------------------- */

struct way {
	const char *target, *version;
	enum framework framework;
	void (*bend)(struct strategy *strategy); /* towards what the target takes; NULL: not */
	/* Changes that are not the target's to say, "|name|name|"; "" none. */
	const char *others;
	/* Changes that no plan of this target allows. */
	const char *never;
};

/* A layer of experts is not told how the rest of the program trains. */
#define REST_OF_PROGRAM                                                                            \
	"|world|tp|cp|pp|vpp|micro_batch|global_batch|seq_len|recompute|recomputed modules|"       \
	"recomputed layers|zero|schedule|layout|order|precision|number format|grad_type|"          \
	"optimizer|offload|share of offload|offload of activations|loss|compiled loss|"            \
	"cuda_graphs|overlap dp|overlap tp|overlap pp|"

static const struct way megatron = {"megatron", NULL, FRAMEWORK_MEGATRON, NULL, "", ""};
static const struct way megatron_old = {"megatron", "0.15", FRAMEWORK_MEGATRON, NULL, "", ""};
/* data-parallel ranks are those that start */
static const struct way bridge = {"megatron-bridge", NULL, FRAMEWORK_MEGATRON, NULL, "|world|", ""};
static const struct way deepspeed = {
    "deepspeed", NULL, FRAMEWORK_DEEPSPEED, NULL, "", "|schedule|"};
static const struct way torchtitan = {"torchtitan", NULL, FRAMEWORK_TORCHTITAN, NULL, "", ""};
static const struct way torchtitan_old = {
    "torchtitan", "0.2.2", FRAMEWORK_TORCHTITAN, NULL, "", ""};
static const struct way tutel = {"tutel", NULL, FRAMEWORK_MEGATRON, bend_tutel, REST_OF_PROGRAM,
    "|etp|egtp|"}; /* every rank has experts of its own already */
static const struct way fairscale = {
    "fairscale", NULL, FRAMEWORK_MEGATRON, bend_fairscale, REST_OF_PROGRAM, ""};
static const struct way accelerate = {"accelerate", NULL, FRAMEWORK_MEGATRON, bend_accelerate, "",
    "|vpp|dispatcher|schedule|layout|order|overlap ep|overlap pp|"};
static const struct way jax = {"jax", NULL, FRAMEWORK_MEGATRON, bend_jax,
    "|loss|compiled loss|overlap dp|overlap tp|overlap ep|overlap pp|", ""}; /* XLA decides */

static bool
is_listed(const char *list, const char *name)
{
	for (const char *at = list; (at = strstr(at, name)) != NULL; at++)
		if (at > list && at[-1] == '|' && at[strlen(name)] == '|')
			return true;
	return false;
}

static const struct emit_target *
find_target(const char *name)
{
	const struct emit_target *target = emit_targets;

	while (strcmp(target->name, name) != 0)
		target++;
	return target;
}

static void
try_changes(
    struct fixture *f, const struct way *way, const struct plan_view *plan, int told[CHANGES])
{
	const struct emit_target *target = find_target(way->target);
	const char *version = way->version ? way->version : target->newest;
	const struct emitted *files = target->emit(f->arena, diags_new(f->arena), plan, version);
	const char *before = files ? said(f->arena, files) : NULL;

	for (int c = 0; before && c < CHANGES; c++) {
		struct diags *diags = diags_new(f->arena);
		struct plan_view changed;

		if (!(changes[c].frameworks & 1U << way->framework) ||
		    (changes[c].moe && !model_moe(plan->model)) ||
		    is_listed(way->others, changes[c].name) ||
		    !make_change(&changes[c], plan, &changed))
			continue;
		files = target->emit(f->arena, diags, &changed, version);
		told[c]++;
		if (!files)
			cr_assert(diags->errors > 0, "%s gives no reason", way->target);
		else
			cr_assert_str_neq(said(f->arena, files), before,
			    "%s does not say '%s': %s\nof\n%s\n%s", way->target, changes[c].name,
			    strategy_options_text(f->arena, &changed.strategy),
			    strategy_options_text(f->arena, &plan->strategy), before);
	}
}

static void
try_way(const struct way *way)
{
	int told[CHANGES] = {0};

	for (int i = 0; i < PLAN_MODELS; i++) {
		struct fixture f = fixture_new(plan_models[i], NULL, "dgx-h100");
		const char *version =
		    way->version ? way->version : find_target(way->target)->newest;

		for (int j = 0; j < TRIES; j++) {
			struct arena_mark mark = arena_mark(f.arena);
			struct plan_view plan;

			if (plan_random(&f, way->framework, version, &plan) &&
			    plan_bend(way->bend, &plan))
				try_changes(&f, way, &plan, told);
			arena_reset(f.arena, mark);
		}
		fixture_free(&f);
	}
	for (int c = 0; c < CHANGES; c++)
		if (changes[c].frameworks & 1U << way->framework &&
		    !is_listed(way->others, changes[c].name))
			cr_expect(told[c] >= LEAST || is_listed(way->never, changes[c].name),
			    "%s %s: '%s' was tried %d times", way->target,
			    way->version ? way->version : "", changes[c].name, told[c]);
}

Test(emit_fields, megatron)
{
	try_way(&megatron);
}

Test(emit_fields, megatron_old)
{
	try_way(&megatron_old);
}

Test(emit_fields, megatron_bridge)
{
	try_way(&bridge);
}

Test(emit_fields, deepspeed)
{
	try_way(&deepspeed);
}

Test(emit_fields, torchtitan)
{
	try_way(&torchtitan);
}

Test(emit_fields, torchtitan_old)
{
	try_way(&torchtitan_old);
}

Test(emit_fields, tutel)
{
	try_way(&tutel);
}

Test(emit_fields, fairscale)
{
	try_way(&fairscale);
}

Test(emit_fields, accelerate)
{
	try_way(&accelerate);
}

Test(emit_fields, jax)
{
	try_way(&jax);
}
