/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_TEST_PLANS_H
#define MOEPLAN_TEST_PLANS_H

#include <stdint.h>

#include "../unit/fixture.h"
#include "emit/emit.h"

/* Random plans of every framework, the same ones in every run. */
enum { PLAN_MODELS = 6 };
extern const char *const plan_models[PLAN_MODELS];

/* Below `below`, from a generator of our own. */
uint32_t plan_next(uint32_t below);
/* A random valid plan for a fixture's model, or false. */
bool plan_random(const struct fixture *f, enum framework framework, const char *version,
    struct plan_view *plan);

/* Changes the settings of a plan so that the target takes more of them; false: it is no plan. */
void bend_accelerate(struct strategy *s);
void bend_jax(struct strategy *s);
void bend_tutel(struct strategy *s);
void bend_fairscale(struct strategy *s);
bool plan_bend(void (*bend)(struct strategy *strategy), struct plan_view *plan);

#endif
