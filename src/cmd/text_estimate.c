/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What does a strategy cost, for a person? The verdict first, then memory by stage, then time. */
#include "cmd/text_estimate.h"

#include <string.h>

#include "base/table.h"
#include "base/units.h"
#include "planner/rates.h"

enum { ROWS_MAX = 12, ROWS_HEAD = 5, ROWS_TAIL = 3 };

void
text_strategy(struct request *request, const struct strategy *s)
{
	struct arena *arena = request->arena;

	text_line(request, "strategy", "%s", text_degrees(arena, s));
	text_line(request, "",
	    "%s micro-batch%s of %s x DP %s = global batch %s; sequence %s, %s, recompute %s%s",
	    units_grouped(arena, s->micro_batches), s->micro_batches == 1 ? "" : "es",
	    units_grouped(arena, s->micro_batch), units_grouped(arena, s->dp),
	    units_grouped(arena, s->global_batch), units_grouped(arena, s->seq_len),
	    precision_names[s->precision], recompute_text(arena, s->recompute),
	    asked_text(arena, s));
}

static double
skewed_worst(const struct estimate *estimate)
{
	double worst = 0;
	int i;

	for (i = 0; i < estimate->n_stages; i++)
		if (estimate->stages[i].skewed_bytes > worst)
			worst = estimate->stages[i].skewed_bytes;
	return worst;
}

static void
print_verdict(struct request *request, const struct estimate *estimate)
{
	struct arena *arena = request->arena;
	double host = request->cluster->host.memory_bytes.value;

	text_line(request, "verdict", "%s: %sstage %d needs %s %s of %s (%s)",
	    text_verdict(request, estimate->verdict),
	    host_overflows(request->cluster, estimate) ? "a node's memory is too small; " : "",
	    estimate->worst_stage,
	    units_gib_number(arena, estimate->worst_bytes),
	    text_band(request, estimate->worst_bytes, estimate->worst_low_bytes,
		estimate->worst_high_bytes),
	    units_gib(arena, estimate->capacity_bytes),
	    units_percent(arena, estimate->worst_bytes / estimate->capacity_bytes));
	if (model_moe(request->model))
		text_line(request, "", "%s at %.1f x the mean load on the fullest expert rank: %s",
		    text_verdict(request, estimate->skewed_verdict),
		    rate_table[RATE_SKEWED_LOAD].value, units_gib(arena, skewed_worst(estimate)));
	if (estimate->host_bytes > 0)
		text_line(request, "offload", "%s of %s of a node's memory",
		    units_gib_number(arena, estimate->host_bytes),
		    host > 0 ? units_gib(arena, host) : "an unknown number of GiB");
	text_line(request, "step", "%s %s, %s tokens/s/GPU, %.0f model TFLOP/s/GPU, MFU %s",
	    units_seconds(arena, estimate->step_s),
	    text_band(request, estimate->step_s, estimate->step_low_s, estimate->step_high_s),
	    units_grouped(arena, (int64_t)(estimate->tokens_per_s_per_gpu + 0.5)),
	    estimate->model_tflops_per_gpu, units_percent(arena, estimate->mfu));
	if (request->measured_predicted_s > 0)
		text_line(request, "measured",
		    "%s, %+.0f %% of the %s that are predicted without it",
		    units_seconds(arena, request->job.measured_step_s),
		    100 * (request->job.measured_step_s / request->measured_predicted_s - 1),
		    units_seconds(arena, request->measured_predicted_s));
}

/* --- the table of stages ------------------------------------------------------------------ */

struct stage_row {
	int first, last;
	const char *cells[MEMORY_PARTS + 2]; /* layers, the parts, the total */
};

static void
fill_row(struct request *request, const struct estimate *estimate, int stage, struct stage_row *row)
{
	const struct stage_memory *memory = &estimate->stages[stage];
	int i;

	row->first = row->last = stage;
	row->cells[0] = text_stage_layers(request->arena, request->model, estimate, stage);
	for (i = 0; i < MEMORY_PARTS; i++)
		row->cells[1 + i] = units_gib_number(request->arena, memory->parts[i]);
	row->cells[1 + MEMORY_PARTS] = units_gib_number(request->arena, memory->total_bytes);
}

static bool
rows_equal(const struct stage_row *a, const struct stage_row *b)
{
	int i;

	for (i = 0; i < MEMORY_PARTS + 2; i++)
		if (strcmp(a->cells[i], b->cells[i]) != 0)
			return false;
	return true;
}

/* One row a run of stages that read the same. */
static int
collapse(struct request *request, const struct estimate *estimate, struct stage_row *rows)
{
	int n = 0;
	int i;

	for (i = 0; i < estimate->n_stages; i++) {
		fill_row(request, estimate, i, &rows[n]);
		if (n > 0 && rows_equal(&rows[n - 1], &rows[n]))
			rows[n - 1].last = i;
		else
			n++;
	}
	return n;
}

static bool
part_is_used(const struct estimate *estimate, enum memory_part part)
{
	int i;

	for (i = 0; i < estimate->n_stages; i++)
		if (estimate->stages[i].parts[part] > 0)
			return true;
	return false;
}

static void
add_row(struct table *table, const struct stage_row *row, const bool used[MEMORY_PARTS], int worst)
{
	int i;

	table_row(table);
	if (row->first == row->last)
		table_cellf(table, "%d", row->first);
	else
		table_cellf(table, "%d-%d", row->first, row->last);
	table_cell(table, row->cells[0]);
	for (i = 0; i < MEMORY_PARTS; i++)
		if (used[i])
			table_cell(table, row->cells[1 + i]);
	table_cell(table, row->cells[1 + MEMORY_PARTS]);
	table_cell(table, row->first <= worst && worst <= row->last ? "worst" : "");
}

/* Long pipelines: the ends and the worst stage; all with --verbose. */
static bool
is_shown(const struct request *request, const struct stage_row *row, int index, int n, int worst)
{
	return n <= ROWS_MAX || request->common.verbose || index < ROWS_HEAD ||
	       index >= n - ROWS_TAIL || (row->first <= worst && worst <= row->last);
}

static struct table *
stage_table(struct request *request, const struct estimate *estimate, bool used[MEMORY_PARTS])
{
	struct table *table = table_new(request->arena, MEMORY_PARTS + 4);
	size_t column = 2;
	int i;

	table_column(table, 0, "stage", TABLE_LEFT);
	table_column(table, 1, "layers", TABLE_LEFT);
	for (i = 0; i < MEMORY_PARTS; i++) {
		used[i] = part_is_used(estimate, (enum memory_part)i);
		if (used[i])
			table_column(table, column++, memory_part_heads[i], TABLE_RIGHT);
	}
	table_column(table, column, "total", TABLE_RIGHT);
	return table;
}

static void
print_stages(struct request *request, const struct estimate *estimate)
{
	struct stage_row *rows =
	    arena_array(request->arena, (size_t)estimate->n_stages + 1, sizeof(*rows));
	bool used[MEMORY_PARTS];
	struct table *table = stage_table(request, estimate, used);
	int n = collapse(request, estimate, rows);
	int worst = estimate->worst_stage;
	int i, first;

	for (i = 0; i < n; i++) {
		first = i;
		while (i < n && !is_shown(request, &rows[i], i, n, worst))
			i++;
		if (i > first) {
			table_row(table);
			table_cellf(table, "%d-%d", rows[first].first, rows[i - 1].last);
			table_cell(table, "... (--verbose)");
		}
		add_row(table, &rows[i], used, worst);
	}
	str_add(&request->out, "memory of a GPU by pipeline stage, GiB\n");
	table_print(table, &request->out, 0);
}

static void
print_bar(struct request *request, const struct estimate *estimate)
{
	const struct stage_memory *worst = &estimate->stages[estimate->worst_stage];
	double free_bytes = estimate->capacity_bytes - worst->total_bytes;

	str_addf(&request->out, "stage %-3d %s", estimate->worst_stage,
	    text_memory_bar(request, worst, estimate->capacity_bytes));
	if (free_bytes < 0)
		str_addf(
		    &request->out, "  | %s\n", units_gib(request->arena, estimate->capacity_bytes));
	else
		str_addf(&request->out, "  free %.1f GiB\n", free_bytes / GIB);
}

void
text_estimate(struct request *request, const struct estimate *estimate,
    const struct unstated *unstated)
{
	const char *host_bound = host_bound_text(request, estimate);

	text_model_line(request);
	text_cluster_line(request);
	text_strategy(request, &estimate->strategy);
	str_addc(&request->out, '\n');
	print_verdict(request, estimate);
	if (host_bound)
		text_line(request, "host", "%s", host_bound);
	text_unstated(request, &estimate->strategy, unstated);
	str_addc(&request->out, '\n');
	print_stages(request, estimate);
	print_bar(request, estimate);
	str_addc(&request->out, '\n');
	text_time(request, estimate);
	text_traffic(request, estimate);
	if (estimate->n_stages > 1)
		text_line(request, "layout", "%s",
		    layout_text(request->arena, &estimate->layout, request->model));
	if (request->common.verbose)
		text_origins(request, &estimate->strategy);
}

void
text_invalid(struct request *request, const struct strategy *strategy)
{
	text_model_line(request);
	text_cluster_line(request);
	text_line(request, "strategy", "%s", text_degrees(request->arena, strategy));
	text_line(request, "verdict", "%s: %d rule%s broken",
	    text_verdict(request, VERDICT_INVALID), request->diags->errors,
	    request->diags->errors == 1 ? " is" : "s are");
}
