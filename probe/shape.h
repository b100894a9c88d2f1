/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_SHAPE_H
#define MOEPLAN_SHAPE_H

#include "planner/tensors.h"
#include "probe/plan_file.h"
#include "probe/traffic.h"

/* What is run: the plan's shapes, or the same layout with small ones. */
struct shape {
	struct model model;
	struct strategy strategy; /* sizes of the run: seq_len, micro_batch, micro_batches */
	struct layout layout;
	const struct expert_map *placement; /* NULL: experts by number */
	bool scaled, keeps_experts;
};

/* The plan's own shapes, with at most `micro_batches` of them a step. */
void shape_of_plan(const struct probe_plan *plan, const struct skew *skew, int64_t micro_batches,
    struct shape *shape);
/*
 * The same ranks, layers, groups and schedule with widths that a CPU runs in a moment: still
 * divisible by every degree that divides the plan's.
 */
void shape_scaled(const struct probe_plan *plan, const struct skew *skew, int64_t micro_batches,
    struct shape *shape);
/* Micro-batches that show the schedule's warm-up, steady state and end. */
int64_t shape_micro_batches(const struct strategy *strategy);
/* Rough FLOPs of a step on one rank, forward and backward. */
double shape_flops(const struct shape *shape);

/* Widths of one layer on one rank. */
struct dims {
	int64_t h, tokens, rows; /* T: this rank's tokens; M: its tensor-parallel group's */
	int64_t seqs,
	    seq_rows;	 /* M = seqs * seq_rows: the part of a sequence on this context rank */
	int64_t at_once; /* queries whose scores are there at one time */
	int64_t stride;	 /* every so-manieth key is seen: the cost of the mask */
	int64_t heads, kv_heads, qk, v, q_width, k_width, v_width, o_width; /* local */
	int64_t key_dim; /* width of a key head: qk, without the rotary part for MLA */
	int64_t rope;	 /* MLA: that part, one for all heads, behind their keys; else 0 */
	int64_t q_rank, kv_rank, latent; /* MLA: q_rank + kv_rank + rope_dim is `latent` */
	bool mla;
	int64_t q_normed, k_normed; /* width that a norm of queries, keys sees; 0: there is none */
	int64_t gates, gate_span;   /* of a row of the heads' output, and what each serves */
	bool sinks;		    /* the gates are one a head: what a sink leaves of it */
	int norms;		    /* a layer's: 2, or 4 with those behind its halves */
	bool norm_bias, shared_gate;
	int64_t dense, shared, expert; /* local widths */
	bool ungated, expert_bias;
	int64_t experts, top_k;
	int64_t group_experts, top_groups; /* a token uses experts of so many groups; 0: of all */
	int64_t slots,
	    local_experts; /* slots of experts: all, here; more than experts with copies */
	double scale;	   /* of the scores: 1 / (sqrt(qk) * keys seen) */
};
void dims_of(const struct shape *shape, const struct layer_kind *kind, struct dims *dims);
/* Width of what goes into the second product's activation: 2 w gated, w ungated. */
static inline int64_t
fc1_width(const struct dims *dims, int64_t width)
{
	return dims->ungated ? width : 2 * width;
}

/* LayerNorms: a bias behind each scale. Two vectors behind the last layer say so. */
bool shape_norm_bias(const struct model *model);
/* Layers beyond the model's are those of its MTP modules. */
const struct layer_kind *shape_kind(const struct shape *shape, int64_t layer);

/* A number in [-1, 1) that depends on nothing but its coordinates: any rank makes any element. */
double random_unit(uint64_t what, uint64_t a, uint64_t b, uint64_t c);
/* Likewise from [0, 1). */
double random_share(uint64_t what, uint64_t a, uint64_t b, uint64_t c);
/* Values of a weight by its global place; the reference and the ranks call the same. */
struct place {
	uint64_t name; /* hash of the tensor's name */
	int64_t layer, matrix, row, col;
};
uint64_t name_hash(const char *name);
double weight_value(const struct tensor *tensor, const struct place *place, bool bf16);
/* Word of a token by its global number; the target of a token is the word of the next one. */
int64_t token_id(int64_t token, int64_t vocab);

#endif
