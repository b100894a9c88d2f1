/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_MEASURE_PRIVATE_H
#define MOEPLAN_MEASURE_PRIVATE_H

/* What measure_parts.c (collectives, overlap) and measure_compute.c (products, copies) share. */
#include "probe/measure.h"

enum { REPEATS = 20, REPEATS_HOST = 3, WARM = 5 };

struct bench {
	struct session *s;
	struct measured *m;
	void *a, *b, *overlap, *tiny;
	size_t bytes;
	int repeats, warm;
	int64_t *counts;
};

/* The products of all experts, or one. */
struct products {
	struct gemm *gemms;
	int n;
	enum grouped_engine engine;
};

int bench_compute(struct bench *b, const struct dims *d);
/* `groups` products of m x n x k on the bench's memory; false when they do not fit. */
bool fill_products(
    struct bench *b, struct products *p, int64_t groups, int64_t m, int64_t n, int64_t k);
/* A work_fn; context is struct products. */
int run_products(struct bench *b, void *context);
int compare_seconds(const void *a, const void *b);

#endif
