/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_TEST_FIXTURE_H
#define MOEPLAN_TEST_FIXTURE_H

#include "base/arena.h"
#include "base/doc.h"
#include "planner/estimate.h"

/* What a planner test needs: one public model on one machine, and a job to vary. */
struct fixture {
	struct arena *arena;
	struct diags *diags;
	struct model *model;
	struct cluster *cluster;
	struct job job;
};

/* `overrides`: YAML lines of the `model:` form after `like: NAME`, or NULL. Aborts on any error. */
struct fixture fixture_new(const char *model, const char *overrides, const char *cluster);
void fixture_free(struct fixture *fixture);

/* A strategy on all GPUs of the cluster with everything else at its default. */
struct strategy fixture_strategy(const struct fixture *fixture, int64_t tp, int64_t cp, int64_t pp,
    int64_t vpp, int64_t ep, int64_t micro_batch, int64_t global_batch, int64_t seq_len);
struct evaluator *fixture_evaluator(struct fixture *fixture, int64_t seq_len);

#endif
