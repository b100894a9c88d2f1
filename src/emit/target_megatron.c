/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which arguments does Megatron-LM take for a plan, and which script starts it?
 *
 * The script runs as it is: without arguments of its own it trains on made-up data, which
 * tries the ranks, the memory and the speed. Data, tokenizer, learning rate and checkpoints
 * are no part of a plan and are given to the script.
 */
#include <string.h>

#include "base/arena.h"
#include "emit/megatron_values.h"
#include "emit/private.h"
#include "emit/values.h"

static const char CONTINUED[] = " \\\n";

static void
add_word(struct str *out, const struct doc *value)
{
	add_shell(out, value->text);
}

/* "--recompute-modules layernorm moe_act" */
static void
add_argument(struct str *out, const struct key_value *setting)
{
	const struct doc *item;

	str_add(out, "--");
	for (const char *name = setting->key->name; *name; name++)
		str_addc(out, *name == '_' ? '-' : *name);
	if (setting->key->kind == KEY_FLAG)
		return;
	for (item = setting->value->kind == DOC_LIST ? setting->value->first : setting->value; item;
	     item = setting->value->kind == DOC_LIST ? item->next : NULL) {
		str_addc(out, ' ');
		add_word(out, item);
	}
}

/* One a line: inside an array, or as the lines of one command. */
static void
add_arguments(
    struct str *out, const struct key_value *settings, const char *indent, const char *end)
{
	for (; settings; settings = settings->next) {
		str_add(out, indent);
		add_argument(out, settings);
		str_add(out, settings->next ? end : "\n");
	}
}

static bool
is_blackwell(const char *gpu)
{
	static const char *const prefixes[] = {"B200", "B300", "GB200", "GB300", NULL};

	for (int i = 0; gpu && prefixes[i]; i++)
		if (strncmp(gpu, prefixes[i], strlen(prefixes[i])) == 0)
			return true;
	return false;
}

/*
 * Before Blackwell, kernels of TP and CP must be queued in order: one connection. FSDP and
 * overlapped experts want several (megatron/training/arguments.py).
 */
static void
add_environment(struct str *out, const struct plan_view *plan)
{
	const struct strategy *s = &plan->strategy;
	bool ordered = (s->tp > 1 || s->cp > 1) && !is_blackwell(plan->gpu);

	if (s->zero >= 2)
		str_add(out, "unset CUDA_DEVICE_MAX_CONNECTIONS\n");
	else if (s->overlap & OVERLAP_EP && s->ep > 1)
		str_add(out, "export CUDA_DEVICE_MAX_CONNECTIONS=32\n");
	else if (ordered)
		str_add(out, "export CUDA_DEVICE_MAX_CONNECTIONS=1\n");
}

static void
add_script(struct str *out, const struct plan_view *plan, const struct key_value *settings)
{
	str_addf(out, "#!/bin/bash\n# %s\n# Megatron-LM %s\n", plan_title(out->arena, plan),
	    plan->strategy.framework_version);
	str_add(out,
	    "# usage: NODE_RANK=n MASTER_ADDR=host pretrain.sh [ARGUMENTS]\n"
	    "# Data, tokenizer, learning rate and checkpoints are no part of a plan: give them\n"
	    "# as arguments. Without any it is a short run on made-up data.\n"
	    "set -eu\n");
	add_environment(out, plan);
	str_add(out, "\nPLAN=(\n");
	add_arguments(out, settings, "    ", "\n");
	str_add(out, ")\nif [ $# -eq 0 ]; then\n"
		     "    set -- --mock-data --tokenizer-type NullTokenizer --train-iters 10 \\\n"
		     "        --eval-iters 0 --lr 1e-4 --log-interval 1\nfi\n\n");
	add_torchrun(out, plan);
	str_add(out, " \\\n    pretrain_gpt.py \"${PLAN[@]}\" \"$@\"\n");
}

static const struct plan_view *
megatron_view(
    struct arena *arena, struct diags *diags, const struct plan_view *plan, const char *version)
{
	const struct plan_view *view = plan_for(arena, diags, plan, FRAMEWORK_MEGATRON, version);
	const char *obstacle = view ? megatron_plan_obstacle(view) : NULL;

	if (!obstacle)
		return view;
	refuse_plan(diags, "megatron", obstacle);
	return NULL;
}

struct emitted *
emit_megatron(
    struct arena *arena, struct diags *diags, const struct plan_view *plan, const char *version)
{
	const struct plan_view *view = megatron_view(arena, diags, plan, version);
	const char *obstacle = view ? megatron_model_obstacle(view->model) : NULL;
	struct str arguments = str_new(arena), script = str_new(arena);
	const struct key_value *settings;
	struct emitted *files = NULL;

	if (!view)
		return NULL;
	if (obstacle)
		return refuse_plan(diags, "megatron",
		    arena_printf(arena, "Megatron-LM has no arguments for %s", obstacle));
	settings = keys_write(megatron_keys, arena, diags, view);
	if (!settings)
		return NULL;
	add_arguments(&arguments, settings, "", CONTINUED);
	add_script(&script, view, settings);
	add_file(arena, &files, "megatron-arguments.txt", &arguments, false);
	add_file(arena, &files, "pretrain.sh", &script, true);
	return files;
}

/* --- Megatron-Bridge ------------------------------------------------------------------------ */

/*
 * Overrides of a recipe: KEY=VALUE. The recipe has the model; these are the settings of the
 * strategy, by the row of megatron_keys that writes each. Source: NVIDIA-NeMo/Megatron-Bridge
 * training/config.py, training/mixed_precision.py, scripts/training/run_recipe.py.
 */
static const struct {
	const char *native, *bridge;
} bridge_names[] = {
    {"tensor_model_parallel_size", "model.tensor_model_parallel_size"},
    {"context_parallel_size", "model.context_parallel_size"},
    {"pipeline_model_parallel_size", "model.pipeline_model_parallel_size"},
    {"num_virtual_stages_per_pipeline_rank", "model.virtual_pipeline_model_parallel_size"},
    {"pipeline_model_parallel_layout", "model.pipeline_model_parallel_layout"},
    {"expert_model_parallel_size", "model.expert_model_parallel_size"},
    {"expert_tensor_parallel_size", "model.expert_tensor_parallel_size"},
    {"sequence_parallel", "model.sequence_parallel"},
    {"micro_batch_size", "train.micro_batch_size"},
    {"global_batch_size", "train.global_batch_size"},
    {"seq_length", "dataset.seq_length"},
    {"recompute_granularity", "model.recompute_granularity"},
    {"recompute_method", "model.recompute_method"},
    {"recompute_num_layers", "model.recompute_num_layers"},
    {"recompute_modules", "model.recompute_modules"},
    {"use_distributed_optimizer", "ddp.use_distributed_optimizer"},
    {"use_megatron_fsdp", "ddp.use_megatron_fsdp"},
    {"data_parallel_sharding_strategy", "ddp.data_parallel_sharding_strategy"},
    {"ckpt_format", "checkpoint.ckpt_format"},
    {"overlap_grad_reduce", "ddp.overlap_grad_reduce"},
    {"overlap_param_gather", "ddp.overlap_param_gather"},
    {"use_precision_aware_optimizer", "optimizer.use_precision_aware_optimizer"},
    {"optimizer_cpu_offload", "optimizer.optimizer_cpu_offload"},
    {"optimizer_offload_fraction", "optimizer.optimizer_offload_fraction"},
    {"tp_comm_overlap", "comm_overlap.tp_comm_overlap"},
    {"overlap_moe_expert_parallel_comm", "comm_overlap.overlap_moe_expert_parallel_comm"},
    {"moe_token_dispatcher_type", "model.moe_token_dispatcher_type"},
    {"moe_flex_dispatcher_backend", "model.moe_flex_dispatcher_backend"},
    {"moe_aux_loss_coeff", "model.moe_aux_loss_coeff"},
    {"moe_expert_capacity_factor", "model.moe_expert_capacity_factor"},
    {"moe_token_drop_policy", "model.moe_token_drop_policy"},
    {"moe_grouped_gemm", "model.moe_grouped_gemm"},
};

static const char *
bridge_name(const char *native)
{
	for (size_t i = 0; i < sizeof(bridge_names) / sizeof(*bridge_names); i++)
		if (strcmp(bridge_names[i].native, native) == 0)
			return bridge_names[i].bridge;
	return NULL;
}

static const char *const bridge_precisions[PRECISIONS] = {
    [PRECISION_BF16] = "bf16_mixed",
    [PRECISION_FP16] = "fp16_mixed",
    [PRECISION_FP8] = "bf16_with_fp8_delayed_scaling_mixed",
    [PRECISION_FP8_BLOCKWISE] = "bf16_with_fp8_subchannel_scaling_mixed",
    [PRECISION_MXFP8] = "bf16_with_mxfp8_mixed",
    [PRECISION_NVFP4] = "bf16_with_nvfp4_mixed",
};

static const char *
bridge_obstacle(const struct plan_view *plan)
{
	const struct strategy *s = &plan->strategy;

	if (s->gtp > 1 || s->egtp > 1)
		return "Megatron-Bridge has no further shards of weights";
	if (strcmp(s->order, "tp-cp-ep-dp-pp") != 0)
		return "Megatron-Bridge has the rank order tp-cp-ep-dp-pp only";
	if (s->grad_type == FLOAT_BF16 || s->moment_type != FLOAT_FP32)
		return "types of gradients and moments are the recipe's mixed precision";
	if (s->cuda_graphs)
		return "CUDA graphs are the recipe's";
	if (s->overlap & OVERLAP_PP && s->vpp > 1)
		return "overlap of warm-up and flush is the recipe's: leave 'pp' out of --overlap";
	return s->loss == LOSS_FUSED ? NULL : "the loss is the recipe's, which is fused";
}

/* Settings that are off must be said too: a recipe may switch them on. */
static void
add_switched_off(struct str *out, const struct plan_view *plan)
{
	const struct strategy *s = &plan->strategy;
	const struct {
		bool off;
		const char *text;
	} rows[] = {
	    {s->vpp == 1, "model.virtual_pipeline_model_parallel_size=null"},
	    {s->tp == 1, "model.sequence_parallel=false"},
	    {s->recompute.kind == RECOMPUTE_NONE, "model.recompute_granularity=null"},
	    {s->zero == 0, "ddp.use_distributed_optimizer=false"},
	    {!(s->overlap & OVERLAP_DP), "ddp.overlap_grad_reduce=false"},
	    {!(s->overlap & OVERLAP_DP) || s->zero == 0, "ddp.overlap_param_gather=false"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		if (rows[i].off)
			str_addf(out, "%s%s", rows[i].text, CONTINUED);
}

static void
add_override(struct str *out, const char *name, const struct doc *value)
{
	struct str text = str_new(out->arena);

	str_addf(&text, "%s=", name);
	if (value->kind == DOC_STRING && !strpbrk(value->text, "|*(),"))
		str_add(&text, value->text);
	else
		add_json(&text, value);
	add_shell(out, text.text);
	str_add(out, CONTINUED);
}

struct emitted *
emit_bridge(
    struct arena *arena, struct diags *diags, const struct plan_view *plan, const char *version)
{
	const struct plan_view *view = megatron_view(arena, diags, plan, "0.19");
	const char *obstacle = view ? bridge_obstacle(view) : NULL;
	const struct key_value *setting;
	struct emitted *files = NULL;
	struct str out = str_new(arena);

	(void)version;
	if (!view)
		return NULL;
	if (obstacle)
		return refuse_plan(diags, "megatron-bridge", obstacle);
	setting = keys_write(megatron_keys, arena, diags, view);
	for (; setting; setting = setting->next) {
		const char *name = bridge_name(setting->key->name);

		if (name)
			add_override(&out, name, setting->value);
	}
	add_switched_off(&out, view);
	str_addf(&out, "mixed_precision=%s\n", bridge_precisions[view->strategy.precision]);
	add_file(arena, &files, "bridge-overrides.txt", &out, false);
	return files;
}
