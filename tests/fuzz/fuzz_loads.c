/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Can any file of loads, or any map, make its reader crash, hang or contradict itself?
 *
 * Either there are loads and no error, or an error and no loads. Counts are finite and
 * not negative, every layer has tokens. What is small is then placed on GPUs that divide its
 * experts, and the placement must pass its own check.
 */
#include <math.h>
#include <stdint.h>

#include "base/arena.h"
#include "model/loads.h"
#include "model/loads_map.h"
#include "planner/placement.h"
#include "promise.h"

enum { SMALL_EXPERTS = 32, SMALL_ROWS = 64 };

static void
check_loads(const struct loads *loads)
{
	check(loads->layers >= 1 && loads->layers <= LOADS_MAX_LAYERS);
	check(loads->experts >= 2 && loads->experts <= LOADS_MAX_EXPERTS);
	check(loads->sources >= 1 && loads->snapshots >= 1 && loads->name);
	for (int l = 0; l < loads->layers; l++) {
		double sum = 0;

		check(l == 0 || loads->number[l - 1] < loads->number[l]);
		for (int t = 0; t < loads->snapshots; t++)
			for (int s = 0; s < loads->sources; s++)
				for (int e = 0; e < loads->experts; e++) {
					double count = loads_row(loads, l, t, s)[e];

					check(isfinite(count) && count >= 0);
					sum += count;
				}
		check(sum > 0);
	}
	for (int s = 0; s < loads->sources; s++)
		check(loads->source_names[s] != NULL);
}

static void
check_placement(struct arena *arena, struct diags *diags, const struct loads *loads)
{
	struct placement_options options = {.gpus = 1,
	    .nodes = 1,
	    .groups = 2,
	    .quick = true,
	    .price = placement_price_default(1),
	    .capacity = 1.25};
	const struct placement *placement;

	if (loads->experts > SMALL_EXPERTS ||
	    loads->layers * loads->snapshots * loads->sources > SMALL_ROWS)
		return;
	for (int gpus = 2; gpus <= loads->experts && options.gpus == 1; gpus++)
		if (loads->experts % gpus == 0)
			options.gpus = gpus;
	options.slots_per_gpu = loads->experts / options.gpus;
	placement = placement_solve(arena, diags, loads, &options);
	check(placement != NULL);
	check(placement_verify(placement, loads, &options, diags) == 0);
}

static void
check_map(struct arena *arena, const char *text, size_t size)
{
	struct diags *diags = diags_new(arena);
	const struct expert_map *map = expert_map_parse(arena, diags, "map", text, size);

	check((map != NULL) == (diags->errors == 0));
	for (int i = 0; map && i < map->layers * map->slots; i++)
		check(map->expert[i] >= 0 && map->expert[i] < LOADS_MAX_EXPERTS);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena *arena = arena_new(NULL, NULL);
	struct diags *diags = diags_new(arena);
	char *text = arena_strndup(arena, (const char *)data, size);
	const struct loads *loads = loads_parse(arena, diags, "loads", text, size);

	check((loads != NULL) == (diags->errors == 0));
	if (loads) {
		check_loads(loads);
		check_placement(arena, diags, loads);
	}
	check_map(arena, text, size);
	arena_free(arena);
	return 0;
}
