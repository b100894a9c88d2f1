/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_MEASURED_RUN_H
#define MOEPLAN_MEASURED_RUN_H

#include "cmd/cmd.h"
#include "planner/estimate.h"

/* A measured step beside what is predicted for it without any measured run. */
struct measured_step {
	const struct model *model;
	struct strategy strategy;    /* derived, free of violations */
	const struct layout *layout; /* NULL: even */
	double step_s;
	double allocated_bytes, reserved_bytes; /* of the allocator, from a log; 0: not known */
	double exposed_s; /* communication that nothing hid, from a trace; 0: not known */
	struct estimate predicted;
};

/* What a file that was measured is, by its first bytes; -1 after an error. */
enum measured_kind { MEASURED_TEXT, MEASURED_DOCUMENT, MEASURED_TRACE };
int measured_kind_of(struct request *request, const char *path);

/* Predicts the step and adds it to the runs of the cluster; -1 after adding errors. */
int measured_step_add(struct request *request, struct measured_step *step);
/*
 * --measured-step: of the strategy of `estimate`, or of the one that --measured-on names for
 * `plan`. Nothing without the option; -1 after adding errors.
 */
int measured_option_add(struct request *request);

#endif
