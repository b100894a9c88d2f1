/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_ATTENTION_PRIVATE_H
#define MOEPLAN_ATTENTION_PRIVATE_H

/* What attention.c and projections.c share. */
#include "probe/stage.h"

int act_clear(struct stage *stage, void *memory, int64_t elements);

/* From n1 to queries, keys, values and what gates the output. */
int project_forward(struct stage *stage, int64_t layer, const struct dims *d, struct kept *kept);
/*
 * Back from their gradients, which are in scratch or, with stage->apart, where they were. All that
 * costs no product has its gradients here, matrices have theirs in project_weights().
 */
int project_backward(
    struct stage *stage, int64_t layer, const struct dims *d, struct kept *kept, void *dn1);
/* x: what they saw, all rows of the group; n1 itself where queries have a latent. */
int project_weights(
    struct stage *stage, int64_t layer, const struct dims *d, struct kept *kept, const void *x);
/* What replayed modules do of it. */
int project_replay(struct stage *stage, int64_t layer, const struct dims *d, struct kept *kept);

#endif
