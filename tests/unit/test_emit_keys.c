/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Do the key tables know releases, and does a plan get what its release has? */
#include <criterion/criterion.h>
#include <string.h>

#include "base/str.h"
#include "emit/emit.h"
#include "emit/keys.h"
#include "fixture.h"

Test(emit_keys, versions_compare_part_by_part)
{
	static const struct {
		const char *a, *b;
		int order;
	} cases[] = {
	    {"0.9", "0.10", -1},
	    {"0.10", "0.19.1", -1},
	    {"0.19.1", "0.19", 1},
	    {"0.19", "0.19.0", 0},
	    {"1", "0.99", 1},
	    {"0.3.0rc1", "0.3", 0},
	    {"0.2.2", "0.3", -1},
	    {"0.99999999999999999999", "0.99999999999999999999", 0},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		cr_expect_eq(version_compare(cases[i].a, cases[i].b), cases[i].order, "%s %s",
		    cases[i].a, cases[i].b);
		cr_expect_eq(version_compare(cases[i].b, cases[i].a), -cases[i].order, "%s %s",
		    cases[i].b, cases[i].a);
	}
}

Test(emit_keys, spans_end_before_until)
{
	static const struct key key = {.name = "x", .since = "0.12", .until = "0.14"};

	cr_expect(!key_in_version(&key, "0.11"));
	cr_expect(key_in_version(&key, "0.12"));
	cr_expect(key_in_version(&key, "0.13.9"));
	cr_expect(!key_in_version(&key, "0.14"));
	cr_expect(!key_in_version(&key, NULL), "the newest has it no more");
}

/* A name that occurs twice would be emitted twice and read by one of the rows only. */
static void
check_names(const struct key *table)
{
	for (const struct key *key = table; key->name; key++) {
		cr_expect_eq(key_find(table, key->name), key, "%s occurs twice", key->name);
		cr_expect(!key->since || !key->until || version_compare(key->since, key->until) < 0,
		    "%s ends before it begins", key->name);
	}
}

Test(emit_keys, names_occur_once)
{
	check_names(megatron_keys);
	check_names(deepspeed_keys);
	check_names(torchtitan_keys);
}

/* A term that nobody knows could never be read. */
static void
check_terms(const struct key *table)
{
	for (const struct key *key = table; key->name; key++)
		if (key->term && strncmp(key->term, "model.", 6) != 0 &&
		    strcmp(key->term, "micro_batches") != 0)
			cr_expect(field_find(strategy_fields, key->term) != NULL,
			    "%s: there is no '%s'", key->name, key->term);
}

Test(emit_keys, terms_are_options)
{
	check_terms(megatron_keys);
	check_terms(deepspeed_keys);
	check_terms(torchtitan_keys);
}

static struct plan_view
plan_of(struct fixture *f, int64_t pp, int64_t ep)
{
	struct plan_view plan = {.model = f->model, .gpu = "H100-SXM5-80GB"};

	plan.strategy = fixture_strategy(f, 1, 1, pp, 1, ep, 1, 256, 4096);
	plan.strategy.framework_version = "0.19";
	layout_even(&plan.layout, f->model->layers, (int)pp, 1);
	plan.gpus_per_node = 8;
	plan.nodes = plan.strategy.world / 8;
	return plan;
}

static const struct doc *
written(struct fixture *f, const struct plan_view *plan, const char *name)
{
	const struct key_value *setting = keys_write(megatron_keys, f->arena, f->diags, plan);

	cr_assert_not_null(setting);
	while (setting && strcmp(setting->key->name, name) != 0)
		setting = setting->next;
	return setting ? setting->value : NULL;
}

static void
expect_text(struct fixture *f, const struct plan_view *plan, const char *name, const char *text)
{
	const struct doc *value = written(f, plan, name);

	cr_assert_not_null(value, "%s is not written", name);
	cr_expect_str_eq(value->text, text, "%s is %s", name, value->text);
}

Test(emit_keys, nothing_is_left_to_a_default)
{
	struct fixture f = fixture_new("deepseek-v3", NULL, "dgx-h100x8");
	struct plan_view plan = plan_of(&f, 1, 8);

	expect_text(&f, &plan, "expert_tensor_parallel_size", "1");
	expect_text(&f, &plan, "moe_token_dispatcher_type", "alltoall");
	expect_text(&f, &plan, "moe_aux_loss_coeff", "0.0001");
	expect_text(&f, &plan, "moe_ffn_hidden_size", "2048");
	expect_text(&f, &plan, "kv_lora_rank", "512");
	expect_text(&f, &plan, "moe_layer_freq", "([0]*3+[1]*58)");
	expect_text(&f, &plan, "moe_shared_expert_intermediate_size", "2048");
	expect_text(&f, &plan, "mtp_num_layers", "1");
	cr_expect_null(
	    written(&f, &plan, "kv_channels"), "latent attention has head sizes of its own");
	fixture_free(&f);
}

Test(emit_keys, patterns_are_periods_or_runs)
{
	struct fixture f = fixture_new("gpt-oss-120b", NULL, "dgx-h100");
	struct plan_view plan = plan_of(&f, 1, 8);

	expect_text(&f, &plan, "window_attn_skip_freq", "([1,0]*18)");
	expect_text(&f, &plan, "window_size", "(127,0)");
	expect_text(&f, &plan, "moe_layer_freq", "([1]*36)");
	expect_text(&f, &plan, "softmax_type", "learnable");
	cr_expect_null(written(&f, &plan, "disable_bias_linear"), "its layers have biases");
	fixture_free(&f);
}

Test(emit_keys, what_a_release_lacks_is_refused)
{
	struct fixture f = fixture_new("deepseek-v3", NULL, "dgx-h100x8");
	struct plan_view plan = plan_of(&f, 2, 8); /* 61 layers */

	plan.strategy.framework_version = "0.12";
	cr_expect_null(keys_write(megatron_keys, f.arena, f.diags, &plan));
	cr_expect_eq(f.diags->errors, 1);
	cr_expect(strstr(f.diags->last->message, "pipeline_model_parallel_layout"));
	plan.strategy.framework_version = "0.13";
	cr_expect_not_null(keys_write(megatron_keys, f.arena, f.diags, &plan));
	fixture_free(&f);
}

Test(emit_keys, deepep_had_a_flag_of_its_own)
{
	struct fixture f = fixture_new("mixtral-8x7b", NULL, "dgx-h100");
	struct plan_view plan = plan_of(&f, 1, 8);

	plan.strategy.dispatcher = DISPATCH_DEEPEP;
	expect_text(&f, &plan, "moe_flex_dispatcher_backend", "deepep");
	cr_expect_null(written(&f, &plan, "moe_enable_deepep"));
	plan.strategy.framework_version = "0.15";
	expect_text(&f, &plan, "moe_enable_deepep", "true");
	cr_expect_null(written(&f, &plan, "moe_flex_dispatcher_backend"));
	plan.strategy.dispatcher = DISPATCH_HYBRIDEP;
	cr_expect_null(keys_write(megatron_keys, f.arena, f.diags, &plan), "0.15 has no HybridEP");
	fixture_free(&f);
}
