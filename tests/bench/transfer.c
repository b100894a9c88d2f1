/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What is one measured run worth for the other layouts of its model?
 *
 * Groups are published runs of one model, GPU, precision, framework and software release. Every
 * layout is predicted from one other run of its group, each in turn, and from all others; runs of
 * the layout itself are left out. Errors count once a predicted run, whatever the size of its
 * group. Beside the correction that ships: one factor for everything, and the correction that a run
 * of another model on the same GPU, framework, release and precision would make. The last rows,
 * which count as the score, start from rates fitted without any run of the model on its GPU
 * (cross.csv).
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/table.h"
#include "base/units.h"
#include "bench.h"
#include "errors.h"
#include "planner/evaluator.h"

enum way {
	UNCORRECTED,
	ONE_FACTOR,
	ONE_RUN,
	ALL_RUNS,
	OTHER_MODEL,
	CROSS_UNCORRECTED,
	CROSS_ONE_RUN,
	CROSS_ALL_RUNS,
	WAYS
};
static const char *const way_names[WAYS] = {"nothing measured", "one factor, from one run",
    "corrected by one run", "corrected by all others of the group",
    "corrected by a run of another model", "rates that never saw the model: nothing measured",
    "... corrected by one run", "... corrected by all others of the group"};

/* A prediction of a run: how far off, and whether the band held it. */
struct score_row {
	double error, weight, width;
	bool inside;
};
struct scores {
	struct score_row *rows;
	size_t count, room, runs;
};

static bool
same(const char *a, const char *b)
{
	return strcmp(a, b) == 0;
}

/* Letters of `source` that name its release: what is in brackets counts when it is a container. */
static size_t
release_length(const char *source)
{
	const char *bracket = strstr(source, " (");

	return bracket && !strstr(bracket, "ontainer") ? (size_t)(bracket - source)
						       : strlen(source);
}

static bool
same_stack(const struct rerun *a, const struct rerun *b)
{
	size_t n = release_length(a->run->source);

	return n == release_length(b->run->source) &&
	       strncmp(a->run->source, b->run->source, n) == 0 && same(a->run->gpu, b->run->gpu) &&
	       same(a->run->precision, b->run->precision) &&
	       a->estimate.strategy.framework == b->estimate.strategy.framework;
}

static bool
same_model(const struct rerun *a, const struct rerun *b)
{
	return same(a->run->model, b->run->model) && same(a->run->overrides, b->run->overrides);
}

static bool
is_anchor(const struct rerun *r, const struct rerun *other, bool own_model)
{
	return counts(other) && same_stack(r, other) && same_model(r, other) == own_model &&
	       !same_layout(r, other);
}

static void
add_score(struct bench *b, struct scores *s, const struct rerun *r, const struct estimate *e,
    double weight)
{
	if (s->count == s->room) {
		size_t room = s->room ? 2 * s->room : 64;

		s->rows = arena_grow(
		    b->arena, s->rows, s->room * sizeof(*s->rows), room * sizeof(*s->rows));
		s->room = room;
	}
	s->rows[s->count++] = (struct score_row){fabs(e->step_s / r->measured_step_s - 1), weight,
	    log(e->step_high_s / e->step_low_s),
	    r->measured_step_s >= e->step_low_s && r->measured_step_s <= e->step_high_s};
}

/* The run under a correction, by the code that corrects plans. */
static void
predict(struct bench *b, struct scores *s, const struct rerun *r, const struct correction *c,
    double weight, double scale)
{
	struct evaluator e = *r->evaluator;
	struct arena_mark mark = arena_mark(b->arena);
	struct estimate *estimate = arena_alloc(b->arena, sizeof(*estimate));
	struct estimate kept;

	e.correction = c;
	rerun_forget(r);
	evaluate_exact(&e, &r->estimate.strategy, &r->estimate.layout, b->arena, NULL, estimate);
	rerun_forget(r);
	kept = *estimate;
	arena_reset(b->arena, mark);
	kept.step_s *= scale;
	kept.step_low_s *= scale;
	kept.step_high_s *= scale;
	add_score(b, s, r, &kept, weight);
}

static void
predict_by_factor(struct bench *b, struct scores *s, const struct rerun *r,
    const struct rerun *anchor, double weight)
{
	struct estimate e = r->estimate;
	double factor = anchor->measured_step_s / anchor->estimate.step_s;

	e.step_s *= factor;
	e.step_low_s *= factor;
	e.step_high_s *= factor;
	add_score(b, s, r, &e, weight);
}

/* --- memory ----------------------------------------------------------------------------------- */

struct peaks {
	struct errors plain, corrected;
};

static bool
has_peak(const struct rerun *r)
{
	return counts_memory(r) && !r->run->aside[0] && strcmp(r->run->mem_kind, "device") != 0;
}

/* A run's peak as a cluster file keeps it. */
static struct measured_run
peak_of(const struct rerun *r)
{
	uint64_t bytes = (uint64_t)(r->run->mem_gib * GIB);
	bool allocated = same(r->run->mem_kind, "allocated");

	return (struct measured_run){
	    .allocated_bytes = allocated ? bytes : 0, .reserved_bytes = allocated ? 0 : bytes};
}

/* Activations of every peak scaled by those of another layout of its group. */
static void
score_peak(struct bench *b, struct peaks *peaks, const struct rerun *r)
{
	struct memory_prediction p = rerun_memory(r);
	double ratio = 0;
	int n = 0;

	for (size_t i = 0; i < b->count; i++) {
		const struct rerun *other = &b->reruns[i];
		struct measured_run run;

		if (!has_peak(other) || !same_stack(r, other) || !same_model(r, other) ||
		    same_layout(r, other) || !same(r->run->mem_kind, other->run->mem_kind))
			continue;
		run = peak_of(other);
		ratio += log(activation_ratio(&run, &other->estimate));
		n++;
	}
	if (n == 0)
		return;
	errors_add(b->arena, &peaks->plain, p.gib / r->run->mem_gib - 1);
	errors_add(b->arena, &peaks->corrected,
	    (p.state_gib + (p.gib - p.state_gib) * exp(ratio / n)) / r->run->mem_gib - 1);
}

static void
peaks_report(struct bench *b)
{
	struct peaks peaks = {{0}, {0}};
	struct summary plain, corrected;

	for (size_t i = 0; i < b->count; i++)
		if (has_peak(&b->reruns[i]))
			score_peak(b, &peaks, &b->reruns[i]);
	plain = errors_summary(b->arena, &peaks.plain);
	corrected = errors_summary(b->arena, &peaks.corrected);
	str_addf(&b->out,
	    "  peak memory of %zu of them, median / p90 |e|: %.1f / %.1f %%; activations corrected "
	    "by the others: %.1f / %.1f %%\n\n",
	    plain.count, 100 * plain.median_abs, 100 * plain.p90_abs, 100 * corrected.median_abs,
	    100 * corrected.p90_abs);
}

/* --- time ------------------------------------------------------------------------------------- */

/* What rates fitted without the run's model on its GPU make of its step, over the shipped ones. */
static double
cross_scale(const struct rerun *r)
{
	return r->cross_step_s > 0 ? r->cross_step_s / r->estimate.step_s : 1;
}

static struct observation
observe(const struct rerun *r, double scale)
{
	struct observation o = observation_of(&r->estimate, r->measured_step_s);

	for (int i = 0; i < CORRECTED; i++)
		o.predicted_s[i] *= scale;
	return o;
}

/* From every other run of the group, and from all; the parts of a step keep their shares under
 * other rates. */
static void
score_own(struct bench *b, struct scores scores[WAYS], const struct rerun *r, int anchors)
{
	struct observation *all = arena_array(b->arena, b->count, sizeof(*all));
	struct observation *cross = arena_array(b->arena, b->count, sizeof(*cross));
	double scale = cross_scale(r), weight = 1.0 / anchors;
	struct correction c;
	int n = 0;

	for (size_t i = 0; i < b->count; i++) {
		const struct rerun *other = &b->reruns[i];

		if (!is_anchor(r, other, true))
			continue;
		all[n] = observe(other, 1);
		cross[n] = observe(other, cross_scale(other));
		correction_fit(&all[n], 1, &c);
		predict(b, &scores[ONE_RUN], r, &c, weight, 1);
		correction_fit(&cross[n], 1, &c);
		predict(b, &scores[CROSS_ONE_RUN], r, &c, weight, scale);
		predict_by_factor(b, &scores[ONE_FACTOR], r, other, weight);
		n++;
	}
	correction_fit(all, n, &c);
	predict(b, &scores[ALL_RUNS], r, &c, 1, 1);
	correction_fit(cross, n, &c);
	predict(b, &scores[CROSS_ALL_RUNS], r, &c, 1, scale);
	predict(b, &scores[UNCORRECTED], r, NULL, 1, 1);
	predict(b, &scores[CROSS_UNCORRECTED], r, NULL, 1, scale);
}

static void
score_run(struct bench *b, struct scores scores[WAYS], const struct rerun *r)
{
	struct correction c;
	int anchors = 0, strangers = 0;

	for (size_t i = 0; i < b->count; i++) {
		anchors += is_anchor(r, &b->reruns[i], true);
		strangers += is_anchor(r, &b->reruns[i], false);
	}
	if (anchors == 0)
		return;
	score_own(b, scores, r, anchors);
	for (size_t i = 0; i < b->count; i++) {
		struct observation o;

		if (!is_anchor(r, &b->reruns[i], false))
			continue;
		o = observe(&b->reruns[i], 1);
		correction_fit(&o, 1, &c);
		predict(b, &scores[OTHER_MODEL], r, &c, 1.0 / strangers, 1);
	}
	for (int way = 0; way < WAYS; way++)
		scores[way].runs += way != OTHER_MODEL || strangers > 0;
}

static int
by_error(const void *a, const void *b)
{
	double x = ((const struct score_row *)a)->error, y = ((const struct score_row *)b)->error;

	return (x > y) - (x < y);
}

static int
by_width(const void *a, const void *b)
{
	double x = ((const struct score_row *)a)->width, y = ((const struct score_row *)b)->width;

	return (x > y) - (x < y);
}

/* The row at which this share of the weight is reached, in the order of `compare`. */
static const struct score_row *
weighted_quantile(struct scores *s, int (*compare)(const void *, const void *), double share)
{
	double total = 0, sum = 0;
	size_t i;

	qsort(s->rows, s->count, sizeof(*s->rows), compare);
	for (i = 0; i < s->count; i++)
		total += s->rows[i].weight;
	for (i = 0; i + 1 < s->count; i++) {
		sum += s->rows[i].weight;
		if (sum >= share * total)
			break;
	}
	return &s->rows[i];
}

static double
coverage(const struct scores *s)
{
	double total = 0, inside = 0;

	for (size_t i = 0; i < s->count; i++) {
		total += s->rows[i].weight;
		inside += s->rows[i].inside ? s->rows[i].weight : 0;
	}
	return inside / total;
}

static struct after_run
after_run_of(struct scores *s)
{
	struct after_run after = {.runs = s->runs};

	if (s->count == 0)
		return after;
	after.median = weighted_quantile(s, by_error, 0.5)->error;
	after.p90 = weighted_quantile(s, by_error, 0.9)->error;
	after.coverage = coverage(s);
	after.spread = exp(weighted_quantile(s, by_width, 0.5)->width);
	return after;
}

static void
score_all(struct bench *b, struct scores scores[WAYS])
{
	for (size_t i = 0; i < b->count; i++)
		if (counts(&b->reruns[i]))
			score_run(b, scores, &b->reruns[i]);
}

void
transfer_figures(struct bench *b, struct after_run *one, struct after_run *all)
{
	struct scores scores[WAYS] = {{0}};

	score_all(b, scores);
	*one = after_run_of(&scores[CROSS_ONE_RUN]);
	*all = after_run_of(&scores[CROSS_ALL_RUNS]);
}

void
transfer_report(struct bench *b)
{
	static const char *const heads[] = {
	    "rows", "median |e| %", "p90 |e| %", "in the 80 % band", "high / low"};
	struct table *table = table_new(b->arena, 6);
	struct scores scores[WAYS] = {{0}};

	score_all(b, scores);
	str_add(&b->out, "Step time after a measured run of the model (another layout on the same "
			 "GPU, release and precision)\n\n");
	table_column(table, 0, "after a run", TABLE_LEFT);
	for (size_t i = 0; i < 5; i++)
		table_column(table, i + 1, heads[i], TABLE_RIGHT);
	for (int way = 0; way < WAYS; way++) {
		struct after_run after = after_run_of(&scores[way]);

		if (after.runs == 0)
			continue;
		table_row(table);
		table_cell(table, way_names[way]);
		table_cellf(table, "%zu", after.runs);
		table_cellf(table, "%.1f", 100 * after.median);
		table_cellf(table, "%.1f", 100 * after.p90);
		table_cellf(table, "%.0f %%", 100 * after.coverage);
		table_cellf(table, "%.2f", after.spread);
	}
	table_print(table, &b->out, 2);
	peaks_report(b);
}
