/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_BENCH_RUNS_H
#define MOEPLAN_BENCH_RUNS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/diag.h"

struct arena;

/*
 * A published run: one row of runs.csv. What would be typed stays text ("" when
 * the source is silent); what was measured is a number, 0 when it was not.
 */
struct run {
	const char *id, *set, *source;
	const char *model, *overrides, *gpu, *cluster;
	const char *gpus, *seq, *gbs, *mbs;
	const char *tp, *pp, *vpp, *cp, *ep, *etp;
	const char *zero, *precision, *recompute, *dispatcher, *capacity, *loss;
	const char *grad_type, *moment_type, *cuda_graphs, *overlap, *options;
	const char *flops, *mem_kind, *class, *complete, *unstated, *aside, *group, *note;
	double step_s, tokens_per_s_per_gpu, tflops, mem_gib, oom;
	double sim_step_s, sim_mem_gib;
	struct loc loc;
};

/*
 * Reads CSV text (RFC 4180 quoting, a header that names every column once).
 * NULL after adding errors; *count rows on the arena otherwise.
 */
struct run *runs_parse(
    struct arena *arena, struct diags *diags, const char *path, char *text, size_t *count);
/* The words of `list` that blanks separate, one at a time: returns the next or NULL. */
const char *next_item(struct arena *arena, const char **list);

#endif
