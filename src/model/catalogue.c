/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What do vendors and published measurements say about GPUs and node types?
 *
 * One row a part, one row a node type; every number carries its source.
 * "recalled" marks numbers that were not found in a public file when the table
 * was made: check them before you rely on them. Memory is what the driver
 * shows, peaks are dense, rates are per GPU and direction. The matmul ceiling
 * is the best bf16 matrix product anybody published over the datasheet peak.
 */
#include <string.h>

#include "base/arena.h"
#include "base/units.h"
#include "model/catalogue.h"

#define AICONFIGURATOR "ai-dynamo/aiconfigurator systems yaml"
#define AUTOMODEL "NVIDIA-NeMo/Automodel _transformers/mfu.py"
#define BUDECOSYSTEM "BudEcosystem/simulator hardware.json"
#define DEEPEP "deepseek-ai/DeepEP docs/legacy.md"
#define LLM_ANALYSIS "cli99/llm-analysis gpu_configs"
#define ML_ENGINEERING "stas00/ml-engineering accelerator and network pages"
#define PRIMUS "AMD-AGI/Primus examples/hardware_configs"
#define TORCHTITAN "pytorch/torchtitan tools/utils.py"
#define RECALLED "recalled"
#define WEB_H20 "ke60.top and zangshuxian.com (weak)"
#define DEVICE_H200 "driver of one H200: 143771 MiB"
#define MODULE_MI250X "stas00/ml-engineering; the module: software sees two halves of 64 GiB"
#define GB200_PAGES "Google Cloud A4X and Azure ND GB200 v6 pages"
#define GB300_PAGES "Google Cloud A4X Max and Azure GB300 pages"
#define GB200_NEWS "windowsforum.com summary of Microsoft Learn"
#define GB300_NEWS "particle.news summary of Azure GB300"
#define AZURE_PAGE "Azure ND H100 v5 page"
#define GOOGLE_PAGE "Google Cloud GPU network bandwidth page"
/* stas00/ml-engineering, maximum achievable matmul FLOP/s over the datasheet's. */
#define MAMF_A100 "stas00/ml-engineering MAMF table: 271 of 312 TFLOP/s"
#define MAMF_H100 "stas00/ml-engineering MAMF table: 795 of 989 TFLOP/s on H100"
#define MAMF_B200 "stas00/ml-engineering MAMF table: 1745 of 2250 TFLOP/s on B200"
#define MAMF_GB200 "stas00/ml-engineering MAMF table: 1822 of 2500 TFLOP/s on GB200"
#define MAMF_MI300X "stas00/ml-engineering MAMF table: 668 of 1307 TFLOP/s"
#define MAMF_MI325X "stas00/ml-engineering MAMF table: 785 of 1307 TFLOP/s"
#define MAMF_MI355X "stas00/ml-engineering MAMF table: 1565 of 2500 TFLOP/s"
/*
 * What large products keep up for minutes on random data: power limits it, so parts of a
 * generation differ by their power limit more than by their datasheet. B200 1000 W, B300 1100 W,
 * GB200 1200 W, GB300 1400 W (verda.com, GB300 NVL72 architecture).
 */
#define AZURE_H100 "Azure/AI-benchmarking-guide: 1377 of 1979 TFLOP/s, fp8, H100"
#define AZURE_H200 "Azure/AI-benchmarking-guide: 1366 of 1979 TFLOP/s, fp8, H200"
#define AZURE_GB200 "Azure/AI-benchmarking-guide: 2877 of 5000 TFLOP/s, fp8, GB200"
#define AZURE_GB200_FP4 "Azure/AI-benchmarking-guide: 7536 of 10000 TFLOP/s, fp4, GB200"
#define SIMUMAX_B200 "MooreThreads/SimuMax b200_bf16_ceperm.json: median of 514 products, B200"
#define AZURE_A100 "Azure/AI-benchmarking-guide: 256 of 312 TFLOP/s on A100"
#define BY_POWER(from) from "; by power limit"
/* 148 TFLOP/s in the power of a part that has 989. */
#define NOT_POWER(from) from ", which its power does not limit either"
#define BY_BEST(from) from "; by the best products of both parts (MAMF)"

#define FACT(number, from)                                                                         \
	{                                                                                          \
		.value = (number), .origin = ORIGIN_CATALOGUE, .source = (from)                    \
	}

const char *const origin_names[] = {"default", "catalogue", "file", "measured", NULL};

/* clang-format off */
static const struct gpu_row gpus[] = {
	{ .gpu = { .name = "V100-SXM2-32GB", .sm_count = 80,
	    .usable_bytes = FACT(31.75 * GIB, RECALLED),
	    .hbm_Bps = FACT(900e9, LLM_ANALYSIS),
	    .flops = { [FLOP_FP16] = FACT(125e12, LLM_ANALYSIS) } },
	  .link_name = "NVLink", .link_Bps = FACT(150e9, LLM_ANALYSIS), .domain_gpus = 8,
	  .gpus_per_node = 8, .nic_bits = 100e9, .pcie_Bps = 16e9 },
	{ .gpu = { .name = "A100-SXM4-40GB", .sm_count = 108,
	    .usable_bytes = FACT(39.6 * GIB, RECALLED),
	    .hbm_Bps = FACT(1555e9, LLM_ANALYSIS),
	    .flops = { [FLOP_BF16] = FACT(312e12, LLM_ANALYSIS),
		[FLOP_FP16] = FACT(312e12, LLM_ANALYSIS) },
	    .matmul_ceiling = FACT(0.87, MAMF_A100) },
	  .link_name = "NVLink", .link_Bps = FACT(300e9, LLM_ANALYSIS), .domain_gpus = 8,
	  .gpus_per_node = 8, .nic_bits = 200e9, .pcie_Bps = 32e9 },
	{ .gpu = { .name = "A100-SXM4-80GB", .sm_count = 108,
	    .usable_bytes = FACT(79.2 * GIB, RECALLED),
	    .hbm_Bps = FACT(2039e9, AICONFIGURATOR),
	    .flops = { [FLOP_BF16] = FACT(312e12, AICONFIGURATOR),
		[FLOP_FP16] = FACT(312e12, AICONFIGURATOR) },
	    .matmul_ceiling = FACT(0.87, MAMF_A100) },
	  .link_name = "NVLink", .link_Bps = FACT(300e9, AICONFIGURATOR), .domain_gpus = 8,
	  .gpus_per_node = 8, .nic_bits = 200e9, .pcie_Bps = 32e9 },
	{ .gpu = { .name = "A100-PCIe-80GB", .sm_count = 108,
	    .usable_bytes = FACT(79.2 * GIB, RECALLED),
	    .hbm_Bps = FACT(1935e9, AICONFIGURATOR),
	    .flops = { [FLOP_BF16] = FACT(312e12, AICONFIGURATOR),
		[FLOP_FP16] = FACT(312e12, AICONFIGURATOR) } },
	  .link_name = "PCIe", .link_Bps = FACT(32e9, AICONFIGURATOR), .domain_gpus = 1,
	  .gpus_per_node = 8, .nic_bits = 200e9, .pcie_Bps = 32e9 },
	{ .gpu = { .name = "A800-SXM4-80GB", .sm_count = 108,
	    .usable_bytes = FACT(79.2 * GIB, RECALLED),
	    .hbm_Bps = FACT(2039e9, RECALLED),
	    .flops = { [FLOP_BF16] = FACT(312e12, AUTOMODEL),
		[FLOP_FP16] = FACT(312e12, RECALLED) },
	    .matmul_ceiling = FACT(0.87, MAMF_A100) },
	  .link_name = "NVLink", .link_Bps = FACT(200e9, RECALLED), .domain_gpus = 8,
	  .gpus_per_node = 8, .nic_bits = 200e9, .pcie_Bps = 32e9 },
	{ .gpu = { .name = "H100-SXM5-80GB", .sm_count = 132,
	    .usable_bytes = FACT(79.6 * GIB, RECALLED),
	    .hbm_Bps = FACT(3350e9, AICONFIGURATOR),
	    .flops = { [FLOP_BF16] = FACT(989e12, AICONFIGURATOR),
		[FLOP_FP16] = FACT(989e12, AICONFIGURATOR),
		[FLOP_FP8] = FACT(1979e12, AICONFIGURATOR) },
	    .matmul_ceiling = FACT(0.80, MAMF_H100),
	    .sustained = { [FLOP_FP8] = FACT(0.696, AZURE_H100) } },
	  .link_name = "NVLink", .link_Bps = FACT(450e9, AICONFIGURATOR), .domain_gpus = 8,
	  .gpus_per_node = 8, .nic_bits = 400e9, .pcie_Bps = 64e9 },
	{ .gpu = { .name = "H100-PCIe-80GB", .sm_count = 114,
	    .usable_bytes = FACT(79.6 * GIB, RECALLED),
	    .hbm_Bps = FACT(2000e9, AICONFIGURATOR),
	    .flops = { [FLOP_BF16] = FACT(756e12, AICONFIGURATOR),
		[FLOP_FP16] = FACT(756e12, AICONFIGURATOR),
		[FLOP_FP8] = FACT(1513e12, AICONFIGURATOR) } },
	  .link_name = "PCIe", .link_Bps = FACT(64e9, AICONFIGURATOR), .domain_gpus = 1,
	  .gpus_per_node = 8, .nic_bits = 400e9, .pcie_Bps = 64e9 },
	{ .gpu = { .name = "H100-NVL-94GB", .sm_count = 132,
	    .usable_bytes = FACT(93.6 * GIB, RECALLED),
	    .hbm_Bps = FACT(3900e9, RECALLED),
	    .flops = { [FLOP_BF16] = FACT(835e12, TORCHTITAN),
		[FLOP_FP16] = FACT(835e12, RECALLED),
		[FLOP_FP8] = FACT(1671e12, RECALLED) } },
	  .link_name = "NVLink", .link_Bps = FACT(300e9, RECALLED), .domain_gpus = 2,
	  .gpus_per_node = 8, .nic_bits = 400e9, .pcie_Bps = 64e9 },
	{ .gpu = { .name = "H800-SXM5-80GB", .sm_count = 132,
	    .usable_bytes = FACT(79.6 * GIB, RECALLED),
	    .hbm_Bps = FACT(3350e9, RECALLED),
	    .flops = { [FLOP_BF16] = FACT(989e12, AUTOMODEL),
		[FLOP_FP16] = FACT(989e12, AUTOMODEL),
		[FLOP_FP8] = FACT(1979e12, RECALLED) },
	    .matmul_ceiling = FACT(0.80, MAMF_H100),
	    .sustained = { [FLOP_FP8] = FACT(0.696, AZURE_H100) } },
	  .link_name = "NVLink", .link_Bps = FACT(200e9, RECALLED), .domain_gpus = 8,
	  .gpus_per_node = 8, .nic_bits = 400e9, .pcie_Bps = 64e9 },
	{ .gpu = { .name = "H20-SXM5-96GB", .sm_count = 78,
	    .usable_bytes = FACT(95.6 * GIB, RECALLED),
	    .hbm_Bps = FACT(4000e9, WEB_H20),
	    .flops = { [FLOP_BF16] = FACT(148e12, TORCHTITAN),
		[FLOP_FP16] = FACT(148e12, TORCHTITAN),
		[FLOP_FP8] = FACT(296e12, WEB_H20) },
	    .sustained = { [FLOP_BF16] = FACT(0.82, NOT_POWER(AZURE_A100)),
		[FLOP_FP16] = FACT(0.82, NOT_POWER(AZURE_A100)),
		[FLOP_FP8] = FACT(0.82, NOT_POWER(AZURE_A100)) } },
	  .link_name = "NVLink", .link_Bps = FACT(450e9, RECALLED), .domain_gpus = 8,
	  .gpus_per_node = 8, .nic_bits = 400e9, .pcie_Bps = 64e9 },
	{ .gpu = { .name = "H200-SXM5-141GB", .sm_count = 132,
	    .usable_bytes = FACT(140.4 * GIB, DEVICE_H200),
	    .hbm_Bps = FACT(4800e9, AICONFIGURATOR),
	    .flops = { [FLOP_BF16] = FACT(989e12, AICONFIGURATOR),
		[FLOP_FP16] = FACT(989e12, AICONFIGURATOR),
		[FLOP_FP8] = FACT(1979e12, AICONFIGURATOR) },
	    .matmul_ceiling = FACT(0.80, MAMF_H100),
	    .sustained = { [FLOP_FP8] = FACT(0.690, AZURE_H200) } },
	  .link_name = "NVLink", .link_Bps = FACT(450e9, AICONFIGURATOR), .domain_gpus = 8,
	  .gpus_per_node = 8, .nic_bits = 400e9, .pcie_Bps = 64e9 },
	{ .gpu = { .name = "B200-SXM-180GB", .sm_count = 148,
	    .usable_bytes = FACT(179.06 * GIB, RECALLED),
	    .hbm_Bps = FACT(8000e9, ML_ENGINEERING),
	    .flops = { [FLOP_BF16] = FACT(2250e12, AICONFIGURATOR),
		[FLOP_FP16] = FACT(2250e12, AICONFIGURATOR),
		[FLOP_FP8] = FACT(4500e12, AICONFIGURATOR),
		[FLOP_FP4] = FACT(9000e12, AICONFIGURATOR) },
	    .matmul_ceiling = FACT(0.78, MAMF_B200),
	    .sustained = { [FLOP_BF16] = FACT(0.490, SIMUMAX_B200),
		[FLOP_FP16] = FACT(0.490, SIMUMAX_B200),
		[FLOP_FP8] = FACT(0.607, BY_BEST(AZURE_GB200)),
		[FLOP_FP4] = FACT(0.698, BY_POWER(AZURE_GB200_FP4)) } },
	  .link_name = "NVLink", .link_Bps = FACT(900e9, AICONFIGURATOR), .domain_gpus = 8,
	  .gpus_per_node = 8, .nic_bits = 400e9, .pcie_Bps = 128e9 },
	{ .gpu = { .name = "B300-SXM-288GB", .sm_count = 148,
	    .usable_bytes = FACT(268.59 * GIB, AICONFIGURATOR),
	    .hbm_Bps = FACT(8000e9, ML_ENGINEERING),
	    .flops = { [FLOP_BF16] = FACT(2250e12, AICONFIGURATOR),
		[FLOP_FP16] = FACT(2250e12, AICONFIGURATOR),
		[FLOP_FP8] = FACT(4500e12, AICONFIGURATOR),
		[FLOP_FP4] = FACT(14000e12, AICONFIGURATOR) },
	    .matmul_ceiling = FACT(0.78, MAMF_B200),
	    .sustained = { [FLOP_BF16] = FACT(0.539, BY_POWER(SIMUMAX_B200)),
		[FLOP_FP16] = FACT(0.539, BY_POWER(SIMUMAX_B200)),
		[FLOP_FP8] = FACT(0.593, BY_BEST(AZURE_GB200)),
		[FLOP_FP4] = FACT(0.691, BY_POWER(AZURE_GB200_FP4)) } },
	  .link_name = "NVLink", .link_Bps = FACT(900e9, AICONFIGURATOR), .domain_gpus = 8,
	  .gpus_per_node = 8, .nic_bits = 800e9, .pcie_Bps = 128e9 },
	{ .gpu = { .name = "GB200-NVL72", .sm_count = 152,
	    .usable_bytes = FACT(185.03 * GIB, AICONFIGURATOR),
	    .hbm_Bps = FACT(8000e9, ML_ENGINEERING),
	    .flops = { [FLOP_BF16] = FACT(2500e12, AICONFIGURATOR),
		[FLOP_FP16] = FACT(2500e12, AICONFIGURATOR),
		[FLOP_FP8] = FACT(5000e12, AICONFIGURATOR),
		[FLOP_FP4] = FACT(10000e12, AICONFIGURATOR) },
	    .matmul_ceiling = FACT(0.73, MAMF_GB200),
	    .sustained = { [FLOP_BF16] = FACT(0.529, BY_POWER(SIMUMAX_B200)),
		[FLOP_FP16] = FACT(0.529, BY_POWER(SIMUMAX_B200)),
		[FLOP_FP8] = FACT(0.575, AZURE_GB200),
		[FLOP_FP4] = FACT(0.754, AZURE_GB200_FP4) } },
	  .link_name = "NVLink", .link_Bps = FACT(900e9, AICONFIGURATOR), .domain_gpus = 72,
	  .gpus_per_node = 4, .nic_bits = 400e9, .pcie_Bps = 64e9 },
	{ .gpu = { .name = "GB300-NVL72", .sm_count = 152,
	    .usable_bytes = FACT(277.55 * GIB, AICONFIGURATOR),
	    .hbm_Bps = FACT(8000e9, ML_ENGINEERING),
	    .flops = { [FLOP_BF16] = FACT(2500e12, AICONFIGURATOR),
		[FLOP_FP16] = FACT(2500e12, AICONFIGURATOR),
		[FLOP_FP8] = FACT(5000e12, AICONFIGURATOR),
		[FLOP_FP4] = FACT(15000e12, AICONFIGURATOR) },
	    .matmul_ceiling = FACT(0.73, MAMF_GB200),
	    .sustained = { [FLOP_BF16] = FACT(0.617, BY_POWER(SIMUMAX_B200)),
		[FLOP_FP16] = FACT(0.617, BY_POWER(SIMUMAX_B200)),
		[FLOP_FP8] = FACT(0.671, BY_POWER(AZURE_GB200)),
		[FLOP_FP4] = FACT(0.754, AZURE_GB200_FP4 "; the fraction") } },
	  .link_name = "NVLink", .link_Bps = FACT(900e9, AICONFIGURATOR), .domain_gpus = 72,
	  .gpus_per_node = 4, .nic_bits = 800e9, .pcie_Bps = 64e9 },
	{ .gpu = { .name = "L40S-48GB", .sm_count = 142,
	    .usable_bytes = FACT(44.99 * GIB, AICONFIGURATOR),
	    .hbm_Bps = FACT(864e9, AICONFIGURATOR),
	    .flops = { [FLOP_BF16] = FACT(362e12, AICONFIGURATOR),
		[FLOP_FP16] = FACT(362e12, AICONFIGURATOR),
		[FLOP_FP8] = FACT(733e12, AICONFIGURATOR) } },
	  .link_name = "PCIe", .link_Bps = FACT(32e9, AICONFIGURATOR), .domain_gpus = 1,
	  .gpus_per_node = 8, .nic_bits = 200e9, .pcie_Bps = 32e9 },
	{ .gpu = { .name = "A40-48GB", .sm_count = 84,
	    .usable_bytes = FACT(44.99 * GIB, RECALLED),
	    .hbm_Bps = FACT(696e9, RECALLED),
	    .flops = { [FLOP_BF16] = FACT(149.7e12, AUTOMODEL),
		[FLOP_FP16] = FACT(149.7e12, RECALLED) } },
	  .link_name = "NVLink", .link_Bps = FACT(56.25e9, RECALLED), .domain_gpus = 2,
	  .gpus_per_node = 8, .nic_bits = 100e9, .pcie_Bps = 32e9 },
	{ .gpu = { .name = "RTX4090-24GB", .sm_count = 128,
	    .usable_bytes = FACT(23.99 * GIB, BUDECOSYSTEM),
	    .hbm_Bps = FACT(1008e9, BUDECOSYSTEM),
	    .flops = { [FLOP_BF16] = FACT(165.2e12, RECALLED),
		[FLOP_FP16] = FACT(165.2e12, RECALLED),
		[FLOP_FP8] = FACT(330.3e12, RECALLED) } },
	  .link_name = "PCIe", .link_Bps = FACT(32e9, RECALLED), .domain_gpus = 1,
	  .gpus_per_node = 8, .nic_bits = 25e9, .pcie_Bps = 32e9 },
	{ .gpu = { .name = "MI250X-128GB", .sm_count = 220,
	    .usable_bytes = FACT(128 * GIB, MODULE_MI250X),
	    .hbm_Bps = FACT(3277e9, ML_ENGINEERING),
	    .flops = { [FLOP_BF16] = FACT(383e12, ML_ENGINEERING),
		[FLOP_FP16] = FACT(383e12, ML_ENGINEERING) } },
	  .link_name = "xGMI", .link_Bps = FACT(350e9, ML_ENGINEERING), .domain_gpus = 8,
	  .gpus_per_node = 8, .nic_bits = 100e9, .pcie_Bps = 32e9 },
	{ .gpu = { .name = "MI300X-192GB", .sm_count = 304,
	    .usable_bytes = FACT(191.98 * GIB, RECALLED),
	    .hbm_Bps = FACT(5300e9, ML_ENGINEERING),
	    .flops = { [FLOP_BF16] = FACT(1307e12, ML_ENGINEERING),
		[FLOP_FP16] = FACT(1307e12, ML_ENGINEERING),
		[FLOP_FP8] = FACT(2615e12, RECALLED) },
	    .matmul_ceiling = FACT(0.51, MAMF_MI300X) },
	  .link_name = "xGMI", .link_Bps = FACT(448e9, PRIMUS), .domain_gpus = 8,
	  .gpus_per_node = 8, .nic_bits = 400e9, .pcie_Bps = 64e9 },
	{ .gpu = { .name = "MI325X-256GB", .sm_count = 304,
	    .usable_bytes = FACT(255.98 * GIB, RECALLED),
	    .hbm_Bps = FACT(6000e9, ML_ENGINEERING),
	    .flops = { [FLOP_BF16] = FACT(1307e12, ML_ENGINEERING),
		[FLOP_FP16] = FACT(1307e12, ML_ENGINEERING),
		[FLOP_FP8] = FACT(2615e12, RECALLED) },
	    .matmul_ceiling = FACT(0.60, MAMF_MI325X) },
	  .link_name = "xGMI", .link_Bps = FACT(448e9, PRIMUS), .domain_gpus = 8,
	  .gpus_per_node = 8, .nic_bits = 400e9, .pcie_Bps = 64e9 },
	{ .gpu = { .name = "MI355X-288GB", .sm_count = 256,
	    .usable_bytes = FACT(287.98 * GIB, RECALLED),
	    .hbm_Bps = FACT(8000e9, ML_ENGINEERING),
	    .flops = { [FLOP_BF16] = FACT(2500e12, ML_ENGINEERING),
		[FLOP_FP16] = FACT(2500e12, ML_ENGINEERING),
		[FLOP_FP8] = FACT(5000e12, ML_ENGINEERING),
		[FLOP_FP4] = FACT(10100e12, ML_ENGINEERING) },
	    .matmul_ceiling = FACT(0.63, MAMF_MI355X) },
	  .link_name = "xGMI", .link_Bps = FACT(537.6e9, PRIMUS), .domain_gpus = 8,
	  .gpus_per_node = 8, .nic_bits = 400e9, .pcie_Bps = 64e9 },
	{ .gpu = { .name = "Ascend910B-64GB", .sm_count = 0,
	    .usable_bytes = FACT(61 * GIB, RECALLED),
	    .hbm_Bps = FACT(1600e9, RECALLED),
	    .flops = { [FLOP_BF16] = FACT(354e12, AUTOMODEL),
		[FLOP_FP16] = FACT(354e12, RECALLED) } },
	  .link_name = "HCCS", .link_Bps = FACT(196e9, RECALLED), .domain_gpus = 8,
	  .gpus_per_node = 8, .nic_bits = 200e9, .pcie_Bps = 32e9 },
};

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

enum {
	GPUS = sizeof(gpus) / sizeof(gpus[0]),
	NODES = sizeof(nodes) / sizeof(nodes[0]),
	HOSTS = sizeof(hosts) / sizeof(hosts[0]),
};

const struct gpu_row *
gpu_row(int index)
{
	return index >= 0 && index < GPUS ? &gpus[index] : NULL;
}

const struct node_row *
node_row(int index)
{
	return index >= 0 && index < NODES ? &nodes[index] : NULL;
}

const struct gpu_row *
gpu_row_find(const char *name)
{
	for (int i = 0; i < GPUS; i++)
		if (strcmp(gpus[i].gpu.name, name) == 0)
			return &gpus[i];
	return NULL;
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

const struct gpu *
gpu_catalogue(int index)
{
	const struct gpu_row *row = gpu_row(index);

	return row ? &row->gpu : NULL;
}

const struct gpu *
gpu_find(const char *name)
{
	const struct gpu_row *row = gpu_row_find(name);

	return row ? &row->gpu : NULL;
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
gpu_names(struct arena *arena)
{
	const char **names = arena_array(arena, GPUS + 1, sizeof(*names));

	for (int i = 0; i < GPUS; i++)
		names[i] = gpus[i].gpu.name;
	return names;
}

static bool
begins_with(const char *name, const char *start)
{
	for (; *start; name++, start++)
		if ((*name | 0x20) != (*start | 0x20))
			return false;
	return true;
}

const char *
gpu_suggestion(struct arena *arena, const char *name)
{
	const char *near = str_nearest(name, gpu_names(arena));
	struct str text = str_new(arena);

	if (near)
		return arena_printf(arena, "'%s'", near);
	for (int i = 0; i < GPUS && strlen(name) > 1; i++)
		if (begins_with(gpus[i].gpu.name, name))
			str_addf(&text, "%s'%s'", text.length ? " or " : "", gpus[i].gpu.name);
	return text.length ? text.text : NULL;
}

const char **
node_slugs(struct arena *arena)
{
	const char **slugs = arena_array(arena, NODES + 1, sizeof(*slugs));

	for (int i = 0; i < NODES; i++)
		slugs[i] = nodes[i].slug;
	return slugs;
}
