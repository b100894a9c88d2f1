/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_PLACEMENT_BOUND_H
#define MOEPLAN_PLACEMENT_BOUND_H

#include <stdbool.h>
#include <stdint.h>

#include "planner/placement_pack.h"

/*
 * Private to placement*.c: what the fullest of `bins` bins must hold at least
 * when each takes `slots` items. No placement can be better.
 */
struct bound_problem {
	int experts, bins, slots; /* slots * bins >= experts; what is more are copies */
	int vectors;
	const double *weight; /* [expert][vector] */
	const double *slow;   /* [bin] or NULL */
};

/* In closed form: O(experts log experts + bins^2). */
double bound_closed(struct arena *scratch, const struct bound_problem *problem);

/*
 * One vector, no copies, bins alike: raises `low`, a bound already proved, towards `high`, a
 * value that was reached, by linear programmes over sets of `slots` experts. For
 * few slots only (bound_sets_apply). Returns the new bound; `high` itself means proved
 * optimal. Without `bisect` it is that or `low`.
 */
bool bound_sets_apply(const struct bound_problem *problem);
double bound_sets(struct arena *scratch, const struct bound_problem *problem, double low,
    double high, bool bisect);

/*
 * The same question as an integer programme for GLPK: is there a placement with
 * a fullest bin in [low, high)? Returns true when there is none. `found`, room for
 * one packing, gets a better one when GLPK meets it.
 */
enum prove { PROVE_NONE, PROVE_FOUND, PROVE_UNDECIDED };
enum prove bound_prove(struct arena *scratch, const struct bound_problem *problem, double low,
    double high, int iteration_limit, struct pack *found);

/* Whole numbers, as counts are: then a bound may be rounded up. */
bool weights_are_whole(const double *weight, int count);

#endif
