/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Batches that follow from stated ones, for ranks that the files do not tell. */
#include <criterion/criterion.h>

#include "check/context.h"
#include "import_fixture.h"

#define ROWS(table) (sizeof(table) / sizeof((table)[0]))

/* deepspeed/runtime/config.py _set_batch_related_parameters; torchtitan/trainer.py */
Test(batch, follows_once_the_ranks_are_known)
{
	static const struct {
		const char *file;
		int64_t ranks, global, micro;
	} rows[] = {
	    {"{\"train_micro_batch_size_per_gpu\": 4, \"gradient_accumulation_steps\": 8}", 32,
		1024, 4},
	    {"{\"train_micro_batch_size_per_gpu\": 4, \"bf16\": {\"enabled\": true}}", 32, 128, 4},
	    {"{\"train_batch_size\": 512, \"gradient_accumulation_steps\": 4}", 32, 512, 4},
	    {"{\"train_batch_size\": 512, \"gradient_accumulation_steps\": 4}", 48, 512, 2},
	    {"{\"train_batch_size\": 512, \"bf16\": {\"enabled\": true}}", 64, 512, 8},
	    {"{\"train_batch_size\": 512, \"bf16\": {\"enabled\": true}}", 0, 512, 0},
	    {"[training]\nlocal_batch_size = 4\nseq_len = 4096\n", 16, 64, 4},
	    {"[training]\nlocal_batch_size = 4\nglobal_batch_size = 128\nseq_len = 4096\n", 16, 128,
		4},
	    {"[training]\nlocal_batch_size = 4\nglobal_batch_size = -1\nseq_len = 4096\n", 8, 32,
		4},
	};

	for (size_t i = 0; i < ROWS(rows); i++) {
		struct imported imported = import_good("a", rows[i].file);
		struct strategy s = imported.config.strategy;

		config_derive_batch(&imported.config, &s, rows[i].ranks);
		cr_expect_eq(s.global_batch, rows[i].global, "%zu: batch %lld", i,
		    (long long)s.global_batch);
		cr_expect_eq(s.micro_batch, rows[i].micro, "%zu: micro-batch %lld", i,
		    (long long)s.micro_batch);
		imported_free(&imported);
	}
}
