/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which items share a bin, so that the slowest bin is as fast as can be?
 *
 *     minimise  sum over vectors v of  max over bins b of  slow_b * sum of w_iv in b
 * with the same number of slots in every bin and no two copies of one owner in a
 * bin. Heaviest first (LPT: Graham 1969) under the slot limit, then the best
 * exchange between the slowest bin and any other until none helps, then random
 * exchanges with descent again (iterated local search: Lourenco, Martin, Stutzle
 * 2003) within a budget that counts work, not time, so that the answer is the same
 * on every machine. Ignores: exchanges of more than two items at once.
 */
#include "planner/placement_pack.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/arena.h"

/* An exchange must gain more than rounding can make up. */
#define GAIN 1e-12

/* The three slowest bins of a vector: what is left of the maximum without two of them is known. */
struct pack_top {
	int bin[3];
	double time[3];
};

uint64_t
rng_next(struct rng *rng)
{
	uint64_t z = rng->state += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

int
rng_below(struct rng *rng, int below)
{
	return (int)((rng_next(rng) >> 32) * (uint64_t)below >> 32);
}

double
rng_unit(struct rng *rng)
{
	return ((double)(rng_next(rng) >> 11) + 0.5) / 9007199254740992.0; /* 2^53 */
}

struct pack
pack_new(struct arena *arena, int bins, int slots, int vectors, const double *weight)
{
	struct pack pack = {.items = bins * slots,
	    .bins = bins,
	    .slots = slots,
	    .vectors = vectors,
	    .weight = weight};

	pack.at = arena_array(arena, (size_t)pack.items, sizeof(int));
	pack.sum = arena_array(arena, (size_t)bins * (size_t)vectors, sizeof(double));
	pack.tops = arena_array(arena, (size_t)vectors, sizeof(*pack.tops));
	return pack;
}

void
pack_copy(struct pack *to, const struct pack *from)
{
	memcpy(to->at, from->at, (size_t)from->items * sizeof(int));
	memcpy(to->sum, from->sum, (size_t)from->bins * (size_t)from->vectors * sizeof(double));
}

static double
bin_time(const struct pack *pack, int bin, int vector)
{
	double sum = pack->sum[bin * pack->vectors + vector];

	return pack->slow ? sum * pack->slow[bin] : sum;
}

double
pack_value(const struct pack *pack)
{
	double value = 0;

	for (int v = 0; v < pack->vectors; v++) {
		double most = 0;

		for (int b = 0; b < pack->bins; b++)
			most = fmax(most, bin_time(pack, b, v));
		value += most;
	}
	return value;
}

static void
add_item(struct pack *pack, int bin, int item, double sign)
{
	for (int v = 0; v < pack->vectors; v++)
		pack->sum[bin * pack->vectors + v] += sign * pack->weight[item * pack->vectors + v];
}

void
pack_sums(struct pack *pack)
{
	memset(pack->sum, 0, (size_t)pack->bins * (size_t)pack->vectors * sizeof(double));
	for (int i = 0; i < pack->items; i++)
		add_item(pack, i / pack->slots, pack->at[i], 1);
}

/* Whether a bin (its first `filled` slots, without slot `except`) has a copy of the item's owner.
 */
static bool
holds_copy(const struct pack *pack, int bin, int filled, int except, int item)
{
	const int *at = &pack->at[bin * pack->slots];

	if (!pack->owner)
		return false;
	for (int s = 0; s < filled; s++)
		if (s != except && pack->owner[at[s]] == pack->owner[item])
			return true;
	return false;
}

/* --- heaviest first --- */

static double
item_weight(const struct pack *pack, int item)
{
	double sum = 0;

	for (int v = 0; v < pack->vectors; v++)
		sum += pack->weight[item * pack->vectors + v];
	return sum;
}

/* Items by weight, heaviest first, ties by number: insertion into a heap of indices would not be
 * stable. */
static void
sort_items(const struct pack *pack, const double *total, int *order, int *spare)
{
	int *from = order, *to = spare;

	for (int i = 0; i < pack->items; i++)
		order[i] = i;
	for (int width = 1; width < pack->items; width *= 2) {
		int *swap = from;

		for (int low = 0; low < pack->items; low += 2 * width) {
			int middle = low + width < pack->items ? low + width : pack->items;
			int high = middle + width < pack->items ? middle + width : pack->items;
			int a = low, b = middle;

			for (int k = low; k < high; k++) {
				bool first =
				    a < middle && (b >= high || total[from[a]] >= total[from[b]]);

				to[k] = first ? from[a++] : from[b++];
			}
		}
		from = to;
		to = swap;
	}
	if (from != order)
		memcpy(order, from, (size_t)pack->items * sizeof(int));
}

static double
time_with(const struct pack *pack, int bin, double load, double weight)
{
	return pack->slow ? (load + weight) * pack->slow[bin] : load;
}

static int
lightest_bin(
    const struct pack *pack, const int *filled, const double *load, int item, double weight)
{
	int best = -1;

	for (int b = 0; b < pack->bins; b++) {
		if (filled[b] == pack->slots || holds_copy(pack, b, filled[b], -1, item))
			continue;
		if (best < 0 ||
		    time_with(pack, b, load[b], weight) < time_with(pack, best, load[best], weight))
			best = b;
	}
	return best;
}

/*
 * Every bin with a free slot already has a copy: an item of a full bin without
 * one moves into the free slot and makes room. There is such a bin, since copies are
 * no more than bins, and such an item, since the full bin has more owners than the
 * other one.
 */
static int
make_room(struct pack *pack, int *filled, double *load, const double *total, int item)
{
	int open = 0, from = 0, slot = 0, moved;

	while (filled[open] == pack->slots)
		open++;
	while (filled[from] < pack->slots || holds_copy(pack, from, pack->slots, -1, item))
		from++;
	while (holds_copy(pack, open, filled[open], -1, pack->at[from * pack->slots + slot]))
		slot++;
	moved = pack->at[from * pack->slots + slot];
	load[from] -= total[moved];
	load[open] += total[moved];
	pack->at[open * pack->slots + filled[open]++] = moved;
	pack->at[from * pack->slots + slot] = pack->at[from * pack->slots + --filled[from]];
	return from;
}

void
pack_lpt(struct arena *scratch, struct pack *pack)
{
	struct arena_mark mark = arena_mark(scratch);
	double *total = arena_array(scratch, (size_t)pack->items, sizeof(double));
	double *load = arena_array(scratch, (size_t)pack->bins, sizeof(double));
	int *filled = arena_array(scratch, (size_t)pack->bins, sizeof(int));
	int *order = arena_array(scratch, (size_t)pack->items, sizeof(int));
	int *spare = arena_array(scratch, (size_t)pack->items, sizeof(int));

	for (int i = 0; i < pack->items; i++)
		total[i] = item_weight(pack, i);
	sort_items(pack, total, order, spare);
	for (int k = 0; k < pack->items; k++) {
		int item = order[k];
		int bin = lightest_bin(pack, filled, load, item, total[item]);

		if (bin < 0)
			bin = make_room(pack, filled, load, total, item);
		pack->at[bin * pack->slots + filled[bin]++] = item;
		load[bin] += total[item];
	}
	pack_sums(pack);
	arena_reset(scratch, mark);
}

/* --- exchanges --- */

static void
exchange(struct pack *pack, int a, int i, int b, int j)
{
	int *one = &pack->at[a * pack->slots + i], *two = &pack->at[b * pack->slots + j];
	int item = *one;

	add_item(pack, a, *one, -1);
	add_item(pack, b, *two, -1);
	*one = *two;
	*two = item;
	add_item(pack, a, *one, 1);
	add_item(pack, b, *two, 1);
}

static bool
may_exchange(const struct pack *pack, int a, int i, int b, int j)
{
	int one = pack->at[a * pack->slots + i], two = pack->at[b * pack->slots + j];

	return !pack->owner || (!holds_copy(pack, a, pack->slots, i, two) &&
				   !holds_copy(pack, b, pack->slots, j, one));
}

struct move {
	int a, i, b, j;
	double value; /* what the move is judged by, lower is better */
};

static int
slowest_bin(const struct pack *pack, int vector)
{
	int slowest = 0;

	for (int b = 1; b < pack->bins; b++)
		if (bin_time(pack, b, vector) > bin_time(pack, slowest, vector))
			slowest = b;
	return slowest;
}

/* Exchanges of bin a with bin b: the slower of the two afterwards. */
static void
best_with_bin(const struct pack *pack, int a, int b, struct move *best)
{
	const double *w = pack->weight;
	const int *at_a = &pack->at[a * pack->slots], *at_b = &pack->at[b * pack->slots];
	double slow_a = pack->slow ? pack->slow[a] : 1, slow_b = pack->slow ? pack->slow[b] : 1;
	double load_a = pack->sum[a], load_b = pack->sum[b];

	/* Both cannot be faster than if they shared their load as their speeds are. */
	if ((load_a + load_b) * slow_a * slow_b >= best->value * (slow_a + slow_b))
		return;
	for (int i = 0; i < pack->slots; i++) {
		double out = w[at_a[i]];

		for (int j = 0; j < pack->slots; j++) {
			double d = out - w[at_b[j]];
			double time_a = (load_a - d) * slow_a, time_b = (load_b + d) * slow_b;
			double after = time_a > time_b ? time_a : time_b;

			if (after < best->value && may_exchange(pack, a, i, b, j))
				*best = (struct move){a, i, b, j, after};
		}
	}
}

/* One vector: the exchange after which the slower of the two bins is fastest. */
static bool
best_single(struct pack *pack, int a, struct move *best)
{
	best->value = bin_time(pack, a, 0) * (1 - GAIN);
	best->b = -1;
	for (int b = 0; b < pack->bins; b++)
		if (b != a)
			best_with_bin(pack, a, b, best);
	pack->work += (uint64_t)pack->items * (uint64_t)pack->slots;
	return best->b >= 0;
}

static struct pack_top
top_bins(const struct pack *pack, int vector)
{
	struct pack_top top = {{-1, -1, -1}, {0, 0, 0}};

	for (int b = 0; b < pack->bins; b++) {
		double time = bin_time(pack, b, vector);
		int k = 3;

		while (k > 0 && (top.bin[k - 1] < 0 || time > top.time[k - 1]))
			k--;
		if (k == 3)
			continue;
		for (int m = 2; m > k; m--) {
			top.bin[m] = top.bin[m - 1];
			top.time[m] = top.time[m - 1];
		}
		top.bin[k] = b;
		top.time[k] = time;
	}
	return top;
}

static double
rest_time(const struct pack_top *top, int a, int b)
{
	for (int k = 0; k < 3; k++)
		if (top->bin[k] != a && top->bin[k] != b)
			return top->bin[k] < 0 ? 0 : top->time[k];
	return 0;
}

double
pack_value_after(const struct pack *pack, int a, int i, int b, int j)
{
	const double *one = &pack->weight[pack->at[a * pack->slots + i] * pack->vectors];
	const double *two = &pack->weight[pack->at[b * pack->slots + j] * pack->vectors];
	double slow_a = pack->slow ? pack->slow[a] : 1, slow_b = pack->slow ? pack->slow[b] : 1;
	double value = 0;

	for (int v = 0; v < pack->vectors; v++) {
		double d = one[v] - two[v];
		double time_a = (pack->sum[a * pack->vectors + v] - d) * slow_a;
		double time_b = (pack->sum[b * pack->vectors + v] + d) * slow_b;

		value += fmax(rest_time(&pack->tops[v], a, b), fmax(time_a, time_b));
	}
	return value;
}

void
pack_watch(struct pack *pack)
{
	for (int v = 0; v < pack->vectors; v++)
		pack->tops[v] = top_bins(pack, v);
}

void
pack_exchange(struct pack *pack, int a, int i, int b, int j)
{
	exchange(pack, a, i, b, j);
	pack_watch(pack);
}

/* Several vectors: exchanges of bin `a` judged by the whole value. */
static void
best_with(struct pack *pack, int a, struct move *best)
{
	for (int b = 0; b < pack->bins; b++) {
		if (b == a)
			continue;
		for (int i = 0; i < pack->slots; i++)
			for (int j = 0; j < pack->slots; j++) {
				double after = pack_value_after(pack, a, i, b, j);

				if (after < best->value && may_exchange(pack, a, i, b, j))
					*best = (struct move){a, i, b, j, after};
			}
	}
	pack->work += (uint64_t)pack->items * (uint64_t)(pack->slots * pack->vectors);
}

/* Several vectors: the best over the slowest bin of each. */
static bool
best_several(struct pack *pack, struct move *best)
{
	const struct pack_top *tops = pack->tops;

	pack_watch(pack);
	best->b = -1;
	best->value = 0;
	for (int v = 0; v < pack->vectors; v++)
		best->value += tops[v].time[0];
	best->value *= 1 - GAIN;
	for (int v = 0; v < pack->vectors; v++) {
		bool seen = false;

		for (int u = 0; u < v; u++)
			seen = seen || tops[u].bin[0] == tops[v].bin[0];
		if (!seen)
			best_with(pack, tops[v].bin[0], best);
	}
	return best->b >= 0;
}

bool
pack_step(struct pack *pack)
{
	struct move move = {.b = -1};
	bool found =
	    pack->bins > 1 && (pack->vectors == 1 ? best_single(pack, slowest_bin(pack, 0), &move)
						  : best_several(pack, &move));

	if (found)
		exchange(pack, move.a, move.i, move.b, move.j);
	return found;
}

void
pack_descend(struct pack *pack)
{
	while (pack_step(pack))
		;
	pack_sums(pack); /* the rounding of many additions and subtractions taken out */
}

/* --- search --- */

/* A random exchange, half of them with the slowest bin; nothing when it would join two copies. */
static void
disturb(struct pack *pack, struct rng *rng)
{
	int v = pack->vectors > 1 ? rng_below(rng, pack->vectors) : 0;
	int a = rng_next(rng) & 1U ? slowest_bin(pack, v) : rng_below(rng, pack->bins);
	int b = rng_below(rng, pack->bins);
	int i = rng_below(rng, pack->slots), j = rng_below(rng, pack->slots);

	if (a != b && may_exchange(pack, a, i, b, j))
		exchange(pack, a, i, b, j);
	pack->work += (uint64_t)(pack->bins + pack->slots);
}

void
pack_search(
    struct arena *scratch, struct pack *pack, struct rng *rng, double target, uint64_t budget)
{
	struct arena_mark mark = arena_mark(scratch);
	struct pack best = pack_new(scratch, pack->bins, pack->slots, pack->vectors, pack->weight);
	uint64_t end = pack->work + budget;
	double value = pack_value(pack);

	pack_copy(&best, pack);
	while (pack->bins > 1 && value > target && pack->work < end) {
		double after;

		for (int n = 1 + rng_below(rng, 3); n > 0; n--)
			disturb(pack, rng);
		pack_descend(pack);
		after = pack_value(pack);
		if (after <= value) {
			value = after;
			pack_copy(&best, pack);
		} else {
			pack_copy(pack, &best);
		}
	}
	arena_reset(scratch, mark);
}
