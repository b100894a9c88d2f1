/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_EMIT_H
#define MOEPLAN_EMIT_H

#include "base/diag.h"
#include "model/layout.h"
#include "model/model.h"
#include "model/strategy.h"

struct arena;

/* What a plan says, as an emitter needs it: derived, free of violations. */
struct plan_view {
	const struct model *model;
	const struct doc *definition; /* the model as it was read: config.json or our own; NULL */
	struct strategy strategy;     /* derived */
	struct layout layout;
	int64_t nodes, gpus_per_node;
	const char *gpu; /* catalogue name: some settings depend on the generation */
};

/* Reads a plan or estimate document (schemas/plan.output.schema.json) back. NULL after errors. */
struct plan_view *plan_read(
    struct arena *arena, struct diags *diags, const struct doc *doc, const char *name);

/* One file that a target writes: a name to suggest and its text. */
struct emitted {
	const char *name;
	const char *text;
	bool executable;
	struct emitted *next;
};

struct emit_target {
	const char *name; /* "megatron", "deepspeed", "torchtitan", "tutel", "torchrun" … */
	const char *summary;
	const char *versions; /* "0.12 to 0.19", newest is the default; NULL: not versioned */
	const char *newest;
	/* NULL after errors: a plan that the target cannot express is refused with the reason. */
	struct emitted *(*emit)(struct arena *arena, struct diags *diags,
	    const struct plan_view *plan, const char *version);
};
extern const struct emit_target emit_targets[]; /* ends with name NULL */

#endif
