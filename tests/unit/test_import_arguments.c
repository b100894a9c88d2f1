/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Arguments in scripts and vectors: values, flags, lists, what several say together. */
#include <criterion/criterion.h>
#include <string.h>

#include "import_fixture.h"
#include "model/model.h"
#include "planner/params.h"

#define ROWS(table) (sizeof(table) / sizeof((table)[0]))

static struct imported imported;

static void
tear_down(void)
{
	if (imported.arena)
		imported_free(&imported);
}

TestSuite(import_arguments, .fini = tear_down, .timeout = 20);

Test(import_arguments, forms_of_values)
{
	imported = import_good("run.sh", "python pretrain_gpt.py --tensor-model-parallel-size 2 "
					 "--pipeline-model-parallel-size=4 \\\n"
					 "  --lr -1e-4 --recompute-granularity selective "
					 "--recompute-modules moe_act layernorm \\\n"
					 "  --sequence-parallel --no-load-optim "
					 "--disable-bias-linear --data-path a.bin 1.0 b.bin\n");
	cr_assert_eq(imported.config.form, CONFIG_MEGATRON);
	import_expect(&imported, "tensor_model_parallel_size", "2");
	import_expect(&imported, "pipeline_model_parallel_size", "4");
	import_expect(&imported, "lr", "-1e-4");
	import_expect(&imported, "recompute_modules", "[moe_act layernorm]");
	import_expect(&imported, "sequence_parallel", "true");
	import_expect(&imported, "no_load_optim", "true");
	import_expect(&imported, "disable_bias_linear", "true");
	import_expect(&imported, "data_path", "[a.bin 1.0 b.bin]");
	import_expect_sizes(&imported, "tp pp", "tp=2 pp=4");
	cr_assert_eq(imported.config.strategy.recompute.modules,
	    (unsigned)(MODULE_MOE_ACT | MODULE_LAYERNORM));
}

Test(import_arguments, a_vector)
{
	const struct setting *setting;

	imported = imported_new();
	import_add_arguments(&imported, "--expert-model-parallel-size 8 --num-experts=64 --bf16");
	cr_assert_eq(imported.result, 0);
	import_expect_sizes(&imported, "ep", "ep=8");
	setting = setting_find(&imported.config, "expert_model_parallel_size");
	cr_assert_str_eq(setting->value->loc.file, "--expert_model_parallel_size");
	cr_assert_eq(setting->value->loc.line, 0);
}

Test(import_arguments, a_vector_with_its_launcher)
{
	imported = imported_new();
	import_add_arguments(&imported, "torchrun --nnodes 2 --nproc-per-node 8 pretrain_gpt.py "
					"--tensor-model-parallel-size 2");
	cr_assert_eq(imported.result, 0);
	import_expect_sizes(&imported, "world_size tp", "world_size=16 tp=2");
}

Test(import_arguments, no_arguments)
{
	imported = imported_new();
	import_add_arguments(&imported, "");
	cr_assert_eq(imported.result, 0);
	cr_assert_null(imported.config.settings);
}

Test(import_arguments, lines_of_options)
{
	imported = import_good("args.txt", "# plan\n--tensor-model-parallel-size 2\n--bf16\n"
					   "--expert-model-parallel-size 4\n--what-ever 1\n");
	import_expect_sizes(&imported, "tp ep", "tp=2 ep=4");
	import_expect(&imported, "what_ever", "1");
	cr_assert_eq(
	    setting_find(&imported.config, "expert_model_parallel_size")->value->loc.line, 4);
}

Test(import_arguments, variables_that_no_command_uses)
{
	imported = import_good("part.sh", "TP=2\nPARALLEL=(\n  --tensor-model-parallel-size $TP\n"
					  "  --expert-model-parallel-size 8\n)\n"
					  "OTHER=\"--global-batch-size 64 \\\n  --bf16\"\n");
	import_expect_sizes(&imported, "tp ep global_batch", "tp=2 ep=8 global_batch=64");
	cr_assert_eq(
	    setting_find(&imported.config, "tensor_model_parallel_size")->value->loc.line, 1);
}

Test(import_arguments, the_last_of_a_command_counts)
{
	imported = import_good("run.sh", "python t.py --micro-batch-size 1 --global-batch-size 8 "
					 "--micro-batch-size 2\n");
	import_expect_sizes(&imported, "micro_batch", "micro_batch=2");
	cr_assert(
	    import_has_message(&imported, SEVERITY_NOTE, "'micro_batch_size' is given twice"));
}

Test(import_arguments, values_that_are_not_known)
{
	imported = import_good("run.sh", "python t.py --tensor-model-parallel-size $TP "
					 "--expert-model-parallel-size $(nproc) \\\n"
					 "  --num-layers ${LAYERS:-32} $EXTRA \"$@\"\n");
	cr_assert_str_eq(import_unknown_of(&imported, "tensor_model_parallel_size"), "$TP");
	cr_assert_str_eq(import_unknown_of(&imported, "expert_model_parallel_size"), "$(nproc)");
	import_expect(&imported, "num_layers", "32");
	import_expect_sizes(&imported, "tp ep", "tp=0 ep=0");
	cr_assert(import_has_unresolved(&imported, "$TP"));
	cr_assert(import_has_unresolved(&imported, "$(nproc)"));
	cr_assert(import_has_unresolved(&imported, "$EXTRA"));
	cr_assert(import_has_unresolved(&imported, "$@"));
}

Test(import_arguments, flags_before_something_unknown)
{
	imported = import_good("run.sh", "python t.py --num-layers 2 --bf16 $MORE\n");
	import_expect(&imported, "bf16", "true");
	cr_assert(import_has_unresolved(&imported, "$MORE"));
}

Test(import_arguments, the_command_with_most_options)
{
	imported = import_good("run.sh",
	    "python tools/convert.py --tensor-model-parallel-size 8\n"
	    "torchrun --nproc-per-node 8 pretrain_gpt.py --tensor-model-parallel-size 2 "
	    "--expert-model-parallel-size 4 --num-experts 8\necho --tensor-model-parallel-size "
	    "4\n");
	import_expect_sizes(&imported, "tp ep world_size", "tp=2 ep=4 world_size=8");
	cr_assert(import_has_message(&imported, SEVERITY_NOTE, "1 more commands with options"));
}

Test(import_arguments, a_line_that_is_not_continued)
{
	imported = import_good("run.sh",
	    "torchrun --nproc-per-node 8 t.py --tensor-model-parallel-size 2 \\\n"
	    "  --num-experts 8\n  --expert-model-parallel-size 4\n");
	import_expect_sizes(&imported, "tp ep", "tp=2 ep=0");
	cr_assert(import_has_message(&imported, SEVERITY_WARNING,
	    "'--expert-model-parallel-size' begins a command of its own"));
}

Test(import_arguments, sourced_files_are_named)
{
	imported =
	    import_good("run.sh", "source env.sh\npython t.py --tensor-model-parallel-size 2\n");
	cr_assert(import_has_unresolved(&imported, "source env.sh"));
}

Test(import_arguments, bad_sizes_are_told_with_their_own_name)
{
	imported = imported_new();
	import_add(&imported, "run.sh",
	    "python t.py --num-layers 2 \\\n"
	    "  --tensor-model-parallel-size 0 --micro-batch-size two\n");
	cr_assert_eq(imported.result, -1);
	cr_assert_eq(imported.diags->errors, 2);
	cr_assert_eq(imported.diags->first->loc.line, 2);
}

/* --- Megatron-Bridge ------------------------------------------------------------------------ */

Test(import_arguments, bridge_overrides)
{
	imported = import_good("run.sh",
	    "torchrun --nproc-per-node 8 run_recipe.py --recipe x "
	    "model.tensor_model_parallel_size=2 \\\n"
	    "  ++model.virtual_pipeline_model_parallel_size=4 train.global_batch_size=64 \\\n"
	    "  model.sequence_parallel=True model.recompute_granularity=selective \\\n"
	    "  model.recompute_modules=[moe_act,layernorm] mixed_precision=bf16_with_mxfp8_mixed "
	    "-ep 8\n");
	cr_assert_eq(imported.config.form, CONFIG_BRIDGE);
	import_expect_sizes(&imported, 
	    "tp vpp ep global_batch world_size", "tp=2 vpp=4 ep=8 global_batch=64 world_size=8");
	import_expect(&imported, "sequence_parallel", "true");
	import_expect(&imported, "recompute_modules", "[moe_act layernorm]");
	cr_assert_eq(imported.config.strategy.precision, PRECISION_MXFP8);
}

Test(import_arguments, bridge_overrides_one_a_line)
{
	imported = import_good("overrides.txt",
	    "model.tensor_model_parallel_size=2\nmodel.recompute_modules=[\"layernorm\", "
	    "\"moe_act\"]\n"
	    "model.pipeline_model_parallel_layout=\"Et*4|t*4L\"\ndataset.seq_length=4096\n");
	cr_assert_eq(imported.config.form, CONFIG_BRIDGE);
	import_expect(&imported, "recompute_modules", "[layernorm moe_act]");
	cr_assert_str_eq(imported.config.strategy.layout, "Et*4|t*4L");
	import_expect_sizes(&imported, "tp seq_len", "tp=2 seq_len=4096");
}

/* --- Megatron-DeepSpeed --------------------------------------------------------------------- */

Test(import_arguments, megatron_deepspeed)
{
	imported = imported_new();
	import_add(&imported, "run.sh",
	    "opts=\" \\\n  --tensor-model-parallel-size 2 --moe-expert-parallel-size 8 \\\n"
	    "  --num-experts 64 --micro-batch-size 4 --global-batch-size 256\"\n"
	    "cmd=\"deepspeed --num_nodes 2 --num_gpus 8 pretrain_gpt.py $opts --deepspeed \\\n"
	    "  --deepspeed_config ds.json &> log\"\necho $cmd\neval $cmd\n");
	cr_assert_eq(imported.result, 0);
	cr_assert_eq(imported.config.form, CONFIG_DEEPSPEED);
	import_expect_sizes(
	    &imported, "tp ep micro_batch world_size", "tp=2 ep=8 micro_batch=4 world_size=16");
	import_add(
	    &imported, "ds.json", "{\"train_batch_size\": 512, \"fp16\": {\"enabled\": true}}");
	cr_assert_eq(imported.result, -1);
	cr_assert(import_has_message(&imported, SEVERITY_ERROR,
	    "'train_batch_size' is 512 here, but 'global_batch_size' is 256 in run.sh:3"));
}

/* --- several files -------------------------------------------------------------------------- */

Test(import_arguments, two_scripts_that_agree)
{
	imported = imported_new();
	import_add(
	    &imported, "a.sh", "python t.py --tensor-model-parallel-size 2 --num-experts 8\n");
	import_add(&imported, "b.sh", "python t.py --tensor-model-parallel-size 2 --bf16\n");
	cr_assert_eq(imported.result, 0);
	import_expect(&imported, "num_experts", "8");
	import_expect(&imported, "bf16", "true");
}

Test(import_arguments, two_scripts_that_do_not)
{
	imported = imported_new();
	import_add(&imported, "a.sh", "\npython t.py --tensor-model-parallel-size 2\n");
	import_add(&imported, "b.sh", "python t.py --tensor-model-parallel-size 4\n");
	cr_assert_eq(imported.result, -1);
	cr_assert_str_eq(
	    imported.diags->last->message, "'tensor_model_parallel_size' is 4 here, but "
					   "'tensor_model_parallel_size' is 2 in a.sh:2");
	cr_assert_str_eq(imported.diags->last->loc.file, "b.sh");
}

Test(import_arguments, another_framework)
{
	imported = imported_new();
	import_add(&imported, "a.sh", "python t.py --tensor-model-parallel-size 2\n");
	import_add(&imported, "b.toml", "[parallelism]\ntensor_parallel_degree = 2\n");
	cr_assert_eq(imported.result, -1);
	cr_assert(import_has_message(&imported, SEVERITY_ERROR,
	    "this is a torchtitan configuration, a.sh:1 is a Megatron-LM one"));
}

Test(import_arguments, a_script_that_is_not_the_plan)
{
	imported = imported_new();
	import_add(&imported, "e.json",
	    "{\"schema\": \"moeplan/estimate/v1\", \"strategy\": {\"framework\": \"megatron\", "
	    "\"tp\": 2, \"ep\": 8}}");
	import_add(&imported, "run.sh",
	    "python t.py --tensor-model-parallel-size 2 --expert-model-parallel-size 4\n");
	cr_assert_eq(imported.result, -1);
	cr_assert(import_has_message(&imported, SEVERITY_ERROR,
	    "'expert_model_parallel_size' is 4 here, but 'ep' is 8 in e.json:1"));
	cr_assert_eq(imported.config.form, CONFIG_MEGATRON);
}

/* --- what several arguments say together ----------------------------------------------------- */

Test(import_arguments, etp_is_tp_unless_it_is_said)
{
	imported = import_good("a", "python t.py --tensor-model-parallel-size 4 --num-experts 8\n");
	import_expect_sizes(&imported, "etp", "etp=4");
	imported_free(&imported);
	imported = import_good("a", "python t.py --tensor-model-parallel-size 4 "
				    "--expert-tensor-parallel-size 1\n");
	import_expect_sizes(&imported, "etp", "etp=1");
}

Test(import_arguments, defaults_of_a_whole_run)
{
	imported = import_good("a", "python t.py --num-layers 8 --num-experts 8\n");
	cr_assert_eq(imported.config.strategy.dispatcher, DISPATCH_ALLGATHER);
	cr_assert_eq(imported.config.strategy.zero, 0);
	cr_assert_eq(imported.config.strategy.overlap, 0U);
	cr_assert_eq(imported.config.strategy.loss, LOSS_EAGER);
	imported_free(&imported);
	imported = import_good("a", "python t.py --num-layers 8 --use-distributed-optimizer "
				    "--moe-token-dispatcher-type alltoall --overlap-grad-reduce\n");
	cr_assert_eq(imported.config.strategy.dispatcher, DISPATCH_ALLTOALL);
	cr_assert_eq(imported.config.strategy.zero, 1);
	cr_assert_eq(imported.config.strategy.overlap, (unsigned)OVERLAP_DP);
}

Test(import_arguments, virtual_stages_from_their_layers)
{
	imported = import_good("a", "python t.py --num-layers 32 --pipeline-model-parallel-size 4 "
				    "--num-layers-per-virtual-pipeline-stage 2\n");
	import_expect_sizes(&imported, "vpp", "vpp=4");
	imported_free(&imported);
	imported = import_good("a", "python t.py --num-layers 30 --pipeline-model-parallel-size 4 "
				    "--num-layers-per-virtual-pipeline-stage 2\n");
	import_expect_sizes(&imported, "vpp", "vpp=0");
}

Test(import_arguments, uneven_stages_are_a_layout)
{
	static const struct {
		const char *arguments, *layout;
	} rows[] = {
	    {"--num-layers 61 --pipeline-model-parallel-size 4 --decoder-first-pipeline-num-layers "
	     "15 "
	     "--decoder-last-pipeline-num-layers 14",
		"Et*15|t*16|t*16|t*14L"},
	    {"--num-layers 6 --pipeline-model-parallel-size 4 "
	     "--account-for-embedding-in-pipeline-split --account-for-loss-in-pipeline-split",
		"Et|t*2|t*2|tL"},
	    {"--num-layers 10 --pipeline-model-parallel-size 2 "
	     "--num-virtual-stages-per-pipeline-rank 2 "
	     "--decoder-first-pipeline-num-layers 4",
		"Et*2|t*3|t*2|t*3L"},
	    {"--num-layers 8 --pipeline-model-parallel-size 4", NULL},
	    {"--num-layers 9 --pipeline-model-parallel-size 4 --decoder-first-pipeline-num-layers "
	     "1 "
	     "--decoder-last-pipeline-num-layers 1",
		NULL},
	};

	for (size_t i = 0; i < ROWS(rows); i++) {
		imported = imported_new();
		import_add(&imported, "a",
		    arena_printf(imported.arena, "python t.py %s\n", rows[i].arguments));
		cr_assert_eq(imported.result, 0);
		if (rows[i].layout)
			cr_assert_str_eq(imported.config.strategy.layout, rows[i].layout, "%s",
			    rows[i].arguments);
		else
			cr_assert_null(imported.config.strategy.layout, "%s", rows[i].arguments);
		imported_free(&imported);
	}
	imported.arena = NULL;
}

/* --- models --------------------------------------------------------------------------------- */

/* Mixtral 8x7B: 46.7 billion parameters, 12.9 of them active (arXiv 2401.04088). */
Test(import_arguments, model_of_megatron_arguments)
{
	struct params params;

	imported = import_good("a",
	    "python t.py --num-layers 32 --hidden-size 4096 --ffn-hidden-size 14336 \\\n"
	    "  --num-attention-heads 32 --group-query-attention --num-query-groups 8 \\\n"
	    "  --vocab-size 32000 --swiglu --normalization RMSNorm --disable-bias-linear \\\n"
	    "  --position-embedding-type rope --untie-embeddings-and-output-weights \\\n"
	    "  --num-experts 8 --moe-router-topk 2 --max-position-embeddings 32768\n");
	cr_assert_not_null(imported.config.model);
	params_count(imported.config.model, &params);
	cr_assert_eq(params.total, 46702792704);
	cr_assert_eq(params.active, 12879925248);
}

/* GPT-2 XL: 1,557,611,200 parameters; Megatron's defaults are GPT-2's. */
Test(import_arguments, model_of_megatron_defaults)
{
	struct params params;

	imported = import_good("a", "python t.py --num-layers 48 --hidden-size 1600 "
				    "--num-attention-heads 25 --vocab-size 50257 "
				    "--max-position-embeddings 1024\n");
	cr_assert_not_null(imported.config.model);
	params_count(imported.config.model, &params);
	cr_assert_eq(params.total, 1557611200);
}

Test(import_arguments, layers_with_experts)
{
	static const struct {
		const char *frequency;
		int64_t moe;
	} rows[] = {
	    {"'([0]*1+[1]*7)'", 7}, {"2", 4}, {"1", 8}, {"'[1,0]*4'", 4}, {"'([1]+[0]*3)*2'", 2}};

	for (size_t i = 0; i < ROWS(rows); i++) {
		int64_t moe = 0;

		imported = imported_new();
		import_add(&imported, "a",
		    arena_printf(imported.arena,
			"python t.py --num-layers 8 --hidden-size 64 --num-attention-heads 4 "
			"--vocab-size 1000 --num-experts 4 --moe-layer-freq %s\n",
			rows[i].frequency));
		cr_assert_not_null(imported.config.model, "%s", rows[i].frequency);
		for (int k = 0; k < imported.config.model->n_kinds; k++)
			if (kind_is_moe(&imported.config.model->kinds[k]))
				moe += model_layers_of(imported.config.model, k);
		cr_assert_eq(moe, rows[i].moe, "%s: %lld", rows[i].frequency, (long long)moe);
		imported_free(&imported);
	}
	imported.arena = NULL;
}

/* Scripts leave the vocabulary to the tokenizer: a usual size stands in, until a size is told. */
Test(import_arguments, model_without_a_vocabulary)
{
	imported = import_good("a",
	    "python t.py --num-layers 8 --hidden-size 64 --num-attention-heads 4 \\\n"
	    "  --max-position-embeddings 1024\n");
	cr_assert_not_null(imported.config.model);
	cr_assert(imported.config.model->vocab_assumed);
	cr_assert_eq(imported.config.model->vocab, 131072);
	import_add(&imported, "b", "python t.py --vocab-size 1000\n");
	cr_assert_eq(imported.config.model->vocab, 1000);
	cr_assert_not(imported.config.model->vocab_assumed);
}

Test(import_arguments, too_little_for_a_model)
{
	imported =
	    import_good("a", "python t.py --num-layers 8 --hidden-size 64 --num-experts 4\n");
	cr_assert_null(imported.config.model);
	cr_assert_str_eq(imported.config.model_lacks, "num_attention_heads");
}
