/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which overrides of a Megatron-Bridge recipe make it this plan?
 *
 * KEY=VALUE in Hydra's grammar. The recipe has the model; these are the settings of the
 * strategy, by the row of megatron_keys that writes each. A recipe may have switched on what
 * the plan has not, so what is off is said as well. comm_overlap is a class that most recipes
 * leave out, where none of its members can be set, and that overrules the model's own settings
 * where it is there: it is taken away, and the model's settings say all of it. What DDP and
 * optimizer both have is switched on for both when either has it. Source: megatron-bridge 0.6.2
 * training/config.py, training/comm_overlap.py, training/mixed_precision.py; NVIDIA-NeMo/
 * Megatron-Bridge scripts/training/recipe_runner.py.
 */
#include <string.h>

#include "emit/megatron_values.h"
#include "emit/private.h"
#include "emit/values.h"

/* clang-format off */
static const struct {
	const char *native, *bridge;
	const char *off; /* when the plan does not have it; NULL: nothing is said */
} names[] = {
	{"tensor_model_parallel_size", "model.tensor_model_parallel_size", NULL},
	{"context_parallel_size", "model.context_parallel_size", NULL},
	{"pipeline_model_parallel_size", "model.pipeline_model_parallel_size", NULL},
	{"num_virtual_stages_per_pipeline_rank", "model.virtual_pipeline_model_parallel_size",
	    "null"},
	{"pipeline_model_parallel_layout", "model.pipeline_model_parallel_layout", "null"},
	{"hybrid_layer_pattern", "model.hybrid_layer_pattern", NULL},
	{"expert_model_parallel_size", "model.expert_model_parallel_size", NULL},
	{"expert_tensor_parallel_size", "model.expert_tensor_parallel_size", NULL},
	{"sequence_parallel", "model.sequence_parallel", "false"},
	{"micro_batch_size", "train.micro_batch_size", NULL},
	{"global_batch_size", "train.global_batch_size", NULL},
	{"seq_length", "dataset.seq_length", NULL},
	{"recompute_granularity", "model.recompute_granularity", "null"},
	{"recompute_method", "model.recompute_method", "null"},
	{"recompute_num_layers", "model.recompute_num_layers", "null"},
	{"recompute_modules", "model.recompute_modules", "null"},
	{"use_distributed_optimizer", "ddp.use_distributed_optimizer", "false"},
	{"use_distributed_optimizer", "optimizer.use_distributed_optimizer", "false"},
	{"use_megatron_fsdp", "ddp.use_megatron_fsdp", "false"},
	{"use_megatron_fsdp", "dist.use_megatron_fsdp", "false"},
	{"data_parallel_sharding_strategy", "ddp.data_parallel_sharding_strategy", NULL},
	{"ckpt_format", "checkpoint.ckpt_format", "torch_dist"},
	{"overlap_grad_reduce", "ddp.overlap_grad_reduce", "false"},
	{"overlap_param_gather", "ddp.overlap_param_gather", "false"},
	{"overlap_param_gather", "optimizer.overlap_param_gather", "false"},
	{"use_precision_aware_optimizer", "optimizer.use_precision_aware_optimizer", "false"},
	{"optimizer_cpu_offload", "optimizer.optimizer_cpu_offload", "false"},
	{"optimizer_offload_fraction", "optimizer.optimizer_offload_fraction", NULL},
	{"fine_grained_activation_offloading", "model.fine_grained_activation_offloading",
	    NULL},
	{"offload_modules", "model.offload_modules", NULL},
	{"activation_offload_fraction", "model.activation_offload_fraction", NULL},
	{"tp_comm_overlap", "model.tp_comm_overlap", "false"},
	{"overlap_moe_expert_parallel_comm", "model.overlap_moe_expert_parallel_comm", "false"},
	{"overlap_p2p_communication_warmup_flush", "model.overlap_p2p_comm_warmup_flush",
	    "false"},
	{"cross_entropy_loss_fusion", "model.cross_entropy_loss_fusion", "false"},
	{"cross_entropy_fusion_impl", "model.cross_entropy_fusion_impl", NULL},
	{"cuda_graph_impl", "model.cuda_graph_impl", "none"},
	{"moe_token_dispatcher_type", "model.moe_token_dispatcher_type", NULL},
	{"moe_flex_dispatcher_backend", "model.moe_flex_dispatcher_backend", NULL},
	{"moe_aux_loss_coeff", "model.moe_aux_loss_coeff", NULL},
	{"moe_expert_capacity_factor", "model.moe_expert_capacity_factor", "null"},
	{"moe_token_drop_policy", "model.moe_token_drop_policy", NULL},
	{"moe_grouped_gemm", "model.moe_grouped_gemm", NULL},
};
/* clang-format on */

/* No plan has them. */
static const char *const never[] = {"comm_overlap=null", "model.delay_wgrad_compute=false",
    "model.moe_shared_expert_overlap=false", "model.account_for_embedding_in_pipeline_split=false",
    "model.account_for_loss_in_pipeline_split=false",
    "model.num_layers_in_first_pipeline_stage=null",
    "model.num_layers_in_last_pipeline_stage=null"};

static const char *const precisions[PRECISIONS] = {
    [PRECISION_BF16] = "bf16_mixed",
    [PRECISION_FP8] = "bf16_with_fp8_delayed_scaling_mixed",
    [PRECISION_FP8_BLOCKWISE] = "bf16_with_fp8_subchannel_scaling_mixed",
    [PRECISION_MXFP8] = "bf16_with_mxfp8_mixed",
    [PRECISION_NVFP4] = "bf16_with_nvfp4_mixed",
};

static const char *
find_bridge_obstacle(const struct plan_view *plan)
{
	const struct strategy *s = &plan->strategy;

	if (s->gtp > 1 || s->egtp > 1)
		return "Megatron-Bridge has no further shards of weights";
	if (strcmp(s->order, "tp-cp-ep-dp-pp") != 0)
		return "Megatron-Bridge has the rank order tp-cp-ep-dp-pp only";
	if (model_has_mamba(plan->model) && s->vpp > 1)
		return "Megatron-Bridge builds Mamba layers without virtual stages: plan with "
		       "--pin vpp=1";
	if (megatron_has_pattern(plan) && !megatron_can_say_pattern(plan->model))
		return "stages that are not even are parts of hybrid_layer_pattern, which has one "
		       "mixer or one MLP a layer and is not written for MTP layers";
	if (!precisions[s->precision])
		return "its recipe of fp16 sums gradients in fp16, which no plan does";
	if (s->grad_type == FLOAT_BF16 || s->moment_type != FLOAT_FP32)
		return "types of gradients and moments are the recipe's mixed precision";
	return s->cuda_graphs ? "which modules are graphs is a list of classes in the recipe"
			      : NULL;
}

static void
add_value(struct str *out, const struct doc *value)
{
	if (value->kind == DOC_STRING && !strpbrk(value->text, "|*(),"))
		str_add(out, value->text);
	else
		add_json(out, value);
}

/* Sends of interleaved stages run behind computation, as Megatron-LM has them by default. */
static void
add_sends(struct str *out, const struct strategy *s)
{
	str_addf(out, "model.overlap_p2p_comm=%s \\\nmodel.batch_p2p_comm=%s \\\n",
	    s->pp > 1 && s->vpp > 1 ? "true" : "false",
	    s->pp > 1 && s->vpp == 1 ? "true" : "false");
}

static void
add_override(struct str *out, size_t row, const struct key_value *settings)
{
	struct str text = str_new(out->arena);

	while (settings && strcmp(settings->key->name, names[row].native) != 0)
		settings = settings->next;
	if (!settings && !names[row].off)
		return;
	str_addf(&text, "%s=", names[row].bridge);
	if (settings)
		add_value(&text, settings->value);
	else
		str_add(&text, names[row].off);
	add_shell(out, text.text);
	str_add(out, " \\\n");
}

struct emitted *
emit_bridge(
    struct arena *arena, struct diags *diags, const struct plan_view *plan, const char *version)
{
	const struct plan_view *view = megatron_view(arena, diags, plan, "0.19");
	const char *obstacle = view ? find_bridge_obstacle(view) : NULL;
	const struct key_value *settings;
	struct emitted *files = NULL;
	struct str out = str_new(arena);

	(void)version;
	if (!view)
		return NULL;
	if (obstacle)
		return refuse_plan(diags, "megatron-bridge", obstacle);
	settings = keys_write(megatron_keys, arena, diags, view);
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		add_override(&out, i, settings);
	add_sends(&out, &view->strategy);
	for (size_t i = 0; i < sizeof(never) / sizeof(*never); i++)
		str_addf(&out, "%s \\\n", never[i]);
	str_addf(&out, "mixed_precision=%s\n", precisions[view->strategy.precision]);
	add_file(arena, &files, "bridge-overrides.txt", &out, false);
	return files;
}
