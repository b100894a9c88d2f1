/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What if a setting that nobody stated is not the one that was assumed?
 *
 * Every combination of the usual values of the settings that are not stated is
 * evaluated; what breaks a rule or cannot fit is no answer to what was run. The
 * usual values: recompute none, of the cheap modules, or full; the all-to-all
 * dispatcher or DeepEP; gradients in fp32 or bf16; moments in fp32 or bf16.
 * Ignored: other modules and dispatchers, which lie between these.
 */
#include <math.h>

#include "planner/evaluator.h"
#include "planner/unstated.h"

/* Each setter: false when this value, from 1 on, is the one that was assumed. */
static bool
set_recompute(const struct evaluator *e, struct strategy *s, int index)
{
	bool latent = e->kinds[0].kind->mixer.kind == MIXER_MLA;
	unsigned cheap = MODULE_LAYERNORM | (e->moe ? MODULE_MOE_ACT : 0U) |
	    (latent ? MODULE_MLA_UP_PROJ : 0U);
	struct recompute assumed = s->recompute;

	if (index == 1)
		s->recompute = (struct recompute){RECOMPUTE_NONE, 0, 0};
	else if (index == 2 && s->framework == FRAMEWORK_MEGATRON)
		s->recompute = (struct recompute){RECOMPUTE_SELECTIVE, cheap, 0};
	else if (index == 3)
		s->recompute = (struct recompute){RECOMPUTE_FULL, 0, 0};
	return s->recompute.kind != assumed.kind || s->recompute.modules != assumed.modules ||
	    s->recompute.layers != assumed.layers;
}

static bool
set_dispatcher(const struct evaluator *e, struct strategy *s, int index)
{
	enum dispatcher assumed = s->dispatcher;

	(void)e;
	s->dispatcher = index == 1 ? DISPATCH_ALLTOALL : DISPATCH_DEEPEP;
	return s->dispatcher != assumed;
}

static bool
set_gradients(const struct evaluator *e, struct strategy *s, int index)
{
	enum float_type assumed = s->grad_type;

	(void)e;
	s->grad_type = index == 1 ? FLOAT_FP32 : FLOAT_BF16;
	return s->grad_type != assumed;
}

static bool
set_optimizer(const struct evaluator *e, struct strategy *s, int index)
{
	enum float_type assumed = s->moment_type;

	(void)e;
	s->moment_type = index == 1 ? FLOAT_FP32 : FLOAT_BF16;
	return s->moment_type != assumed;
}

static const struct setting {
	enum said said;
	int values; /* beside the assumed one */
	bool (*set)(const struct evaluator *e, struct strategy *s, int index);
} settings[] = {
    {SAID_RECOMPUTE, 3, set_recompute},
    {SAID_DISPATCHER, 2, set_dispatcher},
    {SAID_GRADIENTS, 2, set_gradients},
    {SAID_OPTIMIZER, 2, set_optimizer},
};
enum { SETTINGS = sizeof(settings) / sizeof(*settings) };

static unsigned
unstated_of(const struct evaluator *e, const struct strategy *s)
{
	unsigned all = SAID_RECOMPUTE | SAID_GRADIENTS | SAID_OPTIMIZER;

	if (e->moe && s->ep > 1)
		all |= SAID_DISPATCHER;
	return all & ~s->said;
}

static void
widen(struct unstated *found, const struct estimate *estimate)
{
	if (found->combinations++ == 0) {
		found->step_low_s = found->step_high_s = estimate->step_s;
		found->low_bytes = found->high_bytes = estimate->worst_bytes;
		return;
	}
	found->step_low_s = fmin(found->step_low_s, estimate->step_s);
	found->step_high_s = fmax(found->step_high_s, estimate->step_s);
	found->low_bytes = fmin(found->low_bytes, estimate->worst_bytes);
	found->high_bytes = fmax(found->high_bytes, estimate->worst_bytes);
}

/* Combination c: false when it is one that another number has too, or breaks a rule. */
static bool
combine(const struct evaluator *e, const int *count, int c, struct strategy *s)
{
	for (int i = 0, rest = c; i < SETTINGS; rest /= count[i++])
		if (rest % count[i] > 0 && !settings[i].set(e, s, rest % count[i]))
			return false;
	return !strategy_first_violation(s, e->model);
}

void
evaluate_unstated(const struct evaluator *e, const struct strategy *s, const struct layout *layout,
    struct unstated *found)
{
	int count[SETTINGS], combinations = 1;
	struct estimate assumed;

	*found = (struct unstated){.settings = unstated_of(e, s)};
	for (int i = 0; i < SETTINGS; i++) {
		count[i] = found->settings & settings[i].said ? 1 + settings[i].values : 1;
		combinations *= count[i];
	}
	evaluate(e, s, layout, NULL, &assumed);
	found->assumed_fits = assumed.verdict != VERDICT_OOM;
	if (found->assumed_fits)
		widen(found, &assumed);
	for (int c = 1; c < combinations; c++) {
		struct strategy t = *s;
		struct estimate estimate;

		if (!combine(e, count, c, &t))
			continue;
		evaluate(e, &t, layout, NULL, &estimate);
		if (estimate.verdict != VERDICT_OOM)
			widen(found, &estimate);
	}
	if (found->combinations > 0)
		return;
	widen(found, &assumed);
	found->combinations = 0;
}
