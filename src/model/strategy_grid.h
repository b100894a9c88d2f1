/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_STRATEGY_GRID_H
#define MOEPLAN_STRATEGY_GRID_H

#include <stdint.h>

#include "model/strategy.h"

/* What strategy.c, strategy_fields.c and strategy_rules.c share; not for others. */

extern const char *const overlap_names[]; /* by bit of enum overlap */

/* An error for a value that a FIELD_CUSTOM reader does not take; -1. */
int refuse_value(const struct field *field, const struct doc *value, struct field_context *context,
    const char *allowed);
/* "full:2" and the like, as --recompute takes it; false when it is none of them. */
bool parse_recompute(const char *text, struct recompute *recompute);

/* Options are bounded by 2^20 each, products of five of them are not: saturates instead. */
enum { GRID_MAX_DEGREE = 1 << 20 };
static inline int64_t
grid_product(int64_t a, int64_t b)
{
	return b > 0 && a > INT64_MAX / b ? INT64_MAX : a * b;
}

/* Ranks of one dense copy (TP*CP*GTP*PP) and of one copy of the experts (ETP*EP*EGTP*PP). */
int64_t dense_copy(const struct strategy *strategy);
int64_t expert_copy(const struct strategy *strategy);

/* torchtitan up to 0.2, which still has an expert tensor-parallel degree. */
bool strategy_is_old_torchtitan(const struct strategy *strategy);

#endif
