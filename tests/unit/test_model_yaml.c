/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Models in our own keys, and built-in examples with some of them changed. */
#include <criterion/criterion.h>
#include <string.h>

#include "model/model_yaml.h"
#include "model_text.h"
#include "planner/params.h"

static int64_t
total(const struct model *model)
{
	struct params p;

	params_count(model, &p);
	return p.total;
}

static struct model_text
read_ok(const char *text)
{
	struct model_text t = model_from_text(text);

	cr_assert_not_null(t.model, "%s", t.diags->first ? t.diags->first->message : "");
	return t;
}

/* DeepSeek-V3's shape in our keys counts the same but for its 58 router biases. */
Test(model_yaml, shape_of_deepseek_v3)
{
	struct model_text t = read_ok("schema: moeplan/model/v1\n"
				      "name: mine\n"
				      "hidden_size: 7168\n"
				      "num_layers: 61\n"
				      "num_attention_heads: 128\n"
				      "vocab_size: 129280\n"
				      "ffn_hidden_size: 18432\n"
				      "num_experts: 256\n"
				      "top_k: 8\n"
				      "moe_ffn_hidden_size: 2048\n"
				      "shared_expert_width: 2048\n"
				      "dense_first_layers: 3\n"
				      "mtp_layers: 1\n"
				      "max_position_embeddings: 4096\n"
				      "mla:\n"
				      "  q_lora_rank: 1536\n"
				      "  kv_lora_rank: 512\n"
				      "  qk_nope_head_dim: 128\n"
				      "  qk_rope_head_dim: 64\n"
				      "  v_head_dim: 128\n");
	struct params p;

	params_count(t.model, &p);
	cr_expect_eq(p.total, 671026419200 - 58 * 256);
	cr_expect_eq(p.mtp, 11610068224 - 256);
	cr_expect_eq(p.n_extras, 0);
	cr_expect_str_eq(t.model->name, "mine");
	cr_expect_eq(t.model->max_positions, 4096);
	cr_expect_null(t.model->unmodelled);
	cr_expect_eq(t.diags->warnings, 0);
	model_text_free(&t);
}

Test(model_yaml, dense_decoder)
{
	struct model_text t = read_ok("hidden_size: 4096\nnum_layers: 32\nnum_attention_heads: 32\n"
				      "num_key_value_heads: 8\nvocab_size: 128256\n"
				      "ffn_hidden_size: 14336\ntie_embeddings: false\n");

	cr_expect_eq(total(t.model), 8030261248);
	cr_expect_null(model_moe(t.model));
	model_text_free(&t);
}

Test(model_yaml, section_of_a_combined_file)
{
	struct model_text t = read_ok("model:\n  like: llama3.1-8b\n  num_layers: 16\n"
				      "job:\n  top: 3\n");

	cr_expect_eq(t.model->layers, 16);
	model_text_free(&t);
}

Test(model_yaml, moe_frequency)
{
#define SMALL                                                                                      \
	"hidden_size: 64\nnum_layers: 4\nnum_attention_heads: 4\nnum_key_value_heads: 2\n"         \
	"vocab_size: 100\nffn_hidden_size: 128\nnum_experts: 4\ntop_k: 2\nmoe_ffn_hidden_size: "   \
	"32\n"
	struct model_text every = read_ok(SMALL "moe_layer_freq: 2\n");
	struct model_text list = read_ok(SMALL "moe_layer_freq: [1, 0, 1, 0]\n");
	struct model_text window = read_ok(SMALL "sliding_window: 16\n");

	cr_expect_eq(total(every.model), total(list.model));
	cr_expect_eq(every.model->n_kinds, 2);
	cr_expect_eq(window.model->kinds[0].mixer.window, 16);
	model_text_free(&every);
	model_text_free(&list);
	model_text_free(&window);
}

/* Truncated as benchmarks do it: 4 layers of DeepSeek-V3 are 3 dense and 1 MoE. */
Test(model_yaml, like_keeps_the_order_of_kinds)
{
	struct model_text whole = read_ok("like: deepseek-v3\n");
	struct model_text cut = read_ok("like: deepseek-v3\nnum_layers: 4\nmtp_layers: 0\n");

	cr_expect_eq(total(whole.model), 671026419200);
	cr_expect_str_eq(whole.model->architecture, "DeepseekV3ForCausalLM");
	cr_assert_eq(cut.model->layers, 4);
	cr_expect_not(kind_is_moe(&cut.model->kinds[cut.model->kind_of[2]]));
	cr_expect(kind_is_moe(&cut.model->kinds[cut.model->kind_of[3]]));
	cr_expect_eq(cut.model->mtp_layers, 0);
	model_text_free(&whole);
	model_text_free(&cut);
}

Test(model_yaml, like_changes_single_keys)
{
	struct model_text t = read_ok("like: mixtral-8x7b\nnum_experts: 16\ntop_k: 4\n"
				      "num_key_value_heads: 32\nname: wide\n");
	const struct layer_kind *moe = model_moe(t.model);

	cr_expect_eq(moe->ffn.experts, 16);
	cr_expect_eq(moe->ffn.top_k, 4);
	cr_expect_eq(moe->mixer.kv_heads, 32);
	cr_expect_eq(moe->ffn.expert_width, 14336);
	cr_expect_str_eq(t.model->name, "wide");
	model_text_free(&t);
	t = read_ok("like: deepseek-v3\nshared_expert_width: 0\n");
	cr_expect_eq(model_moe(t.model)->ffn.shared_width, 0);
	model_text_free(&t);
	t = read_ok("like: gpt-oss-120b\nnum_layers: 3\n");
	cr_expect_eq(t.model->kinds[t.model->kind_of[0]].mixer.window, 128);
	cr_expect_eq(t.model->kinds[t.model->kind_of[1]].mixer.window, 0);
	cr_expect_eq(t.diags->warnings + t.diags->notes, 0);
	model_text_free(&t);
}

static const struct {
	const char *text;
	int line;
	const char *message;
} bad_files[] = {
    {"like: deepseek-v4\n", 1, "no built-in model is called 'deepseek-v4'"},
    {"like: qwen3-8b\nlayers: 3\n", 2, "'layers'"},
    {"like: qwen3-8b\nnum_layers: 0\n", 2, "'num_layers'"},
    {"like: qwen3-8b\nnum_layers: many\n", 2, "'num_layers'"},
    {"like: qwen3-8b\nmla: 3\n", 2, "a map"},
    {"like: qwen3-8b\nnum_key_value_heads: 5\n", 2, "key-value heads divide the query heads"},
    {"like: qwen3-30b-a3b\ntop_k: 129\n", 2, "no more experts than there are"},
    {"schema: moeplan/job/v1\nlike: qwen3-8b\n", 1, "'moeplan/model/v1'"},
    {SMALL "tie_embeddings: 3\n", 10, "'tie_embeddings'"},
    {SMALL "moe_layer_freq: [1, 0]\n", 10, "'moe_layer_freq' has 2 items for 4 layers"},
    {"hidden_size: 64\n", 1, "the model has no 'num_layers'"},
    {"hidden_size: 64\n", 1, "the model has no 'vocab_size'"},
    {"hidden_size: 64\nnum_layers: 1\nnum_attention_heads: 4\nnum_key_value_heads: 4\n"
     "vocab_size: 9\nnum_experts: 4\nffn_hidden_size: 8\n",
	1, "the model has no 'moe_ffn_hidden_size'"},
    {"hidden_size: 64\nnum_layers: 1\nnum_attention_heads: 4\nvocab_size: 9\nffn_hidden_size: 8\n",
	1, "the model has no 'num_key_value_heads'"},
    {"- 1\n", 1, "a model is a map of keys"},
};

Test(model_yaml, says_what_is_wrong_and_where)
{
	for (size_t i = 0; i < sizeof(bad_files) / sizeof(*bad_files); i++) {
		struct model_text t = model_from_text(bad_files[i].text);

		cr_expect_null(t.model, "row %zu is read", i);
		cr_expect(
		    model_text_says(&t, SEVERITY_ERROR, bad_files[i].message, bad_files[i].line),
		    "row %zu: '%s', said '%s' line %d", i, bad_files[i].message,
		    t.diags->first ? t.diags->first->message : "nothing",
		    t.diags->first ? t.diags->first->loc.line : 0);
		model_text_free(&t);
	}
}

Test(model_yaml, suggests_the_nearest_example)
{
	struct model_text t = model_from_text("like: mixtral-8x7\n");

	cr_assert_not_null(t.diags->first);
	cr_assert_not_null(t.diags->first->hint);
	cr_expect(strstr(t.diags->first->hint, "mixtral-8x7b"));
	model_text_free(&t);
}

/* Every row has what help and schema need. */
Test(model_yaml, rows_are_complete)
{
	for (const struct field *f = model_fields; f->name; f++) {
		cr_expect_not_null(f->help, "%s", f->name);
		cr_expect_eq(field_find(model_fields, f->name), f, "%s twice", f->name);
		cr_expect_null(field_find(model_mla_fields, f->name), "%s twice", f->name);
	}
}
