/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Is the cluster file that of the machine that was seen? */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/doc.h"
#include "model/cluster.h"
#include "model/detect.h"
#include "scratch.h"

static struct seen
eight(const char *name, uint64_t bytes, int links, int64_t compute)
{
	struct seen seen = {.host = "n1", .driver = "570", .n_gpus = 8, .n_nics = 3};
	int i;

	for (i = 0; i < 8; i++) {
		snprintf(seen.gpus[i].name, sizeof(seen.gpus[i].name), "%s", name);
		snprintf(seen.gpus[i].bus, sizeof(seen.gpus[i].bus), "00000000:%02X:00.0", 16 + i);
		seen.gpus[i].memory_bytes = bytes;
		seen.gpus[i].nvlinks = links;
		seen.gpus[i].compute = compute;
	}
	seen.nics[0] = (struct seen_nic){"mlx5_0", 400, true, false, 0, ""};
	seen.nics[1] = (struct seen_nic){"mlx5_1", 400, true, false, 1, ""};
	seen.nics[2] = (struct seen_nic){"mlx5_bond", 100, true, false, 1, ""};
	return seen;
}

/* The file that was made, read as any other cluster file. */
static struct cluster *
cluster_of(const struct seen *seen)
{
	struct str out = str_new(arena);
	const struct doc *doc;

	cr_assert_eq(detect_cluster(arena, diags, seen, &out), 0, "%s",
	    diags->first ? diags->first->message : "");
	doc = doc_parse(arena, diags, "detected", out.text, out.length);
	cr_assert_not_null(doc, "%s", out.text);
	return cluster_read(arena, diags, doc);
}

Test(detect, hopper_node, .init = scratch_open, .fini = scratch_close)
{
	struct seen seen = eight("NVIDIA H100 80GB HBM3", 85520809984, 18, 90);
	struct cluster *c;

	seen.nodes = 4;
	c = cluster_of(&seen);
	cr_assert_not_null(c);
	cr_assert_str_eq(c->gpu.name, "H100-SXM5-80GB");
	cr_assert_eq(c->world, 32);
	cr_assert_float_eq(c->levels[0].Bps.value, 450e9, 1);
	cr_assert_eq(c->nics_per_node, 2);
	cr_assert_float_eq(c->nic_bits.value, 400e9, 1);
	cr_assert_float_eq(c->gpu.usable_bytes.value, 85520809984.0, 1);
}

Test(detect, one_link_less_counts_for_all, .init = scratch_open, .fini = scratch_close)
{
	struct seen seen = eight("NVIDIA A100-SXM4-80GB", 85899345920, 12, 80);

	seen.gpus[3].nvlinks = 11;
	cr_assert_float_eq(cluster_of(&seen)->levels[0].Bps.value, 275e9, 1);
}

Test(detect, memory_tells_parts_apart, .init = scratch_open, .fini = scratch_close)
{
	struct seen large = eight("NVIDIA A100-SXM4-80GB", 85899345920, 12, 80);
	struct seen small = eight("NVIDIA A100-SXM4-40GB", 42949672960, 12, 80);

	cr_assert_str_eq(cluster_of(&large)->gpu.name, "A100-SXM4-80GB");
	cr_assert_str_eq(cluster_of(&small)->gpu.name, "A100-SXM4-40GB");
}

Test(detect, blackwell_links_are_faster, .init = scratch_open, .fini = scratch_close)
{
	struct seen seen = eight("NVIDIA B200", 192000000000, 18, 100);

	cr_assert_float_eq(cluster_of(&seen)->levels[0].Bps.value, 900e9, 1);
}

Test(detect, refusals, .init = scratch_open, .fini = scratch_close)
{
	struct seen none = {.host = "login"},
		    mig = eight("NVIDIA H100 80GB HBM3", 85520809984, 18, 90);
	struct seen mixed = mig, unknown = eight("NVIDIA Z9", 85520809984, 18, 120);
	struct str out = str_new(arena);

	mig.gpus[2].mig = true;
	snprintf(mixed.gpus[5].name, sizeof(mixed.gpus[5].name), "NVIDIA L40S");
	cr_assert_eq(detect_cluster(arena, diags, &none, &out), -1);
	cr_assert(strstr(diags->last->message, "no NVIDIA GPU"));
	cr_assert_eq(detect_cluster(arena, diags, &mig, &out), -1);
	cr_assert(strstr(diags->last->message, "MIG"));
	cr_assert_eq(detect_cluster(arena, diags, &mixed, &out), -1);
	cr_assert(strstr(diags->last->message, "GPUs 0 and 5 differ"));
	cr_assert_eq(detect_cluster(arena, diags, &unknown, &out), -1);
	cr_assert(strstr(diags->last->message, "not a GPU of the catalogue"));
	cr_assert_eq(out.length, 0);
}

/* Other GPUs whose names hold that of one in the catalogue, and names that hold it as a word. */
Test(detect, names_are_whole_words, .init = scratch_open, .fini = scratch_close)
{
	static const char *const others[] = {
	    "NVIDIA RTX A4000", "NVIDIA GH200 480GB", "Tesla V100S-PCIE-32GB"};
	static const char *const parts[][2] = {
	    {"NVIDIA A40", "A40-48GB"},
	    {"Tesla V100-SXM2-32GB", "V100-SXM2-32GB"},
	    {"NVIDIA A100-SXM-80GB", "A100-SXM4-80GB"},
	    {"NVIDIA GeForce RTX 4090", "RTX4090-24GB"},
	};
	struct str out = str_new(arena);
	size_t i;

	for (i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		struct seen seen = eight(parts[i][0], 85520809984, 0, 80);

		cr_assert_str_eq(cluster_of(&seen)->gpu.name, parts[i][1]);
	}
	for (i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		struct seen seen = eight(others[i], 85520809984, 0, 80);

		cr_assert_eq(detect_cluster(arena, diags, &seen, &out), -1, "%s", others[i]);
		cr_assert(strstr(diags->last->message, "not a GPU of the catalogue"));
	}
}

Test(detect, dump_reads_back, .init = scratch_open, .fini = scratch_close)
{
	struct seen seen = eight("NVIDIA H200", 150754820096, 18, 90), again;
	struct str text = str_new(arena), second = str_new(arena);
	const struct doc *doc;

	seen_write(&seen, &text);
	doc = doc_parse(arena, diags, "dump", text.text, text.length);
	cr_assert_not_null(doc);
	cr_assert_eq(seen_read(arena, diags, doc, &again), 0);
	seen_write(&again, &second);
	cr_assert_str_eq(text.text, second.text);
}

Test(detect, bad_dumps, .init = scratch_open, .fini = scratch_close)
{
	static const char *const bad[] = {"[]", "schema: moeplan/seen/v2\ngpus: []\nnics: []\n",
	    "schema: moeplan/seen/v1\nnics: []\n", "schema: moeplan/seen/v1\ngpus: [1]\nnics: []\n",
	    "schema: moeplan/seen/v1\ngpus: [{memory_bytes: -1}]\nnics: []\n"};
	size_t i;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct seen seen;
		const struct doc *doc = doc_parse(arena, diags, "bad", bad[i], strlen(bad[i]));

		cr_assert_not_null(doc);
		cr_assert_eq(seen_read(arena, diags, doc, &seen), -1, "%s", bad[i]);
	}
}

static void
write_file(const char *root, const char *path, const char *text)
{
	char whole[512], *slash;
	FILE *file;

	snprintf(whole, sizeof(whole), "%s/%s", root, path);
	for (slash = strchr(whole + strlen(root) + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		mkdir(whole, 0700);
		*slash = '/';
	}
	file = fopen(whole, "w");
	cr_assert_not_null(file, "%s", whole);
	fputs(text, file);
	fclose(file);
}

Test(detect, sysfs, .init = scratch_open, .fini = scratch_close)
{
	char root[] = "/tmp/moeplan-sysfs-XXXXXX";
	struct seen seen = {.n_gpus = 0};

	cr_assert_not_null(mkdtemp(root));
	write_file(root, "sys/class/infiniband/mlx5_0/ports/1/rate", "400 Gb/sec (4X NDR)\n");
	write_file(root, "sys/class/infiniband/mlx5_0/ports/1/state", "4: ACTIVE\n");
	write_file(root, "sys/class/infiniband/mlx5_0/device/numa_node", "1\n");
	write_file(root, "sys/class/infiniband/mlx5_1/ports/1/rate", "100 Gb/sec (4X EDR)\n");
	write_file(root, "sys/class/infiniband/mlx5_1/ports/1/state", "1: DOWN\n");
	write_file(root, "sys/bus/pci/devices/0000:1b:00.0/vendor", "0x10de\n");
	write_file(root, "sys/bus/pci/devices/0000:1b:00.0/class", "0x030200\n");
	write_file(root, "sys/bus/pci/devices/0000:1b:00.0/numa_node", "0\n");
	write_file(root, "sys/bus/pci/devices/0000:1c:00.0/vendor", "0x10de\n");
	write_file(root, "sys/bus/pci/devices/0000:1c:00.0/class", "0x068000\n"); /* NVSwitch */
	seen.n_gpus = 1;
	snprintf(seen.gpus[0].bus, sizeof(seen.gpus[0].bus), "00000000:1B:00.0");
	seen.gpus[0].numa = -1;
	detect_sysfs(&seen, root);
	cr_assert_eq(seen.n_gpus, 1, "NVML's and the kernel's GPU are one");
	cr_assert_eq(seen.gpus[0].numa, 0);
	cr_assert_eq(seen.n_nics, 2);
	cr_assert_str_eq(seen.nics[0].name, "mlx5_0");
	cr_assert_float_eq(seen.nics[0].Gbps, 400, 1e-9);
	cr_assert(seen.nics[0].active && !seen.nics[1].active);
	cr_assert_eq(seen.nics[0].numa, 1);
}

static void
write_link(const char *root, const char *path, const char *target)
{
	char whole[512];

	write_file(root, path, "");
	snprintf(whole, sizeof(whole), "%s/%s", root, path);
	cr_assert(unlink(whole) == 0 && symlink(target, whole) == 0, "%s", whole);
}

/* A switch with a GPU and a card, Ethernet elsewhere; links as the kernel makes them. */
Test(detect, sysfs_paths)
{
	char root[] = "/tmp/moeplan-sysfs-XXXXXX";
	struct seen seen = {.n_gpus = 0};

	cr_assert_not_null(mkdtemp(root));
	write_file(root, "sys/devices/pci0000:15/0000:15:01.0/0000:1b:00.0/vendor", "0x10de\n");
	write_file(root, "sys/devices/pci0000:15/0000:15:01.0/0000:1b:00.0/class", "0x030200\n");
	write_link(root, "sys/bus/pci/devices/0000:1b:00.0",
	    "../../../devices/pci0000:15/0000:15:01.0/0000:1b:00.0");
	write_file(root, "sys/bus/pci/devices/0000:2b:00.0/vendor", "0x1002\n");
	write_file(root, "sys/bus/pci/devices/0000:2b:00.0/class", "0x120000\n");
	write_file(root, "sys/devices/pci0000:15/0000:15:02.0/infiniband/mlx5_0/ports/1/rate",
	    "200 Gb/sec\n");
	write_link(root, "sys/class/infiniband/mlx5_0",
	    "../../devices/pci0000:15/0000:15:02.0/infiniband/mlx5_0");
	write_file(root, "sys/class/net/eth0/speed", "25000\n");
	write_file(root, "sys/class/net/eth0/operstate", "up\n");
	write_file(root, "sys/class/net/eth0/device/numa_node", "1\n");
	write_file(root, "sys/class/net/eth1/speed", "1000\n");
	write_file(root, "sys/class/net/eth1/device/numa_node", "1\n");
	write_file(root, "sys/class/net/ib0/speed", "200000\n");
	write_file(root, "sys/class/net/ib0/device/numa_node", "0\n");
	write_file(root, "sys/class/net/ib0/device/infiniband/mlx5_0/fw_ver", "1\n");
	detect_sysfs(&seen, root);
	cr_assert_eq(seen.n_gpus, 1);
	cr_assert_eq(seen.amd_gpus, 1);
	cr_assert_str_eq(seen.gpus[0].path, "pci0000:15/0000:15:01.0/0000:1b:00.0");
	cr_assert_eq(seen.n_nics, 2, "neither slow ones nor RDMA cards a second time");
	cr_assert(seen.nics[0].ethernet && seen.nics[0].active);
	cr_assert_float_eq(seen.nics[0].Gbps, 25, 1e-9);
	cr_assert_str_eq(seen.nics[1].path, "pci0000:15/0000:15:02.0");
}

Test(detect, distance)
{
	static const char gpu[] = "pci0000:15/0000:15:01.0/0000:16:00.0/0000:17:02.0/0000:1b:00.0";

	cr_assert_eq(pci_distance(gpu, 0,
			 "pci0000:15/0000:15:01.0/0000:16:00.0/0000:17:00.0/0000:18:00.0", 0),
	    DISTANCE_PIX);
	cr_assert_eq(pci_distance(gpu, 0,
			 "pci0000:15/0000:15:01.0/0000:16:00.0/0000:17:00.0/0000:18:00.0/"
			 "0000:19:00.0",
			 0),
	    DISTANCE_PXB);
	cr_assert_eq(pci_distance(gpu, 0, "pci0000:15/0000:15:03.0/0000:1c:00.0", 0), DISTANCE_PHB);
	cr_assert_eq(
	    pci_distance(gpu, 0, "pci0000:26/0000:26:01.0/0000:29:00.0", 0), DISTANCE_NODE);
	cr_assert_eq(pci_distance(gpu, 0, "pci0000:97/0000:97:01.0/0000:9a:00.0", 1), DISTANCE_SYS);
	cr_assert_eq(
	    pci_distance(gpu, -1, "pci0000:26/0000:26:01.0/0000:29:00.0", -1), DISTANCE_SYS);
	/* two root ports of one host bridge whose names begin alike */
	cr_assert_eq(
	    pci_distance("pci0000:15/0000:15:01.0", 0, "pci0000:15/0000:15:01.1", 0), DISTANCE_PHB);
}

static const char *
two_nodes(void *context, const char *name)
{
	(void)context;
	return strcmp(name, "SLURM_NNODES") == 0 ? "2" : NULL;
}

Test(detect, slurm)
{
	struct seen seen = {.nodes = 0};

	detect_slurm(&seen, two_nodes, NULL);
	cr_assert_eq(seen.nodes, 2);
}
