/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_MODEL_FACTS_H
#define MOEPLAN_MODEL_FACTS_H

#include "cmd/cmd.h"
#include "planner/params.h"

/* What `moeplan model` tells, computed once for text and JSON. */
struct model_facts {
	const struct model *model;
	bool counted; /* params and extras hold */
	struct params params;
	bool has_flops; /* counted, modelled and a sequence length is known */
	int64_t seq_len;
	struct flops flops, flops_with_mtp;
};

#endif
