/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Does the plan hold on this machine?
 *
 * The plan's parts are seconds of a whole step on its slowest stage, exposed and hidden. The
 * probe runs fewer micro-batches, so what recurs with each of them is scaled by their share; data
 * parallel traffic and the optimizer come once a step. Compared is the time that a part takes,
 * exposed and hidden together, against the slowest rank's; traffic that runs beside computation is
 * taken from the steps in which it ran in line. Faster than predicted is no objection.
 * Parts below 2 % of the predicted step are shown and not judged.
 */
#include <math.h>
#include <string.h>

#include "planner/stages.h"
#include "probe/measure.h"

#define COUNTS_FROM 0.02

static const char *const once_a_step[] = {"optimizer", "step_overhead", "data_parallel", NULL};

/* Sharded gradients and weights travel with every micro-batch. */
static bool
is_once(const struct probe_plan *plan, const char *name)
{
	int i;

	if (plan->strategy.zero > 1 && !fsdp_stays_gathered(&plan->strategy) &&
	    strcmp(name, "data_parallel") == 0)
		return false;
	for (i = 0; once_a_step[i]; i++)
		if (strcmp(once_a_step[i], name) == 0)
			return true;
	return false;
}

/* A pair of parts that ran in line apart counts with its first. */
static double
taken_s(const struct measured *m, int part)
{
	int kind;

	for (kind = 0; kind < OVERLAPPED_KINDS; kind++) {
		const enum part *pair = overlap_rows[kind].parts;

		if (m->in_step[kind].beside > 0 && part == (int)pair[0])
			return m->in_step[kind].in_line_s;
		if (m->in_step[kind].beside > 0 && part == (int)pair[1])
			return 0;
	}
	return m->parts[part][0].max + m->parts[part][1].max;
}

/* Sum of the probe's parts of this category, and for how long of it the computation stands still;
 * -1 when it has none. */
static double
measured_of(const struct measured *m, const char *category, double *stall_s)
{
	double sum = -1;
	int part;

	*stall_s = -1;
	for (part = 0; part < PARTS; part++) {
		if (strcmp(part_rows[part].category, category) != 0)
			continue;
		sum = fmax(sum, 0) + taken_s(m, part);
		if (m->stalls[part][0].max + m->stalls[part][1].max > 0)
			*stall_s = fmax(*stall_s, 0) + m->stalls[part][0].max +
				   m->stalls[part][1].max;
	}
	return sum;
}

static void
add_row(const struct probe_plan *plan, const struct measured *m, const struct named *part,
    struct verdict_rows *v)
{
	struct verdict_row *row = &v->rows[v->n++];
	double share = (double)m->micro_batches / (double)plan->strategy.micro_batches, off;

	row->name = part->name;
	row->predicted_s = part->value + named_get(&plan->hidden_s, part->name, 0);
	row->counts = row->predicted_s >= COUNTS_FROM * plan->step_s;
	row->exposed_s = part->value;
	if (!is_once(plan, part->name)) {
		row->predicted_s *= share;
		row->exposed_s *= share;
	}
	row->measured_s = measured_of(m, part->name, &row->stall_s);
	/* A hand-off's time holds the waiting for the other stage. */
	if (row->measured_s < 0 || strcmp(part->name, "pipeline") == 0)
		row->counts = false;
	if (!row->counts)
		return;
	off = (row->measured_s - row->predicted_s) / row->predicted_s;
	if (!v->worst_name || off > v->worst) {
		v->worst = off;
		v->worst_name = row->name;
	}
}

bool
plan_holds(const struct probe_plan *plan, const struct measured *m, double percent,
    struct verdict_rows *rows)
{
	struct verdict_rows own;
	int i;

	rows = rows ? rows : &own;
	memset(rows, 0, sizeof(*rows));
	for (i = 0; i < plan->exposed_s.n && rows->n < VERDICT_ROWS; i++)
		add_row(plan, m, &plan->exposed_s.items[i], rows);
	return m->own_shapes && !(rows->worst > percent / 100);
}
