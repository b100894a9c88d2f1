/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_CONTEXT_MACHINE_H
#define MOEPLAN_CONTEXT_MACHINE_H

#include "check/context.h"

/* Words about the machine, the launch and the estimate: rows of the table in context_terms.c. */
#define MACHINE_TERM(name) struct value name##_term(const struct facts *facts)

MACHINE_TERM(nodes);
MACHINE_TERM(gpus_per_node);
MACHINE_TERM(cluster_world);
MACHINE_TERM(domain_gpus);
MACHINE_TERM(gpu_bytes);
MACHINE_TERM(gpu_arch);
MACHINE_TERM(launcher);
MACHINE_TERM(foreign);
MACHINE_TERM(foreign_schedule);
MACHINE_TERM(trains);
MACHINE_TERM(launch_open);
MACHINE_TERM(launch_nodes);
MACHINE_TERM(launch_procs);
MACHINE_TERM(env_world);
MACHINE_TERM(env_rank);
MACHINE_TERM(env_local_rank);
MACHINE_TERM(master_addr);
MACHINE_TERM(master_port);
MACHINE_TERM(slots);
MACHINE_TERM(verdict);
MACHINE_TERM(runtime_bytes);
MACHINE_TERM(skewed_load);
MACHINE_TERM(skewed_verdict);
MACHINE_TERM(worst_bytes);
MACHINE_TERM(worst_low_bytes);
MACHINE_TERM(worst_high_bytes);
MACHINE_TERM(skewed_bytes);
MACHINE_TERM(capacity_bytes);
MACHINE_TERM(worst_stage);

/* Megatron-LM's programs and those of forks are called so; others add files and defaults. */
bool program_pretrains(const char *program);

#endif
