/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_BENCH_BANDS_H
#define MOEPLAN_BENCH_BANDS_H

#include "bench.h"
#include "planner/band.h"

/* What the replayed runs say about one class. */
struct learned {
	size_t count;      /* runs in the class */
	double low, high;  /* of measured / predicted */
	double level;      /* share of runs below `low` and above `high`, before drawing together */
	size_t inside;     /* runs inside a band learned without any run of their model */
	double width;      /* high - low */
};

enum { BAND_ENOUGH_RUNS = 20 }; /* from here on coverage says something */

void bands_learn_steps(const struct bench *bench, struct learned out[STEP_CLASSES]);
void bands_learn_memory(const struct bench *bench, struct learned out[MEMORY_CLASSES]);

/* Difference of two predicted steps of one job from which on four of five orders are right. */
double bands_tell_apart(struct bench *bench);

/* Appends the tables of planner/band.c as C; the report of widths and coverage. */
void bands_source(struct bench *bench);
void bands_report(struct bench *bench);

#endif
