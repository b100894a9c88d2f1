/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_EVALUATOR_H
#define MOEPLAN_EVALUATOR_H

#include "planner/band.h"
#include "planner/comm.h"
#include "planner/correction.h"
#include "planner/estimate.h"
#include "planner/params.h"
#include "planner/rates.h"
#include "planner/schedule.h"
#include "planner/stages.h"
#include "planner/tensors.h"

/* Private to the files behind planner/estimate.h. */

/* Trained elements by how they are split: the sharding buckets. */
struct buckets {
	double tp, kv, replicated, expert;
	double kv_heads; /* KV projections are split over at most this many ranks */
};

/* A matrix of a layer: output and input width, and who multiplies with it. */
struct product {
	enum component component;
	enum shard shard;
	bool split_cols;
	double count, rows, cols;
};

/* Kinds 0..n_kinds-1 are the model's; the MTP layer, when there is one, is kind n_kinds. */
enum { EVALUATOR_KINDS = MODEL_MAX_KINDS + 1 };
struct kind_facts {
	const struct layer_kind *kind;
	int64_t layers;
	struct buckets buckets;
	int n_products;
	struct product products[TENSORS_MAX];
	double context;      /* mean keys a query sees at the job's sequence length */
};

struct time_slot;
struct evaluator {
	const struct model *model;
	const struct cluster *cluster;
	const struct job *job;
	struct load_skew skew; /* the job's, with its points */
	int n_kinds;
	struct kind_facts kinds[EVALUATOR_KINDS]; /* [n_kinds] is the MTP layer */
	const struct layer_kind *moe; /* the MoE kind with most layers, or NULL */
	struct time_slot *slots;      /* of layer times, filled as strategies ask */
	bool has_mtp;
	struct buckets embedding, head, mtp_own;  /* mtp_own: projection and norms, a layer */
	double flops_training; /* a token, MTP included */
	double capacity_bytes;
	const struct correction *correction; /* by measured steps of the model, or NULL */
	double activation_scale; /* by measured peaks of the model, 1 without */
};

/* Fits the correction to the cluster's runs, by what this evaluator says of them without one. */
void evaluator_correct(struct evaluator *evaluator, struct arena *arena);
double corrected_factor(
    const struct evaluator *evaluator, const struct strategy *strategy, enum corrected group);
struct layer_time;
void correct_layer(
    const struct evaluator *evaluator, const struct strategy *strategy, struct layer_time *time);

/* What one strategy makes of the sizes; derived once an evaluation. */
struct sizes {
	double M;            /* tokens that a rank's sharded matrices see: b*s/CP */
	double T;            /* tokens of hidden-size tensors: M/TP */
	double rows;         /* rows of the permuted tokens on a mean rank, before ETP */
	double hot;          /* fullest rank / mean, for time */
	double off_node;     /* tokens that leave the node, over what even spreading sends */
	double tp, kv_tp, ep, etp;
	double fp8;          /* 1 when linear inputs are kept in one byte */
	enum graphs graphs;
	struct links links;
	struct span tp_span, cp_span, ep_span, etp_span, dp_span, edp_span;
	int64_t pp_stride;
};
void sizes_init(const struct evaluator *evaluator, const struct strategy *strategy,
    struct sizes *sizes);
/* Fullest expert rank over the mean under the job's load. */
double load_hot(const struct load_skew *skew, int64_t experts, int64_t ep);
/* Under a trace: the row of `ep` ranks on `nodes` nodes, else on one node; NULL without either. */
const struct skew_point *load_point(const struct load_skew *skew, int64_t ep, int64_t nodes);

/* Model state of some elements on one rank, bytes. */
struct state {
	double weights, gradients, optimizer;
};
struct state state_bytes(const struct buckets *buckets, const struct strategy *strategy);
/* Elements of the buckets on one rank: dense (tensor-parallel) and expert part. */
double local_dense(const struct buckets *buckets, const struct strategy *strategy);
double local_expert(const struct buckets *buckets, const struct strategy *strategy);
/* Elements of weight-gradient scratch buffers: one a distinct weight shape of `present` layers. */
double wgrad_elements(const struct evaluator *evaluator, const struct strategy *strategy,
    const bool present[EVALUATOR_KINDS], bool has_head);

/* Activations of one layer and micro-batch on one rank, bytes. */
struct activations {
	double kept;       /* until the backward pass, after recompute */
	double full;       /* with nothing recomputed: what a replay brings back */
	double transient;  /* beyond `full`, while the layer's backward runs */
	double moe_buffers; /* part of transient that belongs to the dispatcher */
	double offloaded;   /* kept in host memory */
};
struct activations layer_activations(const struct evaluator *evaluator, int kind,
    const struct strategy *strategy, const struct sizes *sizes, double load);
/* Bytes kept per micro-batch by the head (norm in, head in) and by the logits. */
double head_activations(const struct evaluator *evaluator, const struct sizes *sizes);
double logits_bytes(const struct evaluator *evaluator, const struct strategy *strategy,
    const struct sizes *sizes);

/* Seconds of one layer and micro-batch, by part; sums are what the schedule sees. */
struct layer_time {
	double forward[TIME_PARTS], backward[TIME_PARTS]; /* exposed */
	double forward_s, backward_s;                     /* their sums */
	double weight_s;    /* of backward_s: products for gradients of weights */
	double alone_forward_s, alone_backward_s; /* what a pass that is in no pair cannot hide */
	double recompute_s;                           /* in backward, of a fully recomputed layer */
	double hidden[TIME_PARTS];                        /* forward and backward together */
	double bytes[CLUSTER_MAX_LEVELS];                 /* forward and backward together */
};
void layer_time(const struct evaluator *evaluator, int kind, const struct strategy *strategy,
    const struct sizes *sizes, struct layer_time *time);
/* Output head and loss of one micro-batch; the MTP copies of them included. */
void head_time(const struct evaluator *evaluator, const struct strategy *strategy,
    const struct sizes *sizes, struct layer_time *time);

/* What layer times depend on, and the times found for it. */
enum { TIME_SLOTS = 512 };
struct time_key {
	int64_t world, tp, cp, ep, etp, micro_batch, seq_len;
	double capacity;
	unsigned modules, overlap;
	int framework, dispatcher, precision, loss, graphs, paired;
};
struct time_slot {
	struct time_key key;
	bool used;
	struct layer_time head;
	struct layer_time *time; /* by kind */
};

enum { WGRAD_SETS = 8 };
/* Everything of one strategy that does not depend on the layout. */
struct costs {
	struct sizes sizes;
	struct activations activations[EVALUATOR_KINDS], skewed[EVALUATOR_KINDS];
	struct state state[EVALUATOR_KINDS];
	struct layer_time time[EVALUATOR_KINDS], head;
	double full_recompute_s[EVALUATOR_KINDS];
	struct state embedding_state, head_state, mtp_state;
	double head_bytes, logits_bytes, mtp_bytes;
	double dlogits_bytes; /* their gradient alone, in bf16 */
	double handoff_s, handoff_bytes; /* one stage hand-off, one direction */
	int handoff_level;
	/* weight-gradient buffers by set of layer kinds, filled as stages ask */
	int n_wgrad;
	unsigned wgrad_set[WGRAD_SETS];
	double wgrad[WGRAD_SETS];
};
/* `costs` may come uninitialised; the skewed activations are filled only on request. */
void costs_init(const struct evaluator *evaluator, const struct strategy *strategy, bool with_skew,
    struct costs *costs);

/* Seconds of the share of an optimizer step that the host does, on so many elements of a GPU. */
double offload_optimizer_s(
    const struct evaluator *evaluator, const struct strategy *strategy, double elements);
/* Host memory that they take. */
double offload_optimizer_bytes(const struct strategy *strategy, double elements);
/* Copies of offloaded activations that a layer's passes do not hide. */
void offload_layer_time(const struct evaluator *evaluator, const struct strategy *strategy,
    const struct activations *activations, struct layer_time *time);

/* Whether a chunk holds the loss head, and the MTP layers (usually the same chunk). */
bool chunk_has_head(const struct layout *layout, int chunk);
bool chunk_has_mtp(const struct evaluator *evaluator, const struct layout *layout, int chunk);
/* Layers of a chunk of so many that full recompute replays: the first ones; 0 without it. */
int replayed_layers(const struct strategy *strategy, int layers);
/* Memory of one stage under a layout, all parts and totals; skewed_bytes only on request. */
void stage_memory(const struct evaluator *evaluator, const struct strategy *strategy,
    struct costs *costs, const struct layout *layout, int stage, bool with_skew,
    struct stage_memory *memory);

/* Bytes that each GPU of the next stage keeps on its host; `node_bytes` is 0 before stage 0. */
void add_host_bytes(const struct evaluator *evaluator, const struct strategy *strategy, int stage,
    double gpu_bytes, double *node_bytes, struct estimate *estimate);

/* The linear form of both, for the pipeline split. */
void stage_costs(const struct evaluator *evaluator, const struct strategy *strategy,
    const struct costs *costs, struct stage_costs *out);
double step_constant_s(const struct evaluator *evaluator, const struct strategy *strategy);
/*
 * Schedule, traffic, optimizer; without `scratch` the closed form of the schedule.
 * False: a lower bound of the step is not below `limit_s`, and step_s is that.
 */
bool step_time(const struct evaluator *evaluator, const struct strategy *strategy,
    const struct costs *costs, const struct layout *layout, double limit_s, struct arena *scratch,
    struct estimate *estimate);

/* Of traffic that may run behind computation, the share that does: measured here, or as a rule. */
double hidden_share(const struct evaluator *evaluator, enum hidden_traffic traffic);

#endif
