/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Is every layout that nccl-tests prints and saves understood, and what says nothing refused? */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "base/doc.h"
#include "model/calibrate.h"
#include "scratch.h"

static struct cluster *cluster;
static struct measurements m;

static void
set_up(void)
{
	scratch_open();
	cluster = cluster_from_text(arena, diags, "dgx-h100x4");
	memset(&m, 0, sizeof(m));
	m.peer_s = 0.7e-6;
	m.gemm_half = 48;
}

static int
add(const char *text)
{
	const struct doc *doc;

	if (text[0] != '{')
		return calibrate_add_nccl_tests(diags, cluster, "out.txt", text, strlen(text), &m);
	doc = doc_parse(arena, diags, "out.json", text, strlen(text));
	cr_assert(doc && calibrate_is_nccl_json(doc));
	return calibrate_add_nccl_json(diags, cluster, doc, &m);
}

static void
assert_refused(const char *text, const char *says)
{
	cr_assert_neq(add(text), 0);
	cr_assert(strstr(diags->last->message, says), "%s", diags->last->message);
}

#define RANK(tag, rank, group, host)                                                               \
	tag "#  Rank " #rank " Group " #group " Pid 11 on " host                                   \
	    " device  0 [0000:1b:00] NVIDIA H100 80GB HBM3\n"
#define ROW(tag)                                                                                   \
	tag "    33554432       8388608     float    none      -1"                                 \
	    "   100.0  335.5  300.0      0   101.0  334.0  299.0    N/A\n"
#define RUNS(program) "# Collective test starting: " program "_perf\n# Using devices\n"

Test(nccl_tests, tags_of_launchers, .init = set_up, .fini = scratch_close)
{
	cr_assert_eq(add("[1,0]<stdout>:# Collective test starting: alltoall_perf\n"
			 "[1,0]<stdout>:# Using devices\n" RANK("[1,0]<stdout>:", 0, 0, "a")
			     RANK("[1,0]<stdout>: ", 1, 0, "b") ROW("[1,0]<stdout>:")),
	    0);
	cr_assert_eq(
	    add("0: # Collective test starting: alltoall_perf\n"
		"0: # Using devices\n" RANK("0: ", 0, 0, "a") RANK("0: ", 1, 0, "a") ROW("0: ")),
	    0);
	cr_assert_eq(m.n_samples, 2);
	cr_assert_eq(m.samples[0].level, 1); /* two hosts: the network */
	cr_assert_eq(m.samples[1].level, 0);
	cr_assert_float_eq(m.samples[1].seconds, 100e-6, 1e-12);
}

/* The program in front of the rows may be the command alone, and carriage returns are none of it.
 */
Test(nccl_tests, old_layout_behind_its_command, .init = set_up, .fini = scratch_close)
{
	cr_assert_eq(
	    add("$ mpirun -np 2 ./build/reduce_scatter_perf -b 8 -e 8G\r\n"
		"# Using devices\r\n"
		"#   Rank  0 Pid  77 on     node device  0 [0x07] NVIDIA H100\r\n"
		"#   Rank  1 Pid  77 on     node device  1 [0x0b] NVIDIA H100\r\n" ROW("")),
	    0);
	cr_assert_eq(m.n_samples, 1);
	cr_assert_not(m.samples[0].all_to_all);
	cr_assert_float_eq(m.samples[0].wire_bytes, 33554432.0 / 2, 1);
}

/* Ranks of the second program are no more ranks of the first. */
Test(nccl_tests, several_programs_in_a_file, .init = set_up, .fini = scratch_close)
{
	cr_assert_eq(add(RUNS("all_reduce") RANK("", 0, 0, "a") RANK("", 1, 0, "a") ROW(
			 "") "# Collective test concluded: all_reduce_perf\n" RUNS("sendrecv")
			     RANK("", 0, 0, "a") RANK("", 1, 0, "a") ROW("")),
	    0);
	cr_assert_eq(m.n_samples, 2);
	cr_assert_float_eq(m.samples[0].wire_bytes, 33554432.0, 1); /* 2 (n - 1) / n */
	cr_assert_float_eq(m.samples[1].wire_bytes, 33554432.0, 1);
	cr_assert_eq(m.samples[1].units, 2);
}

/* Groups run side by side: what a row says is of two ranks on one host, not of four on two. */
Test(nccl_tests, split_groups, .init = set_up, .fini = scratch_close)
{
	cr_assert_eq(add("# Collective test starting: alltoall_perf\n"
			 "# Using devices\n" RANK("", 0, 0, "a") RANK("", 1, 0, "a")
			     RANK("", 2, 1, "b") RANK("", 3, 1, "b") ROW("")),
	    0);
	cr_assert_eq(m.n_samples, 1);
	cr_assert_eq(m.samples[0].level, 0);
	cr_assert_eq(m.samples[0].units, 2);
}

Test(nccl_tests, json, .init = set_up, .fini = scratch_close)
{
	static const char format[] =
	    "{\"version\":1,\"args\":[\"./build/alltoall_perf\",\"-J\",\"x.json\"],\"env\":[],"
	    "\"nccl_version\":22809,\"config\":{\"ngpus\":1,\"devices\":["
	    "{\"rank\":0,\"group\":0,\"hostname\":\"a\",\"device_info\":\"NVIDIA H100\"},"
	    "{\"rank\":1,\"group\":0,\"hostname\":\"b\",\"device_info\":\"%s\"}]},"
	    "\"results\":[{\"size\":33554432,\"count\":8388608,\"type\":\"float\","
	    "\"redop\":\"none\",\"root\":\"-1\",\"out_of_place\":%s,\"in_place\":{\"%s\":101.0,"
	    "\"nwrong\":null}}],"
	    "\"out_of_bounds\":{\"count\":0,\"okay\":\"true\"}}";
	const char *own = "NVIDIA H100 80GB HBM3";

	cr_assert_eq(add(arena_printf(arena, format, own,
			 "{\"time\":100.0,\"alg_bw\":1.0,\"bus_bw\":1.0,\"nwrong\":0.0}", "time")),
	    0);
	cr_assert_eq(add(arena_printf(arena, format, own, "null", "time")), 0);
	cr_assert_eq(m.n_samples, 2);
	cr_assert(m.samples[0].all_to_all);
	cr_assert_eq(m.samples[0].level, 1);
	cr_assert_float_eq(m.samples[0].seconds, 100e-6, 1e-12);
	cr_assert_float_eq(m.samples[1].seconds, 101e-6, 1e-12);
	assert_refused(arena_printf(arena, format, own, "null", "cpu_time"), "of the CPU");
	assert_refused(arena_printf(arena, format, "NVIDIA A100-SXM4-80GB", "null", "time"),
	    "on 'NVIDIA A100-SXM4-80GB', the cluster has 'H100");
}

Test(nccl_tests, what_says_nothing, .init = set_up, .fini = scratch_close)
{
	assert_refused("# Collective test starting: alltoall_perf\n"
		       "# Using devices\n" RANK("", 0, 0, "a") "# Using devices\n" RANK(
			   "", 0, 0, "b") ROW("") ROW(""),
	    "ran for itself");
	assert_refused(
	    "# Collective test starting: alltoall_perf\n"
	    "# Using devices\n" RANK("", 0, 0, "a") RANK("", 1, 0,
		"a") "#  size  count type redop root cputime algbw busbw #wrong\n" ROW(""),
	    "of the CPU");
	assert_refused("# Collective test starting: alltoall_perf\n"
		       "#  Rank 0 Group 0 Pid 1 on a device 0 [0000:1b:00] NVIDIA H200\n",
	    "on 'NVIDIA H200', the cluster has 'H100");
	assert_refused("# Using devices\n" RANK("", 0, 0, "a") RANK("", 1, 0, "a") ROW(""),
	    "which program timed it");
	assert_refused("nothing at all\n", "neither the output of nccl-tests");
}

/* A part that the catalogue does not know, and boards that say no name, are believed. */
Test(nccl_tests, unknown_devices, .init = set_up, .fini = scratch_close)
{
	cr_assert_eq(
	    add(RUNS(
		"all_gather") "# Rank 0 Group 0 Pid 1 on a device 0 [0000:1b:00] Graphics Device\n"
			      "# Rank 1 Group 0 Pid 1 on a device 1 [0000:1c:00] Graphics "
			      "Device\n" ROW("")),
	    0);
	cr_assert_eq(m.n_samples, 1);
}
