/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How good is the model, in one table?
 *
 * Memory where the configuration is known exactly; verdicts of layouts that ran and
 * of rows that ran out; steps under the shipped rates, under rates that never saw
 * the model on its GPU, and after a measured run of the model; whether the fastest
 * of comparable runs comes first; how many runs the 80 % bands hold that were
 * learned without their model.
 */
#include "figures.h"

#include <math.h>

#include "base/table.h"

static struct summary
summary_of(struct bench *b, keep_fn *keep, value_fn *value)
{
	struct errors errors = {0};

	collect(b, &errors, keep, value);
	return errors_summary(b->arena, &errors);
}

static void
coverage_of(struct bench *b, struct figures *f)
{
	struct learned steps[STEP_CLASSES];
	double inside = 0, all = 0;

	bands_learn_steps(b, steps);
	f->coverage_least = 1;
	for (int class = 0; class < STEP_CLASSES; class++) {
		double runs = (double)steps[class].count;

		inside += (double)steps[class].inside;
		all += runs;
		if (steps[class].count < BAND_ENOUGH_RUNS)
			continue;
		f->coverage_least = fmin(f->coverage_least, (double)steps[class].inside / runs);
		f->coverage_most = fmax(f->coverage_most, (double)steps[class].inside / runs);
	}
	f->coverage_all = all > 0 ? inside / all : 0;
}

struct figures
figures_of(struct bench *b)
{
	struct figures f = {.peak = summary_of(b, has_rival_memory, memory_error),
	    .rival_peak = summary_of(b, has_rival_memory, rival_memory_error),
	    .activation = summary_of(b, has_rival_memory, activation_error),
	    .rival_activation = summary_of(b, has_rival_memory, rival_activation_error),
	    .verdicts = count_verdicts(b),
	    .shipped = summary_of(b, counts, step_error),
	    .cross = summary_of(b, has_cross, cross_error),
	    .ranks = ranking_of(b, false),
	    .close_calls = ranking_of(b, true),
	    .tell_apart = bands_tell_apart(b)};

	transfer_figures(b, &f.one_run, &f.all_runs);
	coverage_of(b, &f);
	return f;
}

static void
ranks_figures(struct table *table, const char *name, const struct ranks *r)
{
	table_row(table);
	table_cellf(table, "%s, %d groups: mean tau, mean regret, first right", name, r->groups);
	table_cellf(table, "%.2f, %.1f %%, %.0f %%", r->tau / r->groups,
	    100 * r->regret / r->groups, 100.0 * r->top1 / r->groups);
}

static void
step_figures(struct table *table, const char *name, size_t runs, double median, double p90)
{
	table_row(table);
	table_cellf(table, "%s, %zu runs: median / p90", name, runs);
	table_cellf(table, "%.1f / %.1f %%", 100 * median, 100 * p90);
}

static void
memory_figures(struct table *table, const char *who, const struct summary *peak,
    const struct summary *activation)
{
	table_row(table);
	table_cellf(table, "peak of exact configurations, %s: mean / max, activations median", who);
	table_cellf(table, "%.2f / %.2f %%, %.1f %%", 100 * peak->mean_abs, 100 * peak->max_abs,
	    100 * activation->median_abs);
}

void
figures_report(struct bench *b, const struct figures *f)
{
	struct table *table = table_new(b->arena, 2);
	const struct verdict_count *v = &f->verdicts;

	table_column(table, 0, "in one table", TABLE_LEFT);
	table_column(table, 1, "error", TABLE_RIGHT);
	memory_figures(table, "ours", &f->peak, &f->activation);
	memory_figures(table, "SimuMax", &f->rival_peak, &f->rival_activation);
	table_row(table);
	table_cellf(table, "layouts that ran, called oom; oom rows caught, complete and all");
	table_cellf(table, "%d of %d; %d of %d, %d of %d", v->ran_oom, v->ran,
	    v->out_complete_caught, v->out_complete, v->out_caught, v->out);
	step_figures(table, "step, shipped rates", f->shipped.count, f->shipped.median_abs,
	    f->shipped.p90_abs);
	step_figures(table, "step, rates that never saw the model on its GPU", f->cross.count,
	    f->cross.median_abs, f->cross.p90_abs);
	step_figures(table, "step after one run of the model on the stack", f->one_run.runs,
	    f->one_run.median, f->one_run.p90);
	step_figures(table, "step after all other runs of it", f->all_runs.runs,
	    f->all_runs.median, f->all_runs.p90);
	ranks_figures(table, "ranking", &f->ranks);
	ranks_figures(table, "close calls", &f->close_calls);
	table_row(table);
	table_cell(table, "runs inside 80 % bands learned without their model, by class");
	table_cellf(table, "%.0f to %.0f %%, all %.0f %%", 100 * f->coverage_least,
	    100 * f->coverage_most, 100 * f->coverage_all);
	table_print(table, &b->out, 2);
	str_addc(&b->out, '\n');
}
