/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What do fragments of Tutel, FairScale and Accelerate and a file of MaxText mean?
 *
 * The first three are calls in Python (import_python.c); the sizes of groups that no argument
 * has are constants by the names that `moeplan emit` writes. MaxText's axes have an inner and
 * an outer size; dense data parallelism is data x fsdp x expert, -1 is the rest. Source:
 * microsoft/tutel impls/moe_layer.py, facebookresearch/fairscale nn/moe/top2gate.py,
 * huggingface/accelerate 1.15.0 parallelism_config.py, AI-Hypercomputer/maxtext 0.2.5
 * configs/base.yml.
 */
#include <string.h>

#include "base/arena.h"
#include "check/import_private.h"

#define INT(native, ours)                                                                          \
	{                                                                                          \
		native, ours, KEY_INT, NULL, NULL, NULL, NULL, true                                \
	}
#define ROW(native, ours, kind, reader)                                                            \
	{                                                                                          \
		native, ours, kind, NULL, NULL, NULL, reader, true                                 \
	}

/* --- layers --------------------------------------------------------------------------------- */

/* 0 or less: as many as come. */
static int
read_factor(const struct key *key, const struct doc *value, struct strategy *strategy,
    struct field_context *context)
{
	if (value->kind != DOC_NUMBER || value->number > 1000)
		return key_refuse(key, value, context, "a factor up to 1000, 0 or less for none");
	strategy->capacity = value->number > 0 ? value->number : 0;
	return 0;
}

static int
read_degree(const struct key *key, const struct doc *value, struct strategy *strategy,
    struct field_context *context)
{
	if (!value->is_integer || value->integer < 1)
		return key_refuse(key, value, context, "an integer, 1 or more");
	strategy->overlap |= value->integer > 1 ? OVERLAP_EP : 0U;
	return 0;
}

/* top2gating(): 2 x tokens / experts at top-2. */
static int
read_top_two(const struct key *key, const struct doc *value, struct strategy *strategy,
    struct field_context *context)
{
	(void)key, (void)value, (void)context;
	strategy->capacity = 1;
	return 0;
}

/* clang-format off */
const struct key import_tutel_keys[] = {
	INT("EXPERT_PARALLEL", "ep"),
	INT("gate_k", "model.top_k"),
	ROW("gate_capacity_factor", "capacity", KEY_NUMBER, read_factor),
	ROW("a2a_ffn_overlap_degree", "overlap", KEY_INT, read_degree),
	{.name = NULL},
};

const struct key import_fairscale_keys[] = {
	INT("EXPERT_PARALLEL", "ep"),
	INT("num_experts", "model.num_experts"),
	ROW("Top2Gate", "capacity", KEY_BOOL, read_top_two),
	{.name = NULL},
};
/* clang-format on */

/* --- Accelerate ----------------------------------------------------------------------------- */

static int
read_accumulation(const struct key *key, const struct doc *value, struct strategy *strategy,
    struct field_context *context)
{
	if (!value->is_integer || value->integer < 1)
		return key_refuse(key, value, context, "an integer, 1 or more");
	strategy->micro_batches = value->integer;
	return 0;
}

static int
read_precision(const struct key *key, const struct doc *value, struct strategy *strategy,
    struct field_context *context)
{
	static const char *const names[] = {"bf16", "fp16", "fp8", NULL};

	for (int i = 0; value->text && names[i]; i++)
		if (strcmp(value->text, names[i]) == 0) {
			strategy->precision = (enum precision)i;
			return 0;
		}
	if (value->text && strcmp(value->text, "no") == 0)
		return key_counted_as(
		    key, value, context, "bf16, which takes half the memory of activations");
	return key_refuse(key, value, context, "no, fp16, bf16 or fp8");
}

/* A bool with FSDP2, the name of a strategy with the first. */
static int
read_reshard(const struct key *key, const struct doc *value, struct strategy *strategy,
    struct field_context *context)
{
	(void)key, (void)context;
	if (value->kind == DOC_BOOL)
		strategy->zero = value->boolean ? 3 : 2;
	else if (value->text)
		strategy->zero = strstr(value->text, "FULL_SHARD") ? 3 : 2;
	return 0;
}

static int
read_checkpointing(const struct key *key, const struct doc *value, struct strategy *strategy,
    struct field_context *context)
{
	(void)key, (void)context;
	if (key_is_on(value))
		strategy->recompute = (struct recompute){.kind = RECOMPUTE_FULL};
	return 0;
}

/* clang-format off */
const struct key import_accelerate_keys[] = {
	INT("tp_size", "tp"),
	INT("cp_size", "cp"),
	INT("dp_replicate_size", "dp_replicate"),
	INT("dp_shard_size", "dp_shard"),
	ROW("gradient_accumulation_steps", "micro_batches", KEY_INT, read_accumulation),
	ROW("mixed_precision", "precision", KEY_TEXT, read_precision),
	ROW("reshard_after_forward", "zero", KEY_BOOL, read_reshard),
	ROW("activation_checkpointing", "recompute", KEY_BOOL, read_checkpointing),
	INT("MICRO_BATCH", "micro_batch"),
	INT("SEQUENCE_LENGTH", "seq_len"),
	ROW("CROSS_ENTROPY", "loss", KEY_TEXT, NULL),
	{.name = NULL},
};
/* clang-format on */

void
import_conclude_accelerate(struct import *in)
{
	struct strategy *s = &in->config->strategy;
	int64_t accumulation = or_one(s->micro_batches);

	/* without sizes the processes are all data-parallel */
	if (s->dp_replicate > 0 || s->dp_shard > 0)
		s->dp = size_times(or_one(s->dp_replicate), or_one(s->dp_shard));
	s->dp_replicate = s->dp_shard = s->micro_batches = 0;
	s->etp = 1; /* no plan of tensor parallelism cuts an expert */
	/* Transformers' DistributedConfig: experts are shared out over the tensor mesh */
	if (import_flag(in->config, CONFIG_ACCELERATE, "enable_expert_parallel"))
		s->ep = s->tp > 0 ? s->tp : s->world;
	if (s->micro_batch > 0 && s->dp > 0)
		s->global_batch = size_times(size_times(s->micro_batch, accumulation), s->dp);
}

/* --- MaxText -------------------------------------------------------------------------------- */

static int64_t
number(const struct import *in, const char *name, int64_t absent)
{
	return import_integer(in->config, CONFIG_MAXTEXT, name, absent);
}

/* Both sizes of an axis; 0 where one is the rest, as -1 says. */
static int64_t
axis(const struct import *in, const char *name, int64_t inner_absent, int64_t outer_absent)
{
	struct arena *arena = in->arena;
	int64_t inner = number(in, arena_printf(arena, "ici_%s_parallelism", name), inner_absent);
	int64_t outer = number(in, arena_printf(arena, "dcn_%s_parallelism", name), outer_absent);

	return inner < 1 || outer < 1 ? 0 : size_times(inner, outer);
}

static void
conclude_mesh(struct import *in)
{
	struct strategy *s = &in->config->strategy;
	int64_t fsdp = axis(in, "fsdp", -1, 1), data = axis(in, "data", 1, -1), known;

	s->tp = axis(in, "tensor", 1, 1);
	s->cp = axis(in, "context", 1, 1);
	s->pp = axis(in, "pipeline", 1, 1);
	s->ep = axis(in, "expert", 1, 1);
	s->etp = s->tp;
	known = size_times(size_times(s->tp, s->cp), size_times(s->pp, s->ep));
	if (fsdp > 0 && data > 0)
		s->dp = size_times(size_times(data, fsdp), s->ep);
	else if (known > 0 && s->world > 0 && s->world % known == 0)
		s->dp = s->world / known * s->ep;
	if (s->world == 0 && s->dp > 0)
		s->world = size_times(size_times(s->tp, s->cp), size_times(s->pp, s->dp));
	s->zero = import_flag(in->config, CONFIG_MAXTEXT, "shard_optimizer_over_data") ? 1
		  : fsdp != 1 || s->ep > 1 || s->cp > 1				       ? 3
										       : 0;
}

/* Sequences of a pass over all ranks; a pipeline cuts them into its micro-batches. */
static void
conclude_batch(struct import *in)
{
	struct strategy *s = &in->config->strategy;
	const struct doc *each = import_value(in->config, CONFIG_MAXTEXT, "per_device_batch_size");
	int64_t pieces = s->pp > 1 ? number(in, "num_pipeline_microbatches", 1) : 1;
	int64_t accumulation = or_one(number(in, "gradient_accumulation_steps", 1)), pass, part;

	s->seq_len = number(in, "max_target_length", 0);
	if (s->pp > 1)
		s->vpp = or_one(number(in, "num_pipeline_repeats", 1));
	if (!each || each->kind != DOC_NUMBER || s->world < 1 || s->dp < 1 ||
	    !(each->number > 0 && each->number * (double)s->world < 1e15))
		return;
	pass = (int64_t)(each->number * (double)s->world + 0.5);
	s->global_batch = size_times(pass, accumulation);
	part = pieces > 0 ? size_times(s->dp, pieces) : 0;
	if (part > 0 && pass % part == 0)
		s->micro_batch = pass / part;
}

void
import_conclude_maxtext(struct import *in)
{
	struct strategy *s = &in->config->strategy;
	const char *policy = import_word(in->config, CONFIG_MAXTEXT, "remat_policy");
	const struct doc *factor = import_value(in->config, CONFIG_MAXTEXT, "capacity_factor");

	conclude_mesh(in);
	conclude_batch(in);
	if (!policy || strcmp(policy, "full") == 0)
		s->recompute = (struct recompute){.kind = RECOMPUTE_FULL};
	if (factor && factor->kind == DOC_NUMBER && factor->number > 0)
		s->capacity = factor->number;
	if (import_flag(in->config, CONFIG_MAXTEXT, "optimizer_memory_host_offload")) {
		s->offload = OFFLOAD_OPTIMIZER;
		s->offload_fraction = 1;
	}
}
