/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_ROOM_H
#define MOEPLAN_ROOM_H

#include "probe/stage.h"

/* All memory of a stage but weights and routing tables. -1 once failed. */
int room_make(struct stage *stage);
void room_free(struct stage *stage);
/* What this pass of a layer keeps for a while only is where no other pass that runs now has it. */
void room_point(const struct stage *stage, struct kept *kept);
/* Nothing that was not written may look right: NaN in every float and bf16. */
int room_poison(struct stage *stage);

#endif
