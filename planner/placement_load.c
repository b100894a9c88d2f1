/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which experts share a GPU, so that the fullest one has least to do, and what
 * proves it?
 *
 * Without copies: placement_pack.c, then bounds in the order of their price: closed
 * form; sets, where GPUs hold few experts; else the integer programme, while the gap is above
 * WIDE_GAP. With R copies: copies go to the largest share one by one, which makes
 * the largest share as small as it can be; then copies move between experts at
 * random, each time packed anew, and stay when that is not worse. Where there are few
 * ways to spread the copies all of them are tried. With two slots a GPU heaviest with
 * lightest is optimal for given copies, so the least of those values is a bound, and where
 * a packing reaches it, it is proved.
 */
#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "planner/placement_private.h"

/* A gap worth an integer programme, and one that is closed. */
#define WIDE_GAP 5e-4
#define CLOSED_GAP 1e-6
#define NARROW_GAP 1e-5

enum {
	SEARCH_WORK = 6000000, /* exchanges looked at, a layer */
	LONG_WORK = 12000000,  /* once more where the gap stays wide */
	QUICK_WORK = 100000,
	PROVE_ITERATIONS = 20000, /* simplex iterations */
	MAX_COUNT_VECTORS = 20000,
};

/* --- copies --- */

struct copies
copies_new(struct arena *arena, const struct layer_problem *p)
{
	size_t slots = (size_t)p->gpus * (size_t)p->slots;
	struct copies copies;

	copies.count = arena_array(arena, (size_t)p->experts, sizeof(int));
	copies.owner = arena_array(arena, slots, sizeof(int));
	copies.weight = arena_array(arena, slots * (size_t)p->vectors, sizeof(double));
	return copies;
}

void
copies_greedy(const struct layer_problem *p, int *count)
{
	int left = p->gpus * p->slots - p->experts;

	for (int e = 0; e < p->experts; e++)
		count[e] = 1;
	for (; left > 0; left--) {
		int top = -1;

		for (int e = 0; e < p->experts; e++)
			if (count[e] < p->gpus &&
			    (top < 0 || p->total[e] / count[e] > p->total[top] / count[top]))
				top = e;
		count[top]++;
	}
}

void
copies_expand(const struct layer_problem *p, struct copies *copies)
{
	int slot = 0;

	for (int e = 0; e < p->experts; e++)
		for (int c = 0; c < copies->count[e]; c++, slot++) {
			copies->owner[slot] = e;
			for (int v = 0; v < p->vectors; v++)
				copies->weight[slot * p->vectors + v] =
				    p->weight[e * p->vectors + v] / copies->count[e];
		}
}

/* --- packing --- */

static struct bound_problem
bound_of(const struct layer_problem *p)
{
	return (struct bound_problem){.experts = p->experts,
	    .bins = p->gpus,
	    .slots = p->slots,
	    .vectors = p->vectors,
	    .weight = p->weight,
	    .slow = p->slow};
}

static void
answer_from(const struct pack *pack, struct load_answer *answer)
{
	for (int i = 0; i < pack->items; i++)
		answer->expert_of_slot[i] = pack->owner ? pack->owner[pack->at[i]] : pack->at[i];
	answer->value = pack_value(pack);
}

static bool
wider(const struct load_answer *answer, double gap)
{
	return answer->value > answer->bound * (1 + gap);
}

static void
raise_bound(struct load_answer *answer, double bound, enum proof proof)
{
	if (bound <= answer->bound * (1 + 1e-12))
		return;
	answer->bound = bound;
	answer->proof = proof;
}

static void
prove(struct arena *arena, const struct layer_problem *p, const struct bound_problem *bp,
    struct load_answer *answer)
{
	struct pack found;

	if (!wider(answer, NARROW_GAP))
		return;
	if (bound_sets_apply(bp)) {
		raise_bound(answer,
		    bound_sets(arena, bp, answer->bound, answer->value, wider(answer, WIDE_GAP)),
		    PROOF_SETS);
		return;
	}
	if (!wider(answer, WIDE_GAP))
		return;
	found = pack_new(arena, p->gpus, p->slots, 1, p->weight);
	switch (bound_prove(arena, bp, answer->bound, answer->value, PROVE_ITERATIONS, &found)) {
	case PROVE_NONE:
		raise_bound(answer, answer->value * (1 - CLOSED_GAP), PROOF_MILP);
		break;
	case PROVE_FOUND:
		answer_from(&found, answer);
		break;
	case PROVE_UNDECIDED:
		break;
	}
}

static void
solve_plain(
    struct arena *arena, const struct layer_problem *p, struct rng *rng, struct load_answer *answer)
{
	struct bound_problem bp = bound_of(p);
	struct pack pack = pack_new(arena, p->gpus, p->slots, p->vectors, p->weight);

	pack.slow = p->slow;
	pack_lpt(arena, &pack);
	pack_descend(&pack);
	answer->bound = bound_closed(arena, &bp);
	answer->proof = p->slots == 2 && !p->slow && p->vectors == 1 ? PROOF_PAIRING : PROOF_CLOSED;
	pack_search(arena, &pack, rng, answer->bound * (1 + CLOSED_GAP / 2),
	    p->options->quick ? QUICK_WORK : SEARCH_WORK);
	answer_from(&pack, answer);
	if (p->options->quick)
		return;
	prove(arena, p, &bp, answer);
	if (wider(answer, WIDE_GAP)) {
		pack_search(arena, &pack, rng, answer->bound, LONG_WORK);
		if (pack_value(&pack) < answer->value)
			answer_from(&pack, answer);
	}
}

/* --- copies that move --- */

/* One copy of expert `to` more, one of `from` less; false when that is not allowed. */
static bool
move_copy(const struct layer_problem *p, int *count, int from, int to)
{
	if (from == to || count[from] < 2 || count[to] >= p->gpus)
		return false;
	count[from]--;
	count[to]++;
	return true;
}

static int
random_in_slowest(const struct pack *pack, struct rng *rng)
{
	int slowest = 0;

	for (int b = 1; b < pack->bins; b++)
		if (pack->sum[b * pack->vectors] > pack->sum[slowest * pack->vectors])
			slowest = b;
	return pack->owner[pack->at[slowest * pack->slots + rng_below(rng, pack->slots)]];
}

static void
repack(
    struct arena *scratch, const struct layer_problem *p, struct copies *copies, struct pack *pack)
{
	copies_expand(p, copies);
	pack_lpt(scratch, pack);
	pack_descend(pack);
	pack->work += (uint64_t)pack->items * (uint64_t)pack->bins;
}

/* Moves copies between experts at random; keeps what is not worse. */
static void
search_counts(struct arena *arena, const struct layer_problem *p, struct rng *rng,
    struct copies *copies, struct pack *pack, struct load_answer *answer, uint64_t budget)
{
	size_t size = (size_t)p->experts * sizeof(int);
	int *kept = arena_array(arena, (size_t)p->experts, sizeof(int));

	memcpy(kept, copies->count, size);
	while (pack->work < budget && wider(answer, CLOSED_GAP / 2)) {
		int moves = 1 + rng_below(rng, 2), done = 0;

		for (int m = 0; m < moves; m++) {
			int from = rng_below(rng, p->experts);
			int to = rng_next(rng) & 1U ? random_in_slowest(pack, rng)
						    : rng_below(rng, p->experts);

			done += move_copy(p, copies->count, from, to);
		}
		pack->work += (uint64_t)p->experts;
		if (done == 0)
			continue;
		repack(arena, p, copies, pack);
		if (pack_value(pack) <= answer->value) {
			answer_from(pack, answer);
			memcpy(kept, copies->count, size);
		} else {
			memcpy(copies->count, kept, size);
		}
	}
	memcpy(copies->count, kept, size);
}

/* Ways to spread `copies` further copies over `experts`: C(copies + experts - 1, copies), capped.
 */
static double
count_vectors(int experts, int copies)
{
	double ways = 1;

	for (int k = 1; k <= copies && ways <= MAX_COUNT_VECTORS; k++)
		ways *= (double)(experts - 1 + k) / k;
	return ways;
}

/* Two slots a GPU, copies as given: what heaviest with lightest comes to. */
static double
pairing_value(const struct layer_problem *p, const struct copies *copies, double *sorted)
{
	int n = 2 * p->gpus;
	double value = 0;

	for (int i = 0; i < n; i++) {
		double w = copies->weight[i];
		int k = i;

		for (; k > 0 && sorted[k - 1] < w; k--)
			sorted[k] = sorted[k - 1];
		sorted[k] = w;
	}
	for (int i = 0; i < p->gpus; i++)
		value = fmax(value, sorted[i] + sorted[n - 1 - i]);
	return value;
}

/* The next way to spread the further copies, in a fixed order; false after the last. */
static bool
next_counts(int *count, int experts)
{
	int last = count[experts - 1], e = experts - 2;

	while (e >= 0 && count[e] == 1)
		e--;
	if (e < 0)
		return false;
	count[e]--;
	count[experts - 1] = 1;
	count[e + 1] = last + 1;
	return true;
}

static bool
counts_allowed(const struct layer_problem *p, const int *count)
{
	for (int e = 0; e < p->experts; e++)
		if (count[e] > p->gpus)
			return false;
	return true;
}

/*
 * All spreads, each packed with an even part of the budget. Two slots a GPU: the least
 * pairing value is a bound, and mostly reached.
 */
static void
try_all_counts(struct arena *arena, const struct layer_problem *p, struct rng *rng, double ways,
    struct copies *copies, struct pack *pack, struct load_answer *answer)
{
	bool pairs = p->slots == 2 && p->vectors == 1 && !p->slow;
	double *sorted = arena_array(arena, (size_t)pack->items, sizeof(double)), least = INFINITY;
	double target = answer->bound * (1 + CLOSED_GAP / 2);

	for (int e = 0; e < p->experts; e++)
		copies->count[e] = 1;
	copies->count[0] += pack->items - p->experts;
	do {
		double value;

		if (!counts_allowed(p, copies->count))
			continue;
		copies_expand(p, copies);
		value = pairs ? pairing_value(p, copies, sorted) : 0;
		least = fmin(least, value);
		if (value >= answer->value)
			continue;
		repack(arena, p, copies, pack);
		pack_search(arena, pack, rng, target, (uint64_t)(SEARCH_WORK / ways));
		if (pack_value(pack) < answer->value)
			answer_from(pack, answer);
	} while (wider(answer, CLOSED_GAP / 2) && next_counts(copies->count, p->experts));
	if (pairs && wider(answer, CLOSED_GAP / 2))
		raise_bound(answer, least, PROOF_COUNTS);
}

static void
solve_copies(
    struct arena *arena, const struct layer_problem *p, struct rng *rng, struct load_answer *answer)
{
	struct bound_problem bp = bound_of(p);
	struct copies copies = copies_new(arena, p);
	struct pack pack = pack_new(arena, p->gpus, p->slots, p->vectors, copies.weight);
	uint64_t budget = p->options->quick ? QUICK_WORK : SEARCH_WORK;
	double ways;

	pack.owner = copies.owner;
	pack.slow = p->slow;
	copies_greedy(p, copies.count);
	repack(arena, p, &copies, &pack);
	answer_from(&pack, answer);
	answer->bound = bound_closed(arena, &bp);
	answer->proof = PROOF_CLOSED;
	search_counts(arena, p, rng, &copies, &pack, answer, budget / 2);
	repack(arena, p, &copies, &pack);
	pack_search(arena, &pack, rng, answer->bound * (1 + CLOSED_GAP / 2), budget / 2);
	if (pack_value(&pack) < answer->value)
		answer_from(&pack, answer);
	ways = count_vectors(p->experts, pack.items - p->experts);
	if (ways <= MAX_COUNT_VECTORS && !p->options->quick && wider(answer, CLOSED_GAP / 2))
		try_all_counts(arena, p, rng, ways, &copies, &pack, answer);
}

struct load_answer
solve_load(struct arena *arena, const struct layer_problem *p, struct rng *rng)
{
	struct load_answer answer = {.proof = PROOF_NONE};

	answer.expert_of_slot = arena_array(arena, (size_t)p->gpus * (size_t)p->slots, sizeof(int));
	if (p->gpus * p->slots == p->experts)
		solve_plain(arena, p, rng, &answer);
	else
		solve_copies(arena, p, rng, &answer);
	return answer;
}
