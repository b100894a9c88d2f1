/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The tensor table: shapes, how they are split, and that nothing is listed twice. */
#include <criterion/criterion.h>
#include <string.h>

#include "hf_cases.h"
#include "model_text.h"
#include "planner/tensors.h"

static const struct tensor *
find(const struct tensor *rows, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(rows[i].name, name) == 0)
			return &rows[i];
	return NULL;
}

static void
expect_row(const struct tensor *rows, size_t n, const char *name, int64_t count, int64_t height,
    int64_t width, enum shard shard, bool split_cols, bool matmul)
{
	const struct tensor *row = find(rows, n, name);

	cr_assert_not_null(row, "no row '%s'", name);
	cr_expect_eq(row->count, count, "%s", name);
	cr_expect_eq(row->rows, height, "%s", name);
	cr_expect_eq(row->cols, width, "%s", name);
	cr_expect_eq(row->shard, shard, "%s", name);
	cr_expect_eq(row->split_cols, split_cols, "%s", name);
	cr_expect_eq(row->matmul, matmul, "%s", name);
}

/* Shapes of deepseek-ai/DeepSeek-V3's model.layers.3 (gate and up fused). */
Test(tensors, deepseek_moe_layer)
{
	struct model_text t = model_from_example("deepseek-v3");
	const struct layer_kind *kind = &t.model->kinds[t.model->kind_of[3]];
	struct tensor rows[TENSORS_MAX];
	size_t n = tensors_of_layer(t.model, kind, rows);

	expect_row(rows, n, "q_down", 1, 1536, 7168, SHARD_NONE, false, true);
	expect_row(rows, n, "q_norm", 1, 1536, 1, SHARD_NONE, false, false);
	expect_row(rows, n, "q_up", 1, 24576, 1536, SHARD_TP, false, true);
	expect_row(rows, n, "kv_down", 1, 576, 7168, SHARD_NONE, false, true);
	expect_row(rows, n, "kv_norm", 1, 512, 1, SHARD_NONE, false, false);
	expect_row(rows, n, "kv_up", 1, 32768, 512, SHARD_TP, false, true);
	expect_row(rows, n, "o", 1, 7168, 16384, SHARD_TP, true, true);
	expect_row(rows, n, "router", 1, 256, 7168, SHARD_NONE, false, true);
	expect_row(rows, n, "router_bias", 1, 256, 1, SHARD_NONE, false, false);
	expect_row(rows, n, "expert_fc1", 256, 4096, 7168, SHARD_EXPERT, false, true);
	expect_row(rows, n, "expert_fc2", 256, 7168, 2048, SHARD_EXPERT, true, true);
	expect_row(rows, n, "shared_fc1", 1, 4096, 7168, SHARD_TP, false, true);
	expect_row(rows, n, "shared_fc2", 1, 7168, 2048, SHARD_TP, true, true);
	expect_row(rows, n, "norms", 1, 2 * 7168, 1, SHARD_NONE, false, false);
	cr_expect_eq(n, 14);
	cr_expect(find(rows, n, "router_bias")->buffer);
	cr_expect_not(find(rows, n, "router")->buffer);
	model_text_free(&t);
}

Test(tensors, gqa_layer_shards_keys_by_kv_heads)
{
	struct model_text t = model_from_example("qwen3-8b");
	struct tensor rows[TENSORS_MAX];
	size_t n = tensors_of_layer(t.model, &t.model->kinds[0], rows);

	expect_row(rows, n, "q", 1, 4096, 4096, SHARD_TP, false, true);
	expect_row(rows, n, "k", 1, 1024, 4096, SHARD_KV, false, true);
	expect_row(rows, n, "v", 1, 1024, 4096, SHARD_KV, false, true);
	expect_row(rows, n, "o", 1, 4096, 4096, SHARD_TP, true, true);
	expect_row(rows, n, "q_norm", 1, 128, 1, SHARD_NONE, false, false);
	expect_row(rows, n, "mlp_fc1", 1, 2 * 12288, 4096, SHARD_TP, false, true);
	expect_row(rows, n, "mlp_fc2", 1, 4096, 12288, SHARD_TP, true, true);
	cr_expect_null(find(rows, n, "router"));
	model_text_free(&t);
}

Test(tensors, gpt_oss_biases_and_sinks)
{
	struct model_text t = model_from_example("gpt-oss-120b");
	struct tensor rows[TENSORS_MAX];
	size_t n = tensors_of_layer(t.model, &t.model->kinds[0], rows);

	expect_row(rows, n, "sinks", 1, 64, 1, SHARD_TP, false, false);
	expect_row(rows, n, "k_bias", 1, 512, 1, SHARD_KV, false, false);
	expect_row(rows, n, "o_bias", 1, 2880, 1, SHARD_NONE, false, false);
	expect_row(rows, n, "expert_fc1_bias", 128, 5760, 1, SHARD_EXPERT, false, false);
	expect_row(rows, n, "expert_fc2_bias", 128, 2880, 1, SHARD_EXPERT, false, false);
	/* A trained bias, not a correction buffer. */
	cr_expect_not(find(rows, n, "router_bias")->buffer);
	model_text_free(&t);
}

Test(tensors, ends)
{
	struct model_text t = model_from_example("deepseek-v3");
	struct tensor rows[TENSORS_MAX];
	size_t n = tensors_of_embedding(t.model, rows);

	cr_assert_eq(n, 1);
	expect_row(rows, n, "embedding", 1, 129280, 7168, SHARD_TP, false, false);
	n = tensors_of_head(t.model, rows);
	cr_assert_eq(n, 2);
	expect_row(rows, n, "head", 1, 129280, 7168, SHARD_TP, false, true);
	expect_row(rows, n, "final_norm", 1, 7168, 1, SHARD_NONE, false, false);
	t.model->tied = true;
	n = tensors_of_head(t.model, rows);
	cr_expect_eq(n, 1);
	cr_expect_null(find(rows, n, "head"));
	n = tensors_of_mtp(t.model, rows);
	expect_row(rows, n, "mtp_projection", 1, 7168, 2 * 7168, SHARD_TP, false, true);
	expect_row(rows, n, "mtp_norms", 1, 3 * 7168, 1, SHARD_NONE, false, false);
	cr_expect_not_null(find(rows, n, "expert_fc1"));
	model_text_free(&t);
}

Test(tensors, latent_experts)
{
	struct model_text t =
	    model_from_text("{'architectures': ['NemotronHForCausalLM'],"
			    "'hidden_size': 256, 'vocab_size': 100, 'head_dim': 16,"
			    "'num_attention_heads': 4, 'num_key_value_heads': 2,"
			    "'hybrid_override_pattern': '*E',"
			    "'n_routed_experts': 8, 'num_experts_per_tok': 2,"
			    "'moe_intermediate_size': 64, 'moe_latent_size': 32,"
			    "'tie_word_embeddings': false}");
	struct tensor rows[TENSORS_MAX];
	size_t n;

	cr_assert_not_null(t.model);
	n = tensors_of_layer(t.model, &t.model->kinds[1], rows);
	expect_row(rows, n, "latent_down", 1, 32, 256, SHARD_NONE, false, true);
	expect_row(rows, n, "latent_up", 1, 256, 32, SHARD_NONE, false, true);
	expect_row(rows, n, "expert_fc1", 8, 64, 32, SHARD_EXPERT, false, true);
	expect_row(rows, n, "expert_fc2", 8, 32, 64, SHARD_EXPERT, true, true);
	expect_row(rows, n, "router", 1, 8, 256, SHARD_NONE, false, true);
	cr_expect_null(find(rows, n, "q"));
	model_text_free(&t);
}

static void
check_rows(const char *model, const struct tensor *rows, size_t n)
{
	cr_expect_leq(n, (size_t)TENSORS_MAX);
	for (size_t i = 0; i < n; i++) {
		cr_expect_not_null(rows[i].name, "%s", model);
		cr_expect_gt(tensor_elements(&rows[i]), 0, "%s %s", model, rows[i].name);
		cr_expect_lt(rows[i].component, COMPONENTS);
		cr_expect(rows[i].count == 1 || rows[i].shard == SHARD_EXPERT);
		cr_expect_not(rows[i].buffer && rows[i].matmul);
		for (size_t j = 0; j < i; j++)
			cr_expect_str_neq(rows[i].name, rows[j].name, "%s", model);
	}
}

Test(tensors, rows_are_named_once_in_every_family)
{
	struct tensor rows[TENSORS_MAX];

	for (size_t i = 0; i < sizeof(hf_cases) / sizeof(*hf_cases); i++) {
		struct model_text t = model_from_text(hf_cases[i].text);

		cr_assert_not_null(t.model, "%s", hf_cases[i].name);
		for (int k = 0; k < t.model->n_kinds; k++)
			check_rows(hf_cases[i].name, rows,
			    tensors_of_layer(t.model, &t.model->kinds[k], rows));
		if (t.model->mtp_layers)
			check_rows(hf_cases[i].name, rows, tensors_of_mtp(t.model, rows));
		model_text_free(&t);
	}
}
