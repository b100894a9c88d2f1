/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What does torchtitan call each setting?
 *
 * Names are "section.key", as TOML of 0.2 and the overrides of 0.3 have them. Source:
 * pytorch/torchtitan config/job_config.py v0.2.2, config/configs.py and trainer.py 0.3.
 *
 * Batch: with a pipeline a forward pass takes local_batch_size sequences in pieces of
 * pipeline_parallel_microbatch_size; all micro-batches of a step are one such pass, so
 * that nothing is accumulated beside the pipeline. Without one, local_batch_size is the
 * micro-batch and steps accumulate up to global_batch_size.
 */
#include <string.h>

#include "base/arena.h"
#include "base/str.h"
#include "emit/emit.h"
#include "emit/keys.h"
#include "emit/private.h"
#include "emit/torchtitan_values.h"
#include "emit/values.h"
#include "model/layout.h"

static bool
is_text(const struct doc *value, const char *text)
{
	return value->text && strcmp(value->text, text) == 0;
}

bool
torchtitan_is_old(const struct plan_view *plan)
{
	return version_compare(plan->strategy.framework_version, "0.3") < 0;
}

static const struct doc *
flavor_module(struct arena *arena, const struct plan_view *plan)
{
	return torchtitan_is_old(plan) ? doc_text(arena, flavor_of(plan)->module) : NULL;
}

static const struct doc *
flavor_name(struct arena *arena, const struct plan_view *plan)
{
	return torchtitan_is_old(plan) ? doc_text(arena, flavor_of(plan)->name) : NULL;
}

static const struct doc *
old_etp(struct arena *arena, const struct plan_view *plan)
{
	return torchtitan_is_old(plan) ? doc_int(arena, plan->strategy.etp) : NULL;
}

/* Since 0.3 an argument of the model registry. */
static const struct doc *
old_backend(struct arena *arena, const struct plan_view *plan)
{
	if (!torchtitan_is_old(plan))
		return NULL;
	return doc_text(
	    arena, plan->strategy.dispatcher == DISPATCH_DEEPEP ? "deepep" : "standard");
}

static int
read_backend(const struct key *key, const struct doc *value, struct strategy *strategy,
    struct field_context *context)
{
	if (is_text(value, "standard"))
		strategy->dispatcher = DISPATCH_ALLTOALL;
	else if (is_text(value, "deepep"))
		strategy->dispatcher = DISPATCH_DEEPEP;
	else
		return key_refuse(key, value, context, "standard or deepep");
	return 0;
}

static const struct doc *
sequence_parallel(struct arena *arena, const struct plan_view *plan)
{
	return torchtitan_is_old(plan) ? NULL : doc_bool(arena, true);
}

static const struct doc *
reshard(struct arena *arena, const struct plan_view *plan)
{
	const struct strategy *s = &plan->strategy;

	if (s->dp_shard * s->cp == 1)
		return doc_text(arena, "default"); /* nothing is sharded */
	return doc_text(arena, s->zero == 3 ? "always" : "never");
}

static int
read_reshard(const struct key *key, const struct doc *value, struct strategy *strategy,
    struct field_context *context)
{
	if (is_text(value, "always"))
		strategy->zero = 3;
	else if (is_text(value, "never"))
		strategy->zero = 2;
	else if (!is_text(value, "default"))
		return key_refuse(key, value, context, "default, always or never");
	return 0;
}

/* --- batch and the rest --------------------------------------------------------------------- */

static const struct doc *
local_batch(struct arena *arena, const struct plan_view *plan)
{
	const struct strategy *s = &plan->strategy;

	return doc_int(arena, s->pp > 1 ? s->micro_batch * s->micro_batches : s->micro_batch);
}

static int
read_local_batch(const struct key *key, const struct doc *value, struct strategy *strategy,
    struct field_context *context)
{
	if (!value->is_integer || value->integer < 1)
		return key_refuse(key, value, context, "an integer, 1 or more");
	strategy->micro_batch =
	    strategy->pp > 1 ? 1 : value->integer; /* the piece's default is 1 */
	return 0;
}

/* Below 1 it is one pass of all ranks: an importer that knows dp fills it in. */
static int
read_global_batch(const struct key *key, const struct doc *value, struct strategy *strategy,
    struct field_context *context)
{
	if (!value->is_integer)
		return key_refuse(key, value, context, "an integer");
	strategy->global_batch = value->integer > 0 ? value->integer : 0;
	return 0;
}

/* Parameters, and with them gradients and moments, are stored in this type. */
static int
read_master_type(const struct key *key, const struct doc *value, struct strategy *strategy,
    struct field_context *context)
{
	(void)strategy;
	if (is_text(value, "bfloat16") || is_text(value, "float16"))
		return key_counted_as(key, value, context, "float32, which takes twice the memory");
	if (!is_text(value, "float32"))
		return key_refuse(key, value, context, "float32, bfloat16 or float16");
	return 0;
}

static int
read_compute_type(const struct key *key, const struct doc *value, struct strategy *strategy,
    struct field_context *context)
{
	if (is_text(value, "bfloat16"))
		strategy->precision = PRECISION_BF16;
	else if (is_text(value, "float16"))
		strategy->precision = PRECISION_FP16;
	else if (is_text(value, "float32"))
		return key_counted_as(
		    key, value, context, "bfloat16, which takes half the memory of activations");
	else
		return key_refuse(key, value, context, "float32, bfloat16 or float16");
	return 0;
}

static const struct doc *
master_type(struct arena *arena, const struct plan_view *plan)
{
	(void)plan;
	return doc_text(arena, "float32");
}

static const struct doc *
compute_type(struct arena *arena, const struct plan_view *plan)
{
	(void)plan;
	return doc_text(arena, "bfloat16");
}

static const struct doc *
cpu_offload(struct arena *arena, const struct plan_view *plan)
{
	(void)plan;
	return doc_bool(arena, false);
}

static const struct doc *
no_graphs(struct arena *arena, const struct plan_view *plan)
{
	return torchtitan_is_old(plan) ? NULL : doc_bool(arena, !plan->strategy.cuda_graphs);
}

static int
read_no_graphs(const struct key *key, const struct doc *value, struct strategy *strategy,
    struct field_context *context)
{
	(void)key, (void)context;
	strategy->cuda_graphs = value->kind == DOC_BOOL && !value->boolean ? GRAPHS_ON : GRAPHS_OFF;
	return 0;
}

/* Since 0.3 a class, not a key. */
static const struct doc *
recompute_mode(struct arena *arena, const struct plan_view *plan)
{
	static const char *const modes[] = {"none", "selective", "full"};

	return torchtitan_is_old(plan) ? doc_text(arena, modes[plan->strategy.recompute.kind])
				       : NULL;
}

static int
read_recompute_mode(const struct key *key, const struct doc *value, struct strategy *strategy,
    struct field_context *context)
{
	struct recompute *recompute = &strategy->recompute;

	*recompute = (struct recompute){0};
	if (is_text(value, "full"))
		recompute->kind = RECOMPUTE_FULL;
	else if (is_text(value, "selective"))
		*recompute = (struct recompute){RECOMPUTE_SELECTIVE, MODULE_CORE_ATTN, 0};
	else if (is_text(value, "memory_budget"))
		return key_counted_as(key, value, context,
		    "none: what is recomputed is decided when the model is compiled");
	else if (!is_text(value, "none"))
		return key_refuse(key, value, context, "none, selective, full or memory_budget");
	return 0;
}

static const struct doc *
selective_option(struct arena *arena, const struct plan_view *plan)
{
	bool selective = plan->strategy.recompute.kind == RECOMPUTE_SELECTIVE;

	return torchtitan_is_old(plan) && selective ? doc_text(arena, "op") : NULL;
}

static bool
compiles_model(const struct plan_view *plan)
{
	return plan->strategy.overlap & OVERLAP_TP && plan->strategy.tp > 1;
}

static const struct doc *
compiles(struct arena *arena, const struct plan_view *plan)
{
	return doc_bool(arena, plan->strategy.loss == LOSS_COMPILED || compiles_model(plan));
}

static const struct doc *
compiled_parts(struct arena *arena, const struct plan_view *plan)
{
	struct doc *parts = doc_list(arena);

	if (compiles_model(plan))
		doc_add_item(arena, parts, doc_text(arena, "model"));
	if (plan->strategy.loss == LOSS_COMPILED)
		doc_add_item(arena, parts, doc_text(arena, "loss"));
	return parts->count > 0 ? parts : NULL;
}

static bool
has_item(const struct doc *list, const char *text)
{
	const struct doc *item = list->kind == DOC_LIST ? list->first : NULL;

	while (item && !is_text(item, text))
		item = item->next;
	return item != NULL;
}

static int
read_compiles(const struct key *key, const struct doc *value, struct strategy *strategy,
    struct field_context *context)
{
	(void)key, (void)context;
	if (value->kind == DOC_BOOL && value->boolean)
		strategy->loss = LOSS_COMPILED; /* unless the list of components leaves it out */
	return 0;
}

static int
read_compiled_parts(const struct key *key, const struct doc *value, struct strategy *strategy,
    struct field_context *context)
{
	(void)key, (void)context;
	if (strategy->loss == LOSS_COMPILED && !has_item(value, "loss"))
		strategy->loss = LOSS_EAGER;
	return 0;
}

static const struct doc *
async_tp(struct arena *arena, const struct plan_view *plan, bool old)
{
	return torchtitan_is_old(plan) == old ? doc_bool(arena, compiles_model(plan)) : NULL;
}

static const struct doc *
old_async_tp(struct arena *arena, const struct plan_view *plan)
{
	return async_tp(arena, plan, true);
}

static const struct doc *
new_async_tp(struct arena *arena, const struct plan_view *plan)
{
	return async_tp(arena, plan, false);
}

static int
read_async_tp(const struct key *key, const struct doc *value, struct strategy *strategy,
    struct field_context *context)
{
	(void)key, (void)context;
	if (value->kind == DOC_BOOL && value->boolean)
		strategy->overlap |= OVERLAP_TP;
	return 0;
}

#define INT(native, ours)                                                                          \
	{                                                                                          \
		native, ours, KEY_INT, NULL, NULL, NULL, NULL, false                               \
	}
#define ROW(native, ours, kind, since, until, writer, reader)                                      \
	{                                                                                          \
		native, ours, kind, since, until, writer, reader, false                            \
	}

/* clang-format off */
const struct key torchtitan_keys[] = {
	ROW("model.name", NULL, KEY_TEXT, NULL, "0.3", flavor_module, NULL),
	ROW("model.flavor", NULL, KEY_TEXT, NULL, "0.3", flavor_name, NULL),

	INT("parallelism.data_parallel_replicate_degree", "dp_replicate"),
	INT("parallelism.data_parallel_shard_degree", "dp_shard"),
	INT("parallelism.tensor_parallel_degree", "tp"),
	INT("parallelism.context_parallel_degree", "cp"),
	INT("parallelism.pipeline_parallel_degree", "pp"),
	INT("parallelism.expert_parallel_degree", "ep"),
	ROW("parallelism.expert_tensor_parallel_degree", "etp", KEY_INT, NULL, "0.3", old_etp,
	    NULL),
	ROW("parallelism.expert_parallel_comm_backend", "dispatcher", KEY_TEXT, NULL, "0.3",
	    old_backend, read_backend),
	ROW("parallelism.enable_sequence_parallel", NULL, KEY_BOOL, "0.3", NULL, sequence_parallel,
	    NULL),
	ROW("parallelism.fsdp_reshard_after_forward", "zero", KEY_TEXT, NULL, NULL, reshard,
	    read_reshard),

	ROW("training.local_batch_size", "micro_batch", KEY_INT, NULL, NULL, local_batch,
	    read_local_batch),
	ROW("training.global_batch_size", "global_batch", KEY_INT, NULL, NULL, NULL,
	    read_global_batch),
	INT("training.seq_len", "seq_len"),

	ROW("parallelism.pipeline_parallel_schedule", "schedule", KEY_TEXT, NULL, NULL,
	    torchtitan_schedule, torchtitan_read_schedule),
	ROW("parallelism.pipeline_parallel_expert_parallel_overlap", "overlap", KEY_BOOL, NULL,
	    "0.3", torchtitan_old_pairs, torchtitan_read_old_pairs),
	ROW("parallelism.pipeline_parallel_microbatch_size", "micro_batch", KEY_INT, NULL, NULL,
	    torchtitan_piece_size, torchtitan_read_piece_size),
	ROW("parallelism.module_fqns_per_model_part", "vpp", KEY_LIST, NULL, NULL,
	    torchtitan_chunk_modules, torchtitan_read_chunks),

	ROW("training.dtype", "grad_type", KEY_TEXT, NULL, NULL, master_type, read_master_type),
	ROW("training.mixed_precision_param", "precision", KEY_TEXT, NULL, NULL, compute_type,
	    read_compute_type),
	ROW("training.mixed_precision_reduce", NULL, KEY_TEXT, NULL, NULL, master_type, NULL),
	ROW("training.enable_cpu_offload", NULL, KEY_BOOL, NULL, NULL, cpu_offload, NULL),
	ROW("training.disable_cuda_graphs", "cuda_graphs", KEY_BOOL, "0.3", NULL, no_graphs,
	    read_no_graphs),
	ROW("activation_checkpoint.mode", "recompute", KEY_TEXT, NULL, "0.3", recompute_mode,
	    read_recompute_mode),
	ROW("activation_checkpoint.selective_ac_option", NULL, KEY_TEXT, NULL, "0.3",
	    selective_option, NULL),
	ROW("compile.enable", "loss", KEY_BOOL, NULL, NULL, compiles, read_compiles),
	ROW("compile.components", "loss", KEY_LIST, NULL, NULL, compiled_parts,
	    read_compiled_parts),
	ROW("parallelism.enable_async_tensor_parallel", "overlap", KEY_BOOL, NULL, "0.3",
	    old_async_tp, read_async_tp),
	ROW("compile.enable_async_tensor_parallel", "overlap", KEY_BOOL, "0.3", NULL, new_async_tp,
	    read_async_tp),
	{.name = NULL},
};
/* clang-format on */
