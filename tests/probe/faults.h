/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_TEST_FAULTS_H
#define MOEPLAN_TEST_FAULTS_H

#include "probe/probe.h"

/* What the faults are tried on: one of these is linked with faults.c. */
struct fault_bench {
	double timeout_s;
	int (*prepare)(int world); /* before ranks are forked */
	void (*enter)(int rank);   /* in each of them */
	const struct backend_ops *(*ops)(void);
	void (*corrupt)(void); /* from now on this rank receives wrong numbers; NULL: cannot */
};
extern const struct fault_bench fault_bench;

#endif
