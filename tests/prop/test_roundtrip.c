/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Is what we emit, read back, the plan that was emitted? Thousands of random valid plans, every
 * target that has an importer, the files as they are written.
 */
#include <criterion/criterion.h>
#include <stdint.h>
#include <string.h>

#include "../unit/fixture.h"
#include "base/str.h"
#include "check/config.h"
#include "emit/emit.h"
#include "emit/keys.h"
#include "plans.h"

enum { PLANS = 60000, ROUNDS = 20 }; /* tries of a round, rounds at most */

/* --- comparison ----------------------------------------------------------------------------- */

/* What a target's files cannot say, by bit. */
enum {
	NO_LOSS = 1,
	EXPERTS_ALONE = 2,
};

#define SIZE(name)                                                                                 \
	{                                                                                          \
#name, offsetof(struct strategy, name)                                             \
	}
static const struct {
	const char *name;
	size_t offset;
} sizes[] = {SIZE(world), SIZE(tp), SIZE(cp), SIZE(pp), SIZE(vpp), SIZE(ep), SIZE(dp), SIZE(edp),
    SIZE(etp), SIZE(gtp), SIZE(egtp), SIZE(dp_replicate), SIZE(dp_shard), SIZE(micro_batch),
    SIZE(global_batch), SIZE(micro_batches), SIZE(experts_per_rank)};

/* Communication that there is none of is hidden by nothing. */
static unsigned
real_overlap(const struct strategy *s)
{
	unsigned overlap = s->overlap;

	if (s->tp == 1)
		overlap &= ~(unsigned)OVERLAP_TP;
	if (s->ep == 1)
		overlap &= ~(unsigned)OVERLAP_EP;
	if (s->vpp == 1)
		overlap &= ~(unsigned)OVERLAP_PP;
	return overlap;
}

static void
differ(struct str *out, const char *name, const char *a, const char *b)
{
	if (strcmp(a, b) != 0)
		str_addf(out, "%s %s became %s; ", name, a, b);
}

static void
differ_int(struct str *out, const char *name, int64_t a, int64_t b)
{
	if (a != b)
		str_addf(out, "%s %lld became %lld; ", name, (long long)a, (long long)b);
}

/* Sharding over one rank is none. */
static bool
shards(const struct strategy *s)
{
	return (s->framework == FRAMEWORK_TORCHTITAN ? s->dp_shard : s->dp) * s->cp > 1;
}

static void
compare_settings(
    struct str *out, const struct strategy *a, const struct strategy *b, bool moe, unsigned without)
{
	differ(out, "recompute", recompute_text(out->arena, a->recompute),
	    recompute_text(out->arena, b->recompute));
	if (!(without & NO_LOSS))
		differ(out, "loss", loss_names[a->loss], loss_names[b->loss]);
	differ_int(out, "seq_len", a->seq_len, b->seq_len);
	differ_int(out, "cuda_graphs", a->cuda_graphs, b->cuda_graphs);
	if (moe)
		differ(out, "dispatcher", dispatcher_names[a->dispatcher],
		    dispatcher_names[b->dispatcher]);
	differ(out, "precision", precision_names[a->precision], precision_names[b->precision]);
	differ(out, "grad_type", float_type_names[a->grad_type], float_type_names[b->grad_type]);
	differ(out, "moments", float_type_names[a->moment_type], float_type_names[b->moment_type]);
	differ(out, "order", a->order ? a->order : "", b->order ? b->order : "");
	if (shards(a))
		differ_int(out, "zero", a->zero, b->zero);
	differ_int(out, "schedule", a->schedule, b->schedule);
	differ_int(out, "offload", a->offload, b->offload);
	differ_int(out, "offload %", (int64_t)(1000 * a->offload_fraction),
	    (int64_t)(1000 * b->offload_fraction));
	differ_int(out, "capacity", (int64_t)(1000 * a->capacity), (int64_t)(1000 * b->capacity));
	differ_int(out, "overlap", real_overlap(a), real_overlap(b));
	differ_int(out, "auto_ep", a->auto_ep, b->auto_ep);
	if (moe && !a->auto_ep)
		differ_int(out, "expert_tp", a->expert_tp == 1, b->expert_tp == 1);
	differ_int(out, "data_before_expert", a->data_before_expert, b->data_before_expert);
}

/* Layers of experts say no more. */
static void
compare_experts(struct str *out, const struct strategy *a, const struct strategy *b)
{
	differ_int(out, "ep", a->ep, b->ep);
	differ_int(out, "experts_per_rank", a->experts_per_rank, b->experts_per_rank);
	differ_int(out, "capacity", (int64_t)(1000 * a->capacity), (int64_t)(1000 * b->capacity));
	differ_int(out, "overlap ep", real_overlap(a) & OVERLAP_EP, b->overlap & OVERLAP_EP);
}

static void
compare_layouts(
    struct str *out, const struct plan_view *plan, const struct strategy *back, struct diags *diags)
{
	struct layout layout;
	int chunks = plan->layout.pp * plan->layout.vpp;

	layout_even(&layout, plan->model->layers, (int)back->pp, (int)back->vpp);
	if (back->layout && layout_parse(&layout, back->layout, plan->model, (int)back->pp, diags,
				(struct loc){NULL, 0, 0}) != 0)
		str_add(out, "the layout does not parse; ");
	else if (layout.pp == plan->layout.pp && layout.vpp == plan->layout.vpp &&
		 memcmp(layout.first, plan->layout.first,
		     (size_t)(chunks + 1) * sizeof(*layout.first)) != 0)
		str_add(out, "layers are on other chunks; ");
}

static const char *
differences(
    struct fixture *f, const struct plan_view *plan, const struct strategy *back, unsigned without)
{
	struct str out = str_new(f->arena);

	if (without & EXPERTS_ALONE) {
		compare_experts(&out, &plan->strategy, back);
		return out.text;
	}
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		const char *a = (const char *)&plan->strategy, *b = (const char *)back;

		if (!model_moe(plan->model) && strstr("etp edp", sizes[i].name))
			continue;
		differ_int(&out, sizes[i].name,
		    *(const int64_t *)(const void *)(a + sizes[i].offset),
		    *(const int64_t *)(const void *)(b + sizes[i].offset));
	}
	compare_settings(&out, &plan->strategy, back, model_moe(plan->model) != NULL, without);
	compare_layouts(&out, plan, back, f->diags);
	return out.text;
}

/* --- one target ----------------------------------------------------------------------------- */

struct way {
	const char *target, *version;
	enum framework framework;
	const char *file;   /* which of the files is read; NULL all of them */
	const char *launch; /* target whose files say the world */
	unsigned without;
	void (*bend)(struct strategy *strategy); /* towards what the target takes; NULL: not */
};

static const struct emit_target *
find_target(const char *name)
{
	const struct emit_target *target = emit_targets;

	while (strcmp(target->name, name) != 0)
		target++;
	return target;
}

static void
import(struct fixture *f, struct config *config, const struct emitted *file, const char *what)
{
	int result =
	    config_import(config, f->arena, f->diags, file->name, file->text, strlen(file->text));

	cr_assert(result == 0 && f->diags->errors == 0, "%s of %s is not read: %s\n%s", file->name,
	    what, f->diags->last ? f->diags->last->message : "?", file->text);
}

/* A file of comments alone has nothing to read. */
static bool
says_something(const char *text)
{
	for (; text && *text; text = strchr(text, '\n') ? strchr(text, '\n') + 1 : NULL)
		if (*text != '#' && *text != '\n')
			return true;
	return false;
}

static void
read_back(struct fixture *f, const struct way *way, const struct plan_view *plan,
    const struct emitted *files, struct strategy *back)
{
	const char *what = strategy_options_text(f->arena, &plan->strategy);
	const struct emitted *launch =
	    way->launch ? find_target(way->launch)->emit(f->arena, f->diags, plan, NULL) : NULL;
	struct config config;

	config_init(&config);
	config.version = way->version;
	for (; files; files = files->next)
		if (way->file ? strcmp(files->name, way->file) == 0 : says_something(files->text))
			import(f, &config, files, what);
	for (; launch; launch = launch->next)
		import(f, &config, launch, what);
	*back = config.strategy;
	back->framework_version = plan->strategy.framework_version;
	strategy_derive(back, plan->model, 0);
}

/* Emits and reads; false when the target does not express the plan or not in this file. */
static bool
try_plan(struct fixture *f, const struct way *way, const struct plan_view *plan)
{
	const struct emit_target *target = find_target(way->target);
	const char *version = way->version ? way->version : target->newest;
	const struct emitted *files = target->emit(f->arena, diags_new(f->arena), plan, version),
			     *file = files;
	struct strategy back;

	while (way->file && file && strcmp(file->name, way->file) != 0)
		file = file->next;
	if (!file)
		return false;
	read_back(f, way, plan, files, &back);
	const char *differ = differences(f, plan, &back, way->without);
	cr_assert_str_empty(differ, "%s: %s\n%s\n%s\n%s", way->target, differ, plan->model->name,
	    strategy_options_text(f->arena, &plan->strategy), file->text);
	return true;
}

/* How many plans of a round could be emitted; each was read back as it was. */
static int
try_round(const struct way *way)
{
	int read = 0;

	for (int i = 0; i < PLAN_MODELS; i++) {
		struct fixture f = fixture_new(plan_models[i], NULL, "dgx-h100");
		const char *version =
		    way->version ? way->version : find_target(way->target)->newest;

		for (int j = 0; j < PLANS / PLAN_MODELS; j++) {
			struct arena_mark mark = arena_mark(f.arena);
			struct plan_view plan;

			f.diags = diags_new(f.arena);
			if (plan_random(&f, way->framework, version, &plan) &&
			    plan_bend(way->bend, &plan))
				read += try_plan(&f, way, &plan);
			arena_reset(f.arena, mark);
		}
		fixture_free(&f);
	}
	return read;
}

static void
try_way(const struct way *way, int least)
{
	int read = 0;

	for (int round = 0; read < least && round < ROUNDS; round++)
		read += try_round(way);
	cr_log_info("%s: %d plans", way->target, read);
	cr_assert(read >= least, "%s: %d plans only", way->target, read);
}

Test(roundtrip, megatron_script)
{
	static const struct way way = {
	    .target = "megatron", .framework = FRAMEWORK_MEGATRON, .file = "pretrain.sh"};

	try_way(&way, 6000);
}

Test(roundtrip, megatron_arguments)
{
	static const struct way way = {.target = "megatron",
	    .version = "0.15",
	    .framework = FRAMEWORK_MEGATRON,
	    .file = "megatron-arguments.txt",
	    .launch = "slurm"};

	try_way(&way, 4000);
}

Test(roundtrip, megatron_bridge)
{
	static const struct way way = {
	    .target = "megatron-bridge", .framework = FRAMEWORK_MEGATRON, .launch = "torchrun"};

	try_way(&way, 3000);
}

Test(roundtrip, deepspeed)
{
	static const struct way way = {
	    .target = "deepspeed", .framework = FRAMEWORK_DEEPSPEED, .launch = "deepspeed-launch"};

	try_way(&way, 4000);
}

Test(roundtrip, torchtitan_toml)
{
	static const struct way way = {.target = "torchtitan",
	    .version = "0.2.2",
	    .framework = FRAMEWORK_TORCHTITAN,
	    .launch = "mpirun"};

	try_way(&way, 3000);
}

Test(roundtrip, torchtitan_overrides)
{
	static const struct way way = {.target = "torchtitan",
	    .framework = FRAMEWORK_TORCHTITAN,
	    .file = "torchtitan-overrides.txt",
	    .launch = "torchrun",
	    .without = NO_LOSS};

	try_way(&way, 2000);
}

Test(roundtrip, torchtitan_recipe)
{
	static const struct way way = {.target = "torchtitan",
	    .framework = FRAMEWORK_TORCHTITAN,
	    .file = "torchtitan_recipe.py",
	    .launch = "slurm"};

	try_way(&way, 3000);
}

Test(roundtrip, accelerate)
{
	static const struct way way = {.target = "accelerate",
	    .framework = FRAMEWORK_MEGATRON,
	    .launch = "torchrun",
	    .bend = bend_accelerate};

	try_way(&way, 3000);
}

/* How the loss is computed is XLA's to decide. */
Test(roundtrip, maxtext)
{
	static const struct way way = {.target = "jax",
	    .framework = FRAMEWORK_MEGATRON,
	    .launch = "slurm",
	    .without = NO_LOSS,
	    .bend = bend_jax};

	try_way(&way, 3000);
}

Test(roundtrip, tutel)
{
	static const struct way way = {.target = "tutel",
	    .framework = FRAMEWORK_MEGATRON,
	    .launch = "torchrun",
	    .without = EXPERTS_ALONE,
	    .bend = bend_tutel};

	try_way(&way, 2000);
}

Test(roundtrip, fairscale)
{
	static const struct way way = {.target = "fairscale",
	    .framework = FRAMEWORK_MEGATRON,
	    .launch = "mpirun",
	    .without = EXPERTS_ALONE,
	    .bend = bend_fairscale};

	try_way(&way, 2000);
}
