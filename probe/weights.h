/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_WEIGHTS_H
#define MOEPLAN_WEIGHTS_H

#include "planner/tensors.h"
#include "probe/session.h"
#include "probe/shape.h"

/* Over which ranks a gradient is summed: where copies of the weight are. */
enum bucket_kind {
	BUCKET_REPLICATED, /* tp, then dp_cp: each rank of a tensor group sees other tokens */
	BUCKET_DENSE,	   /* dp_cp */
	BUCKET_EXPERT,	   /* expert_dp */
	BUCKETS
};
extern const char *const bucket_names[BUCKETS + 1];

enum { LAYER_ENDS = -1 };
struct weight {
	struct tensor tensor; /* the whole one */
	uint64_t name;
	int64_t layer;		   /* LAYER_ENDS: embedding, head */
	int64_t count, rows, cols; /* here */
	int64_t first_matrix, first_row, first_col;
	enum bucket_kind bucket;
	int64_t offset; /* elements into the bucket */
};

/* All weights of one kind of reduction, in one piece each. */
struct bucket {
	int64_t elements, padded,
	    shard; /* padded: a multiple of the group; shard: the optimizer's part */
	enum group group;
	void *weights;				/* act, padded */
	float *gradient;			/* padded */
	float *master, *m, *v, *shard_gradient; /* shard */
};

struct weights {
	int n;
	struct weight *items;
	struct bucket buckets[BUCKETS];
	uint64_t weight_bytes, gradient_bytes, optimizer_bytes;
};

/* Whether the last stage holds a second copy of the embedding, whose gradients are added up. */
bool weights_copy_embedding(const struct shape *shape);
/* Every row of the tensor table that the rank's stage holds, cut as the plan cuts it. */
int weights_make(struct session *s, const struct shape *shape, struct weights *weights);
/* Random values by global place, master copies, zero moments. */
int weights_fill(struct session *s, struct weights *weights);
void weights_free(struct session *s, struct weights *weights);
int weights_zero_gradients(struct session *s, struct weights *weights);
/* NULL when the layer has no such weight. */
const struct weight *weight_find(const struct weights *weights, int64_t layer, const char *name);
void *weight_data(const struct session *s, const struct weights *weights, const struct weight *w);
float *weight_gradient(const struct weights *weights, const struct weight *w);

/* Sums gradients over copies, updates, and gives the updated weights back to all copies. */
int weights_reduce(struct session *s, const struct shape *shape, struct weights *weights);
int weights_update(struct session *s, const struct shape *shape, struct weights *weights, int step);

#endif
