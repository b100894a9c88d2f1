/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which strategy for which model on which machine does a document of ours hold?
 *
 * Reads moeplan/plan/v1 (its best plan) and moeplan/estimate/v1. Derived sizes are
 * derived again and compared, never believed: a document that was edited into a
 * contradiction is an error. The rules hold once more, since a document may be older
 * than they are.
 */
#include <string.h>

#include "base/arena.h"
#include "emit/emit.h"

struct reader {
	struct field_context context;
	const char *name;
	struct loc loc;
};

/* Sizes that follow from the others; the document's must agree with ours. */
static const struct {
	const char *key;
	size_t offset;
} derived_sizes[] = {
    {"micro_batches", offsetof(struct strategy, micro_batches)},
    {"experts_per_rank", offsetof(struct strategy, experts_per_rank)},
};
static const char *const not_options[] = {"micro_batches", "experts_per_rank", "sequence_parallel",
    "framework_version", "framework", NULL};

static bool
is_listed(const char *const *list, const char *word)
{
	while (*list && strcmp(*list, word) != 0)
		list++;
	return *list != NULL;
}

/* The options alone: what is null was not chosen. */
static const struct doc *
options_of(struct arena *arena, const struct doc *map)
{
	struct doc *options = doc_new_map(arena, map->loc);
	struct doc **last = &options->first;

	for (const struct doc *member = map->first; member; member = member->next) {
		if (member->kind == DOC_NULL || is_listed(not_options, member->key))
			continue;
		*last = arena_alloc(arena, sizeof(**last));
		**last = *member;
		(*last)->next = NULL;
		last = &(*last)->next;
		options->count++;
	}
	return options;
}

/* "megatron" and, where it was asked for, a release. */
static int
read_framework(struct reader *r, const struct doc *map, struct strategy *strategy)
{
	const struct doc *framework = doc_get(map, "framework");
	const struct doc *version = doc_get(map, "framework_version");
	struct doc *text = doc_new_map(r->context.arena, map->loc);

	if (!framework || !framework->text)
		return diag_error(r->context.diags, map->loc, "the strategy names no framework");
	doc_add_scalar(r->context.arena, text, "framework",
	    version && version->text
		? arena_printf(r->context.arena, "%s@%s", framework->text, version->text)
		: framework->text,
	    framework->loc);
	return field_read(
	    field_find(strategy_fields, "framework"), strategy, text->first, &r->context);
}

static int
check_derived(struct reader *r, const struct doc *map, const struct strategy *strategy)
{
	for (size_t i = 0; i < sizeof(derived_sizes) / sizeof(*derived_sizes); i++) {
		const struct doc *said = doc_get(map, derived_sizes[i].key);
		int64_t size = *(const int64_t *)(const void *)((const char *)strategy +
								derived_sizes[i].offset);

		if (said && (!said->is_integer || said->integer != size))
			return diag_error(r->context.diags, said->loc,
			    "'%s' is %.20s, but the other sizes make it %lld", said->key,
			    said->text ? said->text : doc_kind_name(said->kind), (long long)size);
	}
	return 0;
}

static int
read_strategy(
    struct reader *r, const struct doc *map, const struct doc *layout, struct plan_view *plan)
{
	struct strategy *strategy = &plan->strategy;

	strategy_init(strategy);
	if (!map || map->kind != DOC_MAP)
		return diag_error(r->context.diags, r->loc, "'%s' holds no strategy", r->name);
	if (read_framework(r, map, strategy) != 0 ||
	    fields_read(strategy_fields, strategy, options_of(r->context.arena, map), NULL,
		&r->context) != 0)
		return -1;
	if (strategy->pp > 1 && layout)
		strategy->layout = layout->text;
	strategy_derive(strategy, plan->model, 0);
	if (strategy_violations(strategy, plan->model, r->context.diags) > 0)
		return -1;
	if (strategy->seq_len < 1 || strategy->global_batch < 1)
		return diag_error(r->context.diags, map->loc,
		    "the strategy has no sequence length or no global batch");
	return check_derived(r, map, strategy);
}

static int
read_layout(struct reader *r, const struct doc *layout, struct plan_view *plan)
{
	struct strategy *s = &plan->strategy;

	if (!layout || layout->kind != DOC_STRING)
		return diag_error(r->context.diags, r->loc, "'%s' holds no layout", r->name);
	if (layout_parse(&plan->layout, layout->text, plan->model, (int)s->pp, r->context.diags,
		layout->loc) != 0)
		return -1;
	if (plan->layout.vpp != s->vpp)
		return diag_error(r->context.diags, layout->loc,
		    "the layout has %d chunks a stage, the strategy %lld", plan->layout.vpp,
		    (long long)s->vpp);
	return 0;
}

static int
read_model(struct reader *r, const struct doc *doc, struct plan_view *plan)
{
	const struct doc *summary = doc_get(doc, "model");
	const struct doc *name = doc_get(summary, "name");
	/* Notes on how a config.json was read were told when the plan was made. */
	struct diags *notes = diags_new(r->context.arena);

	plan->definition = doc_get(doc, "model_definition");
	if (doc_is_null(plan->definition) || plan->definition->kind != DOC_MAP) {
		diag_error(r->context.diags, r->loc, "'%s' does not hold the model", r->name);
		diag_last_hint(r->context.diags, "make the document again with this version");
		return -1;
	}
	plan->model = model_read(
	    r->context.arena, notes, plan->definition, name && name->text ? name->text : r->name);
	if (!plan->model)
		return diag_error(r->context.diags, plan->definition->loc,
		    "the model cannot be read: %s",
		    notes->first ? notes->last->message : "no reason is given");
	return 0;
}

static int
read_size(struct reader *r, const struct doc *map, const char *key, int64_t *size)
{
	const struct doc *value = doc_get(map, key);

	if (!value || !value->is_integer || value->integer < 1 || value->integer > 1 << 20)
		return diag_error(r->context.diags, map ? map->loc : r->loc,
		    "'%s' is missing or no integer from 1 to %d", key, 1 << 20);
	*size = value->integer;
	return 0;
}

/* Whole nodes as far as they are needed; a plan may use fewer than the cluster has. */
static int
read_machine(struct reader *r, const struct doc *cluster, struct plan_view *plan)
{
	const struct doc *gpu = doc_get(cluster, "gpu");
	int64_t world = plan->strategy.world;

	if (read_size(r, cluster, "gpus_per_node", &plan->gpus_per_node) != 0)
		return -1;
	if (plan->gpus_per_node > world)
		plan->gpus_per_node = world;
	if (world % plan->gpus_per_node != 0) {
		diag_error(r->context.diags, r->loc,
		    "%lld GPUs are not whole nodes of %lld: launchers start equally many a node",
		    (long long)world, (long long)plan->gpus_per_node);
		return -1;
	}
	plan->nodes = world / plan->gpus_per_node;
	plan->gpu = gpu && gpu->text ? gpu->text : NULL;
	return 0;
}

/* The map that holds strategy and layout: the document, or a plan's best. */
static const struct doc *
find_body(struct reader *r, const struct doc *doc)
{
	const struct doc *schema = doc_get(doc, "schema");
	const struct doc *best = doc_get(doc, "best");
	bool is_plan = schema && schema->text && strcmp(schema->text, "moeplan/plan/v1") == 0;

	if (!is_plan &&
	    !(schema && schema->text && strcmp(schema->text, "moeplan/estimate/v1") == 0)) {
		diag_error(r->context.diags, schema ? schema->loc : r->loc,
		    "'%s' is no plan: its schema is not moeplan/plan/v1 or moeplan/estimate/v1",
		    r->name);
		diag_last_hint(r->context.diags,
		    "make one: moeplan plan MODEL CLUSTER ... --format json --output plan.json");
		return NULL;
	}
	if (is_plan && (doc_is_null(best) || best->kind != DOC_MAP)) {
		diag_error(r->context.diags, r->loc, "'%s' found no strategy that fits", r->name);
		return NULL;
	}
	return is_plan ? best : doc;
}

struct plan_view *
plan_read(struct arena *arena, struct diags *diags, const struct doc *doc, const char *name)
{
	struct reader r = {{arena, diags}, name, doc->loc};
	struct plan_view *plan = arena_alloc(arena, sizeof(*plan));
	const struct doc *body = find_body(&r, doc);

	if (!body || read_model(&r, doc, plan) != 0 ||
	    read_strategy(&r, doc_get(body, "strategy"), doc_get(body, "layout"), plan) != 0 ||
	    read_layout(&r, doc_get(body, "layout"), plan) != 0 ||
	    read_machine(&r, doc_get(doc, "cluster"), plan) != 0)
		return NULL;
	return plan;
}
