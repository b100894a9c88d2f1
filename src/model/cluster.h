/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_CLUSTER_H
#define MOEPLAN_CLUSTER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/diag.h"
#include "model/curve.h"
#include "model/measured.h"

struct arena;
struct doc;

/* Where a number is from; a measured one is used as it is, a nominal one times an efficiency. */
enum origin { ORIGIN_DEFAULT, ORIGIN_CATALOGUE, ORIGIN_FILE, ORIGIN_MEASURED };
extern const char *const origin_names[];

struct quantity {
	double value;
	enum origin origin;
	const char *source; /* what to cite, or NULL */
};

enum flop_type { FLOP_BF16, FLOP_FP16, FLOP_FP8, FLOP_FP4, FLOP_TYPES };

struct gpu {
	const char *name;              /* catalogue name, e.g. "H100-SXM5-80GB" */
	struct quantity usable_bytes;  /* what the driver shows, not the sticker */
	struct quantity hbm_Bps;
	struct quantity flops[FLOP_TYPES]; /* dense peak, FLOP/s; 0: the part has no such type */
	/* best measured bf16 matmul over datasheet peak; 0: unknown */
	struct quantity matmul_ceiling;
	/*
	 * large matmuls for minutes, on random data, over the datasheet peak of the type;
	 * 0: unknown
	 */
	struct quantity sustained[FLOP_TYPES];
	int64_t sm_count;
	/* measured alone; 0 and no points: not */
	double gemm_half;      /* size of a dimension at which a product reaches half its rate */
	/* share of the ceiling that experts' products reach, by rows an expert */
	struct curve grouped;
	double launch_s;       /* no kernel is over sooner */
	double runtime_bytes;  /* of context, libraries and communicators */
	double spread;         /* how far repeated measurements lie apart, a fraction */
};

/*
 * A level of the machine, smallest first: GPUs that can reach each other over
 * this link without a slower one. The last level holds all GPUs.
 * "GPUs per node" and "scale-up domain" are two things: a GB200 node has 4
 * GPUs, its NVLink domain 72.
 */
enum { CLUSTER_MAX_LEVELS = 4 };
struct level {
	const char *name;          /* "NVLink", "PCIe", "network" */
	int64_t gpus;              /* in one unit of this level */
	/* per GPU and direction; a shared NIC already divided by its GPUs */
	struct quantity Bps;
	struct quantity latency_s; /* per message */
	double oversubscription;   /* 1: full bisection */
	struct traffic_curves all_to_all; /* measured, or none */
	/* how far measurements lie from the fit, a fraction; 0 not said */
	double spread;
};

/* What a node has besides GPUs; 0: not known. */
struct host {
	struct quantity link_Bps;     /* of a GPU to host memory, one direction */
	struct quantity memory_Bps;   /* of the node's memory */
	struct quantity memory_bytes; /* of the node */
};

/* Traffic that a plan may run behind computation. */
enum hidden_traffic {
	HIDDEN_ALL_TO_ALL,
	HIDDEN_TENSOR_PARALLEL,
	HIDDEN_DATA_PARALLEL,
	HIDDEN_TRAFFICS
};
extern const char *const hidden_names[HIDDEN_TRAFFICS]; /* keys of a file */

struct cluster {
	const char *name;
	int64_t nodes;
	int64_t gpus_per_node;
	int64_t world;             /* nodes * gpus_per_node */
	int64_t domain_gpus;       /* of a full level 0, which a small world does not fill */
	int64_t nics_per_node;
	struct quantity nic_bits;  /* of one NIC, bit/s */
	struct gpu gpu;
	struct host host;
	int n_levels;
	struct level levels[CLUSTER_MAX_LEVELS];
	uint64_t reserve_bytes;    /* kept free on every GPU besides what the model predicts */
	/* measured share that runs behind computation; -1: not measured */
	double hidden[HIDDEN_TRAFFICS];
	struct measured_runs runs; /* training steps that were timed on it */
};

/* The catalogue rows, for listings and man pages. Index past the end gives NULL. */
const struct gpu *gpu_catalogue(int index);
const struct gpu *gpu_find(const char *name);
const char *cluster_slug(int index);
/* One line a slug: "8 x H100-SXM5-80GB, NVSwitch 450 GB/s, 8 x 400 Gb/s". */
const char *cluster_slug_text(struct arena *arena, int index);

/*
 * A cluster from what stands on the command line: a built-in slug (one node;
 * a rack of 18 nodes for *-nvl72), SLUGxN nodes, or a short string such as
 *   "node:16 gpu:8 H100-SXM5-80GB nvlink:450GB/s nic:8x400Gb/s"
 * NULL after adding errors. `is_cluster_text` says whether it looks like one
 * (and not like a file name).
 */
enum { CLUSTER_MAX_NODES = 1000000, CLUSTER_MAX_WORLD = 1 << 20 };
bool is_cluster_text(const char *text);
struct cluster *cluster_from_text(struct arena *arena, struct diags *diags, const char *text);

/* From a YAML mapping (schema moeplan/cluster/v1). NULL after adding errors. */
struct cluster *cluster_read(struct arena *arena, struct diags *diags, const struct doc *doc);

/* The same machine with another number of nodes (whole nodes; world rounded up). */
void cluster_set_nodes(struct cluster *cluster, int64_t nodes);

#endif
