/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_CLUSTER_BUILD_H
#define MOEPLAN_CLUSTER_BUILD_H

#include "model/catalogue.h"
#include "model/cluster.h"

/*
 * What the readers of a cluster (slug, short text, file) collect. Zero means
 * "not given": machine_build() takes it from the catalogue row, and says what
 * is missing when there is none.
 */
struct machine {
	const char *name;
	struct gpu gpu;
	const struct gpu_row *row; /* NULL: a part that the catalogue does not have */
	int64_t nodes, gpus_per_node;
	int64_t domain_gpus;
	const char *link_name; /* what the user called the scale-up link, or NULL */
	struct quantity link_Bps, link_latency_s;
	struct quantity node_Bps, node_latency_s; /* between domains of one node: PCIe */
	int64_t nics_per_node;
	struct quantity nic_bits, network_latency_s;
	double oversubscription;
	uint64_t reserve_bytes;
	struct traffic_curves link_traffic, node_traffic, network_traffic;
	double link_spread, node_spread, network_spread;
	struct host host;
};

/* NULL after adding errors at `loc`. */
struct cluster *machine_build(
    struct arena *arena, struct diags *diags, struct loc loc, const struct machine *machine);
/* Fills the machine from a row of the node catalogue. */
void machine_from_node(struct machine *machine, const struct node_row *node);

#endif
