/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which strategies are best, in one table? Columns that would say the same in every row are left
 * out. */
#include <string.h>

#include "base/table.h"
#include "base/units.h"
#include "cmd/plan_report.h"
#include "cmd/text_estimate.h"
#include "planner/band.h"

/* "expert GEMM 41 %, all-to-all 19 %": the two greatest parts of the step. */
static const char *
limited_by(struct request *request, const struct estimate *estimate)
{
	struct str text = str_new(request->arena);
	enum time_part order[TIME_PARTS];
	int n = time_parts_sorted(estimate, order);
	int i;

	for (i = 0; i < n && i < 2; i++)
		str_addf(&text, "%s%s %.0f %%", i > 0 ? ", " : "",
		    time_part_label(request->model, order[i]),
		    100 * estimate->exposed_s[order[i]] / estimate->step_s);
	return text.text;
}

/* Which columns have something to say. */
struct columns {
	bool moe, world, zero, dispatcher;
};

static struct columns
choose_columns(const struct request *request, const struct plan *plan)
{
	const struct strategy *first = &plan->best[0].strategy;
	struct columns columns = {.moe = model_moe(request->model) != NULL,
	    .world = first->world != request->cluster->world};
	int i;

	for (i = 1; i < plan->n_best; i++) {
		const struct strategy *s = &plan->best[i].strategy;

		columns.world = columns.world || s->world != first->world;
		columns.zero = columns.zero || s->zero != first->zero;
		columns.dispatcher = columns.dispatcher || s->dispatcher != first->dispatcher;
	}
	columns.dispatcher = columns.dispatcher && columns.moe;
	return columns;
}

static const struct degree_column {
	const char *head;
	size_t offset;
	bool moe_only;
} degree_columns[] = {
    {"TP", offsetof(struct strategy, tp), false},
    {"CP", offsetof(struct strategy, cp), false},
    {"PP", offsetof(struct strategy, pp), false},
    {"VPP", offsetof(struct strategy, vpp), false},
    {"EP", offsetof(struct strategy, ep), true},
    {"ETP", offsetof(struct strategy, etp), true},
    {"DP", offsetof(struct strategy, dp), false},
    {"EDP", offsetof(struct strategy, edp), true},
    {"mbs", offsetof(struct strategy, micro_batch), false},
};
enum { DEGREE_COLUMNS = sizeof(degree_columns) / sizeof(*degree_columns), OTHER_COLUMNS = 9 };

/* Digits that a difference between plans can show: "18.8", "1.09", "0.214". */
static int
step_decimals(const struct plan *plan)
{
	double best = plan->best[0].step_s;

	return best >= 100 ? 0 : best >= 10 ? 1 : best >= 1 ? 2 : 3;
}

/* "moe_act+layernorm" says by itself that it is selective. */
static const char *
short_recompute(struct arena *arena, struct recompute recompute)
{
	const char *text = recompute_text(arena, recompute);
	const char *colon = recompute.kind == RECOMPUTE_SELECTIVE ? strchr(text, ':') : NULL;

	return colon ? colon + 1 : text;
}

static int64_t
degree(const struct strategy *s, const struct degree_column *column)
{
	int64_t value;

	memcpy(&value, (const char *)s + column->offset, sizeof(value));
	return value;
}

static void
plan_row(struct request *request, const struct plan *plan, const struct columns *columns, int index,
    struct table *table)
{
	const struct estimate *estimate = &plan->best[index];
	const struct strategy *s = &estimate->strategy;
	int i;

	table_row(table);
	table_cellf(table, "%d", index + 1);
	for (i = 0; i < DEGREE_COLUMNS; i++)
		if (columns->moe || !degree_columns[i].moe_only)
			table_cellf(table, "%lld", (long long)degree(s, &degree_columns[i]));
	if (columns->world)
		table_cell(table, units_grouped(request->arena, s->world));
	if (columns->zero)
		table_cellf(table, "%d", s->zero);
	if (columns->dispatcher)
		table_cell(table, dispatcher_names[s->dispatcher]);
	table_cell(table, short_recompute(request->arena, s->recompute));
	table_cellf(table, "%s%s", units_gib_number(request->arena, estimate->worst_bytes),
	    estimate->verdict == VERDICT_AT_RISK ? " !" : "  ");
	table_cellf(table, "%.*f", step_decimals(plan), estimate->step_s);
	table_cell(table,
	    text_band(request, estimate->step_s, estimate->step_low_s, estimate->step_high_s));
	table_cell(
	    table, units_grouped(request->arena, (int64_t)(estimate->tokens_per_s_per_gpu + 0.5)));
	table_cell(table, limited_by(request, estimate));
}

static void
plan_heads(const struct columns *columns, struct table *table)
{
	size_t column = 0;
	int i;

	table_column(table, column++, "", TABLE_RIGHT);
	for (i = 0; i < DEGREE_COLUMNS; i++)
		if (columns->moe || !degree_columns[i].moe_only)
			table_column(table, column++, degree_columns[i].head, TABLE_RIGHT);
	if (columns->world)
		table_column(table, column++, "GPUs", TABLE_RIGHT);
	if (columns->zero)
		table_column(table, column++, "zero", TABLE_RIGHT);
	if (columns->dispatcher)
		table_column(table, column++, "dispatcher", TABLE_LEFT);
	table_column(table, column++, "recompute", TABLE_LEFT);
	table_column(table, column++, "GiB  ", TABLE_RIGHT);
	table_column(table, column++, "step s", TABLE_RIGHT);
	table_column(table, column++, "", TABLE_RIGHT);
	table_column(table, column++, "tok/s/GPU", TABLE_RIGHT);
	table_column(table, column++, "limited by", TABLE_LEFT);
}

static bool
any_at_risk(const struct plan *plan)
{
	int i;

	for (i = 0; i < plan->n_best; i++)
		if (plan->best[i].verdict == VERDICT_AT_RISK)
			return true;
	return false;
}

int
not_told_apart(const struct plan *plan)
{
	double near_s = plan->n_best > 0 ? plan->best[0].step_s * (1 + step_tell_apart) : 0;
	int n = plan->n_best > 0;

	while (n < plan->n_best && plan->best[n].step_s < near_s)
		n++;
	return n;
}

static void
print_notes(struct request *request, const struct plan *plan)
{
	const struct estimate *best = &plan->best[0];
	const char *host_bound = host_bound_text(request, best);
	int n = not_told_apart(plan);

	if (any_at_risk(plan))
		str_addf(&request->out, "   ! at risk: may take %.0f %% more, and a GPU has %s\n",
		    100 * (best->worst_high_bytes / best->worst_bytes - 1),
		    units_gib(request->arena, best->capacity_bytes));
	if (host_bound)
		str_addf(&request->out, "   1 is bound by the host: %s\n", host_bound);
	if (n > 1 && request->job.objective == OBJECTIVE_TIME) /* by time, and that alone */
		str_addf(&request->out,
		    "   1 to %d cannot be told apart: within %.0f %% more than one order in five "
		    "is wrong\n",
		    n, 100 * step_tell_apart);
}

/* --measured-step: what the best plan would change about a run that exists. */
static void
print_measured(struct request *request, const struct estimate *best)
{
	double measured_s = request->job.measured_step_s;
	double change = 100 * (best->step_s - measured_s);

	if (measured_s > 0)
		str_addf(&request->out, "   measured %s: the first is %.0f %% %s\n",
		    units_seconds(request->arena, measured_s),
		    (change < 0 ? -change : change) / measured_s, change < 0 ? "faster" : "slower");
}

/* What all rows share. */
static void
print_shared(struct request *request, const struct plan *plan, const struct columns *columns)
{
	const struct strategy *s = &plan->best[0].strategy;
	struct str *out = &request->out;

	str_addf(out, "   %s: sequence %s, global batch %s, %s", plan->n_best > 1 ? "all" : "with",
	    units_grouped(request->arena, s->seq_len),
	    units_grouped(request->arena, s->global_batch), precision_names[s->precision]);
	if (!columns->zero)
		str_addf(out, ", zero %d", s->zero);
	if (columns->moe && !columns->dispatcher)
		str_addf(out, ", %s", dispatcher_names[s->dispatcher]);
	str_addf(out, "%s\n", asked_text(request->arena, s));
}

void
text_best(struct request *request, const struct plan *plan)
{
	struct columns columns = choose_columns(request, plan);
	struct table *table = table_new(request->arena, DEGREE_COLUMNS + OTHER_COLUMNS);
	int i;

	plan_heads(&columns, table);
	for (i = 0; i < plan->n_best; i++)
		plan_row(request, plan, &columns, i, table);
	table_print(table, &request->out, 0);
	print_shared(request, plan, &columns);
	print_notes(request, plan);
	print_measured(request, &plan->best[0]);
}
