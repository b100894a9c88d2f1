/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which strategy is best, for a person? The winner's memory and time, the reasons, what is next. */
#include <string.h>

#include "base/table.h"
#include "base/units.h"
#include "cmd/plan_report.h"
#include "cmd/text_estimate.h"
#include "planner/rates.h"

enum { WRAP_WIDTH = 100 };

/* --- the winner ---------------------------------------------------------------------------- */

/*
 * The search takes even loads unless told: what to tell it when the answer would not bear
 * others.
 */
static const char *
skew_advice(struct request *request, const struct estimate *estimate)
{
	if (estimate->skewed_verdict != VERDICT_OOM || request->job.skew.kind != SKEW_BALANCED)
		return "";
	return arena_printf(request->arena, "; --load-skew max=%.1f plans for it",
	    rate_table[RATE_SKEWED_LOAD].value);
}

static void
print_memory(struct request *request, const struct estimate *estimate)
{
	const struct stage_memory *worst = &estimate->stages[estimate->worst_stage];
	struct arena *arena = request->arena;
	struct str *out = &request->out;
	double free_bytes = estimate->capacity_bytes - worst->total_bytes;
	int i;

	str_addf(out, "memory of stage %d, the fullest of %d (%s): %s %s GiB\n ",
	    estimate->worst_stage, estimate->n_stages,
	    text_stage_layers(arena, request->model, estimate, estimate->worst_stage),
	    units_gib_number(arena, estimate->worst_bytes),
	    text_band(request, estimate->worst_bytes, estimate->worst_low_bytes,
		estimate->worst_high_bytes));
	for (i = 0; i < MEMORY_PARTS; i++)
		if (worst->parts[i] > 0)
			str_addf(out, " %s %s ", memory_part_heads[i],
			    units_gib_number(arena, worst->parts[i]));
	if (free_bytes >= 0)
		str_addf(out, " free %.1f", free_bytes / GIB);
	str_addf(out, "\n  %s\n", text_memory_bar(request, worst, estimate->capacity_bytes));
	if (model_moe(request->model))
		str_addf(out, "  with %.1f x the mean load on the fullest expert rank: %s%s\n",
		    rate_table[RATE_SKEWED_LOAD].value,
		    text_verdict(request, estimate->skewed_verdict),
		    skew_advice(request, estimate));
}

/* --- why not, and the account --------------------------------------------------------------- */

static void
print_why_not(struct request *request, const struct plan *plan)
{
	int i;

	if (plan->n_why_not == 0)
		return;
	str_addf(&request->out, "\nwhy not%s\n",
	    plan->n_best > 0 && plan->best[0].strategy.pp > 1 &&
		    request->job.objective == OBJECTIVE_TIME
		? "  seconds of a mean stage; those above are of the slowest"
		: "");
	for (i = 0; i < plan->n_why_not; i++)
		str_addf(&request->out, "  %s\n", plan->why_not[i].text);
}

/* Comma-separated pieces, wrapped behind the label. */
static void
wrap_piece(struct request *request, size_t *column, const char *piece)
{
	size_t width = str_width(piece);

	if (*column + width + 1 > WRAP_WIDTH) {
		str_addc(&request->out, '\n');
		str_pad(&request->out, ' ', TEXT_LABEL_WIDTH);
		*column = TEXT_LABEL_WIDTH;
	} else if (*column > TEXT_LABEL_WIDTH) {
		str_addc(&request->out, ' ');
		*column += 1;
	}
	str_add(&request->out, piece);
	*column += width;
}

static void
wrap_counts(struct request *request, size_t *column, const struct search_account *a)
{
	bool limited = request->job.max_memory_bytes > 0 || request->job.max_step_s > 0;
	const struct {
		int64_t count;
		const char *text;
	} counts[] = {
	    {a->rejected, "break a rule"},
	    {a->does_not_fit, "do not fit"},
	    {a->over_limit, limited ? "break a limit of yours" : "would fit at risk"},
	    {a->pruned, "proved no better by their bound"},
	    {a->evaluated, "evaluated"},
	    {a->exact, "solved exactly"},
	    {a->open, "not looked at in time"},
	};
	const char *piece = NULL;
	size_t i;

	for (i = 0; i < sizeof(counts) / sizeof(*counts); i++) {
		if (counts[i].count == 0)
			continue;
		if (piece)
			wrap_piece(request, column, arena_printf(request->arena, "%s,", piece));
		piece = arena_printf(request->arena, "%s %s",
		    units_grouped(request->arena, counts[i].count), counts[i].text);
	}
	wrap_piece(request, column,
	    arena_printf(request->arena, "%s (%s %s);", piece ? piece : "none", a->solver,
		a->solver_version));
}

/* "optimal for this model, gap 0": what was proved. */
static const char *
proof_text(struct request *request, const struct search_account *a)
{
	struct arena *arena = request->arena;

	if (a->stopped_early)
		return arena_printf(
		    arena, "stopped by the time limit, gap %s", units_percent(arena, a->gap));
	if (strcmp(a->status, "infeasible") == 0)
		return "proved: none is possible";
	return arena_printf(arena, "%s for this model, gap %s", a->status,
	    a->gap > 0 ? units_percent(arena, a->gap) : "0");
}

static void
print_account(struct request *request, const struct search_account *a)
{
	struct arena *arena = request->arena;
	size_t column = TEXT_LABEL_WIDTH;

	text_label(request, "searched");
	wrap_piece(request, &column,
	    arena_printf(arena, "%s strategies:", units_grouped(arena, a->candidates)));
	wrap_counts(request, &column, a);
	wrap_piece(request, &column, proof_text(request, a));
	if (request->common.verbose)
		wrap_piece(request, &column,
		    arena_printf(arena, "(%s)", units_seconds(arena, a->wall_s)));
	str_addc(&request->out, '\n');
}

static void
print_rules(struct request *request, const struct search_account *account)
{
	struct table *table = table_new(request->arena, 3);
	int i;

	table_column(table, 0, "", TABLE_RIGHT);
	for (i = 0; i < account->n_rules; i++) {
		table_row(table);
		table_cell(table, units_grouped(request->arena, account->rules[i].count));
		table_cell(table, account->rules[i].id);
		table_cell(table, account->rules[i].gist);
	}
	str_add(&request->out, "\nrejected by rule\n");
	table_print(table, &request->out, 2);
}

/* --- nothing fits --------------------------------------------------------------------------- */

static void
print_miss(struct request *request, const struct near_miss *miss)
{
	const struct estimate *estimate = &miss->estimate;
	const struct stage_memory *worst = &estimate->stages[estimate->worst_stage];
	struct arena *arena = request->arena;
	int i;

	text_line(request, "verdict", "%s", paint(request, PAINT_BAD, "nothing fits"));
	str_addc(&request->out, '\n');
	str_add(&request->out, "nearest miss\n");
	text_strategy(request, &estimate->strategy);
	text_line(request, "memory", "stage %d (%s) needs %s, %s more than there is",
	    estimate->worst_stage,
	    text_stage_layers(arena, request->model, estimate, estimate->worst_stage),
	    units_gib(arena, estimate->worst_bytes), units_gib(arena, miss->over_bytes));
	text_label(request, "biggest");
	for (i = 0; i < 3; i++)
		str_addf(&request->out, "%s%s %s", i > 0 ? ", " : "",
		    text_words(arena, memory_part_names[miss->biggest[i]]),
		    units_gib(arena, worst->parts[miss->biggest[i]]));
	str_addf(&request->out, "\n%*s%s\n", TEXT_LABEL_WIDTH, "",
	    text_memory_bar(request, worst, estimate->capacity_bytes));
	if (miss->n_changes > 0)
		str_add(&request->out, "\nwhat would make it fit\n");
	for (i = 0; i < miss->n_changes; i++)
		str_addf(&request->out, "  %s\n", miss->changes[i]);
}

void
text_plan(struct request *request, const struct plan *plan)
{
	text_model_line(request);
	text_cluster_line(request);
	str_addc(&request->out, '\n');
	if (plan->n_best > 0) {
		const struct estimate *best = &plan->best[0];

		text_best(request, plan);
		str_addc(&request->out, '\n');
		print_memory(request, best);
		str_addc(&request->out, '\n');
		text_time(request, best);
		text_line(request, "layout", "%s",
		    layout_text(request->arena, &best->layout, request->model));
	} else if (plan->miss) {
		print_miss(request, plan->miss);
	} else {
		text_line(request, "verdict", "%s",
		    paint(request, PAINT_BAD, "no strategy keeps all rules and limits"));
	}
	print_why_not(request, plan);
	str_addc(&request->out, '\n');
	print_account(request, &plan->account);
	if (plan->n_best > 0)
		text_next(request, &plan->best[0]);
	if (request->common.verbose && plan->account.n_rules > 0)
		print_rules(request, &plan->account);
	if (request->common.verbose && plan->n_best > 0)
		text_origins(request, &plan->best[0].strategy);
}
