/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_STAGE_H
#define MOEPLAN_STAGE_H

#include "probe/passes.h"
#include "probe/routing.h"
#include "probe/weights.h"

/*
 * What a layer keeps from its forward to its backward. T tokens, M rows, h hidden, U united rows.
 * What a planned module replays is shared by all layers instead (room.c).
 */
struct kept {
	void *x, *n1, *x1, *n2;		   /* T x h; x is the layer's input */
	void *raw;			   /* T x latent: in front of the latents' norms */
	void *latent, *q, *k, *v, *o;	   /* M x width */
	void *q_raw, *k_raw;		   /* M x width: in front of the heads' norms */
	void *gates_o, *gate_shared;	   /* M x gates, M x 1 */
	void *y1, *y2;			   /* T x h: in front of the norms behind the halves */
	void *fc1_dense, *fc1_shared;	   /* M x 2w */
	void *act_dense, *act_shared;	   /* M x w */
	void *permuted, *fc1_expert, *act; /* U x h, U x 2f, U x f */
	void *returned; /* slots x h: the experts' outputs, back at their token's rank */
	float *gates;	/* T x top_k */
	/* gradients that wait for a pass of their own; the others wait where values were */
	void *dlatent, *dlogits; /* T x latent, T x E */
};

/* A norm, the output head and its loss: the model's own, then one for each MTP module. */
struct head_kept {
	const void *hidden; /* T x h: what the norm sees */
	void *normed;	    /* T x h */
	void *logits;	    /* M x V/TP; after the forward their gradient */
};
struct mtp_kept {
	const void *hidden; /* T x h: of the module before */
	void *embedded;	    /* T x h */
	void *hidden_normed, *embedded_normed, *out;
	struct kept layer;
};

/* Room that all layers share. */
struct scratch {
	void *full, *full2, *part; /* M x h */
	void *latent, *k_all, *v_all, *dk_all, *dv_all, *dq, *dk, *dv, *attention, *scores,
	    *dscores;
	void *dwide, *dnarrow;		    /* M x 2w, M x w */
	void *dgate;			    /* M x gates */
	void *united2;			    /* U x h */
	void *expert_wide, *expert_dnarrow; /* U x 2f, U x f */
	void *logits, *dlogits;		    /* T x E */
	float *dgates;
	void *t1, *t2, *t3, *t4;  /* T x h; t4 where norms stand behind halves */
	void *carried, *mtp_part; /* T x h, M x h/TP */
	float *stats, *all_stats; /* M x 3, TP x M x 3 */
	float *losses;		  /* M */
};

/*
 * Where rows are while they travel and while they wait. Forwards and backwards have a set each when
 * they run in pairs (pairs.c); else both are the same.
 */
struct lane {
	void *sent, *received, *members, *united; /* rows x h */
};

/* The largest of every width over some layers; fc1_width()s where a name does not say _act. */
struct widest {
	int64_t h, tokens, rows;
	int64_t latent, q_width, k_width, v_width, o_width;
	int64_t q_raw, k_raw, gates, shared_gate, behind; /* behind: h with norms there */
	int64_t dense, dense_act, shared, shared_act, expert, expert_act;
	int64_t experts, local_experts, top_k;
	int64_t block; /* scores of one head and sequence */
};

/* What memory is for, beside weights and their like. */
enum room { ROOM_ACTIVATIONS, ROOM_LOGITS, ROOM_BUFFERS, ROOM_ROWS, ROOMS };

/* Everything that one rank runs the step with. */
struct stage {
	struct session *s;
	const struct shape *shape;
	const struct skew *skew;
	struct weights weights;
	struct routings routings;
	struct passes passes;
	struct scratch scratch;
	struct lane lanes[2];  /* of forwards, of backwards */
	struct kept shared[2]; /* what replayed modules keep, likewise */
	struct kept *kept;     /* [slot][place in chunk] */
	void **inputs;	   /* [slot]: input of the first layer, then outputs: [slot][place + 1] */
	bool fetches;	   /* inputs come a pass early: pipeline overlap */
	bool apart;	   /* the pass that runs now leaves gradients of weights, or they are it */
	int slots, places; /* passes alive at most, layers of the largest chunk */
	int head_slots;	   /* passes of the last chunk alive at most; 0 without the last chunk */
	struct head_kept *heads; /* [head slot][1 + MTP modules] */
	struct mtp_kept *mtp;	 /* [head slot][MTP module] */
	void **gradients;	 /* [number of the pass]: of its output, then of its input */
	int n_gradients;
	struct widest widest;
	struct gemm *gemms; /* one a local expert */
	int64_t *counts;    /* 4 a peer, for exchanges */
	int32_t *straight;  /* 0, 1, 2 … on the device: a permutation that copies */
	int32_t *words;	    /* device, [micro-batch][shift][M]: row of the own vocabulary, or -1 */
	int32_t *positions; /* device, [T] */
	int32_t *columns;   /* device, [T * TP]: from columns by rank to whole rows */
	enum grouped_engine engine;
	unsigned replayed; /* enum recompute_module: what selective recompute runs again */
	bool paired;	   /* forwards and backwards run in pairs where the schedule has them */
	unsigned overlap;  /* enum overlap bits: what is not in line now */
	uint64_t bytes[ROOMS];
	struct owned *owned; /* all of the above that has to be released */
};

/* Allocates for the shape; collective (routing, groups must be there). -1 once failed. */
int stage_open(
    struct stage *stage, struct session *s, const struct shape *shape, const struct skew *skew);
void stage_close(struct stage *stage);
/* Whether full recompute runs the layer at this place of its chunk again: the first ones. */
bool stage_replays(const struct stage *stage, int place);

/* The set of the pass that runs now. */
static inline struct lane *
lane_of(struct stage *stage)
{
	return &stage->lanes[stage->s->backward];
}

/*
 * A layer's pass in three parts, between which its rows travel to their experts and back. Forward:
 * attention and router; experts and MLPs; their sum. Backward: the sum; experts and MLPs; router
 * and attention.
 */
enum { LAYER_PARTS = 3 };
struct layer_pass {
	int64_t layer, micro_batch;
	bool backward;
	struct kept *kept;
	const void *dout; /* backward: gradient of the layer's output */
	void *out;	  /* T x h: the output; the gradient of the input */
	/* What the feed-forward half gives, in front of a norm behind it, and the gradient of that.
	 */
	void *half;
	const void *half_back;
	struct dims d;
	bool replays; /* full recompute: the layer runs once more first, its output there */
	void *replay_out;
	bool whole_done; /* what every token passes has run, beside the rows' way */
	/* What travels next; not even `to` is used where the group is one rank. */
	enum part part;
	bool travels, to_experts;
	const void *from;
	void *to;
	const void *rows; /* what has come */
};
struct layer_pass layer_pass_of(struct stage *stage, int64_t layer, int64_t micro_batch,
    bool backward, struct kept *kept, const void *dout, void *out);
int layer_part(struct stage *stage, struct layer_pass *pass, int part);
/* All parts, each behind its rows. */
int layer_run(struct stage *stage, struct layer_pass *pass);
/* Rows set off beside the computation; the computation waits for them. */
int rows_depart(struct stage *stage, struct layer_pass *pass);
int rows_arrive(struct stage *stage, struct layer_pass *pass);

/* layer.c: one layer of one micro-batch. `out` and `dx` are T x h. */
int layer_forward(
    struct stage *stage, int64_t layer, int64_t micro_batch, struct kept *kept, void *out);
int layer_backward(struct stage *stage, int64_t layer, int64_t micro_batch, struct kept *kept,
    const void *dout, void *dx);
/*
 * The gradients of its weights, left over from a layer_backward() with stage->apart, which leaves
 * the gradient of its input where that was. `dout` must still be there.
 */
int layer_weights(
    struct stage *stage, int64_t layer, int64_t micro_batch, struct kept *kept, const void *dout);
/* The whole layer once more, in front of its backward. */
int layer_replay(
    struct stage *stage, int64_t layer, int64_t micro_batch, struct kept *kept, void *out);
/* pairs.c: a chunk's layers of one pass, in their order; unit and weights come and go with them. */
struct chunk_pass {
	struct layer_pass *layers;
	int n;
	bool final; /* backward: the last of the step, so that gradients of weights may be summed */
};
int chunk_run(struct stage *stage, const struct chunk_pass *chunk);
int chunks_pair(
    struct stage *stage, const struct chunk_pass *forward, const struct chunk_pass *backward);

/*
 * A norm by its place in a weight of several, and its bias by that of the bias, 0 none;
 * din = its gradient + `residual` (NULL none).
 */
struct norm {
	int64_t layer;
	const char *name;
	int which, bias;
};
int norm_forward(struct stage *stage, struct norm norm, const void *in, void *out);
int norm_backward(struct stage *stage, struct norm norm, const void *in, const void *dout,
    const void *residual, void *din);

/* attention.c, ffn.c, mlp.c: halves of a layer. in/out as in the names of struct kept. */
int attention_forward(
    struct stage *stage, int64_t layer, const struct dims *d, struct kept *kept, void *out);
int attention_backward(struct stage *stage, int64_t layer, const struct dims *d, struct kept *kept,
    const void *dout, void *dn1);
int attention_weights(
    struct stage *stage, int64_t layer, const struct dims *d, struct kept *kept, const void *dout);
int attention_replay(struct stage *stage, int64_t layer, const struct dims *d, struct kept *kept);
int ffn_part(struct stage *stage, struct layer_pass *pass, int part);
int ffn_back_part(struct stage *stage, struct layer_pass *pass, int part);
/* The dense MLP and the shared expert, unless they have run. */
int ffn_whole(struct stage *stage, struct layer_pass *pass);
int ffn_weights(struct stage *stage, int64_t layer, int64_t micro_batch, const struct dims *d,
    struct kept *kept, const void *dout);
int ffn_replay(struct stage *stage, const struct layer_pass *of);

/* Dense MLP and shared expert together; `out` and `dn2` are overwritten. */
int mlp_forward(
    struct stage *stage, int64_t layer, const struct dims *d, struct kept *kept, void *out);
int mlp_backward(struct stage *stage, int64_t layer, const struct dims *d, struct kept *kept,
    const void *dout, void *dn2);
int mlp_weights(
    struct stage *stage, int64_t layer, const struct dims *d, struct kept *kept, const void *dout);
int activate(struct stage *stage, const struct dims *d, void *out, const void *in, int64_t rows,
    int64_t width);
int activate_back(struct stage *stage, const struct dims *d, void *din, const void *dout,
    const void *in, int64_t rows, int64_t width);

/* ends.c: what is in front of the first layer and behind the last one. */
/* `shift` words ahead: 0 the model's own, k for MTP module k - 1. */
int embedding_forward(struct stage *stage, int64_t micro_batch, int shift, void *out);
int embedding_backward(struct stage *stage, int64_t micro_batch, int shift, const void *dout);
int head_forward(struct stage *stage, int64_t micro_batch, int module, struct head_kept *kept);
int head_backward(
    struct stage *stage, int module, struct head_kept *kept, const void *residual, void *dhidden);
int head_weights(struct stage *stage, int module, const struct head_kept *kept);
/* Everything behind the last layer: heads, losses, MTP modules, from `hidden` and back to it. */
typedef int losses_fn(void *context, int module, int64_t micro_batch);
int ends_forward(struct stage *stage, int slot, int64_t micro_batch, const void *hidden,
    losses_fn *losses, void *context);
int ends_backward(struct stage *stage, int slot, int64_t micro_batch, void *dhidden);
/* The gradients of weights that an ends_backward() with stage->apart left over. */
int ends_weights(struct stage *stage, int slot, int64_t micro_batch);

/* linear.c: y = x W^T and its two gradients; row strides given, W is out x in. */
struct linear {
	int64_t rows, out, in, stride; /* stride: of W's rows */
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
/* rows.c: rows of the whole tensor-parallel group; `in` itself without one. */
const void *rows_gather(
    struct stage *stage, const void *in, int64_t tokens, int64_t width, void *room);
/* Where partial sums go, and their sum's own rows into `out`; nothing to do without a group. */
void *rows_partial(const struct stage *stage, void *out, void *room);
int rows_reduce(struct stage *stage, const void *partial, int64_t tokens, int64_t width, void *out);
/* The same two, over with rows_joined(): beside the computation where the plan overlaps them. */
const void *rows_fetch(
    struct stage *stage, const void *in, int64_t tokens, int64_t width, void *room);
int rows_send_back(
    struct stage *stage, const void *partial, int64_t tokens, int64_t width, void *out);
int rows_joined(struct stage *stage);
/* A product of all rows: linear_forward() or linear_back_input(), from a column on, to where. */
struct product {
	int (*run)(struct stage *stage, const struct linear *l, const void *from, int64_t ld_from,
	    void *to, int64_t ld_to, float beta);
	struct linear l;
	int64_t column;
	void *to;
	int64_t ld;
	float beta;
};
int rows_run(
    struct stage *stage, const struct product *products, int n, const void *rows, int64_t width);
/* Products of gathered rows, block by block where the plan overlaps them; the gathered rows. */
const void *rows_multiply(struct stage *stage, const void *in, int64_t tokens, int64_t width,
    void *room, const struct product *products, int n);
/* A product whose partial sums are reduced likewise; `room`, as large, is used up. */
int rows_multiply_reduce(struct stage *stage, const void *from, int64_t ld,
    const struct product *product, int64_t tokens, void *room, void *out);
/* Address of an element of an activation. */
void *act_at(const struct stage *stage, const void *base, int64_t element);
int kernel_done(struct stage *stage, int result, const char *what);
/* Norm and bias of rows `stride` apart by a vector of the tensor table, and back. */
struct vector {
	int64_t layer;
	const char *name;
	int64_t first; /* its first element that counts */
};
int bias_add(
    struct stage *stage, struct vector v, void *to, int64_t rows, int64_t width, int64_t stride);
int bias_sum(struct stage *stage, struct vector v, const void *dy, int64_t rows, int64_t width,
    int64_t stride);
int rows_norm(struct stage *stage, struct vector v, const void *in, void *out, int64_t rows,
    int64_t width, int64_t stride);
/* `dy` becomes the gradient of `in`. */
int rows_norm_back(struct stage *stage, struct vector v, const void *in, void *dy, int64_t rows,
    int64_t width, int64_t stride);

#endif
