/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which links does a GPU reach how many others over, and how fast?
 *
 * Level 0 is the scale-up domain (NVLink, xGMI, HCCS, or the node's PCIe where
 * there is none), a level for the node follows when the node holds several
 * domains, and the last level is the network with all GPUs:
 *
 *   network Bps per GPU = NICs a node * bit/s of one / 8 / GPUs a node
 *
 * Ignored: rails and pods above the node (one oversubscription factor stands
 * for them), host memory, and GPUs that share a PCIe switch.
 */
#include "model/cluster.h"

#include "base/arena.h"
#include "model/cluster_build.h"

/* Small messages of NCCL-like libraries; a probe replaces them. */
const char *const hidden_names[HIDDEN_TRAFFICS] = {
    "hidden_all_to_all", "hidden_tensor_parallel", "hidden_data_parallel"};

static const struct quantity default_near_s = {7e-6, ORIGIN_DEFAULT, "assumed"};
static const struct quantity default_far_s = {20e-6, ORIGIN_DEFAULT, "assumed"};

static int64_t
smaller(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static struct quantity
given_or(struct quantity given, struct quantity usual)
{
	return given.value > 0 ? given : usual;
}

static struct quantity
catalogue_number(double value)
{
	return (struct quantity){value, ORIGIN_CATALOGUE, "hardware catalogue"};
}

void
machine_from_node(struct machine *machine, const struct node_row *node)
{
	machine->row = gpu_row_find(node->gpu);
	machine->gpu = machine->row->gpu;
	machine->nodes = node->nodes;
	machine->gpus_per_node = node->gpus_per_node;
	machine->domain_gpus = node->domain_gpus;
	if (node->domain_gpus > 1)
		machine->link_Bps = node->link_Bps;
	else
		machine->node_Bps = node->link_Bps;
	machine->nics_per_node = node->nics_per_node;
	machine->nic_bits = node->nic_bits;
}

/* A domain that is wider than its usual node spans nodes; any other ends with the node. */
static int64_t
usual_domain(const struct gpu_row *row, int64_t gpus_per_node)
{
	if (row->domain_gpus > row->gpus_per_node)
		return row->domain_gpus;
	return smaller(row->domain_gpus, gpus_per_node);
}

static void
fill_host(struct host *host, const struct gpu_row *row)
{
	const struct host *usual = host_find(row->gpu.name);

	if (usual) {
		host->link_Bps = given_or(host->link_Bps, usual->link_Bps);
		host->memory_Bps = given_or(host->memory_Bps, usual->memory_Bps);
		host->memory_bytes = given_or(host->memory_bytes, usual->memory_bytes);
	}
	host->link_Bps = given_or(host->link_Bps, catalogue_number(row->pcie_Bps));
}

static void
fill_from_row(struct machine *m)
{
	const struct gpu_row *row = m->row;

	if (m->gpus_per_node == 0)
		m->gpus_per_node = row->gpus_per_node;
	if (m->domain_gpus == 0)
		m->domain_gpus = usual_domain(row, m->gpus_per_node);
	/* A PCIe card has no scale-up link of its own: a bridge must come with its rate. */
	if (row->domain_gpus > 1) {
		m->link_name = m->link_name ? m->link_name : row->link_name;
		m->link_Bps = given_or(m->link_Bps, row->link_Bps);
	}
	m->node_Bps = given_or(m->node_Bps, catalogue_number(row->pcie_Bps));
	if (m->nics_per_node == 0)
		m->nics_per_node = m->gpus_per_node;
	m->nic_bits = given_or(m->nic_bits, catalogue_number(row->nic_bits));
	fill_host(&m->host, row);
}

static int
check_sizes(struct diags *diags, struct loc loc, const struct machine *m)
{
	long long nodes = m->nodes, gpus = m->gpus_per_node, domain = m->domain_gpus;

	if (nodes < 1 || nodes > CLUSTER_MAX_NODES)
		return diag_error(
		    diags, loc, "%lld nodes: a cluster has 1 to %d", nodes, CLUSTER_MAX_NODES);
	if (gpus < 1 || gpus > CLUSTER_MAX_WORLD)
		return diag_error(
		    diags, loc, "%lld GPUs a node: give 1 to %d", gpus, CLUSTER_MAX_WORLD);
	if (nodes * gpus > CLUSTER_MAX_WORLD)
		return diag_error(diags, loc, "%lld nodes x %lld GPUs = %lld GPUs: at most %d",
		    nodes, gpus, nodes * gpus, CLUSTER_MAX_WORLD);
	if (domain > gpus ? domain % gpus != 0 : gpus % domain != 0)
		return diag_error(diags, loc,
		    "a scale-up domain of %lld GPUs and nodes of %lld: one must be a multiple of "
		    "the other",
		    domain, gpus);
	return 0;
}

static int
check_given(struct diags *diags, struct loc loc, const struct machine *m)
{
	int errors = diags->errors;
	const char *gpu = m->gpu.name;

	if (m->gpus_per_node == 0)
		diag_error(diags, loc,
		    "the GPUs of a node are not given and '%s' is not in the "
		    "catalogue",
		    gpu);
	if (m->domain_gpus > 1 && !(m->link_Bps.value > 0))
		diag_error(diags, loc,
		    "the rate of the scale-up link of '%s' is not given and not in "
		    "the catalogue",
		    gpu);
	if (m->domain_gpus > 0 && m->domain_gpus < m->gpus_per_node && !(m->node_Bps.value > 0))
		diag_error(diags, loc,
		    "the rate between scale-up domains of a node is not given and "
		    "'%s' is not in the catalogue",
		    gpu);
	if (m->nics_per_node == 0 || !(m->nic_bits.value > 0))
		diag_error(diags, loc,
		    "the network (NICs of a node and their rate) is not given and "
		    "'%s' is not in the catalogue",
		    gpu);
	return diags->errors > errors ? -1 : 0;
}

static void
add_level(struct cluster *cluster, const char *name, int64_t gpus, struct quantity Bps,
    struct quantity latency_s, const struct traffic_curves *traffic, double spread)
{
	cluster->levels[cluster->n_levels++] = (struct level){.name = name,
	    .gpus = gpus,
	    .Bps = Bps,
	    .latency_s = latency_s,
	    .oversubscription = 1,
	    .all_to_all = *traffic,
	    .spread = spread};
}

static void
add_levels(struct cluster *cluster, const struct machine *m)
{
	struct quantity near_s = given_or(m->link_latency_s, default_near_s);
	struct quantity node_s = given_or(m->node_latency_s, default_near_s);
	struct quantity network = m->nic_bits;

	if (m->domain_gpus > 1)
		add_level(cluster, m->link_name ? m->link_name : "scale-up", m->domain_gpus,
		    m->link_Bps, near_s, &m->link_traffic, m->link_spread);
	if (m->domain_gpus < m->gpus_per_node || m->domain_gpus == 1)
		add_level(cluster, "PCIe", m->gpus_per_node, m->node_Bps, node_s,
		    &m->node_traffic, m->node_spread);
	network.value *= (double)m->nics_per_node / 8 / (double)m->gpus_per_node;
	add_level(cluster, "network", 0, network, given_or(m->network_latency_s, default_far_s),
	    &m->network_traffic, m->network_spread);
	if (m->oversubscription > 1)
		cluster->levels[cluster->n_levels - 1].oversubscription = m->oversubscription;
	cluster->domain_gpus = cluster->levels[0].gpus;
}

struct cluster *
machine_build(struct arena *arena, struct diags *diags, struct loc loc, const struct machine *given)
{
	struct machine m = *given;
	struct cluster *cluster = arena_alloc(arena, sizeof(*cluster));

	if (m.row)
		fill_from_row(&m);
	if (m.domain_gpus == 0)
		m.domain_gpus = m.gpus_per_node;
	if (m.domain_gpus == 1) { /* what was said about the link of a PCIe card is about PCIe */
		m.node_Bps = given_or(m.link_Bps, m.node_Bps);
		m.node_latency_s = given_or(m.link_latency_s, m.node_latency_s);
		if (m.link_traffic.n > 0)
			m.node_traffic = m.link_traffic;
	}
	if (check_given(diags, loc, &m) < 0 || check_sizes(diags, loc, &m) < 0)
		return NULL;
	cluster->name = m.name ? m.name : m.gpu.name;
	cluster->gpus_per_node = m.gpus_per_node;
	cluster->nics_per_node = m.nics_per_node;
	cluster->nic_bits = m.nic_bits;
	cluster->gpu = m.gpu;
	cluster->host = m.host;
	cluster->reserve_bytes = m.reserve_bytes;
	for (int i = 0; i < HIDDEN_TRAFFICS; i++)
		cluster->hidden[i] = -1;
	add_levels(cluster, &m);
	cluster_set_nodes(cluster, m.nodes);
	return cluster;
}

void
cluster_set_nodes(struct cluster *cluster, int64_t nodes)
{
	cluster->nodes = nodes;
	cluster->world = nodes * cluster->gpus_per_node;
	cluster->levels[0].gpus = smaller(cluster->domain_gpus, cluster->world);
	cluster->levels[cluster->n_levels - 1].gpus = cluster->world;
}
