/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What do Accelerate and MaxText take for a plan?
 *
 * Both take a mesh. Accelerate's has no experts and no stages; what is sharded is FSDP's to
 * say, whose default sums gradients in the type of the computation. MaxText shards parameters
 * of dense layers over its context and expert axes in any case, counts a node as a slice, and
 * leaves to XLA what is fused and hidden. Source: huggingface/accelerate 1.15.0
 * parallelism_config.py, utils/dataclasses.py; AI-Hypercomputer/maxtext 0.2.5 configs/base.yml,
 * configs/types.py, layers/nnx_decoders.py.
 */
#include <string.h>

#include "base/arena.h"
#include "base/numeric.h"
#include "emit/private.h"
#include "emit/values.h"

/* --- obstacles of both ---------------------------------------------------------------------- */

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
has_further_shards(const struct plan_view *plan)
{
	return plan->strategy.gtp > 1 || plan->strategy.egtp > 1;
}

static bool
has_capacity(const struct plan_view *plan)
{
	return plan->strategy.capacity > 0;
}

static bool
other_sums(const struct plan_view *plan)
{
	return plan->strategy.grad_type != FLOAT_FP32 || plan->strategy.moment_type != FLOAT_FP32;
}

static bool
has_graphs(const struct plan_view *plan)
{
	return plan->strategy.cuda_graphs;
}

static bool
recomputes_some(const struct plan_view *plan)
{
	const struct recompute *r = &plan->strategy.recompute;

	return r->kind == RECOMPUTE_SELECTIVE || (r->kind == RECOMPUTE_FULL && r->layers > 0);
}

static bool
recomputes(const struct plan_view *plan)
{
	return plan->strategy.recompute.kind == RECOMPUTE_FULL;
}

/* --- Accelerate ----------------------------------------------------------------------------- */

static bool
has_other_etp(const struct plan_view *plan)
{
	return model_moe(plan->model) && plan->strategy.etp > 1;
}

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

static bool
offloads(const struct plan_view *plan)
{
	return plan->strategy.offload != OFFLOAD_NONE;
}

static bool
hides_other(const struct plan_view *plan)
{
	return plan->strategy.overlap & OVERLAP_TP && plan->strategy.tp > 1;
}

static bool
hides_nothing(const struct plan_view *plan)
{
	return !(plan->strategy.overlap & OVERLAP_DP) && plan->strategy.dp * plan->strategy.cp > 1;
}

/* Without sharding all data parallelism is copies; with it FSDP spans it as planned. */
static int64_t
copies_of(const struct strategy *s)
{
	return s->dp_replicate > 0 ? s->dp_replicate : s->zero == 0 ? s->dp : 1;
}

static bool
is_sharded(const struct plan_view *plan)
{
	const struct strategy *s = &plan->strategy;

	return s->zero >= 2 && s->dp / copies_of(s) * s->cp > 1;
}

static bool
copies_with_tp(const struct plan_view *plan)
{
	const struct strategy *s = &plan->strategy;

	return copies_of(s) > 1 && copies_of(s) == s->dp && (s->tp > 1 || s->cp > 1);
}

static bool
recomputes_copies(const struct plan_view *plan)
{
	return recomputes(plan) && !is_sharded(plan);
}

static const struct obstacle accelerate_obstacles[] = {
    {other_precision, "its precisions are bf16 and fp16; fp8 is a plugin of its own"},
    {has_ep, "Accelerate's mesh has no expert dimension: use deepspeed or megatron, or --ep 1"},
    {has_pp, "Accelerate's mesh has no pipeline dimension"},
    {has_other_etp, "Accelerate cuts no expert by tensor parallelism"},
    {has_further_shards, "Accelerate has no further shards of weights"},
    {is_sharded_in_part, "its mesh shards parameters, gradients and optimizer or nothing: "
			 "--zero 0, 2 or 3"},
    {copies_with_tp, "copies alone go with neither tensor nor context parallelism: --zero 3"},
    {has_capacity, "it drops no tokens"},
    {other_sums, "its gradients and moments are fp32, as its parameters are"},
    {offloads, "its offload takes parameters, gradients and optimizer together"},
    {has_graphs, "it captures no training step as CUDA graphs"},
    {recomputes_some, "it recomputes all layers or none"},
    {recomputes_copies, "recomputation is FSDP's to switch on, and nothing is sharded"},
    {hides_other, "it hides no tensor-parallel communication: leave 'tp' out of --overlap"},
    {hides_nothing, "FSDP and DDP always hide their communication: --overlap dp"},
    {NULL, NULL},
};

static void
add_fsdp(struct str *out, const struct plan_view *plan)
{
	const char *type = plan->strategy.precision == PRECISION_FP16 ? "float16" : "bfloat16";

	str_addf(out,
	    "    fsdp_plugin=FullyShardedDataParallelPlugin(\n        fsdp_version=2,\n"
	    "        reshard_after_forward=%s,\n"
	    "        mixed_precision_policy=MixedPrecisionPolicy(\n"
	    "            param_dtype=torch.%s, reduce_dtype=torch.float32),\n"
	    "        auto_wrap_policy=\"transformer_based_wrap\",\n"
	    "        cpu_offload=False,\n        activation_checkpointing=%s,\n    ),\n",
	    plan->strategy.zero == 3 ? "True" : "False", type, recomputes(plan) ? "True" : "False");
}

static void
add_accelerator(struct str *out, const struct plan_view *plan)
{
	const struct strategy *s = &plan->strategy;

	str_addf(out,
	    "accelerator = Accelerator(\n    mixed_precision=\"%s\",\n"
	    "    gradient_accumulation_steps=%lld,\n    parallelism_config=ParallelismConfig(\n",
	    s->precision == PRECISION_FP16 ? "fp16" : "bf16", (long long)s->micro_batches);
	str_addf(out,
	    "        dp_replicate_size=%lld,\n        dp_shard_size=%lld,\n        tp_size=%lld,\n"
	    "        cp_size=%lld,\n        sp_size=1,\n    ),\n",
	    (long long)copies_of(s), (long long)(s->dp / copies_of(s)), (long long)s->tp,
	    (long long)s->cp);
	if (is_sharded(plan))
		add_fsdp(out, plan);
	str_add(out, ")\n");
}

struct emitted *
emit_accelerate(
    struct arena *arena, struct diags *diags, const struct plan_view *plan, const char *version)
{
	const struct strategy *s = &plan->strategy;
	struct emitted *files = NULL;
	struct str out = str_new(arena);

	(void)version;
	if (refuse_obstacles(diags, "accelerate", accelerate_obstacles, plan))
		return NULL;
	str_addf(&out, "# %s\n# The loss is the model's own, the optimizer Adam.\n",
	    plan_title(arena, plan));
	if (is_sharded(plan))
		str_add(&out, "import torch\nfrom accelerate import Accelerator, "
			      "FullyShardedDataParallelPlugin, ParallelismConfig\n"
			      "from torch.distributed.fsdp import MixedPrecisionPolicy\n\n");
	else
		str_add(&out, "from accelerate import Accelerator, ParallelismConfig\n\n");
	str_addf(&out, "MICRO_BATCH = %lld\nSEQUENCE_LENGTH = %lld\nCROSS_ENTROPY = \"%s\"\n\n",
	    (long long)s->micro_batch, (long long)s->seq_len, loss_names[s->loss]);
	add_accelerator(&out, plan);
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
uneven_chunks(const struct plan_view *plan)
{
	return plan->strategy.pp > 1 && !layout_is_plain(plan);
}

static bool
few_micro_batches(const struct plan_view *plan)
{
	const struct strategy *s = &plan->strategy;

	return s->pp > 1 && s->micro_batches % s->pp != 0;
}

static bool
is_tp_in_hosts(const struct plan_view *plan)
{
	return plan->gpus_per_node % plan->strategy.tp != 0;
}

static bool
not_bf16(const struct plan_view *plan)
{
	return plan->strategy.precision != PRECISION_BF16;
}

static bool
shards_gradients(const struct plan_view *plan)
{
	return plan->strategy.zero == 2;
}

static bool
shards_less(const struct plan_view *plan)
{
	const struct strategy *s = &plan->strategy;

	return s->zero < 2 && s->cp * (model_moe(plan->model) ? s->ep : 1) > 1;
}

static bool
offloads_other(const struct plan_view *plan)
{
	const struct strategy *s = &plan->strategy;

	return s->offload == OFFLOAD_ACTIVATIONS ||
	       (s->offload == OFFLOAD_OPTIMIZER && s->offload_fraction < 1);
}

static bool
other_schedule(const struct plan_view *plan)
{
	return plan->strategy.schedule == SCHEDULE_ZB ||
	       plan->strategy.schedule == SCHEDULE_DUALPIPE;
}

static bool
other_dispatcher(const struct plan_view *plan)
{
	return plan->strategy.dispatcher != DISPATCH_ALLTOALL && has_ep(plan);
}

static bool
other_replicas(const struct plan_view *plan)
{
	return plan->strategy.dp_replicate > 1 && has_ep(plan);
}

static bool
other_order(const struct plan_view *plan)
{
	const struct strategy *s = &plan->strategy;

	return s->data_before_expert || (s->order && strcmp(s->order, "tp-cp-ep-dp-pp") != 0);
}

static const struct obstacle jax_obstacles[] = {
    {experts_with_other_tp, "MaxText's tensor axis is the same for experts: ETP must be TP"},
    {expert_ranks_differ, "MaxText takes experts out of data parallelism: EP must divide DP"},
    {has_further_shards, "MaxText has no further shards of weights"},
    {uneven_chunks, "MaxText's stages hold equally many layers"},
    {few_micro_batches, "MaxText needs a multiple of PP micro-batches"},
    {other_schedule, "MaxText has circular pipelines only: 1f1b or interleaved"},
    {recomputes_some, "what of a layer is recomputed is a policy of its own: none or full"},
    {is_tp_in_hosts, "TP does not divide the GPUs of a node"},
    {not_bf16, "other precisions than bf16 are quantization libraries of its own"},
    {other_sums, "its gradients and moments are fp32"},
    {shards_gradients, "MaxText shards parameters (--zero 3), the optimizer (1) or nothing (0)"},
    {shards_less, "MaxText shards dense parameters over its context and expert axes: --zero 3"},
    {offloads_other, "it offloads all of the optimizer state or nothing"},
    {other_dispatcher, "it moves tokens by all-to-all: --dispatcher alltoall"},
    {other_replicas, "copies of a sharded model have experts of their own in its mesh"},
    {other_order, "which devices form an axis is JAX's to choose"},
    {has_graphs, "XLA decides itself what becomes a graph"},
    {NULL, NULL},
};

/* Fast axes inside a slice, slow ones over slices, as far as each divides. */
static int64_t
inner_part(int64_t *room, int64_t size)
{
	int64_t part = numeric_gcd(size, *room);

	*room /= part;
	return part;
}

static void
add_axis(struct str *out, const char *name, int64_t *room, int64_t size)
{
	int64_t inner = inner_part(room, size);

	str_addf(out, "ici_%s_parallelism: %lld\ndcn_%s_parallelism: %lld\n", name,
	    (long long)inner, name, (long long)(size / inner));
}

/* What is left of the GPUs of a node; 1 when the axes use all. */
static int64_t
add_mesh(struct str *out, const struct plan_view *plan)
{
	const struct strategy *s = &plan->strategy;
	int64_t room = plan->gpus_per_node, ep = model_moe(plan->model) ? s->ep : 1;
	int64_t rest = s->dp / ep, copies = s->dp_replicate > 1 ? s->dp_replicate : 1;

	if (s->zero < 3)
		copies = rest;
	str_addf(out, "hardware: gpu\nnum_slices: %lld\n", (long long)plan->nodes);
	add_axis(out, "tensor", &room, s->tp);
	add_axis(out, "context", &room, s->cp);
	add_axis(out, "expert", &room, ep);
	add_axis(out, "fsdp", &room, rest / copies);
	add_axis(out, "data", &room, copies);
	add_axis(out, "pipeline", &room, s->pp);
	str_addf(out, "shard_optimizer_over_data: %s\n", s->zero == 1 ? "true" : "false");
	return room;
}

static void
add_steps(struct str *out, const struct plan_view *plan)
{
	const struct strategy *s = &plan->strategy;
	double sequences =
	    (double)s->micro_batch * (double)s->dp * (double)(s->pp > 1 ? s->micro_batches : 1);

	str_addf(out, "max_target_length: %lld\nper_device_batch_size: %s\n", (long long)s->seq_len,
	    number_text(out->arena, sequences / (double)s->world));
	str_addf(out, "gradient_accumulation_steps: %lld\n",
	    (long long)(s->pp > 1 ? 1 : s->micro_batches));
	if (s->pp > 1)
		str_addf(out,
		    "# its backward passes begin behind the last forward pass: all micro-batches "
		    "are held\n"
		    "num_pipeline_microbatches: %lld\nnum_layers_per_pipeline_stage: %lld\n"
		    "num_pipeline_repeats: %lld\n",
		    (long long)s->micro_batches,
		    (long long)(plan->model->layers / (s->pp * s->vpp)), (long long)s->vpp);
}

static void
add_types(struct str *out, const struct plan_view *plan)
{
	const struct strategy *s = &plan->strategy;

	str_addf(out,
	    "remat_policy: %s\ndtype: bfloat16\nweight_dtype: float32\ngrad_dtype: float32\n"
	    "mu_dtype: float32\nquantization: ''\nopt_type: adamw\n"
	    "optimizer_memory_host_offload: %s\n",
	    recomputes(plan) ? "full" : "none", s->offload ? "true" : "false");
}

static void
add_experts(struct str *out, const struct plan_view *plan)
{
	const struct ffn *ffn = &model_moe(plan->model)->ffn;
	bool drops = has_capacity(plan);

	str_addf(out,
	    "num_experts: %lld\nnum_experts_per_tok: %lld\ncapacity_factor: %s\n"
	    "sparse_matmul: %s\nuse_ring_of_experts: false\nload_balance_loss_weight: %s\n",
	    (long long)ffn->experts, (long long)ffn->top_k,
	    drops ? number_text(out->arena, plan->strategy.capacity) : "-1.0",
	    drops ? "false" : "true", number_text(out->arena, router_aux_coefficient(plan)));
}

struct emitted *
emit_jax(
    struct arena *arena, struct diags *diags, const struct plan_view *plan, const char *version)
{
	struct emitted *files = NULL;
	struct str out = str_new(arena);

	(void)version;
	if (refuse_obstacles(diags, "jax", jax_obstacles, plan))
		return NULL;
	str_addf(&out,
	    "# %s\n# python3 -m maxtext.trainers.pre_train.train maxtext.yml run_name=NAME "
	    "model_name=MODEL\n"
	    "# Dense data parallelism is data x fsdp x expert. What JAX and XLA decide is not said "
	    "here:\n# which devices form an axis, which communication is hidden, how the loss is "
	    "computed.\nbase_config: base.yml\n",
	    plan_title(arena, plan));
	if (add_mesh(&out, plan) != 1)
		return refuse_plan(diags, "jax", "no product of its axes is the GPUs of a node");
	add_steps(&out, plan);
	add_types(&out, plan);
	if (model_moe(plan->model))
		add_experts(&out, plan);
	add_file(arena, &files, "maxtext.yml", &out, false);
	return files;
}
