/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_BENCH_JSON_H
#define MOEPLAN_BENCH_JSON_H

#include "figures.h"

/* Appends the whole replay as one JSON document. */
void json_report(struct bench *bench);

#endif
