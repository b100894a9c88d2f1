/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_LAYOUT_H
#define MOEPLAN_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/diag.h"
#include "model/model.h"

/*
 * Which layers a pipeline stage holds. Chunk c = v*pp + s is virtual stage v of
 * stage s (in a V the second ones run back up: c = 2*pp-1 - s) and holds layers
 * [first[c], first[c+1]). The embedding is on chunk 0,
 * the final norm, loss head and MTP layers on the last chunk.
 */
enum { LAYOUT_MAX_CHUNKS = MODEL_MAX_LAYERS + 2 };
struct layout {
	int pp, vpp;
	int16_t first[LAYOUT_MAX_CHUNKS + 1];
	/*
	 * Chunks between the MTP layers and the last one; 0: they are on the last, as said above.
	 */
	int16_t mtp_back;
	bool vee;
};

/*
 * As even as can be: the remainder goes to inner chunks first, where neither embedding nor
 * head is.
 */
void layout_even(struct layout *layout, int64_t layers, int pp, int vpp);
/* Layers of kind `kind` in chunk c. */
int layout_count(const struct layout *layout, const struct model *model, int chunk, int kind);
/* The chunk that is virtual stage v of a stage, and the stage that holds a chunk. */
int layout_chunk(const struct layout *layout, int stage, int v);
int layout_stage(const struct layout *layout, int chunk);
int layout_stage_layers(const struct layout *layout, int stage);

/*
 * Megatron's --pipeline-model-parallel-layout: "Et*3|t*4|…|t*3mL" (| between chunks, t*N
 * repeats).
 */
const char *layout_text(
    struct arena *arena, const struct layout *layout, const struct model *model);
/* The same for chunks of so many layers; NULL where layout_even() makes them so. */
const char *layout_of_counts(struct arena *arena, const int64_t *layers, int chunks);
/* It is what layout_even() makes of as many layers and chunks. */
bool layout_text_is_even(const char *text);
/* Chunks of that form, 0 when it does not parse. */
int layout_chunks(const char *text);
/* The same, with its decoder and MTP layers. */
int layout_sizes(const char *text, int *layers, int *mtp);
/* Parses that form; -1 after adding errors naming the item. */
int layout_parse(struct layout *layout, const char *text, const struct model *model, int pp,
    struct diags *diags, struct loc loc);

#endif
