/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_REFERENCE_H
#define MOEPLAN_REFERENCE_H

#include "probe/routing.h"
#include "probe/shape.h"

/* The whole model on one rank in double: every token of the step, every weight. */
struct reference_weight {
	struct tensor tensor;
	int64_t layer;
	double *value, *gradient; /* [count][rows][cols] */
};

struct reference {
	int64_t tokens, h;
	int n;
	struct reference_weight *weights;
	double *outputs, *input_gradients; /* [token][h] */
	double *losses;			   /* [1 + MTP modules][token] */
	int64_t slots, dropped;		   /* over all layers and patterns that were used */
};

/* NULL when it would take more than `most_flops`. Deterministic and alone: no collectives. */
struct reference *reference_run(struct arena *arena, const struct shape *shape,
    const struct skew *skew, bool bf16, double most_flops);
const struct reference_weight *reference_find(
    const struct reference *reference, int64_t layer, const char *name);

#endif
