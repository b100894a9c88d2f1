/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_TENSORS_H
#define MOEPLAN_TENSORS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/model.h"

/*
 * The tensor table: one row a weight. Parameter counts, memory, gradient
 * traffic and what a probe allocates are all sums over these rows.
 */
enum component {
	COMPONENT_EMBEDDING,
	COMPONENT_ATTENTION,     /* or the linear / state-space mixer in its place */
	COMPONENT_DENSE_MLP,
	COMPONENT_ROUTER,
	COMPONENT_EXPERTS,
	COMPONENT_SHARED_EXPERT,
	COMPONENT_NORMS,
	COMPONENT_OTHER,         /* hyper-connections, layer scalars */
	COMPONENT_HEAD,
	COMPONENTS
};
extern const char *const component_names[COMPONENTS + 1]; /* JSON keys */

/* How a weight is split over ranks. */
enum shard {
	SHARD_NONE,   /* on every rank of a tensor-parallel group */
	SHARD_TP,     /* / TP */
	SHARD_KV,     /* / min(TP, kv_heads): KV heads are copied when TP exceeds them */
	SHARD_EXPERT, /* count / EP, one dimension / ETP */
};

struct tensor {
	const char *name;
	enum component component;
	int64_t count;     /* equal matrices: experts, else 1 */
	int64_t rows, cols; /* output and input width; a vector has cols 1 */
	enum shard shard;
	bool split_cols;   /* row-parallel: `cols` is divided, else `rows` */
	bool matmul;       /* multiplies every token it serves: 2*rows*cols FLOP each */
	bool buffer;       /* stored, not trained: router correction biases */
};

enum { TENSORS_MAX = 48 };

/* Rows of one layer of this kind; returns how many. */
size_t tensors_of_layer(const struct model *model, const struct layer_kind *kind,
    struct tensor rows[TENSORS_MAX]);
/* Input embedding (and learned positions). */
size_t tensors_of_embedding(const struct model *model, struct tensor rows[TENSORS_MAX]);
/* Final norm and output head; with a tied embedding the head's row is left out. */
size_t tensors_of_head(const struct model *model, struct tensor rows[TENSORS_MAX]);
/* One MTP layer: projection, norms and its decoder layer. Embedding and head are shared. */
size_t tensors_of_mtp(const struct model *model, struct tensor rows[TENSORS_MAX]);

static inline int64_t
tensor_elements(const struct tensor *t)
{
	return t->count * t->rows * t->cols;
}

#endif
