/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which cluster does a file (moeplan/cluster/v1) describe?
 *
 * Rates in a file are nominal, per GPU and direction; a link, or a GPU given as
 * a mapping of facts, may carry `origin: measured`, which makes its numbers
 * count as they are. A GPU mapping whose name is in the catalogue takes what it
 * leaves out from there.
 */
#include <stddef.h>
#include <string.h>

#include "base/arena.h"
#include "base/field.h"
#include "base/str.h"
#include "model/cluster_build.h"

struct link_facts {
	int64_t domain_gpus, nics_per_node;
	double GBps, Gbps, latency_us, oversubscription, spread;
	struct traffic_curves all_to_all;
	int origin;
};

struct gpu_facts {
	const char *name;
	uint64_t memory;
	double hbm_GBps, tflops[FLOP_TYPES], matmul_ceiling, gemm_half, launch_us, spread;
	uint64_t runtime;
	struct curve grouped;
	int64_t sm_count;
	int origin;
};

struct host_facts {
	double GBps, memory_GBps;
	uint64_t memory;
	int origin;
};

struct cluster_file {
	const char *schema, *name;
	int64_t nodes, gpus_per_node;
	struct gpu gpu;
	const struct gpu_row *row;
	struct link_facts scale_up, in_node, scale_out;
	struct host_facts host;
	uint64_t reserve;
	double hidden[HIDDEN_TRAFFICS];
	struct measured_runs runs;
};

#define NUMBER(type, key, member, metavar, low, high, text)                                        \
	{                                                                                          \
		.name = key, .arg = metavar, .help = text, .kind = FIELD_NUMBER,                   \
		.offset = offsetof(type, member), .min = low, .max = high                          \
	}
#define COUNT(type, key, member, high, text)                                                       \
	{                                                                                          \
		.name = key, .arg = "N", .help = text, .kind = FIELD_INT,                          \
		.offset = offsetof(type, member), .min = 1, .max = high                            \
	}
#define ORIGIN(type)                                                                               \
	{                                                                                          \
		.name = "origin", .arg = "file|measured", .kind = FIELD_CHOICE,                    \
		.offset = offsetof(type, origin), .choices = origin_names,                         \
		.help = "where the numbers are from; measured ones are used as they are"           \
	}
#define LINK(key, member, high, text) NUMBER(struct link_facts, key, member, "X", 1e-6, high, text)
#define FLOPS(key, flop, text) NUMBER(struct gpu_facts, key, tflops[flop], "X", 0, 1e6, text)

static int
read_all_to_all(
    const struct field *field, void *object, const struct doc *value, struct field_context *context)
{
	struct link_facts *link = object;

	return traffic_read(&link->all_to_all, field->name, value, context);
}

static int
read_grouped(
    const struct field *field, void *object, const struct doc *value, struct field_context *context)
{
	struct gpu_facts *gpu = object;

	return curve_read(&gpu->grouped, field->name, value, context);
}

#define MEASURED_LINK                                                                              \
	NUMBER(struct link_facts, "spread", spread, "F", 0, 1e3,                                   \
	    "how far measurements lie from the numbers, a fraction"),                              \
	{                                                                                          \
		.name = "all_to_all", .arg = "LIST", .kind = FIELD_CUSTOM, .read = read_all_to_all,\
		.help = "measured: units, bytes out of a GPU, GB/s"                                \
	}

/* clang-format off */
static const struct field scale_up_fields[] = {
	COUNT(struct link_facts, "domain_gpus", domain_gpus, CLUSTER_MAX_WORLD,
	      "GPUs that reach each other over this link"),
	LINK("GBps", GBps, 1e6, "GB/s of a GPU in one direction"),
	LINK("latency_us", latency_us, 1e6, "microseconds of a small message"),
	ORIGIN(struct link_facts),
	MEASURED_LINK,
	{ .name = NULL },
};

static const struct field in_node_fields[] = {
	LINK("GBps", GBps, 1e6, "GB/s of a GPU in one direction"),
	LINK("latency_us", latency_us, 1e6, "microseconds of a small message"),
	ORIGIN(struct link_facts),
	MEASURED_LINK,
	{ .name = NULL },
};

static const struct field scale_out_fields[] = {
	COUNT(struct link_facts, "nics_per_node", nics_per_node, 4096, "network cards of a node"),
	LINK("Gbps", Gbps, 1e6, "Gb/s of one card in one direction"),
	LINK("latency_us", latency_us, 1e6, "microseconds of a small message"),
	NUMBER(struct link_facts, "oversubscription", oversubscription, "X", 1, 1000,
	       "1 at full bisection, 2 when half the bandwidth is there"),
	ORIGIN(struct link_facts),
	MEASURED_LINK,
	{ .name = NULL },
};

static const struct field gpu_fields[] = {
	{ .name = "name", .arg = "NAME", .kind = FIELD_TEXT,
	  .offset = offsetof(struct gpu_facts, name), .help = "of the catalogue, or any other" },
	{ .name = "memory", .arg = "SIZE", .kind = FIELD_BYTES,
	  .offset = offsetof(struct gpu_facts, memory), .help = "memory that the driver shows" },
	NUMBER(struct gpu_facts, "hbm_GBps", hbm_GBps, "X", 1, 1e6, "GB/s of the memory"),
	FLOPS("bf16_tflops", FLOP_BF16, "dense bf16 peak"),
	FLOPS("fp16_tflops", FLOP_FP16, "dense fp16 peak"),
	FLOPS("fp8_tflops", FLOP_FP8, "dense fp8 peak, 0 when the part has none"),
	FLOPS("fp4_tflops", FLOP_FP4, "dense fp4 peak, 0 when the part has none"),
	NUMBER(struct gpu_facts, "matmul_ceiling", matmul_ceiling, "F", 0.01, 1,
	       "best measured bf16 matrix product over the peak"),
	COUNT(struct gpu_facts, "sm_count", sm_count, 65536, "multiprocessors"),
	ORIGIN(struct gpu_facts),
	NUMBER(struct gpu_facts, "gemm_half", gemm_half, "N", 1, 1e6,
	       "measured: size of a dimension at which a product reaches half its rate"),
	{ .name = "grouped", .arg = "LIST", .kind = FIELD_CUSTOM, .read = read_grouped,
	  .help = "measured: rows an expert, share of the ceiling that its products reach" },
	NUMBER(struct gpu_facts, "launch_us", launch_us, "X", 1e-3, 1e6,
	       "measured: microseconds of the shortest kernel"),
	{ .name = "runtime", .arg = "SIZE", .kind = FIELD_BYTES,
	  .offset = offsetof(struct gpu_facts, runtime),
	  .help = "measured: memory outside the allocator" },
	NUMBER(struct gpu_facts, "spread", spread, "F", 0, 1e3,
	       "how far measurements lie apart, a fraction"),
	{ .name = NULL },
};

static const struct field host_fields[] = {
	NUMBER(struct host_facts, "GBps", GBps, "X", 1e-6, 1e6,
	       "GB/s between a GPU and host memory in one direction"),
	NUMBER(struct host_facts, "memory_GBps", memory_GBps, "X", 1e-6, 1e6,
	       "GB/s of a node's memory"),
	{ .name = "memory", .arg = "SIZE", .kind = FIELD_BYTES,
	  .offset = offsetof(struct host_facts, memory), .help = "memory of a node" },
	ORIGIN(struct host_facts),
	{ .name = NULL },
};
/* clang-format on */

static int
read_map(const struct field *fields, void *object, const struct field *field,
    const struct doc *value, struct field_context *context)
{
	if (value->kind != DOC_MAP)
		return diag_error(context->diags, value->loc, "'%s' takes a mapping, not %s",
		    field->name, doc_kind_name(value->kind));
	return fields_read(fields, object, value, NULL, context);
}

static int
read_scale_up(
    const struct field *field, void *object, const struct doc *value, struct field_context *context)
{
	struct cluster_file *file = object;

	return read_map(scale_up_fields, &file->scale_up, field, value, context);
}

static int
read_in_node(
    const struct field *field, void *object, const struct doc *value, struct field_context *context)
{
	struct cluster_file *file = object;

	return read_map(in_node_fields, &file->in_node, field, value, context);
}

static int
read_scale_out(
    const struct field *field, void *object, const struct doc *value, struct field_context *context)
{
	struct cluster_file *file = object;

	return read_map(scale_out_fields, &file->scale_out, field, value, context);
}

static int
read_host(
    const struct field *field, void *object, const struct doc *value, struct field_context *context)
{
	struct cluster_file *file = object;

	return read_map(host_fields, &file->host, field, value, context);
}

static const struct field links_fields[] = {
    {.name = "scale_up",
	.arg = "MAP",
	.help = "NVLink, xGMI, HCCS",
	.kind = FIELD_CUSTOM,
	.read = read_scale_up},
    {.name = "in_node",
	.arg = "MAP",
	.help = "between scale-up domains of a node: PCIe",
	.kind = FIELD_CUSTOM,
	.read = read_in_node},
    {.name = "scale_out",
	.arg = "MAP",
	.help = "the network",
	.kind = FIELD_CUSTOM,
	.read = read_scale_out},
    {.name = NULL},
};

static int
read_links(
    const struct field *field, void *object, const struct doc *value, struct field_context *context)
{
	return read_map(links_fields, object, field, value, context);
}

static void
set_fact(struct quantity *quantity, double value, int origin)
{
	if (value > 0)
		*quantity = (struct quantity){value, (enum origin)origin, "cluster file"};
}

static void
gpu_from_facts(struct gpu *gpu, const struct gpu_facts *facts)
{
	gpu->name = facts->name;
	set_fact(&gpu->usable_bytes, (double)facts->memory, facts->origin);
	set_fact(&gpu->hbm_Bps, facts->hbm_GBps * 1e9, facts->origin);
	for (int type = 0; type < FLOP_TYPES; type++)
		set_fact(&gpu->flops[type], facts->tflops[type] * 1e12, facts->origin);
	set_fact(&gpu->matmul_ceiling, facts->matmul_ceiling, facts->origin);
	if (facts->sm_count > 0)
		gpu->sm_count = facts->sm_count;
	gpu->gemm_half = facts->gemm_half;
	gpu->grouped = facts->grouped;
	gpu->launch_s = facts->launch_us * 1e-6;
	gpu->runtime_bytes = (double)facts->runtime;
	gpu->spread = facts->spread;
}

static int
check_gpu(const struct gpu *gpu, const struct doc *value, struct diags *diags)
{
	int errors = diags->errors;

	if (!gpu->name)
		diag_error(diags, value->loc, "'gpu' has no 'name'");
	if (!(gpu->usable_bytes.value > 0))
		diag_error(diags, value->loc, "'gpu' has no 'memory'");
	if (!(gpu->hbm_Bps.value > 0))
		diag_error(diags, value->loc, "'gpu' has no 'hbm_GBps'");
	if (!(gpu->flops[FLOP_BF16].value > 0) && !(gpu->flops[FLOP_FP16].value > 0))
		diag_error(diags, value->loc, "'gpu' has neither 'bf16_tflops' nor 'fp16_tflops'");
	if (diags->errors == errors)
		return 0;
	diag_last_hint(diags, "a name of the catalogue brings these facts");
	return -1;
}

static int
read_gpu_name(struct cluster_file *file, const struct doc *value, struct field_context *context)
{
	const char *near;

	file->row = gpu_row_find(value->text);
	if (file->row) {
		file->gpu = file->row->gpu;
		return 0;
	}
	diag_error(context->diags, value->loc, "'%s' is not a GPU of the catalogue", value->text);
	near = gpu_suggestion(context->arena, value->text);
	if (near)
		diag_last_hint(context->diags, "did you mean %s?", near);
	else
		diag_last_hint(context->diags, "give a mapping of facts: name, memory, hbm_GBps, "
					       "bf16_tflops …");
	return -1;
}

static int
read_gpu(
    const struct field *field, void *object, const struct doc *value, struct field_context *context)
{
	struct cluster_file *file = object;
	struct gpu_facts facts = {.origin = ORIGIN_FILE};

	if (value->kind == DOC_STRING)
		return read_gpu_name(file, value, context);
	if (read_map(gpu_fields, &facts, field, value, context) < 0)
		return -1;
	file->row = facts.name ? gpu_row_find(facts.name) : NULL;
	if (file->row)
		file->gpu = file->row->gpu;
	gpu_from_facts(&file->gpu, &facts);
	return check_gpu(&file->gpu, value, context->diags);
}

static int
read_runs(
    const struct field *field, void *object, const struct doc *value, struct field_context *context)
{
	struct cluster_file *file = object;

	(void)field;
	return measured_runs_read(&file->runs, value, context);
}

#define FILE_FIELD(key, metavar, type, member, text)                                               \
	{                                                                                          \
		.name = key, .arg = metavar, .help = text, .kind = type,                           \
		.offset = offsetof(struct cluster_file, member)                                    \
	}

/* clang-format off */
static const struct field file_fields[] = {
	FILE_FIELD("schema", "TEXT", FIELD_TEXT, schema, "moeplan/cluster/v1"),
	FILE_FIELD("name", "TEXT", FIELD_TEXT, name, "what reports call the cluster"),
	COUNT(struct cluster_file, "nodes", nodes, CLUSTER_MAX_NODES, "number of nodes"),
	COUNT(struct cluster_file, "gpus_per_node", gpus_per_node, CLUSTER_MAX_WORLD,
	      "GPUs of one node"),
	{ .name = "gpu", .arg = "NAME|MAP", .kind = FIELD_CUSTOM, .read = read_gpu,
	  .help = "catalogue name, or a mapping of facts" },
	{ .name = "links", .arg = "MAP", .kind = FIELD_CUSTOM, .read = read_links,
	  .help = "scale_up, in_node, scale_out" },
	{ .name = "host", .arg = "MAP", .kind = FIELD_CUSTOM, .read = read_host,
	  .help = "memory of a node and the way there, for what is offloaded" },
	FILE_FIELD("reserve", "SIZE", FIELD_BYTES, reserve, "memory kept free on every GPU"),
	NUMBER(struct cluster_file, "hidden_all_to_all", hidden[HIDDEN_ALL_TO_ALL], "F", 0, 1,
	       "measured: share of an all-to-all that runs behind computation"),
	NUMBER(struct cluster_file, "hidden_tensor_parallel", hidden[HIDDEN_TENSOR_PARALLEL], "F",
	       0, 1, "measured: the same share of tensor-parallel traffic"),
	NUMBER(struct cluster_file, "hidden_data_parallel", hidden[HIDDEN_DATA_PARALLEL], "F", 0,
	       1, "measured: the same share of gradient and parameter traffic"),
	{ .name = "runs", .arg = "LIST", .kind = FIELD_CUSTOM, .read = read_runs,
	  .help = "training steps that were timed here" },
	{ .name = NULL },
};
/* clang-format on */

static struct quantity
link_number(double value, const struct link_facts *link)
{
	struct quantity quantity = {0};

	set_fact(&quantity, value, link->origin);
	return quantity;
}

static struct host
host_from_facts(const struct host_facts *facts)
{
	struct host host = {0};

	set_fact(&host.link_Bps, facts->GBps * 1e9, facts->origin);
	set_fact(&host.memory_Bps, facts->memory_GBps * 1e9, facts->origin);
	set_fact(&host.memory_bytes, (double)facts->memory, facts->origin);
	return host;
}

static struct machine
machine_from_file(const struct cluster_file *file)
{
	const struct link_facts *up = &file->scale_up, *out = &file->scale_out;

	return (struct machine){
	    .name = file->name,
	    .gpu = file->gpu,
	    .row = file->row,
	    .nodes = file->nodes,
	    .gpus_per_node = file->gpus_per_node,
	    .domain_gpus = up->domain_gpus,
	    .link_Bps = link_number(up->GBps * 1e9, up),
	    .link_latency_s = link_number(up->latency_us * 1e-6, up),
	    .node_Bps = link_number(file->in_node.GBps * 1e9, &file->in_node),
	    .node_latency_s = link_number(file->in_node.latency_us * 1e-6, &file->in_node),
	    .nics_per_node = out->nics_per_node,
	    .nic_bits = link_number(out->Gbps * 1e9, out),
	    .network_latency_s = link_number(out->latency_us * 1e-6, out),
	    .oversubscription = out->oversubscription,
	    .reserve_bytes = file->reserve,
	    .link_traffic = up->all_to_all,
	    .node_traffic = file->in_node.all_to_all,
	    .network_traffic = out->all_to_all,
	    .link_spread = up->spread,
	    .node_spread = file->in_node.spread,
	    .network_spread = out->spread,
	    .host = host_from_facts(&file->host),
	};
}

struct cluster *
cluster_read(struct arena *arena, struct diags *diags, const struct doc *doc)
{
	struct field_context context = {arena, diags};
	struct cluster_file file = {.hidden = {-1, -1, -1},
	    .scale_up.origin = ORIGIN_FILE,
	    .host.origin = ORIGIN_FILE,
	    .in_node.origin = ORIGIN_FILE,
	    .scale_out.origin = ORIGIN_FILE};
	int errors = diags->errors;
	struct machine machine;
	struct cluster *cluster;

	if (doc->kind != DOC_MAP) {
		diag_error(
		    diags, doc->loc, "a cluster is a mapping, not %s", doc_kind_name(doc->kind));
		return NULL;
	}
	fields_read(file_fields, &file, doc, NULL, &context);
	if (file.schema && strcmp(file.schema, "moeplan/cluster/v1") != 0)
		diag_error(diags, doc_get(doc, "schema")->loc,
		    "schema '%s' is not known: a cluster file has 'moeplan/cluster/v1'",
		    file.schema);
	if (doc_is_null(doc_get(doc, "nodes")))
		diag_error(diags, doc->loc, "the cluster has no 'nodes'");
	if (doc_is_null(doc_get(doc, "gpu")))
		diag_error(diags, doc->loc, "the cluster has no 'gpu'");
	if (diags->errors > errors)
		return NULL;
	machine = machine_from_file(&file);
	cluster = machine_build(arena, diags, doc->loc, &machine);
	if (cluster) {
		memcpy(cluster->hidden, file.hidden, sizeof(file.hidden));
		cluster->runs = file.runs;
	}
	return cluster;
}
