/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_LAYER_PRIVATE_H
#define MOEPLAN_LAYER_PRIVATE_H

#include "planner/evaluator.h"

/* One layer of one strategy, for layer_time.c and layer_bytes.c. */
struct layer_context {
	const struct evaluator *e;
	const struct kind_facts *facts;
	const struct strategy *s;
	const struct sizes *z;
	double h;
	double row_width;  /* of a permuted row: hidden or latent */
	double rows;       /* permuted rows on the slowest rank, ETP gather included */
	double dense_rate, grouped_rate, bandwidth;
};

bool layer_has_ffn(const struct ffn *ffn);

/* Bytes that kernels beside the products read and write in the forward pass. */
double mixer_bytes(const struct layer_context *context);
double ffn_bytes(const struct layer_context *context);
/* The same in either direction. */
double permute_bytes(const struct layer_context *context);
void cast_bytes(const struct layer_context *context, double *forward, double *backward);

#endif
