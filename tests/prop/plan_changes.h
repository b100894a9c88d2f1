/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_TEST_PLAN_CHANGES_H
#define MOEPLAN_TEST_PLAN_CHANGES_H

#include "plans.h"

struct change {
	const char *name;
	void (*make)(struct plan_view *plan);
	unsigned frameworks; /* that have it at all */
	bool moe;	     /* of models with experts */
};

enum { CHANGES = 39 };
extern const struct change plan_changes[CHANGES];

/* The plan with one part changed, or false: there is no such plan. */
bool plan_change(const struct change *change, struct arena *arena, const struct plan_view *plan,
    struct plan_view *changed);

#endif
