/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Do sizes follow from degrees, and do options read back? */
#include "strategy_shapes.h"

TestSuite(strategy, .init = set_up, .fini = tear_down);

Test(strategy, defaults)
{
	struct strategy s = derived("--world-size 64", &moe);

	cr_assert_eq(s.tp * s.cp * s.pp * s.vpp * s.ep * s.etp * s.gtp * s.egtp, 1);
	cr_assert_eq(s.dp, 64);
	cr_assert_eq(s.edp, 64);
	cr_assert_eq(s.zero, 1);
	cr_assert_eq(s.micro_batch, 1);
	cr_assert_eq(s.schedule, SCHEDULE_1F1B);
	cr_assert_eq(s.dispatcher, DISPATCH_ALLTOALL);
	cr_assert_eq(s.recompute.kind, RECOMPUTE_NONE);
	cr_assert_eq(s.loss, LOSS_FUSED);
	cr_assert_eq(s.overlap, OVERLAP_DP);
	cr_assert_eq(s.grad_type, FLOAT_FP32);
	cr_assert_eq(s.moment_type, FLOAT_FP32);
	cr_assert(!s.cuda_graphs && !s.sequence_parallel && s.capacity == 0);
	cr_assert_str_eq(s.order, "tp-cp-ep-dp-pp");
	cr_assert_eq(s.experts_per_rank, 256);
	cr_assert_eq(s.micro_batches, 0);
}

Test(strategy, etp_is_one_with_experts_else_tp)
{
	cr_assert_eq(derived("--world-size 64 --tp 4 --ep 8", &moe).etp, 1);
	cr_assert_eq(derived("--world-size 64 --tp 4", &moe).etp, 4);
	cr_assert_eq(derived("--world-size 64 --tp 4 --ep 8 --etp 4", &moe).etp, 4);
	cr_assert_eq(
	    derived("--world-size 64 --tp 4 --ep 8 --framework deepspeed --expert-tp on", &moe).etp,
	    4);
	cr_assert_eq(derived("--world-size 64 --tp 4 --framework torchtitan", &moe).etp, 1);
}

/* The six worked examples: world, TP CP PP EP, and (dense DP, EDP) with ETP 1 and with ETP = TP. */
Test(strategy, worked_examples)
{
	static const struct {
		int64_t world, tp, cp, pp, ep, dp, edp_one, edp_tp;
	} examples[] = {
	    {8, 1, 1, 1, 8, 8, 1, 1},
	    {16, 2, 1, 1, 4, 8, 4, 2},
	    {8, 2, 1, 2, 4, 2, 1, 0},
	    {64, 4, 2, 2, 8, 4, 4, 1},
	    {32, 1, 1, 4, 8, 8, 1, 1},
	    {24, 2, 1, 1, 8, 12, 3, 0},
	};

	for (size_t i = 0; i < sizeof(examples) / sizeof(examples[0]); i++) {
		struct strategy s;

		for (int same = 0; same < 2; same++) {
			strategy_init(&s);
			s.world = examples[i].world;
			s.tp = examples[i].tp;
			s.cp = examples[i].cp;
			s.pp = examples[i].pp;
			s.ep = examples[i].ep;
			s.etp = same ? s.tp : 1;
			strategy_derive(&s, NULL, 0);
			cr_assert_eq(s.dp, examples[i].dp);
			cr_assert_eq(s.edp, same ? examples[i].edp_tp : examples[i].edp_one);
			cr_assert_eq(strategy_violations(&s, NULL, diags), s.edp == 0);
		}
	}
}

Test(strategy, world_follows_from_the_degrees)
{
	struct strategy s = derived("--tp 4 --pp 2 --dp 3", NULL);

	cr_assert_eq(s.world, 24);
	s = derived("--etp 2 --ep 4 --pp 3 --edp 5", NULL);
	cr_assert_eq(s.world, 120);
	s = derived("--framework torchtitan --dp-replicate 2 --dp-shard 4 --tp 2", NULL);
	cr_assert_eq(s.world, 16);
	cr_assert_eq(s.dp, 8);
	s = given("--tp 4");
	strategy_derive(&s, NULL, 32);
	cr_assert_eq(s.world, 32);
	cr_assert_eq(s.dp, 8);
	s = given("--tp 4 --world-size 16");
	strategy_derive(&s, NULL, 32);
	cr_assert_eq(s.world, 16);
}

Test(strategy, batch_and_schedule)
{
	struct strategy s = derived(
	    "--world-size 64 --tp 2 --pp 4 --vpp 2 --micro-batch 2 --global-batch 128", &moe);

	cr_assert_eq(s.dp, 8);
	cr_assert_eq(s.micro_batches, 8);
	cr_assert_eq(s.schedule, SCHEDULE_INTERLEAVED);
	cr_assert(s.sequence_parallel);
	cr_assert_eq(derived("--world-size 8 --global-batch 12", &moe).micro_batches, 0);
}

Test(strategy, vpp_follows_from_the_layout)
{
	struct strategy s = derived("--world-size 16 --pp 16 --layout 'Et*3|(tt|)*29m|L'", &moe);

	cr_assert_eq(s.vpp, 2);
	cr_assert_eq(s.schedule, SCHEDULE_INTERLEAVED);
	cr_assert_eq(strategy_violations(&s, &moe, diags), 0);
}

Test(strategy, torchtitan_shards_the_rest)
{
	struct strategy s =
	    derived("--framework torchtitan --world-size 32 --dp-replicate 2 --dp-shard -1 --cp 2 "
		    "--tp 2 --pp 2 --ep 4",
		&moe);

	cr_assert_eq(s.dp_shard, 2);
	cr_assert_eq(s.dp, 4);
	cr_assert_eq(s.edp, 4);
	cr_assert_eq(s.zero, 3);
	cr_assert_eq(
	    derived("--framework torchtitan --world-size 32 --dp 16 --tp 2", &moe).dp_shard, 16);
}

/* Both identities hold for every grid that no rule refuses. */
Test(strategy, identities_of_random_grids)
{
	static const int64_t sizes[] = {1, 1, 2, 2, 4, 8, 16, 3};
	unsigned seed = 11;
	int valid = 0;

	for (int i = 0; i < 20000; i++) {
		struct strategy s;
		int64_t *degrees[] = {&s.tp, &s.cp, &s.pp, &s.ep, &s.etp, &s.micro_batch};

		strategy_init(&s);
		for (size_t d = 0; d < sizeof(degrees) / sizeof(degrees[0]); d++) {
			seed = seed * 1103515245U + 12345U;
			*degrees[d] = sizes[seed / 65536U % 8];
		}
		s.framework = (enum framework)(seed / 1048576U % FRAMEWORKS);
		s.world = 64LL << seed / 4194304U % 6;
		if (s.framework != FRAMEWORK_MEGATRON)
			s.etp = 0;
		s.global_batch = s.world * s.micro_batch;
		strategy_derive(&s, &moe, 0);
		if (strategy_first_violation(&s, &moe))
			continue;
		valid++;
		cr_assert_eq(s.tp * s.cp * s.gtp * s.pp * s.dp, s.world);
		cr_assert_eq(s.etp * s.ep * s.egtp * s.pp * s.edp, s.world);
		cr_assert_eq(s.micro_batch * s.micro_batches * s.dp, s.global_batch);
		cr_assert_eq(s.experts_per_rank * s.ep, 256);
	}
	cr_assert_gt(valid, 2000);
}

/* What is beyond 63 bits saturates and is refused; nothing wraps. */
Test(strategy, huge_degrees)
{
	struct strategy s = derived("--tp 1048576 --cp 1048576 --pp 1048576 --gtp 1048576 --ep "
				    "1048576 --etp 1048576 --egtp 1048576 --dp 1048576",
	    &moe);

	cr_assert_eq(s.world, INT64_MAX);
	cr_assert_gt(strategy_violations(&s, &moe, diags), 0);
}

/* The text of a strategy, read again, is the same strategy. */
Test(strategy, options_read_back)
{
	static const char *const texts[] = {
	    "--world-size 64 --tp 2 --pp 2 --ep 8 --global-batch 256 --seq-len 4096",
	    "--world-size 64 --tp 2 --cp 2 --pp 2 --vpp 2 --ep 8 --etp 2 --micro-batch 4",
	    "--world-size 64 --recompute selective:layernorm+moe_act --zero 0 --dispatcher deepep",
	    "--world-size 64 --recompute full:3 --capacity 1.25 --precision fp8-blockwise",
	    "--world-size 64 --grad-type bf16 --optimizer adam:fp8 --offload optimizer:0.35",
	    "--world-size 64 --offload activations --loss eager --cuda-graphs on",
	    "--world-size 64 --overlap dp,tp,pp",
	    "--world-size 64 --offload optimizer --overlap none --schedule zb --pp 4",
	    "--world-size 64 --pp 2 --order tp-cp-ep-pp-dp --gtp 2 --egtp 2 --tp 2 --ep 2 --etp 2",
	    "--world-size 16 --pp 16 --layout 'Et*3|(tt|)*29m|L'",
	    "--world-size 64 --framework torchtitan@0.2.2 --dp-replicate 2 --tp 2 --etp 2",
	    "--world-size 64 --framework deepspeed --expert-tp on --tp 2 --data-before-expert",
	    "--world-size 64 --framework deepspeed --auto-ep --ep 4 --zero 3",
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct strategy s = derived(texts[i], &moe);
		const char *text = strategy_options_text(arena, &s);
		struct strategy again = derived(text, &moe);

		cr_assert_str_eq(strategy_options_text(arena, &again), text);
		cr_assert_eq(again.world, s.world);
		cr_assert_eq(again.tp, s.tp);
		cr_assert_eq(again.etp, s.etp);
		cr_assert_eq(again.edp, s.edp);
		cr_assert_eq(again.vpp, s.vpp);
		cr_assert_eq(again.dp_shard, s.dp_shard);
		cr_assert_eq(again.recompute.modules, s.recompute.modules);
		cr_assert_eq(again.recompute.layers, s.recompute.layers);
		cr_assert_eq(again.recompute.kind, s.recompute.kind);
		cr_assert(again.offload_fraction == s.offload_fraction);
		cr_assert(again.capacity == s.capacity);
		cr_assert_eq(again.overlap, s.overlap);
		cr_assert_eq(again.framework, s.framework);
		cr_assert_eq(again.auto_ep, s.auto_ep);
		cr_assert_eq(again.data_before_expert, s.data_before_expert);
		cr_assert_eq(again.expert_tp, s.expert_tp);
		cr_assert_eq(again.moment_type, s.moment_type);
		cr_assert_eq(again.cuda_graphs, s.cuda_graphs);
		cr_assert_eq(again.schedule, s.schedule);
		cr_assert_eq(again.precision, s.precision);
	}
}

Test(strategy, options_text)
{
	struct strategy s = derived("--world-size 64 --tp 2 --pp 4 --ep 8 --recompute full", &moe);

	cr_assert_str_eq(strategy_options_text(arena, &s),
	    "--world-size 64 --tp 2 --pp 4 --ep 8 --etp 1 --micro-batch 1 --recompute full --zero "
	    "1 "
	    "--schedule 1f1b");
}

Test(strategy, recompute_texts)
{
	cr_assert_str_eq(recompute_text(arena, given("--recompute none").recompute), "none");
	cr_assert_str_eq(recompute_text(arena, given("--recompute full").recompute), "full");
	cr_assert_str_eq(recompute_text(arena, given("--recompute full:7").recompute), "full:7");
	cr_assert_str_eq(
	    recompute_text(arena, given("--recompute selective").recompute), "selective:core_attn");
	cr_assert_str_eq(
	    recompute_text(arena, given("--recompute selective:moe_act+layernorm").recompute),
	    "selective:layernorm+moe_act");
}

Test(strategy, values_that_are_refused)
{
	static const char *const wrong[] = {"--recompute some", "--recompute full:0",
	    "--recompute full:1025", "--recompute full:x",
	    "--recompute selective:", "--recompute selective:mlp+mlp",
	    "--recompute selective:mlp,moe", "--capacity 0", "--capacity much", "--capacity nan",
	    "--optimizer sgd", "--optimizer adam:fp4", "--offload all", "--offload optimizer:0",
	    "--offload optimizer:1.1", "--offload optimizer:nan", "--overlap x", "--overlap dp,dp",
	    "--overlap dp,", "--cuda-graphs maybe", "--framework jax", "--framework megatron@",
	    "--framework megatron@new", "--framework megatron@0..1", "--order tp-tp",
	    "--order tp,cp", "--order xx", "--tp 0", "--tp 1.5", "--tp 2000000", "--zero 4",
	    "--schedule fast", "--precision int8", "--dispatcher mail", "--dp-shard -2",
	    "--expert-tp maybe", "--seq-len 0"};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct strategy s;
		int errors = diags->errors;

		cr_assert_eq(read_options(&s, wrong[i]), -1, "%s", wrong[i]);
		cr_assert_eq(diags->errors, errors + 1, "%s", wrong[i]);
		cr_assert(strncmp(diags->last->loc.file, "--", 2) == 0);
	}
}

/* What a job takes begins with the sequence length and has no degree of the search. */
Test(strategy, fields_of_a_job)
{
	static const char *const searched[] = {"tp", "cp", "pp", "vpp", "ep", "etp", "dp", "edp",
	    "micro_batch", "recompute", "zero", "dispatcher", "layout", "world_size", NULL};

	cr_assert_str_eq(strategy_job_fields->name, "seq_len");
	for (int i = 0; searched[i]; i++) {
		cr_assert_not_null(field_find(strategy_fields, searched[i]));
		cr_assert_null(field_find(strategy_job_fields, searched[i]));
	}
	cr_assert_not_null(field_find(strategy_job_fields, "framework"));
	cr_assert_not_null(field_find(strategy_job_fields, "schedule"));
}
