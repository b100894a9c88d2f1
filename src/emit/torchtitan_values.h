/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_TORCHTITAN_VALUES_H
#define MOEPLAN_TORCHTITAN_VALUES_H

#include "emit/emit.h"
#include "emit/keys.h"

/* Before 0.3. keys_torchtitan.c */
bool torchtitan_is_old(const struct plan_view *plan);

/* Writers and readers of the pipeline's rows: torchtitan_pipeline.c */
typedef const struct doc *torchtitan_write_fn(struct arena *arena, const struct plan_view *plan);
typedef int torchtitan_read_fn(const struct key *key, const struct doc *value,
    struct strategy *strategy, struct field_context *context);
torchtitan_write_fn torchtitan_schedule, torchtitan_old_pairs, torchtitan_piece_size,
    torchtitan_chunk_modules;
torchtitan_read_fn torchtitan_read_schedule, torchtitan_read_old_pairs, torchtitan_read_piece_size,
    torchtitan_read_chunks;

#endif
