/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_LOADS_SPEC_H
#define MOEPLAN_LOADS_SPEC_H

#include "base/diag.h"

struct arena;

/* Loads that are made up: how popular experts are, and how that differs by node and over time. */
enum popularity { POPULARITY_LOGNORMAL, POPULARITY_ZIPF, POPULARITY_POWER };
struct loads_spec {
	enum popularity kind;
	double value; /* sigma of the logarithm, exponent of the rank, exponent of the density */
	int64_t experts, layers, nodes, snapshots;
	int64_t tokens; /* a layer and snapshot, all nodes together; top_k selections each */
	int64_t top_k;
	double affinity; /* sigma of a lognormal factor by node and expert */
	double drift;	 /* the same by snapshot and expert */
};

/*
 * "cv=0.4,experts=64,layers=27,nodes=4,affinity=0.5": one of balanced, cv, lognormal,
 * zipf, power, and what differs from the defaults already in `spec`. -1 after adding errors.
 */
int loads_spec_parse(struct arena *arena, struct diags *diags, struct loc loc, const char *text,
    struct loads_spec *spec);
/* One layer of 64 experts on one node, a million tokens. */
void loads_spec_init(struct loads_spec *spec);

#endif
