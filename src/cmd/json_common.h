/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_JSON_COMMON_H
#define MOEPLAN_JSON_COMMON_H

#include "base/jsonw.h"
#include "cmd/cmd.h"
#include "planner/estimate.h"

/* Starts the command's document: schema and tool. */
struct jsonw json_begin(struct request *request);
/* Adds inputs and diagnostics, ends the document and makes it the request's result. */
void json_finish(struct request *request, struct jsonw *w);
/* The document of a run that never came to an answer: messages only. */
void json_failure(struct request *request);

/* NULL key inside a list. NULL text or a size of 0 that means "none" is written as null. */
void json_model_summary(struct jsonw *w, const char *key, const struct model *model);
void json_cluster_summary(struct jsonw *w, const char *key, const struct cluster *cluster);
/* A document as it was read, for whoever has to read it again. */
void json_doc(struct jsonw *w, const char *key, const struct doc *doc);
/* The machine, its measured runs and what of the job the numbers hold for: see explain_plan.c. */
void json_made_with(struct jsonw *w, struct request *request);
void json_strategy(struct jsonw *w, const char *key, const struct strategy *strategy);
/* strategy, layout, memory, time, traffic, verdict: the members of an estimate. */
void json_estimate_members(
    struct jsonw *w, const struct request *request, const struct estimate *estimate);

#endif
