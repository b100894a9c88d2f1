/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What do all settings together mean: which strategy, started how?
 *
 * The strategy is read again from the settings of all files each time, in the order of the
 * key tables, since one row may refine another. What a row alone cannot say follows after:
 * batches from accumulation, the world from the launch line, defaults of the framework.
 * Mistakes are told once, with the file that brings them.
 */
#include <string.h>

#include "base/arena.h"
#include "base/str.h"
#include "check/context.h"
#include "check/context_machine.h"
#include "check/import_private.h"

/* Settings of earlier files were complained about with them. */
bool
import_is_new(const struct import *in, const struct setting *setting)
{
	const struct setting *s = in->old ? in->old->next : in->config->settings;

	while (s && s != setting)
		s = s->next;
	return s != NULL;
}

static int
read_table(struct import *in, enum config_form form, const struct key *table)
{
	struct field_context aloud = {in->arena, in->diags};
	struct field_context silent = {in->arena, diags_new(in->arena)};
	int result = 0;

	for (const struct key *key = table; key->name; key++) {
		const struct doc *value =
		    key->term ? import_value(in->config, form, key->name) : NULL;
		bool new = value &&import_is_new(in, import_find(in->config, form, key->name));

		if (value &&
		    key_read(key, value, &in->config->strategy, new ? &aloud : &silent) != 0 && new)
			result = -1;
	}
	return result;
}

static int
read_tables(struct import *in, enum config_form form)
{
	int result = 0;

	for (const struct key *const *table = import_tables(form); *table; table++)
		if (read_table(in, form, *table) != 0)
			result = -1;
	return result;
}

/* --- frameworks ----------------------------------------------------------------------------- */

/* What a launcher starts, where no option tells. */
static void
recognise_framework(struct config *config)
{
	const struct launch *launch = &config->launch;
	struct strategy *s = &config->strategy;

	if (launch->program && strncmp(launch->program, "torchtitan", 10) == 0)
		s->framework = FRAMEWORK_TORCHTITAN;
	else if (launch->launcher && strcmp(launch->launcher, "deepspeed") == 0)
		s->framework = FRAMEWORK_DEEPSPEED;
	else if (!launch->program || !program_pretrains(launch->program))
		return;
	s->said |= SAID_FRAMEWORK;
}

static void
set_framework(struct import *in)
{
	struct config *config = in->config;
	struct strategy *s = &config->strategy;

	switch (config->form) {
	case CONFIG_MEGATRON:
	case CONFIG_BRIDGE:
		s->framework = FRAMEWORK_MEGATRON;
		break;
	case CONFIG_DEEPSPEED:
	case CONFIG_TUTORIAL:
		s->framework = FRAMEWORK_DEEPSPEED;
		break;
	case CONFIG_TORCHTITAN:
		s->framework = FRAMEWORK_TORCHTITAN;
		break;
	default:
		recognise_framework(config);
		return;
	}
	s->framework_version = config->version;
}

/* What is not in the file is off; overlap of stage 3 is on (runtime/zero/config.py). */
static void
deepspeed_defaults(struct strategy *s)
{
	s->zero = 0;
	s->overlap = 0;
}

/* JobConfig of 0.2.2 and the dataclasses of 0.3; FSDP always gathers ahead. */
static void
torchtitan_defaults(struct import *in)
{
	struct strategy *s = &in->config->strategy;
	bool old = in->config->version && version_compare(in->config->version, "0.3") < 0;

	s->loss = LOSS_EAGER;
	s->cuda_graphs = old ? GRAPHS_OFF : GRAPHS_ON;
	if (old)
		s->recompute = (struct recompute){RECOMPUTE_SELECTIVE, MODULE_CORE_ATTN, 0};
}

static void
set_defaults(struct import *in)
{
	switch (in->config->form) {
	case CONFIG_MEGATRON:
		import_megatron_defaults(in);
		break;
	case CONFIG_DEEPSPEED:
	case CONFIG_TUTORIAL:
		deepspeed_defaults(&in->config->strategy);
		break;
	case CONFIG_TORCHTITAN:
		torchtitan_defaults(in);
		break;
	case CONFIG_ACCELERATE:
	case CONFIG_MAXTEXT:
		in->config->strategy.zero = 0;
		break;
	default:
		break;
	}
}

/* Ranks of dense data parallelism, 0 when the world is not known or does not divide. */
static int64_t
dense_ranks(const struct strategy *s)
{
	int64_t copy = size_times(size_times(or_one(s->tp), or_one(s->cp)), or_one(s->pp));

	return s->world > 0 && copy > 0 && s->world % copy == 0 ? s->world / copy : 0;
}

void
import_conclude_deepspeed(struct import *in)
{
	struct strategy *s = &in->config->strategy;
	const struct doc *auto_ep =
	    import_value(in->config, CONFIG_DEEPSPEED, "expert_parallel.enabled");

	if (!s->auto_ep && auto_ep)
		s->ep = import_integer(in->config, CONFIG_DEEPSPEED, "moe.ep_size", 0);
	if (import_find(in->config, CONFIG_DEEPSPEED, "MoE") && s->capacity <= 0 &&
	    !import_find(in->config, CONFIG_DEEPSPEED, "MoE.capacity_factor") &&
	    !import_find(in->config, CONFIG_DEEPSPEED, "MoE.drop_tokens"))
		s->capacity = 1; /* deepspeed/moe/layer.py: capacity_factor=1., drop_tokens=True */
	if (s->zero == 3 &&
	    !import_find(in->config, CONFIG_DEEPSPEED, "zero_optimization.overlap_comm"))
		s->overlap |= OVERLAP_DP; /* runtime/zero/config.py: on by default at stage 3 */
	s->micro_batches = 0; /* accumulation, so far */
	config_derive_batch(in->config, s, dense_ranks(s));
}

void
import_conclude_torchtitan(struct import *in)
{
	struct strategy *s = &in->config->strategy;
	int64_t ranks = dense_ranks(s);

	if (s->dp_shard > 0)
		ranks = size_times(s->dp_shard, or_one(s->dp_replicate));
	config_derive_batch(in->config, s, ranks);
}

/* --- the guides' WORLD_SIZE = DP x EP x TP x PP ------------------------------------------------
 */

/*
 * DP of a file that has EP beside it counts copies of an expert shard, unless the world
 * that is started says otherwise. The world follows from it when nothing else tells it.
 */
static void
conclude_product(struct import *in)
{
	struct config *config = in->config;
	struct strategy *s = &config->strategy;
	int64_t dp = import_integer(config, config->form, "data_parallel_size", 0);
	int64_t dense, product;
	const struct doc *value = import_value(config, config->form, "data_parallel_size");

	config->product_dp = dp > 0 && s->ep > 1 ? dp : 0;
	if (dp < 1 || s->world > 0 || !value)
		return;
	dense = size_times(size_times(dp, or_one(s->tp)), size_times(or_one(s->pp), or_one(s->cp)));
	product = size_times(dense, or_one(s->ep));
	if (product < 1 || product > 1 << 20)
		return;
	s->world = product;
	if (s->ep > 1 && import_is_new(in, import_find(config, config->form, "data_parallel_size")))
		diag_add(in->diags, value->loc, NULL, SEVERITY_NOTE,
		    "'data_parallel_size' %lld is read as copies of an expert: %lld x EP %lld x TP "
		    "%lld "
		    "x PP %lld = %lld GPUs",
		    (long long)dp, (long long)dp, (long long)s->ep, (long long)or_one(s->tp),
		    (long long)or_one(s->pp), (long long)product);
}

int
import_conclude(struct import *in)
{
	struct config *config = in->config;
	int result = 0;

	strategy_init(&config->strategy);
	result |= read_tables(in, CONFIG_PLAN);
	set_framework(in);
	set_defaults(in);
	/* Megatron-DeepSpeed says some of it in arguments, some in the file */
	if (config->form == CONFIG_DEEPSPEED)
		result |= read_tables(in, CONFIG_MEGATRON);
	if (config->form != CONFIG_PLAN)
		result |= read_tables(in, config->form);
	import_conclude_launch(in);
	if (config->form == CONFIG_MEGATRON || config->form == CONFIG_BRIDGE)
		import_conclude_megatron(in);
	conclude_product(in);
	if (config->form == CONFIG_DEEPSPEED || config->form == CONFIG_TUTORIAL)
		import_conclude_deepspeed(in);
	if (config->form == CONFIG_TORCHTITAN)
		import_conclude_torchtitan(in);
	if (config->form == CONFIG_ACCELERATE)
		import_conclude_accelerate(in);
	if (config->form == CONFIG_MAXTEXT)
		import_conclude_maxtext(in);
	import_conclude_model(in);
	return result != 0 || in->diags->errors > in->errors ? -1 : 0;
}
