/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_REFERENCE_PRIVATE_H
#define MOEPLAN_REFERENCE_PRIVATE_H

/* What reference.c, reference_attention.c, reference_ffn.c and reference_ends.c share. */

#include "probe/reference.h"

struct layer_values {
	double *x, *n1, *raw, *latent, *q_raw, *k_raw, *q, *k, *v, *gates_o, *o, *gated, *x1, *n2;
	double *dense, *shared;
	double *y1, *y2; /* what the halves gave */
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

void reference_add(double *to, const double *from, int64_t n);

void reference_norm(const double *x, const double *g, int64_t h, double *y);
/* dx += d(norm)/dx dy */
void reference_norm_back(
    const double *x, const double *g, double *dg, int64_t h, const double *dy, double *dx);

/* One layer from ref->layers[layer].x to `out`; dout becomes the gradient of its input. */
void reference_layer(struct ref *ref, int64_t layer, double *out);
void reference_layer_back(struct ref *ref, int64_t layer, double *dout);

/* Words `shift` ahead of each token; gradients are added to the table's. */
void reference_embed(struct ref *ref, int64_t shift, double *x);
void reference_embed_back(struct ref *ref, int64_t shift, const double *dx);
/* From r->outputs to all losses, MTP modules between, and the gradient of r->outputs. */
void reference_ends(struct ref *ref, double *dhidden);

/* y2 = MLPs and experts of n2; dn2 is added to. */
void reference_ffn(struct ref *ref, const struct dims *d, int64_t layer);
void reference_ffn_back(
    struct ref *ref, const struct dims *d, int64_t layer, const double *dy2, double *dn2);

/* y1 = attention(n1), and the gradient of n1 from that of y1. */
void reference_attention(struct ref *ref, const struct dims *d, int64_t layer);
void reference_attention_back(
    struct ref *ref, const struct dims *d, int64_t layer, const double *dy1, double *dn1);

#endif
