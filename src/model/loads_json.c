/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What does a JSON file of counts say?
 *
 * A list [layer][expert] or [layer][node][expert], or an object:
 *     counts: one of those two       snapshots: a list of [layer][expert], one a moment
 *     logical_count: as SGLang's expert distribution, [layer][expert] or a list of those
 *     layers, nodes, domains: their names     top_k: experts a token picks
 *     pairs: [layer][expert][expert], picked together by one token
 *     transitions: [layer][expert here][expert in the next layer], one less than layers
 */
#include <string.h>

#include "base/arena.h"
#include "base/doc.h"
#include "base/str.h"
#include "model/loads_private.h"

struct json {
	struct arena *arena;
	struct diags *diags;
	struct loads_builder builder;
	const struct doc *layers, *sources; /* names, or NULL */
	double *count;
};

static int
json_error(struct json *json, const struct doc *doc, const char *message)
{
	return diag_error(json->diags, doc->loc, "%s", message);
}

/* Lists inside lists: 2 for [[1, 2]]. The first items decide. */
static int
depth_of(const struct doc *doc)
{
	int depth = 0;

	for (; doc && doc->kind == DOC_LIST; doc = doc->first)
		depth++;
	return depth;
}

static const struct doc *
innermost(const struct doc *doc)
{
	while (doc->first && doc->first->kind == DOC_LIST)
		doc = doc->first;
	return doc;
}

/* A list of `n` counts. */
static int
read_numbers(struct json *json, const struct doc *list, size_t n, double *value)
{
	size_t i = 0;

	if (list->kind != DOC_LIST || list->count != n)
		return json_error(json, list,
		    list->kind != DOC_LIST
			? arena_printf(json->arena,
			      "%s stands where a list of %zu counts is wanted",
			      doc_kind_name(list->kind), n)
			: arena_printf(json->arena, "the list has %zu counts, others have %zu",
			      list->count, n));
	for (const struct doc *item = list->first; item; item = item->next, i++) {
		if (item->kind != DOC_NUMBER)
			return json_error(json, item,
			    arena_printf(json->arena, "expert %zu is %s: a number is wanted", i,
				doc_kind_name(item->kind)));
		if (!(item->number >= 0 && item->number <= LOADS_MAX_COUNT))
			return loads_check_count(json->diags, item->loc,
			    arena_printf(json->arena, "expert %zu", i), item->number);
		value[i] = item->number;
	}
	return 0;
}

static int
layer_number(struct json *json, size_t index, int64_t *number)
{
	const struct doc *item = doc_item(json->layers, index);

	*number = (int64_t)index;
	if (!json->layers)
		return 0;
	if (!item || !item->is_integer)
		return json_error(
		    json, item ? item : json->layers, "'layers' names each layer by an integer");
	*number = item->integer;
	return 0;
}

static int
source_name(struct json *json, size_t index, const char **name)
{
	const struct doc *item = doc_item(json->sources, index);

	*name = arena_printf(json->arena, "%zu", index);
	if (!json->sources)
		return 0;
	if (!item || !item->text)
		return json_error(json, item ? item : json->sources,
		    "'nodes' or 'domains' has a name for each source");
	*name = item->text;
	return 0;
}

static int
add_row(struct json *json, const struct doc *list, int64_t layer, const char *snapshot,
    const char *source)
{
	if (read_numbers(json, list, (size_t)json->builder.experts, json->count) != 0)
		return -1;
	return builder_row(&json->builder, list->loc, layer, snapshot, source, json->count);
}

/* [layer][expert] or [layer][source][expert] */
static int
read_layers(struct json *json, const struct doc *list, int depth, const char *snapshot)
{
	size_t l = 0;

	if (json->layers && json->layers->count != list->count)
		return json_error(json, json->layers,
		    arena_printf(json->arena, "'layers' has %zu names, there are %zu layers",
			json->layers->count, list->count));
	for (const struct doc *layer = list->first; layer; layer = layer->next, l++) {
		int64_t number;
		size_t s = 0;

		if (layer_number(json, l, &number) != 0)
			return -1;
		if (depth == 2) {
			if (add_row(json, layer, number, snapshot, "") != 0)
				return -1;
			continue;
		}
		if (layer->kind != DOC_LIST)
			return json_error(json, layer, "a list of sources is wanted here");
		for (const struct doc *row = layer->first; row; row = row->next, s++) {
			const char *name;

			if (source_name(json, s, &name) != 0 ||
			    add_row(json, row, number, snapshot, name) != 0)
				return -1;
		}
	}
	return 0;
}

static int
read_snapshots(struct json *json, const struct doc *list)
{
	size_t t = 0;

	for (const struct doc *one = list->first; one; one = one->next, t++) {
		if (one->kind != DOC_LIST)
			return json_error(json, one, "a list of layers is wanted here");
		if (read_layers(json, one, 2, arena_printf(json->arena, "%zu", t)) != 0)
			return -1;
	}
	return 0;
}

/* The table of counts under its key; `time`: three levels are snapshots, not sources. */
static struct loads *
read_table(struct json *json, const struct doc *table, bool time)
{
	int depth = depth_of(table);
	int64_t experts = table->kind == DOC_LIST ? (int64_t)innermost(table)->count : 0;

	if (depth < 2 || depth > 3) {
		json_error(json, table,
		    time ? "counts are lists: [layer][expert], or one such table a snapshot"
			 : "counts are lists: [layer][expert] or [layer][node][expert]");
		return NULL;
	}
	if (loads_check_experts(json->diags, table->loc, experts) != 0)
		return NULL;
	json->builder.experts = (int)experts;
	json->count = arena_array(json->arena, (size_t)experts, sizeof(double));
	if (depth == 3 && time ? read_snapshots(json, table) != 0
			       : read_layers(json, table, depth, "") != 0)
		return NULL;
	return builder_finish(&json->builder, "JSON counts");
}

/* [layer][expert][expert]; transitions have one layer less. */
static int
read_matrices(struct json *json, const struct loads *loads, const struct doc *list, bool symmetric,
    float **to)
{
	size_t n = (size_t)loads->experts, wanted = (size_t)loads->layers - !symmetric;
	int layer = 0;

	if (list->kind != DOC_LIST || list->count != wanted)
		return json_error(json, list,
		    arena_printf(json->arena, "'%s' is a list of %zu matrices", list->key, wanted));
	if (n > LOADS_MAX_PAIR_EXPERTS)
		return json_error(json, list,
		    arena_printf(json->arena, "pairs of %zu experts: allowed are %d at most", n,
			LOADS_MAX_PAIR_EXPERTS));
	for (const struct doc *matrix = list->first; matrix; matrix = matrix->next, layer++) {
		size_t i = 0;

		if (matrix->kind != DOC_LIST || matrix->count != n)
			return json_error(json, matrix, "a matrix has a row for each expert");
		to[layer] = arena_array(json->arena, n * n, sizeof(float));
		for (const struct doc *row = matrix->first; row; row = row->next, i++) {
			if (read_numbers(json, row, n, json->count) != 0)
				return -1;
			for (size_t j = 0; j < n; j++)
				to[layer][i * n + j] = (float)json->count[j];
		}
		for (i = 0; i < n * n && symmetric; i++)
			if (to[layer][i] != to[layer][i % n * n + i / n])
				return json_error(json, matrix,
				    arena_printf(json->arena,
					"experts %zu and %zu are picked together "
					"more often in one row than in the other",
					i / n, i % n));
	}
	return 0;
}

static const char *const keys[] = {"counts", "snapshots", "logical_count", "layers", "nodes",
    "domains", "top_k", "pairs", "transitions", "schema", NULL};

static int
check_keys(struct json *json, const struct doc *map)
{
	int result = 0;

	for (const struct doc *member = map->first; member; member = member->next) {
		const char *near;
		int i = 0;

		while (keys[i] && strcmp(keys[i], member->key) != 0)
			i++;
		if (keys[i])
			continue;
		near = str_nearest(member->key, keys);
		result =
		    diag_error(json->diags, member->key_loc, "loads have no '%.60s'", member->key);
		if (near)
			diag_last_hint(json->diags, "did you mean '%s'?", near);
	}
	return result;
}

static struct loads *
read_map(struct json *json, const struct doc *map)
{
	const struct doc *counts = doc_get(map, "counts"), *pairs = doc_get(map, "pairs");
	const struct doc *time = doc_get(map, "snapshots"), *top_k = doc_get(map, "top_k");
	const struct doc *transitions = doc_get(map, "transitions");
	struct loads *loads;

	if (check_keys(json, map) != 0)
		return NULL;
	time = time ? time : doc_get(map, "logical_count");
	json->layers = doc_get(map, "layers");
	json->sources = doc_get(map, "nodes");
	json->builder.kind = LOADS_NODES;
	if (!json->sources && (json->sources = doc_get(map, "domains")) != NULL)
		json->builder.kind = LOADS_DOMAINS;
	if (!counts == !time) {
		json_error(json, map, "one of 'counts', 'snapshots' and 'logical_count' is wanted");
		return NULL;
	}
	loads = read_table(json, counts ? counts : time, time != NULL);
	if (!loads || (pairs && read_matrices(json, loads, pairs, true, loads->pairs) != 0) ||
	    (transitions && read_matrices(json, loads, transitions, false, loads->next) != 0))
		return NULL;
	if (top_k &&
	    !(top_k->is_integer && top_k->integer >= 1 && top_k->integer <= loads->experts)) {
		json_error(json, top_k, "'top_k' is an integer, at most the number of experts");
		return NULL;
	}
	loads->top_k = top_k ? top_k->integer : 0;
	return loads;
}

struct loads *
loads_json_read(struct lines *lines)
{
	struct json json = {.arena = lines->arena, .diags = lines->diags};
	struct doc *doc;
	size_t length;
	char *text = lines_rest(lines, &length);

	if (!text)
		return NULL;
	doc = doc_parse(lines->arena, lines->diags, lines->name, text, length);
	if (!doc)
		return NULL;
	builder_init(&json.builder, lines->arena, lines->diags, lines->name, 0);
	json.builder.kind = LOADS_NODES;
	if (doc->kind == DOC_MAP)
		return read_map(&json, doc);
	return read_table(&json, doc, false);
}
