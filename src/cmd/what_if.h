/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_WHAT_IF_H
#define MOEPLAN_WHAT_IF_H

#include "cmd/cmd.h"
#include "planner/estimate.h"

/* A single change of a strategy that somebody might try. */
enum aim { AIM_MEMORY, AIM_TIME };
struct change {
	const char *name; /* "twice the EP" */
	enum aim aim;
	/* False when it does not apply. */
	bool (*apply)(struct strategy *strategy);
};
extern const struct change changes[]; /* ends with a NULL name */

/* The changed strategy, derived; false when the change does not apply. */
bool change_apply(const struct change *change, const struct model *model,
    const struct strategy *from, struct strategy *to);
/* What differs, as options: "--ep 16", "--tp 2 --etp 2". */
const char *change_text(struct arena *arena, const struct strategy *s, const struct strategy *from);

/*
 * The exact estimate of a derived strategy, stages included; false when it breaks a rule or
 * does not go onto the cluster.
 */
bool what_if(struct request *request, const struct model *model, const struct cluster *cluster,
    const struct strategy *strategy, struct estimate *estimate);

#endif
