/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_STAGE_H
#define MOEPLAN_STAGE_H

#include "probe/routing.h"
#include "probe/weights.h"

/* What a layer keeps from its forward to its backward. T tokens, M rows, h hidden, U united rows.
 */
struct kept {
	void *x, *n1, *x1, *n2;	      /* T x h; x is the layer's input */
	void *latent, *q, *k, *v, *o; /* M x width */
	void *fc1_dense, *fc1_shared; /* M x 2w */
	void *permuted, *fc1_expert;  /* U x h, U x 2f */
	void *returned; /* slots x h: the experts' outputs, back at their token's rank */
	float *gates;	/* T x top_k */
};

/* Room that all layers share. */
struct scratch {
	void *full, *full2, *part; /* M x h */
	void *latent, *k_all, *v_all, *dk_all, *dv_all, *dq, *dk, *dv, *attention, *scores,
	    *dscores;
	void *wide, *dwide, *narrow, *dnarrow;		    /* M x 2w, M x w */
	void *sent, *received, *members, *united, *united2; /* rows x h */
	void *expert_wide, *expert_narrow, *expert_dnarrow; /* U x 2f, U x f */
	void *logits, *dlogits;				    /* T x E */
	float *dgates;
	void *t1, *t2, *t3; /* T x h */
};

/* Everything that one rank runs the step with. */
struct stage {
	struct session *s;
	const struct shape *shape;
	const struct skew *skew;
	struct weights weights;
	struct routings routings;
	struct scratch scratch;
	struct kept *kept; /* [slot][place in chunk] */
	void **inputs;	   /* [slot]: input of the first layer, then outputs: [slot][place + 1] */
	int slots, places; /* passes alive at most, layers of the largest chunk */
	void **gradients;  /* ring of gradients on their way */
	int n_gradients;
	void *prepared_input, *prepared_gradient; /* T x h, for steps that are only timed */
	bool prepared;
	struct dims widest; /* largest of each width over the stage's layers */
	struct gemm *gemms; /* one a local expert */
	int64_t *counts;    /* 4 a peer, for exchanges */
	int32_t *straight;  /* 0, 1, 2 … on the device: a permutation that copies */
	enum grouped_engine engine;
	uint64_t activation_bytes;
	bool recompute;	     /* only inputs are kept; a layer runs again before its backward */
	struct owned *owned; /* all of the above that has to be released */
};

/* Allocates for the shape; collective (routing, groups must be there). -1 once failed. */
int stage_open(
    struct stage *stage, struct session *s, const struct shape *shape, const struct skew *skew);
void stage_close(struct stage *stage);

/* One layer of one micro-batch. `out` and `dx` are T x h. */
int layer_forward(
    struct stage *stage, int64_t layer, int64_t micro_batch, struct kept *kept, void *out);
int layer_backward(struct stage *stage, int64_t layer, int64_t micro_batch, struct kept *kept,
    const void *dout, void *dx);

/* attention.c, ffn.c: halves of a layer. in/out as in the names of struct kept. */
int attention_forward(struct stage *stage, int64_t layer, const struct dims *d, struct kept *kept);
int attention_backward(struct stage *stage, int64_t layer, const struct dims *d, struct kept *kept,
    const void *dx1, void *dn1);
int ffn_forward(struct stage *stage, int64_t layer, int64_t micro_batch, const struct dims *d,
    struct kept *kept, void *out);
int ffn_backward(struct stage *stage, int64_t layer, int64_t micro_batch, const struct dims *d,
    struct kept *kept, const void *dout, void *dn2);

/* linear.c: y = x W^T and its two gradients; row strides given, W is out x in and dense. */
struct linear {
	int64_t rows, out, in;
	const void *w;
	float *dw;
};
struct linear linear_of(const struct stage *stage, int64_t layer, const char *name, int64_t rows);
int linear_forward(struct stage *stage, const struct linear *l, const void *x, int64_t ldx, void *y,
    int64_t ldy, float beta);
int linear_back_input(struct stage *stage, const struct linear *l, const void *dy, int64_t lddy,
    void *dx, int64_t lddx, float beta);
int linear_back_weight(struct stage *stage, const struct linear *l, const void *dy, int64_t lddy,
    const void *x, int64_t ldx);
/* Rows of the whole tensor-parallel group; `in` itself without one. */
const void *rows_gather(
    struct stage *stage, const void *in, int64_t tokens, int64_t width, void *room);
/* Where partial sums go, and their sum's own rows into `out`; nothing to do without a group. */
void *rows_partial(const struct stage *stage, void *out, void *room);
int rows_reduce(struct stage *stage, const void *partial, int64_t tokens, int64_t width, void *out);
/* Address of an element of an activation. */
void *act_at(const struct stage *stage, const void *base, int64_t element);
int kernel_done(struct stage *stage, int result, const char *what);

#endif
