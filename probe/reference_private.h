/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_REFERENCE_PRIVATE_H
#define MOEPLAN_REFERENCE_PRIVATE_H

/* What reference.c and reference_attention.c share. */

#include "probe/reference.h"

struct layer_values {
	double *x, *n1, *latent, *q, *k, *v, *o, *x1, *n2, *dense, *shared;
	double *gates;		  /* [token][top_k] */
	int32_t *picked, *chosen; /* [token][top_k]; chosen is -1 over capacity */
	double *fc1, *out;	  /* [token][top_k][2f], [token][top_k][h] */
};

struct ref {
	struct arena *arena;
	const struct shape *shape;
	const struct skew *skew;
	struct reference *r;
	bool bf16;
	int64_t tokens, h;
	int64_t seqs, seq_len;
	struct layer_values *layers;
};

/* Zeroed, on the arena. */
double *reference_numbers(struct ref *ref, int64_t n);
/* y[i] (+)= sum_j W[i][j] x[j] */
void reference_row_forward(
    const double *w, int64_t out, int64_t in, const double *x, double *y, bool add);
/* dx += W^T dy; dW += dy x^T */
void reference_row_back(const double *w, double *dw, int64_t out, int64_t in, const double *x,
    const double *dy, double *dx);

/* x1 = x + attention(n1), and the gradient of n1 from that of x1. */
void reference_attention(struct ref *ref, const struct dims *d, int64_t layer);
void reference_attention_back(
    struct ref *ref, const struct dims *d, int64_t layer, const double *dx1, double *dn1);

#endif
