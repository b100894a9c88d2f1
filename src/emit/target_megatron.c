/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which arguments does Megatron-LM take for a plan, and which script starts it?
 *
 * The script runs as it is: without arguments of its own it trains on made-up data, which
 * tries the ranks, the memory and the speed. Data, tokenizer, learning rate and checkpoints
 * are no part of a plan and are given to the script.
 */
#include <string.h>

#include "base/arena.h"
#include "emit/megatron_values.h"
#include "emit/private.h"
#include "emit/values.h"

static const char CONTINUED[] = " \\\n";

static void
add_word(struct str *out, const struct doc *value)
{
	add_shell(out, value->text);
}

/* "--recompute-modules layernorm moe_act" */
static void
add_argument(struct str *out, const struct key_value *setting)
{
	const struct doc *item;

	str_add(out, "--");
	for (const char *name = setting->key->name; *name; name++)
		str_addc(out, *name == '_' ? '-' : *name);
	if (setting->key->kind == KEY_FLAG)
		return;
	for (item = setting->value->kind == DOC_LIST ? setting->value->first : setting->value; item;
	     item = setting->value->kind == DOC_LIST ? item->next : NULL) {
		str_addc(out, ' ');
		add_word(out, item);
	}
}

/* One a line: inside an array, or as the lines of one command. */
static void
add_arguments(
    struct str *out, const struct key_value *settings, const char *indent, const char *end)
{
	for (; settings; settings = settings->next) {
		str_add(out, indent);
		add_argument(out, settings);
		str_add(out, settings->next ? end : "\n");
	}
}

static bool
is_blackwell(const char *gpu)
{
	static const char *const prefixes[] = {"B200", "B300", "GB200", "GB300", NULL};

	for (int i = 0; gpu && prefixes[i]; i++)
		if (strncmp(gpu, prefixes[i], strlen(prefixes[i])) == 0)
			return true;
	return false;
}

/*
 * Before Blackwell, kernels of TP and CP must be queued in order: one connection. FSDP and
 * overlapped experts want several (megatron/training/arguments.py).
 */
static void
add_environment(struct str *out, const struct plan_view *plan)
{
	const struct strategy *s = &plan->strategy;
	bool ordered = (s->tp > 1 || s->cp > 1) && !is_blackwell(plan->gpu);

	if (s->zero >= 2)
		str_add(out, "unset CUDA_DEVICE_MAX_CONNECTIONS\n");
	else if (s->overlap & OVERLAP_EP && s->ep > 1)
		str_add(out, "export CUDA_DEVICE_MAX_CONNECTIONS=32\n");
	else if (ordered)
		str_add(out, "export CUDA_DEVICE_MAX_CONNECTIONS=1\n");
}

static void
add_script(struct str *out, const struct plan_view *plan, const struct key_value *settings)
{
	str_addf(out, "#!/bin/bash\n# %s\n# Megatron-LM %s\n", plan_title(out->arena, plan),
	    plan->strategy.framework_version);
	str_add(out,
	    "# usage: NODE_RANK=n MASTER_ADDR=host pretrain.sh [ARGUMENTS]\n"
	    "# Data, tokenizer, learning rate and checkpoints are no part of a plan: give them\n"
	    "# as arguments. Without any it is a short run on made-up data.\n"
	    "set -eu\n");
	add_environment(out, plan);
	str_add(out, "\nPLAN=(\n");
	add_arguments(out, settings, "    ", "\n");
	str_add(out, ")\nif [ $# -eq 0 ]; then\n"
		     "    set -- --mock-data --tokenizer-type NullTokenizer --train-iters 10 \\\n"
		     "        --eval-iters 0 --lr 1e-4 --log-interval 1\nfi\n\n");
	add_torchrun(out, plan);
	str_addf(out, " \\\n    %s \"${PLAN[@]}\" \"$@\"\n", megatron_program(plan));
}

const struct plan_view *
megatron_view(
    struct arena *arena, struct diags *diags, const struct plan_view *plan, const char *version)
{
	const struct plan_view *view = plan_for(arena, diags, plan, FRAMEWORK_MEGATRON, version);
	const char *obstacle = view ? megatron_plan_obstacle(view) : NULL;

	if (!obstacle)
		return view;
	refuse_plan(diags, "megatron", obstacle);
	return NULL;
}

struct emitted *
emit_megatron(
    struct arena *arena, struct diags *diags, const struct plan_view *plan, const char *version)
{
	const struct plan_view *view = megatron_view(arena, diags, plan, version);
	const char *obstacle = view ? megatron_model_obstacle(view) : NULL;
	struct str arguments = str_new(arena), script = str_new(arena);
	const struct key_value *settings;
	struct emitted *files = NULL;

	if (!view)
		return NULL;
	if (obstacle)
		return refuse_plan(diags, "megatron",
		    arena_printf(arena,
			"no arguments of Megatron-LM are written for %s", obstacle));
	settings = keys_write(megatron_keys, arena, diags, view);
	if (!settings)
		return NULL;
	add_arguments(&arguments, settings, "", CONTINUED);
	add_script(&script, view, settings);
	add_file(arena, &files, "megatron-arguments.txt", &arguments, false);
	add_file(arena, &files, "pretrain.sh", &script, true);
	return files;
}
