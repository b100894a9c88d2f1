/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How little has to move from the placement in use?
 *
 * A placement says which experts share a GPU; which GPU that is matters only where
 * GPUs differ. Names are given by an assignment of least cost (Hungarian method in
 * Jonker and Volgenant's form, 1987), cost of a pair = experts that would arrive. And a
 * way of few moves: from the placement in use the best exchange with the fullest GPU, again
 * and again; each exchange moves two experts.
 */
#include "planner/placement_move.h"

#include <math.h>
#include <string.h>

#include "base/arena.h"

enum { MATCH_MAX = 512 }; /* cubic: beyond this a greedy match has to do */

int
placement_moves(const struct layer_problem *p, const int *from, const int *to)
{
	int moves = 0;

	for (int s = 0; s < p->gpus * p->slots; s++) {
		const int *gpu = from + s / p->slots * p->slots;
		bool there = false;

		for (int k = 0; k < p->slots; k++)
			there = there || gpu[k] == to[s];
		moves += !there;
	}
	return moves;
}

/* --- who gets whose name --- */

/* Potentials u of rows and v of columns; row[j] has column j, both from 1, column 0 is none. */
struct matching {
	const double *cost; /* [row][column], n x n */
	int n;
	double *u, *v, *least;
	int *way, *row;
	bool *used;
};

/* Takes column j0 into the tree and gives the cheapest column next to it. */
static int
grow_tree(struct matching *m, int j0)
{
	double delta = INFINITY;
	int next = 0;

	m->used[j0] = true;
	for (int j = 1; j <= m->n; j++) {
		double left;

		if (m->used[j])
			continue;
		left = m->cost[(m->row[j0] - 1) * m->n + j - 1] - m->u[m->row[j0]] - m->v[j];
		if (left < m->least[j]) {
			m->least[j] = left;
			m->way[j] = j0;
		}
		if (m->least[j] < delta) {
			delta = m->least[j];
			next = j;
		}
	}
	for (int j = 0; j <= m->n; j++) {
		if (m->used[j]) {
			m->u[m->row[j]] += delta;
			m->v[j] -= delta;
		} else {
			m->least[j] -= delta;
		}
	}
	return next;
}

/* Row i gets a column, others change theirs along the shortest path. */
static void
match_row(struct matching *m, int i)
{
	int j = 0;

	m->row[0] = i;
	for (int k = 0; k <= m->n; k++) {
		m->least[k] = INFINITY;
		m->used[k] = false;
	}
	do
		j = grow_tree(m, j);
	while (m->row[j] != 0);
	for (; j != 0; j = m->way[j])
		m->row[j] = m->row[m->way[j]];
}

/* row_of[column] is filled so that the sum of costs is least. */
static void
match(struct arena *scratch, const double *cost, int n, int *row_of)
{
	struct arena_mark mark = arena_mark(scratch);
	size_t size = (size_t)n + 1;
	struct matching m = {.cost = cost, .n = n};

	m.u = arena_array(scratch, size, sizeof(double));
	m.v = arena_array(scratch, size, sizeof(double));
	m.least = arena_array(scratch, size, sizeof(double));
	m.way = arena_array(scratch, size, sizeof(int));
	m.row = arena_array(scratch, size, sizeof(int));
	m.used = arena_array(scratch, size, sizeof(bool));
	for (int i = 1; i <= n; i++)
		match_row(&m, i);
	for (int j = 1; j <= n; j++)
		row_of[j - 1] = m.row[j] - 1;
	arena_reset(scratch, mark);
}

/* The cheapest pair first. */
static void
match_greedily(struct arena *scratch, const double *cost, int n, int *row_of)
{
	struct arena_mark mark = arena_mark(scratch);
	bool *taken = arena_array(scratch, (size_t)n, sizeof(bool));

	for (int j = 0; j < n; j++) {
		int best = -1;

		for (int i = 0; i < n; i++)
			if (!taken[i] && (best < 0 || cost[i * n + j] < cost[best * n + j]))
				best = i;
		taken[best] = true;
		row_of[j] = best;
	}
	arena_reset(scratch, mark);
}

static int
arrivals(const struct layer_problem *p, const int *from_gpu, const int *to_gpu)
{
	int n = 0;

	for (int i = 0; i < p->slots; i++) {
		bool there = false;

		for (int k = 0; k < p->slots; k++)
			there = there || from_gpu[k] == to_gpu[i];
		n += !there;
	}
	return n;
}

/* GPUs of one node of `to` onto those of one node of `from`: what arrives, and who becomes whom. */
static double
match_gpus(struct arena *scratch, const struct layer_problem *p, const int *from, const int *to,
    int gpus, int *row_of)
{
	struct arena_mark mark = arena_mark(scratch);
	double *cost = arena_array(scratch, (size_t)gpus * (size_t)gpus, sizeof(double));
	double sum = 0;

	for (int i = 0; i < gpus; i++)
		for (int j = 0; j < gpus; j++)
			cost[i * gpus + j] = arrivals(p, from + j * p->slots, to + i * p->slots);
	if (gpus <= MATCH_MAX)
		match(scratch, cost, gpus, row_of);
	else
		match_greedily(scratch, cost, gpus, row_of);
	for (int j = 0; j < gpus; j++)
		sum += cost[row_of[j] * gpus + j];
	arena_reset(scratch, mark);
	return sum;
}

/* Experts that stay keep their slot, the others fill what is left in ascending order. */
static void
order_slots(const struct layer_problem *p, const int *from_gpu, const int *experts, int *to_gpu)
{
	for (int k = 0; k < p->slots; k++) {
		to_gpu[k] = -1;
		for (int i = 0; i < p->slots; i++)
			if (experts[i] == from_gpu[k])
				to_gpu[k] = experts[i];
	}
	for (int i = 0; i < p->slots; i++) {
		bool placed = false;
		int k = 0;

		for (int m = 0; m < p->slots; m++)
			placed = placed || to_gpu[m] == experts[i];
		while (!placed && to_gpu[k] >= 0)
			k++;
		if (!placed)
			to_gpu[k] = experts[i];
	}
}

static void
sort_gpu(int *experts, int n)
{
	for (int i = 1; i < n; i++) {
		int value = experts[i], k = i;

		for (; k > 0 && experts[k - 1] > value; k--)
			experts[k] = experts[k - 1];
		experts[k] = value;
	}
}

void
placement_rename(struct arena *scratch, const struct layer_problem *p, const int *from,
    bool nodes_alike, int *expert_of_slot)
{
	struct arena_mark mark = arena_mark(scratch);
	int gpus = p->gpus / p->nodes, size = gpus * p->slots, all = p->gpus * p->slots;
	int *old = arena_array(scratch, (size_t)all, sizeof(int));
	int *gpu_of = arena_array(scratch, (size_t)gpus, sizeof(int));
	int *node_of = arena_array(scratch, (size_t)p->nodes, sizeof(int));
	double *cost = arena_array(scratch, (size_t)p->nodes * (size_t)p->nodes, sizeof(double));

	memcpy(old, expert_of_slot, (size_t)all * sizeof(int));
	for (int n = 0; n < p->nodes; n++)
		node_of[n] = n;
	if (nodes_alike && p->nodes > 1 && p->nodes <= MATCH_MAX) {
		for (int i = 0; i < p->nodes; i++)
			for (int j = 0; j < p->nodes; j++)
				cost[i * p->nodes + j] = match_gpus(
				    scratch, p, from + j * size, old + i * size, gpus, gpu_of);
		match(scratch, cost, p->nodes, node_of);
	}
	for (int n = 0; n < p->nodes; n++) {
		const int *node = old + node_of[n] * size;

		match_gpus(scratch, p, from + n * size, node, gpus, gpu_of);
		for (int g = 0; g < gpus; g++) {
			int *experts = old + node_of[n] * size + gpu_of[g] * p->slots;

			sort_gpu(experts, p->slots);
			order_slots(p, from + (n * gpus + g) * p->slots, experts,
			    expert_of_slot + (n * gpus + g) * p->slots);
		}
	}
	arena_reset(scratch, mark);
}

/* --- few moves --- */

static double
move_price(const struct layer_problem *p, double value, double cost, const int *from, const int *to)
{
	return ratio_of(p, value) + cost * placement_moves(p, from, to);
}

/* Value of a placement given by slots. */
static double
value_of(struct arena *scratch, const struct layer_problem *p, struct copies *copies,
    struct pack *pack, const int *expert_of_slot)
{
	int *next = arena_array(scratch, (size_t)p->experts, sizeof(int)), slot = 0;

	memset(copies->count, 0, (size_t)p->experts * sizeof(int));
	for (int s = 0; s < pack->items; s++)
		copies->count[expert_of_slot[s]]++;
	copies_expand(p, copies);
	for (int e = 0; e < p->experts; slot += copies->count[e++])
		next[e] = slot;
	for (int s = 0; s < pack->items; s++)
		pack->at[s] = next[expert_of_slot[s]]++;
	pack_sums(pack);
	return pack_value(pack);
}

void
placement_migrate(struct arena *scratch, const struct layer_problem *p, const int *from,
    double move_cost, int *best)
{
	struct arena_mark mark = arena_mark(scratch);
	struct copies copies = copies_new(scratch, p);
	struct pack pack = pack_new(scratch, p->gpus, p->slots, p->vectors, copies.weight);
	int *now = arena_array(scratch, (size_t)pack.items, sizeof(int));
	double least;

	pack.owner = copies.owner;
	pack.slow = p->slow;
	least = move_price(p, value_of(scratch, p, &copies, &pack, best), move_cost, from, best);
	memcpy(now, from, (size_t)pack.items * sizeof(int));
	value_of(scratch, p, &copies, &pack, from);
	do {
		double price;

		for (int s = 0; s < pack.items; s++)
			now[s] = copies.owner[pack.at[s]];
		price = move_price(p, pack_value(&pack), move_cost, from, now);
		if (price <= least) {
			least = price;
			memcpy(best, now, (size_t)pack.items * sizeof(int));
		}
	} while (pack_step(&pack));
	arena_reset(scratch, mark);
}
