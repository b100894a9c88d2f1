/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which cluster file describes the machine that was seen?
 *
 * A GPU's facts come from the catalogue row that its driver's name matches; its memory is what
 * the driver shows. NVLink: links that are up, times 25 GB/s a direction (NVLink 2 to 4; NVIDIA
 * V100, A100, H100 datasheets) or 50 GB/s (NVLink 5, Blackwell). Links to switches make one domain
 * of all GPUs of the node, or of the rack where the GPU is sold in racks; links between GPUs make
 * domains of those that are all linked with each other. NICs: ports that are active and as fast as
 * the fastest one: slower ones are for management. All nodes are taken to be alike.
 */
#include <string.h>

#include "base/arena.h"
#include "model/catalogue.h"
#include "model/detect.h"

/* Whole words of the driver's name, all of which must be there; longer lists first. */
static const struct {
	const char *words[3];
	uint64_t least_GiB; /* 0: any memory */
	const char *gpu;
} known[] = {
    {{"GB300"}, 0, "GB300-NVL72"},
    {{"GB200"}, 0, "GB200-NVL72"},
    {{"B300"}, 0, "B300-SXM-288GB"},
    {{"B200"}, 0, "B200-SXM-180GB"},
    {{"H200"}, 0, "H200-SXM5-141GB"},
    {{"H20"}, 0, "H20-SXM5-96GB"},
    {{"H800"}, 0, "H800-SXM5-80GB"},
    {{"H100", "NVL"}, 0, "H100-NVL-94GB"},
    {{"H100", "PCIe"}, 0, "H100-PCIe-80GB"},
    {{"H100"}, 0, "H100-SXM5-80GB"},
    {{"A800"}, 0, "A800-SXM4-80GB"},
    {{"A100", "PCIe"}, 60, "A100-PCIe-80GB"},
    {{"A100", "PCIE"}, 60, "A100-PCIe-80GB"},
    {{"A100", "SXM4"}, 60, "A100-SXM4-80GB"},
    {{"A100", "SXM"}, 60, "A100-SXM4-80GB"},
    {{"A100", "SXM4"}, 0, "A100-SXM4-40GB"},
    {{"A100", "SXM"}, 0, "A100-SXM4-40GB"},
    {{"L40S"}, 0, "L40S-48GB"},
    {{"A40"}, 0, "A40-48GB"},
    {{"4090"}, 0, "RTX4090-24GB"},
    {{"V100"}, 24, "V100-SXM2-32GB"},
};

static bool
is_alphanumeric(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

/* "A40" is no word of "RTX A4000", "H200" none of "GH200". */
static bool
has_word(const char *name, const char *word)
{
	size_t length = strlen(word);
	const char *at = strstr(name, word);

	while (at && ((at > name && is_alphanumeric(at[-1])) || is_alphanumeric(at[length])))
		at = strstr(at + 1, word);
	return at != NULL;
}

static const char *
catalogue_name(const struct seen_gpu *gpu)
{
	size_t i, j;

	for (i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		bool fits = gpu->memory_bytes >= known[i].least_GiB << 30;

		for (j = 0; j < 3 && known[i].words[j]; j++)
			fits = fits && has_word(gpu->name, known[i].words[j]);
		if (fits)
			return known[i].gpu;
	}
	return NULL;
}

static int
check_gpus(struct diags *diags, const struct seen *seen)
{
	struct loc nowhere = {NULL, 0, 0};
	int i;

	if (seen->n_gpus == 0) {
		if (seen->amd_gpus)
			diag_error(diags, nowhere,
			    "no NVIDIA GPU is seen on '%s', but %d of AMD: a cluster file for "
			    "those "
			    "is written by hand",
			    seen->host, seen->amd_gpus);
		else
			diag_error(diags, nowhere, "no NVIDIA GPU is seen on '%s'", seen->host);
		diag_last_hint(diags, seen->amd_gpus
					  ? "moeplan-cluster(5): a mapping of facts as its 'gpu'"
					  : "run it on a compute node: srun moeplan detect");
		return -1;
	}
	for (i = 0; i < seen->n_gpus; i++) {
		if (seen->gpus[i].mig)
			return diag_error(diags, nowhere,
			    "GPU %d (%s) is partitioned (MIG): a cluster file is for "
			    "whole GPUs",
			    i, seen->gpus[i].name);
		if (strcmp(seen->gpus[i].name, seen->gpus[0].name) != 0)
			return diag_error(diags, nowhere,
			    "GPUs 0 and %d differ: '%s' and '%s'; a cluster file is for "
			    "one kind",
			    i, seen->gpus[0].name, seen->gpus[i].name);
	}
	if (catalogue_name(&seen->gpus[0]))
		return 0;
	diag_error(diags, nowhere, "'%s' is not a GPU of the catalogue",
	    seen->gpus[0].name[0] ? seen->gpus[0].name : "a GPU without a name (no driver)");
	diag_last_hint(
	    diags, "write the cluster file by hand, with a mapping of facts as its 'gpu'");
	return -1;
}

enum { LINK_GBPS = 25, LINK_GBPS_BLACKWELL = 50, BLACKWELL = 100 };

static int
fewest_links(const struct seen *seen)
{
	int links = seen->gpus[0].nvlinks, i;

	for (i = 1; i < seen->n_gpus; i++)
		if (seen->gpus[i].nvlinks < links)
			links = seen->gpus[i].nvlinks;
	return links;
}

static bool
is_linked(const struct seen_gpu *gpu, const struct seen_gpu *other)
{
	return other->bus[0] && strstr(gpu->peers, other->bus);
}

/*
 * GPUs that are all linked with each other, in equal groups; 0: links run otherwise, or nobody said
 * where they end.
 */
static int
linked_domain(const struct seen *seen)
{
	int i, j, k, size = 0;

	for (i = 0; i < seen->n_gpus; i++) {
		int peers = 1;

		for (j = 0; j < seen->n_gpus; j++) {
			if (j == i || !is_linked(&seen->gpus[i], &seen->gpus[j]))
				continue;
			peers++;
			for (k = 0; k < seen->n_gpus; k++)
				if (k != i && k != j && is_linked(&seen->gpus[i], &seen->gpus[k]) &&
				    !is_linked(&seen->gpus[j], &seen->gpus[k]))
					return 0;
		}
		if (size && peers != size)
			return 0;
		size = peers;
	}
	return size > 1 ? size : 0;
}

static bool
all_switched(const struct seen *seen)
{
	int i;

	for (i = 0; i < seen->n_gpus; i++)
		if (seen->gpus[i].switch_links < seen->gpus[i].nvlinks)
			return false;
	return true;
}

/* Switches of a rack join its trays; 0: the GPU's own do not, or not in trays of this size. */
static int
rack_domain(const struct seen *seen, const struct gpu_row *row)
{
	bool wider = row->domain_gpus > row->gpus_per_node;

	return wider && row->domain_gpus % seen->n_gpus == 0 ? (int)row->domain_gpus : 0;
}

static void
write_links(const struct seen *seen, const struct gpu_row *row, int links, struct str *out)
{
	int each = seen->gpus[0].compute >= BLACKWELL ? LINK_GBPS_BLACKWELL : LINK_GBPS;
	int domain = all_switched(seen) ? seen->n_gpus : linked_domain(seen);
	const char *how = "assumed: all GPUs of the node in one domain";

	if (all_switched(seen) && rack_domain(seen, row)) {
		domain = rack_domain(seen, row);
		how = "to NVSwitches; assumed: those of a whole rack";
	} else if (all_switched(seen))
		how = "to NVSwitches";
	else if (domain)
		how = "between GPUs";
	str_addf(out,
	    "  scale_up: {domain_gpus: %d, GBps: %d}    # seen: %d links up on each GPU, %s; "
	    "assumed: "
	    "%d GB/s a link\n",
	    domain ? domain : seen->n_gpus, links * each, links, how, each);
}

static void
write_scale_up(const struct seen *seen, const struct gpu_row *row, struct str *out)
{
	int links = fewest_links(seen);

	if (links > 0)
		write_links(seen, row, links, out);
	else if (row->domain_gpus == 1 || seen->driver[0])
		str_addf(out,
		    "  scale_up: {domain_gpus: 1, GBps: %g}    # seen: no NVLink; assumed: the "
		    "catalogue's "
		    "PCIe rate\n",
		    row->pcie_Bps / 1e9);
	else
		str_addf(out,
		    "  scale_up: {domain_gpus: %d, GBps: %g}    # assumed: nothing seen without "
		    "NVML, the "
		    "catalogue's link\n",
		    rack_domain(seen, row) ? rack_domain(seen, row) : seen->n_gpus,
		    row->link_Bps.value / 1e9);
}

/* --- network cards ------------------------------------------------------------------------ */

/* The fastest that are active; without RDMA, of Ethernet. */
static bool
is_used(const struct seen *seen, const struct seen_nic *nic)
{
	bool rdma = false;
	double fastest = 0;
	int i;

	for (i = 0; i < seen->n_nics; i++)
		rdma = rdma || (seen->nics[i].active && !seen->nics[i].ethernet);
	for (i = 0; i < seen->n_nics; i++) {
		const struct seen_nic *n = &seen->nics[i];

		if (n->active && !(rdma && n->ethernet) && n->Gbps > fastest)
			fastest = n->Gbps;
	}
	return nic->active && !(rdma && nic->ethernet) && nic->Gbps >= fastest;
}

static void
write_scale_out(const struct seen *seen, const struct gpu_row *row, struct str *out)
{
	const struct seen_nic *one = NULL;
	int n = 0, i;

	for (i = 0; i < seen->n_nics; i++)
		if (is_used(seen, &seen->nics[i])) {
			one = &seen->nics[i];
			n++;
		}
	if (one)
		str_addf(out,
		    "  scale_out: {nics_per_node: %d, Gbps: %g}    # seen: active %s of the "
		    "fastest "
		    "kind; left out: %d\n",
		    n, one->Gbps, one->ethernet ? "Ethernet ports, no RDMA," : "RDMA ports",
		    seen->n_nics - n);
	else
		str_addf(out,
		    "  scale_out: {nics_per_node: %d, Gbps: %g}    # assumed: no network card "
		    "seen, "
		    "the catalogue's usual network\n",
		    seen->n_gpus, row->nic_bits / 1e9);
}

/* Each GPU's nearest cards, and whether several GPUs share one. */
static void
write_affinity(struct arena *arena, const struct seen *seen, struct str *out)
{
	int i, j;

	for (i = 0; i < seen->n_gpus; i++) {
		const struct seen_gpu *gpu = &seen->gpus[i];
		enum pci_distance best = DISTANCES, d;
		struct str names = str_new(arena);

		for (j = 0; j < seen->n_nics; j++) {
			const struct seen_nic *nic = &seen->nics[j];

			if (!is_used(seen, nic) || !nic->path[0] || !gpu->path[0])
				continue;
			d = pci_distance(gpu->path, gpu->numa, nic->path, nic->numa);
			if (d < best)
				names = str_new(arena);
			if (d <= best)
				str_addf(&names, " %s", nic->name);
			best = d < best ? d : best;
		}
		if (best < DISTANCES)
			str_addf(out, "  # seen: GPU %d (%s) is nearest to%s, %s\n", i, gpu->bus,
			    names.text, pci_distance_names[best]);
	}
}

int
detect_cluster(struct arena *arena, struct diags *diags, const struct seen *seen, struct str *out)
{
	const struct gpu_row *row;
	const char *name;

	if (check_gpus(diags, seen) != 0)
		return -1;
	name = catalogue_name(&seen->gpus[0]);
	row = gpu_row_find(name);
	if (!row) {
		struct loc nowhere = {NULL, 0, 0};

		return diag_error(diags, nowhere, "the catalogue has no row for '%s'", name);
	}
	str_addf(out, "# moeplan detect on %s; driver %s\nschema: moeplan/cluster/v1\nname: %s\n",
	    seen->host[0] ? seen->host : "unknown", seen->driver[0] ? seen->driver : "not seen",
	    seen->host);
	str_addf(out, "nodes: %lld    # %s\n", (long long)(seen->nodes ? seen->nodes : 1),
	    seen->nodes ? "seen: the Slurm job's" : "assumed: this node alone");
	str_addf(out, "gpus_per_node: %d    # seen\n", seen->n_gpus);
	str_addf(out, "gpu:\n  name: %s    # seen: '%s'\n", name, seen->gpus[0].name);
	if (seen->gpus[0].memory_bytes)
		str_addf(out, "  memory: %llu    # seen: bytes that the driver shows\n",
		    (unsigned long long)seen->gpus[0].memory_bytes);
	str_add(out, "  # assumed: peak rates and memory bandwidth of the catalogue\nlinks:\n");
	write_scale_up(seen, row, out);
	write_scale_out(seen, row, out);
	write_affinity(arena, seen, out);
	return 0;
}
