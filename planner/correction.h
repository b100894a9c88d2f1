/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_CORRECTION_H
#define MOEPLAN_CORRECTION_H

#include "model/measured.h"
#include "planner/estimate.h"

/*
 * What measured steps of a model say of its other plans: a factor on every group of a step's
 * parts, and how surely each is known. See correction.c.
 */
enum corrected {
	CORRECTED_COMPUTE,   /* products, attention, memory-bound kernels, head */
	CORRECTED_RECOMPUTE,
	CORRECTED_HOST,      /* launches, sync gaps, the constant of a step */
	CORRECTED_TRAFFIC,   /* all-to-all, tensor- and context-parallel, hand-offs */
	CORRECTED_DATA,      /* gradients, parameters, optimizer */
	CORRECTED
};
extern const char *const corrected_names[CORRECTED + 1]; /* for people */

struct correction {
	int runs; /* measured steps that it rests on */
	double factor[CORRECTED];
	double covariance[CORRECTED][CORRECTED]; /* of their logarithms */
};

/* Seconds by group as predicted without correction, what they came to, and how surely. */
struct observation {
	double predicted_s[CORRECTED];
	double measured_s;
	double spread; /* of the logarithm, besides the groups' */
};
struct observation observation_of(const struct estimate *estimate, double measured_s);
/* The same of exposed communication alone, as a profile shows it. */
struct observation observation_of_exposed(const struct estimate *estimate, double exposed_s);
void correction_fit(const struct observation *observations, int n, struct correction *correction);
enum corrected corrected_of(enum time_part part);
/* Standard deviation of the logarithm of a corrected step. */
double correction_spread(const struct correction *correction, const struct estimate *estimate);

/*
 * What the measured peak of a run's allocator says of activations: those measured over those
 * predicted (`estimate` has its stages), 1 when the run says nothing of memory.
 */
double activation_ratio(const struct measured_run *run, const struct estimate *estimate);

/* Why a measured run corrects a strategy, or does not. */
enum run_use {
	RUN_USED,
	RUN_OTHER_MODEL,
	RUN_OTHER_GPU,
	RUN_OTHER_FRAMEWORK,
	RUN_OTHER_PRECISION,
	RUN_INVALID, /* its strategy breaks a rule or has no cost model */
	RUN_OTHER_LAYOUT, /* names a split of the layers that this model cannot have */
	RUN_USES
};
extern const char *const run_use_reasons[RUN_USES]; /* "of another model" */
enum run_use run_use(const struct measured_run *run, const struct model *model,
    const struct cluster *cluster, const struct strategy *strategy, struct arena *arena);

/* What activations are multiplied by, from the measured peaks of the model's runs; 1 without. */
double evaluator_activation_scale(
    const struct evaluator *evaluator, const struct strategy *strategy);
/* What corrects this strategy's time, or NULL. */
const struct correction *evaluator_correction(
    const struct evaluator *evaluator, const struct strategy *strategy);

#endif
