/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which settings are understood beside those that the emitters write?
 *
 * Older and newer spellings, names of Megatron-Bridge, of Megatron-DeepSpeed, of Python
 * calls, and those of the guides that frameworks do not read at all but whose meaning is
 * plain. `until` "0" marks a name that the framework itself never had.
 */
#include <string.h>
#include <strings.h>

#include "base/arena.h"
#include "check/import_private.h"
#include "model/layout.h"

#define INT(native, ours, until)                                                                   \
	{                                                                                          \
		native, ours, KEY_INT, NULL, until, NULL, NULL, true                               \
	}
#define ROW(native, ours, kind, until, reader)                                                     \
	{                                                                                          \
		native, ours, kind, NULL, until, NULL, reader, true                                \
	}

/* --- Megatron ------------------------------------------------------------------------------- */

static int
read_core_attention(const struct key *key, const struct doc *value, struct strategy *strategy,
    struct field_context *context)
{
	(void)key, (void)context;
	if (key_is_on(value))
		strategy->recompute = (struct recompute){RECOMPUTE_SELECTIVE, MODULE_CORE_ATTN, 0};
	return 0;
}

static int
read_moe_recompute(const struct key *key, const struct doc *value, struct strategy *strategy,
    struct field_context *context)
{
	(void)key, (void)context;
	if (key_is_on(value))
		strategy->recompute = (struct recompute){RECOMPUTE_SELECTIVE, MODULE_MOE, 0};
	return 0;
}

static int
read_graphs(const struct key *key, const struct doc *value, struct strategy *strategy,
    struct field_context *context)
{
	(void)key, (void)context;
	if (key_is_on(value))
		strategy->cuda_graphs = GRAPHS_ON;
	return 0;
}

static int
read_torch_fsdp(const struct key *key, const struct doc *value, struct strategy *strategy,
    struct field_context *context)
{
	(void)key, (void)context;
	if (key_is_on(value))
		strategy->zero = 3;
	return 0;
}

static int
read_activations(const struct key *key, const struct doc *value, struct strategy *strategy,
    struct field_context *context)
{
	(void)key, (void)context;
	if (!(value->is_integer ? value->integer > 0 : key_is_on(value)))
		return 0;
	strategy->offload = OFFLOAD_ACTIVATIONS;
	strategy->offload_fraction = 1;
	return 0;
}

/* The field behind --overlap-p2p-communication-warmup-flush. */
static int
read_flush(const struct key *key, const struct doc *value, struct strategy *strategy,
    struct field_context *context)
{
	(void)key, (void)context;
	strategy->overlap |= key_is_on(value) ? OVERLAP_PP : 0U;
	return 0;
}

/* Bridge's recipes of number formats, "bf16_with_mxfp8_mixed": which part means what. */
static int
read_mixed_precision(const struct key *key, const struct doc *value, struct strategy *strategy,
    struct field_context *context)
{
	static const struct {
		const char *part;
		enum precision precision;
	} parts[] = {{"mxfp8", PRECISION_MXFP8}, {"nvfp4", PRECISION_NVFP4},
	    {"fp8_subchannel", PRECISION_FP8_BLOCKWISE}, {"fp8", PRECISION_FP8},
	    {"bf16", PRECISION_BF16}, {"fp16", PRECISION_FP16}};

	for (size_t i = 0; value->text && i < sizeof(parts) / sizeof(parts[0]); i++)
		if (strstr(value->text, parts[i].part)) {
			strategy->precision = parts[i].precision;
			return 0;
		}
	return value->kind == DOC_MAP ? 0
				      : key_refuse(key, value, context,
					    "a recipe such as bf16_mixed or bf16_with_mxfp8_mixed");
}

static int
read_stage(const struct key *key, const struct doc *value, struct strategy *strategy,
    struct field_context *context)
{
	if (!value->is_integer || value->integer < 0 || value->integer > 3)
		return key_refuse(key, value, context, "0 to 3");
	strategy->zero = (int)value->integer;
	return 0;
}

static int
read_capacity(const struct key *key, const struct doc *value, struct strategy *strategy,
    struct field_context *context)
{
	if (value->kind != DOC_NUMBER || value->number > 1000)
		return key_refuse(key, value, context, "a factor up to 1000, negative for none");
	strategy->capacity = value->number > 0 ? value->number : 0;
	return 0;
}

/* clang-format off */
const struct key import_megatron_keys[] = {
	INT("model_parallel_size", "tp", NULL),
	INT("moe_expert_parallel_size", "ep", "0"),
	INT("virtual_pipeline_model_parallel_size", "vpp", "0"),
	INT("num_moe_experts", "model.num_experts", "0"),
	INT("padded_vocab_size", "model.vocab_size", NULL),
	INT("topk", "model.top_k", "0"),
	ROW("recompute_activations", "recompute", KEY_FLAG, NULL, read_core_attention),
	ROW("moe_layer_recompute", "recompute", KEY_FLAG, NULL, read_moe_recompute),
	ROW("enable_cuda_graph", "cuda_graphs", KEY_FLAG, NULL, read_graphs),
	ROW("external_cuda_graph", "cuda_graphs", KEY_FLAG, NULL, read_graphs),
	ROW("use_torch_fsdp2", "zero", KEY_FLAG, NULL, read_torch_fsdp),
	ROW("zero_stage", "zero", KEY_INT, "0", read_stage),
	ROW("cpu_offloading_num_layers", "offload", KEY_INT, NULL, read_activations),
	ROW("overlap_p2p_comm_warmup_flush", "overlap", KEY_FLAG, "0", read_flush),
	ROW("mixed_precision", "precision", KEY_TEXT, "0", read_mixed_precision),
	ROW("moe_train_capacity_factor", "capacity", KEY_NUMBER, "0", read_capacity),
	{.name = NULL},
};
/* clang-format on */

/* --- DeepSpeed ------------------------------------------------------------------------------ */

/* The file of a pipeline may leave them to the engine. */
static int
read_stages(const struct key *key, const struct doc *value, struct strategy *strategy,
    struct field_context *context)
{
	if (!value->is_integer || value->integer < 1 || value->integer > 1 << 20)
		return key_refuse(key, value, context, "auto, or an integer from 1 to 1048576");
	strategy->pp = value->integer;
	return 0;
}

/* zero_optimization: true, as before there were stages. */
static int
read_zero_block(const struct key *key, const struct doc *value, struct strategy *strategy,
    struct field_context *context)
{
	(void)key, (void)context;
	if (value->kind == DOC_BOOL)
		strategy->zero = value->boolean ? 1 : 0;
	return 0;
}

static int
read_old_offload(const struct key *key, const struct doc *value, struct strategy *strategy,
    struct field_context *context)
{
	(void)key, (void)context;
	if (key_is_on(value)) {
		strategy->offload = OFFLOAD_OPTIMIZER;
		strategy->offload_fraction = 1;
	}
	return 0;
}

static int
read_bf16(const struct key *key, const struct doc *value, struct strategy *strategy,
    struct field_context *context)
{
	(void)key, (void)context;
	if (key_is_on(value))
		strategy->precision = PRECISION_BF16;
	return 0;
}

/* runtime/config.py and every class of torch.optim; case counts for none of DeepSpeed's own. */
static int
read_optimizer_type(const struct key *key, const struct doc *value, struct strategy *strategy,
    struct field_context *context)
{
	static const char *const two_moments[] = {
	    "adam", "adamw", "lamb", "onebitadam", "zerooneadam", "onebitlamb", NULL};

	(void)strategy;
	for (int i = 0; value->text && two_moments[i]; i++)
		if (strcasecmp(value->text, two_moments[i]) == 0)
			return 0;
	return key_counted_as(key, value, context, "Adam, which keeps two moments in fp32");
}

static int
read_parameter_offload(const struct key *key, const struct doc *value, struct strategy *strategy,
    struct field_context *context)
{
	(void)strategy;
	if (value->text && strcmp(value->text, "none") == 0)
		return 0;
	return key_counted_as(key, value, context, "none: parameters stay on the GPU in a plan");
}

/* Native MoE layers: the factor counts unless tokens are not dropped. */
static int
read_drop_tokens(const struct key *key, const struct doc *value, struct strategy *strategy,
    struct field_context *context)
{
	(void)key, (void)context;
	if (!key_is_on(value))
		strategy->capacity = 0;
	return 0;
}

static int
read_expert_tp(const struct key *key, const struct doc *value, struct strategy *strategy,
    struct field_context *context)
{
	(void)key, (void)context;
	strategy->expert_tp = key_is_on(value) ? 1 : 0;
	return 0;
}

/* Layers of each stage; what is even needs no words. */
static int
read_stage_layers(const struct key *key, const struct doc *value, struct strategy *strategy,
    struct field_context *context)
{
	int64_t layers[STRATEGY_MAX_PP];
	size_t stages = 0;

	for (const struct doc *item = value->kind == DOC_LIST ? value->first : NULL; item;
	     item = item->next) {
		if (!item->is_integer || item->integer < 0 || stages == STRATEGY_MAX_PP)
			return key_refuse(
			    key, value, context, "a list of the layers of each stage");
		layers[stages++] = item->integer;
	}
	if ((int64_t)stages != strategy->pp)
		return key_refuse(key, value, context, "as many numbers as pipeline stages");
	strategy->layout = layout_of_counts(context->arena, layers, (int)stages);
	return 0;
}

/* clang-format off */
const struct key import_deepspeed_keys[] = {
	/* the guides: nothing in DeepSpeed reads them */
	INT("expert_parallel_size", "ep", "0"),
	INT("moe.ep_size", "ep", "0"),
	INT("tensor_parallel_size", "tp", "0"),
	INT("pipeline_parallel_size", "pp", "0"),
	INT("num_layers", "model.num_layers", "0"),
	INT("hidden_size", "model.hidden_size", "0"),
	INT("num_attention_heads", "model.num_attention_heads", "0"),
	INT("vocab_size", "model.vocab_size", "0"),
	INT("moe.num_experts", "model.num_experts", "0"),
	INT("moe.top_k", "model.top_k", "0"),
	INT("moe_layer_config.num_experts", "model.num_experts", "0"),
	INT("moe_layer_config.top_k", "model.top_k", "0"),
	/* the file */
	ROW("pipeline.stages", "pp", KEY_INT, NULL, read_stages),
	INT("tensor_parallel.tp.tp_size", "tp", NULL),
	ROW("zero_optimization", "zero", KEY_BOOL, NULL, read_zero_block),
	ROW("zero_optimization.cpu_offload", "offload", KEY_BOOL, NULL, read_old_offload),
	ROW("zero_optimization.offload_param.device", "offload", KEY_TEXT, NULL,
	    read_parameter_offload),
	ROW("bfloat16.enabled", "precision", KEY_BOOL, NULL, read_bf16),
	ROW("optimizer.type", "optimizer", KEY_TEXT, NULL, read_optimizer_type),
	/* Python */
	INT("MoE.ep_size", "ep", NULL),
	INT("MoE.num_experts", "model.num_experts", NULL),
	INT("MoE.k", "model.top_k", NULL),
	INT("MoE.hidden_size", "model.hidden_size", NULL),
	ROW("MoE.capacity_factor", "capacity", KEY_NUMBER, NULL, read_capacity),
	ROW("MoE.drop_tokens", "capacity", KEY_BOOL, NULL, read_drop_tokens),
	ROW("MoE.enable_expert_tensor_parallelism", "expert_tp", KEY_BOOL, NULL, read_expert_tp),
	INT("PipelineModule.num_stages", "pp", NULL),
	INT("topology.num_pp", "pp", NULL),
	INT("topology.num_mp", "tp", NULL),
	/* constants that 'moeplan emit' writes into the client */
	INT("SEQUENCE_LENGTH", "seq_len", "0"),
	ROW("CROSS_ENTROPY", "loss", KEY_TEXT, "0", NULL),
	ROW("RECOMPUTE", "recompute", KEY_TEXT, "0", NULL),
	ROW("LAYERS_OF_STAGES", "layout", KEY_LIST, "0", read_stage_layers),
	/* options of DeepSpeed's own examples */
	INT("ep_world_size", "ep", "0"),
	INT("ep_size", "ep", "0"),
	/* Hugging Face's Trainer */
	INT("per_device_train_batch_size", "micro_batch", "0"),
	{.name = NULL},
};
/* clang-format on */

/* --- torchtitan ----------------------------------------------------------------------------- */

static bool
has_part(const struct doc *list, const char *part)
{
	const struct doc *item = list->kind == DOC_LIST ? list->first : list;

	for (; item; item = list->kind == DOC_LIST ? item->next : NULL)
		if (item->text && strstr(item->text, part))
			return true;
	return false;
}

/* "float8", "quantize.linear.mx" and the like. */
static int
read_converters(const struct key *key, const struct doc *value, struct strategy *strategy,
    struct field_context *context)
{
	(void)key, (void)context;
	if (has_part(value, "float8"))
		strategy->precision = PRECISION_FP8;
	else if (has_part(value, "mx"))
		strategy->precision = PRECISION_MXFP8;
	return 0;
}

static int
read_cpu_offload(const struct key *key, const struct doc *value, struct strategy *strategy,
    struct field_context *context)
{
	return read_old_offload(key, value, strategy, context);
}

static int
read_loss_class(const struct key *key, const struct doc *value, struct strategy *strategy,
    struct field_context *context)
{
	(void)key, (void)context;
	if (value->text && strcmp(value->text, "fused") == 0)
		strategy->loss = LOSS_FUSED;
	return 0;
}

/* An argument of the model registry since 0.3. */
static int
read_backend(const struct key *key, const struct doc *value, struct strategy *strategy,
    struct field_context *context)
{
	static const struct {
		const char *name;
		enum dispatcher dispatcher;
	} backends[] = {{"standard", DISPATCH_ALLTOALL}, {"deepep", DISPATCH_DEEPEP},
	    {"hybridep", DISPATCH_HYBRIDEP}, {"minimal_async_ep", DISPATCH_ALLTOALL}};

	for (size_t i = 0; value->text && i < sizeof(backends) / sizeof(backends[0]); i++)
		if (strcmp(value->text, backends[i].name) == 0) {
			strategy->dispatcher = backends[i].dispatcher;
			return strcmp(value->text, "minimal_async_ep") != 0
				   ? 0
				   : key_counted_as(key, value, context, "standard");
		}
	return key_refuse(key, value, context, "standard, deepep, hybridep or minimal_async_ep");
}

/* clang-format off */
const struct key import_torchtitan_keys[] = {
	ROW("loss.kernel", "loss", KEY_TEXT, NULL, read_loss_class),
	ROW("model.moe_comm_backend", "dispatcher", KEY_TEXT, NULL, read_backend),
	ROW("model.converters", "precision", KEY_LIST, NULL, read_converters),
	ROW("training.enable_cpu_offload", "offload", KEY_BOOL, NULL, read_cpu_offload),
	{.name = NULL},
};
/* clang-format on */

/* --- our own documents ----------------------------------------------------------------------- */

#define OURS(name)                                                                                 \
	{                                                                                          \
		name, name, KEY_INT, NULL, NULL, NULL, NULL, true                                  \
	}
#define OUR_WORD(name)                                                                             \
	{                                                                                          \
		name, name, KEY_TEXT, NULL, NULL, NULL, NULL, true                                 \
	}

/* Names of strategy_fields; what a document derives from them is derived again. */
/* clang-format off */
static const struct key import_plan_keys[] = {
	OUR_WORD("framework"),
	OURS("world_size"), OURS("tp"), OURS("cp"), OURS("pp"), OURS("vpp"), OURS("ep"),
	OURS("etp"), OURS("dp"), OURS("edp"), OURS("gtp"), OURS("egtp"), OURS("dp_replicate"),
	OURS("dp_shard"), OURS("seq_len"), OURS("micro_batch"), OURS("global_batch"),
	OUR_WORD("recompute"), OUR_WORD("zero"), OUR_WORD("dispatcher"), OUR_WORD("layout"),
	OUR_WORD("precision"), OUR_WORD("grad_type"), OUR_WORD("optimizer"), OUR_WORD("capacity"),
	OUR_WORD("offload"), OUR_WORD("loss"), OUR_WORD("cuda_graphs"), OUR_WORD("overlap"),
	OUR_WORD("schedule"), OUR_WORD("order"), OUR_WORD("data_before_expert"),
	OUR_WORD("expert_tp"), OUR_WORD("auto_ep"),
	{.name = NULL},
};
/* clang-format on */

/* --- all ------------------------------------------------------------------------------------ */

const struct key *const *
import_tables(enum config_form form)
{
	static const struct key *const megatron[] = {import_megatron_keys, megatron_keys, NULL};
	static const struct key *const deepspeed[] = {import_deepspeed_keys, deepspeed_keys, NULL};
	/* a chunked loss stays one when its parts are compiled: its class is read last */
	static const struct key *const torchtitan[] = {
	    torchtitan_keys, import_torchtitan_keys, NULL};
	static const struct key *const plan[] = {import_plan_keys, NULL};
	static const struct key *const tutel[] = {import_tutel_keys, NULL};
	static const struct key *const fairscale[] = {import_fairscale_keys, NULL};
	static const struct key *const accelerate[] = {import_accelerate_keys, NULL};
	static const struct key *const none[] = {NULL};

	switch (form) {
	case CONFIG_MEGATRON:
	case CONFIG_BRIDGE:
		return megatron;
	case CONFIG_DEEPSPEED:
	case CONFIG_TUTORIAL:
		return deepspeed;
	case CONFIG_TORCHTITAN:
		return torchtitan;
	case CONFIG_PLAN:
		return plan;
	case CONFIG_TUTEL:
		return tutel;
	case CONFIG_FAIRSCALE:
		return fairscale;
	case CONFIG_ACCELERATE:
		return accelerate;
	default:
		return none;
	}
}

const struct key *
import_key(enum config_form form, const char *name)
{
	for (const struct key *const *table = import_tables(form); *table; table++) {
		const struct key *key = key_find(*table, name);

		if (key)
			return key;
	}
	return NULL;
}
