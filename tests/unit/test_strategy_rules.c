/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Does every rule fire exactly when it should, with the numbers and a fix? */
#include "strategy_shapes.h"

TestSuite(strategy_rules, .init = set_up, .fini = tear_down);

static const struct grid_rule *
find_rule(const char *id)
{
	for (const struct grid_rule *rule = grid_rules; rule->id; rule++)
		if (strcmp(rule->id, id) == 0)
			return rule;
	return NULL;
}

#define TITAN "--framework torchtitan --world-size 64 "
#define SPEED "--framework deepspeed --world-size 64 "
#define FOLD SPEED "--auto-ep --tp 2 --ep 4 "

/* For each rule a strategy that breaks it and nothing else, and what the message must say. */
static const struct breach {
	const char *rule;
	bool is_dense;
	const char *options, *message, *hint;
} breaches[] = {
    {"GRID-001", false, "--tp 2", "world size is not known", "--world-size"},
    {"GRID-002", false, "--world-size 8 --dp-shard 4", "'--dp-shard' is an option of torchtitan",
	"--framework torchtitan"},
    {"GRID-002", false, "--world-size 8 --auto-ep", "'--auto-ep' is an option of deepspeed",
	"--framework deepspeed"},
    {"GRID-002", false, TITAN "--gtp 2 --tp 2 --dp-shard 16", "'--gtp' is an option of megatron",
	"--framework megatron"},
    {"GRID-003", true, "--world-size 1024 --pp 512 --layout 'Et*80|*511L'", "pp 512", "256"},
    {"GRID-004", false, SPEED "--cp 2", "DeepSpeed has no context-parallel axis", "--cp 1"},
    {"MEG-001", false, "--world-size 16 --tp 2 --cp 3", "tp 2 x cp 3 x pp 1 = 6 GPUs",
	"use 12 or 18 GPUs"},
    {"MEG-001", false, "--world-size 16 --tp 2 --dp 4", "tp 2 x cp 1 x pp 1 x dp 4 = 8 GPUs",
	"follows as 8"},
    {"DS-038", true, SPEED "--pp 3", "does not divide the world of 64", "63 or 66"},
    {"TT-004", false, TITAN "--dp-shard 16 --dp-replicate 2", "= 32 GPUs, the world is 64",
	"--dp-shard out: it follows as 32"},
    {"DS-051", false, SPEED "--tp 2 --etp 2", "DeepSpeed has 1 without expert", "follows as 1"},
    {"DS-031", false, SPEED "--pp 2 --ep 64", "32 GPUs (world 64 / pp 2)", "use --ep 32"},
    {"DS-032", false, SPEED "--expert-tp on --tp 4 --ep 32",
	"dense dp 16 (world 64 / (tp 4 x pp 1)) is not a multiple of ep 32", "use --ep 16"},
    {"DS-050", false, "--framework deepspeed --world-size 48 --auto-ep --ep 32",
	"48 GPUs (world 48 / pp 1), which is not a multiple of ep 32", "use --ep 16"},
    {"TT-007", false, TITAN "--tp 2 --ep 2 --etp 2", "since 0.3", "--etp 1"},
    {"TT-007", false, "--framework torchtitan@0.2.2 --world-size 64 --tp 4 --ep 2 --etp 2",
	"torchtitan 0.2 has etp 1 or tp 4", "--etp 1"},
    {"TT-005", false, TITAN "--dp-replicate 32 --ep 4",
	"dp_shard 2 x cp 1 x tp 1 = 2 is not a multiple of etp 1 x ep 4", "use --ep 2"},
    {"MEG-003", false, "--world-size 16 --tp 4 --ep 8 --etp 4",
	"etp 4 x ep 8 x pp 1 = 32 GPUs, which does not divide the world of 16",
	"--etp 1 makes it 8 GPUs"},
    {"MEG-003", false, "--world-size 24 --ep 16", "= 16 GPUs, which does not divide", "use --ep 8"},
    {"MEG-003", false, "--world-size 16 --ep 8 --edp 4", "x edp 4 = 32 GPUs, the world is 16",
	"follows as 2"},
    {"GRID-006", false, SPEED "--ep 8 --edp 4", "x edp 4 = 32 GPUs, the world is 64",
	"follows as 8"},
    {"GRID-007", false, "--world-size 8 --tp 2 --cp 2 --order tp-dp", "does not name cp",
	"tp-cp-ep-dp-pp"},
    {"MEG-004", false, "--world-size 16 --tp 2 --etp 2 --ep 4 --pp 2 --order tp-cp-ep-pp-dp",
	"dense dp 4 and expert dp 1", "tp-cp-ep-dp-pp"},
    {"MEG-005", false, "--world-size 32 --tp 2 --ep 2 --pp 2 --order tp-pp-ep-dp",
	"2 ranks apart for dense layers and 1 for experts", "tp-cp-ep-dp-pp"},
    {"MEG-012", false, "--world-size 16 --global-batch 8", "dp 16", "--global-batch 16"},
    {"MEG-011", false, "--world-size 16 --micro-batch 2 --global-batch 100",
	"100 is not a multiple of micro-batch 2 x dp 16 = 32", "96 or 128"},
    {"DS-010", false, SPEED "--tp 2 --global-batch 100", "x dp 32 = 32", "96 or 128"},
    {"TT-010", false, TITAN "--global-batch 100", "x dp 64 = 64", "64 or 128"},
    {"GRID-008", false, "--world-size 64 --pp 64", "64 chunks leave some without a layer",
	"at most 63 chunks"},
    {"MEG-028", false, "--world-size 16 --vpp 2", "vpp 2 needs more than pp 1", "--vpp 1"},
    {"GRID-009", false, "--world-size 16 --pp 2 --schedule interleaved", "'interleaved'",
	"--vpp 2 or more"},
    {"GRID-009", false, "--world-size 16 --pp 2 --vpp 2 --schedule 1f1b", "'1f1b'", "--vpp 1"},
    {"GRID-009", false, SPEED "--pp 2 --schedule zb", "DeepSpeed pipelines", "--schedule 1f1b"},
    {"GRID-009", false, "--world-size 16 --schedule zb", "more than one pipeline stage",
	"--pp 2 or more"},
    {"GRID-009", false, "--world-size 16 --pp 2 --schedule zbv", "'zbv'", "--vpp 2"},
    {"GRID-009", false, TITAN "--pp 2 --schedule zb", "two virtual stages a rank or more",
	"--vpp 2"},
    {"GRID-009", false, "--world-size 15 --pp 3 --schedule dualpipe", "an even number of ranks",
	"an even --pp"},
    {"GRID-016", false, "--world-size 16 --pp 4 --schedule dualpipe --global-batch 16",
	"needs 8 micro-batches or more, an even number, there are 4", "--global-batch 32"},
    {"GRID-016", false, "--world-size 16 --pp 4 --schedule dualpipe --global-batch 36",
	"an even number, there are 9", "--global-batch 40"},
    {"GRID-016", false, TITAN "--pp 4 --vpp 2 --global-batch 208",
	"makes 3 rounds of 13 micro-batches", "--global-batch 192"},
    {"MEG-097", false, "--world-size 16 --pp 2 --vpp 2 --ep 8 --schedule zbv --overlap ep",
	"needs passes in pairs", "leave 'ep' out"},
    {"MEG-029", false, "--world-size 16 --pp 8 --vpp 2 --global-batch 8",
	"groups of pp 8 micro-batches, there are 4", "--global-batch 16 or more"},
    {"MEG-030", false, "--world-size 16 --pp 8 --vpp 2 --global-batch 24",
	"groups of pp 8 micro-batches, 12 is not a multiple", "16 or 32"},
    {"MEG-021", false, "--world-size 12 --pp 3 --layout 'Et*61m|||L'",
	"4 chunks, pp 3 x vpp 1 needs 3", "separated by '|'"},
    {"MEG-021", false, "--world-size 16 --pp 2 --layout nonsense", "cannot be read", "E embedding"},
    {"TT-014", true, TITAN "--tp 16", "8 KV heads: tp 16 does not divide", "--tp 8"},
    {"MEG-044", false, "--world-size 16 --cp 8 --seq-len 4104", "2 x cp 8 = 16", "4096 or 4112"},
    {"MEG-043", false, "--world-size 16 --tp 16 --seq-len 4104", "cp 1 x tp 16 = 16",
	"4096 or 4112"},
    {"MEG-122", false, "--world-size 16 --tp 8 --seq-len 4104 --precision fp8",
	"513 tokens of a rank (sequence 4104 x micro-batch 1 / 8 ranks that share one) are not a "
	"multiple of 16",
	"--precision bf16"},
    {"MEG-123", false, "--world-size 128 --tp 128 --etp 1 --seq-len 65536 --precision mxfp8",
	"MLP width 18432 / 128 ranks = 144 is not a multiple of 32", "less tensor parallelism"},
    {"TT-009", false, TITAN "--tp 2 --cp 4 --seq-len 1000", "tp 2 x 2 x cp 4 = 16", "992 or 1008"},
    {"MEG-070", true, "--world-size 16 --ep 4", "ep 4: the model has no experts", "--ep 1"},
    {"MEG-071", false, "--world-size 24 --ep 24", "256 experts are not a multiple of ep 24",
	"use --ep 8"},
    {"DS-030", false, "--framework deepspeed --world-size 24 --ep 24", "256 experts", "use --ep 8"},
    {"TT-008", false, "--framework torchtitan --world-size 24 --ep 24", "256 experts",
	"use --ep 8"},
    {"GRID-011", true, "--world-size 16 --tp 4 --etp 2", "etp 2: the model has no experts",
	"leave --etp out"},
    {"MEG-053", true, "--world-size 16 --recompute selective:moe_act",
	"'moe_act': the model has no experts", "leave 'moe_act' out"},
    {"MEG-053", true, "--world-size 16 --recompute selective:mla_up_proj", "latent attention",
	"leave 'mla_up_proj' out"},
    {"GRID-012", false, SPEED "--recompute selective:moe_act",
	"deepspeed cannot be told which modules", "selective or full"},
    {"GRID-013", false, SPEED "--dispatcher deepep --ep 8", "no dispatcher 'deepep'", "alltoall"},
    {"GRID-013", false, TITAN "--dispatcher allgather", "no dispatcher 'allgather'",
	"alltoall or deepep"},
    {"MEG-077", false, "--world-size 16 --dispatcher deepep", "'deepep' needs more than one",
	"--ep 2 or more"},
    {"MEG-077", false, "--world-size 16 --framework megatron@0.17 --dispatcher hybridep",
	"'hybridep' needs more than one", "--ep 2 or more"},
    {"GRID-014", true, "--world-size 16 --capacity 1.5", "1.5: the model has no experts",
	"dropless"},
    {"GRID-014", false, TITAN "--capacity 1.25", "1.25: torchtitan drops no tokens", "dropless"},
    {"MEG-097", false, "--world-size 16 --overlap ep", "needs ep over 1", "leave 'ep' out"},
    {"MEG-097", false, "--world-size 16 --overlap dp,ep --ep 4 --pp 2", "needs vpp over 1", "'ep'"},
    {"MEG-097", false, "--world-size 16 --overlap ep --ep 4 --recompute full", "excludes full",
	"'ep'"},
    {"MEG-097", false, "--world-size 16 --overlap ep --ep 4 --recompute selective:moe",
	"excludes recompute of 'moe'", "'ep'"},
    {"MEG-097", false, "--world-size 16 --overlap ep --ep 4 --dispatcher allgather",
	"does not work with dispatcher allgather", "'ep'"},
    {"DS-036", false, SPEED "--zero 3", "native DeepSpeed MoE", "--auto-ep"},
    {"DS-037", true, SPEED "--pp 2 --zero 2", "zero 2 is incompatible with pipeline", "--zero 1"},
    {"DS-055", false, FOLD "--zero 3", "AutoEP with tp 2 does not support zero 3", "--tp 1"},
    {"DS-055", false, FOLD "--pp 2", "does not support pp over 1", "--tp 1"},
    {"DS-055", false, FOLD "--offload optimizer", "does not support offload", "--tp 1"},
    {"DS-055", false, FOLD "--data-before-expert", "data-before-expert", "--tp 1"},
    {"DS-055", false, SPEED "--auto-ep --tp 2", "does not support ep 1", "--tp 1"},
    {"DS-066", true, SPEED "--offload optimizer:0.5", "a part (0.5) of the optimizer needs zero 3",
	"--zero 3"},
    {"GRID-017", false, "--world-size 16 --offload activations --recompute full",
	"that full recompute drops", "--offload none"},
    {"GRID-017", false, "--world-size 16 --offload activations --recompute selective:moe",
	"that selective recompute drops", "none of moe"},
    {"GRID-015", false, TITAN "--zero 1", "torchtitan shards parameters", "--zero 3"},
};

static void
check_breach(const struct breach *breach)
{
	const struct model *model = breach->is_dense ? &dense : &moe;
	struct strategy s = derived(breach->options, model);
	const struct grid_rule *rule = find_rule(breach->rule);
	const struct diag *last = diags->last;
	int broken;

	cr_assert_not_null(rule, "%s", breach->rule);
	cr_assert(!rule->holds(&s, model), "%s holds for %s", breach->rule, breach->options);
	broken = strategy_violations(&s, model, diags);
	last = last ? last->next : diags->first;
	if (broken != 1)
		cr_assert_fail("%s: %d rules broken, %s: %s", breach->options, broken,
		    diags->last->rule, diags->last->message);
	cr_assert_str_eq(last->rule, breach->rule, "%s", breach->options);
	cr_assert_eq(strategy_first_violation(&s, model), rule);
	if (!strstr(last->message, breach->message))
		cr_assert_fail("%s: message '%s'", breach->options, last->message);
	if (!last->hint || !strstr(last->hint, breach->hint))
		cr_assert_fail("%s: hint '%s'", breach->options, last->hint ? last->hint : "none");
}

Test(strategy_rules, every_rule_fires_alone)
{
	for (size_t i = 0; i < sizeof(breaches) / sizeof(breaches[0]); i++)
		check_breach(&breaches[i]);
}

/* Heads and KV heads that TP does not suit; widths; expert biases. */
Test(strategy_rules, rules_of_odd_shapes)
{
	static const struct breach heads = {"MEG-040", true, "--world-size 16 --tp 8",
	    "60 attention heads: tp 8 does not divide them", "use --tp 4"};
	static const struct breach kv = {"MEG-041", true, "--world-size 12 --tp 12",
	    "8 KV heads: tp 12 neither divides them nor is a multiple", "use --tp 4"};
	static const struct breach width = {"MEG-072", true, "--world-size 16 --tp 4",
	    "dense MLP width 28674 is not a multiple of tp 4", "use --tp 2"};
	static const struct breach expert = {"MEG-072", false,
	    "--world-size 16 --tp 4 --etp 4 --ep 2", "expert width 2050 is not a multiple of etp 4",
	    "use --etp 2"};
	static const struct breach bias = {
	    "MEG-074", false, "--world-size 16 --tp 2 --etp 2 --ep 2", "biases", "--etp 1"};

	dense.kinds[0].mixer.heads = 60;
	check_breach(&heads);
	dense.kinds[0].mixer.heads = 96;
	dense.kinds[0].ffn.dense_width = 28680;
	check_breach(&kv);
	dense.kinds[0].ffn.dense_width = 28674;
	check_breach(&width);
	moe.kinds[1].ffn.expert_width = 2050;
	check_breach(&expert);
	moe.kinds[1].ffn.expert_width = 2048;
	moe.kinds[1].ffn.expert_bias = true;
	check_breach(&bias);
}

/* Refused up to 0.16, and one virtual stage never is. */
Test(strategy_rules, mamba_layers_have_no_virtual_stages)
{
	static const struct breach old = {"MEG-130", true,
	    "--world-size 16 --pp 2 --vpp 2 --global-batch 64 --framework megatron@0.16",
	    "vpp 2: Megatron-LM 0.16", "--vpp 1"};
	struct strategy plain, newer;

	dense.kinds[0].mixer.kind = MIXER_MAMBA2;
	dense.kinds[0].mixer.groups = 8;
	check_breach(&old);
	plain = derived("--world-size 16 --pp 2 --framework megatron@0.16", &dense);
	cr_assert_null(strategy_first_violation(&plain, &dense));
	newer = derived("--world-size 16 --pp 2 --vpp 2 --global-batch 64", &dense);
	cr_assert_null(strategy_first_violation(&newer, &dense));
}

/* The last hint of the strategy's broken rules, and whether it says what it should. */
static void
check_hint(const char *options, const struct model *model, const char *hint)
{
	struct strategy s = derived(options, model);

	cr_assert_gt(strategy_violations(&s, model, diags), 0, "%s", options);
	if (!diags->last->hint || !strstr(diags->last->hint, hint))
		cr_assert_fail("%s: hint '%s'", options,
		    diags->last->hint ? diags->last->hint : "none");
}

/* A proposed degree, batch or number of GPUs breaks no other rule. */
Test(strategy_rules, proposals_obey_the_other_rules)
{
	moe.kinds[1].ffn.experts = moe.mtp.ffn.experts = 60;
	/* 6 and 10 divide 60, and no world of 32 */
	check_hint("--world-size 32 --tp 4 --etp 4 --ep 8", &moe, "use --ep 4");
	cr_assert_null(strstr(diags->last->hint, " or "), "%s", diags->last->hint);
	moe.kinds[1].ffn.experts = moe.mtp.ffn.experts = 256;
	/* 96 would be 6 micro-batches: no whole rounds of 4 stages */
	check_hint("--world-size 64 --pp 4 --vpp 2 --tp 1 --ep 4 --global-batch 100", &moe,
	    "use --global-batch 64 or 128");
	check_hint(TITAN "--tp 4 --ep 32 --dp-replicate 3", &moe, "use 96 GPUs");
}

/* The MTP layer's shapes count too, and only when there is one. */
Test(strategy_rules, the_mtp_layer_has_shapes)
{
	struct strategy s = derived("--world-size 16 --ep 16", &moe);

	moe.mtp.ffn.experts = 24;
	cr_assert_str_eq(strategy_first_violation(&s, &moe)->id, "MEG-071");
	moe.mtp_layers = 0;
	cr_assert_null(strategy_first_violation(&s, &moe));
}

/* Every row of the table was broken above, has a gist, and its id stands once per framework. */
Test(strategy_rules, the_table_is_covered)
{
	static const char *const elsewhere[] = {"MEG-040", "MEG-041", "MEG-072", "MEG-074",
	    "MEG-130", NULL};

	for (const struct grid_rule *rule = grid_rules; rule->id; rule++) {
		bool covered = false;

		for (size_t i = 0; i < sizeof(breaches) / sizeof(breaches[0]); i++)
			covered |= strcmp(breaches[i].rule, rule->id) == 0;
		for (int i = 0; elsewhere[i]; i++)
			covered |= strcmp(elsewhere[i], rule->id) == 0;
		cr_assert(covered, "%s is not tested", rule->id);
		cr_assert(rule->gist && rule->gist[0] && rule->frameworks);
		cr_assert_eq(find_rule(rule->id), rule, "%s stands twice", rule->id);
	}
}

/* Layouts that real runs use pass without a word. */
Test(strategy_rules, good_strategies)
{
	static const char *const good[] = {
	    "--world-size 2048 --pp 16 --ep 64 --tp 1 --vpp 2 --global-batch 16384 --seq-len 4096 "
	    "--layout 'Et*3|(tt|)*29m|L' --recompute selective:mla_up_proj+moe_act",
	    "--world-size 1024 --tp 2 --pp 8 --ep 64 --global-batch 8192 --dispatcher deepep",
	    "--world-size 256 --tp 8 --cp 4 --pp 2 --ep 32 --seq-len 131072 --global-batch 64",
	    "--world-size 64 --tp 8 --ep 64 --overlap dp,ep",
	    "--world-size 63 --pp 7 --dp 9",
	    "--framework torchtitan --world-size 256 --dp-replicate 2 --tp 2 --ep 64 --seq-len "
	    "4096",
	    "--framework deepspeed --world-size 64 --tp 2 --ep 64 --zero 2",
	    "--framework deepspeed --world-size 64 --auto-ep --ep 64 --zero 3",
	    "--world-size 16 --dispatcher hybridep",
	};

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		struct strategy s = derived(good[i], &moe);

		if (strategy_violations(&s, &moe, diags) != 0)
			cr_assert_fail("%s: %s", good[i], diags->last->message);
	}
}
