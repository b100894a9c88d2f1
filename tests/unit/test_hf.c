/* SPDX-License-Identifier: GPL-3.0-or-later */
/* config.json of every family: exact counts, and the traps that such files hold. */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hf_cases.h"
#include "model_text.h"
#include "planner/params.h"

enum { N_CASES = sizeof(hf_cases) / sizeof(*hf_cases) };

static const struct hf_case *
find_case(const char *name)
{
	for (size_t i = 0; i < N_CASES; i++)
		if (strcmp(hf_cases[i].name, name) == 0)
			return &hf_cases[i];
	cr_assert_fail("no case '%s'", name);
	abort();
}

static struct model_text
read_case(const char *name)
{
	struct model_text t = model_from_text(find_case(name)->text);

	cr_assert_not_null(t.model, "%s: %s", name, t.diags->first ? t.diags->first->message : "");
	return t;
}

/* "name=count name=count" as the table of cases writes extras. */
static void
extras_text(const struct params *params, char *text, size_t size)
{
	size_t used = 0;

	text[0] = '\0';
	for (int i = 0; i < params->n_extras; i++)
		used += (size_t)snprintf(text + used, size - used, "%s%s=%" PRId64, i ? " " : "",
		    params->extras[i].name, params->extras[i].elements);
	cr_assert_lt(used, size);
}

static void
check_case(const struct hf_case *c)
{
	struct model_text t = read_case(c->name);
	struct params params;
	char extras[256];

	if (!c->total) {
		cr_expect_not_null(t.model->uncounted, "%s is counted", c->name);
		model_text_free(&t);
		return;
	}
	cr_expect_null(t.model->uncounted, "%s: %s", c->name, t.model->uncounted);
	params_count(t.model, &params);
	cr_expect_eq(params.total, c->total, "%s total %" PRId64, c->name, params.total);
	cr_expect_eq(params.mtp, c->mtp, "%s mtp %" PRId64, c->name, params.mtp);
	cr_expect_eq(params.active, c->active, "%s active %" PRId64, c->name, params.active);
	cr_expect_eq(params.active_without_embedding_and_head, c->active_without_ends,
	    "%s without ends %" PRId64, c->name, params.active_without_embedding_and_head);
	extras_text(&params, extras, sizeof(extras));
	cr_expect_str_eq(extras, c->extras, "%s: '%s'", c->name, extras);
	if (c->unmodelled && t.model->unmodelled)
		cr_expect_str_eq(t.model->unmodelled, c->unmodelled, "%s", c->name);
	cr_expect_eq(!c->unmodelled, !t.model->unmodelled, "%s", c->name);
	model_text_free(&t);
}

Test(hf, counts_every_family)
{
	for (size_t i = 0; i < N_CASES; i++)
		check_case(&hf_cases[i]);
}

static int64_t
extra(const struct params *params, const char *name, size_t length)
{
	if (strncmp(name, "mtp", length) == 0 && length == 3)
		return params->mtp;
	for (int i = 0; i < params->n_extras; i++)
		if (strlen(params->extras[i].name) == length &&
		    strncmp(params->extras[i].name, name, length) == 0)
			return params->extras[i].elements;
	cr_assert_fail("no extra '%.*s'", (int)length, name);
	abort();
}

/* The total with the named extras: "mtp hash_tables", "-router_bias". */
static int64_t
with_extras(const struct params *params, const char *names)
{
	int64_t sum = params->total;

	while (*names) {
		bool minus = *names == '-';
		size_t length;

		names += minus;
		length = strcspn(names, " ");
		sum += (minus ? -1 : 1) * extra(params, names, length);
		names += length;
		names += *names == ' ';
	}
	return sum;
}

Test(hf, agrees_with_published_totals)
{
	int checked = 0;

	for (size_t i = 0; i < N_CASES; i++) {
		const struct hf_case *c = &hf_cases[i];
		struct model_text t = read_case(c->name);
		struct params params;

		if (c->published) {
			params_count(t.model, &params);
			cr_expect_eq(with_extras(&params, c->made_of), c->published, "%s %" PRId64,
			    c->name, with_extras(&params, c->made_of) - c->published);
			checked++;
		}
		model_text_free(&t);
	}
	cr_expect_geq(checked, 30);
}

/* A small GQA decoder with room for one or two keys more. */
#define DECODER                                                                                    \
	"{'architectures': ['LlamaForCausalLM'],\n'model_type': 'llama',\n'hidden_size': 64,\n"    \
	"'num_hidden_layers': 4,\n'num_attention_heads': 8,\n'num_key_value_heads': 2,\n"          \
	"'intermediate_size': 128,\n'vocab_size': 1000,\n'tie_word_embeddings': false"
#define MOE DECODER ",\n'num_experts': 8,\n'num_experts_per_tok': 2,\n'moe_intermediate_size': 32"

static int64_t
total_of(const char *text)
{
	struct model_text t = model_from_text(text);
	struct params params;

	cr_assert_not_null(t.model, "%s", t.diags->first ? t.diags->first->message : "");
	params_count(t.model, &params);
	model_text_free(&t);
	return params.total;
}

/* h*n*d + 2*h*m*d + n*d*h + 3*h*f + 2h a layer, two ends and a norm. */
Test(hf, decoder_by_hand)
{
	int64_t layer = 64 * 64 + 2 * 64 * 16 + 64 * 64 + 3 * 64 * 128 + 2 * 64;

	cr_assert_eq(total_of(DECODER "}"), 4 * layer + 2 * 1000 * 64 + 64);
	cr_assert_eq(total_of(DECODER ",\n'attention_bias': true}"),
	    4 * (layer + 64 + 2 * 16 + 64) + 2 * 1000 * 64 + 64);
	cr_assert_eq(total_of(DECODER ",\n'mlp_bias': true}"),
	    4 * (layer + 2 * 128 + 64) + 2 * 1000 * 64 + 64);
	cr_assert_eq(
	    total_of(DECODER ",\n'lm_head_bias': true}"), 4 * layer + 2 * 1000 * 64 + 64 + 1000);
}

Test(hf, moe_by_hand)
{
	int64_t mixer = 64 * 64 + 2 * 64 * 16 + 64 * 64 + 2 * 64, ends = 2 * 1000 * 64 + 64;
	int64_t moe = mixer + 8 * 3 * 64 * 32 + 8 * 64, dense = mixer + 3 * 64 * 128;

	cr_expect_eq(total_of(MOE "}"), 4 * moe + ends);
	cr_expect_eq(total_of(MOE ",\n'first_k_dense_replace': 1}"), 3 * moe + dense + ends);
	cr_expect_eq(total_of(MOE ",\n'moe_layer_freq': 2}"), 2 * moe + 2 * dense + ends);
	cr_expect_eq(total_of(MOE ",\n'moe_layer_freq': [0, 1, 1, 1]}"), 3 * moe + dense + ends);
	cr_expect_eq(total_of(MOE ",\n'mlp_only_layers': [0, 2]}"), 2 * moe + 2 * dense + ends);
	cr_expect_eq(total_of(MOE ",\n'decoder_sparse_step': 4}"), moe + 3 * dense + ends);
	cr_expect_eq(
	    total_of(MOE ",\n'interleave_moe_layer_step': 2}"), 2 * moe + 2 * dense + ends);
	cr_expect_eq(total_of(MOE ",\n'expert_layer_period': 4,\n'expert_layer_offset': 1}"),
	    moe + 3 * dense + ends);
	cr_expect_eq(total_of(MOE ",\n'moe_layer_start_index': 1,\n'moe_layer_end_index': 2}"),
	    2 * moe + 2 * dense + ends);
	cr_expect_eq(total_of(MOE ",\n'moe_layer_start_index': 1,\n'moe_layer_end_index': -1}"),
	    3 * moe + dense + ends);
	cr_expect_eq(total_of(MOE ",\n'moe_layer_num_skipped': 3}"), moe + 3 * dense + ends);
	cr_expect_eq(total_of(MOE ",\n'mlp_layer_types': ['dense', 'sparse', 'sparse', 'dense']}"),
	    2 * moe + 2 * dense + ends);
	cr_expect_eq(total_of(MOE ",\n'n_shared_experts': 2}"), 4 * (moe + 3 * 64 * 64) + ends);
	cr_expect_eq(total_of(MOE ",\n'shared_expert_intermediate_size': 0}"), 4 * moe + ends);
	cr_expect_eq(total_of(MOE ",\n'topk_method': 'noaux_tc'}"), 4 * (moe + 8) + ends);
}

/* A single expert is a dense MLP; a generation parameter is no top-k. */
Test(hf, decoys)
{
	int64_t plain = total_of(DECODER "}");
	struct model_text t = model_from_text(MOE ",\n'top_k': 50}");

	cr_expect_eq(total_of(DECODER ",\n'num_experts': 1,\n'num_experts_per_tok': 1}"), plain);
	cr_expect_eq(total_of(DECODER ",\n'kv_lora_rank': null,\n'use_mla': false}"), plain);
	cr_expect_eq(total_of(DECODER ",\n'n_routed_experts': null}"), plain);
	cr_expect_eq(total_of(DECODER ",\n'rope_theta': Infinity,\n'dropout': NaN}"), plain);
	cr_expect_eq(total_of(DECODER ",\n'no_rope_layers': []}"), plain);
	cr_assert_not_null(t.model);
	cr_expect_eq(model_moe(t.model)->ffn.top_k, 2);
	model_text_free(&t);
}

Test(hf, kinds_are_shared_and_ordered)
{
	struct model_text t = read_case("gemma-4-26b-a4b");

	cr_assert_eq(t.model->n_kinds, 2);
	cr_assert_eq(t.model->layers, 30);
	cr_expect_eq(t.model->kinds[t.model->kind_of[0]].mixer.window, 1024);
	cr_expect_eq(t.model->kinds[t.model->kind_of[5]].mixer.window, 0);
	cr_expect(t.model->kinds[t.model->kind_of[5]].mixer.shared_kv);
	cr_expect_eq(t.model->kinds[t.model->kind_of[5]].mixer.head_dim, 512);
	cr_expect_eq(model_layers_of(t.model, 0), 25);
	cr_expect_eq(t.model->kinds[0].ffn.dense_width, 2112);
	cr_expect_eq(t.model->kinds[0].ffn.experts, 128);
	model_text_free(&t);
}

/* Nemotron-H: a block is a mixer or an FFN. */
Test(hf, blocks)
{
	struct model_text t = read_case("nemotron-3-nano-30b-a3b");

	cr_assert_eq(t.model->layers, 52);
	cr_assert_eq(t.model->n_kinds, 3);
	cr_expect_eq(t.model->kinds[0].mixer.kind, MIXER_MAMBA2);
	cr_expect_not(kind_is_moe(&t.model->kinds[0]));
	cr_expect_eq(t.model->kinds[1].mixer.kind, MIXER_NONE);
	cr_expect(kind_is_moe(&t.model->kinds[1]));
	cr_expect_eq(t.model->kinds[t.model->kind_of[5]].mixer.kind, MIXER_GQA);
	model_text_free(&t);
}

Test(hf, window_needs_a_request_in_qwen)
{
	struct model_text off = read_case("qwen2-7b"), on = read_case("mistral-7b");

	cr_expect_eq(off.model->kinds[0].mixer.window, 0);
	cr_expect_eq(on.model->kinds[0].mixer.window, 4096);
	model_text_free(&off);
	model_text_free(&on);
}

Test(hf, value_width_and_sinks_of_mimo)
{
	struct model_text t = read_case("mimo-v2-flash");
	const struct mixer *full = &t.model->kinds[t.model->kind_of[0]].mixer;
	const struct mixer *window = &t.model->kinds[t.model->kind_of[1]].mixer;

	cr_expect_eq(full->head_dim, 192);
	cr_expect_eq(full->value_dim, 128);
	cr_expect_eq(full->kv_heads, 4);
	cr_expect_not(full->sinks);
	cr_expect_eq(window->kv_heads, 8);
	cr_expect_eq(window->window, 128);
	cr_expect(window->sinks);
	model_text_free(&t);
}

Test(hf, architecture_wins_over_model_type)
{
	struct model_text t = model_from_example("grok-1");

	/* model_type says mixtral, which has two norms a layer. */
	cr_expect_eq(t.model->kinds[0].norm_elements, 4 * 6144);
	cr_expect(model_text_says(&t, SEVERITY_NOTE, "'tie_word_embeddings'", 0));
	model_text_free(&t);
}

Test(hf, unknown_architecture_is_read_with_a_warning)
{
	struct model_text t = model_from_text(
	    "{'architectures': ['NewForCausalLM'], 'hidden_size': 64, 'num_hidden_layers': 2,\n"
	    "'num_attention_heads': 4, 'num_key_value_heads': 2, 'intermediate_size': 96,\n"
	    "'vocab_size': 512}");

	cr_assert_not_null(t.model);
	cr_expect(
	    model_text_says(&t, SEVERITY_WARNING, "architecture 'NewForCausalLM' is not known", 0));
	cr_expect(model_text_says(&t, SEVERITY_WARNING, "'tie_word_embeddings'", 0));
	cr_expect_str_eq(t.model->architecture, "NewForCausalLM");
	model_text_free(&t);
}

Test(hf, unknown_layer_types_are_refused_by_name)
{
	struct model_text t = model_from_text(
	    DECODER ",\n'layer_types': ['full_attention', 'conv', 'conv', 'conv']}");

	cr_assert_not_null(t.model);
	cr_assert_not_null(t.model->uncounted);
	cr_expect_str_eq(t.model->uncounted, "layers of type 'conv'");
	model_text_free(&t);
}

/* One line of a file that is wrong, and what is said about it. */
static const struct {
	const char *text;
	int line;
	const char *message;
} bad_files[] = {
    {MOE ",\n'n_group': -1}", 13, "'n_group' is '-1', not an integer from 0 to 1000000"},
    {MOE ",\n'n_shared_experts': 1.5}", 13, "'n_shared_experts' is '1.5'"},
    {MOE ",\n'moe_layer_freq': 'every'}", 13, "'moe_layer_freq' is 'every'"},
    {MOE ",\n'moe_layer_freq': 0}", 13, "'moe_layer_freq' is 0"},
    {MOE ",\n'head_dim': Infinity}", 13, "'head_dim' is 'Infinity'"},
    {MOE ",\n'attention_bias': 'yes'}", 13, "'attention_bias' is a string, not true or false"},
    {MOE ",\n'moe_layer_freq': [1, 1, 1]}", 13, "'moe_layer_freq' has 3 items for 4 layers"},
    {MOE ",\n'mlp_layer_types': ['dense', 'moe', 'moe', 'odd']}", 13, "'odd'"},
    {MOE ",\n'experts_per_token': 4}", 13,
	"'experts_per_token' is 4 but 'num_experts_per_tok' is 2"},
    {MOE ",\n'n_group': 3,\n'topk_group': 1}", 13, "routing groups divide the experts"},
    {MOE ",\n'n_group': 4,\n'topk_group': 8}", 14, "no more routing groups than there are"},
    {MOE ",\n'layer_types': ['sliding_attention', 'full_attention', 'full_attention',"
	 "'full_attention']}",
	1, "the model has no 'sliding_window'"},
    {DECODER ",\n'num_experts': 4,\n'num_experts_per_tok': 5,\n'moe_intermediate_size': 8}", 11,
	"a token uses no more experts than there are"},
    {DECODER ",\n'num_experts': 4,\n'num_experts_per_tok': 0,\n'moe_intermediate_size': 8}", 11,
	"'num_experts_per_tok' is 0 with 4 experts"},
    {DECODER ",\n'num_experts': 4,\n'moe_intermediate_size': 8}", 1,
	"the model has no 'num_experts_per_tok'"},
    {DECODER ",\n'num_experts': 2000000}", 10, "'num_experts' is '2000000'"},
    {DECODER ",\n'num_experts': 1000000,\n'num_experts_per_tok': 1,\n"
	     "'moe_intermediate_size': 16777216}",
	1, "a layer has more than 1e+14 parameters"},
    {DECODER ",\n'kv_lora_rank': 16}", 1, "the model has no 'qk_nope_head_dim'"},
    {DECODER ",\n'hybrid_override_pattern': 'M*E'}", 4, "'num_hidden_layers' is 4 but there are 3"},
    {DECODER ",\n'hybrid_override_pattern': '**Q*'}", 10, "block 2 is none of"},
    {DECODER ",\n'compress_ratios': []}", 10, "'compress_ratios' is an empty list"},
    {"{'architectures': ['X'], 'num_hidden_layers': 2000}", 1, "not an integer from 1 to 1024"},
    {"{'architectures': ['Qwen3ForCausalLM'], 'hidden_size': 2048, 'num_hidden_layers': 1,\n"
     "'num_attention_heads': 32, 'num_key_value_heads': 4, 'intermediate_size': 64,\n"
     "'vocab_size': 100}",
	1, "the model has no 'head_dim'"},
    {"{'architectures': ['MixtralForCausalLM'], 'hidden_size': 2048, 'num_hidden_layers': 1,\n"
     "'num_attention_heads': 30, 'num_key_value_heads': 4, 'intermediate_size': 64,\n"
     "'vocab_size': 100}",
	2, "is no multiple of"},
    {"{'architectures': ['MixtralForCausalLM'], 'hidden_size': 2048, 'num_hidden_layers': 1,\n"
     "'num_attention_heads': 32, 'num_key_value_heads': 5, 'intermediate_size': 64,\n"
     "'vocab_size': 100}",
	2, "key-value heads divide the query heads"},
    {"{'architectures': ['MixtralForCausalLM'], 'hidden_size': 2048, 'num_hidden_layers': 1,\n"
     "'num_attention_heads': 32, 'intermediate_size': 64, 'vocab_size': 100}",
	1, "the model has no 'num_key_value_heads'"},
};

Test(hf, says_what_is_wrong_and_where)
{
	for (size_t i = 0; i < sizeof(bad_files) / sizeof(*bad_files); i++) {
		struct model_text t = model_from_text(bad_files[i].text);

		cr_expect_null(t.model, "row %zu is read", i);
		cr_expect(
		    model_text_says(&t, SEVERITY_ERROR, bad_files[i].message, bad_files[i].line),
		    "row %zu: '%s' line %d, said '%s' line %d", i, bad_files[i].message,
		    bad_files[i].line, t.diags->first ? t.diags->first->message : "nothing",
		    t.diags->first ? t.diags->first->loc.line : 0);
		model_text_free(&t);
	}
}

Test(hf, reports_several_mistakes_together)
{
	struct model_text t = model_from_text(
	    "{'architectures': ['MixtralForCausalLM'], 'hidden_size': -1,\n'vocab_size': 'many',\n"
	    "'num_local_experts': 4, 'num_experts_per_tok': 9}");

	cr_expect_null(t.model);
	cr_expect(model_text_says(&t, SEVERITY_ERROR, "'hidden_size'", 1));
	cr_expect(model_text_says(&t, SEVERITY_ERROR, "'vocab_size'", 2));
	cr_expect(model_text_says(&t, SEVERITY_ERROR, "no 'num_hidden_layers'", 0));
	cr_expect(model_text_says(&t, SEVERITY_ERROR, "no 'num_attention_heads'", 0));
	cr_expect(model_text_says(&t, SEVERITY_ERROR, "no 'intermediate_size'", 0));
	model_text_free(&t);
}

Test(hf, longer_lists_are_cut_with_a_warning)
{
	struct model_text t = model_from_text(MOE ",\n'moe_layer_freq': [1, 1, 1, 1, 1]}");

	cr_assert_not_null(t.model);
	cr_expect(model_text_says(&t, SEVERITY_WARNING, "the first 4 are used", 13));
	model_text_free(&t);
}

Test(hf, too_many_kinds)
{
	struct model_text t = model_from_text(
	    "{'architectures': ['DeepseekV4ForCausalLM'], 'hidden_size': 64, 'vocab_size': 100,\n"
	    "'num_hidden_layers': 17, 'num_attention_heads': 8, 'head_dim': 16, 'q_lora_rank': 8,\n"
	    "'o_lora_rank': 8, 'o_groups': 2, 'sliding_window': 16, 'n_routed_experts': 4,\n"
	    "'num_experts_per_tok': 2, 'moe_intermediate_size': 8, 'tie_word_embeddings': false,\n"
	    "'compress_ratios': [5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21]}");

	cr_expect_null(t.model);
	cr_expect(model_text_says(&t, SEVERITY_ERROR, "more than 16 different kinds", 0));
	model_text_free(&t);
}

Test(hf, unmodelled_names_kinds_and_layers)
{
	struct model_text t = read_case("nemotron-3-ultra-550b-a55b");

	cr_expect_null(t.model->unmodelled);
	cr_expect(mixer_is_modelled(&t.model->kinds[0].mixer));
	model_text_free(&t);
	t = read_case("glm-5.2");
	cr_expect_str_eq(t.model->unmodelled, "sparse attention with an indexer (78 of 78)");
	model_text_free(&t);
	t = read_case("mimo-v2-flash");
	cr_expect_null(t.model->unmodelled);
	model_text_free(&t);
}
