/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Does every target say every part of a strategy, or refuse it? One part of a plan that a target
 * takes is changed; then the files differ in more than comments, or the target has a reason.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "base/str.h"
#include "plan_changes.h"

enum { TRIES = 3000, LEAST = 3 }; /* plans of a model; how often each change must have been told */

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

		if (!(plan_changes[c].frameworks & 1U << way->framework) ||
		    (plan_changes[c].moe && !model_moe(plan->model)) ||
		    is_listed(way->others, plan_changes[c].name) ||
		    !plan_change(&plan_changes[c], f->arena, plan, &changed))
			continue;
		files = target->emit(f->arena, diags, &changed, version);
		told[c]++;
		if (!files)
			cr_assert(diags->errors > 0, "%s gives no reason", way->target);
		else
			cr_assert_str_neq(said(f->arena, files), before,
			    "%s does not say '%s': %s\nof\n%s\n%s", way->target,
			    plan_changes[c].name,
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
		if (plan_changes[c].frameworks & 1U << way->framework &&
		    !is_listed(way->others, plan_changes[c].name))
			cr_expect(told[c] >= LEAST || is_listed(way->never, plan_changes[c].name),
			    "%s %s: '%s' was tried %d times", way->target,
			    way->version ? way->version : "", plan_changes[c].name, told[c]);
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
