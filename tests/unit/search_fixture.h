/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_TEST_SEARCH_FIXTURE_H
#define MOEPLAN_TEST_SEARCH_FIXTURE_H

#include "planner/search.h"

/* A small grid whose points can all be tried by hand. */
struct world {
	struct arena *arena;
	struct diags *diags;
	struct model model;
	struct cluster *cluster;
	struct job job;
};

void pin(struct job *job, enum axis axis, int n, const int64_t *values);
#define PIN(job, axis, ...)                                                                        \
	pin(job, axis, (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)),                  \
	    (int64_t[]){__VA_ARGS__})

/* A small model of equal MoE layers (or some dense ones first) on two nodes, every axis named. */
struct world world_new(int64_t layers, int64_t dense);
void world_free(struct world *w);
void set_axis(struct strategy *s, int axis, int64_t value);
/* One point of the grid, tried by hand. */
struct tried {
	struct strategy strategy;
	int64_t value[AXES];
	const char *rule;
	double step_s, bytes;
	bool fits;
};

struct points {
	struct tried *all;
	int n;
};

/* Points that mean the same as another are none: VPP without stages, a dispatcher without experts.
 */
bool means_something(const struct world *w, const int64_t value[AXES]);
void try_point( const struct world *w, const struct evaluator *evaluator, struct tried *p,
    double cap_bytes);
struct points points_under(struct world *w, double cap);
double capacity_of(const struct world *w);
/* All points that the pins allow; at risk only when there is nothing else, or it is asked for. */
struct points brute_force(struct world *w);
bool is_good(const struct world *w, const struct tried *p);
bool alike(const struct tried *p, const struct tried *q);
/* The n-th best value of points no two of which are alike; INFINITY when there are fewer. */
double nth_best(const struct world *w, const struct points *points, int n);
struct plan *plan_of(struct world *w);
double value_of(const struct world *w, const struct estimate *e);
void check_sums(const struct plan *plan);

#endif
