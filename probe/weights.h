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

/*
 * Copies of a weight's matrices on several ranks of one group: blocks that are summed over it, and
 * which block each matrix here belongs to, -1 none. n 0: no copies.
 */
struct copies {
	enum group group;
	int64_t n, elements; /* blocks, floats in each */
	int32_t *block;	     /* [count] */
};

enum { LAYER_ENDS = -1 };
/* What is gathered, and whose gradients are reduced, at one time; layers have their number. */
enum { UNIT_EMBEDDING = -1, UNIT_HEAD = -2 };

struct weight {
	struct tensor tensor; /* the whole one */
	uint64_t name;
	int64_t layer;		   /* LAYER_ENDS: embedding, head */
	int64_t count, rows, cols; /* here */
	int64_t first_matrix, first_row, first_col;
	const int *experts; /* of each matrix, where a placement says; NULL: from first_matrix on */
	struct copies copies;
	int unit;
	enum bucket_kind bucket;
	int64_t offset; /* elements into the bucket */
};

/*
 * What is reduced, updated and given back at once: all of a bucket or, when that overlaps with the
 * computation, one layer's weights.
 */
struct piece {
	int64_t layer;		     /* of its first weight */
	int64_t offset, padded;	     /* elements into the bucket; a multiple of the group */
	int64_t shard, shard_offset; /* the optimizer's part, and where it is in its arrays */
	bool
	    early; /* complete with the layer's last backward, not needed before its next forward */
	bool reduced;						  /* in this step */
	enum { PIECE_HERE, PIECE_COMING, PIECE_OUTDATED } others; /* the other ranks' parts */
};

/* All weights of a unit of one kind of reduction. */
struct bucket {
	int64_t padded, shard; /* sums over pieces */
	enum group group;
	int n_pieces;
	struct piece *pieces;
	void *weights;	 /* act, padded; of sharded weights the room that all units share */
	void *own;	 /* act, shard: what is kept of sharded weights, else NULL */
	float *gradient; /* padded; of sharded gradients the room that all units share */
	float *master, *m, *v, *shard_gradient; /* shard */
};
struct unit {
	int64_t id;
	struct bucket buckets[BUCKETS];
};

/* Sharding stages: 1 the optimizer's state, 2 gradients too, 3 weights too. */
struct weights {
	int n, n_units, stage;
	bool master_weights; /* FSDP2's: the float copies are the weights, bf16 is for the step */
	struct weight *items;
	struct unit *units;	     /* one of everything below stage 2 */
	int entered, depth;	     /* the unit that is gathered; how often it was entered */
	void *room_weights[BUCKETS]; /* of stages 3 and 2: for the largest unit */
	float *room_gradient[BUCKETS], *room_sum[BUCKETS];
	int64_t most_padded[BUCKETS], most_shard[BUCKETS];
	/* What is early is reduced and given back beside the computation: as planned, and now. */
	bool planned, overlap;
	float *copies; /* room to sum up copies in, copies_elements floats */
	int64_t copies_elements;
	int32_t *rows; /* device: 0, 1, 2 … copies_rows - 1, for plain copies */
	int64_t copies_rows;
	uint64_t weight_bytes, gradient_bytes, optimizer_bytes, room_bytes;
};

/* copies.c: which matrices of a placed weight have copies elsewhere. */
void copies_of_heads(struct weight *w, struct arena *arena, int64_t parts, const struct session *s);
void copies_of_experts(struct weight *w, struct arena *arena, const int *placed, int64_t slots);
int copies_make(struct session *s, struct weights *weights);
void copies_free(struct session *s, struct weights *weights);
/* Of the weights of one unit. */
int copies_reduce(struct session *s, struct weights *weights, int unit);

/* shards.c: memory of all units, from their pieces on. */
int shards_make(struct session *s, struct weights *weights);
void shards_free(struct session *s, struct weights *weights);
/*
 * Around all that uses a unit's weights (and, backward, their gradients): gathers what is sharded,
 * and reduces gradients that are. Nothing to do below stage 2. One unit at a time; the same one may
 * be entered again inside.
 */
int unit_enter(struct session *s, struct weights *weights, int64_t id);
int unit_leave(struct session *s, struct weights *weights);

/* Whether the last stage holds a second copy of the embedding, whose gradients are added up. */
bool weights_copy_embedding(const struct shape *shape);
/* Every row of the tensor table that the rank's stage holds, cut as the plan cuts it. */
int weights_make(struct session *s, const struct shape *shape, struct weights *weights);
/* Random values by global place, master copies, zero moments. */
int weights_fill(struct session *s, struct weights *weights);
void weights_free(struct session *s, struct weights *weights);
/* NULL when the layer has no such weight. */
const struct weight *weight_find(const struct weights *weights, int64_t layer, const char *name);
/* Which of the whole tensor's matrices the i-th one here is. */
static inline int64_t
weight_matrix(const struct weight *w, int64_t i)
{
	return w->experts ? w->experts[i] : w->first_matrix + i;
}
void *weight_data(const struct session *s, const struct weights *weights, const struct weight *w);
float *weight_gradient(const struct weights *weights, const struct weight *w);

/* reduce.c: clears gradients, sums gradients over copies, updates, gives the updated weights back
 * to all copies. */
void pieces_make(const struct session *s, const struct shape *shape, struct weights *weights);
const struct piece *piece_at(const struct bucket *b, int64_t element);
/* The first element of the bucket that the optimizer has of this piece. */
int64_t piece_first(const struct session *s, const struct bucket *b, const struct piece *piece);
/* Sums what every rank of a tensor-parallel group, and every copy, has of a unit's gradients. */
int unit_sum(struct session *s, struct weights *weights, int unit);
int weights_begin(struct session *s, struct weights *weights);
int weights_reduce(struct session *s, const struct shape *shape, struct weights *weights);
/* With overlap a layer's weights come back with weights_need(). */
int weights_update(struct session *s, struct weights *weights, int step);
/* Behind the layer's last backward of the step; before its forward. */
int weights_early(struct session *s, struct weights *weights, int64_t layer);
int weights_need(struct session *s, struct weights *weights, int64_t layer);
/* Overlaps from now on where that is planned, or no more; whether it is planned. */
bool weights_overlap(struct weights *weights, bool on);
/* All weights of all layers. */
int weights_settle(struct session *s, struct weights *weights);

#endif
