/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Parameters and FLOPs of the built-in examples, against published numbers. */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "model/builtin_models.h"
#include "model_text.h"
#include "planner/params.h"

/*
 * Totals of the published safetensors (or of their index, for Mixtral). DeepSeek-V3's is that of
 * microsoft/MAI-DS-R1, which has no MTP layer. Llama-4 without its vision tower; GLM-4.5, Grok-1
 * and Phi-3.5-MoE counted, their published figures are rounded (355 B, 314 B, 42 B).
 */
static const struct {
	const char *name;
	int64_t total, mtp, active, active_without_ends;
} examples[] = {
    {"deepseek-moe-16b", 16375728128, 0, 2828650496, 2409220096},
    {"deepseek-v2", 235741434880, 0, 21375800320, 20327224320},
    {"deepseek-v2-lite", 15706484224, 0, 2661150208, 2241719808},
    {"deepseek-v3", 671026419200, 11610068224, 37552297472, 35698939392},
    {"glm-4.5", 352797829024, 3988069792, 33632266144, 32080373664},
    {"gpt-oss-120b", 116829156672, 0, 5711982912, 4553716032},
    {"grok-1", 316490127360, 0, 84561893376, 82951280640},
    {"kimi-k2", 1026408232448, 0, 32861500928, 30512690688},
    {"llama3.1-405b", 405853388800, 0, 405853388800, 401650696192},
    {"llama3.1-70b", 70553706496, 0, 70553706496, 68452360192},
    {"llama3.1-8b", 8030261248, 0, 8030261248, 6979588096},
    {"llama4-scout", 107769861120, 0, 17172894720, 15103923200},
    {"mixtral-8x22b", 140620634112, 0, 39152031744, 38758815744},
    {"mixtral-8x7b", 46702792704, 0, 12879925248, 12617781248},
    {"olmoe-1b-7b", 6919161856, 0, 1282017280, 1075972096},
    {"phi-3.5-moe", 41873153344, 0, 6640999744, 6378299392},
    {"qwen2-57b-a14b", 57408658944, 0, 14249270784, 13160193536},
    {"qwen3-235b-a22b", 235093634560, 0, 22190763520, 20946103808},
    {"qwen3-30b-a3b", 30532122624, 0, 3353032704, 2730702848},
    {"qwen3-32b", 32762123264, 0, 32762123264, 31206298624},
    {"qwen3-8b", 8190735360, 0, 8190735360, 6946075648},
};
enum { N_EXAMPLES = sizeof(examples) / sizeof(*examples) };

Test(params, counts_the_examples)
{
	for (int i = 0; i < N_EXAMPLES; i++) {
		struct model_text t = model_from_example(examples[i].name);
		struct params p;

		cr_expect_str_eq(builtin_model_name(i), examples[i].name);
		params_count(t.model, &p);
		cr_expect_eq(p.total, examples[i].total, "%s %" PRId64, examples[i].name, p.total);
		cr_expect_eq(p.mtp, examples[i].mtp, "%s mtp %" PRId64, examples[i].name, p.mtp);
		cr_expect_eq(
		    p.active, examples[i].active, "%s %" PRId64, examples[i].name, p.active);
		cr_expect_eq(p.active_without_embedding_and_head, examples[i].active_without_ends,
		    "%s", examples[i].name);
		model_text_free(&t);
	}
	cr_expect_null(builtin_model_name(N_EXAMPLES));
	cr_expect_null(builtin_model_text("no-such-model"));
}

static int64_t
extra(const struct params *p, const char *name)
{
	for (int i = 0; i < p->n_extras; i++)
		if (strcmp(p->extras[i].name, name) == 0)
			return p->extras[i].elements;
	return 0;
}

static struct params
count(const char *name)
{
	struct model_text t = model_from_example(name);
	struct params p;

	params_count(t.model, &p);
	model_text_free(&t);
	return p;
}

/* safetensors totals of deepseek-ai/DeepSeek-R1, its fp8 form, and two others with parts. */
Test(params, extras_make_published_checkpoints)
{
	struct params v3 = count("deepseek-v3"), glm = count("glm-4.5"),
		      llama = count("llama4-scout");

	cr_expect_eq(v3.total + v3.mtp + extra(&v3, "mtp_duplicates"), 684489845504);
	cr_expect_eq(extra(&v3, "fp8_scales"), 41540496);
	cr_expect_eq(v3.total + v3.mtp + extra(&v3, "mtp_duplicates") + extra(&v3, "fp8_scales"),
	    684531386000);
	cr_expect_eq(glm.total + glm.mtp, 356785898816);
	cr_expect_eq(glm.total + glm.mtp + extra(&glm, "mtp_duplicates"), 358337791296);
	cr_expect_eq(extra(&glm, "mtp_unlisted"), 0);
	cr_expect_eq(llama.total + extra(&llama, "vision_tower"), 108641793536);
	cr_expect_eq(count("kimi-k2").n_extras, 0);
}

Test(params, three_conventions_of_active)
{
	struct params v3 = count("deepseek-v3");
	int64_t matrix = 129280LL * 7168;
	struct model_text tied = model_from_text("schema: moeplan/model/v1\nlike: qwen3-8b\n"
						 "tie_embeddings: true\n");
	struct params p;

	cr_expect_eq(v3.active - v3.active_without_embedding, matrix);
	cr_expect_eq(v3.active_without_embedding - v3.active_without_embedding_and_head, matrix);
	cr_assert_not_null(tied.model);
	params_count(tied.model, &p);
	/* One matrix: it stays as the head. */
	cr_expect_eq(p.active_without_embedding, p.active);
	cr_expect_eq(p.active - p.active_without_embedding_and_head, 151936LL * 4096);
	cr_expect_eq(p.total, 8190735360 - 151936LL * 4096);
	model_text_free(&tied);
}

Test(params, components_sum_to_the_total)
{
	for (int i = 0; i < N_EXAMPLES; i++) {
		struct params p = count(examples[i].name);
		int64_t sum = 0;

		for (int c = 0; c < COMPONENTS; c++) {
			cr_expect_geq(p.components[c], 0);
			sum += p.components[c];
		}
		cr_expect_eq(sum, p.total);
		cr_expect_leq(p.active, p.total);
	}
}

/*
 * GFLOP a token in training, causal attention counted half: what Megatron-LM's counter divides
 * by in NVIDIA's published Megatron-Bridge performance tables.
 */
static const struct {
	const char *name;
	int64_t seq_len;
	bool mtp;
	double gflop;
} flop_rows[] = {
    {"deepseek-v3", 4096, true, 260},
    {"deepseek-v3", 4096, false, 249.5},
    {"qwen3-235b-a22b", 4096, false, 148.0},
    {"qwen3-235b-a22b", 131072, false, 739},
    {"qwen3-30b-a3b", 4096, false, 23.0},
    {"llama3.1-70b", 8192, false, 449},
    {"llama3.1-405b", 8192, false, 2524},
};

Test(params, flops_per_token)
{
	for (size_t i = 0; i < sizeof(flop_rows) / sizeof(*flop_rows); i++) {
		struct model_text t = model_from_example(flop_rows[i].name);
		struct flops f = flops_per_token(t.model, flop_rows[i].seq_len, flop_rows[i].mtp);

		cr_expect_float_eq(f.training / 1e9 / flop_rows[i].gflop, 1.0, 0.01, "%s %f",
		    flop_rows[i].name, f.training / 1e9);
		cr_expect_float_eq(f.training / f.forward, 3.0, 1e-12);
		model_text_free(&t);
	}
}

/* Llama-3.1-8B at 2048 by hand: 2 x active matmul weights + 4*n*d*(s+1)/2 a layer. */
Test(params, flops_by_hand)
{
	struct model_text t = model_from_example("llama3.1-8b");
	double weights =
	    32.0 * (2.0 * 4096 * 4096 + 2.0 * 1024 * 4096 + 3.0 * 14336 * 4096) + 128256.0 * 4096;
	double core = 32.0 * 4 * 4096 * 2049 / 2;

	cr_expect_float_eq(flops_per_token(t.model, 2048, false).forward, 2 * weights + core, 1);
	model_text_free(&t);
}

Test(params, context_by_enumeration)
{
	static const struct mixer kinds[] = {
	    {.kind = MIXER_GQA},
	    {.kind = MIXER_GQA, .window = 5},
	    {.kind = MIXER_GQA, .chunk = 7},
	    {.kind = MIXER_MLA, .sparse = 6},
	    {.kind = MIXER_GQA, .window = 100},
	};

	for (size_t k = 0; k < sizeof(kinds) / sizeof(*kinds); k++) {
		const struct mixer *m = &kinds[k];
		double keys = 0;

		for (int64_t q = 1; q <= 33; q++) {
			int64_t seen = q;

			if (m->chunk)
				seen = (q - 1) % m->chunk + 1;
			if (m->window && seen > m->window)
				seen = m->window;
			if (m->sparse && seen > m->sparse)
				seen = m->sparse;
			keys += (double)seen;
		}
		cr_expect_float_eq(attention_context(m, 33), keys / 33, 1e-9, "kind %zu", k);
	}
	cr_expect_eq(attention_context(&(struct mixer){.kind = MIXER_MAMBA2}, 33), 0);
	cr_expect_eq(attention_context(&kinds[0], 0), 0);
}

Test(params, longer_sequences_cost_more_but_not_in_windows)
{
	struct model_text full = model_from_example("llama3.1-8b");
	struct model_text window = model_from_text("schema: moeplan/model/v1\nlike: mixtral-8x7b\n"
						   "sliding_window: 1024\n");
	double grows, stays;

	cr_assert_not_null(window.model);
	grows = flops_per_token(full.model, 65536, false).forward /
		flops_per_token(full.model, 8192, false).forward;
	stays = flops_per_token(window.model, 65536, false).forward /
		flops_per_token(window.model, 8192, false).forward;
	cr_expect_gt(grows, 1.5);
	cr_expect_lt(stays, 1.01);
	model_text_free(&full);
	model_text_free(&window);
}

Test(params, mtp_flops_are_a_layer_and_a_head)
{
	struct model_text t = model_from_example("deepseek-v3");
	double more = flops_per_token(t.model, 4096, true).forward -
		      flops_per_token(t.model, 4096, false).forward;
	double head = 2.0 * 129280 * 7168, projection = 2.0 * 2 * 7168 * 7168;

	cr_expect_gt(more, head + projection);
	cr_expect_lt(more, head + projection + 2.0 * 1e9);
	model_text_free(&t);
}
