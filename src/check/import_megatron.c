/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What follows from several of Megatron's arguments together?
 *
 * Virtual stages from the layers of one, uneven stages as a layout, defaults of arguments
 * that are not there. Source: NVIDIA/Megatron-LM core_v0.19.0 megatron/training/arguments.py,
 * megatron/core/transformer/transformer_config.py, core/transformer/transformer_block.py.
 */
#include <string.h>

#include "base/arena.h"
#include "base/str.h"
#include "check/import_private.h"

static int64_t
number(const struct config *config, const char *name)
{
	return import_integer(config, CONFIG_MEGATRON, name, 0);
}

static int64_t
either(const struct config *config, const char *argument, const char *field)
{
	int64_t value = number(config, argument);

	return value > 0 ? value : number(config, field);
}

void
import_megatron_defaults(struct import *in)
{
	struct config *config = in->config;
	struct strategy *s = &config->strategy;

	s->overlap = 0;
	s->loss = LOSS_EAGER;
	/* a few arguments alone are no run whose defaults would count */
	if (!import_find(config, CONFIG_MEGATRON, "num_layers"))
		return;
	s->zero = 0;
	if (import_find(config, CONFIG_MEGATRON, "num_experts"))
		s->dispatcher = DISPATCH_ALLGATHER;
}

/* Layers, with the embedding and the loss as one each where they are to be counted. */
static int64_t
counted_layers(const struct config *config)
{
	return number(config, "num_layers") +
	       import_flag(config, CONFIG_MEGATRON, "account_for_embedding_in_pipeline_split") +
	       import_flag(config, CONFIG_MEGATRON, "account_for_loss_in_pipeline_split");
}

static void
conclude_vpp(struct config *config)
{
	struct strategy *s = &config->strategy;
	int64_t layers = counted_layers(config), pp = s->pp > 0 ? s->pp : 1;
	int64_t each = number(config, "num_layers_per_virtual_pipeline_stage");

	if (each > 0 && s->vpp == 0 && layers > 0 && layers % pp == 0 && layers / pp % each == 0)
		s->vpp = layers / pp / each;
}

/* --- uneven stages -------------------------------------------------------------------------- */

struct stages {
	int64_t first, middle, last; /* layers of a stage */
};

/* -1 when they do not come out: a rule says so. */
static int
count_stages(const struct config *config, int64_t pp, struct stages *stages)
{
	int64_t layers = number(config, "num_layers"), ends, inner;
	bool embedding =
	    import_flag(config, CONFIG_MEGATRON, "account_for_embedding_in_pipeline_split");
	bool loss = import_flag(config, CONFIG_MEGATRON, "account_for_loss_in_pipeline_split");

	stages->first = either(
	    config, "decoder_first_pipeline_num_layers", "num_layers_in_first_pipeline_stage");
	stages->last =
	    either(config, "decoder_last_pipeline_num_layers", "num_layers_in_last_pipeline_stage");
	if (embedding || loss) {
		inner = layers + embedding + loss;
		if (inner % pp != 0)
			return -1;
		stages->middle = inner / pp;
		stages->first = stages->middle - embedding;
		stages->last = stages->middle - loss;
		return 0;
	}
	ends = (stages->first > 0) + (stages->last > 0);
	inner = layers - stages->first - stages->last;
	if (ends == 0 || inner < 0 || (pp == ends ? inner != 0 : inner % (pp - ends) != 0))
		return -1;
	stages->middle = pp == ends ? 0 : inner / (pp - ends);
	stages->first = stages->first > 0 ? stages->first : stages->middle;
	stages->last = stages->last > 0 ? stages->last : stages->middle;
	return 0;
}

static int64_t
layers_of(const struct stages *stages, int64_t stage, int64_t pp)
{
	if (stage == 0)
		return stages->first;
	return stage == pp - 1 ? stages->last : stages->middle;
}

/* Chunks of a stage are as even as the first and the last of all, which miss what was counted. */
static int64_t
layers_of_chunk(const struct stages *stages, int64_t stage, int64_t chunk, int64_t pp, int64_t vpp)
{
	int64_t layers = layers_of(stages, stage, pp), even = (layers + vpp - 1) / vpp;

	if (layers % vpp == 0)
		return layers / vpp;
	if ((stage == 0 && chunk == 0) || (stage == pp - 1 && chunk == vpp - 1))
		return layers - even * (vpp - 1);
	return even;
}

static void
add_layers(struct str *text, char kind, int64_t count)
{
	if (count > 0)
		str_addc(text, kind);
	if (count > 1)
		str_addf(text, "*%lld", (long long)count);
}

static void
conclude_layout(struct import *in)
{
	struct config *config = in->config;
	struct strategy *s = &config->strategy;
	int64_t vpp = s->vpp > 0 ? s->vpp : 1, pp = s->pp;
	struct str text = str_new(in->arena);
	struct stages stages;

	if (s->layout || pp < 2 || pp > STRATEGY_MAX_PP || vpp > MODEL_MAX_LAYERS / pp ||
	    number(config, "num_layers") < 1 || number(config, "num_layers") > MODEL_MAX_LAYERS ||
	    count_stages(config, pp, &stages) != 0)
		return;
	str_addc(&text, 'E');
	for (int64_t c = 0; c < pp * vpp; c++) {
		if (c > 0)
			str_addc(&text, '|');
		add_layers(&text, 't', layers_of_chunk(&stages, c % pp, c / pp, pp, vpp));
	}
	add_layers(&text, 'm',
	    number(config, "mtp_num_layers") > 0 ? number(config, "mtp_num_layers") : 0);
	str_addc(&text, 'L');
	s->layout = text.text;
}

/* The guides' YAML has names that no release knows. */
static bool
is_guide(const struct config *config)
{
	return import_find(config, CONFIG_MEGATRON, "moe_expert_parallel_size") ||
	       import_find(config, CONFIG_MEGATRON, "data_parallel_size");
}

void
import_conclude_megatron(struct import *in)
{
	struct config *config = in->config;
	struct strategy *s = &config->strategy;

	conclude_vpp(config);
	conclude_layout(in);
	/* parallel_state.py: the default is TP; recipes of Megatron-Bridge set it themselves */
	if (s->etp == 0 && (config->form == CONFIG_MEGATRON || is_guide(config)))
		s->etp = s->tp > 0 ? s->tp : 1;
}
