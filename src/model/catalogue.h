/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_CATALOGUE_H
#define MOEPLAN_CATALOGUE_H

#include <stdint.h>

#include "model/cluster.h"

/* A part and the machine it usually sits in: what a short cluster text leaves out. */
struct gpu_row {
	struct gpu gpu;
	const char *link_name;	  /* of the scale-up fabric */
	struct quantity link_Bps; /* per GPU and direction */
	int64_t domain_gpus;	  /* GPUs in one scale-up domain; 1: PCIe only */
	int64_t gpus_per_node;
	double nic_bits; /* of one GPU's share of the network, bit/s */
	double pcie_Bps; /* per GPU and direction */
};

struct node_row {
	const char *slug;
	const char *gpu;
	const char *fabric; /* inside the domain, for people */
	int64_t gpus_per_node;
	int64_t domain_gpus;
	struct quantity link_Bps;
	int64_t nics_per_node;
	struct quantity nic_bits; /* of one NIC, bit/s */
	const char *network;	  /* for people */
	int64_t nodes;		  /* of a bare slug: 1, or the nodes of a rack */
};

/* The host of the node that a part usually sits in, NULL: not known. */
const struct host *host_find(const char *gpu);
/* NULL past the end. */
const struct gpu_row *gpu_row(int index);
const struct gpu_row *gpu_row_find(const char *name);
const struct node_row *node_row(int index);
const struct node_row *node_row_find(const char *slug);
/* The catalogue's GPU names or the slugs, ending with NULL, for "did you mean". */
const char **gpu_names(struct arena *arena);
/* "'A' or 'B'": what was meant by a name that no row has; NULL nothing comes near. */
const char *gpu_suggestion(struct arena *arena, const char *name);
const char **node_slugs(struct arena *arena);

#endif
