/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_TEST_BLOCKING_H
#define MOEPLAN_TEST_BLOCKING_H

#include "probe/probe.h"

/*
 * A backend for tests: ranks of one host, socket pairs between all of them, and collectives that
 * block until every member has come, for ever if one does not. Call before the ranks are forked.
 */
enum { BLOCKING_MAX_RANKS = 16 };
int blocking_prepare(int world);
const struct backend_ops *blocking_backend(void);
/* From the n-th all-to-all on (of this process), one number of each is wrong; 0: none. */
void blocking_corrupt(int n);

#endif
