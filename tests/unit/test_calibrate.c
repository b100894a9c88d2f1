/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Do measured rates come back out of what was measured, and is the rest refused? */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/doc.h"
#include "model/calibrate.h"
#include "scratch.h"

#define PEER_S 0.7e-6

static struct cluster *cluster;
static struct measurements m;

static void
set_up(void)
{
	scratch_open();
	cluster = cluster_from_text(arena, diags, "dgx-h100x4");
	memset(&m, 0, sizeof(m));
	m.peer_s = PEER_S;
	m.gemm_half = 48;
}

static int
add(const char *text)
{
	const struct doc *doc;

	if (text[0] != '{')
		return calibrate_add_nccl_tests(diags, cluster, "report", text, strlen(text), &m);
	doc = doc_parse(arena, diags, "report", text, strlen(text));
	return doc ? calibrate_add_report(diags, cluster, doc, &m) : -1;
}

/* A report of all-to-alls over 8 ranks with this rate and latency. */
static const char *
report(double Bps, double latency_s, const char *comparable, const char *gpu)
{
	struct str text = str_new(arena);

	str_addf(&text,
	    "{\"schema\": \"moeplan/probe/v1\", \"gpu\": \"%s\", \"environment\": {\"comparable\": "
	    "%s},"
	    "\"device\": {\"memory_Bps\": 3.0e12}, \"products\": [{\"flops\": 7.0e14}, {\"flops\": "
	    "6e14}],"
	    "\"transfers\": [",
	    gpu, comparable);
	for (int power = 10; power < 31; power += 3) {
		double bytes = ldexp(1, power);

		str_addf(&text,
		    "%s{\"op\": \"all_to_all\", \"ranks\": 8, \"level_index\": 0, \"bytes\": %.0f, "
		    "\"seconds\": %.9g}",
		    power > 10 ? ", " : "", bytes, latency_s + 7 * PEER_S + bytes * 7 / 8 / Bps);
	}
	str_add(&text, "]}");
	return text.text;
}

Test(calibrate, fit_finds_rate_and_latency, .init = set_up, .fini = scratch_close)
{
	struct fit fit;

	cr_assert_eq(add(report(320e9, 2e-6, "true", "H100-SXM5-80GB")), 0);
	fit = calibrate_fit(&m, 0);
	cr_assert(fit.samples > 4);
	cr_assert_float_eq(fit.Bps, 320e9, 1e6);
	cr_assert_float_eq(fit.latency_s, 2e-6, 1e-10);
	cr_assert(fit.spread < 1e-5);
	cr_assert_eq(calibrate_fit(&m, 1).samples, 0, "nothing was measured between nodes");
}

Test(calibrate, file_has_measured_numbers, .init = set_up, .fini = scratch_close)
{
	struct str out = str_new(arena);
	struct cluster *again;
	const struct doc *doc;

	cr_assert_eq(add(report(320e9, 2e-6, "true", "H100-SXM5-80GB")), 0);
	cr_assert_eq(calibrate_cluster(diags, cluster, &m, 0, &out), 0);
	doc = doc_parse(arena, diags, "calibrated", out.text, out.length);
	cr_assert_not_null(doc, "%s", out.text);
	again = cluster_read(arena, diags, doc);
	cr_assert_not_null(again, "%s", diags->first ? diags->first->message : "");
	cr_assert_eq(again->world, cluster->world);
	cr_assert_eq(again->levels[0].Bps.origin, ORIGIN_MEASURED);
	cr_assert_float_eq(again->levels[0].Bps.value, 320e9, 1e7);
	cr_assert_float_eq(again->levels[0].latency_s.value, 2e-6, 1e-9);
	cr_assert_neq(again->levels[1].Bps.origin, ORIGIN_MEASURED);
	cr_assert_float_eq(again->levels[1].Bps.value, cluster->levels[1].Bps.value, 1e6);
	cr_assert_eq(again->gpu.hbm_Bps.origin, ORIGIN_MEASURED);
	cr_assert_float_eq(again->gpu.hbm_Bps.value, 3.0e12, 1e6);
	cr_assert_float_eq(
	    again->gpu.matmul_ceiling.value, 7e14 / cluster->gpu.flops[FLOP_BF16].value, 1e-3);
}

Test(calibrate, refuses_what_is_not_comparable, .init = set_up, .fini = scratch_close)
{
	cr_assert_eq(add(report(1e9, 1e-6, "false", "H100-SXM5-80GB")), -1);
	cr_assert(strstr(diags->last->message, "not comparable"));
	cr_assert_eq(add(report(1e9, 1e-6, "true", "A100-SXM4-80GB")), -1);
	cr_assert(strstr(diags->last->message, "A100-SXM4-80GB"));
	cr_assert_eq(add("{\"schema\": \"moeplan/probe/v1\"}"), -1, "it says nothing of its times");
	cr_assert_eq(add("{"), -1);
	cr_assert_eq(add("no report at all\n"), -1);
	cr_assert_eq(m.n_samples, 0);
}

Test(calibrate, a_transfer_says_its_level, .init = set_up, .fini = scratch_close)
{
	cr_assert_eq(add("{\"environment\": {\"comparable\": true}, \"transfers\": [{\"op\": "
			 "\"all_gather\", \"ranks\": 8, \"bytes\": 1000, \"seconds\": 1}]}"),
	    -1);
	cr_assert(strstr(diags->last->message, "not one of this cluster's"));
}

Test(calibrate, one_size_is_no_fit, .init = set_up, .fini = scratch_close)
{
	struct str out = str_new(arena);

	m.n_samples = 2;
	m.samples[0] = (struct sample){0, true, 8, 1e6, 7, 1e-5};
	m.samples[1] = (struct sample){0, true, 8, 1.1e6, 7, 1.1e-5};
	cr_assert_eq(calibrate_fit(&m, 0).samples, 0);
	cr_assert_eq(calibrate_cluster(diags, cluster, &m, 0, &out), -1);
}

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

Test(calibrate, nccl_tests_between_nodes, .init = set_up, .fini = scratch_close)
{
	struct fit fit;

	cr_assert_eq(add(nccl_text(2)), 0);
	cr_assert_eq(calibrate_fit(&m, 0).samples, 0);
	fit = calibrate_fit(&m, cluster->n_levels - 1);
	cr_assert_float_eq(fit.Bps, 40e9, 1e7);
	cr_assert_float_eq(fit.latency_s, 3e-6, 1e-8);
}

Test(calibrate, nccl_tests_in_a_node, .init = set_up, .fini = scratch_close)
{
	cr_assert_eq(add(nccl_text(1)), 0);
	cr_assert(calibrate_fit(&m, 0).samples > 0);
	cr_assert_eq(calibrate_fit(&m, cluster->n_levels - 1).samples, 0);
}

/* 128 nodes of 8 GPUs, all of a node's links busy at once; one of more hosts than anybody has. */
Test(calibrate, nccl_tests_on_many_hosts, .init = set_up, .fini = scratch_close)
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
	cr_assert_eq(add(text.text), 0);
	cr_assert_eq(m.n_left_out, 0);
	cr_assert_float_eq(calibrate_fit(&m, cluster->n_levels - 1).Bps, 40e9, 1e8);
	for (i = 0; i < 5000; i++)
		str_addf(&more, "#  Rank  %d Group  0 Pid 1 on  node-%d device  0\n", i, i);
	cr_assert_eq(add(more.text), -1);
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

Test(calibrate, nccl_tests_that_send_all_of_it, .init = set_up, .fini = scratch_close)
{
	cr_assert_eq(add(two_ranks("sendrecv_perf")), 0);
	cr_assert_float_eq(calibrate_fit(&m, 0).Bps, 399e9, 1e8);
	cr_assert_float_eq(calibrate_fit(&m, 0).latency_s, 5e-6, 1e-8);
}

Test(calibrate, nccl_tests_of_other_programs_are_refused, .init = set_up, .fini = scratch_close)
{
	cr_assert_eq(add(two_ranks("broadcast_perf")), -1);
	cr_assert(strstr(diags->last->message, "'broadcast'"), "%s", diags->last->message);
	cr_assert_eq(add(two_ranks("reduce_perf")), -1, "no all_reduce and no reduce_scatter");
	cr_assert_eq(add(two_ranks(NULL)), -1);
	cr_assert_eq(diags->last->loc.line, 3);
	cr_assert_eq(m.n_samples, 0);
	cr_assert_eq(add(two_ranks("./build/reduce_scatter_perf -b 8")), 0);
}

/* A reduction over 2 nodes of 8 GPUs is bound inside the node; one GPU a node shows the network. */
Test(calibrate, rings_that_say_nothing_of_the_network, .init = set_up, .fini = scratch_close)
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

Test(calibrate, all_to_all_by_size_and_nodes, .init = set_up, .fini = scratch_close)
{
	struct loc nowhere = {NULL, 0, 0};
	struct str out = str_new(arena);
	struct traffic_curves curves;
	struct cluster *again;
	const struct doc *doc;
	int network = cluster->n_levels - 1, nodes;

	for (nodes = 2; nodes <= 4; nodes += 2)
		for (int power = 16; power < 30; power += 4) {
			/* faster when there is more, slower over more nodes */
			double bytes = ldexp(1, power);
			double out_bytes = bytes * (1 - 1.0 / nodes);
			double Bps = 50e9 * pow(out_bytes / 1e9, 0.15) / (nodes / 2.0);

			calibrate_add_sample(diags, nowhere, cluster, &m, network, "all_to_all",
			    8 * nodes, 8, bytes, 1e-5 + PEER_S * (8 * nodes - 1) + out_bytes / Bps);
		}
	curves = calibrate_traffic(&m, cluster, network);
	cr_assert_eq(curves.n, 2);
	cr_assert_gt(traffic_Bps(&curves, 2, 4e8), 1.8 * traffic_Bps(&curves, 4, 4e8));
	cr_assert_gt(traffic_Bps(&curves, 2, 4e8), 1.3 * traffic_Bps(&curves, 2, 8e6));
	cr_assert_eq(calibrate_cluster(diags, cluster, &m, 0, &out), 0);
	doc = doc_parse(arena, diags, "calibrated", out.text, out.length);
	again = doc ? cluster_read(arena, diags, doc) : NULL;
	cr_assert_not_null(again, "%s", out.text);
	cr_assert_eq(again->levels[network].all_to_all.n, 2);
	cr_assert_float_eq(traffic_Bps(&again->levels[network].all_to_all, 2, 4e8),
	    traffic_Bps(&curves, 2, 4e8), 1e8);
}

/* What the file had is kept by a calibration that measures something else. */
Test(calibrate, products_memory_and_overlap_are_kept, .init = set_up, .fini = scratch_close)
{
	struct str text = str_new(arena), out = str_new(arena), twice = str_new(arena);
	struct cluster *again, *third;
	struct measurements none = {.peer_s = PEER_S, .gemm_half = 48};

	str_add(&text,
	    "{\"schema\": \"moeplan/probe/v1\", \"environment\": {\"comparable\": true}, "
	    "\"device\": {\"memory_Bps\": 3e12, \"launch_s\": 2.5e-6}, \"overlap\": "
	    "{\"compute_s\": 3, \"communication_s\": 2, \"both_s\": 3.6}, "
	    "\"memory\": {\"stages\": [{\"measured\": {\"outside_bytes\": 3e9}}]}, "
	    "\"products\": [");
	for (int size = 256; size <= 8192; size *= 2) {
		double fill = size / (size + 100.0);

		str_addf(&text,
		    "{\"name\": \"gemm\", \"groups\": 1, \"m\": %d, \"n\": %d, \"k\": "
		    "%d, \"flops\": %.9g},",
		    size, size, size, 8e14 * fill * fill * fill);
	}
	str_add(&text,
	    "{\"name\": \"experts\", \"groups\": 8, \"m\": 64, \"n\": 3000, \"k\": 4000, "
	    "\"flops\": 1e14}, {\"name\": \"experts\", \"groups\": 8, \"m\": 4096, \"n\": "
	    "3000, \"k\": 4000, \"flops\": 6e14}]}");
	cr_assert_eq(add(text.text), 0);
	cr_assert_float_eq(calibrate_gemm_half(&m), 100, 0.1);
	cr_assert_eq(calibrate_cluster(diags, cluster, &m, 0, &out), 0);
	again = cluster_read(arena, diags, doc_parse(arena, diags, "one", out.text, out.length));
	cr_assert_not_null(again, "%s", out.text);
	cr_assert_float_eq(again->gpu.gemm_half, 100, 0.1);
	cr_assert_eq(again->gpu.grouped.n, 2);
	cr_assert_lt(curve_value(&again->gpu.grouped, 64), 0.5);
	cr_assert_gt(curve_value(&again->gpu.grouped, 4096), 0.7);
	cr_assert_float_eq(again->gpu.launch_s, 2.5e-6, 1e-9);
	cr_assert_float_eq(again->gpu.runtime_bytes, 3e9, 1);
	cr_assert_float_eq(again->hidden_all_to_all, 0.7, 1e-9);
	cr_assert_eq(calibrate_cluster(diags, again, &none, 1, &twice), 0);
	third =
	    cluster_read(arena, diags, doc_parse(arena, diags, "two", twice.text, twice.length));
	cr_assert_not_null(third, "%s", twice.text);
	cr_assert_float_eq(third->gpu.hbm_Bps.value, 3e12, 1e6);
	cr_assert_eq(third->gpu.hbm_Bps.origin, ORIGIN_MEASURED);
	cr_assert_float_eq(third->gpu.gemm_half, 100, 0.1);
	cr_assert_eq(third->gpu.grouped.n, 2);
	cr_assert_float_eq(third->hidden_all_to_all, 0.7, 1e-9);
}

static struct cluster *
read_cluster(const char *text, size_t length)
{
	const struct doc *doc = doc_parse(arena, diags, "cluster", text, length);
	struct cluster *read = doc ? cluster_read(arena, diags, doc) : NULL;

	cr_assert_not_null(read, "%s\n%s", diags->first ? diags->first->message : "", text);
	return read;
}

static void
same_level(const struct level *a, const struct level *b)
{
	cr_assert_eq(a->gpus, b->gpus);
	cr_assert_float_eq(a->Bps.value, b->Bps.value, 1);
	cr_assert_eq(a->Bps.origin, b->Bps.origin);
	cr_assert_float_eq(a->latency_s.value, b->latency_s.value, 1e-12);
	cr_assert_float_eq(a->oversubscription, b->oversubscription, 1e-12);
	cr_assert_float_eq(a->spread, b->spread, 1e-12);
	cr_assert_eq(a->all_to_all.n, 1);
	cr_assert_eq(b->all_to_all.n, 1);
	cr_assert_float_eq(
	    traffic_Bps(&a->all_to_all, 2, 1e6), traffic_Bps(&b->all_to_all, 2, 1e6), 1);
}

/* A step alone changes nothing of what a file with every key says. */
Test(calibrate, every_key_of_the_file_is_kept, .init = set_up, .fini = scratch_close)
{
	static const char text[] =
	    "schema: moeplan/cluster/v1\nname: mine\nnodes: 4\ngpus_per_node: 8\n"
	    "gpu: {name: H100-SXM5-80GB, memory: 78GiB, hbm_GBps: 3000, bf16_tflops: 900, "
	    "fp16_tflops: 910, fp8_tflops: 1800, matmul_ceiling: 0.7, gemm_half: 100, "
	    "grouped: [[64, 0.4]], launch_us: 3, runtime: 2GiB, spread: 0.02, origin: measured}\n"
	    "links:\n"
	    "  scale_up: {domain_gpus: 4, GBps: 400, latency_us: 5, spread: 0.03, "
	    "all_to_all: [[2, 1000, 30]], origin: measured}\n"
	    "  in_node: {GBps: 40, latency_us: 6, spread: 0.04, all_to_all: [[2, 1000, 20]]}\n"
	    "  scale_out: {nics_per_node: 4, Gbps: 200, latency_us: 9, oversubscription: 2, "
	    "spread: 0.05, all_to_all: [[2, 1000, 10]]}\n"
	    "host: {GBps: 33, memory_GBps: 250, memory: 100GiB, origin: measured}\n"
	    "reserve: 3GiB\nhidden_all_to_all: 0.6\n";
	struct cluster *a = read_cluster(text, sizeof(text) - 1), *b;
	struct str out = str_new(arena);
	int i;

	cr_assert_eq(calibrate_cluster(diags, a, &m, 1, &out), 0);
	b = read_cluster(out.text, out.length);
	cr_assert_str_eq(a->name, b->name);
	cr_assert_eq(a->world, b->world);
	cr_assert_eq(a->gpus_per_node, b->gpus_per_node);
	cr_assert_eq(a->domain_gpus, b->domain_gpus);
	cr_assert_eq(a->nics_per_node, b->nics_per_node);
	cr_assert_float_eq(a->gpu.usable_bytes.value, b->gpu.usable_bytes.value, 1);
	cr_assert_float_eq(a->gpu.hbm_Bps.value, b->gpu.hbm_Bps.value, 1);
	for (i = 0; i < FLOP_TYPES; i++)
		cr_assert_float_eq(a->gpu.flops[i].value, b->gpu.flops[i].value, 1);
	cr_assert_float_eq(a->gpu.matmul_ceiling.value, b->gpu.matmul_ceiling.value, 1e-9);
	cr_assert_eq(b->gpu.matmul_ceiling.origin, ORIGIN_MEASURED);
	cr_assert_float_eq(a->gpu.gemm_half, b->gpu.gemm_half, 1e-9);
	cr_assert_float_eq(curve_value(&b->gpu.grouped, 64), 0.4, 1e-9);
	cr_assert_float_eq(a->gpu.launch_s, b->gpu.launch_s, 1e-12);
	cr_assert_float_eq(a->gpu.runtime_bytes, b->gpu.runtime_bytes, 1);
	cr_assert_float_eq(a->gpu.spread, b->gpu.spread, 1e-12);
	cr_assert_eq(a->n_levels, b->n_levels);
	for (i = 0; i < a->n_levels; i++)
		same_level(&a->levels[i], &b->levels[i]);
	cr_assert_float_eq(b->host.link_Bps.value, 33e9, 1);
	cr_assert_float_eq(b->host.memory_Bps.value, 250e9, 1);
	cr_assert_float_eq(b->host.memory_bytes.value, 100 * 0x1p30, 1);
	cr_assert_eq(b->host.link_Bps.origin, ORIGIN_MEASURED);
	cr_assert_eq(a->reserve_bytes, b->reserve_bytes);
	cr_assert_float_eq(a->hidden_all_to_all, b->hidden_all_to_all, 1e-12);
}

/* A poor first measurement does not bar a better one; what the part cannot do is named. */
Test(calibrate, readings_beyond_the_part, .init = set_up, .fini = scratch_close)
{
	struct str out = str_new(arena);

	cluster->gpu.hbm_Bps = (struct quantity){2e12, ORIGIN_MEASURED, NULL};
	m.memory_Bps = (struct readings){1, {2.7e12}};
	cr_assert_eq(calibrate_cluster(diags, cluster, &m, 0, &out), 0);
	cr_assert(strstr(out.text, "hbm_GBps: 2700 "), "%s", out.text);
	cr_assert_eq(diags->notes, 0);
	m.memory_Bps.values[0] = 9e12;
	m.matmul_flops = (struct readings){1, {2e15}};
	cr_assert_eq(calibrate_cluster(diags, cluster, &m, 0, &out), 0);
	cr_assert_eq(diags->notes, 2);
	cr_assert(strstr(diags->first->message, "9000 GB/s"), "%s", diags->first->message);
	cr_assert(strstr(diags->last->message, "2000 TFLOP/s"), "%s", diags->last->message);
}

/* The share of the all-to-all that is hidden, in the file; -1: the file has none. */
static double
hidden_of(double compute_s, double comm_s, double both_s)
{
	struct str text = str_new(arena), out = str_new(arena);

	memset(&m.hidden, 0, sizeof(m.hidden));
	str_addf(&text,
	    "{\"environment\": {\"comparable\": true}, \"overlap\": {\"compute_s\": %g, "
	    "\"communication_s\": %g, \"both_s\": %g, \"hidden\": 0.99}}",
	    compute_s, comm_s, both_s);
	cr_assert_eq(add(text.text), 0);
	cr_assert_eq(calibrate_cluster(diags, cluster, &m, 1, &out), 0);
	return read_cluster(out.text, out.length)->hidden_all_to_all;
}

Test(calibrate, overlap_is_a_share_of_the_all_to_all, .init = set_up, .fini = scratch_close)
{
	cr_assert_float_eq(cluster->hidden_all_to_all, -1, 0);
	cr_assert_float_eq(hidden_of(4, 2, 5), 0.5, 1e-9);
	cr_assert_float_eq(hidden_of(1, 4, 4.5), 0.125, 1e-9);
	cr_assert_float_eq(hidden_of(2, 2, 4), 0, 1e-9);
	cr_assert_float_eq(hidden_of(2, 2, 4.5), 0, 1e-9);
	cr_assert_float_eq(hidden_of(1, 4, 4), -1, 0, "all of the products hid: more could have");
	cr_assert_float_eq(hidden_of(0, 0, 0), -1, 0);
}

/* Of what several reports say of one size the median, in whatever order they come. */
Test(calibrate, order_of_reports_does_not_matter, .init = set_up, .fini = scratch_close)
{
	static const double flops[2][3] = {{4e14, 4e14, 6e14}, {6e14, 4e14, 4e14}};
	struct loc nowhere = {NULL, 0, 0};
	struct traffic_curves traffic;
	struct str text;
	int order, i;

	for (order = 0; order < 2; order++) {
		memset(&m, 0, sizeof(m));
		for (i = 0; i < 3; i++) {
			text = str_new(arena);
			str_addf(&text,
			    "{\"environment\": {\"comparable\": true}, \"products\": [{\"name\": "
			    "\"experts\", \"m\": 512, \"n\": 4096, \"k\": 4096, \"flops\": %g}]}",
			    flops[order][i]);
			cr_assert_eq(add(text.text), 0);
			calibrate_add_sample(diags, nowhere, cluster, &m, 1, "all_to_all",
			    order ? 32 - 8 * i : 16 + 8 * i, 8, 1e9, 1);
			calibrate_add_sample(diags, nowhere, cluster, &m, 1, "all_to_all", 16, 8,
			    2e9, 1e14 / flops[order][i]);
		}
		cr_assert_float_eq(calibrate_grouped(&m, 4e14).value[0], 1, 1e-9);
		traffic = calibrate_traffic(&m, cluster, 1);
		cr_assert_eq(traffic.n, 3);
		for (i = 0; i < 3; i++)
			cr_assert_float_eq(traffic.units[i], 2 + i, 1e-9);
		cr_assert_eq(traffic.Bps[0].n, 2);
		cr_assert_float_eq(traffic.Bps[0].value[1], 4e9, 1e6);
	}
}

Test(calibrate, rows_out_of_range_are_refused, .init = set_up, .fini = scratch_close)
{
	static const struct {
		const char *key, *row;
		bool read;
	} rows[] = {
	    {"grouped", "[512, 0.6]", true},
	    {"grouped", "[512, 0.0001]", true},
	    {"grouped", "[512, 1e-310]", false},
	    {"grouped", "[512, 2.1]", false},
	    {"grouped", "[1e-300, 0.6]", false},
	    {"grouped", "[512, 0.6], [512, 0.7]", false},
	    {"all_to_all", "[8, 1000, 1e-6]", true},
	    {"all_to_all", "[8, 1000, 1e-310]", false},
	    {"all_to_all", "[8, 1000, 1e7]", false},
	    {"all_to_all", "[8, 0.1, 10]", false},
	    {"all_to_all", "[0.5, 1000, 10]", false},
	    {"all_to_all", "[8, 1000, 10], [8, 1000, 20]", false},
	};
	size_t i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		bool of_gpu = rows[i].key[0] == 'g';
		const char *text =
		    arena_printf(arena, "nodes: 4\ngpu: {name: H100-SXM5-80GB%s%s%s}\n%s%s%s",
			of_gpu ? ", grouped: [" : "", of_gpu ? rows[i].row : "", of_gpu ? "]" : "",
			of_gpu ? "" : "links: {scale_up: {all_to_all: [", of_gpu ? "" : rows[i].row,
			of_gpu ? "" : "]}}\n");
		const struct doc *doc = doc_parse(arena, diags, "cluster", text, strlen(text));

		cr_expect_eq(cluster_read(arena, diags, doc) != NULL, rows[i].read, "%s: %s", text,
		    diags->last ? diags->last->message : "");
	}
}

/* What was measured and cannot be read again is not written. */
Test(calibrate, rows_out_of_range_are_not_written, .init = set_up, .fini = scratch_close)
{
	struct loc nowhere = {NULL, 0, 0};

	m.n_experts = 2;
	m.experts[0] = (struct product){64, 4096, 4096, 1e9};
	m.experts[1] = (struct product){512, 4096, 4096, 4e14};
	cr_assert_eq(calibrate_grouped(&m, 6e14).n, 1);
	calibrate_add_sample(diags, nowhere, cluster, &m, 0, "all_to_all", 2, 1, 1, 1);
	calibrate_add_sample(diags, nowhere, cluster, &m, 0, "all_to_all", 2, 1, 1e9, 1);
	cr_assert_eq(calibrate_traffic(&m, cluster, 0).Bps[0].n, 1);
}

Test(calibrate, several_reports_are_merged, .init = set_up, .fini = scratch_close)
{
	cr_assert_eq(add(report(320e9, 2e-6, "true", "H100-SXM5-80GB")), 0);
	cr_assert_eq(add(report(300e9, 2e-6, "true", "H100-SXM5-80GB")), 0);
	m.memory_Bps.values[1] = 2.7e12;
	cr_assert_float_eq(readings_median(&m.memory_Bps), 2.85e12, 1);
	cr_assert_float_eq(readings_spread(&m.memory_Bps), 3.0 / 2.7 - 1, 1e-9);
	cr_assert(calibrate_fit(&m, 0).Bps > 300e9 && calibrate_fit(&m, 0).Bps < 320e9);
	cr_assert_eq(m.reports, 2);
}

/* A measured step is enough for a file, and what the file had stays in it. */
Test(calibrate, runs_are_written_and_read_again, .init = set_up, .fini = scratch_close)
{
	struct str out = str_new(arena);
	struct measured_run run = {.model = "it's mine",
	    .parameters = 46702792704,
	    .gpu = "H100-SXM5-80GB",
	    .step_s = 5.25,
	    .predicted_s = 4.5,
	    .exposed_s = 0.75};
	const struct measured_run *back;
	struct cluster *again;
	const struct doc *doc;

	strategy_init(&run.strategy);
	run.strategy.world = 32;
	run.strategy.cp = run.strategy.vpp = run.strategy.gtp = run.strategy.egtp = 1;
	run.strategy.tp = 2;
	run.strategy.pp = 2;
	run.strategy.ep = 8;
	run.strategy.etp = 1;
	run.strategy.micro_batch = 1;
	run.strategy.global_batch = 256;
	run.strategy.seq_len = 4096;
	run.strategy.capacity = 1.5;
	run.strategy.recompute = (struct recompute){RECOMPUTE_SELECTIVE, MODULE_MOE_ACT, 0};
	run.strategy.overlap = OVERLAP_DP | OVERLAP_EP;
	run.strategy.layout = "Et*16|t*16L";
	run.strategy.framework_version = "0.14";
	cluster->runs = (struct measured_runs){1, &run};
	cr_assert_eq(calibrate_cluster(diags, cluster, &m, 1, &out), 0);
	doc = doc_parse(arena, diags, "calibrated", out.text, out.length);
	cr_assert_not_null(doc, "%s", out.text);
	again = cluster_read(arena, diags, doc);
	cr_assert_not_null(again, "%s%s", diags->first ? diags->first->message : "", out.text);
	cr_assert_eq(again->runs.n, 1);
	back = &again->runs.rows[0];
	cr_assert_str_eq(back->model, run.model);
	cr_assert_eq(back->parameters, run.parameters);
	cr_assert_float_eq(back->step_s, 5.25, 1e-9);
	cr_assert_float_eq(back->exposed_s, 0.75, 1e-9);
	cr_assert_eq(back->strategy.tp, 2);
	cr_assert_eq(back->strategy.global_batch, 256);
	cr_assert_eq(back->strategy.overlap, run.strategy.overlap);
	cr_assert_eq(back->strategy.recompute.modules, MODULE_MOE_ACT);
	cr_assert_float_eq(back->strategy.capacity, 1.5, 1e-12);
	cr_assert_str_eq(back->strategy.layout, "Et*16|t*16L");
	cr_assert_str_eq(back->strategy.framework_version, "0.14");
}

Test(calibrate, a_run_must_be_whole, .init = set_up, .fini = scratch_close)
{
	static const char text[] = "nodes: 1\ngpu: H100-SXM5-80GB\nruns:\n- {model: m, step: 1s}\n";
	const struct doc *doc = doc_parse(arena, diags, "file", text, sizeof(text) - 1);

	cr_assert_null(cluster_read(arena, diags, doc));
	cr_assert_eq(diags->errors, 3, "parameters, gpu, strategy");
	cr_assert_eq(diags->first->loc.line, 4);
}

/* Of a step, no more than all of it. */
Test(calibrate, exposed_seconds_are_of_the_step, .init = set_up, .fini = scratch_close)
{
	static const char text[] =
	    "nodes: 1\ngpu: H100-SXM5-80GB\nruns:\n"
	    "- {model: m, parameters: 7, gpu: H100-SXM5-80GB, "
	    "step: 2s, exposed: 100s, strategy: {seq_len: 4096, global_batch: 64}}\n";
	const struct doc *doc = doc_parse(arena, diags, "file", text, sizeof(text) - 1);

	cr_assert_null(cluster_read(arena, diags, doc));
	cr_assert_eq(diags->errors, 1);
	cr_assert_not_null(strstr(diags->first->message, "100 s of a step of 2 s"));
}
