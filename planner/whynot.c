/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Why not another value of an axis?
 *
 * For each axis the values next to the winner's (no and full recompute, the other
 * dispatchers): the best candidate with it, from a sweep of its own; the master
 * MILP with the value forced must agree. The reason is where its step differs most
 * from the winner's, or what does not fit, or the rule that forbids it.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/str.h"
#include "base/units.h"
#include "planner/search_private.h"

enum { MAX_LINES = 6, SECOND_LINE_AFTER = 4, LABEL_WIDTH = 15, MAX_PARTS_NAMED = 2 };
/* Differences below this are none that a reader should act on. */
#define SAME 5e-4
#define WORTH_NAMING 0.15 /* of the whole difference */
#define SET_OFF 1.5       /* times the whole difference that what grew must be, to say what fell */

static int
next_legal(const struct search *search, int axis, int from, int step)
{
	for (int v = from + step; v >= 0 && v < search->grid.axes[axis].n; v += step)
		if (search->legal[axis][v] > 0)
			return v;
	return -1;
}

static void
add_other(struct search *search, int axis, int value, struct other_value others[], int *n)
{
	struct other_value *other = &others[*n];

	if (value < 0 || *n == MAX_OTHER_VALUES)
		return;
	*other = (struct other_value){.axis = (enum axis)axis, .value = value, .best = -1};
	(*n)++;
	if (search_sweep(search, (struct filter){(enum axis)axis, value}, 1, &other->best) == 0)
		other->best = -1;
}

/* Values of axes without an order: all dispatchers, no recompute and full recompute. */
static bool
is_asked_for(const struct grid_axis *axis, int which, int value)
{
	enum recompute_kind kind;

	if (which != AXIS_RECOMPUTE)
		return true;
	kind = recompute_of_value(axis->values[value]).kind;
	return kind == RECOMPUTE_NONE || kind == RECOMPUTE_FULL;
}

int
search_other_values(struct search *search, const struct candidate *winner,
    struct other_value others[MAX_OTHER_VALUES])
{
	int n = 0;

	for (int a = 0; a < AXES && !search->account.stopped_early; a++) {
		const struct grid_axis *axis = &search->grid.axes[a];
		int now = winner->value[a];

		if (a != AXIS_RECOMPUTE && a != AXIS_DISPATCHER) {
			add_other(search, a, next_legal(search, a, now, -1), others, &n);
			add_other(search, a, next_legal(search, a, now, 1), others, &n);
			continue;
		}
		for (int v = 0; v < axis->n; v++)
			if (v != now && search->legal[a][v] > 0 && is_asked_for(axis, a, v))
				add_other(search, a, v, others, &n);
	}
	return n;
}

static const char *
label_of(struct arena *arena, enum axis axis, int64_t value)
{
	static const char *const heads[AXES] = {[AXIS_TP] = "TP",
	    [AXIS_CP] = "CP",
	    [AXIS_PP] = "PP",
	    [AXIS_VPP] = "VPP",
	    [AXIS_EP] = "EP",
	    [AXIS_ETP] = "ETP",
	    [AXIS_MICRO_BATCH] = "micro-batch",
	    [AXIS_RECOMPUTE] = "recompute",
	    [AXIS_ZERO] = "zero",
	    [AXIS_DISPATCHER] = "dispatcher"};
	const char *text = axis_value_text(arena, axis, value);

	if (axis == AXIS_RECOMPUTE && strcmp(text, "none") == 0)
		return "no recompute";
	if (axis == AXIS_DISPATCHER)
		return text;
	return arena_printf(arena, "%s %s", heads[axis], text);
}

/* "2.1 -> 6.4 s", both in the unit of the larger. */
static const char *
change_text(struct arena *arena, double from_s, double to_s)
{
	from_s = fmax(from_s, 0); /* a difference of sums may be below by rounding */
	if (fmax(from_s, to_s) < 0.1)
		return arena_printf(arena, "%.1f -> %.1f ms", 1e3 * from_s, 1e3 * to_s);
	return arena_printf(
	    arena, "%.*f -> %.*f s", to_s < 10 ? 2 : 1, from_s, to_s < 10 ? 2 : 1, to_s);
}

/* A digit of what change_text() prints. */
static bool
is_seen(double from_s, double to_s)
{
	double digit_s = fmax(from_s, to_s) < 0.1 ? 1e-4 : to_s < 10 ? 0.01 : 0.1;

	return fabs(to_s - from_s) >= digit_s;
}

/* The part that grew most (sign 1) or fell most (-1) of those that are not named; -1 none. */
static int
most_changed(const struct estimate *winner, const struct estimate *other, double sign,
    const bool *named, double *by_s)
{
	int most = -1;

	*by_s = 0;
	for (int p = 0; p < TIME_PARTS; p++) {
		double by = sign * (other->mean_s[p] - winner->mean_s[p]);

		if (!named[p] && by > *by_s && is_seen(winner->mean_s[p], other->mean_s[p])) {
			most = p;
			*by_s = by;
		}
	}
	return most;
}

static void
add_part(struct str *text, const char *separator, const struct model *model, int part,
    const struct estimate *winner, const struct estimate *other)
{
	str_addf(text, "%s%s %s", separator, time_part_label(model, (enum time_part)part),
	    change_text(text->arena, winner->mean_s[part], other->mean_s[part]));
}

/*
 * The parts of the step that grew most, as far as they explain the difference, and what fell
 * most where they grew by more than that.
 */
static void
add_changed_parts(struct str *text, const struct model *model, const struct estimate *winner,
    const struct estimate *other)
{
	double whole = other->step_s - winner->step_s, sum = 0, by;
	bool named[TIME_PARTS] = {false};
	int part;

	for (int n = 0; n < MAX_PARTS_NAMED; n++) {
		part = most_changed(winner, other, 1, named, &by);
		if (part < 0 || by < WORTH_NAMING * whole)
			break;
		named[part] = true;
		sum += by;
		add_part(text, n == 0 ? ": " : ", ", model, part, winner, other);
	}
	part = most_changed(winner, other, -1, named, &by);
	if (part >= 0 && sum > SET_OFF * whole && by > WORTH_NAMING * sum)
		add_part(text, "; less ", model, part, winner, other);
}

static const char *
percent_text(struct arena *arena, double fraction)
{
	return arena_printf(arena, "%.*f %%", fraction < 0.0995 ? 1 : 0, 100 * fraction);
}

static void
add_possible(struct search *search, struct str *text, const struct estimate *winner,
    const struct candidate *best)
{
	enum objective objective = search->job->objective;
	double slower = best->step_s / winner->step_s - 1;
	struct estimate other;

	candidate_estimate(search, best, true, NULL, &other);
	if (objective == OBJECTIVE_GPUS && other.strategy.world != winner->strategy.world) {
		str_addf(text, "needs %s GPUs at least",
		    units_grouped(search->arena, other.strategy.world));
		return;
	}
	if (objective == OBJECTIVE_MEMORY) {
		double more = best->bytes / winner->worst_bytes - 1;

		str_addf(text, "needs %s at least", units_gib(search->arena, best->bytes));
		if (more >= SAME)
			str_addf(text, ", %s more", percent_text(search->arena, more));
		return;
	}
	if (slower < SAME) {
		str_add(text, "no faster");
		return;
	}
	str_addf(text, "%s slower", percent_text(search->arena, slower));
	add_changed_parts(text, search->model, winner, &other);
}

/* Of the candidates with the value the one that misses by least; NULL when none was kept. */
static const struct candidate *
nearest_unfit(struct search *search, const struct other_value *other, struct candidate *room)
{
	const struct candidate *nearest = NULL;

	*room = search->nearest[other->axis][other->value];
	if (room->bound_bytes > 0) {
		candidate_price(search, room, INFINITY);
		nearest = room;
	}
	for (int i = 0; i < search->n_candidates; i++) {
		const struct candidate *c = &search->candidates[i];

		if (c->value[other->axis] == other->value && c->bytes > search->cap_bytes &&
		    (c->state == CANDIDATE_UNFIT || c->state == CANDIDATE_OVER_LIMIT) &&
		    (!nearest || c->bytes < nearest->bytes))
			nearest = c;
	}
	return nearest;
}

static void
add_unfit(struct search *search, struct str *text, const struct candidate *c, struct why_not *why)
{
	struct stage_memory *stages = arena_array(search->arena, STRATEGY_MAX_PP, sizeof(*stages));
	const struct stage_memory *worst;
	struct estimate estimate;
	double limit = search->cap_bytes;
	const char *than = "than your limit";
	int biggest = 0;

	candidate_estimate(search, c, false, stages, &estimate);
	worst = &stages[estimate.worst_stage];
	for (int p = 1; p < MEMORY_PARTS; p++)
		if (worst->parts[p] > worst->parts[biggest])
			biggest = p;
	if (search->job->max_memory_bytes == 0) {
		limit = search->capacity_bytes;
		than = "than there is";
	}
	why->over_bytes = estimate.worst_bytes - limit;
	str_addf(text, "stage %d needs %s, ", estimate.worst_stage,
	    units_gib(search->arena, estimate.worst_bytes));
	if (why->over_bytes > 0)
		str_addf(text, "%s more %s", units_gib(search->arena, why->over_bytes), than);
	else
		str_addf(text, "at risk with %s", units_gib(search->arena, limit));
	str_addf(text, " (%s %s)", memory_part_names[biggest],
	    units_gib_number(search->arena, worst->parts[biggest]));
	why->over_bytes = fmax(0, why->over_bytes);
}

static struct why_not
why_not_other(struct search *search, const struct estimate *winner, const struct other_value *other)
{
	int64_t value = search->grid.axes[other->axis].values[other->value];
	struct why_not why = {.axis = other->axis, .value = value};
	const char *label = label_of(search->arena, other->axis, value);
	struct str text = str_new(search->arena);
	const struct candidate *nearest;
	struct candidate room;

	str_add(&text, label);
	str_pad(&text, ' ', strlen(label) < LABEL_WIDTH ? LABEL_WIDTH - strlen(label) : 1);
	if (other->best >= 0) {
		why.feasible = true;
		why.step_s = search->candidates[other->best].step_s;
		add_possible(search, &text, winner, &search->candidates[other->best]);
	} else if ((nearest = nearest_unfit(search, other, &room)) != NULL) {
		add_unfit(search, &text, nearest, &why);
	} else {
		str_add(&text, "breaks a limit of yours");
	}
	why.text = text.text;
	return why;
}

/* What a reader asks about first. */
static int
rank_of(enum axis axis)
{
	static const enum axis order[AXES] = {AXIS_EP, AXIS_TP, AXIS_PP, AXIS_RECOMPUTE, AXIS_CP,
	    AXIS_MICRO_BATCH, AXIS_VPP, AXIS_ETP, AXIS_DISPATCHER, AXIS_ZERO};
	int rank = 0;

	while (order[rank] != axis)
		rank++;
	return rank;
}

/* By axis; of one axis the nearest contender, then what misses the memory by least. */
static int
compare_why_not(const void *a, const void *b)
{
	const struct why_not *x = a, *y = b;
	double vx = x->feasible ? x->step_s : x->over_bytes;
	double vy = y->feasible ? y->step_s : y->over_bytes;

	if (x->axis != y->axis)
		return rank_of(x->axis) - rank_of(y->axis);
	if (x->feasible != y->feasible)
		return x->feasible ? -1 : 1;
	if (vx < vy || vx > vy)
		return vx < vy ? -1 : 1;
	return (x->value > y->value) - (x->value < y->value);
}

/* At most so many lines: the axes in their order, a second line of one after four others. */
static int
choose_lines(struct why_not *all, int n)
{
	int score[MAX_OTHER_VALUES], turn = 0, kept = 0, limit = 0;

	qsort(all, (size_t)n, sizeof(*all), compare_why_not);
	for (int i = 0; i < n; i++) {
		turn = i > 0 && all[i].axis == all[i - 1].axis ? turn + 1 : 0;
		score[i] = rank_of(all[i].axis) + SECOND_LINE_AFTER * turn;
	}
	while (kept < n && kept < MAX_LINES) {
		kept = 0;
		limit++;
		for (int i = 0; i < n; i++)
			kept += score[i] < limit;
	}
	kept = 0;
	for (int i = 0; i < n && kept < MAX_LINES; i++)
		if (score[i] < limit)
			all[kept++] = all[i];
	return kept;
}

/* The same candidate may be the best with several other values: it is named once. */
static bool
is_named(const struct other_value *others, int n, int best)
{
	for (int i = 0; i < n; i++)
		if (best >= 0 && others[i].best == best)
			return true;
	return false;
}

void
search_why_not(struct search *search, const struct estimate *winner,
    const struct other_value *others, int n_others, struct plan *plan)
{
	plan->why_not = arena_array(search->arena, MAX_OTHER_VALUES, sizeof(*plan->why_not));
	for (int i = 0; i < n_others; i++)
		if (!is_named(others, i, others[i].best))
			plan->why_not[plan->n_why_not++] =
			    why_not_other(search, winner, &others[i]);
	plan->n_why_not = choose_lines(plan->why_not, plan->n_why_not);
}
