/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_RESHARD_H
#define MOEPLAN_RESHARD_H

#include "emit/emit.h"

/*
 * What goes from which rank to which when a checkpoint of one plan is loaded by
 * another. A shard is named by the first rank that holds it; copies on other
 * data-parallel ranks are the same.
 */
struct reshard_row {
	int first_layer, last_layer;
	int64_t first_expert, last_expert; /* -1: dense weights */
	int64_t old_shard, new_shard;	   /* of ETP for experts, of TP for dense weights */
	int32_t old_rank, new_rank;
	bool moves;
};

enum reshard_load {
	RESHARD_LOADS,	  /* as it is */
	RESHARD_WITH,	  /* with what `advice` names */
	RESHARD_CONVERTS, /* after a conversion */
};
extern const char *const reshard_load_names[];

struct reshard {
	struct reshard_row *rows;
	size_t n_rows;
	/* Expert parameters that ranks of the new plan need, and that they held before. */
	double needed, held;
	enum reshard_load weights, optimizer;
	const char *weights_advice, *optimizer_advice;
};

/* NULL after adding errors: other models, or too many shards to list. */
struct reshard *reshard_plan(struct arena *arena, struct diags *diags,
    const struct plan_view *old_plan, const struct plan_view *new_plan);

#endif
