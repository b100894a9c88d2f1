/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_PLACE_ARGS_H
#define MOEPLAN_PLACE_ARGS_H

#include <stdint.h>

/* What the placement is written as; none: the report. */
enum place_form { FORM_REPORT, FORM_CSV, FORM_EPLB, FORM_RANKS, FORM_PERMUTATION, FORMS };

/* Options of `moeplan place` that no other command has. 0: not given. */
struct place_args {
	int64_t gpus, nodes, slots_per_gpu, redundant, groups;
	int64_t seed;
	int goal;	       /* 0 auto, else enum placement_goal + 1 */
	int form;	       /* enum place_form */
	const char *from;      /* file of the placement in use */
	const char *load_skew; /* loads to make up */
	const char *speed;     /* "1,1,0.9,…" */
	double move_cost;
	double time_limit_s;
};

#endif
