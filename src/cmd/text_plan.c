/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which strategy is best, for a person? The best N, the winner's memory and time, the reasons. */
#include <string.h>

#include "base/table.h"
#include "base/units.h"
#include "cmd/plan_report.h"
#include "cmd/text_estimate.h"
#include "planner/rates.h"

enum { WRAP_WIDTH = 100 };

/* --- the best N ---------------------------------------------------------------------------- */

/* "expert GEMM 41 %, all-to-all 19 %": the two greatest parts of the step. */
static const char *
limited_by(struct request *request, const struct estimate *estimate)
{
	struct str text = str_new(request->arena);
	enum time_part order[TIME_PARTS];
	int n = time_parts_sorted(estimate, order);
	int i;

	for (i = 0; i < n && i < 2; i++)
		str_addf(&text, "%s%s %.0f %%", i > 0 ? ", " : "", time_part_labels[order[i]],
		    100 * estimate->exposed_s[order[i]] / estimate->step_s);
	return text.text;
}

/* A column that is worth its place only when the plans differ in it. */
static bool
differs(const struct plan *plan, int64_t (*get)(const struct strategy *))
{
	int i;

	for (i = 1; i < plan->n_best; i++)
		if (get(&plan->best[i].strategy) != get(&plan->best[0].strategy))
			return true;
	return false;
}

static int64_t
get_zero(const struct strategy *s)
{
	return s->zero;
}

static int64_t
get_dispatcher(const struct strategy *s)
{
	return (int64_t)s->dispatcher;
}

static int64_t
get_world(const struct strategy *s)
{
	return s->world;
}

static const struct degree_column {
	const char *head;
	size_t offset;
} degree_columns[] = {
    {"TP", offsetof(struct strategy, tp)},
    {"CP", offsetof(struct strategy, cp)},
    {"PP", offsetof(struct strategy, pp)},
    {"VPP", offsetof(struct strategy, vpp)},
    {"EP", offsetof(struct strategy, ep)},
    {"ETP", offsetof(struct strategy, etp)},
    {"DP", offsetof(struct strategy, dp)},
    {"EDP", offsetof(struct strategy, edp)},
    {"mbs", offsetof(struct strategy, micro_batch)},
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

static void
plan_row(struct request *request, const struct plan *plan, int index, struct table *table)
{
	const struct estimate *estimate = &plan->best[index];
	const struct strategy *s = &estimate->strategy;
	int i;

	table_row(table);
	table_cellf(table, "%d", index + 1);
	for (i = 0; i < DEGREE_COLUMNS; i++)
		table_cellf(table, "%lld",
		    (long long)*(
			const int64_t *)(const void *)((const char *)s + degree_columns[i].offset));
	if (differs(plan, get_world))
		table_cell(table, units_grouped(request->arena, s->world));
	if (differs(plan, get_zero))
		table_cellf(table, "%d", s->zero);
	if (differs(plan, get_dispatcher))
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
plan_heads(const struct plan *plan, struct table *table)
{
	size_t column = 0;
	int i;

	table_column(table, column++, "", TABLE_RIGHT);
	for (i = 0; i < DEGREE_COLUMNS; i++)
		table_column(table, column++, degree_columns[i].head, TABLE_RIGHT);
	if (differs(plan, get_world))
		table_column(table, column++, "GPUs", TABLE_RIGHT);
	if (differs(plan, get_zero))
		table_column(table, column++, "zero", TABLE_RIGHT);
	if (differs(plan, get_dispatcher))
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

/* Plans whose bands touch the best one's: the model alone cannot order them. */
static int
not_told_apart(const struct plan *plan)
{
	int n = 1;

	while (n < plan->n_best && plan->best[n].step_low_s < plan->best[0].step_high_s)
		n++;
	return n;
}

static void
print_notes(struct request *request, const struct plan *plan)
{
	const struct estimate *best = &plan->best[0];
	int n = not_told_apart(plan);

	if (any_at_risk(plan))
		str_addf(&request->out, "   ! at risk: over %.0f %% of the %s that a GPU has\n",
		    100 * rate_table[RATE_AT_RISK].value,
		    units_gib(request->arena, best->capacity_bytes));
	if (n > 1)
		str_addf(&request->out,
		    "   steps carry %s: only a measurement tells 1 to %d apart\n",
		    text_band(request, best->step_s, best->step_low_s, best->step_high_s), n);
}

/* --measured-step: what the best plan would change about a run that exists. */
static void
print_measured(struct request *request, const struct estimate *best)
{
	double measured_s = request->job.measured_step_s;
	double change = best->step_s / measured_s - 1;

	if (measured_s > 0)
		str_addf(&request->out, "   measured %s: the first is %.0f %% %s\n",
		    units_seconds(request->arena, measured_s), 100 * (change < 0 ? -change : change),
		    change < 0 ? "faster" : "slower");
}

static void
print_best(struct request *request, const struct plan *plan)
{
	const struct strategy *s = &plan->best[0].strategy;
	struct table *table = table_new(request->arena, DEGREE_COLUMNS + OTHER_COLUMNS);
	int i;

	plan_heads(plan, table);
	for (i = 0; i < plan->n_best; i++)
		plan_row(request, plan, i, table);
	table_print(table, &request->out, 0);
	str_addf(&request->out, "   %s: sequence %s, global batch %s, %s, zero %s, %s\n",
	    plan->n_best > 1 ? "all" : "with", units_grouped(request->arena, s->seq_len),
	    units_grouped(request->arena, s->global_batch), precision_names[s->precision],
	    differs(plan, get_zero) ? "as shown" : arena_printf(request->arena, "%d", s->zero),
	    differs(plan, get_dispatcher) ? "dispatcher as shown"
					  : dispatcher_names[s->dispatcher]);
	print_notes(request, plan);
	print_measured(request, &plan->best[0]);
}

/* --- the winner ---------------------------------------------------------------------------- */

static void
print_memory(struct request *request, const struct estimate *estimate)
{
	const struct stage_memory *worst = &estimate->stages[estimate->worst_stage];
	struct arena *arena = request->arena;
	struct str *out = &request->out;
	double free_bytes = estimate->capacity_bytes - worst->total_bytes;
	int i;

	str_addf(out, "memory of stage %d, the fullest of %d (%s), GiB\n ", estimate->worst_stage,
	    estimate->n_stages,
	    text_stage_layers(arena, request->model, estimate, estimate->worst_stage));
	for (i = 0; i < MEMORY_PARTS; i++)
		if (worst->parts[i] > 0)
			str_addf(out, " %s %s ", memory_part_heads[i],
			    units_gib_number(arena, worst->parts[i]));
	if (free_bytes >= 0)
		str_addf(out, " free %.1f", free_bytes / GIB);
	str_addf(out, "\n  %s\n", text_memory_bar(request, worst, estimate->capacity_bytes));
	if (model_moe(request->model))
		str_addf(out, "  with %.1f x the mean load on the fullest expert rank: %s\n",
		    rate_table[RATE_SKEWED_LOAD].value,
		    text_verdict(request, estimate->skewed_verdict));
}

/* --- why not, and the account --------------------------------------------------------------- */

static void
print_why_not(struct request *request, const struct plan *plan)
{
	int i;

	if (plan->n_why_not == 0)
		return;
	str_add(&request->out, "\nwhy not\n");
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
	const struct {
		int64_t count;
		const char *text;
	} counts[] = {
	    {a->rejected, "break a rule"},
	    {a->does_not_fit, "do not fit"},
	    {a->over_limit, "break a limit of yours"},
	    {a->pruned, "proved no better by their bound"},
	    {a->evaluated, "evaluated"},
	    {a->exact, "solved exactly"},
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

static void
print_account(struct request *request, const struct search_account *a)
{
	struct arena *arena = request->arena;
	size_t column = TEXT_LABEL_WIDTH;

	text_label(request, "searched");
	wrap_piece(request, &column,
	    arena_printf(arena, "%s strategies:", units_grouped(arena, a->candidates)));
	wrap_counts(request, &column, a);
	wrap_piece(request, &column,
	    a->stopped_early ? "stopped by the time limit,"
			     : arena_printf(arena, "%s for this model,", a->status));
	wrap_piece(request, &column,
	    a->gap > 0 ? arena_printf(arena, "gap %s", units_percent(arena, a->gap)) : "gap 0");
	if (request->common.verbose)
		wrap_piece(request, &column,
		    arena_printf(arena, "in %s", units_seconds(arena, a->wall_s)));
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

/* An argument as a shell takes it back. */
static void
add_argument(struct str *out, const char *text)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789-_./,:=+@%";

	if (text[0] && strspn(text, plain) == strlen(text)) {
		str_add(out, text);
		return;
	}
	str_addc(out, '\'');
	for (; *text; text++)
		if (*text == '\'')
			str_add(out, "'\\''");
		else
			str_addc(out, *text);
	str_addc(out, '\'');
}

static bool
is_even(const struct layout *layout, int64_t layers)
{
	struct layout even;

	layout_even(&even, layers, layout->pp, layout->vpp);
	return memcmp(even.first, layout->first,
		   (size_t)(layout->pp * layout->vpp + 1) * sizeof(*even.first)) == 0;
}

/* The command line that looks closer at the winner. */
static void
print_next(struct request *request, const struct plan *plan)
{
	const struct estimate *best = &plan->best[0];
	const struct arguments *arguments = &request->arguments;
	struct str *out = &request->out;
	size_t i;

	text_label(request, "next");
	str_add(out, "moeplan estimate");
	for (i = 0; i < arguments->count; i++) {
		str_addc(out, ' ');
		add_argument(out, arguments->positional[i]);
	}
	str_addf(out, " %s", strategy_options_text(request->arena, &best->strategy));
	if (!best->strategy.layout && !is_even(&best->layout, request->model->layers)) {
		str_add(out, " --layout ");
		add_argument(out, layout_text(request->arena, &best->layout, request->model));
	}
	str_addc(out, '\n');
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

		print_best(request, plan);
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
		print_next(request, plan);
	if (request->common.verbose && plan->account.n_rules > 0)
		print_rules(request, &plan->account);
	if (request->common.verbose && plan->n_best > 0)
		text_origins(request, &plan->best[0].strategy);
}
