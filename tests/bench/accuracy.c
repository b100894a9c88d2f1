/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How far is the model from published training runs?
 *
 * Replays every row of runs.csv through the readers that the command line uses
 * and compares. Accuracy never fails this program: only a row that should be
 * modelled and was refused, or a number that is not finite, does.
 *
 * usage: accuracy [--rows] FOLDER      (FOLDER holds runs.csv, models/, clusters/)
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/doc.h"
#include "base/table.h"
#include "base/units.h"
#include "bands.h"
#include "score.h"

static bool
is_moe(const struct rerun *r)
{
	return strncmp(r->run->class, "moe", 3) == 0;
}

static double
step_error(const struct rerun *r)
{
	return r->estimate.step_s / r->measured_step_s - 1;
}

/* --- time --- */

static void
error_columns(struct table *table, const char *head)
{
	static const char *const names[] = {"rows", "median |e| %", "p90 |e| %", "bias %"};

	table_column(table, 0, head, TABLE_LEFT);
	for (size_t i = 0; i < 4; i++)
		table_column(table, i + 1, names[i], TABLE_RIGHT);
}

static void
error_row(struct bench *b, struct table *table, const char *name, const struct errors *errors)
{
	struct summary s = errors_summary(b->arena, errors);

	if (s.count == 0)
		return;
	table_row(table);
	table_cell(table, name);
	table_cellf(table, "%zu", s.count);
	table_cellf(table, "%.1f", 100 * s.median_abs);
	table_cellf(table, "%.1f", 100 * s.p90_abs);
	table_cellf(table, "%+.1f", 100 * s.bias);
}

typedef const char *label_fn(const struct rerun *r);

static const char *
set_label(const struct rerun *r)
{
	return r->run->set;
}

static const char *
gpu_label(const struct rerun *r)
{
	return r->run->gpu;
}

static const char *
class_label(const struct rerun *r)
{
	return r->run->class;
}

static const char *
aside_label(const struct rerun *r)
{
	return r->run->aside;
}

static const char *
precision_label(const struct rerun *r)
{
	return r->run->precision;
}

typedef double value_fn(const struct rerun *r);
typedef bool keep_fn(const struct rerun *r);

/* One row a label, in the order in which labels appear in the file. */
static void
error_table(struct bench *b, const char *head, label_fn *label, keep_fn *keep, value_fn *value)
{
	struct table *table = table_new(b->arena, 5);

	error_columns(table, head);
	for (size_t i = 0; i < b->count; i++) {
		const char *name = label(&b->reruns[i]);
		struct errors errors = {0};
		bool seen = name[0] == '\0';

		for (size_t j = 0; j < i && !seen; j++)
			seen = strcmp(label(&b->reruns[j]), name) == 0;
		for (size_t j = i; j < b->count && !seen; j++)
			if (keep(&b->reruns[j]) && strcmp(label(&b->reruns[j]), name) == 0)
				errors_add(b->arena, &errors, value(&b->reruns[j]));
		error_row(b, table, name, &errors);
	}
	table_print(table, &b->out, 2);
	str_addc(&b->out, '\n');
}

static bool
is_moe_nodes(const struct rerun *r)
{
	return counts(r) && is_moe(r) && r->nodes > 1;
}

static bool
is_moe_beyond(const struct rerun *r)
{
	return counts(r) && is_moe(r) && r->expert_group_leaves_domain;
}

static bool
is_complete(const struct rerun *r)
{
	return counts(r) && strcmp(r->run->complete, "yes") == 0;
}

static bool
is_pipelined(const struct rerun *r)
{
	return counts(r) && r->estimate.strategy.pp > 1;
}

static double
closed_error(const struct rerun *r)
{
	return r->closed_step_s / r->estimate.step_s - 1;
}

static void
collect(struct bench *b, struct errors *errors, keep_fn *keep, value_fn *value)
{
	for (size_t i = 0; i < b->count; i++)
		if (keep(&b->reruns[i]))
			errors_add(b->arena, errors, value(&b->reruns[i]));
}

static void
time_tables(struct bench *b)
{
	static const struct {
		const char *name;
		keep_fn *keep;
		value_fn *value;
	} rows[] = {{"all rows", counts, step_error},
	    {"stated completely", is_complete, step_error},
	    {"MoE on several nodes", is_moe_nodes, step_error},
	    {"expert group beyond the NVLink domain", is_moe_beyond, step_error},
	    {"closed form against simulation, PP > 1", is_pipelined, closed_error}};
	struct table *table = table_new(b->arena, 5);

	str_add(&b->out, "Step time, e = predicted / measured - 1\n\n");
	error_columns(table, "");
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct errors errors = {0};

		collect(b, &errors, rows[i].keep, rows[i].value);
		error_row(b, table, rows[i].name, &errors);
	}
	table_print(table, &b->out, 2);
	str_addc(&b->out, '\n');
	error_table(b, "class", class_label, counts, step_error);
	error_table(b, "source", set_label, counts, step_error);
	error_table(b, "GPU", gpu_label, counts, step_error);
	error_table(b, "precision", precision_label, counts, step_error);
	error_table(b, "set aside", aside_label, has_time, step_error);
}

/* --- FLOP counters --- */

static bool
has_counter(const struct rerun *r)
{
	return r->counter > 0;
}

static double
counter_error(const struct rerun *r)
{
	return 1 / r->counter - 1;
}

/* --- memory --- */

static bool
has_memory(const struct rerun *r)
{
	return r->outcome == OUTCOME_PREDICTED && r->run->mem_gib > 0;
}

/* What was kept must be known, not assumed. */
static bool
counts_memory(const struct rerun *r)
{
	return has_memory(r) && strcmp(r->run->complete, "yes") == 0;
}

static double
memory_error(const struct rerun *r)
{
	return rerun_memory(r).gib / r->run->mem_gib - 1;
}

static bool
has_rival_memory(const struct rerun *r)
{
	return counts_memory(r) && r->run->sim_mem_gib > 0;
}

static double
rival_memory_error(const struct rerun *r)
{
	return r->run->sim_mem_gib / r->run->mem_gib - 1;
}

/* Activations: what is left of the measured peak when our model state is taken off. */
static double
activation_error(const struct rerun *r)
{
	struct memory_prediction p = rerun_memory(r);

	return (p.gib - p.state_gib) / (r->run->mem_gib - p.state_gib) - 1;
}

static double
rival_activation_error(const struct rerun *r)
{
	double state = rerun_memory(r).state_gib;

	return (r->run->sim_mem_gib - state) / (r->run->mem_gib - state) - 1;
}

static bool
has_rival_time(const struct rerun *r)
{
	return has_time(r) && r->run->sim_step_s > 0;
}

static double
rival_step_error(const struct rerun *r)
{
	return r->run->sim_step_s / r->measured_step_s - 1;
}

static void
rival_table(struct bench *b)
{
	static const struct {
		const char *name;
		keep_fn *keep;
		value_fn *value;
	} rows[] = {{"peak, ours", has_rival_memory, memory_error},
	    {"peak, SimuMax", has_rival_memory, rival_memory_error},
	    {"activation part, ours", has_rival_memory, activation_error},
	    {"activation part, SimuMax", has_rival_memory, rival_activation_error},
	    {"step time, ours", has_rival_time, step_error},
	    {"step time, SimuMax", has_rival_time, rival_step_error}};
	static const char *const names[] = {
	    "rows", "mean |e| %", "median |e| %", "max |e| %", "bias %"};
	struct table *table = table_new(b->arena, 6);

	table_column(table, 0, "one node, exact configurations", TABLE_LEFT);
	for (size_t i = 0; i < 5; i++)
		table_column(table, i + 1, names[i], TABLE_RIGHT);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct errors errors = {0};
		struct summary s;

		collect(b, &errors, rows[i].keep, rows[i].value);
		s = errors_summary(b->arena, &errors);
		table_row(table);
		table_cell(table, rows[i].name);
		table_cellf(table, "%zu", s.count);
		table_cellf(table, "%.2f", 100 * s.mean_abs);
		table_cellf(table, "%.2f", 100 * s.median_abs);
		table_cellf(table, "%.2f", 100 * s.max_abs);
		table_cellf(table, "%+.2f", 100 * s.bias);
	}
	table_print(table, &b->out, 2);
	str_addc(&b->out, '\n');
}

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

static void
list_row(struct bench *b, const struct rerun *r, const char *what)
{
	str_addf(&b->out, "    %-9s %s: %.1f of %.1f GiB\n", r->run->id, what,
	    r->estimate.worst_bytes / GIB, r->estimate.capacity_bytes / GIB);
}

static void
verdict_summary(struct bench *b)
{
	int ran = 0, ran_oom = 0, ran_at_risk = 0, ooms = 0, caught = 0;

	str_add(&b->out, "Memory verdicts (completely stated layouts, each once)\n\n");
	for (size_t i = 0; i < b->count; i++) {
		const struct rerun *r = &b->reruns[i];
		bool oom = r->estimate.verdict == VERDICT_OOM;

		if (r->outcome == OUTCOME_PREDICTED && r->run->oom > 0) {
			ooms++;
			caught += oom;
			list_row(b, r, oom ? "ran out, called oom" : "ran out, not called oom");
		} else if (is_first_that_ran(b, i)) {
			ran++;
			ran_oom += oom;
			ran_at_risk += r->estimate.verdict == VERDICT_AT_RISK;
			if (oom)
				list_row(b, r, "ran, called oom");
		}
	}
	str_addf(&b->out, "  layouts that ran: %d, called oom: %d, at risk: %d\n", ran, ran_oom,
	    ran_at_risk);
	str_addf(&b->out, "  rows that ran out: %d, called oom: %d\n\n", ooms, caught);
}

/* --- rows and refusals --- */

/* A number, or an empty cell when there is none. */
static void
number_cell(struct table *table, bool there, int digits, const char *sign, double value)
{
	if (there)
		table_cellf(table, sign[0] ? "%+.*f" : "%.*f", digits, value);
	else
		table_cell(table, "");
}

static void
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

static int
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
	return counters[OUTCOME_REFUSED] + counters[OUTCOME_NOT_FINITE];
}

static void
left_out_table(struct bench *b)
{
	struct table *table = table_new(b->arena, 2);

	table_column(table, 0, "left out", TABLE_LEFT);
	table_column(table, 1, "rows", TABLE_RIGHT);
	for (size_t i = 0; i < b->count; i++) {
		const struct rerun *r = &b->reruns[i];
		bool seen = r->outcome != OUTCOME_UNSTATED && r->outcome != OUTCOME_UNMODELLED;
		int rows = 0;

		for (size_t j = 0; j < i && !seen; j++)
			seen = b->reruns[j].outcome == r->outcome &&
			       strcmp(b->reruns[j].reason, r->reason) == 0;
		for (size_t j = i; j < b->count && !seen; j++)
			rows += b->reruns[j].outcome == r->outcome &&
				strcmp(b->reruns[j].reason, r->reason) == 0;
		if (rows == 0)
			continue;
		table_row(table);
		table_cellf(table,
		    r->outcome == OUTCOME_UNSTATED ? "%s not stated" : "%s, not modelled",
		    r->reason);
		table_cellf(table, "%d", rows);
	}
	table_print(table, &b->out, 2);
	str_addc(&b->out, '\n');
}

static void
out_of_memory(void *context)
{
	(void)context;
	fputs("accuracy: out of memory\n", stderr);
	exit(3);
}

static int
report(struct bench *b, bool rows)
{
	int bad = outcome_summary(b);

	if (rows)
		rows_table(b);
	left_out_table(b);
	time_tables(b);
	str_add(&b->out, "FLOPs a token, ours over the source's counter\n\n");
	error_table(b, "source", set_label, has_counter, counter_error);
	str_add(&b->out, "Memory\n\n");
	rival_table(b);
	error_table(b, "source", set_label, counts_memory, memory_error);
	verdict_summary(b);
	transfer_report(b);
	ranking_report(b, rows);
	bands_report(b);
	fputs(b->out.text, stdout);
	return bad;
}

int
main(int argc, char **argv)
{
	bool rows = argc > 1 && strcmp(argv[1], "--rows") == 0;
	bool bands = argc > 1 && strcmp(argv[1], "--bands") == 0;
	struct bench b = {.arena = arena_new(out_of_memory, NULL)};
	int status;

	if (argc != 2 + rows + bands || !b.arena) {
		fputs("usage: accuracy [--rows] FOLDER\n", stderr);
		return 2;
	}
	b.diags = diags_new(b.arena);
	b.out = str_new(b.arena);
	if (bands) {
		if (bench_load(&b, argv[2])) return 2;
		bands_source(&b);
		fputs(b.out.text, stdout);
		return 0;
	}
	status = bench_load(&b, argv[1 + rows]) != 0 ? 2 : report(&b, rows) > 0;
	arena_free(b.arena);
	return status;
}
