/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What did the probe find, for people? */
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "base/table.h"
#include "base/units.h"
#include "probe/probe_run.h"

static void
line_head(const struct probe_job *job, const struct session *s, const struct probe_result *r,
    struct str *out)
{
	const struct strategy *st = &s->plan->strategy;

	str_addf(out,
	    "plan     %s on %d ranks: TP %lld CP %lld PP %lld VPP %lld EP %lld ETP %lld, DP %lld "
	    "EDP "
	    "%lld\n",
	    s->plan->model->name, s->world, (long long)st->tp, (long long)st->cp, (long long)st->pp,
	    (long long)st->vpp, (long long)st->ep, (long long)st->etp, (long long)st->dp,
	    (long long)st->edp);
	str_addf(out, "machine  %d x %s on %d host%s, %s\n", s->world, r->device.name, r->hosts,
	    r->hosts == 1 ? "" : "s", r->device.library);
	str_addf(out, "load     %s, experts %s\n", job->options->load_skew,
	    job->options->placement ? job->options->placement : "by number");
	str_addf(out, "groups   every member of every group answered as the plan says\n");
}

static void
table_numerics(struct arena *arena, const struct numerics *n, struct str *out)
{
	struct table *table = table_new(arena, 5);
	int row;

	if (!n->done) {
		str_add(out, "numerics not compared: the reference would take too long\n");
		return;
	}
	str_add(out, "compared with float64 on one rank, in small shapes on the planned groups:\n");
	table_column(table, 0, "numerics", TABLE_LEFT);
	table_column(table, 1, "error", TABLE_RIGHT);
	table_column(table, 2, "tolerance", TABLE_RIGHT);
	table_column(table, 3, "numbers", TABLE_RIGHT);
	table_column(table, 4, "", TABLE_LEFT);
	for (row = 0; row < NUMERICS_ROWS; row++) {
		if (n->compared[row] == 0)
			continue;
		table_row(table);
		table_cell(table, numerics_names[row]);
		table_cellf(table, "%.1e", n->error[row]);
		table_cellf(table, "%.0e", n->tolerance[row]);
		table_cell(table, units_grouped(arena, n->compared[row]));
		if (!(n->error[row] <= n->tolerance[row]))
			table_cellf(table, "WRONG, worst on rank %d", n->worst_rank[row]);
	}
	table_print(table, out, 0);
}

static void
line_tokens(struct arena *arena, const struct numerics *n, struct str *out)
{
	str_addf(out,
	    "tokens   %s sent, %s received, %s dropped: %s; fullest rank %.2f x mean, ranks "
	    "without "
	    "any: %d\n",
	    units_grouped(arena, n->sent), units_grouped(arena, n->received),
	    units_grouped(arena, n->dropped), n->conserved ? "conserved" : "NOT CONSERVED",
	    n->max_over_mean, n->empty_ranks);
}

static void
seconds_cell(struct table *table, struct arena *arena, double seconds)
{
	table_cell(table, seconds >= 0 ? units_seconds(arena, seconds) : "-");
}

/* The plan's parts beside the measured ones. */
static void
table_plan(struct arena *arena, const struct verdict_rows *v, struct str *out)
{
	struct table *table = table_new(arena, 4);
	int i;

	table_column(table, 0, "part of the plan", TABLE_LEFT);
	table_column(table, 1, "predicted", TABLE_RIGHT);
	table_column(table, 2, "measured", TABLE_RIGHT);
	table_column(table, 3, "", TABLE_RIGHT);
	for (i = 0; i < v->n; i++) {
		const struct verdict_row *row = &v->rows[i];

		if (!(row->predicted_s > 0) && !(row->measured_s > 0))
			continue;
		table_row(table);
		table_cell(table, row->name);
		seconds_cell(table, arena, row->predicted_s);
		seconds_cell(table, arena, row->measured_s);
		if (row->counts)
			table_cellf(table, "%+.0f %%",
			    100 * (row->measured_s - row->predicted_s) / row->predicted_s);
	}
	table_print(table, out, 0);
}

static void
table_parts(struct arena *arena, const struct measured *m, struct str *out)
{
	struct table *table = table_new(arena, 6);
	int part, way;

	table_column(table, 0, "measured part", TABLE_LEFT);
	table_column(table, 1, "pass", TABLE_LEFT);
	table_column(table, 2, "median", TABLE_RIGHT);
	table_column(table, 3, "worst", TABLE_RIGHT);
	table_column(table, 4, "rank", TABLE_RIGHT);
	table_column(table, 5, "waited for", TABLE_RIGHT);
	for (part = 0; part < PARTS; part++)
		for (way = 0; way < 2; way++) {
			const struct spread *spread = &m->parts[part][way];

			if (!(spread->max > 0))
				continue;
			table_row(table);
			table_cell(table, part_rows[part].name);
			table_cell(table, way ? "backward" : "forward");
			table_cell(table, units_seconds(arena, spread->median));
			table_cell(table, units_seconds(arena, spread->max));
			table_cellf(table, "%d", spread->worst_rank);
			if (m->stalls[part][way].max > 0)
				table_cell(
				    table, units_seconds(arena, m->stalls[part][way].median));
		}
	table_print(table, out, 0);
}

static void
table_transfers(
    struct arena *arena, const struct session *s, const struct measured *m, struct str *out)
{
	struct table *table = table_new(arena, 7);
	int i;

	if (m->n_transfers == 0)
		return;
	table_column(table, 0, "group", TABLE_LEFT);
	table_column(table, 1, "operation", TABLE_LEFT);
	table_column(table, 2, "ranks", TABLE_RIGHT);
	table_column(table, 3, "bytes", TABLE_RIGHT);
	table_column(table, 4, "time", TABLE_RIGHT);
	table_column(table, 5, "bus GB/s", TABLE_RIGHT);
	table_column(table, 6, "bound", TABLE_RIGHT);
	for (i = 0; i < m->n_transfers; i++) {
		const struct transfer_row *t = &m->transfers[i];

		table_row(table);
		table_cell(table, t->group);
		table_cell(table, t->op);
		table_cellf(table, "%d", t->size);
		table_cell(table, units_grouped(arena, t->bytes));
		table_cell(table, units_seconds(arena, t->seconds));
		table_cellf(table, "%.2f", t->bus_Bps / 1e9);
		table_cellf(table, "%.0f", s->plan->levels[t->level].Bps / 1e9);
	}
	table_print(table, out, 0);
}

/* What is measured beside which of the plan's parts; `outside` is what the device says beyond it.
 */
static const struct memory_row {
	const char *name;
	size_t measured;
	const char *predicted[3];
} memory_rows[] = {
    {"weights", offsetof(struct memory_account, weights), {"weights"}},
    {"gradients", offsetof(struct memory_account, gradients), {"gradients"}},
    {"optimizer", offsetof(struct memory_account, optimizer), {"optimizer"}},
    {"activations", offsetof(struct memory_account, activations), {"activations"}},
    {"logits", offsetof(struct memory_account, logits), {"logits"}},
    {"rows to experts and back", offsetof(struct memory_account, rows), {"moe_buffers"}},
    {"other buffers", offsetof(struct memory_account, buffers), {"wgrad_buffers"}},
    {"routing tables", offsetof(struct memory_account, routing), {NULL}},
    {"outside: context, libraries", offsetof(struct memory_account, outside),
	{"runtime", "fragmentation"}},
};
enum { MEMORY_ROWS = sizeof(memory_rows) / sizeof(memory_rows[0]) };

static double
memory_predicted(const struct probe_plan *plan, int stage, const struct memory_row *row)
{
	double bytes = 0;
	int i;

	for (i = 0; i < 3 && row->predicted[i]; i++)
		bytes += named_get(&plan->memory[stage], row->predicted[i], 0);
	return bytes;
}

static double
memory_measured(const struct memory_account *account, const struct memory_row *row)
{
	double bytes;

	memcpy(&bytes, (const char *)account + row->measured, sizeof(bytes));
	return bytes;
}

/* The whole difference of a stage, and the row that has most of it. */
static void
line_residual(const struct session *s, const struct measured *m, int stage, struct str *out)
{
	double all = 0, most = 0;
	int i, row = 0;

	for (i = 0; i < MEMORY_ROWS; i++) {
		double residual = memory_measured(&m->memory[stage], &memory_rows[i]) -
				  memory_predicted(s->plan, stage, &memory_rows[i]);

		all += residual;
		if (fabs(residual) > fabs(most)) {
			most = residual;
			row = i;
		}
	}
	str_addf(out, "residual stage %d: %+.1f MiB against the plan, most of it %s (%+.1f)\n",
	    stage, all / 0x1p20, memory_rows[row].name, most / 0x1p20);
}

static void
table_memory(
    struct arena *arena, const struct session *s, const struct measured *m, struct str *out)
{
	struct table *table = table_new(arena, 4);
	bool counts = s->backend.ops->times_count;
	int stage, i;

	if (!m->own_shapes) {
		str_add(out, "memory   not compared: the shapes are small ones\n");
		return;
	}
	table_column(table, 0, "memory, MiB", TABLE_LEFT);
	table_column(table, 1, "stage", TABLE_RIGHT);
	table_column(table, 2, "predicted", TABLE_RIGHT);
	table_column(table, 3, "measured", TABLE_RIGHT);
	for (stage = 0; stage < m->n_stages; stage++)
		for (i = 0; i < MEMORY_ROWS; i++) {
			double bytes = memory_measured(&m->memory[stage], &memory_rows[i]);

			if (!counts &&
			    memory_rows[i].measured == offsetof(struct memory_account, outside))
				continue;
			table_row(table);
			table_cell(table, memory_rows[i].name);
			table_cellf(table, "%d", stage);
			table_cellf(table, "%.1f",
			    memory_predicted(s->plan, stage, &memory_rows[i]) / 0x1p20);
			table_cellf(table, "%.1f", bytes / 0x1p20);
		}
	table_print(table, out, 0);
	for (stage = 0; counts && stage < m->n_stages; stage++)
		line_residual(s, m, stage, out);
	if (!counts)
		str_add(
		    out, "on CPUs weights and activations are float: twice the bytes of bf16\n");
}

static void
line_overlap(const struct overlapped *o, const char *what, struct str *out)
{
	if (overlap_hidden(o) >= 0)
		str_addf(out, "overlap  %.0f %% of the shorter of %s is hidden\n",
		    100 * overlap_hidden(o), what);
}

/* The share, its range, and what the traffic takes in line, as planned, and of the step. */
static void
line_in_step(struct arena *arena, const struct overlapped *o, const char *what, struct str *out)
{
	if (overlap_hidden(o) < 0)
		return;
	str_addf(out, "overlap  %.0f %% (%.0f to %.0f %%) of %s is hidden in the step: %s in line, ",
	    100 * overlap_hidden(o), 100 * o->hidden_low, 100 * o->hidden_high, what,
	    units_seconds(arena, o->comm_s));
	str_addf(out, "%s beside computation, which waits %s for it\n",
	    units_seconds(arena, o->in_step_s), units_seconds(arena, o->stall_s));
}

static void
report_times(const struct probe_job *job, const struct session *s, const struct probe_result *r,
    const struct verdict_rows *v, struct str *out)
{
	const struct measured *m = &r->measured;
	int kind;

	str_addf(out, "\nstep     %s for %lld of %lld micro-batches, %lld steps\n",
	    units_seconds(job->arena, m->step_s.max), (long long)m->micro_batches,
	    (long long)s->plan->strategy.micro_batches, (long long)m->steps);
	if (s->backend.ops->times_count)
		table_plan(job->arena, v, out);
	str_addc(out, '\n');
	table_parts(job->arena, m, out);
	str_addc(out, '\n');
	table_transfers(job->arena, s, m, out);
	if (!s->backend.ops->times_count)
		return;
	line_overlap(&m->experts_overlap, "all-to-all and expert products", out);
	for (kind = 0; kind < OVERLAPPED_KINDS; kind++)
		line_in_step(job->arena, &m->in_step[kind], overlap_rows[kind].what, out);
}

static void
line_verdict(const struct probe_job *job, const struct session *s, const struct probe_result *r,
    const struct verdict_rows *v, struct str *out)
{
	if (!r->numerics.ok)
		str_add(out, "the step is WRONG on this machine: see above\n");
	else if (!s->backend.ops->times_count)
		str_addf(out,
		    "the plan was rehearsed%s: groups, counts, order and numerics are right; times "
		    "on "
		    "a CPU say nothing about a GPU\n",
		    r->measured.own_shapes ? "" : " with small shapes");
	else
		str_addf(out, "the plan %s (worst part %s %+.0f %%, tolerance %.0f %%)\n",
		    r->holds ? "holds" : "does not hold", v->worst_name ? v->worst_name : "none",
		    100 * v->worst, job->options->tolerance);
}

void
report_text(const struct probe_job *job, const struct session *s, const struct probe_result *r,
    struct str *out)
{
	struct verdict_rows v;

	plan_holds(s->plan, &r->measured, job->options->tolerance, &v);
	line_head(job, s, r, out);
	str_addc(out, '\n');
	table_numerics(job->arena, &r->numerics, out);
	line_tokens(job->arena, &r->numerics, out);
	report_times(job, s, r, &v, out);
	str_addc(out, '\n');
	table_memory(job->arena, s, &r->measured, out);
	str_addc(out, '\n');
	line_verdict(job, s, r, &v, out);
}
