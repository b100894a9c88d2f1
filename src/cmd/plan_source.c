/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What would somebody write by hand to get this plan? A plan or an estimate as a combined file:
 * its model, its cluster, and the options of its strategy, so that options beside it change it.
 * What follows from the others (DP, micro-batches …) is left out, or it would hold them in place.
 */
#include <string.h>

#include "base/arena.h"
#include "cmd/cmd.h"

/* A copy of `value` under another key; nothing where there is none. */
static void
add(struct arena *arena, struct doc *map, const char *key, const struct doc *value)
{
	struct doc **end = &map->first, *copy;

	if (!value || doc_is_null(value))
		return;
	while (*end)
		end = &(*end)->next;
	copy = arena_alloc(arena, sizeof(*copy));
	*copy = *value;
	copy->key = key;
	copy->next = NULL;
	*end = copy;
	map->count++;
}

static bool
follows(const char *key)
{
	static const char *const derived[] = {"dp", "edp", "dp_shard", "micro_batches",
	    "experts_per_rank", "sequence_parallel", "framework", "framework_version", NULL};
	int i = 0;

	while (derived[i] && strcmp(derived[i], key) != 0)
		i++;
	return derived[i] != NULL;
}

/* Options that divide the layers in another way leave no room for the plan's division. */
static bool
keeps_layout(const struct doc *layout, const struct strategy *options)
{
	return layout && layout->text && strchr(layout->text, '|') && options->pp == 0 &&
	       options->vpp == 0;
}

static struct doc *
strategy_of(struct arena *arena, const struct doc *body, const struct strategy *options)
{
	const struct doc *strategy = doc_get(body, "strategy"), *layout = doc_get(body, "layout");
	const struct doc *framework = doc_get(strategy, "framework");
	const struct doc *version = doc_get(strategy, "framework_version");
	struct doc *map = doc_new_map(arena, strategy->loc);

	if (framework && framework->text && version && version->text)
		doc_add_scalar(arena, map, "framework",
		    arena_printf(arena, "%s@%s", framework->text, version->text),
		    framework->loc);
	else
		add(arena, map, "framework", framework);
	for (const struct doc *member = strategy->first; member; member = member->next)
		if (!follows(member->key))
			add(arena, map, member->key, member);
	if (keeps_layout(layout, options))
		add(arena, map, "layout", layout);
	return map;
}

const struct doc *
plan_as_combined(struct arena *arena, const struct doc *doc, const struct strategy *options,
    const char **model_name)
{
	const struct doc *schema = doc_get(doc, "schema"), *best = doc_get(doc, "best");
	const struct doc *name = doc_get(doc_get(doc, "model"), "name");
	const char *kind = schema && schema->kind == DOC_STRING ? schema->text : "";
	const struct doc *body = strcmp(kind, "moeplan/plan/v1") == 0	    ? best
				 : strcmp(kind, "moeplan/estimate/v1") == 0 ? doc
									    : NULL;
	const struct doc *strategy = body ? doc_get(body, "strategy") : NULL;
	struct doc *map, *job;

	if (!strategy || strategy->kind != DOC_MAP)
		return NULL;
	map = doc_new_map(arena, doc->loc);
	job = doc_new_map(arena, doc->loc);
	add(arena, job, "load_skew", doc_get(doc, "load_skew"));
	add(arena, job, "reserve", doc_get(doc, "reserve_bytes"));
	add(arena, map, "model", doc_get(doc, "model_definition"));
	add(arena, map, "cluster", doc_get(doc, "cluster_definition"));
	add(arena, map, "job", job);
	add(arena, map, "strategy", strategy_of(arena, body, options));
	*model_name = name ? name->text : NULL;
	return map;
}
