/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What became of every row: predicted or why not; did what ran fit, and what ran out not? */
#include <string.h>

#include "base/arena.h"
#include "base/table.h"
#include "base/units.h"
#include "report.h"

/* Layouts that ran, each once: index of the first row of this layout that ran. */
static bool
is_first_that_ran(const struct bench *b, size_t index)
{
	const struct rerun *r = &b->reruns[index];

	if (r->outcome != OUTCOME_PREDICTED || r->run->oom > 0 ||
	    strcmp(r->run->complete, "yes") != 0)
		return false;
	for (size_t j = 0; j < index; j++)
		if (b->reruns[j].run->oom == 0 && same_layout(&b->reruns[j], r))
			return false;
	return true;
}

struct verdict_count
count_verdicts(const struct bench *b)
{
	struct verdict_count n = {0};

	for (size_t i = 0; i < b->count; i++) {
		const struct rerun *r = &b->reruns[i];
		bool oom = r->estimate.verdict == VERDICT_OOM;
		bool complete = strcmp(r->run->complete, "yes") == 0;

		if (r->outcome == OUTCOME_PREDICTED && r->run->oom > 0) {
			n.out++;
			n.out_caught += oom;
			n.out_complete += complete;
			n.out_complete_caught += complete && oom;
		} else if (is_first_that_ran(b, i)) {
			n.ran++;
			n.ran_oom += oom;
			n.ran_at_risk += r->estimate.verdict == VERDICT_AT_RISK;
		}
	}
	return n;
}

static void
list_row(struct bench *b, const struct rerun *r, const char *what)
{
	str_addf(&b->out, "    %-9s %s: %.1f (%.1f to %.1f) of %.1f GiB%s%s\n", r->run->id, what,
	    r->estimate.worst_bytes / GIB, r->estimate.worst_low_bytes / GIB,
	    r->estimate.worst_high_bytes / GIB, r->estimate.capacity_bytes / GIB,
	    strcmp(r->run->complete, "yes") == 0 ? "" : "; not stated completely",
	    strcmp(r->run->aside, "fragmentation") == 0 ? "; runs with expandable segments" : "");
}

void
verdict_summary(struct bench *b)
{
	struct verdict_count n = count_verdicts(b);

	str_add(&b->out, "Memory verdicts (completely stated layouts, each once)\n\n");
	for (size_t i = 0; i < b->count; i++) {
		const struct rerun *r = &b->reruns[i];
		bool oom = r->estimate.verdict == VERDICT_OOM;

		if (r->outcome == OUTCOME_PREDICTED && r->run->oom > 0)
			list_row(b, r, oom ? "ran out, called oom" : "ran out, not called oom");
		else if (oom && is_first_that_ran(b, i))
			list_row(b, r, "ran, called oom");
	}
	str_addf(&b->out, "  layouts that ran: %d, called oom: %d, at risk: %d\n", n.ran, n.ran_oom,
	    n.ran_at_risk);
	str_addf(&b->out,
	    "  rows that ran out: %d, called oom: %d; stated completely: %d, called oom: %d\n\n",
	    n.out, n.out_caught, n.out_complete, n.out_complete_caught);
}

/* A number, or an empty cell when there is none. */
static void
number_cell(struct table *table, bool there, int digits, const char *sign, double value)
{
	if (there)
		table_cellf(table, sign[0] ? "%+.*f" : "%.*f", digits, value);
	else
		table_cell(table, "");
}

void
rows_table(struct bench *b)
{
	static const char *const heads[] = {"run", "measured s", "predicted s", "e %",
	    "measured GiB", "predicted GiB", "e %", "verdict", "configuration"};
	struct table *table = table_new(b->arena, 9);

	for (size_t i = 0; i < 9; i++)
		table_column(table, i, heads[i], i == 0 || i > 6 ? TABLE_LEFT : TABLE_RIGHT);
	for (size_t i = 0; i < b->count; i++) {
		const struct rerun *r = &b->reruns[i];

		if (r->outcome != OUTCOME_PREDICTED)
			continue;
		table_row(table);
		table_cell(table, r->run->id);
		number_cell(table, has_time(r), 3, "", r->measured_step_s);
		number_cell(table, true, 3, "", r->estimate.step_s);
		number_cell(table, has_time(r), 1, "+", 100 * step_error(r));
		number_cell(table, has_memory(r), 2, "", r->run->mem_gib);
		number_cell(table, true, 2, "", rerun_memory(r).gib);
		number_cell(table, has_memory(r), 2, "+", 100 * memory_error(r));
		table_cell(table, verdict_names[r->estimate.verdict]);
		table_cell(table, r->command);
	}
	table_print(table, &b->out, 0);
	str_addc(&b->out, '\n');
}

int
bad_outcomes(const struct bench *b)
{
	int bad = 0;

	for (size_t i = 0; i < b->count; i++)
		bad += b->reruns[i].outcome > OUTCOME_UNMODELLED;
	return bad;
}

void
outcome_summary(struct bench *b)
{
	static const char *const names[] = {
	    "predicted", "not stated", "not modelled", "REFUSED", "NOT FINITE"};
	int counters[5] = {0}, above = 0;

	for (size_t i = 0; i < b->count; i++)
		counters[b->reruns[i].outcome]++;
	str_addf(&b->out,
	    "%zu published runs: %d predicted, %d not stated well enough, %d not modelled\n\n",
	    b->count, counters[0], counters[1], counters[2]);
	for (size_t i = 0; i < b->count; i++) {
		const struct rerun *r = &b->reruns[i];

		if (r->outcome > OUTCOME_UNMODELLED)
			str_addf(&b->out, "  %s %s: %s\n    %s\n", r->run->id, names[r->outcome],
			    r->reason, r->command ? r->command : "");
		above += r->outcome == OUTCOME_PREDICTED &&
			 r->bound_step_s > r->estimate.step_s * (1 + 1e-9);
	}
	if (above > 0)
		str_addf(&b->out, "  %d rows have a lower bound above the estimate\n", above);
}

/* --- the account of all rows --- */

const char *
fate(struct arena *arena, const struct rerun *r)
{
	switch (r->outcome) {
	case OUTCOME_PREDICTED:
		break;
	case OUTCOME_UNSTATED:
		return arena_printf(arena, "left out: %s not stated", r->reason);
	case OUTCOME_UNMODELLED:
		return arena_printf(arena, "left out: %s, not modelled", r->reason);
	default:
		return arena_printf(arena, "failed: %s", r->reason);
	}
	if (r->run->oom > 0)
		return "ran out of memory: the verdict is scored";
	if (r->run->aside[0])
		return arena_printf(arena, "set aside: %s", r->run->aside);
	return has_time(r) ? "step time scored" : "memory scored, no step time published";
}

void
account_table(struct bench *b)
{
	struct table *table = table_new(b->arena, 2);

	table_column(table, 0, "what became of the rows", TABLE_LEFT);
	table_column(table, 1, "rows", TABLE_RIGHT);
	for (size_t i = 0; i < b->count; i++) {
		const char *name = fate(b->arena, &b->reruns[i]);
		bool seen = false;
		int rows = 0;

		for (size_t j = 0; j < b->count && !seen; j++) {
			bool same = strcmp(fate(b->arena, &b->reruns[j]), name) == 0;

			seen = same && j < i;
			rows += same;
		}
		if (seen)
			continue;
		table_row(table);
		table_cell(table, name);
		table_cellf(table, "%d", rows);
	}
	table_print(table, &b->out, 2);
	str_addc(&b->out, '\n');
}

/* --- settings that sources leave out --- */

struct holding {
	int rows, plain, widened;
	struct errors widths;
};

static void
hold(struct bench *b, struct holding *h, double measured, const struct interval *plain,
    const struct interval *widened)
{
	h->rows++;
	h->plain += measured >= plain->low && measured <= plain->high;
	h->widened += measured >= widened->low && measured <= widened->high;
	errors_add(b->arena, &h->widths, widened->high / widened->low);
}

static void
holding_row(struct table *table, const char *name, struct holding *h)
{
	if (h->rows == 0)
		return;
	table_row(table);
	table_cell(table, name);
	table_cellf(table, "%d", h->rows);
	table_cellf(table, "%.0f", 100.0 * h->plain / h->rows);
	table_cellf(table, "%.0f", 100.0 * h->widened / h->rows);
	table_cellf(table, "%.2f", quantile(h->widths.values, h->widths.count, 0.5));
}

void
unstated_table(struct bench *b)
{
	static const char *const heads[] = {"what the source leaves out", "rows", "in the band %",
	    "in the widened band %", "high / low"};
	struct table *table = table_new(b->arena, 5);
	struct holding step[2] = {{0}}, memory[2] = {{0}};

	for (size_t i = 0; i < b->count; i++) {
		const struct rerun *r = &b->reruns[i];
		const struct estimate *e = &r->estimate;
		struct interval widened = rerun_step_interval(r),
				plain = {e->step_low_s, e->step_high_s};
		bool open = r->run->unstated[0] != '\0';

		if (counts(r))
			hold(b, &step[open], r->measured_step_s, &plain, &widened);
		if (!has_memory(r) || r->run->aside[0])
			continue;
		widened = rerun_memory_interval(r);
		plain.low = widened.low * e->worst_bytes / r->unstated.low_bytes;
		plain.high = widened.high * e->worst_bytes / r->unstated.high_bytes;
		hold(b, &memory[open], r->run->mem_gib, &plain, &widened);
	}
	for (size_t i = 0; i < 5; i++)
		table_column(table, i, heads[i], i == 0 ? TABLE_LEFT : TABLE_RIGHT);
	holding_row(table, "step: nothing", &step[0]);
	holding_row(table, "step: recompute, dispatcher or optimizer types", &step[1]);
	holding_row(table, "peak: nothing", &memory[0]);
	holding_row(table, "peak: recompute, dispatcher or optimizer types", &memory[1]);
	table_print(table, &b->out, 2);
	str_addc(&b->out, '\n');
}
