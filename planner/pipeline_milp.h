/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_PIPELINE_MILP_H
#define MOEPLAN_PIPELINE_MILP_H

#include <stdbool.h>

#include "planner/estimate.h"
#include "planner/milp.h"

/*
 * The layer list as few segments, each a short pattern of kinds repeated: three
 * dense and 58 MoE layers are two segments of period 1, sliding and full
 * attention in turn are one of period 2.
 */
enum { PIPELINE_MAX_SEGMENTS = 4, PIPELINE_MAX_PERIOD = 8 };
struct pipeline_segment {
	int first, layers, period; /* layers is a multiple of period */
};

/* False when the list does not form so few. */
bool pipeline_segments(const struct model *model,
    struct pipeline_segment segments[PIPELINE_MAX_SEGMENTS], int *n_segments);

struct pipeline_options {
	/*
	 * Full recompute with the number of layers a chunk (one for all chunks, as
	 * frameworks have it) left to the solver; else costs->recomputed holds.
	 */
	bool free_recompute;
	int iteration_limit; /* of the simplex method: a time limit would make plans differ; 0: none
			      */
};

struct pipeline_solution {
	enum milp_status
	    status;   /* optimal, feasible (not proved), infeasible, unknown (none found) */
	bool by_glpk; /* proved by GLPK; else by the dynamic programme or not at all */
	struct layout layout;
	int recomputed; /* layers a chunk */
	double slowest_s;
};

/*
 * The layout (and recompute count) with the fastest slowest stage within the
 * capacity, by GLPK on run-length counts; for vpp 1 checked against the dynamic
 * programme. -1 after adding an internal error when the two differ or GLPK failed.
 */
int pipeline_solve(struct arena *arena, struct diags *diags, const struct stage_costs *costs,
    const struct model *model, const struct pipeline_options *options,
    struct pipeline_solution *solution);

/*
 * The layout without GLPK, for all but finalists: greedy fill or descent, for every
 * recompute count when it is free, and the dynamic programme where the fill may be
 * wrong. False when nothing fits; then the layout with the least excess.
 */
bool pipeline_quick(struct arena *scratch, const struct stage_costs *costs,
    const struct model *model, bool free_recompute, struct layout *layout, int *recomputed);

/*
 * For what the MILP cannot say, vpp > 1: a lower bound of the slowest stage from
 * GLPK on layers of each kind a stage, whatever their order. INFINITY: nothing fits.
 */
struct milp_result pipeline_bound(struct arena *arena, const struct stage_costs *costs,
    const struct model *model, const struct milp_options *options, double *slowest_s);

/*
 * The MILP alone. `most_s`: a time that is known to be reached, or INFINITY. NULL where
 * it cannot say it: no few segments; several chunks a stage, or recompute of only some
 * layers, with a period above 1; recompute of only some layers in several chunks.
 */
struct pipeline_model;
struct pipeline_model *pipeline_model_new(struct arena *arena, const struct stage_costs *costs,
    const struct model *model, const struct pipeline_options *options, double most_s);
struct milp *pipeline_model_milp(const struct pipeline_model *model);
/* Seconds of the slowest stage that an objective of the MILP stands for. */
double pipeline_model_seconds(const struct pipeline_model *model, double objective);
/* From now on the emptiest fullest stage is looked for, at a slowest stage of so many seconds. */
void pipeline_model_empty(struct pipeline_model *model, double seconds);
void pipeline_model_read(
    const struct pipeline_model *model, const double *x, struct layout *layout, int *recomputed);

/* No layout can be faster than the mean of the stages. */
double mean_stage_s(const struct stage_costs *costs, const struct model *model);

#endif
