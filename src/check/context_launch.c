/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What do conditions call what is known of who starts the ranks? */
#include <string.h>

#include "check/context_machine.h"

struct value
launcher_term(const struct facts *facts)
{
	const char *launcher = facts->check->config->launch.launcher;

	return launcher ? value_text(launcher) : value_unset;
}

struct value
launch_open_term(const struct facts *facts)
{
	return value_int(facts->check->config->launch.open);
}

struct value
launch_read_term(const struct facts *facts)
{
	return value_int(facts->check->config->launch.loc.file != NULL);
}

struct value
scripted_term(const struct facts *facts)
{
	return value_int(facts->check->config->launch.scripted);
}

struct value
launch_nodes_term(const struct facts *facts)
{
	return size_value(facts->check->config->launch.nodes);
}

/* Numbers of a case may tell the tasks that srun starts on a node. */
struct value
launch_procs_term(const struct facts *facts)
{
	const struct launch *launch = &facts->check->config->launch;
	const struct setting *tasks = setting_find(facts->check->config, "ntasks_per_node");

	if (launch->processes_per_node == 0 && launch->launcher && tasks &&
	    tasks->value->is_integer && strcmp(launch->launcher, "srun") == 0)
		return size_value(tasks->value->integer);
	return size_value(launch->processes_per_node);
}

struct value
env_world_term(const struct facts *facts)
{
	int64_t world = facts->check->config->launch.world_size;

	return world > 0 ? value_int(world) : value_unset;
}

struct value
env_rank_term(const struct facts *facts)
{
	int64_t rank = facts->check->config->launch.rank;

	return rank >= 0 ? value_int(rank) : value_unset;
}

struct value
env_local_rank_term(const struct facts *facts)
{
	int64_t rank = facts->check->config->launch.local_rank;

	return rank >= 0 ? value_int(rank) : value_unset;
}

struct value
master_addr_term(const struct facts *facts)
{
	const char *address = facts->check->config->launch.master_addr;

	return address ? value_text(address) : value_unset;
}

struct value
master_port_term(const struct facts *facts)
{
	int64_t port = facts->check->config->launch.master_port;

	return port > 0 ? value_int(port) : value_unset;
}

struct value
slots_term(const struct facts *facts)
{
	const struct doc *hostfile = facts->check->config->launch.hostfile;

	return hostfile ? value_of_doc(facts->arena, hostfile) : value_unset;
}

struct value
outer_term(const struct facts *facts)
{
	const char *outer = facts->check->config->launch.outer;

	return outer ? value_text(outer) : value_unset;
}

struct value
agents_term(const struct facts *facts)
{
	return size_value(facts->check->config->launch.agents);
}

struct value
agents_per_node_term(const struct facts *facts)
{
	return size_value(facts->check->config->launch.agents_per_node);
}

struct value
job_nodes_term(const struct facts *facts)
{
	return size_value(facts->check->config->launch.job_nodes);
}

struct value
launch_gpus_term(const struct facts *facts)
{
	return size_value(facts->check->config->launch.gpus_per_node);
}
