/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_TRACE_PRIVATE_H
#define MOEPLAN_TRACE_PRIVATE_H

#include "model/trace.h"

/* Between trace.c, which reads, and trace_sum.c, which adds up. */
struct interval {
	double start, end; /* seconds */
	enum trace_class class;
};
struct trace_events {
	struct interval *kernels, *steps; /* of one GPU, in any order; steps as marked */
	size_t n_kernels;
	int n_steps;
};

/* There is at least one kernel; sorts both lists. */
void trace_sum(struct trace_events *events, struct trace_facts *facts);

#endif
