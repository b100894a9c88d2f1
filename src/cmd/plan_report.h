/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_PLAN_REPORT_H
#define MOEPLAN_PLAN_REPORT_H

#include "cmd/cmd.h"
#include "planner/search.h"

void json_plan(struct request *request, const struct plan *plan);
void text_plan(struct request *request, const struct plan *plan);
/* Plans, from the best one on, so near it that their order is not to be trusted. */
int not_told_apart(const struct plan *plan);
/* text_next.c: the command line that looks closer at the winner. */
void text_next(struct request *request, const struct estimate *best);
/* text_best.c: the best N in one table. */
void text_best(struct request *request, const struct plan *plan);

#endif
