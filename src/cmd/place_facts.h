/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_PLACE_FACTS_H
#define MOEPLAN_PLACE_FACTS_H

#include "cmd/cmd.h"
#include "model/loads_map.h"
#include "planner/estimate.h"
#include "planner/placement.h"

/* Seconds of a step of one strategy when all layers are placed one way; 0: not known. */
struct place_worth {
	bool known;
	struct strategy strategy;
	double step_s; /* with the answer */
	double from_s; /* with the placement in use, or contiguous */
	double baseline_s[BASELINES];
	double expert_bytes; /* weights of one expert of one layer, bf16; 0: no model */
};

/* What `moeplan place` tells, computed once for text and JSON. */
struct place_facts {
	const struct loads *loads;
	struct placement_options options;
	const struct placement *placement;
	struct place_worth worth;
	bool mixed_domains; /* domains that are not the nodes: summed */
	bool even_nodes;    /* several nodes, and nothing says which tokens are where */
};

/* place_inputs.c: loads, machine and options; STATUS_YES when all is there. */
enum status place_inputs(struct request *request, struct place_facts *facts);

/* place_worth.c: what placements are weighed by, from a model on a cluster, before … */
enum status place_price(struct request *request, struct place_facts *facts);
/* … and what they are worth, after. */
void place_worth(struct request *request, struct place_facts *facts);

void text_place(struct request *request, const struct place_facts *facts);
void json_place(struct request *request, const struct place_facts *facts);
/* place_forms.c: the placement alone, in a form that something reads. */
void place_write_form(struct request *request, const struct place_facts *facts);

#endif
