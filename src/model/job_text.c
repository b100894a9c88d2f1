/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How is what a job asks for written down again? As its options take it. */
#include "base/arena.h"
#include "base/numeric.h"
#include "model/job.h"

/* The fewest digits that are read back as the same number. */
const char *
shortest_number(struct arena *arena, double value)
{
	char text[32];

	for (int digits = 6; digits <= 17; digits++) {
		numeric_snprintf(text, sizeof(text), "%.*g", digits, value);
		if (numeric_strtod(text, NULL) == value)
			break;
	}
	return arena_strdup(arena, text);
}

const char *
load_skew_text(struct arena *arena, const struct load_skew *skew)
{
	switch (skew->kind) {
	case SKEW_BALANCED:
		break;
	case SKEW_MAX:
		return arena_printf(arena, "max=%s", shortest_number(arena, skew->value));
	case SKEW_CV:
		return arena_printf(arena, "cv=%s", shortest_number(arena, skew->value));
	case SKEW_ZIPF:
		return arena_printf(arena, "zipf=%s", shortest_number(arena, skew->value));
	case SKEW_TRACE:
		return skew->path;
	}
	return "balanced";
}

int64_t
strategy_axis_value(const struct strategy *s, enum axis axis)
{
	switch (axis) {
	case AXIS_TP:
		return s->tp;
	case AXIS_CP:
		return s->cp;
	case AXIS_PP:
		return s->pp;
	case AXIS_VPP:
		return s->vpp;
	case AXIS_EP:
		return s->ep;
	case AXIS_ETP:
		return s->etp;
	case AXIS_MICRO_BATCH:
		return s->micro_batch;
	case AXIS_RECOMPUTE:
		return recompute_value(s->recompute);
	case AXIS_ZERO:
		return s->zero;
	case AXIS_DISPATCHER:
		return (int64_t)s->dispatcher;
	case AXES:
		break;
	}
	return 0;
}
