/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_BENCH_REPORT_H
#define MOEPLAN_BENCH_REPORT_H

#include "bands.h"
#include "errors.h"

/* The parts of the report, each appended to bench->out. */
void outcome_summary(struct bench *bench);
void account_table(struct bench *bench);
void rows_table(struct bench *bench);
void time_tables(struct bench *bench);
void counter_table(struct bench *bench);
void memory_tables(struct bench *bench);
void verdict_summary(struct bench *bench);
void unstated_table(struct bench *bench);

/* Rows that should have been predicted and were not. */
int bad_outcomes(const struct bench *bench);
/* What became of a row, in words that are equal for rows of the same fate. */
const char *fate(struct arena *arena, const struct rerun *r);

/* Layouts that ran, each once, and rows that ran out of memory. */
struct verdict_count {
	int ran, ran_oom, ran_at_risk;
	int out, out_caught, out_complete, out_complete_caught;
};
struct verdict_count count_verdicts(const struct bench *bench);

#endif
