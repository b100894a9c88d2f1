/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which batch follows from what is stated, once the data-parallel ranks are known?
 *
 * The world may be in the launch line or be told beside the files, so this is asked when a file
 * was read and again when all is known.
 */
#include "check/context.h"
#include "check/import_private.h"

static int64_t
stated(const struct config *config, const char *name, int64_t otherwise)
{
	const struct setting *setting = setting_find(config, name);

	return setting && setting->value->is_integer && setting->value->integer > 0
		   ? setting->value->integer
		   : otherwise;
}

/*
 * DeepSpeed, runtime/config.py: the third of train_batch, micro-batch and accumulation follows
 * from two, rounded down; accumulation is 1 when it is not given and the micro-batch follows.
 */
static void
deepspeed_batch(const struct config *config, struct strategy *s, int64_t ranks)
{
	int64_t step = size_times(stated(config, "gradient_accumulation_steps", 1), ranks);

	if (s->global_batch == 0 && s->micro_batch > 0)
		s->global_batch = size_times(s->micro_batch, step);
	if (s->micro_batch == 0 && step > 0)
		s->micro_batch = s->global_batch / step;
}

void
config_derive_batch(const struct config *config, struct strategy *s, int64_t ranks)
{
	if (ranks < 1)
		return;
	if (config->form == CONFIG_DEEPSPEED || config->form == CONFIG_TUTORIAL)
		deepspeed_batch(config, s, ranks);
	/* torchtitan, trainer.py: a batch that is not given, or -1, is one pass of every rank */
	if (config->form == CONFIG_TORCHTITAN && s->global_batch == 0)
		s->global_batch = size_times(stated(config, "training.local_batch_size", 0), ranks);
}
