/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Are the catalogue's numbers sane, sourced, and those that the sources print? */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/units.h"
#include "model/catalogue.h"

static void
out_of_memory(void *context)
{
	(void)context;
	abort();
}

static void
check_number(const char *name, struct quantity quantity, double low, double high)
{
	cr_assert(quantity.value >= low && quantity.value <= high, "%s: %g", name, quantity.value);
	cr_assert_eq(quantity.origin, ORIGIN_CATALOGUE, "%s", name);
	cr_assert(quantity.source && quantity.source[0], "%s has no source", name);
}

/* Bounds hold every accelerator from V100 to the parts of 2026, and no slip of a power of ten. */
Test(catalogue, every_number_is_sourced_and_sane)
{
	const struct gpu *gpu;
	int count = 0;

	for (; (gpu = gpu_catalogue(count)); count++) {
		const struct gpu_row *row = gpu_row(count);
		double bf16 = gpu->flops[FLOP_BF16].value;

		check_number(gpu->name, gpu->usable_bytes, 20 * GIB, 300 * GIB);
		check_number(gpu->name, gpu->hbm_Bps, 600e9, 9000e9);
		check_number(gpu->name, gpu->flops[FLOP_FP16], 100e12, 3000e12);
		check_number(gpu->name, row->link_Bps, 30e9, 1000e9);
		if (bf16 > 0)
			check_number(gpu->name, gpu->flops[FLOP_BF16], 100e12, 3000e12);
		if (gpu->flops[FLOP_FP8].value > 0)
			check_number(gpu->name, gpu->flops[FLOP_FP8], 1.9 * bf16, 2.1 * bf16);
		if (gpu->flops[FLOP_FP4].value > 0)
			check_number(gpu->name, gpu->flops[FLOP_FP4], 3.9 * bf16, 6.3 * bf16);
		if (gpu->matmul_ceiling.value > 0)
			check_number(gpu->name, gpu->matmul_ceiling, 0.5, 0.95);
		cr_assert(row->nic_bits >= 25e9 && row->nic_bits <= 1600e9);
		cr_assert(row->pcie_Bps >= 12e9 && row->pcie_Bps <= 128e9);
		cr_assert(row->domain_gpus >= 1 && row->gpus_per_node >= 1);
		cr_assert_eq(gpu_find(gpu->name), gpu, "%s stands twice", gpu->name);
	}
	cr_assert_eq(count, 23);
	cr_assert_null(gpu_catalogue(-1));
}

Test(catalogue, every_node_type_is_buildable)
{
	struct arena *arena = arena_new(out_of_memory, NULL);
	struct diags *diags = diags_new(arena);
	int count = 0;

	for (const struct node_row *row; (row = node_row(count)); count++) {
		struct cluster *cluster = cluster_from_text(arena, diags, row->slug);

		cr_assert_not_null(gpu_row_find(row->gpu), "%s", row->slug);
		check_number(row->slug, row->link_Bps, 30e9, 1000e9);
		check_number(row->slug, row->nic_bits, 25e9, 1600e9);
		cr_assert_eq(node_row_find(row->slug), row, "%s stands twice", row->slug);
		cr_assert_not_null(cluster, "%s", row->slug);
		cr_assert_eq(cluster->world, row->nodes * row->gpus_per_node);
		cr_assert_str_eq(cluster_slug(count), row->slug);
	}
	cr_assert_eq(count, 32);
	cr_assert_null(cluster_slug(count));
	cr_assert_null(cluster_slug_text(arena, count));
	cr_assert_eq(diags->errors, 0);
	arena_free(arena);
}

/* Figures printed by the sources. */
Test(catalogue, published_figures)
{
	const struct gpu *h200 = gpu_find("H200-SXM5-141GB"), *gb200 = gpu_find("GB200-NVL72");

	cr_assert_float_eq(h200->usable_bytes.value / GIB, 140.4, 1e-9); /* 143771 MiB */
	cr_assert_float_eq(h200->hbm_Bps.value, 4.8e12, 1);
	cr_assert_eq(h200->sm_count, 132);
	cr_assert_float_eq(gb200->usable_bytes.value / GIB, 189471 / 1024.0, 0.01);
	cr_assert_float_eq(gb200->flops[FLOP_FP4].value, 10e15, 1);
	cr_assert_float_eq(gpu_find("H100-SXM5-80GB")->flops[FLOP_BF16].value, 989e12, 1);
	cr_assert_float_eq(gpu_find("MI300X-192GB")->matmul_ceiling.value, 668.0 / 1307, 0.005);
	cr_assert_float_eq(gpu_find("B200-SXM-180GB")->matmul_ceiling.value, 1745.0 / 2250, 0.005);
	cr_assert_float_eq(gpu_find("A100-SXM4-80GB")->matmul_ceiling.value, 271.0 / 312, 0.005);
	cr_assert_eq(gpu_find("A100-SXM4-80GB")->flops[FLOP_FP8].value, 0);
	cr_assert_eq(gpu_find("V100-SXM2-32GB")->flops[FLOP_BF16].value, 0);
	cr_assert_eq(gpu_find("H100-PCIe-80GB")->matmul_ceiling.value, 0);
	cr_assert_null(gpu_find("H100"));
}

Test(catalogue, a_line_a_slug)
{
	struct arena *arena = arena_new(out_of_memory, NULL);
	int index = 0;

	while (strcmp(cluster_slug(index), "dgx-h100") != 0)
		index++;
	cr_assert_str_eq(
	    cluster_slug_text(arena, index), "8 x H100-SXM5-80GB, NVSwitch 450 GB/s, 8 x 400 Gb/s");
	arena_free(arena);
}
