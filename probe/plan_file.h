/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_PLAN_FILE_H
#define MOEPLAN_PLAN_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "base/diag.h"
#include "model/layout.h"
#include "model/model.h"
#include "model/strategy.h"

struct arena;
struct doc;

/* A number of the plan under the name that the plan gives it. */
struct named {
	const char *name;
	double value;
};
struct named_list {
	int n;
	struct named *items;
};
double named_get(const struct named_list *list, const char *name, double missing);

struct plan_level {
	const char *name;
	int64_t gpus;
	double Bps, latency_s;
};

/* What `moeplan plan --format json` wrote: the best strategy and what was predicted for it. */
struct probe_plan {
	const char *file;
	char sha256[65];
	struct model *model;
	struct strategy strategy; /* derived */
	struct layout layout;
	const char *layout_text;
	int64_t nodes, gpus_per_node;
	const char *cluster_name, *gpu_name;
	int n_levels;
	struct plan_level *levels;
	double step_s;
	struct named_list exposed_s, hidden_s; /* by part, of a step */
	double capacity_bytes;
	int n_stages;
	struct named_list *memory; /* by stage, bytes by part */
	double *total_bytes;	   /* by stage */
};

/* NULL after adding errors. */
struct probe_plan *plan_read(struct arena *arena, struct diags *diags, const char *path);

/*
 * Whether the probe can run it: attention that has a stand-in, and the like. -1 after errors that
 * name what it cannot.
 */
int plan_runnable(const struct probe_plan *plan, struct diags *diags);
/* Notes of what is run as something simpler. */
void plan_notes(const struct probe_plan *plan, struct diags *diags);
/* Whether a backend whose times count can run its precision; -1 after an error. */
int plan_timed(const struct probe_plan *plan, struct diags *diags);

#endif
