/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How is a mixed-integer model put together, and does a point satisfy it?
 *
 * minimise sum_j cost_j x_j  subject to  low_i <= sum_j a_ij x_j <= high_i,
 * low_j <= x_j <= high_j, some x_j integer. Knows no solver.
 */
#include "planner/milp.h"

#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "planner/milp_private.h"

enum { FIRST_ROOM = 16, NAME_MAX_LENGTH = 60 };

const char *const milp_status_names[] = {"optimal", "feasible", "infeasible", "unknown", "failed"};

struct milp *
milp_new(struct arena *arena, const char *name)
{
	struct milp *milp = arena_alloc(arena, sizeof(*milp));

	milp->arena = arena;
	milp->name = arena_strdup(arena, name);
	return milp;
}

static void
mistake(struct milp *milp, const char *what, const char *name)
{
	if (!milp->mistake)
		milp->mistake =
		    arena_printf(milp->arena, "%s '%s' of model '%s'", what, name, milp->name);
}

/* An array one longer, by doubling. */
static void *
room_for(struct arena *arena, void *array, int count, int *room, size_t size)
{
	int more = *room ? 2 * *room : FIRST_ROOM;

	if (count < *room)
		return array;
	array = arena_grow(arena, array, (size_t)*room * size, (size_t)more * size);
	*room = more;
	return array;
}

static bool
is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool
is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool
name_is_fine(const char *name)
{
	size_t length = strlen(name);

	if (length > NAME_MAX_LENGTH || !is_letter(name[0]))
		return false;
	if ((name[0] == 'e' || name[0] == 'E') && (is_digit(name[1]) || name[1] == '\0'))
		return false;
	for (size_t i = 0; i < length; i++)
		if (!is_letter(name[i]) && !is_digit(name[i]) && !strchr("_.()", name[i]))
			return false;
	return true;
}

static bool
bounds_are_fine(double low, double high)
{
	return low <= high && low < INFINITY && high > -INFINITY;
}

int
milp_column(
    struct milp *milp, const char *name, enum milp_kind kind, double low, double high, double cost)
{
	struct milp_var *column;

	milp->columns = room_for(milp->arena, milp->columns, milp->n_columns, &milp->columns_room,
	    sizeof(*milp->columns));
	column = &milp->columns[milp->n_columns];
	*column = (struct milp_var){
	    .name = arena_strdup(milp->arena, name), .kind = kind, .low = low, .high = high};
	if (!name_is_fine(name))
		mistake(milp, "unusable name of column", name);
	milp_set_bounds(milp, milp->n_columns++, low, high);
	milp_set_cost(milp, milp->n_columns - 1, cost);
	return milp->n_columns - 1;
}

int
milp_row(struct milp *milp, const char *name, double low, double high)
{
	milp->rows =
	    room_for(milp->arena, milp->rows, milp->n_rows, &milp->rows_room, sizeof(*milp->rows));
	milp->rows[milp->n_rows] =
	    (struct milp_constraint){.name = arena_strdup(milp->arena, name)};
	if (!name_is_fine(name))
		mistake(milp, "unusable name of row", name);
	milp_set_row_bounds(milp, milp->n_rows++, low, high);
	return milp->n_rows - 1;
}

static bool
has_column(struct milp *milp, int column)
{
	if (column >= 0 && column < milp->n_columns)
		return true;
	mistake(milp, "no such column in", "bounds, costs or entries");
	return false;
}

static bool
has_row(struct milp *milp, int row)
{
	if (row >= 0 && row < milp->n_rows)
		return true;
	mistake(milp, "no such row in", "bounds or entries");
	return false;
}

void
milp_set_bounds(struct milp *milp, int column, double low, double high)
{
	struct milp_var *var;

	if (!has_column(milp, column))
		return;
	var = &milp->columns[column];
	if (!bounds_are_fine(low, high))
		mistake(milp, "crossed or infinite bounds of column", var->name);
	if (var->kind != MILP_CONTINUOUS &&
	    ((isfinite(low) && low != floor(low)) || (isfinite(high) && high != floor(high))))
		mistake(milp, "fractional bound of integer column", var->name);
	if (var->kind == MILP_BINARY && (low < 0 || high > 1))
		mistake(milp, "bounds beyond 0 and 1 of binary column", var->name);
	var->low = low;
	var->high = high;
	var->changed = true;
}

void
milp_set_cost(struct milp *milp, int column, double cost)
{
	if (!has_column(milp, column))
		return;
	if (!isfinite(cost))
		mistake(milp, "infinite cost of column", milp->columns[column].name);
	milp->columns[column].cost = cost;
	milp->columns[column].changed = true;
}

void
milp_set_row_bounds(struct milp *milp, int row, double low, double high)
{
	if (!has_row(milp, row))
		return;
	if (!bounds_are_fine(low, high))
		mistake(milp, "crossed or infinite bounds of row", milp->rows[row].name);
	milp->rows[row].low = low;
	milp->rows[row].high = high;
	milp->rows[row].changed = true;
}

static struct milp_entry *
find_entry(const struct milp_var *column, int row)
{
	struct milp_entry *entry = column->entries;

	while (entry && entry->row != row)
		entry = entry->next;
	return entry;
}

static void
add_entry(struct milp *milp, struct milp_var *column, int row, double value)
{
	struct milp_entry *entry = arena_alloc(milp->arena, sizeof(*entry));

	*entry = (struct milp_entry){.row = row, .value = value};
	if (column->last)
		column->last->next = entry;
	else
		column->entries = entry;
	column->last = entry;
	column->n_entries++;
	column->entries_changed = true;
}

void
milp_entry(struct milp *milp, int row, int column, double value)
{
	if (!has_row(milp, row) || !has_column(milp, column))
		return;
	if (!isfinite(value))
		mistake(milp, "infinite entry in column", milp->columns[column].name);
	if (find_entry(&milp->columns[column], row)) {
		mistake(milp, "second entry for a row in column", milp->columns[column].name);
		return;
	}
	add_entry(milp, &milp->columns[column], row, value);
}

void
milp_set_entry(struct milp *milp, int row, int column, double value)
{
	struct milp_entry *entry;

	if (!has_row(milp, row) || !has_column(milp, column))
		return;
	entry = find_entry(&milp->columns[column], row);
	if (!entry) {
		milp_entry(milp, row, column, value);
		return;
	}
	if (!isfinite(value))
		mistake(milp, "infinite entry in column", milp->columns[column].name);
	entry->value = value;
	milp->columns[column].entries_changed = true;
}

size_t
milp_columns(const struct milp *milp)
{
	return (size_t)milp->n_columns;
}

size_t
milp_rows(const struct milp *milp)
{
	return (size_t)milp->n_rows;
}

/* How far a value is outside [low, high], relative to the limit that it breaks. */
static double
outside(double value, double low, double high)
{
	if (!isfinite(value))
		return INFINITY;
	if (value < low)
		return (low - value) / fmax(1, fabs(low));
	if (value > high)
		return (value - high) / fmax(1, fabs(high));
	return 0;
}

double
milp_violation(const struct milp *milp, const double *x)
{
	struct arena_mark mark = arena_mark(milp->arena);
	double *sums = arena_array(milp->arena, (size_t)milp->n_rows, sizeof(*sums));
	double worst = 0;

	for (int j = 0; j < milp->n_columns; j++) {
		const struct milp_var *column = &milp->columns[j];

		worst = fmax(worst, outside(x[j], column->low, column->high));
		if (column->kind != MILP_CONTINUOUS)
			worst = fmax(worst, fabs(x[j] - nearbyint(x[j])));
		for (const struct milp_entry *e = column->entries; e; e = e->next)
			sums[e->row] += e->value * x[j];
	}
	for (int i = 0; i < milp->n_rows; i++)
		worst = fmax(worst, outside(sums[i], milp->rows[i].low, milp->rows[i].high));
	arena_reset(milp->arena, mark);
	return worst;
}
