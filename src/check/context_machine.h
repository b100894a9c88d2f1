/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_CONTEXT_MACHINE_H
#define MOEPLAN_CONTEXT_MACHINE_H

#include "check/context.h"

/* A size that is 0 where nothing tells it. */
static inline struct value
size_value(int64_t size)
{
	return size > 0 ? value_int(size) : value_undecided;
}

/* Words about the machine, the launch, the model and the estimate: rows of the table in
 * context_terms.c. */
#define MACHINE_TERM(name) struct value name##_term(const struct facts *facts)

MACHINE_TERM(nodes);
MACHINE_TERM(gpus_per_node);
MACHINE_TERM(cluster_world);
MACHINE_TERM(domain_gpus);
MACHINE_TERM(gpu_bytes);
MACHINE_TERM(gpu_arch);
MACHINE_TERM(foreign);
MACHINE_TERM(foreign_schedule);
MACHINE_TERM(trains);
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

/* context_launch.c */
MACHINE_TERM(launcher);
MACHINE_TERM(outer);
MACHINE_TERM(agents);
MACHINE_TERM(agents_per_node);
MACHINE_TERM(job_nodes);
MACHINE_TERM(launch_gpus);
MACHINE_TERM(launch_open);
MACHINE_TERM(launch_read);
MACHINE_TERM(scripted);
MACHINE_TERM(launch_nodes);
MACHINE_TERM(launch_procs);
MACHINE_TERM(env_world);
MACHINE_TERM(env_rank);
MACHINE_TERM(env_local_rank);
MACHINE_TERM(master_addr);
MACHINE_TERM(master_port);
MACHINE_TERM(slots);

/* context_model.c */
MACHINE_TERM(experts);
MACHINE_TERM(topk);
MACHINE_TERM(expert_width);
MACHINE_TERM(shared_width);
MACHINE_TERM(model_experts);
MACHINE_TERM(layers);
MACHINE_TERM(hidden);
MACHINE_TERM(vocab);
MACHINE_TERM(max_positions);
MACHINE_TERM(mtp_layers);
MACHINE_TERM(ffn_width);
MACHINE_TERM(heads);
MACHINE_TERM(kv_heads);
MACHINE_TERM(tied);

/* Megatron-LM's programs and those of forks are called so; others add files and defaults. */
bool program_pretrains(const char *program);

#endif
