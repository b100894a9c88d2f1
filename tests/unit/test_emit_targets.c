/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What do targets write, and what do they refuse rather than approximate? */
#include <criterion/criterion.h>
#include <string.h>

#include "emit/emit.h"
#include "fixture.h"

static const struct emit_target *
find_target(const char *name)
{
	const struct emit_target *target = emit_targets;

	while (target->name && strcmp(target->name, name) != 0)
		target++;
	cr_assert_not_null(target->name, "there is no target %s", name);
	return target;
}

static struct plan_view
plan_of(struct fixture *f, struct strategy strategy)
{
	struct plan_view plan = {.model = f->model, .gpu = "H100-SXM5-80GB", .strategy = strategy};

	cr_assert_null(strategy_first_violation(&strategy, f->model), "%s",
	    strategy_first_violation(&strategy, f->model)->gist);
	layout_even(&plan.layout, f->model->layers, (int)strategy.pp, (int)strategy.vpp);
	plan.gpus_per_node = 8;
	plan.nodes = strategy.world / 8;
	return plan;
}

static const struct emitted *
emit(struct fixture *f, const struct plan_view *plan, const char *name)
{
	const struct emit_target *target = find_target(name);

	return target->emit(f->arena, f->diags, plan, target->newest);
}

static void
expect_refused(
    struct fixture *f, const struct plan_view *plan, const char *name, const char *reason)
{
	int errors = f->diags->errors;
	const struct diag *diag = f->diags->last;

	cr_assert_null(emit(f, plan, name), "%s takes it", name);
	cr_expect_gt(f->diags->errors, errors, "%s gives no reason", name);
	for (diag = diag ? diag->next : f->diags->first; diag; diag = diag->next)
		if (strstr(diag->message, reason))
			return;
	cr_expect(false, "%s says '%s', not '%s'", name, f->diags->last->message, reason);
}

static void
expect_line(const struct emitted *files, const char *name, const char *line)
{
	while (files && strcmp(files->name, name) != 0)
		files = files->next;
	cr_assert_not_null(files, "there is no %s", name);
	cr_expect(strstr(files->text, line), "%s lacks '%s':\n%s", name, line, files->text);
}

Test(emit_targets, have_names_of_their_own)
{
	for (const struct emit_target *t = emit_targets; t->name; t++) {
		cr_expect_eq(find_target(t->name), t);
		cr_expect_not_null(t->emit);
		cr_expect_eq(t->versions == NULL, t->newest == NULL, "%s", t->name);
	}
}

Test(emit_targets, megatron_environment_follows_the_machine)
{
	struct fixture f = fixture_new("qwen3-30b-a3b", NULL, "dgx-h100x2");
	struct plan_view plan = plan_of(&f, fixture_strategy(&f, 2, 1, 1, 1, 8, 1, 256, 4096));

	expect_line(
	    emit(&f, &plan, "megatron"), "pretrain.sh", "export CUDA_DEVICE_MAX_CONNECTIONS=1\n");
	plan.gpu = "B200-SXM6-180GB";
	cr_expect_null(strstr(emit(&f, &plan, "megatron")->next->text, "CONNECTIONS"));
	plan.strategy.zero = 3;
	expect_line(
	    emit(&f, &plan, "megatron"), "pretrain.sh", "unset CUDA_DEVICE_MAX_CONNECTIONS\n");
	fixture_free(&f);
}

/* What a config.json says beside shapes, wherever the file's age has put it. */
Test(emit_targets, megatron_follows_the_config)
{
	static const struct {
		const char *config, *written, *absent;
	} rows[] = {
	    {"{\"rope_theta\": 5e5}", "--rotary-base 500000 \\\n--swiglu", "--rotary-percent"},
	    {"{\"rope_parameters\": {\"rope_theta\": 1e6, \"partial_rotary_factor\": 0.25}}",
		"--rotary-base 1000000 \\\n--rotary-percent 0.25", "--use-rope-scaling"},
	    {"{\"rope_scaling\": {\"rope_type\": \"llama3\", \"factor\": 8.0}}",
		"--use-rope-scaling \\\n--rope-scaling-factor 8 ", "--rotary-base"},
	    {"{\"rope_scaling\": {\"type\": \"yarn\", \"factor\": 40}}", "rope",
		"--use-rope-scaling"},
	    {"{\"seq_aux\": true, \"aux_loss_alpha\": 0.001}",
		"--moe-router-load-balancing-type seq_aux_loss \\\n--moe-aux-loss-coeff 0.001",
		"--moe-router-topk-scaling-factor"},
	    {"{\"norm_topk_prob\": false, \"routed_scaling_factor\": 16}",
		"--moe-router-pre-softmax \\\n--moe-router-topk-scaling-factor 16", "seq_aux_loss"},
	    {"{\"rms_norm_eps\": 1e-06}", "--norm-epsilon 1e-06", "--rotary-base"},
	};
	struct fixture f = fixture_new("qwen3-30b-a3b", NULL, "dgx-h100x2");
	struct plan_view plan = plan_of(&f, fixture_strategy(&f, 2, 1, 1, 1, 8, 1, 256, 4096));

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const struct emitted *files;

		plan.definition = doc_parse(
		    f.arena, f.diags, "config.json", rows[i].config, strlen(rows[i].config));
		files = emit(&f, &plan, "megatron");
		expect_line(files, "megatron-arguments.txt", rows[i].written);
		cr_expect_null(strstr(files->text, rows[i].absent), "%s", rows[i].absent);
	}
	fixture_free(&f);
}

Test(emit_targets, megatron_knows_the_activation_of_gpt_oss)
{
	struct fixture f = fixture_new("gpt-oss-120b", NULL, "dgx-h100x2");
	struct plan_view plan = plan_of(&f, fixture_strategy(&f, 2, 1, 1, 1, 8, 1, 256, 4096));
	const struct emitted *files;

	f.model->architecture = "GptOssForCausalLM";
	files = emit(&f, &plan, "megatron");
	expect_line(files, "megatron-arguments.txt",
	    "--quick-geglu \\\n--activation-func-clamp-value 7 \\\n--glu-linear-offset 1 \\\n");
	cr_expect_null(strstr(files->text, "--swiglu"));
	fixture_free(&f);
}

Test(emit_targets, refuse_what_they_cannot_say)
{
	struct fixture f = fixture_new("qwen3-30b-a3b", NULL, "dgx-h100x2");
	struct plan_view plan = plan_of(&f, fixture_strategy(&f, 1, 1, 2, 1, 8, 1, 256, 4096));

	expect_refused(&f, &plan, "torchtitan", "torchtitan shards parameters");
	expect_refused(&f, &plan, "accelerate", "no expert dimension");
	expect_refused(&f, &plan, "fairscale", "two experts");
	plan.strategy.capacity = 1.25;
	plan.strategy.zero = 3;
	expect_refused(&f, &plan, "deepspeed", "incompatible with pipeline");
	plan.strategy.zero = 1;
	plan.strategy.precision = PRECISION_MXFP8;
	expect_refused(&f, &plan, "deepspeed", "bf16 and fp16");
	plan.strategy.precision = PRECISION_FP8;
	plan.strategy.recompute = (struct recompute){RECOMPUTE_SELECTIVE, MODULE_MOE_ACT, 0};
	expect_refused(&f, &plan, "megatron", "delayed scaling");
	fixture_free(&f);
}

Test(emit_targets, refuse_models_without_words)
{
	struct fixture f = fixture_new("olmoe-1b-7b", NULL, "dgx-h100");
	struct plan_view plan = plan_of(&f, fixture_strategy(&f, 1, 1, 1, 1, 8, 1, 256, 4096));

	expect_refused(&f, &plan, "megatron", "norm over all query heads");
	fixture_free(&f);
}

/* A plan that another framework takes as it is was still estimated for its own. */
Test(emit_targets, say_whom_a_plan_was_made_for)
{
	static const char *const targets[] = {
	    "megatron", "megatron-bridge", "deepspeed", "torchtitan"};
	static const enum framework owners[] = {
	    FRAMEWORK_MEGATRON, FRAMEWORK_MEGATRON, FRAMEWORK_DEEPSPEED, FRAMEWORK_TORCHTITAN};

	for (int made = 0; made < FRAMEWORKS; made++)
		for (int t = 0; t < 4; t++) {
			struct fixture f = fixture_new("qwen3-30b-a3b", NULL, "dgx-h100x2");
			struct strategy s = fixture_strategy(&f, 1, 1, 1, 1, 8, 1, 256, 4096);
			struct plan_view plan = plan_of(&f, s);
			const char *name = framework_names[made];

			plan.strategy.framework = (enum framework)made;
			plan.strategy.zero = 3;
			plan.strategy.auto_ep = made == FRAMEWORK_DEEPSPEED;
			plan.strategy.order = made == FRAMEWORK_MEGATRON ? s.order : NULL;
			if (made == FRAMEWORK_TORCHTITAN) {
				plan.strategy.dp_shard = s.dp;
				plan.strategy.dp_replicate = 1;
			}
			cr_assert_not_null(emit(&f, &plan, targets[t]), "%s for %s: %s", name,
			    targets[t], f.diags->first ? f.diags->first->message : "");
			cr_expect_eq(f.diags->notes, owners[t] != (enum framework)made, "%s for %s",
			    name, targets[t]);
			cr_expect(f.diags->notes == 0 || strstr(f.diags->last->message, name));
			fixture_free(&f);
		}
}

/* A rank order, copies of shards: nothing else can be told of them. */
Test(emit_targets, carry_plans_over_only_when_they_stay_the_same)
{
	struct fixture f = fixture_new("qwen3-30b-a3b", NULL, "dgx-h100x2");
	struct plan_view plan = plan_of(&f, fixture_strategy(&f, 1, 1, 1, 1, 8, 1, 256, 4096));

	expect_line(emit(&f, &plan, "deepspeed"), "deepspeed_client.py", "ep_size=8");
	plan.strategy.order = "tp-cp-ep-pp-dp";
	expect_refused(&f, &plan, "deepspeed", "rank order");
	plan.strategy.framework = FRAMEWORK_DEEPSPEED;
	plan.strategy.order = NULL;
	plan.strategy.data_before_expert = true;
	expect_refused(&f, &plan, "megatron", "data before experts");
	expect_line(emit(&f, &plan, "deepspeed"), "ds_config.json",
	    "\"use_data_before_expert_parallelism\": true");
	fixture_free(&f);
}

Test(emit_targets, the_total_batch_is_left_out_with_autotp)
{
	struct fixture f = fixture_new("mixtral-8x7b", NULL, "dgx-h100x2");
	struct strategy s = fixture_strategy(&f, 1, 1, 1, 1, 8, 1, 256, 4096);
	struct plan_view plan;

	s.framework = FRAMEWORK_DEEPSPEED;
	s.order = NULL;
	s.auto_ep = true;
	s.tp = 2;
	s.dp = s.edp = 0;
	strategy_derive(&s, f.model, 0);
	plan = plan_of(&f, s);
	expect_line(
	    emit(&f, &plan, "deepspeed"), "ds_config.json", "\"gradient_accumulation_steps\": 32");
	cr_expect_null(strstr(emit(&f, &plan, "deepspeed")->text, "train_batch_size\""));
	expect_line(
	    emit(&f, &plan, "deepspeed"), "ds_config.json", "\"preset_model\": \"mixtral\"");
	fixture_free(&f);
}

Test(emit_targets, every_rank_is_in_the_table_once)
{
	struct fixture f = fixture_new("mixtral-8x7b", NULL, "dgx-h100");
	struct plan_view plan = plan_of(&f, fixture_strategy(&f, 2, 1, 1, 1, 4, 1, 256, 4096));
	const struct emitted *files = emit(&f, &plan, "ranks");
	int lines = 0;

	for (const char *c = files->text; *c; c++)
		lines += *c == '\n';
	cr_expect_eq(lines, 9);
	expect_line(files, "ranks.csv", "\n5,0,5,");
	fixture_free(&f);
}

Test(emit_targets, launchers_start_every_rank)
{
	struct fixture f = fixture_new("mixtral-8x7b", NULL, "dgx-h100x2");
	struct plan_view plan = plan_of(&f, fixture_strategy(&f, 2, 1, 1, 1, 4, 1, 256, 4096));

	expect_line(emit(&f, &plan, "torchrun"), "torchrun.sh", "--nnodes 2 --nproc-per-node 8");
	expect_line(emit(&f, &plan, "slurm"), "slurm.sh", "#SBATCH --ntasks=2\n");
	expect_line(emit(&f, &plan, "mpirun"), "mpirun.sh", "-np 16");
	expect_line(emit(&f, &plan, "deepspeed-launch"), "hostfile", "worker-2 slots=8\n");
	fixture_free(&f);
}
