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
#include "model/catalogue_private.h"

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

/* clang-format on */

enum {
	GPUS = sizeof(gpus) / sizeof(gpus[0]),
};

const struct gpu_row *
gpu_row(int index)
{
	return index >= 0 && index < GPUS ? &gpus[index] : NULL;
}

const struct gpu_row *
gpu_row_find(const char *name)
{
	for (int i = 0; i < GPUS; i++)
		if (strcmp(gpus[i].gpu.name, name) == 0)
			return &gpus[i];
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
