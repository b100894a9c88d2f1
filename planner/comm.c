/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How long does a collective take, and which links does it load?
 *
 * Alpha-beta by level: a group spans units of the cluster tree; every level
 * carries the bytes that leave a unit below it, and levels work at the same
 * time, so the slowest one decides:
 *     t = alpha * steps + max over levels of bytes(level) / B(level)
 * Ring all-gather and reduce-scatter move (n-1)/n S through a rank's fast link
 * and S (N-1)/N / i through its NIC when i ranks of the group sit in each of N
 * units (all i NICs work). All-to-all moves S (1 - i/n) over the rank's own NIC:
 * NICs do not pool. Definitions as in NVIDIA/nccl-tests doc/PERFORMANCE.md.
 * De-duplicated dispatch (DeepEP): deepseek-ai/DeepEP README.
 * Ignored: trees and in-switch reduction (NVLS), congestion inside the fabric.
 */
#include <math.h>
#include <string.h>

#include "planner/comm.h"
#include "planner/rates.h"

/* Largest part of a domain, in whole nodes, that divides the job. */
static int64_t
used_domain(int64_t domain, int64_t node, int64_t world)
{
	int64_t step = node > 0 && domain > node ? node : 1;

	if (world <= domain)
		return world;
	for (int64_t size = domain - domain % step; size > 1; size -= step)
		if (world % size == 0)
			return size;
	return domain;
}

void
links_init(struct links *links, const struct cluster *cluster, int64_t world)
{
	memset(links, 0, sizeof(*links));
	links->n_levels = cluster->n_levels;
	for (int l = 0; l < cluster->n_levels; l++) {
		const struct level *level = &cluster->levels[l];
		bool last = l + 1 == cluster->n_levels;
		bool network = last && cluster->n_levels > 1;
		double nominal = level->Bps.value / level->oversubscription;

		links->gpus[l] =
		    last ? world : used_domain(level->gpus, cluster->gpus_per_node, world);
		links->Bps[l] = link_Bps(level);
		links->all_to_all_Bps[l] = links->Bps[l];
		if (network && level->Bps.origin != ORIGIN_MEASURED)
			links->all_to_all_Bps[l] =
			    nominal * rate_table[RATE_NIC_ALL_TO_ALL].value;
		links->latency_s[l] = level->latency_s.value;
		links->all_to_all[l] = level->all_to_all.n > 0 ? &level->all_to_all : NULL;
	}
}

/* Members of a strided group in the fullest unit of `unit` ranks. */
static int64_t
members_inside(int64_t unit, int64_t stride, int64_t size)
{
	int64_t inside = unit / stride;

	if (inside < 1)
		return 1;
	if (inside >= size && unit % (stride * size) == 0)
		return size;
	if (inside >= size)
		inside = unit % (stride * size) / stride; /* a block straddles two units */
	while (inside > 1 && size % inside != 0)
		inside--;
	return inside < 1 ? 1 : inside;
}

struct span
span_of(const struct links *links, int64_t stride, int64_t size)
{
	struct span span = {.size = size, .n_levels = links->n_levels};

	for (int l = 0; l < links->n_levels; l++) {
		span.inside[l] = l + 1 == links->n_levels
		    ? size
		    : members_inside(links->gpus[l], stride, size);
		span.units[l] = (double)size / (double)span.inside[l];
	}
	return span;
}

/* First level that holds the whole group. */
static int
top_level(const struct span *span)
{
	int l = 0;

	while (l + 1 < span->n_levels && span->inside[l] < span->size)
		l++;
	return l;
}

double
comm_latency_s(const struct links *links, const struct span *span)
{
	return links->latency_s[top_level(span)];
}

/* Start-ups of messages to so many peers. */
static double
messages_s(double peers)
{
	return rate_table[RATE_MESSAGE_PEER_S].value *
	    fmin(peers, rate_table[RATE_MESSAGE_PEERS].value);
}

static void
settle(struct transfer *transfer, const double *Bps, int n_levels)
{
	double slowest = 0;

	for (int l = 0; l < n_levels; l++)
		if (transfer->bytes[l] > 0)
			slowest = fmax(slowest, transfer->bytes[l] / Bps[l]);
	transfer->seconds += slowest;
}

struct transfer
comm_gather(const struct links *links, const struct span *span, double bytes)
{
	struct transfer transfer = {0};
	double n = (double)span->size;
	int top = top_level(span);
	double below = 1; /* ranks that share the bytes which leave a unit of the level below */

	if (span->size <= 1)
		return transfer;
	for (int l = 0; l <= top; l++) {
		double units = (double)span->inside[l] / below; /* sub-units inside a unit */

		if (units > 1)
			transfer.bytes[l] = l == 0 ? bytes * (n - 1) / n
			                           : bytes * (units - 1) / units / below;
		below = (double)span->inside[l];
	}
	transfer.seconds = links->latency_s[top] + messages_s(n - 1);
	settle(&transfer, links->Bps, links->n_levels);
	return transfer;
}

struct transfer
comm_ring(const struct links *links, const struct span *span, double bytes)
{
	struct transfer transfer = comm_gather(links, span, (double)span->size * bytes);
	double slowest_Bps = INFINITY, hops = (double)span->size - 1;

	if (span->size <= 1)
		return transfer;
	for (int l = 0; l < links->n_levels; l++)
		if (transfer.bytes[l] > 0)
			slowest_Bps = fmin(slowest_Bps, links->Bps[l]);
	transfer.seconds =
	    hops * (comm_latency_s(links, span) + bytes / slowest_Bps) + messages_s(hops);
	return transfer;
}

struct transfer
comm_all_reduce(const struct links *links, const struct span *span, double bytes)
{
	struct transfer transfer = comm_gather(links, span, bytes);

	transfer.seconds *= 2;
	for (int l = 0; l < links->n_levels; l++)
		transfer.bytes[l] *= 2;
	return transfer;
}

struct transfer
comm_send(const struct links *links, int64_t stride, double bytes)
{
	struct transfer transfer = {0};
	int l = 0;

	while (l + 1 < links->n_levels && stride >= links->gpus[l])
		l++;
	transfer.bytes[l] = bytes;
	transfer.seconds = links->latency_s[l];
	settle(&transfer, links->Bps, links->n_levels);
	return transfer;
}

double
expected_bins(int64_t experts, int64_t top_k, double bins)
{
	double miss = 1;
	double outside = (double)experts - (double)experts / bins;

	if (bins <= 1)
		return 1;
	for (int64_t i = 0; i < top_k; i++)
		miss *= fmax(0, outside - (double)i) / ((double)experts - (double)i);
	return bins * (1 - miss);
}

/* Copies of a token that leave its own unit, when it goes once to each of the units it needs. */
static double
copies_leaving(const struct dispatch *d, double units)
{
	double hit = expected_bins(d->experts, d->top_k, units);

	if (d->top_groups > 0 && d->route_groups > 0) {
		/* groups share a unit, or a group is spread over several units */
		double spread = fmax(1, units / (double)d->route_groups);

		hit = fmin(hit, (double)d->top_groups * spread);
	}
	return hit * (units - 1) / units;
}

/* Copies of a token that cross level l: sent once a unit, or once an expert. */
static double
copies_crossing(const struct dispatch *d, const struct span *span, int l)
{
	double below = l == 0 ? (double)span->size : span->units[l - 1];
	double above = span->units[l];

	if (d->gather)
		return below - above;
	if (!d->deduplicate) /* share of the k copies whose target is outside the lower unit */
		return (double)d->top_k * (1 / above - 1 / below);
	return copies_leaving(d, below) - (above > 1 ? copies_leaving(d, above) : 0);
}

/* Experts placed near their tokens: what does not leave the first level goes over it. */
static void
keep_near(struct transfer *transfer, int top, double part)
{
	for (int l = 1; l <= top; l++) {
		transfer->bytes[0] += (1 - part) * transfer->bytes[l];
		transfer->bytes[l] *= part;
	}
	transfer->bytes[0] = fmax(0, transfer->bytes[0]);
}

/* Where all-to-alls were measured, the rate is that of this size and number of units. */
static void
all_to_all_rates(const struct links *links, const struct span *span,
    const struct transfer *transfer, double *Bps)
{
	for (int l = 0; l < links->n_levels; l++) {
		double units = l == 0 ? (double)span->inside[0] : span->units[l - 1];

		Bps[l] = links->all_to_all[l] && transfer->bytes[l] > 0
		    ? traffic_Bps(links->all_to_all[l], units, transfer->bytes[l])
		    : links->all_to_all_Bps[l];
	}
}

struct transfer
comm_dispatch(const struct links *links, const struct span *span, const struct dispatch *d)
{
	struct transfer transfer = {0};
	double Bps[CLUSTER_MAX_LEVELS];
	int top = top_level(span);

	if (span->size <= 1)
		return transfer;
	for (int l = 0; l <= top; l++)
		transfer.bytes[l] =
		    d->hot * d->tokens * d->token_bytes * fmax(0, copies_crossing(d, span, l));
	if (d->off_node > 0 && !d->gather)
		keep_near(&transfer, top, d->off_node);
	transfer.seconds = links->latency_s[top] +
	    rate_table[RATE_MESSAGE_PEER_S].value * (double)(span->size - 1);
	all_to_all_rates(links, span, &transfer, Bps);
	settle(&transfer, Bps, links->n_levels);
	return transfer;
}
