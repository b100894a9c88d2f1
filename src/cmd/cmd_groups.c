/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which rank is in which group, on which node, and which groups leave the node? */
#include "cmd/groups_facts.h"

/* Without a cluster: GPUs of a node, as most public node types have (DGX, HGX, cloud). */
enum { GPUS_PER_NODE_DEFAULT = 8 };

static int64_t
ceil_div(int64_t a, int64_t b)
{
	return (a + b - 1) / b;
}

/* Two levels, the node and the network between nodes; no rates, only who is where. */
static const struct cluster *
plain_nodes(struct request *request, int64_t world, int64_t gpus_per_node)
{
	struct cluster *cluster = arena_alloc(request->arena, sizeof(*cluster));

	cluster->name = "nodes";
	cluster->gpus_per_node = gpus_per_node;
	cluster->domain_gpus = gpus_per_node;
	cluster->nodes = ceil_div(world, gpus_per_node);
	cluster->world = cluster->nodes * gpus_per_node;
	cluster->levels[0] = (struct level){.name = "node", .gpus = gpus_per_node};
	cluster->levels[1] = (struct level){.name = "network", .gpus = cluster->world};
	cluster->n_levels = cluster->nodes > 1 ? 2 : 1;
	return cluster;
}

static enum status
choose_nodes(struct request *request, struct groups_facts *facts)
{
	struct loc nowhere = {NULL, 0, 0};
	int64_t world = facts->strategy->world;

	if (request->gpus_per_node == 0 && request->cluster) {
		facts->cluster = request->cluster;
		if (world <= request->cluster->world)
			return STATUS_YES;
		diag_error(request->diags, nowhere,
		    "the strategy takes %lld GPUs, the cluster has %lld", (long long)world,
		    (long long)request->cluster->world);
		return STATUS_NO;
	}
	facts->assumed_nodes = request->gpus_per_node == 0;
	facts->cluster = plain_nodes(
	    request, world, facts->assumed_nodes ? GPUS_PER_NODE_DEFAULT : request->gpus_per_node);
	return STATUS_YES;
}

/* The widest group decides: the slowest level that any of them crosses, most nodes. */
static struct group_span
widest(const struct cluster *cluster, const struct group_kind *kind)
{
	struct group_span widest = {0, 0};
	int64_t i;

	for (i = 0; i < kind->count; i++) {
		struct group_span span =
		    group_span(cluster, &kind->ranks[i * kind->size], kind->size);

		if (span.level > widest.level)
			widest.level = span.level;
		if (span.nodes > widest.nodes)
			widest.nodes = span.nodes;
	}
	return widest;
}

static enum status
find_groups(struct request *request, struct groups_facts *facts)
{
	enum status status;
	size_t i;

	if (strategy_violations(facts->strategy, request->model, request->diags) > 0)
		return STATUS_NO;
	status = choose_nodes(request, facts);
	if (status != STATUS_YES)
		return status;
	facts->table = groups_build(request->arena, request->diags, facts->strategy);
	if (!facts->table)
		return STATUS_NO;
	facts->spans = arena_array(request->arena, facts->table->n_kinds, sizeof(*facts->spans));
	for (i = 0; i < facts->table->n_kinds; i++)
		facts->spans[i] = widest(facts->cluster, &facts->table->kinds[i]);
	return STATUS_YES;
}

enum status
cmd_groups(struct request *request)
{
	struct groups_facts *facts = arena_alloc(request->arena, sizeof(*facts));
	struct loc nowhere = {NULL, 0, 0};
	enum status status;

	if (inputs_load(request, 0) != 0)
		return STATUS_USAGE;
	strategy_derive(
	    &request->job.base, request->model, request->cluster ? request->cluster->world : 0);
	facts->strategy = &request->job.base;
	if (facts->strategy->world == 0) {
		diag_error(request->diags, nowhere, "the number of GPUs is not given");
		diag_last_hint(request->diags,
		    "add --world-size N, or --dp N, or a cluster such as 'dgx-h100x2'");
		return STATUS_USAGE;
	}
	status = find_groups(request, facts);
	if (status != STATUS_YES)
		return status;
	if (request->common.format == FORMAT_JSON)
		json_groups(request, facts);
	else
		text_groups(request, facts);
	return STATUS_YES;
}
