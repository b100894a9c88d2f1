/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How is a strategy written down? One row an option; the readers below take the
 * forms that are more than a number or a word.
 */
#include <string.h>

#include "base/arena.h"
#include "base/str.h"
#include "base/units.h"
#include "model/model.h"
#include "model/strategy.h"
#include "model/strategy_grid.h"

enum { WORD_MAX = 64 };

int
refuse_value(const struct field *field, const struct doc *value, struct field_context *context,
    const char *allowed)
{
	bool is_option =
	    value->loc.line == 0 && value->loc.file && strncmp(value->loc.file, "--", 2) == 0;
	const char *subject = is_option ? value->loc.file : field->name;

	if (!value->text)
		return diag_error(context->diags, value->loc, "'%s' is %s, allowed is %s", subject,
		    doc_kind_name(value->kind), allowed);
	return diag_error(context->diags, value->loc, "'%s' is '%.60s', allowed is %s", subject,
	    value->text, allowed);
}

/* The piece of *text up to `separator`, copied to `word`; *text moves behind it or becomes NULL. */
static bool
next_word(const char **text, char separator, char word[WORD_MAX])
{
	const char *end = strchr(*text, separator);
	size_t length = end ? (size_t)(end - *text) : strlen(*text);

	if (length == 0 || length >= WORD_MAX)
		return false;
	memcpy(word, *text, length);
	word[length] = '\0';
	*text = end ? end + 1 : NULL;
	return true;
}

/* Bits of the names in a list such as "dp,tp"; 0 when one is unknown or given twice. */
static unsigned
read_bits(const char *text, char separator, const char *const *names)
{
	char word[WORD_MAX];
	unsigned bits = 0;

	while (text) {
		int bit = next_word(&text, separator, word) ? str_index(names, word) : -1;

		if (bit < 0 || bits & 1U << bit)
			return 0;
		bits |= 1U << bit;
	}
	return bits;
}

bool
parse_recompute(const char *text, struct recompute *recompute)
{
	struct recompute read = {.kind = RECOMPUTE_FULL};

	if (strncmp(text, "full:", 5) == 0) {
		if (!units_parse_integer(text + 5, &read.layers) || read.layers < 1 ||
		    read.layers > MODEL_MAX_LAYERS)
			return false;
	} else if (strcmp(text, "selective") == 0) {
		read.kind = RECOMPUTE_SELECTIVE;
		read.modules = MODULE_CORE_ATTN; /* as Megatron when no modules are named */
	} else if (strncmp(text, "selective:", 10) == 0) {
		read.kind = RECOMPUTE_SELECTIVE;
		read.modules = read_bits(text + 10, '+', recompute_module_names);
		if (read.modules == 0)
			return false;
	} else if (strcmp(text, "none") == 0) {
		read.kind = RECOMPUTE_NONE;
	} else if (strcmp(text, "full") != 0) {
		return false;
	}
	*recompute = read;
	return true;
}

static int
read_recompute(
    const struct field *field, void *object, const struct doc *value, struct field_context *context)
{
	struct strategy *strategy = object;

	if (!value->text || !parse_recompute(value->text, &strategy->recompute))
		return refuse_value(field, value, context,
		    "none, full, full:LAYERS, or selective:MODULE+MODULE with core_attn, "
		    "layernorm, mla_up_proj, mlp, moe_act, moe, shared_experts");
	return 0;
}

static int
read_capacity(
    const struct field *field, void *object, const struct doc *value, struct field_context *context)
{
	struct strategy *strategy = object;
	double factor = 0;

	if (!value->text)
		return refuse_value(
		    field, value, context, "dropless, or a factor from 0.1 to 1000");
	if (strcmp(value->text, "dropless") != 0 &&
	    (!units_parse_number(value->text, &factor) || factor < 0.1 || factor > 1000))
		return refuse_value(
		    field, value, context, "dropless, or a factor from 0.1 to 1000");
	strategy->capacity = factor;
	return 0;
}

static int
read_optimizer(
    const struct field *field, void *object, const struct doc *value, struct field_context *context)
{
	struct strategy *strategy = object;
	const char *text = value->text ? value->text : "";
	int type = -1;

	if (strcmp(text, "adam") == 0)
		type = FLOAT_FP32;
	else if (strncmp(text, "adam:", 5) == 0)
		type = str_index(float_type_names, text + 5);
	if (type < 0)
		return refuse_value(field, value, context,
		    "adam, adam:fp32, adam:bf16 or adam:fp8 (the type of its moments)");
	strategy->moment_type = (enum float_type)type;
	return 0;
}

/* "WORD" or "WORD:F", a share over 0 and at most 1; without one it stays as it is. */
static bool
read_share(const char *text, const char *word, double *share)
{
	size_t length = strlen(word);

	if (strncmp(text, word, length) != 0)
		return false;
	if (text[length] == '\0')
		return true;
	return text[length] == ':' && units_parse_number(text + length + 1, share) && *share > 0 &&
	       *share <= 1;
}

static int
read_offload(
    const struct field *field, void *object, const struct doc *value, struct field_context *context)
{
	struct strategy *strategy = object;
	const char *text = value->text ? value->text : "";
	enum offload offload = OFFLOAD_OPTIMIZER;
	double fraction = 1;

	if (strcmp(text, "none") == 0) {
		offload = OFFLOAD_NONE;
		fraction = 0;
	} else if (read_share(text, "activations", &fraction)) {
		offload = OFFLOAD_ACTIVATIONS;
	} else if (!read_share(text, "optimizer", &fraction)) {
		return refuse_value(field, value, context,
		    "none, optimizer, activations, or either with :F, over 0 and at most 1");
	}
	strategy->offload = offload;
	strategy->offload_fraction = fraction;
	return 0;
}

static int
read_overlap(
    const struct field *field, void *object, const struct doc *value, struct field_context *context)
{
	struct strategy *strategy = object;
	unsigned bits = 0;

	if (!value->text)
		return refuse_value(field, value, context, "none, or a list of dp, tp, ep, pp");
	if (strcmp(value->text, "none") != 0) {
		bits = read_bits(value->text, ',', overlap_names);
		if (bits == 0)
			return refuse_value(
			    field, value, context, "none, or a list of dp, tp, ep, pp");
	}
	strategy->overlap = bits;
	return 0;
}

static int
read_cuda_graphs(
    const struct field *field, void *object, const struct doc *value, struct field_context *context)
{
	struct strategy *strategy = object;

	if (value->kind == DOC_BOOL) {
		strategy->cuda_graphs = value->boolean ? GRAPHS_ON : GRAPHS_OFF;
		return 0;
	}
	for (int i = 0; value->text && graphs_names[i]; i++)
		if (strcmp(value->text, graphs_names[i]) == 0) {
			strategy->cuda_graphs = (enum graphs)i;
			return 0;
		}
	return refuse_value(field, value, context, "on, off or full");
}

static bool
is_version(const char *text)
{
	return text[0] >= '0' && text[0] <= '9' && strspn(text, "0123456789.") == strlen(text) &&
	       strlen(text) < 24 && !strstr(text, "..") && text[strlen(text) - 1] != '.';
}

static int
read_framework(
    const struct field *field, void *object, const struct doc *value, struct field_context *context)
{
	struct strategy *strategy = object;
	const char *version = value->text;
	char word[WORD_MAX];
	int framework = -1;

	if (version && next_word(&version, '@', word))
		framework = str_index(framework_names, word);
	if (framework < 0 || (version && !is_version(version)))
		return refuse_value(field, value, context,
		    "megatron, deepspeed or torchtitan, and @VERSION such as megatron@0.19");
	strategy->framework = (enum framework)framework;
	strategy->framework_version = version ? arena_strdup(context->arena, version) : NULL;
	return 0;
}

static int
read_order(
    const struct field *field, void *object, const struct doc *value, struct field_context *context)
{
	static const char *const axes[] = {"tp", "cp", "ep", "dp", "pp", NULL};
	struct strategy *strategy = object;

	if (!value->text || read_bits(value->text, '-', axes) == 0)
		return refuse_value(field, value, context,
		    "tp, cp, ep, dp and pp from the fastest to the slowest, such as "
		    "tp-cp-ep-dp-pp");
	strategy->order = arena_strdup(context->arena, value->text);
	return 0;
}

static const char *const zero_names[] = {"0", "1", "2", "3", NULL};
static const char *const grad_names[] = {"fp32", "bf16", NULL};
static const char *const switch_names[] = {"off", "on", NULL};
static const char *const recompute_words[] = {"none", "full", "selective", NULL};
static const char *const capacity_words[] = {"dropless", NULL};
static const char *const optimizer_words[] = {"adam", "adam:fp32", "adam:bf16", "adam:fp8", NULL};
static const char *const offload_words[] = {"none", "optimizer", "activations", NULL};
static const char *const overlap_words[] = {"dp", "tp", "ep", "pp", "none", NULL};
static const char *const order_words[] = {"tp-cp-ep-dp-pp", "tp-cp-ep-pp-dp", NULL};

#define MEMBER(name) offsetof(struct strategy, name)
#define DEGREE(key, member, text)                                                                  \
	{                                                                                          \
		.name = key, .arg = "N", .help = text, .kind = FIELD_INT,                          \
		.offset = MEMBER(member), .min = 1, .max = GRID_MAX_DEGREE                         \
	}
#define CHOICE(key, metavar, member, words, text)                                                  \
	{                                                                                          \
		.name = key, .arg = metavar, .help = text, .kind = FIELD_CHOICE,                   \
		.offset = MEMBER(member), .choices = words                                         \
	}
#define CUSTOM(key, metavar, reader, words, text)                                                  \
	{                                                                                          \
		.name = key, .arg = metavar, .help = text, .kind = FIELD_CUSTOM, .choices = words, \
		.read = reader                                                                     \
	}
/* The same, remembered as stated. */
#define SAID_CHOICE(bit, key, metavar, member, words, text)                                        \
	{                                                                                          \
		.name = key, .arg = metavar, .help = text, .kind = FIELD_CHOICE,                   \
		.offset = MEMBER(member), .choices = words, .said = bit, .said_at = MEMBER(said)   \
	}
#define SAID_CUSTOM(bit, key, metavar, reader, words, text)                                        \
	{                                                                                          \
		.name = key, .arg = metavar, .help = text, .kind = FIELD_CUSTOM, .choices = words, \
		.read = reader, .said = bit, .said_at = MEMBER(said)                               \
	}
#define SWITCH(key, member, text)                                                                  \
	{                                                                                          \
		.name = key, .help = text, .kind = FIELD_FLAG, .offset = MEMBER(member)            \
	}

enum { JOB_ROWS = 14 }; /* rows before those that a job takes too */

/* clang-format off */
const struct field strategy_fields[] = {
	DEGREE("world_size", world, "GPUs in all; what the degrees do not use is data parallel"),
	DEGREE("tp", tp, "tensor-parallel ranks"),
	DEGREE("cp", cp, "context-parallel ranks"),
	DEGREE("pp", pp, "pipeline stages"),
	DEGREE("vpp", vpp, "virtual stages a pipeline rank holds"),
	DEGREE("ep", ep, "expert-parallel ranks"),
	DEGREE("etp", etp, "tensor-parallel ranks inside an expert (1 when EP > 1, else TP)"),
	DEGREE("dp", dp, "dense data-parallel ranks: TP x CP x PP x DP = world"),
	DEGREE("edp", edp, "expert data-parallel ranks: ETP x EP x PP x EDP = world"),
	DEGREE("micro_batch", micro_batch, "sequences in one forward pass (1)"),
	SAID_CUSTOM(SAID_RECOMPUTE, "recompute", "none|selective:MODULE+MODULE|full[:LAYERS]",
	       read_recompute, recompute_words, "what the backward pass computes again (none)"),
	CHOICE("zero", "0|1|2|3", zero, zero_names,
	       "sharding of model state; 1 is Megatron's distributed optimizer (1)"),
	SAID_CHOICE(SAID_DISPATCHER, "dispatcher", "alltoall|allgather|deepep|hybridep", dispatcher,
	       dispatcher_names, "how tokens reach their experts (alltoall)"),
	{ .name = "layout", .arg = "STRING", .kind = FIELD_TEXT, .offset = MEMBER(layout),
	  .help = "layers of every pipeline chunk, as Megatron writes it: 'Et*3|(tt|)*29m|L'" },
	/* from here on a job takes them too: JOB_ROWS */
	{ .name = "seq_len", .arg = "N", .kind = FIELD_INT, .offset = MEMBER(seq_len),
	  .help = "tokens of a sequence", .min = 1, .max = 1 << 27 },
	{ .name = "global_batch", .arg = "N", .kind = FIELD_INT, .offset = MEMBER(global_batch),
	  .help = "sequences of an optimizer step", .min = 1, .max = 1 << 30 },
	SAID_CHOICE(SAID_PRECISION, "precision", "bf16|fp16|fp8|fp8-blockwise|mxfp8|nvfp4",
	       precision, precision_names, "type that matrices are multiplied in (bf16)"),
	SAID_CHOICE(SAID_GRADIENTS, "grad_type", "fp32|bf16", grad_type, grad_names,
	       "type that gradients are summed in (fp32)"),
	SAID_CUSTOM(SAID_OPTIMIZER, "optimizer", "adam[:fp32|bf16|fp8]", read_optimizer,
	       optimizer_words, "optimizer and the type of its moments (adam:fp32)"),
	CUSTOM("capacity", "F|dropless", read_capacity, capacity_words,
	       "expert capacity factor; tokens over it are dropped (dropless)"),
	CUSTOM("offload", "none|optimizer[:F]|activations[:F]", read_offload, offload_words,
	       "what lives in host memory; F is the share of it (none)"),
	CHOICE("loss", "fused|compiled|eager", loss, loss_names,
	       "cross-entropy kernel: memory that logits take (fused)"),
	CUSTOM("cuda_graphs", "on|off|full", read_cuda_graphs, graphs_names,
	       "replay launches from CUDA graphs: of modules, or all as one (off)"),
	CUSTOM("overlap", "dp,tp,ep,pp|none", read_overlap, overlap_words,
	       "communication that runs behind computation (dp)"),
	CHOICE("schedule", "1f1b|interleaved|zb|zbv|dualpipe|dualpipev", schedule, schedule_names,
	       "pipeline schedule (interleaved when VPP > 1, else 1f1b)"),
	SAID_CUSTOM(SAID_FRAMEWORK, "framework", "megatron|deepspeed|torchtitan[@VERSION]",
	       read_framework, framework_names, "whose rules and rank order hold (megatron)"),
	DEGREE("gtp", gtp, "ranks that shard dense weights further (Megatron 0.19)"),
	DEGREE("egtp", egtp, "ranks that shard expert weights further (Megatron 0.19)"),
	DEGREE("dp_replicate", dp_replicate, "replicas of the sharded model (torchtitan)"),
	{ .name = "dp_shard", .arg = "N", .kind = FIELD_INT, .offset = MEMBER(dp_shard),
	  .help = "ranks that shard the model, -1 the rest of the world (torchtitan)",
	  .min = -1, .max = GRID_MAX_DEGREE },
	CUSTOM("order", "tp-cp-ep-dp-pp", read_order, order_words,
	       "rank order, fastest axis first (Megatron)"),
	SWITCH("data_before_expert", data_before_expert,
	       "data-parallel ranks before expert-parallel ones (DeepSpeed)"),
	CHOICE("expert_tp", "on|off", expert_tp, switch_names,
	       "expert tensor parallelism of native MoE (DeepSpeed, off)"),
	SWITCH("auto_ep", auto_ep, "AutoEP instead of native MoE layers (DeepSpeed)"),
	{ .name = NULL },
};
/* clang-format on */

const struct field *const strategy_job_fields = &strategy_fields[JOB_ROWS];
