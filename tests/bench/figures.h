/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_BENCH_FIGURES_H
#define MOEPLAN_BENCH_FIGURES_H

#include "report.h"

/* The figures by which the model is judged: fractions, not percent. */
struct figures {
	struct summary peak, rival_peak;         /* one node, exact configurations */
	struct summary activation, rival_activation;
	struct verdict_count verdicts;
	struct summary shipped, cross;           /* step time */
	struct after_run one_run, all_runs;
	struct ranks ranks, close_calls;
	double coverage_least, coverage_most;    /* of classes with enough runs */
	double coverage_all;                     /* of all steps */
	double tell_apart;
};

struct figures figures_of(struct bench *bench);
/* Appends them as the first table of the report. */
void figures_report(struct bench *bench, const struct figures *figures);

#endif
