/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_PARAMS_H
#define MOEPLAN_PARAMS_H

#include <stdint.h>

#include "planner/tensors.h"

/* Parameters of a model, exact to the last digit. Sums over the tensor table. */
struct params {
	int64_t total;                          /* main model: no MTP, no stored extras */
	int64_t components[COMPONENTS];         /* of the total */
	int64_t active;                         /* a token's: top-k of the routed experts */
	/* … without the input embedding (tied: kept as head) */
	int64_t active_without_embedding;
	int64_t active_without_embedding_and_head;
	int64_t mtp;                            /* all MTP layers, their experts whole */
	/*
	 * Stored in published checkpoints and not in `total` or `mtp`, by name: mtp_unlisted,
	 * mtp_duplicates, fp8_scales, hash_tables, vision_tower … One is the other way round:
	 * router_bias is in `total` and missing from the published count.
	 */
	int n_extras;
	struct model_extra extras[MODEL_MAX_EXTRAS];
};
void params_count(const struct model *model, struct params *params);

/*
 * FLOPs a token, forward, causal half: 2 an active matmul weight + attention
 * 2*heads*(qk_dim + v_dim)*context with context the mean number of keys a query
 * sees (window and chunk honoured), head included, embedding look-up not.
 * training = 3 * forward; MTP layers and their extra head included when `mtp`.
 */
struct flops {
	double forward, training;
};
struct flops flops_per_token(const struct model *model, int64_t seq_len, bool mtp);
/* Mean keys seen by a query at this sequence length: (s+1)/2 full; fewer with a window. */
double attention_context(const struct mixer *mixer, int64_t seq_len);

#endif
