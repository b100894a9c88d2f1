/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_MEASURE_PRIVATE_H
#define MOEPLAN_MEASURE_PRIVATE_H

/*
 * What measure.c (steps) and measure_overlap.c (steps with traffic in line) share, and
 * measure_parts.c (collectives, overlap) and measure_compute.c (products, copies).
 */
#include "probe/measure.h"

/* Of each rank: the step, its lower and upper quartile, parts, stalls. */
enum {
	VALUE_STEP,
	VALUE_LOW,
	VALUE_HIGH,
	VALUE_PARTS,
	VALUE_STALLS = VALUE_PARTS + 2 * PARTS,
	VALUES = VALUE_STALLS + 2 * PARTS
};
struct timed {
	struct spread step_s, low_s, high_s; /* over ranks */
	struct spread parts[PARTS][2], stalls[PARTS][2];
};
int time_steps(struct stage *stage, int64_t steps, struct timed *timed);
/* With each planned overlap off in its turn, before the step as planned; and what that makes. */
int overlap_apart(struct stage *stage, int64_t steps, struct measured *m, struct timed *apart);
void overlap_judge(const struct timed *apart, const struct timed *planned, struct measured *m);

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
