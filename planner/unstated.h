/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_UNSTATED_H
#define MOEPLAN_UNSTATED_H

#include "planner/estimate.h"

/* Between what do step and peak lie, whatever the settings are that nobody stated? */
struct unstated {
	unsigned settings; /* enum said bits that matter to this model and strategy */
	bool assumed_fits; /* or may */
	/* Combinations that break no rule and may fit; 0: the rest is of the assumed one. */
	int combinations;
	double step_low_s, step_high_s;
	double low_bytes, high_bytes;
};

/* `strategy` is derived and free of violations; steps are in closed form. */
void evaluate_unstated(const struct evaluator *evaluator, const struct strategy *strategy,
    const struct layout *layout, struct unstated *found);

#endif
