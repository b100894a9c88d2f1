/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_FFN_PRIVATE_H
#define MOEPLAN_FFN_PRIVATE_H

/* What ffn.c and experts.c share. */
#include "probe/stage.h"

/* Gradients of what the experts gave and of what their activation saw, both in expert order. */
struct expert_gradients {
	void *dy, *dfc1;
};
/* They stay until the weights have had theirs, where what was returned, and that, was. */
struct expert_gradients expert_gradients(const struct stage *stage, const struct kept *kept);

/* Of kept->permuted; outputs go to scratch.united2. */
int experts_forward(struct stage *stage, int64_t layer, const struct routing *r,
    const struct dims *d, struct kept *kept);
/* The gradient of the permuted rows goes to scratch.united2; those of weights may come later. */
int experts_backward(struct stage *stage, int64_t layer, const struct routing *r,
    const struct dims *d, struct kept *kept);
int experts_weights(
    struct stage *stage, int64_t layer, const struct routing *r, struct kept *kept);

#endif
