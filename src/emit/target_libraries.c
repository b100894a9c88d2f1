/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What do libraries of MoE layers, Accelerate and MaxText take for a plan?
 *
 * Tutel and FairScale are layers inside somebody's model: fragments of Python. Their ranks
 * are those of one pipeline stage, and experts are cut over all of them. Accelerate and
 * MaxText take the mesh. Source: microsoft/tutel impls/moe_layer.py, facebookresearch/fairscale
 * nn/moe/moe_layer.py, huggingface/accelerate parallelism_config.py, AI-Hypercomputer/maxtext
 * configs/base.yml.
 */
#include "base/arena.h"
#include "base/numeric.h"
#include "emit/private.h"
#include "emit/values.h"

static const struct ffn *
experts_of(const struct plan_view *plan)
{
	return &model_moe(plan->model)->ffn;
}

/* --- obstacles, shared ---------------------------------------------------------------------- */

static bool
is_dense(const struct plan_view *plan)
{
	return !model_moe(plan->model);
}

static bool
has_pp(const struct plan_view *plan)
{
	return plan->strategy.pp > 1;
}

static bool
has_ep(const struct plan_view *plan)
{
	return plan->strategy.ep > 1;
}

static bool
has_etp(const struct plan_view *plan)
{
	return model_moe(plan->model) && plan->strategy.etp > 1;
}

static bool
has_further_shards(const struct plan_view *plan)
{
	return plan->strategy.gtp > 1 || plan->strategy.egtp > 1;
}

static bool
has_copies_of_experts(const struct plan_view *plan)
{
	return plan->strategy.edp > 1;
}

static bool
drops_nothing(const struct plan_view *plan)
{
	return !(plan->strategy.capacity > 0);
}

static bool
is_top_two(const struct plan_view *plan)
{
	return experts_of(plan)->top_k == 2;
}

static bool
is_not_top_two(const struct plan_view *plan)
{
	return !is_top_two(plan);
}

static bool
other_capacity(const struct plan_view *plan)
{
	double capacity = plan->strategy.capacity;

	return capacity < 1 || capacity > 1;
}

static bool
odd_hidden(const struct plan_view *plan)
{
	return plan->model->hidden % 2 != 0;
}

/* --- Tutel ---------------------------------------------------------------------------------- */

static const struct obstacle tutel_obstacles[] = {
    {is_dense, "the model has no experts"},
    {odd_hidden, "Tutel needs an even hidden size"},
    {has_etp, "Tutel cuts no expert by tensor parallelism"},
    {has_further_shards, "Tutel has no further shards of weights"},
    {has_copies_of_experts, "Tutel's experts lie over the whole group: EDP must be 1; make the "
			    "group of the layer no larger than EP, or plan with a larger EP"},
    {NULL, NULL},
};

struct emitted *
emit_tutel(
    struct arena *arena, struct diags *diags, const struct plan_view *plan, const char *version)
{
	const char *obstacle = find_obstacle(tutel_obstacles, plan);
	const struct strategy *s = &plan->strategy;
	struct emitted *files = NULL;
	struct str out = str_new(arena);
	const struct ffn *ffn;

	(void)version;
	if (obstacle)
		return refuse_plan(diags, "tutel", obstacle);
	ffn = experts_of(plan);
	str_addf(&out,
	    "# %s\nfrom tutel import moe\n\n\n"
	    "def make_moe_layer(activation_fn, ep_group):\n"
	    "    \"\"\"`ep_group`: the %lld expert-parallel ranks of this rank. Expert parameters\n"
	    "    have skip_allreduce set: leave them out of the data-parallel reduction.\"\"\"\n"
	    "    return moe.moe_layer(\n",
	    plan_title(arena, plan), (long long)s->ep);
	str_addf(&out,
	    "        gate_type={\"type\": \"top\", \"k\": %lld, \"capacity_factor\": %s, "
	    "\"fp32_gate\": True},\n"
	    "        model_dim=%lld,\n",
	    (long long)ffn->top_k, number_text(arena, s->capacity > 0 ? s->capacity : 0),
	    (long long)plan->model->hidden);
	str_addf(&out,
	    "        experts={\n            \"type\": \"ffn\",\n"
	    "            \"num_experts_per_device\": %lld,\n"
	    "            \"hidden_size_per_expert\": %lld,\n"
	    "            \"activation_fn\": activation_fn,\n        },\n",
	    (long long)s->experts_per_rank, (long long)ffn->expert_width);
	str_addf(&out,
	    "        parallel_type=\"adaptive:1\",\n        a2a_ffn_overlap_degree=%d,\n"
	    "        use_2dh=%s,\n        group=ep_group,\n"
	    "        scan_expert_func=lambda name, parameter: setattr(\n"
	    "            parameter, \"skip_allreduce\", True),\n    )\n",
	    s->overlap & OVERLAP_EP ? 2 : 1, s->ep > plan->gpus_per_node ? "True" : "False");
	add_file(arena, &files, "tutel_moe.py", &out, false);
	return files;
}

/* --- FairScale ------------------------------------------------------------------------------ */

static const struct obstacle fairscale_obstacles[] = {
    {is_dense, "the model has no experts"},
    {is_not_top_two, "FairScale's gate sends a token to two experts"},
    {drops_nothing, "FairScale's gate drops what exceeds twice the mean load: --capacity 1"},
    {other_capacity, "FairScale's capacity is 2 x tokens / experts, a factor of 1 at top-2"},
    {has_etp, "FairScale cuts no expert by tensor parallelism"},
    {has_further_shards, "FairScale has no further shards of weights"},
    {NULL, NULL},
};

struct emitted *
emit_fairscale(
    struct arena *arena, struct diags *diags, const struct plan_view *plan, const char *version)
{
	const char *obstacle = find_obstacle(fairscale_obstacles, plan);
	struct emitted *files = NULL;
	struct str out = str_new(arena);

	(void)version;
	if (obstacle)
		return refuse_plan(diags, "fairscale", obstacle);
	str_addf(&out,
	    "# %s\nimport torch\nfrom fairscale.nn.moe import MOELayer, Top2Gate\n\n"
	    "# FairScale has no setting for it: add it to the loss, times every layer's l_aux.\n"
	    "AUX_LOSS_COEFFICIENT = 0.01\n\n\n"
	    "def make_moe_layer(make_expert, ep_group):\n"
	    "    \"\"\"`make_expert()`: a module %lld -> %lld -> %lld; `ep_group`: the %lld\n"
	    "    expert-parallel ranks of this rank.\"\"\"\n",
	    plan_title(arena, plan), (long long)plan->model->hidden,
	    (long long)experts_of(plan)->expert_width, (long long)plan->model->hidden,
	    (long long)plan->strategy.ep);
	str_addf(&out,
	    "    experts = torch.nn.ModuleList(make_expert() for _ in range(%lld))\n"
	    "    gate = Top2Gate(%lld, %lld)\n"
	    "    return MOELayer(gate, experts, group=ep_group)\n",
	    (long long)plan->strategy.experts_per_rank, (long long)plan->model->hidden,
	    (long long)experts_of(plan)->experts);
	add_file(arena, &files, "fairscale_moe.py", &out, false);
	return files;
}

/* --- Accelerate ----------------------------------------------------------------------------- */

static bool
is_sharded_in_part(const struct plan_view *plan)
{
	return plan->strategy.zero == 1;
}

static bool
other_precision(const struct plan_view *plan)
{
	return plan->strategy.precision != PRECISION_BF16 &&
	       plan->strategy.precision != PRECISION_FP16;
}

static const struct obstacle accelerate_obstacles[] = {
    {other_precision, "its precisions are bf16 and fp16; fp8 is a plugin of its own"},
    {has_ep, "Accelerate's mesh has no expert dimension: use deepspeed or megatron, or --ep 1"},
    {has_pp, "Accelerate's mesh has no pipeline dimension"},
    {has_etp, "Accelerate cuts no expert by tensor parallelism"},
    {has_further_shards, "Accelerate has no further shards of weights"},
    {is_sharded_in_part, "its mesh shards parameters, gradients and optimizer or nothing: "
			 "--zero 0, 2 or 3"},
    {NULL, NULL},
};

/* Without sharding all data parallelism is copies; with it FSDP spans it as planned. */
struct emitted *
emit_accelerate(
    struct arena *arena, struct diags *diags, const struct plan_view *plan, const char *version)
{
	const char *obstacle = find_obstacle(accelerate_obstacles, plan);
	const struct strategy *s = &plan->strategy;
	int64_t copies = s->dp_replicate > 0 ? s->dp_replicate : s->zero == 0 ? s->dp : 1;
	struct emitted *files = NULL;
	struct str out = str_new(arena);

	(void)version;
	if (!obstacle && copies > 1 && copies == s->dp && (s->tp > 1 || s->cp > 1))
		obstacle = "copies alone go with neither tensor nor context parallelism: --zero 3";
	if (obstacle)
		return refuse_plan(diags, "accelerate", obstacle);
	str_addf(&out, "# %s\nfrom accelerate import Accelerator, ParallelismConfig\n\n",
	    plan_title(arena, plan));
	str_addf(&out,
	    "accelerator = Accelerator(\n    mixed_precision=\"%s\",\n"
	    "    gradient_accumulation_steps=%lld,\n    parallelism_config=ParallelismConfig(\n",
	    s->precision == PRECISION_FP16 ? "fp16" : "bf16", (long long)s->micro_batches);
	str_addf(&out,
	    "        dp_replicate_size=%lld,\n        dp_shard_size=%lld,\n        tp_size=%lld,\n"
	    "        cp_size=%lld,\n    ),\n)\n"
	    "MICRO_BATCH = %lld\nSEQUENCE_LENGTH = %lld\n",
	    (long long)copies, (long long)(s->dp / copies), (long long)s->tp, (long long)s->cp,
	    (long long)s->micro_batch, (long long)s->seq_len);
	add_file(arena, &files, "accelerate_mesh.py", &out, false);
	return files;
}

/* --- MaxText -------------------------------------------------------------------------------- */

static bool
expert_ranks_differ(const struct plan_view *plan)
{
	const struct strategy *s = &plan->strategy;

	return model_moe(plan->model) && s->dp % s->ep != 0;
}

static bool
experts_with_other_tp(const struct plan_view *plan)
{
	return model_moe(plan->model) && plan->strategy.etp != plan->strategy.tp;
}

static bool
is_interleaved_otherwise(const struct plan_view *plan)
{
	const struct strategy *s = &plan->strategy;

	return s->pp > 1 && plan->model->layers % (s->pp * s->vpp) != 0;
}

static bool
few_micro_batches(const struct plan_view *plan)
{
	const struct strategy *s = &plan->strategy;

	return s->pp > 1 && s->micro_batches % s->pp != 0;
}

static bool
recomputes_some(const struct plan_view *plan)
{
	const struct recompute *r = &plan->strategy.recompute;

	return r->kind == RECOMPUTE_SELECTIVE || (r->kind == RECOMPUTE_FULL && r->layers > 0);
}

static bool
is_tp_in_hosts(const struct plan_view *plan)
{
	return plan->gpus_per_node % plan->strategy.tp != 0;
}

static const struct obstacle jax_obstacles[] = {
    {experts_with_other_tp, "MaxText's tensor axis is the same for experts: ETP must be TP"},
    {expert_ranks_differ, "MaxText takes experts out of data parallelism: EP must divide DP"},
    {has_further_shards, "MaxText has no further shards of weights"},
    {is_interleaved_otherwise, "MaxText's stages hold equally many layers"},
    {few_micro_batches, "MaxText needs a multiple of PP micro-batches"},
    {recomputes_some, "what of a layer is recomputed is a policy of its own: none or full"},
    {is_tp_in_hosts, "TP does not divide the GPUs of a node"},
    {NULL, NULL},
};

/* Fast axes inside a slice, slow ones over slices, as far as each divides. */
static int64_t
inner_part(int64_t *room, int64_t size)
{
	int64_t part = numeric_gcd(size, *room); /* sizes are at least one */

	*room /= part;
	return part;
}

static void
add_axis(struct str *out, const char *name, int64_t inner, int64_t size)
{
	str_addf(out, "ici_%s_parallelism: %lld\ndcn_%s_parallelism: %lld\n", name,
	    (long long)inner, name, (long long)(size / inner));
}

struct emitted *
emit_jax(
    struct arena *arena, struct diags *diags, const struct plan_view *plan, const char *version)
{
	const char *obstacle = find_obstacle(jax_obstacles, plan);
	const struct strategy *s = &plan->strategy;
	int64_t room = plan->gpus_per_node, ep = model_moe(plan->model) ? s->ep : 1;
	bool sharded = s->zero == 3;
	struct emitted *files = NULL;
	struct str out = str_new(arena);

	(void)version;
	if (!obstacle && s->zero == 2)
		obstacle = "MaxText shards parameters (--zero 3), the optimizer (1) or nothing (0)";
	if (obstacle)
		return refuse_plan(diags, "jax", obstacle);
	str_addf(&out, "# %s\n# MaxText: dense data parallelism is data x fsdp x expert\n",
	    plan_title(arena, plan));
	add_axis(&out, "tensor", inner_part(&room, s->tp), s->tp);
	add_axis(&out, "context", inner_part(&room, s->cp), s->cp);
	add_axis(&out, "expert", inner_part(&room, ep), ep);
	add_axis(
	    &out, "fsdp", sharded ? inner_part(&room, s->dp / ep) : 1, sharded ? s->dp / ep : 1);
	add_axis(
	    &out, "data", sharded ? 1 : inner_part(&room, s->dp / ep), sharded ? 1 : s->dp / ep);
	add_axis(&out, "pipeline", inner_part(&room, s->pp), s->pp);
	if (room != 1)
		return refuse_plan(diags, "jax", "no product of its axes is the GPUs of a node");
	str_addf(&out, "shard_optimizer_over_data: %s\n", s->zero == 1 ? "true" : "false");
	str_addf(&out, "max_target_length: %lld\nper_device_batch_size: %s\n",
	    (long long)s->seq_len,
	    number_text(arena, (double)s->micro_batch * (double)s->dp *
				   (double)(s->pp > 1 ? s->micro_batches : 1) / (double)s->world));
	str_addf(&out, "gradient_accumulation_steps: %lld\n",
	    (long long)(s->pp > 1 ? 1 : s->micro_batches));
	if (s->pp > 1)
		str_addf(&out,
		    "num_pipeline_microbatches: %lld\nnum_layers_per_pipeline_stage: %lld\n"
		    "num_pipeline_repeats: %lld\n",
		    (long long)s->micro_batches,
		    (long long)(plan->model->layers / (s->pp * s->vpp)), (long long)s->vpp);
	str_addf(
	    &out, "remat_policy: %s\n", s->recompute.kind == RECOMPUTE_FULL ? "full" : "minimal");
	if (model_moe(plan->model))
		str_addf(&out,
		    "num_experts: %lld\nnum_experts_per_tok: %lld\ncapacity_factor: %s\n"
		    "sparse_matmul: %s\nload_balance_loss_weight: 0.01\n",
		    (long long)experts_of(plan)->experts, (long long)experts_of(plan)->top_k,
		    s->capacity > 0 ? number_text(arena, s->capacity) : "-1.0",
		    s->capacity > 0 ? "false" : "true");
	add_file(arena, &files, "maxtext.yml", &out, false);
	return files;
}
