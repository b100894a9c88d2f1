/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What becomes of the fields of a case, known, unknown and of the wrong kind? */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "check/case.h"
#include "scratch.h"

TestSuite(cases, .init = scratch_open, .fini = scratch_close);

static struct check_case *
read_text(const char *text)
{
	struct doc *doc = doc_parse(arena, diags, "case.json", text, strlen(text));

	return doc ? case_read(arena, diags, doc) : NULL;
}

Test(cases, sizes_and_settings)
{
	struct check_case *c =
	    read_text("{\"framework\": \"megatron@0.15\", \"input\": {\"gpus\": 16, "
		      "\"tp\": 2, \"layers\": 46, \"dist_opt\": true}}");

	cr_assert_not_null(c);
	cr_assert_not(c->other);
	cr_assert_eq(c->config.strategy.world, 16);
	cr_assert_eq(c->config.strategy.tp, 2);
	cr_assert_eq(c->config.strategy.zero, 1);
	cr_assert_eq(c->config.strategy.etp, 2, "ETP is TP in Megatron-Core");
	cr_assert_str_eq(c->config.strategy.framework_version, "0.15");
	cr_assert_eq(setting_find(&c->config, "num_layers")->value->integer, 46);
}

Test(cases, whose_default_etp)
{
	struct check_case *c = read_text("{\"framework\": \"megatron-bridge\", \"input\": {\"tp\": "
					 "2, \"ep\": 4, \"etp\": null}}");

	cr_assert_not_null(c);
	cr_assert_eq(c->config.strategy.etp, 1);
	c = read_text("{\"framework\": \"nanotron\", \"input\": {\"tp\": 2}}");
	cr_assert(c->other);
}

Test(cases, unknown_fields_are_listed)
{
	struct check_case *c = read_text("{\"framework\": \"megatron\", \"input\": {\"tp\": 2, "
					 "\"colour\": \"blue\", \"weather\": 3}}");

	cr_assert_not_null(c);
	cr_assert_eq(c->n_unknown, 2);
	cr_assert_str_eq(c->unknown[0]->key, "colour");
}

Test(cases, lists_make_variants)
{
	struct check_case *c =
	    read_text("{\"framework\": \"megatron\", \"input\": {\"mbs\": [1, 2, 4], \"dp\": 4}}");
	int64_t sum = 0;

	for (; c; c = c->next)
		sum += c->config.strategy.micro_batch;
	cr_assert_eq(sum, 7);
	c = read_text(
	    "{\"framework\": \"megatron\", \"input\": {\"pp\": 2, \"cases\": [{\"tp\": 2}, "
	    "{\"tp\": 8, \"pp\": 4}]}}");
	cr_assert_eq(c->config.strategy.pp, 2);
	cr_assert_eq(c->next->config.strategy.tp, 8);
	cr_assert_eq(c->next->config.strategy.pp, 4);
}

Test(cases, built_in_models_by_their_usual_names)
{
	struct check_case *c =
	    read_text("{\"framework\": \"megatron\", \"input\": {\"model\": \"Qwen3-30B-A3B\"}}");

	cr_assert_not_null(c->config.model);
	cr_assert_eq(c->config.model->layers, 48);
	c = read_text("{\"framework\": \"megatron\", \"input\": {\"model\": \"Qwen3-30B-A3B\", "
		      "\"layers\": 47}}");
	cr_assert_null(c->config.model, "shapes that differ are another model");
}

Test(cases, wrong_kinds)
{
	static const char *const bad[] = {"{\"framework\": \"megatron\"}", "{\"input\": []}",
	    "{\"input\": {\"tp\": 1.5}}", "{\"input\": {\"tp\": true}}",
	    "{\"input\": {\"tp\": 99999999999}}", "{\"input\": {\"tp\": -7}}", "[]"};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		int before = diags->errors;

		cr_expect_null(read_text(bad[i]), "%s", bad[i]);
		cr_expect_gt(diags->errors, before, "%s", bad[i]);
	}
}

Test(cases, every_field_is_described_once)
{
	for (const struct case_field *field = case_fields; field->name; field++)
		cr_expect_eq(case_field_find(field->name), field, "%s is there twice", field->name);
}
