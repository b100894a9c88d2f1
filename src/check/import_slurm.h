/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_IMPORT_SLURM_H
#define MOEPLAN_IMPORT_SLURM_H

#include "check/config.h"

/* Nodes, tasks and GPUs of the step that srun starts, as the job and srun say; 0: not told. */
struct slurm_step {
	int64_t nodes, tasks, per_node;
	int64_t job_nodes;     /* of the whole job */
	int64_t gpus_per_node; /* that Slurm gives */
	int64_t gpus_per_task; /* a task sees no others */
	int64_t node_gpus;     /* of a node of the whole job, or of the step without a job */
};
struct slurm_step slurm_step(const struct config *config);
/* "gpu:h100:4": what names the GPUs that are asked for; NULL: nothing does. */
const char *slurm_gpus(const struct config *config);

#endif
