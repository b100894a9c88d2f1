/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_COMM_H
#define MOEPLAN_COMM_H

#include <stdint.h>

#include "model/cluster.h"

/*
 * A group as the links see it: `size` ranks `stride` apart. At level l, the
 * fullest unit of that level holds inside[l] of them; units[l] units are touched.
 */
struct span {
	int64_t size;
	int n_levels;
	int64_t inside[CLUSTER_MAX_LEVELS];
	double units[CLUSTER_MAX_LEVELS];
};

/* The machine's rates, derived once: bytes/s a GPU and seconds a message, by level. */
struct links {
	int n_levels;
	int64_t gpus[CLUSTER_MAX_LEVELS]; /* in one unit, whole units of the job */
	double Bps[CLUSTER_MAX_LEVELS];
	double all_to_all_Bps[CLUSTER_MAX_LEVELS];
	double latency_s[CLUSTER_MAX_LEVELS];
	const struct traffic_curves *all_to_all[CLUSTER_MAX_LEVELS]; /* measured, or NULL */
};

/*
 * `world` GPUs of the cluster are used. A scale-up domain that does not divide
 * the world is used up to the largest whole number of nodes that does: jobs on
 * 72-GPU racks run as segments of 64.
 */
void links_init(struct links *links, const struct cluster *cluster, int64_t world);
struct span span_of(const struct links *links, int64_t stride, int64_t size);

/* Seconds, and bytes leaving one GPU over each level added to traffic (may be NULL). */
struct transfer {
	double seconds;
	double bytes[CLUSTER_MAX_LEVELS];
};
/*
 * A ring that computation steps along with: every rank passes `bytes` to the next
 * one n-1 times. Where it leaves a node one rank's NIC carries all of a step, and
 * the others wait: there is no second rail to share it with.
 */
struct transfer comm_ring(const struct links *links, const struct span *span, double bytes);
/* Ring all-gather or reduce-scatter of a full buffer of `bytes`. */
struct transfer comm_gather(const struct links *links, const struct span *span, double bytes);
/* Seconds of one message between the farthest members: a ring pays it every step. */
double comm_latency_s(const struct links *links, const struct span *span);
/* All-reduce: twice that. */
struct transfer comm_all_reduce(const struct links *links, const struct span *span, double bytes);
/* Point to point between neighbours `stride` ranks apart. */
struct transfer comm_send(const struct links *links, int64_t stride, double bytes);

/*
 * One all-to-all of an MoE layer from the fullest rank: `tokens` tokens of
 * `token_bytes`, each to top_k of `experts` experts spread evenly over the group.
 */
struct dispatch {
	double tokens, token_bytes;
	int64_t experts, top_k;
	int64_t route_groups, top_groups; /* node-limited routing, 0 free */
	double hot;                       /* fullest rank / mean */
	double off_node; /* copies that leave the first level, over evenly spread ones; 0: 1 */
	int deduplicate;                  /* a token goes once to a node and once to a rank */
	int gather;                       /* all-gather dispatcher: every token to every rank */
};
struct transfer comm_dispatch(
    const struct links *links, const struct span *span, const struct dispatch *dispatch);

/* Expected distinct bins hit by k of E equal items in N equal bins: N (1 - C(E-E/N,k)/C(E,k)). */
double expected_bins(int64_t experts, int64_t top_k, double bins);

#endif
