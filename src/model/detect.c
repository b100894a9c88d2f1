/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which cluster file describes the machine that was seen?
 *
 * A GPU's facts come from the catalogue row that its driver's name matches; its memory is what
 * the driver shows. NVLink: links that are up, times 25 GB/s a direction (NVLink 2 to 4; NVIDIA
 * V100, A100, H100 datasheets) or 50 GB/s (NVLink 5, Blackwell). NICs: ports that are active and
 * as fast as the fastest one: slower ones are for management. All nodes are taken to be alike.
 */
#include <stddef.h>
#include <string.h>

#include "base/arena.h"
#include "base/doc.h"
#include "base/field.h"
#include "base/units.h"
#include "model/catalogue.h"
#include "model/detect.h"

/* Words of the driver's name, all of which must be there; longer lists first. */
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
    {{"A100", "SXM"}, 60, "A100-SXM4-80GB"},
    {{"A100", "SXM"}, 0, "A100-SXM4-40GB"},
    {{"L40S"}, 0, "L40S-48GB"},
    {{"A40"}, 0, "A40-48GB"},
    {{"4090"}, 0, "RTX4090-24GB"},
    {{"V100"}, 24, "V100-SXM2-32GB"},
};

static const char *
catalogue_name(const struct seen_gpu *gpu)
{
	size_t i, j;

	for (i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		bool fits = gpu->memory_bytes >= known[i].least_GiB << 30;

		for (j = 0; j < 3 && known[i].words[j]; j++)
			fits = fits && strstr(gpu->name, known[i].words[j]);
		if (fits)
			return known[i].gpu;
	}
	return NULL;
}

void
detect_slurm(struct seen *seen, detect_lookup_fn *lookup, void *context)
{
	static const char *const names[] = {"SLURM_JOB_NUM_NODES", "SLURM_NNODES"};
	size_t i;

	for (i = 0; i < 2 && seen->nodes == 0; i++) {
		const char *text = lookup(context, names[i]);
		int64_t nodes;

		if (text && units_parse_integer(text, &nodes) && nodes > 0 &&
		    nodes <= CLUSTER_MAX_NODES)
			seen->nodes = nodes;
	}
}

/* --- a document of what was seen
 * ------------------------------------------------------------------ */

void
seen_write(const struct seen *seen, struct str *out)
{
	int i;

	str_addf(out, "schema: moeplan/seen/v1\nhost: '%s'\ndriver: '%s'\nnodes: %lld\ngpus:%s\n",
	    seen->host, seen->driver, (long long)seen->nodes, seen->n_gpus ? "" : " []");
	for (i = 0; i < seen->n_gpus; i++) {
		const struct seen_gpu *g = &seen->gpus[i];

		str_addf(out,
		    "  - {name: '%s', bus: '%s', memory_bytes: %llu, nvlinks: %d, compute: %lld, "
		    "mig: %s, numa: %lld}\n",
		    g->name, g->bus, (unsigned long long)g->memory_bytes, g->nvlinks,
		    (long long)g->compute, g->mig ? "true" : "false", (long long)g->numa);
	}
	str_addf(out, "nics:%s\n", seen->n_nics ? "" : " []");
	for (i = 0; i < seen->n_nics; i++) {
		const struct seen_nic *n = &seen->nics[i];

		str_addf(out, "  - {name: '%s', Gbps: %g, active: %s, numa: %lld}\n", n->name,
		    n->Gbps, n->active ? "true" : "false", (long long)n->numa);
	}
}

struct item {
	const char *name, *bus;
	int64_t memory_bytes, nvlinks, compute, numa;
	double Gbps;
	bool mig, active;
};

#define TEXT(member)                                                                               \
	{                                                                                          \
		.name = #member, .kind = FIELD_TEXT, .offset = offsetof(struct item, member)       \
	}
#define COUNT(member, least, most)                                                                 \
	{                                                                                          \
		.name = #member, .kind = FIELD_INT, .offset = offsetof(struct item, member),       \
		.min = least, .max = most                                                          \
	}
#define FLAG(member)                                                                               \
	{                                                                                          \
		.name = #member, .kind = FIELD_FLAG, .offset = offsetof(struct item, member)       \
	}

static const struct field gpu_fields[] = {TEXT(name), TEXT(bus), COUNT(memory_bytes, 0, 1e15),
    COUNT(nvlinks, 0, 64), COUNT(compute, 0, 1000), FLAG(mig), COUNT(numa, -1, 4096),
    {.name = NULL}};
static const struct field nic_fields[] = {TEXT(name),
    {.name = "Gbps",
	.kind = FIELD_NUMBER,
	.offset = offsetof(struct item, Gbps),
	.min = 0,
	.max = 1e6},
    FLAG(active), COUNT(numa, -1, 4096), {.name = NULL}};

struct head {
	const char *schema, *host, *driver;
	int64_t nodes;
};
static const struct field head_fields[] = {
    {.name = "schema", .kind = FIELD_TEXT, .offset = offsetof(struct head, schema)},
    {.name = "host", .kind = FIELD_TEXT, .offset = offsetof(struct head, host)},
    {.name = "driver", .kind = FIELD_TEXT, .offset = offsetof(struct head, driver)},
    {.name = "nodes",
	.kind = FIELD_INT,
	.offset = offsetof(struct head, nodes),
	.min = 0,
	.max = 1e6},
    {.name = NULL}};

static void
copy(char *to, size_t size, const char *from)
{
	size_t n = from ? strlen(from) : 0;

	n = n < size ? n : size - 1;
	if (n)
		memcpy(to, from, n);
	to[n] = '\0';
}

static void
keep_gpu(struct seen *seen, const struct item *item)
{
	struct seen_gpu *gpu = &seen->gpus[seen->n_gpus++];

	memset(gpu, 0, sizeof(*gpu));
	copy(gpu->name, sizeof(gpu->name), item->name);
	copy(gpu->bus, sizeof(gpu->bus), item->bus);
	gpu->memory_bytes = (uint64_t)item->memory_bytes;
	gpu->nvlinks = (int)item->nvlinks;
	gpu->compute = item->compute;
	gpu->mig = item->mig;
	gpu->numa = item->numa;
}

static void
keep_nic(struct seen *seen, const struct item *item)
{
	struct seen_nic *nic = &seen->nics[seen->n_nics++];

	memset(nic, 0, sizeof(*nic));
	copy(nic->name, sizeof(nic->name), item->name);
	nic->Gbps = item->Gbps;
	nic->active = item->active;
	nic->numa = item->numa;
}

static int
read_items(const struct doc *doc, const char *key, const struct field *fields, int most,
    struct seen *seen, void (*keep)(struct seen *, const struct item *),
    struct field_context *context)
{
	const struct doc *list = doc_get(doc, key), *entry;
	int n = 0;

	if (!list || list->kind != DOC_LIST)
		return diag_error(context->diags, doc->loc, "'%s' is missing or no list", key);
	for (entry = list->first; entry; entry = entry->next) {
		struct item item = {.numa = -1};

		if (entry->kind != DOC_MAP)
			return diag_error(
			    context->diags, entry->loc, "an item of '%s' is a mapping", key);
		if (n++ == most)
			return diag_error(
			    context->diags, entry->loc, "'%s' has more than %d items", key, most);
		if (fields_read(fields, &item, entry, NULL, context) != 0)
			return -1;
		keep(seen, &item);
	}
	return 0;
}

int
seen_read(struct arena *arena, struct diags *diags, const struct doc *doc, struct seen *seen)
{
	static const char *const lists[] = {"gpus", "nics", NULL};
	struct field_context context = {arena, diags};
	struct head head = {0};

	memset(seen, 0, sizeof(*seen));
	if (doc->kind != DOC_MAP || fields_read(head_fields, &head, doc, lists, &context) != 0)
		return doc->kind == DOC_MAP
			   ? -1
			   : diag_error(diags, doc->loc, "what was seen is a mapping");
	if (!head.schema || strcmp(head.schema, "moeplan/seen/v1") != 0)
		return diag_error(diags, doc->loc, "its schema is not 'moeplan/seen/v1'");
	copy(seen->host, sizeof(seen->host), head.host);
	copy(seen->driver, sizeof(seen->driver), head.driver);
	seen->nodes = head.nodes;
	if (read_items(doc, "gpus", gpu_fields, SEEN_GPUS, seen, keep_gpu, &context) != 0)
		return -1;
	return read_items(doc, "nics", nic_fields, SEEN_NICS, seen, keep_nic, &context);
}

/* --- the cluster
 * ---------------------------------------------------------------------------------- */

static int
check_gpus(struct diags *diags, const struct seen *seen)
{
	struct loc nowhere = {NULL, 0, 0};
	int i;

	if (seen->n_gpus == 0) {
		diag_error(diags, nowhere, "no NVIDIA GPU is seen on '%s'", seen->host);
		diag_last_hint(diags, "run it on a compute node: srun moeplan detect");
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

static void
write_scale_up(const struct seen *seen, const struct gpu_row *row, struct str *out)
{
	int links = fewest_links(seen);
	int each = seen->gpus[0].compute >= BLACKWELL ? LINK_GBPS_BLACKWELL : LINK_GBPS;

	if (links > 0)
		str_addf(out,
		    "  scale_up: {domain_gpus: %d, GBps: %d}    # seen: %d links up on each GPU; "
		    "assumed: "
		    "%d GB/s a link, all GPUs of the node in one domain\n",
		    seen->n_gpus, links * each, links, each);
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
		    seen->n_gpus, row->link_Bps.value / 1e9);
}

static void
write_scale_out(const struct seen *seen, const struct gpu_row *row, struct str *out)
{
	double fastest = 0;
	int n = 0, other = 0, i;

	for (i = 0; i < seen->n_nics; i++)
		if (seen->nics[i].active && seen->nics[i].Gbps > fastest)
			fastest = seen->nics[i].Gbps;
	for (i = 0; i < seen->n_nics; i++) {
		bool used = seen->nics[i].active && seen->nics[i].Gbps >= fastest;

		n += used;
		other += !used;
	}
	if (n > 0)
		str_addf(out,
		    "  scale_out: {nics_per_node: %d, Gbps: %g}    # seen: active ports of the "
		    "fastest kind; "
		    "%d slower or inactive left out\n",
		    n, fastest, other);
	else
		str_addf(out,
		    "  scale_out: {nics_per_node: %d, Gbps: %g}    # assumed: no RDMA card seen, "
		    "the "
		    "catalogue's usual network\n",
		    seen->n_gpus, row->nic_bits / 1e9);
}

int
detect_cluster(struct arena *arena, struct diags *diags, const struct seen *seen, struct str *out)
{
	const struct gpu_row *row;
	const char *name;

	(void)arena;
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
	return 0;
}
