/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_PROBE_OPTIONS_H
#define MOEPLAN_PROBE_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/field.h"

/* What moeplan-probe takes; `moeplan probe` hands it on. */
enum { BACKEND_AUTO, BACKEND_CUDA, BACKEND_CPU };
extern const char *const probe_backends[];

struct probe_options {
	int backend;	  /* BACKEND_AUTO … */
	int64_t steps;	  /* 0: the backend's default */
	double tolerance; /* percent */
	double timeout_s;
	const char *load_skew, *placement, *master;
	int format; /* 0 text, 1 JSON */
	const char *output;
	bool quiet, help, version;
};
void probe_options_init(struct probe_options *options);
/* All but what concerns output. */
extern const struct field probe_fields[];

#endif
