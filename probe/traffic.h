/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_TRAFFIC_H
#define MOEPLAN_TRAFFIC_H

#include "base/diag.h"
#include "model/loads.h"
#include "model/loads_map.h"
#include "model/model.h"
#include "model/strategy.h"

/*
 * How popular experts are, and where they are. Routing is drawn with a fixed seed, never taken from
 * a router.
 */
struct skew {
	enum { SKEW_UNIFORM, SKEW_BY_ZIPF, SKEW_BY_CV, SKEW_ONE, SKEW_BY_LOADS } kind;
	double value;
	const struct loads *loads;
	const struct expert_map *placement; /* NULL: by number, one slot each */
};

/*
 * "balanced", "zipf=1.0", "cv=0.4", "one" (all tokens to the first experts) or a file of loads; and
 * a file of a placement or NULL. -1 after an error.
 */
int skew_read(struct arena *arena, struct diags *diags, const char *load, const char *placement,
    struct skew *skew);
/* Whether loads and placement are of this model and strategy; -1 after an error. */
int skew_check(const struct skew *skew, const struct model *model, const struct strategy *strategy,
    struct diags *diags);
/* Files tell experts apart by number, so that their number may not be scaled down. */
bool skew_numbers_experts(const struct skew *skew);

/* Cumulative popularity of the experts of a layer; cumulative[experts - 1] is 1. */
void skew_popularity(const struct skew *skew, int64_t layer, int64_t experts, double *cumulative);
/* Which expert each slot of a layer holds; NULL: slot e holds expert e. */
const int *skew_slots(const struct expert_map *placement, int64_t layer);

#endif
