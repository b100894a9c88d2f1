/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_PROBE_RUN_H
#define MOEPLAN_PROBE_RUN_H

#include "base/str.h"
#include "model/probe_options.h"
#include "probe/identity.h"
#include "probe/measure.h"
#include "probe/numerics.h"

#define PROBE_VERSION "0.1.0"

enum probe_status {
	PROBE_YES = 0,
	PROBE_NO = 1,
	PROBE_USAGE = 2,
	PROBE_ENVIRONMENT = 3,
	PROBE_BUG = 70
};

/* One rank's run. */
struct probe_job {
	struct arena *arena;
	struct diags *diags;
	const struct probe_options *options;
	const struct probe_plan *plan;
	struct skew skew;
	struct backend backend;
	struct identity identity;
	int listener;
	void (*print)(const char *text); /* see control_options */
	struct stop_request *stop;	 /* see there; may be NULL */
	bool told;			 /* out: why it ends was told to every rank */
	/* For tests: called on every rank between the phases, may do harm. NULL in the program. */
	void (*between)(struct session *session, const char *phase);
};

/* What rank 0 has at the end. */
struct probe_result {
	struct device_facts device; /* of rank 0 */
	int hosts;
	struct numerics numerics;
	struct measured measured;
	bool holds;
};

/*
 * The whole probe on one rank. On rank 0 `out` gets the text or JSON. Once anything has failed
 * the process ends here (control_die), since other threads and libraries may be stuck. The verdict
 * is rank 0's status alone: launchers kill all ranks when one fails, rank 0 before its report.
 */
enum probe_status probe_run(struct probe_job *job, struct str *out);

/* report_json.c, report_text.c */
void report_json(const struct probe_job *job, const struct session *s,
    const struct probe_result *result, struct str *out);
void report_text(const struct probe_job *job, const struct session *s,
    const struct probe_result *result, struct str *out);

#endif
