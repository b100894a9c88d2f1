/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which sizes does a configuration have whose values are not in what was given? A strategy has
 * 1 there, which nobody said: rules that need them stay open.
 */
#include <stddef.h>
#include <string.h>

#include "check/context.h"
#include "check/import_private.h"

/* Overrides stand on a recipe in Python, which has degrees of its own. */
static bool
builds_on_recipe(const struct config *config)
{
	for (const struct setting *s = config->settings; s; s = s->next)
		if (s->form == CONFIG_BRIDGE && !s->argument)
			return false;
	return true;
}

/* "TP=2 bash run.sh --num-layers 4": the other script has its own. */
static bool
runs_script(const struct config *config)
{
	const char *program = config->launch.program;
	size_t length = program ? strlen(program) : 0;

	return config->form == CONFIG_MEGATRON && length > 3 &&
	       strcmp(program + length - 3, ".sh") == 0;
}

/* torchtitan's overrides stand on a TOML file that was not given. */
static bool
lacks_file(const struct config *config)
{
	return config->form == CONFIG_TORCHTITAN && setting_find(config, "job.config_file") &&
	       !config_is_toml(config);
}

static unsigned
unsaid_degrees(const struct config *config)
{
	const struct strategy *s = &config->strategy;

	return (s->tp > 0 ? 0 : HIDDEN_TP) | (s->cp > 0 ? 0 : HIDDEN_CP) |
	       (s->pp > 0 ? 0 : HIDDEN_PP) | (s->ep > 0 ? 0 : HIDDEN_EP);
}

/* "--tensor-model-parallel-size $(…)": the strategy has 1 there, which nobody said. */
unsigned
hidden_sizes(const struct config *config)
{
	static const struct {
		const char *term;
		size_t offset; /* what options say instead is known */
		unsigned bit;
	} sizes[] = {
	    {"tp", offsetof(struct strategy, tp), HIDDEN_TP},
	    {"cp", offsetof(struct strategy, cp), HIDDEN_CP},
	    {"pp", offsetof(struct strategy, pp), HIDDEN_PP},
	    {"vpp", offsetof(struct strategy, vpp), HIDDEN_VPP},
	    {"ep", offsetof(struct strategy, ep), HIDDEN_EP},
	    {"etp", offsetof(struct strategy, etp), HIDDEN_ETP},
	    {"dp_shard", offsetof(struct strategy, dp_shard), HIDDEN_SHARD},
	    {"seq_len", offsetof(struct strategy, seq_len), HIDDEN_SEQ},
	    {"micro_batch", offsetof(struct strategy, micro_batch), HIDDEN_MICRO},
	    {"global_batch", offsetof(struct strategy, global_batch), HIDDEN_GLOBAL},
	};
	unsigned hidden = 0;
	bool etp_said = false;

	for (const struct setting *s = config->settings; s; s = s->next) {
		const struct key *key = import_key(s->form, s->name);

		for (size_t i = 0; key && key->term && i < sizeof(sizes) / sizeof(sizes[0]); i++) {
			const char *base = (const char *)&config->strategy;
			int64_t size;

			if (strcmp(key->term, sizes[i].term) != 0)
				continue;
			memcpy(&size, base + sizes[i].offset, sizeof(size));
			etp_said = etp_said || sizes[i].bit == HIDDEN_ETP;
			if (s->unresolved && size <= 0)
				hidden |= sizes[i].bit;
		}
	}
	if ((config->form == CONFIG_BRIDGE && builds_on_recipe(config)) || runs_script(config) ||
	    lacks_file(config))
		hidden |= unsaid_degrees(config);
	/* left to Megatron-Core it is TP */
	return (hidden & HIDDEN_TP) && !etp_said ? hidden | HIDDEN_ETP : hidden;
}
