/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What could uneven dispatch still gain? With the copies where they are, an expert's
 * tokens may be split over them at will:
 *     min T  with  sum over copies of y = w_e,  sum over slots of a GPU of y <= T, y >= 0
 * an LP. Even split is what placements are told by; this is the least that weights could
 * reach (the idea of deepseek-ai/LPLB, offline).
 */
#include <math.h>

#include "base/arena.h"
#include "planner/milp.h"
#include "planner/placement_private.h"

enum { MAX_SLOTS = 2000 };

static struct milp *
split_model(struct arena *arena, const struct layer_problem *p, const int *expert_of_slot)
{
	struct milp *milp = milp_new(arena, "split");
	int t = milp_column(milp, "T", MILP_CONTINUOUS, 0, INFINITY, 1);

	for (int e = 0; e < p->experts; e++) {
		double part = p->total[e] / p->mean_time;

		milp_row(milp, arena_printf(arena, "r%d", e), part, part);
	}
	for (int g = 0; g < p->gpus; g++)
		milp_entry(
		    milp, milp_row(milp, arena_printf(arena, "g%d", g), -INFINITY, 0), t, -1);
	for (int s = 0; s < p->gpus * p->slots; s++) {
		int g = s / p->slots;
		int y = milp_column(
		    milp, arena_printf(arena, "y%d", s), MILP_CONTINUOUS, 0, INFINITY, 0);

		milp_entry(milp, expert_of_slot[s], y, 1);
		milp_entry(milp, p->experts + g, y, p->slow ? p->slow[g] : 1);
	}
	return milp;
}

double
split_bound(struct arena *scratch, const struct layer_problem *p, const int *expert_of_slot)
{
	struct arena_mark mark = arena_mark(scratch);
	struct milp_options options = {0};
	struct milp_result result = {.status = MILP_UNKNOWN};
	struct milp *milp;

	if (p->vectors == 1 && p->gpus * p->slots <= MAX_SLOTS) {
		milp = split_model(scratch, p, expert_of_slot);
		result = milp_solve(scratch, milp, &options);
		milp_release(milp);
	}
	arena_reset(scratch, mark);
	return result.status == MILP_OPTIMAL ? result.objective : 0;
}
