/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_PIPELINE_PRIVATE_H
#define MOEPLAN_PIPELINE_PRIVATE_H

#include "planner/pipeline_milp.h"

/* Shared by the file that builds the pipeline MILP and the one that reads its answer. */
struct pipeline_model {
	struct arena *arena;
	struct milp *milp;
	const struct stage_costs *costs;
	const struct model *model;
	struct pipeline_segment segments[PIPELINE_MAX_SEGMENTS];
	int n_segments, chunks;
	bool some_again; /* rho layers of a chunk are recomputed, not none or all */
	bool all_again;
	double unit_s, unit_bytes; /* what 1 in the MILP stands for */
	int most_layers;	   /* of a chunk */
	/* Columns: three numbers, then by segment and chunk. */
	int time, bytes, rho;
	int *count[PIPELINE_MAX_SEGMENTS]; /* n; m for a period above 1 */
	int *part[PIPELINE_MAX_SEGMENTS][PIPELINE_MAX_PERIOD];
	int *begun[PIPELINE_MAX_SEGMENTS], *again[PIPELINE_MAX_SEGMENTS],
	    *whole[PIPELINE_MAX_SEGMENTS];
	int *total[PIPELINE_MAX_SEGMENTS]; /* by segment and stage, with several chunks a stage */
	double *sums;			   /* the row that is being put together, by column */
};

#endif
