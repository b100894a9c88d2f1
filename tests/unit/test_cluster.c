/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Are clusters read as they are meant, level by level, and mistakes named with their place? */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/doc.h"
#include "base/units.h"
#include "model/cluster.h"
#include "scratch.h"

TestSuite(cluster, .init = scratch_open, .fini = scratch_close);

static struct cluster *
text(const char *words)
{
	struct cluster *cluster = cluster_from_text(arena, diags, words);

	cr_assert_not_null(cluster, "%s: %s", words, diags->last ? diags->last->message : "");
	return cluster;
}

static struct cluster *
file(const char *yaml)
{
	struct doc *doc = doc_parse(arena, diags, "cluster.yaml", yaml, strlen(yaml));

	return doc ? cluster_read(arena, diags, doc) : NULL;
}

static void
check_level(const struct cluster *cluster, int level, const char *name, int64_t gpus, double Bps)
{
	cr_assert_lt(level, cluster->n_levels);
	cr_assert_str_eq(cluster->levels[level].name, name);
	cr_assert_eq(cluster->levels[level].gpus, gpus);
	cr_assert(fabs(cluster->levels[level].Bps.value - Bps) < 1e-6 * Bps, "%s: %g", name,
	    cluster->levels[level].Bps.value);
	cr_assert_gt(cluster->levels[level].latency_s.value, 0);
}

Test(cluster, blanks_behind_a_colon)
{
	struct cluster *cluster = text("node: 2 gpu:  4 H100-SXM5-80GB nvlink: 450GB/s");

	cr_assert_eq(cluster->nodes, 2);
	cr_assert_eq(cluster->gpus_per_node, 4);
}

Test(cluster, one_node_and_sixteen)
{
	struct cluster *one = text("dgx-h100"), *many = text("dgx-h100x16");

	cr_assert_eq(one->world, 8);
	check_level(one, 0, "NVLink", 8, 450e9);
	check_level(one, 1, "network", 8, 50e9);
	cr_assert_eq(many->nodes, 16);
	cr_assert_eq(many->world, 128);
	cr_assert_eq(many->n_levels, 2);
	check_level(many, 1, "network", 128, 50e9);
	cr_assert_str_eq(many->name, "dgx-h100x16");
	cr_assert_eq(many->levels[0].Bps.origin, ORIGIN_CATALOGUE);
	cr_assert_eq(many->levels[0].latency_s.origin, ORIGIN_DEFAULT);
	cr_assert_float_eq(many->levels[0].latency_s.value, 7e-6, 1e-12);
	cr_assert_float_eq(many->levels[1].latency_s.value, 20e-6, 1e-12);
	cr_assert_eq(many->levels[1].oversubscription, 1);
}

/* A GB200 node has 4 GPUs, its NVLink domain 72; the bare slug is one rack of 18 nodes. */
Test(cluster, racks)
{
	struct cluster *rack = text("gb200-nvl72"), *two = text("gb200-nvl72x36");
	struct cluster *part = text("gb200-nvl72x2");

	cr_assert_eq(rack->world, 72);
	check_level(rack, 0, "NVLink", 72, 900e9);
	cr_assert_eq(two->world, 144);
	check_level(two, 0, "NVLink", 72, 900e9);
	check_level(two, 1, "network", 144, 50e9);
	check_level(part, 0, "NVLink", 8, 900e9);
	cr_assert_eq(part->domain_gpus, 72);
	cluster_set_nodes(part, 36);
	check_level(part, 0, "NVLink", 72, 900e9);
	check_level(part, 1, "network", 144, 50e9);
	cr_assert_eq(part->world, 144);
}

/* Names that end in x and digits, or hold an x. */
Test(cluster, slugs_with_an_x)
{
	cr_assert_eq(text("gcp-a4x")->world, 4);
	cr_assert_eq(text("gcp-a4xx3")->world, 12);
	cr_assert_eq(text("gcp-a4x-max")->world, 4);
	cr_assert_eq(text("mi300x-8-wayx4")->world, 32);
	cr_assert_eq(text("aws-p5-48xlargex2")->world, 16);
}

/* 32 cards of 100 Gb/s, or 4 of 200: what a GPU gets is its share. */
Test(cluster, network_shares)
{
	check_level(text("aws-p5-48xlarge"), 1, "network", 8, 50e9);
	check_level(text("gcp-a3-highgpu-8g"), 1, "network", 8, 12.5e9);
	check_level(text("dgx-1-v100x2"), 1, "network", 16, 6.25e9);
}

/* Cards without a fabric have PCIe as their first level; pairs have it as the second. */
Test(cluster, pcie_cards_and_pairs)
{
	struct cluster *cards = text("l40s-pcie-8-wayx2"), *pairs = text("node:2 H100-NVL-94GB");
	struct cluster *bridged = text("gpu:4 domain:2 A100-PCIe-80GB nvlink:300GB/s pcie:25GB/s");

	check_level(cards, 0, "PCIe", 8, 32e9);
	check_level(cards, 1, "network", 16, 50e9);
	check_level(pairs, 0, "NVLink", 2, 300e9);
	check_level(pairs, 1, "PCIe", 8, 64e9);
	check_level(pairs, 2, "network", 16, 50e9);
	check_level(bridged, 0, "NVLink", 2, 300e9);
	check_level(bridged, 1, "PCIe", 4, 25e9);
}

Test(cluster, words)
{
	struct cluster *c = text("node:16 gpu:8 H100-SXM5-80GB nvlink:400GB/s nic:4x200Gb/s");

	cr_assert_eq(c->world, 128);
	check_level(c, 0, "NVLink", 8, 400e9);
	check_level(c, 1, "network", 128, 12.5e9);
	cr_assert_eq(c->levels[0].Bps.origin, ORIGIN_FILE);
	cr_assert_eq(c->nics_per_node, 4);
	cr_assert_float_eq(c->nic_bits.value, 200e9, 1);
	c = text("node:18 gpu:4 domain:72 GB200-NVL72");
	check_level(c, 0, "NVLink", 72, 900e9);
	check_level(c, 1, "network", 72, 50e9);
	c = text("  gpu:4   H100-SXM5-80GB ");
	check_level(c, 0, "NVLink", 4, 450e9);
	check_level(c, 1, "network", 4, 50e9);
	c = text("MI300X-192GB");
	check_level(c, 0, "xGMI", 8, 448e9);
	c = text("node:2 gpu:16 A100-SXM4-80GB");
	check_level(c, 0, "NVLink", 8, 300e9);
	check_level(c, 1, "PCIe", 16, 32e9);
}

Test(cluster, mistakes_in_texts)
{
	static const struct {
		const char *text, *message, *hint;
		int column;
	} wrong[] = {
	    {"dgx-h101", "'dgx-h101' is not a known cluster", "did you mean 'dgx-h100'", 0},
	    {"dgx-h101x4", "'dgx-h101x4' is not a known", "did you mean 'dgx-h100x4'", 0},
	    {"what", "'what' is not a known cluster", "node type", 0},
	    {"dgx-h100x0", "the number of nodes after 'x' is 1 to 1000000", NULL, 0},
	    {"dgx-h100x99999999999999999999", "after 'x' is 1 to 1000000", NULL, 0},
	    {"dgx-h100x131073", "131073 nodes x 8 GPUs = 1048584 GPUs: at most 1048576", NULL, 0},
	    {"node:16 gpu:8 H100-SXM5-80", "'H100-SXM5-80' at column 15",
		"did you mean 'H100-SXM5-80GB'", 15},
	    {"node:x H100-SXM5-80GB", "'node:x' at column 1", NULL, 1},
	    {"node:0 H100-SXM5-80GB", "'node:0' at column 1", NULL, 1},
	    {"node:1 gpu:-4 H100-SXM5-80GB", "'gpu:-4' at column 8", NULL, 8},
	    {"H100-SXM5-80GB nvlink:450", "a rate has a unit", NULL, 16},
	    {"H100-SXM5-80GB nic:400Gb/s", "nic:NxRATE", NULL, 16},
	    {"H100-SXM5-80GB nic:0x400Gb/s", "N from 1", NULL, 16},
	    {"H100-SXM5-80GB nvlnk:450GB/s",
		"'nvlnk:450GB/s' at column 16 of the cluster text: not",
		"did you mean 'nvlink:450GB/s'", 16},
	    {"nodes:2 H100-SXM5-80GB", "'nodes:2' at column 1", "did you mean 'node:2'", 1},
	    {"node:2 node:4 H100-SXM5-80GB",
		"'node:4' at column 8 of the cluster text: given before", NULL, 8},
	    {"H100-SXM5-80GB nvlink:1GB/s xgmi:1GB/s", "given before", NULL, 29},
	    {"H100-SXM5-80GB B200-SXM-180GB", "a second GPU name", NULL, 16},
	    {"node:2 gpu:8", "names no GPU", "H100-SXM5-80GB", 0},
	    {"H100-SXM5-80GB 8", "'8' at column 16 of the cluster text: a number", "'gpu:8'", 16},
	    {"gpu: 8 H100", "'H100' at column 8", "'H100-PCIe-80GB'", 8},
	    {"gpu:8 A900", "'A900' at column 7", "moeplan help names", 7},
	    {"node:2 dgx-h100", "'dgx-h100' at column 8", "'dgx-h100x4' is 4 nodes", 8},
	    {"H100-SXM5-80GB gpu: ", "'gpu:' at column 16", NULL, 16},
	    {"H100-SXM5-80GB xgmi:450GB/s", "has NVLink, not xGMI", NULL, 0},
	    {"L40S-48GB nvlink:450GB/s", "a PCIe card: say with domain:N", NULL, 0},
	    {"L40S-48GB domain:2", "the rate of the scale-up link of 'L40S-48GB'", NULL, 0},
	    {"gpu:6 domain:4 H100-SXM5-80GB", "one must be a multiple of the other", NULL, 0},
	    {"gpu:5 GB200-NVL72", "72 GPUs and nodes of 5", NULL, 0},
	    {"node:1000000 gpu:8 H100-SXM5-80GB", "at most 1048576", NULL, 0},
	};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		cr_assert_null(cluster_from_text(arena, diags, wrong[i].text), "%s", wrong[i].text);
		if (!strstr(diags->last->message, wrong[i].message))
			cr_assert_fail("%s: %s", wrong[i].text, diags->last->message);
		cr_assert_eq(diags->last->loc.column, wrong[i].column, "%s", wrong[i].text);
		if (wrong[i].hint)
			cr_assert(diags->last->hint && strstr(diags->last->hint, wrong[i].hint),
			    "%s", wrong[i].text);
	}
}

Test(cluster, every_mistake_of_a_text)
{
	cr_assert_null(cluster_from_text(arena, diags, "node:x gpu:y H100 nic:z"));
	cr_assert_eq(diags->errors, 4);
}

Test(cluster, texts_and_file_names)
{
	static const char *const texts[] = {"dgx-h100", "dgx-h100x16", "gb200-nvl72",
	    "node:2 H100-SXM5-80GB", "H100-SXM5-80GB nvlink:52.5GB/s", "gpu:4 nvlink:450GB/s",
	    "dgx-h101", "H100-SXM5-80GB"};
	static const char *const names[] = {
	    "cluster.yaml", "./dgx-h100", "/etc/cluster", "-", "", "a/b", "my.cluster"};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		cr_assert(is_cluster_text(texts[i]), "%s", texts[i]);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		cr_assert(!is_cluster_text(names[i]), "%s", names[i]);
}

Test(cluster, a_file)
{
	struct cluster *c =
	    file("schema: moeplan/cluster/v1\n"
		 "name: my-h100\n"
		 "nodes: 16\n"
		 "gpus_per_node: 8\n"
		 "gpu: H100-SXM5-80GB\n"
		 "links:\n"
		 "  scale_up: {domain_gpus: 8, GBps: 360, latency_us: 4, origin: measured}\n"
		 "  scale_out: {nics_per_node: 8, Gbps: 400, latency_us: 8,\n"
		 "              oversubscription: 1.5}\n"
		 "host: {GBps: 50, memory: 1TiB}\n"
		 "reserve: 2GiB\n");

	cr_assert_not_null(c, "%s", diags->last ? diags->last->message : "");
	cr_assert_str_eq(c->name, "my-h100");
	check_level(c, 0, "NVLink", 8, 360e9);
	check_level(c, 1, "network", 128, 50e9);
	cr_assert_eq(c->levels[0].Bps.origin, ORIGIN_MEASURED);
	cr_assert_eq(c->levels[0].latency_s.origin, ORIGIN_MEASURED);
	cr_assert_float_eq(c->levels[0].latency_s.value, 4e-6, 1e-12);
	cr_assert_eq(c->levels[1].Bps.origin, ORIGIN_FILE);
	cr_assert_float_eq(c->levels[1].oversubscription, 1.5, 1e-12);
	cr_assert_eq(c->reserve_bytes, 2ULL << 30);
	cr_assert_float_eq(c->host.link_Bps.value, 50e9, 1);
	cr_assert_float_eq(c->host.memory_bytes.value, 1024 * GIB, 1);
	cr_assert_float_eq(c->host.memory_Bps.value, 614.4e9, 1); /* the usual node's */
	cr_assert_float_eq(c->gpu.usable_bytes.value / GIB, 79.6, 1e-9);
}

/* The least that a file needs. */
Test(cluster, a_short_file)
{
	struct cluster *c = file("nodes: 2\ngpu: GB200-NVL72");

	cr_assert_not_null(c);
	cr_assert_eq(c->world, 8);
	cr_assert_str_eq(c->name, "GB200-NVL72");
	check_level(c, 0, "NVLink", 8, 900e9);
}

Test(cluster, a_gpu_of_facts)
{
	struct cluster *c =
	    file("nodes: 1\n"
		 "gpus_per_node: 4\n"
		 "gpu: {name: X1, memory: 100GiB, hbm_GBps: 5000, bf16_tflops: 1000,\n"
		 "      fp8_tflops: 2000, matmul_ceiling: 0.7, sm_count: 99}\n"
		 "links: {scale_up: {GBps: 500}, scale_out: {nics_per_node: 2, Gbps: 100}}\n");

	cr_assert_not_null(c, "%s", diags->last ? diags->last->message : "");
	check_level(c, 0, "scale-up", 4, 500e9);
	check_level(c, 1, "network", 4, 6.25e9);
	cr_assert_str_eq(c->gpu.name, "X1");
	cr_assert_float_eq(c->gpu.usable_bytes.value, 100 * GIB, 1);
	cr_assert_float_eq(c->gpu.flops[FLOP_FP8].value, 2e15, 1);
	cr_assert_eq(c->gpu.flops[FLOP_FP4].value, 0);
	cr_assert_eq(c->gpu.sm_count, 99);
	cr_assert_eq(c->gpu.hbm_Bps.origin, ORIGIN_FILE);
}

/* A catalogue name with some facts changed keeps the others. */
Test(cluster, a_corrected_gpu)
{
	struct cluster *c = file("nodes: 1\n"
				 "gpu: {name: H100-SXM5-80GB, hbm_GBps: 2900, origin: measured}\n");

	cr_assert_not_null(c);
	cr_assert_float_eq(c->gpu.hbm_Bps.value, 2.9e12, 1);
	cr_assert_eq(c->gpu.hbm_Bps.origin, ORIGIN_MEASURED);
	cr_assert_eq(c->gpu.flops[FLOP_BF16].origin, ORIGIN_CATALOGUE);
	check_level(c, 0, "NVLink", 8, 450e9);
}

/* Two domains of four in a node of eight, with what is between them. */
Test(cluster, domains_inside_a_node)
{
	struct cluster *c = file("nodes: 2\n"
				 "gpu: A100-SXM4-80GB\n"
				 "links: {scale_up: {domain_gpus: 4}, in_node: {GBps: 20}}\n");

	cr_assert_not_null(c);
	check_level(c, 0, "NVLink", 4, 300e9);
	check_level(c, 1, "PCIe", 8, 20e9);
	check_level(c, 2, "network", 16, 25e9);
}

Test(cluster, mistakes_in_files)
{
	static const struct {
		const char *yaml, *message;
		int line;
	} wrong[] = {
	    {"[1]", "a cluster is a mapping, not a list", 1},
	    {"nodes: 1", "the cluster has no 'gpu'", 1},
	    {"gpu: H100-SXM5-80GB", "the cluster has no 'nodes'", 1},
	    {"nodes: 1\ngpu: H100", "'H100' is not a GPU of the catalogue", 2},
	    {"nodes: 0\ngpu: H100-SXM5-80GB", "nodes", 1},
	    {"nodes: 1\ngpu: H100-SXM5-80GB\nschema: moeplan/job/v1", "moeplan/cluster/v1", 3},
	    {"nodes: 1\ngpu: H100-SXM5-80GB\nlinks: {scale_up: {GBps: -1}}", "GBps", 3},
	    {"nodes: 1\ngpu: H100-SXM5-80GB\nlinks: {scale_up: 3}", "'scale_up' takes a mapping",
		3},
	    {"nodes: 1\ngpu: {name: X, hbm_GBps: 10, bf16_tflops: 1}", "'gpu' has no 'memory'", 2},
	    {"nodes: 1\ngpu: {memory: 1GiB, hbm_GBps: 10, fp16_tflops: 1}", "'gpu' has no 'name'",
		2},
	    {"nodes: 1\ngpu: {name: X, memory: 1GiB, hbm_GBps: 10}", "neither 'bf16_tflops'", 2},
	    {"nodes: 1\ngpu: {name: X, memory: 1GiB, hbm_GBps: 10, bf16_tflops: 1}", "the network",
		1},
	    {"nodes: 1000000\ngpu: H100-SXM5-80GB", "at most 1048576", 1},
	    {"nodes: 1\ngpu: H100-SXM5-80GB\nlinks: {scale_up: {domain_gpus: 3}}",
		"one must be a multiple", 1},
	    {"nodes: 1\ngpu: H100-SXM5-80GB\nlinks: {scale_out: {oversubscription: 0.5}}",
		"oversubscription", 3},
	};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		cr_assert_null(file(wrong[i].yaml), "%s", wrong[i].yaml);
		if (!strstr(diags->last->message, wrong[i].message))
			cr_assert_fail("%s: %s", wrong[i].yaml, diags->last->message);
		cr_assert_eq(diags->last->loc.line, wrong[i].line, "%s", wrong[i].yaml);
	}
}

Test(cluster, unknown_keys_of_files)
{
	cr_assert_null(file("nodes: 1\ngpu: H100-SXM5-80GB\nlinks: {scale_upp: {GBps: 1}}"));
	cr_assert(strstr(diags->last->hint, "scale_up"));
}

/* Levels nest: each holds a whole number of the ones before, the last holds all. */
Test(cluster, levels_nest)
{
	const char *slug;

	for (int i = 0; (slug = cluster_slug(i)); i++)
		for (int nodes = 1; nodes <= 64; nodes *= 2) {
			struct cluster *c = text(arena_printf(arena, "%sx%d", slug, nodes));

			cr_assert_eq(c->levels[c->n_levels - 1].gpus, c->world);
			for (int l = 1; l < c->n_levels; l++) {
				cr_assert_geq(c->levels[l].gpus, c->levels[l - 1].gpus);
				cr_assert_lt(c->levels[l].Bps.value, c->levels[0].Bps.value * 2);
			}
		}
}
