/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What state-space and linear-attention layers move and keep, by hand from published shapes. */
#include <criterion/criterion.h>

#include "base/arena.h"
#include "model/job.h"
#include "model_text.h"
#include "planner/evaluator.h"
#include "planner/linear_mixer.h"

static void
expect_widths(const struct mixer *mixer, double input, double conv, double output, double second,
    double state)
{
	struct linear_widths w = linear_widths(mixer);

	cr_expect_eq(w.input, input);
	cr_expect_eq(w.conv, conv);
	cr_expect_eq(w.output, output);
	cr_expect_eq(w.second, second);
	cr_expect_eq(w.state, state);
}

/* nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B: 64 heads x 64, state 128, 8 groups. */
static const struct mixer nano = {
    .kind = MIXER_MAMBA2, .heads = 64, .inner = 4096, .state = 128, .groups = 8, .conv = 4};

Test(linear_mixer, widths_by_hand)
{
	const struct mixer qwen3_next = {.kind = MIXER_GATED_DELTANET, .key_heads = 16,
	    .value_heads = 32, .key_dim = 128, .value_dim = 128, .conv = 4};
	const struct mixer minimax = {.kind = MIXER_LIGHTNING, .heads = 64, .head_dim = 128};
	const struct mixer jamba = {
	    .kind = MIXER_MAMBA1, .inner = 8192, .state = 16, .dt_rank = 256, .conv = 4};
	const struct mixer gqa = {.kind = MIXER_GQA, .heads = 64, .kv_heads = 8, .head_dim = 128};

	expect_widths(&nano, 2 * 4096 + 2048 + 64, 4096 + 2048, 4096, 0, 4096);
	expect_widths(&qwen3_next, 2 * 2048 + 2 * 4096 + 64, 2 * 2048 + 4096, 4096, 64 * 32,
	    4096.0 * 128 / 64);
	expect_widths(&minimax, 4 * 8192, 0, 8192, 0, 8192.0 * 128 / 256);
	expect_widths(&jamba, 2 * 8192, 8192, 8192, 8192 + 256 + 32, 0);
	expect_widths(&gqa, 0, 0, 0, 0, 0);
}

Test(linear_mixer, bytes_by_hand)
{
	struct linear_widths w = linear_widths(&nano);

	cr_expect_eq(linear_bytes(&w), 2.0 * (2 * 6144 + 3 * 10304 + 3 * 4096) + 16.0 * 4096);
}

/* A Mamba-2 block of Nano: norm in, in-projection in; scan in and gate; scan out, projection in. */
Test(linear_mixer, kept_by_hand)
{
	struct model_text t = model_from_text(
	    "{'architectures': ['NemotronHForCausalLM'], 'conv_kernel': 4, 'head_dim': 128, "
	    "'hidden_size': 2688, 'hybrid_override_pattern': 'M*', 'intermediate_size': 1856, "
	    "'mamba_head_dim': 64, 'mamba_num_heads': 64, 'model_type': 'nemotron_h', "
	    "'n_groups': 8, "
	    "'num_attention_heads': 32, 'num_hidden_layers': 2, 'num_key_value_heads': 2, "
	    "'ssm_state_size': 128, 'tie_word_embeddings': false, 'vocab_size': 131072}");
	struct cluster *cluster = cluster_from_text(t.arena, t.diags, "dgx-h100");
	struct evaluator *e;
	struct sizes z;
	struct job job;
	struct layer_time time;

	cr_assert_not_null(t.model, "%s", t.diags->first ? t.diags->first->message : "");
	job_init(&job);
	job.base.world = cluster->world;
	job.base.seq_len = 4096;
	job.base.micro_batch = 1;
	job.base.global_batch = 8;
	job.base.tp = job.base.cp = job.base.pp = job.base.vpp = job.base.ep = job.base.etp = 1;
	strategy_derive(&job.base, t.model, cluster->world);
	e = evaluator_new(t.arena, t.model, cluster, &job);
	sizes_init(e, &job.base, &z);
	cr_expect_float_eq(layer_activations(e, 0, &job.base, &z, 1).kept / z.T,
	    2 * 2 * 2688 + 2 * 10304 + 2 * 2 * 4096, 0.5);
	layer_time(e, 0, &job.base, &z, &time);
	cr_expect_gt(time.forward[TIME_ATTENTION], 0);
	cr_expect_gt(time.backward[TIME_ATTENTION], 2 * time.forward[TIME_ATTENTION]);
	cr_expect_eq(time.forward[TIME_MLP] + time.forward[TIME_EXPERTS], 0);
	model_text_free(&t);
}
