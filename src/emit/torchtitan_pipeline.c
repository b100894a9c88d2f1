/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How does torchtitan say the stages of a plan, their schedule and their pieces of a batch?
 * Source: pytorch/torchtitan 0.2.2 and 0.3, distributed/pipeline_parallel.py and config; names of
 * schedules: pytorch torch/distributed/pipelining/schedules.py.
 */
#include <string.h>
#include <strings.h>

#include "base/arena.h"
#include "emit/torchtitan_values.h"
#include "emit/values.h"

const struct doc *
torchtitan_schedule(struct arena *arena, const struct plan_view *plan)
{
	static const char *const names[SCHEDULES] = {
	    [SCHEDULE_1F1B] = "1F1B",
	    [SCHEDULE_INTERLEAVED] = "Interleaved1F1B",
	    [SCHEDULE_ZB] = "InterleavedZeroBubble",
	    [SCHEDULE_ZBV] = "ZBVZeroBubble",
	    [SCHEDULE_DUALPIPEV] = "DualPipeV",
	};
	const struct strategy *s = &plan->strategy;
	const char *name = s->schedule >= 0 ? names[s->schedule] : NULL;

	return s->pp > 1 && name ? doc_text(arena, name) : NULL;
}

/* Pairs of passes that hide each other's expert communication. */
const struct doc *
torchtitan_old_pairs(struct arena *arena, const struct plan_view *plan)
{
	const struct strategy *s = &plan->strategy;

	if (!torchtitan_is_old(plan) || s->schedule != SCHEDULE_DUALPIPEV)
		return NULL;
	return doc_bool(arena, s->overlap & OVERLAP_EP && s->ep > 1);
}

int
torchtitan_read_old_pairs(const struct key *key, const struct doc *value, struct strategy *strategy,
    struct field_context *context)
{
	if (value->kind != DOC_BOOL)
		return key_refuse(key, value, context, "true or false");
	if (value->boolean)
		strategy->overlap |= OVERLAP_EP;
	return 0;
}

/* torch's pipelining takes the names in any case; two of them it never documents. */
static const struct {
	const char *name;
	int schedule; /* enum schedule, -1 as it is derived */
	const char *counted_as;
} schedules[] = {
    {"1F1B", SCHEDULE_1F1B, NULL},
    {"Interleaved1F1B", SCHEDULE_INTERLEAVED, NULL},
    {"InterleavedZeroBubble", SCHEDULE_ZB, NULL},
    {"ZBVZeroBubble", SCHEDULE_ZBV, NULL},
    {"DualPipeV", SCHEDULE_DUALPIPEV, NULL},
    {"GPipe", SCHEDULE_1F1B,
	"1F1B, which holds the activations of PP micro-batches at most; GPipe holds all of them"},
    {"LoopedBFS", SCHEDULE_INTERLEAVED,
	"Interleaved1F1B, which holds fewer activations: LoopedBFS holds all micro-batches"},
    {"PipelineScheduleSingle", SCHEDULE_1F1B, "1F1B: its order is in a file of its own"},
    {"PipelineScheduleMulti", SCHEDULE_INTERLEAVED,
	"Interleaved1F1B: its order is in a file of its own"},
};

int
torchtitan_read_schedule(const struct key *key, const struct doc *value, struct strategy *strategy,
    struct field_context *context)
{
	for (size_t i = 0; i < sizeof(schedules) / sizeof(*schedules); i++) {
		if (!value->text || strcasecmp(value->text, schedules[i].name) != 0)
			continue;
		strategy->schedule = schedules[i].schedule;
		if (schedules[i].counted_as)
			key_counted_as(key, value, context, schedules[i].counted_as);
		return 0;
	}
	return key_refuse(key, value, context,
	    "1F1B, Interleaved1F1B, InterleavedZeroBubble, ZBVZeroBubble, DualPipeV, GPipe or "
	    "LoopedBFS");
}

const struct doc *
torchtitan_piece_size(struct arena *arena, const struct plan_view *plan)
{
	return plan->strategy.pp > 1 ? doc_int(arena, plan->strategy.micro_batch) : NULL;
}

int
torchtitan_read_piece_size(const struct key *key, const struct doc *value,
    struct strategy *strategy, struct field_context *context)
{
	if (!value->is_integer || value->integer < 1)
		return key_refuse(key, value, context, "an integer, 1 or more");
	if (strategy->pp > 1)
		strategy->micro_batch = value->integer;
	return 0;
}

static void
add_name(struct arena *arena, struct doc *list, const char *name)
{
	doc_add_item(arena, list, doc_text(arena, name));
}

/* The modules of each chunk, so that nothing is left to torchtitan's own split. */
const struct doc *
torchtitan_chunk_modules(struct arena *arena, const struct plan_view *plan)
{
	const struct layout *layout = &plan->layout;
	int chunks = layout->pp * layout->vpp;
	struct doc *parts;

	if (layout->pp == 1)
		return NULL;
	parts = doc_list(arena);
	for (int c = 0; c < chunks; c++) {
		struct doc *part = doc_list(arena);

		if (c == 0)
			add_name(arena, part, "tok_embeddings");
		for (int i = layout->first[c]; i < layout->first[c + 1]; i++)
			add_name(arena, part, arena_printf(arena, "layers.%d", i));
		if (c == chunks - 1) {
			add_name(arena, part, "norm");
			add_name(arena, part, torchtitan_is_old(plan) ? "output" : "lm_head");
		}
		doc_add_item(arena, parts, part);
	}
	return parts;
}

/* "layers.7" */
static int64_t
count_layers(const struct doc *modules)
{
	int64_t count = 0;

	for (const struct doc *module = modules->first; module; module = module->next)
		count += module->text && strncmp(module->text, "layers.", 7) == 0;
	return count;
}

int
torchtitan_read_chunks(const struct key *key, const struct doc *value, struct strategy *strategy,
    struct field_context *context)
{
	int64_t layers[MODEL_MAX_LAYERS];
	int chunks = 0;

	if (doc_is_null(value))
		return 0;
	if (value->kind != DOC_LIST || strategy->pp < 1 || value->count % (size_t)strategy->pp != 0)
		return key_refuse(key, value, context, "a list of lists, a multiple of the stages");
	strategy->vpp = (int64_t)value->count / strategy->pp;
	for (const struct doc *part = value->first; part && chunks < MODEL_MAX_LAYERS;
	     part = part->next)
		layers[chunks++] = count_layers(part);
	strategy->layout = layout_of_counts(context->arena, layers, chunks);
	return 0;
}
