/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What do libraries of MoE layers take for a plan?
 *
 * Tutel and FairScale are layers inside somebody's model: fragments of Python. Their experts
 * are cut over the ranks of a group; the rest of the plan is the program's, and is named in a
 * comment. Source: microsoft/tutel impls/moe_layer.py, experts/{ffn,llama_ffn}.py, gates/top.py
 * at 82af7aad9fc3; facebookresearch/fairscale nn/moe/{moe_layer,top2gate}.py, 0.4.13.
 */
#include "base/arena.h"
#include "emit/private.h"
#include "emit/values.h"

static const struct ffn *
experts_of(const struct plan_view *plan)
{
	return &model_moe(plan->model)->ffn;
}

/* --- obstacles of both ---------------------------------------------------------------------- */

static bool
is_dense(const struct plan_view *plan)
{
	return !model_moe(plan->model);
}

static bool
has_etp(const struct plan_view *plan)
{
	return plan->strategy.etp > 1;
}

static bool
has_further_shards(const struct plan_view *plan)
{
	return plan->strategy.gtp > 1 || plan->strategy.egtp > 1;
}

static bool
other_dispatcher(const struct plan_view *plan)
{
	return plan->strategy.dispatcher != DISPATCH_ALLTOALL && plan->strategy.ep > 1;
}

static bool
other_order(const struct plan_view *plan)
{
	return plan->strategy.data_before_expert;
}

static bool
other_scores(const struct plan_view *plan)
{
	return router_is_sigmoid(plan) || experts_of(plan)->route_groups > 1;
}

static bool
latent_experts(const struct plan_view *plan)
{
	return experts_of(plan)->latent > 0;
}

/* What a layer does not say, ready to be read by a person. */
static void
add_layer_head(struct str *out, const struct plan_view *plan)
{
	str_addf(out,
	    "# %s\n# The layer of experts alone. The rest of the plan is the program's:\n# %s\n",
	    plan_title(out->arena, plan), strategy_options_text(out->arena, &plan->strategy));
}

static void
add_group_check(struct str *out)
{
	str_add(out, "    assert torch.distributed.get_world_size(ep_group) == EXPERT_PARALLEL\n");
}

/* --- Tutel ---------------------------------------------------------------------------------- */

static bool
odd_hidden(const struct plan_view *plan)
{
	return plan->model->hidden % 2 != 0;
}

static bool
gated_with_bias(const struct plan_view *plan)
{
	return experts_of(plan)->expert_bias && !experts_of(plan)->ungated;
}

static bool
reversed_groups(const struct plan_view *plan)
{
	return plan->strategy.edp > 1;
}

static const struct obstacle tutel_obstacles[] = {
    {odd_hidden, "Tutel needs an even hidden size"},
    {gated_with_bias, "Tutel's gated experts have no bias"},
    {other_scores, "Tutel's gate is a softmax over all experts, without groups"},
    {latent_experts, "Tutel's experts work on the whole hidden size"},
    {has_etp, "Tutel cuts no expert by tensor parallelism"},
    {has_further_shards, "Tutel has no further shards of weights"},
    {other_dispatcher, "Tutel has an all-to-all of its own: --dispatcher alltoall"},
    {other_order, "its expert-parallel ranks are neighbours"},
    {reversed_groups, "Tutel's experts lie over the whole group: EDP must be 1; make the "
		      "group of the layer no larger than EP, or plan with a larger EP"},
    {NULL, NULL},
};

/* llama_ffn has three matrices and no bias, ffn two with one each. */
static void
add_tutel_experts(struct str *out, const struct plan_view *plan)
{
	const struct ffn *ffn = experts_of(plan);
	const char *bias = ffn->expert_bias ? "True" : "False";

	str_addf(out,
	    "        experts={\n            \"type\": \"%s\",\n"
	    "            \"num_experts_per_device\": %lld,\n"
	    "            \"hidden_size_per_expert\": %lld,\n"
	    "            \"activation_fn\": activation_fn,\n",
	    ffn->ungated ? "ffn" : "llama_ffn", (long long)plan->strategy.experts_per_rank,
	    (long long)ffn->expert_width);
	if (ffn->ungated)
		str_addf(out,
		    "            \"has_fc1_bias\": %s,\n            \"has_fc2_bias\": %s,\n", bias,
		    bias);
	str_add(out, "        },\n");
}

static void
add_tutel_layer(struct str *out, const struct plan_view *plan)
{
	const struct strategy *s = &plan->strategy;

	str_addf(out,
	    "    return moe.moe_layer(\n"
	    "        gate_type={\"type\": \"top\", \"k\": %lld, \"capacity_factor\": %s, "
	    "\"gate_noise\": 0.0, \"fp32_gate\": True},\n"
	    "        model_dim=%lld,\n",
	    (long long)experts_of(plan)->top_k,
	    number_text(out->arena, s->capacity > 0 ? s->capacity : 0),
	    (long long)plan->model->hidden);
	add_tutel_experts(out, plan);
	str_addf(out,
	    "        normalize_gate=%s,\n        parallel_type=\"adaptive:1\",\n"
	    "        a2a_ffn_overlap_degree=%d,\n        use_2dh=%s,\n        group=ep_group,\n"
	    "        scan_expert_func=lambda name, parameter: setattr(\n"
	    "            parameter, \"skip_allreduce\", True),\n    )\n",
	    router_keeps_scores(plan) ? "False" : "True", s->overlap & OVERLAP_EP ? 2 : 1,
	    s->ep > plan->gpus_per_node ? "True" : "False");
}

struct emitted *
emit_tutel(
    struct arena *arena, struct diags *diags, const struct plan_view *plan, const char *version)
{
	struct emitted *files = NULL;
	struct str out = str_new(arena);

	(void)version;
	if (is_dense(plan))
		return refuse_plan(diags, "tutel", "the model has no experts");
	if (refuse_obstacles(diags, "tutel", tutel_obstacles, plan))
		return NULL;
	add_layer_head(&out, plan);
	str_addf(&out,
	    "import torch\nfrom tutel import moe\n\nEXPERT_PARALLEL = %lld\n\n\n"
	    "def make_moe_layer(activation_fn, ep_group):\n"
	    "    \"\"\"`ep_group`: the expert-parallel ranks of this rank. Expert parameters have\n"
	    "    skip_allreduce set: leave them out of the data-parallel reduction.\"\"\"\n",
	    (long long)plan->strategy.ep);
	add_group_check(&out);
	add_tutel_layer(&out, plan);
	add_file(arena, &files, "tutel_moe.py", &out, false);
	return files;
}

/* --- FairScale ------------------------------------------------------------------------------ */

static bool
is_not_top_two(const struct plan_view *plan)
{
	return experts_of(plan)->top_k != 2;
}

static bool
keeps_scores(const struct plan_view *plan)
{
	return router_keeps_scores(plan);
}

static bool
drops_nothing(const struct plan_view *plan)
{
	return !(plan->strategy.capacity > 0);
}

static bool
other_capacity(const struct plan_view *plan)
{
	double capacity = plan->strategy.capacity;

	return capacity > 0 && (capacity < 1 || capacity > 1);
}

/* Sequences are the first dimension, of which the layer wants a multiple of its experts. */
static bool
odd_tokens(const struct plan_view *plan)
{
	const struct strategy *s = &plan->strategy;
	int64_t sequence = s->seq_len / (s->cp * s->tp);

	return sequence * s->micro_batch % experts_of(plan)->experts != 0 ||
	       sequence % s->experts_per_rank != 0;
}

static bool
hides_experts(const struct plan_view *plan)
{
	return plan->strategy.overlap & OVERLAP_EP && plan->strategy.ep > 1;
}

static const struct obstacle fairscale_obstacles[] = {
    {is_not_top_two, "FairScale's gate sends a token to two experts"},
    {other_scores, "FairScale's gate is a softmax over all experts, without groups"},
    {keeps_scores, "FairScale's gate makes the two scores sum to 1"},
    {drops_nothing, "FairScale's gate drops what exceeds twice the mean load: --capacity 1"},
    {other_capacity, "FairScale's capacity is 2 x tokens / experts, a factor of 1 at top-2"},
    {odd_tokens, "tokens of a rank are no multiple of the experts, which FairScale asserts"},
    {has_etp, "FairScale cuts no expert by tensor parallelism"},
    {has_further_shards, "FairScale has no further shards of weights"},
    {other_dispatcher, "FairScale has an all-to-all of its own: --dispatcher alltoall"},
    {hides_experts, "FairScale hides no expert communication: leave 'ep' out of --overlap"},
    {other_order, "its expert-parallel ranks are neighbours"},
    {NULL, NULL},
};

struct emitted *
emit_fairscale(
    struct arena *arena, struct diags *diags, const struct plan_view *plan, const char *version)
{
	struct emitted *files = NULL;
	struct str out = str_new(arena);

	(void)version;
	if (is_dense(plan))
		return refuse_plan(diags, "fairscale", "the model has no experts");
	if (refuse_obstacles(diags, "fairscale", fairscale_obstacles, plan))
		return NULL;
	add_layer_head(&out, plan);
	str_addf(&out,
	    "import torch\nfrom fairscale.nn.moe import MOELayer, Top2Gate\n\n"
	    "EXPERT_PARALLEL = %lld\n"
	    "# FairScale has no setting for it: add it to the loss, times every layer's l_aux.\n"
	    "AUX_LOSS_COEFFICIENT = %s\n\n\n"
	    "def make_moe_layer(make_expert, ep_group):\n"
	    "    \"\"\"`make_expert()`: a module %lld -> %lld -> %lld; `ep_group`: the "
	    "expert-parallel\n"
	    "    ranks of this rank. The layer takes (sequence, batch, hidden).\"\"\"\n",
	    (long long)plan->strategy.ep, number_text(arena, router_aux_coefficient(plan)),
	    (long long)plan->model->hidden, (long long)experts_of(plan)->expert_width,
	    (long long)plan->model->hidden);
	add_group_check(&out);
	str_addf(&out,
	    "    experts = torch.nn.ModuleList(make_expert() for _ in range(%lld))\n"
	    "    gate = Top2Gate(model_dim=%lld, num_experts=%lld)\n"
	    "    return MOELayer(gate, experts, group=ep_group)\n",
	    (long long)plan->strategy.experts_per_rank, (long long)plan->model->hidden,
	    (long long)experts_of(plan)->experts);
	add_file(arena, &files, "fairscale_moe.py", &out, false);
	return files;
}
