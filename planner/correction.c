/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What does one measured step say of the other plans of that model?
 *
 * A step is predicted as sum_g p_g, its parts in five groups. What is wrong with it is taken to be
 * a factor on each group: measured = sum_g p_g exp(x_g) exp(noise), where x_g is normal around 0
 * with a spread of 17 % for computation and 55 % for what depends on the stack (recompute, host
 * time, traffic), and noise has 6 %. A profile's exposed communication is one more such line, over
 * the groups that communicate. The most likely x given the measured steps, by Gauss-Newton:
 *     (1/S + sum_i w_i w_i' / n^2) x = sum_i w_i (ln(m_i / p_i(x)) + w_i' x) / n^2,
 * w_i the groups' shares of step i. The inverse of the left matrix is how surely x is known, so
 * that a plan like the measured one gets a narrow band and another kind of plan a wider one.
 * One factor for everything is the same with computation's spread for all groups; on the replayed
 * runs it transfers worse (tests/bench/transfer.c). The spreads are round numbers: with half
 * or twice of them the median error that is left moves by less than half a point.
 * Ignored: that runs of one layout measured twice share their noise.
 */
#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "planner/correction.h"
#include "planner/evaluator.h"

const char *const corrected_names[] = {
    "computation", "recompute", "host time", "communication", "gradients and optimizer", NULL};
const char *const run_use_reasons[] = {"used", "of another model", "on another GPU",
    "of another framework or release", "in another precision", "of a strategy that breaks a rule",
    "with another split of the layers"};

enum corrected
corrected_of(enum time_part part)
{
	switch (part) {
	case TIME_RECOMPUTE:
		return CORRECTED_RECOMPUTE;
	case TIME_HOST:
	case TIME_STEP:
		return CORRECTED_HOST;
	case TIME_ALL_TO_ALL:
	case TIME_TENSOR_PARALLEL:
	case TIME_CONTEXT_PARALLEL:
	case TIME_PIPELINE:
		return CORRECTED_TRAFFIC;
	case TIME_DATA_PARALLEL:
	case TIME_OPTIMIZER:
	case TIME_OFFLOAD:
		return CORRECTED_DATA;
	default:
		return CORRECTED_COMPUTE;
	}
}

/* The optimizer is updated on the host after the passes, activations are copied in each of them. */
static bool
is_once(const struct strategy *s, int part)
{
	return part == TIME_DATA_PARALLEL || part == TIME_OPTIMIZER || part == TIME_STEP ||
	       (part == TIME_OFFLOAD && s->offload != OFFLOAD_ACTIVATIONS);
}

/* A bubble is made of what the stages do: it grows with them, in their proportions. */
struct observation
observation_of(const struct estimate *e, double measured_s)
{
	struct observation o = {
	    .measured_s = measured_s, .spread = rate_table[RATE_SPREAD_STEP].value};
	double once = 0;
	double bubble = e->exposed_s[TIME_BUBBLE], staged, grow;
	int part;

	for (part = 0; part < TIME_PARTS; part++)
		if (is_once(&e->strategy, part))
			once += e->exposed_s[part];
	staged = e->step_s - once - bubble;
	grow = staged > 0 ? 1 + bubble / staged : 1;
	for (part = 0; part < TIME_PARTS; part++)
		if (part != TIME_BUBBLE)
			o.predicted_s[corrected_of((enum time_part)part)] +=
			    e->exposed_s[part] * (is_once(&e->strategy, part) ? 1 : grow);
	return o;
}

struct observation
observation_of_exposed(const struct estimate *e, double exposed_s)
{
	struct observation o = {
	    .measured_s = exposed_s, .spread = rate_table[RATE_SPREAD_EXPOSED].value};
	int part;

	for (part = 0; part < TIME_PARTS; part++)
		if (corrected_of((enum time_part)part) == CORRECTED_TRAFFIC)
			o.predicted_s[CORRECTED_TRAFFIC] += e->exposed_s[part];
	o.predicted_s[CORRECTED_DATA] = e->exposed_s[TIME_DATA_PARALLEL];
	return o;
}

/* Shares of the groups once factors are applied; the corrected step. */
static double
shares(const double *predicted_s, const double *x, double *w)
{
	double step = 0;
	int i;

	for (i = 0; i < CORRECTED; i++) {
		w[i] = predicted_s[i] * exp(x[i]);
		step += w[i];
	}
	for (i = 0; i < CORRECTED; i++)
		w[i] /= step;
	return step;
}

/* a x = b for a symmetric, positive definite a: no pivots are needed. */
static void
solve(double a[CORRECTED][CORRECTED], double *b)
{
	int i, j, k;

	for (i = 0; i < CORRECTED; i++)
		for (k = i + 1; k < CORRECTED; k++) {
			double f = a[k][i] / a[i][i];

			for (j = i; j < CORRECTED; j++)
				a[k][j] -= f * a[i][j];
			b[k] -= f * b[i];
		}
	for (i = CORRECTED - 1; i >= 0; i--) {
		for (j = i + 1; j < CORRECTED; j++)
			b[i] -= a[i][j] * b[j];
		b[i] /= a[i][i];
	}
}

static double
prior_spread(int group)
{
	return rate_table[group == CORRECTED_COMPUTE ? RATE_SPREAD_COMPUTE : RATE_SPREAD_STACK]
	    .value;
}

/* The left matrix and the right side at x. */
static void
normal_equations(const struct observation *o, int n, const double *x,
    double a[CORRECTED][CORRECTED], double *b)
{
	double w[CORRECTED];
	int i, j, k;

	memset(a, 0, sizeof(double[CORRECTED][CORRECTED]));
	memset(b, 0, sizeof(double[CORRECTED]));
	for (i = 0; i < CORRECTED; i++)
		a[i][i] = 1 / (prior_spread(i) * prior_spread(i));
	for (k = 0; k < n; k++) {
		double noise = o[k].spread;
		double off = log(o[k].measured_s / shares(o[k].predicted_s, x, w));

		for (i = 0; i < CORRECTED; i++)
			off += w[i] * x[i];
		for (i = 0; i < CORRECTED; i++) {
			b[i] += w[i] * off / (noise * noise);
			for (j = 0; j < CORRECTED; j++)
				a[i][j] += w[i] * w[j] / (noise * noise);
		}
	}
}

void
correction_fit(const struct observation *observations, int n, struct correction *c)
{
	enum { ROUNDS = 8 };
	double a[CORRECTED][CORRECTED], copy[CORRECTED][CORRECTED];
	double b[CORRECTED], x[CORRECTED] = {0}, most = rate_table[RATE_CORRECTION_MOST].value;
	int round, i, j;

	for (round = 0; round < ROUNDS; round++) {
		normal_equations(observations, n, x, a, b);
		memcpy(copy, a, sizeof(copy));
		solve(copy, b);
		for (i = 0; i < CORRECTED; i++)
			x[i] = fmin(most, fmax(-most, b[i]));
	}
	normal_equations(observations, n, x, a, b);
	c->runs = n;
	for (i = 0; i < CORRECTED; i++) {
		double column[CORRECTED] = {0};

		c->factor[i] = exp(x[i]);
		column[i] = 1;
		memcpy(copy, a, sizeof(copy));
		solve(copy, column);
		for (j = 0; j < CORRECTED; j++)
			c->covariance[i][j] = column[j];
	}
}

double
correction_spread(const struct correction *c, const struct estimate *estimate)
{
	struct observation o = observation_of(estimate, 0);
	double noise = rate_table[RATE_SPREAD_STEP].value, variance = noise * noise;
	double none[CORRECTED] = {0}, w[CORRECTED];
	int i, j;

	shares(o.predicted_s, none, w); /* the estimate is corrected already */
	for (i = 0; i < CORRECTED; i++)
		for (j = 0; j < CORRECTED; j++)
			variance += w[i] * w[j] * c->covariance[i][j];
	return sqrt(variance);
}

/* --- the runs of a cluster ------------------------------------------------------------------- */

static bool
same_release(const struct strategy *a, const struct strategy *b)
{
	return !a->framework_version || !b->framework_version ||
	       strcmp(a->framework_version, b->framework_version) == 0;
}

/* The run's own split of this model's layers, the even one when it names none; NULL: of no such. */
static struct layout *
run_layout(const struct measured_run *run, const struct strategy *own, const struct model *model,
    struct arena *arena)
{
	struct layout *layout = arena_alloc(arena, sizeof(*layout));

	layout_even(layout, model->layers, (int)own->pp, (int)own->vpp);
	if (own->layout && layout_parse(layout, own->layout, model, (int)own->pp,
			       diags_new(arena), run->loc) != 0)
		return NULL;
	return layout;
}

enum run_use
run_use(const struct measured_run *run, const struct model *model, const struct cluster *cluster,
    const struct strategy *strategy, struct arena *arena)
{
	struct strategy own = run->strategy;
	struct params params;

	params_count(model, &params);
	if (params.total != run->parameters)
		return RUN_OTHER_MODEL;
	if (strcmp(run->gpu, cluster->gpu.name) != 0)
		return RUN_OTHER_GPU;
	if (own.framework != strategy->framework || !same_release(&own, strategy))
		return RUN_OTHER_FRAMEWORK;
	if (own.precision != strategy->precision)
		return RUN_OTHER_PRECISION;
	strategy_derive(&own, model, cluster->world);
	if (strategy_first_violation(&own, model) || strategy_refusal(&own))
		return RUN_INVALID;
	return run_layout(run, &own, model, arena) ? RUN_USED : RUN_OTHER_LAYOUT;
}

/* Model state is arithmetic: what a peak is off by is put down to what comes and goes. */
double
activation_ratio(const struct measured_run *run, const struct estimate *e)
{
	double most = rate_table[RATE_ACTIVATIONS_MOST].value;
	double measured = (double)run->allocated_bytes, state = 0, peak = 0, ratio;
	int i, part;

	if (run->allocated_bytes == 0)
		measured = (double)run->reserved_bytes;
	for (i = 0; i < e->n_stages; i++) {
		const struct stage_memory *m = &e->stages[i];
		double held = m->allocated_bytes;

		if (run->allocated_bytes == 0)
			held = m->total_bytes - m->parts[MEMORY_RUNTIME];
		if (held <= peak)
			continue;
		peak = held;
		for (state = 0, part = MEMORY_WEIGHTS; part <= MEMORY_WGRAD_BUFFERS; part++)
			state += m->parts[part];
	}
	if (!(measured > state) || !(peak > state))
		return 1;
	ratio = (measured - state) / (peak - state);
	return fmin(most, fmax(1 / most, ratio));
}

/* What a run says, by the step that is predicted without correction: one or two lines. */
static int
observe(const struct evaluator *e, const struct measured_run *run, struct arena *arena,
    struct observation o[2], double *activations)
{
	struct strategy *own = arena_alloc(arena, sizeof(*own));
	struct layout *layout;
	struct estimate *estimate = arena_alloc(arena, sizeof(*estimate));

	*own = run->strategy;
	strategy_derive(own, e->model, e->cluster->world);
	layout = run_layout(run, own, e->model, arena);
	estimate->stages = arena_array(arena, (size_t)own->pp, sizeof(*estimate->stages));
	evaluate_exact(e, own, layout, arena, estimate->stages, estimate);
	*activations = activation_ratio(run, estimate);
	o[0] = observation_of(estimate, run->step_s);
	o[1] = observation_of_exposed(estimate, run->exposed_s);
	if (run->exposed_s > 0 &&
	    o[1].predicted_s[CORRECTED_TRAFFIC] + o[1].predicted_s[CORRECTED_DATA] > 0)
		return 2;
	return 1;
}

void
evaluator_correct(struct evaluator *e, struct arena *arena)
{
	const struct measured_runs *runs = &e->cluster->runs;
	struct correction *c;
	struct observation *o;
	double logs = 0;
	int i, n = 0, used = 0, peaks = 0;

	o = arena_array(arena, 2 * (size_t)runs->n, sizeof(*o));
	for (i = 0; i < runs->n; i++) {
		const struct measured_run *run = &runs->rows[i];
		double activations = 1;
		int lines = 0;

		if (run_use(run, e->model, e->cluster, &e->job->base, arena) == RUN_USED)
			lines = observe(e, run, arena, &o[n], &activations);
		logs += log(activations);
		peaks += lines > 0 && (run->allocated_bytes > 0 || run->reserved_bytes > 0);
		n += lines;
		used += lines > 0;
	}
	if (used == 0)
		return;
	c = arena_alloc(arena, sizeof(*c));
	correction_fit(o, n, c);
	c->runs = used;
	e->correction = c;
	e->activation_scale = peaks > 0 ? exp(logs / peaks) : 1;
	for (i = 0; i < TIME_SLOTS; i++)
		e->slots[i].used = false; /* times found before there was a correction */
}

const struct correction *
evaluator_correction(const struct evaluator *e, const struct strategy *s)
{
	const struct strategy *base = &e->job->base;
	bool alike = s->framework == base->framework && s->precision == base->precision;

	return alike ? e->correction : NULL;
}

double
evaluator_activation_scale(const struct evaluator *e, const struct strategy *s)
{
	return evaluator_correction(e, s) ? e->activation_scale : 1;
}

double
corrected_factor(const struct evaluator *e, const struct strategy *s, enum corrected group)
{
	const struct correction *c = evaluator_correction(e, s);

	return c ? c->factor[group] : 1;
}

void
correct_layer(const struct evaluator *e, const struct strategy *s, struct layer_time *t)
{
	const struct correction *c = evaluator_correction(e, s);
	int part;

	for (part = 0; c && part < TIME_PARTS; part++) {
		double factor = c->factor[corrected_of((enum time_part)part)];

		t->forward[part] *= factor;
		t->backward[part] *= factor;
		t->hidden[part] *= factor;
	}
	if (!c)
		return;
	t->recompute_s *= c->factor[CORRECTED_RECOMPUTE];
	t->weight_s *= c->factor[corrected_of(TIME_EXPERTS)];
	t->alone_forward_s *= c->factor[corrected_of(TIME_ALL_TO_ALL)];
	t->alone_backward_s *= c->factor[corrected_of(TIME_ALL_TO_ALL)];
}
