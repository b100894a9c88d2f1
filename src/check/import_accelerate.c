/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What does a file of `accelerate config` say?
 *
 * Who starts how many processes, and one block for the library below: FSDP with the sizes of a
 * ParallelismConfig, DeepSpeed or Megatron-LM, whose settings get the names that these have
 * themselves. Source: huggingface/accelerate 1.15.0 commands/config/{config_args,cluster}.py,
 * commands/launch.py.
 */
#include <string.h>

#include "base/arena.h"
#include "check/import_private.h"

/* clang-format off */
static const struct row {
	const char *block, *key; /* NULL: at the top */
	enum config_form form;
	const char *setting;
} rows[] = {
	{NULL, "num_processes", CONFIG_NUMBERS, "num_processes"},
	{NULL, "num_machines", CONFIG_NUMBERS, "num_machines"},
	{NULL, "machine_rank", CONFIG_NUMBERS, "machine_rank"},
	{NULL, "main_process_ip", CONFIG_NUMBERS, "main_process_ip"},
	{NULL, "main_process_port", CONFIG_NUMBERS, "main_process_port"},
	{"parallelism_config", "parallelism_config_dp_replicate_size", CONFIG_ACCELERATE,
	    "dp_replicate_size"},
	{"parallelism_config", "parallelism_config_dp_shard_size", CONFIG_ACCELERATE,
	    "dp_shard_size"},
	{"parallelism_config", "parallelism_config_tp_size", CONFIG_ACCELERATE, "tp_size"},
	{"parallelism_config", "parallelism_config_cp_size", CONFIG_ACCELERATE, "cp_size"},
	{"parallelism_config", "parallelism_config_sp_size", CONFIG_ACCELERATE, "sp_size"},
	{"fsdp_config", "fsdp_version", CONFIG_ACCELERATE, "fsdp_version"},
	{"fsdp_config", "fsdp_reshard_after_forward", CONFIG_ACCELERATE, "reshard_after_forward"},
	{"fsdp_config", "fsdp_sharding_strategy", CONFIG_ACCELERATE, "reshard_after_forward"},
	{"fsdp_config", "fsdp_activation_checkpointing", CONFIG_ACCELERATE,
	    "activation_checkpointing"},
	{"deepspeed_config", "zero_stage", CONFIG_DEEPSPEED, "zero_optimization.stage"},
	{"deepspeed_config", "offload_optimizer_device", CONFIG_DEEPSPEED,
	    "zero_optimization.offload_optimizer.device"},
	{"deepspeed_config", "offload_param_device", CONFIG_DEEPSPEED,
	    "zero_optimization.offload_param.device"},
	{"deepspeed_config", "gradient_accumulation_steps", CONFIG_DEEPSPEED,
	    "gradient_accumulation_steps"},
	{"deepspeed_config", "gradient_clipping", CONFIG_DEEPSPEED, "gradient_clipping"},
	{"deepspeed_config", "deepspeed_inclusion_filter", CONFIG_NUMBERS, "include"},
	{"deepspeed_config", "deepspeed_exclusion_filter", CONFIG_NUMBERS, "exclude"},
	{"megatron_lm_config", "megatron_lm_tp_degree", CONFIG_MEGATRON,
	    "tensor_model_parallel_size"},
	{"megatron_lm_config", "megatron_lm_pp_degree", CONFIG_MEGATRON,
	    "pipeline_model_parallel_size"},
	{"megatron_lm_config", "megatron_lm_sequence_parallelism", CONFIG_MEGATRON,
	    "sequence_parallel"},
	{"megatron_lm_config", "megatron_lm_num_micro_batches", CONFIG_NUMBERS,
	    "num_microbatches"},
	{"megatron_lm_config", "megatron_lm_recompute_activations", CONFIG_MEGATRON,
	    "recompute_activations"},
	{"megatron_lm_config", "megatron_lm_use_distributed_optimizer", CONFIG_MEGATRON,
	    "use_distributed_optimizer"},
	{"megatron_lm_config", "megatron_lm_gradient_clipping", CONFIG_MEGATRON, "clip_grad"},
};

/* The fields of ClusterConfig; any other key stops the start. */
static const char *const fields[] = {"compute_environment", "distributed_type", "mixed_precision",
	"use_cpu", "debug", "num_processes", "machine_rank", "num_machines", "gpu_ids",
	"main_process_ip", "main_process_port", "rdzv_backend", "same_network",
	"main_training_function", "enable_cpu_affinity", "fp8_config", "deepspeed_config",
	"fsdp_config", "parallelism_config", "megatron_lm_config", "mpirun_config", "downcast_bf16",
	"tpu_name", "tpu_zone", "tpu_use_cluster", "tpu_use_sudo", "tpu_env", "tpu_vm",
	"command_file", "commands", "dynamo_config", "fp16", "dynamo_backend", NULL};
/* clang-format on */

bool
is_accelerate_file(const struct doc *doc)
{
	return doc_get(doc, "distributed_type") &&
	       (doc_get(doc, "compute_environment") || doc_get(doc, "num_processes"));
}

/* The file is for the library that distributed_type names, whatever blocks are left in it. */
static enum config_form
form_of(const struct doc *doc)
{
	static const struct {
		const char *type;
		enum config_form form;
	} types[] = {{"FSDP", CONFIG_ACCELERATE}, {"DEEPSPEED", CONFIG_DEEPSPEED},
	    {"MEGATRON_LM", CONFIG_MEGATRON}};
	const struct doc *type = doc_get(doc, "distributed_type");

	for (size_t i = 0; type->text && i < sizeof(types) / sizeof(types[0]); i++)
		if (strcmp(types[i].type, type->text) == 0)
			return types[i].form;
	return CONFIG_NUMBERS;
}

static bool
is_none(const struct doc *value)
{
	return value->kind == DOC_NULL || (value->text && strcmp(value->text, "none") == 0);
}

static void
take_rows(struct import *in, const struct doc *doc, enum config_form form)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct doc *block = rows[i].block ? doc_get(doc, rows[i].block) : doc;
		const struct doc *value = block ? doc_get(block, rows[i].key) : NULL;

		if (value && !is_none(value) &&
		    (rows[i].form == form || rows[i].form == CONFIG_NUMBERS))
			import_setting(in, rows[i].form, rows[i].setting, value);
	}
}

static void
take_precision(struct import *in, const struct doc *doc, enum config_form form)
{
	const struct doc *value = doc_get(doc, "mixed_precision");
	bool plain = value && value->text &&
		     (strcmp(value->text, "bf16") == 0 || strcmp(value->text, "fp16") == 0);
	const char *name;

	if (form == CONFIG_ACCELERATE && value && value->kind == DOC_STRING)
		import_setting(in, form, "mixed_precision", value);
	if (!plain || (form != CONFIG_DEEPSPEED && form != CONFIG_MEGATRON))
		return;
	name = form == CONFIG_MEGATRON ? value->text
				       : arena_printf(in->arena, "%s.enabled", value->text);
	import_setting(in, form, name, import_bool(in->arena, name, true, value->loc));
}

static void
take_unknown(struct import *in, const struct doc *doc)
{
	for (const struct doc *member = doc->first; member; member = member->next) {
		const char *const *field = fields;

		while (*field && strcmp(*field, member->key) != 0)
			field++;
		if (*field)
			continue;
		import_setting(in, CONFIG_NUMBERS, "unknown_accelerate_key",
		    import_scalar(in->arena, "unknown_accelerate_key", member->key,
			member->key_loc));
		return;
	}
}

int
import_accelerate_file(struct import *in, const struct doc *doc)
{
	enum config_form form = form_of(doc);
	const struct doc *sizes = doc_get(doc, "parallelism_config");

	if (form != CONFIG_NUMBERS && import_form(in, form, doc->loc) != 0)
		return -1;
	if (!in->config->launch.launcher)
		in->config->launch.launcher = "accelerate";
	in->arguments = true; /* what is not here may come from the program */
	take_rows(in, doc, form);
	take_precision(in, doc, form);
	in->arguments = false;
	take_unknown(in, doc);
	if (sizes && sizes->kind == DOC_MAP && sizes->count > 0)
		import_setting(in, CONFIG_NUMBERS, "use_parallelism_config",
		    import_bool(in->arena, "use_parallelism_config", true, sizes->loc));
	return 0;
}
