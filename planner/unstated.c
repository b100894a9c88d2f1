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

/* Index 0 is what was assumed. */
static void
set_recompute(const struct evaluator *e, struct strategy *s, int index)
{
	bool latent = e->kinds[0].kind->mixer.kind == MIXER_MLA;
	unsigned cheap = MODULE_LAYERNORM | (e->moe ? MODULE_MOE_ACT : 0U) |
	    (latent ? MODULE_MLA_UP_PROJ : 0U);

	if (index == 1)
		s->recompute = (struct recompute){RECOMPUTE_NONE, 0, 0};
	else if (index == 2 && s->framework == FRAMEWORK_MEGATRON)
		s->recompute = (struct recompute){RECOMPUTE_SELECTIVE, cheap, 0};
	else if (index == 3)
		s->recompute = (struct recompute){RECOMPUTE_FULL, 0, 0};
}

static void
set_dispatcher(const struct evaluator *e, struct strategy *s, int index)
{
	(void)e;
	if (index > 0)
		s->dispatcher = index == 1 ? DISPATCH_ALLTOALL : DISPATCH_DEEPEP;
}

static void
set_gradients(const struct evaluator *e, struct strategy *s, int index)
{
	(void)e;
	if (index > 0)
		s->grad_type = index == 1 ? FLOAT_FP32 : FLOAT_BF16;
}

static void
set_optimizer(const struct evaluator *e, struct strategy *s, int index)
{
	(void)e;
	if (index > 0)
		s->moment_type = index == 1 ? FLOAT_FP32 : FLOAT_BF16;
}

static const struct setting {
	enum said said;
	int values; /* beside the assumed one */
	void (*set)(const struct evaluator *e, struct strategy *s, int index);
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

void
evaluate_unstated(const struct evaluator *e, const struct strategy *s, const struct layout *layout,
    struct unstated *found)
{
	int count[SETTINGS], combinations = 1;

	*found = (struct unstated){.settings = unstated_of(e, s)};
	for (int i = 0; i < SETTINGS; i++) {
		count[i] = found->settings & settings[i].said ? 1 + settings[i].values : 1;
		combinations *= count[i];
	}
	for (int c = 0; c < combinations; c++) {
		struct strategy t = *s;
		struct estimate estimate;

		for (int i = 0, rest = c; i < SETTINGS; rest /= count[i++])
			settings[i].set(e, &t, rest % count[i]);
		if (c > 0 && strategy_first_violation(&t, e->model))
			continue;
		evaluate(e, &t, layout, NULL, &estimate);
		if (c == 0 || estimate.verdict != VERDICT_OOM)
			widen(found, &estimate);
	}
}
