/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How far is the model from published runs, by source, machine and class? */
#include <string.h>

#include "base/table.h"
#include "report.h"

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

/* By what a row of a table is named. */
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

/* Steps twice: under the shipped rates, and under rates that never saw the model on its GPU. */
static void
step_columns(struct table *table, const char *head)
{
	error_columns(table, head);
	table_column(table, 5, "unseen: median", TABLE_RIGHT);
	table_column(table, 6, "p90", TABLE_RIGHT);
}

static void
step_row(struct bench *b, struct table *table, const char *name, const struct errors *shipped,
    const struct errors *cross)
{
	struct summary s = errors_summary(b->arena, cross);

	if (shipped->count == 0)
		return;
	error_row(b, table, name, shipped);
	table_cellf(table, "%.1f", 100 * s.median_abs);
	table_cellf(table, "%.1f", 100 * s.p90_abs);
}

static void
step_table(struct bench *b, const char *head, label_fn *label)
{
	struct table *table = table_new(b->arena, 7);

	step_columns(table, head);
	for (size_t i = 0; i < b->count; i++) {
		const char *name = label(&b->reruns[i]);
		struct errors shipped = {0}, cross = {0};
		bool seen = name[0] == '\0';

		for (size_t j = 0; j < i && !seen; j++)
			seen = strcmp(label(&b->reruns[j]), name) == 0;
		for (size_t j = i; j < b->count && !seen; j++) {
			const struct rerun *r = &b->reruns[j];

			if (!has_cross(r) || strcmp(label(r), name) != 0)
				continue;
			errors_add(b->arena, &shipped, step_error(r));
			errors_add(b->arena, &cross, cross_error(r));
		}
		step_row(b, table, name, &shipped, &cross);
	}
	table_print(table, &b->out, 2);
	str_addc(&b->out, '\n');
}

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

void
time_tables(struct bench *b)
{
	static const struct {
		const char *name;
		keep_fn *keep;
		value_fn *value;
	} rows[] = {{"all rows", counts, step_error},
	    {"unseen: rates that never saw the model on its GPU", has_cross, cross_error},
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
	step_table(b, "class", class_label);
	step_table(b, "source", set_label);
	step_table(b, "GPU", gpu_label);
	step_table(b, "precision", precision_label);
	error_table(b, "set aside", aside_label, has_time, step_error);
}

void
counter_table(struct bench *b)
{
	str_add(&b->out, "FLOPs a token, ours over the source's counter\n\n");
	error_table(b, "source", set_label, has_counter, counter_error);
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

void
memory_tables(struct bench *b)
{
	str_add(&b->out, "Memory\n\n");
	rival_table(b);
	error_table(b, "source", set_label, counts_memory, memory_error);
}
