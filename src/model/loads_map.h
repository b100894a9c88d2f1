/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_LOADS_MAP_H
#define MOEPLAN_LOADS_MAP_H

#include <stddef.h>

#include "base/diag.h"

struct arena;

/* A placement as a file: which expert each slot of each layer holds. */
struct expert_map {
	const char *name;
	int layers, slots;
	int64_t *number; /* [layer]; their order when the file does not name them */
	bool named;
	int *expert; /* [layer][slot] */
	char sha256[65];
};

/*
 * CSV with the header layer,slot,gpu,expert, or JSON with the key
 * physical_to_logical_map ([layer][slot], as EPLB, SGLang and vLLM have it) or
 * with the layers of a `moeplan place` document. NULL after adding errors.
 */
struct expert_map *expert_map_read(struct arena *arena, struct diags *diags, const char *path);
struct expert_map *expert_map_parse(
    struct arena *arena, struct diags *diags, const char *name, const char *text, size_t length);

#endif
