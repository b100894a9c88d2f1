/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_TEXT_ESTIMATE_H
#define MOEPLAN_TEXT_ESTIMATE_H

#include "cmd/text_common.h"
#include "planner/unstated.h"

/* Degrees, batch, length, precision: two lines. */
void text_strategy(struct request *request, const struct strategy *strategy);
void text_estimate(struct request *request, const struct estimate *estimate,
    const struct unstated *unstated);
/* text_assumed.c: what was assumed for want of a word, and what other settings would make of it. */
void text_unstated(struct request *request, const struct strategy *strategy,
    const struct unstated *unstated);
/* When the GPUs wait for the host: how much, and what would help; else NULL. */
const char *host_bound_text(struct request *request, const struct estimate *estimate);
/* A strategy that breaks rules: what was asked; the rules are in the messages. */
void text_invalid(struct request *request, const struct strategy *strategy);
/* text_origins.c, for --verbose: settings with their defaults, and where numbers are from. */
void text_origins(struct request *request, const struct strategy *strategy);

#endif
