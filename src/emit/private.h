/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_EMIT_PRIVATE_H
#define MOEPLAN_EMIT_PRIVATE_H

#include "base/str.h"
#include "emit/emit.h"
#include "emit/keys.h"

/*
 * The plan in the words of a framework and a release: the same ranks in the same
 * groups, the same batch and the same memory. NULL after errors that say what the
 * framework cannot express.
 */
const struct plan_view *plan_for(struct arena *arena, struct diags *diags,
    const struct plan_view *plan, enum framework framework, const char *version);

/* An error that quotes the target and the reason; NULL, as an emitter returns it. */
struct emitted *refuse_plan(struct diags *diags, const char *target, const char *reason);
/* Appends a file to a list. */
void add_file(struct arena *arena, struct emitted **list, const char *name, const struct str *text,
    bool executable);

/* "qwen3-30b-a3b on 16 GPUs: tp 1 pp 1 ep 8 …": what a file's first comment says. */
const char *plan_title(struct arena *arena, const struct plan_view *plan);

/* A member of the model's config.json, or of its text model; NULL: it is not there. */
const struct doc *plan_config(const struct plan_view *plan, const char *key);

/* One obstacle of a model or a plan, and what it is called. */
struct obstacle {
	bool (*applies)(const struct plan_view *plan);
	const char *text;
};
/* An error for each that applies; false: none does. The table ends with a NULL function. */
bool refuse_obstacles(struct diags *diags, const char *target, const struct obstacle *table,
    const struct plan_view *plan);

/*
 * megatron_strategy.c: every chunk holds equally many layers, so that no layout string is
 * needed.
 */
bool layout_is_plain(const struct plan_view *plan);

/* megatron_recipe.c: sigmoid scores; those of the chosen experts are not made to sum to 1. */
bool router_is_sigmoid(const struct plan_view *plan);
bool router_keeps_scores(const struct plan_view *plan);
/* The config's coefficient, or 0.01 as in Switch Transformers, section 2.2. */
double router_aux_coefficient(const struct plan_view *plan);

/* keys_deepspeed.c: the tensor-parallel degree is the file's to say. */
bool deepspeed_has_autotp(const struct plan_view *plan);
/* AutoEP's name for the model, or NULL. */
const char *deepspeed_preset(const struct model *model);

/* torchtitan's module, flavor and recipe that have exactly this shape. */
struct flavor {
	const char *module, *name;
	const char *recipe; /* function of 0.3's registry for it or for the nearest flavor */
	bool own_recipe;    /* for it */
	const char *architecture;
	int64_t hidden, layers, experts, vocab;
};
const struct flavor *flavor_of(const struct plan_view *plan);

/* target_launch.c: "torchrun --nnodes …" without the script that it starts. */
void add_torchrun(struct str *out, const struct plan_view *plan);

typedef struct emitted *emit_fn(
    struct arena *arena, struct diags *diags, const struct plan_view *plan, const char *version);
emit_fn emit_megatron, emit_bridge, emit_deepspeed, emit_torchtitan, emit_tutel, emit_fairscale,
    emit_accelerate, emit_jax, emit_torchrun, emit_deepspeed_launch, emit_slurm, emit_mpirun,
    emit_ranks;

#endif
