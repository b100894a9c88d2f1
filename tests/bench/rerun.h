/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_BENCH_RERUN_H
#define MOEPLAN_BENCH_RERUN_H

#include "planner/band.h"
#include "planner/estimate.h"
#include "planner/unstated.h"
#include "runs.h"

enum outcome {
	OUTCOME_PREDICTED,
	OUTCOME_UNSTATED,   /* the source leaves out what a prediction needs */
	OUTCOME_UNMODELLED, /* the tool says so by name, or there is no config of a class it lacks
			     */
	OUTCOME_REFUSED,    /* a row that should be modelled was refused */
	OUTCOME_NOT_FINITE,
};

/* A run and what the tool makes of it. */
struct rerun {
	const struct run *run;
	enum outcome outcome;
	const char *reason;  /* why not predicted */
	const char *command; /* what was typed: equal text is the same configuration */
	struct estimate estimate;
	double seq, batch, gpus;
	double flops_per_token; /* training, causal half, as the tool counts them */
	double measured_step_s; /* 0: no time was published */
	double closed_step_s, bound_step_s;
	/* by rates that never saw this model on this GPU; 0: not in cross.csv */
	double cross_step_s;
	enum step_class step_class;
	struct unstated unstated; /* over the settings that the source leaves out */
	double counter; /* the source's FLOPs a token over ours, its convention; 0: unknown */
	int nodes;
	bool expert_group_leaves_domain;
	const struct evaluator *evaluator; /* to evaluate again with other rates */
};

/* Reads model, cluster and strategy as the command line does, and evaluates. */
void rerun_run(struct arena *arena, const char *folder, const struct run *run, struct rerun *rerun);

/* Forgets the layer times that the evaluator keeps: they are those of the rates at hand. */
void rerun_forget(const struct rerun *rerun);

/* Predicted memory by the run's mem_kind, GiB, and the model state in it. */
struct memory_prediction {
	double gib, state_gib;
};
struct memory_prediction rerun_memory(const struct rerun *rerun);

/* The bands of step and of rerun_memory(), widened to what unstated settings may make of them. */
struct interval {
	double low, high;
};
struct interval rerun_step_interval(const struct rerun *rerun);
struct interval rerun_memory_interval(const struct rerun *rerun);

#endif
