/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which points of the grid are legal, what do they cost at least, and which rule
 * do the others break?
 *
 * Axes are fixed one after another. A rule is tried as soon as the axes that it
 * looks at are fixed: when it is broken then, all points below are rejected by it
 * and counted by multiplication. A rule that is not in the table below is tried
 * on every point. (A point that breaks several rules is counted for one of them.)
 *
 * Points that differ only in recompute and in the number of chunks a stage (one, or
 * several) form a family with common lower bounds: no recompute bounds the time,
 * full recompute the memory. Families are opened into candidates by the sweeps.
 */
#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "planner/search_private.h"

/* In this order, after the world. */
static const enum axis order[AXES] = {AXIS_PP, AXIS_TP, AXIS_CP, AXIS_EP, AXIS_ETP, AXIS_ZERO,
    AXIS_MICRO_BATCH, AXIS_DISPATCHER, AXIS_VPP, AXIS_RECOMPUTE};
enum { GRID_MAX_POINTS = 200000000 }; /* default grids have less than a tenth */
enum { FAMILY_LEVEL = AXES - 2 };     /* all but the last two are fixed: those span the families */

#define A(name) (1U << AXIS_##name)
enum {
	DENSE = A(TP) | A(CP) | A(PP),
	SPARSE = A(EP) | A(ETP) | A(PP),
	BATCH = DENSE | A(MICRO_BATCH),
};

/* The axes that a rule looks at, besides the world and what the job keeps. */
static const struct {
	const char *id;
	unsigned axes;
} rule_axes[] = {
    {"GRID-001", 0},
    {"GRID-002", 0},
    {"GRID-003", A(PP) | A(VPP)},
    {"GRID-004", A(CP)},
    {"MEG-001", DENSE},
    {"DS-038", DENSE},
    {"TT-004", DENSE},
    {"DS-051", A(TP) | A(ETP)},
    {"DS-031", A(EP) | A(PP)},
    {"DS-032", DENSE | A(EP)},
    {"DS-050", SPARSE},
    {"TT-007", A(TP) | A(ETP)},
    {"TT-005", DENSE | SPARSE},
    {"MEG-003", SPARSE},
    {"GRID-006", SPARSE},
    {"GRID-007", DENSE | SPARSE},
    {"MEG-004", DENSE | SPARSE},
    {"MEG-005", DENSE | SPARSE},
    {"MEG-012", BATCH},
    {"MEG-011", BATCH},
    {"DS-010", BATCH},
    {"TT-010", BATCH},
    {"GRID-008", A(PP) | A(VPP)},
    {"MEG-028", A(PP) | A(VPP)},
    {"GRID-009", A(VPP)},
    {"MEG-029", BATCH | A(VPP)},
    {"MEG-030", BATCH | A(VPP)},
    {"MEG-021", A(PP) | A(VPP)},
    {"MEG-040", A(TP)},
    {"MEG-041", A(TP)},
    {"TT-014", A(TP)},
    {"MEG-044", A(CP)},
    {"MEG-043", A(TP) | A(CP)},
    {"TT-009", A(TP) | A(CP)},
    {"MEG-070", A(EP)},
    {"MEG-071", A(EP)},
    {"DS-030", A(EP)},
    {"TT-008", A(EP)},
    {"GRID-011", A(TP) | A(ETP)},
    {"MEG-072", A(TP) | A(ETP)},
    {"MEG-074", A(ETP)},
    {"MEG-053", A(RECOMPUTE)},
    {"GRID-012", A(RECOMPUTE)},
    {"GRID-013", A(DISPATCHER)},
    {"MEG-077", A(DISPATCHER) | A(EP) | A(ETP)},
    {"GRID-014", 0},
    {"DS-036", A(ZERO) | A(EP)},
    {"DS-037", A(ZERO) | A(PP)},
};

/* Rules by the level at which all they look at is fixed: 0 the world, i + 1 order[i]. */
struct levels {
	int n[AXES + 1];
	int rules[AXES + 1][GRID_MAX_RULES];
};

struct walk {
	struct search *search;
	struct levels levels;
	struct strategy now; /* as chosen; derived anew at each level */
	int value[AXES];
	int world;
};

static int
level_of(const char *id)
{
	int level = AXES;

	for (size_t i = 0; i < sizeof(rule_axes) / sizeof(rule_axes[0]); i++) {
		if (strcmp(rule_axes[i].id, id) != 0)
			continue;
		for (level = AXES; level > 0; level--)
			if (rule_axes[i].axes & 1U << order[level - 1])
				break;
	}
	return level;
}

static void
sort_rules(struct levels *levels, enum framework framework)
{
	for (int r = 0; grid_rules[r].id; r++) {
		int level = level_of(grid_rules[r].id);

		if (grid_rules[r].frameworks & 1U << framework)
			levels->rules[level][levels->n[level]++] = r;
	}
}

static int64_t *
degree_of(struct strategy *s, enum axis axis)
{
	switch (axis) {
	case AXIS_TP:
		return &s->tp;
	case AXIS_CP:
		return &s->cp;
	case AXIS_PP:
		return &s->pp;
	case AXIS_VPP:
		return &s->vpp;
	case AXIS_EP:
		return &s->ep;
	case AXIS_ETP:
		return &s->etp;
	case AXIS_MICRO_BATCH:
		return &s->micro_batch;
	default:
		return NULL;
	}
}

static void
set_axis(struct strategy *s, enum axis axis, int64_t value)
{
	int64_t *degree = degree_of(s, axis);

	if (degree)
		*degree = value;
	else if (axis == AXIS_RECOMPUTE)
		s->recompute = recompute_of_value(value);
	else if (axis == AXIS_ZERO)
		s->zero = (int)value;
	else
		s->dispatcher = (enum dispatcher)value;
}

/* The job's settings with every degree open. */
static struct strategy
open_strategy(const struct job *job)
{
	struct strategy s = job->base;

	s.dp = s.edp = 0;
	s.layout = NULL;
	for (int a = 0; a < AXES; a++)
		if (degree_of(&s, (enum axis)a))
			*degree_of(&s, (enum axis)a) = 0;
	return s;
}

struct strategy
candidate_strategy(const struct search *search, const struct candidate *candidate)
{
	const struct grid *grid = &search->grid;
	struct strategy s = open_strategy(search->job);

	s.world = grid->worlds[candidate->world];
	for (int a = 0; a < AXES; a++)
		set_axis(&s, (enum axis)a, grid->axes[a].values[candidate->value[a]]);
	strategy_derive(&s, search->model, s.world);
	return s;
}

static int
values_at(const struct walk *walk, int level)
{
	const struct grid *grid = &walk->search->grid;

	if (order[level] == AXIS_VPP)
		return grid_vpp_values(grid, walk->now.pp);
	if (order[level] == AXIS_DISPATCHER)
		return grid_dispatchers(grid, walk->now.ep, walk->now.etp);
	return grid->axes[order[level]].n;
}

/* Points below `level`, all values of the axes from there on. */
static int64_t
points_from(struct walk *walk, int level)
{
	int64_t points = 0;
	int64_t *degree;
	int64_t kept;

	if (level == AXES)
		return 1;
	/* Only PP, EP and ETP change how many values a later axis has. */
	if (order[level] != AXIS_PP && order[level] != AXIS_EP && order[level] != AXIS_ETP)
		return values_at(walk, level) * points_from(walk, level + 1);
	degree = degree_of(&walk->now, order[level]);
	kept = *degree;
	for (int i = 0; i < values_at(walk, level); i++) {
		*degree = walk->search->grid.axes[order[level]].values[i];
		points += points_from(walk, level + 1);
	}
	*degree = kept;
	return points;
}

/* The first rule of the level that is broken, or -1. */
static int
broken_rule(const struct walk *walk, int level, const struct strategy *derived)
{
	for (int i = 0; i < walk->levels.n[level]; i++) {
		int r = walk->levels.rules[level][i];

		if (!grid_rules[r].holds(derived, walk->search->model))
			return r;
	}
	return -1;
}

/* Room for one more in an array that doubles. */
static void *
room_for(struct arena *arena, void *array, int count, int *room, size_t size)
{
	int more = *room ? 2 * *room : 1024;

	if (count < *room)
		return array;
	array = arena_grow(arena, array, (size_t)*room * size, (size_t)more * size);
	*room = more;
	return array;
}

static void
keep_candidate(struct search *search, const struct candidate *candidate)
{
	search->candidates = room_for(search->arena, search->candidates, search->n_candidates,
	    &search->candidate_room, sizeof(*candidate));
	search->candidates[search->n_candidates++] = *candidate;
}

static void
keep_family(struct search *search, const struct family *family)
{
	search->families = room_for(search->arena, search->families, search->n_families,
	    &search->family_room, sizeof(*family));
	search->families[search->n_families++] = *family;
}

/* Remembers of every value the one that misses by least. */
static void
note_unfit(struct search *search, const struct candidate *candidate)
{
	for (int a = 0; a < AXES; a++) {
		struct candidate *nearest = &search->nearest[a][candidate->value[a]];

		if (nearest->bound_bytes <= 0 || candidate->bound_bytes < nearest->bound_bytes)
			*nearest = *candidate;
	}
}

/*
 * Full recompute with the count left open: one layer a chunk replayed bounds the
 * time, all of them the memory.
 */
static struct bound
bound_of(const struct search *search, const struct strategy *s)
{
	struct strategy least = *s;
	struct bound bound = evaluate_bound(search->evaluator, s);

	if (s->recompute.kind == RECOMPUTE_FULL && search->grid.free_recompute) {
		least.recompute.layers = 1;
		bound.step_s = fmin(bound.step_s, evaluate_bound(search->evaluator, &least).step_s);
	}
	return bound;
}

/* The candidate of a family with these two values; false when it breaks a rule. */
static bool
member_of(const struct search *search, const struct family *family, int vpp, int recompute,
    struct candidate *c)
{
	struct strategy s;
	struct bound bound;

	*c = family->first;
	c->value[AXIS_VPP] = (uint8_t)vpp;
	c->value[AXIS_RECOMPUTE] = (uint8_t)recompute;
	s = candidate_strategy(search, c);
	if (strategy_first_violation(&s, search->model))
		return false;
	bound = bound_of(search, &s);
	c->bound_s = bound.step_s;
	c->bound_bytes = bound.memory_bytes;
	return true;
}

static bool
is_in_family(const struct grid *grid, const struct family *family, int vpp)
{
	bool several = grid->axes[AXIS_VPP].values[vpp] > 1;

	return several == family->several_chunks &&
	       vpp <
		   grid_vpp_values(grid, grid->axes[AXIS_PP].values[family->first.value[AXIS_PP]]);
}

/* The least memory, or time, of a family when one value of recompute has it for sure; else -1. */
static int
extreme_recompute(const struct grid *grid, enum recompute_kind kind)
{
	const struct grid_axis *axis = &grid->axes[AXIS_RECOMPUTE];

	for (int v = 0; v < axis->n; v++) {
		struct recompute recompute = recompute_of_value(axis->values[v]);

		if (recompute.kind == kind && recompute.layers == 0)
			return v;
	}
	return -1;
}

/*
 * Bounds of the whole family, by the values that are extreme where they are legal,
 * else over all of them. `emptiest` is the member with the least memory bound.
 */
static void
bound_family(const struct search *search, struct family *family, struct candidate *emptiest)
{
	const struct grid *grid = &search->grid;
	int fast = extreme_recompute(grid, RECOMPUTE_NONE);
	int empty = extreme_recompute(grid, RECOMPUTE_FULL);
	struct candidate c;

	family->first.bound_s = family->first.bound_bytes = INFINITY;
	for (int pass = 0; pass < 2; pass++) {
		for (int r = 0; r < grid->axes[AXIS_RECOMPUTE].n; r++) {
			if (pass == 0 && r != fast && r != empty)
				continue;
			if (!member_of(search, family, family->first.value[AXIS_VPP], r, &c))
				continue;
			family->first.bound_s = fmin(family->first.bound_s, c.bound_s);
			if (c.bound_bytes < family->first.bound_bytes) {
				family->first.bound_bytes = c.bound_bytes;
				*emptiest = c;
			}
			fast = r == fast ? -2 : fast;
			empty = r == empty ? -2 : empty;
		}
		if (fast == -2 && empty == -2)
			return;
	}
}

static void
add_family(struct search *search, struct family *family)
{
	struct candidate emptiest = family->first;

	bound_family(search, family, &emptiest);
	if (search->keep_unfit) {
		keep_family(search, family);
	} else if (family->first.bound_bytes > search->capacity_bytes) {
		search->account.does_not_fit += family->legal;
		note_unfit(search, &emptiest);
	} else if (family->first.bound_bytes > search->cap_bytes) {
		search->account.over_limit += family->legal;
		note_unfit(search, &emptiest);
	} else if (family->first.bound_s > search->cap_step_s) {
		search->account.over_limit += family->legal;
	} else {
		keep_family(search, family);
	}
}

void
family_open(struct search *search, struct family *family)
{
	const struct grid *grid = &search->grid;

	if (family->n_members >= 0)
		return;
	family->member = search->n_candidates;
	family->n_members = 0;
	for (int v = 0; v < grid->axes[AXIS_VPP].n; v++) {
		for (int r = 0; is_in_family(grid, family, v) && r < grid->axes[AXIS_RECOMPUTE].n;
		     r++) {
			struct candidate c;

			if (!member_of(search, family, v, r, &c))
				continue;
			if (search->keep_unfit) {
				c.state = CANDIDATE_BOUND;
			} else if (c.bound_bytes > search->capacity_bytes) {
				c.state = CANDIDATE_UNFIT;
				c.bytes = c.bound_bytes;
			} else if (c.bound_bytes > search->cap_bytes ||
				   c.bound_s > search->cap_step_s) {
				c.state = CANDIDATE_OVER_LIMIT;
				c.bytes = c.bound_bytes;
			}
			keep_candidate(search, &c);
			family->n_members++;
		}
	}
}

/* Points of the two last axes: the legal ones make up to two families. */
static void
add_families(struct walk *walk)
{
	struct search *search = walk->search;
	const struct grid_axis *recompute = &search->grid.axes[AXIS_RECOMPUTE];
	struct family families[2] = {{.n_members = -1}, {.n_members = -1, .several_chunks = true}};

	for (int v = 0; v < values_at(walk, FAMILY_LEVEL); v++) {
		struct family *family = &families[search->grid.axes[AXIS_VPP].values[v] > 1];
		struct strategy derived;
		int r;

		walk->value[AXIS_VPP] = v;
		walk->now.vpp = search->grid.axes[AXIS_VPP].values[v];
		derived = walk->now;
		strategy_derive(&derived, search->model, walk->now.world);
		r = broken_rule(walk, FAMILY_LEVEL + 1, &derived);
		for (int i = 0; i < recompute->n; i++) {
			int broken = r;

			derived.recompute = recompute_of_value(recompute->values[i]);
			if (broken < 0)
				broken = broken_rule(walk, AXES, &derived);
			if (broken >= 0) {
				search->broken[broken]++;
				search->account.rejected++;
				continue;
			}
			for (int a = 0; family->legal == 0 && a < AXES; a++)
				family->first.value[a] = (uint8_t)walk->value[a];
			family->legal++;
			search->legal[AXIS_VPP][v]++;
			search->legal[AXIS_RECOMPUTE][i]++;
		}
	}
	walk->now.vpp = 0;
	for (int f = 0; f < 2; f++) {
		if (families[f].legal == 0)
			continue;
		for (int a = 0; a < AXES; a++)
			if (a != AXIS_VPP && a != AXIS_RECOMPUTE)
				search->legal[a][walk->value[a]] += families[f].legal;
		families[f].first.world = (uint8_t)walk->world;
		add_family(search, &families[f]);
	}
}

static void
walk_level(struct walk *walk, int level)
{
	struct strategy derived = walk->now;
	int r;

	strategy_derive(&derived, walk->search->model, walk->now.world);
	r = broken_rule(walk, level, &derived);
	if (r >= 0) {
		int64_t points = points_from(walk, level);

		walk->search->broken[r] += points;
		walk->search->account.rejected += points;
		return;
	}
	if (level == FAMILY_LEVEL) {
		add_families(walk);
		return;
	}
	for (int i = 0; i < values_at(walk, level); i++) {
		walk->value[order[level]] = i;
		set_axis(&walk->now, order[level], walk->search->grid.axes[order[level]].values[i]);
		walk_level(walk, level + 1);
	}
	if (degree_of(&walk->now, order[level]))
		*degree_of(&walk->now, order[level]) = 0;
}

static void
refuse_grid(struct search *search, double points)
{
	struct loc nowhere = {NULL, 0, 0};

	diag_error(search->diags, nowhere,
	    "the search would have %.2g strategies, at most %d are allowed", points,
	    GRID_MAX_POINTS);
	diag_last_hint(search->diags, "allow fewer values with --pin or --max");
	search->failed = true;
}

void
grid_enumerate(struct search *search)
{
	struct walk walk = {.search = search};
	double points = 0;

	sort_rules(&walk.levels, search->job->base.framework);
	for (int w = 0; w < search->grid.n_worlds; w++) {
		int64_t more;

		walk.world = w;
		walk.now = open_strategy(search->job);
		walk.now.world = search->grid.worlds[w];
		more = points_from(&walk, 0);
		points += (double)more;
		if (points > GRID_MAX_POINTS) {
			refuse_grid(search, points);
			return;
		}
		search->account.candidates += more;
		walk_level(&walk, 0);
	}
}
