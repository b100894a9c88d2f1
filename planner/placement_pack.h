/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_PLACEMENT_PACK_H
#define MOEPLAN_PLACEMENT_PACK_H

#include <stdbool.h>
#include <stdint.h>

struct arena;
struct pack_top;

/* Private to placement*.c: items into bins of equal slots, so that the fullest bin is light. */

/* splitmix64 (Steele, Lea, Flood 2014): the same numbers on every machine. */
struct rng {
	uint64_t state;
};
uint64_t rng_next(struct rng *rng);
/* 0 .. below-1 */
int rng_below(struct rng *rng, int below);
/* in (0, 1) */
double rng_unit(struct rng *rng);

/*
 * A packing. With several load vectors (snapshots in time) its value is the sum
 * over vectors of the slowest bin's time; with one, that bin's time.
 */
struct pack {
	int items, bins, slots; /* items = bins * slots */
	int vectors;
	const double *weight; /* [item][vector] */
	const int *owner;   /* [item] whose copy it is; no bin takes two of one. NULL: all differ */
	const double *slow; /* [bin] time of a unit of load; NULL: 1 */
	int *at;	    /* [bin][slot] the item */
	double *sum;	    /* [bin][vector] load */
	uint64_t work;	    /* exchanges looked at so far: the clock of deterministic budgets */
	struct pack_top *tops; /* [vector] the slowest bins, while descending */
};

/* Room for a packing; weight, owner and slow are the caller's. */
struct pack pack_new(struct arena *arena, int bins, int slots, int vectors, const double *weight);
double pack_value(const struct pack *pack);
/*
 * Single exchanges between slots i of bin a and j of bin b, for other objectives. The value
 * after one, without making it, holds while pack_watch() was called since the last change by
 * other means; pack_exchange() keeps it so. Owners are not looked at.
 */
void pack_watch(struct pack *pack);
double pack_value_after(const struct pack *pack, int a, int i, int b, int j);
void pack_exchange(struct pack *pack, int a, int i, int b, int j);
/* Sums of the bins anew, from what stands in `at`. */
void pack_sums(struct pack *pack);
void pack_copy(struct pack *to, const struct pack *from);

/* Heaviest first into the lightest bin with a free slot (ties: lower item, lower bin). */
void pack_lpt(struct arena *scratch, struct pack *pack);
/* Best exchange of an item of the slowest bin with another bin's, until none helps. */
void pack_descend(struct pack *pack);
/* One of those exchanges; false when none helps. */
bool pack_step(struct pack *pack);
/*
 * Disturb, descend, keep what is not worse; until the value is down to `target`
 * or `budget` exchanges were looked at.
 */
void pack_search(
    struct arena *scratch, struct pack *pack, struct rng *rng, double target, uint64_t budget);

#endif
