/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which runs are compared in what, and how far off is the prediction of each?
 *
 * e = predicted / measured - 1. The activation part of a peak is what is left
 * when our model state is taken off.
 */
#include "errors.h"

#include <string.h>

bool
is_moe(const struct rerun *r)
{
	return strncmp(r->run->class, "moe", 3) == 0;
}

double
step_error(const struct rerun *r)
{
	return r->estimate.step_s / r->measured_step_s - 1;
}

double
cross_error(const struct rerun *r)
{
	return r->cross_step_s / r->measured_step_s - 1;
}

bool
has_cross(const struct rerun *r)
{
	return counts(r) && r->cross_step_s > 0;
}

bool
is_moe_nodes(const struct rerun *r)
{
	return counts(r) && is_moe(r) && r->nodes > 1;
}

bool
is_moe_beyond(const struct rerun *r)
{
	return counts(r) && is_moe(r) && r->expert_group_leaves_domain;
}

bool
is_complete(const struct rerun *r)
{
	return counts(r) && strcmp(r->run->complete, "yes") == 0;
}

bool
is_pipelined(const struct rerun *r)
{
	return counts(r) && r->estimate.strategy.pp > 1;
}

double
closed_error(const struct rerun *r)
{
	return r->closed_step_s / r->estimate.step_s - 1;
}

bool
has_counter(const struct rerun *r)
{
	return r->counter > 0;
}

double
counter_error(const struct rerun *r)
{
	return 1 / r->counter - 1;
}

bool
has_memory(const struct rerun *r)
{
	return r->outcome == OUTCOME_PREDICTED && r->run->mem_gib > 0;
}

/* What was kept must be known, not assumed. */
bool
counts_memory(const struct rerun *r)
{
	return has_memory(r) && strcmp(r->run->complete, "yes") == 0;
}

double
memory_error(const struct rerun *r)
{
	return rerun_memory(r).gib / r->run->mem_gib - 1;
}

bool
has_rival_memory(const struct rerun *r)
{
	return counts_memory(r) && r->run->sim_mem_gib > 0;
}

double
rival_memory_error(const struct rerun *r)
{
	return r->run->sim_mem_gib / r->run->mem_gib - 1;
}

/* Activations: what is left of the measured peak when our model state is taken off. */
double
activation_error(const struct rerun *r)
{
	struct memory_prediction p = rerun_memory(r);

	return (p.gib - p.state_gib) / (r->run->mem_gib - p.state_gib) - 1;
}

double
rival_activation_error(const struct rerun *r)
{
	double state = rerun_memory(r).state_gib;

	return (r->run->sim_mem_gib - state) / (r->run->mem_gib - state) - 1;
}

bool
has_rival_time(const struct rerun *r)
{
	return has_time(r) && r->run->sim_step_s > 0;
}

double
rival_step_error(const struct rerun *r)
{
	return r->run->sim_step_s / r->measured_step_s - 1;
}

void
collect(struct bench *b, struct errors *errors, keep_fn *keep, value_fn *value)
{
	for (size_t i = 0; i < b->count; i++)
		if (keep(&b->reruns[i]))
			errors_add(b->arena, errors, value(&b->reruns[i]));
}
