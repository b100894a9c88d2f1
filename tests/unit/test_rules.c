/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Can every row of the rule tables be read, and do rows decide, place and count as they should? */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check/case.h"
#include "check/rules_names.h"
#include "check/rules_private.h"
#include "check/rules_quantities.h"
#include "scratch.h"

TestSuite(rules, .init = scratch_open, .fini = scratch_close);

Test(rules, every_row_can_be_read)
{
	for (size_t t = 0; rule_tables[t]; t++)
		for (const struct rule *rule = rule_tables[t]; rule->id; rule++) {
			cr_expect_eq(rule_check_templates(rule, arena, diags), 0, "%s: %s",
			    rule->id, diags->last ? diags->last->message : "");
			cr_expect(rule->require || rule->grid, "%s decides nothing", rule->id);
			cr_expect_not_null(rule->message, "%s says nothing", rule->id);
			cr_expect_not_null(rule->source, "%s has no source", rule->id);
		}
}

Test(rules, ids_are_unique)
{
	for (size_t t = 0; rule_tables[t]; t++)
		for (const struct rule *rule = rule_tables[t]; rule->id; rule++)
			cr_expect_eq(rule_find(rule->id), rule, "%s is there twice", rule->id);
	for (const struct rule_fact *fact = rule_facts; fact->id; fact++)
		cr_expect_null(rule_find(fact->id), "%s is a rule and a fact", fact->id);
	cr_assert_null(rule_find("NO-001"));
}

/* What the search rejects has a row that explains it; an unknown world is no mistake of a file. */
Test(rules, grid_rules_have_rows)
{
	for (const struct grid_rule *grid = grid_rules; grid->id; grid++) {
		const struct rule *rule = rule_find(grid->id);

		if (strcmp(grid->id, "GRID-001") == 0)
			continue;
		cr_expect_not_null(rule, "%s has no row", grid->id);
		cr_expect_not_null(rule ? rule->grid : NULL, "%s does not ask the grid", grid->id);
	}
	for (size_t t = 0; rule_tables[t]; t++)
		for (const struct rule *rule = rule_tables[t]; rule->id; rule++)
			cr_expect(
			    !rule->grid || rule_grid(rule->id), "%s is no grid rule", rule->id);
}

Test(rules, quantities_can_be_read)
{
	for (const struct quantity_row *row = quantity_rows; row->name; row++)
		cr_expect_not_null(
		    expr_parse(arena, diags, row->expression, rule_function_tables),
		    "%s: %s", row->name, diags->last ? diags->last->message : "");
}

Test(rules, versions)
{
	struct rule rule = {.id = "X", .frameworks = 1, .since = "0.12", .until = "0.16"};

	cr_assert(rule_applies(&rule, 1, "0.12"));
	cr_assert(rule_applies(&rule, 1, "0.15.3"));
	cr_assert_not(rule_applies(&rule, 1, "0.16"));
	cr_assert_not(rule_applies(&rule, 1, "0.9"));
	cr_assert_not(rule_applies(&rule, 2, "0.13"));
	cr_assert_not(rule_applies(&rule, 1, NULL)); /* the newest */
	rule.until = NULL;
	cr_assert(rule_applies(&rule, 1, NULL));
}

Test(rules, names_of_releases)
{
	const struct name_span *span;

	cr_assert_eq(name_state(FRAMEWORK_MEGATRON, NULL, "num_experts", NULL), NAME_KNOWN);
	cr_assert_eq(name_state(FRAMEWORK_MEGATRON, "0.17", "moe_extended_tp", &span), NAME_GONE);
	cr_assert_str_eq(span->until, "0.17");
	cr_assert_eq(name_state(FRAMEWORK_MEGATRON, "0.16", "moe_extended_tp", NULL), NAME_KNOWN);
	cr_assert_eq(
	    name_state(FRAMEWORK_MEGATRON, "0.12", "fake_process_group", NULL), NAME_LATER);
	cr_assert_eq(name_state(FRAMEWORK_MEGATRON, NULL, "no_such_thing", NULL), NAME_UNKNOWN);
	cr_assert_eq(name_state(FRAMEWORK_DEEPSPEED, NULL, "bf16.loss_scale", NULL), NAME_UNKNOWN);
	cr_assert_eq(name_state(FRAMEWORK_DEEPSPEED, "0.16", "expert_parallel", NULL), NAME_LATER);
	cr_assert(name_is_block(FRAMEWORK_DEEPSPEED, "zero_optimization"));
	cr_assert(name_is_block(FRAMEWORK_DEEPSPEED, "zero_optimization.offload_param"));
	cr_assert_not(name_is_block(FRAMEWORK_DEEPSPEED, "moe"));
	cr_assert_str_eq(
	    name_nearest(arena, FRAMEWORK_MEGATRON, NULL, "num_expert"), "num_experts");
	cr_assert_str_eq(name_replacement("moe_extended_tp"), "expert_tensor_parallel_size");
}

Test(rules, names_of_programs_that_train)
{
	static const struct {
		const char *program;
		int trains;
	} rows[] = {{NULL, 1}, {"pretrain_gpt.py", 1}, {"pretrain_chatglm.py", 1},
	    {"pretrain_retrieval.py", 1}, {"chatglm.py", 1}, {"retrieval_moe.py", 1},
	    {"train_observed.py", 1}, {"finetune_chat.py", 1}, {"posttrain-eval.py", 1},
	    {"run_text_generation_server.py", 0}, {"eval.py", 0}, {"gpt-inference.py", 0},
	    {"tools.checkpoint.convert", 0}};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct config config = {.launch.program = rows[i].program};
		struct check_context context = {.config = &config};
		struct facts facts = {.check = &context};

		cr_expect_eq(term_find("trains")->get(&facts).integer, rows[i].trains, "%s",
		    rows[i].program ? rows[i].program : "no program");
	}
}

/* --- whole runs ----------------------------------------------------------------------------- */

static struct check_case *
read_text(const char *text)
{
	struct doc *doc = doc_parse(arena, diags, "case.json", text, strlen(text));
	struct check_case *first = doc ? case_read(arena, diags, doc) : NULL;

	cr_assert_not_null(first, "%s", diags->last ? diags->last->message : "");
	return first;
}

static struct diags *
decide(struct check_case *from, int *decided, int *undecided)
{
	struct diags *findings = diags_new(arena);
	struct strategy strategy;
	struct check_context context;

	config_defaults(&from->config);
	strategy = from->config.strategy;
	strategy_derive(&strategy, from->config.model, 0);
	context = (struct check_context){.config = &from->config,
	    .strategy = &strategy,
	    .model = from->config.model,
	    .other = from->other};
	*decided = rules_run(&context, arena, findings, undecided);
	return findings;
}

static const struct diag *
find(const struct diags *findings, const char *rule)
{
	const struct diag *diag = findings->first;

	while (diag && !(diag->rule && strcmp(diag->rule, rule) == 0))
		diag = diag->next;
	return diag;
}

static double
number(const struct diag *diag, const char *name)
{
	for (const struct diag_number *n = diag->numbers; n; n = n->next)
		if (strcmp(n->name, name) == 0)
			return n->value;
	cr_assert_fail("no number '%s' in %s", name, diag->message);
	return 0;
}

Test(rules, a_broken_rule_tells_numbers_and_place)
{
	struct check_case *from = read_text("{\"framework\": \"deepspeed\",\n \"input\": {\n"
					    "  \"gpus\": 8,\n"
					    "  \"train_batch_size\": 100, \"micro_batch\": 4,\n"
					    "  \"grad_accum\": 2}}");
	int decided, undecided;
	struct diags *findings = decide(from, &decided, &undecided);
	const struct diag *diag = find(findings, "DS-010");

	cr_assert_not_null(diag);
	cr_assert_eq(diag->severity, SEVERITY_ERROR);
	cr_assert_eq(number(diag, "product"), 64);
	cr_assert_eq(number(diag, "global_batch"), 100);
	cr_assert_eq(diag->loc.line, 5, "line %d", diag->loc.line);
	cr_assert_not_null(diag->hint);
	cr_assert(decided > 20 && undecided > 20, "%d decided, %d not", decided, undecided);
}

Test(rules, a_grid_rule_is_reported_once_with_its_words)
{
	struct check_case *from = read_text("{\"framework\": \"megatron\", \"input\": {\"gpus\": "
					    "8, \"tp\": 2, \"pp\": 2, \"ep\": 8, "
					    "\"etp\": 1}}");
	int decided, undecided;
	struct diags *findings = decide(from, &decided, &undecided);
	const struct diag *diag = find(findings, "MEG-003");

	cr_assert_eq(findings->errors, 1);
	cr_assert_not_null(diag);
	cr_assert_eq(number(diag, "expert_product"), 16);
	cr_assert_eq(number(diag, "fix_ep"), 4);
	cr_assert_eq(number(diag, "edp_after_fix"), 1);
}

Test(rules, what_is_not_told_is_not_held_against)
{
	struct check_case *from =
	    read_text("{\"framework\": \"megatron\", \"input\": {\"tp\": 2, \"ep\": 8}}");
	int decided, undecided;
	struct diags *findings = decide(from, &decided, &undecided);

	cr_assert_eq(findings->errors, 0, "%s", findings->first ? findings->first->message : "");
	cr_assert_eq(findings->warnings, 0, "%s", findings->first ? findings->first->message : "");
	cr_assert_gt(undecided, 0);
}

/* Examples leave these counts out (tests/counts.sed): here they are held to the tables. */
Test(rules, every_rule_of_the_framework_is_counted_once)
{
	static const char *const versions[] = {"0.12", "0.16", "0.19"};

	for (size_t v = 0; v < sizeof(versions) / sizeof(*versions); v++) {
		const char *text = arena_printf(arena,
		    "{\"framework\": \"megatron\", \"input\": {\"megatron\": \"%s\", \"tp\": 2, "
		    "\"flags\": [\"--bf16\", \"--sequence-parallel\"]}}",
		    versions[v]);
		int decided, undecided, rows = 0;

		decide(read_text(text), &decided, &undecided);
		for (size_t t = 0; rule_tables[t]; t++)
			for (const struct rule *rule = rule_tables[t]; rule->id; rule++)
				rows += rule_applies(rule, 1U << FRAMEWORK_MEGATRON, versions[v]);
		cr_expect_gt(rows, 100);
		cr_expect_eq(decided + undecided, rows, "%s: %d + %d of %d", versions[v], decided,
		    undecided, rows);
	}
}

Test(rules, several_broken_conditions_are_one_message)
{
	struct check_case *from = read_text("{\"framework\": \"megatron\", \"input\": {\"pp\": 2, "
					    "\"ep\": 4, \"use_torch_fsdp2\": true, "
					    "\"untie_embeddings_and_output_weights\": true}}");
	int decided, undecided;
	struct diags *findings = decide(from, &decided, &undecided);
	const struct diag *diag = find(findings, "MEG-057");

	cr_assert_not_null(diag);
	cr_assert_not_null(strstr(diag->message, "a pipeline (PP 2), expert parallelism (EP 4)"),
	    "%s", diag->message);
}

/* What one rule says of its own field is not said again as a number that always follows. */
Test(rules, quantities_leave_to_a_rule_what_only_it_reads)
{
	struct check_case *from = read_text(
	    "{\"framework\": \"deepspeed\", \"input\": {\"gpus\": 8, \"alloc_mb\": "
	    "{\"first\": 4700, \"middle\": 4660, \"last\": 4700}, \"groups\": 4, "
	    "\"load\": [20, 107, 104, 64, 19, 197, 187, 157]}}");
	struct check_context context = {.config = &from->config};
	struct strategy strategy;
	const struct diag *note;

	config_defaults(&from->config);
	strategy = from->config.strategy;
	strategy_derive(&strategy, from->config.model, 0);
	context.strategy = &strategy;
	note = quantities_note(&context, arena, diags);
	cr_assert_not_null(note);
	for (const struct diag_number *n = note->numbers; n; n = n->next)
		cr_expect(strncmp(n->name, "ratio_", 6) != 0 &&
			      strncmp(n->name, "no_replica_", 11) != 0,
		    "%s", n->name);
}

Test(rules, a_rule_for_every_setting)
{
	struct check_case *from =
	    read_text("{\"framework\": \"megatron\", \"input\": {\"megatron\": \"0.17 or HEAD\", "
		      "\"flags\": [\"--moe-extended-tp\", \"--num-experts 8\", \"--nosuch\"]}}");
	int decided, undecided;
	struct diags *findings = decide(from, &decided, &undecided);
	const struct diag *diag = find(findings, "MEG-015");

	cr_assert_eq(findings->errors, 2);
	cr_assert_eq(number(diag, "unknown"), 2);
	cr_assert_not_null(strstr(diag->message, "which 0.17 removed"), "%s", diag->message);
	cr_assert_not_null(strstr(diag->hint, "--expert-tensor-parallel-size"), "%s", diag->hint);
}

/* THUDM/slime#1818: the experts are not told, which is no reason to give EP up. */
Test(rules, the_nearest_degree_is_proposed)
{
	struct check_case *from =
	    read_text("{\"framework\": \"megatron\", \"input\": {\"gpus\": 8, "
		      "\"tp\": 2, \"pp\": 2, \"ep\": 8, \"etp\": 1}}");
	int decided, undecided;
	const struct diag *diag = find(decide(from, &decided, &undecided), "MEG-003");

	cr_assert_not_null(diag);
	cr_assert_str_eq(diag->hint, "use --ep 4");
	cr_assert_eq(number(diag, "remainder"), 8);
}

/* A file that is no file of this framework breaks the same rule hundreds of times. */
Test(rules, one_rule_is_told_so_often_and_no_more)
{
	char text[16000] = "{\"framework\": \"megatron\", \"input\": {\"flags\": [\"--bf16\"";
	size_t length = strlen(text);
	int decided, undecided, told = 0;
	struct diags *findings;

	for (int i = 0; i < 300; i++)
		length += (size_t)snprintf(
		    text + length, sizeof(text) - length, ", \"--no-such-thing-%d\"", i);
	snprintf(text + length, sizeof(text) - length, "]}}");
	findings = decide(read_text(text), &decided, &undecided);
	for (const struct diag *diag = findings->first; diag; diag = diag->next)
		told += diag->rule && strcmp(diag->rule, "MEG-015") == 0;
	cr_assert_eq(told, 51, "%d", told);
	cr_assert_eq(findings->errors, 50);
	cr_assert_eq(findings->last->severity, SEVERITY_NOTE);
	cr_assert_eq(number(find(findings, "MEG-015"), "unknown"), 300);
}
