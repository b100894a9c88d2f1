/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_BENCH_ERRORS_H
#define MOEPLAN_BENCH_ERRORS_H

#include "bench.h"

/* Is a run compared in this? */
typedef bool keep_fn(const struct rerun *r);
keep_fn has_cross, is_moe, is_moe_nodes, is_moe_beyond, is_complete, is_pipelined, has_counter,
    has_memory, counts_memory, has_rival_memory, has_rival_time;

/* predicted / measured - 1 of a run, by us or by SimuMax ("rival"). */
typedef double value_fn(const struct rerun *r);
value_fn cross_error, step_error, closed_error, counter_error, memory_error, rival_memory_error,
    activation_error, rival_activation_error, rival_step_error;

/* Adds the errors of all runs that are compared. */
void collect(struct bench *bench, struct errors *errors, keep_fn *keep, value_fn *value);

#endif
