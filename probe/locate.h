/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_LOCATE_H
#define MOEPLAN_LOCATE_H

#include "probe/session.h"

/* Which group: enum group below GROUP_EMBEDDING, or one of these. */
enum { LOCATE_DP = GROUPS, LOCATE_PP, LOCATED };

/*
 * The rank's group by the plan, its place in it, and its number, which is that of its first rank.
 * Without a communicator. -1 once failed.
 */
int session_locate(struct session *s, int which, struct group_comm *group);

#endif
