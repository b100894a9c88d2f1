/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Are the tables of nccl-tests read as what they measured? */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "calibrate_fixture.h"

/* Rows as nccl-tests prints them: size count type redop root time algbw busbw #wrong …. */
static const char *
nccl_text(int hosts)
{
	struct str text = str_new(arena);
	int i;

	str_add(&text, "# nccl-tests version 2.17.1\n# Collective test starting: alltoall_perf\n");
	for (i = 0; i < 8; i++)
		str_addf(&text,
		    "#  Rank  %d Group  0 Pid %d on   node-%d device  %d [0000:1b:00] NVIDIA H100 "
		    "80GB HBM3\n",
		    i, 1000 + i, i % hosts, i);
	str_add(&text, "#\n#       size         count      type   redop    root     time   algbw   "
		       "busbw #wrong\n");
	for (int power = 10; power < 31; power += 3) {
		double bytes = ldexp(1, power);
		double leaves = hosts > 1 ? 0.5 : 7.0 / 8; /* 4 of 8 ranks are on the other node */
		double us = 3.0 + 7 * PEER_S * 1e6 + bytes * leaves / 40e9 * 1e6;
		double algbw = bytes / us * 1e-3;

		str_addf(&text, "  %.0f  %.0f  float  none  -1  %.6f  %.8f  %.8f  N/A\n", bytes,
		    bytes / 32, us, algbw, algbw * 7 / 8);
	}
	str_add(&text, "# Avg bus bandwidth    : 20.1\n");
	return text.text;
}

Test(calibrate_nccl, nccl_tests_between_nodes, .init = calibrate_open, .fini = scratch_close)
{
	struct fit fit;

	cr_assert_eq(add_measured(nccl_text(2)), 0);
	cr_assert_eq(calibrate_fit(&m, 0).samples, 0);
	fit = calibrate_fit(&m, cluster->n_levels - 1);
	cr_assert_float_eq(fit.Bps, 40e9, 1e7);
	cr_assert_float_eq(fit.latency_s, 3e-6, 1e-8);
}

Test(calibrate_nccl, nccl_tests_in_a_node, .init = calibrate_open, .fini = scratch_close)
{
	cr_assert_eq(add_measured(nccl_text(1)), 0);
	cr_assert(calibrate_fit(&m, 0).samples > 0);
	cr_assert_eq(calibrate_fit(&m, cluster->n_levels - 1).samples, 0);
}

/* 128 nodes of 8 GPUs, all of a node's links busy at once; one of more hosts than anybody has. */
Test(calibrate_nccl, nccl_tests_on_many_hosts, .init = calibrate_open, .fini = scratch_close)
{
	struct str text = str_new(arena), more = str_new(arena);
	int i;

	str_add(&text, "# all_gather_perf\n");
	for (i = 0; i < 1024; i++)
		str_addf(&text, "#  Rank  %d Group  0 Pid 1 on  node-%d device  %d\n", i, i / 8,
		    i % 8);
	for (int power = 20; power < 31; power += 3) {
		double bytes = ldexp(1, power);

		str_addf(&text, "  %.0f  1  float  none  -1  %.6f  1  1  N/A\n", bytes,
		    20 + 1023 * PEER_S * 1e6 + bytes * 127 / 128 / 8 / 40e9 * 1e6);
	}
	cr_assert_eq(add_measured(text.text), 0);
	cr_assert_eq(m.n_left_out, 0);
	cr_assert_float_eq(calibrate_fit(&m, cluster->n_levels - 1).Bps, 40e9, 1e8);
	for (i = 0; i < 5000; i++)
		str_addf(&more, "#  Rank  %d Group  0 Pid 1 on  node-%d device  0\n", i, i);
	cr_assert_eq(add_measured(more.text), -1);
	cr_assert(strstr(diags->last->message, "4096 hosts"), "%s", diags->last->message);
}

/* Two ranks of one host by this program; NULL: it does not say which. */
static const char *
two_ranks(const char *program)
{
	struct str text = str_new(arena);

	if (program)
		str_addf(&text, "# Collective test starting: %s\n", program);
	str_add(&text, "#  Rank  0 Group  0 Pid 1 on  node device  0 [0x1b] NVIDIA H100\n"
		       "#  Rank  1 Group  0 Pid 2 on  node device  1 [0x1c] NVIDIA H100\n");
	for (int power = 20; power < 31; power += 3) {
		double bytes = ldexp(1, power);

		str_addf(&text, "  %.0f  %.0f  float  none  -1  %.6f  1  1  N/A\n", bytes,
		    bytes / 4, 5 + PEER_S * 1e6 + bytes / 399e9 * 1e6);
	}
	return text.text;
}

Test(calibrate_nccl, nccl_tests_that_send_all_of_it, .init = calibrate_open, .fini = scratch_close)
{
	cr_assert_eq(add_measured(two_ranks("sendrecv_perf")), 0);
	cr_assert_float_eq(calibrate_fit(&m, 0).Bps, 399e9, 1e8);
	cr_assert_float_eq(calibrate_fit(&m, 0).latency_s, 5e-6, 1e-8);
}

Test(calibrate_nccl, nccl_tests_of_other_programs_are_refused, .init = calibrate_open,
    .fini = scratch_close)
{
	cr_assert_eq(add_measured(two_ranks("broadcast_perf")), -1);
	cr_assert(strstr(diags->last->message, "'broadcast'"), "%s", diags->last->message);
	cr_assert_eq(
	    add_measured(two_ranks("reduce_perf")), -1, "no all_reduce and no reduce_scatter");
	cr_assert_eq(add_measured(two_ranks(NULL)), -1);
	cr_assert_eq(diags->last->loc.line, 3);
	cr_assert_eq(m.n_samples, 0);
	cr_assert_eq(add_measured(two_ranks("./build/reduce_scatter_perf -b 8")), 0);
}

/* A reduction over 2 nodes of 8 GPUs is bound inside the node; one GPU a node shows the network. */
Test(calibrate_nccl, rings_that_say_nothing_of_the_network, .init = calibrate_open,
    .fini = scratch_close)
{
	struct loc nowhere = {NULL, 0, 0};
	int network = cluster->n_levels - 1;

	cr_assert_eq(calibrate_add_sample(
			 diags, nowhere, cluster, &m, network, "all_reduce", 16, 8, 1e9, 6e-3),
	    0);
	cr_assert_eq(m.n_samples, 0);
	cr_assert_eq(m.n_left_out, 1);
	cr_assert_eq(calibrate_add_sample(
			 diags, nowhere, cluster, &m, network, "all_gather", 4, 1, 1e9, 20e-3),
	    0);
	cr_assert_eq(m.n_samples, 1);
	cr_assert_float_eq(m.samples[0].wire_bytes, 0.75e9, 1);
}
