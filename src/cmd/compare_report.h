/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_COMPARE_REPORT_H
#define MOEPLAN_COMPARE_REPORT_H

#include "cmd/cmd.h"

enum compare_unit { COMPARE_SECONDS, COMPARE_BYTES, COMPARE_TFLOPS };

/* One number of a plan beside the measured one. */
enum { COMPARE_ROWS = 64 };
struct compare_row {
	const char *name;
	enum compare_unit unit;
	double predicted, measured; /* measured < 0: not measured */
	bool counts;		    /* for the verdict */
};
struct comparison {
	const char *measured_by; /* "moeplan-probe", "Megatron-LM", "torch.profiler" */
	double tolerance;	 /* a fraction */
	int n;
	struct compare_row rows[COMPARE_ROWS];
	int judged; /* rows that count; without any there is no verdict */
	bool holds; /* some count, and none of them is off by more than the tolerance */
};

/* The row is judged and off by more than the tolerance. */
bool compare_outside(const struct comparison *comparison, const struct compare_row *row);
void json_comparison(struct request *request, const struct comparison *comparison);
void text_comparison(struct request *request, const struct comparison *comparison);

#endif
