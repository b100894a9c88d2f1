/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How does another solver read the model?
 *
 * CPLEX LP format as described in GLPK's reference manual, appendix C, and as CBC
 * and HiGHS read it. They differ in the corners, so the text keeps to what all
 * know: a range becomes two rows, every bound that is not [0, inf) is written in
 * full, a binary that was fixed becomes an integer with bounds.
 */
#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "base/str.h"
#include "planner/milp_private.h"

enum { LINE_WIDTH = 72 };

/* Text with line breaks between words; `start` is where the current line began. */
struct lines {
	struct str out;
	size_t start;
};

static void
word(struct lines *lines, const char *text)
{
	if (lines->out.length - lines->start + strlen(text) > LINE_WIDTH) {
		lines->start = lines->out.length;
		str_add(&lines->out, "\n ");
	}
	str_addc(&lines->out, ' ');
	str_add(&lines->out, text);
}

static void
end_line(struct lines *lines)
{
	str_addc(&lines->out, '\n');
	lines->start = lines->out.length;
}

static void
term(struct lines *lines, struct arena *arena, double value, const char *name)
{
	word(lines, arena_printf(arena, "%c %.17g %s", value < 0 ? '-' : '+', fabs(value), name));
}

/* The entries of each row, in the order of the columns. */
struct row_term {
	int column;
	double value;
};
struct row_terms {
	struct row_term *terms;
	int *first; /* [rows + 1] */
};

static struct row_terms
terms_by_row(struct arena *arena, const struct milp *milp)
{
	struct row_terms t = {.first = arena_array(arena, (size_t)milp->n_rows + 2, sizeof(int))};
	int *next = t.first + 1, total = 0;

	for (int j = 0; j < milp->n_columns; j++) {
		for (const struct milp_entry *e = milp->columns[j].entries; e; e = e->next)
			next[e->row + 1]++;
		total += milp->columns[j].n_entries;
	}
	for (int i = 0; i < milp->n_rows; i++)
		next[i + 1] += next[i];
	t.terms = arena_array(arena, (size_t)total, sizeof(*t.terms));
	for (int j = 0; j < milp->n_columns; j++)
		for (const struct milp_entry *e = milp->columns[j].entries; e; e = e->next)
			t.terms[next[e->row]++] = (struct row_term){j, e->value};
	return t;
}

static void
write_objective(struct lines *lines, struct arena *arena, const struct milp *milp)
{
	bool any = false;

	str_add(&lines->out, "Minimize\n");
	lines->start = lines->out.length;
	word(lines, "obj:");
	for (int j = 0; j < milp->n_columns; j++) {
		const struct milp_var *column = &milp->columns[j];

		if (column->cost == 0)
			continue;
		term(lines, arena, column->cost, column->name);
		any = true;
	}
	if (!any && milp->n_columns > 0)
		term(lines, arena, 0, milp->columns[0].name);
	end_line(lines);
}

static void
write_row(struct lines *lines, struct arena *arena, const struct milp *milp,
    const struct row_terms *t, int row, const char *suffix, const char *relation, double limit)
{
	word(lines, arena_printf(arena, "%s%s:", milp->rows[row].name, suffix));
	for (int i = t->first[row]; i < t->first[row + 1]; i++)
		term(lines, arena, t->terms[i].value, milp->columns[t->terms[i].column].name);
	if (t->first[row] == t->first[row + 1])
		term(lines, arena, 0, milp->columns[0].name);
	word(lines, arena_printf(arena, "%s %.17g", relation, limit));
	end_line(lines);
}

static void
write_rows(struct lines *lines, struct arena *arena, const struct milp *milp)
{
	struct row_terms t = terms_by_row(arena, milp);

	str_add(&lines->out, "Subject To\n");
	lines->start = lines->out.length;
	for (int i = 0; i < milp->n_rows; i++) {
		const struct milp_constraint *row = &milp->rows[i];
		bool range = isfinite(row->low) && isfinite(row->high);

		if (range && row->low == row->high) {
			write_row(lines, arena, milp, &t, i, "", "=", row->low);
			continue;
		}
		if (isfinite(row->low))
			write_row(lines, arena, milp, &t, i, range ? ".low" : "", ">=", row->low);
		if (isfinite(row->high))
			write_row(lines, arena, milp, &t, i, range ? ".high" : "", "<=", row->high);
	}
}

static bool
is_free_binary(const struct milp_var *column)
{
	return column->kind == MILP_BINARY && column->low == 0 && column->high == 1;
}

static const char *
bound_text(struct arena *arena, const struct milp_var *column)
{
	if (column->low == column->high)
		return arena_printf(arena, "%s = %.17g", column->name, column->low);
	if (!isfinite(column->low) && !isfinite(column->high))
		return arena_printf(arena, "%s free", column->name);
	if (!isfinite(column->low))
		return arena_printf(arena, "-inf <= %s <= %.17g", column->name, column->high);
	if (!isfinite(column->high))
		return arena_printf(arena, "%s >= %.17g", column->name, column->low);
	return arena_printf(arena, "%.17g <= %s <= %.17g", column->low, column->name, column->high);
}

static void
write_bounds(struct lines *lines, struct arena *arena, const struct milp *milp)
{
	str_add(&lines->out, "Bounds\n");
	for (int j = 0; j < milp->n_columns; j++) {
		const struct milp_var *column = &milp->columns[j];

		if (is_free_binary(column) || (column->low == 0 && !isfinite(column->high)))
			continue;
		lines->start = lines->out.length;
		word(lines, bound_text(arena, column));
		end_line(lines);
	}
}

static void
write_kind(struct lines *lines, const struct milp *milp, bool binary)
{
	bool any = false;

	for (int j = 0; j < milp->n_columns; j++) {
		const struct milp_var *column = &milp->columns[j];

		if (column->kind == MILP_CONTINUOUS || is_free_binary(column) != binary)
			continue;
		if (!any) {
			str_add(&lines->out, binary ? "Binary\n" : "General\n");
			lines->start = lines->out.length;
		}
		any = true;
		word(lines, column->name);
	}
	if (any)
		end_line(lines);
}

const char *
milp_lp_text(struct arena *arena, const struct milp *milp)
{
	struct lines lines = {str_new(arena), 0};

	str_addf(&lines.out, "\\* %s *\\\n", milp->name);
	write_objective(&lines, arena, milp);
	write_rows(&lines, arena, milp);
	write_bounds(&lines, arena, milp);
	write_kind(&lines, milp, false);
	write_kind(&lines, milp, true);
	str_add(&lines.out, "End\n");
	return lines.out.text;
}
