/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_BENCH_PICTURE_H
#define MOEPLAN_BENCH_PICTURE_H

#include "bench.h"

/* Appends an SVG: each run's predicted step over its measured one, both logarithmic. */
void picture(struct bench *bench);

#endif
