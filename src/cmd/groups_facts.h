/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_GROUPS_FACTS_H
#define MOEPLAN_GROUPS_FACTS_H

#include "cmd/cmd.h"
#include "model/groups.h"

/* What `moeplan groups` tells, computed once for text and JSON. */
struct groups_facts {
	const struct strategy *strategy;
	const struct cluster *cluster; /* the user's, or nodes of --gpus-per-node GPUs */
	bool assumed_nodes;	       /* GPUs a node were not given */
	const struct group_table *table;
	struct group_span *spans; /* of each kind: its widest group */
};

void json_groups(struct request *request, const struct groups_facts *facts);
void text_groups(struct request *request, const struct groups_facts *facts);

#endif
