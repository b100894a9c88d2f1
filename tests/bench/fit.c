/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Would other efficiencies describe runs better that took no part in choosing them?
 *
 * Loss: mean over runs of min(|ln(predicted / measured)|, 0.7), a layout that
 * was measured several times counting once. Rates are moved one at a time on a
 * log scale within their bounds (coordinate descent). Runs are cut into folds by
 * model and GPU, so that a fold's rates never saw a run of the same model on the
 * same GPU. A rate joins the fit only if the loss on left-out folds falls by more
 * than 0.5 % of itself; else it keeps its value. What is printed is a proposal:
 * rates.c is edited by hand, with the reason.
 *
 * --cross writes cross.csv: what each run would have been predicted by rates that
 * never saw its model on its GPU. There all rates start in the middle of their
 * bounds, for the shipped ones have seen every run.
 *
 * --self-test asks whether the fit would know: runs measured just as predicted, but
 * for noise, must move no rate, and runs of a machine whose memory is slower must
 * move that rate to where it is.
 *
 * usage: fit [--cross|--self-test] FOLDER        (FOLDER holds runs.csv, models/, clusters/)
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/doc.h"
#include "bench.h"
#include "planner/rates.h"
#include "score.h"

/* What may move, and how far. */
static const struct {
	enum rate rate;
	double min, max;
} knobs[] = {
    {RATE_GEMM_BF16, 0.5, 1},
    {RATE_GEMM_FP8, 0.5, 1.1},
    {RATE_GEMM_FP4, 0.4, 1.1},
    {RATE_GROUPED_BF16, 0.5, 1.05},
    {RATE_GEMM_SUSTAINED, 0.7, 1.1},
    {RATE_GEMM_SUSTAINED_FP4, 0.5, 1},
    {RATE_FLASH_FORWARD, 0.6, 1.5},
    {RATE_FLASH_BACKWARD, 0.4, 1.1},
    {RATE_MEMORY, 0.4, 0.9},
    {RATE_PERMUTE, 1, 3},
    {RATE_NIC_ALL_TO_ALL, 0.4, 0.95},
    {RATE_LINK, 0.5, 0.95},
    {RATE_HIDDEN_EP, 0.2, 1},
    {RATE_HIDDEN_TP, 0.1, 0.9},
    {RATE_HOST_MOE_S, 0.5e-3, 6e-3},
    {RATE_HOST_DENSE_S, 0.1e-3, 1.5e-3},
    {RATE_HOST_FP8, 1, 2.5},
    {RATE_HOST_GRAPHS, 0.05, 0.8},
    {RATE_SYNC_GAP_S, 0.05e-3, 1.5e-3},
    {RATE_STEP_S, 0.01, 0.3},
};
enum { KNOBS = sizeof(knobs) / sizeof(knobs[0]), FOLDS = 8 };

struct fit {
	struct bench *bench;
	double *weight; /* of a row: 1 / rows of its layout; 0: takes no part */
	int *fold;
};

static double
row_loss(const struct rerun *r)
{
	struct estimate e;

	rerun_forget(r);
	evaluate(r->evaluator, &r->estimate.strategy, &r->estimate.layout, NULL, &e);
	return fmin(fabs(log(e.step_s / r->measured_step_s)), 0.7);
}

/* Mean loss over the rows of a fold (inside) or of all others. */
static double
loss(const struct fit *fit, int fold, bool inside)
{
	double sum = 0, weight = 0;

	for (size_t i = 0; i < fit->bench->count; i++) {
		if (fit->weight[i] <= 0 || (fold >= 0 && (fit->fold[i] == fold) != inside))
			continue;
		sum += fit->weight[i] * row_loss(&fit->bench->reruns[i]);
		weight += fit->weight[i];
	}
	return weight > 0 ? sum / weight : 0;
}

static double
clamp(int knob, double value)
{
	return fmin(knobs[knob].max, fmax(knobs[knob].min, value));
}

/* Moves the chosen rates as long as the loss outside `fold` falls. */
static void
descend(const struct fit *fit, const bool *chosen, int fold)
{
	double best = loss(fit, fold, false);

	for (double step = 0.16; step > 0.015; step /= 2)
		for (int k = 0; k < KNOBS; k++)
			for (int sign = -1; chosen[k] && sign <= 1; sign += 2) {
				double *value = &rate_table[knobs[k].rate].value;
				double before = *value, now;

				*value = clamp(k, before * exp(sign * step));
				now = loss(fit, fold, false);
				if (now < best * (1 - 1e-6))
					best = now;
				else
					*value = before;
			}
}

static void
save(double *values)
{
	for (int k = 0; k < KNOBS; k++)
		values[k] = rate_table[knobs[k].rate].value;
}

static void
restore(const double *values)
{
	for (int k = 0; k < KNOBS; k++)
		rate_table[knobs[k].rate].value = values[k];
}

/* Loss on runs whose model and GPU took no part, the shipped values as the start. */
static double
left_out_loss(const struct fit *fit, const bool *chosen)
{
	double shipped[KNOBS], sum = 0, weight = 0;

	save(shipped);
	for (int fold = 0; fold < FOLDS; fold++) {
		double rows = 0;

		for (size_t i = 0; i < fit->bench->count; i++)
			rows += fit->fold[i] == fold ? fit->weight[i] : 0;
		descend(fit, chosen, fold);
		sum += rows * loss(fit, fold, true);
		weight += rows;
		restore(shipped);
	}
	return sum / weight;
}

static unsigned
hash(const char *text)
{
	unsigned h = 2166136261U;

	for (; *text; text++)
		h = (h ^ (unsigned char)*text) * 16777619U;
	return h;
}

static void
weigh(struct fit *fit)
{
	struct bench *b = fit->bench;

	for (size_t i = 0; i < b->count; i++) {
		const struct rerun *r = &b->reruns[i];
		size_t same = 0;

		if (!counts(r))
			continue;
		for (size_t j = 0; j < b->count; j++)
			same += counts(&b->reruns[j]) && same_layout(r, &b->reruns[j]);
		fit->weight[i] = 1.0 / (double)same;
		fit->fold[i] = (int)(hash(arena_printf(b->arena, "%s on %s", r->run->model,
					 r->run->gpu)) % FOLDS);
	}
}

/* Which rates help runs that they never saw; returns the loss on these. */
static double
choose_rates(const struct fit *fit, bool *chosen)
{
	double best = left_out_loss(fit, chosen);

	printf("left-out loss with the shipped values: %.4f\n\n", best);
	for (int k = 0; k < KNOBS; k++) {
		double now;

		chosen[k] = true;
		now = left_out_loss(fit, chosen);
		printf("%-24s %.4f  %s\n", rate_table[knobs[k].rate].name, now,
		    now < best * 0.995 ? "joins the fit" : "keeps its value");
		fflush(stdout);
		if (now < best * 0.995)
			best = now;
		else
			chosen[k] = false;
	}
	return best;
}

static void
choose(const struct fit *fit)
{
	bool chosen[KNOBS] = {false};
	double best = choose_rates(fit, chosen);

	printf("\nleft-out loss of the proposal: %.4f; fitted on all runs:\n\n", best);
	descend(fit, chosen, -1);
	for (int k = 0; k < KNOBS; k++)
		if (chosen[k])
			printf("%-24s %.4g\n", rate_table[knobs[k].rate].name,
			    rate_table[knobs[k].rate].value);
	printf("\nloss on the runs it was fitted on: %.4f\n", loss(fit, -1, false));
}

/* --- cross.csv --- */

static void
cross_fold(const struct fit *fit, int fold, double *step_s)
{
	bool all[KNOBS];

	for (int k = 0; k < KNOBS; k++) {
		all[k] = true;
		rate_table[knobs[k].rate].value = sqrt(knobs[k].min * knobs[k].max);
	}
	for (int pass = 0; pass < 3; pass++)
		descend(fit, all, fold);
	for (size_t i = 0; i < fit->bench->count; i++) {
		struct rerun *r = &fit->bench->reruns[i];
		struct estimate e;

		if (fit->weight[i] <= 0 || fit->fold[i] != fold)
			continue;
		rerun_forget(r);
		evaluate_exact(r->evaluator, &r->estimate.strategy, &r->estimate.layout,
		    fit->bench->arena, NULL, &e);
		step_s[i] = e.step_s;
	}
}

static void
cross(const struct fit *fit)
{
	struct bench *b = fit->bench;
	double *step_s = arena_array(b->arena, b->count, sizeof(*step_s));
	double shipped[KNOBS];

	save(shipped);
	for (int fold = 0; fold < FOLDS; fold++) {
		cross_fold(fit, fold, step_s);
		restore(shipped);
	}
	puts("id,shipped_s,cross_s");
	for (size_t i = 0; i < b->count; i++)
		if (fit->weight[i] > 0)
			printf("%s,%.5g,%.5g\n", b->reruns[i].run->id,
			    b->reruns[i].estimate.step_s, step_s[i]);
}

/* --- self-test --- */

/* Steps become what the rates at hand predict, times 0.9 to 1.1 by the run's name. */
static void
measure_predictions(const struct fit *fit)
{
	for (size_t i = 0; i < fit->bench->count; i++) {
		struct rerun *r = &fit->bench->reruns[i];
		struct estimate e;

		if (fit->weight[i] <= 0)
			continue;
		rerun_forget(r);
		evaluate(r->evaluator, &r->estimate.strategy, &r->estimate.layout, NULL, &e);
		r->measured_step_s = e.step_s * (0.9 + 0.2 * (hash(r->run->id) % 1000) / 999.0);
	}
}

static int
self_test(const struct fit *fit)
{
	double *memory = &rate_table[RATE_MEMORY].value, shipped = *memory, slow = 0.75 * shipped;
	bool none[KNOBS] = {false}, found[KNOBS] = {false};
	int moved = 0, wrong;

	measure_predictions(fit);
	choose_rates(fit, none);
	for (int k = 0; k < KNOBS; k++)
		moved += none[k];
	printf("\nnoise alone: %d rates join the fit, none should\n\n", moved);
	*memory = slow;
	measure_predictions(fit);
	*memory = shipped;
	choose_rates(fit, found);
	descend(fit, found, -1);
	wrong = fabs(*memory / slow - 1) > 0.05;
	printf("\nmemory of %.3g: the fit says %.3g\n", slow, *memory);
	return moved > 0 || wrong;
}

/* A bound that shuts the shipped value out would move it unasked. */
static int
check_bounds(void)
{
	int wrong = 0;

	for (int k = 0; k < KNOBS; k++) {
		const struct rate_row *row = &rate_table[knobs[k].rate];

		if (row->value >= knobs[k].min && row->value <= knobs[k].max)
			continue;
		fprintf(stderr, "fit: %s %g is outside %g to %g\n", row->name, row->value,
		    knobs[k].min, knobs[k].max);
		wrong++;
	}
	return wrong;
}

static void
out_of_memory(void *context)
{
	(void)context;
	fputs("fit: out of memory\n", stderr);
	exit(3);
}

int
main(int argc, char **argv)
{
	struct bench b = {.arena = arena_new(out_of_memory, NULL)};
	struct fit fit = {.bench = &b};
	bool crossing = argc > 1 && strcmp(argv[1], "--cross") == 0;
	bool testing = argc > 1 && strcmp(argv[1], "--self-test") == 0;
	int status = 0;

	if (argc != 2 + crossing + testing || !b.arena) {
		fputs("usage: fit [--cross|--self-test] FOLDER\n", stderr);
		return 2;
	}
	b.diags = diags_new(b.arena);
	if (check_bounds() > 0 || bench_load(&b, argv[argc - 1]) != 0)
		return 2;
	fit.weight = arena_array(b.arena, b.count, sizeof(double));
	fit.fold = arena_array(b.arena, b.count, sizeof(int));
	weigh(&fit);
	if (crossing)
		cross(&fit);
	else if (testing)
		status = self_test(&fit);
	else
		choose(&fit);
	arena_free(b.arena);
	return status;
}
