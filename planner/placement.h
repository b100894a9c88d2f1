/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_PLACEMENT_H
#define MOEPLAN_PLACEMENT_H

#include <stdbool.h>
#include <stdint.h>

#include "model/loads.h"

/*
 * Which expert on which GPU, layer by layer, with what is proved about it.
 * GPUs are numbered node by node; slot s of a layer is on GPU s / slots_per_gpu.
 */

/* What is made small. */
enum placement_goal {
	GOAL_LOAD,    /* the fullest GPU */
	GOAL_TRAFFIC, /* the layer's time: fullest GPU and tokens that leave their node */
	GOAL_PAIRS,   /* experts of one token on several nodes (GPUs when there is one node) */
	GOAL_CHAIN,   /* tokens that change node between layers */
	GOALS
};
extern const char *const goal_names[GOALS + 1];
extern const char *const goal_labels[GOALS + 1]; /* for people */

enum baseline {
	BASELINE_CONTIGUOUS,  /* expert e on GPU e * gpus / experts: what frameworks do */
	BASELINE_ROUND_ROBIN, /* expert e on GPU e % gpus */
	BASELINE_EPLB,	      /* deepseek-ai/EPLB, global packing */
	BASELINE_EPLB_NODES,  /* the same, hierarchical: groups of experts to nodes first */
	BASELINES
};
extern const char *const baseline_names[BASELINES + 1];	 /* JSON keys */
extern const char *const baseline_labels[BASELINES + 1]; /* for people */

/*
 * Seconds of one layer, up to a constant, as compute * ratio + traffic * ratio * share: what
 * placements are weighed by. ratio: fullest GPU over the mean; share: of tokens that leave their
 * node.
 */
struct placement_price {
	double compute, traffic;
};
/* Without a model: the all-to-all takes as long as the experts' products when tokens spread evenly.
 */
struct placement_price placement_price_default(int nodes);

struct placement_options {
	int gpus, nodes, slots_per_gpu;
	int groups; /* of experts, for BASELINE_EPLB_NODES */
	enum placement_goal goal;
	struct placement_price price;
	const double *speed; /* [gpu] relative; NULL: all alike */
	const int *from;  /* [layer][slot] expert, the placement that is in use; NULL: contiguous */
	double move_cost; /* what an expert that moves is worth, in units of the ratio */
	double capacity;  /* factor that dropped tokens are told for */
	uint64_t seed;
	double time_limit_s; /* proofs and searches that were not begun by then are left out; 0:
				none */
	bool quick;	     /* no integer programmes and a short search: for the planner */
	void (*progress)(void *context, double fraction, const char *what); /* may be NULL */
	void *progress_context;
};

/* Experts of one layer on GPUs, as a list of copies. Every copy takes the same part of the load. */
struct assignment {
	int copies;
	int *expert, *gpu; /* [copies] */
};

/* What any assignment costs; computed from the counts alone, by one function for all. */
struct placement_cost {
	double ratio;	   /* fullest GPU / mean; several snapshots: mean time over mean load */
	double node_ratio; /* the same of nodes */
	double share;	   /* tokens whose expert is on another node, 0..1 */
	double split;	   /* pairs on two nodes (or GPUs), 0..1; NAN without pairs */
	double hops;	   /* tokens that change node to the next layer; NAN without transitions */
};

/* One answer of the trade between balance and traffic. */
enum { PLACEMENT_POINTS = 5 };
extern const double placement_tolerances[PLACEMENT_POINTS]; /* of node balance; -1: load only */
struct placement_point {
	bool feasible;
	struct placement_cost cost;
	double share_low;  /* no placement within the tolerance has a smaller share */
	bool share_proven; /* cost.share is the smallest there is */
};

enum proof {
	PROOF_NONE,
	PROOF_CLOSED,
	PROOF_PAIRING,
	PROOF_COUNTS,
	PROOF_SETS,
	PROOF_MILP,
	PROOFS
};
extern const char *const proof_names[PROOFS + 1];

struct layer_stats {
	double mean, variance, cv, max_over_mean, min_over_mean, entropy_bits;
	int hottest[3];
};
void layer_stats(const double *load, int experts, struct layer_stats *stats);
/* Part of the tokens above `factor` times the mean load of an expert. */
double layer_dropped(const double *load, int experts, double factor);

struct placement_layer {
	int64_t number;
	struct layer_stats stats;
	double dropped;	     /* tokens above the capacity factor, 0..1 */
	int *expert_of_slot; /* [gpus * slots_per_gpu] */
	struct placement_cost cost;
	double lower_bound;   /* of the ratio, for any placement */
	double gap;	      /* ratio / lower_bound - 1 */
	bool proven;	      /* gap below one in a million */
	enum proof proof;     /* what gave the bound */
	double objective_low; /* GOAL_TRAFFIC: of the share at this node balance; GOAL_PAIRS: of
				 split */
	bool objective_proven;
	double price_gap; /* GOAL_TRAFFIC: of the layer's price over a bound of it */
	double split_low; /* copies: the ratio that uneven dispatch weights reach; 0: not asked */
	int tolerance;	  /* index into points that the answer started from; -1: none */
	struct placement_point points[PLACEMENT_POINTS];
	struct placement_cost baseline[BASELINES]; /* ratio 0: not defined */
	int moved; /* slots that get an expert their GPU does not have; -1: nothing to compare */
	struct placement_cost from; /* of the placement in use; ratio 0: none was given */
};

struct placement {
	int layers, experts, gpus, nodes, slots_per_gpu,
	    copies; /* copies: slots beyond the experts */
	enum placement_goal goal;
	struct placement_layer *layer;
	/* Means over layers (sums for `moved`); worst layer of the ratio. */
	struct placement_cost mean, baseline_mean[BASELINES];
	struct placement_point point_mean[PLACEMENT_POINTS]; /* share_proven: in all layers */
	int shares_proven[PLACEMENT_POINTS];		     /* layers */
	double price_gap_mean, price_gap_worst;
	struct layer_stats stats_mean;
	double dropped_mean;
	struct placement_cost from_mean;
	double worst_ratio, bound_mean, from_worst;
	double objective_low_mean;
	int objectives_proven;
	double share_low_mean, contiguous_share;
	int proven, within; /* layers proved; layers within 0.05 % of their bound */
	double worst_gap;
	int64_t moved;	      /* -1: nothing to compare */
	bool stopped_early;   /* the time limit was met */
	bool no_traffic_gain; /* no placement saves 2 % of the traffic */
	double chain_low;     /* GOAL_CHAIN: 0 unless proved */
	bool chain_proven;
	double wall_s;
};

/*
 * Deterministic for a seed unless a time limit is met. NULL after adding errors:
 * numbers that do not fit together, sources that do not spread over the nodes.
 */
struct placement *placement_solve(struct arena *arena, struct diags *diags,
    const struct loads *loads, const struct placement_options *options);
/* What placement_solve() would refuse. -1 after adding errors. */
int placement_check_options(
    struct diags *diags, const struct loads *loads, const struct placement_options *options);

/* The cost of one layer's assignment; `next` is the following layer's, or NULL. */
void placement_cost(struct arena *scratch, const struct loads *loads,
    const struct placement_options *options, int layer, const struct assignment *assignment,
    const struct assignment *next, struct placement_cost *cost);
/* Tokens of each GPU, snapshots and sources together. */
void placement_gpu_loads(struct arena *scratch, const struct loads *loads, int layer,
    const struct assignment *assignment, double *load);
struct assignment assignment_of_slots(
    struct arena *arena, const int *expert_of_slot, int slots, int slots_per_gpu);
/* NULL when the baseline is not defined: groups that do not spread over the nodes. */
struct assignment *placement_baseline(struct arena *arena, const struct loads *loads,
    const struct placement_options *options, int layer, enum baseline baseline);

/*
 * Independent check of a finished placement: every expert placed, no GPU with two
 * copies of one, ratios and shares summed up again. 0, or adds errors (a bug).
 */
int placement_verify(const struct placement *placement, const struct loads *loads,
    const struct placement_options *options, struct diags *diags);

#endif
