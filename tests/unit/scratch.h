/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_TEST_SCRATCH_H
#define MOEPLAN_TEST_SCRATCH_H

#include "base/arena.h"
#include "base/diag.h"

/* What nearly every test starts with: memory and a list of messages, for .init and .fini. */
extern struct arena *arena;
extern struct diags *diags;
void scratch_open(void);
void scratch_close(void);

#endif
