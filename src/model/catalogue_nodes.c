/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which nodes does one buy or rent, with which links, and what is their host? */
#include <string.h>

#include "base/arena.h"
#include "base/units.h"
#include "model/catalogue_private.h"

/* clang-format off */
/*
 * Hosts: memory channels x rate of the usual two sockets, and what the makers' own
 * nodes hold. Where nothing is said of the link it is the part's PCIe.
 */
#define HOST(name, memory, bandwidth)                                                              \
	{                                                                                          \
		name, { .memory_bytes = FACT((memory) * GIB, RECALLED),                            \
			.memory_Bps = FACT(bandwidth, RECALLED) }                                  \
	}
#define GRACE(name)                                                                                \
	{                                                                                          \
		name, { .memory_bytes = FACT(960 * GIB, RECALLED),                                 \
			.memory_Bps = FACT(1024e9, RECALLED),                                      \
			.link_Bps = FACT(225e9, RECALLED) }                                        \
	}
static const struct {
	const char *gpu;
	struct host host;
} hosts[] = {
	HOST("V100-SXM2-32GB", 512, 153.6e9),  /* 8 channels of DDR4-2400 */
	HOST("A100-SXM4-40GB", 1024, 409.6e9), /* 16 of DDR4-3200 */
	HOST("A100-SXM4-80GB", 2048, 409.6e9),
	HOST("A800-SXM4-80GB", 2048, 409.6e9),
	HOST("H100-SXM5-80GB", 2048, 614.4e9), /* 16 of DDR5-4800 */
	HOST("H800-SXM5-80GB", 2048, 614.4e9),
	HOST("H20-SXM5-96GB", 2048, 614.4e9),
	HOST("H200-SXM5-141GB", 2048, 614.4e9),
	HOST("B200-SXM-180GB", 2048, 716.8e9), /* 16 of DDR5-5600 */
	HOST("B300-SXM-288GB", 2048, 716.8e9),
	HOST("MI300X-192GB", 2304, 921.6e9),   /* 24 of DDR5-4800 */
	HOST("MI325X-256GB", 2304, 921.6e9),
	HOST("MI355X-288GB", 3072, 1152e9),    /* 24 of DDR5-6000 */
	GRACE("GB200-NVL72"), /* two Grace of 480 GB, 512 GB/s; NVLink-C2C shared by two GPUs */
	GRACE("GB300-NVL72"),
};

/* A rack of 18 nodes is the unit that *-nvl72 names; all other slugs name one node. */
enum { NODE = 1, NVL72_NODES = 18 };
static const struct node_row nodes[] = {
	{ "dgx-1-v100", "V100-SXM2-32GB", "NVLink2 cube mesh", 8, 8, FACT(150e9, RECALLED),
	  4, FACT(100e9, RECALLED), "InfiniBand EDR", NODE },
	{ "dgx-a100", "A100-SXM4-80GB", "NVSwitch", 8, 8, FACT(300e9, AICONFIGURATOR),
	  8, FACT(200e9, AICONFIGURATOR), "InfiniBand HDR", NODE },
	{ "dgx-h100", "H100-SXM5-80GB", "NVSwitch", 8, 8, FACT(450e9, ML_ENGINEERING),
	  8, FACT(400e9, ML_ENGINEERING), "InfiniBand NDR, 8 single-port ConnectX-7", NODE },
	{ "dgx-h200", "H200-SXM5-141GB", "NVSwitch", 8, 8, FACT(450e9, AICONFIGURATOR),
	  8, FACT(400e9, AICONFIGURATOR), "InfiniBand NDR", NODE },
	{ "dgx-b200", "B200-SXM-180GB", "NVSwitch", 8, 8, FACT(900e9, RECALLED),
	  8, FACT(400e9, RECALLED), "InfiniBand NDR or Ethernet", NODE },
	{ "dgx-b300", "B300-SXM-288GB", "NVSwitch", 8, 8, FACT(900e9, ML_ENGINEERING),
	  8, FACT(800e9, ML_ENGINEERING), "InfiniBand XDR, 8 single-port ConnectX-8", NODE },
	{ "gb200-nvl72", "GB200-NVL72", "NVLink5 switch rack", 4, 72, FACT(900e9, GB200_PAGES),
	  4, FACT(400e9, GB200_PAGES), "InfiniBand NDR / RoCE", NVL72_NODES },
	{ "gb300-nvl72", "GB300-NVL72", "NVLink5 switch rack", 4, 72, FACT(900e9, GB300_PAGES),
	  4, FACT(800e9, GB300_PAGES), "InfiniBand XDR / RoCE", NVL72_NODES },
	{ "aws-p4d-24xlarge", "A100-SXM4-40GB", "NVSwitch", 8, 8, FACT(300e9, ML_ENGINEERING),
	  4, FACT(100e9, ML_ENGINEERING), "EFA v1", NODE },
	{ "aws-p4de-24xlarge", "A100-SXM4-80GB", "NVSwitch", 8, 8, FACT(300e9, RECALLED),
	  4, FACT(100e9, RECALLED), "EFA v1", NODE },
	{ "aws-p5-48xlarge", "H100-SXM5-80GB", "NVSwitch", 8, 8, FACT(450e9, ML_ENGINEERING),
	  32, FACT(100e9, ML_ENGINEERING), "EFA v2", NODE },
	{ "aws-p5e-48xlarge", "H200-SXM5-141GB", "NVSwitch", 8, 8, FACT(450e9, ML_ENGINEERING),
	  32, FACT(100e9, ML_ENGINEERING), "EFA v2", NODE },
	{ "aws-p5en-48xlarge", "H200-SXM5-141GB", "NVSwitch", 8, 8, FACT(450e9, ML_ENGINEERING),
	  16, FACT(200e9, ML_ENGINEERING), "EFA v3", NODE },
	{ "aws-p6-b200-48xlarge", "B200-SXM-180GB", "NVSwitch", 8, 8, FACT(900e9, ML_ENGINEERING),
	  8, FACT(400e9, ML_ENGINEERING), "EFA v4", NODE },
	{ "aws-p6-b300-48xlarge", "B300-SXM-288GB", "NVSwitch", 8, 8, FACT(900e9, ML_ENGINEERING),
	  16, FACT(400e9, ML_ENGINEERING), "EFA v4", NODE },
	{ "azure-nd-a100-v4", "A100-SXM4-80GB", "NVSwitch", 8, 8, FACT(300e9, RECALLED),
	  8, FACT(200e9, RECALLED), "InfiniBand HDR", NODE },
	{ "azure-nd-h100-v5", "H100-SXM5-80GB", "NVSwitch", 8, 8, FACT(450e9, AZURE_PAGE),
	  8, FACT(400e9, AZURE_PAGE), "InfiniBand NDR ConnectX-7", NODE },
	{ "azure-nd-h200-v5", "H200-SXM5-141GB", "NVSwitch", 8, 8, FACT(450e9, RECALLED),
	  8, FACT(400e9, RECALLED), "InfiniBand NDR", NODE },
	{ "azure-nd-gb200-v6", "GB200-NVL72", "NVLink5 switch rack", 4, 72, FACT(900e9, GB200_NEWS),
	  4, FACT(400e9, GB200_NEWS), "InfiniBand NDR ConnectX-7", NODE },
	{ "azure-nd-gb300-v6", "GB300-NVL72", "NVLink5 switch rack", 4, 72, FACT(900e9, GB300_NEWS),
	  4, FACT(800e9, GB300_NEWS), "InfiniBand XDR", NODE },
	{ "gcp-a3-highgpu-8g", "H100-SXM5-80GB", "NVSwitch", 8, 8, FACT(450e9, ML_ENGINEERING),
	  4, FACT(200e9, ML_ENGINEERING), "GPUDirect-TCPX", NODE },
	{ "gcp-a3-megagpu-8g", "H100-SXM5-80GB", "NVSwitch", 8, 8, FACT(450e9, ML_ENGINEERING),
	  8, FACT(200e9, ML_ENGINEERING), "GPUDirect-TCPXO", NODE },
	{ "gcp-a3-ultragpu-8g", "H200-SXM5-141GB", "NVSwitch", 8, 8, FACT(450e9, GOOGLE_PAGE),
	  8, FACT(400e9, GOOGLE_PAGE), "RoCE, 8 ConnectX-7 GPU-aligned", NODE },
	{ "gcp-a4-highgpu-8g", "B200-SXM-180GB", "NVSwitch", 8, 8, FACT(900e9, GOOGLE_PAGE),
	  8, FACT(400e9, GOOGLE_PAGE), "RoCE, 8 ConnectX-7", NODE },
	{ "gcp-a4x", "GB200-NVL72", "NVLink5 switch rack", 4, 72, FACT(900e9, GOOGLE_PAGE),
	  4, FACT(400e9, GOOGLE_PAGE), "RoCE, 4 ConnectX-7", NODE },
	{ "gcp-a4x-max", "GB300-NVL72", "NVLink5 switch rack", 4, 72, FACT(900e9, GOOGLE_PAGE),
	  4, FACT(800e9, GOOGLE_PAGE), "RoCE, 4 ConnectX-8, 8-rail", NODE },
	{ "meta-grand-teton-h100", "H100-SXM5-80GB", "NVSwitch", 8, 8, FACT(450e9, RECALLED),
	  8, FACT(400e9, RECALLED), "RoCE", NODE },
	{ "hgx-h800", "H800-SXM5-80GB", "NVSwitch", 8, 8, FACT(200e9, DEEPEP),
	  8, FACT(400e9, DEEPEP), "InfiniBand NDR ConnectX-7", NODE },
	{ "hgx-h20", "H20-SXM5-96GB", "NVSwitch", 8, 8, FACT(450e9, RECALLED),
	  8, FACT(400e9, RECALLED), "InfiniBand NDR or RoCE", NODE },
	{ "mi300x-8-way", "MI300X-192GB", "xGMI full mesh", 8, 8, FACT(448e9, PRIMUS),
	  8, FACT(400e9, PRIMUS), "InfiniBand or RoCE", NODE },
	{ "mi355x-8-way", "MI355X-288GB", "xGMI full mesh", 8, 8, FACT(537.6e9, PRIMUS),
	  8, FACT(400e9, PRIMUS), "InfiniBand or RoCE", NODE },
	{ "l40s-pcie-8-way", "L40S-48GB", "PCIe4", 8, 1, FACT(32e9, AICONFIGURATOR),
	  8, FACT(400e9, AICONFIGURATOR), "InfiniBand NDR", NODE },
};
/* clang-format on */

enum { NODES = sizeof(nodes) / sizeof(nodes[0]), HOSTS = sizeof(hosts) / sizeof(hosts[0]) };

const struct node_row *
node_row(int index)
{
	return index >= 0 && index < NODES ? &nodes[index] : NULL;
}

const struct host *
host_find(const char *gpu)
{
	for (int i = 0; i < HOSTS; i++)
		if (strcmp(hosts[i].gpu, gpu) == 0)
			return &hosts[i].host;
	return NULL;
}

const struct node_row *
node_row_find(const char *slug)
{
	for (int i = 0; i < NODES; i++)
		if (strcmp(nodes[i].slug, slug) == 0)
			return &nodes[i];
	return NULL;
}

const char *
cluster_slug(int index)
{
	const struct node_row *row = node_row(index);

	return row ? row->slug : NULL;
}

const char *
cluster_slug_text(struct arena *arena, int index)
{
	const struct node_row *row = node_row(index);

	if (!row)
		return NULL;
	return arena_printf(arena, "%lld x %s, %s %s, %lld x %.0f Gb/s",
	    (long long)row->gpus_per_node, row->gpu, row->fabric,
	    units_rate(arena, row->link_Bps.value), (long long)row->nics_per_node,
	    row->nic_bits.value / 1e9);
}

const char **
node_slugs(struct arena *arena)
{
	const char **slugs = arena_array(arena, NODES + 1, sizeof(*slugs));

	for (int i = 0; i < NODES; i++)
		slugs[i] = nodes[i].slug;
	return slugs;
}
