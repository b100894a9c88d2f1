/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_JSON_ESTIMATE_H
#define MOEPLAN_JSON_ESTIMATE_H

#include "cmd/json_common.h"
#include "planner/unstated.h"

/* The document of `moeplan estimate`; without an estimate the strategy is invalid. */
void json_estimate(struct request *request, const struct strategy *strategy,
    const struct estimate *estimate, const struct unstated *unstated);

/* --measured-step, and what is predicted for what it was measured on; nothing without. */
void json_measured_step(struct jsonw *w, const struct request *request);

#endif
