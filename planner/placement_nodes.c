/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which expert on which node, so that most tokens find theirs at home?
 *
 *     max sum_en t_ne x_en   with  sum_n x_en = 1,  sum_e x_en = E/N,
 *     sum_e w_e x_en <= cap,  x binary
 * a generalised assignment problem (Ross, Soland 1975). t_ne are the tokens of node n
 * that pick expert e. The LP relaxation has few fractional columns: its point is made
 * whole, improved by exchanges between nodes, disturbed and descended again; then GLPK's
 * branch and bound starts from there. Whatever the LP's duals y are worth, by Lagrange
 *     sum t x <= y b + sum_en max(0, t_ne - y a_en),
 * which is summed up here; an x_en whose loss against that bound is more than what is left
 * between bound and start is 0 in every better assignment, and fixed.
 * Ignores: which GPU of the node; that is settled afterwards.
 */
#include "planner/placement_nodes.h"

#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "planner/milp.h"

#define SLACK 1e-9
/* Simplex iterations times columns: about two seconds. */
enum { PROVE_WORK = 8000000, PROVE_LEAST = 200 };

double
nodes_gain(const struct node_problem *p, const int *node_of)
{
	double gain = 0;

	for (int e = 0; e < p->experts; e++)
		gain += p->gain[node_of[e] * p->experts + e];
	return gain;
}

double
nodes_least_load(struct arena *scratch, const struct node_problem *p, int *node_of)
{
	struct arena_mark mark = arena_mark(scratch);
	struct pack pack = pack_new(scratch, p->nodes, p->each, 1, p->load);
	double value;

	pack_lpt(scratch, &pack);
	pack_descend(&pack);
	value = pack_value(&pack);
	for (int i = 0; i < pack.items; i++)
		node_of[pack.at[i]] = i / p->each;
	arena_reset(scratch, mark);
	return value;
}

/* Loads of the nodes, kept beside node_of. */
struct nodes_state {
	const struct node_problem *p;
	int *node_of;
	double *load;
};

static double
exchange_gain(const struct nodes_state *s, int e, int f)
{
	const double *a = &s->p->gain[s->node_of[e] * s->p->experts];
	const double *b = &s->p->gain[s->node_of[f] * s->p->experts];

	return b[e] + a[f] - a[e] - b[f];
}

static bool
exchange_fits(const struct nodes_state *s, int e, int f)
{
	double d = s->p->load[e] - s->p->load[f], cap = s->p->cap * (1 + SLACK);

	return s->load[s->node_of[e]] - d <= cap && s->load[s->node_of[f]] + d <= cap;
}

static void
exchange_nodes(struct nodes_state *s, int e, int f)
{
	double d = s->p->load[e] - s->p->load[f];
	int node = s->node_of[e];

	s->load[s->node_of[e]] -= d;
	s->load[s->node_of[f]] += d;
	s->node_of[e] = s->node_of[f];
	s->node_of[f] = node;
}

static void
nodes_descend(struct nodes_state *s)
{
	bool moved = true;

	while (moved) {
		moved = false;
		for (int e = 0; e < s->p->experts; e++)
			for (int f = e + 1; f < s->p->experts; f++)
				if (s->node_of[e] != s->node_of[f] &&
				    exchange_gain(s, e, f) > SLACK * s->p->all / s->p->experts &&
				    exchange_fits(s, e, f)) {
					exchange_nodes(s, e, f);
					moved = true;
				}
	}
}

static void
node_loads(struct nodes_state *s)
{
	memset(s->load, 0, (size_t)s->p->nodes * sizeof(double));
	for (int e = 0; e < s->p->experts; e++)
		s->load[s->node_of[e]] += s->p->load[e];
}

/* A few random exchanges that keep within the cap. */
static void
nodes_disturb(struct nodes_state *s, struct rng *rng)
{
	for (int left = 2 + rng_below(rng, 4), tries = 0; left > 0 && tries < 100; tries++) {
		int e = rng_below(rng, s->p->experts), f = rng_below(rng, s->p->experts);

		if (s->node_of[e] == s->node_of[f] || !exchange_fits(s, e, f))
			continue;
		exchange_nodes(s, e, f);
		left--;
	}
}

double
nodes_search(
    struct arena *scratch, const struct node_problem *p, struct rng *rng, int rounds, int *node_of)
{
	struct arena_mark mark = arena_mark(scratch);
	size_t size = (size_t)p->experts * sizeof(int);
	struct nodes_state s = {.p = p, .node_of = node_of};
	int *best = arena_array(scratch, (size_t)p->experts, sizeof(int));
	double gain;

	s.load = arena_array(scratch, (size_t)p->nodes, sizeof(double));
	node_loads(&s);
	nodes_descend(&s);
	gain = nodes_gain(p, node_of);
	memcpy(best, node_of, size);
	for (int round = 0; round < rounds; round++) {
		double after;

		nodes_disturb(&s, rng);
		nodes_descend(&s);
		after = nodes_gain(p, node_of);
		if (after >= gain) {
			gain = after;
			memcpy(best, node_of, size);
		} else {
			memcpy(node_of, best, size);
		}
		node_loads(&s);
	}
	arena_reset(scratch, mark);
	return gain;
}

/* --- GLPK --- */

static struct milp *
build(struct arena *arena, const struct node_problem *p, enum milp_kind kind)
{
	struct milp *milp = milp_new(arena, "nodes");
	double mean = p->cap / p->each;

	for (int e = 0; e < p->experts; e++)
		for (int n = 0; n < p->nodes; n++)
			milp_column(milp, arena_printf(arena, "x%d_%d", e, n), kind, 0, 1,
			    -p->gain[n * p->experts + e] / p->all);
	for (int e = 0; e < p->experts; e++) {
		int row = milp_row(milp, arena_printf(arena, "once%d", e), 1, 1);

		for (int n = 0; n < p->nodes; n++)
			milp_entry(milp, row, e * p->nodes + n, 1);
	}
	for (int n = 0; n < p->nodes; n++) {
		int slots = milp_row(milp, arena_printf(arena, "slots%d", n), p->each, p->each);
		int load = milp_row(
		    milp, arena_printf(arena, "load%d", n), -INFINITY, p->cap / mean * (1 + SLACK));

		for (int e = 0; e < p->experts; e++) {
			milp_entry(milp, slots, e * p->nodes + n, 1);
			milp_entry(milp, load, e * p->nodes + n, p->load[e] / mean);
		}
	}
	return milp;
}

/* Rows of build(): experts, then slots and load by turns. */
static double
row_limit(const struct node_problem *p, int row)
{
	if (row < p->experts)
		return 1;
	return (row - p->experts) % 2 == 0 ? p->each : p->each * (1 + SLACK);
}

/* What the duals prove, in units of `gain`, without trusting them. */
static void
lagrange(const struct node_problem *p, const double *dual, struct nodes_lp *lp)
{
	double mean = p->cap / p->each, bound = 0;

	for (int row = 0; row < p->experts + 2 * p->nodes; row++) {
		bool load = row >= p->experts && (row - p->experts) % 2 == 1;
		double price = load ? fmin(0, dual[row]) : dual[row]; /* of a minimum's <= row */

		bound -= price * row_limit(p, row);
	}
	for (int e = 0; e < p->experts; e++)
		for (int n = 0; n < p->nodes; n++) {
			const double *of_node = &dual[p->experts + 2 * n];
			double left = p->gain[n * p->experts + e] / p->all + dual[e] + of_node[0] +
				      fmin(0, of_node[1]) * p->load[e] / mean;

			bound += fmax(0, left);
			lp->loss[e * p->nodes + n] = fmax(0, -left) * p->all;
		}
	lp->bound = fmin(p->all, bound * p->all);
}

struct nodes_lp
nodes_relax(struct arena *arena, const struct node_problem *p)
{
	struct milp *milp = build(arena, p, MILP_CONTINUOUS);
	struct milp_options options = {0};
	struct milp_result result = milp_solve(arena, milp, &options);
	struct nodes_lp lp = {.bound = p->all};

	if (result.status == MILP_OPTIMAL) {
		lp.x = result.x;
		lp.loss = arena_array(arena, (size_t)(p->experts * p->nodes), sizeof(double));
		lagrange(p, result.dual, &lp);
	}
	milp_release(milp);
	return lp;
}

/* Experts by the largest part that the LP gives them to one node, each to that node while it has
 * room. */
static void
round_point(const struct node_problem *p, const double *x, int *room, int *node_of)
{
	for (int e = 0; e < p->experts; e++)
		node_of[e] = -1;
	for (int n = 0; n < p->nodes; n++)
		room[n] = p->each;
	for (int placed = 0; placed < p->experts; placed++) {
		int best = -1;
		double most = -1;

		for (int i = 0; i < p->experts * p->nodes; i++)
			if (node_of[i / p->nodes] < 0 && room[i % p->nodes] > 0 && x[i] > most) {
				most = x[i];
				best = i;
			}
		node_of[best / p->nodes] = best % p->nodes;
		room[best % p->nodes]--;
	}
}

static double
excess(const struct nodes_state *s)
{
	double sum = 0;

	for (int n = 0; n < s->p->nodes; n++)
		sum += fmax(0, s->load[n] - s->p->cap);
	return sum;
}

/* The exchange that takes most off the excess for what it costs; false when none does. */
static bool
repair_step(struct nodes_state *s)
{
	double cap = s->p->cap, best = 0;
	int one = -1, two = -1;

	for (int e = 0; e < s->p->experts; e++) {
		double load_e = s->load[s->node_of[e]];

		if (load_e <= cap)
			continue;
		for (int f = 0; f < s->p->experts; f++) {
			double d = s->p->load[e] - s->p->load[f], load_f, less, cost;

			if (s->node_of[e] == s->node_of[f] || d <= 0)
				continue;
			load_f = s->load[s->node_of[f]];
			less = (load_e - cap) - fmax(0, load_e - d - cap) + fmax(0, load_f - cap) -
			       fmax(0, load_f + d - cap);
			cost = fmax(0, -exchange_gain(s, e, f)) + SLACK * s->p->all;
			if (less > SLACK * cap && less / cost > best) {
				best = less / cost;
				one = e;
				two = f;
			}
		}
	}
	if (one >= 0)
		exchange_nodes(s, one, two);
	return one >= 0;
}

bool
nodes_round(
    struct arena *scratch, const struct node_problem *p, const struct nodes_lp *lp, int *node_of)
{
	struct arena_mark mark = arena_mark(scratch);
	struct nodes_state s = {.p = p};
	bool within;

	if (!lp->x)
		return false;
	s.node_of = arena_array(scratch, (size_t)p->experts, sizeof(int));
	s.load = arena_array(scratch, (size_t)p->nodes, sizeof(double));
	round_point(p, lp->x, arena_array(scratch, (size_t)p->nodes, sizeof(int)), s.node_of);
	node_loads(&s);
	while (excess(&s) > 0 && repair_step(&s))
		;
	within = excess(&s) <= SLACK * p->cap;
	if (within)
		memcpy(node_of, s.node_of, (size_t)p->experts * sizeof(int));
	arena_reset(scratch, mark);
	return within;
}

/* What GLPK found is counted again from the gains; it replaces the start only where it is better.
 */
static void
take_better(const struct node_problem *p, const double *x, int *found, int *node_of)
{
	for (int e = 0; e < p->experts; e++) {
		found[e] = node_of[e];
		for (int n = 0; n < p->nodes; n++)
			if (x[e * p->nodes + n] > 0.5)
				found[e] = n;
	}
	if (nodes_gain(p, found) > nodes_gain(p, node_of))
		memcpy(node_of, found, (size_t)p->experts * sizeof(int));
}

/* Fixes what no better assignment has; the number of columns that are left open. */
static int
fix_columns(
    const struct node_problem *p, const struct nodes_lp *lp, const int *node_of, struct milp *milp)
{
	double left = lp->bound - nodes_gain(p, node_of) + SLACK * p->all;
	int open = p->experts * p->nodes;

	for (int i = 0; i < p->experts * p->nodes && lp->loss; i++)
		if (lp->loss[i] > left && node_of[i / p->nodes] != i % p->nodes) {
			milp_set_bounds(milp, i, 0, 0);
			open--;
		}
	return open;
}

double
nodes_prove(struct arena *scratch, const struct node_problem *p, const struct nodes_lp *lp,
    double effort, int *node_of, bool *proven)
{
	struct arena_mark mark = arena_mark(scratch);
	struct milp *milp = build(scratch, p, MILP_BINARY);
	double *start = arena_array(scratch, (size_t)(p->experts * p->nodes), sizeof(double));
	int *found = arena_array(scratch, (size_t)p->experts, sizeof(int));
	struct milp_options options = {.start = start};
	struct milp_result result;
	double bound = lp->bound;

	for (int e = 0; e < p->experts; e++)
		start[e * p->nodes + node_of[e]] = 1;
	options.iteration_limit =
	    (int)(effort * PROVE_WORK / (p->experts * p->nodes)) + PROVE_LEAST;
	fix_columns(p, lp, node_of, milp);
	result = milp_solve(scratch, milp, &options);
	*proven = result.status == MILP_OPTIMAL;
	if (result.status == MILP_OPTIMAL || result.status == MILP_FEASIBLE)
		take_better(p, result.x, found, node_of);
	/* Where columns were fixed, the bound holds for what beats the start: no bound below that.
	 */
	if (result.status != MILP_FAILED && isfinite(result.bound))
		bound = fmin(bound, fmax(-result.bound * p->all, nodes_gain(p, node_of)));
	milp_release(milp);
	arena_reset(scratch, mark);
	return bound;
}
