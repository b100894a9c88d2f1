/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Do collectives load the links that their ranks really span, with the bytes that theory gives? */
#include <criterion/criterion.h>

#include "planner/comm.h"

/* 16 nodes of 8: 100 bytes/s in a node, 10 bytes/s a NIC, no latency. */
static struct links
two_levels(void)
{
	return (struct links){.n_levels = 2, .gpus = {8, 128}, .Bps = {100, 10},
	    .all_to_all_Bps = {100, 10}};
}

Test(comm, spans)
{
	struct links links = two_levels();
	struct span tp = span_of(&links, 1, 8), ep = span_of(&links, 1, 16);
	struct span dp = span_of(&links, 4, 32), pp = span_of(&links, 32, 4);

	cr_assert_eq(tp.inside[0], 8);
	cr_assert_eq(ep.inside[0], 8);
	cr_assert_float_eq(ep.units[0], 2, 1e-12);
	cr_assert_eq(dp.inside[0], 2);
	cr_assert_float_eq(dp.units[0], 16, 1e-12);
	cr_assert_eq(pp.inside[0], 1);
	cr_assert_eq(pp.inside[1], 4);
}

/* A block of 16 does not tile a domain of 72: some group straddles two domains. */
Test(comm, straddling_groups)
{
	struct links links = {.n_levels = 2, .gpus = {72, 144}, .Bps = {100, 10}};

	cr_assert_lt(span_of(&links, 1, 16).inside[0], 16);
	cr_assert_eq(span_of(&links, 1, 8).inside[0], 8);
	cr_assert_eq(span_of(&links, 1, 36).inside[0], 36);
}

/* nccl-tests: all-gather moves (n-1)/n of the buffer through each rank. */
Test(comm, gather_inside_a_node)
{
	struct links links = two_levels();
	struct span span = span_of(&links, 1, 8);
	struct transfer t = comm_gather(&links, &span, 800);

	cr_assert_float_eq(t.bytes[0], 700, 1e-9);
	cr_assert_float_eq(t.bytes[1], 0, 1e-9);
	cr_assert_geq(t.seconds, 7);
	cr_assert_float_eq(t.seconds, 7, 1e-4);
	cr_assert_float_eq(comm_all_reduce(&links, &span, 800).seconds, 14, 1e-4);
}

/* Eight NICs of a node share what leaves it: S (N-1)/N / i. */
Test(comm, gather_across_nodes)
{
	struct links links = two_levels();
	struct span wide = span_of(&links, 1, 16), lone = span_of(&links, 8, 2);

	cr_assert_float_eq(comm_gather(&links, &wide, 800).bytes[1], 800.0 / 2 / 8, 1e-9);
	cr_assert_float_eq(comm_gather(&links, &lone, 800).bytes[1], 400, 1e-9);
	cr_assert_eq(comm_gather(&links, &(struct span){.size = 1, .n_levels = 2}, 800).seconds, 0);
}

/* N (1 - C(E-E/N, k) / C(E, k)): 256 experts, top-8 (DeepSeek-V3): 5.30 of 8 nodes, 3.61 of 4. */
Test(comm, expected_bins)
{
	cr_assert_float_eq(expected_bins(256, 8, 8), 5.30, 0.01);
	cr_assert_float_eq(expected_bins(256, 8, 4), 3.61, 0.01);
	cr_assert_float_eq(expected_bins(64, 1, 8), 1, 1e-12);
	cr_assert_float_eq(expected_bins(8, 8, 8), 8, 1e-12);
	cr_assert_float_eq(expected_bins(256, 8, 1), 1, 1e-12);
}

static struct dispatch
deepseek(int deduplicate)
{
	return (struct dispatch){.tokens = 1,
	    .token_bytes = 1,
	    .experts = 256,
	    .top_k = 8,
	    .hot = 1,
	    .deduplicate = deduplicate};
}

Test(comm, all_to_all_leaves_by_its_own_nic)
{
	struct links links = two_levels();
	struct span span = span_of(&links, 1, 64);
	struct dispatch plain = deepseek(0), once = deepseek(1), limited = deepseek(1);
	struct transfer t = comm_dispatch(&links, &span, &plain);

	/* k (1 - 1/N) copies leave the node, k (1/N - 1/n) stay in it */
	cr_assert_float_eq(t.bytes[1], 8.0 * 7 / 8, 1e-9);
	cr_assert_float_eq(t.bytes[0], 8.0 * (1.0 / 8 - 1.0 / 64), 1e-9);
	/* de-duplicated: E[nodes] (N-1)/N */
	cr_assert_float_eq(comm_dispatch(&links, &span, &once).bytes[1],
	    expected_bins(256, 8, 8) * 7 / 8, 1e-9);
	/* a token that may use 4 of 8 groups goes to 4 nodes at most */
	limited.route_groups = 8;
	limited.top_groups = 4;
	cr_assert_float_eq(comm_dispatch(&links, &span, &limited).bytes[1], 4.0 * 7 / 8, 1e-9);
}

Test(comm, the_hot_rank_sets_the_time)
{
	struct links links = two_levels();
	struct span span = span_of(&links, 1, 16);
	struct dispatch even = deepseek(0), hot = deepseek(0);

	hot.hot = 1.7;
	cr_assert_float_eq(comm_dispatch(&links, &span, &hot).bytes[1],
	    1.7 * comm_dispatch(&links, &span, &even).bytes[1], 1e-9);
}

/* 72-GPU racks are used in segments that divide the job. */
Test(comm, segments_of_a_rack)
{
	struct cluster cluster = {.gpus_per_node = 4, .n_levels = 2,
	    .levels = {{.name = "NVLink", .gpus = 72, .Bps = {900e9, ORIGIN_CATALOGUE, NULL},
	                   .oversubscription = 1},
	        {.name = "network", .Bps = {50e9, ORIGIN_CATALOGUE, NULL}, .oversubscription = 1}}};
	struct links links;

	links_init(&links, &cluster, 256);
	cr_assert_eq(links.gpus[0], 64);
	links_init(&links, &cluster, 144);
	cr_assert_eq(links.gpus[0], 72);
	links_init(&links, &cluster, 16);
	cr_assert_eq(links.gpus[0], 16);
	cr_assert_eq(links.gpus[1], 16);
}

/* A ring in step with computation: beyond a node one NIC a step, not all of them at once. */
Test(comm, ring_of_attention)
{
	struct links links = two_levels();
	struct span inside = span_of(&links, 1, 8), outside = span_of(&links, 1, 16);

	cr_assert_float_eq(comm_ring(&links, &inside, 100).seconds, 7, 1e-4);
	cr_assert_float_eq(comm_gather(&links, &inside, 800).seconds, 7, 1e-4);
	cr_assert_float_eq(comm_ring(&links, &outside, 100).seconds, 150, 1e-2);
	cr_assert_lt(comm_gather(&links, &outside, 1600).seconds, 20);
}
