/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where are the experts now? The placement in use, from a file that a tool wrote. */
#include "model/loads_map.h"

#include <string.h>

#include "base/arena.h"
#include "base/doc.h"
#include "base/sha256.h"
#include "base/units.h"
#include "model/loads.h"

enum { MAX_SLOTS = 1 << 16, MAX_CELLS = 8 << 20, COLUMNS = 4 };

/* A map in the making. */
struct map_reader {
	struct arena *arena;
	struct diags *diags;
	struct expert_map *map;
	int *filled; /* [layer] slots met so far */
};

static struct expert_map *
map_new(struct arena *arena, const char *name, int layers, int slots)
{
	struct expert_map *map = arena_alloc(arena, sizeof(*map));

	map->name = name;
	map->layers = layers;
	map->slots = slots;
	map->number = arena_array(arena, (size_t)layers, sizeof(*map->number));
	map->expert = arena_array(arena, (size_t)layers * (size_t)slots, sizeof(int));
	return map;
}

static int
check_expert(struct diags *diags, struct loc loc, int64_t expert)
{
	if (expert >= 0 && expert < LOADS_MAX_EXPERTS)
		return 0;
	return diag_error(diags, loc, "expert %lld: allowed are 0 to %d", (long long)expert,
	    LOADS_MAX_EXPERTS - 1);
}

/* --- JSON --- */

static int
read_slots(struct diags *diags, const struct doc *list, struct expert_map *map, int layer)
{
	int s = 0;

	if (list->kind != DOC_LIST || list->count != (size_t)map->slots)
		return diag_error(diags, list->loc,
		    "a layer is a list of %d experts, as the first is", map->slots);
	for (const struct doc *item = list->first; item; item = item->next, s++) {
		if (!item->is_integer)
			return diag_error(diags, item->loc,
			    "slot %d holds %s: an integer is wanted", s, doc_kind_name(item->kind));
		if (check_expert(diags, item->loc, item->integer) != 0)
			return -1;
		map->expert[layer * map->slots + s] = (int)item->integer;
	}
	return 0;
}

static int
check_size(struct diags *diags, struct loc loc, size_t layers, size_t slots)
{
	if (layers >= 1 && layers <= LOADS_MAX_LAYERS && slots >= 1 && slots <= MAX_SLOTS &&
	    layers * slots <= MAX_CELLS)
		return 0;
	return diag_error(diags, loc,
	    "%zu layers of %zu slots: allowed are 1 to %d layers of 1 to %d", layers, slots,
	    LOADS_MAX_LAYERS, MAX_SLOTS);
}

/* [layer][slot] */
static struct expert_map *
read_lists(struct arena *arena, struct diags *diags, const char *name, const struct doc *lists)
{
	size_t slots = lists->kind == DOC_LIST && lists->first && lists->first->kind == DOC_LIST
			   ? lists->first->count
			   : 0;
	struct expert_map *map;
	int l = 0;

	if (slots == 0) {
		diag_error(diags, lists->loc, "a map is a list of layers, each a list of experts");
		return NULL;
	}
	if (check_size(diags, lists->loc, lists->count, slots) != 0)
		return NULL;
	map = map_new(arena, name, (int)lists->count, (int)slots);
	for (const struct doc *list = lists->first; list; list = list->next, l++) {
		map->number[l] = l;
		if (read_slots(diags, list, map, l) != 0)
			return NULL;
	}
	return map;
}

/* layers: [{layer, expert_of_slot: []}] */
static struct expert_map *
read_document(struct arena *arena, struct diags *diags, const char *name, const struct doc *layers)
{
	const struct doc *first = doc_get(layers->first, "expert_of_slot");
	struct expert_map *map;
	size_t slots = first ? first->count : 0;
	int l = 0;

	if (check_size(diags, layers->loc, layers->count, slots) != 0)
		return NULL;
	map = map_new(arena, name, (int)layers->count, (int)slots);
	map->named = true;
	for (const struct doc *layer = layers->first; layer; layer = layer->next, l++) {
		const struct doc *number = doc_get(layer, "layer");
		const struct doc *list = doc_get(layer, "expert_of_slot");

		if (!number || !number->is_integer || !list) {
			diag_error(
			    diags, layer->loc, "a layer has the keys 'layer' and 'expert_of_slot'");
			return NULL;
		}
		map->number[l] = number->integer;
		if (read_slots(diags, list, map, l) != 0)
			return NULL;
	}
	return map;
}

static struct expert_map *
read_json(
    struct arena *arena, struct diags *diags, const char *name, const char *text, size_t length)
{
	const struct doc *doc = doc_parse(arena, diags, name, text, length), *map, *layers;

	if (!doc)
		return NULL;
	if (doc->kind == DOC_LIST)
		return read_lists(arena, diags, name, doc);
	map = doc_get(doc, "physical_to_logical_map");
	layers = doc_get(doc, "layers");
	if (map)
		return read_lists(arena, diags, name, map);
	if (layers && layers->kind == DOC_LIST && layers->first)
		return read_document(arena, diags, name, layers);
	diag_error(
	    diags, doc->loc, "'%s' has neither 'physical_to_logical_map' nor 'layers'", name);
	return NULL;
}

/* --- CSV --- */

/* The four integers of a row. */
static int
read_row(struct diags *diags, const char *name, int number, char *line, int64_t value[COLUMNS])
{
	static const char *const columns[COLUMNS] = {"layer", "slot", "gpu", "expert"};
	struct loc loc = {name, number, 1};
	char *at = line;

	for (int c = 0; c < COLUMNS; c++) {
		size_t length = at ? strcspn(at, ",\r\n") : 0;
		char *cell = at;

		loc.column = at ? (int)(at - line) + 1 : 0;
		if (length == 0)
			return diag_error(diags, loc, "there is no %s", columns[c]);
		at = cell[length] == ',' ? cell + length + 1 : NULL;
		cell[length] = '\0';
		if (!units_parse_integer(cell, &value[c]))
			return diag_error(
			    diags, loc, "%s is '%.40s': an integer is wanted", columns[c], cell);
	}
	return at ? diag_error(diags, loc, "more than layer, slot, gpu and expert") : 0;
}

/* Layers and slots of the file: one past the greatest slot, different layers. */
static int
count_rows(struct map_reader *r, const char *name, const char *text, int *layers, int *slots)
{
	int64_t last = 0, value[COLUMNS] = {0};
	const char *at = strchr(text, '\n');
	int number = 1;

	*layers = *slots = 0;
	for (; at && at[1]; at = strchr(at + 1, '\n')) {
		struct loc loc = {name, ++number, 1};
		struct arena_mark mark = arena_mark(r->arena);
		char *line = arena_strndup(r->arena, at + 1, strcspn(at + 1, "\r\n"));

		if (line[0] == '\0')
			continue;
		if (read_row(r->diags, name, number, line, value) != 0)
			return -1;
		arena_reset(r->arena, mark);
		if (*layers == 0 || value[0] != last)
			++*layers;
		last = value[0];
		if (value[1] < 0 || value[1] >= MAX_SLOTS)
			return diag_error(r->diags, loc, "slot %lld: allowed are 0 to %d",
			    (long long)value[1], MAX_SLOTS - 1);
		if (value[1] >= *slots)
			*slots = (int)value[1] + 1;
		if (check_size(r->diags, loc, (size_t)*layers, (size_t)*slots) != 0)
			return -1;
	}
	return check_size(r->diags, (struct loc){name, 1, 1}, (size_t)*layers, (size_t)*slots);
}

static int
fill_rows(struct map_reader *r, const char *name, const char *text)
{
	struct expert_map *map = r->map;
	const char *at = strchr(text, '\n');
	int64_t value[COLUMNS] = {0};
	int layer = -1, number = 1;

	for (; at && at[1]; at = strchr(at + 1, '\n')) {
		struct loc loc = {name, ++number, 1};
		char *line = arena_strndup(r->arena, at + 1, strcspn(at + 1, "\r\n"));

		if (line[0] == '\0')
			continue;
		if (read_row(r->diags, name, number, line, value) != 0 ||
		    check_expert(r->diags, loc, value[3]) != 0)
			return -1;
		if (layer < 0 || value[0] != map->number[layer])
			map->number[++layer] = value[0];
		if (map->expert[layer * map->slots + value[1]] >= 0)
			return diag_error(r->diags, loc, "slot %lld of layer %lld is there twice",
			    (long long)value[1], (long long)value[0]);
		map->expert[layer * map->slots + value[1]] = (int)value[3];
		r->filled[layer]++;
	}
	return 0;
}

static struct expert_map *
read_csv(struct arena *arena, struct diags *diags, const char *name, const char *text)
{
	struct map_reader r = {.arena = arena, .diags = diags};
	struct loc loc = {name, 0, 0};
	int layers, slots;

	if (count_rows(&r, name, text, &layers, &slots) != 0)
		return NULL;
	r.map = map_new(arena, name, layers, slots);
	r.map->named = true;
	r.filled = arena_array(arena, (size_t)layers, sizeof(int));
	memset(r.map->expert, -1, (size_t)layers * (size_t)slots * sizeof(int));
	if (fill_rows(&r, name, text) != 0)
		return NULL;
	for (int l = 0; l < layers; l++)
		if (r.filled[l] != slots) {
			diag_error(diags, loc, "layer %lld has %d of %d slots",
			    (long long)r.map->number[l], r.filled[l], slots);
			return NULL;
		}
	return r.map;
}

struct expert_map *
expert_map_parse(
    struct arena *arena, struct diags *diags, const char *name, const char *text, size_t length)
{
	static const char header[] = "layer,slot,gpu,expert";
	struct expert_map *map;

	if (strncmp(text, header, sizeof(header) - 1) == 0)
		map = read_csv(arena, diags, name, text);
	else
		map = read_json(arena, diags, name, text, length);
	if (map)
		sha256_hex(text, length, map->sha256);
	return map;
}

struct expert_map *
expert_map_read(struct arena *arena, struct diags *diags, const char *path)
{
	size_t length;
	const char *text = doc_read_file(arena, diags, path, &length);

	return text ? expert_map_parse(arena, diags, arena_strdup(arena, path), text, length)
		    : NULL;
}
