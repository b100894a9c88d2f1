/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_STEP_H
#define MOEPLAN_STEP_H

#include "probe/stage.h"

/* What the comparison wants to see, on the host; NULL: nothing. */
struct capture {
	float *outputs,
	    *input_gradients; /* [micro-batch][T * h]: last layer's output, dx of the first */
	float *losses;	      /* [module][micro-batch][M] */
};

/*
 * One training step: all passes in the plan's order, gradients summed, weights updated.
 * `number` is 1 for the first. -1 once failed.
 */
int step_run(struct stage *stage, int number, const struct capture *capture);

#endif
