/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What was seen as a document, so that another machine can be looked at from here.
 */
#include <stddef.h>
#include <string.h>

#include "base/arena.h"
#include "base/doc.h"
#include "base/field.h"
#include "base/units.h"
#include "model/cluster.h"
#include "model/detect.h"

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

/* --- a document of what was seen ---------------------------------------------------------- */

void
seen_write(const struct seen *seen, struct str *out)
{
	int i;

	str_addf(out,
	    "schema: moeplan/seen/v1\nhost: '%s'\ndriver: '%s'\nnodes: %lld\namd_gpus: "
	    "%d\ngpus:%s\n",
	    seen->host, seen->driver, (long long)seen->nodes, seen->amd_gpus,
	    seen->n_gpus ? "" : " []");
	for (i = 0; i < seen->n_gpus; i++) {
		const struct seen_gpu *g = &seen->gpus[i];

		str_addf(out,
		    "  - {name: '%s', bus: '%s', memory_bytes: %llu, nvlinks: %d, switch_links: "
		    "%d,\n     peers: '%s', compute: %lld, mig: %s, numa: %lld,\n     path: "
		    "'%s'}\n",
		    g->name, g->bus, (unsigned long long)g->memory_bytes, g->nvlinks,
		    g->switch_links, g->peers, (long long)g->compute, g->mig ? "true" : "false",
		    (long long)g->numa, g->path);
	}
	str_addf(out, "nics:%s\n", seen->n_nics ? "" : " []");
	for (i = 0; i < seen->n_nics; i++) {
		const struct seen_nic *n = &seen->nics[i];

		str_addf(out,
		    "  - {name: '%s', Gbps: %g, active: %s, ethernet: %s, numa: %lld,\n     path: "
		    "'%s'}\n",
		    n->name, n->Gbps, n->active ? "true" : "false", n->ethernet ? "true" : "false",
		    (long long)n->numa, n->path);
	}
}

struct item {
	const char *name, *bus, *peers, *path;
	int64_t memory_bytes, nvlinks, switch_links, compute, numa;
	double Gbps;
	bool mig, active, ethernet;
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
    COUNT(nvlinks, 0, 64), COUNT(switch_links, 0, 64), TEXT(peers), TEXT(path),
    COUNT(compute, 0, 1000), FLAG(mig), COUNT(numa, -1, 4096), {.name = NULL}};
static const struct field nic_fields[] = {TEXT(name),
    {.name = "Gbps",
	.kind = FIELD_NUMBER,
	.offset = offsetof(struct item, Gbps),
	.min = 0,
	.max = 1e6},
    FLAG(active), FLAG(ethernet), TEXT(path), COUNT(numa, -1, 4096), {.name = NULL}};

struct head {
	const char *schema, *host, *driver;
	int64_t nodes, amd_gpus;
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
    {.name = "amd_gpus",
	.kind = FIELD_INT,
	.offset = offsetof(struct head, amd_gpus),
	.min = 0,
	.max = 1e3},
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
	gpu->switch_links = (int)item->switch_links;
	copy(gpu->peers, sizeof(gpu->peers), item->peers);
	copy(gpu->path, sizeof(gpu->path), item->path);
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
	nic->ethernet = item->ethernet;
	copy(nic->path, sizeof(nic->path), item->path);
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
	seen->amd_gpus = (int)head.amd_gpus;
	if (read_items(doc, "gpus", gpu_fields, SEEN_GPUS, seen, keep_gpu, &context) != 0)
		return -1;
	return read_items(doc, "nics", nic_fields, SEEN_NICS, seen, keep_nic, &context);
}
