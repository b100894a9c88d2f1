/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How many ranks on how many nodes do launch line, hostfile and environment come to?
 *
 *   torchrun    world = nnodes x nproc_per_node      (one node when it is not said)
 *   deepspeed   slots of the hostfile, as num_nodes, num_gpus, include and exclude leave them
 *   srun        ntasks, or nodes x ntasks_per_node   (the header of the job counts too)
 *   mpirun      np, npernode a node
 *   accelerate  num_processes over num_machines
 *
 * WORLD_SIZE of the environment decides only where no launcher does: launchers overwrite it.
 */
#include <string.h>

#include "base/arena.h"
#include "base/units.h"
#include "check/hosts.h"
#include "check/import_private.h"
#include "check/import_slurm.h"

enum { MAX_RANKS = 1 << 20 };

static int64_t
number(const struct config *config, const char *name)
{
	int64_t value = import_integer(config, CONFIG_NUMBERS, name, 0);

	return value > 0 && value <= MAX_RANKS ? value : 0;
}

static bool
is_there(const struct config *config, const char *name)
{
	return import_find(config, CONFIG_NUMBERS, name) != NULL;
}

/* What a launcher comes to; 0 where it does not say. */
struct ranks {
	int64_t nodes, per_node, world;
};

/* "4", and "4:4" of an elastic job that is none. */
static int64_t
torchrun_nodes(const struct config *config)
{
	const char *text = import_word(config, CONFIG_NUMBERS, "nnodes");
	const char *colon = text ? strchr(text, ':') : NULL;
	int64_t most;

	if (!is_there(config, "nnodes"))
		return 1;
	if (!colon)
		return number(config, "nnodes");
	if (!units_parse_integer(colon + 1, &most) || most < 1 || most > MAX_RANKS ||
	    (size_t)(colon - text) != strlen(colon + 1) ||
	    strncmp(text, colon + 1, (size_t)(colon - text)) != 0)
		return 0;
	return most;
}

/* --nproc-per-node gpu: as many as it sees. */
static bool
is_each_gpu(const char *word)
{
	return word && (strcmp(word, "gpu") == 0 || strcmp(word, "auto") == 0);
}

static struct ranks
from_torchrun(const struct config *config)
{
	struct ranks ranks = {.nodes = torchrun_nodes(config)};

	ranks.per_node = number(config, "nproc_per_node");
	if (ranks.per_node == 0 &&
	    is_each_gpu(import_word(config, CONFIG_NUMBERS, "nproc_per_node")))
		ranks.per_node = config->launch.gpus_per_node;
	/* one torchrun a node: Slurm's nodes when the number was computed from them */
	if (ranks.nodes == 0 && !strchr(import_word(config, CONFIG_NUMBERS, "nnodes")
					    ? import_word(config, CONFIG_NUMBERS, "nnodes")
					    : "",
				    ':'))
		ranks.nodes = slurm_step(config).nodes;
	return ranks;
}

static struct ranks
from_slurm(const struct config *config)
{
	struct slurm_step step = slurm_step(config);

	return (struct ranks){step.nodes, step.per_node, step.tasks};
}

/* --map-by ppr:8:node */
static int64_t
per_resource(const struct config *config)
{
	const char *text = import_word(config, CONFIG_NUMBERS, "map_by");
	int64_t count = 0;

	if (!text || strncmp(text, "ppr:", 4) != 0 || !strstr(text, ":node"))
		return 0;
	for (text += 4; *text >= '0' && *text <= '9' && count < MAX_RANKS; text++)
		count = count * 10 + (*text - '0');
	return count <= MAX_RANKS ? count : 0;
}

static struct ranks
from_mpirun(const struct config *config)
{
	struct ranks ranks = {
	    .per_node = number(config, "npernode"), .world = number(config, "np")};

	if (ranks.per_node == 0)
		ranks.per_node = per_resource(config);
	if (ranks.per_node > 0 && ranks.world % ranks.per_node == 0)
		ranks.nodes = ranks.world / ranks.per_node;
	return ranks;
}

static struct ranks
from_accelerate(const struct config *config)
{
	struct ranks ranks = {
	    .nodes = number(config, "num_machines"), .world = number(config, "num_processes")};

	if (!is_there(config, "num_machines"))
		ranks.nodes = 1;
	if (ranks.nodes > 0 && ranks.world % ranks.nodes == 0)
		ranks.per_node = ranks.world / ranks.nodes;
	return ranks;
}

/* --- deepspeed ------------------------------------------------------------------------------ */

static struct ranks
from_hostfile(const struct config *config)
{
	struct ranks ranks = {0};

	ranks.world = hosts_ranks(config, &ranks.nodes, &ranks.per_node);
	return ranks;
}

/* --include localhost:0,1 on this machine alone; 0 when slots are not named. */
static int64_t
included_here(const struct config *config)
{
	const char *include = import_word(config, CONFIG_NUMBERS, "include");
	struct host_part part;
	int64_t slots = 0, slot;

	if (!include || !host_part_next(&include, &part) || *include)
		return 0;
	while (part.slots && host_slot_next(&part.slots, &slot))
		slots++;
	return slots;
}

/* "0,1,2,3" */
static int64_t
visible_gpus(const struct config *config)
{
	const char *list = import_word(config, CONFIG_NUMBERS, "CUDA_VISIBLE_DEVICES");
	int64_t count = list && *list && *list != '-' ? 1 : 0;

	for (; count > 0 && *list && count < MAX_RANKS; list++)
		count += *list == ',';
	return count;
}

static struct ranks
from_deepspeed(const struct config *config)
{
	struct ranks ranks = {number(config, "num_nodes"), number(config, "num_gpus"), 0};
	int64_t visible = visible_gpus(config);

	if (config->launch.hostfile)
		return from_hostfile(config);
	/* without a hostfile it is this machine alone */
	if (ranks.nodes == 0 && !is_there(config, "num_nodes") && !is_there(config, "hostfile"))
		ranks.nodes = 1;
	if (ranks.per_node == 0 && !is_there(config, "hostfile"))
		ranks.per_node = included_here(config);
	/* launcher/runner.py takes it for --include where no option says otherwise */
	if (ranks.nodes == 1 && ranks.per_node == 0 && !is_there(config, "include") &&
	    !is_there(config, "exclude") && !is_there(config, "num_gpus") &&
	    !is_there(config, "hostfile"))
		ranks.per_node = visible > 0 ? visible : config->launch.gpus_per_node;
	return ranks;
}

/* --- all ------------------------------------------------------------------------------------ */

static struct ranks
from_launcher(const struct config *config)
{
	static const struct {
		const char *name;
		struct ranks (*count)(const struct config *config);
	} launchers[] = {{"torchrun", from_torchrun}, {"deepspeed", from_deepspeed},
	    {"srun", from_slurm}, {"mpirun", from_mpirun}, {"accelerate", from_accelerate}};
	const char *name = config->launch.launcher;

	for (size_t i = 0; name && i < sizeof(launchers) / sizeof(launchers[0]); i++)
		if (strcmp(name, launchers[i].name) == 0)
			return launchers[i].count(config);
	if (config->launch.hostfile)
		return from_hostfile(config);
	return (struct ranks){.world = number(config, "WORLD_SIZE")};
}

/* Launchers under srun, and the GPUs that each launcher, or srun on each node, has. */
static void
read_slurm(struct config *config)
{
	struct slurm_step step = slurm_step(config);
	struct launch *launch = &config->launch;
	bool agents = launch->outer && strcmp(launch->outer, "srun") == 0;
	bool filters = launch->launcher && strcmp(launch->launcher, "deepspeed") == 0;
	int64_t visible = filters ? 0 : visible_gpus(config);

	launch->agents = agents ? step.tasks : 0;
	launch->agents_per_node = agents ? step.per_node : 0;
	launch->job_nodes = step.job_nodes;
	launch->gpus_per_node =
	    agents && step.gpus_per_task > 0 ? step.gpus_per_task : step.gpus_per_node;
	if (visible > 0 && (launch->gpus_per_node == 0 || visible < launch->gpus_per_node))
		launch->gpus_per_node = visible;
}

static void
read_addresses(struct config *config)
{
	static const char *const hosts[] = {"master_addr", "main_process_ip", "MASTER_ADDR", NULL};
	static const char *const ports[] = {
	    "master_port", "main_process_port", "MASTER_PORT", NULL};
	struct launch *launch = &config->launch;

	for (int i = 0; hosts[i] && !launch->master_addr; i++)
		launch->master_addr = import_word(config, CONFIG_NUMBERS, hosts[i]);
	for (int i = 0; ports[i] && launch->master_port == 0; i++)
		launch->master_port = import_integer(config, CONFIG_NUMBERS, ports[i], 0);
}

static void
read_environment(struct config *config)
{
	struct launch *launch = &config->launch;

	launch->world_size = import_integer(config, CONFIG_NUMBERS, "WORLD_SIZE", 0);
	launch->rank = import_integer(config, CONFIG_NUMBERS, "RANK", -1);
	launch->local_rank = import_integer(config, CONFIG_NUMBERS, "LOCAL_RANK", -1);
}

/* mpirun -H says what a hostfile would. */
static void
read_hosts(struct import *in)
{
	const struct launch *launch = &in->config->launch;
	const struct doc *list = import_value(in->config, CONFIG_NUMBERS, "host");

	if (list && list->text && !launch->hostfile && launch->launcher &&
	    strcmp(launch->launcher, "mpirun") == 0)
		import_host_list(in, list->text, list->loc);
}

void
import_conclude_launch(struct import *in)
{
	struct config *config = in->config;
	struct ranks ranks;
	int64_t planned = config->strategy.world;
	const struct doc *said = import_value(config, CONFIG_PLAN, "world_size");

	read_slurm(config);
	ranks = from_launcher(config);
	config->launch.nodes = ranks.nodes;
	config->launch.processes_per_node = ranks.per_node;
	config->launch.master_addr = NULL;
	config->launch.master_port = 0;
	read_addresses(config);
	read_environment(config);
	read_hosts(in);
	if (ranks.world == 0 && ranks.nodes > 0 && ranks.per_node > 0)
		ranks.world = ranks.nodes * ranks.per_node;
	if (ranks.world > MAX_RANKS)
		ranks.world = 0;
	if (planned > 0 && ranks.world > 0 && planned != ranks.world && said) {
		diag_error(in->diags, config->launch.loc,
		    "%lld ranks are started, 'world_size' is %lld in %s:%d", (long long)ranks.world,
		    (long long)planned, said->loc.file, said->loc.line);
		diag_last_hint(in->diags, "start as many ranks as were planned");
	}
	if (ranks.world > 0)
		config->strategy.world = ranks.world;
}
